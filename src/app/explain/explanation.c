/* app/explain/explanation.c: see app/explain/explanation.h. */
#include "app/explain/explanation.h"

#include <math.h>

#include "app/explain/drawing_json.h"
#include "base/integer/integers.h"

/* What this rank's rows come to; `by_output` [outputs]: of all inputs. */
static void add_magnitudes(explanation *e, double *by_output)
{
    const workload *work = e->work;
    const int64_t inputs = work->inputs, outputs = work->outputs;
    for (int64_t i = 0; i < work->held.count * outputs; ++i) {
        for (int64_t c = 0; c < inputs; ++c) {
            const double size = fabs((double)e->parts.share[i * (inputs + 1) + c]);
            e->importance[c] += size;
            by_output[i % outputs] += size;
        }
    }
}

static weft_status find_importance(explanation *e, int top)
{
    const workload *work = e->work;
    weft_comm *comm = work->context->comm;
    const int64_t inputs = work->inputs, outputs = work->outputs;
    weft_status status = WEFT_NEW_ZERO(&e->importance, inputs + outputs, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&e->leading, top, WEFT_MEM_WORKSPACE) : status;
    WEFT_TRY(comm_agree(comm, status));
    double *by_output = e->importance + inputs;
    add_magnitudes(e, by_output);
    WEFT_TRY(comm_allreduce(comm, e->importance, inputs + outputs, WEFT_DTYPE_F64, COMM_SUM));
    for (int64_t c = 0; c < inputs; ++c) {
        e->importance[c] /= (double)larger(work->held.total, 1);
        e->total += e->importance[c];
    }
    e->count = drawing_leading(e->importance, inputs, top, e->leading);
    e->drawn = (int)smaller(e->count, EXPLAIN_DRAWN);
    (void)drawing_leading(by_output, outputs, 1, &e->output);
    return WEFT_OK;
}

/* ---- rows of drawings -------------------------------------------------------------------------------------------- */

/* The place among the sampled rows of a row of the data, or -1. */
static int64_t place_of(const explanation *e, int64_t id)
{
    const int64_t total = e->work->held.total;
    const int64_t place = (id * e->sampled + total - 1) / total;
    return place < e->sampled && place * total / e->sampled == id ? place : -1;
}

static void sample_shares(explanation *e, int64_t row, double *to)
{
    const int64_t inputs = e->work->inputs;
    const float *share = e->parts.share + (row * e->work->outputs + e->output) * (inputs + 1);
    double rest = 0.0;
    for (int64_t c = 0; c < inputs; ++c) {
        rest += (double)share[c];
    }
    for (int k = 0; k < e->drawn; ++k) {
        to[k] = (double)share[e->leading[k]];
        rest -= to[k];
    }
    to[e->drawn] = e->drawn < inputs ? rest : 0.0;
    to[e->drawn + 1] = (double)share[inputs];
}

/* This rank's rows; zeros stand for others. column: [held.count] */
static weft_status sample_rows(explanation *e, float *column)
{
    const held_rows *held = &e->work->held;
    for (int64_t i = 0; i < held->count; ++i) {
        const int64_t place = place_of(e, held_row_id(held, i));
        if (place >= 0) {
            sample_shares(e, i, e->share + place * (e->drawn + 2));
        }
    }
    for (int k = 0; k < e->drawn; ++k) {
        WEFT_TRY(e->work->ops->input_values(e->work, e->leading[k], column));
        for (int64_t i = 0; i < held->count; ++i) {
            const int64_t place = place_of(e, held_row_id(held, i));
            if (place >= 0) {
                e->value[place * e->drawn + k] = (double)column[i];
            }
        }
    }
    return WEFT_OK;
}

static weft_status sample(explanation *e)
{
    const workload *work = e->work;
    weft_comm *comm = work->context->comm;
    float *column = NULL;
    e->sampled = smaller(work->held.total, EXPLAIN_SAMPLE);
    const int64_t values = e->sampled * e->drawn, shares = e->sampled * (e->drawn + 2);
    weft_status status = WEFT_NEW_ZERO(&e->value, values, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&e->share, shares, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? WEFT_NEW(&column, work->held.count, WEFT_MEM_WORKSPACE) : status;
    status = comm_agree(comm, status == WEFT_OK ? sample_rows(e, column) : status);
    weft_free(column);
    WEFT_TRY(status);
    WEFT_TRY(comm_allreduce(comm, e->value, values, WEFT_DTYPE_F64, COMM_SUM));
    return comm_allreduce(comm, e->share, shares, WEFT_DTYPE_F64, COMM_SUM);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static weft_status find_pairs(explanation *e)
{
    const workload *work = e->work;
    const int64_t side = work->inputs + 1, answers = work->held.count * work->outputs;
    e->paired = (int)smaller(e->count, EXPLAIN_PAIRED);
    WEFT_TRY(
        comm_agree(work->context->comm, WEFT_NEW_ZERO(&e->pair, (int64_t)e->paired * e->paired, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < answers; ++i) {
        for (int k = 0; k < e->paired * e->paired; ++k) {
            const int64_t one = e->leading[k / e->paired], other = e->leading[k % e->paired];
            e->pair[k] += fabs((double)e->parts.pair[(i * side + one) * side + other]) / (double)work->held.total;
        }
    }
    return comm_allreduce(work->context->comm, e->pair, (int64_t)e->paired * e->paired, WEFT_DTYPE_F64, COMM_SUM);
}

weft_status explanation_make(const predictor *p, const explain_request *how, int top, explanation *e)
{
    *e = (explanation){.work = p->work, .how = how};
    WEFT_TRY(contributions_make(p, how, &e->parts));
    WEFT_TRY(find_importance(e, (int)smaller(top, p->work->inputs)));
    WEFT_TRY(sample(e));
    return how->pairs ? find_pairs(e) : WEFT_OK;
}

void explanation_free(explanation *e)
{
    contributions_free(&e->parts);
    WEFT_FREE_ALL(e->importance, e->leading, e->value, e->share, e->pair);
    *e = (explanation){.work = NULL};
}
