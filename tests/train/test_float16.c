/*
 * Networks on images whose values and gradients between layers are float16: they learn as in float32; gradients that
 * float16 would lose live by the scale of the loss; a step whose gradient is too large for it leaves no trace, on every
 * number of ranks and in every mode; and a training that is stopped goes on to the bit.
 * trees: release asan
 * processors: one
 */
#include <math.h>

#include "dense/engine/dense_model.h"
#include "support/folder.h"
#include "support/random.h"
#include "train/loop/loop.h"

enum { IMAGES = 12, SIDE = 8, CHANNELS = 3, CLASSES = 3, EPOCHS = 12, STEPS = 3, MOST_ELEMENTS = 4096, MOST_RANKS = 4 };

typedef struct half_case {
    const char *text, *backend; /* the network */
    int ranks;
    weft_dtype values;
    int64_t epochs, steps, eval_every, loss_entries;
    double loss_scale, lr;
    sync_options sync;
    const char *folder;
    int64_t stop_after; /* steps of each start; 0: never */
    /* results */
    checkpoint *from;
    int64_t here[MOST_RANKS]; /* steps of this start */
    int starts;
    double loss[EPOCHS];
    train_scaling scaling;
    int64_t elements, late_allocations;
    float value[MOST_RANKS][MOST_ELEMENTS];
} half_case;

static const char plain[] =
    "conv 8 3 pad=1 bias=off\nnorm\na: relu\nconv 8 3 pad=1 bias=off\nnorm\nadd a\nrelu\nmaxpool 2\n"
    "linear 16\nrelu\nlinear classes\n";

/* A rank's share of a batch, the same at every step. */
typedef struct half_rank {
    half_case *c;
    int rank;
    int64_t first, images;
    weft_hal *hal;
    network net;
    dense_model model;
    image_batch input;
    train_targets targets;
    weft_tensor pixels, ids, label, mask[TRAIN_SPLITS];
    int32_t label_host[IMAGES];
    uint8_t split_host[IMAGES];
} half_rank;

static weft_status batch_of(void *self, const train_pass *pass, train_batch *batch)
{
    half_rank *r = self;
    r->c->here[r->rank] += pass->training;
    *batch = (train_batch){.input = &r->input, .targets = &r->targets};
    return WEFT_OK;
}

static weft_status fill(half_rank *r)
{
    const int64_t each = SIDE * SIDE * CHANNELS;
    static const uint8_t all[2][IMAGES] = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0}};
    float pixels[IMAGES * SIDE * SIDE * CHANNELS];
    int64_t id[IMAGES];
    uint64_t random = 5;
    for (int64_t n = 0; n < IMAGES; ++n) {
        const int64_t own = n - r->first;
        const bool mine = own >= 0 && own < r->images;
        for (int64_t i = 0; i < each; ++i) {
            const bool stripe = i / (SIDE * CHANNELS) / 2 == n % CLASSES;
            const float pixel = (float)(test_uniform(&random) - 0.5) + (stripe ? 1.0f : 0.0f);
            if (mine) {
                pixels[own * each + i] = pixel;
            }
        }
        if (mine) {
            id[own] = n;
            r->label_host[own] = (int32_t)(n % CLASSES);
        }
    }
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_F32, r->images * SIDE * SIDE, CHANNELS, WEFT_MEM_IMAGE, &r->pixels));
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_I64, r->images, 1, WEFT_MEM_IMAGE, &r->ids));
    WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_I32, r->images, 1, WEFT_MEM_IMAGE, &r->label));
    WEFT_TRY(tensor_upload(&r->pixels, pixels));
    WEFT_TRY(tensor_upload(&r->ids, id));
    WEFT_TRY(tensor_upload(&r->label, r->label_host));
    r->input = (image_batch){.pixels = r->pixels, .rows = r->images, .all_rows = IMAGES, .sample_id = r->ids};
    r->targets = (train_targets){.rows = r->images,
                                 .outputs = CLASSES,
                                 .loss = TRAIN_LOSS_XENT,
                                 .labelled = true,
                                 .label = r->label.data,
                                 .label_host = r->label_host,
                                 .split_host = r->split_host,
                                 .counted = {IMAGES},
                                 .loss_entries = r->c->loss_entries};
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        WEFT_TRY(tensor_create(r->hal, WEFT_DTYPE_U8, r->images, 1, WEFT_MEM_IMAGE, &r->mask[s]));
        WEFT_TRY(tensor_upload(&r->mask[s], all[s > 0]));
        r->targets.mask[s] = r->mask[s].data;
    }
    return WEFT_OK;
}

