/*
 * Gradient tracking on 1 to 8 ranks: the sum of the tracked gradients is that of the ranks' own, replicas with
 * different minima come to rest at the minimum of the sum, averages and resets take the tracked gradients along. So do
 * replicas under Adam whose second moments travel.
 * trees: release tsan
 */
#include "comm/sync/sync_mode.h"
#include "support/comm_run.h"
#include "support/sync_relaxed_cases.h"

static double sum_of(float (*all)[QUAD_TRAINED], int ranks, int i)
{
    double sum = 0;
    for (int q = 0; q < ranks; ++q) {
        sum += (double)all[q][i];
    }
    return sum;
}

static weft_status gather_trained(const replica *r, const float *mine, float (*all)[QUAD_TRAINED])
{
    int64_t bytes[8];
    for (int q = 0; q < comm_size(r->comm); ++q) {
        bytes[q] = QUAD_TRAINED * (int64_t)sizeof *mine;
    }
    return comm_allgatherv(r->comm, mine, QUAD_TRAINED * (int64_t)sizeof *mine, all, bytes);
}

static const float *tracked_of(const replica *r)
{
    return (const float *)r->sync->desc.value + QUAD_TRAINED;
}

/* The options of all cases here: the order of sums does not depend on timing. */
static weft_status tracking_options(weft_comm *comm, int k, double threshold, sync_options *options, char *path)
{
    *options = options_of(MODES + k);
    options->asp.threshold = threshold;
    options->asp.policy = ASP_FIXED;
    return sites_of_one(comm, options, path);
}

/* Nothing is under way when a synchronisation goes. */
static weft_status close_run(replica *r, const char *path)
{
    WEFT_TRY(sync_finish(r->sync));
    sync_destroy(r->sync);
    return quad_remove(r->comm, path);
}

/* ---- the sum --------------------------------------------------------------------------------------------- */
/* What the gradients of the parameters as they stand sum up to, by the closed form: not through the synchronisation. */
static weft_status gradient_sums(replica *r, double *sum)
{
    float mine[QUAD_TRAINED];
    float all[8][QUAD_TRAINED];
    replica_gradient(r);
    memcpy(mine, r->grad, sizeof mine);
    WEFT_TRY(gather_trained(r, mine, all));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        sum[i] = sum_of(all, comm_size(r->comm), i);
    }
    return WEFT_OK;
}

static weft_status check_sum(replica *r, const double *sum, int k, int step)
{
    float all[8][QUAD_TRAINED];
    int ranks = comm_size(r->comm);
    WEFT_TRY(gather_trained(r, tracked_of(r), all));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double tracked = sum_of(all, ranks, i) / ranks;
        CASE_CHECK(fabs(tracked - sum[i]) < 2e-6, "mode %d, step %d, element %d: tracked %.9g, the gradient is %.9g", k,
                   step, i, tracked, sum[i]);
    }
    return WEFT_OK;
}

static weft_status case_sum(weft_comm *comm, void *argument)
{
    char path[64];
    double sum[QUAD_TRAINED];
    (void)argument;
    for (int k = 0; k < MODES && comm_size(comm) > 1; ++k) {
        replica r;
        sync_options options;
        WEFT_TRY(tracking_options(comm, k, 0.0, &options, path));
        WEFT_TRY(replica_open(comm, &options, &r));
        r.equal = false;
        for (int s = 0; s < 30; ++s) {
            WEFT_TRY(gradient_sums(&r, sum));
            WEFT_TRY(replica_step(&r, 0.05, 1.0));
            WEFT_TRY(check_sum(&r, sum, k, s));
        }
        WEFT_TRY(close_run(&r, path));
    }
    return WEFT_OK;
}

