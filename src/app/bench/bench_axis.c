/* app/bench/bench_axis.c: what the cases of a bench run through; see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text/append.h"

enum { ELEMENT = 4 };

weft_status bench_axis_numbers(const weft_options *options, option_id id, bench_axis *axis)
{
    axis->listed = true;
    axis->count = option_list(options, id, axis->value, BENCH_LIST_MAX);
    WEFT_CHECK(axis->count > 0 && axis->count <= BENCH_LIST_MAX, WEFT_ERR_USAGE, "--%s takes 1 to %d numbers, not %d",
               option_row_in(options, id)->name, (int)BENCH_LIST_MAX, axis->count);
    return WEFT_OK;
}

static weft_status parse_size(const char *text, int64_t *bytes)
{
    double value = 0.0;
    WEFT_CHECK(option_scan_size(text, &value), WEFT_ERR_USAGE,
               "--sizes: '%s' is no size: write 4096, 32K, 1M or 1K..32M", text);
    WEFT_CHECK(value >= ELEMENT && value <= 0x1p50, WEFT_ERR_USAGE, "--sizes: %s is not between 4 bytes and 2^50",
               text);
    *bytes = (int64_t)value;
    WEFT_CHECK(*bytes % ELEMENT == 0, WEFT_ERR_USAGE, "--sizes: %s is no multiple of %d bytes (float32)", text,
               (int)ELEMENT);
    return WEFT_OK;
}

weft_status bench_axis_sizes(const char *text, bench_axis *axis)
{
    char part[OPTION_WORD_MAX];
    *axis = (bench_axis){.listed = true};
    while (option_list_next(&text, ',', part)) {
        int64_t first = 0, last = 0;
        char *dots = strstr(part, ".."), *end = dots != NULL ? dots + 2 : part;
        if (dots != NULL) {
            *dots = '\0';
        }
        WEFT_TRY(parse_size(part, &first));
        WEFT_TRY(parse_size(end, &last));
        WEFT_CHECK(first <= last, WEFT_ERR_USAGE, "--sizes: %s..%s goes down", part, end);
        for (int64_t bytes = first; bytes <= last; bytes *= 2) {
            WEFT_CHECK(axis->count < BENCH_LIST_MAX, WEFT_ERR_USAGE, "--sizes: more than %d sizes",
                       (int)BENCH_LIST_MAX);
            axis->value[axis->count++] = bytes;
        }
    }
    WEFT_CHECK(axis->count > 0, WEFT_ERR_USAGE, "--sizes is empty: write 4096, 32K, 1M or 1K..32M");
    return WEFT_OK;
}

static weft_status refuse_name(const char *option, const char *choices, const char *name)
{
    char word[OPTION_WORD_MAX], listed[512] = "";
    while (option_list_next(&choices, '|', word)) {
        text_append_item(listed, sizeof listed, "%s", word);
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: '%s' is none of %s, all", option, name, listed);
}

/* Each name at most once, so that there is room. */
static void want(bench_axis *axis, int number, const char *name)
{
    for (int i = 0; i < axis->count; i++) {
        if (axis->value[i] == number) {
            return;
        }
    }
    assert(axis->count < BENCH_NAMES_MAX);
    snprintf(axis->name[axis->count], OPTION_WORD_MAX, "%s", name);
    axis->value[axis->count++] = number;
}

weft_status bench_axis_names(const char *option, const char *text, const char *choices, bench_axis *axis)
{
    char part[OPTION_WORD_MAX], word[OPTION_WORD_MAX];
    *axis = (bench_axis){.listed = true};
    while (option_list_next(&text, ',', part)) {
        const bool all = strcmp(part, "all") == 0;
        bool known = all;
        const char *cursor = choices;
        for (int i = 0; option_list_next(&cursor, '|', word); i++) {
            const bool same = strcmp(part, word) == 0;
            known = known || same;
            if (same || (all && strcmp(word, "auto") != 0)) {
                want(axis, i, word);
            }
        }
        axis->all = axis->all || all;
        WEFT_TRY(known ? WEFT_OK : refuse_name(option, choices, part));
    }
    return axis->count > 0 ? WEFT_OK : refuse_name(option, choices, "");
}
