/* dense/onnx/onnx_file.c: see dense/onnx/onnx_file.h. */
#include "dense/onnx/onnx_file.h"

#include <assert.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/version.h"

/* Numbers of fields, by message. */
enum {
    MODEL_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_NOTE = 6,
    MODEL_GRAPH = 7,
    MODEL_SETS = 8
};
enum { SET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_KIND = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_TEXT = 3, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, FLOAT32 = 1, INT64 = 7 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1 };
enum { DIM_VALUE = 1, DIM_NAME = 2 };
enum { FORMAT = 8, OPERATORS = 17 };

#define BYTES_MAX INT32_MAX /* of a message */

/* ---- nodes ---- */

void onnx_node_begin(onnx_node *node, const char *kind, const char *const *inputs, int count, const char *output)
{
    *node = (onnx_node){.message = {.size = 0}};
    for (int i = 0; i < count; ++i) {
        protobuf_text(&node->message, NODE_INPUT, inputs[i]);
    }
    protobuf_text(&node->message, NODE_OUTPUT, output);
    protobuf_text(&node->message, NODE_NAME, output);
    protobuf_text(&node->message, NODE_KIND, kind);
}

static void attribute_begin(protobuf *attribute, const char *name, int64_t type)
{
    *attribute = (protobuf){.size = 0};
    protobuf_text(attribute, ATTRIBUTE_NAME, name);
    protobuf_int(attribute, ATTRIBUTE_TYPE, type);
}

static void attribute_end(onnx_node *node, protobuf *attribute)
{
    protobuf_message(&node->attributes, NODE_ATTRIBUTE, attribute);
    protobuf_free(attribute);
}

void onnx_node_int(onnx_node *node, const char *name, int64_t value)
{
    protobuf attribute;
    attribute_begin(&attribute, name, TYPE_INT);
    protobuf_int(&attribute, ATTRIBUTE_INT, value);
    attribute_end(node, &attribute);
}

void onnx_node_float(onnx_node *node, const char *name, float value)
{
    protobuf attribute;
    attribute_begin(&attribute, name, TYPE_FLOAT);
    protobuf_float(&attribute, ATTRIBUTE_FLOAT, value);
    attribute_end(node, &attribute);
}

void onnx_node_text(onnx_node *node, const char *name, const char *value)
{
    protobuf attribute;
    attribute_begin(&attribute, name, TYPE_TEXT);
    protobuf_text(&attribute, ATTRIBUTE_TEXT, value);
    attribute_end(node, &attribute);
}

void onnx_node_ints(onnx_node *node, const char *name, const int64_t *values, int count)
{
    protobuf attribute;
    attribute_begin(&attribute, name, TYPE_INTS);
    for (int i = 0; i < count; ++i) {
        protobuf_int(&attribute, ATTRIBUTE_INTS, values[i]);
    }
    attribute_end(node, &attribute);
}

void onnx_node_end(onnx_file *file, onnx_node *node)
{
    protobuf_join(&node->message, &node->attributes);
    protobuf_message(&file->nodes, GRAPH_NODE, &node->message);
    protobuf_free(&node->message);
    protobuf_free(&node->attributes);
}

/* ---- tensors ---- */

static void tensor_begin(protobuf *message, const char *name, int64_t type, int dims, const int64_t *shape)
{
    *message = (protobuf){.size = 0};
    for (int i = 0; i < dims; ++i) {
        protobuf_int(message, TENSOR_DIMS, shape[i]);
    }
    protobuf_int(message, TENSOR_TYPE, type);
    protobuf_text(message, TENSOR_NAME, name);
}

static int64_t elements_of(int dims, const int64_t *shape)
{
    int64_t elements = 1;
    for (int i = 0; i < dims; ++i) {
        elements *= shape[i];
    }
    return elements;
}

void onnx_constant_floats(onnx_file *file, const char *name, const float *values, int dims, const int64_t *shape)
{
    protobuf message;
    tensor_begin(&message, name, FLOAT32, dims, shape);
    protobuf_bytes(&message, TENSOR_RAW, values, (size_t)elements_of(dims, shape) * sizeof *values);
    protobuf_message(&file->constants, GRAPH_TENSOR, &message);
    protobuf_free(&message);
}

void onnx_constant_ints(onnx_file *file, const char *name, const int64_t *values, int count)
{
    const int64_t length = count;
    protobuf message;
    tensor_begin(&message, name, INT64, 1, &length);
    protobuf_bytes(&message, TENSOR_RAW, values, (size_t)count * sizeof *values);
    protobuf_message(&file->constants, GRAPH_TENSOR, &message);
    protobuf_free(&message);
}

void onnx_weights(onnx_file *file, const onnx_tensor *tensor)
{
    assert(tensor->dims <= ONNX_DIMS_MAX);
    if (file->status == WEFT_OK) {
        file->status =
            grow_array((void **)&file->tensor, sizeof *file->tensor, file->tensors, &file->capacity, WEFT_MEM_GENERAL);
    }
    if (file->status == WEFT_OK) {
        file->tensor[file->tensors++] = *tensor;
    }
}

/* ---- the file ---- */