/* asp with a threshold: what a site has of the sum and what the others hold back make the whole. */
static weft_status case_held_back(weft_comm *comm, void *argument)
{
    char path[64];
    float all[8][QUAD_TRAINED];
    double sum[QUAD_TRAINED];
    double most = 0;
    replica r;
    sync_options options;
    sync_buffer acc = {.data = NULL};
    int rank = comm_rank(comm);
    (void)argument;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(tracking_options(comm, 5, 0.2, &options, path));
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int s = 0; s < 20; ++s) {
        WEFT_TRY(gradient_sums(&r, sum));
        WEFT_TRY(replica_step(&r, 0.05, 1.0));
        WEFT_TRY(replica_buffer(&r, "asp accumulator", &acc));
        CASE_CHECK(acc.bytes == 2 * QUAD_TRAINED * (int64_t)sizeof(float), "%lld bytes", (long long)acc.bytes);
        const float *held = (const float *)acc.data + QUAD_TRAINED;
        WEFT_TRY(gather_trained(&r, held, all));
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            double others = sum_of(all, comm_size(comm), i) - (double)all[rank][i];
            double whole = (double)tracked_of(&r)[i] + others;
            CASE_CHECK(fabs(whole - sum[i]) < 2e-6, "step %d, element %d: %.9g, the gradient is %.9g", s, i, whole,
                       sum[i]);
            most = fmax(most, fabs(others));
        }
    }
    CASE_CHECK(most > 1e-4, "nothing was held back (%g)", most);
    return close_run(&r, path);
}

/* The first estimate is P times the share, to the bit; the next ones follow the definition. */
static weft_status case_first_step(weft_comm *comm, void *argument)
{
    char path[64];
    float own[QUAD_TRAINED];
    int ranks = comm_size(comm);
    (void)argument;
    for (int k = 0; k < MODES; ++k) {
        replica r;
        sync_options options;
        WEFT_TRY(tracking_options(comm, k, 0.0, &options, path));
        WEFT_TRY(replica_open(comm, &options, &r));
        replica_gradient(&r);
        memcpy(own, r.grad, sizeof own);
        WEFT_TRY(replica_step(&r, 0.05, 1.0));
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            CASE_CHECK(r.grad[i] == own[i] * (float)ranks, "mode %d, element %d: %.9g of %.9g", k, i, (double)r.grad[i],
                       (double)own[i]);
        }
        WEFT_TRY(close_run(&r, path));
    }
    return WEFT_OK;
}

