/* Background averages on 1 to 8 ranks: against a serial simulation, free running, ranks of different speed and length.
 */
#include "support/comm_run.h"
#include "support/sync_quadratic.h"

static sync_options options_of(sync_shadow_algorithm algorithm, int64_t gap)
{
    sync_options options = sync_options_default();
    options.mode = SYNC_SHADOW;
    options.shadow.algorithm = algorithm;
    options.shadow.gap = gap;
    options.shadow.mix = 0.6;
    options.shadow.block_momentum = 0.3;
    options.shadow.block_rate = 0.9;
    return options;
}

/* The definition, in doubles, all ranks side by side. */
typedef struct serial {
    int ranks;
    double w[8][QUAD_TRAINED], snapshot[8][QUAD_TRAINED], centre[QUAD_TRAINED], velocity[QUAD_TRAINED];
} serial;

static void serial_snapshot(serial *s)
{
    memcpy(s->snapshot, s->w, sizeof s->w);
}

static void serial_apply(serial *s, const sync_options *options)
{
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double mean = 0;
        for (int r = 0; r < s->ranks; ++r) {
            mean += s->snapshot[r][i] / s->ranks;
        }
        double target = mean;
        if (options->shadow.algorithm == SHADOW_BMUF) {
            s->velocity[i] =
                options->shadow.block_momentum * s->velocity[i] + options->shadow.block_rate * (mean - s->centre[i]);
            s->centre[i] += s->velocity[i];
            target = s->centre[i];
        } else if (options->shadow.algorithm == SHADOW_EASGD) {
            s->centre[i] += options->shadow.mix * (mean - s->centre[i]);
            target = s->centre[i];
        }
        for (int r = 0; r < s->ranks; ++r) {
            s->w[r][i] += options->shadow.mix * (target - s->snapshot[r][i]);
        }
    }
}

static void serial_run(serial *s, const sync_options *options, int ranks, int steps, double lr)
{
    *s = (serial){.ranks = ranks};
    int64_t posted = -1;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        s->centre[i] = quad_start(i);
        for (int r = 0; r < ranks; ++r) {
            s->w[r][i] = quad_start(i);
        }
    }
    for (int k = 1; k <= steps; ++k) {
        for (int r = 0; r < ranks; ++r) {
            for (int i = 0; i < QUAD_TRAINED; ++i) {
                s->w[r][i] -= lr * quad_curvature(r, i, true) * (s->w[r][i] - quad_target(r, i));
            }
        }
        if (posted >= 0 && k < posted + options->shadow.gap) {
            continue;
        }
        if (posted >= 0) {
            serial_apply(s, options);
        }
        serial_snapshot(s);
        posted = k;
    }
}

static weft_status against_serial(weft_comm *comm, sync_shadow_algorithm algorithm, int64_t gap)
{
    enum { STEPS = 23 };
    replica r;
    serial s;
    sync_options options = options_of(algorithm, gap);
    int ranks = comm_size(comm);
    WEFT_TRY(replica_open(comm, &options, &r));
    WEFT_TRY(replica_steps(&r, STEPS, 0.05));
    serial_run(&s, &options, ranks, STEPS, 0.05);
    for (int i = 0; i < QUAD_TRAINED && ranks > 1; ++i) {
        double expected = s.w[comm_rank(comm)][i];
        CASE_CHECK(fabs((double)r.value[i] - expected) < 1e-5, "algorithm %d, gap %d, element %d: %.9g, expected %.9g",
                   (int)algorithm, (int)gap, i, (double)r.value[i], expected);
    }
    sync_figures figures = sync_get_figures(r.sync);
    CASE_CHECK(ranks == 1 || figures.staleness == gap, "staleness %lld", (long long)figures.staleness);
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    sync_destroy(r.sync);
    return WEFT_OK;
}

static weft_status case_serial(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int64_t gap = 1; gap <= 4; gap += 3) {
        WEFT_TRY(against_serial(comm, SHADOW_MA, gap));
        WEFT_TRY(against_serial(comm, SHADOW_BMUF, gap));
        WEFT_TRY(against_serial(comm, SHADOW_EASGD, gap));
    }
    return WEFT_OK;
}

