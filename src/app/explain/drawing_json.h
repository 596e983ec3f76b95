/* app/explain/drawing_json.h: drawings as report folders have them (docs/formats.md, "Drawings of a run"). */
#pragma once

#include "io/json.h"

/* A drawing without its series, open: its numbers follow, then json_end twice. unit: "" of plain numbers. */
void drawing_json_begin(json_writer *json, const char *kind, const char *title, const char *x, const char *y);
/* The texts of bars or of columns of a heat map; before drawing_json_series. */
void drawing_json_names(json_writer *json, const char *const *name, int count);
/* Opens the array of series. */
void drawing_json_series(json_writer *json);
/* `count` numbers, each `stride` behind the one before; NaN is null. They are rounded to float32. */
void drawing_json_numbers(json_writer *json, const char *key, const double *value, int64_t count, int64_t stride);
/* A whole drawing of one series of bars. value: 0 or more. */
void drawing_json_bars(json_writer *json, const char *title, const char *const *name, const double *value, int count);

/* [out] place: [at most most] of the largest of `count` values, the largest first, of equal ones the first. Returns how
 * many there are. */
int drawing_leading(const double *value, int64_t count, int most, int64_t *place);
