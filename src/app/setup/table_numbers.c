/* app/setup/table_numbers.c: see app/setup/table_numbers.h. */
#include "app/setup/table_numbers.h"

#include <math.h>
#include <string.h>

#include "app/setup/table_setup.h"
#include "table/table_options.def"

/* Reads an input or the target, and hashes it. */
static weft_status take_numbers(table_numbers *n, int64_t column, const char *path)
{
    const table_field *f = &n->table.schema.field[column];
    const bool target = f->role == TABLE_TARGET;
    const int64_t count = n->table.count;
    float *value = target ? n->labels.target : n->value + n->inputs * count;
    char text[96];
    WEFT_CHECK(f->kind <= TABLE_LONG, WEFT_ERR_DATA, "%s: %s holds words, not numbers: leave it out (" FLAG_DROP ")",
               path, schema_say(&n->table.schema, column, text));
    WEFT_CHECK(target || f->missing == 0, WEFT_ERR_DATA,
               "%s: %s has no number in %lld rows: leave it out (" FLAG_DROP ")", path,
               schema_say(&n->table.schema, column, text), (long long)f->missing);
    n->inputs += !target;
    table_read_numbers(f->kind, n->table.column[column].data, 0, count, value);
    for (int64_t i = 0; i < count; ++i) {
        WEFT_CHECK(!isinf(value[i]), WEFT_ERR_DATA, "%s: row %lld, %s: infinite: correct the cell", path,
                   (long long)n->id[i], schema_say(&n->table.schema, column, text));
        n->hash += table_hash_number(n->id[i], column, value[i]);
    }
    return WEFT_OK;
}

static weft_status take_columns(table_numbers *n, const char *path)
{
    for (int64_t j = 0; j < n->table.schema.count; ++j) {
        const table_role role = n->table.schema.field[j].role;
        WEFT_CHECK(role != TABLE_WEIGHT && role != TABLE_GROUP, WEFT_ERR_UNSUPPORTED,
                   "%s: rows of this model have neither weights nor groups: leave column '%s' out (" FLAG_DROP ")",
                   path, n->table.schema.field[j].name);
        if (role == TABLE_SPLIT_OF && n->table.count > 0) {
            memcpy(n->labels.split, n->table.column[j].data, (size_t)n->table.count);
        } else if (role == TABLE_FEATURE || role == TABLE_TARGET) {
            WEFT_TRY(take_numbers(n, j, path));
        }
    }
    return WEFT_OK;
}

static weft_status take_rows(table_numbers *n, const char *path)
{
    const int64_t count = n->table.count;
    WEFT_CHECK(n->table.sparse.columns == 0, WEFT_ERR_UNSUPPORTED,
               "%s: holds given cells alone: convert it with " FLAG_SPARSE " no", path);
    n->labels.targets = (train_targets){.rows = count, .outputs = 1, .loss = TRAIN_LOSS_VALUE};
    WEFT_TRY(labels_create(&n->labels, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&n->id, count, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&n->value, count * n->table.schema.count, WEFT_MEM_TABLE));
    for (int64_t i = 0; i < count; ++i) {
        n->id[i] = n->table.first + i;
        n->labels.target[i] = NAN;
        n->labels.split[i] = TRAIN_SPLIT_TRAIN;
    }
    WEFT_TRY(take_columns(n, path));
    for (int64_t i = 0; i < count; ++i) {
        n->hash += table_hash_number(n->id[i], -1, n->labels.split[i]);
        n->labels.split[i] = isnan(n->labels.target[i]) ? TRAIN_SPLIT_NONE : n->labels.split[i];
    }
    return WEFT_OK;
}

weft_status table_numbers_open(const app_context *context, const char *const *path, int paths, table_numbers *numbers)
{
    weft_comm *comm = context->comm;
    const table_exchange exchange = {comm, comm_rank(comm), comm_size(comm), comm_allgather_bytes};
    const table_request request = app_table_request(context->options);
    WEFT_TRY(table_open(path, paths, &request, &exchange, &numbers->table));
    numbers->labelled = schema_find(&numbers->table.schema, TABLE_TARGET) >= 0;
    WEFT_TRY(comm_agree(comm, take_rows(numbers, path[0])));
    return labels_count(&numbers->labels, comm, &numbers->hash);
}

weft_status table_numbers_upload(table_numbers *numbers, weft_hal *hal, bool labelled)
{
    const int64_t count = numbers->table.count;
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, count, numbers->inputs, WEFT_MEM_TABLE, &numbers->x));
    for (int64_t j = 0; j < numbers->inputs; ++j) {
        weft_tensor column = tensor_view(&numbers->x, 0, count, j, 1);
        WEFT_TRY(tensor_upload(&column, numbers->value + j * count));
    }
    return labelled ? labels_upload(&numbers->labels, hal) : WEFT_OK;
}

void table_numbers_close(table_numbers *numbers)
{
    tensor_destroy(&numbers->x);
    labels_destroy(&numbers->labels);
    WEFT_FREE_ALL(numbers->id, numbers->value);
    table_close(&numbers->table);
}
