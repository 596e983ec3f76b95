/* trees/grow/row_sample.c: see trees/grow/row_sample.h. */
#include "trees/grow/row_sample.h"

#include <math.h>
#include <string.h>

#include "base/philox.h"

enum { DIGITS = 65536, ROUNDS = 2 };

double tree_place(uint64_t seed, int64_t id, int number, uint32_t of)
{
    const philox_block draw = philox4x32(philox_counter(of, (uint64_t)id, WEFT_RNG_TREES, (uint32_t)number), seed);
    return (double)draw.word[0] * 0x1p-32;
}

/* The bits of a number without its sign have the order of magnitudes. */
static uint32_t key_of(float gradient)
{
    uint32_t bits;
    memcpy(&bits, &gradient, sizeof bits);
    return bits & 0x7fffffffU;
}

/* [out] least: the key of the row that is at place `share` of all rows, by falling magnitude. count: [DIGITS]. */
static weft_status find_least(weft_comm *comm, const tree_columns *data, const uint8_t *counts, const float *gradient,
                              double share, int64_t *count, uint32_t *least)
{
    int64_t left = 0;
    *least = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        memset(count, 0, DIGITS * sizeof *count);
        for (int64_t i = 0; i < data->rows; ++i) {
            const uint32_t key = key_of(gradient[i]);
            if (counts[i] != 0 && (round == 0 || key >> 16 == *least >> 16)) {
                count[round == 0 ? key >> 16 : key & 0xffff] += 1;
            }
        }
        WEFT_TRY(comm_allreduce(comm, count, DIGITS, WEFT_DTYPE_I64, COMM_SUM));
        for (int digit = 0; round == 0 && digit < DIGITS; ++digit) {
            left += count[digit];
        }
        left = round == 0 ? (int64_t)ceil(share * (double)left) : left;
        uint32_t digit = DIGITS - 1;
        for (; digit > 0 && left > count[digit]; --digit) {
            left -= count[digit];
        }
        *least |= round == 0 ? digit << 16 : digit;
    }
    return WEFT_OK;
}

weft_status row_sample_by_gradient(weft_comm *comm, const tree_columns *data, const uint8_t *counts,
                                   const float *gradient, double top, double other, uint64_t seed, int number,
                                   uint8_t *take)
{
    int64_t *count = NULL;
    uint32_t least = 0;
    const double share = other / (1.0 - top); /* of the rows that are not among the largest */
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&count, DIGITS, WEFT_MEM_WORKSPACE)));
    const weft_status status = find_least(comm, data, counts, gradient, top, count, &least);
    weft_free(count);
    for (int64_t i = 0; status == WEFT_OK && i < data->rows; ++i) {
        const bool drawn = tree_place(seed, tree_row_id(data, i), number, 0) < share;
        take[i] = counts[i] == 0                 ? ROW_LEFT_OUT
                  : key_of(gradient[i]) >= least ? ROW_TAKEN
                  : drawn                        ? ROW_AMPLIFIED
                                                 : ROW_LEFT_OUT;
    }
    return status;
}
