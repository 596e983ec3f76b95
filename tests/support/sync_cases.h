/*
 * support/sync_cases.h: what must hold for synchronisation modes on any number of ranks, over any transport: the exact
 * mode against serial sums, the top-k mode against a serial simulation of all ranks, state saved and restored in the
 * middle of a run, ranks without data, values that are not finite, ranks that are short of memory.
 */
#pragma once

#include "comm/sync/sync_mode.h"
#include "support/comm_cases.h"
#include "support/damaged_state.h"

enum { TENSORS = 5, TRAINED = 2112, STATE = 16, ELEMENTS = TRAINED + STATE, MOST_RANKS = 8 };

/* Two matrices, a vector, a small and a large matrix; borders on 16 elements. */
static const sync_tensor tensors[TENSORS] = {
    {"first.weight", 0, 32, 20},  {"first.bias", 640, 1, 20}, {"middle.small", 672, 4, 4},
    {"last.weight", 688, 64, 22}, {"last.bias", 2096, 1, 10},
};
static const sync_bucket one_bucket[] = {{0, TRAINED}};
static const sync_bucket three_buckets[] = {{1200, 912}, {320, 880}, {0, 320}};
static const sync_bucket many_buckets[] = {{2096, 16}, {1392, 704}, {688, 704}, {672, 16}, {640, 32}, {0, 640}};

typedef struct layout_case {
    const sync_bucket *bucket;
    int buckets;
} layout_case;
static const layout_case layouts[] = {{one_bucket, 1}, {three_buckets, 3}, {many_buckets, 6}};

typedef struct rig {
    comm_sync *sync;
    float value[ELEMENTS], grad[TRAINED];
} rig;

static sync_options exact_options(comm_algorithm algorithm, sync_overlap overlap)
{
    sync_options options = sync_options_default();
    options.algorithm = algorithm;
    options.overlap = overlap;
    return options;
}

static weft_status rig_create(weft_comm *comm, const sync_options *options, const layout_case *layout, rig *r)
{
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = r->value,
                            .grad = r->grad,
                            .trained = TRAINED,
                            .elements = ELEMENTS,
                            .bucket = layout->bucket,
                            .buckets = layout->buckets,
                            .tensor = tensors,
                            .tensors = TENSORS};
    memset(r, 0, sizeof *r);
    return sync_create(comm, options, &desc, &r->sync);
}

/* Small integers: sums are exact in any order. */
static float integer_gradient(int rank, int64_t step, int64_t i)
{
    return (float)((i * 31 + rank * 17 + step * 7 + (i * i) % 13) % 61 - 30);
}

