/*
 * train/loop/class_weights.h: rows that count more or less in the loss, by their class.
 *
 * The loss of a step is sum over its rows of weight[label] * loss / sum over its rows of weight[label], over all ranks,
 * as torch.nn.functional.cross_entropy(weight=...) has it. Ranks add up the weights of a step before its loss: one
 * more message of 16 bytes. Balanced weights are rows / (classes * rows of the class), over the training rows and the
 * classes that occur, as scikit-learn's class_weight="balanced".
 */
#pragma once

#include "comm/comm.h"
#include "train/model.h"

typedef struct class_weights {
    int64_t classes;
    const double *of_class; /* [classes]; NULL: every row counts the same */
    float *host;            /* [room] */
    weft_tensor device;     /* [room, 1] float32 */
    double sum;             /* over the step's rows of all ranks */
} class_weights;

/* text: numbers from 0 on, one a class, separated by commas. [out] of_class [classes]. WEFT_ERR_USAGE: another number
 * of them, or all 0. */
weft_status class_weights_read(const char *text, int64_t classes, double *of_class);
/* count [classes]: training rows of each class. [out] of_class [classes]. */
void class_weights_balance(const int64_t *count, int64_t classes, double *of_class);

/* The weights of a step's rows. [out] rows->weight, rows->scale, which divides by the number of the
 * step's rows, divides by the sum of their weights; untouched where there are none. Collective where there are. */
weft_status class_weights_apply(class_weights *weights, weft_comm *comm, weft_hal *hal, const train_targets *targets,
                                tensor_loss_rows *rows);
void class_weights_destroy(class_weights *weights);
