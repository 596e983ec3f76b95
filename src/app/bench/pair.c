/* app/bench/pair.c: see app/bench/pair.h. */
#include "app/bench/pair.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { MAX_SECONDS = 60, MAX_INNER = 10000, LEAST_REPEATS = 3 };
#define SAMPLE_SECONDS 50e-6
#define LONG_SECONDS   0.05

weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds)
{
    WEFT_TRY(comm != NULL ? comm_barrier(comm) : WEFT_OK);
    const double begin = clock_seconds();
    for (int i = 0; i < inner; i++) {
        WEFT_TRY(side->run(side->argument));
    }
    *seconds = (clock_seconds() - begin) / inner;
    return comm != NULL ? comm_allreduce(comm, seconds, 1, WEFT_DTYPE_F64, COMM_MAX) : WEFT_OK;
}

/* Operations in a sample, by the faster side, of which the second run counts; one that is long needs no second. */
static weft_status warm_up(weft_comm *comm, const bench_side *side, const bench_side *other, int *inner)
{
    double seconds = INFINITY;
    for (int i = 0; i < 2 && !(i > 0 && seconds > LONG_SECONDS); i++) {
        double mine = INFINITY;
        double theirs = INFINITY;
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

weft_status bench_pair_measure(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                               bench_pair *result)
{
    weft_status status = WEFT_OK;
    assert(repeats > 0 && side != NULL);
    double *mine = NULL;
    double *theirs = NULL;
    double *ratio = NULL;
    int inner = 1;
    int count = 0;
    double spent = 0.0; /* the same on every rank, so that all stop together */
    WEFT_TRY_GOTO(WEFT_NEW(&mine, repeats, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&theirs, repeats, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&ratio, repeats, WEFT_MEM_GENERAL), status, done);
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
    result->seconds = bench_quartiles_of(mine, count);
    result->other = bench_quartiles_of(theirs, other != NULL ? count : 0);
    result->ratio = bench_quartiles_of(ratio, other != NULL ? count : 0).median;
done:
    weft_free(mine);
    weft_free(theirs);
    weft_free(ratio);
    return status;
}

weft_status bench_time(weft_status (*run)(void *argument), void *argument, int repeats, bench_quartiles *seconds)
{
    bench_pair pair;
    WEFT_TRY(bench_pair_measure(NULL, &(bench_side){run, argument}, NULL, repeats, &pair));
    *seconds = pair.seconds;
    return WEFT_OK;
}
