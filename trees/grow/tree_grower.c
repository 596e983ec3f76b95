/* trees/grow/tree_grower.c: see trees/grow/tree_grower.h. */
#include "trees/grow/tree_grower.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/grow/grow_state.h"

/* A split gains more than rounding does. */
#define LEAST_GAIN 1e-6

/* ---- what a tree is grown on ------------------------------------------------------------------------------------- */

/* Is a row or column drawn? It is where its place is below its share. */
static bool is_drawn(const tree_grower *g, int64_t id, int number, uint32_t of, double share)
{
    return share >= 1.0 || tree_place(g->seed, id, number, of) < share;
}

/* [out] g->take */
static weft_status draw_rows(tree_grower *g, const float *gradient, int number)
{
    if (g->take == NULL) {
        return WEFT_OK;
    }
    if (g->growth.top > 0.0) {
        return row_sample_by_gradient(g->comm, g->data, g->counts, gradient, g->growth.top, g->growth.other, g->seed,
                                      number, g->take);
    }
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        g->take[i] = g->counts[i] != 0 && is_drawn(g, tree_row_id(g->data, i), number, 0, g->growth.row_share)
                         ? ROW_TAKEN
                         : ROW_LEFT_OUT;
    }
    return WEFT_OK;
}

static int64_t list_rows(tree_grower *g)
{
    int32_t *row = g->rows.row.data;
    int64_t count = 0;
    if (g->take == NULL) {
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
        for (int64_t i = 0; i < g->data->rows; ++i) {
            row[i] = (int32_t)i;
        }
        return g->data->rows;
    }
    for (int64_t i = 0; i < g->data->rows; ++i) {
        if (g->take[i] != ROW_LEFT_OUT) {
            row[count++] = (int32_t)i;
        }
    }
    return count;
}

/* At least one column is drawn: the one with the lowest place. */
static void list_columns(tree_grower *g, int number)
{
    int drawn = 0;
    for (int c = 0; c < g->data->columns; ++c) {
        g->use[c] = is_drawn(g, c, number, 1, g->growth.column_share);
        drawn += g->use[c];
    }
    for (int c = 0; drawn == 0 && c < g->data->columns; ++c) {
        g->use[c] = 1;
    }
}

/* The bits of a magnitude are a whole number that grows with it; those of what is not finite are the largest. */
static inline uint32_t magnitude_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & INT32_MAX;
}

static double magnitude_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* Returns the largest magnitude of the rows that are taken as they are, or, amplified, of the others; what is not
 * finite is larger than all that is. */
static double largest_of(const tree_grower *g, const float *number, bool amplified)
{
    uint32_t most = 0;
    const uint8_t *take = g->take;
    if (take == NULL) { /* a loop of its own, which becomes vectors */
#pragma omp parallel for simd schedule(static) num_threads(g->hal->threads) reduction(max : most)
        for (int64_t i = 0; i < g->data->rows; ++i) {
            const uint32_t bits = magnitude_bits(number[i]);
            most = bits > most ? bits : most;
        }
        return amplified ? 0.0 : magnitude_of(most);
    }
#pragma omp parallel for schedule(static) num_threads(g->hal->threads) reduction(max : most)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        const uint32_t bits = magnitude_bits(number[i]);
        most = (take[i] == ROW_AMPLIFIED) == amplified && bits > most ? bits : most;
    }
    return magnitude_of(most);
}

/* [out] most: the largest gradient and hessian of this rank, and 1 where one is not finite. */
static void find_most(const tree_grower *g, const float *gradient, const float *hessian, double most[3])
{
    const double factor = g->growth.top > 0.0 ? (1.0 - g->growth.top) / g->growth.other : 0.0;
    most[2] = 0.0;
    for (int k = 0; k < 2; ++k) {
        const float *number = k == 0 ? gradient : hessian;
        const double plain = largest_of(g, number, false);
        const double amplified = factor > 0.0 ? factor * largest_of(g, number, true) : 0.0;
        most[2] = isfinite(plain) && isfinite(amplified) ? most[2] : 1.0;
        most[k] = plain > amplified ? plain : amplified;
    }
}

