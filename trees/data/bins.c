/* trees/data/bins.c: see trees/data/bins.h. */
#include "trees/data/bins.h"

#include <math.h>
#include <string.h>

#include "base/integer/integers.h"
#include "trees/tree_options.def"

enum {
    CHUNK = 1024,
    PIECE = 1 << 19, /* rows whose numbers are given back together */
    BEHIND = 3,      /* bytes behind the last column that grow/divide_rows.h may read */
    ROW_BYTES = 16   /* lines of 64 bytes hold a whole number of short rows */
};

/* Bins of rows first .. first + rows - 1 of a column of categories. */
static void fill_categories(const tree_columns *data, const tree_cuts *cuts, int c, int64_t first, int64_t rows,
                            const tree_bins *bins)
{
    uint16_t own[CHUNK];
    const int missing = bins->cells[c] - 1;
    uint8_t *to = (uint8_t *)bins->column + data->rows * c;
    uint16_t *wide = (uint16_t *)bins->column + data->rows * c;
    tree_categories_fill(&cuts->categories, data, c, first, rows, missing, own);
    for (int64_t i = 0; i < rows; ++i) {
        if (tree_bins_wide(bins)) {
            wide[first + i] = own[i];
        } else {
            to[first + i] = (uint8_t)own[i];
        }
    }
}

/* Bins of rows first .. first + rows - 1 of a column. */
static void fill_part(const tree_columns *data, const tree_cuts *cuts, int c, int64_t first, int64_t rows,
                      const tree_bins *bins)
{
    float value[CHUNK];
    const float *cut = cuts->value + cuts->first[c];
    const int count = cuts->first[c + 1] - cuts->first[c];
    if (cuts->categories.bins[c] > 0) {
        fill_categories(data, cuts, c, first, rows, bins);
        return;
    }
    tree_column_read(&data->column[c], first, rows, value);
    if (tree_bins_wide(bins)) {
        tree_find_wide_bins(cut, count, value, rows, (uint16_t *)bins->column + data->rows * c + first);
    } else {
        tree_find_bins(cut, count, value, rows, (uint8_t *)bins->column + data->rows * c + first);
    }
}

/* Values that lie in the bins of a column: the least of each, and one below the first cut. */
static void set_values(const tree_cuts *cuts, int c, float *value)
{
    const float *cut = cuts->value + cuts->first[c];
    const int count = cuts->first[c + 1] - cuts->first[c];
    value[0] = count > 0 ? nextafterf(cut[0], -INFINITY) : 0.0F;
    memcpy(value + 1, cut, (size_t)count * sizeof *cut);
    value[count + 1] = NAN;
}

/* Columns of numbers go piece by piece, so that bins stand beside few numbers that they replace. */
static void fill_column(const tree_columns *data, const tree_cuts *cuts, int c, int threads,
                        const tree_release *release, const tree_bins *bins)
{
    const bool releases = release->rows != NULL && data->column[c].kind != TABLE_CATEGORY;
    for (int64_t begin = 0; begin < data->rows; begin += PIECE) {
        const int64_t end = smaller(begin + PIECE, data->rows);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t first = begin; first < end; first += CHUNK) {
            fill_part(data, cuts, c, first, smaller(CHUNK, end - first), bins);
        }
        if (releases) {
            release->rows(release->owner, c, end);
        }
    }
}

