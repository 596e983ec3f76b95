/*
 * gnn/data/split/split_draw.c: a split that is drawn: "60/20/20" of the labelled vertices, by a keyed permutation, so
 * that it is the same for any number of threads.
 */
#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "base/number.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_parts.h"

weft_status reader_shares_read(const char *flag, const char *text, double *share, double *total)
{
    const char *at = text;
    double sum = 0;
    int parts = 0;
    for (; parts < READER_PARTS; parts++) {
        const char *end;
        if (!number_scan_real(at, &end, &share[parts]) || share[parts] < 0) {
            break;
        }
        sum += share[parts];
        at = end + (*end == '/');
        if (*end != '/') {
            parts++;
            break;
        }
    }
    WEFT_CHECK(parts == READER_PARTS && *at == '\0' && sum > 0, WEFT_ERR_USAGE,
               "%s %s: expected shares of train, valid and test such as 60/20/20", flag, text);
    for (int part = 0; part < READER_PARTS; part++) {
        share[part] /= sum;
    }
    *total = sum;
    return WEFT_OK;
}

weft_status reader_split_check_shares(const char *text)
{
    double share[READER_PARTS], sum = 0;
    WEFT_TRY(reader_shares_read(FLAG_RANDOM_SPLIT, text, share, &sum));
    if (fabs(sum - 100) > 1e-6 && fabs(sum - 1) > 1e-6) { /* ratios may be meant, or it is a slip */
        log_warn(FLAG_RANDOM_SPLIT " %s: the shares sum to %g, not to 100: %.4g/%.4g/%.4g percent are drawn", text, sum,
                 100 * share[READER_TRAIN], 100 * share[READER_VALID], 100 * share[READER_TEST]);
    }
    return WEFT_OK;
}

static bool is_labelled(const raw_graph *raw, int64_t v)
{
    return raw->label == NULL || raw->label[v] >= 0;
}

weft_status reader_split_draw(const char *shares, uint64_t seed, raw_graph *raw)
{
    double share[READER_PARTS], sum = 0;
    WEFT_TRY(reader_shares_read(FLAG_RANDOM_SPLIT, shares, share, &sum));
    WEFT_TRY(reader_new_splits(raw, 1));
    int64_t labelled = 0;
    for (int64_t v = 0; v < raw->vertices; v++) {
        labelled += is_labelled(raw, v);
    }
    double train = nearbyint(share[READER_TRAIN] * (double)labelled);
    double valid = nearbyint((share[READER_TRAIN] + share[READER_VALID]) * (double)labelled);
    permutation order = permutation_make((uint64_t)raw->vertices, seed, WEFT_RNG_SPLIT, 0);
    int64_t dealt = 0;
    for (int64_t i = 0; i < raw->vertices; i++) {
        int64_t v = (int64_t)permute(&order, (uint64_t)i);
        if (is_labelled(raw, v)) {
            double place = (double)dealt++;
            raw->split[v] = place < train ? READER_TRAIN : place < valid ? READER_VALID : READER_TEST;
        }
    }
    log_info("split drawn: %s of %" PRId64 " %svertices, seed %" PRIu64, shares, labelled,
             raw->label != NULL ? "labelled " : "", seed);
    return WEFT_OK;
}