/* Rounds gradients and hessians to pairs. [out] sum: of the rows that are taken, on this rank. */
static weft_status round_pairs(tree_grower *g, const float *gradient, const float *hessian, int64_t sum[2])
{
    double most[3];
    int32_t *pair = g->bins->pair.data;
    const int64_t ld = g->bins->pair.ld;
    int64_t gradients = 0, hessians = 0;
    find_most(g, gradient, hessian, most);
    WEFT_TRY(exchange_most(&g->exchange, most));
    WEFT_CHECK(most[2] == 0.0, WEFT_ERR_DATA,
               "a gradient is not finite: take a lower rate, or look for extreme targets and weights");
    const double up[2] = {most[0] > 0.0 ? INT16_MAX / most[0] : 0.0, most[1] > 0.0 ? UINT16_MAX / most[1] : 0.0};
#pragma omp parallel for schedule(static) num_threads(g->hal->threads) reduction(+ : gradients, hessians)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        const double factor = grow_factor(g, i);
        const int16_t own = (int16_t)lrint((double)gradient[i] * factor * up[0]);
        const uint16_t spread = (uint16_t)lrint((double)hessian[i] * factor * up[1]);
        pair[i * ld] = hal_pair_of(own, spread);
        gradients += grow_takes(g, i) ? own : 0;
        hessians += grow_takes(g, i) ? spread : 0;
    }
    sum[0] = gradients;
    sum[1] = hessians;
    memcpy(g->most, most, sizeof g->most);
    g->rule.gradient_unit = most[0] / INT16_MAX;
    g->rule.hessian_unit = most[1] / UINT16_MAX;
    return WEFT_OK;
}

