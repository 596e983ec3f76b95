/*
 * The engine: gradients of whole networks against central finite differences in float64, every kind of unit and every
 * way in which gradients meet; P ranks against one; the cpu backend against ref; evaluations in lanes against those of
 * one thread; no allocation after the first step; weight gradients of every pass against those that a listener forms
 * out of the rows that it is told of.
 */
#include <math.h>

#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"
#include "support/random.h"
#include "support/tap_sums.h"
#include "support/test.h"

enum { MOST_IMAGES = 16, CLASSES = 3, TEXT_WORDS = 9 };

typedef struct bench_case {
    const char *what, *text; /* without a text `what` is a name of the zoo */
    net_size size;
    weft_dtype dtype;
    weft_dtype narrow; /* type of the values, where it is a shorter one: WEFT_DTYPE_BF16, WEFT_DTYPE_F16 */
} bench_case;

/* One rank's model and its share of a batch. */
typedef struct bench {
    weft_hal *hal;
    int64_t first; /* image */
    bool alone;    /* nobody listens to the backward pass */
    network net;
    dense_model model;
    image_batch batch;
    weft_tensor pixels, ids, dlogits;
    train_targets targets;
    weft_dtype dtype;
} bench;

static double pixel_at(int64_t image, int64_t at)
{
    uint64_t state = (uint64_t)(image * 7919 + 13);
    double value = 0.0;
    for (int64_t i = 0; i <= at % 5; ++i) {
        value = test_uniform(&state);
    }
    return 2.0 * value - 1.0 + 0.7 * sin(0.37 * (double)at + 0.9 * (double)image);
}

enum { MOST_VALUES = 1 << 14 };

static weft_status put(weft_tensor *t, const double *values)
{
    float narrow[MOST_VALUES];
    const int64_t count = t->rows * t->cols;
    WEFT_CHECK(count <= MOST_VALUES, WEFT_ERR_INTERNAL, "%lld values", (long long)count);
    for (int64_t i = 0; i < count; ++i) {
        narrow[i] = (float)values[i];
    }
    return tensor_upload(t, t->dtype == WEFT_DTYPE_F64 ? (const void *)values : narrow);
}

static weft_status get(const weft_tensor *t, double *values)
{
    float narrow[MOST_VALUES];
    const int64_t count = t->rows * t->cols;
    WEFT_CHECK(count <= MOST_VALUES, WEFT_ERR_INTERNAL, "%lld values", (long long)count);
    WEFT_TRY(tensor_download(t, t->dtype == WEFT_DTYPE_F64 ? (void *)values : narrow));
    for (int64_t i = 0; t->dtype != WEFT_DTYPE_F64 && i < count; ++i) {
        values[i] = (double)narrow[i];
    }
    return WEFT_OK;
}

/* How a model is made. */
typedef struct bench_how {
    bool winograd;
    bool (*norms)(const weft_hal *hal, const hal_conv_shape *shape); /* NULL: as the backend says */
    int threads; /* of a model for evaluations alone; 0: one for training, of one thread */
} bench_how;

static weft_status bench_open_with(bench *b, weft_comm *comm, const char *backend, const bench_case *c, int64_t images,
                                   const bench_how *how)
{
    *b = (bench){.dtype = c->dtype};
    WEFT_TRY(weft_hal_open(test_device(backend), how->threads > 0 ? how->threads : 1, &b->hal));
    b->hal->image.conv_norms = how->norms != NULL ? how->norms : b->hal->image.conv_norms;
    WEFT_TRY(c->text != NULL ? net_parse(c->text, "test", &b->net) : net_zoo(c->what, &b->net));
    b->net.words = c->text != NULL && strstr(c->text, "embed words") != NULL ? TEXT_WORDS : 0;
    WEFT_TRY(net_fit(&b->net, c->size, CLASSES));
    const dense_config config = {.net = &b->net,
                                 .norm = NORM_BATCH,
                                 .images = &images,
                                 .sizes = images > 0,
                                 .training = how->threads == 0,
                                 .values = hal_is_half(c->narrow) ? c->narrow : c->dtype,
                                 .winograd = how->winograd};
    WEFT_TRY(dense_model_create(comm, b->hal, c->dtype, &config, &b->model));
    WEFT_TRY(param_initialise(&b->model.params, 5));
    WEFT_TRY(tensor_create(b->hal, c->dtype, images * c->size.height * c->size.width, c->size.channels,
                           WEFT_MEM_GENERAL, &b->pixels));
    WEFT_TRY(tensor_create(b->hal, WEFT_DTYPE_I64, images, 1, WEFT_MEM_GENERAL, &b->ids));
    return tensor_create(b->hal, c->dtype, images, CLASSES, WEFT_MEM_GENERAL, &b->dlogits);
}

