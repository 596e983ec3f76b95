/*
 * support/sync_relaxed_cases.h: what must hold for all modes with local updates: state, sudden ends, weights,
 * statistics, convergence. Cases as in support/comm_cases.h: on threads (tests/unit/comm) and under mpirun (tests/mpi).
 */
#pragma once

#include "support/damaged_state.h"
#include "support/sync_quadratic.h"

/* What holds for all modes with local updates, on 1 to 8 ranks: state, sudden ends, weights, statistics, convergence.
 */

/* The modes, then the same with gradient tracking. */
enum { MODES = 6, VARIANTS = 2 * MODES };

static sync_options options_of(int variant)
{
    sync_options options = sync_options_default();
    int k = variant % MODES;
    options.tracking = variant >= MODES ? SYNC_TRACKING_ON : SYNC_TRACKING_OFF;
    options.mode = k < 2 ? SYNC_DIVIDE_SHUFFLE : k < 5 ? SYNC_SHADOW : SYNC_ASP;
    options.divide_shuffle.seed = 5;
    options.divide_shuffle.full_every = k == 1 ? 7 : 0;
    options.shadow.algorithm = k == 2 ? SHADOW_MA : k == 3 ? SHADOW_BMUF : SHADOW_EASGD;
    options.shadow.block_momentum = 0.2;
    options.shadow.gap = 3;
    options.asp.threshold = 0.02;
    return options;
}

/* ASP between ranks: by default a node, here all ranks, is one site. */
static weft_status sites_of_one(weft_comm *comm, sync_options *options, char *path)
{
    char text[128] = "";
    for (int r = 0; r < comm_size(comm); ++r) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "s%d: %d\n", r, r);
    }
    WEFT_TRY(quad_write(comm, text, path));
    options->asp.sites = path;
    return WEFT_OK;
}

/* ---- state ----------------------------------------------------------------------------------------------- */
enum { CHECKPOINT_BYTES = 4096 };

typedef struct checkpoint {
    float value[QUAD_ELEMENTS];
    int count;
    char name[32][48];
    int64_t bytes[32];
    unsigned char data[CHECKPOINT_BYTES];
} checkpoint;

static weft_status save(replica *r, checkpoint *c)
{
    const sync_buffer *buffer = NULL;
    int64_t at = 0;
    WEFT_TRY(sync_state(r->sync, &buffer, &c->count));
    memcpy(c->value, r->value, sizeof c->value);
    for (int i = 0; i < c->count; ++i) {
        snprintf(c->name[i], sizeof c->name[i], "%s", buffer[i].name);
        c->bytes[i] = buffer[i].bytes;
        CASE_CHECK(at + buffer[i].bytes <= CHECKPOINT_BYTES, "the state has more than %d bytes", CHECKPOINT_BYTES);
        if (buffer[i].bytes > 0) {
            memcpy(c->data + at, buffer[i].data, (size_t)buffer[i].bytes);
        }
        at += buffer[i].bytes;
    }
    return WEFT_OK;
}

static weft_status restore(replica *r, const checkpoint *c)
{
    const sync_buffer *buffer = NULL;
    int64_t at = 0;
    int count = 0;
    WEFT_TRY(sync_state(r->sync, &buffer, &count));
    CASE_CHECK(count == c->count, "%d buffers, %d were saved", count, c->count);
    for (int i = 0; i < count; ++i) {
        CASE_CHECK(strcmp(buffer[i].name, c->name[i]) == 0 && buffer[i].bytes == c->bytes[i],
                   "buffer %s of %lld bytes, saved was %s of %lld", buffer[i].name, (long long)buffer[i].bytes,
                   c->name[i], (long long)c->bytes[i]);
        if (buffer[i].bytes > 0) {
            memcpy(buffer[i].data, c->data + at, (size_t)buffer[i].bytes);
        }
        at += buffer[i].bytes;
    }
    memcpy(r->value, c->value, sizeof c->value);
    return WEFT_OK;
}

static double rate_at(int k)
{
    return 0.1 / (1.0 + 0.1 * k);
}

static weft_status run_from(replica *r, int first, int last)
{
    for (int k = first; k < last; ++k) {
        WEFT_TRY(replica_step(r, rate_at(k), 1.0));
    }
    return WEFT_OK;
}

/* One run without a stop; one that is saved after `stop` steps and goes on from an object made anew (running already,
 * or not begun): both end with the same bits. */
