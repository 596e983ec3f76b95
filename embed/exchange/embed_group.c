/* embed/exchange/embed_group.c: see embed/exchange/embed_group.h. Rows of this rank are in embed/rows, messages in
 * row_route.c and bag_route.c. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "comm/core/layout.h"
#include "embed/exchange/embed_group.h"
#include "embed/pool/pool_sums.h"

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* Whole rows, or the columns that this rank holds. */
static weft_status open_store(embed_group *t, const embed_desc *desc)
{
    const int whole = desc->width + desc->linear;
    if (desc->mode != EMBED_COLUMNS) {
        t->width = desc->width;
        t->stride = whole;
        return row_store_open(desc, &t->store);
    }
    const int first = split_route_first(whole, comm_rank(t->comm), comm_size(t->comm));
    const int last = split_route_first(whole, comm_rank(t->comm) + 1, comm_size(t->comm));
    t->stride = last - first;
    t->width = t->stride - (last > desc->width);
    return row_store_open_part(desc, first, last, &t->store);
}

bool embed_gathers_in_nodes(const weft_comm *comm)
{
    const comm_layout *layout = comm_get_layout(comm);
    return layout->nodes > 1 && layout->least > 1 && layout->least == layout->most;
}

static weft_status open_route(embed_group *t, int64_t most)
{
    WEFT_TRY(comm_allreduce(t->comm, &most, 1, WEFT_DTYPE_I64, COMM_MAX));
    if (t->desc.mode == EMBED_DES || t->desc.mode == EMBED_COLUMNS) {
        const bag_route_desc route = {t->desc.fields, t->desc.weighted, t->desc.mode == EMBED_COLUMNS, most, t->seed};
        return comm_agree(t->comm, bag_route_open(t->comm, &route, &t->bags));
    }
    row_route_desc route = {t->stride, most, t->seed, t->desc.mode == EMBED_REPLICATE, embed_group_looks_ahead(t),
                            ROUTE_FLAT};
    if (t->gathers) {
        route.level = ROUTE_IN_NODE;
        WEFT_TRY(row_route_open(t->comm, &route, &t->in_node));
        route.level = ROUTE_BETWEEN_NODES;
        route.most *= comm_get_layout(t->comm)->most;
    }
    return row_route_open(t->comm, &route, &t->route);
}

weft_status embed_group_open(weft_comm *comm, const embed_desc *desc, int64_t most, embed_group **group)
{
    embed_group *t = NULL;
    *group = NULL;
    weft_status status = WEFT_NEW_ZERO(&t, 1, WEFT_MEM_ROWS);
    if (status == WEFT_OK) {
        t->comm = comm;
        t->desc = *desc;
        t->seed = desc->seed;
        t->gathers = desc->nodes && desc->mode == EMBED_ALL_TO_ALL && embed_gathers_in_nodes(comm);
        status = open_store(t, desc);
    }
    status = comm_agree(comm, status);
    if (status == WEFT_OK) {
        status = open_route(t, most);
    }
    if (status != WEFT_OK) {
        embed_group_close(t);
        return status;
    }
    *group = t;
    return WEFT_OK;
}

void embed_group_share(embed_group *t, const embed_group *of)
{
    row_store_close(t->store);
    t->store = of->store;
    t->of = of;
}

void embed_group_close(embed_group *t)
{
    if (t != NULL) {
        row_store_close(t->of == NULL ? t->store : NULL);
        row_route_close(&t->route);
        row_route_close(&t->in_node);
        bag_route_close(&t->bags);
        split_route_close(&t->split);
        bag_index_free(&t->index);
        bag_index_free(&t->ahead.index);
        WEFT_FREE_ALL(t->ahead.row, t->ahead.changed, t->ahead.place, t->ahead.value);
        WEFT_FREE_ALL(t->row, t->gradient, t->square, t->sample_at, t->number, t->given, t);
    }
}

weft_status embed_group_clear(embed_group *t, uint64_t seed)
{
    embed_desc desc = t->desc;
    row_store *old = t->store;
    desc.seed = seed;
    const weft_status status = open_store(t, &desc);
    if (status != WEFT_OK) {
        t->store = old;
        return status;
    }
    const row_figures gone = row_store_figures(old);
    row_store_count_from(t->store, (row_counts){gone.made, gone.refused, gone.expired});
    row_store_close(old);
    t->ahead.void_rows = true;
    t->desc = desc; /* which rank owns a key stays a matter of the first seed */
    return WEFT_OK;
}

