/* table/read/libsvm_line.h: one line of a LIBSVM file, pair after pair. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "table/column/sink.h"

typedef struct svm_line {
    const char *at, *end; /* behind the label and query, or the last pair; end of the line without blanks */
    double label;
    sink_cell query; /* behind "qid:"; text NULL: the line has none */
} svm_line;

/* Reads label and query. `end` is the line's '\n', or the NUL behind the text. WEFT_ERR_DATA: no label. */
weft_status svm_line_begin(const char *text, const char *end, svm_line *line);
/* Reads the next INDEX:VALUE. [out] more: false at the end of the line. WEFT_ERR_DATA: the pair's text. */
weft_status svm_line_next(svm_line *line, int64_t *index, double *value, bool *more);
