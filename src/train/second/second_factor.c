/*
 * train/second/second_factor.c: sums of rows become factors of all ranks: one all-reduce of the packed triangles of all
 * layers, then a running average that begins with the first of them.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <string.h>

/* Sums to the host, one behind the other, or from there. A rank without rows has zeros. */
static weft_status move_sums(train_second *s, bool down, int64_t *elements)
{
    const size_t element = weft_dtype_bytes(s->params->dtype);
    int64_t at = 0;
    for (int i = 0; i < SECOND_SIDES * s->layers; ++i) {
        second_side *side = &s->layer[i / SECOND_SIDES].side[i % SECOND_SIDES];
        unsigned char *place = (unsigned char *)s->exchange + (size_t)at * element;
        if (!second_is_due(side) || side->sums.data == NULL) {
            continue;
        }
        if (!down) {
            WEFT_TRY(tensor_upload(&side->sums, place));
        } else if (side->started) {
            WEFT_TRY(tensor_download(&side->sums, place));
        } else {
            memset(place, 0, (size_t)side->sums.cols * element);
        }
        at += side->sums.cols;
    }
    *elements = at;
    return WEFT_OK;
}

/* [out] s->counts: rows of each layer, and s->terms, over all ranks. */
static weft_status sum_counts(train_second *s)
{
    for (int l = 0; l < s->layers; ++l) {
        s->counts[l] = s->layer[l].count;
    }
    s->counts[s->layers] = s->terms;
    s->counts[s->layers + 1] = s->terms > 0;
    WEFT_TRY(comm_allreduce(s->comm, s->counts, s->layers + 2, WEFT_DTYPE_I64, COMM_SUM));
    const int64_t ranks = s->counts[s->layers + 1];
    s->terms = ranks > 0 ? s->counts[s->layers] / ranks : 0;
    return WEFT_OK;
}

/* The factor's mean eigenvalue, out of its diagonal. */
static weft_status find_mean(train_second *s, second_side *side)
{
    double trace = 0.0;
    WEFT_TRY(tensor_download(&side->factor, s->host[0]));
    for (int64_t i = 0; i < side->n; ++i) {
        trace += second_number(s, s->host[0], second_packed(i) + i);
    }
    side->mean = trace / (double)side->n;
    return WEFT_OK;
}

static weft_status average(train_second *s, second_side *side, double scale)
{
    const double old = side->held && !side->constant ? s->options.decay : 0.0;
    WEFT_TRY(tensor_axpby((1.0 - old) * scale, &side->sums, old, &side->factor));
    side->held = true;
    return find_mean(s, side);
}

static weft_status update_layer(train_second *s, second_layer *layer, int64_t count)
{
    const double rows = (double)count;
    const double whole = s->population > 0 ? (double)s->population : rows;
    if (count == 0 || s->terms == 0) {
        return WEFT_OK;
    }
    if (layer->wide && second_is_due(&layer->side[SECOND_IN])) {
        WEFT_TRY(second_wide_gather(s, layer));
    } else if (second_is_due(&layer->side[SECOND_IN])) {
        WEFT_TRY(average(s, &layer->side[SECOND_IN], 1.0 / rows));
    }
    return second_is_due(&layer->side[SECOND_OUT])
               ? average(s, &layer->side[SECOND_OUT], (double)s->terms * whole / rows)
               : WEFT_OK;
}

weft_status second_update_factors(train_second *s)
{
    int64_t elements = 0;
    assert(s->capturing);
    s->capturing = false;
    WEFT_TRY(sum_counts(s));
    WEFT_TRY(comm_agree(s->comm, move_sums(s, true, &elements)));
    WEFT_TRY(comm_allreduce(s->comm, s->exchange, elements, s->params->dtype, COMM_SUM));
    WEFT_TRY(move_sums(s, false, &elements));
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(update_layer(s, &s->layer[l], s->counts[l]));
    }
    return WEFT_OK;
}
