/* app/trees/trees_background.c: see app/trees/trees_background.h. */
#include "app/trees/trees_background.h"

#include <string.h>

#include "app/setup/table_setup.h"
#include "base/integer/integers.h"
#include "base/permutation.h"
#include "base/philox.h"

/* A table with the columns of the model. */
static weft_status open_table(const workload *work, const char *path, tree_rows *rows)
{
    const trees_job *job = work->self;
    tree_rows_options options = {.request = app_table_request(work->context->options),
                                 .column = job->facts.column,
                                 .columns = job->facts.column != NULL ? job->facts.columns : 0,
                                 .trained = true};
    weft_comm *comm = work->context->comm;
    options.request.reads[0] = &job->reads;
    WEFT_TRY(tree_rows_open(comm, &path, 1, &options, rows));
    WEFT_CHECK(rows->data.columns == job->forest.columns, WEFT_ERR_DATA, "%s: has %d columns, and the model reads %d",
               path, rows->data.columns, job->forest.columns);
    WEFT_CHECK(rows->table.rows > 0, WEFT_ERR_DATA, "%s: has no rows: a background needs one", path);
    return comm_agree(comm, tree_rows_recode(rows, path, job->facts.words));
}

/* The drawn rows that this rank holds; zeros stand for others. value: [count, columns]. */
static weft_status take_rows(const tree_rows *rows, uint64_t seed, int64_t count, float *value)
{
    const permutation order = permutation_make((uint64_t)rows->table.rows, seed, WEFT_RNG_BACKGROUND, 0);
    memset(value, 0, (size_t)(count * rows->data.columns) * sizeof *value);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t local = (int64_t)permute(&order, (uint64_t)i) - rows->table.first;
        if (local >= 0 && local < rows->data.rows) {
            WEFT_TRY(tree_columns_rows(&rows->data, local, 1, value + i * rows->data.columns));
        }
    }
    return WEFT_OK;
}

static weft_status gather_rows_of(weft_comm *comm, const tree_rows *rows, const explain_request *how, float **value,
                                  int64_t *count)
{
    *count = smaller(rows->table.rows, how->background_rows);
    WEFT_TRY(comm_agree(comm, WEFT_NEW(value, *count * rows->data.columns, WEFT_MEM_TREES)));
    WEFT_TRY(comm_agree(comm, take_rows(rows, how->seed, *count, *value)));
    return comm_allreduce(comm, *value, *count * rows->data.columns, WEFT_DTYPE_F32, COMM_SUM);
}

weft_status trees_background(const workload *work, const explain_request *how, float **value, int64_t *count)
{
    const trees_job *job = work->self;
    weft_comm *comm = work->context->comm;
    *value = NULL;
    if (how->background[0] == '\0') {
        return gather_rows_of(comm, &job->rows, how, value, count);
    }
    tree_rows rows = {.weight = NULL};
    weft_status status = open_table(work, how->background, &rows);
    status = status == WEFT_OK ? gather_rows_of(comm, &rows, how, value, count) : status;
    tree_rows_close(&rows);
    return status;
}