static weft_status bench_open(bench *b, weft_comm *comm, const char *backend, const bench_case *c, int64_t images)
{
    return bench_open_with(b, comm, backend, c, images, &(bench_how){.winograd = false});
}

static void bench_close(bench *b)
{
    tensor_destroy(&b->pixels);
    tensor_destroy(&b->ids);
    tensor_destroy(&b->dlogits);
    dense_model_destroy(&b->model);
    net_destroy(&b->net);
    weft_hal_close(b->hal);
}

/* Words of texts of 2 to 4 of them. */
static double word_at(const bench *b, int64_t text, int64_t at)
{
    return at < 2 + text % 3 ? (double)(1 + (3 * text + 2 * at) % (b->net.words - 1)) : 0.0;
}

/* Images [first, first + images) of a batch of `all`. */
static weft_status bench_fill(bench *b, int64_t first, int64_t images, int64_t all)
{
    double values[MOST_VALUES];
    int64_t id[MOST_IMAGES];
    const int64_t each = b->net.input.height * b->net.input.width * b->net.input.channels;
    for (int64_t n = 0; n < images; ++n) {
        id[n] = 100 + 3 * (first + n);
        for (int64_t i = 0; i < each; ++i) {
            values[n * each + i] = b->net.words > 0 ? word_at(b, first + n, i) : pixel_at(first + n, i);
        }
    }
    WEFT_TRY(put(&b->pixels, values));
    WEFT_TRY(tensor_upload(&b->ids, id));
    b->first = first;
    b->targets = (train_targets){.rows = images, .outputs = CLASSES, .loss_entries = all};
    b->batch = (image_batch){.pixels = b->pixels, .rows = images, .all_rows = all, .sample_id = b->ids};
    return WEFT_OK;
}

/* The scalar that is differentiated: the sum of w (z + z * z / 10) over the logits z. */
static double weight_at(int64_t image, int c)
{
    return cos(1.3 * (double)image + 0.7 * c) + 0.2;
}

static weft_status forward(bench *b, bool training, double *logits, double *sum)
{
    const train_batch batch = {.input = &b->batch, .targets = &b->targets};
    const train_pass pass = {.training = training, .seed = 3, .epoch = 2, .batch = &batch};
    weft_tensor out;
    WEFT_TRY(b->model.interface.forward(&b->model, &pass, &out));
    WEFT_TRY(get(&out, logits));
    *sum = 0.0;
    for (int64_t n = 0; n < b->batch.rows; ++n) {
        for (int c = 0; c < CLASSES; ++c) {
            const double z = logits[n * CLASSES + c];
            *sum += weight_at(b->first + n, c) * (z + 0.1 * z * z);
        }
    }
    return WEFT_OK;
}

static weft_status backward(bench *b, const double *logits)
{
    const train_batch batch = {.input = &b->batch, .targets = &b->targets};
    train_pass pass = {.training = true, .seed = 3, .epoch = 2, .batch = &batch};
    double slope[MOST_IMAGES * CLASSES];
    for (int64_t n = 0; n < b->batch.rows; ++n) {
        for (int c = 0; c < CLASSES; ++c) {
            slope[n * CLASSES + c] = weight_at(b->first + n, c) * (1.0 + 0.2 * logits[n * CLASSES + c]);
        }
    }
    WEFT_TRY(put(&b->dlogits, slope));
    weft_tensor dlogits = tensor_view(&b->dlogits, 0, b->dlogits.rows, 0, CLASSES);
    if (b->alone) {
        return b->model.interface.backward(&b->model, &pass, &dlogits);
    }
    tap_sums taps;
    const double rounding = hal_is_half(b->model.config.values) ? 3e-2 : b->dtype == WEFT_DTYPE_F64 ? 1e-11 : 2e-4;
    weft_status status = tap_sums_create(&b->model.params, 0, &taps);
    pass.tap = train_tap_of(&taps.tap, &pass);
    status = status == WEFT_OK ? b->model.interface.backward(&b->model, &pass, &dlogits) : status;
    status = status == WEFT_OK ? tap_sums_check(&taps, b->batch.rows > 0, rounding) : status;
    tap_sums_destroy(&taps);
    return status;
}

/* ---- finite differences ---- */

