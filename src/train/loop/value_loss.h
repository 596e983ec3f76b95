/* train/loop/value_loss.h: losses of answers that are numbers. */
#pragma once

#include "train/model.h"

/*
 * loss [1, 1] float64 += the loss of answer - target = e, over the training rows that have a target. answers
 * [targets->rows, 1] float32 become scale * its derivative, 0 in all other rows. kind:
 *
 *      LOSS_SQUARED    e^2 / 2
 *      LOSS_ABSOLUTE   |e|, whose derivative at 0 is 0
 *      LOSS_HUBER      e^2 / 2 up to |e| = 1, then |e| - 1/2 (P. Huber, Ann. Math. Statist. 35(1), 1964,
 *                      doi:10.1214/aoms/1177703732)
 *
 * Works on the host. Local.
 */
weft_status value_loss(const train_targets *targets, loss_choice kind, double scale, weft_tensor *loss,
                       weft_tensor *answers);