embed_figures embed_group_figures(const embed_group *t)
{
    const row_figures own = t->of == NULL ? row_store_figures(t->store) : (row_figures){.rows = 0};
    embed_figures all = {.bytes = own.bytes, .reread = t->route.reread, .between = t->gathers ? t->route.sent : 0};
    all.sent[t->desc.mode] = t->route.sent + t->in_node.sent + t->bags.sent + t->split.sent;
    if (!embed_group_shares_keys(t) || comm_rank(t->comm) == 0) { /* else rank 0 answers for the rows */
        all.rows = own.rows;
        all.waiting = own.waiting;
        all.made = own.made;
        all.refused = own.refused;
        all.expired = own.expired;
    }
    return all;
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

weft_status embed_take_rows(embed_group *t, int64_t rows)
{
    if (rows <= t->rows) {
        return WEFT_OK;
    }
    const int64_t room = rows + rows / 2;
    weft_free(t->row);
    t->row = NULL;
    t->rows = 0;
    WEFT_TRY(WEFT_NEW(&t->row, room, WEFT_MEM_ROWS));
    t->rows = room;
    return WEFT_OK;
}

weft_status embed_touch(embed_group *t, const uint64_t *key, const int32_t *times, bool training)
{
    const int64_t batches = training && t->desc.expire_after > 0 ? row_store_figures(t->store).batches : 0;
    if (batches > 0 && batches % t->desc.expire_after == 0) {
        row_store_expire(t->store);
    }
    return row_store_touch(t->store, key, times, t->owned, training, t->row);
}

static weft_status find_rows(embed_group *t, bool training)
{
    const uint64_t *key = NULL;
    const int32_t *times = NULL;
    const bag_index *index = &t->index;
    if (t->gathers) {
        WEFT_TRY(row_route_keys(&t->in_node, index, training, &key, &times, &t->of_node.distinct));
        t->of_node.key = row_route_now(&t->in_node)->own.key;
        t->of_node.times = row_route_now(&t->in_node)->times;
        index = &t->of_node;
    }
    WEFT_TRY(row_route_keys(&t->route, index, training, &key, &times, &t->owned));
    WEFT_TRY(embed_take_rows(t, t->owned));
    WEFT_TRY(embed_touch(t, key, times, training));
    row_store_read(t->store, t->row, t->owned, row_route_values(&t->route), t->stride);
    return WEFT_OK;
}

weft_status embed_index_bags(const embed_group *t, const embed_bags *bags, bag_index *index)
{
    const int64_t keys = bags->samples > 0 ? bags->at[bags->samples * bags->fields] : 0;
    const int64_t most = t->gathers ? t->in_node.desc.most : t->route.desc.most;
    WEFT_CHECK(comm_size(t->comm) == 1 || keys <= most, WEFT_ERR_INTERNAL,
               "a batch of %lld keys, and messages are for %lld", (long long)keys, (long long)most);
    return bag_index_fill(index, bags);
}

static weft_status bring_rows(embed_group *t)
{
    const float *of_node = NULL;
    if (!t->gathers) {
        return row_route_rows(&t->route, &t->value);
    }
    WEFT_TRY(row_route_rows(&t->route, &of_node));
    const int64_t numbers = t->of_node.distinct * t->stride;
    if (numbers > 0) {
        memcpy(row_route_values(&t->in_node), of_node, (size_t)numbers * sizeof *of_node);
    }
    return row_route_rows(&t->in_node, &t->value);
}

static weft_status take_values(embed_group *t, const embed_bags *bags, bool training)
{
    bool taken = false;
    WEFT_TRY(embed_ahead_take(t, bags, training, &taken));
    if (!taken) {
        WEFT_TRY(comm_agree(t->comm, embed_index_bags(t, bags, &t->index)));
        WEFT_TRY(comm_agree(t->comm, find_rows(t, training)));
        WEFT_TRY(bring_rows(t));
    }
    return comm_agree(t->comm, embed_take_squares(t));
}

weft_status embed_group_forward(embed_group *t, const embed_bags *bags, bool training, float *pooled, int64_t ld)
{
    assert(bags->samples == 0 || bags->fields == t->desc.fields);
    assert(bags->weight == NULL || t->desc.weighted);
    embed_group_follow(t);
    if (t->desc.mode == EMBED_DES) {
        return embed_partial_forward(t, bags, training, pooled, ld);
    }
    if (t->desc.mode == EMBED_COLUMNS) {
        return embed_split_forward(t, bags, training, pooled, ld);
    }
    WEFT_TRY(take_values(t, bags, training));
    pool_rows(&t->index, bags, t->value, t->stride, t->stride, pooled, ld);
    if (t->desc.squares) {
        embed_square_rows(t);
        pool_squares(&t->index, bags, t->square, 1, pooled + embed_columns(t) - 1, ld);
    }
    return WEFT_OK;
}

weft_status embed_take_floats(float **block, int64_t *held, int64_t count)
{
    if (count <= *held) {
        return WEFT_OK;
    }
    const int64_t room = count + count / 2;
    weft_free(*block);
    *block = NULL;
    *held = 0;
    WEFT_TRY(WEFT_NEW(block, room, WEFT_MEM_ROWS));
    *held = room;
    return WEFT_OK;
}

weft_status embed_take_gradients(embed_group *t)
{
    return embed_take_floats(&t->gradient, &t->gradients, t->index.distinct * t->stride);
}

weft_status embed_take_squares(embed_group *t)
{
    return t->desc.squares ? embed_take_floats(&t->square, &t->squares, t->index.distinct) : WEFT_OK;
}

void embed_square_rows(embed_group *t)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->index.distinct; ++i) {
        const float *row = t->value + i * t->stride;
        float sum = 0;
        for (int j = 0; j < t->width; ++j) {
            sum += row[j] * row[j];
        }
        t->square[i] = sum;
    }
}

