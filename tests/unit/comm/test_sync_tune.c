/*
 * Knobs of modes that run, on 1 to 8 ranks: a run that is tuned goes on, to the bit, as a run that began with the value
 * from the same state; so does a job that restores its checkpoint. Topk at density 1 hands back the sums of all
 * gradients.
 *
 * trees: asan tsan
 */
#include "support/comm_run.h"

#include "base/log.h"
#include "comm/sync/sync.h"

enum { ROWS = 48, COLS = 32, TRAINED = ROWS * COLS, ELEMENTS = TRAINED + 5, BEFORE = 5, AFTER = 7, BUFFERS = 32 };

typedef struct tune_case {
    const char *name;
    sync_mode mode;
    sync_knob knob;
    double first, second;
    int variant;
} tune_case;

static const tune_case tune_cases[] = {
    {"density up", SYNC_TOPK, SYNC_KNOB_DENSITY, 0.02, 0.3, SPARSE_ALL_GATHER},
    {"density down", SYNC_TOPK, SYNC_KNOB_DENSITY, 0.3, 0.02, SPARSE_HIERARCHICAL},
    {"density up, regions", SYNC_TOPK, SYNC_KNOB_DENSITY, 0.05, 0.25, SPARSE_OK_TOPK},
    {"density, chosen exchange", SYNC_TOPK, SYNC_KNOB_DENSITY, 0.05, 0.1, SPARSE_AUTO},
    {"pairs to fours", SYNC_DIVIDE_SHUFFLE, SYNC_KNOB_GROUP, 2, 4, 0},
    {"threes to pairs", SYNC_DIVIDE_SHUFFLE, SYNC_KNOB_GROUP, 3, 2, 0},
    {"gap up", SYNC_SHADOW, SYNC_KNOB_GAP, 1, 4, SHADOW_MA},
    {"gap down", SYNC_SHADOW, SYNC_KNOB_GAP, 3, 1, SHADOW_BMUF},
    {"threshold up", SYNC_ASP, SYNC_KNOB_THRESHOLD, 0.001, 0.05, ASP_FIXED},
    {"threshold down", SYNC_ASP, SYNC_KNOB_THRESHOLD, 0.05, 0.0, ASP_LEARNING_RATE},
};
enum { TUNE_CASES = sizeof tune_cases / sizeof tune_cases[0] };

/* A replica and the copy of a state. */
typedef struct rig {
    weft_comm *comm;
    comm_sync *sync;
    float value[ELEMENTS], grad[TRAINED];
    int steps;
} rig;

typedef struct snapshot {
    float value[ELEMENTS];
    int steps, count;
    void *data[BUFFERS];
    sync_buffer buffer[BUFFERS];
} snapshot;

static sync_options options_for(const tune_case *c, double value)
{
    sync_options options = sync_options_default();
    options.mode = c->mode;
    options.topk.exchange = c->mode == SYNC_TOPK ? (sparse_exchange)c->variant : SPARSE_AUTO;
    options.topk.preferred = (sparse_choice){.exchange = SPARSE_ALL_GATHER, .dense_from = 0.9};
    options.topk.momentum = 0.5;
    options.topk.dense_below = 1;
    options.topk.warmup = 3;
    options.shadow.algorithm = c->mode == SYNC_SHADOW ? (sync_shadow_algorithm)c->variant : SHADOW_MA;
    options.asp.policy = c->mode == SYNC_ASP ? (sync_asp_policy)c->variant : ASP_FIXED;
    options.topk.density = c->knob == SYNC_KNOB_DENSITY ? value : options.topk.density;
    options.divide_shuffle.group = c->knob == SYNC_KNOB_GROUP ? (int)value : 2;
    options.shadow.gap = c->knob == SYNC_KNOB_GAP ? (int64_t)value : 1;
    options.asp.threshold = c->knob == SYNC_KNOB_THRESHOLD ? value : 0.01;
    return options;
}

