/* support/pairs_cases.h: every pair of ranks once, in order, the same figures everywhere; traffic goes on afterwards.
 */
#pragma once

#include "comm/model/link_probe.h"
#include "support/comm_cases.h"

static weft_status pairs_check(const comm_pair *pair, int count, int size)
{
    int seen = 0;
    CASE_CHECK(count == size * (size - 1) / 2, "%d pairs of %d ranks", count, size);
    for (int a = 0; a < size; a++) {
        for (int b = a + 1; b < size; b++) {
            const comm_pair *p = &pair[seen++];
            CASE_CHECK(p->a == a && p->b == b, "pair %d is %d, %d instead of %d, %d", seen - 1, p->a, p->b, a, b);
            CASE_CHECK(p->latency > 1e-9 && p->latency < 10.0, "latency %g", p->latency);
            CASE_CHECK(p->bytes_per_second > 1e3 && p->bytes_per_second < 1e14, "rate %g", p->bytes_per_second);
        }
    }
    return WEFT_OK;
}

static weft_status case_pairs(weft_comm *comm, void *argument)
{
    (void)argument;
    comm_pair *pair = NULL;
    int count = 0;
    WEFT_TRY(comm_measure_pairs(comm, &pair, &count));
    weft_status status = pairs_check(pair, count, comm_size(comm));
    double most = count > 0 ? pair[0].latency : 0.0;
    double least = -most;
    WEFT_TRY(comm_allreduce(comm, &most, 1, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &least, 1, WEFT_DTYPE_F64, COMM_MAX));
    weft_free(pair);
    WEFT_TRY(status);
    CASE_CHECK(least == -most, "ranks hold different figures: %g and %g", most, -least);
    return WEFT_OK;
}

static const comm_case pairs_cases[] = {{"pairs", case_pairs}};
enum { PAIRS_CASES = sizeof pairs_cases / sizeof *pairs_cases };