/* [out] fields: the beginning of a tensor of weights as a field of the graph, up to its values. */
static void begin_weights(const onnx_tensor *tensor, protobuf *fields)
{
    const size_t bytes = (size_t)elements_of(tensor->dims, tensor->shape) * sizeof *tensor->values;
    protobuf message;
    *fields = (protobuf){.size = 0};
    tensor_begin(&message, tensor->name, FLOAT32, tensor->dims, tensor->shape);
    protobuf_open(&message, TENSOR_RAW, bytes);
    protobuf_open(fields, GRAPH_TENSOR, message.size + bytes);
    protobuf_join(fields, &message);
    protobuf_free(&message);
}

/* A value of the graph: a batch of any size, then these extents. */
static void put_value(protobuf *graph, unsigned field, const char *name, const int64_t *extent, int extents,
                      int element)
{
    protobuf shape = {.size = 0}, tensor = {.size = 0}, type = {.size = 0}, value = {.size = 0};
    for (int i = -1; i < extents; ++i) {
        protobuf dim = {.size = 0};
        if (i < 0) {
            protobuf_text(&dim, DIM_NAME, "batch");
        } else {
            protobuf_int(&dim, DIM_VALUE, extent[i]);
        }
        protobuf_message(&shape, SHAPE_DIM, &dim);
        protobuf_free(&dim);
    }
    protobuf_int(&tensor, TENSOR_ELEMENT, element);
    protobuf_message(&tensor, TENSOR_SHAPE, &shape);
    protobuf_message(&type, TYPE_TENSOR, &tensor);
    protobuf_text(&value, VALUE_NAME, name);
    protobuf_message(&value, VALUE_TYPE, &type);
    protobuf_message(graph, field, &value);
    protobuf_free(&shape);
    protobuf_free(&tensor);
    protobuf_free(&type);
    protobuf_free(&value);
}

/* What stands in front of the weights: the model's fields, and of the graph all but the weights. */
static weft_status begin_model(const onnx_file *file, const onnx_ends *ends, protobuf *model)
{
    protobuf set = {.size = 0}, graph = {.size = 0};
    uint64_t bytes = 0;
    protobuf_join(&graph, &file->nodes);
    protobuf_text(&graph, GRAPH_NAME, ends->name);
    protobuf_join(&graph, &file->constants);
    if (ends->words) {
        put_value(&graph, GRAPH_INPUT, ends->input, &ends->in[1], 1, INT64);
    } else {
        put_value(&graph, GRAPH_INPUT, ends->input, ends->in, 3, FLOAT32);
    }
    put_value(&graph, GRAPH_OUTPUT, ends->output, &ends->out, 1, FLOAT32);
    for (int i = 0; i < file->tensors && graph.status == WEFT_OK; ++i) {
        protobuf fields;
        begin_weights(&file->tensor[i], &fields);
        bytes += fields.size + (uint64_t)elements_of(file->tensor[i].dims, file->tensor[i].shape) * sizeof(float);
        graph.status = fields.status;
        protobuf_free(&fields);
    }
    protobuf_int(model, MODEL_VERSION, FORMAT);
    protobuf_text(model, MODEL_PRODUCER, "weft");
    protobuf_text(model, MODEL_PRODUCER_VERSION, version_text());
    protobuf_text(model, MODEL_NOTE, ends->note);
    protobuf_int(&set, SET_VERSION, OPERATORS);
    protobuf_message(model, MODEL_SETS, &set);
    protobuf_open(model, MODEL_GRAPH, graph.size + bytes);
    protobuf_join(model, &graph);
    const uint64_t all = model->size + bytes;
    const weft_status status = model->status;
    protobuf_free(&set);
    protobuf_free(&graph);
    WEFT_TRY(status);
    WEFT_CHECK(all <= BYTES_MAX, WEFT_ERR_UNSUPPORTED,
               "a file of ONNX has at most %d bytes, and %s takes %llu: write FILE.safetensors", BYTES_MAX, ends->name,
               (unsigned long long)all);
    return WEFT_OK;
}

static weft_status write_weights(file_writer *writer, const onnx_tensor *tensor)
{
    protobuf fields;
    begin_weights(tensor, &fields);
    weft_status status = fields.status;
    status = status == WEFT_OK ? file_write(writer, fields.data, fields.size) : status;
    protobuf_free(&fields);
    WEFT_TRY(status);
    return file_write(writer, tensor->values,
                      (size_t)elements_of(tensor->dims, tensor->shape) * sizeof *tensor->values);
}

weft_status onnx_file_write(const onnx_file *file, const onnx_ends *ends, const char *path)
{
    protobuf model = {.size = 0};
    file_writer writer;
    weft_status status = file->status;
    status = status == WEFT_OK ? begin_model(file, ends, &model) : status;
    status = status == WEFT_OK ? file_writer_open(path, &writer) : status;
    if (status != WEFT_OK) {
        protobuf_free(&model);
        return status;
    }
    status = file_write(&writer, model.data, model.size);
    protobuf_free(&model);
    for (int i = 0; i < file->tensors && status == WEFT_OK; ++i) {
        status = write_weights(&writer, &file->tensor[i]);
    }
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    return file_writer_commit(&writer);
}

void onnx_file_free(onnx_file *file)
{
    protobuf_free(&file->nodes);
    protobuf_free(&file->constants);
    weft_free(file->tensor);
    memset(file, 0, sizeof *file);
}
