/* clicks/data/click_made.h: click_rows of rows that are made (clicks/synth); columns are called c1, c2, .. and n1,
 * n2, .. */
#pragma once

#include "clicks/data/click_rows.h"

/* As the functions of click_rows.h whose names end alike. */
weft_status click_made_open(weft_comm *comm, const char *data, const click_rows_options *options, click_rows *rows);
void click_made_close(click_rows *rows);
uint8_t click_made_split(const click_rows *rows, int64_t row);
void click_made_read(const click_rows *rows, const click_scaling *scaling, int64_t row, uint64_t *key, float *value,
                     float *target);
void click_made_answer(const click_rows *rows, int64_t row, float *target, float *logit);
/* Of the first 2^16 rows that train, which tell as much: all rows are drawn alike. */
weft_status click_made_measure(weft_comm *comm, const click_rows *rows, click_scaling *scaling);
