/*
 * gnn/data/generate/generator_alias.c: Vose's construction of an alias table, O(count) time, 12 bytes a weight of
 * scratch.
 *
 * Every slot holds at most two outcomes; light ones are topped up by heavy ones until all slots are equally full.
 */
#include "base/alloc.h"

#include <assert.h>

#include "gnn/data/generate/generator_parts.h"

/* Share of a slot in 2^-32; a full slot's remainder points at itself. */
static uint32_t share_bits(double share)
{
    double scaled = share * 0x1p32;
    return scaled >= 0x1p32 - 1 ? UINT32_MAX : (uint32_t)scaled;
}

weft_status generator_alias_build(const double *weight, int64_t count, alias_slot *table)
{
    double *share = NULL;
    int32_t *stack = NULL; /* light slots from the front, heavy ones from the back */
    weft_status status;
    double sum = 0;
    assert(count >= 1 && count <= INT32_MAX);
    for (int64_t i = 0; i < count; ++i) {
        assert(weight[i] >= 0);
        sum += weight[i];
    }
    WEFT_TRY_GOTO(WEFT_NEW(&share, count, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&stack, count, WEFT_MEM_WORKSPACE), status, done);
    int64_t light = 0, heavy = count;
    for (int64_t i = 0; i < count; ++i) {
        share[i] = sum > 0 ? weight[i] * (double)count / sum : 1;
        table[i] = (alias_slot){UINT32_MAX, (int32_t)i};
        stack[share[i] < 1 ? light++ : --heavy] = (int32_t)i;
    }
    while (light > 0 && heavy < count) {
        int32_t small = stack[--light], large = stack[heavy];
        table[small] = (alias_slot){share_bits(share[small]), large};
        share[large] -= 1 - share[small];
        if (share[large] < 1) {
            ++heavy;
            stack[light++] = large;
        }
    }
    status = WEFT_OK;

done:
    WEFT_FREE_ALL(share, stack);
    return status;
}
