/*
 * Features that are numbers of bfloat16: which are found to be, and that networks that hold them in 16 bits give the
 * bits of those that hold them in 32, in half the memory. Also the times by which a job of bfloat16 is left to float32.
 * processors: one
 */
#include <string.h>

#include "base/clock.h"
#include "gnn/facts.h"
#include "gnn/gnn_model.h"
#include "gnn/product_gain.h"
#include "support/labelled_graphs.h"

enum { VERTICES = 900, FEATURES = 70, CLASSES = 5, MOST = 1 << 15 };

typedef struct found {
    const weft_graph *graph;
    bool narrow;
} found;

static weft_status look(weft_comm *comm, void *argument)
{
    const found *f = argument;
    bool narrow = !f->narrow;
    WEFT_TRY(gnn_features_are_narrow(comm, f->graph, &narrow));
    WEFT_CHECK(narrow == f->narrow, WEFT_ERR_INTERNAL, "found %d, expected %d", narrow, f->narrow);
    return WEFT_OK;
}

static void test_facts(void **state)
{
    (void)state;
    static const struct {
        float last;
        bool narrow;
    } cases[] = {{1.0F, true},    {256.0F, true}, {-0.0F, true},  {0.15625F, true},
                 {257.0F, false}, {0.1F, false},  {1e-40F, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        float feature[6] = {0.0F, 1.0F, -3.0F, 2.5F, 128.0F, cases[i].last};
        const weft_graph graph = {.vertices = 3, .features = 2, .feature = feature};
        for (int ranks = 1; ranks <= 4; ++ranks) {
            ASSERT_OK(comm_thread_run(ranks, look, &(found){.graph = &graph, .narrow = cases[i].narrow}));
        }
    }
}

typedef struct bits {
    uint64_t feature_bytes;
    float logits[VERTICES * CLASSES], gradient[MOST];
} bits;

static void pass_through(weft_comm *comm, const labelled_graph *g, const gnn_config *config, bits *out)
{
    weft_partition whole = {.parts = 1, .method = "whole", .vertices = VERTICES, .edges = g->graph.edges};
    weft_part part = {0};
    weft_hal *hal = NULL;
    gnn_model *model = calloc(1, sizeof *model);
    weft_tensor logits;
    const train_pass pass = {.training = true, .seed = 7, .epoch = 3};
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    ASSERT_OK(part_extract(&g->graph, &whole, 0, NULL, PART_SHARED_FIRST, &part));
    ASSERT_OK(gnn_model_create(comm, hal, WEFT_DTYPE_F32, config, &part, NULL, HAL_SPMM_ROWS, model));
    assert_true(model->plan.layer[0].narrow == config->narrow_features && model->params.trained <= MOST);
    weft_tensor features = gnn_model_features(model);
    ASSERT_OK(gnn_load_features(comm, &g->graph, &part, GNN_SCALE_NONE, NULL, &features));
    ASSERT_OK(gnn_model_prepare(model));
    ASSERT_OK(param_initialise(&model->params, 11));
    ASSERT_OK(model->interface.forward(model, &pass, &logits));
    ASSERT_OK(tensor_download(&logits, out->logits));
    ASSERT_OK(model->interface.backward(model, &pass, &logits));
    weft_tensor gradient = tensor_view(&model->params.grad, 0, 1, 0, model->params.trained);
    ASSERT_OK(tensor_download(&gradient, out->gradient));
    out->feature_bytes = model->plan.feature_bytes;
    gnn_model_destroy(model);
    free(model);
    part_destroy(&part);
    weft_hal_close(hal);
}

static void test_bits(void **state)
{
    (void)state;
    static const gnn_config configs[] = {
        {.kind = GNN_SAGE, .order = GNN_ORDER_LINEAR_FIRST},
        {.kind = GNN_SAGE, .input_dropout = 0.3F},
        {.kind = GNN_GCN, .order = GNN_ORDER_LINEAR_FIRST, .residual = true},
        {.kind = GNN_GIN, .order = GNN_ORDER_LINEAR_FIRST},
        {.kind = GNN_MLP},
        {.kind = GNN_GAT, .heads = 2, .out_heads = 1, .slope = 0.2F, .input_dropout = 0.3F},
    };
    static bits wide, narrow;
    labelled_graph g;
    weft_comm *comm = NULL;
    labelled_graph_make(
        &(labelled_graph_spec){.vertices = VERTICES, .degree = 4, .features = FEATURES, .classes = CLASSES, .seed = 5},
        &g);
    for (int64_t i = 0; i < (int64_t)VERTICES * FEATURES; ++i) {
        g.feature[i] = (float)(i * i % 7); /* counts */
    }
    ASSERT_OK(comm_create_self(&comm));
    for (size_t i = 0; i < sizeof configs / sizeof *configs; ++i) {
        gnn_config config = configs[i];
        config.layers = 3;
        config.inputs = FEATURES;
        config.hidden = 24;
        config.outputs = CLASSES;
        pass_through(comm, &g, &config, &wide);
        config.narrow_features = true;
        pass_through(comm, &g, &config, &narrow);
        assert_int_equal(2 * narrow.feature_bytes, wide.feature_bytes);
        assert_memory_equal(narrow.logits, wide.logits, sizeof wide.logits);
        assert_memory_equal(narrow.gradient, wide.gradient, sizeof wide.gradient);
    }
    comm_destroy(comm);
    labelled_graph_free(&g);
}

/* Every network has times in both types. */
static void test_gain(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (int kind = GNN_SAGE; kind <= GNN_GATV2; ++kind) {
        const gnn_config config = {.kind = (gnn_kind)kind,
                                   .layers = 2,
                                   .inputs = FEATURES,
                                   .hidden = 24,
                                   .outputs = CLASSES,
                                   .heads = 2,
                                   .out_heads = 1,
                                   .bf16 = true};
        gnn_product_gain gain;
        ASSERT_OK(gnn_product_gain_measure(hal, &config, 0.0, &gain));
        assert_true(gain.seconds_f32 > 0.0 && gain.seconds_bf16 > 0.0);
        if (kind == GNN_SAGE || kind == GNN_MLP) {
            gnn_product_gain dense;
            ASSERT_OK(gnn_product_gain_measure(hal, &config, 1e9, &dense)); /* so many sums that products are nothing */
            assert_true((dense.seconds_f32 > 1e3 * gain.seconds_f32) == (kind == GNN_SAGE));
            assert_true((dense.seconds_bf16 > 1e3 * gain.seconds_bf16) == (kind == GNN_SAGE));
        }
    }
    weft_hal_close(hal);
}

static weft_status (*quick_gemm)(weft_hal *hal, const hal_gemm_args *args);
static int tall_products; /* of bfloat16, with as many rows as are measured */

/* A processor on which products of bfloat16 take 4 ms more, whoever computes them. */
static weft_status slow_gemm(weft_hal *hal, const hal_gemm_args *args)
{
    const bool narrow =
        args->a.dtype == WEFT_DTYPE_BF16 || args->b.dtype == WEFT_DTYPE_BF16 || args->c.dtype == WEFT_DTYPE_BF16;
    const double until = clock_seconds() + (narrow ? 4e-3 : 0.0);
    tall_products += narrow && (args->a.rows == GNN_GAIN_ROWS || args->a.cols == GNN_GAIN_ROWS);
    while (clock_seconds() < until) {
    }
    return quick_gemm(hal, args);
}

/* Where products of bfloat16 are slow, as of a library, their time shows it: every product of every layer is measured
 * by the operation that an epoch calls. The times of float32 are not asserted, since a busy machine has any. */
static void test_slow_products(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    const gnn_config config = {
        .kind = GNN_GCN, .layers = 2, .inputs = FEATURES, .hidden = 24, .outputs = CLASSES, .bf16 = true};
    gnn_product_gain gain;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    quick_gemm = hal->op.gemm;
    hal->op.gemm = slow_gemm;
    ASSERT_OK(gnn_product_gain_measure(hal, &config, 1.0, &gain));
    assert_true(gain.seconds_bf16 >= 5 * 4e-3); /* forward and two gradients, of the first layer one */
    assert_true(tall_products >= 10);
    weft_hal_close(hal);
    assert_true(gnn_product_gain_pays(&(gnn_product_gain){.seconds_f32 = 1.0, .seconds_bf16 = 0.89}));
    assert_false(gnn_product_gain_pays(&(gnn_product_gain){.seconds_f32 = 1.0, .seconds_bf16 = 0.91}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_gain),
        cmocka_unit_test(test_slow_products),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
