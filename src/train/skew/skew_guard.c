/* train/skew/skew_guard.c: see train/skew/skew_guard.h. */
#include "train/skew/skew_guard.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "comm/halo_options.def"
#include "train/train_options.def"

enum { EVERY_MOST = 500, CHECKS_LEAST = 20, KNOB_LESS = 2, WAITS_MOST = 6, JUDGED_EVERY = 4, OFTEN = 2 };

/* A check of old rows is an exact forward pass, which sends half of what an exact epoch does: at least so many epochs
 * lie between two. */
enum { ROWS_EVERY_LEAST = 10 };

/* The mean label distance up to which shards are taken to be alike: random ones of 1,000 samples of ten classes have
 * 0.04. */
#define ALIKE 0.05

/* What a checkpoint holds: numbers of 8 bytes. */
typedef struct skew_kept {
    skew_rule rule;
    int64_t checked_at; /* step of the last check */
    int64_t sent_since; /* bytes since then */
    double exact;       /* of rows of other ranks: bytes a step while none is old; 0: not known yet */
    skew_check last;    /* what the last check saw */
    double score;       /* of the last check */
} skew_kept;

struct skew_guard {
    weft_comm *comm;
    train_model *model;
    const train_source *source;
    train_replica *replica;
    double bound; /* share of right answers */
    int64_t every;
    bool rows;      /* what is turned is how old rows of other ranks are, not a knob of the mode */
    sync_knob knob; /* of the mode */
    double setting[SKEW_RUNGS_MOST];
    int settings, start; /* start: the setting of a run's first steps */
    bool alike;          /* ranks update by themselves on shards that hardly differ in their labels */
    /* Replicas are equal on such shards: one model on its way, whose score goes up and down by more than a point from
     * check to check, as with all-reduce, so that the mean of some checks is judged. It starts with the second setting:
     * what waits, waits for few steps. */
    bool calm;
    skew_kept kept;
    uint64_t sent;      /* bytes at the last check */
    bool stuck;         /* it was told that the tightest setting breaks the bound */
    bool dear;          /* it was told that the loosest one sends more than the exact mode */
    weft_tensor counts; /* [PLACES, 2] int64: right answers, and rows */
};

/* ---- replicas ---------------------------------------------------------------------------------------------------- */

/* After each step every rank has the parameters that any other has. */
static bool keeps_equal(const skew_guard *g)
{
    return !sync_mode_tracks(sync_running(g->replica->sync));
}

/* Every rank has the same replica, statistics included: its score on one rank's probe is that of all replicas. */
static bool scores_once(const skew_guard *g)
{
    const param_store *params = g->replica->params;
    return keeps_equal(g) && params->elements == params->trained;
}

/* ---- ladders ----------------------------------------------------------------------------------------------------- */

static const struct ladder {
    sync_mode mode;
    sync_knob knob;
    int settings;
    double setting[6];
} ladders[] = {
    {SYNC_TOPK, SYNC_KNOB_DENSITY, 5, {0.25, 0.12, 0.04, 0.015, 0.005}},
    {SYNC_SHADOW, SYNC_KNOB_GAP, 6, {1, 2, 4, 8, 16, 32}},
    {SYNC_ASP, SYNC_KNOB_THRESHOLD, 6, {0.005, 0.01, 0.02, 0.05, 0.1, 0.2}},
};

static void take_groups(skew_guard *g, int ranks)
{
    g->knob = SYNC_KNOB_GROUP;
    for (int group = ranks; group >= KNOB_LESS && g->settings < SKEW_RUNGS_MOST; group /= 2) {
        g->setting[g->settings++] = group;
    }
}

/* Of a mode that keeps replicas exact, on a graph in parts. */
static void take_delays(skew_guard *g)
{
    g->rows = true;
    g->setting[g->settings++] = 0.0;
    for (int delay = g->model->delay_least; delay < g->model->delay_most && g->settings + 1 < SKEW_RUNGS_MOST;
         delay *= 2) {
        g->setting[g->settings++] = delay;
    }
    g->setting[g->settings++] = g->model->delay_most;
}

/* Leaves out densities by which what is kept back waits for too much of the run; two settings always stay. */
static void cut_densities(skew_guard *g, int64_t steps)
{
    while (!g->rows && g->knob == SYNC_KNOB_DENSITY && g->settings > KNOB_LESS &&
           WAITS_MOST / g->setting[g->settings - 1] > (double)steps) {
        g->settings -= 1;
    }
}

