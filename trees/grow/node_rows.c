/* trees/grow/node_rows.c: see trees/grow/node_rows.h. */
#include "trees/grow/node_rows.h"

#include <assert.h>
#include <string.h>

#include "trees/grow/divide_rows.h"

enum { LEAST_OF_A_PART = 1 << 14, PARTS = 64 };

weft_status node_rows_create(weft_hal *hal, int64_t capacity, node_rows *rows)
{
    *rows = (node_rows){.capacity = capacity};
    return tensor_create(hal, WEFT_DTYPE_I32, capacity, 1, WEFT_MEM_TREES, &rows->row);
}

void node_rows_destroy(node_rows *rows)
{
    tensor_destroy(&rows->row);
    *rows = (node_rows){0};
}

static divide_kernel *const kernels[HAL_ISAS] = {
    [HAL_ISA_BASE] = divide_rows_base, [HAL_ISA_AVX2] = divide_rows_base, [HAL_ISA_AVX512] = divide_rows_avx512};

/* Rows of a part go left or right, as divide_rows.h says, by bins of 16 bits. */
static int64_t divide_wide(const int32_t *row, int64_t count, const uint16_t *bin, const tree_split *split, int missing,
                           int32_t *left, int32_t *right)
{
    int64_t l = 0, r = 0;
    for (int64_t i = 0; i < count; ++i) {
        const bool goes = split_goes_left(split, missing, bin[row[i]]);
        right[r] = row[i];
        left[l] = row[i];
        l += goes;
        r += !goes;
    }
    return l;
}

int64_t node_rows_split(node_rows *rows, int64_t begin, int64_t end, const tree_bins *bins, const tree_split *split,
                        int threads)
{
    int32_t *row = (int32_t *)rows->row.data + begin, *spare = rows->spare + begin;
    const int64_t count = end - begin, wanted = count / LEAST_OF_A_PART;
    const int most = threads < PARTS ? threads : PARTS;
    const int parts = wanted < 1 ? 1 : wanted < most ? (int)wanted : most;
    const void *bin = tree_bins_column(bins, split->feature);
    const bool wide = tree_bins_wide(bins);
    const int missing = bins->cells[split->feature] - 1;
    divide_kernel *divide = kernels[hal_isa_best()];
    uint8_t goes_left[DIVIDE_BINS] = {0};
    int64_t left[PARTS], total = 0;
    assert(begin >= 0 && begin <= end && end <= rows->capacity);
    for (int at = 0; !wide && at <= missing; ++at) {
        goes_left[at] = split_goes_left(split, missing, at);
    }
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const int64_t first = count * part / parts, rest = count * (part + 1) / parts - first;
        /* Left rows move to the front of the part's own place, right ones to its spare place: reading is never behind
         * writing. */
        left[part] = wide ? divide_wide(row + first, rest, bin, split, missing, row + first, spare + first)
                          : divide(row + first, rest, bin, goes_left, row + first, spare + first);
    }
    if (parts == 1) {
        memcpy(row + left[0], spare, (size_t)(count - left[0]) * sizeof *row);
        return left[0];
    }
    /* The left rows of all parts join; the right ones follow. */
    for (int part = 0; part < parts; ++part) {
        memmove(row + total, row + count * part / parts, (size_t)left[part] * sizeof *row);
        total += left[part];
    }
    int64_t to = total;
    for (int part = 0; part < parts; ++part) {
        const int64_t first = count * part / parts, right = count * (part + 1) / parts - first - left[part];
        memcpy(row + to, spare + first, (size_t)right * sizeof *row);
        to += right;
    }
    return total;
}
