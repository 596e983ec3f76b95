/*
 * Up to ten steps of the larger networks of the zoo, and of a network with every word, against a frozen PyTorch run in
 * float64 (tests/golden/make_golden_zoo.py): logits, losses, names of tensors and what they hold at the end; and the
 * same steps on two ranks against one.
 * trees: release
 */
#include "support/golden_net.h"

enum { SAMPLES_KEPT = 4, TENSORS_MAX = 1024 };
/* Ten times as fast, networks of this depth on images of this size part from the steps in float64 by themselves. */
#define RATE      1e-4
#define WORDS_NET WEFT_SOURCE_DIR "/tests/golden/words.net"

static uint64_t hash_name(const char *name)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (; *name != '\0'; ++name) {
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001B3);
    }
    return h;
}

static void check_names(const golden *g, npz_file *npz)
{
    npy_array names = read_member(npz, "names");
    assert_int_equal(names.header.count, g->entries);
    for (int e = 0; e < g->entries; ++e) {
        if (((const uint64_t *)names.data)[e] != hash_name(g->entry[e].name)) {
            fail_msg("%s: tensor %d is called %s, which PyTorch's is not", g->name, e, g->entry[e].name);
        }
    }
    npy_array_free(&names);
}

/* Tensors together: their norms, and samples of each. */
static void check_tensors(const golden *g, npz_file *npz)
{
    static double norms[TENSORS_MAX], samples[TENSORS_MAX * SAMPLES_KEPT];
    assert_true(g->entries <= TENSORS_MAX);
    for (int e = 0; e < g->entries; ++e) {
        const double *values = g->value + g->entry[e].offset;
        const int64_t count = g->entry[e].rows * g->entry[e].cols;
        double squares = 0.0;
        for (int64_t i = 0; i < count; ++i) {
            squares += values[i] * values[i];
        }
        norms[e] = sqrt(squares);
        for (int i = 0; i < SAMPLES_KEPT; ++i) {
            samples[e * SAMPLES_KEPT + i] = values[i * count / SAMPLES_KEPT];
        }
    }
    check_array(g, npz, "norms", norms, g->entries, g->of_weights);
    check_array(g, npz, "samples", samples, (int64_t)g->entries * SAMPLES_KEPT, g->of_weights);
}

/* steps: losses that are compared; weights are compared where all losses are. */
static void against_pytorch(const char *path, golden *g, int steps, int ranks)
{
    npz_file *npz = NULL;
    ASSERT_OK(npz_open(path, &npz));
    g->steps = steps;
    g->sync = sync_options_default();
    g->rate = RATE;
    ASSERT_OK(comm_thread_run(ranks, run_rank, g));
    check_names(g, npz);
    check_array(g, npz, "logits", g->logits, IMAGES * CLASSES, g->tolerance);
    npy_array loss = read_member(npz, "loss");
    for (int step = 0; step < steps; ++step) {
        const double wanted = ((const double *)loss.data)[step];
        if (!(fabs(g->loss[step] - wanted) <= g->tolerance * wanted)) {
            fail_msg("%s on %s: loss %d is %.12g, PyTorch's %.12g", g->name, g->backend, step, g->loss[step], wanted);
        }
    }
    npy_array_free(&loss);
    if (steps == STEPS) {
        check_tensors(g, npz);
    }
    npz_close(npz);
    release(g);
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *backend;
        weft_dtype dtype, narrow;
        double tolerance;
    } runs[] = {{"ref", WEFT_DTYPE_F64, WEFT_DTYPE_F64, 1e-9},
                {"cpu", WEFT_DTYPE_F32, WEFT_DTYPE_F32, 1e-5},
                {"shadow:cpu", WEFT_DTYPE_F32, WEFT_DTYPE_F32, 1e-5},
                {"cpu", WEFT_DTYPE_F32, WEFT_DTYPE_BF16, 3e-2}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        golden g = {.name = WORDS_NET,
                    .size = {16, 16, 3},
                    .backend = test_any_device(runs[i].backend),
                    .dtype = runs[i].dtype,
                    .narrow = runs[i].narrow,
                    .tolerance = runs[i].tolerance,
                    .of_weights = runs[i].tolerance};
        against_pytorch(WEFT_SOURCE_DIR "/tests/golden/zoo-words.npz", &g, STEPS, 1);
    }
}