/*
 * Ranks with minima t and curvatures a of their own: g steps take the distance to t times k = (1 - lr a)^g, and then
 * the mean of the snapshots draws a replica by mix. Where both are equal replicas rest, and their mean is
 *
 *      sum c t / sum c,    c = (1 - k) / (1 - k + mix)
 *
 * which is not the minimum of the sum: that is what averaging alone loses where shards differ. Here all c are fractions
 * of small integers and sum c t is 0, so float32 holds every place that replicas come to at rest.
 */
static weft_status rests_at(weft_comm *comm, int64_t gap, double mix, const dyadic_problem *problem)
{
    enum { STEPS = 60 };
    replica r;
    float all[8][QUAD_ELEMENTS];
    const int ranks = comm_size(comm);
    sync_options options = options_of(SHADOW_MA, gap);
    options.shadow.mix = mix;
    WEFT_TRY(replica_open(comm, &options, &r));
    r.dyadic = problem;
    WEFT_TRY(replica_steps(&r, 1 + STEPS * (int)gap, dyadic_rate)); /* replicas as they are in a snapshot */
    WEFT_TRY(replica_gather(&r, all));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double mean = 0, predicted = 0, weights = 0, optimum = 0, curvatures = 0;
        for (int q = 0; q < ranks; ++q) {
            const double a = dyadic_curvature(q), t = dyadic_target(problem, q, ranks, i);
            const double k = pow(1.0 - dyadic_rate * a, (double)gap), c = (1.0 - k) / (1.0 - k + mix);
            mean += (double)all[q][i] / ranks;
            predicted += c * t;
            weights += c;
            optimum += a * t;
            curvatures += a;
        }
        CASE_CHECK(fabs(mean - predicted / weights) < 1e-12, "gap %d, mix %g, element %d: %.9g, expected %.9g",
                   (int)gap, mix, i, mean, predicted / weights);
        CASE_CHECK(fabs(optimum / curvatures - mean) > 1, "gap %d, element %d rests at the minimum", (int)gap, i);
    }
    WEFT_TRY(sync_finish(r.sync));
    sync_destroy(r.sync);
    return WEFT_OK;
}

static weft_status case_rests_at(weft_comm *comm, void *argument)
{
    /* c: 3/5 and 1/2; 15/19 and 3/4 */
    static const dyadic_problem one = {.factor = {6, 5}}, two = {.factor = {20, 19}};
    (void)argument;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(rests_at(comm, 1, 0.5, &one));
    return rests_at(comm, 2, 0.25, &two);
}

/* The second number of the mode's counters that every rank must agree on in the end: rounds posted. */
static weft_status rounds_of(replica *r, int64_t *rounds)
{
    sync_buffer counters = {.data = NULL};
    WEFT_TRY(replica_buffer(r, "shadow counters", &counters));
    const int64_t *number = counters.data;
    CASE_CHECK(number != NULL && counters.bytes >= 24, "%lld bytes of counters", (long long)counters.bytes);
    *rounds = number[2];
    return WEFT_OK;
}

