/*
 * dense/onnx/onnx_file.h: a file of ONNX, put together: operations, named tensors, and what goes in and comes out. It
 * is written for version 8 of the format and operator set 17, which ONNX Runtime reads since 1.12. The definition is
 * onnx/onnx.proto3 in github.com/onnx/onnx.
 *
 * Tensors of weights are written from where they lie; all else is small. A file has less than 2 GB, a limit of Protocol
 * Buffers.
 */
#pragma once

#include <stdbool.h>

#include "io/protobuf.h"

enum { ONNX_NAME_BYTES = 192, ONNX_DIMS_MAX = 4, ONNX_INPUTS_MAX = 5 };

typedef struct onnx_tensor {
    char name[ONNX_NAME_BYTES];
    int dims;
    int64_t shape[ONNX_DIMS_MAX];
    const float *values; /* [shape]; the caller's, until the file is written */
} onnx_tensor;

/* All zero = empty. */
typedef struct onnx_file {
    protobuf nodes, constants; /* fields of a graph */
    onnx_tensor *tensor;       /* [tensors] weights */
    int tensors, capacity;
    weft_status status; /* the first failure */
} onnx_file;

/* An operation that is being written. */
typedef struct onnx_node {
    protobuf message, attributes;
} onnx_node;

/* node: becomes an operation of this kind, which reads inputs[0 .. count) and gives `output`. */
void onnx_node_begin(onnx_node *node, const char *kind, const char *const *inputs, int count, const char *output);
void onnx_node_int(onnx_node *node, const char *name, int64_t value);
void onnx_node_float(onnx_node *node, const char *name, float value);
void onnx_node_text(onnx_node *node, const char *name, const char *value);
void onnx_node_ints(onnx_node *node, const char *name, const int64_t *values, int count);
/* Appends the node to the file, and frees what it holds. */
void onnx_node_end(onnx_file *file, onnx_node *node);

/* Constants: one float, or count floats or integers, as a tensor of this shape (dims 0: a scalar) or a vector. */
void onnx_constant_floats(onnx_file *file, const char *name, const float *values, int dims, const int64_t *shape);
void onnx_constant_ints(onnx_file *file, const char *name, const int64_t *values, int count);
/* Weights, whose values must live until the file is written. */
void onnx_weights(onnx_file *file, const onnx_tensor *tensor);

/* What the graph reads and gives, float32; a graph of texts reads [batch, in[1]] numbers of words, int64. */
typedef struct onnx_ends {
    const char *name, *input, *output; /* of the graph; of the two tensors */
    int64_t in[3], out;                /* [batch, in[0], in[1], in[2]] and [batch, out] */
    bool words;                        /* it reads texts */
    const char *note;                  /* for people */
} onnx_ends;

/* WEFT_ERR_UNSUPPORTED: the file would be too large. Nothing is left behind after a failure. */
weft_status onnx_file_write(const onnx_file *file, const onnx_ends *ends, const char *path);
void onnx_file_free(onnx_file *file);