/* ---- convergence ----------------------------------------------------------------------------------------- */
static weft_status distance_after(weft_comm *comm, const sync_options *options, int steps, double *worst)
{
    replica r;
    WEFT_TRY(replica_open(comm, options, &r));
    r.equal = false;
    for (int s = 0; s < steps; ++s) {
        WEFT_TRY(replica_step(&r, 0.1, 1.0));
    }
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    *worst = 0;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        *worst = fmax(*worst, fabs((double)r.value[i] - quad_optimum(comm_size(comm), i, false)));
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* Ranks with different minima and curvatures, constant rate, plain SGD. Without tracking the replicas stop where the
 * pull of their own minima and of the averages are equal; with it, at the minimum of the sum. Two or
 * three ranks are one group of divide-shuffle: that, and asp that holds nothing back, are exact either way. */
static weft_status case_convergence_skewed(weft_comm *comm, void *argument)
{
    char path[64];
    double plain = 0;
    double tracking = 0;
    (void)argument;
    for (int k = 0; k < MODES && comm_size(comm) > 1; ++k) {
        sync_options options;
        bool exact = k == 5 || (k < 2 && comm_size(comm) < 4);
        WEFT_TRY(tracking_options(comm, k, 0.0, &options, path));
        WEFT_TRY(distance_after(comm, &options, 400, &tracking));
        options.tracking = SYNC_TRACKING_OFF;
        if (!exact) {
            WEFT_TRY(distance_after(comm, &options, 400, &plain));
        }
        CASE_CHECK(tracking < 1e-5, "mode %d: %g from the minimum", k, tracking);
        CASE_CHECK(exact || plain > 1e-3, "mode %d: only %g from the minimum without tracking", k, plain);
        WEFT_TRY(quad_remove(comm, path));
    }
    return WEFT_OK;
}

/* The same to 1e-12, where float32 holds all places: the minimum of the sum is a whole number, far enough from 0 that a
 * gradient tells the floats beside it apart, and a step of all ranks in one group of divide-shuffle takes replicas
 * there from the next of them. A round of shadow is shorter than half the distance of two floats there, and asp adds
 * the step site by site in parts that are: they come as near as above. So do 3, 5, 6 and 7 ranks, whose means are
 * rounded. */
static weft_status case_rests_at_optimum(weft_comm *comm, void *argument)
{
    enum { STEPS = 60 };
    static const dyadic_problem problem = {.centre = 1024, .factor = {DYADIC_STEEP, DYADIC_FLAT}};
    replica r;
    sync_options options = options_of(MODES);
    (void)argument;
    if (comm_size(comm) == 1 || (comm_size(comm) & (comm_size(comm) - 1)) != 0) {
        return WEFT_OK;
    }
    options.divide_shuffle.group = comm_size(comm);
    WEFT_TRY(replica_open(comm, &options, &r));
    r.dyadic = &problem;
    WEFT_TRY(replica_steps(&r, STEPS, dyadic_rate));
    WEFT_TRY(sync_finish(r.sync));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        const double away = (double)r.value[i] - dyadic_centre(&problem, i);
        CASE_CHECK(fabs(away) < 1e-12, "element %d: %g from the minimum", i, away);
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* ---- second moments -------------------------------------------------------------------------------------- */
typedef struct adam_moments {
    float first[QUAD_TRAINED], second[QUAD_TRAINED];
} adam_moments;

static weft_status adam_step(replica *r, adam_moments *a, double lr, int step)
{
    float *shared = sync_second_moments(r->sync);
    WEFT_TRY(sync_begin(r->sync, lr, 1.0));
    replica_gradient(r);
    WEFT_TRY(sync_gradients(r->sync));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double g = (double)r->grad[i];
        a->first[i] = (float)(0.9 * (double)a->first[i] + 0.1 * g);
        a->second[i] = (float)(0.999 * (double)a->second[i] + 0.001 * g * g);
        double mean = (double)a->first[i] / (1 - pow(0.9, step));
        double square = (double)a->second[i] / (1 - pow(0.999, step));
        r->value[i] -= (float)(lr * mean / (sqrt(square) + 1e-8));
    }
    if (shared != NULL) {
        memcpy(shared, a->second, sizeof a->second);
    }
    WEFT_TRY(sync_parameters(r->sync));
    if (shared != NULL) {
        memcpy(a->second, shared, sizeof a->second);
    }
    return WEFT_OK;
}

static weft_status adam_distance(weft_comm *comm, const sync_options *options, double *worst)
{
    replica r;
    adam_moments a = {{0}, {0}};
    WEFT_TRY(replica_open(comm, options, &r));
    r.equal = false;
    CASE_CHECK((sync_second_moments(r.sync) != NULL) == (options->tracking == SYNC_TRACKING_AUTO),
               "second moments travel with tracking %d", (int)options->tracking);
    for (int s = 1; s <= 600; ++s) {
        WEFT_TRY(adam_step(&r, &a, 0.15 / (1.0 + 0.04 * s), s));
    }
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    *worst = 0;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        *worst = fmax(*worst, fabs((double)r.value[i] - quad_optimum(comm_size(comm), i, false)));
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* Adam with falling rates, the same minima. Where each rank divides by the root of its own second moments, replicas
 * settle elsewhere, even if one group holds them all; where those travel, and shards that differ make them, at the
 * minimum of the sum. */
static weft_status case_second_moments(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int k = 0; k < 2 && comm_size(comm) > 1; ++k) {
        double own = 0;
        double shared = 0;
        sync_options options = options_of(k);
        options.second_moments = true;
        options.shards = SYNC_SHARDS_REGIONS;
        WEFT_TRY(adam_distance(comm, &options, &own));
        options.tracking = SYNC_TRACKING_AUTO;
        WEFT_TRY(adam_distance(comm, &options, &shared));
        CASE_CHECK(own > 0.1, "mode %d: only %g from the minimum with second moments of each rank's own", k, own);
        CASE_CHECK(shared < 0.01, "mode %d: %g from the minimum", k, shared);
    }
    return WEFT_OK;
}

/* ---- averages and resets --------------------------------------------------------------------------------- */
/* How often a run is evaluated does not change it; where averages stay, so does that of the tracked gradients. */
static weft_status case_average(weft_comm *comm, void *argument)
{
    char path[64];
    float before[2 * QUAD_TRAINED];
    float all[8][QUAD_TRAINED];
    (void)argument;
    for (int k = 0; k < MODES && comm_size(comm) > 1; ++k) {
        replica r;
        sync_options options;
        WEFT_TRY(tracking_options(comm, k, 0.02, &options, path));
        WEFT_TRY(replica_open(comm, &options, &r));
        WEFT_TRY(replica_steps(&r, 5, 0.05));
        memcpy(before, r.value, sizeof before / 2);
        memcpy(before + QUAD_TRAINED, tracked_of(&r), sizeof before / 2);
        WEFT_TRY(sync_average(r.sync));
        WEFT_TRY(replica_check_equal(&r));
        WEFT_TRY(sync_resume(r.sync));
        WEFT_TRY(gather_trained(&r, tracked_of(&r), all));
        if (k < 2) {
            WEFT_TRY(replica_check_equal(&r));
            for (int q = 1; q < comm_size(comm); ++q) {
                CASE_CHECK(quad_same(all[0], all[q], sizeof all[0]), "ranks 0 and %d track other gradients", q);
            }
        } else {
            CASE_CHECK(quad_same(before, r.value, sizeof before / 2), "mode %d: other parameters", k);
            CASE_CHECK(quad_same(before + QUAD_TRAINED, tracked_of(&r), sizeof before / 2),
                       "mode %d: other tracked gradients", k);
        }
        WEFT_TRY(close_run(&r, path));
    }
    return WEFT_OK;
}

/* A second run of the same object has the bits of the first. */
static weft_status case_reset(weft_comm *comm, void *argument)
{
    char path[64];
    float first[QUAD_ELEMENTS];
    (void)argument;
    for (int k = 0; k < MODES; ++k) {
        replica r;
        sync_options options;
        WEFT_TRY(tracking_options(comm, k, 0.02, &options, path));
        WEFT_TRY(replica_create(comm, &options, &r));
        for (int run = 0; run < 2; ++run) {
            for (int i = 0; i < QUAD_ELEMENTS; ++i) {
                r.value[i] = (float)quad_start(i);
            }
            WEFT_TRY(sync_reset(r.sync));
            WEFT_TRY(replica_steps(&r, 12, 0.05));
            WEFT_TRY(sync_finish(r.sync));
            if (run == 0) {
                memcpy(first, r.value, sizeof first);
            }
        }
        CASE_CHECK(quad_same(first, r.value, sizeof first), "mode %d: the second run ends elsewhere", k);
        WEFT_TRY(close_run(&r, path));
    }
    return WEFT_OK;
}

/* ---- who tracks ------------------------------------------------------------------------------------------ */
/* auto: the modes with local updates, where the shards differ, by second moments if those can travel; on and off: as
 * told. */
static weft_status case_auto(weft_comm *comm, void *argument)
{
    static const sync_mode modes[] = {SYNC_ALLREDUCE, SYNC_TOPK, SYNC_DIVIDE_SHUFFLE, SYNC_SHADOW, SYNC_ASP};
    static const sync_tracking asked[] = {SYNC_TRACKING_AUTO, SYNC_TRACKING_ON, SYNC_TRACKING_OFF};
    (void)argument;
    for (int k = 0; k < 2 * 5 * 3 * 2; ++k) {
        replica r;
        sync_options options = sync_options_default();
        bool local = k / 6 % 5 >= 2;
        options.mode = modes[k / 6 % 5];
        options.second_moments = k / 30 == 1;
        options.tracking = asked[k / 2 % 3];
        options.shards = k % 2 == 1 ? SYNC_SHARDS_REGIONS : SYNC_SHARDS_SAMPLED;
        if (!local && options.tracking == SYNC_TRACKING_ON) {
            continue; /* refused: case_usage */
        }
        bool wanted = options.tracking == SYNC_TRACKING_ON ||
                      (options.tracking == SYNC_TRACKING_AUTO && options.shards == SYNC_SHARDS_REGIONS);
        bool moments =
            options.mode == SYNC_DIVIDE_SHUFFLE && options.second_moments && options.tracking == SYNC_TRACKING_AUTO;
        sync_tracking expected = !local || !wanted || comm_size(comm) == 1 ? SYNC_TRACKING_OFF
                                 : moments                                 ? SYNC_TRACKING_MOMENTS
                                                                           : SYNC_TRACKING_ON;
        WEFT_TRY(replica_create(comm, &options, &r));
        CASE_CHECK(sync_running_tracking(r.sync) == expected,
                   "--sync %s, tracking %d, shards differ %d, second moments %d: %d runs, not %d",
                   sync_mode_name(options.mode), (int)options.tracking, (int)options.shards, options.second_moments,
                   (int)sync_running_tracking(r.sync), (int)expected);
        sync_destroy(r.sync);
    }
    return WEFT_OK;
}

static weft_status case_usage(weft_comm *comm, void *argument)
{
    static const sync_mode others[] = {SYNC_ALLREDUCE, SYNC_TOPK, SYNC_AUTO};
    (void)argument;
    for (int k = 0; k < 3; ++k) {
        replica r;
        sync_options options = sync_options_default();
        options.mode = others[k];
        options.allow_lossy = true;
        options.tracking = SYNC_TRACKING_ON;
        weft_status status = replica_create(comm, &options, &r);
        CASE_CHECK(status == WEFT_ERR_USAGE, "--sync %s: %s", sync_mode_name(others[k]), weft_status_name(status));
        CASE_CHECK(strstr(weft_error_message(), "--sync divide-shuffle, shadow or asp") != NULL, "%s",
                   weft_error_message());
        weft_error_clear();
    }
    for (int k = 0; k < 3; ++k) { /* second moments: with a mode that only averages, and an optimiser that has them */
        static const sync_mode moved[] = {SYNC_SHADOW, SYNC_ALLREDUCE, SYNC_DIVIDE_SHUFFLE};
        replica r;
        sync_options options = sync_options_default();
        options.mode = moved[k];
        options.second_moments = k < 2;
        options.tracking = SYNC_TRACKING_MOMENTS;
        weft_status status = replica_create(comm, &options, &r);
        CASE_CHECK(status == WEFT_ERR_USAGE, "--sync %s: %s", sync_mode_name(moved[k]), weft_status_name(status));
        CASE_CHECK(strstr(weft_error_message(), k < 2 ? "--sync divide-shuffle" : "take adam") != NULL, "%s",
                   weft_error_message());
        weft_error_clear();
    }
    return WEFT_OK;
}

int main(void)
{
    static const comm_case cases[] = {
        {"sum of tracked gradients", case_sum},
        {"held back by asp", case_held_back},
        {"first step", case_first_step},
        {"convergence, skewed", case_convergence_skewed},
        {"rests at the optimum", case_rests_at_optimum},
        {"second moments", case_second_moments},
        {"averages", case_average},
        {"reset", case_reset},
        {"auto", case_auto},
        {"usage", case_usage},
    };
    return comm_run_threads(cases, sizeof cases / sizeof *cases, comm_run_case_once);
}