/* Steps of so many ranks end where those of one do. */
static void check_ranks(golden *one, const int *ranks, size_t runs)
{
    ASSERT_OK(comm_thread_run(1, run_rank, one));
    for (size_t r = 0; r < runs; ++r) {
        golden many = *one;
        many.value = NULL;
        many.entry = NULL;
        ASSERT_OK(comm_thread_run(ranks[r], run_rank, &many));
        for (int step = 0; step < STEPS; ++step) {
            ASSERT_NEAR(many.loss[step], one->loss[step], 1e-5 * one->loss[step]);
        }
        for (int64_t i = 0; i < one->elements; ++i) {
            ASSERT_NEAR(many.value[i], one->value[i], 1e-5);
        }
        release(&many);
    }
    release(one);
}

/* PyTorch's TransformerEncoder, with texts of different lengths. */
static void test_encoder(void **state)
{
    (void)state;
    static const struct {
        const char *backend;
        weft_dtype dtype, narrow;
        double tolerance;
    } runs[] = {{"cpu", WEFT_DTYPE_F32, WEFT_DTYPE_F32, 1e-5}, {"cpu", WEFT_DTYPE_F32, WEFT_DTYPE_BF16, 3e-2}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        golden g = {.name = "encoder-small",
                    .size = {24, 1, 1},
                    .words = 50,
                    .backend = runs[i].backend,
                    .dtype = runs[i].dtype,
                    .narrow = runs[i].narrow,
                    .tolerance = runs[i].tolerance,
                    .of_weights = runs[i].tolerance};
        against_pytorch(WEFT_SOURCE_DIR "/tests/golden/zoo-encoder-small.npz", &g, STEPS, 1);
    }
}

/* Ranks with equal shares, and with unequal ones. */
static void test_encoder_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {2, 4, 17};
    golden one = {.name = "encoder-small",
                  .size = {24, 1, 1},
                  .words = 50,
                  .backend = "cpu",
                  .dtype = WEFT_DTYPE_F32,
                  .steps = STEPS,
                  .sync = sync_options_default()};
    check_ranks(&one, ranks, sizeof ranks / sizeof *ranks);
}

/* Batch norms of so few pixels magnify roundings: PyTorch in float32 is 4.1e-3 off its own losses in float64 on ten
 * steps of mobilenet-v1. Of such networks the first loss is compared, and steps in float64 (test_exact_steps). */
static void test_zoo(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int steps;
        double tolerance;
    } nets[] = {{"mobilenet-v1", 1, 1e-4},      {"mobilenet-v2", 1, 1e-4}, {"densenet-121", 2, 1e-4},
                {"convnext-tiny", STEPS, 1e-5}, {"vgg-11", STEPS, 1e-5},   {"vgg-16", 2, 1e-5}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; ++i) {
        char path[512];
        golden g = {.name = nets[i].name,
                    .size = {32, 32, 3},
                    .backend = test_any_device("cpu"),
                    .dtype = WEFT_DTYPE_F32,
                    .tolerance = nets[i].tolerance,
                    .of_weights = nets[i].tolerance};
        snprintf(path, sizeof path, WEFT_SOURCE_DIR "/tests/golden/zoo-%s.npz", nets[i].name);
        against_pytorch(path, &g, nets[i].steps, 1);
    }
}

/* Losses in float64, each after an update by the gradients of all parameters, on one rank and on several. */
static void test_exact_steps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int ranks, steps;
    } runs[] = {{"mobilenet-v1", 4, 3}, {"mobilenet-v2", 1, 3}, {"mobilenet-v2", 2, STEPS}, {"densenet-121", 2, 2}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        char path[512];
        golden g = {.name = runs[i].name,
                    .size = {32, 32, 3},
                    .backend = "ref",
                    .dtype = WEFT_DTYPE_F64,
                    .tolerance = 1e-9,
                    .of_weights = 1e-9};
        snprintf(path, sizeof path, WEFT_SOURCE_DIR "/tests/golden/zoo-%s.npz", runs[i].name);
        against_pytorch(path, &g, runs[i].steps, runs[i].ranks);
    }
}

/* Ranks with equal shares, with unequal ones, and with none. */
static void test_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 17};
    golden one = {.name = WORDS_NET,
                  .size = {16, 16, 3},
                  .backend = "cpu",
                  .dtype = WEFT_DTYPE_F32,
                  .steps = STEPS,
                  .sync = sync_options_default()};
    check_ranks(&one, ranks, sizeof ranks / sizeof *ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),   cmocka_unit_test(test_ranks),
                                       cmocka_unit_test(test_zoo),     cmocka_unit_test(test_exact_steps),
                                       cmocka_unit_test(test_encoder), cmocka_unit_test(test_encoder_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
