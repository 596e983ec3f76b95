/*
 * comm/sync/shadow.c: every rank trains by itself while averages are made in the background.
 *
 *      training      w0 --step--> w1 --step--> w2 --step--> w3 --step--> ...
 *      background    snapshot s = w0 ....... all-reduce ....... mean m
 *                                                 after the step in which it has come:  w += mix (target - s)
 *                                                 and the next snapshot goes out
 *
 * The correction is taken against the snapshot, not against today's parameters: training moved on meanwhile, and what
 * it learnt stays. target is, with P ranks and variables that every rank computes alike from the same mean,
 *
 *      ma      m
 *      bmuf    c += v,  v = block_momentum v + block_rate (m - c)      blockwise model update filtering
 *      easgd   c += mix (m - c)                                        elastic averaging without a server: every rank
 *                                                                      keeps the centre c
 *
 * c begins as the parameters at reset. Batch statistics always follow ma: a momentum may drive a variance below zero.
 *
 * Rounds run over a communicator of their own on the shadow lane, moved by the communication thread. With gap = 0 a
 * round is applied when it is found ended: training never waits, and when it happens depends on timing. With gap > 0 it
 * is applied exactly so many steps after its snapshot, waiting if it must: the same bits every time.
 *
 * A round takes its share of links that other messages of the training need as well. With share = s, a round is under
 * way during that share of the time: behind one that took t seconds nothing is posted for t (1 / s - 1). Ranks rest
 * equally long, or those that begin late would make others wait, and rest longer in turn: a round carries 1 / t of the
 * one before, of which the mean tells the least t, that of the rank which nobody waited for, to a factor of P.
 *
 * The end: the buffer carries one element more, the number of ranks that are through. A rank that is through goes on
 * with rounds until one says P: every rank reads the same number, so all leave after the same round.
 *
 * Memory: two copies of the parameters; three with easgd, four with bmuf. Bytes of a round: those of one all-reduce.
 *
 * Q. Zheng, B. Jiang, J. Dean et al.: ShadowSync: performing synchronization in the background for highly scalable
 * distributed training. arXiv:2003.03477, 2020. K. Chen, Q. Huo: Scalable training of deep learning machines by
 * incremental block training with intra-block parallel optimization and blockwise model-update filtering. ICASSP 2016,
 * doi:10.1109/ICASSP.2016.7472805. S. Zhang, A. Choromanska, Y. LeCun: Deep learning with elastic averaging SGD. NIPS
 * 2015, arXiv:1412.6651.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/comm_options.def"
#include "comm/sync/mode.h"
#include "comm/sync/predict.h"
#include "comm/sync/tracking.h"

/* What a checkpoint keeps beside the vectors. */
typedef struct shadow_counters {
    int64_t begun;     /* there was a reset */
    int64_t step;      /* since reset */
    int64_t rounds;    /* posted */
    int64_t pending;   /* the last one is not applied yet */
    int64_t arrived;   /* ... but its sum lies in `sum` */
    int64_t posted_at; /* step of its snapshot */
} shadow_counters;

typedef struct shadow {
    weft_comm *comm; /* all ranks again: rounds that are given up leave no trace in the caller's lanes */
    comm_plan *plan;
    float *sum;      /* [elements + 2] what is being summed; then ranks that are through, and 1 / took_s */
    float *snapshot; /* [elements] */
    float *centre;   /* [trained] bmuf, easgd */
    float *velocity; /* [trained] bmuf */
    shadow_counters counters;
    double posted_s; /* time of the last post */
    double took_s;   /* from there until its sum was found to lie here, at arrived_s */
    double arrived_s;
    double rest_s;   /* t of the round before the last, the same on all ranks */
    int64_t applied; /* rounds between steps, for the mean gap: an end makes as many as others have steps left */
} shadow;