static weft_status state_run(weft_comm *comm, const sync_options *options, int stop, bool running)
{
    enum { STEPS = 16 };
    replica whole;
    replica part;
    checkpoint c;
    WEFT_TRY(replica_open(comm, options, &whole));
    WEFT_TRY(run_from(&whole, 0, STEPS));
    WEFT_TRY(sync_finish(whole.sync));
    WEFT_TRY(replica_open(comm, options, &part));
    WEFT_TRY(run_from(&part, 0, stop));
    WEFT_TRY(save(&part, &c));
    sync_destroy(part.sync);
    WEFT_TRY(replica_create(comm, options, &part));
    if (running) {
        WEFT_TRY(sync_reset(part.sync));
        WEFT_TRY(run_from(&part, 0, 2));
    }
    WEFT_TRY(restore(&part, &c));
    WEFT_TRY(run_from(&part, stop, STEPS));
    WEFT_TRY(sync_finish(part.sync));
    CASE_CHECK(quad_same(whole.value, part.value, sizeof whole.value), "%s saved after %d steps ends with other bits",
               sync_mode_name(options->mode), stop);
    sync_destroy(part.sync);
    sync_destroy(whole.sync);
    return WEFT_OK;
}

static weft_status case_state(weft_comm *comm, void *argument)
{
    char path[64];
    (void)argument;
    for (int k = 0; k < VARIANTS; ++k) {
        sync_options options = options_of(k);
        WEFT_TRY(sites_of_one(comm, &options, path));
        for (int stop = 10; stop < 12; ++stop) { /* just posted, and on its way */
            WEFT_TRY(state_run(comm, &options, stop, stop % 2 == 0));
        }
        WEFT_TRY(quad_remove(comm, path));
    }
    return WEFT_OK;
}

/* ---- damaged state --------------------------------------------------------------------------------------- */
typedef struct damaged_replica {
    replica r;
    checkpoint c;
} damaged_replica;

static weft_status damaged_put_back(void *self)
{
    damaged_replica *d = self;
    return restore(&d->r, &d->c);
}

static weft_status damaged_steps(void *self)
{
    damaged_replica *d = self;
    return run_from(&d->r, 10, 13);
}

static weft_status case_damaged_state(weft_comm *comm, void *argument)
{
    char path[64];
    (void)argument;
    for (int k = 0; k < VARIANTS && comm_size(comm) > 1 && comm_size(comm) < 5; ++k) {
        static const int least[MODES] = {14, 14, 40,
                                         40, 40, 20}; /* of the counters: divide-shuffle 2, shadow 6, asp 4 */
        damaged_replica *d = NULL;
        sync_options options = options_of(k);
        WEFT_TRY(sites_of_one(comm, &options, path));
        WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_GENERAL));
        WEFT_TRY(replica_open(comm, &options, &d->r));
        WEFT_TRY(run_from(&d->r, 0, 10));
        WEFT_TRY(save(&d->r, &d->c));
        const damaged_rig rig = {.self = d, .sync = d->r.sync, .put_back = damaged_put_back, .steps = damaged_steps};
        WEFT_TRY(damaged_all(comm, &rig, least[k % MODES]));
        sync_destroy(d->r.sync);
        weft_free(d);
        WEFT_TRY(quad_remove(comm, path));
    }
    return WEFT_OK;
}

/* ---- sudden ends ----------------------------------------------------------------------------------------- */
static weft_status case_destroy_under_way(weft_comm *comm, void *argument)
{
    char path[64];
    (void)argument;
    for (int k = 0; k < 2 * VARIANTS; ++k) {
        replica r;
        sync_options options = options_of(k / 2);
        options.shadow.gap = k % 2 ? 0 : 3;
        options.asp.slack = k % 2 ? 2 : 0;
        WEFT_TRY(sites_of_one(comm, &options, path));
        WEFT_TRY(replica_open(comm, &options, &r));
        WEFT_TRY(replica_steps(&r, 4, 0.1));
        WEFT_TRY(comm_barrier(comm)); /* everybody made the step; what was posted is still on its way */
        sync_destroy(r.sync);
        int32_t one = 1;
        WEFT_TRY(comm_allreduce(comm, &one, 1, WEFT_DTYPE_I32, COMM_SUM));
        CASE_CHECK(one == comm_size(comm), "%d", one);
        WEFT_TRY(replica_open(comm, &options, &r)); /* and once more over the same ranks */
        WEFT_TRY(replica_steps(&r, 2, 0.1));
        WEFT_TRY(sync_finish(r.sync));
        WEFT_TRY(replica_check_equal(&r));
        sync_destroy(r.sync);
        WEFT_TRY(quad_remove(comm, path));
    }
    return WEFT_OK;
}

