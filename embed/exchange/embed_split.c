/* embed/exchange/embed_split.c: mode columns: this rank's columns of the rows of all keys, summed for the bags of all
 * ranks; and the whole rows of the keys that it owns, for files. */
#include <stddef.h>
#include <string.h>

#include "base/integer/integers.h"
#include "embed/exchange/embed_partial.h"
#include "embed/pool/pool_sums.h"
#include "embed/rows/row_shard_layout.h"
#include "embed/rows/row_store_state.h"

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

static weft_status begin(embed_group *t)
{
    if (t->split.comm == NULL) {
        t->split = (split_route){.comm = t->comm,
                                 .fields = t->desc.fields,
                                 .whole = t->desc.width + t->desc.linear,
                                 .squares = t->desc.squares};
    }
    return split_route_begin(&t->split, t->bags.first);
}

weft_status embed_split_forward(embed_group *t, const embed_bags *bags, bool training, float *pooled, int64_t ld)
{
    const embed_bags *all = &t->bags.bags;
    const int64_t *first = t->bags.first, columns = embed_columns(t);
    WEFT_TRY(bag_route_bags(&t->bags, bags, NULL, 0));
    weft_status status = embed_partial_rows(t, all, training);
    status = status == WEFT_OK ? embed_take_squares(t) : status;
    WEFT_TRY(comm_agree(t->comm, status));
    WEFT_TRY(begin(t));
    if (t->desc.squares) {
        embed_square_rows(t);
    }
    for (int p = 0; p < comm_size(t->comm); ++p) {
        embed_bags part = *all;
        float *to = split_route_part(&t->split, p);
        part.samples = first[p + 1] - first[p];
        part.at = all->at + first[p] * all->fields;
        pool_rows(&t->index, &part, t->value, t->stride, t->stride, to, columns);
        if (t->desc.squares) {
            pool_squares(&t->index, &part, t->square, 1, to + columns - 1, columns);
        }
    }
    return split_route_totals(&t->split, pooled, ld);
}

weft_status embed_split_backward(embed_group *t, const float *dpooled, int64_t ld, double rate)
{
    const int64_t columns = embed_columns(t);
    const float *all = NULL;
    WEFT_TRY(split_route_gradients(&t->split, dpooled, ld, &all));
    WEFT_TRY(comm_agree(t->comm, embed_take_gradients(t)));
    pool_gradients(&t->index, t->desc.fields, all, columns, t->stride, t->gradient, t->stride);
    if (t->desc.squares) {
        embed_add_squares(t, all, columns);
    }
    row_store_update(t->store, t->row, t->owned, t->gradient, t->stride, rate);
    return WEFT_OK;
}

/* ---- whole rows -------------------------------------------------------------------------------------------------- */

enum { JOINED = 1024 }; /* keys whose columns travel together */

/* Columns on their way to the owners of their keys; all ranks have the same keys. */
typedef struct column_join {
    const embed_group *group;
    row_store *whole;
    key_pair *pair; /* [2 * keys] */
    int64_t rows, keys;
    comm_exchange *exchange;
    int64_t *count; /* [ranks] */
    char *record;   /* a row of this rank's columns, and one of all */
} column_join;

static int64_t words_of(const row_store *store)
{
    return store->rule.stride + store->slabs.row_bytes[ROW_STATE] / 4;
}

/* Numbers and state of a row of the columns [first, last), as a rank sends them. */
static int64_t words_sent(const column_join *j, int rank)
{
    const int whole = j->whole->rule.stride, ranks = comm_size(j->group->comm);
    const int64_t state = words_of(j->whole) - whole, arrays = shard_state_arrays(state, whole);
    const int own = split_route_first(whole, rank + 1, ranks) - split_route_first(whole, rank, ranks);
    return own * (1 + arrays) + state - arrays * whole;
}

static weft_status open_join(column_join *j)
{
    const embed_group *g = j->group;
    embed_desc desc = g->desc;
    desc.memory_most = 0;
    j->rows = g->store->slabs.rows;
    j->keys = j->rows + g->store->waiting;
    WEFT_TRY(row_store_open(&desc, &j->whole));
    WEFT_TRY(WEFT_NEW(&j->pair, 2 * j->keys, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&j->count, comm_size(g->comm), WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&j->record, shard_row_bytes(0, words_of(g->store)) + shard_row_bytes(0, words_of(j->whole)),
                      WEFT_MEM_WORKSPACE));
    if (j->keys > 0) {
        (void)shard_sorted_keys(g->store, j->pair, j->rows, j->keys);
    }
    row_wants wants = {.rows = 0};
    bool enough = false;
    for (int64_t i = 0; i < j->keys; ++i) {
        if (row_route_owner(j->pair[i].key, g->seed, comm_size(g->comm)) == comm_rank(g->comm)) {
            wants.rows += i < j->rows;
            wants.slots[row_stripe_of(row_hash(&j->whole->index, j->pair[i].key))] += 1;
        }
    }
    j->whole->batch = g->store->batch;
    return row_store_make_room(j->whole, &wants, &enough);
}