/* Row by row what stands column by column: rows first .. first + rows - 1. */
#define TURN(type)                                                                                                     \
    do {                                                                                                               \
        type *bin = (type *)bins->bin.data + first * bins->bin.ld;                                                     \
        for (int c = 0; c < data->columns; ++c) {                                                                      \
            const type *own = (const type *)tree_bins_column(bins, c) + first;                                         \
            for (int64_t i = 0; i < rows; ++i) {                                                                       \
                bin[i * bins->bin.ld + c] = own[i];                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

static void turn_rows(const tree_columns *data, int threads, tree_bins *bins)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < data->rows; first += CHUNK) {
        const int64_t rows = data->rows - first < CHUNK ? data->rows - first : CHUNK;
        if (tree_bins_wide(bins)) {
            TURN(uint16_t);
        } else {
            TURN(uint8_t);
        }
    }
}

static weft_status number_cells(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts, tree_bins *bins,
                                bool *wide)
{
    int64_t cells = 0;
    *wide = false;
    WEFT_TRY(WEFT_NEW(&bins->cells, data->columns, WEFT_MEM_TREES));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_I32, data->columns + 1, 1, WEFT_MEM_TREES, &bins->first));
    for (int c = 0; c < data->columns; ++c) {
        bins->cells[c] = cuts->first[c + 1] - cuts->first[c] + 2;
        *wide = *wide || bins->cells[c] > HAL_BINS;
    }
    for (int c = 0; c <= data->columns; ++c) {
        WEFT_CHECK(cells <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
                   "columns 1 to %d have %lld bins, and trees take up to %d: take fewer by " FLAG_TREE_BINS, c,
                   (long long)cells, INT32_MAX);
        ((int32_t *)bins->first.data)[c] = (int32_t)cells;
        cells += c == data->columns ? 0 : *wide ? bins->cells[c] : HAL_BINS;
    }
    return WEFT_OK;
}

/* A row takes whole ROW_BYTES, and ends with its pair. */
static weft_status allocate_rows(weft_hal *hal, int64_t rows, int64_t columns, weft_dtype dtype, tree_bins *bins)
{
    const int64_t size = (int64_t)weft_dtype_bytes(dtype), pair = sizeof(int32_t);
    const int64_t bytes = (columns * size + pair + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    WEFT_TRY(tensor_create(hal, dtype, rows, bytes / size, WEFT_MEM_TREES, &bins->bin));
    bins->bin.cols = columns;
    bins->pair = (weft_tensor){.hal = hal, .dtype = WEFT_DTYPE_I32, .rows = rows, .cols = 1, .ld = bytes / pair};
    bins->pair.data = rows > 0 ? (char *)bins->bin.data + bytes - pair : NULL;
    return WEFT_OK;
}

static weft_status allocate(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts, bool releases,
                            tree_bins *bins)
{
    bool wide = false;
    WEFT_TRY(number_cells(hal, data, cuts, bins, &wide));
    WEFT_TRY(allocate_rows(hal, data->rows, data->columns, wide ? WEFT_DTYPE_I16 : WEFT_DTYPE_U8, bins));
    WEFT_TRY(weft_malloc((size_t)(data->rows * data->columns + BEHIND), wide ? 2 : 1, WEFT_MEM_TREES, &bins->column));
    if (releases) {
        WEFT_TRY(WEFT_NEW(&bins->binned, data->columns, WEFT_MEM_TREES));
        WEFT_TRY(WEFT_NEW(&bins->value, tree_bins_first(bins, data->columns), WEFT_MEM_TREES));
    }
    return WEFT_OK;
}

weft_status tree_bins_create(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts,
                             const tree_release *release, tree_bins *bins)
{
    const bool releases = release->column != NULL;
    *bins = (tree_bins){0};
    WEFT_TRY(allocate(hal, data, cuts, releases, bins));
    for (int c = data->columns - 1, together; c >= 0; --c) { /* columns that wait: cuts have just read the last ones */
        WEFT_TRY(tree_columns_hold(data, c, &together));
        fill_column(data, cuts, c, hal->threads, release, bins);
        if (releases && data->column[c].kind != TABLE_CATEGORY) {
            float *value = bins->value + tree_bins_first(bins, c);
            set_values(cuts, c, value);
            bins->binned[c] = (tree_binned){tree_bins_column(bins, c), tree_bins_wide(bins), value};
            release->column(release->owner, c, &bins->binned[c]);
        }
    }
    turn_rows(data, hal->threads, bins);
    return WEFT_OK;
}

void tree_bins_destroy(tree_bins *bins)
{
    tensor_destroy(&bins->bin);
    tensor_destroy(&bins->first);
    WEFT_FREE_ALL(bins->column, bins->cells, bins->binned, bins->value);
    *bins = (tree_bins){0};
}
