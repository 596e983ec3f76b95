/*
 * gnn/data/read/reader_split_text.c: splits in words, and drawn ones.
 *
 *   a text file  a row for each vertex: train, valid (val) or test, or 0, 1, 2; none, -1 or 255 = in no part;
 *                or three columns 0/1. A first line of another kind is a header.
 *   a draw       "60/20/20" of the labelled vertices, by a keyed permutation: the same for any number of threads
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_attach.h"
#include "gnn/data/read/reader_parts.h"
#include "io/text/text_source.h"
#include "io/text/text_table.h"

enum { WORD_MAX = 12, LINE_MAX_BYTES = 4096 };

/* ---- a column of words ---- */

/* The part that a word means; -1 = it is no such word. */
static int part_of(const char *word)
{
    static const struct {
        const char *word;
        int part;
    } known[] = {{"train", READER_TRAIN}, {"valid", READER_VALID}, {"val", READER_VALID}, {"validation", READER_VALID},
                 {"test", READER_TEST},   {"none", READER_NONE},   {"", READER_NONE},     {"0", READER_TRAIN},
                 {"1", READER_VALID},     {"2", READER_TEST},      {"-1", READER_NONE},   {"255", READER_NONE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].word, word) == 0) {
            return known[i].part;
        }
    }
    return -1;
}

/* The field at `at`, without quotes, lower case; longer ones are cut, which makes them unknown. */
static const char *scan_word(const char *at, char word[WORD_MAX])
{
    int length = 0;
    at = text_skip_blanks(at);
    for (; !text_at_end(at) && strchr(",; \t", *at) == NULL; at++) {
        if (*at != '"' && *at != '\'' && length + 1 < WORD_MAX) {
            word[length++] = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
        }
    }
    word[length] = '\0';
    return at;
}

/* One row: a word, or three masks. False with `expected` set when it is neither, and `at` before what is wrong. */
static bool scan_row(const char **at, int *part, const char **expected)
{
    char word[WORD_MAX];
    const char *past = scan_word(*at, word);
    *part = part_of(word);
    if (text_at_end(text_skip_blanks(past))) {
        *at = *part >= 0 ? text_skip_blanks(past) : text_skip_blanks(*at);
        *expected = "train, valid, test or none";
        return *part >= 0;
    }
    int found = READER_NONE;
    *expected = "0 or 1, three times, with at most one 1";
    for (int column = 0; column < READER_PARTS; column++) {
        *at = column > 0 ? text_skip_separator(*at) : *at;
        past = scan_word(*at, word);
        bool set = strcmp(word, "1") == 0 || strcmp(word, "true") == 0;
        bool clear = strcmp(word, "0") == 0 || strcmp(word, "false") == 0;
        if ((!set && !clear) || (set && found != READER_NONE)) {
            return false;
        }
        found = set ? column : found;
        *at = past;
    }
    *at = text_skip_blanks(*at);
    *part = found;
    return text_at_end(*at);
}

static bool parse_rows(void *self, text_piece *piece)
{
    raw_graph *raw = self;
    const char *at = piece->text;
    int64_t row = piece->row;
    while (at < piece->end) {
        at = text_skip_blanks(at);
        if (*at != '#' && *at != '%' && !text_at_end(at)) {
            int part;
            const char *expected;
            if (row >= raw->vertices) {
                piece->at = at;
                snprintf(piece->reason, sizeof piece->reason, "more rows than the %" PRId64 " vertices", raw->vertices);
                return false;
            }
            if (!scan_row(&at, &part, &expected)) {
                return text_expected(piece, at, expected);
            }
            raw->split[row++] = (uint8_t)part;
        }
        while (*at != '\n') {
            at++;
        }
        at++;
    }
    return true;
}

/* The first line is a header when it holds letters that are no part. */
static weft_status skip_header(text_source *source)
{
    char line[LINE_MAX_BYTES + 2];
    bool end = false;
    WEFT_TRY(text_source_line(source, line, sizeof line - 1, &end));
    if (end) {
        return WEFT_OK;
    }
    size_t length = strlen(line);
    line[length] = '\n'; /* where the scanners stop */
    line[length + 1] = '\0';
    const char *at = line;
    int part;
    const char *expected;
    bool letters = strpbrk(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
    if (line[0] == '#' || line[0] == '%' || !letters || scan_row(&at, &part, &expected)) {
        text_source_unread(source);
    }
    return WEFT_OK;
}

weft_status reader_split_words(const char *path, raw_graph *raw)
{
    WEFT_TRY(reader_new_splits(raw, 1));
    text_source *source = NULL;
    WEFT_TRY(text_source_open(path, LINE_MAX_BYTES, &source));
    int64_t rows = 0;
    text_parser parser = {.self = raw, .parse = parse_rows, .count_rows = true, .comments = "#%"};
    weft_status status;
    WEFT_TRY_GOTO(skip_header(source), status, done);
    WEFT_TRY_GOTO(text_source_parse(source, &parser, &rows), status, done);
    WEFT_CHECK_GOTO(rows == raw->vertices, status, done, WEFT_ERR_DATA, "%s: %" PRId64 " rows for %" PRId64 " vertices",
                    path, rows, raw->vertices);
done:
    text_source_close(source);
    return status;
}

/* ---- a draw ---- */

/* "60/20/20" as shares of the sum. */
static weft_status read_shares(const char *text, double share[READER_PARTS], double *total)
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
               FLAG_RANDOM_SPLIT " %s: expected shares of train, valid and test such as 60/20/20", text);
    for (int part = 0; part < READER_PARTS; part++) {
        share[part] /= sum;
    }
    *total = sum;
    return WEFT_OK;
}

weft_status reader_split_check_shares(const char *text)
{
    double share[READER_PARTS], sum = 0;
    WEFT_TRY(read_shares(text, share, &sum));
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
    WEFT_TRY(read_shares(shares, share, &sum));
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