void embed_add_squares(embed_group *t, const float *dpooled, int64_t ld)
{
    pool_square_gradients(&t->index, t->desc.fields, dpooled + embed_columns(t) - 1, ld, t->square, 1);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->index.distinct; ++i) {
        for (int j = 0; j < t->width; ++j) {
            t->gradient[i * t->stride + j] += 2 * t->square[i] * t->value[i * t->stride + j];
        }
    }
}

static weft_status sum_gradients(embed_group *t, const float *dpooled, int64_t ld)
{
    WEFT_TRY(embed_take_gradients(t));
    pool_gradients(&t->index, t->desc.fields, dpooled, ld, t->stride, t->gradient, t->stride);
    if (t->desc.squares) {
        embed_add_squares(t, dpooled, ld);
    }
    return WEFT_OK;
}

/* The gradient over the sums of a group's bags. */
typedef struct pooled_gradient {
    const embed_group *group;
    const float *dpooled;
    int64_t ld;
} pooled_gradient;

static void gradients_of_rows(const void *context, int64_t first, int64_t last, float *out)
{
    const pooled_gradient *of = context;
    const embed_group *t = of->group;
    pool_some_gradients(&t->index, t->desc.fields, of->dpooled, of->ld, t->stride, first, last, out);
}

/* Returns true if this rank owns all keys of the batch, and their gradients are nothing but sums over bags. */
static bool updates_own_rows(const embed_group *t)
{
    return comm_size(t->comm) == 1 && !t->desc.squares && t->stride <= ROW_GRADIENTS;
}

weft_status embed_group_backward(embed_group *t, const float *dpooled, int64_t ld, double rate)
{
    if (t->desc.mode == EMBED_DES) {
        return embed_partial_backward(t, dpooled, ld, rate);
    }
    if (t->desc.mode == EMBED_COLUMNS) {
        return embed_split_backward(t, dpooled, ld, rate);
    }
    if (updates_own_rows(t)) {
        row_store_update_by(t->store, t->row, t->owned, gradients_of_rows,
                            &(pooled_gradient){.group = t, .dpooled = dpooled, .ld = ld}, rate);
        return WEFT_OK;
    }
    WEFT_TRY(embed_group_ahead_rows(t));
    WEFT_TRY(comm_agree(t->comm, sum_gradients(t, dpooled, ld)));
    const float *gradient = t->gradient;
    if (t->gathers) {
        WEFT_TRY(row_route_gradients(&t->in_node, gradient));
        gradient = row_route_values(&t->in_node);
    }
    WEFT_TRY(row_route_gradients(&t->route, gradient));
    row_store_update(t->store, t->row, t->owned, row_route_values(&t->route), t->stride, rate);
    return WEFT_OK;
}