/* Fractions of all sizes, so that the order of a sum shows in its bits. */
static float rough_gradient(int rank, int64_t step, int64_t i)
{
    uint64_t x = ((uint64_t)rank * 1000003 + (uint64_t)step * 7919 + (uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    float unit = (float)(x >> 40) / (float)(1 << 24) - 0.5f;
    return ldexpf(unit, (int)((x >> 8) % 12) - 6);
}

typedef float (*gradient_fn)(int rank, int64_t step, int64_t i);

static void fill(rig *r, weft_comm *comm, int64_t step, gradient_fn gradient)
{
    for (int64_t i = 0; i < TRAINED; ++i) {
        r->grad[i] = gradient(comm_rank(comm), step, i);
    }
}

/* One step up to the point where gradients are what the optimiser applies. */
static weft_status step_of(rig *r, const layout_case *layout, double weight)
{
    WEFT_TRY(sync_begin(r->sync, 0.1, weight));
    for (int b = 0; b < layout->buckets; ++b) {
        WEFT_TRY(sync_ready(r->sync, b));
    }
    WEFT_TRY(sync_gradients(r->sync));
    for (int b = layout->buckets - 1; b >= 0; --b) {
        WEFT_TRY(sync_need(r->sync, b));
        CASE_CHECK(!sync_owes(r->sync, b), "bucket %d", b);
    }
    return sync_parameters(r->sync);
}

/* ---- exact ----------------------------------------------------------------------------------------------- */

static weft_status sums_of(weft_comm *comm, rig *r, const layout_case *layout)
{
    int ranks = comm_size(comm);
    for (int64_t step = 1; step <= 4; ++step) {
        bool idle = step == 3 && ranks > 1; /* the last rank has no data */
        fill(r, comm, step, integer_gradient);
        WEFT_TRY(step_of(r, layout, idle && comm_rank(comm) == ranks - 1 ? 0.0 : 1.0));
        for (int64_t i = 0; i < TRAINED; ++i) {
            float sum = 0;
            for (int q = 0; q < ranks - (idle ? 1 : 0); ++q) {
                sum += integer_gradient(q, step, i);
            }
            CASE_CHECK(r->grad[i] == sum, "step %d, element %d: %g instead of %g", (int)step, (int)i,
                       (double)r->grad[i], (double)sum);
        }
    }
    return WEFT_OK;
}

static weft_status case_sums(weft_comm *comm, void *argument)
{
    static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_OFF};
    (void)argument;
    for (int o = 0; o < 3; ++o) {
        for (int l = 0; l < 3; ++l) {
            rig r;
            sync_options options = exact_options(COMM_ALGO_AUTO, overlaps[o]);
            WEFT_TRY(rig_create(comm, &options, &layouts[l], &r));
            weft_status status = sums_of(comm, &r, &layouts[l]);
            sync_destroy(r.sync);
            WEFT_TRY(status);
        }
    }
    return WEFT_OK;
}

static weft_status case_sums_double(weft_comm *comm, void *argument)
{
    static const sync_bucket bucket[] = {{40, 60}, {0, 40}};
    double value[100] = {0};
    double grad[100];
    comm_sync *sync = NULL;
    (void)argument;
    const sync_desc desc = {.dtype = WEFT_DTYPE_F64,
                            .value = value,
                            .grad = grad,
                            .trained = 100,
                            .elements = 100,
                            .bucket = bucket,
                            .buckets = 2};
    sync_options options = sync_options_default();
    WEFT_TRY(sync_create(comm, &options, &desc, &sync));
    for (int i = 0; i < 100; ++i) {
        grad[i] = (comm_rank(comm) + 1) * (i + 0.5);
    }
    weft_status status = sync_begin(sync, 0.1, 1.0);
    status = status == WEFT_OK ? sync_gradients(sync) : status; /* buckets nobody handed in are handed in here */
    sync_destroy(sync);
    WEFT_TRY(status);
    int ranks = comm_size(comm);
    for (int i = 0; i < 100; ++i) {
        CASE_CHECK(grad[i] == ranks * (ranks + 1) / 2 * (i + 0.5), "element %d: %g", i, grad[i]);
    }
    options.mode = SYNC_TOPK;
    CASE_CHECK(sync_create(comm, &options, &desc, &sync) == WEFT_ERR_UNSUPPORTED && sync == NULL, "topk of float64");
    return WEFT_OK;
}

/* In rank order on every element, whatever the buckets. */
static weft_status case_fixed_order(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int l = 0; l < 3; ++l) {
        for (int split = 0; split < 2; ++split) {
            rig r;
            weft_status status = WEFT_OK;
            sync_options options = exact_options(COMM_ALGO_FIXED_ORDER, split == 1 ? OVERLAP_SPLIT : OVERLAP_BACKWARD);
            WEFT_TRY(rig_create(comm, &options, &layouts[l], &r));
            fill(&r, comm, 1, rough_gradient);
            status = step_of(&r, &layouts[l], 1.0);
            sync_destroy(r.sync);
            WEFT_TRY(status);
            for (int64_t i = 0; i < TRAINED; ++i) {
                float sum = rough_gradient(0, 1, i);
                for (int q = 1; q < comm_size(comm); ++q) {
                    sum += rough_gradient(q, 1, i);
                }
                CASE_CHECK(memcmp(&sum, &r.grad[i], sizeof sum) == 0, "%d buckets, element %d: %.9g instead of %.9g",
                           layouts[l].buckets, (int)i, (double)r.grad[i], (double)sum);
            }
        }
    }
    return WEFT_OK;
}