static weft_status rig_open(weft_comm *comm, const sync_options *options, rig *r)
{
    static const sync_bucket bucket[] = {{TRAINED / 2, TRAINED / 2}, {0, TRAINED / 2}};
    static const sync_tensor tensor[] = {{"w", 0, ROWS - 1, COLS}, {"b", TRAINED - COLS, 1, COLS}};
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = r->value,
                            .grad = r->grad,
                            .trained = TRAINED,
                            .elements = ELEMENTS,
                            .bucket = bucket,
                            .buckets = 2,
                            .tensor = tensor,
                            .tensors = 2};
    r->comm = comm;
    r->steps = 0;
    for (int i = 0; i < ELEMENTS; ++i) {
        r->value[i] = case_noise(0, i);
    }
    WEFT_TRY(sync_create(comm, options, &desc, &r->sync));
    return sync_reset(r->sync);
}

static weft_status rig_steps(rig *r, int steps)
{
    for (int s = 0; s < steps; ++s, ++r->steps) {
        WEFT_TRY(sync_begin(r->sync, 0.1 / (1 + r->steps), 1.0));
        for (int i = 0; i < TRAINED; ++i) {
            r->grad[i] = 0.01f * r->value[i] + 0.01f * case_noise(comm_rank(r->comm) + 1, i + 7 * r->steps);
        }
        WEFT_TRY(sync_gradients(r->sync));
        for (int i = 0; i < TRAINED; ++i) {
            r->value[i] -= 0.1f * r->grad[i];
        }
        WEFT_TRY(sync_parameters(r->sync));
    }
    return WEFT_OK;
}

static weft_status keep(rig *r, snapshot *s)
{
    const sync_buffer *buffer = NULL;
    WEFT_TRY(sync_state(r->sync, &buffer, &s->count));
    CASE_CHECK(s->count <= BUFFERS, "%d buffers", s->count);
    s->steps = r->steps;
    memcpy(s->value, r->value, sizeof s->value);
    for (int b = 0; b < s->count; ++b) {
        s->buffer[b] = buffer[b];
        s->data[b] = malloc((size_t)buffer[b].bytes + 1);
        memcpy(s->data[b], buffer[b].bytes > 0 ? buffer[b].data : "", (size_t)buffer[b].bytes);
    }
    return WEFT_OK;
}

/* knobs: with those of the state; else with those of the options. */
static weft_status restore(rig *r, const snapshot *s, bool knobs)
{
    const sync_buffer *buffer = NULL;
    int count = 0;
    bool named = false;
    WEFT_TRY(sync_state(r->sync, &buffer, &count));
    CASE_CHECK(count == s->count, "%d buffers, %d were kept", count, s->count);
    for (int b = 0; b < count; ++b) {
        const bool tuned = strcmp(buffer[b].name, "knobs") == 0;
        CASE_CHECK(strcmp(buffer[b].name, s->buffer[b].name) == 0 && buffer[b].bytes == s->buffer[b].bytes,
                   "%s of %lld bytes, %s of %lld was kept", buffer[b].name, (long long)buffer[b].bytes,
                   s->buffer[b].name, (long long)s->buffer[b].bytes);
        named = named || tuned;
        if (buffer[b].bytes > 0 && (knobs || !tuned)) {
            memcpy(buffer[b].data, s->data[b], (size_t)buffer[b].bytes);
        }
    }
    CASE_CHECK(named, "no buffer of knobs");
    memcpy(r->value, s->value, sizeof r->value);
    r->steps = s->steps;
    return sync_restored(r->sync);
}

static weft_status go_on(weft_comm *comm, const tune_case *c, const snapshot *s, bool knobs, const float *expected)
{
    rig *r = calloc(1, sizeof *r);
    const sync_options options = options_for(c, knobs ? c->first : c->second);
    weft_status status = rig_open(comm, &options, r);
    status = status == WEFT_OK ? restore(r, s, knobs) : status;
    const double value = status == WEFT_OK ? sync_tuned(r->sync, c->knob) : 0.0;
    status = status == WEFT_OK ? rig_steps(r, AFTER) : status;
    status = status == WEFT_OK ? sync_finish(r->sync) : status;
    const bool same = case_same_bits(r->value, expected, sizeof r->value);
    sync_destroy(r->sync);
    free(r);
    WEFT_TRY(status);
    CASE_CHECK(value == c->second, "%s: goes on with %g", c->name, value);
    CASE_CHECK(same, "%s, %s: other parameters", c->name, knobs ? "restored" : "begun with the value");
    return WEFT_OK;
}

