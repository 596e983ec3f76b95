/* embed/plan/embed_plan.c: see embed/plan/embed_plan.h. */
#include "embed/plan/embed_plan.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "embed/embed_key.h"
#include "embed/exchange/row_route.h"
#include "embed/exchange/split_route.h"

enum {
    NUMBER_BYTES = sizeof(float),
    COUNT_BYTES = 8, /* before the elements of each message (comm/exchange.h) */
    SLOT_BYTES = 4,  /* before a row that travels once more (embed/exchange/row_ahead.c) */
    KEY_BYTES = 16,  /* a key and how often it occurs (embed/exchange/row_route.c) */
    /* A key and its bag, and its weight; as many say how many samples a rank has (embed/exchange/bag_route.c). */
    BAG_BYTES = 12,
    WEIGHT_BYTES = 4
};

/* Numbers of a row whose columns this rank would hold. */
static int own_columns(const embed_counts *c, int rank)
{
    return split_route_first(c->stride, rank + 1, c->ranks) - split_route_first(c->stride, rank, c->ranks);
}

weft_status embed_counts_add(const embed_bags *bags, int rank, uint64_t seed, bag_index *index, embed_counts *counts)
{
    WEFT_TRY(bag_index_fill(index, bags));
    for (int f = 0; f < bags->fields; ++f) {
        counts[f].samples += bags->samples;
        counts[f].weighted = counts[f].weighted || bags->weight != NULL;
        counts[f].kept += bags->samples * own_columns(&counts[f], rank);
    }
    for (int64_t i = 0; i < index->distinct; ++i) {
        const int field = embed_key_field(index->key[i]);
        assert(field < bags->fields);
        const bool away = row_route_owner(index->key[i], seed, counts[field].ranks) != rank;
        counts[field].distinct += 1;
        counts[field].distinct_away += away;
        counts[field].keys_away += away ? index->times[i] : 0;
        counts[field].keys += index->times[i];
    }
    return WEFT_OK;
}

weft_status embed_counts_share(weft_comm *comm, const embed_bags *bags, int stride, uint64_t seed, bag_index *index,
                               embed_counts *counts)
{
    enum { MEMBERS = 6 };
    const int fields = bags->fields;
    int64_t *sum = NULL;
    weft_status status = WEFT_NEW(&sum, (int64_t)fields * MEMBERS, WEFT_MEM_WORKSPACE);
    for (int f = 0; f < fields; ++f) {
        counts[f] = (embed_counts){.ranks = comm_size(comm), .stride = stride};
    }
    status = status == WEFT_OK ? embed_counts_add(bags, comm_rank(comm), seed, index, counts) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    for (int f = 0; f < fields; ++f) {
        const embed_counts *c = &counts[f];
        memcpy(sum + (ptrdiff_t)f * MEMBERS,
               (int64_t[]){c->samples, c->distinct, c->distinct_away, c->keys_away, c->keys, c->kept},
               MEMBERS * sizeof *sum);
    }
    WEFT_TRY_GOTO(comm_allreduce(comm, sum, (int64_t)fields * MEMBERS, WEFT_DTYPE_I64, COMM_SUM), status, done);
    for (int f = 0; f < fields; ++f) {
        const int64_t *of = sum + (ptrdiff_t)f * MEMBERS;
        counts[f] =
            (embed_counts){comm_size(comm), 1, of[0], of[1], of[2], of[3], counts[f].weighted, of[4], stride, 1, of[5]};
    }
done:
    weft_free(sum);
    return status;
}

embed_counts embed_counts_join(const embed_counts *a, const embed_counts *b)
{
    return (embed_counts){a->ranks,
                          larger(a->batches, 1) + larger(b->batches, 1),
                          a->samples + b->samples,
                          a->distinct + b->distinct,
                          a->distinct_away + b->distinct_away,
                          a->keys_away + b->keys_away,
                          a->weighted || b->weighted,
                          a->keys + b->keys,
                          a->stride,
                          a->fields,
                          a->kept + b->kept};
}

