/* clicks/data/click_rows.c: see clicks/data/click_rows.h. Columns are in click_columns.c, labels in click_labels.c. */
#include "clicks/data/click_rows.h"

#include <stdio.h>
#include <string.h>

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

static void read_keys(const click_rows *rows, int64_t row, uint64_t *key)
{
    for (int f = 0; f < rows->fields; ++f) {
        const table_column *c = &rows->table.column[rows->field[f]];
        if (c->kind == TABLE_CATEGORY) {
            const int32_t code = ((const int32_t *)c->data)[row];
            key[f] = code < 0 ? rows->missing_key[f] : rows->word_key[f][code];
        } else {
            const uint64_t id = ((const uint64_t *)c->data)[row];
            key[f] = id == TABLE_NO_ID ? rows->missing_key[f] : click_key_of_id(f, id, rows->hash_bits);
        }
    }
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

void click_rows_read(const click_rows *rows, const click_scaling *scaling, int64_t row, uint64_t *key, float *value,
                     float *target)
{
    if (rows->teacher != NULL) {
        click_made_read(rows, scaling, row, key, value, target);
        return;
    }
    read_keys(rows, row, key);
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

/* Infinite numbers cannot be scaled, and the hash names the content: each rank looks at a share of the rows. */
static weft_status look_through(weft_comm *comm, click_rows *rows, const char *path)
{
    const int64_t all = rows->table.rows, first = all * comm_rank(comm) / comm_size(comm);
    const int64_t end = all * (comm_rank(comm) + 1) / comm_size(comm);
    const click_scaling plain = {.kind = CLICK_SCALING_OFF};
    uint64_t *key = NULL, hash = 0;
    float *value = NULL;
    char text[96];
    weft_status status = WEFT_NEW(&key, rows->fields, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&value, rows->numbers, WEFT_MEM_WORKSPACE) : status;
    for (int64_t i = first; i < end && status == WEFT_OK; ++i) {
        read_keys(rows, i, key);
        read_numbers(rows, &plain, i, value);
        hash += mix64((uint64_t)i * 256 + rows->label[i]);
        for (int f = 0; f < rows->fields; ++f) {
            hash += mix64(key[f] ^ mix64((uint64_t)i));
        }
        for (int64_t c = 0; c < rows->numbers; ++c) {
            hash += table_hash_number(i, c, value[c]);
            if (isinf(value[c])) {
                status = weft_fail(WEFT_ERR_DATA, "%s: row %lld, %s: infinite: leave the cell empty", path,
                                   (long long)i, schema_say(&rows->table.schema, rows->number[c], text));
                break;
            }
        }
    }
    WEFT_FREE_ALL(key, value);
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_allreduce(comm, &hash, 1, WEFT_DTYPE_I64, COMM_SUM));
    rows->hash = hash;
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
    for (int f = 0; f < rows->fields && rows->word_key != NULL; ++f) {
        weft_free(rows->word_key[f]);
    }
    WEFT_FREE_ALL(rows->field, rows->number, rows->word_key, rows->missing_key, rows->label, rows->split, rows->train,
                  rows->eval);
    click_made_close(rows);
    name_list_free(&rows->field_name);
    name_list_free(&rows->number_name);
    table_close(&rows->table);
    *rows = (click_rows){0};
}
