/*
 * dense/onnx/onnx_network.h: a network and its weights as a file of ONNX, for ONNX Runtime and whatever else reads it.
 *
 * The input is [batch, channels, height, width], pixels from 0 to 1, which the file itself normalises by the means and
 * deviations of the training images; the output is [batch, classes], the logits. Batch norm takes its running
 * statistics, dropout is left out. Values are called by their layers with a '/' in front, weights as in files of
 * weights.
 */
#pragma once

#include "dense/net/net.h"
#include "train/weights.h"

typedef struct onnx_model {
    const network *net;            /* after net_fit */
    const train_weights *weights;  /* under the names of the network */
    const float *mean, *deviation; /* [channels] of pixels from 0 to 1; NULL: they are not normalised */
} onnx_model;

/* WEFT_ERR_DATA: a tensor is missing or has another number of elements than its layer. WEFT_ERR_UNSUPPORTED: see
 * onnx_file_write. Nothing is left behind after a failure. */
weft_status onnx_network_write(const onnx_model *model, const char *path);
