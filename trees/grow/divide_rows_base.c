/* trees/grow/divide_rows_base.c: divide_rows.h for every processor. */
#include "trees/grow/divide_rows.h"

int64_t divide_rows_base(const int32_t *row, int64_t count, const uint8_t *bin, const uint8_t *goes_left, int32_t *left,
                         int32_t *right)
{
    int64_t l = 0, r = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint8_t goes = goes_left[bin[row[i]]];
        right[r] = row[i];
        left[l] = row[i];
        l += goes;
        r += !goes;
    }
    return l;
}
