/*
 * app/predict/predictions.h: what a model answers for every row of the data, as files in the order of global ids.
 *
 *   predictions.npy    int32 [n, 1] classes, or float32 [n, tasks] logits
 *   probabilities.npy  float32 [n, classes] softmax, or [n, tasks] logistic function
 *   contributions.npy  float32 [n, classes or tasks, inputs + 1] what inputs add to the logits
 */
#pragma once

#include "app/predict/gather_rows.h"
#include "app/setup/context.h"
#include "train/metrics.h"

/* --metric; auto follows the loss. */
train_metric predictions_metric(const weft_options *options, train_loss loss);
/* predictions.npy in `folder`, from logits [held->count, outputs]. Collective. */
weft_status predictions_write(const app_context *context, const char *folder, const held_rows *held,
                              const train_targets *targets, const float *logits);
/* probabilities.npy; the logits become probabilities. Collective. */
weft_status predictions_write_probabilities(const app_context *context, const char *folder, const held_rows *held,
                                            const train_targets *targets, float *logits);
/* contributions.npy, of rows [held->count, outputs, inputs + 1]. Collective. */
weft_status predictions_write_contributions(const app_context *context, const char *folder, const held_rows *held,
                                            const float *rows, int64_t outputs, int64_t inputs);
/* The class of the largest of `count` logits; the first of equal ones. */
int32_t predictions_class(const float *logits, int64_t count);
