/* Names of tensors as people and PyTorch's wrappers write them become those of PyG's models, or stay as they are in the
 * file. */
#include "gnn/pyg_names.h"

#include <string.h>

#include "base/log.h"
#include "support/folder.h"

enum { TENSORS = 9 };

/* dims: 0 stands for the usual: 2 of names that end in lin.weight and the like, else 1. */
typedef struct names_case {
    unsigned kinds;                /* that are found */
    const char *stored[TENSORS];   /* up to NULL */
    const char *expected[TENSORS]; /* in the same order; NULL: as in the file */
} names_case;

static const names_case cases[] = {
    {PYG_GCN, {"convs.0.lin.weight", "convs.0.bias"}, {NULL}},
    {PYG_GCN, {"module.convs.0.lin.weight", "module.convs.0.bias"}, {"convs.0.lin.weight", "convs.0.bias"}},
    {PYG_GCN,
     {"_orig_mod.module.convs.0.lin.weight", "_orig_mod.module.convs.0.bias"},
     {"convs.0.lin.weight", "convs.0.bias"}},
    {PYG_GCN, {"module.model.conv1.lin.weight", "module.model.conv1.bias"}, {"convs.0.lin.weight", "convs.0.bias"}},
    {PYG_SGC, {"model.lin.weight", "model.lin.bias"}, {"lin.weight", "lin.bias"}},
    {PYG_SGC, {"conv1.lin.weight", "conv1.lin.bias"}, {"lin.weight", "lin.bias"}},
    {PYG_GCN,
     {"conv2.bias", "conv2.lin.weight", "conv10.bias", "conv10.lin.weight", "conv1.bias", "conv1.lin.weight"},
     {"convs.1.bias", "convs.1.lin.weight", "convs.2.bias", "convs.2.lin.weight", "convs.0.bias",
      "convs.0.lin.weight"}},
    {PYG_SAGE,
     {"layers.0.lin_l.weight", "layers.0.lin_l.bias", "layers.0.lin_r.weight", "layers.1.lin_l.weight"},
     {"convs.0.lin_l.weight", "convs.0.lin_l.bias", "convs.0.lin_r.weight", "convs.1.lin_l.weight"}},
    {PYG_GAT,
     {"gat1.att_src", "gat1.att_dst", "gat1.bias", "gat1.lin.weight"},
     {"convs.0.att_src", "convs.0.att_dst", "convs.0.bias", "convs.0.lin.weight"}},
    {PYG_GCN, /* torch.nn.BatchNorm1d beside a list of layers */
     {"convs.0.lin.weight", "convs.0.bias", "bns.0.weight", "bns.0.running_mean", "convs.1.lin.weight", "convs.1.bias"},
     {"convs.0.lin.weight", "convs.0.bias", "norms.0.module.weight", "norms.0.module.running_mean",
      "convs.1.lin.weight", "convs.1.bias"}},
    {PYG_GCN,
     {"gcn1.lin.weight", "gcn1.bias", "ln1.weight", "ln1.bias"},
     {"convs.0.lin.weight", "convs.0.bias", "norms.0.weight", "norms.0.bias"}},
    {PYG_MLP,
     {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"},
     {"lins.0.weight", "lins.0.bias", "lins.1.weight", "lins.1.bias"}},
    /* What is in doubt stays. */
    {0, {"conv1.lin.weight", "conv1.bias", "lin.weight", "lin.bias"}, {NULL}}, /* a classifier, or a jump? */
    {0, {"gcn1.lin.weight", "sage1.lin_l.weight"}, {NULL}},                    /* two words */
    {0, {"module.conv1.lin.weight", "conv2.lin.weight"}, {NULL}},              /* no common part */
    {0, {"embedding.weight", "conv1.lin.weight"}, {NULL}},
    {0, {"weight"}, {NULL}},
    {0, {"conv1"}, {NULL}},
    {0, {"conv1.", "."}, {NULL}},
    {0, {"conv12345.lin.weight", "conv12345.bias"}, {NULL}},
    {0, {"a.b.c.d.e.f.g.h.i.j.k.conv1.lin.weight"}, {NULL}},
};

static int dims_of(const char *name)
{
    const char *end = strrchr(name, '.');
    const bool norm = strncmp(name, "bn", 2) == 0 || strncmp(name, "ln", 2) == 0;
    return end != NULL && strcmp(end, ".weight") == 0 && !norm ? 2 : 1;
}

static void check(void **state, const names_case *c)
{
    static const float values[1] = {0};
    safetensors_item items[TENSORS];
    safetensors_file *file = NULL;
    const char *path = in_folder(state, "m.safetensors");
    int count = 0;
    for (; count < TENSORS && c->stored[count] != NULL; count++) {
        items[count] = (safetensors_item){
            .name = c->stored[count], .dims = dims_of(c->stored[count]), .shape = {1, 1}, .values = values};
    }
    ASSERT_OK(safetensors_write(path, items, count, NULL, 0));
    ASSERT_OK(safetensors_open(path, &file));
    ASSERT_OK(pyg_find_names(file, path));
    for (int i = 0; i < count; i++) {
        const safetensors_entry *entry = safetensors_entry_at(file, i);
        assert_string_equal(entry->stored, c->stored[i]);
        assert_string_equal(entry->name, c->expected[0] != NULL ? c->expected[i] : c->stored[i]);
    }
    assert_int_equal(c->kinds == 0 ? 0 : pyg_kinds(file), c->kinds);
    if (c->kinds == 0) {
        const unsigned kinds = pyg_kinds(file);
        assert_true(kinds == 0 || (kinds & (kinds - 1)) != 0);
    }
    safetensors_close(file);
}

static void test_names(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(state, &cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
