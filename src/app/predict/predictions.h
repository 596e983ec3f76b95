/*
 * app/predict/predictions.h: what a model answers for every row of the data, as files in the order of global ids.
 *
 *   predictions.npy    int32 [n, 1] classes, or float32 [n, tasks] logits
 *   probabilities.npy  float32 [n, classes] softmax, or [n, tasks] logistic function
 */
#pragma once

#include "app/predict/gather_rows.h"
#include "app/setup/context.h"
#include "train/score/metrics.h"

/* --metric; auto follows the loss. */
train_metric predictions_metric(const weft_options *options, train_loss loss);
/* predictions.npy in `folder`, from logits [held->count, outputs]. Collective. */
weft_status predictions_write(const app_context *context, const char *folder, const held_rows *held,
                              const train_targets *targets, const float *logits);
/* probabilities.npy; the logits become probabilities. Collective. */
weft_status predictions_write_probabilities(const app_context *context, const char *folder, const held_rows *held,
                                            const train_targets *targets, float *logits);
/* An array of `dims` dimensions, [held->total, ...], as FOLDER/NAME, of words of 4 bytes, [held->count, ...] of each
 * rank. kind: as npy_header has it. shape: [dims]; this function sets the first. Collective. */
weft_status predictions_write_array(const app_context *context, const char *folder, const char *name, char kind,
                                    const held_rows *held, const void *rows, int dims, int64_t *shape);
/* The class of the largest of `count` logits; the first of equal ones. */
int32_t predictions_class(const float *logits, int64_t count);