static weft_status open_rank(weft_comm *comm, half_rank *r)
{
    const half_case *c = r->c;
    r->rank = comm_rank(comm);
    const hal_span own = hal_split_rows(IMAGES, comm_size(comm), r->rank);
    r->first = own.begin;
    r->images = own.end - own.begin;
    WEFT_TRY(weft_hal_open(test_device(c->backend), 1, &r->hal));
    WEFT_TRY(net_parse(c->text, "test", &r->net));
    WEFT_TRY(net_fit(&r->net, (net_size){SIDE, SIDE, CHANNELS}, CLASSES));
    const dense_config config = {
        .net = &r->net, .norm = NORM_BATCH, .images = &r->images, .sizes = 1, .training = true, .values = c->values};
    WEFT_TRY(dense_model_create(comm, r->hal, WEFT_DTYPE_F32, &config, &r->model));
    WEFT_CHECK(r->model.params.elements <= MOST_ELEMENTS, WEFT_ERR_INTERNAL, "the test's model is too large");
    return fill(r);
}

static void close_rank(half_rank *r)
{
    tensor_destroy(&r->pixels);
    tensor_destroy(&r->ids);
    tensor_destroy(&r->label);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        tensor_destroy(&r->mask[s]);
    }
    dense_model_destroy(&r->model);
    net_destroy(&r->net);
    weft_hal_close(r->hal);
}

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    const half_rank *r = self;
    if (r->rank == 0) {
        r->c->loss[epoch->epoch - 1] = epoch->loss;
        r->c->late_allocations += epoch->epoch > 1 ? (int64_t)epoch->allocations : 0;
    }
    return WEFT_OK;
}

static weft_status on_run(void *self, int run, const train_run *result)
{
    (void)self, (void)run, (void)result;
    return WEFT_OK;
}

static bool asked(void *self)
{
    const half_rank *r = self;
    return r->c->stop_after > 0 && r->c->here[r->rank] >= r->c->stop_after;
}

static weft_status train(weft_comm *comm, half_rank *r)
{
    half_case *c = r->c;
    train_result result = {0};
    WEFT_TRY(open_rank(comm, r));
    const train_checkpoints checkpoints = {.folder = c->folder,
                                           .data_hash = "of the test",
                                           .threads = 1,
                                           .self = r,
                                           .asked_to_stop = asked,
                                           .resume = r->rank == 0 ? c->from : NULL};
    const train_options options = {
        .epochs = c->epochs,
        .runs = 1,
        .seed = 3,
        .eval_every = c->eval_every,
        .loss_scale = c->loss_scale,
        .metric = TRAIN_METRIC_ACCURACY,
        .sync = c->sync,
        .optimizer = {.kind = OPTIMIZER_SGD, .momentum = 0.9, .nesterov = true},
        .schedule = {.kind = SCHEDULE_CONSTANT, .base = c->lr, .epochs = c->epochs},
        .checkpoints = c->folder != NULL ? &checkpoints : NULL,
    };
    const train_observer observer = {.self = r, .on_epoch = on_epoch, .on_run = on_run};
    const train_source source = {.self = r,
                                 .steps = c->steps,
                                 .eval_steps = 1,
                                 .eval_rows = r->images,
                                 .loss_entries = IMAGES,
                                 .loss = TRAIN_LOSS_XENT,
                                 .outputs = CLASSES,
                                 .batch = batch_of};
    weft_status status = train_loop(comm, r->hal, &r->model.interface, &source, &options, &observer, &result);
    weft_free(result.run);
    WEFT_TRY(status);
    if (r->rank == 0) {
        c->scaling = result.scaling;
        c->elements = r->model.params.elements;
    }
    return tensor_download(&r->model.params.value, c->value[r->rank]);
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    half_rank *r = calloc(1, sizeof *r);
    r->c = argument;
    weft_status status = train(comm, r);
    close_rank(r);
    free(r);
    return status;
}