/* ---- what all modes share ---------------------------------------------------------------------------------- */

static weft_status case_reset(weft_comm *comm, void *argument)
{
    rig r;
    sync_options options = sync_options_default();
    int64_t longest = 0;
    (void)argument;
    WEFT_TRY(rig_create(comm, &options, &layouts[1], &r));
    for (int i = 0; i < ELEMENTS; ++i) {
        r.value[i] = (float)(comm_rank(comm) * 1000 + i);
    }
    weft_status status = sync_reset(r.sync);
    status = status == WEFT_OK ? sync_average(r.sync) : status; /* replicas are equal: nothing happens */
    status = status == WEFT_OK ? sync_finish(r.sync) : status;
    sync_destroy(r.sync);
    WEFT_TRY(status);
    for (int i = 0; i < ELEMENTS; ++i) {
        CASE_CHECK(r.value[i] == (float)i, "element %d: %g", i, (double)r.value[i]);
    }
    WEFT_TRY(sync_agree_steps(comm, 10 + comm_rank(comm), &longest));
    CASE_CHECK(longest == 9 + comm_size(comm), "%d steps", (int)longest);
    return WEFT_OK;
}

static weft_status refused(weft_comm *comm, const sync_bucket *bucket, int buckets)
{
    rig r;
    sync_options options = sync_options_default();
    const layout_case layout = {bucket, buckets};
    weft_status status = rig_create(comm, &options, &layout, &r);
    CASE_CHECK(status == WEFT_ERR_INTERNAL && r.sync == NULL, "status %d", (int)status);
    return WEFT_OK;
}

static weft_status case_bad_buckets(weft_comm *comm, void *argument)
{
    static const sync_bucket gap[] = {{0, 100}, {116, TRAINED - 116}};
    static const sync_bucket overlap[] = {{0, 100}, {84, TRAINED - 84}};
    static const sync_bucket past[] = {{0, TRAINED + 16}};
    (void)argument;
    WEFT_TRY(refused(comm, gap, 2));
    WEFT_TRY(refused(comm, overlap, 2));
    WEFT_TRY(refused(comm, past, 1));
    return refused(comm, gap, 0);
}

static weft_status case_ranks_disagree(weft_comm *comm, void *argument)
{
    (void)argument;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    return refused(comm, comm_rank(comm) == 1 ? three_buckets : one_bucket, comm_rank(comm) == 1 ? 3 : 1);
}

/* ---- values that are not finite ---------------------------------------------------------------------------- */

static weft_status not_finite(weft_comm *comm, const sync_options *options, float value)
{
    rig r;
    int guilty = comm_size(comm) - 1;
    const char *name = NULL;
    WEFT_TRY(rig_create(comm, options, &layouts[1], &r));
    fill(&r, comm, 1, integer_gradient);
    if (comm_rank(comm) == guilty) {
        r.grad[900] = value;
    }
    weft_status status = step_of(&r, &layouts[1], 1.0);
    bool found = sync_diverged(r.sync, &name);
    sync_destroy(r.sync);
    WEFT_TRY(status);
    CASE_CHECK(found == (comm_rank(comm) == guilty), "found %d", (int)found);
    CASE_CHECK(!found || strcmp(name, "last.weight") == 0, "blames %s", name);
    for (int i = 0; i < TRAINED; ++i) {
        CASE_CHECK(isfinite(r.grad[i]), "element %d is %g", i, (double)r.grad[i]);
    }
    return WEFT_OK;
}

static sync_options topk_options(double density)
{
    sync_options options = sync_options_default();
    options.mode = SYNC_TOPK;
    options.topk.density = density;
    options.topk.dense_below = 32;
    options.topk.exchange = SPARSE_ALL_GATHER;
    return options;
}

