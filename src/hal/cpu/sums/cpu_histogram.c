/*
 * hal/cpu/sums/cpu_histogram.c: sums of gradients and hessians by bin, of integers: any order gives the same bits. Bins
 * of 16 bits: cpu_histogram_wide.c.
 *
 * A cell is one number while a thread adds to it, 2^32 * gradients + hessians, so that a row costs one addition a
 * feature: the two halves hold the sums of HAL_HISTOGRAM_ROWS rows, and are taken apart after as many. Features come in
 * tiles whose cells stay in the first-level cache while a block of rows passes; what a row adds is put together once a
 * block, and the next tile reads the same rows again from the second level. Bins are read eight at once and taken apart
 * in registers: each cell is read and written, and a third access to memory for its bin would cost a third of the time.
 *
 * Threads take tiles where there are enough of them, else rows, with cells of their own that are added at the end. A
 * thread of a team that calls by itself (weft_hal.calls_in_team) works alone, on its stack.
 */
#include <assert.h>
#include <omp.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum {
    TILE = 14,    /* features: 28 KiB of cells */
    TILES = 4,    /* whose cells a thread has on its stack */
    BLOCK = 2048, /* rows */
    AHEAD = 96,   /* rows of a list that are fetched before they are added */
    WORD = 8      /* bins that are read at once */
};

/* Rows of one thread, for some of the features. */
typedef struct histogram_piece {
    const hal_histogram_args *args;
    int64_t first_row, rows, first, features;
    int64_t *packed;       /* [features, HAL_BINS], zeros before and after */
    int64_t *sums;         /* rows of ld_sums: what they are added to, or what becomes of them */
    int64_t ld_sums, cols; /* cols: 1: a cell stays one number */
} histogram_piece;

/* What a row adds to its cells. */
static inline int64_t addend_of(int32_t pair)
{
    return (int64_t)hal_pair_gradient(pair) * ((int64_t)1 << 32) + hal_pair_hessian(pair);
}

/* A row adds to the cells of one tile. bin: [width] */
static inline __attribute__((always_inline)) void add_row(int64_t *packed, const uint8_t *bin, const int64_t width,
                                                          int64_t own)
{
    uint64_t word;
    int64_t f = 0;
    for (; f + WORD <= width; f += WORD) {
        memcpy(&word, bin + f, sizeof word);
#pragma GCC unroll 8
        for (int64_t i = f; i < f + WORD; ++i, word >>= 8) {
            packed[i * HAL_BINS + (int64_t)(word & UINT8_MAX)] += own;
        }
    }
    if (f < width && width >= WORD) { /* the last word overlaps the one before */
        memcpy(&word, bin + width - WORD, sizeof word);
        word >>= 8 * (WORD - (width - f));
#pragma GCC unroll 8
        for (; f < width; ++f, word >>= 8) {
            packed[f * HAL_BINS + (int64_t)(word & UINT8_MAX)] += own;
        }
    }
    for (; f < width; ++f) {
        packed[f * HAL_BINS + bin[f]] += own;
    }
}

/* Rows [begin, begin + rows) of the list add to the cells of one tile. add: what each of them adds; [out] of the first
 * tile, which fetches what they add together with their bins. */
static inline __attribute__((always_inline)) void add_tile(const histogram_piece *piece, const bool first, int64_t tile,
                                                           const int64_t width, int64_t begin, int64_t rows,
                                                           int64_t *add)
{
    const hal_histogram_args *a = piece->args;
    const int32_t *index = a->index.source;
    const int64_t last = index != NULL ? a->index.rows - 1 : 0;
    const int64_t ld = a->bins.ld, pair_ld = a->pair.ld;
    const uint8_t *bins = (const uint8_t *)a->bins.source + piece->first + tile;
    const int32_t *pair = a->pair.source;
    int64_t *packed = piece->packed + tile * HAL_BINS;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = index != NULL ? index[begin + i] : begin + i;
        assert(row >= 0 && row < a->bins.rows);
        if (index != NULL) {
            const int64_t next = index[smaller(begin + i + AHEAD, last)];
            __builtin_prefetch(bins + next * ld);
            if (first) {
                __builtin_prefetch(pair + next * pair_ld);
            } else {
                __builtin_prefetch(bins + next * ld + width - 1);
            }
        }
        const uint8_t *bin = bins + row * ld;
        const int64_t own = first ? addend_of(pair[row * pair_ld]) : add[i];
        if (first) {
            add[i] = own;
        }
        add_row(packed, bin, width, own);
    }
}

