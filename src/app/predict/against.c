/* app/predict/against.c: see app/predict/against.h. */
#include "app/predict/against.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_PREFIX "column:"

/* ---- rows of one model ------------------------------------------------------------------------------------------- */

/* [out] row: [targets->rows] those that have a label and are judged. Returns how many there are. */
static int64_t list_rows(const workload *work, const float *logits, score_split split, against_row *row)
{
    const train_targets *t = work->targets;
    int64_t count = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        const int label = binary_label(t, i);
        if (label >= 0 && score_split_has(split, t, i)) {
            row[count++] = (against_row){held_row_id(&work->held, i), binary_score(t, logits, i), label};
        }
    }
    return count;
}

static weft_status answer(predictor *p, against_scores *scores)
{
    weft_tensor view;
    float *logits, *own = NULL;
    const workload *work = p->work;
    WEFT_CHECK(binary_targets(work->targets), WEFT_ERR_USAGE,
               FLAG_AGAINST " %s: models are compared on labelled rows of two classes: leave it out", p->model->path);
    weft_status status = predictor_answers(p, &view, &logits, &own);
    if (status == WEFT_OK) {
        status = comm_agree(p->context->comm, WEFT_NEW(&scores->row, work->targets->rows, WEFT_MEM_WORKSPACE));
    }
    if (status == WEFT_OK) {
        scores->count = list_rows(work, logits, SCORE_LABELLED, scores->row);
        (void)snprintf(scores->model, sizeof scores->model, "%s", p->model->path);
    }
    weft_free(own);
    tensor_destroy(&view);
    return status;
}

weft_status against_answer(app_context *context, const weft_options *asked, against_scores *scores)
{
    predictor other;
    *scores = (against_scores){.count = 0};
    const char *text = option_text(asked, OPT_AGAINST);
    if (text[0] == '\0' || strncmp(text, COLUMN_PREFIX, strlen(COLUMN_PREFIX)) == 0) {
        (void)snprintf(scores->model, sizeof scores->model, "%s", text);
        return WEFT_OK;
    }
    weft_status status = predictor_open_model(context, asked, text, predictor_data_from(asked), &other);
    status = status == WEFT_OK ? predictor_load(&other, false) : status;
    status = status == WEFT_OK ? answer(&other, scores) : status;
    predictor_close(&other);
    return status;
}

void against_free(against_scores *scores)
{
    weft_free(scores->row);
    *scores = (against_scores){.count = 0};
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const against_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* [out] all: rank 0's rows of all ranks [*count] by id, for weft_free; NULL on the others. Collective. */
static weft_status gather_sorted(weft_comm *comm, const against_row *row, int64_t mine, against_row **all,
                                 int64_t *count)
{
    const int64_t own = mine * (int64_t)sizeof *row;
    int64_t *bytes = NULL;
    weft_status status;
    *count = 0;
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW(&bytes, comm_size(comm), WEFT_MEM_WORKSPACE)), status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &own, sizeof own, bytes), status, done);
    for (int r = 0; r < comm_size(comm); ++r) {
        *count += bytes[r] / (int64_t)sizeof *row;
    }
    const bool first = comm_rank(comm) == 0;
    WEFT_TRY_GOTO(comm_agree(comm, first ? WEFT_NEW(all, *count, WEFT_MEM_WORKSPACE) : WEFT_OK), status, done);
    WEFT_TRY_GOTO(comm_gatherv(comm, 0, row, own, *all, bytes), status, done);
    if (first) {
        qsort(*all, (size_t)*count, sizeof **all, by_id);
    }
done:
    weft_free(bytes);
    return status;
}

/* Rows of both models by id. other: [others], among which every one of [count] must be. */
static weft_status match_rows(const against_row *row, int64_t count, const against_row *other, int64_t others,
                              const char *model, paired_score *pair)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
        while (at < others && other[at].id < row[i].id) {
            ++at;
        }
        WEFT_CHECK(at < others && other[at].id == row[i].id, WEFT_ERR_DATA,
                   FLAG_AGAINST " %s: does not answer for row %lld, which the other model is judged by", model,
                   (long long)row[i].id);
        WEFT_CHECK(other[at].label == row[i].label, WEFT_ERR_DATA,
                   FLAG_AGAINST " %s: takes row %lld for class %d, and the other model for class %d: their classes "
                                "are not in one order",
                   model, (long long)row[i].id, (int)other[at].label, (int)row[i].label);
        pair[i] = (paired_score){row[i].id, {row[i].score, other[at].score}, row[i].label};
    }
    return WEFT_OK;
}

