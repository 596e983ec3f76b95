/* Weights under PyG's names: every kind of model goes out and comes back to the bit, under the names that PyG 2.8
 * shows, and what does not belong is refused. */
#include "gnn/pyg.h"
#include "support/folder.h"

typedef struct pyg_case {
    gnn_config config;
    const char *const *names; /* that PyG's state_dict has, less num_batches_tracked */
} pyg_case;

/* Printed by torch_geometric 2.8.1 for two layers 5 -> 4 -> 3. */
static const char *const sage_names[] = {"convs.0.lin_l.weight",
                                         "convs.0.lin_l.bias",
                                         "convs.0.lin_r.weight",
                                         "convs.1.lin_l.weight",
                                         "convs.1.lin_l.bias",
                                         "convs.1.lin_r.weight",
                                         "norms.0.module.weight",
                                         "norms.0.module.bias",
                                         "norms.0.module.running_mean",
                                         "norms.0.module.running_var",
                                         NULL};
static const char *const sage_gcn_names[] = {"convs.0.lin_l.weight",
                                             "convs.0.lin_l.bias",
                                             "convs.1.lin_l.weight",
                                             "convs.1.lin_l.bias",
                                             "norms.0.weight",
                                             "norms.0.bias",
                                             NULL};
static const char *const gcn_names[] = {"convs.0.bias", "convs.0.lin.weight", "convs.1.bias", "convs.1.lin.weight",
                                        NULL};
static const char *const mlp_names[] = {"lins.0.weight",
                                        "lins.0.bias",
                                        "lins.1.weight",
                                        "lins.1.bias",
                                        "norms.0.module.weight",
                                        "norms.0.module.bias",
                                        "norms.0.module.running_mean",
                                        "norms.0.module.running_var",
                                        NULL};

static const char *const gat_names[] = {"convs.0.att_src",    "convs.0.att_dst",    "convs.0.bias",
                                        "convs.0.lin.weight", "convs.1.att_src",    "convs.1.att_dst",
                                        "convs.1.bias",       "convs.1.lin.weight", NULL};

/* As torch_geometric.nn.GIN, SGConv and GCN(jk="cat") name them. */
static const char *const gin_names[] = {"convs.0.eps",
                                        "convs.0.nn.lins.0.weight",
                                        "convs.0.nn.lins.0.bias",
                                        "convs.0.nn.lins.1.weight",
                                        "convs.0.nn.lins.1.bias",
                                        "convs.0.nn.norms.0.weight",
                                        "convs.0.nn.norms.0.bias",
                                        "convs.1.eps",
                                        "convs.1.nn.lins.0.weight",
                                        "convs.1.nn.lins.0.bias",
                                        "convs.1.nn.lins.1.weight",
                                        "convs.1.nn.lins.1.bias",
                                        "convs.1.nn.norms.0.weight",
                                        "convs.1.nn.norms.0.bias",
                                        "norms.0.weight",
                                        "norms.0.bias",
                                        NULL};
static const char *const sgc_names[] = {"lin.weight", "lin.bias", NULL};
static const char *const jump_names[] = {"convs.0.bias",
                                         "convs.0.lin.weight",
                                         "convs.1.bias",
                                         "convs.1.lin.weight",
                                         "lin.weight",
                                         "norms.0.module.weight",
                                         "lin.bias",
                                         "norms.0.module.bias",
                                         "norms.0.module.running_mean",
                                         "norms.0.module.running_var",
                                         "norms.1.module.weight",
                                         "norms.1.module.bias",
                                         "norms.1.module.running_mean",
                                         "norms.1.module.running_var",
                                         NULL};

static const char *const gatv2_names[] = {"convs.0.att",
                                          "convs.0.bias",
                                          "convs.0.lin_l.weight",
                                          "convs.0.lin_l.bias",
                                          "convs.0.lin_r.weight",
                                          "convs.0.lin_r.bias",
                                          "convs.1.att",
                                          "convs.1.bias",
                                          "convs.1.lin_l.weight",
                                          "convs.1.lin_l.bias",
                                          "convs.1.lin_r.weight",
                                          "convs.1.lin_r.bias",
                                          NULL};

