/* app/train/train_advice.h: the advice of a finished training (app/train/advice.h), printed and kept. */
#ifndef WEFT_APP_TRAIN_TRAIN_ADVICE_H
#define WEFT_APP_TRAIN_TRAIN_ADVICE_H

#include "app/train/train_report.h"
#include "io/json.h"

/* Seconds that one rank computes in epochs, without waiting for other ranks. seconds: by activity. */
double train_compute_seconds(const double seconds[ACTIVITY_ROWS_MAX]);

/* Both on rank 0, once report->spread is known. A line each on stdout; an array "advice" of texts. */
void train_advice_print(const train_report *report);
void train_advice_write(json_writer *json, const train_report *report);

#endif