static const bench_case networks[] = {
    {"convolution and pooling",
     "conv 4 3 stride=2 pad=1\nrelu\nconv 6 3x2 pad=1 dilation=2x1 groups=2 bias=off\nmaxpool 2 stride=1\nlinear "
     "5\nrelu\n"
     "dropout 0.3\nlinear classes",
     {7, 8, 3},
     WEFT_DTYPE_F64,
     false},
    {"a residual block with shortcut A",
     "conv 4 3 pad=1 bias=off\nnorm\na: relu\ns: subsample 8 2\nconv 8 3 stride=2 pad=1 bias=off from=a\nnorm\nrelu\n"
     "conv 8 3 pad=1 bias=off\nnorm\nadd s\nrelu\nglobalpool\nlinear classes",
     {6, 6, 2},
     WEFT_DTYPE_F64,
     false},
    {"blocks with shortcuts of both kinds",
     "conv 4 3 pad=1\nnorm\na: relu\nd: conv 6 1 stride=2 bias=off\nd.n: norm\nconv 6 3 stride=2 pad=1 from=a\nnorm\n"
     "add d.n\nb: relu\nconv 6 3 pad=1\nnorm\nrelu\nconv 6 3 pad=1\nnorm\nadd b\nrelu\navgpool 2 stride=1\n"
     "linear classes bias=off\nscale 0.25",
     {6, 5, 2},
     WEFT_DTYPE_F64,
     false},
    {"norm in front",
     "a: conv 4 3 pad=1\nnorm\nr: relu\nconv 4 3 pad=1\nnorm\nrelu\nconv 4 3 pad=1\nb: add a\nnorm\nrelu\nglobalpool\n"
     "linear classes",
     {5, 5, 2},
     WEFT_DTYPE_F64,
     false},
    {"values that many read",
     "norm\na: conv 3 1\nb: relu\nc: conv 3 1 from=a\nadd b\nd: add a\ne: add d\nnorm\nadd e\nf: scale 0.5 from=d\nadd "
     "f\n"
     "relu\nadd a\nunread: conv 9 1\nmaxpool 2 from=e\nrelu\ndropout 0.4\nlinear classes",
     {4, 4, 2},
     WEFT_DTYPE_F64,
     false},
    {"norms that are made again",
     "conv 4 3 pad=1 bias=off\nnorm\na: relu\nconv 4 1\nnorm\nrelu\nconv 4 1 bias=off\nnorm\nadd a\nb: relu\n"
     "conv 4 1\nnorm\nrelu\nconv 4 1 bias=off\nnorm\nadd b\nc: relu\nconv 4 1\nnorm\nrelu\ndropout 0.2\n"
     "conv 4 1 bias=off\nnorm\nd: add c\nconv 3 1\ne: norm\nconv 3 1\nf: conv 3 1 from=e\ng: conv 3 1 from=e\n"
     "add f\nadd e\nnorm\nnorm\nrelu\nlinear classes\nnorm",
     {3, 3, 2},
     WEFT_DTYPE_F64,
     false},
    {"a norm of the input beside a residual",
     "a: conv 2 3 pad=1\nnorm from=input\nadd a\nb: relu\nconv 2 1\nnorm\nadd input\nrelu\nconv 3 1\nnorm\nrelu\n"
     "linear classes",
     {3, 3, 2},
     WEFT_DTYPE_F64,
     false},
    {"an encoder of texts",
     "embed words 4\nposition\np: scale 30\nin_: pointwise 12\nattention 2\npointwise 4\ndropout 0.2\na: add p\n"
     "pointwise 8\ngelu\npointwise 4\nadd a\ntokenmean\nlinear classes",
     {5, 1, 1},
     WEFT_DTYPE_F64,
     false},
    {"attention over pixels, with positions of the input",
     "position\nconv 4 2 stride=2\nposition\nq: pointwise 12\nattention 1\nr: attention 2 from=q\nadd attention1\n"
     "m: tokenmean\nlinear classes",
     {6, 4, 2},
     WEFT_DTYPE_F64,
     false},
    {"group norms, of the input and with two readers",
     "groupnorm 1\nconv 4 3 pad=1\ng: groupnorm 2\nrelu\nconv 4 3 pad=1 bias=off\ngroupnorm 4\nadd "
     "g\nrelu\nglobalpool\n"
     "linear classes",
     {4, 3, 2},
     WEFT_DTYPE_F64,
     false},
};

enum { NETWORKS = sizeof networks / sizeof networks[0] };

static weft_comm *self;

static int open_self(void **state)
{
    (void)state;
    ASSERT_OK(comm_create_self(&self));
    return 0;
}

static int close_self(void **state)
{
    (void)state;
    comm_destroy(self);
    return 0;
}

