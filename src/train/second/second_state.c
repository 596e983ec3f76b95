/*
 * train/second/second_state.c: what a checkpoint holds of a second-order method: the step, and for each layer factors,
 * inverses or eigenvectors, and flags. Inverses are written as they stand, so that a run that is resumed between two
 * inversions has the same bits. Sampled rows of constant inputs are left out: they are the largest of all, and the
 * first step takes them again from the features.
 *
 *      "second"        step, verdict on the overhead, overhead, and for each layer: flags, damping, gamma, number;
 *                      average, peak and mean of two sides
 *      "layer0.in"     factor of the input side of layer 0; "layer0.in_result" its inverse, "layer0.out", ...
 *
 * Buffers are the matrices themselves where the host sees them. A rank that does not turn a layer has results of length
 * 0.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "train/train_options.def"

enum { RUN_NUMBERS = 3, LAYER_NUMBERS = 4 + 3 * SECOND_SIDES, LAYER_TENSORS = 5 };
#define LARGEST 0x1p53 /* doubles count steps up to here */
enum { FLAG_INVERTED = 1, FLAG_HELD_IN = 2, FLAG_HELD_OUT = 4 };

/* Tensor t of a layer. [out] name: its place in a checkpoint. */
static weft_tensor *tensor_of(second_layer *layer, int t, const char **name)
{
    static const char *const names[LAYER_TENSORS] = {"in", "in_result", "out", "out_result", "scale"};
    weft_tensor *const all[LAYER_TENSORS] = {&layer->side[SECOND_IN].factor, &layer->side[SECOND_IN].result,
                                             &layer->side[SECOND_OUT].factor, &layer->side[SECOND_OUT].result,
                                             &layer->scale};
    *name = names[t];
    return all[t];
}

static size_t numbers_of(const train_second *s)
{
    return RUN_NUMBERS + (size_t)s->layers * LAYER_NUMBERS;
}

uint64_t second_state_bytes(train_second *s)
{
    uint64_t bytes = 0;
    for (int i = 0; i < s->layers * LAYER_TENSORS; ++i) {
        const char *name = NULL;
        const weft_tensor *tensor = tensor_of(&s->layer[i / LAYER_TENSORS], i % LAYER_TENSORS, &name);
        bytes += (uint64_t)(tensor->rows * tensor->cols) * weft_dtype_bytes(s->params->dtype);
    }
    return bytes;
}

/* A copy of a matrix that the host does not see is made once, for the first checkpoint. */
static weft_status add_buffer(train_second *s, int l, int t)
{
    const char *name = NULL;
    const weft_tensor *tensor = tensor_of(&s->layer[l], t, &name);
    sync_buffer *buffer = &s->buffer[s->buffers++];
    buffer->bytes = tensor->data == NULL ? 0 : tensor->rows * tensor->cols * (int64_t)weft_dtype_bytes(tensor->dtype);
    buffer->data = tensor->data;
    snprintf(buffer->name, sizeof buffer->name, "layer%d.%s", l, name);
    return buffer->bytes == 0 || hal_host_visible(s->hal)
               ? WEFT_OK
               : weft_malloc((size_t)buffer->bytes, 1, WEFT_MEM_SECOND, &buffer->data);
}

static weft_status allocate(train_second *s)
{
    WEFT_TRY(WEFT_NEW_ZERO(&s->buffer, 1 + s->layers * LAYER_TENSORS, WEFT_MEM_SECOND));
    WEFT_TRY(WEFT_NEW_ZERO(&s->numbers, numbers_of(s), WEFT_MEM_SECOND));
    const int64_t bytes = (int64_t)(numbers_of(s) * sizeof *s->numbers);
    s->buffer[s->buffers++] = (sync_buffer){.name = "second", .data = s->numbers, .bytes = bytes};
    for (int i = 0; i < s->layers * LAYER_TENSORS; ++i) {
        WEFT_TRY(add_buffer(s, i / LAYER_TENSORS, i % LAYER_TENSORS));
    }
    return WEFT_OK;
}

void second_state_destroy(train_second *s)
{
    for (int i = 1; i < s->buffers; ++i) {
        if (!hal_host_visible(s->hal) && s->buffer[i].bytes > 0) {
            weft_free(s->buffer[i].data);
        }
    }
    WEFT_FREE_ALL(s->buffer, s->numbers);
}