static weft_status case_not_finite(weft_comm *comm, void *argument)
{
    (void)argument;
    if (comm_size(comm) == 1) { /* one rank pays for no scan: the loss tells */
        return WEFT_OK;
    }
    for (int mode = 0; mode < 4; ++mode) {
        static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_OFF};
        sync_options options = mode < 3 ? exact_options(COMM_ALGO_AUTO, overlaps[mode]) : topk_options(0.05);
        WEFT_TRY(not_finite(comm, &options, NAN));
        WEFT_TRY(not_finite(comm, &options, -INFINITY));
    }
    return WEFT_OK;
}

/* The scan is cut into parts: a value in any of them is found, and whose tensor it is. */
static weft_status case_not_finite_long(weft_comm *comm, void *argument)
{
    enum { LONG = 300000, SECOND = 100000 };
    static const int64_t places[] = {0, SECOND - 1, SECOND, 150000, LONG - 1};
    static const sync_bucket bucket = {0, LONG};
    static const sync_tensor tensor[] = {{"first", 0, 100, SECOND / 100}, {"second", SECOND, 1, LONG - SECOND}};
    float *value = NULL;
    float *grad = NULL;
    comm_sync *sync = NULL;
    weft_status status = WEFT_OK;
    (void)argument;
    sync_options options = exact_options(COMM_ALGO_RING, OVERLAP_BACKWARD);
    options.topk.select.threads = 3;
    if (comm_size(comm) != 2) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&value, LONG, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&grad, LONG, WEFT_MEM_GENERAL), status, done);
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = value,
                            .grad = grad,
                            .trained = LONG,
                            .elements = LONG,
                            .bucket = &bucket,
                            .buckets = 1,
                            .tensor = tensor,
                            .tensors = 2};
    WEFT_TRY_GOTO(sync_create(comm, &options, &desc, &sync), status, done);
    for (size_t i = 0; i < sizeof places / sizeof *places && status == WEFT_OK; ++i) {
        const char *name = "";
        const bool guilty = comm_rank(comm) == 1;
        for (int64_t j = 0; j < LONG; ++j) {
            grad[j] = (float)(comm_rank(comm) + 1);
        }
        grad[places[i]] = guilty ? NAN : 1.0F;
        WEFT_TRY_GOTO(sync_begin(sync, 0.1, 1.0), status, done);
        WEFT_TRY_GOTO(sync_gradients(sync), status, done);
        bool right = sync_diverged(sync, &name) == guilty && grad[places[i]] == 1.0F && grad[LONG / 3] == 1.0F;
        right = right && (!guilty || strcmp(name, places[i] < SECOND ? "first" : "second") == 0);
        status =
            right ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "element %lld: blames \"%s\"", (long long)places[i], name);
    }
done:
    sync_destroy(sync);
    weft_free(value);
    weft_free(grad);
    return status;
}

/* ---- top-k ------------------------------------------------------------------------------------------------- */

static bool whole_tensor(int64_t i)
{
    for (int t = 0; t < TENSORS; ++t) {
        int64_t count = tensors[t].rows * tensors[t].cols;
        if (i >= tensors[t].offset && i < tensors[t].offset + count) {
            return tensors[t].rows == 1 || count < 32;
        }
    }
    return false;
}

/* All ranks, simulated with plain loops: velocity, residual, the k largest by repeated search, masking by option. */
typedef struct simulation {
    bool masking;
    float velocity[MOST_RANKS][TRAINED], residual[MOST_RANKS][TRAINED], sum[TRAINED], shared[TRAINED];
} simulation;

