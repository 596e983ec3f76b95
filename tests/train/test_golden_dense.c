/*
 * Ten steps of lenet and resnet-20 against a frozen PyTorch run in float64 (tests/golden/make_golden_dense.py): logits,
 * losses, and parameters and running statistics at the end; and the same steps on 1 to 8 ranks, in several modes of
 * synchronisation, against one rank.
 * trees: release
 */
#include "support/golden_net.h"

/* ---- against PyTorch ---- */

static void check_parameters(const golden *g, npz_file *npz)
{
    for (int e = 0; e < g->entries; ++e) {
        const param_entry *entry = &g->entry[e];
        const double *values = g->value + entry->offset;
        const int64_t count = entry->rows * entry->cols;
        char name[PARAM_NAME_BYTES + 16];
        double samples[SAMPLES];
        double squares = 0.0;
        for (int64_t i = 0; i < count; ++i) {
            squares += values[i] * values[i];
        }
        const double norm = sqrt(squares);
        for (int i = 0; i < SAMPLES; ++i) {
            samples[i] = values[i * count / SAMPLES];
        }
        snprintf(name, sizeof name, "norm.%s", entry->name);
        check_array(g, npz, name, &norm, 1, g->of_weights);
        snprintf(name, sizeof name, "sample.%s", entry->name);
        check_array(g, npz, name, samples, SAMPLES, g->of_weights);
    }
}

static void against_pytorch(golden *g)
{
    char path[512];
    npz_file *npz = NULL;
    snprintf(path, sizeof path, WEFT_SOURCE_DIR "/tests/golden/dense-%s.npz", g->name);
    ASSERT_OK(npz_open(path, &npz));
    ASSERT_OK(comm_thread_run(1, run_rank, g));
    check_array(g, npz, "logits", g->logits, IMAGES * CLASSES, g->tolerance);
    check_array(g, npz, "loss", g->loss, STEPS, g->tolerance);
    check_parameters(g, npz);
    npz_close(npz);
    release(g);
}

/* bfloat16 between the layers: 8 bits of a number; float16: 11 of them, where they suffice. */
static void test_narrow(void **state)
{
    (void)state;
    static const struct {
        const char *name, *backend;
        net_size size;
        weft_dtype values;
        bool winograd;
        double tolerance;
    } nets[] = {{"lenet", "cpu", {28, 28, 1}, WEFT_DTYPE_BF16, false, 2e-2},
                {"resnet-20", "cpu", {32, 32, 3}, WEFT_DTYPE_BF16, false, 2e-2},
                {"resnet-20", "cpu", {32, 32, 3}, WEFT_DTYPE_BF16, true, 2e-2},
                {"lenet", "shadow:ref", {28, 28, 1}, WEFT_DTYPE_F16, false, 2e-3}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; ++i) {
        golden g = {.name = nets[i].name,
                    .size = nets[i].size,
                    .backend = test_any_device(nets[i].backend),
                    .dtype = WEFT_DTYPE_F32,
                    .narrow = nets[i].values,
                    .winograd = nets[i].winograd,
                    .scale = nets[i].values == WEFT_DTYPE_F16 ? 1024.0 : 1.0,
                    .steps = STEPS,
                    .tolerance = nets[i].tolerance,
                    .of_weights = nets[i].tolerance,
                    .sync = sync_options_default()};
        against_pytorch(&g);
    }
}

static void test_wide(void **state)
{
    (void)state;
    /* PyTorch in float32 is up to 4e-7 off the losses in float64, and 3e-5 off the weights, on the steps of
     * resnet-20. */
    static const struct {
        const char *name;
        net_size size;
        weft_dtype dtype;
        double tolerance;
        bool winograd;
    } runs[] = {{"lenet", {28, 28, 1}, WEFT_DTYPE_F64, 1e-9, false},
                {"lenet", {28, 28, 1}, WEFT_DTYPE_F32, 1e-5, false},
                {"resnet-20", {32, 32, 3}, WEFT_DTYPE_F32, 1e-4, false},
                {"resnet-20", {32, 32, 3}, WEFT_DTYPE_F32, 1e-4, true}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) {
        golden g = {.name = runs[i].name,
                    .size = runs[i].size,
                    .backend = runs[i].dtype == WEFT_DTYPE_F32 ? test_any_device("cpu") : "ref",
                    .dtype = runs[i].dtype,
                    .winograd = runs[i].winograd,
                    .steps = STEPS,
                    .tolerance = runs[i].tolerance,
                    .of_weights = runs[i].tolerance,
                    .sync = sync_options_default()};
        against_pytorch(&g);
    }
}

/* The losses alone: the gradients of a smoothed loss made the weights that they are of. */
static void test_smoothed(void **state)
{
    (void)state;
    static const struct {
        const char *backend;
        weft_dtype dtype;
        double tolerance;
    } runs[] = {{"ref", WEFT_DTYPE_F64, 1e-9}, {"cpu", WEFT_DTYPE_F32, 1e-5}};
    npz_file *npz = NULL;
    ASSERT_OK(npz_open(WEFT_SOURCE_DIR "/tests/golden/dense-lenet.npz", &npz));
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) {
        golden g = {.name = "lenet",
                    .size = {28, 28, 1},
                    .backend = runs[i].backend,
                    .dtype = runs[i].dtype,
                    .smoothing = 0.1,
                    .steps = STEPS,
                    .sync = sync_options_default()};
        ASSERT_OK(comm_thread_run(1, run_rank, &g));
        check_array(&g, npz, "loss.smoothed", g.loss, STEPS, runs[i].tolerance);
        release(&g);
    }
    npz_close(npz);
}

/* ---- ranks ---- */

static void test_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {2, 4, 8};
    golden one = {.name = "resnet-20",
                  .size = {32, 32, 3},
                  .backend = "cpu",
                  .dtype = WEFT_DTYPE_F32,
                  .steps = MOST_STEPS,
                  .sync = sync_options_default()};
    ASSERT_OK(comm_thread_run(1, run_rank, &one));
    for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; ++r) {
        for (int split = 0; split <= 1; ++split) {
            golden many = one;
            many.value = NULL;
            many.entry = NULL;
            many.sync.overlap = split ? OVERLAP_SPLIT : many.sync.overlap;
            ASSERT_OK(comm_thread_run(ranks[r], run_rank, &many));
            for (int step = 0; step < MOST_STEPS; ++step) {
                ASSERT_NEAR(many.loss[step], one.loss[step], 1e-4 * one.loss[step]);
            }
            release(&many);
        }
    }
    release(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_smoothed),
        cmocka_unit_test(test_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
