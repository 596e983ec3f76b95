/*
 * hal/cpu/sums/cpu_histogram.c: sums of gradients and hessians by bin, of integers: any order gives the same bits.
 *
 * A cell is one number while a thread adds to it, 2^32 * gradients + hessians, so that a row costs one addition a
 * feature: the two halves hold the sums of HAL_HISTOGRAM_ROWS rows, and are taken apart after as many. Features come in
 * tiles whose cells stay in the first-level cache while a block of rows passes; the next tile reads the same rows again
 * from the second level.
 *
 * Threads take tiles where there are enough of them, else rows, with cells of their own that are added at the end.
 */
#include <assert.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum {
    TILE = 14,    /* features: 28 KiB of cells */
    BLOCK = 4096, /* rows */
    GRAIN = 1 << 14,
    AHEAD = 16 /* rows of a list that are fetched before they are added */
};

/* Rows of one thread, for some of the features. */
typedef struct histogram_piece {
    const hal_histogram_args *args;
    int64_t first_row, rows, first, features;
    int64_t *packed; /* [features, HAL_BINS], zeros before and after */
    int64_t *sums;   /* [features, HAL_BINS, 2]: what they are added to */
} histogram_piece;

/* Rows [begin, end) of the list add to the cells of one tile. */
static void add_tile(const histogram_piece *piece, int64_t tile, int64_t width, int64_t begin, int64_t end)
{
    const hal_histogram_args *a = piece->args;
    const int32_t *index = a->index.source;
    const int32_t *pair = a->pair.source;
    const uint8_t *bins = (const uint8_t *)a->bins.source + piece->first + tile;
    int64_t *packed = piece->packed + tile * HAL_BINS;
    for (int64_t r = begin; r < end; ++r) {
        const int64_t row = index != NULL ? index[r] : r;
        if (index != NULL && r + AHEAD < end) {
            const int64_t next = index[r + AHEAD];
            __builtin_prefetch(bins + next * a->bins.ld);
            __builtin_prefetch(bins + next * a->bins.ld + width - 1);
            __builtin_prefetch(pair + next);
        }
        assert(row >= 0 && row < a->bins.rows);
        const uint8_t *bin = bins + row * a->bins.ld;
        const int64_t add = (int64_t)hal_pair_gradient(pair[row]) * ((int64_t)1 << 32) + hal_pair_hessian(pair[row]);
        for (int64_t f = 0; f < width; ++f) {
            packed[f * HAL_BINS + bin[f]] += add;
        }
    }
}

static void add_block(const histogram_piece *piece, int64_t begin, int64_t end)
{
    for (int64_t tile = 0; tile < piece->features; tile += TILE) {
        const int64_t width = smaller(TILE, piece->features - tile);
        if (width == TILE) {
            add_tile(piece, tile, TILE, begin, end); /* a loop of known length */
        } else {
            add_tile(piece, tile, width, begin, end);
        }
    }
}

/* The halves of a cell: hessians are not negative, so that the upper half is exact. */
static void take_apart(const histogram_piece *piece)
{
    for (int64_t i = 0; i < piece->features * HAL_BINS; ++i) {
        const int64_t cell = piece->packed[i];
        const int64_t hessians = (int64_t)((uint64_t)cell & UINT32_MAX);
        piece->sums[2 * i] += (cell - hessians) / ((int64_t)1 << 32);
        piece->sums[2 * i + 1] += hessians;
        piece->packed[i] = 0;
    }
}

static void run_piece(const histogram_piece *piece)
{
    for (int64_t run = 0; run < piece->rows; run += HAL_HISTOGRAM_ROWS) {
        const int64_t end = smaller(run + HAL_HISTOGRAM_ROWS, piece->rows);
        for (int64_t row = run; row < end; row += BLOCK) {
            add_block(piece, piece->first_row + row, piece->first_row + smaller(row + BLOCK, end));
        }
        take_apart(piece);
    }
}

/* sums += the sums of `parts` pieces that have all features. */
static void put_sums(const hal_histogram_args *a, int threads, int parts, const int64_t *own, int64_t stride)
{
    int64_t *to = a->sums.data;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < a->sums.rows; ++i) {
        int64_t sum[2] = {0, 0};
        for (int part = 0; part < parts; ++part) {
            sum[0] += own[part * stride + 2 * i];
            sum[1] += own[part * stride + 2 * i + 1];
        }
        int64_t *cell = to + i * a->sums.ld;
        if (a->sums.cols == 1) {
            cell[0] = (a->add ? cell[0] : 0) + sum[0] * ((int64_t)1 << 32) + sum[1];
        } else {
            cell[0] = (a->add ? cell[0] : 0) + sum[0];
            cell[1] = (a->add ? cell[1] : 0) + sum[1];
        }
    }
}

static weft_status cpu_histogram(weft_hal *hal, const hal_histogram_args *args)
{
    WEFT_TRY(hal_histogram_check(args));
    const int64_t features = args->bins.cols;
    const int64_t rows = args->index.source != NULL ? args->index.rows : args->bins.rows;
    const int64_t tiles = (features + TILE - 1) / TILE;
    const int threads = cpu_parts(hal, smaller(rows, INT64_MAX / (features + 1)) * features);
    const bool by_tiles = tiles >= 2 * (int64_t)threads;
    const int copies = by_tiles ? 1 : threads; /* of the sums */
    const int64_t cells = features * HAL_BINS;
    int64_t *memory = NULL;
    if (features == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(cpu_workspace(hal, (size_t)(3 * cells * copies) * sizeof *memory, (void **)&memory));
    int64_t *sums = memory + cells * copies;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int part = 0; part < threads; ++part) {
        const hal_span own = hal_split_rows(by_tiles ? tiles : rows, threads, part);
        histogram_piece piece = {.args = args, .rows = rows, .features = features};
        if (by_tiles) {
            piece.first = own.begin * TILE;
            piece.features = smaller(own.end * TILE, features) - piece.first;
        } else {
            piece.first_row = own.begin;
            piece.rows = own.end - own.begin;
        }
        const int64_t copy = by_tiles ? 0 : part;
        piece.packed = memory + copy * cells + piece.first * HAL_BINS;
        piece.sums = sums + 2 * (copy * cells + piece.first * HAL_BINS);
        memset(piece.packed, 0, (size_t)(piece.features * HAL_BINS) * sizeof *memory);
        memset(piece.sums, 0, (size_t)(2 * piece.features * HAL_BINS) * sizeof *memory);
        run_piece(&piece);
    }
    put_sums(args, threads, copies, sums, 2 * cells);
    return WEFT_OK;
}

void cpu_histogram_op(hal_ops *ops)
{
    ops->histogram = cpu_histogram;
}