/* Matrices to the buffers, or from there. */
static weft_status move_tensors(train_second *s, bool save)
{
    WEFT_TRY(s->hal->stream.sync(s->hal));
    for (int i = 1; i < s->buffers && !hal_host_visible(s->hal); ++i) {
        const char *name = NULL;
        weft_tensor *tensor = tensor_of(&s->layer[(i - 1) / LAYER_TENSORS], (i - 1) % LAYER_TENSORS, &name);
        if (s->buffer[i].bytes > 0) {
            WEFT_TRY(save ? tensor_download(tensor, s->buffer[i].data) : tensor_upload(tensor, s->buffer[i].data));
        }
    }
    return WEFT_OK;
}

weft_status second_state(void *self, const sync_buffer **buffer, int *count)
{
    train_second *s = self;
    if (s->buffer == NULL) {
        WEFT_TRY(allocate(s));
    }
    double *number = s->numbers;
    *number++ = (double)s->step;
    *number++ = s->judge.verdict;
    *number++ = s->figures.overhead;
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        const second_side *side = layer->side;
        *number++ = (layer->inverted ? FLAG_INVERTED : 0) + (side[SECOND_IN].held ? FLAG_HELD_IN : 0) +
                    (side[SECOND_OUT].held ? FLAG_HELD_OUT : 0);
        *number++ = layer->damping;
        *number++ = layer->gamma;
        *number++ = layer->number;
        for (int i = 0; i < SECOND_SIDES; ++i) {
            *number++ = side[i].average;
            *number++ = side[i].peak;
            *number++ = side[i].mean;
        }
    }
    *buffer = s->buffer;
    *count = s->buffers;
    return move_tensors(s, true);
}

/* The first buffer holds numbers, the others matrices: a NaN among them would spread over all weights. */
static weft_status check_matrices(const train_second *s)
{
    const int64_t bytes = (int64_t)weft_dtype_bytes(s->params->dtype);
    for (int b = 1; b < s->buffers; ++b) {
        for (int64_t i = 0; i < s->buffer[b].bytes / bytes; ++i) {
            const double value = second_number(s, s->buffer[b].data, i);
            WEFT_CHECK(isfinite(value), WEFT_ERR_DATA,
                       "the checkpoint's state of " FLAG_PRECONDITION " is damaged: element %lld of %s is %g",
                       (long long)i, s->buffer[b].name, value);
        }
    }
    return WEFT_OK;
}

/* A file may hold anything. */
static weft_status check_numbers(const train_second *s)
{
    const double *number = s->numbers;
    for (size_t i = 0; i < numbers_of(s); ++i) {
        const bool flags = i >= RUN_NUMBERS && (i - RUN_NUMBERS) % LAYER_NUMBERS == 0;
        const double end = flags ? 2.0 * FLAG_HELD_OUT : i == 1 ? SECOND_VERDICT_COUNT : i == 0 ? LARGEST : INFINITY;
        WEFT_CHECK(number[i] >= 0.0 && number[i] < end, WEFT_ERR_DATA,
                   "the checkpoint's state of " FLAG_PRECONDITION " is damaged: number %zu is %g", i, number[i]);
    }
    return WEFT_OK;
}

weft_status second_restored(void *self)
{
    train_second *s = self;
    assert(s->buffers > 0);
    WEFT_TRY(check_numbers(s));
    WEFT_TRY(check_matrices(s));
    const double *number = s->numbers;
    s->capturing = false;
    s->step = (int64_t)*number++;
    s->judge.verdict = (second_verdict)*number++;
    s->figures.overhead = *number++;
    s->figures.stepped_back = s->judge.verdict == SECOND_STEPPED_BACK;
    for (int l = 0; l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        second_side *side = layer->side;
        const int flags = (int)*number++;
        layer->inverted = (flags & FLAG_INVERTED) != 0;
        side[SECOND_IN].held = (flags & FLAG_HELD_IN) != 0;
        side[SECOND_OUT].held = (flags & FLAG_HELD_OUT) != 0;
        side[SECOND_IN].lost = layer->wide && side[SECOND_IN].held;
        side[SECOND_IN].inverted = side[SECOND_OUT].inverted = layer->inverted;
        layer->damping = *number++;
        layer->gamma = *number++;
        layer->number = *number++;
        for (int i = 0; i < SECOND_SIDES; ++i) {
            side[i].average = *number++;
            side[i].peak = *number++;
            side[i].mean = *number++;
        }
    }
    return move_tensors(s, false);
}
