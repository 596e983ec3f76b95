/*
 * Synchronisation of gradients and parameters that lie on a device: every mode has the bits that it has in host memory,
 * and of a sparse or a narrow gradient only what is sent comes down.
 */
#include <math.h>

#include "base/half.h"
#include "base/log.h"
#include "comm/sync/sync.h"
#include "support/test.h"

enum { MATRIX = 192 * 192, BIAS = 192, SECOND = 64 * 40, TRAINED = MATRIX + BIAS + SECOND, STATE = 32 };
enum { ELEMENTS = TRAINED + STATE, RANKS = 3, STEPS = 6 };

static const sync_tensor tensors[] = {
    {"first.weight", 0, 192, 192}, {"first.bias", MATRIX, 1, BIAS}, {"second.weight", MATRIX + BIAS, 64, 40}};
static const sync_bucket buckets[] = {{MATRIX / 2, TRAINED - MATRIX / 2}, {0, MATRIX / 2}};

/* Bytes that this rank's backend handed to the host. */
static _Thread_local int64_t downloaded;
typedef weft_status download_fn(weft_hal *hal, void *host, const void *device, size_t bytes);
static _Thread_local download_fn *device_download, *device_download_async;

static weft_status counted_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    downloaded += (int64_t)bytes;
    return device_download(hal, host, device, bytes);
}

static weft_status counted_download_async(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    downloaded += (int64_t)bytes;
    return device_download_async(hal, host, device, bytes);
}

static weft_status always(weft_hal *hal, hal_event *event, bool *yes)
{
    (void)hal, (void)event;
    *yes = true;
    return WEFT_OK;
}

/* Bytes that it gave. */
static _Thread_local int64_t allocated;
static _Thread_local weft_status (*device_alloc)(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device);

static weft_status counted_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    allocated += (int64_t)bytes;
    return device_alloc(hal, bytes, tag, device);
}

/* The same replica twice: in host memory, and on a device. */
typedef struct twins {
    weft_hal *hal;
    comm_sync *host, *device;
    float *value, *grad;               /* in host memory */
    float *device_value, *device_grad; /* on the device */
    float *seen;                       /* [ELEMENTS] what the device has */
} twins;

static void twins_free(twins *t)
{
    sync_destroy(t->host);
    sync_destroy(t->device);
    if (t->hal != NULL) {
        t->hal->mem.free(t->hal, t->device_value);
        t->hal->mem.free(t->hal, t->device_grad);
    }
    weft_hal_close(t->hal);
    weft_free(t->value);
    weft_free(t->grad);
    weft_free(t->seen);
}

static weft_status twins_make(weft_comm *comm, const sync_options *options, bool hasty, twins *t)
{
    sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                      .trained = TRAINED,
                      .elements = ELEMENTS,
                      .bucket = buckets,
                      .buckets = 2,
                      .tensor = tensors,
                      .tensors = 3};
    WEFT_TRY(weft_hal_open(test_device("shadow:ref"), 1, &t->hal));
    device_download = t->hal->mem.download;
    device_download_async = t->hal->mem.download_async;
    t->hal->mem.download = counted_download;
    t->hal->mem.download_async = counted_download_async;
    device_alloc = t->hal->mem.alloc;
    t->hal->mem.alloc = counted_alloc;
    t->hal->stream.reached = hasty ? always : t->hal->stream.reached;
    WEFT_TRY(WEFT_NEW(&t->value, ELEMENTS, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&t->grad, TRAINED, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&t->seen, ELEMENTS, WEFT_MEM_COMM));
    WEFT_TRY(t->hal->mem.alloc(t->hal, ELEMENTS * sizeof(float), WEFT_MEM_COMM, (void **)&t->device_value));
    WEFT_TRY(t->hal->mem.alloc(t->hal, TRAINED * sizeof(float), WEFT_MEM_COMM, (void **)&t->device_grad));
    for (int64_t i = 0; i < ELEMENTS; ++i) {
        t->value[i] = (float)(comm_rank(comm) + 1) / (float)(i + 3);
    }
    WEFT_TRY(t->hal->mem.upload(t->hal, t->device_value, t->value, ELEMENTS * sizeof(float)));
    desc.value = t->value;
    desc.grad = t->grad;
    WEFT_TRY(sync_create(comm, options, &desc, &t->host));
    desc.hal = t->hal;
    desc.value = t->device_value;
    desc.grad = t->device_grad;
    allocated = 0;
    WEFT_TRY(sync_create(comm, options, &desc, &t->device));
    WEFT_TRY(sync_reset(t->host));
    return sync_reset(t->device);
}