static double moved(bench *b, weft_tensor *value, double *values, int64_t i, double to)
{
    double logits[MOST_IMAGES * CLASSES];
    double sum = 0.0;
    const double kept = values[i];
    values[i] = to;
    ASSERT_OK(put(value, values));
    ASSERT_OK(forward(b, true, logits, &sum));
    values[i] = kept;
    ASSERT_OK(put(value, values));
    return sum;
}

static void check_block(bench *b, const char *what, int block, const double *gradient)
{
    double values[MOST_VALUES];
    const double step = 1e-5;
    weft_tensor value = param_value(&b->model.params, block);
    const int64_t count = value.rows * value.cols;
    const int64_t stride = count > 12 ? count / 12 : 1;
    ASSERT_OK(get(&value, values));
    for (int64_t i = block % stride; i < count; i += stride) {
        const double above = moved(b, &value, values, i, values[i] + step);
        const double below = moved(b, &value, values, i, values[i] - step);
        const double slope = (above - below) / (2.0 * step);
        if (!(fabs(slope - gradient[i]) <= 1e-7 * (1.0 + fabs(slope)))) {
            fail_msg("%s: block %d, element %lld: %.12g, finite differences say %.12g", what, block, (long long)i,
                     gradient[i], slope);
        }
    }
}

static void test_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETWORKS; ++i) {
        bench b;
        double logits[MOST_IMAGES * CLASSES];
        double gradient[MOST_VALUES];
        double sum = 0.0;
        ASSERT_OK(bench_open(&b, self, "ref", &networks[i], 4));
        ASSERT_OK(bench_fill(&b, 0, 4, 4));
        ASSERT_OK(forward(&b, true, logits, &sum));
        ASSERT_OK(backward(&b, logits));
        for (int block = 0; block < b.model.params.trained_blocks; ++block) {
            const weft_tensor grad = param_grad(&b.model.params, block);
            ASSERT_OK(get(&grad, gradient));
            check_block(&b, networks[i].what, block, gradient);
        }
        bench_close(&b);
    }
}

/* ---- ranks and backends ---- */

/* Logits, gradients and state after a step, and logits of an evaluation after it. */
typedef struct step_result {
    double logits[MOST_IMAGES * CLASSES], evaluated[MOST_IMAGES * CLASSES];
    double grad[MOST_VALUES], state[MOST_VALUES];
} step_result;

typedef struct ranks_run {
    const bench_case *c;
    const char *backend;
    int64_t images;
    step_result *result; /* of all ranks together */
} ranks_run;

static weft_status add_all(weft_comm *comm, const weft_tensor *t, double *sum, bool reduce)
{
    WEFT_TRY(get(t, sum));
    return reduce ? comm_allreduce(comm, sum, t->rows * t->cols, WEFT_DTYPE_F64, COMM_SUM) : WEFT_OK;
}

static weft_status take_step(weft_comm *comm, bench *b, const ranks_run *run)
{
    const int ranks = comm_size(comm);
    const int rank = comm_rank(comm);
    const int64_t first = run->images * rank / ranks;
    const int64_t images = run->images * (rank + 1) / ranks - first;
    const param_store *params = &b->model.params;
    step_result *mine = NULL;
    double sum = 0.0;
    WEFT_TRY(WEFT_NEW_ZERO(&mine, 1, WEFT_MEM_GENERAL));
    weft_status status = bench_open(b, comm, run->backend, run->c, images);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(bench_fill(b, first, images, run->images), status, done);
    WEFT_TRY_GOTO(forward(b, true, mine->logits + first * CLASSES, &sum), status, done);
    WEFT_TRY_GOTO(backward(b, mine->logits + first * CLASSES), status, done);
    WEFT_TRY_GOTO(add_all(comm, &params->grad, mine->grad, true), status, done);
    const weft_tensor moved_state =
        tensor_view(&params->value, 0, 1, params->trained, params->elements - params->trained);
    WEFT_TRY_GOTO(add_all(comm, &moved_state, mine->state, false), status, done);
    WEFT_TRY_GOTO(forward(b, false, mine->evaluated + first * CLASSES, &sum), status, done);
    const int64_t logits = 2 * MOST_IMAGES * CLASSES;
    WEFT_TRY_GOTO(comm_allreduce(comm, mine->logits, logits, WEFT_DTYPE_F64, COMM_SUM), status, done);
    if (rank == 0) {
        *run->result = *mine;
    }
done:
    weft_free(mine);
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    bench b;
    weft_status status = take_step(comm, &b, argument);
    bench_close(&b);
    return status;
}

