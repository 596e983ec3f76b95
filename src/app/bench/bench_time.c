/* app/bench/bench_time.c: the timer of all benches; see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { MAX_SECONDS = 60, MAX_INNER = 10000, LEAST_REPEATS = 3 };
#define SAMPLE_SECONDS 50e-6
#define LONG_SECONDS   0.05

weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds)
{
    double own = 0.0;
    assert(inner > 0);
    WEFT_TRY(comm_barrier(comm));
    const double begin = clock_seconds();
    for (int i = 0; i < inner; i++) {
        WEFT_TRY(side->run(side->self));
        own += side->seconds != NULL ? *side->seconds : 0.0;
    }
    *seconds = (side->seconds != NULL ? own : clock_seconds() - begin) / inner;
    return comm_allreduce(comm, seconds, 1, WEFT_DTYPE_F64, COMM_MAX);
}

/* Operations in a sample, by the faster side, of which the second run counts; one that is long needs no second. */
static weft_status warm_up(weft_comm *comm, const bench_side *side, const bench_side *other, int *inner)
{
    double seconds = INFINITY;
    for (int i = 0; i < 2 && !(i > 0 && seconds > LONG_SECONDS); i++) {
        double mine = INFINITY, theirs = INFINITY;
        WEFT_TRY(bench_sample(comm, side, 1, &mine));
        if (other != NULL) {
            WEFT_TRY(bench_sample(comm, other, 1, &theirs));
        }
        seconds = fmin(mine, theirs);
    }
    const double wanted = ceil(SAMPLE_SECONDS / fmax(seconds, 1e-9));
    *inner = wanted < MAX_INNER ? (int)wanted : MAX_INNER;
    return WEFT_OK;
}

weft_status bench_time(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                       bench_pair *result)
{
    weft_status status = WEFT_OK;
    double *mine = NULL, *theirs = NULL, *ratio = NULL;
    int inner = 1, count = 0;
    double spent = 0.0; /* the same on every rank, so that all stop together */
    other = other != NULL && other->run != NULL ? other : NULL;
    assert(repeats > 0 && side != NULL);
    WEFT_TRY_GOTO(WEFT_NEW(&mine, 3 * (int64_t)repeats, WEFT_MEM_GENERAL), status, done);
    theirs = mine + repeats;
    ratio = theirs + repeats;
    WEFT_TRY_GOTO(warm_up(comm, side, other, &inner), status, done);
    for (; count < repeats && (count < LEAST_REPEATS || spent < MAX_SECONDS); count++) {
        for (int turn = 0; turn < 2; turn++) {
            const bool first = (turn + count) % 2 == 0;
            double *sample = first ? &mine[count] : &theirs[count];
            const bench_side *run = first ? side : other;
            if (run != NULL) {
                WEFT_TRY_GOTO(bench_sample(comm, run, inner, sample), status, done);
                spent += *sample * inner;
            }
        }
        ratio[count] = other != NULL ? theirs[count] / mine[count] : 0.0;
    }
    result->seconds = sample_quartiles_of(mine, count);
    result->other = sample_quartiles_of(theirs, other != NULL ? count : 0);
    result->ratio = sample_quartiles_of(ratio, other != NULL ? count : 0).median;
done:
    weft_free(mine);
    return status;
}