typedef struct device_case {
    const char *name;
    sync_options options;
    int zeros;         /* all but one in so many elements of the matrix are zeros */
    bool equal_values; /* the others are one number, or its negative */
    bool narrow;       /* the wire's type is that of the gradients, so that a cast loses nothing */
    bool threaded;     /* a communication thread looks at buckets, and at whether they are there */
    bool hasty;        /* and takes every copy for done */
} device_case;

static float gradient(const device_case *c, int rank, int64_t step, int64_t i)
{
    uint64_t x = ((uint64_t)rank * 1000003 + (uint64_t)step * 7919 + (uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    if (c->zeros > 0 && (x >> 20) % (uint64_t)c->zeros != 0) {
        return 0.0f;
    }
    if (c->equal_values) {
        return x >> 63 != 0 ? 0.25f : -0.25f;
    }
    float g = ldexpf((float)(x >> 40) / (float)(1 << 24) - 0.5f, (int)((x >> 8) % 12) - 6);
    return c->narrow ? bf16_to_float(bf16_from_float(g)) : g;
}

static weft_status look(twins *t, const float *device, int64_t count)
{
    return device_download(t->hal, t->seen, device, (size_t)count * sizeof(float));
}

static weft_status compare(twins *t, const float *device, const float *host, int64_t count, const char *what,
                           const device_case *c, int64_t step)
{
    WEFT_TRY(look(t, device, count));
    for (int64_t i = 0; i < count; ++i) {
        WEFT_CHECK(t->seen[i] == host[i], WEFT_ERR_INTERNAL,
                   "%s, %s of step %d, element %d: %.9g on the device, %.9g in host memory", c->name, what, (int)step,
                   (int)i, (double)t->seen[i], (double)host[i]);
    }
    return WEFT_OK;
}

static weft_status gradients_of(comm_sync *sync, double weight)
{
    WEFT_TRY(sync_begin(sync, 0.1, weight));
    for (int b = 0; b < 2; ++b) {
        WEFT_TRY(sync_ready(sync, b));
    }
    WEFT_TRY(sync_gradients(sync));
    for (int b = 0; b < 2; ++b) {
        WEFT_TRY(sync_need(sync, b));
    }
    return WEFT_OK;
}

static weft_status upload_gradient(twins *t)
{
    return t->hal->mem.upload(t->hal, t->device_grad, t->grad, TRAINED * sizeof(float));
}

/* A plain step of each twin's own. */
static weft_status descend(twins *t)
{
    WEFT_TRY(look(t, t->device_value, ELEMENTS));
    for (int64_t i = 0; i < TRAINED; ++i) {
        t->value[i] -= 0.01f * t->grad[i];
        t->seen[i] -= 0.01f * t->grad[i];
    }
    return t->hal->mem.upload(t->hal, t->device_value, t->seen, ELEMENTS * sizeof(float));
}

static weft_status step_of(weft_comm *comm, const device_case *c, twins *t, int64_t step)
{
    const double weight = step == 4 && comm_rank(comm) == 1 ? 0.0 : 1.0; /* a rank without data */
    for (int64_t i = 0; i < TRAINED; ++i) {
        t->grad[i] = gradient(c, comm_rank(comm), step, i);
    }
    WEFT_TRY(upload_gradient(t));
    WEFT_TRY(gradients_of(t->device, weight));
    WEFT_TRY(gradients_of(t->host, weight));
    for (int64_t i = 0; c->narrow && i < TRAINED; ++i) {
        t->grad[i] = bf16_to_float(bf16_from_float(t->grad[i])); /* as the sum goes back to the device */
    }
    WEFT_TRY(compare(t, t->device_grad, t->grad, TRAINED, "gradient", c, step));
    WEFT_TRY(descend(t));
    WEFT_TRY(sync_parameters(t->device));
    WEFT_TRY(sync_parameters(t->host));
    return compare(t, t->device_value, t->value, ELEMENTS, "parameters", c, step);
}

/* What a checkpoint holds is the same, byte for byte: a device's state in host memory goes on anywhere. */
static weft_status compare_state(const device_case *c, const twins *t)
{
    const sync_buffer *a = NULL, *b = NULL;
    int as = 0, bs = 0;
    WEFT_TRY(sync_state(t->device, &a, &as));
    WEFT_TRY(sync_state(t->host, &b, &bs));
    WEFT_CHECK(as == bs, WEFT_ERR_INTERNAL, "%s: %d and %d buffers", c->name, as, bs);
    for (int i = 0; i < as; ++i) {
        WEFT_CHECK(a[i].bytes == b[i].bytes && strcmp(a[i].name, b[i].name) == 0, WEFT_ERR_INTERNAL, "%s: %s", c->name,
                   a[i].name);
        if (strstr(a[i].name, "residual") != NULL || strstr(a[i].name, "velocity") != NULL) {
            const float *x = a[i].data, *y = b[i].data;
            for (int64_t e = 0; e < a[i].bytes / (int64_t)sizeof *x; ++e) {
                WEFT_CHECK(x[e] == y[e], WEFT_ERR_INTERNAL, "%s: %s, element %d: %.9g, %.9g", c->name, a[i].name,
                           (int)e, (double)x[e], (double)y[e]);
            }
        }
    }
    return WEFT_OK;
}

static weft_status run_case(weft_comm *comm, const device_case *c, twins *t)
{
    WEFT_TRY(c->threaded ? comm_thread_start(comm, -1) : WEFT_OK);
    WEFT_TRY(twins_make(comm, &c->options, c->hasty, t));
    for (int64_t step = 1; step <= STEPS; ++step) {
        WEFT_TRY(step_of(comm, c, t, step));
        if (step == 3) {
            WEFT_TRY(compare_state(c, t));
            WEFT_TRY(sync_average(t->device));
            WEFT_TRY(sync_average(t->host));
            WEFT_TRY(compare(t, t->device_value, t->value, ELEMENTS, "average", c, step));
            WEFT_TRY(sync_resume(t->device));
            WEFT_TRY(sync_resume(t->host));
            WEFT_TRY(compare(t, t->device_value, t->value, ELEMENTS, "own parameters", c, step));
        }
    }
    WEFT_TRY(sync_finish(t->device));
    WEFT_TRY(sync_finish(t->host));
    return compare(t, t->device_value, t->value, ELEMENTS, "last average", c, STEPS);
}

static weft_status case_rank(weft_comm *comm, void *argument)
{
    twins t = {0};
    weft_status status = run_case(comm, argument, &t);
    twins_free(&t);
    return status;
}

static sync_options options_of(sync_mode mode)
{
    sync_options options = sync_options_default();
    options.mode = mode;
    options.algorithm = COMM_ALGO_FIXED_ORDER;
    options.topk.exchange = SPARSE_ALL_GATHER;
    options.topk.dense_below = 256;
    options.shadow.gap = 1; /* the same steps for both */
    return options;
}

static void run(device_case *c)
{
    ASSERT_OK(comm_thread_run(RANKS, case_rank, c));
}

static void test_modes_have_the_bits_of_host_memory(void **state)
{
    (void)state;
    device_case split = {.name = "allreduce, split", .options = options_of(SYNC_ALLREDUCE)};
    device_case off = {.name = "allreduce, off", .options = options_of(SYNC_ALLREDUCE)};
    device_case shuffle = {.name = "divide-shuffle", .options = options_of(SYNC_DIVIDE_SHUFFLE)};
    device_case tracked = {.name = "divide-shuffle, tracking", .options = options_of(SYNC_DIVIDE_SHUFFLE)};
    device_case shadow = {.name = "shadow", .options = options_of(SYNC_SHADOW)};
    device_case asp = {.name = "asp", .options = options_of(SYNC_ASP)};
    split.options.overlap = OVERLAP_SPLIT;
    off.options.overlap = OVERLAP_OFF;
    tracked.options.tracking = SYNC_TRACKING_ON;
    run(&split);
    run(&off);
    run(&shuffle);
    run(&tracked);
    run(&shadow);
    run(&asp);
}

/* Whether the device that is tested is an imitated one that a thread asks: its copies run late. */
static bool device_is_asked(void)
{
    weft_hal *hal = NULL;
    setenv("WEFT_CUDA_SHIM_DIRECT", "1", 1);
    ASSERT_OK(weft_hal_open(test_device("shadow:ref"), 1, &hal));
    const bool asked = hal->stream.reached != NULL && hal->mem.reach == HAL_REACH_ALL;
    weft_hal_close(hal);
    unsetenv("WEFT_CUDA_SHIM_DIRECT");
    return asked;
}

/* Where copies run late the case fails once they are not waited for. */
static void assert_waits(device_case *c)
{
    if (device_is_asked()) {
        c->hasty = true;
        log_set_level(LOG_QUIET);
        assert_int_not_equal(comm_thread_run(RANKS, case_rank, c), WEFT_OK);
    }
}

/* Buckets that the communication thread starts, once they have come; and one that is started before. */
static void test_allreduce_that_a_thread_starts(void **state)
{
    static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_OFF};
    (void)state;
    device_case c = {.name = "allreduce, thread", .options = options_of(SYNC_ALLREDUCE), .threaded = true};
    for (int i = 0; i < 3; ++i) {
        c.options.overlap = overlaps[i];
        run(&c);
    }
    assert_waits(&c);
}

/* Whole tensors, selections, everything; exchanges begin in the wait, or on the communication thread. */
static void test_topk_has_the_bits_of_host_memory(void **state)
{
    static const double densities[] = {0.01, 0.2, 1.0};
    (void)state;
    for (int i = 0; i < 12; ++i) {
        device_case c = {.name = "topk", .options = options_of(SYNC_TOPK), .threaded = i % 2 == 1};
        c.options.topk.density = densities[i % 3];
        c.options.topk.momentum = i / 3 % 2 == 0 ? 0.0 : 0.9;
        c.options.topk.masking = i >= 6;
        c.options.topk.warmup = i >= 6 ? 3 : 0;
        run(&c);
    }
    for (int i = 0; i < 3; ++i) {
        device_case c = {.name = "topk, too early", .options = options_of(SYNC_TOPK), .threaded = true};
        c.options.topk.density = densities[i];
        assert_waits(&c);
    }
}

/* What topk keeps on a device is what a plan counts, or less by the tensors that go whole. */
static weft_status planned_rank(weft_comm *comm, void *argument)
{
    const device_case *c = argument;
    twins t = {0};
    weft_status status = twins_make(comm, &c->options, false, &t);
    if (status == WEFT_OK) {
        const sync_device_need need = sync_topk_on_device(&c->options, t.hal, TRAINED, buckets[0].count);
        const int64_t planned = (int64_t)need.kept;
        if (allocated > planned || allocated < planned - planned / 20) {
            status = weft_fail(WEFT_ERR_INTERNAL, "density %g, momentum %g, warm-up %d: %lld bytes, planned %lld",
                               c->options.topk.density, c->options.topk.momentum, (int)c->options.topk.warmup,
                               (long long)allocated, (long long)planned);
        }
    }
    twins_free(&t);
    return status;
}

static void test_topk_keeps_what_is_planned(void **state)
{
    static const double densities[] = {0.01, 0.2, 0.9, 1.0};
    (void)state;
    for (int i = 0; i < 8; ++i) {
        device_case c = {.name = "topk", .options = options_of(SYNC_TOPK)};
        c.options.topk.density = densities[i % 4];
        c.options.topk.momentum = i >= 4 ? 0.9 : 0.0;
        c.options.topk.warmup = i % 2 == 0 ? 3 : 0;
        ASSERT_OK(comm_thread_run(RANKS, planned_rank, &c));
    }
}

/* Most elements share the k-th magnitude, zero or another. */
static void test_topk_of_equal_magnitudes(void **state)
{
    (void)state;
    for (int momentum = 0; momentum < 2; ++momentum) {
        device_case zeros = {.name = "mostly zeros", .options = options_of(SYNC_TOPK), .zeros = 300};
        device_case equal = {.name = "equal values", .options = options_of(SYNC_TOPK), .equal_values = true};
        device_case both = {
            .name = "equal values and zeros", .options = options_of(SYNC_TOPK), .equal_values = true, .zeros = 3};
        zeros.options.topk.momentum = equal.options.topk.momentum = both.options.topk.momentum = 0.9 * momentum;
        run(&zeros);
        run(&equal);
        run(&both);
    }
}

/* Exchanges that sum over a node first, and selections that are not exact, are made in host memory. */
static void test_topk_that_comes_down_whole(void **state)
{
    (void)state;
    device_case node = {.name = "hierarchical", .options = options_of(SYNC_TOPK)};
    device_case reuse = {.name = "reuse", .options = options_of(SYNC_TOPK)};
    node.options.topk.exchange = SPARSE_HIERARCHICAL;
    reuse.options.topk.select.method = SELECT_REUSE;
    run(&node);
    run(&reuse);
}

static void test_narrow_wire_of_narrow_gradients(void **state)
{
    (void)state;
    device_case c = {.name = "bf16", .options = options_of(SYNC_ALLREDUCE), .narrow = true};
    c.options.algorithm = COMM_ALGO_AUTO;
    c.options.wire = COMM_WIRE_BF16;
    run(&c);
    c.threaded = true;
    run(&c);
    assert_waits(&c);
}

/* ---- what comes down ------------------------------------------------------------------------------------------ */

typedef struct volume_case {
    device_case base;
    int64_t least, most; /* bytes of a step */
} volume_case;

static weft_status volume_rank(weft_comm *comm, void *argument)
{
    const volume_case *v = argument;
    twins t = {0};
    weft_status status = twins_make(comm, &v->base.options, false, &t);
    for (int64_t step = 1; step <= 3 && status == WEFT_OK; ++step) {
        for (int64_t i = 0; i < TRAINED; ++i) {
            t.grad[i] = gradient(&v->base, comm_rank(comm), step, i);
        }
        status = upload_gradient(&t);
        downloaded = 0;
        status = status == WEFT_OK ? gradients_of(t.device, 1.0) : status;
        if (status == WEFT_OK && (downloaded < v->least || downloaded > v->most)) {
            status = weft_fail(WEFT_ERR_INTERNAL, "%s: %lld bytes came down in step %d", v->base.name,
                               (long long)downloaded, (int)step);
        }
    }
    twins_free(&t);
    return status;
}

static void test_only_what_is_sent_comes_down(void **state)
{
    (void)state;
    /* Of each bucket a hundredth, a place and a value an element, and where it is not finite; the bias whole. */
    const int64_t selected = (TRAINED - BIAS) / 100;
    const int64_t bias = BIAS * (int64_t)sizeof(float);
    volume_case topk = {.base = {.name = "topk", .options = options_of(SYNC_TOPK)},
                        .least = bias + 8 * selected,
                        .most = bias + 8 * (selected + 2) + 2 * 8};
    volume_case zeros = topk;
    volume_case whole = {.base = {.name = "all", .options = options_of(SYNC_ALLREDUCE)},
                         .least = TRAINED * (int64_t)sizeof(float),
                         .most = TRAINED * (int64_t)sizeof(float)};
    volume_case narrow = {.base = {.name = "bf16", .options = options_of(SYNC_ALLREDUCE)},
                          .least = TRAINED * (int64_t)sizeof(uint16_t),
                          .most = TRAINED * (int64_t)sizeof(uint16_t)};
    /* Parameters travel alone: of a gradient comes down where it is not finite. */
    volume_case shuffle = {
        .base = {.name = "divide-shuffle", .options = options_of(SYNC_DIVIDE_SHUFFLE)}, .least = 0, .most = 2 * 8};
    volume_case shadow = {.base = {.name = "shadow", .options = options_of(SYNC_SHADOW)}, .least = 0, .most = 2 * 8};
    zeros.base.zeros = 300; /* fewer than a hundredth are not zeros */
    narrow.base.options.algorithm = COMM_ALGO_AUTO;
    narrow.base.options.wire = COMM_WIRE_BF16;
    assert_true(topk.most < TRAINED * (int64_t)sizeof(float) / 20);
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &topk));
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &zeros));
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &whole));
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &narrow));
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &shuffle));
    ASSERT_OK(comm_thread_run(RANKS, volume_rank, &shadow));
}