static void compare(const char *what, const double *a, const double *b, int64_t count, double tolerance)
{
    double largest = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        largest = fmax(largest, fabs(a[i]));
    }
    for (int64_t i = 0; i < count; ++i) {
        if (!(fabs(a[i] - b[i]) <= tolerance * (largest + 1e-300))) {
            fail_msg("%s, element %lld: %.12g and %.12g, of %g", what, (long long)i, a[i], b[i], largest);
        }
    }
}

static void compare_runs(const char *what, const step_result *a, const step_result *b, double tolerance)
{
    compare(what, a->logits, b->logits, MOST_IMAGES * CLASSES, tolerance);
    compare(what, a->grad, b->grad, MOST_VALUES, tolerance);
    compare(what, a->state, b->state, MOST_VALUES, tolerance);
    compare(what, a->evaluated, b->evaluated, MOST_IMAGES * CLASSES, tolerance);
}

static void test_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 4, 8};
    static step_result one, many;
    for (size_t i = 0; i < NETWORKS; ++i) {
        ranks_run run = {.c = &networks[i], .backend = "ref", .images = 6, .result = &one};
        ASSERT_OK(comm_thread_run(1, run_rank, &run));
        run.result = &many;
        for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; ++r) { /* of 8, two have no image */
            ASSERT_OK(comm_thread_run(ranks[r], run_rank, &run));
            compare_runs(networks[i].what, &one, &many, 1e-11);
        }
    }
}

static void test_backends(void **state)
{
    (void)state;
    static const char *const others[] = {"cpu", "shadow:ref", "shadow"};
    static step_result ref, other;
    for (size_t i = 0; i < NETWORKS; ++i) {
        bench_case c = networks[i];
        c.dtype = WEFT_DTYPE_F32;
        ranks_run run = {.c = &c, .backend = "ref", .images = 6, .result = &ref};
        ASSERT_OK(comm_thread_run(1, run_rank, &run));
        run.result = &other;
        for (size_t o = 0; o < sizeof others / sizeof others[0]; ++o) {
            run.backend = others[o];
            ASSERT_OK(comm_thread_run(2, run_rank, &run));
            compare_runs(networks[i].what, &ref, &other, 2e-4);
        }
    }
}

/* Values of 16 bits against those of float32: what rounding leaves; and any number of ranks as one. */
static void check_narrow_values(weft_dtype values, double tolerance)
{
    static step_result wide, narrow, many;
    for (size_t i = 0; i < NETWORKS; ++i) {
        bench_case c = networks[i];
        c.dtype = WEFT_DTYPE_F32;
        ranks_run run = {.c = &c, .backend = "ref", .images = 6, .result = &wide};
        ASSERT_OK(comm_thread_run(1, run_rank, &run));
        c.narrow = values;
        run.result = &narrow;
        ASSERT_OK(comm_thread_run(1, run_rank, &run));
        compare(c.what, wide.logits, narrow.logits, MOST_IMAGES * CLASSES, tolerance);
        assert_true(wide.logits[0] != narrow.logits[0]);
        static const char *const backends[] = {"cpu", "shadow:ref"};
        for (size_t b = 0; b < 2; ++b) {
            run.backend = backends[b];
            run.result = &many;
            ASSERT_OK(comm_thread_run(3, run_rank, &run));
            compare(c.what, narrow.logits, many.logits, MOST_IMAGES * CLASSES, tolerance);
        }
    }
}

static void test_narrow_values(void **state)
{
    (void)state;
    check_narrow_values(WEFT_DTYPE_BF16, 0.06);
    check_narrow_values(WEFT_DTYPE_F16, 0.0075);
}

static uint64_t allocations(void)
{
    return weft_mem_usage_total().allocations;
}

static bool never(const weft_hal *hal, const hal_conv_shape *shape)
{
    (void)hal, (void)shape;
    return false;
}

static bool always(const weft_hal *hal, const hal_conv_shape *shape)
{
    (void)hal, (void)shape;
    return true;
}

/* Slots that somebody needs at the same moment stand apart; and so many values are made again, or made on the way. */
static void check_plan(const bench_case *c, bool on_the_way, int made_again, int made_on_the_way)
{
    bench b;
    ASSERT_OK(bench_open_with(&b, self, "ref", c, 4, &(bench_how){.norms = on_the_way ? always : never}));
    const arena_plan *plan = &b.model.plan;
    int again = 0;
    int passing = 0;
    for (int v = 0; v < b.model.list.values; ++v) {
        again += plan->again[v] != ARENA_NO_SLOT;
        passing += b.model.values.passing[v] ? 1 : 0;
        assert_true(plan->again[v] == ARENA_NO_SLOT || plan->slot[plan->value[v]].last < b.model.list.units);
    }
    if (again != made_again || passing != made_on_the_way) {
        fail_msg("%s: %d values are made again, not %d, and %d on the way, not %d", c->what, again, made_again, passing,
                 made_on_the_way);
    }
    for (int i = 0; i < plan->slots; ++i) {
        const arena_slot *one = &plan->slot[i];
        assert_true(one->first <= one->last && one->offset + one->bytes <= plan->bytes);
        for (int j = 0; j < i; ++j) {
            const arena_slot *other = &plan->slot[j];
            const bool meet = one->first <= other->last && other->first <= one->last;
            assert_true(!meet || one->offset + one->bytes <= other->offset ||
                        other->offset + other->bytes <= one->offset);
        }
    }
    bench_close(&b);
}