static weft_status tuned_run(weft_comm *comm, const tune_case *c, rig *r, snapshot *s)
{
    const sync_options options = options_for(c, c->first);
    WEFT_TRY(rig_open(comm, &options, r));
    WEFT_TRY(rig_steps(r, BEFORE));
    WEFT_TRY(sync_tune(r->sync, c->knob, c->second));
    CASE_CHECK(sync_tuned(r->sync, c->knob) == c->second, "%s: %g", c->name, sync_tuned(r->sync, c->knob));
    WEFT_TRY(keep(r, s));
    WEFT_TRY(rig_steps(r, AFTER));
    const sync_figures figures = sync_get_figures(r->sync);
    WEFT_TRY(sync_finish(r->sync));
    CASE_CHECK(c->mode != SYNC_DIVIDE_SHUFFLE || figures.bytes_sent > 0, "%s: nothing was sent", c->name);
    return WEFT_OK;
}

static weft_status tune_one(weft_comm *comm, const tune_case *c)
{
    rig *r = calloc(1, sizeof *r);
    snapshot *s = calloc(1, sizeof *s);
    weft_status status = tuned_run(comm, c, r, s);
    for (int knobs = 0; knobs < 2 && status == WEFT_OK; ++knobs) {
        status = go_on(comm, c, s, knobs == 1, r->value);
    }
    /* A new run begins with the option. */
    status = status == WEFT_OK ? sync_reset(r->sync) : status;
    if (status == WEFT_OK && sync_tuned(r->sync, c->knob) != c->first) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%s: a new run begins with %g", c->name, sync_tuned(r->sync, c->knob));
    }
    sync_destroy(r->sync);
    for (int b = 0; b < s->count; ++b) {
        free(s->data[b]);
    }
    free(s);
    free(r);
    return status;
}

/* Nodes of two ranks, which are the sites of asp. */
static weft_status in_pairs(weft_comm *comm, weft_status (*fn)(weft_comm *comm))
{
    weft_comm *pairs = NULL;
    WEFT_TRY(comm_split(comm, 0, 0, &pairs));
    weft_status status = comm_imitate_nodes(pairs, 2);
    status = status == WEFT_OK ? fn(pairs) : status;
    comm_destroy(pairs);
    return status;
}

static weft_status all_tuned(weft_comm *comm)
{
    for (int k = 0; k < TUNE_CASES && comm_size(comm) > 1; ++k) {
        WEFT_TRY(tune_one(comm, &tune_cases[k]));
    }
    return WEFT_OK;
}

static weft_status case_tuned(weft_comm *comm, void *argument)
{
    (void)argument;
    return in_pairs(comm, all_tuned);
}

/* ---- topk at density 1 ------------------------------------------------------------------------------------------- */
/* Small whole numbers: all orders of sums have the same bits. */
static float whole_gradient(int rank, int step, int i)
{
    return (float)((i * 7 + rank * 13 + step * 5) % 31 - 15);
}

static weft_status everything_goes(weft_comm *comm)
{
    rig *r = calloc(1, sizeof *r);
    const tune_case *c = &tune_cases[0];
    sync_options options = options_for(c, c->first);
    options.topk.momentum = 0.0;
    weft_status status = rig_open(comm, &options, r);
    double sent = 0.0;
    double given = 0.0;
    bool same = true;
    for (int step = 0; step < 6 && status == WEFT_OK; ++step) {
        status = step == 3 ? sync_tune(r->sync, SYNC_KNOB_DENSITY, 1.0) : status;
        status = status == WEFT_OK ? sync_begin(r->sync, 0.1, 1.0) : status;
        for (int i = 0; i < TRAINED; ++i) {
            r->grad[i] = whole_gradient(comm_rank(comm), step, i);
        }
        status = status == WEFT_OK ? sync_gradients(r->sync) : status;
        for (int i = 0; i < TRAINED && status == WEFT_OK; ++i) {
            float sum = 0.0f;
            for (int q = 0; q < comm_size(comm); ++q) {
                sum += whole_gradient(q, step, i);
            }
            sent += step <= 3 ? (double)r->grad[i] : 0.0;
            given += step <= 3 ? (double)sum : 0.0;
            same = same && (step <= 3 || r->grad[i] == sum);
        }
    }
    sync_destroy(r->sync);
    free(r);
    WEFT_TRY(status);
    CASE_CHECK(sent == given, "%g of %g arrive once everything is sent", sent, given);
    CASE_CHECK(same, "a later step does not hand back the sums of all gradients");
    return WEFT_OK;
}