embed_counts embed_counts_sum(const embed_counts *counts, int fields, const uint8_t *mode_of, embed_mode mode)
{
    embed_counts sum = {.ranks = counts->ranks,
                        .batches = counts->batches,
                        .samples = counts->samples,
                        .weighted = counts->weighted,
                        .stride = counts->stride};
    for (int f = 0; f < fields; ++f) {
        if (mode_of == NULL || mode_of[f] == (uint8_t)mode) {
            sum.distinct += counts[f].distinct;
            sum.distinct_away += counts[f].distinct_away;
            sum.keys_away += counts[f].keys_away;
            sum.keys += counts[f].keys;
            sum.kept += counts[f].kept;
            sum.fields += 1;
        }
    }
    return sum;
}

/* Keys of bags to all ranks; sums of columns to the ranks of samples, and gradients back. */
static int64_t columns_bytes(const embed_counts *c, int64_t columns, int64_t pairs, int64_t bag)
{
    const int64_t others = c->ranks - 1, numbers = larger(c->fields, 1) * c->stride;
    const int64_t squares = columns == numbers + 1;
    const int64_t sums = c->samples * (numbers + others * squares) - c->kept;
    return pairs * (COUNT_BYTES + bag) + others * c->keys * bag + 2 * (pairs * COUNT_BYTES + sums * NUMBER_BYTES);
}

int64_t embed_mode_bytes(embed_mode mode, const embed_counts *c, int stride, int64_t columns, bool whole)
{
    const int64_t others = c->ranks - 1, row = (int64_t)NUMBER_BYTES * stride;
    const int64_t pairs = larger(c->batches, 1) * c->ranks * others; /* in each of the batches */
    const int64_t bag = BAG_BYTES + (c->weighted ? WEIGHT_BYTES : 0);
    switch (mode) {
    case EMBED_REPLICATE: /* keys, gradients */
        return 2 * pairs * COUNT_BYTES + others * c->distinct * (KEY_BYTES + row);
    case EMBED_DES: /* bags, sums, gradients of sums */
        return (whole ? 0 : pairs * (COUNT_BYTES + bag) + c->keys_away * bag) +
               2 * (pairs * COUNT_BYTES + others * c->samples * columns * NUMBER_BYTES);
    case EMBED_COLUMNS:
        return c->stride == 0 ? INT64_MAX : columns_bytes(c, columns, pairs, bag);
    case EMBED_ALL_TO_ALL:
    case EMBED_MODE_AUTO:
        break;
    }
    return 3 * pairs * COUNT_BYTES + c->distinct_away * (KEY_BYTES + 2 * row); /* keys, rows, gradients */
}

int64_t embed_node_bytes(const embed_counts *c, int stride, int nodes, int64_t in_node, int64_t between,
                         int64_t *crosses)
{
    const int64_t key = KEY_BYTES + 2 * (int64_t)NUMBER_BYTES * stride; /* and its row and gradient */
    const int64_t posts = 3 * larger(c->batches, 1) * c->ranks * COUNT_BYTES, locals = c->ranks / nodes;
    *crosses = posts * (nodes - 1) + between * key;
    return posts * (locals - 1) + in_node * key + *crosses;
}

int64_t embed_late_bytes(const embed_counts *c, int stride, int64_t changed)
{
    const int64_t pairs = larger(c->batches, 1) * c->ranks * (c->ranks - 1);
    return pairs * COUNT_BYTES + changed * (SLOT_BYTES + (int64_t)NUMBER_BYTES * stride);
}

embed_mode embed_mode_cheapest(const embed_counts *counts, int stride, int64_t columns, bool whole)
{
    embed_mode best = EMBED_ALL_TO_ALL;
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        const int64_t least = embed_mode_bytes(best, counts, stride, columns, whole);
        best = embed_mode_bytes((embed_mode)m, counts, stride, columns, whole) < least ? (embed_mode)m : best;
    }
    return best;
}

