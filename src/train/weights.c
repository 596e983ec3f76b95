/* train/weights.c: see train/weights.h. */
#include "train/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "base/text/append.h"
#include "io/npy.h"

const char *weights_shape_text(int rank, const int64_t *shape, char text[SHAPE_TEXT_BYTES])
{
    snprintf(text, SHAPE_TEXT_BYTES, "[");
    for (int d = 0; d < rank; ++d) {
        text_append(text, SHAPE_TEXT_BYTES, "%s%" PRId64, d > 0 ? ", " : "", shape[d]);
    }
    text_append(text, SHAPE_TEXT_BYTES, "]");
    return text;
}

weft_status weights_add(train_weights *weights, const char *origin, const char *name, int rank, const int64_t *shape,
                        float **values)
{
    char text[SHAPE_TEXT_BYTES];
    train_weight weight = {.rank = rank, .rows = 1, .cols = 1};
    int64_t count = 1;
    bool fits = rank >= 1 && rank <= PARAM_RANK_MAX;
    WEFT_CHECK(strlen(name) < PARAM_NAME_BYTES, WEFT_ERR_DATA, "%s: \"%.96s\": a name of %zu bytes; the limit is %d",
               origin, name, strlen(name), PARAM_NAME_BYTES - 1);
    for (int d = 0; d < rank && fits; ++d) {
        fits = shape[d] > 0 && !__builtin_mul_overflow(count, shape[d], &count);
        weight.shape[d] = shape[d];
    }
    WEFT_CHECK(fits, WEFT_ERR_DATA, "%s: %s has shape %s, expected 1 to %d dimensions, none of them empty", origin,
               name, weights_shape_text(rank < PARAM_RANK_MAX ? rank : PARAM_RANK_MAX, shape, text), PARAM_RANK_MAX);
    WEFT_CHECK(weights_find(weights, name) == NULL, WEFT_ERR_DATA, "%s: %s is there twice", origin, name);
    weight.rows = rank > 1 ? shape[0] : 1;
    weight.cols = count / weight.rows;
    memcpy(weight.name, name, strlen(name) + 1);
    WEFT_TRY(grow_array((void **)&weights->item, sizeof *weights->item, weights->count, &weights->capacity,
                        WEFT_MEM_PARAMETER));
    WEFT_TRY(WEFT_NEW(&weight.values, count, WEFT_MEM_PARAMETER));
    weights->item[weights->count++] = weight;
    *values = weight.values;
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
    }
    weft_free(weights->item);
    input_moments_destroy(&weights->moments);
    *weights = (train_weights){0};
}

static weft_status read_member(const char *path, npz_file *npz, int member, train_weights *weights)
{
    weft_status status = WEFT_OK;
    const char *name = npz_name(npz, member);
    npy_array array = {0};
    float *numbers = NULL, *values = NULL;
    WEFT_TRY(npz_read(npz, member, &array));
    char label[FILE_PATH_MAX];
    WEFT_TRY_GOTO(file_path(label, "%s[%s]", path, name), status, done);
    WEFT_TRY_GOTO(npy_array_to_f32(label, &array, &numbers), status, done);
    status = weights_add(weights, path, name, array.header.dims, array.header.shape, &values);
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
    weft_status status = input_moments_read(path, npz, &weights->moments);
    for (int member = 0; member < npz_count(npz) && status == WEFT_OK; ++member) {
        status = input_moments_has_name(npz_name(npz, member)) ? WEFT_OK : read_member(path, npz, member, weights);
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
        status = weights_add(weights, "the weights received from rank 0", card.name, card.rank, card.shape, &values);
    }
    WEFT_TRY(comm_agree(comm, status));
    return comm_bcast(comm, 0, values, card.rows * card.cols * (int64_t)sizeof *values);
}

uint64_t weights_mark(const train_weights *weights)
{
    uint64_t mark = 0;
    for (int i = 0; i < weights->count; ++i) {
        const train_weight *w = &weights->item[i];
        mark = param_mark_more(mark, w->values, w->rows * w->cols);
    }
    return mark;
}

void weights_items(const train_weights *weights, safetensors_item *items)
{
    for (int i = 0; i < weights->count; ++i) {
        const train_weight *w = &weights->item[i];
        items[i] = (safetensors_item){.name = w->name, .dims = w->rank, .values = w->values};
        memcpy(items[i].shape, w->shape, (size_t)w->rank * sizeof *w->shape);
    }
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
    return input_moments_share(comm, &weights->moments);
}

