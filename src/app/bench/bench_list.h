/* app/bench/bench_list.h: lists of sizes, and of names out of an option's choices. */
#ifndef WEFT_APP_BENCH_BENCH_LIST_H
#define WEFT_APP_BENCH_BENCH_LIST_H

#include "option/option.h"

enum { BENCH_SIZES_MAX = 128, BENCH_NAMES_MAX = 32 };

/* "1K,32M,100..1M": bytes, K M G meaning powers of 1024 (KiB, MiB, GiB as well); A..B is A, 2 A, 4 A, ... up to B.
 * WEFT_ERR_USAGE names the part that is wrong, or a size that is no multiple of 4 (float32). */
weft_status bench_sizes_parse(const char *text, int64_t size[BENCH_SIZES_MAX], int *count);

/* Names that a list picks out of the choices of an option. */
typedef struct bench_names {
    char name[BENCH_NAMES_MAX][OPTION_WORD_MAX]; /* [count] */
    int wanted[BENCH_NAMES_MAX];                 /* [count] places of the names among the choices */
    int count;
    bool all; /* "all" was asked for: a choice that cannot run is listed instead of failing */
} bench_names;

/* text: names separated by commas; "all" is every choice but "auto". choices: separated by '|'. WEFT_ERR_USAGE names
 * the option and its choices. */
weft_status bench_names_parse(const char *option, const char *text, const char *choices, bench_names *names);

#endif
