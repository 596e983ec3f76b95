/*
 * train/second/second_state.c: what a checkpoint holds of a second-order method: the step, and for each layer factors,
 * inverses or eigenvectors, and flags. Inverses are written as they stand, so that a run that is resumed between two
 * inversions has the same bits.
 *
 *      step, verdict on the overhead, overhead
 *      for each layer: flags, damping, gamma, number; average, peak and mean of two sides
 *      matrices, by layer
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "train/train_options.def"

enum { RUN_NUMBERS = 3, LAYER_NUMBERS = 4 + 3 * SECOND_SIDES, LAYER_TENSORS = 6 };
#define LARGEST 0x1p53 /* doubles count steps up to here */
enum { FLAG_INVERTED = 1, FLAG_HELD_IN = 2, FLAG_HELD_OUT = 4 };

static void list_tensors(second_layer *layer, weft_tensor *tensor[LAYER_TENSORS])
{
    weft_tensor *const all[LAYER_TENSORS] = {&layer->side[SECOND_IN].factor,
                                             &layer->side[SECOND_IN].result,
                                             &layer->side[SECOND_OUT].factor,
                                             &layer->side[SECOND_OUT].result,
                                             &layer->scale,
                                             &layer->rows};
    memcpy(tensor, all, sizeof all);
}

static size_t tensor_bytes(const weft_tensor *t)
{
    return (size_t)(t->rows * t->cols) * weft_dtype_bytes(t->dtype);
}

static size_t numbers_of(const train_second *s)
{
    return RUN_NUMBERS + (size_t)s->layers * LAYER_NUMBERS;
}

static weft_status allocate(train_second *s)
{
    size_t bytes = numbers_of(s) * sizeof(double);
    for (int l = 0; l < s->layers; ++l) {
        weft_tensor *tensor[LAYER_TENSORS];
        list_tensors(&s->layer[l], tensor);
        for (int t = 0; t < LAYER_TENSORS; ++t) {
            bytes += tensor[t]->data != NULL ? tensor_bytes(tensor[t]) : 0;
        }
    }
    WEFT_TRY(weft_calloc(bytes, 1, WEFT_MEM_SECOND, (void **)&s->state));
    s->buffer = (sync_buffer){.name = "second", .data = s->state, .bytes = (int64_t)bytes};
    return WEFT_OK;
}

/* Matrices to the buffer, or from there. */
static weft_status move_tensors(train_second *s, bool save)
{
    unsigned char *at = s->state + numbers_of(s) * sizeof(double);
    for (int l = 0; l < s->layers; ++l) {
        weft_tensor *tensor[LAYER_TENSORS];
        list_tensors(&s->layer[l], tensor);
        for (int t = 0; t < LAYER_TENSORS; ++t) {
            if (tensor[t]->data == NULL) {
                continue;
            }
            WEFT_TRY(save ? tensor_download(tensor[t], at) : tensor_upload(tensor[t], at));
            at += tensor_bytes(tensor[t]);
        }
    }
    assert(at == s->state + s->buffer.bytes);
    return WEFT_OK;
}

weft_status second_state(void *self, const sync_buffer **buffer, int *count)
{
    train_second *s = self;
    if (s->state == NULL) {
        WEFT_TRY(allocate(s));
    }
    double *number = (double *)(void *)s->state;
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
    *buffer = &s->buffer;
    *count = 1;
    return move_tensors(s, true);
}

/* Matrices behind the numbers: a NaN among them would spread over all weights. */
static weft_status check_matrices(const train_second *s)
{
    const int64_t bytes = s->buffer.bytes - (int64_t)(numbers_of(s) * sizeof(double));
    const int64_t count = bytes / (int64_t)weft_dtype_bytes(s->params->dtype);
    const unsigned char *element = s->state + numbers_of(s) * sizeof(double);
    for (int64_t i = 0; i < count; ++i) {
        const double value = second_number(s, element, i);
        WEFT_CHECK(isfinite(value), WEFT_ERR_DATA,
                   "the checkpoint's state of " FLAG_PRECONDITION " is damaged: element %lld of its matrices is %g",
                   (long long)i, value);
    }
    return WEFT_OK;
}

/* A file may hold anything. The numbers stand in front of the matrices. */
static weft_status check_numbers(const train_second *s)
{
    const double *number = (const double *)(const void *)s->state;
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
    assert(s->state != NULL);
    WEFT_TRY(check_numbers(s));
    WEFT_TRY(check_matrices(s));
    const double *number = (const double *)(const void *)s->state;
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
