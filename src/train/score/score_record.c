/* train/score/score_record.c: see train/score/score_record.h. */
#include "train/score/score_record.h"

#include <string.h>

enum { RADIX_BITS = 11, RADIX_SIZE = 1 << RADIX_BITS };

uint64_t score_record(float score, int label)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ((uint64_t)bits << 32) | (uint64_t)(label & 1);
}

static void radix_pass(const uint64_t *from, uint64_t *to, int64_t count, int shift)
{
    int64_t place[RADIX_SIZE] = {0};
    for (int64_t i = 0; i < count; ++i) {
        place[(from[i] >> shift) & (RADIX_SIZE - 1)] += 1;
    }
    int64_t sum = 0;
    for (int b = 0; b < RADIX_SIZE; ++b) {
        int64_t here = place[b];
        place[b] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < count; ++i) {
        to[place[(from[i] >> shift) & (RADIX_SIZE - 1)]++] = from[i];
    }
}

float score_of_record(uint64_t record)
{
    uint32_t bits = (uint32_t)(record >> 32);
    float score;
    bits = (bits & 0x80000000u) != 0 ? bits & 0x7fffffffu : ~bits;
    memcpy(&score, &bits, sizeof score);
    return score;
}

uint64_t *score_records_sort(uint64_t *records, uint64_t *spare, int64_t count)
{
    radix_pass(records, spare, count, 32);
    radix_pass(spare, records, count, 32 + RADIX_BITS);
    radix_pass(records, spare, count, 32 + 2 * RADIX_BITS);
    return spare;
}