static weft_status run_case(half_case *c)
{
    weft_status status = WEFT_STOPPED;
    while (status == WEFT_STOPPED) {
        memset(c->here, 0, sizeof c->here);
        c->starts += 1;
        assert_true(c->starts <= EPOCHS * STEPS);
        status = comm_thread_run(c->ranks, run_rank, c);
        checkpoint_close(c->from);
        c->from = NULL;
        if (status == WEFT_STOPPED) {
            ASSERT_OK(checkpoint_open(c->folder, &c->from));
        }
    }
    return status;
}

static half_case *make_case(const char *text, int ranks, weft_dtype values)
{
    half_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->text = text;
    c->backend = "shadow:ref";
    c->ranks = ranks;
    c->values = values;
    c->epochs = EPOCHS;
    c->steps = STEPS;
    c->eval_every = 1;
    c->loss_entries = IMAGES;
    c->lr = 0.02;
    c->sync = sync_options_default();
    c->sync.topk.exchange = SPARSE_ALL_GATHER; /* topk selects, where a dense exchange would be as fast, too */
    c->sync.bucket_bytes = 1024;
    return c;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static void test_follows_float32(void **state)
{
    (void)state;
    half_case *wide = make_case(plain, 1, WEFT_DTYPE_F32);
    ASSERT_OK(run_case(wide));
    assert_true(wide->loss[EPOCHS - 1] < 0.3 * wide->loss[0]);
    assert_true(wide->scaling.scale == 0.0);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        half_case *half = make_case(plain, ranks, WEFT_DTYPE_F16);
        half->sync.overlap = ranks == 3 ? OVERLAP_SPLIT : half->sync.overlap;
        ASSERT_OK(run_case(half));
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(half->loss[e], wide->loss[e], 1e-2 * wide->loss[e]);
        }
        assert_true(half->scaling.scale == LOSS_SCALE_FIRST && half->scaling.clean == EPOCHS * STEPS);
        assert_true(ranks > 1 || half->late_allocations == 0); /* ranks in one process share a count */
        free(half);
    }
    free(wide);
}

/* How far the first `count` parameters are apart. */
static double distance(const float *value, const float *from, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        const double d = (double)value[i] - (double)from[i];
        sum += d * d;
    }
    return sqrt(sum);
}

/* The loss as one term among 2^25: without a scale what comes to the convolutions is below all that float16 has. */
static void test_small_gradients(void **state)
{
    (void)state;
    enum { KERNELS = 8 * CHANNELS * 9 + 8 /* of the first layer */ };
    static const char text[] = "conv 8 3 pad=1\nrelu\nmaxpool 2\nlinear classes\n";
    half_case *still = make_case(text, 1, WEFT_DTYPE_F32);
    half_case *wide = make_case(text, 1, WEFT_DTYPE_F32);
    half_case *bare = make_case(text, 1, WEFT_DTYPE_F16);
    half_case *scaled = make_case(text, 1, WEFT_DTYPE_F16);
    bare->loss_scale = 1.0;
    half_case *const cases[] = {still, wide, bare, scaled};
    for (int i = 0; i < 4; ++i) {
        half_case *c = cases[i];
        c->loss_entries = (int64_t)1 << 25;
        c->lr = i == 0 ? 0.0 : 0.02 * (double)c->loss_entries / IMAGES;
        c->epochs = c->steps = 1;
        ASSERT_OK(run_case(c));
    }
    const double wanted = distance(wide->value[0], still->value[0], KERNELS);
    assert_true(wanted > 1e-3);
    assert_true(distance(bare->value[0], still->value[0], KERNELS) == 0.0);
    assert_true(distance(scaled->value[0], wide->value[0], KERNELS) < 1e-2 * wanted);
    assert_true(bare->scaling.scale == 1.0 && bare->scaling.skipped == 0);
    assert_true(scaled->scaling.scale == LOSS_SCALE_FIRST);
    free(still);
    free(wide);
    free(bare);
    free(scaled);
}

/* ---- overflow ---------------------------------------------------------------------------------------------------- */

