/* clicks/data/click_rows.c: see clicks/data/click_rows.h. Columns are in click_columns.c, labels in click_labels.c. */
#include "clicks/data/click_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/integer/mix.h"
#include "clicks/data/click_internal.h"
#include "clicks/data/click_made.h"
#include "comm/comm.h"

weft_mem_tag WEFT_MEM_CLICKS[1] = {{.text = "tables of clicks"}};

enum { CHUNK = 4096, BLOCK = 1 << 16 };

/* ---- a row ------------------------------------------------------------------------------------------------------- */

int64_t click_rows_train(const click_rows *rows, int64_t place)
{
    return rows->teacher != NULL ? place : rows->train[place];
}

int64_t click_rows_eval(const click_rows *rows, int64_t place)
{
    return rows->teacher == NULL ? rows->eval[place] : rows->all_evaluated ? place : rows->counted[0] + place;
}

uint8_t click_rows_split(const click_rows *rows, int64_t row)
{
    return rows->teacher != NULL ? click_made_split(rows, row) : rows->split[row];
}

int64_t click_rows_ids(const click_rows *rows)
{
    int64_t ids = 0;
    for (int f = 0; f < rows->fields; ++f) {
        ids += rows->field[f].ids;
    }
    return ids;
}

/* The code of a field's cell, below 0 where it is missing. */
static int32_t code_of(const click_rows *rows, const click_field *field, int64_t row)
{
    return ((const int32_t *)rows->table.column[field->column].data)[row];
}

int64_t click_rows_size(const click_rows *rows, int64_t row, int f)
{
    const click_field *field = &rows->field[f];
    if (field->column == CLICK_GIVEN) {
        return rows->table.sparse.start[row + 1] - rows->table.sparse.start[row];
    }
    if (!field->several) {
        return 1;
    }
    const int32_t code = code_of(rows, field, row);
    return code < 0 ? 0 : field->cells.at[code + 1] - field->cells.at[code];
}

/* The key of a field that has one id a row. */
static uint64_t key_of_cell(const click_rows *rows, int64_t row, int f)
{
    const click_field *field = &rows->field[f];
    if (field->word_key != NULL) {
        const int32_t code = code_of(rows, field, row);
        return code < 0 ? field->missing_key : field->word_key[code];
    }
    const uint64_t id = ((const uint64_t *)rows->table.column[field->column].data)[row];
    return id == TABLE_NO_ID ? field->missing_key : click_key_of_id(f, id, rows->hash_bits);
}

/* Keys of a field with several ids, and the value of each pair INDEX:VALUE. An index is what the file says, whatever
 * the first one is. */