/* ---- weights and statistics ------------------------------------------------------------------------------ */
/* A rank without data does not move, whatever stands in its gradient (the others may move it). */
static weft_status case_zero_weight(weft_comm *comm, void *argument)
{
    char path[64];
    int ranks = comm_size(comm);
    (void)argument;
    for (int k = 0; k < VARIANTS && ranks > 1; ++k) {
        replica r;
        sync_options options = options_of(k);
        options.asp.threshold = 0;
        WEFT_TRY(sites_of_one(comm, &options, path));
        WEFT_TRY(replica_open(comm, &options, &r));
        for (int s = 0; s < 6; ++s) {
            WEFT_TRY(replica_step(&r, 0.1, 0.0));
        }
        WEFT_TRY(sync_finish(r.sync));
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            CASE_CHECK(fabs((double)r.value[i] - quad_start(i)) < 1e-6, "mode %d: element %d moved to %g", k, i,
                       (double)r.value[i]);
        }
        sync_destroy(r.sync);
        WEFT_TRY(quad_remove(comm, path));
    }
    return WEFT_OK;
}

/* Batch statistics that differ become their mean by the end. */
static weft_status case_statistics(weft_comm *comm, void *argument)
{
    char path[64];
    int ranks = comm_size(comm);
    (void)argument;
    for (int k = 0; k < VARIANTS + 2; ++k) {
        replica r;
        bool one_site = k >= VARIANTS; /* asp once with a rank a site, once with all ranks in one */
        sync_options options = options_of(one_site ? (k - VARIANTS) * MODES + MODES - 1 : k);
        if (!one_site) {
            WEFT_TRY(sites_of_one(comm, &options, path));
        }
        WEFT_TRY(replica_open(comm, &options, &r));
        r.value[QUAD_TRAINED] = (float)comm_rank(comm);
        r.value[QUAD_TRAINED + 1] = -3.0f;
        WEFT_TRY(replica_steps(&r, 9, 0.1));
        WEFT_TRY(sync_finish(r.sync));
        CASE_CHECK(ranks == 1 || fabs((double)r.value[QUAD_TRAINED] - (ranks - 1) / 2.0) < 1e-5, "mode %d: %g", k,
                   (double)r.value[QUAD_TRAINED]);
        CASE_CHECK(fabs((double)r.value[QUAD_TRAINED + 1] + 3.0) < 1e-5, "mode %d: %g", k,
                   (double)r.value[QUAD_TRAINED + 1]);
        sync_destroy(r.sync);
        if (!one_site) {
            WEFT_TRY(quad_remove(comm, path));
        }
    }
    return WEFT_OK;
}

/* ---- convergence ----------------------------------------------------------------------------------------- */
/*
 * Ranks with different optima and curvatures, falling rates, 120 steps: every mode ends at the optimum of the sum
 * within 0.03. Replicas averaged only at the end would come to the mean of the ranks' optima, over 0.1 off.
 */
static weft_status converge(weft_comm *comm, int k, int64_t gap, double *worst, double *alone)
{
    replica r;
    char path[64];
    sync_options options = options_of(k);
    options.shadow.gap = gap;
    options.asp.slack = gap == 0 ? 2 : 0;
    WEFT_TRY(sites_of_one(comm, &options, path));
    WEFT_TRY(replica_open(comm, &options, &r));
    r.equal = false;
    for (int s = 0; s < 120; ++s) {
        WEFT_TRY(replica_step(&r, 0.4 / (1.0 + 0.1 * s), 1.0));
        if (gap == 0) { /* free running, but side by side: a rank alone would be through before the next has begun */
            WEFT_TRY(comm_barrier(comm));
        }
    }
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    *worst = 0;
    *alone = 0;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double mean = 0;
        for (int q = 0; q < comm_size(comm); ++q) {
            mean += quad_target(q, i) / comm_size(comm);
        }
        *alone = fmax(*alone, fabs(mean - quad_optimum(comm_size(comm), i, false)));
        *worst = fmax(*worst, fabs((double)r.value[i] - quad_optimum(comm_size(comm), i, false)));
    }
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_convergence(weft_comm *comm, void *argument)
{
    double worst = 0;
    double alone = 0;
    (void)argument;
    for (int k = 0; k < MODES; ++k) {
        for (int64_t gap = 0; gap < (k < 2 ? 1 : 2); ++gap) { /* divide-shuffle has none */
            WEFT_TRY(converge(comm, k, gap, &worst, &alone));
            CASE_CHECK(comm_size(comm) == 1 || alone > 0.1, "the mean of the ranks' optima is only %g off", alone);
            CASE_CHECK(worst < 0.03, "mode %d, gap %d: %g from the optimum", k, (int)gap, worst);
        }
    }
    return WEFT_OK;
}

/* The last one is for threads: MPI takes no message back, and a job that cancels one must end. */
static const comm_case relaxed_cases[] = {
    {"convergence", case_convergence},     {"state continues to the bit", case_state},
    {"damaged state", case_damaged_state}, {"weight 0", case_zero_weight},
    {"batch statistics", case_statistics}, {"destroyed under way", case_destroy_under_way},
};

enum { RELAXED_MPI_CASES = 4, RELAXED_CASES = 5 };