/* ---- what is not finite ----------------------------------------------------------------------------------------- */

static weft_status diverging_rank(weft_comm *comm, void *argument)
{
    const device_case *c = argument;
    const char *tensor = NULL;
    twins t = {0};
    weft_status status = c->threaded ? comm_thread_start(comm, -1) : WEFT_OK;
    status = status == WEFT_OK ? twins_make(comm, &c->options, false, &t) : status;
    for (int64_t i = 0; status == WEFT_OK && i < TRAINED; ++i) {
        t.grad[i] = comm_rank(comm) == 1 && i == MATRIX + 7 ? NAN : 1.0f;
    }
    status = status == WEFT_OK ? upload_gradient(&t) : status;
    status = status == WEFT_OK ? gradients_of(t.device, 1.0) : status;
    if (status == WEFT_OK && sync_diverged(t.device, &tensor) != (comm_rank(comm) == 1)) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%s: rank %d", c->name, comm_rank(comm));
    }
    if (status == WEFT_OK && tensor != NULL && strcmp(tensor, "first.bias") != 0) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%s: %s is blamed", c->name, tensor);
    }
    twins_free(&t);
    return status;
}

static void test_tensors_that_are_not_finite_are_named(void **state)
{
    (void)state;
    device_case c[] = {{.name = "topk", .options = options_of(SYNC_TOPK)},
                       {.name = "allreduce", .options = options_of(SYNC_ALLREDUCE)},
                       {.name = "bf16", .options = options_of(SYNC_ALLREDUCE)},
                       {.name = "allreduce, thread", .options = options_of(SYNC_ALLREDUCE), .threaded = true},
                       {.name = "bf16, thread", .options = options_of(SYNC_ALLREDUCE), .threaded = true},
                       {.name = "divide-shuffle", .options = options_of(SYNC_DIVIDE_SHUFFLE)}};
    for (int i = 2; i <= 4; i += 2) {
        c[i].options.algorithm = COMM_ALGO_AUTO;
        c[i].options.wire = COMM_WIRE_BF16;
    }
    for (size_t i = 0; i < sizeof c / sizeof *c; ++i) {
        ASSERT_OK(comm_thread_run(RANKS, diverging_rank, &c[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes_have_the_bits_of_host_memory),
        cmocka_unit_test(test_allreduce_that_a_thread_starts),
        cmocka_unit_test(test_topk_has_the_bits_of_host_memory),
        cmocka_unit_test(test_topk_keeps_what_is_planned),
        cmocka_unit_test(test_topk_of_equal_magnitudes),
        cmocka_unit_test(test_topk_that_comes_down_whole),
        cmocka_unit_test(test_narrow_wire_of_narrow_gradients),
        cmocka_unit_test(test_only_what_is_sent_comes_down),
        cmocka_unit_test(test_tensors_that_are_not_finite_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
