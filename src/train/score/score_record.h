/*
 * train/score/score_record.h: a row with two classes as a number of 8 bytes, which sorts by the row's score.
 *
 *     bits 32 to 63   the score's bits, made monotone
 *     bits 1 to 31    what the caller puts there, such as the row's split; 0
 *     bit 0           the label
 */
#pragma once

#include <stdint.h>

uint64_t score_record(float score, int label);
float score_of_record(uint64_t record);
/* Returns the records by rising score, in the memory of `spare` [count]; the order of `records` is lost. */
uint64_t *score_records_sort(uint64_t *records, uint64_t *spare, int64_t count);
