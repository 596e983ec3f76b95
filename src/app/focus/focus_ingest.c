/*
 * app/focus/focus_ingest.c: see app/focus/focus_ingest.h.
 *
 * All ranks compute, and rank 0 writes. An index that is there is gone on with: by the names of items, or behind the
 * last row of data without names.
 */
#include "app/focus/focus_ingest.h"

#include <string.h>

#include "app/focus/focus_match.h"
#include "app/focus/focus_network.h"
#include "app/focus/focus_scores.h"
#include "base/clock.h"
#include "base/log.h"

typedef struct ingest {
    app_context *context;
    predictor *network;
    const char *path;
    int64_t *row; /* [count] rows of the data that are added, on every rank */
    int64_t count;
    /* ---- rank 0 ---- */
    focus_writer *writer;
    double *odds; /* [outputs] */
    log_progress progress;
} ingest;

/* ---- scores ---- */

static weft_status write_rows(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes)
{
    ingest *g = self;
    const workload *work = g->network->work;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = g->row[first + i];
        const char *name = workload_row_name(work, row);
        const weft_status status = focus_scores_odds(logits + i * classes, classes, g->odds);
        if (status != WEFT_OK) {
            return weft_fail_context(status, "%s: row %lld%s%s: ", work->name, (long long)row, name != NULL ? ", " : "",
                                     name != NULL ? name : "");
        }
        const item_origin origin = workload_row_origin(work, row);
        WEFT_TRY(focus_writer_item(g->writer, g->odds, name, &origin));
    }
    log_progress_update(&g->progress, (double)(first + rows));
    return WEFT_OK;
}

/* ---- which rows ---- */

static weft_status check_index(const ingest *g, const focus_index *index, const char *hash)
{
    WEFT_CHECK(strcmp(index->head.cheap, hash) == 0, WEFT_ERR_USAGE,
               "%s: holds scores of another network than " FLAG_FOCUS_CHEAP
               " %s: name that network, or another " FLAG_FOCUS_INDEX,
               g->path, g->network->model->path);
    return WEFT_OK;
}

/* Rank 0: rows whose names the index does not hold, or those behind its last. */
static weft_status list_new(ingest *g, const focus_index *index)
{
    const workload *work = g->network->work;
    const int64_t total = work->held.total;
    focus_named_row *by_name = NULL;
    uint8_t *held = NULL;
    weft_status status;
    WEFT_TRY_GOTO(focus_rows_by_name(work, &by_name), status, done);
    if (index->items > 0) {
        WEFT_TRY_GOTO(focus_match_check(index, g->path, work, by_name), status, done);
    }
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&held, total, WEFT_MEM_FOCUS), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->row, total, WEFT_MEM_FOCUS), status, done);
    for (int64_t i = 0; i < index->items; ++i) {
        const char *name = focus_index_name(index, i);
        const int64_t row = name == NULL ? i : focus_row_of(by_name, total, name);
        if (row >= 0 && row < total) {
            held[row] = 1;
        }
    }
    for (int64_t i = 0; i < total; ++i) {
        if (!held[i]) {
            g->row[g->count++] = i;
        }
    }
done:
    WEFT_FREE_ALL(by_name, held);
    return status;
}

static weft_status make_index(ingest *g, const char *hash, int64_t kept, bool named)
{
    const saved_model *m = g->network->model;
    focus_head head = {.classes = m->outputs};
    head.kept = head.classes <= FOCUS_ALL_CLASSES || kept > head.classes ? head.classes : kept;
    if (m->classes.count == head.classes) {
        head.class_name = m->classes;
    }
    head.moving = workload_row_origin(g->network->work, 0).width > 0;
    memcpy(head.cheap, hash, sizeof head.cheap);
    if (!named) {
        memcpy(head.data, g->network->work->hash, sizeof head.data);
    }
    return focus_writer_create(g->path, &head, &g->writer);
}

