/* clicks/data/click_made.c: see clicks/data/click_made.h. */
#include "clicks/data/click_made.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/integer/integers.h"
#include "base/integer/mix.h"
#include "clicks/data/click_internal.h"
#include "comm/comm.h"

enum { MEASURED = 1 << 16, NAME_BYTES = 24 };

/* ---- open -------------------------------------------------------------------------------------------------------- */

static weft_status name_columns(const char *first, int64_t count, name_list *names)
{
    char(*name)[NAME_BYTES] = NULL;
    const char **text = NULL;
    weft_status status = weft_malloc((size_t)count, sizeof *name, WEFT_MEM_WORKSPACE, (void **)&name);
    status = status == WEFT_OK ? WEFT_NEW(&text, count, WEFT_MEM_WORKSPACE) : status;
    for (int64_t i = 0; i < count && status == WEFT_OK; ++i) {
        (void)snprintf(name[i], sizeof name[i], "%s%lld", first, (long long)i + 1);
        text[i] = name[i];
    }
    status = status == WEFT_OK ? name_list_copy(text, count, names) : status;
    WEFT_FREE_ALL(name, text);
    return status;
}

/* A trained model reads as many columns as it was trained with. */
static weft_status check_names(const char *data, const name_list *made, const name_list *read, const char *key)
{
    bool same = read == NULL || read->count == made->count;
    for (int64_t i = 0; same && read != NULL && i < read->count; ++i) {
        same = strcmp(read->text[i], made->text[i]) == 0;
    }
    WEFT_CHECK(same, WEFT_ERR_DATA, "%s: has %lld %s, and the model reads %lld, '%s' the first: give %s=%lld", data,
               (long long)made->count, key, (long long)read->count, read->count > 0 ? read->text[0] : "", key,
               (long long)read->count);
    return WEFT_OK;
}

static void share_out(click_rows *rows, const click_rows_options *options)
{
    const double all = (double)rows->table.rows;
    rows->counted[1] = (int64_t)floor(options->valid * all + 0.5);
    rows->counted[2] = (int64_t)floor(options->test * all + 0.5);
    rows->counted[0] = rows->table.rows - rows->counted[1] - rows->counted[2];
    rows->all_evaluated = options->trained;
    rows->evaluated = options->trained ? rows->table.rows : rows->counted[1] + rows->counted[2];
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        rows->clicks[s] = rows->counted[s] / 4;
    }
}

static weft_status describe(const char *data, const click_spec *spec, const click_rows_options *options,
                            click_rows *rows)
{
    rows->table.rows = spec->rows;
    rows->fields = (int)spec->fields;
    rows->numbers = spec->numbers;
    rows->hash_bits = options->hash_bits;
    rows->labelled = true;
    rows->hash = file_checksum(spec, sizeof *spec, 0);
    WEFT_TRY(name_columns("c", spec->fields, &rows->field_name));
    WEFT_TRY(name_columns("n", spec->numbers, &rows->number_name));
    WEFT_TRY(check_names(data, &rows->field_name, options->fields, "fields"));
    WEFT_TRY(check_names(data, &rows->number_name, options->numbers, "numbers"));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->field, rows->fields, WEFT_MEM_CLICKS));
    share_out(rows, options);
    WEFT_CHECK(rows->counted[0] > 0, WEFT_ERR_USAGE, "%s: no row is left to train", data);
    return WEFT_OK;
}

/* One rank makes the teacher, so that all have the same bits. */
weft_status click_made_open(weft_comm *comm, const char *data, const click_rows_options *options, click_rows *rows)
{
    click_spec spec;
    weft_status status = click_spec_parse(data, &spec);
    status = status == WEFT_OK ? describe(data, &spec, options, rows) : status;
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&rows->teacher, 1, WEFT_MEM_CLICKS) : status;
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = click_teacher_make(&spec, options->threads, rows->teacher);
    }
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_bcast(comm, 0, rows->teacher, sizeof *rows->teacher));
    for (int f = 0; f < rows->fields; ++f) {
        const int64_t named = options->trained ? rows->table.rows : rows->counted[0];
        rows->field[f] = (click_field){.longest = 1, .ids = click_teacher_distinct(rows->teacher, f, named)};
    }
    return WEFT_OK;
}

void click_made_close(click_rows *rows)
{
    weft_free(rows->teacher);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

uint8_t click_made_split(const click_rows *rows, int64_t row)
{
    return row < rows->counted[0] ? 0 : row < rows->counted[0] + rows->counted[1] ? 1 : 2;
}

void click_made_read(const click_rows *rows, const click_scaling *scaling, int64_t row, uint64_t *key, float *value,
                     float *target)
{
    click_made_row made;
    click_teacher_row(rows->teacher, row, &made);
    for (int f = 0; f < rows->fields; ++f) {
        key[f] = click_key_of_id(f, mix64((uint64_t)made.id[f]), rows->hash_bits);
    }
    for (int64_t c = 0; c < rows->numbers; ++c) {
        value[c] = click_scaled(scaling, c, made.number[c]);
    }
    *target = made.clicked ? 1.0F : 0.0F;
}

void click_made_answer(const click_rows *rows, int64_t row, float *target, float *logit)
{
    click_made_row made;
    click_teacher_row(rows->teacher, row, &made);
    *target = made.clicked ? 1.0F : 0.0F;
    *logit = made.logit;
}

weft_status click_made_measure(weft_comm *comm, const click_rows *rows, click_scaling *scaling)
{
    const int64_t count = smaller(rows->counted[0], MEASURED);
    click_made_row made;
    WEFT_TRY(comm_agree(comm, input_moments_create(rows->numbers, &scaling->moments)));
    double *mean = scaling->moments.mean, *deviation = scaling->moments.deviation;
    for (int64_t i = 0; i < count; ++i) {
        click_teacher_row(rows->teacher, i, &made);
        for (int64_t c = 0; c < rows->numbers; ++c) {
            const double x = click_scaling_bent(scaling->kind, (double)made.number[c]);
            mean[c] += x;
            deviation[c] += x * x;
        }
    }
    for (int64_t c = 0; c < rows->numbers; ++c) {
        mean[c] /= (double)count;
        deviation[c] = sqrt(fmax(deviation[c] / (double)count - mean[c] * mean[c], 0.0));
    }
    return WEFT_OK;
}