/* Replicas that begin apart and do not train come together. */
static weft_status case_contracts(weft_comm *comm, void *argument)
{
    replica r;
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(SHADOW_MA, 1);
    int ranks = comm_size(comm);
    (void)argument;
    options.shadow.mix = 0.5;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int i = 0; i < QUAD_ELEMENTS; ++i) {
        r.value[i] = (float)case_value(comm_rank(comm), i);
    }
    WEFT_TRY(replica_gather(&r, all));
    /* Round k + 1 is applied in step k + 2: each halves what separates the replicas, state included. */
    for (int k = 1; k <= 11 && ranks > 1; ++k) {
        WEFT_TRY(replica_step(&r, 0.0, 1.0));
        for (int i = 0; i < QUAD_ELEMENTS; ++i) {
            double mean = 0;
            for (int q = 0; q < ranks; ++q) {
                mean += (double)all[q][i] / ranks;
            }
            double expected = mean + ((double)all[comm_rank(comm)][i] - mean) * pow(0.5, k - 1);
            CASE_CHECK(fabs((double)r.value[i] - expected) < 1e-4, "step %d, element %d: %g, expected %g", k, i,
                       (double)r.value[i], expected);
        }
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* Free running: ranks of different speed and different numbers of steps leave in the same round. */
static weft_status uneven_run(weft_comm *comm, sync_shadow_algorithm algorithm)
{
    replica r;
    sync_options options = options_of(algorithm, 0);
    int rank = comm_rank(comm);
    int ranks = comm_size(comm);
    int64_t rounds = 0;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 20 + 9 * rank; ++k) {
        WEFT_TRY(replica_step(&r, 0.05, 1.0));
        if ((k + rank) % 4 == 0) {
            quad_sleep(40 * (ranks - rank));
        }
    }
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    if (ranks > 1) {
        WEFT_TRY(rounds_of(&r, &rounds));
        int64_t bounds[2] = {rounds, -rounds};
        WEFT_TRY(comm_allreduce(comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
        CASE_CHECK(bounds[0] == -bounds[1] && rounds > 1, "rounds %lld here, %lld to %lld elsewhere", (long long)rounds,
                   (long long)-bounds[1], (long long)bounds[0]);
        sync_figures figures = sync_get_figures(r.sync);
        CASE_CHECK(figures.gap >= 1 && figures.bytes_sent > 0 && figures.distance >= 0, "gap %g", figures.gap);
    }
    /* A second run with the same object. */
    WEFT_TRY(sync_reset(r.sync));
    WEFT_TRY(replica_steps(&r, 3 + rank, 0.05));
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* A round is under way in a millionth of the time: behind the second, which tells how long the first took, none begins.
 * The end is that of any run. */
static weft_status case_rests(weft_comm *comm, void *argument)
{
    replica r;
    sync_options options = options_of(SHADOW_MA, 0);
    int64_t rounds = 0;
    (void)argument;
    options.shadow.share = 1e-6;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 30 && comm_size(comm) > 1; ++k) {
        WEFT_TRY(replica_step(&r, 0.05, 1.0));
        quad_sleep(40);
        WEFT_TRY(comm_barrier(comm));
    }
    WEFT_TRY(comm_size(comm) > 1 ? rounds_of(&r, &rounds) : WEFT_OK);
    CASE_CHECK(rounds <= 2, "%lld rounds, expected two", (long long)rounds);
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    sync_destroy(r.sync);
    return WEFT_OK;
}

static weft_status case_uneven(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(uneven_run(comm, SHADOW_MA));
    WEFT_TRY(uneven_run(comm, SHADOW_BMUF));
    return uneven_run(comm, SHADOW_EASGD);
}

/* The state of a free run can be taken although ranks have posted different numbers of rounds. */
static weft_status case_pause(weft_comm *comm, void *argument)
{
    replica r;
    sync_options options = options_of(SHADOW_MA, 0);
    int64_t rounds = 0;
    (void)argument;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 5 && comm_size(comm) > 1; ++k) {
        WEFT_TRY(replica_steps(&r, 1 + (comm_rank(comm) * 7 + k) % 5, 0.05));
        WEFT_TRY(rounds_of(&r, &rounds));
        int64_t bounds[2] = {rounds, -rounds};
        WEFT_TRY(comm_allreduce(comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
        CASE_CHECK(bounds[0] == -bounds[1], "rounds %lld here", (long long)rounds);
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

int main(void)
{
    static const comm_case cases[] = {
        {"rests at", case_rests_at},
        {"serial simulation", case_serial},
        {"averages contract", case_contracts},
        {"uneven ranks leave together", case_uneven},
        {"pause", case_pause},
        {"rests between averages", case_rests},
    };
    return comm_run_threads(cases, sizeof cases / sizeof *cases, comm_run_case_once);
}