static weft_status allocate(comm_sync *sync)
{
    shadow *s = NULL;
    sync_shadow_algorithm algorithm = sync->options.shadow.algorithm;
    size_t elements = (size_t)sync->desc.elements;
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_COMM));
    sync->self = s;
    WEFT_CHECK(
        sync->options.shadow.mix >= 0 && sync->options.shadow.mix <= 1 && sync->options.shadow.gap >= 0, WEFT_ERR_USAGE,
        FLAG_SHADOW_MIX " %g and " FLAG_SHADOW_GAP " %lld: the mix lies between 0 and 1, the gap is not negative",
        sync->options.shadow.mix, (long long)sync->options.shadow.gap);
    WEFT_CHECK(sync->options.shadow.share > 0 && sync->options.shadow.share <= 1, WEFT_ERR_USAGE,
               FLAG_SHADOW_SHARE " %g: lies above 0, and is 1 at most", sync->options.shadow.share);
    WEFT_TRY(WEFT_NEW_ZERO(&s->sum, elements + 2, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&s->snapshot, elements, WEFT_MEM_COMM));
    if (algorithm != SHADOW_MA) {
        WEFT_TRY(WEFT_NEW_ZERO(&s->centre, sync->desc.trained, WEFT_MEM_COMM));
    }
    if (algorithm == SHADOW_BMUF) {
        WEFT_TRY(WEFT_NEW_ZERO(&s->velocity, sync->desc.trained, WEFT_MEM_COMM));
    }
    return WEFT_OK;
}

static weft_status create(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, allocate(sync)));
    shadow *s = sync->self;
    WEFT_TRY(comm_split(sync->comm, 0, comm_rank(sync->comm), &s->comm));
    return mode_plan_sum(sync, s->comm, COMM_LANE_SHADOW, s->sum, sync->desc.elements + 2, "background average",
                         &s->plan);
}

static void destroy(comm_sync *sync)
{
    shadow *s = sync->self;
    if (s == NULL) {
        return;
    }
    comm_plan_destroy(s->plan);
    comm_destroy(s->comm);
    WEFT_FREE_ALL(s->sum, s->snapshot, s->centre, s->velocity, s);
    sync->self = NULL;
}

static weft_status reset(comm_sync *sync)
{
    shadow *s = sync->self;
    size_t trained = (size_t)sync->desc.trained * sizeof(float);
    s->counters = (shadow_counters){.begun = 1};
    s->took_s = s->rest_s = 0.0;
    if (s->centre != NULL) {
        memcpy(s->centre, sync->desc.value, trained);
    }
    if (s->velocity != NULL) {
        memset(s->velocity, 0, trained);
    }
    return WEFT_OK;
}

/* ---- a round --------------------------------------------------------------------------------------------- */
static weft_status post(comm_sync *sync, bool through)
{
    shadow *s = sync->self;
    assert(s->counters.pending == 0);
    size_t elements = (size_t)sync->desc.elements;
    if (elements > 0) {
        memcpy(s->snapshot, sync->desc.value, elements * sizeof(float));
        memcpy(s->sum, sync->desc.value, elements * sizeof(float));
    }
    s->sum[elements] = through ? 1.0f : 0.0f;
    s->sum[elements + 1] = s->took_s > 0.0 ? (float)(1.0 / s->took_s) : 0.0f;
    s->counters.rounds += 1;
    s->counters.pending = 1;
    s->counters.arrived = 0;
    s->counters.posted_at = s->counters.step;
    s->posted_s = clock_seconds();
    return comm_post(s->plan);
}

static void note_arrival(comm_sync *sync)
{
    shadow *s = sync->self;
    s->counters.arrived = 1;
    s->arrived_s = clock_seconds();
    s->took_s = s->arrived_s - s->posted_s;
    sync->figures.busy_s += s->took_s;
}

static weft_status await(comm_sync *sync)
{
    shadow *s = sync->self;
    if (s->counters.arrived == 0) {
        WEFT_TRY(comm_wait(s->plan));
        note_arrival(sync);
    }
    return WEFT_OK;
}

static weft_status look(comm_sync *sync)
{
    shadow *s = sync->self;
    bool done = false;
    if (s->counters.arrived == 0) {
        WEFT_TRY(comm_test(s->plan, &done));
        if (done) {
            note_arrival(sync);
        }
    }
    return WEFT_OK;
}

static void mix_average(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    const shadow *s = sync->self;
    float *w = sync->desc.value;
    float mix = (float)sync->options.shadow.mix;
    float ranks = (float)comm_size(s->comm);
    for (int64_t i = begin; i < end; ++i) {
        w[i] += mix * (s->sum[i] / ranks - s->snapshot[i]);
    }
}