static const pyg_case cases[] = {
    {{.kind = GNN_SAGE, .aggregator = GNN_SAGE_MEAN, .norm = NORM_BATCH}, sage_names},
    {{.kind = GNN_SAGE, .aggregator = GNN_SAGE_GCN, .norm = NORM_LAYER}, sage_gcn_names},
    {{.kind = GNN_GCN, .norm = NORM_NONE}, gcn_names},
    {{.kind = GNN_GAT, .norm = NORM_NONE}, gat_names}, /* one head of 4, then two of 3 */
    {{.kind = GNN_MLP, .norm = NORM_BATCH}, mlp_names},
    {{.kind = GNN_GATV2, .norm = NORM_NONE}, gatv2_names},
    {{.kind = GNN_GIN, .norm = NORM_LAYER}, gin_names},
    {{.kind = GNN_GIN, .norm = NORM_LAYER, .learns_eps = true}, gin_names},
    {{.kind = GNN_SGC, .norm = NORM_NONE}, sgc_names},                               /* one map 5 -> 3 */
    {{.kind = GNN_GCN, .norm = NORM_BATCH, .jumping = GNN_JUMPING_CAT}, jump_names}, /* 5 -> 4 -> 4, 8 -> 3 */
    {{.kind = GNN_GCN, .norm = NORM_BATCH, .jumping = GNN_JUMPING_MAX}, jump_names},
};
enum { CASES = sizeof cases / sizeof *cases };

static train_weights *empty(void)
{
    train_weights *weights = calloc(1, sizeof *weights);
    assert_non_null(weights);
    return weights;
}

static void dispose(train_weights *weights)
{
    weights_destroy(weights);
    free(weights);
}

static void add(train_weights *weights, const char *name, int64_t rows, int64_t cols)
{
    float *values = NULL;
    ASSERT_OK(weights_add(weights, "test", name, 2, (const int64_t[]){rows, cols}, &values));
    for (int64_t i = 0; i < rows * cols; ++i) {
        values[i] = (float)(100 * weights->count + i);
    }
}

static void add_norm(train_weights *weights, const gnn_config *config, const char *layer, int64_t width)
{
    static const char *const ends[] = {"gamma", "beta", "mean", "var"};
    const int count = config->norm == NORM_BATCH ? 4 : config->norm == NORM_LAYER ? 2 : 0;
    for (int i = 0; i < count; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", layer, ends[i]);
        add(weights, name, 1, width);
    }
}

/* Two layers 5 -> 4 -> 3. */
static train_weights *make_weights(const gnn_config *config)
{
    train_weights *weights = empty();
    const bool jumps = config->jumping != GNN_JUMPING_NONE, one = config->kind == GNN_SGC;
    const int64_t width[3] = {5, one ? 3 : 4, jumps ? 4 : 3};
    for (int l = 0; l < (one ? 1 : 2); ++l) {
        char name[32];
        bool self = config->kind == GNN_SAGE && config->aggregator == GNN_SAGE_MEAN;
        const bool v2 = config->kind == GNN_GATV2;
        snprintf(name, sizeof name, "layer%d.%s", l, self ? "self" : v2 ? "source" : "weight");
        const int64_t heads = v2 || config->kind == GNN_GAT ? 1 + l : 1;
        add(weights, name, width[l], heads * width[l + 1]);
        if (v2) {
            snprintf(name, sizeof name, "layer%d.target", l);
            add(weights, name, width[l], heads * width[l + 1]);
            snprintf(name, sizeof name, "layer%d.source_bias", l);
            add(weights, name, 1, heads * width[l + 1]);
            snprintf(name, sizeof name, "layer%d.target_bias", l);
            add(weights, name, 1, heads * width[l + 1]);
            snprintf(name, sizeof name, "layer%d.att", l);
            add(weights, name, heads, width[l + 1]);
        }
        if (config->kind == GNN_GAT) {
            snprintf(name, sizeof name, "layer%d.att_src", l);
            add(weights, name, heads, width[l + 1]);
            snprintf(name, sizeof name, "layer%d.att_dst", l);
            add(weights, name, heads, width[l + 1]);
        }
        if (self) {
            snprintf(name, sizeof name, "layer%d.neigh", l);
            add(weights, name, width[l], width[l + 1]);
        }
        snprintf(name, sizeof name, "layer%d.bias", l);
        add(weights, name, 1, width[l + 1]);
        if (config->learns_eps) {
            snprintf(name, sizeof name, "layer%d.eps", l);
            add(weights, name, 1, 1);
        }
        if (config->kind == GNN_GIN) {
            snprintf(name, sizeof name, "mlp%d.weight", l);
            add(weights, name, width[l + 1], width[l + 1]);
            snprintf(name, sizeof name, "mlp%d.bias", l);
            add(weights, name, 1, width[l + 1]);
            add_norm(weights, config, l == 0 ? "mlp0" : "mlp1", width[l + 1]);
        }
    }
    add_norm(weights, config, "norm0", 4);
    if (jumps) {
        add_norm(weights, config, "norm1", 4);
        add(weights, "jump0.weight", config->jumping == GNN_JUMPING_CAT ? 8 : 4, 3);
        add(weights, "jump0.bias", 1, 3);
    }
    return weights;
}

