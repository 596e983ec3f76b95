/* app/bench/bench_list.c: see app/bench/bench_list.h. */
#include "app/bench/bench_list.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { ELEMENT = 4, PART_BYTES = 64 };

/* Copies the part of a list up to the separator; the rest begins at *cursor. Returns false at the end. */
static bool next_part(const char **cursor, const char *separator, char part[PART_BYTES])
{
    const size_t length = strcspn(*cursor, separator);
    const bool any = **cursor != '\0';
    snprintf(part, PART_BYTES, "%.*s", length < PART_BYTES ? (int)length : PART_BYTES - 1, *cursor);
    *cursor += length;
    *cursor += **cursor != '\0';
    return any;
}

static weft_status parse_size(const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    double value = 0.0, factor = 1.0;
    const char *end = text;
    const bool number = number_scan_real(text, &end, &value);
    const char *unit = number && *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        factor = (double)((int64_t)1024 << (10 * (unit - units)));
        end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
    }
    WEFT_CHECK(number && *end == '\0', WEFT_ERR_USAGE, "--sizes: '%s' is no size: write 4096, 32K, 1M or 1K..32M",
               text);
    value *= factor;
    WEFT_CHECK(value >= ELEMENT && value <= 0x1p50, WEFT_ERR_USAGE, "--sizes: %s is not between 4 bytes and 2^50",
               text);
    *bytes = (int64_t)value;
    WEFT_CHECK(*bytes % ELEMENT == 0, WEFT_ERR_USAGE, "--sizes: %s is no multiple of %d bytes (float32)", text,
               (int)ELEMENT);
    return WEFT_OK;
}

weft_status bench_sizes_parse(const char *text, int64_t size[BENCH_SIZES_MAX], int *count)
{
    char part[PART_BYTES];
    *count = 0;
    while (next_part(&text, ",", part)) {
        int64_t first = 0, last = 0;
        char *dots = strstr(part, "..");
        if (dots != NULL) {
            *dots = '\0';
        }
        WEFT_TRY(parse_size(part, &first));
        last = first;
        if (dots != NULL) {
            WEFT_TRY(parse_size(dots + 2, &last));
        }
        WEFT_CHECK(first <= last, WEFT_ERR_USAGE, "--sizes: %s..%s goes down", part, dots + 2);
        for (int64_t bytes = first; bytes <= last; bytes *= 2) {
            WEFT_CHECK(*count < BENCH_SIZES_MAX, WEFT_ERR_USAGE, "--sizes: more than %d sizes", (int)BENCH_SIZES_MAX);
            size[(*count)++] = bytes;
        }
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE, "--sizes is empty: write 4096, 32K, 1M or 1K..32M");
    return WEFT_OK;
}

static int number_of(const bench_names *names, const char *name)
{
    for (int i = 0; i < names->choices; i++) {
        if (strcmp(names->choice[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static weft_status refuse_name(const char *option, const bench_names *names, const char *name)
{
    char listed[512] = "";
    size_t at = 0;
    for (int i = 0; i < names->choices; i++) {
        at += (size_t)snprintf(listed + at, sizeof listed - at, "%s, ", names->choice[i]);
        at = at < sizeof listed ? at : sizeof listed - 1;
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: '%s' is none of %sall", option, name, listed);
}

/* Each at most once, so that there is room. */
static void want(bench_names *names, int number)
{
    for (int i = 0; i < names->count; i++) {
        if (names->wanted[i] == number) {
            return;
        }
    }
    names->wanted[names->count++] = number;
}

weft_status bench_names_parse(const char *option, const char *text, const char *choices, bench_names *names)
{
    char part[PART_BYTES];
    names->choices = names->count = 0;
    names->all = false;
    while (names->choices < BENCH_NAMES_MAX && next_part(&choices, "|", part)) {
        snprintf(names->choice[names->choices++], BENCH_NAME_BYTES, "%.*s", BENCH_NAME_BYTES - 1, part);
    }
    while (next_part(&text, ",", part)) {
        const int number = number_of(names, part);
        if (number >= 0) {
            want(names, number);
            continue;
        }
        if (strcmp(part, "all") != 0) {
            return refuse_name(option, names, part);
        }
        names->all = true;
        for (int i = 0; i < names->choices; i++) {
            if (strcmp(names->choice[i], "auto") != 0) {
                want(names, i);
            }
        }
    }
    return names->count > 0 ? WEFT_OK : refuse_name(option, names, "");
}
