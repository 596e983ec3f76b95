/* trees/data/bins.c: see trees/data/bins.h. */
#include "trees/data/bins.h"

enum { CHUNK = 1024, BEHIND = 3 }; /* bytes behind the last column that grow/divide_rows.h may read */

static void fill_rows(const tree_columns *data, const tree_cuts *cuts, int64_t first, int64_t rows, tree_bins *bins)
{
    float value[CHUNK];
    uint8_t *bin = (uint8_t *)bins->bin.data + first * data->columns;
    for (int c = 0; c < data->columns; ++c) {
        const float *cut = cuts->value + cuts->first[c];
        const int count = cuts->first[c + 1] - cuts->first[c];
        uint8_t *own = bins->column + data->rows * c + first;
        if (cuts->categories.bins[c] > 0) {
            tree_categories_fill(&cuts->categories, data, c, first, rows, count + 1, own);
        } else {
            tree_column_read(&data->column[c], first, rows, value);
            tree_find_bins(cut, count, value, rows, own);
        }
        for (int64_t i = 0; i < rows; ++i) {
            bin[i * data->columns + c] = own[i];
        }
    }
}

weft_status tree_bins_create(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts, tree_bins *bins)
{
    *bins = (tree_bins){0};
    WEFT_TRY(WEFT_NEW(&bins->cells, data->columns, WEFT_MEM_TREES));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_U8, data->rows, data->columns, WEFT_MEM_TREES, &bins->bin));
    WEFT_TRY(WEFT_NEW(&bins->column, data->rows * data->columns + BEHIND, WEFT_MEM_TREES));
    for (int c = 0; c < data->columns; ++c) {
        bins->cells[c] = cuts->first[c + 1] - cuts->first[c] + 2;
    }
    const int64_t chunks = (data->rows + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(hal->threads)
    for (int64_t i = 0; i < chunks; ++i) {
        const int64_t first = i * CHUNK, rows = data->rows - first < CHUNK ? data->rows - first : CHUNK;
        fill_rows(data, cuts, first, rows, bins);
    }
    return WEFT_OK;
}

void tree_bins_destroy(tree_bins *bins)
{
    tensor_destroy(&bins->bin);
    WEFT_FREE_ALL(bins->column, bins->cells);
    *bins = (tree_bins){0};
}