/* Rank 0. */
static weft_status test_difference(const against_row *row, int64_t count, const against_row *other, int64_t others,
                                   score_comparison *comparison)
{
    paired_score *pair = NULL;
    WEFT_TRY(WEFT_NEW(&pair, count, WEFT_MEM_WORKSPACE));
    weft_status status = match_rows(row, count, other, others, comparison->model, pair);
    status = status == WEFT_OK ? roc_difference_of(pair, count, &comparison->areas) : status;
    comparison->rows = count;
    comparison->made = status == WEFT_OK;
    weft_free(pair);
    return status;
}

/* The column of the data in the place of a model: rows without a value are left out of [*count] row, too.
 * Collective. */
static weft_status read_column(const workload *work, const char *name, against_row *row, int64_t *count,
                               against_row **other)
{
    workload_column column = {.value = NULL};
    int64_t kept = 0, at = 0;
    WEFT_CHECK(work->ops->column != NULL, WEFT_ERR_USAGE, FLAG_AGAINST " " COLUMN_PREFIX "%s: %s have no columns", name,
               work->ops->field);
    weft_status status = work->ops->column(work, FLAG_AGAINST, name, &column);
    if (status == WEFT_OK && column.words.count > 0) {
        status = weft_fail(WEFT_ERR_USAGE, FLAG_AGAINST " " COLUMN_PREFIX "%s: holds words, which order no rows", name);
    }
    status = status == WEFT_OK ? WEFT_NEW(other, *count, WEFT_MEM_WORKSPACE) : status;
    for (int64_t i = 0; status == WEFT_OK && i < *count; ++i) {
        while (held_row_id(&work->held, at) != row[i].id) { /* both in the order of the targets */
            ++at;
        }
        if (!isnan(column.value[at])) {
            (*other)[kept] = (against_row){row[i].id, column.value[at] + 0.0F, row[i].label};
            row[kept++] = row[i];
        }
    }
    workload_column_free(&column);
    *count = kept;
    return comm_agree(work->context->comm, status);
}

weft_status against_compare(const predictor *p, const float *logits, const against_scores *scores, score_table *table)
{
    const workload *work = p->work;
    weft_comm *comm = p->context->comm;
    against_row *mine = NULL, *beside = NULL, *all = NULL, *other = NULL;
    const bool column = scores->row == NULL && strncmp(scores->model, COLUMN_PREFIX, strlen(COLUMN_PREFIX)) == 0;
    int64_t own, count = 0, others = 0;
    weft_status status;
    if (scores->model[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_CHECK(binary_targets(work->targets), WEFT_ERR_USAGE,
               FLAG_AGAINST " %s: compares answers of two classes, and %s has other targets", scores->model,
               work->name);
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW(&mine, work->targets->rows, WEFT_MEM_WORKSPACE)), status, done);
    own = list_rows(work, logits, table->split, mine);
    if (column) {
        const char *name = scores->model + strlen(COLUMN_PREFIX);
        WEFT_TRY_GOTO(read_column(work, name, mine, &own, &beside), status, done);
    }
    WEFT_TRY_GOTO(gather_sorted(comm, mine, own, &all, &count), status, done);
    WEFT_TRY_GOTO(gather_sorted(comm, column ? beside : scores->row, column ? own : scores->count, &other, &others),
                  status, done);
    (void)snprintf(table->against.model, sizeof table->against.model, "%s", scores->model);
    if (comm_rank(comm) == 0) {
        status = test_difference(all, count, other, others, &table->against);
    }
    status = comm_agree(comm, status);
done:
    WEFT_FREE_ALL(mine, beside, all, other);
    return status;
}