int64_t embed_modes_bytes(const embed_counts *counts, int fields, const uint8_t *mode_of, int stride, bool squares)
{
    int64_t bytes = 0;
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        int64_t own = 0;
        for (int f = 0; f < fields; ++f) {
            own += mode_of[f] == m;
        }
        const embed_counts of_mode = embed_counts_sum(counts, fields, mode_of, (embed_mode)m);
        bytes += own == 0 ? 0 : embed_mode_bytes((embed_mode)m, &of_mode, stride, own * stride + squares, false);
    }
    return bytes;
}

bool embed_modes_cheapest(const embed_counts *counts, int fields, int stride, const bool *shares, uint8_t *mode_of)
{
    bool differ = false;
    for (int f = 0; f < fields; ++f) {
        int64_t least = INT64_MAX;
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            const int64_t bytes = embed_mode_bytes((embed_mode)m, &counts[f], stride, stride, false);
            const bool by_keys = m == EMBED_ALL_TO_ALL || m == EMBED_DES; /* each on one rank */
            if (bytes < least && (by_keys || shares[f])) {
                least = bytes;
                mode_of[f] = (uint8_t)m;
            }
        }
        differ = differ || mode_of[f] != mode_of[0];
    }
    return differ;
}

int64_t embed_server_bytes(const embed_counts *counts, int stride)
{
    return 2 * counts->distinct * stride * NUMBER_BYTES;
}

double embed_des_saving(const embed_counts *c, int stride, int64_t columns)
{
    const double des = 2.0 * (double)(c->ranks - 1) * (double)(c->samples * columns) * NUMBER_BYTES;
    const int64_t server = embed_server_bytes(c, stride);
    return server > 0 ? 1 - des / (double)server : 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes of a key. */
enum {
    IN_INDEX = 48,  /* bag_index */
    IN_STORE = 8,   /* its row's number */
    IN_ROUTE = 20,  /* route_batch: key, sightings, place */
    ON_ITS_WAY = 8, /* its owner, and its place in the message */
    SENT_KEY = 16
};

/* Areas of messages for each rank are in pages of 2 MiB, from 4 MiB for all of them on (base/alloc.c): what such areas
 * take beside the bytes that are used. area: what one has room for. */
static int64_t page_bytes(int64_t areas, int ranks, int64_t area, int64_t used)
{
    enum { PAGE = 2 << 20, PAGED = 4 << 20 };
    return area * ranks < PAGED ? 0 : areas * ranks * larger(0, smaller(PAGE, area) - used);
}

int64_t embed_batch_bytes(const embed_desc *desc, int ranks, int64_t most, int64_t distinct)
{
    const int64_t row = (desc->width + desc->linear) * (int64_t)sizeof(float), all = ranks;
    const int64_t owned = IN_STORE + IN_ROUTE + row;
    const int64_t own = most * IN_INDEX + distinct * row; /* and the gradient */
    if (ranks == 1) {
        return own + distinct * owned;
    }
    switch (desc->mode) {
    case EMBED_DES: /* sums of the samples of all ranks, their gradients, and both in messages */
        return own + most * (owned + 2 * SENT_KEY + 2 * row + 3 * all * row);
    case EMBED_COLUMNS: /* the keys of all ranks, and some columns */
        return most * (all * (IN_INDEX + IN_STORE + 2 * SENT_KEY) + 5 * row);
    case EMBED_REPLICATE: {
        const int64_t others = all * (IN_INDEX + owned + SENT_KEY + row);
        return own + distinct * (ON_ITS_WAY + SENT_KEY + row + others + (desc->ahead ? all * (IN_INDEX + owned) : 0)) +
               (desc->ahead ? most * IN_INDEX : 0) + page_bytes(2, ranks, most * row, distinct * row);
    }
    default: {
        const int64_t here = ON_ITS_WAY + IN_INDEX + owned, sent = SENT_KEY + 2 * row;
        const int64_t late = (int64_t)sizeof(int32_t) + row; /* a row that changed, with its place */
        const int64_t pages = page_bytes(desc->ahead ? 6 : 4, ranks, most * row, distinct * row / ranks);
        return own + distinct * (here + 2 * sent + (desc->ahead ? here + 3 * late + 2 * IN_STORE : 0)) +
               (desc->ahead ? most * IN_INDEX : 0) + pages;
    }
    }
}
