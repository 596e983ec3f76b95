/*
 * embed/exchange/embed_sums.c: sums over all keys of a sample (embed_sums of embed/embed.h).
 *
 * Each sum is linear in what a key gives to it. So a key's numbers are made once a batch, however often it occurs, and
 * added up by samples; backward, the gradients of samples are added up by key and become one of the key's row:
 *
 *     given   row | |v|^2 | row . W            v: the row without its linear weight, W: weight of the key's field
 *     d row = d rows + 2 v d squares + W d products        dW += row (x) d products
 *
 * A key's weight in a sample multiplies what it gives and takes, and twice so squares, which are then added up apart.
 */
#include <assert.h>
#include <string.h>

#include "base/integer/search.h"
#include "embed/embed_key.h"
#include "embed/exchange/embed_partial.h"
#include "embed/pool/pool_sums.h"

int embed_group_sums_columns(const embed_group *t, const embed_sums *sums)
{
    return (sums->rows ? t->stride : 0) + (sums->squares ? 1 : 0) + sums->products;
}

/* The first of the batch's keys of a field, or of a later one. */
static int64_t first_key_of(const bag_index *index, int field)
{
    const uint64_t least = (uint64_t)field << EMBED_ID_BITS;
    int64_t first = 0;
    SEARCH_FIRST(first, index->distinct, index->key[at] < least);
    return field < EMBED_FIELDS_MOST ? first : index->distinct;
}

static weft_status check_fields(const embed_group *t)
{
    const int64_t keys = t->index.distinct;
    if (keys == 0 || embed_key_field(t->index.key[keys - 1]) < t->desc.fields) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_DATA, "a key of field %d, and a table of embeddings has fields 0 to %d",
                     embed_key_field(t->index.key[keys - 1]), t->desc.fields - 1);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* All keys of a sample in one bag. */
static weft_status join_bags(embed_group *t, embed_bags *view)
{
    const embed_bags *all = &t->bags.bags;
    if (t->sample_at == NULL || all->samples > t->samples) {
        weft_free(t->sample_at);
        t->sample_at = NULL;
        WEFT_TRY(WEFT_NEW(&t->sample_at, all->samples + 1, WEFT_MEM_ROWS));
        t->samples = all->samples;
    }
    t->sample_at[0] = 0;
    for (int64_t s = 1; s <= all->samples; ++s) {
        t->sample_at[s] = all->at[s * all->fields];
    }
    *view =
        (embed_bags){.samples = all->samples, .fields = 1, .at = t->sample_at, .key = all->key, .weight = all->weight};
    return WEFT_OK;
}

static int64_t column_of_squares(const embed_group *t)
{
    return t->sums.rows ? t->stride : 0;
}

static bool squares_apart(const embed_group *t)
{
    return t->sums.squares && t->index.weighted;
}

static void give(const embed_group *t, int64_t i, int columns)
{
    const embed_sums *sums = &t->sums;
    const float *row = t->number + i * t->stride;
    float *to = t->given + i * columns;
    if (sums->rows) {
        memcpy(to, row, (size_t)t->stride * sizeof *to);
        to += t->stride;
    }
    if (sums->squares) {
        float square = 0;
        for (int j = 0; j < t->desc.width; ++j) {
            square += row[j] * row[j];
        }
        *to++ = square;
    }
    if (sums->products > 0) {
        const int64_t field = embed_key_field(t->index.key[i]);
        const float *weight = sums->weight + field * t->stride * sums->products;
        memset(to, 0, (size_t)sums->products * sizeof *to);
        for (int j = 0; j < t->stride; ++j) {
            for (int m = 0; m < sums->products; ++m) {
                to[m] += row[j] * weight[j * (int64_t)sums->products + m];
            }
        }
    }
}

static weft_status give_all(embed_group *t, bool training, embed_bags *view)
{
    const int columns = embed_group_sums_columns(t, &t->sums);
    WEFT_TRY(join_bags(t, view));
    WEFT_TRY(embed_partial_rows(t, view, training));
    WEFT_TRY(check_fields(t));
    WEFT_TRY(embed_take_floats(&t->given, &t->givens, t->owned * columns));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->owned; ++i) {
        give(t, i, columns);
    }
    return WEFT_OK;
}