/* Rank 0. */
static weft_status open_index(ingest *g, int64_t kept, focus_ingested *done)
{
    const workload *work = g->network->work;
    const bool there = file_exists(g->path);
    char hash[FOCUS_HASH_BYTES];
    focus_index index = {.items = 0};
    WEFT_CHECK(work->held.total > 0, WEFT_ERR_DATA, "%s: has no %s to index", work->name, work->ops->rows);
    const bool named = workload_row_name(work, 0) != NULL;
    focus_network_hash(g->network, hash);
    weft_status status = there ? focus_index_open(g->path, &index) : WEFT_OK;
    status = status == WEFT_OK && there ? check_index(g, &index, hash) : status;
    status = status == WEFT_OK ? list_new(g, &index) : status;
    status = status == WEFT_OK ? WEFT_NEW(&g->odds, work->outputs, WEFT_MEM_FOCUS) : status;
    if (status == WEFT_OK && (g->count > 0 || !there)) {
        status = there ? focus_writer_append(g->path, &index, &g->writer) : make_index(g, hash, kept, named);
    }
    *done = (focus_ingested){.added = g->count, .items = index.items + g->count};
    focus_index_close(&index);
    return status;
}

/* Collective. */
static weft_status share_rows(ingest *g)
{
    weft_comm *comm = g->context->comm;
    WEFT_TRY(comm_bcast(comm, 0, &g->count, sizeof g->count));
    const weft_status status = comm_rank(comm) != 0 ? WEFT_NEW(&g->row, g->count, WEFT_MEM_FOCUS) : WEFT_OK;
    WEFT_TRY(comm_agree(comm, status));
    return comm_bcast(comm, 0, g->row, g->count * (int64_t)sizeof *g->row);
}

static weft_status score(ingest *g, int64_t kept, focus_ingested *done)
{
    predictor *p = g->network;
    weft_comm *comm = g->context->comm;
    const bool first = comm_rank(comm) == 0;
    WEFT_TRY(predictor_load(p, true));
    WEFT_TRY(focus_network_check(p));
    WEFT_TRY(comm_agree(comm, first ? open_index(g, kept, done) : WEFT_OK));
    WEFT_TRY(share_rows(g));
    if (g->count == 0) {
        log_info("%s: holds all %lld %s of %s already", g->path, (long long)p->work->held.total, p->work->ops->rows,
                 p->work->name);
        return WEFT_OK;
    }
    /* Without a selection all rows come in the order of their ids. */
    WEFT_TRY(g->count < p->work->held.total ? predictor_select(p, g->row, g->count) : WEFT_OK);
    const double start = clock_seconds();
    g->progress = log_progress_begin("ingest", p->work->ops->rows, (double)g->count);
    WEFT_TRY(focus_scores_run(p, write_rows, g));
    log_progress_end(&g->progress);
    done->seconds = clock_seconds() - start;
    return comm_agree(comm, first ? focus_writer_flush(g->writer) : WEFT_OK);
}

weft_status focus_ingest(app_context *context, const weft_options *asked, predictor *p, focus_ingested *done)
{
    const char *model = option_text(asked, OPT_FOCUS_CHEAP);
    ingest g = {.context = context, .network = p, .path = option_text(asked, OPT_FOCUS_INDEX)};
    WEFT_CHECK(g.path[0] != '\0', WEFT_ERR_USAGE, FLAG_FOCUS_INDEX " is missing: name the index to make or to add to");
    WEFT_CHECK(model[0] != '\0', WEFT_ERR_USAGE, FLAG_FOCUS_CHEAP " is missing: name the trained network that scores");
    const bool made = comm_rank(context->comm) == 0 && !file_exists(g.path);
    weft_status status = comm_agree(context->comm, made ? file_check_output(g.path) : WEFT_OK);
    status = status == WEFT_OK ? predictor_open_model(context, asked, model, 1, p) : status;
    status = status == WEFT_OK ? score(&g, option_int(asked, OPT_FOCUS_KEPT), done) : status;
    focus_writer_close(g.writer);
    WEFT_FREE_ALL(g.row, g.odds);
    return status;
}