static void simulate_bucket(simulation *s, int rank, const sync_bucket *bucket, double density)
{
    float *residual = s->residual[rank];
    int64_t selected = 0;
    for (int64_t i = bucket->offset; i < bucket->offset + bucket->count; ++i) {
        selected += whole_tensor(i) ? 0 : 1;
    }
    for (int64_t k = (int64_t)ceil(density * (double)selected); k > 0; --k) {
        int64_t best = -1;
        for (int64_t i = bucket->offset; i < bucket->offset + bucket->count; ++i) {
            if (!whole_tensor(i) && residual[i] != 0 && (best < 0 || fabsf(residual[i]) > fabsf(residual[best]))) {
                best = i;
            }
        }
        if (best < 0) {
            return;
        }
        s->sum[best] += residual[best];
        residual[best] = 0;
        s->velocity[rank][best] *= s->masking ? 0.0f : 1.0f;
    }
}

static void simulate(simulation *s, int ranks, int64_t step, const layout_case *layout, double density, float momentum)
{
    memset(s->sum, 0, sizeof s->sum);
    for (int q = 0; q < ranks; ++q) {
        for (int64_t i = 0; i < TRAINED; ++i) {
            if (whole_tensor(i)) {
                s->sum[i] += integer_gradient(q, step, i);
            } else {
                s->velocity[q][i] = momentum * s->velocity[q][i] + integer_gradient(q, step, i);
                s->residual[q][i] += s->velocity[q][i];
            }
        }
        for (int b = 0; b < layout->buckets; ++b) {
            simulate_bucket(s, q, &layout->bucket[b], density);
        }
    }
    for (int64_t i = 0; i < TRAINED; ++i) {
        if (whole_tensor(i)) {
            s->shared[i] = momentum * s->shared[i] + s->sum[i];
            s->sum[i] = s->shared[i];
        }
    }
}

static weft_status against_simulation(weft_comm *comm, const layout_case *layout, float momentum, bool masking,
                                      int64_t warmup)
{
    weft_status status = WEFT_OK;
    simulation *s = NULL;
    rig r;
    sync_options options = topk_options(1.0 / 64);
    options.topk.momentum = (double)momentum;
    options.topk.masking = masking;
    options.topk.warmup = warmup;
    WEFT_TRY(rig_create(comm, &options, layout, &r));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_WORKSPACE), status, done);
    s->masking = masking;
    for (int64_t step = 1; step <= 6 && status == WEFT_OK; ++step) {
        double density = step > warmup ? 1.0 / 64 : 0.25 * pow(1.0 / 16, (double)(step - 1) / (double)warmup);
        fill(&r, comm, step, integer_gradient);
        WEFT_TRY_GOTO(step_of(&r, layout, 1.0), status, done);
        simulate(s, comm_size(comm), step, layout, density, momentum);
        for (int64_t i = 0; i < TRAINED; ++i) {
            WEFT_CHECK_GOTO(r.grad[i] == s->sum[i], status, done, WEFT_ERR_INTERNAL,
                            "momentum %g, masking %d, warm-up %d, step %d, element %d: %g instead of %g",
                            (double)momentum, masking, (int)warmup, (int)step, (int)i, (double)r.grad[i],
                            (double)s->sum[i]);
        }
    }
done:
    weft_free(s);
    sync_destroy(r.sync);
    return status;
}

static weft_status case_topk_simulated(weft_comm *comm, void *argument)
{
    (void)argument;
    if (comm_size(comm) == 1) {
        return WEFT_OK; /* one rank runs all-reduce */
    }
    WEFT_TRY(against_simulation(comm, &layouts[0], 0.0f, false, 0));
    WEFT_TRY(against_simulation(comm, &layouts[2], 0.5f, false, 0));
    return against_simulation(comm, &layouts[1], 0.5f, true, 4);
}

