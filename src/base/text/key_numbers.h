/* base/text/key_numbers.h: numbers by name in one word, ",rows=20M,seed=3", as data that are made are described. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct key_number {
    const char *name;
    size_t offset; /* of an int64_t in what is filled in */
    int64_t min, max;
} key_number;

/* Sets what the text names in `into`, and leaves the rest. A number may end with k, M or G: thousands, millions,
 * billions. text: "", or ",key=value" once or several times. what: begins messages. WEFT_ERR_USAGE: an unknown key,
 * with the nearest and all that there are; a key given twice; a value that is no whole number in its range. */
weft_status key_numbers_parse(const char *what, const char *text, const key_number *keys, int count, void *into);
