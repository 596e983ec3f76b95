/* train/weights.c: see train/weights.h. */
#include "train/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/npy.h"

weft_status weights_add(train_weights *weights, const char *origin, const char *name, int64_t rows, int64_t cols,
                        float **values)
{
    int64_t count = 0;
    WEFT_CHECK(weights->count < PARAM_MAX, WEFT_ERR_DATA, "%s: more than %d arrays", origin, PARAM_MAX);
    WEFT_CHECK(strlen(name) < PARAM_NAME_BYTES, WEFT_ERR_DATA, "%s: \"%.64s\": a name of %zu bytes; the limit is %d",
               origin, name, strlen(name), PARAM_NAME_BYTES - 1);
    WEFT_CHECK(rows > 0 && cols > 0 && !__builtin_mul_overflow(rows, cols, &count), WEFT_ERR_DATA,
               "%s: %s has shape [%" PRId64 ", %" PRId64 "], expected a matrix that is not empty", origin, name, rows,
               cols);
    WEFT_CHECK(weights_find(weights, name) == NULL, WEFT_ERR_DATA, "%s: %s is there twice", origin, name);
    train_weight *weight = &weights->item[weights->count];
    *weight = (train_weight){.rows = rows, .cols = cols};
    memcpy(weight->name, name, strlen(name) + 1);
    WEFT_TRY(WEFT_NEW(&weight->values, count, WEFT_MEM_PARAMETER));
    weights->count++;
    *values = weight->values;
    return WEFT_OK;
}

const train_weight *weights_find(const train_weights *weights, const char *name)
{
    for (int i = 0; i < weights->count; ++i) {
        if (strcmp(weights->item[i].name, name) == 0) {
            return &weights->item[i];
        }
    }
    return NULL;
}

void weights_destroy(train_weights *weights)
{
    for (int i = 0; i < weights->count; ++i) {
        weft_free(weights->item[i].values);
        weights->item[i].values = NULL;
    }
    weights->count = 0;
}

static weft_status read_member(const char *path, npz_file *npz, int member, train_weights *weights)
{
    weft_status status = WEFT_OK;
    const char *name = npz_name(npz, member);
    npy_array array = {0};
    float *numbers = NULL;
    float *values = NULL;
    WEFT_TRY(npz_read(npz, member, &array));
    int dims = array.header.dims;
    WEFT_CHECK_GOTO(dims == 1 || dims == 2, status, done, WEFT_ERR_DATA,
                    "%s: %s has %d dimensions, expected a matrix or a vector", path, name, dims);
    WEFT_TRY_GOTO(npy_array_to_f32(name, &array, &numbers), status, done);
    status =
        weights_add(weights, path, name, dims == 2 ? array.header.shape[0] : 1, array.header.shape[dims - 1], &values);
    if (status == WEFT_OK) {
        memcpy(values, numbers, (size_t)array.header.count * sizeof *values);
    }
done:
    weft_free(numbers);
    npy_array_free(&array);
    return status;
}

weft_status weights_read_npz(const char *path, train_weights *weights)
{
    npz_file *npz = NULL;
    WEFT_TRY(npz_open(path, &npz));
    weft_status status = WEFT_OK;
    for (int member = 0; member < npz_count(npz) && status == WEFT_OK; ++member) {
        status = read_member(path, npz, member, weights);
    }
    npz_close(npz);
    if (status != WEFT_OK) {
        weights_destroy(weights);
    }
    return status;
}

/* Matrix i of rank 0, on every rank. */
static weft_status share_item(weft_comm *comm, train_weights *weights, int i)
{
    train_weight card = {0};
    if (comm_rank(comm) == 0) {
        card = weights->item[i];
    }
    WEFT_TRY(comm_bcast(comm, 0, &card, (int64_t)sizeof card));
    float *values = card.values;
    weft_status status = WEFT_OK;
    if (comm_rank(comm) != 0) {
        status = weights_add(weights, "the weights received from rank 0", card.name, card.rows, card.cols, &values);
    }
    WEFT_TRY(comm_agree(comm, status));
    return comm_bcast(comm, 0, values, card.rows * card.cols * (int64_t)sizeof *values);
}

weft_status weights_share(weft_comm *comm, train_weights *weights)
{
    int32_t count = weights->count;
    WEFT_TRY(comm_bcast(comm, 0, &count, (int64_t)sizeof count));
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    for (int i = 0; i < count; ++i) {
        WEFT_TRY(share_item(comm, weights, i));
    }
    return WEFT_OK;
}

static weft_status place_entry(const train_weights *weights, const char *origin, const param_entry *entry,
                               double *values)
{
    const train_weight *weight = weights_find(weights, entry->name);
    WEFT_CHECK(weight != NULL, WEFT_ERR_DATA, "%s: no array \"%s\" (first of its %d: \"%s\")", origin, entry->name,
               weights->count, weights->count > 0 ? weights->item[0].name : "");
    WEFT_CHECK(weight->rows == entry->rows && weight->cols == entry->cols, WEFT_ERR_DATA,
               "%s: %s has shape [%" PRId64 ", %" PRId64 "], the model has [%" PRId64 ", %" PRId64 "]", origin,
               entry->name, weight->rows, weight->cols, entry->rows, entry->cols);
    for (int64_t row = 0; row < entry->rows; ++row) {
        for (int64_t col = 0; col < entry->cols; ++col) {
            values[entry->offset + row * entry->ld + col] = (double)weight->values[row * entry->cols + col];
        }
    }
    return WEFT_OK;
}

weft_status weights_assign(const train_weights *weights, const char *origin, param_store *store)
{
    weft_status status = WEFT_OK;
    double *values = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&values, store->elements, WEFT_MEM_WORKSPACE));
    for (int number = 0; number < store->entries; ++number) {
        WEFT_TRY_GOTO(place_entry(weights, origin, &store->entry[number], values), status, done);
    }
    WEFT_CHECK_GOTO(weights->count == store->entries, status, done, WEFT_ERR_DATA,
                    "%s: %d arrays, the model has %d parameters", origin, weights->count, store->entries);
    status = param_set_values(store, values);
done:
    weft_free(values);
    return status;
}