/* Everything that ever came in was handed out or waits in a residual: exact in small integers, for every exchange. */
static weft_status conserved(weft_comm *comm, rig *r, const layout_case *layout)
{
    const sync_buffer *buffer = NULL;
    int buffers = 0;
    double in = 0; /* of all ranks */
    double out = 0;
    double waits = 0; /* of this rank, then of all */
    for (int64_t step = 1; step <= 5; ++step) {
        for (int q = 0; q < comm_size(comm); ++q) {
            for (int64_t i = 0; i < TRAINED; ++i) {
                in += (double)integer_gradient(q, step, i);
            }
        }
        fill(r, comm, step, integer_gradient);
        WEFT_TRY(step_of(r, layout, 1.0));
        for (int64_t i = 0; i < TRAINED; ++i) {
            out += (double)r->grad[i];
        }
    }
    WEFT_TRY(sync_state(r->sync, &buffer, &buffers));
    for (int b = 0; b < buffers; ++b) {
        const float *residual = buffer[b].data;
        for (int64_t i = 0; strstr(buffer[b].name, "residual") != NULL && i < buffer[b].bytes / 4; ++i) {
            waits += (double)residual[i];
        }
    }
    WEFT_TRY(comm_allreduce(comm, &waits, 1, WEFT_DTYPE_F64, COMM_SUM));
    CASE_CHECK(in == out + waits, "in %g, out %g, waits %g", in, out, waits);
    /* AUTO may find that everything is sent faster than a part of so little. */
    bool judged = r->sync->options.topk.exchange != SPARSE_AUTO && comm_size(comm) > 1;
    CASE_CHECK(!judged || sync_get_figures(r->sync).density < 0.2, "density %g", sync_get_figures(r->sync).density);
    return WEFT_OK;
}

static const sparse_exchange exchanges[] = {SPARSE_AUTO, SPARSE_HIERARCHICAL, SPARSE_OK_TOPK, SPARSE_ALL_GATHER};

static weft_status case_topk_conserves(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int e = 0; e < 4; ++e) {
        const layout_case *layout = &layouts[e % 3];
        rig r;
        sync_options options = topk_options(0.02);
        options.topk.exchange = exchanges[e];
        options.overlap = e == 2 ? OVERLAP_OFF : OVERLAP_BACKWARD;
        WEFT_TRY(rig_create(comm, &options, layout, &r));
        weft_status status = conserved(comm, &r, layout);
        sync_destroy(r.sync);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static weft_status case_topk_sends_everything(weft_comm *comm, void *argument)
{
    rig r;
    sync_options options = topk_options(1.0);
    (void)argument;
    WEFT_TRY(rig_create(comm, &options, &layouts[1], &r));
    weft_status status = sums_of(comm, &r, &layouts[1]);
    sync_destroy(r.sync);
    return status;
}

/* ---- state ------------------------------------------------------------------------------------------------- */

/* Steps first..last of a training whose gradients depend on where it stands. */
static weft_status train(weft_comm *comm, rig *r, const layout_case *layout, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; ++step) {
        for (int64_t i = 0; i < TRAINED; ++i) {
            r->grad[i] = rough_gradient(comm_rank(comm), step, i) + 0.1f * r->value[i];
        }
        WEFT_TRY(step_of(r, layout, 1.0));
        for (int64_t i = 0; i < TRAINED; ++i) {
            r->value[i] -= 0.05f * r->grad[i];
        }
    }
    return WEFT_OK;
}

typedef struct saved {
    float value[ELEMENTS];
    unsigned char *bytes;
    int64_t count;
} saved;

/* Save: copy out. Otherwise write back what was saved. */
static weft_status move_state(rig *r, saved *s, bool save)
{
    const sync_buffer *buffer = NULL;
    int buffers = 0;
    WEFT_TRY(sync_state(r->sync, &buffer, &buffers));
    int64_t total = 0;
    for (int b = 0; b < buffers; ++b) {
        total += buffer[b].bytes;
    }
    if (save) {
        WEFT_TRY(WEFT_NEW(&s->bytes, total, WEFT_MEM_WORKSPACE));
        s->count = total;
    }
    CASE_CHECK(total == s->count, "%d bytes of state, %d were saved", (int)total, (int)s->count);
    memcpy(save ? s->value : r->value, save ? r->value : s->value, sizeof s->value);
    unsigned char *at = s->bytes;
    for (int b = 0; b < buffers; ++b) {
        if (buffer[b].bytes > 0) {
            memcpy(save ? at : buffer[b].data, save ? buffer[b].data : at, (size_t)buffer[b].bytes);
        }
        at += buffer[b].bytes;
    }
    return WEFT_OK;
}

