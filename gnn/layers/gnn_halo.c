/* gnn/layers/gnn_halo.c: see gnn/layers/gnn_halo.h. */
#include "gnn/layers/gnn_halo.h"

#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "base/philox.h"

/* What an epoch uses and the next finds: the rows of one leg as they came last, by bin. */
typedef weft_tensor halo_cache;

/* A leg between post and wait. */
typedef struct halo_leg {
    halo_direction direction;
    weft_tensor x;
    comm_halo_code code;
    halo_cache *cache; /* NULL: the rows go where they belong at once */
    int number;        /* of the post in its pass */
    int bin, last;     /* under way, and the last one to go */
    bool posted;
} halo_leg;

struct gnn_halo {
    weft_hal *hal;
    weft_dtype dtype;
    int64_t n_owned;
    gnn_halo_options options;
    bool second;        /* of two halos of one aggregation */
    comm_halo *whole;   /* exchanges in the caller's matrix; NULL with bins */
    halo_bins bins;     /* count 0 without */
    weft_tensor packed; /* [largest bin, widest row] */
    halo_cache *cache;  /* [caches], in the order of a pass */
    int caches, capacity;
    gnn_halo_pass pass;
    int posts;        /* of this pass */
    bool delayed;     /* this pass leaves rows out */
    bool refresh;     /* it exchanges all bins and remembers them */
    int64_t filled;   /* epoch in which all bins were exchanged */
    int64_t previous; /* epoch of the delayed pass before this one; -1: none */
    halo_leg leg;
};

weft_status gnn_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                            const part_halo *lists, int64_t max_width, const gnn_halo_options *options, gnn_halo **halo)
{
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(halo, 1, WEFT_MEM_GRAPH)));
    gnn_halo *h = *halo;
    *h = (gnn_halo){.hal = hal, .dtype = dtype, .n_owned = part->n_owned, .options = *options, .previous = -1};
    h->second = lists == &part->destinations;
    if (options->delay <= 1) {
        const comm_halo_desc desc = gnn_halo_desc(part, lists);
        return comm_halo_create(comm, hal, &desc, max_width, &h->whole);
    }
    WEFT_TRY(halo_bins_create(comm, hal, part, lists, options->delay, max_width, &h->bins));
    return comm_agree(comm, tensor_create(hal, dtype, h->bins.largest, max_width, WEFT_MEM_COMM, &h->packed));
}

void gnn_halo_begin(gnn_halo *halo, const gnn_halo_pass *pass)
{
    assert(!halo->leg.posted);
    halo->pass = *pass;
    halo->posts = 0;
    halo->delayed = pass->training && halo->options.delay > 1;
    if (!halo->delayed) {
        return;
    }
    halo->refresh = halo->previous < 0 || pass->epoch != halo->previous + 1;
    halo->filled = halo->refresh ? pass->epoch : halo->filled;
    halo->previous = pass->epoch;
}

int64_t gnn_halo_staleness(const gnn_halo *halo)
{
    const int64_t since = halo->delayed ? halo->pass.epoch - halo->filled : 0;
    const int64_t most = halo->options.delay - 1;
    return halo->delayed && since > most ? most : since;
}

/* ---- a leg by bins ---------------------------------------------------------------------------------------------- */

static bool sends_own(const gnn_halo *halo)
{
    return halo->leg.direction == HALO_FORWARD;
}

/* One side of the bin under way, in its packed matrix. */
static weft_tensor packed_side(const gnn_halo *halo, bool own)
{
    const halo_bin *bin = &halo->bins.bin[halo->leg.bin];
    const weft_tensor packed = tensor_reshape(&halo->packed, bin->own + bin->leaf, halo->leg.x.cols);
    return own ? tensor_view(&packed, 0, bin->own, 0, packed.cols)
               : tensor_view(&packed, bin->own, bin->leaf, 0, packed.cols);
}

/* The bin's rows of x. */
static hal_mat rows_of_side(const gnn_halo *halo, bool own)
{
    const halo_bin *bin = &halo->bins.bin[halo->leg.bin];
    return own ? hal_column_from(halo->bins.own_row + bin->first_own, WEFT_DTYPE_I32, bin->own)
               : hal_column_from(halo->bins.leaf_row + bin->first_leaf, WEFT_DTYPE_I32, bin->leaf);
}

