/* trees/data/tree_columns.c: see trees/data/tree_columns.h. */
#include "trees/data/tree_columns.h"

#include <math.h>

weft_mem_tag WEFT_MEM_TREES[1] = {{.text = "trees"}};

static void read_codes(const tree_codes *codes, int64_t first, int64_t count, float *value)
{
    for (int64_t i = 0; i < count; ++i) {
        const int32_t code = tree_code(codes, first + i);
        value[i] = code == TABLE_NO_CODE ? NAN : (float)code;
    }
}

static void read_bins(const tree_binned *binned, int64_t first, int64_t count, float *value)
{
    const uint8_t *bin = binned->bin;
    const uint16_t *wide = binned->bin;
    for (int64_t i = 0; i < count; ++i) {
        value[i] = binned->value[binned->wide ? wide[first + i] : bin[first + i]];
    }
}

void tree_column_read(const tree_column *column, int64_t first, int64_t count, float *value)
{
    if (column->kind == TABLE_CATEGORY) {
        read_codes(column->data, first, count, value);
    } else if (column->kind == TREE_BINNED) {
        read_bins(column->data, first, count, value);
    } else {
        table_read_numbers(column->kind, column->data, first, count, value);
    }
}

weft_status tree_columns_rows(const tree_columns *data, int64_t first, int64_t rows, float *value)
{
    float *own = NULL;
    WEFT_TRY(WEFT_NEW(&own, rows, WEFT_MEM_WORKSPACE));
    for (int c = 0; c < data->columns; ++c) {
        tree_column_read(&data->column[c], first, rows, own);
        for (int64_t i = 0; i < rows; ++i) {
            value[i * data->columns + c] = own[i];
        }
    }
    weft_free(own);
    return WEFT_OK;
}