/* Draws the rows and columns of a tree. [out] sum: their gradients, hessians and rows, of all ranks. */
static weft_status draw(tree_grower *g, const float *gradient, const float *hessian, int number, int64_t sum[3])
{
    WEFT_TRY(draw_rows(g, gradient, number));
    WEFT_TRY(round_pairs(g, gradient, hessian, sum));
    list_columns(g, number);
    g->listed = sum[2] = list_rows(g);
    return exchange_sum(&g->exchange, sum, 3);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

/* A rank whose sums failed takes part in what the others wait for, and says so where ranks agree next. */
static weft_status grow_nodes(tree_grower *g, const int64_t sum[3], weft_tree *tree)
{
    int picks = 0;
    g->exchange.work.trees += 1;
    WEFT_TRY(exchange_agree(&g->exchange, grow_divide_root(g, sum)));
    WEFT_TRY(grow_divide_splits(g));
    weft_status local = g->histograms.failed;
    local = local == WEFT_OK ? grow_order_begin(g, tree) : local;
    do {
        local = local == WEFT_OK ? grow_order_place(g, tree) : local;
        local = local == WEFT_OK ? grow_order_pick(g, &picks) : local;
        for (int at = 0, part = 1; at == 0 || at < picks; at += part) {
            part = picks > 0 ? grow_divide_fit(g, picks - at) : 1;
            local = local == WEFT_OK && picks > 0 ? grow_divide_rows(g, g->pick + at, part) : local;
            WEFT_TRY(exchange_agree(&g->exchange, local));
            WEFT_TRY(picks > 0 ? grow_divide_splits(g) : WEFT_OK);
            local = g->histograms.failed;
        }
    } while (picks > 0);
    return WEFT_OK;
}

weft_status grower_grow(tree_grower *g, const float *gradient, const float *hessian, uint64_t seed, int number,
                        weft_tree *tree, int32_t *leaf)
{
    int64_t sum[3];
    *tree = (weft_tree){0};
    g->seed = seed;
    g->rows.spare = leaf; /* leaves are known when all rows are divided */
    weft_status status = draw(g, gradient, hessian, number, sum);
    status = status == WEFT_OK ? grow_nodes(g, sum, tree) : status;
    grow_divide_end(g);
    if (status == WEFT_OK) {
        grow_finish_listed(g, tree, leaf);
        status = grow_finish_values(g, gradient, hessian, leaf, tree);
    }
    if (status != WEFT_OK) {
        tree_destroy(tree);
        return status;
    }
    grow_finish_others(g, tree, leaf);
    return WEFT_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static weft_status allocate(tree_grower *g)
{
    int64_t count = 0;
    for (int64_t i = 0; i < g->data->rows; ++i) {
        count += g->counts[i] != 0;
    }
    g->all_rows = count;
    WEFT_CHECK(g->data->rows <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%lld rows on one rank: trees take up to %d, so take more ranks", (long long)g->data->rows, INT32_MAX);
    WEFT_TRY(node_rows_create(g->hal, count, &g->rows));
    if (count < g->data->rows || g->growth.row_share < 1.0 || g->growth.top > 0.0) {
        WEFT_TRY(WEFT_NEW(&g->take, g->data->rows, WEFT_MEM_TREES));
    }
    WEFT_TRY(WEFT_NEW(&g->path, g->data->columns, WEFT_MEM_TREES));
    return WEFT_NEW(&g->use, g->data->columns, WEFT_MEM_TREES);
}

static int most_category_bins(const tree_cuts *cuts)
{
    int most = 0;
    for (int c = 0; c < cuts->columns; ++c) {
        most = cuts->categories.bins[c] > most ? cuts->categories.bins[c] : most;
    }
    return most;
}

weft_status grower_create(weft_comm *comm, const tree_columns *data, const tree_bins *bins, const tree_cuts *cuts,
                          const uint8_t *counts, const tree_growth *growth, tree_grower **grower)
{
    tree_grower *g = NULL;
    *grower = NULL;
    assert(growth->depth > 0 || growth->leaves > 0);
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&g, 1, WEFT_MEM_TREES)));
    *g = (tree_grower){.comm = comm,
                       .hal = bins->bin.hal,
                       .data = data,
                       .bins = bins,
                       .cuts = cuts,
                       .counts = counts,
                       .growth = *growth,
                       .rule = {.lambda = growth->lambda,
                                .alpha = growth->alpha,
                                .min_hessian = growth->min_hessian,
                                .direction = growth->direction,
                                .bounded = growth->direction != NULL || growth->max_step > 0.0,
                                .categories = cuts->categories.bins,
                                .one_hot = growth->one_hot,
                                .smooth = growth->smooth,
                                .set_most = growth->set_most,
                                .category_l2 = growth->category_l2,
                                .min_gain = fmax(growth->min_gain, LEAST_GAIN)}};
    weft_status status = comm_agree(comm, allocate(g));
    status = status == WEFT_OK ? comm_allreduce(comm, &g->all_rows, 1, WEFT_DTYPE_I64, COMM_SUM) : status;
    status = status == WEFT_OK ? exchange_create(comm, most_category_bins(cuts), &g->exchange) : status;
    status = status == WEFT_OK ? histograms_create(comm, bins, &g->exchange, &g->histograms) : status;
    if (status != WEFT_OK) {
        grower_destroy(g);
        return status;
    }
    g->room = histograms_fit(&g->histograms, growth->histogram_bytes);
    *grower = g;
    return WEFT_OK;
}

void grower_destroy(tree_grower *g)
{
    if (g != NULL) {
        histograms_destroy(&g->histograms);
        exchange_destroy(&g->exchange);
        grow_divide_free(g);
        node_rows_destroy(&g->rows);
        WEFT_FREE_ALL(g->use, g->path, g->take, g->grown, g->place, g->open, g->pick, g);
    }
}

const growth_work *grower_work(const tree_grower *grower)
{
    return &grower->exchange.work;
}

int64_t grower_record_bytes(const tree_grower *grower)
{
    return grower->exchange.record_bytes;
}

const growth_seconds *grower_seconds(const tree_grower *grower)
{
    return &grower->exchange.seconds;
}