static void check_names(const safetensors_file *file, const char *const *names)
{
    int count = 0;
    for (; names[count] != NULL; ++count) {
        if (safetensors_find(file, names[count]) < 0) {
            fail_msg("no tensor %s", names[count]);
        }
    }
    assert_int_equal(safetensors_count(file), count);
}

static void check_case(void **state, const pyg_case *c)
{
    train_weights *before = make_weights(&c->config), *after = empty();
    gnn_config config = c->config, read = {.kind = GNN_SAGE};
    const char *path = in_folder(state, "m.safetensors");
    safetensors_file *file = NULL;
    ASSERT_OK(gnn_weights_describe(before, "test", &config));
    const bool one = config.kind == GNN_SGC; /* whose hops no weight tells */
    assert_true(config.layers == (one ? 0 : 2) && config.hidden == (one ? 0 : 4));
    assert_true(config.inputs == 5 && config.outputs == 3 && config.jumping == c->config.jumping);
    assert_int_equal(config.norm, c->config.norm);
    ASSERT_OK(pyg_write(path, &config, before, NULL, 0));
    ASSERT_OK(safetensors_open(path, &file));
    check_names(file, c->names);
    ASSERT_OK(pyg_read(file, path, after, &read));
    assert_int_equal(read.kind, config.kind);
    assert_true(read.kind != GNN_SAGE || read.aggregator == config.aggregator);
    assert_true(read.heads == 0 || (read.heads == 1 && read.out_heads == 2));
    assert_true(read.layers == config.layers && read.inputs == 5 && read.hidden == config.hidden && read.outputs == 3 &&
                read.norm == config.norm && read.jumping == config.jumping && read.learns_eps == config.learns_eps);
    assert_int_equal(after->count, before->count);
    for (int i = 0; i < before->count; ++i) {
        const train_weight *a = &before->item[i], *b = weights_find(after, a->name);
        assert_non_null(b);
        assert_true(a->rows == b->rows && a->cols == b->cols);
        assert_memory_equal(a->values, b->values, (size_t)(a->rows * a->cols) * sizeof *a->values);
    }
    safetensors_close(file);
    dispose(before);
    dispose(after);
}

static void test_every_kind_goes_out_and_comes_back(void **state)
{
    for (int i = 0; i < CASES; ++i) {
        check_case(state, &cases[i]);
    }
}