static void test_plans(void **state)
{
    (void)state;
    static const int made_again[NETWORKS] = {0, 2, 2, 2, 1, 6, 2, 0};
    static const int again_beside[NETWORKS] = {0, 1, 1, 0, 1, 4, 1, 0};
    static const int made_on_the_way[NETWORKS] = {0, 1, 1, 2, 0, 2, 1, 0};
    for (size_t i = 0; i < NETWORKS; ++i) {
        check_plan(&networks[i], false, made_again[i], 0);
        check_plan(&networks[i], true, again_beside[i], made_on_the_way[i]);
    }
}

/* A step's logits and gradients, and the logits of an evaluation behind it. */
typedef struct step_bits {
    double logits[2][MOST_IMAGES * CLASSES], grad[MOST_VALUES];
} step_bits;

static void run_step(const bench_case *c, const char *backend, const bench_how *how, step_bits *bits)
{
    bench b;
    double sum = 0.0;
    memset(bits, 0, sizeof *bits);
    ASSERT_OK(bench_open_with(&b, self, backend, c, 4, how));
    ASSERT_OK(bench_fill(&b, 0, 4, 4));
    ASSERT_OK(forward(&b, true, bits->logits[0], &sum));
    ASSERT_OK(backward(&b, bits->logits[0]));
    ASSERT_OK(get(&b.model.params.grad, bits->grad));
    ASSERT_OK(forward(&b, false, bits->logits[1], &sum));
    bench_close(&b);
}

/* What convolutions make on their way is what stands in memory without: on the reference, which makes any norm so, and
 * by transformed tiles. */
static void test_norms_on_the_way(void **state)
{
    (void)state;
    static step_bits before, on_the_way;
    for (size_t i = 0; i < NETWORKS; ++i) {
        run_step(&networks[i], "ref", &(bench_how){.norms = never}, &before);
        run_step(&networks[i], "ref", &(bench_how){.norms = always}, &on_the_way);
        assert_memory_equal(&before, &on_the_way, sizeof before);
    }
    const bench_case wide = {"transformed tiles",
                             "conv 16 3 pad=1 bias=off\nnorm\na: relu\nconv 16 3 pad=1 bias=off\nnorm\nrelu\n"
                             "conv 16 3 pad=1 bias=off\nnorm\nadd a\nrelu\nglobalpool\nlinear classes",
                             {6, 6, 2},
                             WEFT_DTYPE_F32,
                             false};
    run_step(&wide, "cpu", &(bench_how){.winograd = true, .norms = never}, &before);
    run_step(&wide, "cpu", &(bench_how){.winograd = true}, &on_the_way);
    assert_memory_equal(&before, &on_the_way, sizeof before);
    bench b;
    ASSERT_OK(bench_open_with(&b, self, "cpu", &wide, 4, &(bench_how){.winograd = true}));
    int passing = 0;
    for (int v = 0; v < b.model.list.values; ++v) {
        passing += b.model.values.passing[v] ? 1 : 0;
    }
    assert_int_equal(passing, 1);
    bench_close(&b);
}

/* An evaluation between two steps changes no bit of the second, whose batch is the first one's. */
static void test_evaluation_between_steps(void **state)
{
    (void)state;
    static double grad[2][MOST_VALUES];
    for (size_t i = 0; i < NETWORKS; ++i) {
        bench b;
        double logits[MOST_IMAGES * CLASSES];
        double sum = 0.0;
        ASSERT_OK(bench_open(&b, self, "cpu", &networks[i], 4));
        ASSERT_OK(bench_fill(&b, 0, 4, 4));
        for (int step = 0; step < 2; ++step) {
            ASSERT_OK(forward(&b, true, logits, &sum));
            ASSERT_OK(backward(&b, logits));
            ASSERT_OK(get(&b.model.params.grad, grad[step]));
            ASSERT_OK(forward(&b, false, logits, &sum));
        }
        assert_memory_equal(grad[0], grad[1], (size_t)b.model.params.trained * sizeof(double));
        bench_close(&b);
    }
}

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
    bench_case c = networks[2];
    c.dtype = WEFT_DTYPE_F32;
    bench b;
    double logits[MOST_IMAGES * CLASSES];
    double sum = 0.0;
    ASSERT_OK(bench_open(&b, self, "cpu", &c, 4));
    ASSERT_OK(bench_fill(&b, 0, 4, 4));
    b.alone = true;
    uint64_t before = 0;
    for (int step = 0; step < 4; ++step) {
        before = step == 1 ? allocations() : before;
        ASSERT_OK(forward(&b, true, logits, &sum));
        ASSERT_OK(backward(&b, logits));
    }
    assert_int_equal(allocations(), before);
    bench_close(&b);
}