/* Logits of large weights: their gradients fit into float16 by a scale of 2^14, and not by 2^15. */
static const char steep[] = "conv 8 3 pad=1 bias=off\nnorm\nrelu\nmaxpool 2\nlinear classes\nscale 4\n";

static void check_same(const half_case *a, const half_case *b)
{
    assert_int_equal(a->elements, b->elements);
    for (int r = 0; r < a->ranks; ++r) {
        assert_memory_equal(a->value[r], b->value[r], (size_t)a->elements * sizeof a->value[0][0]);
    }
}

static half_case *make_steep(int ranks, sync_mode mode)
{
    half_case *c = make_case(steep, ranks, WEFT_DTYPE_F16);
    c->steps = 1;
    c->epochs = 6;
    c->eval_every = 0; /* an evaluation makes the replicas of some modes equal */
    c->lr = 1e-3;
    c->loss_entries = 1;
    c->sync.mode = mode;
    c->sync.topk.density = 0.1;
    c->sync.topk.dense_below = 16;
    c->sync.divide_shuffle.group = 2;
    return c;
}

/* The first step is skipped: what follows is a training that began with half the scale and a step later, to the bit. */
static void check_skipped(int ranks, sync_mode mode, sync_overlap overlap)
{
    half_case *found = make_steep(ranks, mode);
    half_case *given = make_steep(ranks, mode);
    found->sync.overlap = given->sync.overlap = overlap;
    given->loss_scale = LOSS_SCALE_FIRST / 2.0;
    given->epochs -= 1;
    ASSERT_OK(run_case(found));
    ASSERT_OK(run_case(given));
    assert_int_equal(found->scaling.skipped, 1);
    assert_int_equal(found->scaling.clean, found->epochs - 1);
    assert_true(found->scaling.scale == LOSS_SCALE_FIRST / 2.0);
    check_same(found, given);
    for (int e = 0; e < given->epochs; ++e) {
        assert_true(found->loss[e + 1] == given->loss[e]);
    }
    assert_true(found->loss[0] == given->loss[0]);
    free(found);
    free(given);
}

static void test_overflow_leaves_no_trace(void **state)
{
    (void)state;
    check_skipped(1, SYNC_ALLREDUCE, OVERLAP_BACKWARD);
    for (int ranks = 2; ranks <= 3; ++ranks) {
        check_skipped(ranks, SYNC_ALLREDUCE, OVERLAP_BACKWARD);
        check_skipped(ranks, SYNC_ALLREDUCE, OVERLAP_SPLIT);
        check_skipped(ranks, SYNC_TOPK, OVERLAP_BACKWARD);
        check_skipped(ranks, SYNC_DIVIDE_SHUFFLE, OVERLAP_BACKWARD);
    }
}

static void test_ranks_agree(void **state)
{
    (void)state;
    half_case *one = make_steep(1, SYNC_ALLREDUCE);
    half_case *two = make_steep(2, SYNC_ALLREDUCE);
    ASSERT_OK(run_case(one));
    ASSERT_OK(run_case(two));
    assert_memory_equal(two->value[0], two->value[1], (size_t)two->elements * sizeof two->value[0][0]);
    assert_true(one->scaling.skipped == two->scaling.skipped && one->scaling.scale == two->scaling.scale);
    for (int e = 0; e < one->epochs; ++e) {
        ASSERT_NEAR(two->loss[e], one->loss[e], 5e-3 * one->loss[e]);
    }
    free(one);
    free(two);
}

/* A fixed scale is not lowered. */
static void test_fixed_scale_ends(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 2; ++ranks) {
        for (int mode = SYNC_ALLREDUCE; mode <= SYNC_TOPK; ++mode) {
            half_case *c = make_steep(ranks, (sync_mode)mode);
            c->loss_scale = LOSS_SCALE_FIRST;
            ASSERT_STATUS(run_case(c), WEFT_ERR_DIVERGED);
            ASSERT_MESSAGE("the gradient of ");
            ASSERT_MESSAGE("--loss-scale");
            free(c);
        }
    }
}

/* ---- stopped and gone on ----------------------------------------------------------------------------------------- */