/* PyTorch's linear map is y = W x with W [out, in]. */
static void test_matrices_are_transposed(void **state)
{
    gnn_config config = {.kind = GNN_GCN};
    train_weights *weights = make_weights(&config);
    const char *path = in_folder(state, "m.safetensors");
    safetensors_file *file = NULL;
    float theirs[20];
    ASSERT_OK(gnn_weights_describe(weights, "test", &config));
    ASSERT_OK(pyg_write(path, &config, weights, NULL, 0));
    ASSERT_OK(safetensors_open(path, &file));
    int i = safetensors_find(file, "convs.0.lin.weight");
    assert_true(safetensors_entry_at(file, i)->shape[0] == 4 && safetensors_entry_at(file, i)->shape[1] == 5);
    ASSERT_OK(safetensors_read_f32(file, i, theirs));
    const float *ours = weights_find(weights, "layer0.weight")->values;
    for (int in = 0; in < 5; ++in) {
        for (int out = 0; out < 4; ++out) {
            assert_true(theirs[out * 5 + in] == ours[in * 4 + out]);
        }
    }
    safetensors_close(file);
    dispose(weights);
}

static weft_status read_back(void **state, const safetensors_item *items, int count)
{
    train_weights *weights = empty();
    gnn_config config = {.kind = GNN_SAGE};
    const char *path = in_folder(state, "bad.safetensors");
    safetensors_file *file = NULL;
    ASSERT_OK(safetensors_write(path, items, count, NULL, 0));
    ASSERT_OK(safetensors_open(path, &file));
    weft_status status = pyg_read(file, path, weights, &config);
    safetensors_close(file);
    dispose(weights);
    return status;
}

static void test_what_does_not_belong_is_refused(void **state)
{
    static const float some[2] = {0.5f, 0.5f};
    const safetensors_item gin[] = {{.name = "convs.0.nn.lins.0.weight", .dims = 2, .shape = {1, 1}, .values = some},
                                    {.name = "convs.0.eps", .dims = 1, .shape = {2}, .values = some}};
    ASSERT_STATUS(read_back(state, gin, 2), WEFT_ERR_DATA);
    ASSERT_MESSAGE("expected 1");
    static const float values[20] = {0};
    safetensors_item items[] = {{.name = "convs.0.lin.weight", .dims = 2, .shape = {4, 5}, .values = values},
                                {.name = "convs.0.bias", .dims = 1, .shape = {4, 0}, .values = values},
                                {.name = "norms.0.module.num_batches_tracked", .dims = 0, .values = values}};
    ASSERT_OK(read_back(state, items, 3));
    ASSERT_STATUS(read_back(state, items, 1), WEFT_ERR_DATA);
    ASSERT_MESSAGE("layer0.bias");
    ASSERT_STATUS(read_back(state, items + 1, 1), WEFT_ERR_DATA);
    ASSERT_MESSAGE("GraphSAGE");
    items[2] = (safetensors_item){.name = "convs.0.lin.other", .dims = 1, .shape = {4, 0}, .values = values};
    ASSERT_STATUS(read_back(state, items, 3), WEFT_ERR_DATA);
    ASSERT_MESSAGE("convs.0.lin.other");
    items[2] = (safetensors_item){.name = "convs.00.bias", .dims = 1, .shape = {4, 0}, .values = values};
    ASSERT_STATUS(read_back(state, items, 3), WEFT_ERR_DATA);
    items[2] = (safetensors_item){.name = "convs.64.bias", .dims = 1, .shape = {4, 0}, .values = values};
    ASSERT_STATUS(read_back(state, items, 3), WEFT_ERR_DATA);
    items[2] = (safetensors_item){.name = "convs.2.bias", .dims = 1, .shape = {4, 0}, .values = values};
    ASSERT_STATUS(read_back(state, items, 3), WEFT_ERR_DATA);
    ASSERT_MESSAGE("3 arrays, 2 of them");
    items[1].shape[0] = 3;
    ASSERT_STATUS(read_back(state, items, 2), WEFT_ERR_DATA);
    ASSERT_MESSAGE("layer 0");
    items[1].shape[0] = 4;
    items[0].dims = 1;
    ASSERT_STATUS(read_back(state, items, 2), WEFT_ERR_DATA);
    ASSERT_MESSAGE("1 dimensions");
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_every_kind_goes_out_and_comes_back),
        FOLDER_TEST(test_matrices_are_transposed),
        FOLDER_TEST(test_what_does_not_belong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