weft_status embed_group_sums_forward(embed_group *t, const embed_sums *sums, const embed_bags *bags,
                                     const int64_t *samples_of, bool training, float *total, int64_t ld)
{
    const int columns = embed_group_sums_columns(t, sums);
    embed_bags view = {0};
    assert(columns > 0 && (bags->samples == 0 || bags->fields == t->desc.fields));
    t->sums = *sums;
    embed_group_follow(t);
    WEFT_TRY(bag_route_bags(&t->bags, bags, samples_of, columns));
    WEFT_TRY(comm_agree(t->comm, give_all(t, training, &view)));
    const int64_t squares = column_of_squares(t);
    const bool apart = squares_apart(t);
    const partial_terms terms = {.value = t->given,
                                 .stride = columns,
                                 .squares = apart,
                                 .square = apart && t->owned > 0 ? t->given + squares : NULL,
                                 .square_ld = columns,
                                 .square_at = squares};
    return embed_partial_sums(t, &view, &terms, total, ld);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The gradient of row i, of that of what it gave. */
static void take_back(const embed_group *t, int64_t i, int columns)
{
    const embed_sums *sums = &t->sums;
    const float *row = t->number + i * t->stride, *from = t->given + i * columns;
    float *to = t->gradient + i * t->stride;
    memset(to, 0, (size_t)t->stride * sizeof *to);
    if (sums->rows) {
        memcpy(to, from, (size_t)t->stride * sizeof *to);
        from += t->stride;
    }
    if (sums->squares) {
        for (int j = 0; j < t->desc.width; ++j) {
            to[j] += 2 * *from * row[j];
        }
        from += 1;
    }
    if (sums->products > 0) {
        const int64_t field = embed_key_field(t->index.key[i]);
        const float *weight = sums->weight + field * t->stride * sums->products;
        for (int j = 0; j < t->stride; ++j) {
            for (int m = 0; m < sums->products; ++m) {
                to[j] += weight[j * (int64_t)sums->products + m] * from[m];
            }
        }
    }
}

/* dweight [fields * stride, products]; each field by one thread, in the order of keys. */
static void weight_gradient(const embed_group *t, int columns, float *dweight)
{
    const int64_t products = t->sums.products;
    memset(dweight, 0, (size_t)(t->desc.fields * t->stride * products) * sizeof *dweight);
#pragma omp parallel for schedule(dynamic)
    for (int f = 0; f < t->desc.fields; ++f) {
        float *to = dweight + f * t->stride * products;
        const int64_t last = first_key_of(&t->index, f + 1);
        for (int64_t i = first_key_of(&t->index, f); i < last; ++i) {
            const float *row = t->number + i * t->stride, *from = t->given + (i + 1) * columns - products;
            for (int j = 0; j < t->stride; ++j) {
                for (int64_t m = 0; m < products; ++m) {
                    to[j * products + m] += row[j] * from[m];
                }
            }
        }
    }
}

weft_status embed_group_sums_backward(embed_group *t, const float *dtotal, int64_t ld, double rate, float *dweight)
{
    const int columns = embed_group_sums_columns(t, &t->sums);
    const float *all = NULL;
    int64_t all_ld = 0;
    WEFT_TRY(bag_route_gradients(&t->bags, dtotal, ld, &all, &all_ld));
    WEFT_TRY(comm_agree(t->comm, embed_take_gradients(t)));
    pool_gradients(&t->index, 1, all, all_ld, columns, t->given, columns);
    if (squares_apart(t)) {
        const int64_t squares = column_of_squares(t);
        pool_square_gradients(&t->index, 1, all + squares, all_ld, t->given + squares, columns);
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->owned; ++i) {
        take_back(t, i, columns);
    }
    if (t->sums.products > 0) {
        weight_gradient(t, columns, dweight);
    }
    row_store_update(t->store, t->row, t->owned, t->gradient, t->stride, rate);
    return WEFT_OK;
}