static void mix_filtered(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    const shadow *s = sync->self;
    float *w = sync->desc.value;
    float mix = (float)sync->options.shadow.mix;
    float momentum = (float)sync->options.shadow.block_momentum;
    float rate = (float)sync->options.shadow.block_rate;
    float ranks = (float)comm_size(s->comm);
    for (int64_t i = begin; i < end; ++i) {
        float update = s->sum[i] / ranks - s->centre[i];
        s->velocity[i] = momentum * s->velocity[i] + rate * update;
        s->centre[i] += s->velocity[i];
        w[i] += mix * (s->centre[i] - s->snapshot[i]);
    }
}

static void mix_elastic(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    const shadow *s = sync->self;
    float *w = sync->desc.value;
    float mix = (float)sync->options.shadow.mix;
    float ranks = (float)comm_size(s->comm);
    for (int64_t i = begin; i < end; ++i) {
        s->centre[i] += mix * (s->sum[i] / ranks - s->centre[i]);
        w[i] += mix * (s->centre[i] - s->snapshot[i]);
    }
}

/* The round that has arrived moves the replica. */
static void apply(comm_sync *sync)
{
    shadow *s = sync->self;
    assert(s->counters.pending == 1 && s->counters.arrived == 1);
    sync_figures *figures = &sync->figures;
    int64_t stale = s->counters.step - s->counters.posted_at;
    static const mode_part_fn mixes[] = {
        [SHADOW_MA] = mix_average, [SHADOW_BMUF] = mix_filtered, [SHADOW_EASGD] = mix_elastic};
    mode_parallel(sync, sync->desc.trained, mixes[sync->options.shadow.algorithm], sync);
    mix_average(sync, sync->desc.trained, sync->desc.elements);
    const float rate = s->sum[sync->desc.elements + 1];
    s->rest_s = rate > 0.0f ? comm_size(s->comm) / (double)rate : 0.0;
    s->counters.pending = 0;
    s->counters.arrived = 0;
    figures->staleness = stale > figures->staleness ? stale : figures->staleness;
    mode_clear_traffic(sync);
    mode_add_traffic(sync, s->comm);
}

/* Returns true if the next round would take more than its share of the time. */
static bool rests(const comm_sync *sync)
{
    const shadow *s = sync->self;
    const double share = sync->options.shadow.share;
    return sync->options.shadow.gap == 0 && share < 1.0 &&
           clock_seconds() - s->arrived_s < s->rest_s * (1.0 / share - 1.0);
}

static weft_status parameters(comm_sync *sync)
{
    shadow *s = sync->self;
    shadow_counters *c = &s->counters;
    int64_t gap = sync->options.shadow.gap;
    c->step += 1;
    if (c->pending != 0) {
        if (gap > 0 && c->step < c->posted_at + gap) {
            return WEFT_OK;
        }
        WEFT_TRY(gap > 0 ? await(sync) : look(sync));
        if (c->arrived == 0) {
            return WEFT_OK;
        }
        apply(sync);
        s->applied += 1;
        sync->figures.gap = (double)sync->figures.steps / (double)s->applied;
    }
    return rests(sync) ? WEFT_OK : post(sync, false);
}

/* ---- ends ------------------------------------------------------------------------------------------------ */
/* Ranks that run ahead wait in a round that others have not posted yet: those catch up. The last round stays pending,
 * its sum at hand. */
static weft_status pause_rounds(comm_sync *sync)
{
    shadow *s = sync->self;
    int64_t most = s->counters.rounds;
    WEFT_TRY(comm_allreduce(sync->comm, &most, 1, WEFT_DTYPE_I64, COMM_MAX));
    while (s->counters.rounds < most) {
        if (s->counters.pending != 0) {
            WEFT_TRY(await(sync));
            apply(sync);
        }
        WEFT_TRY(post(sync, false));
    }
    return s->counters.pending != 0 ? await(sync) : WEFT_OK;
}

static weft_status end_rounds(comm_sync *sync)
{
    shadow *s = sync->self;
    float ranks = (float)comm_size(s->comm);
    float through = 0;
    if (s->applied == 0 && sync->figures.steps > 0) {
        sync->figures.gap = (double)sync->figures.steps;
    }
    while (through < ranks) {
        if (s->counters.pending == 0) {
            WEFT_TRY(post(sync, true));
        }
        WEFT_TRY(await(sync));
        through = s->sum[sync->desc.elements];
        apply(sync);
    }
    return WEFT_OK;
}

