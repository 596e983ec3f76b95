/* train/loop/share_loss.h: cross-entropy towards shares of all classes in the place of a label. */
#pragma once

#include "train/model.h"

/*
 * loss [1, 1] float64 += T^2 * sum over rows and classes of -share * log softmax(logits / T), with the temperature T of
 * the targets. logits [targets->rows, outputs] float32 become scale * its derivative, T * (softmax(logits / T) -
 * share). T^2 keeps gradients as large as those of labels (G. Hinton, O. Vinyals, J. Dean: Distilling the knowledge in
 * a neural network, 2015, arXiv 1503.02531). Works on the host, over the rows of a training batch. Local.
 */
weft_status share_loss(const train_targets *targets, double scale, weft_tensor *loss, weft_tensor *logits);