/* Twelve steps in one go; then six, saved, and six more by a mode that was made anew and did other things before. */
static weft_status restored(weft_comm *comm, const sync_options *options, const layout_case *layout)
{
    weft_status status = WEFT_OK;
    rig whole = {0};
    rig begun = {0};
    rig resumed = {0};
    saved s = {0};
    WEFT_TRY_GOTO(rig_create(comm, options, layout, &whole), status, done);
    WEFT_TRY_GOTO(sync_reset(whole.sync), status, done);
    WEFT_TRY_GOTO(train(comm, &whole, layout, 1, 12), status, done);
    WEFT_TRY_GOTO(rig_create(comm, options, layout, &begun), status, done);
    WEFT_TRY_GOTO(train(comm, &begun, layout, 50, 52), status, done);
    memset(begun.value, 0, sizeof begun.value);
    WEFT_TRY_GOTO(sync_reset(begun.sync), status, done);
    WEFT_TRY_GOTO(train(comm, &begun, layout, 1, 6), status, done);
    WEFT_TRY_GOTO(move_state(&begun, &s, true), status, done);
    WEFT_TRY_GOTO(rig_create(comm, options, layout, &resumed), status, done);
    WEFT_TRY_GOTO(train(comm, &resumed, layout, 90, 93), status, done);
    WEFT_TRY_GOTO(move_state(&resumed, &s, false), status, done);
    WEFT_TRY_GOTO(train(comm, &resumed, layout, 7, 12), status, done);
    WEFT_CHECK_GOTO(memcmp(whole.value, resumed.value, sizeof whole.value) == 0, status, done, WEFT_ERR_INTERNAL,
                    "%s, exchange %d, selection %d: resumed parameters differ", sync_mode_name(options->mode),
                    (int)options->topk.exchange, (int)options->topk.select.method);
done:
    weft_free(s.bytes);
    sync_destroy(whole.sync);
    sync_destroy(begun.sync);
    sync_destroy(resumed.sync);
    return status;
}

typedef struct damaged_topk {
    rig r;
    saved s;
    weft_comm *comm;
} damaged_topk;

static weft_status damaged_put_back(void *self)
{
    damaged_topk *d = self;
    return move_state(&d->r, &d->s, false);
}

static weft_status damaged_steps(void *self)
{
    damaged_topk *d = self;
    return train(d->comm, &d->r, &layouts[1], 7, 8);
}

/* topk: the step, the selector's counters, and regions and thresholds of ok-topk. */
static weft_status case_damaged_state(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int k = 0; k < 3 && comm_size(comm) > 1 && comm_size(comm) < 5; ++k) {
        damaged_topk *d = NULL;
        sync_options options = topk_options(0.02);
        options.topk.exchange = exchanges[1 + k];
        options.topk.select.method = k == 0 ? SELECT_REUSE : SELECT_RADIX;
        options.topk.select.refresh = 4;
        options.topk.warmup = 8;
        WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_GENERAL));
        d->comm = comm;
        WEFT_TRY(rig_create(comm, &options, &layouts[1], &d->r));
        WEFT_TRY(sync_reset(d->r.sync));
        WEFT_TRY(train(comm, &d->r, &layouts[1], 1, 6));
        WEFT_TRY(move_state(&d->r, &d->s, true));
        const damaged_rig damaged = {
            .self = d, .sync = d->r.sync, .put_back = damaged_put_back, .steps = damaged_steps};
        WEFT_TRY(damaged_all(comm, &damaged, 8));
        weft_free(d->s.bytes);
        sync_destroy(d->r.sync);
        weft_free(d);
    }
    return WEFT_OK;
}