/* Of the images of a rank in two parts, one after the other: each part's pass is told of by itself. */
static weft_status take_parts(weft_comm *comm, void *argument)
{
    const bench_case *c = argument;
    const int64_t first = 2 * comm_rank(comm), all = 2 * comm_size(comm);
    double logits[MOST_IMAGES * CLASSES];
    double sum = 0.0;
    bench b;
    weft_status status = bench_open(&b, comm, "cpu", c, 1);
    for (int part = 0; part < 2 && status == WEFT_OK; ++part) {
        status = bench_fill(&b, first + part, 1, all);
        status = status == WEFT_OK ? forward(&b, true, logits, &sum) : status;
        status = status == WEFT_OK ? backward(&b, logits) : status;
    }
    status = comm_agree(comm, status);
    bench_close(&b);
    return status;
}

static void test_networks_of_the_zoo_tell_their_rows(void **state)
{
    (void)state;
    bench_case nets[] = {{"lenet", NULL, {28, 28, 1}, WEFT_DTYPE_F32, false},
                         {"resnet-20", NULL, {32, 32, 3}, WEFT_DTYPE_F32, false},
                         {"mlp", NULL, {8, 8, 1}, WEFT_DTYPE_F32, false}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; ++i) {
        ASSERT_OK(comm_thread_run(1, take_parts, &nets[i]));
        ASSERT_OK(comm_thread_run(3, take_parts, &nets[i]));
    }
}

static uint64_t workspace(void)
{
    return weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes;
}

/* What the backend holds for itself once it is open. */
static uint64_t workspace_of_backend(void)
{
    weft_hal *hal;
    const uint64_t before = workspace();
    ASSERT_OK(weft_hal_open(test_device("shadow:ref"), 1, &hal));
    const uint64_t opened = workspace() - before;
    weft_hal_close(hal);
    return opened;
}

/* A device takes for its operations what dense_model_scratch_bytes counts, to the byte: a convolution needs most
 * here. */
static void test_scratch_is_foretold(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "conv 16 3 pad=1 bias=off\nnorm\nrelu\nconv 24 5 pad=2\nrelu\nglobalpool\nlinear classes",
        "conv 15 3 pad=1 bias=off\nnorm\nrelu\nconv 24 5 pad=2\nrelu\nglobalpool\nlinear classes"};
    const int64_t images = 4;
    const uint64_t before = workspace() + workspace_of_backend();
    for (size_t n = 0; n < sizeof texts / sizeof *texts; ++n) {
        bench b;
        const bench_case c = {"scratch memory", texts[n], {6, 6, 3}, WEFT_DTYPE_F32, false};
        double logits[MOST_IMAGES * CLASSES];
        double sum = 0.0;
        uint64_t foretold = 0;
        ASSERT_OK(bench_open(&b, self, "shadow:ref", &c, images));
        dense_config config = b.model.config;
        config.images = &images;
        ASSERT_OK(dense_model_scratch_bytes(b.hal, &config, c.dtype, &foretold));
        ASSERT_OK(bench_fill(&b, 0, images, images));
        ASSERT_OK(forward(&b, true, logits, &sum));
        ASSERT_OK(backward(&b, logits));
        dense_model_destroy(&b.model);
        assert_int_equal(workspace() - before, foretold);
        assert_int_equal(foretold > 0, strncmp(test_device("shadow"), "cuda", 4) == 0);
        bench_close(&b);
    }
}

