/* app/focus/focus_asker.c: see app/focus/focus_asker.h. */
#include "app/focus/focus_asker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "app/predict/predictions.h"
#include "base/log.h"

/* ---- rows and items ---- */

static int by_name_order(const void *a, const void *b)
{
    return strcmp(((const focus_named_row *)a)->name, ((const focus_named_row *)b)->name);
}

weft_status focus_rows_by_name(const workload *work, focus_named_row **by_name)
{
    const int64_t rows = work->held.total;
    *by_name = NULL;
    if (rows == 0 || workload_row_name(work, 0) == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(by_name, rows, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < rows; ++i) {
        (*by_name)[i] = (focus_named_row){workload_row_name(work, i), i};
    }
    qsort(*by_name, (size_t)rows, sizeof **by_name, by_name_order);
    for (int64_t i = 1; i < rows; ++i) {
        WEFT_CHECK(strcmp((*by_name)[i - 1].name, (*by_name)[i].name) != 0, WEFT_ERR_DATA,
                   "%s: two of the %s are called %s, and an index tells them apart by their names: give the data in one "
                   "place",
                   work->name, work->ops->rows, (*by_name)[i].name);
    }
    return WEFT_OK;
}

int64_t focus_row_of(const focus_named_row *by_name, int64_t rows, const char *name)
{
    const focus_named_row key = {.name = name};
    const focus_named_row *found = bsearch(&key, by_name, (size_t)rows, sizeof key, by_name_order);
    return found != NULL ? found->row : -1;
}

weft_status focus_asker_begin(focus_asker *a)
{
    const workload *work = a->network->work;
    const focus_index *index = a->index;
    WEFT_CHECK(index->expensive[0] == '\0' || strcmp(index->expensive, a->hash) == 0, WEFT_ERR_USAGE,
               "%s: holds answers of another network than " FLAG_FOCUS_EXPENSIVE
               " %s: name that network, or make an index of its own for this one",
               a->path, a->network->model->path);
    WEFT_TRY(focus_rows_by_name(work, &a->by_name));
    const bool named = index->head.data[0] == '\0';
    WEFT_CHECK(named == (a->by_name != NULL) && (named || strcmp(index->head.data, work->hash) == 0), WEFT_ERR_DATA,
               "%s: is an index of other data than %s: give the data that it was made of", a->path, work->name);
    WEFT_CHECK(named || index->items <= work->held.total, WEFT_ERR_DATA,
               "%s: holds %lld items, and %s has %lld %s: give the data that it was made of", a->path,
               (long long)index->items, work->name, (long long)work->held.total, work->ops->rows);
    return WEFT_OK;
}

/* ---- all ranks ---- */

/* The classes of this rank's rows, which become pairs of a row and its class. */
typedef struct row_class {
    int64_t row, class;
} row_class;

typedef struct class_taker {
    const workload *work;
    row_class *pair; /* [held.count] */
    float *logits;
    int64_t room;
} class_taker;

static weft_status take_classes(void *self, const predicted_rows *rows)
{
    class_taker *t = self;
    const int64_t cells = rows->rows * rows->logits->cols;
    if (t->room < cells) {
        WEFT_TRY(weft_realloc((void **)&t->logits, (size_t)cells, sizeof *t->logits, WEFT_MEM_FOCUS));
        t->room = cells;
    }
    WEFT_TRY(rows->rows > 0 ? tensor_download(rows->logits, t->logits) : WEFT_OK);
    for (int64_t i = 0; i < rows->rows; ++i) {
        const float *one = t->logits + i * rows->logits->cols;
        t->pair[rows->first + i] =
            (row_class){t->work->held.id[rows->first + i], predictions_class(one, rows->logits->cols)};
    }
    return WEFT_OK;
}

/* [out] all: [a->count] pairs of all ranks, for weft_free. Collective. */
static weft_status run_rows(focus_asker *a, row_class **all)
{
    predictor *p = a->network;
    weft_comm *comm = p->context->comm;
    class_taker taker = {.work = p->work};
    size_t *bytes_of = NULL;
    void *gathered = NULL;
    weft_status status;
    WEFT_TRY_GOTO(predictor_select(p, a->row, a->count), status, done);
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW(&taker.pair, p->work->held.count, WEFT_MEM_FOCUS)), status, done);
    WEFT_TRY_GOTO(comm_agree(comm, predictor_run(p, take_classes, &taker)), status, done);
    WEFT_TRY_GOTO(comm_allgather_bytes(comm, taker.pair, (size_t)p->work->held.count * sizeof *taker.pair, &gathered,
                                       &bytes_of),
                  status, done);
    *all = gathered;
    gathered = NULL;
done:
    WEFT_FREE_ALL(taker.pair, taker.logits, bytes_of, gathered);
    return status;
}

