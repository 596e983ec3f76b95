/*
 * The parameter store beyond graph networks: the 777 tensors of ResNet-152 (K. He et al., CVPR 2016, arXiv 1512.03385)
 * with their published number of weights, tensors of four dimensions through a file, and the spread of what is drawn.
 */
#include <math.h>
#include <stdlib.h>

#include "support/folder.h"
#include "support/test.h"
#include "train/param.h"
#include "train/weights.h"

enum { STAGES = 4, RESNET_TENSORS = 777, NORM_STATES = 155 };

static const int64_t resnet_152_weights = 60192808;

typedef struct resnet {
    param_store *store;
    int64_t width; /* of the first convolution: 64 */
    int norms;     /* normalised layers so far */
    int64_t norm_cols[NORM_STATES];
    char norm_name[NORM_STATES][PARAM_NAME_BYTES];
} resnet;

static void add_conv(resnet *net, const char *name, int64_t out, int64_t in, int64_t kernel)
{
    const int64_t shape[] = {out, in, kernel, kernel};
    const int64_t fan_in = in * kernel * kernel;
    int block = param_add_block(net->store, PARAM_GROUP_DECAY, out, fan_in);
    ASSERT_OK(param_add_tensor(net->store, block, 4, shape, param_kaiming(fan_in), "%s.weight", name));
}

static void add_norm(resnet *net, const char *name, int64_t cols)
{
    int gamma = param_add_block(net->store, PARAM_GROUP_NO_DECAY, 1, cols);
    ASSERT_OK(param_add(net->store, gamma, 0, 0, 1, cols, param_constant(1.0), "%s.weight", name));
    int beta = param_add_block(net->store, PARAM_GROUP_NO_DECAY, 1, cols);
    ASSERT_OK(param_add(net->store, beta, 0, 0, 1, cols, param_constant(0.0), "%s.bias", name));
    snprintf(net->norm_name[net->norms], PARAM_NAME_BYTES, "%s", name);
    net->norm_cols[net->norms++] = cols;
}

/* A bottleneck: 1x1, 3x3, 1x1 with four times the width, and a projection where the shapes differ. */
static void add_bottleneck(resnet *net, const char *name, int64_t in, int64_t width, bool projects)
{
    static const int64_t kernel[3] = {1, 3, 1};
    const int64_t channels[4] = {in, width, width, 4 * width};
    char part[PARAM_NAME_BYTES];
    for (int i = 0; i < 3; ++i) {
        snprintf(part, sizeof part, "%.40s.conv%d", name, i + 1);
        add_conv(net, part, channels[i + 1], channels[i], kernel[i]);
        snprintf(part, sizeof part, "%.40s.bn%d", name, i + 1);
        add_norm(net, part, channels[i + 1]);
    }
    if (projects) {
        snprintf(part, sizeof part, "%.40s.downsample.0", name);
        add_conv(net, part, 4 * width, in, 1);
        snprintf(part, sizeof part, "%.40s.downsample.1", name);
        add_norm(net, part, 4 * width);
    }
}

static void declare_resnet_152(resnet *net)
{
    static const int blocks[STAGES] = {3, 8, 36, 3};
    int64_t in = net->width;
    add_conv(net, "conv1", net->width, 3, 7);
    add_norm(net, "bn1", net->width);
    for (int stage = 0; stage < STAGES; ++stage) {
        int64_t width = net->width << stage;
        for (int b = 0; b < blocks[stage]; ++b) {
            char name[PARAM_NAME_BYTES];
            snprintf(name, sizeof name, "layer%d.%d", stage + 1, b);
            add_bottleneck(net, name, in, width, b == 0);
            in = 4 * width;
        }
    }
    const int64_t shape[] = {1000, in};
    int fc = param_add_block(net->store, PARAM_GROUP_DECAY, 1000, in);
    ASSERT_OK(param_add_tensor(net->store, fc, 2, shape, param_fan_uniform(in), "fc.weight"));
    int bias = param_add_block(net->store, PARAM_GROUP_NO_DECAY, 1, 1000);
    ASSERT_OK(param_add(net->store, bias, 0, 0, 1, 1000, param_fan_uniform(in), "fc.bias"));
    for (int i = 0; i < net->norms; ++i) {
        int mean = param_add_block(net->store, PARAM_GROUP_STATE, 1, net->norm_cols[i]);
        int var = param_add_block(net->store, PARAM_GROUP_STATE, 1, net->norm_cols[i]);
        ASSERT_OK(param_add(net->store, mean, 0, 0, 1, net->norm_cols[i], param_constant(0.0), "%s.running_mean",
                            net->norm_name[i]));
        ASSERT_OK(param_add(net->store, var, 0, 0, 1, net->norm_cols[i], param_constant(1.0), "%s.running_var",
                            net->norm_name[i]));
    }
}

