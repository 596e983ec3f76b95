/* trees/data/bins.c: see trees/data/bins.h. */
#include "trees/data/bins.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024, BEHIND = 3 }; /* bytes behind the last column that grow/divide_rows.h may read */

/* Bins of rows first .. first + rows - 1 of a column. */
static void fill_part(const tree_columns *data, const tree_cuts *cuts, int c, int64_t first, int64_t rows, uint8_t *own)
{
    float value[CHUNK];
    const int count = cuts->first[c + 1] - cuts->first[c];
    if (cuts->categories.bins[c] > 0) {
        tree_categories_fill(&cuts->categories, data, c, first, rows, count + 1, own);
    } else {
        tree_column_read(&data->column[c], first, rows, value);
        tree_find_bins(cuts->value + cuts->first[c], count, value, rows, own);
    }
}

/* Values that lie in the bins of a column: the least of each, and one below the first cut. */
static void set_values(const tree_cuts *cuts, int c, tree_binned *binned)
{
    const float *cut = cuts->value + cuts->first[c];
    const int count = cuts->first[c + 1] - cuts->first[c];
    binned->value[0] = count > 0 ? nextafterf(cut[0], -INFINITY) : 0.0F;
    memcpy(binned->value + 1, cut, (size_t)count * sizeof *cut);
    binned->value[count + 1] = NAN;
}

static void fill_column(const tree_columns *data, const tree_cuts *cuts, int c, int threads, tree_bins *bins)
{
    uint8_t *own = bins->column + data->rows * c;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < data->rows; first += CHUNK) {
        fill_part(data, cuts, c, first, data->rows - first < CHUNK ? data->rows - first : CHUNK, own + first);
    }
}

/* Row by row what stands column by column. */
static void turn_rows(const tree_columns *data, int threads, tree_bins *bins)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < data->rows; first += CHUNK) {
        const int64_t rows = data->rows - first < CHUNK ? data->rows - first : CHUNK;
        uint8_t *bin = (uint8_t *)bins->bin.data + first * data->columns;
        for (int c = 0; c < data->columns; ++c) {
            const uint8_t *own = bins->column + data->rows * c + first;
            for (int64_t i = 0; i < rows; ++i) {
                bin[i * data->columns + c] = own[i];
            }
        }
    }
}

weft_status tree_bins_create(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts,
                             const tree_release *release, tree_bins *bins)
{
    const bool releases = release->column != NULL;
    *bins = (tree_bins){0};
    WEFT_TRY(WEFT_NEW(&bins->cells, data->columns, WEFT_MEM_TREES));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_U8, data->rows, data->columns, WEFT_MEM_TREES, &bins->bin));
    WEFT_TRY(WEFT_NEW(&bins->column, data->rows * data->columns + BEHIND, WEFT_MEM_TREES));
    WEFT_TRY(releases ? WEFT_NEW(&bins->binned, data->columns, WEFT_MEM_TREES) : WEFT_OK);
    for (int c = 0; c < data->columns; ++c) {
        bins->cells[c] = cuts->first[c + 1] - cuts->first[c] + 2;
        fill_column(data, cuts, c, hal->threads, bins);
        if (releases && data->column[c].kind != TABLE_CATEGORY) {
            bins->binned[c].bin = tree_bins_column(bins, c);
            set_values(cuts, c, &bins->binned[c]);
            release->column(release->owner, c, &bins->binned[c]);
        }
    }
    turn_rows(data, hal->threads, bins);
    return WEFT_OK;
}

void tree_bins_destroy(tree_bins *bins)
{
    tensor_destroy(&bins->bin);
    WEFT_FREE_ALL(bins->column, bins->cells, bins->binned);
    *bins = (tree_bins){0};
}