/* A piece of a batch takes the way of the batch, and the last one is shorter. */
static void check_lanes(const bench_case *c, const char *backend, bool cut, double tolerance)
{
    double logits[2][MOST_IMAGES * CLASSES], flops[2];
    for (int run = 0; run < 2; ++run) {
        bench b;
        double sum = 0.0;
        ASSERT_OK(bench_open_with(&b, self, backend, c, MOST_IMAGES, &(bench_how){.threads = run == 0 ? 1 : 3}));
        assert_int_equal(b.model.lanes != NULL, run == 1 && cut);
        ASSERT_OK(bench_fill(&b, 0, MOST_IMAGES, MOST_IMAGES));
        const double before = hal_cost_of_thread()->flops;
        ASSERT_OK(forward(&b, false, logits[run], &sum));
        flops[run] = hal_cost_of_thread()->flops - before;
        bench_close(&b);
    }
    assert_true(flops[1] >= flops[0]); /* what other lanes do is counted */
    compare(c->what, logits[0], logits[1], MOST_IMAGES * CLASSES, tolerance);
}

/* Ranks of 3 and 4 images: the first takes its batch whole, the second in lanes. */
static weft_status evaluate_rank(weft_comm *comm, void *argument)
{
    bench b;
    double *logits = argument, sum = 0.0;
    const int64_t first = 3 * comm_rank(comm), images = comm_size(comm) > 1 ? 3 + comm_rank(comm) : 7;
    const bench_how how = {.threads = comm_size(comm)};
    weft_status status = bench_open_with(&b, comm, "ref", &networks[1], images, &how);
    status = status == WEFT_OK && (b.model.lanes != NULL) != (comm_rank(comm) == 1)
                 ? weft_fail(WEFT_ERR_INTERNAL, "rank %d: lanes or none", comm_rank(comm))
                 : status;
    status = status == WEFT_OK ? bench_fill(&b, first, images, 7) : status;
    status = status == WEFT_OK ? forward(&b, false, logits + first * CLASSES, &sum) : status;
    bench_close(&b);
    return status;
}

static void test_lanes_of_some_ranks(void **state)
{
    (void)state;
    double one[7 * CLASSES], two[7 * CLASSES];
    ASSERT_OK(comm_thread_run(1, evaluate_rank, one));
    ASSERT_OK(comm_thread_run(2, evaluate_rank, two));
    compare("ranks with lanes and without", one, two, 7 * CLASSES, 1e-14);
}

static void test_lanes(void **state)
{
    (void)state;
    const bench_case heavy = {
        "more weights than values", "linear 400\nlinear classes", {2, 2, 3}, WEFT_DTYPE_F64, false};
    for (size_t i = 0; i < NETWORKS; ++i) {
        bench_case c = networks[i];
        check_lanes(&c, "ref", true, 1e-14);
        c.dtype = WEFT_DTYPE_F32;
        check_lanes(&c, "cpu", true, 1e-5);
        c.narrow = WEFT_DTYPE_BF16;
        check_lanes(&c, "cpu:base", true, 1e-5);
    }
    check_lanes(&heavy, "ref", false, 1e-14);
    check_lanes(&networks[0], "shadow:ref", false, 1e-14);
}

/* Variances of first weights: 2 / n behind `conv`, 1 / (3 n) and nothing beyond 1 / sqrt(n) with start=uniform. */
static void test_first_weights(void **state)
{
    (void)state;
    enum { FAN_IN = 2 * 9, OUT = 500 };
    static const char *const texts[] = {"conv 500 3\nglobalpool\nlinear classes",
                                        "conv 500 3 start=uniform\nglobalpool\nlinear classes"};
    static const double variance[] = {2.0 / FAN_IN, 1.0 / (3.0 * FAN_IN)};
    for (int uniform = 0; uniform < 2; ++uniform) {
        const bench_case c = {"first weights", texts[uniform], {4, 4, 2}, WEFT_DTYPE_F64, false};
        static double weight[MOST_VALUES];
        double squares = 0.0;
        double most = 0.0;
        bench b;
        ASSERT_OK(bench_open(&b, self, "ref", &c, 2));
        const weft_tensor kernels = param_value(&b.model.params, b.model.unit[0].linear.weight);
        assert_int_equal(kernels.rows * kernels.cols, OUT * FAN_IN);
        ASSERT_OK(get(&kernels, weight));
        for (int i = 0; i < OUT * FAN_IN; ++i) {
            squares += weight[i] * weight[i];
            most = fmax(most, fabs(weight[i]));
        }
        assert_float_equal(squares / (OUT * FAN_IN) / variance[uniform], 1.0, 0.05);
        assert_int_equal(most <= 1.0 / sqrt(FAN_IN), uniform);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_narrow_values),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_norms_on_the_way),
        cmocka_unit_test(test_evaluation_between_steps),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_networks_of_the_zoo_tell_their_rows),
        cmocka_unit_test(test_scratch_is_foretold),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lanes_of_some_ranks),
        cmocka_unit_test(test_first_weights),
    };
    return cmocka_run_group_tests(tests, open_self, close_self);
}
