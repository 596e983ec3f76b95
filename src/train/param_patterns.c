/* train/param_patterns.c: see train/param_patterns.h. */
#include "train/param_patterns.h"

#include <fnmatch.h>
#include <string.h>

#include "base/number.h"
#include "base/text/append.h"
#include "train/train_options.def"

enum { PATTERN_BYTES = 2 * PARAM_NAME_BYTES, NAMES_SHOWN = 12 };

/* One piece of a list. */
typedef struct pattern {
    const char *flag;
    char text[PATTERN_BYTES];
    double scale; /* 0: frozen */
} pattern;

static bool is_trained(const param_store *store, const param_entry *entry)
{
    return entry->offset < store->trained;
}

static bool fits(const pattern *p, const param_entry *entry)
{
    return fnmatch(p->text, entry->name, 0) == 0;
}

static weft_status fail_unknown(const param_store *store, const pattern *p)
{
    char names[1024] = "";
    int shown = 0, trained = 0;
    for (int i = 0; i < store->entries; ++i) {
        if (is_trained(store, &store->entry[i])) {
            trained += 1;
            if (shown < NAMES_SHOWN) {
                text_append(names, sizeof names, "%s%s", shown > 0 ? ", " : "", store->entry[i].name);
                shown += 1;
            }
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "%s %s: fits no parameter of this model, which are %s%s", p->flag, p->text, names,
                     trained > shown ? ", ... (weft info RUN/weights.npz lists them)" : "");
}

/* Does the block hold this parameter? */
static bool holds(const param_block *block, const param_entry *entry)
{
    return entry->offset >= block->offset && entry->offset < block->offset + block->rows * block->cols;
}

/* [out] all: the pattern fits a parameter of the block, and so all of them. */
static weft_status fits_block(const param_store *store, const pattern *p, const param_block *block, bool *all)
{
    const char *in = NULL, *out = NULL;
    for (int i = 0; i < store->entries; ++i) {
        const param_entry *entry = &store->entry[i];
        if (holds(block, entry)) {
            *(fits(p, entry) ? &in : &out) = entry->name;
        }
    }
    WEFT_CHECK(in == NULL || out == NULL, WEFT_ERR_USAGE,
               "%s %s: fits %s but not %s, which lie in one matrix and train together: let it fit both", p->flag,
               p->text, in, out);
    *all = in != NULL;
    return WEFT_OK;
}

static weft_status apply(param_store *store, const pattern *p)
{
    bool any = false;
    for (int b = 0; b < store->trained_blocks; ++b) {
        bool all = false;
        WEFT_TRY(fits_block(store, p, &store->block[b], &all));
        store->block[b].rate = all ? p->scale : store->block[b].rate;
        any = any || all;
    }
    return any ? WEFT_OK : fail_unknown(store, p);
}

/* The next piece of a list, up to a comma, and its number behind the last "=" where it has one. */
static weft_status read_piece(const char *flag, bool scaled, const char **next, pattern *p)
{
    const size_t bytes = strcspn(*next, ",");
    const char *end = NULL;
    *p = (pattern){.flag = flag};
    WEFT_CHECK(bytes > 0 && bytes < sizeof p->text, WEFT_ERR_USAGE,
               "%s: expected patterns of 1 to %d characters, separated by commas", flag, PATTERN_BYTES - 1);
    memcpy(p->text, *next, bytes);
    *next += bytes + ((*next)[bytes] == ',');
    if (!scaled) {
        return WEFT_OK;
    }
    char *number = strrchr(p->text, '=');
    const bool good = number != NULL && number > p->text && number_scan_real(number + 1, &end, &p->scale) &&
                      *end == '\0' && p->scale >= 0.0 && p->scale <= 1e6;
    WEFT_CHECK(good, WEFT_ERR_USAGE, "%s %s: expected PATTERN=X with X from 0 to 1e6, such as layer1.*=0.1", flag,
               p->text);
    *number = '\0';
    return WEFT_OK;
}

static weft_status apply_list(param_store *store, const char *flag, bool scaled, const char *list)
{
    for (const char *next = list; *next != '\0';) {
        pattern p;
        WEFT_TRY(read_piece(flag, scaled, &next, &p));
        WEFT_TRY(apply(store, &p));
    }
    return WEFT_OK;
}

weft_status param_patterns_apply(param_store *store, const char *freeze, const char *scales,
                                 param_pattern_figures *figures)
{
    bool trains = store->own > 0;
    *figures = (param_pattern_figures){0};
    for (int b = 0; b < store->trained_blocks; ++b) {
        store->block[b].rate = 1.0;
    }
    WEFT_TRY(apply_list(store, FLAG_LR_SCALE, true, scales));
    WEFT_TRY(apply_list(store, FLAG_FREEZE, false, freeze));
    for (int b = 0; b < store->trained_blocks; ++b) {
        const param_block *block = &store->block[b];
        figures->frozen += block->rate == 0.0 ? block->rows * block->cols : 0;
        figures->scaled += block->rate != 0.0 && block->rate != 1.0 ? block->rows * block->cols : 0;
        trains = trains || block->rate > 0.0;
    }
    WEFT_CHECK(trains, WEFT_ERR_USAGE, FLAG_FREEZE " %s: no parameter is left to train: let it fit fewer", freeze);
    return WEFT_OK;
}
