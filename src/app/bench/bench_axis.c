/* app/bench/bench_axis.c: what the cases of a bench run through; see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <string.h>

#include "base/text/append.h"

void bench_axis_numbers(const weft_options *options, option_id id, bench_axis *axis)
{
    axis->listed = true;
    axis->count = option_list(options, id, axis->value, BENCH_LIST_MAX);
    assert(axis->count > 0 && axis->count <= BENCH_LIST_MAX); /* as the option room takes them */
}

static weft_status refuse_name(const char *option, const char *choices, const char *name)
{
    char word[OPTION_WORD_MAX], listed[512] = "";
    while (option_list_next(&choices, '|', word)) {
        text_append_item(listed, sizeof listed, "%s", word);
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: '%s' is none of %s, all", option, name, listed);
}

weft_status bench_axis_names(const char *option, const char *text, const char *choices, bench_axis *axis)
{
    char part[OPTION_WORD_MAX], word[OPTION_WORD_MAX];
    uint64_t taken = 0; /* mask of choices: each is taken once */
    *axis = (bench_axis){.listed = true};
    while (option_list_next(&text, ',', part)) {
        const bool all = strcmp(part, "all") == 0;
        bool known = all;
        const char *cursor = choices;
        for (int i = 0; option_list_next(&cursor, '|', word); i++) {
            const bool same = strcmp(part, word) == 0;
            known = known || same;
            if ((same || (all && strcmp(word, "auto") != 0)) && (taken >> i & 1U) == 0) {
                assert(i < 64 && axis->count < BENCH_NAMES_MAX);
                taken |= (uint64_t)1 << i;
                axis->value[axis->count] = i;
                memcpy(axis->name[axis->count++], word, sizeof word);
            }
        }
        axis->all = axis->all || all;
        WEFT_TRY(known ? WEFT_OK : refuse_name(option, choices, part));
    }
    return axis->count > 0 ? WEFT_OK : refuse_name(option, choices, "");
}