static void pack_columns(column_join *j, int64_t first, int64_t last)
{
    const embed_group *g = j->group;
    const int ranks = comm_size(g->comm);
    const int64_t words = words_of(g->store);
    memset(j->count, 0, (size_t)ranks * sizeof *j->count);
    for (int64_t i = first; i < last; ++i) {
        const int owner = row_route_owner(j->pair[i].key, g->seed, ranks);
        shard_put_row(g->store, &j->pair[i], j->record);
        memcpy((float *)comm_exchange_area(j->exchange, owner) + j->count[owner], j->record + sizeof(shard_record),
               (size_t)words * sizeof(float));
        j->count[owner] += words;
    }
}

/* Row number k of those that came. */
static void take_columns(column_join *j, int64_t k, const key_pair *pair)
{
    const int whole = j->whole->rule.stride, ranks = comm_size(j->group->comm);
    const int64_t state = words_of(j->whole) - whole, arrays = shard_state_arrays(state, whole);
    const shard_record record = shard_record_of(j->group->store, pair);
    char *row = j->record + shard_row_bytes(0, words_of(j->group->store));
    for (int p = 0; p < ranks; ++p) {
        const int first = split_route_first(whole, p, ranks), own = split_route_first(whole, p + 1, ranks) - first;
        int64_t count;
        const float *from = (const float *)comm_exchange_received(j->exchange, p, &count) + k * words_sent(j, p);
        for (int64_t a = 0; a <= arrays; ++a) { /* numbers, then each array of the state */
            memcpy(row + (a * whole + first) * (int64_t)sizeof(float), from + a * own, (size_t)own * sizeof(float));
        }
        memcpy(row + (arrays + 1) * whole * (int64_t)sizeof(float), from + (arrays + 1) * own,
               (size_t)(state - arrays * whole) * sizeof(float));
    }
    shard_take_row(j->whole, &record, row);
}

static weft_status plan_join(column_join *j)
{
    const embed_group *g = j->group;
    for (int p = 0; p < comm_size(g->comm); ++p) {
        j->count[p] = JOINED * words_of(g->store);
    }
    const comm_exchange_desc desc = {
        .lane = COMM_LANE_ROWS, .element_bytes = sizeof(float), .most = j->count, .name = "columns of rows"};
    return comm_exchange_plan(g->comm, &desc, &j->exchange);
}

static weft_status join_rows(column_join *j)
{
    const embed_group *g = j->group;
    const int ranks = comm_size(g->comm), rank = comm_rank(g->comm);
    WEFT_TRY(plan_join(j));
    for (int64_t first = 0; first < j->rows; first += JOINED) {
        const int64_t last = smaller(first + JOINED, j->rows);
        int64_t k = 0;
        pack_columns(j, first, last);
        WEFT_TRY(comm_exchange_post(j->exchange, j->count));
        WEFT_TRY(comm_exchange_wait(j->exchange));
        for (int64_t i = first; i < last; ++i) {
            if (row_route_owner(j->pair[i].key, g->seed, ranks) == rank) {
                take_columns(j, k++, &j->pair[i]);
            }
        }
    }
    for (int64_t i = j->rows; i < j->keys; ++i) {
        if (row_route_owner(j->pair[i].key, g->seed, ranks) == rank) {
            const shard_record record = shard_record_of(g->store, &j->pair[i]);
            const uint64_t what = (uint64_t)j->pair[i].value >> ROW_STAMP_BITS;
            shard_take_waiting(j->whole, &record, what - ROW_WAITING);
        }
    }
    return WEFT_OK;
}

weft_status embed_group_join_columns(const embed_group *group, row_store **whole)
{
    column_join j = {.group = group};
    weft_status status = comm_agree(group->comm, open_join(&j));
    status = status == WEFT_OK ? join_rows(&j) : status;
    comm_exchange_destroy(j.exchange);
    WEFT_FREE_ALL(j.pair, j.count, j.record);
    if (status != WEFT_OK) {
        row_store_close(j.whole);
        return status;
    }
    if (comm_rank(group->comm) == 0) { /* which answers for the rows */
        const row_figures own = row_store_figures(group->store);
        row_store_count_from(j.whole, (row_counts){own.made, own.refused, own.expired});
    }
    *whole = j.whole;
    return WEFT_OK;
}