static weft_status pack(gnn_halo *halo, bool own)
{
    const weft_tensor packed = packed_side(halo, own);
    const hal_gather_rows_args args = {
        .x = tensor_mat(&halo->leg.x), .index = rows_of_side(halo, own), .y = tensor_mat(&packed)};
    return packed.rows > 0 ? hal_gather_rows(halo->hal, &args) : WEFT_OK;
}

static weft_status unpack(gnn_halo *halo, const weft_tensor *from, hal_mat rows, hal_scatter mode)
{
    const hal_scatter_rows_args args = {
        .x = tensor_mat(from), .index = rows, .y = tensor_mat(&halo->leg.x), .mode = mode};
    return from->rows > 0 ? hal_scatter_rows(halo->hal, &args) : WEFT_OK;
}

static weft_status post_bin(gnn_halo *halo)
{
    const halo_bin *bin = &halo->bins.bin[halo->leg.bin];
    WEFT_TRY(pack(halo, sends_own(halo)));
    return comm_halo_post_coded(bin->exchange, halo->leg.direction, &halo->leg.code, halo->dtype, halo->packed.data,
                                halo->leg.x.cols, halo->leg.x.cols);
}

/* Rows into x, root rows on top of what stands there: the bits of an exchange in x itself. */
static weft_status wait_into_x(gnn_halo *halo)
{
    const bool to_own = !sends_own(halo);
    const weft_tensor received = packed_side(halo, to_own);
    WEFT_TRY(to_own ? pack(halo, true) : WEFT_OK);
    WEFT_TRY(comm_halo_wait(halo->bins.bin[halo->leg.bin].exchange));
    return unpack(halo, &received, rows_of_side(halo, to_own), HAL_SCATTER_REPLACE);
}

static weft_status wait_into_cache(gnn_halo *halo)
{
    const bool to_own = !sends_own(halo);
    const halo_bin *bin = &halo->bins.bin[halo->leg.bin];
    weft_tensor received = packed_side(halo, to_own);
    WEFT_TRY(to_own ? tensor_zero(&received) : WEFT_OK);
    WEFT_TRY(comm_halo_wait(bin->exchange));
    weft_tensor kept =
        tensor_view(halo->leg.cache, to_own ? bin->first_own : bin->first_leaf, received.rows, 0, received.cols);
    return received.rows > 0 ? tensor_axpby(1.0, &received, 0.0, &kept) : WEFT_OK;
}

/* Rows of all bins, from this epoch and earlier ones. */
static weft_status use_cache(gnn_halo *halo)
{
    const halo_bins *bins = &halo->bins;
    return sends_own(halo) ? unpack(halo, halo->leg.cache, hal_column_from(bins->leaf_row, WEFT_DTYPE_I32, bins->leaf),
                                    HAL_SCATTER_REPLACE)
                           : unpack(halo, halo->leg.cache, hal_column_from(bins->own_row, WEFT_DTYPE_I32, bins->own),
                                    HAL_SCATTER_ADD);
}

/* The cache of the next post. */
static weft_status find_cache(gnn_halo *halo)
{
    const halo_leg *leg = &halo->leg;
    const int number = leg->number;
    const int64_t rows = sends_own(halo) ? halo->bins.leaf : halo->bins.own;
    if (number == halo->caches) {
        WEFT_TRY(grow_array((void **)&halo->cache, sizeof *halo->cache, halo->caches, &halo->capacity, WEFT_MEM_COMM));
        halo->cache[number] = (halo_cache){.data = NULL};
        halo->caches += 1;
        WEFT_TRY(tensor_create(halo->hal, halo->dtype, rows, leg->x.cols, WEFT_MEM_COMM, &halo->cache[number]));
    }
    halo->leg.cache = &halo->cache[number];
    WEFT_CHECK(halo->leg.cache->rows == rows && halo->leg.cache->cols == leg->x.cols, WEFT_ERR_INTERNAL,
               "post %d of a pass has rows of %lld elements, in an earlier epoch it had %lld", number,
               (long long)leg->x.cols, (long long)halo->leg.cache->cols);
    return WEFT_OK;
}

