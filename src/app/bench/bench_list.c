/* app/bench/bench_list.c: see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "option/option.h"

enum { ELEMENT = 4 };

static weft_status parse_size(const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    double value = 0.0;
    const char *end = text;
    const bool number = number_scan_real(text, &end, &value);
    const char *unit = number && *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        value *= (double)((int64_t)1024 << (10 * (unit - units)));
        end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
    }
    WEFT_CHECK(number && *end == '\0', WEFT_ERR_USAGE, "--sizes: '%s' is no size: write 4096, 32K, 1M or 1K..32M",
               text);
    WEFT_CHECK(value >= ELEMENT && value <= 0x1p50, WEFT_ERR_USAGE, "--sizes: %s is not between 4 bytes and 2^50",
               text);
    *bytes = (int64_t)value;
    WEFT_CHECK(*bytes % ELEMENT == 0, WEFT_ERR_USAGE, "--sizes: %s is no multiple of %d bytes (float32)", text,
               (int)ELEMENT);
    return WEFT_OK;
}

weft_status bench_sizes_parse(const char *text, int64_t size[BENCH_SIZES_MAX], int *count)
{
    char part[OPTION_WORD_MAX];
    *count = 0;
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
            WEFT_CHECK(*count < BENCH_SIZES_MAX, WEFT_ERR_USAGE, "--sizes: more than %d sizes", (int)BENCH_SIZES_MAX);
            size[(*count)++] = bytes;
        }
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE, "--sizes is empty: write 4096, 32K, 1M or 1K..32M");
    return WEFT_OK;
}

static weft_status refuse_name(const char *option, const char *choices, const char *name)
{
    char word[OPTION_WORD_MAX], listed[512] = "";
    while (option_list_next(&choices, '|', word)) {
        const size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, "%s, ", word);
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: '%s' is none of %sall", option, name, listed);
}

/* Each name at most once, so that there is room. */
static void want(bench_names *names, int number, const char *name)
{
    for (int i = 0; i < names->count; i++) {
        if (names->wanted[i] == number) {
            return;
        }
    }
    assert(names->count < BENCH_NAMES_MAX);
    snprintf(names->name[names->count], OPTION_WORD_MAX, "%s", name);
    names->wanted[names->count++] = number;
}

weft_status bench_names_parse(const char *option, const char *text, const char *choices, bench_names *names)
{
    char part[OPTION_WORD_MAX], word[OPTION_WORD_MAX];
    *names = (bench_names){.count = 0};
    while (option_list_next(&text, ',', part)) {
        const bool all = strcmp(part, "all") == 0;
        bool known = all;
        const char *cursor = choices;
        for (int i = 0; option_list_next(&cursor, '|', word); i++) {
            const bool same = strcmp(part, word) == 0;
            known = known || same;
            if (same || (all && strcmp(word, "auto") != 0)) {
                want(names, i, word);
            }
        }
        names->all = names->all || all;
        WEFT_TRY(known ? WEFT_OK : refuse_name(option, choices, part));
    }
    return names->count > 0 ? WEFT_OK : refuse_name(option, choices, "");
}