/* Leading ones aside. */
static bool same_shape(const train_weight *weight, const param_entry *entry)
{
    int a = 0, b = 0;
    while (a < weight->rank && weight->shape[a] == 1) {
        ++a;
    }
    while (b < entry->rank && entry->shape[b] == 1) {
        ++b;
    }
    return weight->rank - a == entry->rank - b &&
           memcmp(weight->shape + a, entry->shape + b, (size_t)(weight->rank - a) * sizeof *weight->shape) == 0;
}

static weft_status place_entry(const train_weights *weights, const char *origin, const param_entry *entry,
                               double *values)
{
    const train_weight *weight = weights_find(weights, entry->name);
    WEFT_CHECK(weight != NULL, WEFT_ERR_DATA, "%s: no array \"%s\" (first of its %d: \"%s\")", origin, entry->name,
               weights->count, weights->count > 0 ? weights->item[0].name : "");
    char theirs[SHAPE_TEXT_BYTES], ours[SHAPE_TEXT_BYTES];
    WEFT_CHECK(same_shape(weight, entry), WEFT_ERR_DATA, "%s: %s has shape %s, the model has %s", origin, entry->name,
               weights_shape_text(weight->rank, weight->shape, theirs),
               weights_shape_text(entry->rank, entry->shape, ours));
    for (int64_t row = 0; row < entry->rows; ++row) {
        for (int64_t col = 0; col < entry->cols; ++col) {
            const double value = (double)weight->values[row * entry->cols + col];
            WEFT_CHECK(isfinite(value), WEFT_ERR_DATA, "%s: %s, row %lld, column %lld: %g is not finite", origin,
                       entry->name, (long long)row, (long long)col, number_plain(value));
            values[entry->offset + row * entry->ld + col] = value;
        }
    }
    return WEFT_OK;
}

/* Whether a name begins so; nothing does with "". */
static bool is_of(const char *name, const char *head)
{
    return head[0] != '\0' && strncmp(name, head, strlen(head)) == 0;
}

/* [out] head: the beginning of the last layer's names, if the weights have a parameter of it in another shape, else
 * "". */
static void find_other_head(const train_weights *weights, const param_store *store, char *head)
{
    char names[PARAM_NAME_BYTES] = "";
    for (int i = 0; i < store->entries; ++i) {
        if (store->entry[i].offset < store->trained) {
            memcpy(names, store->entry[i].name, sizeof names);
        }
    }
    char *dot = strrchr(names, '.');
    names[dot != NULL ? dot - names + 1 : 0] = '\0';
    head[0] = '\0';
    for (int i = 0; i < store->entries; ++i) {
        const param_entry *entry = &store->entry[i];
        const train_weight *weight = is_of(entry->name, names) ? weights_find(weights, entry->name) : NULL;
        if (weight != NULL && !same_shape(weight, entry)) {
            memcpy(head, names, sizeof names);
        }
    }
}

static weft_status read_values(const param_store *store, double *values)
{
    if (store->dtype == WEFT_DTYPE_F64) {
        return tensor_download(&store->value, values);
    }
    float *narrow = NULL;
    WEFT_TRY(WEFT_NEW(&narrow, store->elements, WEFT_MEM_WORKSPACE));
    const weft_status status = tensor_download(&store->value, narrow);
    for (int64_t i = 0; i < store->elements && status == WEFT_OK; ++i) {
        values[i] = (double)narrow[i];
    }
    weft_free(narrow);
    return status;
}

/* head: the beginning of names whose parameters keep their values; "": none. */
static weft_status assign_but(const train_weights *weights, const char *origin, const char *head, param_store *store)
{
    weft_status status = WEFT_OK;
    double *values = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&values, store->elements, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(head[0] != '\0' ? read_values(store, values) : WEFT_OK, status, done);
    for (int number = 0; number < store->entries; ++number) {
        if (!is_of(store->entry[number].name, head)) {
            WEFT_TRY_GOTO(place_entry(weights, origin, &store->entry[number], values), status, done);
        }
    }
    WEFT_CHECK_GOTO(weights->count == store->entries, status, done, WEFT_ERR_DATA,
                    "%s: %d arrays, the model has %d parameters", origin, weights->count, store->entries);
    status = param_set_values(store, values);
done:
    weft_free(values);
    return status;
}

weft_status weights_assign(const train_weights *weights, const char *origin, param_store *store)
{
    return assign_but(weights, origin, "", store);
}

weft_status weights_start(const train_weights *weights, const char *origin, param_store *store, char *head)
{
    find_other_head(weights, store, head);
    return assign_but(weights, origin, head, store);
}
