/* train/loop/squared_loss.h: half the squared error of answers that are numbers. */
#pragma once

#include "train/model.h"

/* loss [1, 1] float64 += half the squares of answer - target, over the training rows that have a target. answers
 * [targets->rows, 1] float32 become scale * (answer - target), 0 in all other rows. Works on the host. Local. */
weft_status squared_loss(const train_targets *targets, double scale, weft_tensor *loss, weft_tensor *answers);
