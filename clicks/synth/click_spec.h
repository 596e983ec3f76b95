/*
 * clicks/synth/click_spec.h: what rows of clicks are made of a text, "synth:clicks,rows=20M,ids=1M,seed=3".
 *
 *     rows     in all; those that validate and test are the last of them (--valid-share, --test-share)
 *     fields   columns of ids
 *     ids      different ids of the largest field. Sizes of fields grow by equal factors from CLICK_SPEC_FEWEST to
 *              it, as those of Criteo's 26 fields do from 3 to 10 million
 *     numbers  columns of numbers
 *     seed     of the teacher and of all rows; row n is the same whatever `rows` is
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { CLICK_SPEC_FIELDS = 256, CLICK_SPEC_NUMBERS = 256, CLICK_SPEC_FEWEST = 4, CLICK_SPEC_IDS = 1000000000 };

typedef struct click_spec {
    int64_t rows, fields, ids, numbers, seed;
} click_spec;

/* Returns true if rows are made of such data, whether or not the text has a mistake. */
bool click_spec_is(const char *data);
/* WEFT_ERR_USAGE: the mistake, and the keys that there are. */
weft_status click_spec_parse(const char *data, click_spec *spec);
/* Ids of a field: it has 1 to this number. */
int32_t click_spec_size(const click_spec *spec, int field);
