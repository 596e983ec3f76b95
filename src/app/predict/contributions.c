/* app/predict/contributions.c: see app/predict/contributions.h. */
#include "app/predict/contributions.h"

#include <string.h>

#include "app/predict/predictions.h"

/* Rows of pairs add up to the shares of single inputs. */
static void add_up(const float *pair, int64_t rows, int64_t side, float *share)
{
    for (int64_t i = 0; i < rows * side; ++i) {
        double sum = 0.0;
        for (int64_t k = 0; k < side; ++k) {
            sum += (double)pair[i * side + k];
        }
        share[i] = (float)sum;
    }
}

static weft_status take(void *self, const explained_rows *rows)
{
    contributions *c = self;
    const int64_t side = rows->inputs + 1, answers = rows->rows * rows->outputs, first = rows->first * rows->outputs;
    if (c->pair == NULL) {
        memcpy(c->share + first * side, rows->contribution, (size_t)(answers * side) * sizeof *c->share);
        return WEFT_OK;
    }
    memcpy(c->pair + first * side * side, rows->contribution, (size_t)(answers * side * side) * sizeof *c->pair);
    add_up(rows->contribution, answers, side, c->share + first * side);
    return WEFT_OK;
}

weft_status contributions_make(const predictor *p, const explain_request *how, contributions *c)
{
    const workload *work = p->work;
    const int64_t side = work->inputs + 1, answers = work->held.count * work->outputs;
    *c = (contributions){.work = work};
    weft_status status = WEFT_NEW(&c->share, answers * side, WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK && how->pairs) {
        status = WEFT_NEW(&c->pair, answers * side * side, WEFT_MEM_WORKSPACE);
    }
    WEFT_TRY(comm_agree(work->context->comm, status));
    return comm_agree(work->context->comm, predictor_explain(p, how, take, c));
}

weft_status contributions_write(const contributions *c, const char *folder)
{
    const workload *work = c->work;
    int64_t shape[4] = {0, work->outputs, work->inputs + 1, work->inputs + 1};
    WEFT_TRY(predictions_write_array(work->context, folder, "contributions.npy", 'f', &work->held, c->share, 3, shape));
    return c->pair == NULL ? WEFT_OK
                           : predictions_write_array(work->context, folder, "interactions.npy", 'f', &work->held,
                                                     c->pair, 4, shape);
}

void contributions_free(contributions *c)
{
    WEFT_FREE_ALL(c->share, c->pair);
    *c = (contributions){.work = NULL};
}