static void test_goes_on_to_the_bit(void **state)
{
    for (int i = 0; i < 6; ++i) {
        half_case *pair[2];
        for (int k = 0; k < 2; ++k) {
            pair[k] = make_steep(1 + i % 3, i < 3 ? SYNC_ALLREDUCE : SYNC_TOPK);
            pair[k]->steps = STEPS;
            pair[k]->folder = k > 0 ? in_folder(state, "ckpt") : NULL;
            pair[k]->stop_after = k > 0 ? 1 + i % 2 : 0;
            ASSERT_OK(run_case(pair[k]));
        }
        assert_true(pair[1]->starts > 3);
        check_same(pair[1], pair[0]);
        assert_memory_equal(pair[1]->loss, pair[0]->loss, sizeof pair[0]->loss);
        assert_memory_equal(&pair[1]->scaling, &pair[0]->scaling, sizeof pair[0]->scaling);
        assert_int_equal(pair[0]->scaling.skipped, 1);
        ASSERT_OK(folder_remove(pair[1]->folder));
        free(pair[0]);
        free(pair[1]);
    }
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static void test_scale_is_found(void **state)
{
    (void)state;
    train_scaling s = {.scale = 0.0};
    loss_scale_resume(&s, 0.0);
    assert_true(s.scale == LOSS_SCALE_FIRST);
    for (int i = 0; i < LOSS_SCALE_CLEAN - 1; ++i) {
        loss_scale_passed(&s, 0.0);
    }
    assert_true(s.scale == LOSS_SCALE_FIRST && s.clean == LOSS_SCALE_CLEAN - 1);
    loss_scale_passed(&s, 0.0);
    assert_true(s.scale == 2.0 * LOSS_SCALE_FIRST && s.clean == 0);
    assert_true(loss_scale_overflowed(&s, 0.0));
    assert_true(s.scale == LOSS_SCALE_FIRST && s.skipped == 1);
    for (int i = 0; i < 15; ++i) {
        assert_true(loss_scale_overflowed(&s, 0.0));
    }
    assert_true(s.scale == 1.0 && s.skipped == 16);
    assert_false(loss_scale_overflowed(&s, 0.0));
    s = (train_scaling){.scale = LOSS_SCALE_LAST, .clean = LOSS_SCALE_CLEAN - 1};
    loss_scale_passed(&s, 0.0);
    assert_true(s.scale == LOSS_SCALE_LAST);
    loss_scale_begin(&s, 96.0);
    for (int i = 0; i < 2 * LOSS_SCALE_CLEAN; ++i) {
        loss_scale_passed(&s, 96.0);
    }
    assert_true(s.scale == 96.0 && !loss_scale_overflowed(&s, 96.0));
}

static void test_scales_are_read(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "0", "-8", "1e8", "inf", "8x", "dynamic"};
    double fixed = 7.0;
    ASSERT_OK(loss_scale_read("auto", &fixed));
    assert_true(fixed == 0.0);
    ASSERT_OK(loss_scale_read("1024", &fixed));
    assert_true(fixed == 1024.0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        ASSERT_STATUS(loss_scale_read(bad[i], &fixed), WEFT_ERR_USAGE);
        ASSERT_MESSAGE("such as 1024");
    }
}

/* cuDNN makes gradients of filters float16 too, whose range is left at other scales than that of the values: of the
 * tests that know which step is skipped it has no part. */
static int without_cudnn(void **state)
{
    (void)state;
    return setenv("WEFT_CUDNN", "off", 1);
}

static int with_cudnn(void **state)
{
    (void)state;
    return unsetenv("WEFT_CUDNN");
}

static int folder_without_cudnn(void **state)
{
    return without_cudnn(state) != 0 ? -1 : folder_setup(state);
}

static int folder_with_cudnn(void **state)
{
    return with_cudnn(state) != 0 ? -1 : folder_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_float32),
        cmocka_unit_test(test_small_gradients),
        cmocka_unit_test_setup_teardown(test_overflow_leaves_no_trace, without_cudnn, with_cudnn),
        cmocka_unit_test_setup_teardown(test_ranks_agree, without_cudnn, with_cudnn),
        cmocka_unit_test(test_fixed_scale_ends),
        cmocka_unit_test_setup_teardown(test_goes_on_to_the_bit, folder_without_cudnn, folder_with_cudnn),
        cmocka_unit_test(test_scale_is_found),
        cmocka_unit_test(test_scales_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