static weft_status post_bins(gnn_halo *halo)
{
    halo_leg *leg = &halo->leg;
    const int count = halo->bins.count;
    const bool all = !halo->delayed || halo->refresh;
    leg->bin = all ? 0 : (int)(halo->pass.epoch % count);
    leg->last = all ? count - 1 : leg->bin;
    WEFT_TRY(halo->delayed ? find_cache(halo) : WEFT_OK);
    return post_bin(halo);
}

static weft_status wait_bins(gnn_halo *halo)
{
    halo_leg *leg = &halo->leg;
    WEFT_TRY(leg->cache != NULL ? wait_into_cache(halo) : wait_into_x(halo));
    while (leg->bin < leg->last) {
        leg->bin += 1;
        WEFT_TRY(post_bin(halo));
        WEFT_TRY(leg->cache != NULL ? wait_into_cache(halo) : wait_into_x(halo));
    }
    return leg->cache != NULL ? use_cache(halo) : WEFT_OK;
}

/* ---- one leg ---------------------------------------------------------------------------------------------------- */

static bool exchanges_nothing(const gnn_halo *halo)
{
    return halo->pass.training && halo->options.none;
}

static weft_status clear_replicas(const gnn_halo *halo, const weft_tensor *x)
{
    weft_tensor replicas = tensor_view(x, halo->n_owned, x->rows - halo->n_owned, 0, x->cols);
    return replicas.rows > 0 ? tensor_zero(&replicas) : WEFT_OK;
}

/* The legs of a pass have purposes of their own, as many as there are. */
static comm_halo_code code_of(const gnn_halo *halo, int number)
{
    const uint32_t purposes = WEFT_RNG_DROPOUT - WEFT_RNG_HALO_ROUND;
    const uint32_t leg = 2 * (uint32_t)number + (halo->second ? 1 : 0);
    return (comm_halo_code){.codec = halo->pass.training ? halo->options.codec : HAL_ROWS_NONE,
                            .rounding = {.seed = halo->pass.seed,
                                         .purpose = WEFT_RNG_HALO_ROUND + leg % purposes,
                                         .epoch = (uint32_t)halo->pass.epoch}};
}

weft_status gnn_halo_post(gnn_halo *halo, halo_direction direction, weft_tensor *x)
{
    assert(!halo->leg.posted && (x->dtype == halo->dtype || halo->whole != NULL));
    WEFT_CHECK(direction != HALO_REVERSE_MAX || !(halo->delayed || exchanges_nothing(halo)), WEFT_ERR_UNSUPPORTED,
               "a maximum over replicas needs all of them in every epoch");
    halo->leg = (halo_leg){.direction = direction, .x = *x, .number = halo->posts, .posted = true};
    halo->leg.code = code_of(halo, halo->posts++);
    if (exchanges_nothing(halo)) {
        return direction == HALO_FORWARD ? clear_replicas(halo, x) : WEFT_OK;
    }
    return halo->whole != NULL
               ? comm_halo_post_coded(halo->whole, direction, &halo->leg.code, x->dtype, x->data, x->ld, x->cols)
               : post_bins(halo);
}

weft_status gnn_halo_wait(gnn_halo *halo)
{
    assert(halo->leg.posted);
    halo->leg.posted = false;
    if (exchanges_nothing(halo)) {
        return WEFT_OK;
    }
    return halo->whole != NULL ? comm_halo_wait(halo->whole) : wait_bins(halo);
}

bool gnn_halo_arrived(const gnn_halo *halo)
{
    if (!halo->leg.posted || exchanges_nothing(halo)) {
        return true;
    }
    return comm_halo_arrived(halo->whole != NULL ? halo->whole : halo->bins.bin[halo->leg.bin].exchange);
}

void gnn_halo_destroy(gnn_halo *halo)
{
    if (halo == NULL) {
        return;
    }
    comm_halo_destroy(halo->whole); /* messages under way write to what follows */
    halo_bins_destroy(&halo->bins);
    for (int i = 0; i < halo->caches; ++i) {
        tensor_destroy(&halo->cache[i]);
    }
    weft_free(halo->cache);
    tensor_destroy(&halo->packed);
    weft_free(halo);
}
