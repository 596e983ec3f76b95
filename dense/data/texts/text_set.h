/*
 * dense/data/texts/text_set.h: the texts of a table as a set of samples (dense/data/image_set.h).
 *
 *      text,label                      sample    its words' numbers, `length` of them, 0 behind the last,
 *      "A fine film",good                        three bytes a number, low ones first: "pixels" of 3 channels
 *      "Dull.",bad                     class     a word of the target's column, or a whole number
 *
 * Rows of the split columns, of files of their own, or drawn shares train, validate and test. The vocabulary is of the
 * rows that train; a trained model brings its own, and has all rows as test rows where no column says the split.
 * A text without words is one unknown word. A row without a label trains nothing.
 *
 * Memory: 4 bytes a word of each different text, up to the length, and 16 bytes a row. Every rank has all of them.
 */
#pragma once

#include "dense/data/image_reader.h"
#include "table/table.h"

enum { TEXT_CELL = 3 /* bytes of a word's number */, TEXT_LENGTH_AUTO_MOST = 256 };

typedef struct text_request {
    table_request table;
    const char *column;      /* of the texts; "": one that is named text */
    const char *const *path; /* [paths] files */
    const uint8_t *part;     /* [paths] the split of each file's rows; NULL: by a column, or drawn */
    int paths;
    double valid, test; /* shares of the rows */
    int64_t length;     /* 0: of the longest training text, at most TEXT_LENGTH_AUTO_MOST */
    int64_t vocabulary; /* most words */
    const char *words;  /* of a trained model; "": of the training texts */
} text_request;