/* Hands the rows to all ranks. count -1: there are no more. Collective. */
static weft_status share_rows(focus_asker *a, int64_t count)
{
    weft_comm *comm = a->network->context->comm;
    WEFT_TRY(comm_bcast(comm, 0, &count, sizeof count));
    a->count = count;
    if (count <= 0) {
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    if (comm_rank(comm) != 0) {
        status = weft_realloc((void **)&a->row, (size_t)count, sizeof *a->row, WEFT_MEM_FOCUS);
    }
    WEFT_TRY(comm_agree(comm, status));
    return comm_bcast(comm, 0, a->row, count * (int64_t)sizeof *a->row);
}

weft_status focus_asker_serve(focus_asker *a)
{
    weft_comm *comm = a->network->context->comm;
    for (;;) {
        row_class *all = NULL;
        WEFT_TRY(share_rows(a, 0));
        if (a->count < 0) {
            return comm_agree(comm, WEFT_OK);
        }
        const weft_status status = run_rows(a, &all);
        weft_free(all);
        WEFT_TRY(status);
    }
}

weft_status focus_asker_dismiss(focus_asker *a, weft_status status)
{
    if (a->failed) {
        return status;
    }
    WEFT_TRY(share_rows(a, -1));
    return comm_agree(a->network->context->comm, status);
}

/* ---- rank 0 ---- */

static int by_row(const void *a, const void *b)
{
    const row_class *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* [out] pair: [*count] items without an answer, with their rows, by row. */
static weft_status list_rows(focus_asker *a, const int64_t *item, int64_t count, row_class *pair, int64_t *left)
{
    const workload *work = a->network->work;
    *left = 0;
    for (int64_t i = 0; i < count; ++i) {
        const char *name = focus_index_name(a->index, item[i]);
        int64_t row = item[i];
        if (a->index->answer[item[i]] >= 0) {
            a->known++;
            continue;
        }
        if (a->by_name != NULL) {
            row = focus_row_of(a->by_name, work->held.total, name);
            WEFT_CHECK(row >= 0, WEFT_ERR_DATA,
                       "%s: %s is in the index %s and not among the data: give all data that the index was made of",
                       work->name, name, a->path);
        }
        pair[(*left)++] = (row_class){row, item[i]};
    }
    qsort(pair, (size_t)*left, sizeof *pair, by_row);
    return WEFT_OK;
}

/* pair: by row, with the items; all: by row, with the classes. */
static weft_status keep(focus_asker *a, row_class *pair, const row_class *all, int64_t *item, int32_t *class)
{
    focus_writer *writer = NULL;
    for (int64_t i = 0; i < a->count; ++i) {
        assert(pair[i].row == all[i].row);
        a->index->answer[pair[i].class] = (int32_t)all[i].class;
        pair[i].row = pair[i].class;
    }
    qsort(pair, (size_t)a->count, sizeof *pair, by_row);
    for (int64_t i = 0; i < a->count; ++i) {
        item[i] = pair[i].row;
        class[i] = a->index->answer[item[i]];
    }
    weft_status status = focus_writer_append(a->path, a->index, &writer);
    status = status == WEFT_OK ? focus_writer_answers(writer, a->hash, item, class, a->count) : status;
    if (status == WEFT_OK) {
        a->index->bytes = focus_writer_bytes(writer);
        a->index->dropped = 0;
        a->index->answered += a->count;
        a->runs += a->count;
    }
    focus_writer_close(writer);
    return status;
}

static weft_status ask_and_keep(focus_asker *a, row_class *pair, int64_t left, int32_t *class)
{
    row_class *all = NULL;
    WEFT_TRY(weft_realloc((void **)&a->row, (size_t)left, sizeof *a->row, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < left; ++i) {
        a->row[i] = pair[i].row;
    }
    a->failed = true; /* all ranks fail together from here on */
    weft_status status = share_rows(a, left);
    status = status == WEFT_OK ? run_rows(a, &all) : status;
    if (status == WEFT_OK) {
        a->failed = false;
        qsort(all, (size_t)left, sizeof *all, by_row);
        status = keep(a, pair, all, a->row, class);
    }
    weft_free(all);
    return status;
}

weft_status focus_asker_ask(focus_asker *a, const int64_t *item, int64_t count)
{
    row_class *pair = NULL;
    int32_t *class = NULL;
    int64_t left = 0;
    weft_status status = WEFT_NEW(&pair, count, WEFT_MEM_FOCUS);
    status = status == WEFT_OK ? WEFT_NEW(&class, count, WEFT_MEM_FOCUS) : status;
    status = status == WEFT_OK ? list_rows(a, item, count, pair, &left) : status;
    status = status == WEFT_OK && left > 0 ? ask_and_keep(a, pair, left, class) : status;
    WEFT_FREE_ALL(pair, class);
    return status;
}

void focus_asker_free(focus_asker *a)
{
    WEFT_FREE_ALL(a->row, a->by_name);
    a->row = NULL;
    a->by_name = NULL;
}
