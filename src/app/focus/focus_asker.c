/* app/focus/focus_asker.c: see app/focus/focus_asker.h. */
#include "app/focus/focus_asker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/focus/focus_scores.h"
#include "app/predict/predictions.h"

/* Rank 0. */
static weft_status list_origins(focus_asker *a)
{
    WEFT_CHECK(file_exists(a->path), WEFT_ERR_NOINPUT, "%s: there is no such index: weft focus ingest makes it",
               a->path);
    WEFT_TRY(focus_index_open(a->path, a->index));
    if (!a->index->head.moving || a->index->items == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&a->origin, a->index->items, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < a->index->items; ++i) {
        a->origin[a->origins++] = focus_index_origin(a->index, i);
    }
    return WEFT_OK;
}

weft_status focus_asker_open(focus_asker *a, weft_comm *comm)
{
    const bool first = comm_rank(comm) == 0;
    WEFT_TRY(comm_agree(comm, first ? list_origins(a) : WEFT_OK));
    WEFT_TRY(comm_bcast(comm, 0, &a->origins, sizeof a->origins));
    if (a->origins == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, first ? WEFT_OK : WEFT_NEW(&a->origin, a->origins, WEFT_MEM_FOCUS)));
    return comm_bcast(comm, 0, a->origin, a->origins * (int64_t)sizeof *a->origin);
}

weft_status focus_asker_begin(focus_asker *a)
{
    const workload *work = a->network->work;
    const focus_index *index = a->index;
    WEFT_CHECK(index->expensive[0] == '\0' || strcmp(index->expensive, a->hash) == 0, WEFT_ERR_USAGE,
               "%s: holds answers of another network than " FLAG_FOCUS_EXPENSIVE
               " %s: name that network, or make an index of its own for this one",
               a->path, a->network->model->path);
    WEFT_TRY(WEFT_NEW_ZERO(&a->asked, index->items, WEFT_MEM_FOCUS));
    WEFT_TRY(focus_rows_by_name(work, &a->by_name));
    WEFT_TRY(focus_match_check(index, a->path, work, a->by_name));
    WEFT_CHECK(a->by_name != NULL || index->items <= work->held.total, WEFT_ERR_DATA,
               "%s: holds %lld items, and %s has %lld %s: give the data that it was made of", a->path,
               (long long)index->items, work->name, (long long)work->held.total, work->ops->rows);
    return WEFT_OK;
}

/* ---- all ranks ---- */

/* Rank 0: classes of the rows that were selected, in their order. */
static weft_status take_classes(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes)
{
    focus_asker *a = self;
    for (int64_t i = 0; i < rows; ++i) {
        const float *one = logits + i * classes;
        const int32_t class = predictions_class(one, classes);
        WEFT_CHECK(isfinite(one[class]), WEFT_ERR_DATA,
                   "%s: the network answers for row %lld with numbers that are not "
                   "finite",
                   a->network->work->name, (long long)a->row[first + i]);
        a->class[first + i] = class;
    }
    return WEFT_OK;
}

static weft_status run_rows(focus_asker *a)
{
    WEFT_TRY(predictor_select(a->network, a->row, a->count));
    return focus_scores_run(a->network, take_classes, a);
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
        WEFT_TRY(share_rows(a, 0));
        if (a->count < 0) {
            return comm_agree(comm, WEFT_OK);
        }
        WEFT_TRY(run_rows(a));
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

/* An item that is asked for, and its row. */
typedef struct asked_item {
    int64_t row, item;
    int32_t class;
} asked_item;

static int by_row(const void *a, const void *b)
{
    const asked_item *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_item(const void *a, const void *b)
{
    const asked_item *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

/* [out] list: [*left] items without an answer, by row. */
static weft_status list_rows(focus_asker *a, const int64_t *item, int64_t count, asked_item *list, int64_t *left)
{
    const workload *work = a->network->work;
    *left = 0;
    for (int64_t i = 0; i < count; ++i) {
        const char *name = focus_index_name(a->index, item[i]);
        int64_t row = item[i];
        const bool first = !a->asked[item[i]];
        a->asked[item[i]] = 1;
        if (a->index->answer[item[i]] >= 0) {
            a->known += first;
            continue;
        }
        if (a->by_name != NULL) {
            row = focus_row_of(a->by_name, work->held.total, name);
            WEFT_CHECK(row >= 0, WEFT_ERR_DATA,
                       "%s: %s is in the index %s and not among the data: give all data that the index was made of",
                       work->name, name, a->path);
        }
        list[(*left)++] = (asked_item){.row = row, .item = item[i]};
    }
    qsort(list, (size_t)*left, sizeof *list, by_row);
    return WEFT_OK;
}

/* Answers into the index and its file, in the order of items; a->row and a->class hold them on the way. */
static weft_status keep(focus_asker *a, asked_item *list)
{
    focus_writer *writer = NULL;
    for (int64_t i = 0; i < a->count; ++i) {
        list[i].class = a->class[i];
    }
    qsort(list, (size_t)a->count, sizeof *list, by_item);
    for (int64_t i = 0; i < a->count; ++i) {
        a->row[i] = list[i].item;
        a->class[i] = list[i].class;
        a->index->answer[list[i].item] = list[i].class;
    }
    weft_status status = focus_writer_append(a->path, a->index, &writer);
    status = status == WEFT_OK ? focus_writer_answers(writer, a->hash, a->row, a->class, a->count) : status;
    if (status == WEFT_OK) {
        a->index->bytes = focus_writer_bytes(writer);
        a->index->dropped = 0;
        a->index->answered += a->count;
        a->runs += a->count;
    }
    focus_writer_close(writer);
    return status;
}

static weft_status ask_and_keep(focus_asker *a, asked_item *list, int64_t left)
{
    WEFT_TRY(weft_realloc((void **)&a->row, (size_t)left, sizeof *a->row, WEFT_MEM_FOCUS));
    WEFT_TRY(weft_realloc((void **)&a->class, (size_t)left, sizeof *a->class, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < left; ++i) {
        a->row[i] = list[i].row;
    }
    a->failed = true; /* a failure is one of all ranks from here on */
    WEFT_TRY(share_rows(a, left));
    WEFT_TRY(run_rows(a));
    a->failed = false;
    return keep(a, list);
}

weft_status focus_asker_ask(focus_asker *a, const int64_t *item, int64_t count)
{
    asked_item *list = NULL;
    int64_t left = 0;
    if (count == 0) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&list, count, WEFT_MEM_FOCUS);
    status = status == WEFT_OK ? list_rows(a, item, count, list, &left) : status;
    status = status == WEFT_OK && left > 0 ? ask_and_keep(a, list, left) : status;
    weft_free(list);
    return status;
}

void focus_asker_free(focus_asker *a)
{
    WEFT_FREE_ALL(a->row, a->class, a->by_name, a->origin, a->asked);
    a->class = NULL;
    a->row = NULL;
    a->by_name = NULL;
    a->origin = NULL;
    a->asked = NULL;
}