static void take_ladder(skew_guard *g, int64_t steps)
{
    const sync_mode mode = sync_running(g->replica->sync);
    const bool parts = sync_get_figures(g->replica->sync).sites != 1; /* asp of one site is all-reduce */
    for (size_t i = 0; i < sizeof ladders / sizeof *ladders; ++i) {
        if (ladders[i].mode == mode && parts) {
            g->knob = ladders[i].knob;
            g->settings = ladders[i].settings;
            memcpy(g->setting, ladders[i].setting, sizeof ladders[i].setting);
        }
    }
    if (mode == SYNC_DIVIDE_SHUFFLE) {
        take_groups(g, comm_size(g->comm));
    }
    if (g->settings == 0 && g->model->delay != NULL) {
        take_delays(g);
    }
    cut_densities(g, steps);
    /* Parts of a graph differ in more than their labels, and have no probe. */
    const bool alike = g->settings > 0 && g->source->probe_steps > 0 && g->source->label_distance <= ALIKE;
    g->alike = alike && !keeps_equal(g);
    g->calm = alike && keeps_equal(g);
    g->start = g->alike ? g->settings / 2 : g->calm && g->settings > 1 ? 1 : 0;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

enum { HOME, AWAY, PLACES };

typedef struct probe_counts {
    int64_t right, rows;
} probe_counts;

static double share_of(probe_counts counts)
{
    return counts.rows > 0 ? (double)counts.right / (double)counts.rows : 0.0;
}

/* Scores the parameters in place on the first `places` of these: the probe of this rank, those of the others. [out]
 * seen: of all places, 0 where nothing was looked at. */
static weft_status score(skew_guard *g, uint64_t seed, int places, probe_counts seen[PLACES])
{
    const train_source *source = g->source;
    const int ranks = comm_size(g->comm), rank = comm_rank(g->comm);
    train_pass pass = {.training = false, .seed = seed, .parts = 1};
    WEFT_TRY(tensor_zero(&g->counts));
    for (; pass.step < source->probe_steps; ++pass.step) {
        const int place = pass.step % ranks == rank ? HOME : AWAY;
        train_batch batch = {.input = NULL};
        weft_tensor logits, counts = tensor_view(&g->counts, place, 1, 0, 2);
        if (place >= places) {
            continue;
        }
        WEFT_TRY(source->probe(source->self, pass.step, &batch));
        assert(batch.targets->rows <= source->probe_rows);
        pass.batch = &batch;
        WEFT_TRY(g->model->forward(g->model->self, &pass, &logits));
        WEFT_TRY(tensor_accuracy(&logits, batch.targets->label, NULL, &counts));
    }
    return tensor_download(&g->counts, seen);
}

/* What a rank gives the others in messages, and what it reads and writes in memory of its node in their place. */
static uint64_t bytes_moved(comm_stats stats)
{
    return stats.bytes_sent + stats.shared_bytes;
}

/* Bytes that this rank moved of what the knob makes fewer: for replicas to stay together, or rows, those of evaluations
 * included. The bytes of rows that a halo sends hold those that other ranks of the node read. */
static uint64_t bytes_sent(const skew_guard *g)
{
    if (g->rows) {
        return comm_lane_stats(g->comm, COMM_LANE_HALO).bytes_sent;
    }
    const sync_figures own = sync_get_figures(g->replica->sync);
    return own.bytes_sent + own.shared_bytes + bytes_moved(comm_lane_stats(g->comm, COMM_LANE_GRADIENT)) +
           bytes_moved(comm_lane_stats(g->comm, COMM_LANE_SHADOW));
}

/* Bytes that a rank sends in a step of the exact mode: an all-reduce of the gradients; of rows what they take in the
 * first steps, in which none is old. per_step: mean of the ranks since the last check. */
static double exact_bytes(skew_guard *g, double per_step)
{
    const double ranks = comm_size(g->comm);
    if (g->rows) {
        g->kept.exact = g->kept.exact > 0.0 ? g->kept.exact : per_step;
        return g->kept.exact;
    }
    return 2.0 * (ranks - 1.0) / ranks * (double)g->replica->params->trained * (double)sizeof(float);
}

/* sent: bytes of all ranks since the last check. Returns them as a share of those of the exact mode. */
static double cost_of(skew_guard *g, int64_t step, double sent)
{
    const double per_step = sent / (double)comm_size(g->comm) / (double)(step - g->kept.checked_at);
    const double exact = exact_bytes(g, per_step);
    return exact > 0.0 ? per_step / exact : 0.0;
}

/* The mean of the replicas on the training rows of all ranks, for data that no rank can score alone. */
static weft_status judge_whole(skew_guard *g, uint64_t seed, double *judge)
{
    enum { RIGHT, ROWS, SUMS };
    train_batch batch = {.input = NULL};
    train_pass pass = {.training = false, .seed = seed, .parts = 1, .batch = &batch};
    weft_tensor logits, counts = tensor_view(&g->counts, HOME, 1, 0, 2);
    probe_counts seen[PLACES];
    WEFT_TRY(g->source->batch(g->source->self, &pass, &batch));
    WEFT_TRY(g->model->forward(g->model->self, &pass, &logits));
    weft_status status = tensor_zero(&g->counts);
    status =
        status == WEFT_OK ? tensor_accuracy(&logits, batch.targets->label, batch.targets->mask[0], &counts) : status;
    status = status == WEFT_OK ? tensor_download(&g->counts, seen) : status;
    WEFT_TRY(comm_agree(g->comm, status));
    double sum[SUMS] = {(double)seen[HOME].right, (double)seen[HOME].rows};
    WEFT_TRY(comm_allreduce(g->comm, sum, SUMS, WEFT_DTYPE_F64, COMM_SUM));
    *judge = sum[ROWS] > 0.0 ? sum[RIGHT] / sum[ROWS] : 0.0;
    return WEFT_OK;
}

static weft_status look_whole(skew_guard *g, uint64_t seed, int64_t step, skew_check *check)
{
    double sent = (double)g->kept.sent_since, judge = 0.0;
    WEFT_TRY(comm_allreduce(g->comm, &sent, 1, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(replica_average(g->replica, false));
    WEFT_TRY(judge_whole(g, seed, &judge));
    *check = (skew_check){.home = judge, .away = judge, .judge = judge, .cost = cost_of(g, step, sent)};
    return replica_resume(g->replica);
}

static weft_status look(skew_guard *g, uint64_t seed, int64_t step, skew_check *check)
{
    enum { SENT = PLACES, SUMS };
    probe_counts own[PLACES] = {{0}}, mean[PLACES] = {{0}};
    const double ranks = comm_size(g->comm);
    WEFT_TRY(scores_once(g) ? WEFT_OK : comm_agree(g->comm, score(g, seed, PLACES, own)));
    double sum[SUMS] = {share_of(own[HOME]), share_of(own[AWAY]), (double)g->kept.sent_since};
    WEFT_TRY(comm_allreduce(g->comm, sum, SUMS, WEFT_DTYPE_F64, COMM_SUM));
    *check = (skew_check){.home = sum[HOME] / ranks,
                          .away = sum[AWAY] / ranks,
                          .judge = g->kept.rule.judged[0],
                          .cost = cost_of(g, step, sum[SENT])};
    if (g->alike && g->kept.rule.checks % JUDGED_EVERY != 0) {
        return WEFT_OK; /* an average costs as much as the mode sends between two checks */
    }
    WEFT_TRY(replica_average(g->replica, false));
    WEFT_TRY(comm_agree(g->comm, score(g, seed, AWAY, mean)));
    double judge = share_of(mean[HOME]);
    WEFT_TRY(comm_allreduce(g->comm, &judge, 1, WEFT_DTYPE_F64, COMM_SUM));
    check->judge = judge / ranks;
    if (scores_once(g)) {
        check->home = check->away = check->judge;
    }
    return replica_resume(g->replica);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static const char *name_of(const skew_guard *g)
{
    return g->rows ? FLAG_DELAY : sync_knob_name(g->knob);
}

static weft_status stand_on(skew_guard *g, int64_t rung)
{
    return g->rows ? g->model->delay(g->model->self, (int)g->setting[rung])
                   : sync_tune(g->replica->sync, g->knob, g->setting[rung]);
}

/* What topk keeps back comes about 1 / density steps later: a model that gains accuracy lies behind by what it gains
 * in as many. Returns the gain a check by which that stays within the bound on the rung after this one. Of old rows it
 * is the bound itself, a check. 0: replicas differ, and their scores tell. */
static double rise_most(const skew_guard *g, int64_t rung)
{
    const double next = g->setting[smaller(rung + 1, g->settings - 1)];
    const double times = g->rows ? 1.0 : (double)g->every * next;
    return keeps_equal(g) ? g->bound * times : 0.0;
}

/* A line where the mode moves to another setting, and where the tightest one breaks the bound for the first time. */
static void tell(skew_guard *g, int64_t step, int64_t before)
{
    const skew_check *c = &g->kept.last;
    const double from = g->setting[before], to = g->setting[g->kept.rule.rung];
    const bool stuck = g->kept.score > 1.0 && before == 0;
    char move[80], replicas[80] = "";
    if (g->kept.rule.rung == before && (!stuck || g->stuck)) {
        return;
    }
    g->stuck = stuck;
    if (stuck) {
        snprintf(move, sizeof move, "stays at %g, which sends most and still breaks the bound", to);
    } else {
        snprintf(move, sizeof move, "from %g to %g", from, to);
    }
    if (g->source->probe_steps > 0 && !scores_once(g)) {
        snprintf(replicas, sizeof replicas, "right at home %.1f %%, away %.1f %%, ", 100.0 * c->home, 100.0 * c->away);
    }
    log_info("skew guard, step %lld: %smean of replicas %.1f %% right, score %.2f, %.3g of the bytes of %s: %s %s",
             (long long)step, replicas, 100.0 * c->judge, g->kept.score, c->cost,
             g->rows ? "rows that are never old" : "all-reduce", name_of(g), move);
}

/* A lossy mode that sends more than the exact one is worth nothing: its user is told once. */
static void tell_dear(skew_guard *g, int64_t before)
{
    if (g->dear || before + 1 != g->settings || g->kept.last.cost <= 1.0) {
        return;
    }
    g->dear = true;
    if (g->rows) {
        log_warn("skew guard: with " FLAG_DELAY
                 " %g, the loosest setting, and its checks the ranks send %.3g of the bytes of "
                 "rows that are never old, which lose nothing: leave out " FLAG_DELAY " and " FLAG_SKEW_GUARD,
                 g->setting[before], g->kept.last.cost);
    } else {
        log_warn(
            "skew guard: with %s %g, the loosest setting, sync %s sends %.3g of the bytes of all-reduce, which loses "
            "nothing: take " FLAG_SYNC " allreduce",
            name_of(g), g->setting[before], sync_mode_name(sync_running(g->replica->sync)), g->kept.last.cost);
    }
}

weft_status skew_guard_step(skew_guard *g, uint64_t seed, int64_t step)
{
    if (g == NULL) {
        return WEFT_OK;
    }
    const uint64_t sent = bytes_sent(g);
    g->kept.sent_since = (int64_t)(sent - g->sent);
    if (step % g->every != 0) {
        return WEFT_OK;
    }
    const int64_t before = g->kept.rule.rung;
    WEFT_TRY((g->source->probe_steps > 0 ? look : look_whole)(g, seed, step, &g->kept.last));
    g->kept.rule.rise_most = rise_most(g, before);
    g->kept.score = skew_rule_decide(&g->kept.rule, &g->kept.last);
    if (!g->rows) { /* settings are compared without their checks, and told with them */
        g->kept.last.cost += cost_of(g, step, (double)(bytes_sent(g) - sent) * comm_size(g->comm));
    }
    tell(g, step, before);
    tell_dear(g, before);
    g->kept.checked_at = step;
    g->sent = g->rows ? sent : bytes_sent(g); /* a check's own rows count */
    g->kept.sent_since = (int64_t)(bytes_sent(g) - g->sent);
    return g->kept.rule.rung != before ? stand_on(g, g->kept.rule.rung) : WEFT_OK;
}

weft_status skew_guard_reset(skew_guard *g)
{
    if (g == NULL) {
        return WEFT_OK;
    }
    g->kept = (skew_kept){.rule = skew_rule_begin(g->bound, g->settings, g->start, rise_most(g, g->start))};
    g->kept.rule.over = g->calm ? SKEW_WINDOW : 1;
    g->stuck = g->dear = false;
    g->sent = bytes_sent(g);
    return stand_on(g, g->start);
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

int64_t skew_guard_every(const skew_guard *g)
{
    return g->every;
}

skew_figures skew_guard_figures(const skew_guard *g)
{
    if (g == NULL || g->kept.rule.checks == 0) {
        return (skew_figures){.checked = false};
    }
    const skew_rule *rule = &g->kept.rule;
    return (skew_figures){.checked = true,
                          .last = g->kept.last,
                          .score = g->kept.score,
                          .reference = rule->reference,
                          .setting = g->setting[rule->rung],
                          .rung = rule->rung,
                          .rungs = rule->rungs,
                          .checks = rule->checks,
                          .broken = rule->broken};
}

sync_buffer skew_guard_state(skew_guard *g)
{
    if (g == NULL) {
        return (sync_buffer){.bytes = 0};
    }
    return (sync_buffer){.name = "skew", .data = &g->kept, .bytes = (int64_t)sizeof g->kept};
}

static bool kept_is_valid(const skew_kept *kept, int settings)
{
    const skew_check *last = &kept->last;
    return skew_rule_is_valid(&kept->rule, settings) && kept->checked_at >= 0 && kept->sent_since >= 0 &&
           kept->exact >= 0.0 &&
           isfinite(kept->exact + last->home + last->away + last->judge + last->cost + kept->score);
}

/* A checkpoint without a guard leaves zeros. */
weft_status skew_guard_restored(skew_guard *g)
{
    if (g == NULL) {
        return WEFT_OK;
    }
    const bool none = g->kept.rule.rungs == 0;
    const bool valid = none || kept_is_valid(&g->kept, g->settings);
    WEFT_TRY(comm_agree(
        g->comm, valid ? WEFT_OK : weft_fail(WEFT_ERR_DATA, "damaged: numbers of the skew guard that cannot be")));
    if (none) {
        return skew_guard_reset(g);
    }
    g->kept.rule.bound = g->bound;
    g->sent = bytes_sent(g) - (uint64_t)g->kept.sent_since;
    return stand_on(g, g->kept.rule.rung);
}

/* ---- create and destroy ------------------------------------------------------------------------------------------ */

static bool has_work(const skew_guard *g)
{
    const sync_mode mode = sync_running(g->replica->sync);
    if (comm_size(g->comm) == 1 || g->settings == 0) {
        log_warn(FLAG_SKEW_GUARD " has no effect: %s",
                 comm_size(g->comm) == 1
                     ? "one rank has nobody to part from"
                     : "replicas are exact in the mode that runs, or it has no setting to change (graphs: " FLAG_DELAY
                       " of 2 or more)");
        return false;
    }
    if (g->settings == 1) {
        log_warn(FLAG_SKEW_GUARD " has no effect: %d ranks in sync %s leave one setting of %s", comm_size(g->comm),
                 sync_mode_name(mode), name_of(g));
    }
    return g->settings > 1;
}

/* One rank has nothing to score, and is told so by has_work. */
static weft_status check_source(const weft_comm *comm, const train_source *source, const param_store *params)
{
    const bool scored = source->loss == TRAIN_LOSS_XENT && (source->probe_steps > 0 || source->steps == 1);
    WEFT_CHECK(comm_size(comm) == 1 || scored, WEFT_ERR_USAGE,
               FLAG_SKEW_GUARD
               ": scores replicas by the classes of images, texts or vertices, which these data have not: "
               "leave it out");
    assert(params->dtype == WEFT_DTYPE_F32);
    (void)params;
    return WEFT_OK;
}

static void tell_plan(const skew_guard *g, double points)
{
    const train_source *source = g->source;
    char probed[64] = "all training rows";
    if (source->probe_steps > 0) {
        snprintf(probed, sizeof probed, "%lld images of each rank",
                 (long long)(source->probe_steps / comm_size(g->comm) * source->probe_rows));
    }
    log_info(FLAG_SKEW_GUARD " %g: a check every %lld steps, on %s; %s from %g to %g, at first %g", points,
             (long long)g->every, probed, name_of(g), g->setting[0], g->setting[g->settings - 1], g->setting[g->start]);
}

weft_status skew_guard_create(weft_comm *comm, train_model *model, const train_source *source, train_replica *replica,
                              double points, int64_t steps, skew_guard **guard)
{
    skew_guard *g = NULL;
    *guard = NULL;
    weft_status status = WEFT_OK, local = check_source(comm, source, model->params);
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&g, 1, WEFT_MEM_GENERAL) : local;
    local = local == WEFT_OK
                ? tensor_create(model->params->hal, WEFT_DTYPE_I64, PLACES, 2, WEFT_MEM_WORKSPACE, &g->counts)
                : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    g->comm = comm;
    g->model = model;
    g->source = source;
    g->replica = replica;
    g->bound = points / 100.0;
    take_ladder(g, steps);
    const int64_t often = source->probe_steps > 0 && scores_once(g) ? OFTEN : 1; /* checks in the place of one */
    g->every = larger(smaller(steps / CHECKS_LEAST, EVERY_MOST) / often, g->rows ? ROWS_EVERY_LEAST : 1);
    if (has_work(g)) {
        tell_plan(g, points);
        *guard = g;
        g = NULL;
    }
done:
    skew_guard_destroy(g);
    return status;
}

void skew_guard_destroy(skew_guard *g)
{
    if (g != NULL) {
        tensor_destroy(&g->counts);
        weft_free(g);
    }
}