static weft_status case_state(weft_comm *comm, void *argument)
{
    static const select_method methods[] = {SELECT_RADIX, SELECT_MSTOPK, SELECT_REUSE};
    (void)argument;
    sync_options exact = sync_options_default();
    WEFT_TRY(restored(comm, &exact, &layouts[1]));
    exact.overlap = OVERLAP_SPLIT;
    WEFT_TRY(restored(comm, &exact, &layouts[1]));
    for (int m = 0; m < 3; ++m) {
        sync_options options = topk_options(0.02);
        options.topk.exchange = exchanges[1 + m % 3];
        options.topk.select.method = methods[m];
        options.topk.select.refresh = 4;
        options.topk.momentum = 0.9;
        options.topk.masking = m == 1;
        options.topk.warmup = 8;
        WEFT_TRY(restored(comm, &options, &layouts[1]));
    }
    return WEFT_OK;
}

/* ---- memory that is short ------------------------------------------------------------------------------------ */

/* A rank runs out of memory at any point of the creation: all ranks fail, and a later creation works. */
static weft_status short_of_memory(weft_comm *comm, const sync_options *options)
{
    rig r;
    uint64_t before = weft_mem_usage_total().allocations;
    WEFT_TRY(rig_create(comm, options, &layouts[1], &r));
    WEFT_TRY(comm_barrier(comm));
    int64_t count = (int64_t)(weft_mem_usage_total().allocations - before);
    sync_destroy(r.sync);
    WEFT_TRY(comm_allreduce(comm, &count, 1, WEFT_DTYPE_I64, COMM_MIN));
    for (int64_t n = 1; n < count; n += 1 + n / 8) {
        WEFT_TRY(comm_barrier(comm));
        if (comm_rank(comm) == 0) {
            weft_alloc_fail_after((uint64_t)n);
        }
        WEFT_TRY(comm_barrier(comm));
        int64_t status = rig_create(comm, options, &layouts[1], &r);
        WEFT_TRY(comm_barrier(comm));
        weft_alloc_fail_after(0);
        sync_destroy(r.sync);
        int64_t bounds[2] = {status, -status};
        WEFT_TRY(comm_allreduce(comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
        CASE_CHECK(bounds[0] == -bounds[1] && (status == WEFT_OK || status == WEFT_ERR_RESOURCE),
                   "allocation %d of %d: status %d here, %d elsewhere", (int)n, (int)count, (int)status,
                   (int)bounds[0]);
    }
    return WEFT_OK;
}

static weft_status case_short_of_memory(weft_comm *comm, void *argument)
{
    (void)argument;
    if (comm_size(comm) != 2) {
        return WEFT_OK;
    }
    sync_options exact = exact_options(COMM_ALGO_RING, OVERLAP_SPLIT);
    WEFT_TRY(short_of_memory(comm, &exact));
    sync_options topk = topk_options(0.02);
    topk.topk.momentum = 0.9;
    return short_of_memory(comm, &topk);
}

static const comm_case sync_cases[] = {
    {"sums of float64; topk refuses them", case_sums_double},
    {"fixed order: bits of the serial sum in any buckets", case_fixed_order},
    {"reset, average and finish of equal replicas", case_reset},
    {"buckets that do not tile the gradient", case_bad_buckets},
    {"ranks that disagree", case_ranks_disagree},
    {"values that are not finite among many, several threads", case_not_finite_long},
    {"topk against a simulation of all ranks", case_topk_simulated},
    {"topk of density 1 is the sum", case_topk_sends_everything},
    {"ranks that are short of memory", case_short_of_memory},
};
/* Also with communication threads. */
static const comm_case sync_cases_threaded[] = {
    {"sums of integers, every overlap", case_sums}, {"values that are not finite", case_not_finite},
    {"topk loses nothing", case_topk_conserves},    {"state saved and restored", case_state},
    {"damaged state", case_damaged_state},
};
enum {
    SYNC_CASES = sizeof sync_cases / sizeof *sync_cases,
    SYNC_CASES_THREADED = sizeof sync_cases_threaded / sizeof *sync_cases_threaded
};