static weft_status case_everything(weft_comm *comm, void *argument)
{
    (void)argument;
    return comm_size(comm) > 1 ? in_pairs(comm, everything_goes) : WEFT_OK;
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */
static weft_status refused(comm_sync *sync, sync_knob knob, double value, weft_status expected, const char *text)
{
    const weft_status status = sync_tune(sync, knob, value);
    CASE_CHECK(status == expected, "%s %g gives %s", sync_knob_name(knob), value, weft_status_name(status));
    CASE_CHECK(text == NULL || strstr(weft_error_message(), text) != NULL, "no word of \"%s\": %s", text,
               weft_error_message());
    return WEFT_OK;
}

static weft_status refusals(weft_comm *comm, const tune_case *c, comm_sync *sync)
{
    const bool odd = comm_rank(comm) == 1;
    for (int knob = 0; knob < SYNC_KNOBS; ++knob) {
        if ((sync_knob)knob != c->knob) {
            WEFT_TRY(refused(sync, (sync_knob)knob, c->second, WEFT_ERR_USAGE, sync_knob_name(c->knob)));
        }
    }
    WEFT_TRY(refused(sync, c->knob, (double)NAN, WEFT_ERR_USAGE, sync_knob_name(c->knob)));
    WEFT_TRY(refused(sync, c->knob, -1.0, WEFT_ERR_USAGE, "-1: expected"));
    WEFT_TRY(refused(sync, c->knob, 1e9, WEFT_ERR_USAGE, "expected"));
    WEFT_TRY(c->knob == SYNC_KNOB_GROUP ? refused(sync, c->knob, 2.5, WEFT_ERR_USAGE, "a whole number from 2")
                                        : WEFT_OK);
    if (comm_size(comm) > 1) {
        WEFT_TRY(refused(sync, c->knob, odd ? c->second : c->first, WEFT_ERR_INTERNAL, sync_knob_name(c->knob)));
        CASE_CHECK(sync_tuned(sync, c->knob) == c->first, "%g after a refusal", sync_tuned(sync, c->knob));
    }
    return refused(sync, c->knob, c->second, WEFT_OK, NULL);
}

static weft_status case_refused(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    for (int k = 0; k < TUNE_CASES && status == WEFT_OK; k += 2) {
        rig *r = calloc(1, sizeof *r);
        const sync_options options = options_for(&tune_cases[k], tune_cases[k].first);
        status = rig_open(comm, &options, r);
        status = status == WEFT_OK ? refusals(comm, &tune_cases[k], r->sync) : status;
        status = status == WEFT_OK ? sync_finish(r->sync) : status;
        sync_destroy(r->sync);
        free(r);
    }
    WEFT_TRY(status);
    rig *r = calloc(1, sizeof *r);
    const sync_options exact = sync_options_default();
    status = rig_open(comm, &exact, r);
    status =
        status == WEFT_OK ? refused(r->sync, SYNC_KNOB_DENSITY, 0.5, WEFT_ERR_USAGE, "it can change nothing") : status;
    if (status == WEFT_OK && !isnan(sync_tuned(r->sync, SYNC_KNOB_DENSITY))) {
        status = weft_fail(WEFT_ERR_INTERNAL, "allreduce has a density");
    }
    sync_destroy(r->sync);
    free(r);
    return status;
}

static const comm_case cases[] = {
    {"a tuned run goes on as one that began with the value", case_tuned},
    {"topk at density 1 sums all gradients", case_everything},
    {"wrong knobs and values are refused", case_refused},
};

int main(void)
{
    log_set_level(LOG_WARN); /* every rank of a test would say how much it sends */
    return comm_run_threads(cases, sizeof cases / sizeof cases[0], comm_run_case_once);
}