static weft_status settle(comm_sync *sync, bool last)
{
    const shadow *s = sync->self;
    if (s->counters.begun == 0) {
        return WEFT_OK;
    }
    return last ? end_rounds(sync) : pause_rounds(sync);
}

static int state(comm_sync *sync, sync_buffer *buffer)
{
    shadow *s = sync->self;
    int64_t elements = sync->desc.elements * (int64_t)sizeof(float);
    int64_t trained = sync->desc.trained * (int64_t)sizeof(float);
    int count = 0;
    buffer[count++] =
        (sync_buffer){.name = "shadow counters", .data = &s->counters, .bytes = (int64_t)sizeof s->counters};
    buffer[count++] = (sync_buffer){.name = "shadow sum", .data = s->sum, .bytes = elements + (int64_t)sizeof(float)};
    buffer[count++] = (sync_buffer){.name = "shadow snapshot", .data = s->snapshot, .bytes = elements};
    if (s->centre != NULL) {
        buffer[count++] = (sync_buffer){.name = "shadow centre", .data = s->centre, .bytes = trained};
    }
    if (s->velocity != NULL) {
        buffer[count++] = (sync_buffer){.name = "shadow velocity", .data = s->velocity, .bytes = trained};
    }
    return count;
}

/* A checkpoint is written between steps, where the last round has ended and nobody is through. */
static weft_status check_counters(const comm_sync *sync)
{
    const shadow *s = sync->self;
    const shadow_counters *c = &s->counters;
    WEFT_TRY(sync_check_range(sync, "the mark of a beginning", c->begun, 1, 1));
    WEFT_TRY(sync_check_range(sync, "the step", c->step, 0, SYNC_STEPS_LIMIT));
    WEFT_TRY(sync_check_range(sync, "the number of rounds", c->rounds, c->pending, SYNC_STEPS_LIMIT));
    WEFT_TRY(sync_check_range(sync, "the number of pending rounds", c->pending, 0, 1));
    WEFT_TRY(sync_check_range(sync, "the number of arrived rounds", c->arrived, c->pending, c->pending));
    WEFT_TRY(sync_check_range(sync, "the step of the last round", c->posted_at, 0, c->step));
    WEFT_CHECK(c->pending == 0 || s->sum[sync->desc.elements] == 0.0f, WEFT_ERR_DATA,
               "damaged: %g ranks of sync shadow are through, expected none", (double)s->sum[sync->desc.elements]);
    return WEFT_OK;
}

static weft_status restored(comm_sync *sync)
{
    const shadow_counters *c = &((const shadow *)sync->self)->counters;
    WEFT_TRY(comm_agree(sync->comm, check_counters(sync)));
    return sync_check_alike(sync, "step and rounds", (const int64_t[]){c->step, c->rounds, c->pending}, 3);
}

/* ---- prediction ------------------------------------------------------------------------------------------ */
static weft_status predict(const comm_sync *sync, double *seconds)
{
    const comm_model *model = comm_get_model(sync->comm);
    const int64_t elements = tracking_elements(sync, SYNC_SHADOW);
    double passes = 2.0 * (double)elements * (double)sizeof(float) * model->reduce_per_byte;
    double gap = sync->options.shadow.gap > 1 ? (double)sync->options.shadow.gap : 1.0;
    *seconds = (predict_allreduce(sync, elements) + passes) / gap;
    return WEFT_OK;
}

/* ---- options and knobs ----------------------------------------------------------------------------------- */
static void defaults(sync_options *options)
{
    options->shadow = (sync_shadow_options){.algorithm = SHADOW_MA, .mix = 0.5, .block_rate = 1.0, .share = 1.0};
}

static double gap_of(const sync_options *options)
{
    return (double)options->shadow.gap;
}

/* A round under way is applied by the new gap. */
static weft_status set_gap(comm_sync *sync, double gap, bool restoring)
{
    (void)restoring;
    sync->options.shadow.gap = (int64_t)gap;
    return WEFT_OK;
}

static const sync_tunable tunables[] = {
    {.knob = SYNC_KNOB_GAP, .least = 0, .most = 1e6, .whole = true, .of = gap_of, .set = set_gap}};

const sync_ops sync_shadow_ops = {SYNC_OPS_TUNED, .name = "shadow", .local_updates = true, .parameters = parameters,
                                  .settle = settle};
