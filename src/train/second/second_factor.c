/*
 * train/second/second_factor.c: sums of rows become factors of all ranks (second_exchange.c), then join a running
 * average that begins with the first of them.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>

#define LEAST 1e-4 /* of the largest mean eigenvalue of a run */

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

/* [out] mean: mean eigenvalue of the sums of a side, out of their diagonal; they come to the host piece by piece. */
static weft_status find_mean(train_second *s, const second_side *side, double *mean)
{
    const int64_t elements = second_packed(side->n);
    double trace = 0.0;
    int64_t i = 0;
    for (int64_t from = 0, count = 0; from < elements; from += count) {
        count = elements - from < s->host_elements ? elements - from : s->host_elements;
        const weft_tensor piece = tensor_view(&side->sums, 0, 1, from, count);
        WEFT_TRY(tensor_download(&piece, s->host[0]));
        for (; i < side->n && second_packed(i) + i < from + count; ++i) {
            trace += second_number(s, s->host[0], second_packed(i) + i - from);
        }
    }
    assert(i == side->n);
    *mean = trace / (double)side->n;
    return WEFT_OK;
}

/*
 * Gradients of rows vanish where training data are fitted exactly. Their mean square, which divides steps, would vanish
 * faster, until steps are as large as a float32 can be: so the mean eigenvalue counts as LEAST of its peak at least.
 *
 * Rows with a NaN, an infinity or squares above the type's range have a diagonal that is not finite: a running average
 * would keep it for ever. Such sums are left out and counted, and the factor and its inverse stay as they are.
 */
static weft_status average(train_second *s, second_side *side, double scale)
{
    const double old = side->held && !side->constant ? s->options.decay : 0.0;
    double mean = 0.0;
    WEFT_TRY(find_mean(s, side, &mean));
    if (!isfinite((float)(scale * mean * (double)side->n))) {
        s->figures.refused += 1;
        return WEFT_OK;
    }
    WEFT_TRY(tensor_axpby((1.0 - old) * scale, &side->sums, old, &side->factor));
    side->held = true;
    side->average = old * side->average + (1.0 - old) * scale * mean;
    side->peak = fmax(side->peak, side->average);
    side->mean = fmax(side->average, LEAST * side->peak);
    return WEFT_OK;
}

static weft_status update_layer(train_second *s, second_layer *layer, int64_t count)
{
    const double rows = (double)count;
    const double whole = s->population > 0 ? (double)s->population : rows;
    if (count == 0 || s->terms == 0) {
        return WEFT_OK;
    }
    if (layer->wide && second_is_due(s, &layer->side[SECOND_IN])) {
        WEFT_TRY(second_wide_gather(s, layer));
    } else if (second_is_due(s, &layer->side[SECOND_IN])) {
        WEFT_TRY(average(s, &layer->side[SECOND_IN], 1.0 / rows));
    }
    return second_is_due(s, &layer->side[SECOND_OUT])
               ? average(s, &layer->side[SECOND_OUT], (double)s->terms * whole / rows)
               : WEFT_OK;
}

weft_status second_update_factors(train_second *s)
{
    assert(s->capturing);
    s->capturing = false;
    weft_status status = second_sums_wait(s);
    const weft_status counted = sum_counts(s);
    status = status != WEFT_OK ? status : counted;
    const double begun = second_work_begin();
    for (int l = 0; status == WEFT_OK && l < s->layers; ++l) {
        status = update_layer(s, &s->layer[l], s->counts[l]);
    }
    second_work_end(s, SECOND_FACTORS, begun);
    return comm_agree(s->comm, status);
}
