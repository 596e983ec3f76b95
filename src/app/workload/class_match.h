/*
 * app/workload/class_match.h: which class of a trained model each class of other data is.
 *
 *      both have names           by name, as base/letters/letters.h spells it: order and number of classes mean nothing
 *      one has names             by number, with a word; unless the names are numbers ("7"), which then are the
 *                                classes' names
 *      no side has names         by number
 *
 * A class of the data that the model does not know has no class: its rows are left out of the scores, with a word.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct class_side {
    const char *origin;      /* file or data set, for messages */
    const char *const *name; /* [classes]; NULL: no names */
    int64_t classes;
} class_side;

/* Returns true if each class has a name and no two have the same. */
bool class_side_is_named(const class_side *side);

/*
 * Match classes and report in the log what is not plain.
 *   rows        [data->classes] labelled rows of each class of the data
 *   word        the word for rows, in the plural: "vertices"
 *   class_of    [out] [data->classes] classes of the model, or -1
 *   known       [out] rows whose class the model knows
 * WEFT_ERR_DATA: by number, and the data have more classes than the model.
 */
weft_status class_match(const class_side *model, const class_side *data, const int64_t *rows, const char *word,
                        int32_t *class_of, int64_t *known);

/* Training goes on from a model's weights, where class i is the model's class i. WEFT_ERR_DATA if a name stands at
 * another number in the data; a warning if the names are others altogether, or only one side has names. */
weft_status class_match_check_start(const class_side *model, const class_side *data);

/* The first names of a list for a message: "a, b, c, ..." into text, which is returned. */
enum { CLASS_LIST_BYTES = 160 };
const char *class_side_list(const class_side *side, char text[CLASS_LIST_BYTES]);