static void keys_of_bag(const click_rows *rows, int64_t row, int f, int64_t count, uint64_t *key, float *weight)
{
    const click_field *field = &rows->field[f];
    const table_sparse *given = &rows->table.sparse;
    if (field->several) {
        const int32_t *word = count > 0 ? field->cells.word + field->cells.at[code_of(rows, field, row)] : NULL;
        for (int64_t i = 0; i < count; ++i) {
            key[i] = field->word_key[word[i]];
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        const int64_t entry = given->start[row] + i;
        key[i] = click_key_of_id(f, mix64((uint64_t)(given->base + sparse_feature(given, entry))), rows->hash_bits);
        if (rows->weighted) {
            weight[i] *= given->value[entry];
        }
    }
}

static void read_keys(const click_rows *rows, int64_t row, uint64_t *key, float *weight)
{
    for (int f = 0; f < rows->fields; ++f) {
        if (rows->field[f].sized == NULL) {
            *key++ = key_of_cell(rows, row, f);
            if (rows->weighted) {
                *weight++ = 1.0F;
            }
            continue;
        }
        const int64_t count = click_rows_size(rows, row, f);
        for (int64_t i = 0; i < count && rows->weighted; ++i) {
            weight[i] = rows->pooling == CLICK_POOLING_MEAN ? 1.0F / (float)count : 1.0F;
        }
        keys_of_bag(rows, row, f, count, key, weight);
        key += count;
        weight += rows->weighted ? count : 0;
    }
}

/* The most ids of a field that any `samples` rows have together. */
static int64_t most_of(const click_field *field, int64_t samples)
{
    int64_t most = field->sized == NULL ? samples : 0, left = samples;
    for (int64_t size = field->longest; field->sized != NULL && size > 0 && left > 0; --size) {
        const int64_t count = smaller(field->sized[size], left);
        most += size * count;
        left -= count;
    }
    return most;
}

int64_t click_rows_most(const click_rows *rows, int64_t samples)
{
    int64_t most = 0;
    for (int f = 0; f < rows->fields; ++f) {
        most += most_of(&rows->field[f], samples);
    }
    return most;
}

int64_t click_rows_distinct(const click_rows *rows, int64_t samples)
{
    int64_t distinct = 0;
    for (int f = 0; f < rows->fields; ++f) {
        distinct += rows->teacher != NULL ? click_teacher_distinct(rows->teacher, f, samples)
                                          : smaller(most_of(&rows->field[f], samples), rows->field[f].ids);
    }
    return distinct;
}

static void read_numbers(const click_rows *rows, const click_scaling *scaling, int64_t row, float *value)
{
    for (int64_t c = 0; c < rows->numbers; ++c) {
        const table_column *column = &rows->table.column[rows->number[c]];
        table_read_numbers(column->kind, column->data, row, 1, &value[c]);
        value[c] = click_scaled(scaling, c, value[c]);
    }
}

static float target_of(const click_rows *rows, int64_t row)
{
    return rows->label[row] == CLICK_NO_LABEL ? NAN : (float)rows->label[row];
}

void click_rows_read(const click_rows *rows, const click_scaling *scaling, int64_t row, uint64_t *key, float *weight,
                     float *value, float *target)
{
    if (rows->teacher != NULL) {
        click_made_read(rows, scaling, row, key, value, target);
        return;
    }
    read_keys(rows, row, key, weight);
    read_numbers(rows, scaling, row, value);
    *target = target_of(rows, row);
}

void click_rows_answer(const click_rows *rows, int64_t row, float *target, float *logit)
{
    if (rows->teacher != NULL) {
        click_made_answer(rows, row, target, logit);
    } else {
        *target = target_of(rows, row);
        *logit = NAN;
    }
}

/* ---- scaling ----------------------------------------------------------------------------------------------------- */

/* Sums of rows of a block: of values, of squares about `middle`, and how many. */
static void sum_block(const click_rows *rows, click_scaling_kind kind, int64_t column, int64_t block, double middle,
                      double sum[3])
{
    const table_column *c = &rows->table.column[rows->number[column]];
    float value[CHUNK];
    const int64_t end = (block + 1) * BLOCK < rows->table.rows ? (block + 1) * BLOCK : rows->table.rows;
    for (int64_t first = block * BLOCK; first < end; first += CHUNK) {
        const int64_t count = end - first < CHUNK ? end - first : CHUNK;
        table_read_numbers(c->kind, c->data, first, count, value);
        for (int64_t i = 0; i < count; ++i) {
            if (rows->split[first + i] == TRAIN_SPLIT_TRAIN && !isnan(value[i])) {
                const double x = click_scaling_bent(kind, (double)value[i]);
                sum[0] += x;
                sum[1] += (x - middle) * (x - middle);
                sum[2] += 1.0;
            }
        }
    }
}

/* [out] total: [numbers][3], sums of the blocks in their order. A block is one rank's, and the sum over ranks adds
 * zeros to it. */
static weft_status sum_all(weft_comm *comm, const click_rows *rows, click_scaling_kind kind, const double *middle,
                           double *part, double *total)
{
    const int64_t blocks = (rows->table.rows + BLOCK - 1) / BLOCK, row = 3 * rows->numbers;
    memset(part, 0, (size_t)(blocks * row) * sizeof *part);
    memset(total, 0, (size_t)row * sizeof *total);
    for (int64_t b = comm_rank(comm); b < blocks; b += comm_size(comm)) {
        for (int64_t c = 0; c < rows->numbers; ++c) {
            sum_block(rows, kind, c, b, middle[c], part + b * row + 3 * c);
        }
    }
    WEFT_TRY(comm_allreduce(comm, part, blocks * row, WEFT_DTYPE_F64, COMM_SUM));
    for (int64_t b = 0; b < blocks; ++b) {
        for (int64_t i = 0; i < row; ++i) {
            total[i] += part[b * row + i];
        }
    }
    return WEFT_OK;
}

/* Means first, then deviations about them. */
static weft_status measure(weft_comm *comm, const click_rows *rows, click_scaling *scaling, double *part, double *total)
{
    double *mean = scaling->moments.mean, *deviation = scaling->moments.deviation;
    for (int pass = 0; pass < 2; ++pass) {
        WEFT_TRY(sum_all(comm, rows, scaling->kind, mean, part, total));
        for (int64_t c = 0; c < rows->numbers; ++c) {
            const double *sum = total + 3 * c;
            if (sum[2] > 0.0) {
                *(pass == 0 ? &mean[c] : &deviation[c]) = pass == 0 ? sum[0] / sum[2] : sqrt(sum[1] / sum[2]);
            }
        }
    }
    return WEFT_OK;
}

weft_status click_rows_measure(weft_comm *comm, const click_rows *rows, click_scaling *scaling)
{
    double *part = NULL, *total = NULL;
    weft_status status = WEFT_OK;
    if (rows->numbers == 0 || scaling->kind == CLICK_SCALING_OFF) {
        return WEFT_OK;
    }
    if (rows->teacher != NULL) {
        return click_made_measure(comm, rows, scaling);
    }
    const int64_t blocks = (rows->table.rows + BLOCK - 1) / BLOCK;
    weft_status local = input_moments_create(rows->numbers, &scaling->moments);
    local = local == WEFT_OK ? WEFT_NEW(&part, blocks * 3 * rows->numbers, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&total, 3 * rows->numbers, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    status = measure(comm, rows, scaling, part, total);
done:
    WEFT_FREE_ALL(part, total);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Sums over the rows of a table. */
typedef struct row_facts {
    uint64_t hash;
    int64_t weights; /* ids whose weight is not 1 */
} row_facts;

static weft_status look_at_given(const click_rows *rows, int64_t row, const char *path, row_facts *facts)
{
    const table_sparse *given = &rows->table.sparse;
    for (int64_t e = given->start[row]; e < given->start[row + 1]; ++e) {
        WEFT_CHECK(isfinite(given->value[e]), WEFT_ERR_DATA,
                   "%s: row %lld, index %lld: the value is not finite: leave the pair out", path, (long long)row,
                   (long long)(given->base + sparse_feature(given, e)));
        facts->hash += table_hash_number(row, sparse_feature(given, e), given->value[e]);
        facts->weights += given->value[e] != 1.0F;
    }
    return WEFT_OK;
}

/* Infinite numbers cannot be scaled, and the hash names the content. key, value: scratch. */
static weft_status look_at_row(const click_rows *rows, int64_t row, const char *path, uint64_t *key, float *value,
                               row_facts *facts)
{
    const click_scaling plain = {.kind = CLICK_SCALING_OFF};
    char text[96];
    int64_t ids = 0;
    for (int f = 0; f < rows->fields; ++f) {
        const int64_t size = click_rows_size(rows, row, f);
        ids += size;
        if (rows->field[f].sized != NULL) {
            rows->field[f].sized[size] += 1;
        }
        if (rows->field[f].column == CLICK_GIVEN) {
            WEFT_TRY(look_at_given(rows, row, path, facts));
        }
    }
    read_keys(rows, row, key, value);
    facts->hash += mix64((uint64_t)row * 256 + rows->label[row]);
    for (int64_t i = 0; i < ids; ++i) {
        facts->hash += mix64(key[i] ^ mix64((uint64_t)row));
    }
    read_numbers(rows, &plain, row, value);
    for (int64_t c = 0; c < rows->numbers; ++c) {
        facts->hash += table_hash_number(row, c, value[c]);
        WEFT_CHECK(!isinf(value[c]), WEFT_ERR_DATA, "%s: row %lld, %s: infinite: leave the cell empty", path,
                   (long long)row, schema_say(&rows->table.schema, rows->number[c], text));
    }
    return WEFT_OK;
}

static weft_status look_at_share(const weft_comm *comm, click_rows *rows, const char *path, row_facts *facts)
{
    const int64_t all = rows->table.rows, first = all * comm_rank(comm) / comm_size(comm);
    const int64_t end = all * (comm_rank(comm) + 1) / comm_size(comm);
    int64_t longest = 0;
    uint64_t *key = NULL;
    float *value = NULL;
    for (int f = 0; f < rows->fields; ++f) {
        longest += rows->field[f].longest;
    }
    weft_status status = WEFT_NEW(&key, longest, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&value, rows->numbers + longest, WEFT_MEM_WORKSPACE) : status;
    for (int64_t i = first; i < end && status == WEFT_OK; ++i) {
        status = look_at_row(rows, i, path, key, value, facts);
    }
    WEFT_FREE_ALL(key, value);
    return status;
}

/* Each rank looks at a share of the rows. */
static weft_status look_through(weft_comm *comm, click_rows *rows, const char *path)
{
    row_facts facts = {0};
    WEFT_TRY(comm_agree(comm, look_at_share(comm, rows, path, &facts)));
    WEFT_TRY(comm_allreduce(comm, &facts.hash, 1, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_TRY(comm_allreduce(comm, &facts.weights, 1, WEFT_DTYPE_I64, COMM_SUM));
    for (int f = 0; f < rows->fields; ++f) {
        const click_field *field = &rows->field[f];
        if (field->sized != NULL) {
            WEFT_TRY(comm_allreduce(comm, field->sized, field->longest + 1, WEFT_DTYPE_I64, COMM_SUM));
        }
    }
    rows->hash = facts.hash;
    rows->weighted = rows->weighted || facts.weights > 0;
    click_bags_tell(rows, path);
    return WEFT_OK;
}

static weft_status open_rows(const char *const *path, int paths, const click_rows_options *options, click_rows *rows)
{
    WEFT_TRY(table_open(path, paths, &options->request, NULL, &rows->table));
    WEFT_CHECK(rows->table.rows > 0, WEFT_ERR_DATA, "%s: has no rows", path[0]);
    WEFT_TRY(click_columns_take(rows, path[0], options));
    return click_labels_take(rows, path[0], paths, options);
}

weft_status click_rows_open(weft_comm *comm, const char *const *path, int paths, const click_rows_options *options,
                            click_rows *rows)
{
    *rows = (click_rows){0};
    if (click_spec_is(path[0])) {
        return click_made_open(comm, path[0], options, rows);
    }
    WEFT_TRY(comm_agree(comm, open_rows(path, paths, options, rows)));
    return look_through(comm, rows, path[0]);
}

void click_rows_close(click_rows *rows)
{
    for (int f = 0; f < rows->fields && rows->field != NULL; ++f) {
        WEFT_FREE_ALL(rows->field[f].word_key, rows->field[f].sized);
        click_bag_free(&rows->field[f].cells);
    }
    WEFT_FREE_ALL(rows->field, rows->number, rows->label, rows->split, rows->train, rows->eval);
    click_made_close(rows);
    name_list_free(&rows->field_name);
    name_list_free(&rows->number_name);
    table_close(&rows->table);
    *rows = (click_rows){0};
}