/* The loop over the features of a whole tile has a known length. */
static void add_block(const histogram_piece *piece, int64_t begin, int64_t rows)
{
    int64_t add[BLOCK];
    for (int64_t tile = 0; tile < piece->features; tile += TILE) {
        const int64_t width = smaller(TILE, piece->features - tile);
        if (width == TILE && tile == 0) {
            add_tile(piece, true, tile, TILE, begin, rows, add);
        } else if (width == TILE) {
            add_tile(piece, false, tile, TILE, begin, rows, add);
        } else {
            add_tile(piece, tile == 0, tile, width, begin, rows, add);
        }
    }
}

static void take_apart(const histogram_piece *piece, bool add)
{
    int64_t *packed = piece->packed;
    int64_t *to = piece->sums;
    for (int64_t i = 0; i < piece->features * HAL_BINS; ++i, to += piece->ld_sums) {
        const int64_t cell = packed[i];
        if (piece->cols == 1) {
            to[0] = (add ? to[0] : 0) + cell;
        } else {
            to[0] = (add ? to[0] : 0) + hal_cell_gradient(cell);
            to[1] = (add ? to[1] : 0) + hal_cell_hessian(cell);
        }
        packed[i] = 0;
    }
}

/* Rows [begin, end) of the piece, at most HAL_HISTOGRAM_ROWS, add to its packed cells. */
static void add_rows(const histogram_piece *piece, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row += BLOCK) {
        add_block(piece, piece->first_row + row, smaller(BLOCK, end - row));
    }
}

/* add: what the sums hold already counts. */
static void run_piece(const histogram_piece *piece, bool add)
{
    for (int64_t run = 0; run < piece->rows || run == 0; run += HAL_HISTOGRAM_ROWS) {
        add_rows(piece, run, smaller(run + HAL_HISTOGRAM_ROWS, piece->rows));
        take_apart(piece, add || run > 0);
    }
}

/* One thread, with cells on its stack unless the sums are such cells themselves. */
static void run_alone(const hal_histogram_args *a, int64_t rows)
{
    int64_t packed[TILES * TILE * HAL_BINS];
    if (a->sums.cols == 1 && a->sums.ld == 1) {
        const histogram_piece all = {.args = a, .rows = rows, .features = a->bins.cols, .packed = a->sums.data};
        memset(a->sums.data, 0, a->add ? 0 : (size_t)(all.features * HAL_BINS) * sizeof *packed);
        add_rows(&all, 0, rows);
        return;
    }
    memset(packed, 0, (size_t)(smaller(TILES * TILE, a->bins.cols) * HAL_BINS) * sizeof *packed);
    for (int64_t first = 0; first < a->bins.cols; first += TILES * TILE) {
        const histogram_piece piece = {.args = a,
                                       .rows = rows,
                                       .first = first,
                                       .features = smaller(TILES * TILE, a->bins.cols - first),
                                       .packed = packed,
                                       .sums = (int64_t *)a->sums.data + first * HAL_BINS * a->sums.ld,
                                       .ld_sums = a->sums.ld,
                                       .cols = a->sums.cols};
        run_piece(&piece, a->add);
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
    const bool alone = threads == 1 || omp_in_parallel() != 0;
    if (args->bins.dtype == WEFT_DTYPE_I16) {
        cpu_histogram_wide(args, rows, alone ? 1 : threads);
        return WEFT_OK;
    }
    if (alone) {
        run_alone(args, rows);
        return WEFT_OK;
    }
    WEFT_TRY(cpu_workspace(hal, (size_t)(3 * cells * copies) * sizeof *memory, (void **)&memory));
    int64_t *sums = memory + cells * copies;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int part = 0; part < threads; ++part) {
        const hal_span own = hal_split_rows(by_tiles ? tiles : rows, threads, part);
        histogram_piece piece = {.args = args, .rows = rows, .features = features, .ld_sums = 2, .cols = 2};
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
        run_piece(&piece, false);
    }
    put_sums(args, threads, copies, sums, 2 * cells);
    return WEFT_OK;
}

void cpu_histogram_op(hal_ops *ops)
{
    ops->histogram = cpu_histogram;
}
