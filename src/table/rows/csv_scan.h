/*
 * table/rows/csv_scan.h: kernels that find where cells and rows of separated text end.
 *
 * A byte is inside quotes if an odd number of double quotes stands before it. Separators and line ends count outside
 * quotes only. Text is looked at 64 bytes at a time (the two steps as in Langdale and Lemire, Parsing Gigabytes of JSON
 * per Second, VLDB Journal 2019).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_SPAN = 16 << 10, CSV_STEP = 64 };

/* The characters that a scan looks for. quote '\0': double quotes are characters like others. */
typedef struct csv_marks {
    char separator, quote;
    bool by_lines;     /* of table/rows/csv_lines.h alone: each row is a line */
    bool blank_is_row; /* by_lines: an empty line is a row of one empty cell */
} csv_marks;

typedef struct csv_found {
    size_t places, lines; /* separators and line ends; line ends alone */
} csv_found;

/* Writes the places of separators and line ends in text[0 .. bytes) to place, [CSV_SPAN + CSV_STEP]; bytes <=
 * CSV_SPAN, and CSV_STEP bytes behind them may be read. [in/out] inside: ~0 if the text begins inside quotes, else
 * 0. Returns how many there are. */
typedef csv_found (*csv_places_fn)(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside,
                                   uint32_t *place);

/* Facts about a run of text that may begin inside quotes or outside. A row is a line that is not empty. */
typedef struct csv_count {
    int64_t quotes;
    int64_t rows[2]; /* rows that end in the text if it begins outside quotes, and inside */
} csv_count;

/* Counts text[0 .. bytes), any length; text[-2] and text[-1] are the bytes before, and CSV_STEP bytes behind may be
 * read. */
typedef csv_count (*csv_count_fn)(const csv_marks *marks, const char *text, size_t bytes);

csv_found csv_places_base(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place);
csv_found csv_places_avx2(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place);
csv_found csv_places_avx512(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place);
csv_count csv_count_base(const csv_marks *marks, const char *text, size_t bytes);
csv_count csv_count_avx2(const csv_marks *marks, const char *text, size_t bytes);
csv_count csv_count_avx512(const csv_marks *marks, const char *text, size_t bytes);

/* The kernels for this processor. */
csv_places_fn csv_places_best(void);
csv_count_fn csv_count_best(void);