static void test_resnet_152_declares(void **state)
{
    (void)state;
    param_store store;
    resnet *net = calloc(1, sizeof *net);
    assert_non_null(net);
    *net = (resnet){.store = &store, .width = 64};
    param_store_begin(&store, NULL, WEFT_DTYPE_F32);
    declare_resnet_152(net);
    assert_int_equal(store.entries, RESNET_TENSORS);
    assert_int_equal(store.weights, resnet_152_weights);
    for (int i = 0; i + 1 < store.blocks; ++i) { /* every block follows the one before it, on a 64-byte border */
        const param_block *a = &store.block[i];
        assert_true(store.block[i + 1].offset >= a->offset + a->rows * a->cols);
        assert_int_equal(store.block[i + 1].offset % 16, 0);
    }
    param_store_destroy(&store);
    free(net);
}

static double variance(const float *values, int64_t count, double *mean)
{
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += values[i];
        squares += (double)values[i] * values[i];
    }
    *mean = sum / (double)count;
    return squares / (double)count - *mean * *mean;
}

/* Variance 2 / fan_in for Kaiming, b^2 / 3 for a uniform draw in [-b, b): within six deviations of their estimates. */
static void check_spread(const param_entry *entry, const train_weight *weight)
{
    double mean = 0;
    const double count = (double)(weight->rows * weight->cols);
    const double got = variance(weight->values, weight->rows * weight->cols, &mean);
    const bool normal = entry->init.draw == PARAM_NORMAL;
    const double fan_in = (double)entry->cols;
    const double want = normal ? 2.0 / fan_in : 1.0 / fan_in / 3.0;
    assert_true(fabs(mean) < 6.0 * sqrt(want / count));
    assert_true(fabs(got - want) < 6.0 * want * sqrt((normal ? 2.0 : 0.8) / count));
}

static void test_tensors_survive_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-test-XXXXXX";
    char file[64];
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/w.npz", path);
    weft_hal *hal = NULL;
    param_store store;
    param_store other;
    resnet *net = calloc(2, sizeof *net);
    assert_non_null(net);
    net[0] = (resnet){.store = &store, .width = 4};
    net[1] = (resnet){.store = &other, .width = 4};
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    for (int i = 0; i < 2; ++i) {
        param_store_begin(net[i].store, hal, WEFT_DTYPE_F32);
        declare_resnet_152(&net[i]);
        ASSERT_OK(param_store_commit(net[i].store, NULL));
        ASSERT_OK(param_initialise(net[i].store, (uint64_t)i + 5));
    }
    ASSERT_OK(param_save(&store, NULL, file));
    train_weights saved = {0};
    ASSERT_OK(weights_read_npz(file, &saved));
    assert_int_equal(saved.count, RESNET_TENSORS);
    for (int i = 0; i < saved.count; ++i) {
        const param_entry *entry = &store.entry[i];
        const train_weight *weight = weights_find(&saved, entry->name);
        assert_non_null(weight);
        assert_int_equal(weight->rank, entry->rank);
        assert_memory_equal(weight->shape, entry->shape, (size_t)entry->rank * sizeof *entry->shape);
        if (entry->init.draw != PARAM_CONSTANT && entry->rank > 1 && entry->rows > 1) {
            check_spread(entry, weight);
        }
    }
    assert_int_equal(weights_find(&saved, "conv1.weight")->rank, 4);
    ASSERT_OK(weights_assign(&saved, file, &other));
    float *a = calloc((size_t)store.elements, sizeof *a);
    float *b = calloc((size_t)store.elements, sizeof *b);
    assert_non_null(a);
    assert_non_null(b);
    ASSERT_OK(tensor_download(&store.value, a));
    ASSERT_OK(tensor_download(&other.value, b));
    assert_memory_equal(a, b, (size_t)store.elements * sizeof *a);
    /* Equal in number of elements is not enough. */
    train_weight *conv = (train_weight *)(uintptr_t)weights_find(&saved, "conv1.weight");
    conv->shape[1] = conv->shape[2];
    conv->shape[2] = 3;
    ASSERT_STATUS(weights_assign(&saved, file, &other), WEFT_ERR_DATA);
    ASSERT_MESSAGE("conv1.weight has shape [4, 7, 3, 7], the model has [4, 3, 7, 7]");
    free(a);
    free(b);
    weights_destroy(&saved);
    param_store_destroy(&store);
    param_store_destroy(&other);
    weft_hal_close(hal);
    free(net);
    ASSERT_OK(folder_remove(path));
}

static void test_names_have_a_limit(void **state)
{
    (void)state;
    param_store store;
    param_store_begin(&store, NULL, WEFT_DTYPE_F32);
    int block = param_add_block(&store, PARAM_GROUP_DECAY, 2, 2);
    ASSERT_STATUS(param_add(&store, block, 0, 0, 2, 2, param_constant(0), "%0*d", PARAM_NAME_BYTES, 7),
                  WEFT_ERR_UNSUPPORTED);
    assert_int_equal(store.entries, 0);
    ASSERT_OK(param_add(&store, block, 0, 0, 2, 2, param_constant(0), "%0*d", PARAM_NAME_BYTES - 1, 7));
    assert_int_equal(store.entries, 1);
    param_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet_152_declares),
        cmocka_unit_test(test_tensors_survive_a_file),
        cmocka_unit_test(test_names_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
