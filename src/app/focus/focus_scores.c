/*
 * app/focus/focus_scores.c: see app/focus/focus_scores.h.
 *
 * A batch is dealt to the ranks in runs of consecutive rows, so that what ranks hand in, one behind the other, is the
 * batch in its order.
 */
#include "app/focus/focus_scores.h"

#include <math.h>

#include "focus/index/focus_index.h"

typedef struct gatherer {
    const predictor *p;
    weft_status (*take)(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes);
    void *self;
    int64_t done; /* rows of all ranks; rank 0 */
    float *logits;
    int64_t room;
} gatherer;

static weft_status download(gatherer *g, const weft_tensor *logits)
{
    const int64_t cells = logits->rows * logits->cols;
    if (g->room < cells) {
        WEFT_TRY(weft_realloc((void **)&g->logits, (size_t)cells, sizeof *g->logits, WEFT_MEM_FOCUS));
        g->room = cells;
    }
    return cells > 0 ? tensor_download(logits, g->logits) : WEFT_OK;
}

static weft_status take_step(void *self, const predicted_rows *rows)
{
    gatherer *g = self;
    weft_comm *comm = g->p->context->comm;
    const size_t bytes = (size_t)(rows->rows * rows->logits->cols) * sizeof *g->logits;
    void *all = NULL;
    size_t *bytes_of = NULL, sum = 0;
    weft_status status;
    WEFT_TRY_GOTO(comm_agree(comm, download(g, rows->logits)), status, done);
    WEFT_TRY_GOTO(comm_allgather_bytes(comm, g->logits, bytes, &all, &bytes_of), status, done);
    for (int r = 0; r < comm_size(comm); ++r) {
        sum += bytes_of[r];
    }
    const int64_t count = (int64_t)(sum / sizeof *g->logits) / rows->logits->cols;
    if (comm_rank(comm) == 0) {
        status = g->take(g->self, g->done, count, all, rows->logits->cols);
        g->done += count;
    }
    status = comm_agree(comm, status);
done:
    WEFT_FREE_ALL(all, bytes_of);
    return status;
}

weft_status focus_scores_run(const predictor *p,
                             weft_status (*take)(void *self, int64_t first, int64_t rows, const float *logits,
                                                 int64_t classes),
                             void *self)
{
    gatherer g = {.p = p, .take = take, .self = self};
    const weft_status status = predictor_run(p, take_step, &g);
    weft_free(g.logits);
    return status;
}

/* The sum of the other classes is not a difference of near numbers. */
weft_status focus_scores_odds(const float *logits, int64_t classes, double *odds)
{
    double most = -INFINITY, all = 0.0, others = 0.0;
    int64_t best = -1;
    for (int64_t i = 0; i < classes; ++i) {
        best = (double)logits[i] > most ? i : best;
        most = fmax(most, (double)logits[i]);
    }
    for (int64_t i = 0; i < classes; ++i) {
        const double e = exp((double)logits[i] - most);
        all += e;
        others += i == best ? 0.0 : e;
    }
    WEFT_CHECK(best >= 0 && isfinite(all), WEFT_ERR_DATA, "the network answers with numbers that are not finite");
    for (int64_t i = 0; i < classes; ++i) {
        const double e = exp((double)logits[i] - most);
        odds[i] = log(e) - log(i == best ? others : all - e);
    }
    return WEFT_OK;
}
