/* trees/data/categories.c: see trees/data/categories.h. */
#include "trees/data/categories.h"

#include <stdlib.h>

static const tree_codes *codes_of(const tree_columns *data, int column)
{
    return data->column[column].kind == TABLE_CATEGORY ? data->column[column].data : NULL;
}

typedef struct counted_code {
    int64_t rows;
    int32_t code;
} counted_code;

/* Frequent codes first. */
static int compare_codes(const void *a, const void *b)
{
    const counted_code *x = a, *y = b;
    return x->rows != y->rows ? (x->rows > y->rows ? -1 : 1) : x->code - y->code;
}

/* count: [codes] rows of each. scratch: [codes]. [out] bin: [codes]. Returns the number of bins. */
static int number_bins(const int64_t *count, int32_t codes, int values, counted_code *scratch, uint16_t *bin)
{
    int32_t present = 0;
    for (int32_t code = 0; code < codes; ++code) {
        bin[code] = TREE_NO_BIN;
        if (count[code] > 0) {
            scratch[present++] = (counted_code){count[code], code};
        }
    }
    const int32_t own = present <= values ? present : values - 1;
    qsort(scratch, (size_t)present, sizeof *scratch, compare_codes);
    for (int32_t i = 0; i < own; ++i) {
        bin[scratch[i].code] = 0;
    }
    int bins = 0;
    for (int32_t code = 0; code < codes; ++code) {
        bin[code] = bin[code] == 0 ? (uint16_t)bins++ : TREE_NO_BIN;
    }
    for (int32_t i = own; i < present; ++i) {
        bin[scratch[i].code] = (uint16_t)bins;
    }
    bins += present > own;
    return bins > 0 ? bins : 1;
}

static void count_codes(const tree_columns *data, int column, const uint8_t *counts, int64_t *count)
{
    for (int64_t i = 0; i < data->rows; ++i) {
        const int32_t code = tree_code(data->column[column].data, i);
        if (counts[i] != 0 && code != TABLE_NO_CODE) {
            count[code] += 1;
        }
    }
}

static weft_status place_columns(const tree_columns *data, tree_categories *categories)
{
    WEFT_TRY(WEFT_NEW_ZERO(&categories->bins, data->columns, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW_ZERO(&categories->first, data->columns + 1, WEFT_MEM_TREES));
    for (int c = 0; c < data->columns; ++c) {
        const int32_t codes = codes_of(data, c) != NULL ? codes_of(data, c)->codes : 0;
        WEFT_CHECK(codes <= TREE_CODES_MAX, WEFT_ERR_UNSUPPORTED,
                   "column %d has %d different words, and trees take up to %d: leave it out", c + 1, codes,
                   TREE_CODES_MAX);
        categories->first[c + 1] = categories->first[c] + codes;
    }
    return WEFT_NEW(&categories->bin, categories->first[data->columns], WEFT_MEM_TREES);
}

weft_status tree_categories_find(weft_comm *comm, const tree_columns *data, const uint8_t *counts, int values,
                                 tree_categories *categories)
{
    int64_t *count = NULL;
    counted_code *scratch = NULL;
    *categories = (tree_categories){0};
    weft_status status;
    weft_status local = place_columns(data, categories);
    const int64_t all = local == WEFT_OK ? categories->first[data->columns] : 0;
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&count, all + 1, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&scratch, TREE_CODES_MAX, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    if (all == 0) {
        goto done;
    }
    for (int c = 0; c < data->columns; ++c) {
        if (codes_of(data, c) != NULL) {
            count_codes(data, c, counts, count + categories->first[c]);
        }
    }
    WEFT_TRY_GOTO(comm_allreduce(comm, count, all, WEFT_DTYPE_I64, COMM_SUM), status, done);
    for (int c = 0; c < data->columns; ++c) {
        const int64_t first = categories->first[c];
        if (codes_of(data, c) != NULL) {
            categories->bins[c] =
                number_bins(count + first, codes_of(data, c)->codes, values, scratch, categories->bin + first);
        }
    }
done:
    WEFT_FREE_ALL(count, scratch);
    return status;
}

void tree_categories_destroy(tree_categories *categories)
{
    WEFT_FREE_ALL(categories->bins, categories->first, categories->bin);
    *categories = (tree_categories){0};
}

void tree_categories_fill(const tree_categories *categories, const tree_columns *data, int column, int64_t first,
                          int64_t rows, int missing, uint16_t *bin)
{
    const uint16_t *bin_of = categories->bin + categories->first[column];
    for (int64_t i = 0; i < rows; ++i) {
        const int32_t code = tree_code(data->column[column].data, first + i);
        const bool none = code == TABLE_NO_CODE || bin_of[code] >= categories->bins[column];
        bin[i] = none ? (uint16_t)missing : bin_of[code];
    }
}
