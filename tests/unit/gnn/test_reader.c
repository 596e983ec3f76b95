/* Input formats: small files of each, whole ones and ones with a single fault. */
#include <math.h>

#include "base/log.h"
#include "gnn/data/read/reader.h"
#include "io/npy.h"
#include "support/folder.h"

/* An array of a test file; `name` NULL ends a list. */
typedef struct member {
    const char *name;
    char kind;
    int item_bytes, dims;
    int64_t shape[2];
    const void *data;
} member;

#define I64(name, length, ...)                                                                                         \
    {                                                                                                                  \
        name, 'i', 8, 1, {length}, (const int64_t[])                                                                   \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define I32(name, length, ...)                                                                                         \
    {                                                                                                                  \
        name, 'i', 4, 1, {length}, (const int32_t[])                                                                   \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define F32(name, length, ...)                                                                                         \
    {                                                                                                                  \
        name, 'f', 4, 1, {length}, (const float[])                                                                     \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define BOOL2(name, rows, columns, ...)                                                                                \
    {                                                                                                                  \
        name, 'b', 1, 2, {rows, columns}, (const uint8_t[])                                                            \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* Directed 0->1, 1->2, 2->2 (loop), 3->0, 0->1 again is not possible in CSR; features sparse with a double entry. */
static const member benchmark[] = {
    I32("adj_indptr", 5, 0, 1, 2, 3, 4),  I32("adj_indices", 4, 1, 2, 2, 0),
    F32("adj_data", 4, 1, 1, 1, 1),       I64("adj_shape", 2, 4, 4),
    I32("attr_indptr", 5, 0, 2, 2, 4, 5), I32("attr_indices", 5, 0, 2, 1, 1, 0),
    F32("attr_data", 5, 1, 2, 3, 4, 5),   I64("attr_shape", 2, 4, 3),
    I64("labels", 4, 1, 3, 2, 1),         {.name = NULL},
};

static const member heterophilous[] = {
    {"node_features", 'f', 4, 2, {3, 2}, (const float[]){1, 2, 3, 4, 5, 6}},
    I64("node_labels", 3, 0, 1, 1),
    {"edges", 'i', 8, 2, {2, 2}, (const int64_t[]){0, 1, 2, 1}},
    BOOL2("train_masks", 2, 3, 1, 0, 0, 0, 0, 1),
    BOOL2("val_masks", 2, 3, 0, 1, 0, 0, 0, 0),
    BOOL2("test_masks", 2, 3, 0, 0, 1, 1, 1, 0),
    {.name = NULL},
};

static const member plain[] = {
    {"vertices", 'i', 8, 0, {0}, (const int64_t[]){3}},
    {"edges", 'i', 4, 2, {3, 2}, (const int32_t[]){0, 1, 1, 2, 1, 0}},
    {"features", 'u', 1, 2, {3, 1}, (const uint8_t[]){7, 8, 9}},
    I32("labels", 3, 0, -1, 1),
    I64("train", 1, 2),
    I64("val", 1, 0),
    I64("test", 1, 1),
    {.name = NULL},
};

/* A path 0 - 1 - 2 - 3 under the names of PyTorch Geometric: masks of several types, weights in a column. */
static const member pyg[] = {
    {"edge_index", 'i', 8, 2, {2, 3}, (const int64_t[]){0, 1, 2, 1, 2, 3}},
    {"x", 'f', 4, 2, {4, 1}, (const float[]){1, 2, 3, 4}},
    {"y", 'i', 8, 2, {4, 1}, (const int64_t[]){1, 2, 1, 3}},
    {"train_mask", 'b', 1, 1, {4}, (const uint8_t[]){1, 0, 0, 1}},
    {"val_mask", 'u', 1, 1, {4}, (const uint8_t[]){0, 255, 0, 0}},
    F32("test_mask", 4, 0, 0, 1, 0),
    {"edge_attr", 'f', 4, 2, {3, 1}, (const float[]){0.5F, 1.5F, 2.5F}},
    {.name = NULL},
};

/* Write `base` with the member of the same name replaced by `change` (added when new, left out when without data). */
static const char *write_with(void **state, const member *base, const member *change)
{
    const char *path = in_folder(state, "in.npz");
    npz_writer *writer;
    ASSERT_OK(npz_writer_open(path, &writer));
    bool replaced = change == NULL;
    for (; base->name != NULL || !replaced; base += base->name != NULL) {
        bool same = base->name != NULL && change != NULL && strcmp(base->name, change->name) == 0;
        const member *m = base->name == NULL || same ? change : base;
        replaced = replaced || m == change;
        if (m->data != NULL) {
            ASSERT_OK(npz_writer_add(writer, m->name, m->kind, m->item_bytes, m->dims, m->shape, m->data));
        }
    }
    ASSERT_OK(npz_writer_commit(writer));
    return path;
}

static convert_options defaults(void)
{
    return (convert_options){.format = "auto", .split_index = -1};
}

static void convert_and_open(void **state, const char *input, const convert_options *options, int split,
                             weft_graph *graph)
{
    ASSERT_OK(reader_convert(input, in_folder(state, "store"), options));
    ASSERT_OK(graph_open(in_folder(state, "store"), split, true, graph));
    ASSERT_OK(graph_validate(graph));
}

static void test_gnn_benchmark(void **state)
{
    convert_options options = defaults();
    weft_graph graph;
    convert_and_open(state, write_with(state, benchmark, NULL), &options, 0, &graph);
    static const int64_t offset[] = {0, 2, 4, 5, 6};
    static const int32_t source[] = {1, 3, 0, 2, 1, 0};
    static const float feature[] = {1, 0, 2, 0, 0, 0, 0, 7, 0, 5, 0, 0};
    static const int32_t label[] = {0, 2, 1, 0};
    assert_int_equal(graph.vertices, 4);
    assert_int_equal(graph.edges, 6);
    assert_int_equal(graph.classes, 3);
    assert_true(graph.symmetric);
    assert_int_equal(graph.splits, 0);
    assert_memory_equal(graph.offset, offset, sizeof offset);
    assert_memory_equal(graph.source32, source, sizeof source);
    assert_memory_equal(graph.feature, feature, sizeof feature);
    assert_memory_equal(graph.label, label, sizeof label);
    assert_string_equal(graph.name, "in");
    graph_close(&graph);
}

static void test_directions_and_loops_can_be_kept(void **state)
{
    convert_options options = defaults();
    options.symmetrize = 2;
    options.keep_self_loops = true;
    weft_graph graph;
    convert_and_open(state, write_with(state, benchmark, NULL), &options, 0, &graph);
    static const int64_t offset[] = {0, 1, 2, 4, 4};
    static const int32_t source[] = {3, 0, 1, 2}; /* row v lists the sources of u -> v */
    assert_int_equal(graph.edges, 4);
    assert_false(graph.symmetric);
    assert_memory_equal(graph.offset, offset, sizeof offset);
    assert_memory_equal(graph.source32, source, sizeof source);
    graph_close(&graph);
}

static void test_heterophilous_and_its_splits(void **state)
{
    convert_options options = defaults();
    weft_graph graph;
    convert_and_open(state, write_with(state, heterophilous, NULL), &options, 1, &graph);
    static const uint8_t second[] = {2, 2, 0};
    assert_int_equal(graph.splits, 2);
    assert_int_equal(graph.edges, 4);
    assert_memory_equal(graph.split, second, sizeof second);
    graph_close(&graph);
    options.split_index = 1;
    options.force = true;
    convert_and_open(state, in_folder(state, "in.npz"), &options, 0, &graph);
    assert_int_equal(graph.splits, 1);
    assert_memory_equal(graph.split, second, sizeof second);
    graph_close(&graph);
    options.split_index = 2;
    ASSERT_STATUS(reader_convert(in_folder(state, "in.npz"), in_folder(state, "store"), &options), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("splits 0 to 1");
}

static void test_plain_npz(void **state)
{
    convert_options options = defaults();
    weft_graph graph;
    convert_and_open(state, write_with(state, plain, NULL), &options, 0, &graph);
    static const uint8_t split[] = {1, 2, 0};
    static const float feature[] = {7, 8, 9};
    static const int32_t label[] = {0, -1, 1};
    assert_int_equal(graph.edges, 4);
    assert_memory_equal(graph.split, split, sizeof split);
    assert_memory_equal(graph.feature, feature, sizeof feature);
    assert_memory_equal(graph.label, label, sizeof label);
    graph_close(&graph);
}

static const member lists[] = {I64("train", 2, 3, 0), I32("valid", 1, 1), I64("test", 1, 2), {.name = NULL}};

static void test_split_from_another_file(void **state)
{
    rename(write_with(state, lists, NULL), in_folder(state, "split.npz"));
    convert_options options = defaults();
    options.split_path = in_folder(state, "split.npz");
    char split_path[FILE_PATH_MAX];
    ASSERT_OK(file_path(split_path, "%s", options.split_path));
    options.split_path = split_path;
    weft_graph graph;
    convert_and_open(state, write_with(state, benchmark, NULL), &options, 0, &graph);
    static const uint8_t split[] = {0, 1, 2, 0};
    assert_int_equal(graph.splits, 1);
    assert_memory_equal(graph.split, split, sizeof split);
    graph_close(&graph);
    options.split_path = in_folder(state, "in.npz");
    options.force = true;
    ASSERT_STATUS(reader_convert(in_folder(state, "in.npz"), in_folder(state, "store"), &options), WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds no split");
}

static void test_names_of_pyg(void **state)
{
    convert_options options = defaults();
    options.weight_path = "input";
    weft_graph graph;
    convert_and_open(state, write_with(state, pyg, NULL), &options, 0, &graph);
    static const int64_t offset[] = {0, 1, 3, 5, 6};
    static const int32_t source[] = {1, 0, 2, 1, 3, 2};
    static const float weight[] = {0.5F, 0.5F, 1.5F, 1.5F, 2.5F, 2.5F};
    static const uint8_t split[] = {0, 1, 2, 0};
    static const int32_t label[] = {0, 1, 0, 2}; /* 1 to 3, each of which occurs */
    assert_memory_equal(graph.offset, offset, sizeof offset);
    assert_memory_equal(graph.source32, source, sizeof source);
    assert_memory_equal(graph.weight, weight, sizeof weight);
    assert_memory_equal(graph.split, split, sizeof split);
    assert_memory_equal(graph.label, label, sizeof label);
    assert_int_equal(graph.classes, 3);
    graph_close(&graph);
    options.force = true;
    options.classes = 9; /* a part of a larger graph */
    convert_and_open(state, in_folder(state, "in.npz"), &options, 0, &graph);
    static const int32_t kept[] = {1, 2, 1, 3};
    assert_int_equal(graph.classes, 9);
    assert_memory_equal(graph.label, kept, sizeof kept);
    graph_close(&graph);
    options.classes = 3;
    ASSERT_STATUS(reader_convert(in_folder(state, "in.npz"), in_folder(state, "store"), &options), WEFT_ERR_DATA);
    ASSERT_MESSAGE("[y]: row 3: class 3, but --classes 3 allows 0 to 2");
}

/* A .npy of --splits, and what four vertices make of it; split NULL: refused with the message. */
typedef struct split_case {
    member array;
    const uint8_t *split;
    const char *message;
} split_case;

static const split_case split_cases[] = {
    {I64("", 4, 0, 1, 2, -1), (const uint8_t[]){0, 1, 2, 255}, NULL},
    {F32("", 4, 0, 1, 2, 255), (const uint8_t[]){0, 1, 2, 255}, NULL},
    {{"", 'b', 1, 2, {3, 4}, (const uint8_t[]){0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}},
     (const uint8_t[]){1, 0, 2, 255},
     NULL},
    {{"", 'i', 8, 2, {4, 3}, (const int64_t[]){0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0}},
     (const uint8_t[]){1, 0, 2, 255},
     NULL},
    {I64("", 4, 0, 0, 0, 0), (const uint8_t[]){0, 0, 0, 0}, NULL},
    {I64("", 4, 0, 1, 1, 0), NULL, "a mask of one part; which?"},
    {{"", 'b', 1, 1, {4}, (const uint8_t[]){1, 1, 0, 0}}, NULL, "a mask of one part; which?"},
    {{"", 'b', 1, 2, {2, 4}, (const uint8_t[]){1, 1, 0, 0, 0, 0, 1, 1}}, NULL, "masks of 2 parts, expected 3"},
    {{"", 'b', 1, 2, {4, 4}, (const uint8_t[16]){1}}, NULL, "which dimension are the vertices?"},
    {I64("", 4, 0, 1, 2, 3), NULL, "row 3: 3: 0 = train, 1 = valid, 2 = test"},
    {I64("", 3, 0, 1, 2), NULL, "found 3 elements in 1 dimensions"},
};

static void test_split_arrays(void **state)
{
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s", in_folder(state, "split.npy")));
    convert_options options = defaults();
    options.split_path = path;
    options.force = true;
    for (size_t i = 0; i < sizeof split_cases / sizeof *split_cases; i++) {
        const member *m = &split_cases[i].array;
        ASSERT_OK(npy_write(path, m->kind, m->item_bytes, m->dims, m->shape, m->data));
        const char *input = write_with(state, benchmark, NULL);
        if (split_cases[i].split == NULL) {
            ASSERT_STATUS(reader_convert(input, in_folder(state, "store"), &options), WEFT_ERR_DATA);
            ASSERT_MESSAGE(split_cases[i].message);
            continue;
        }
        weft_graph graph;
        convert_and_open(state, input, &options, 0, &graph);
        assert_int_equal(graph.splits, 1);
        assert_memory_equal(graph.split, split_cases[i].split, 4);
        graph_close(&graph);
    }
}

typedef struct fault {
    const member *base;
    member change;
    const char *message;
} fault;

static const fault faults[] = {
    {benchmark, {.name = "adj_indices"}, "of no known format"},
    {benchmark, I32("adj_indices", 3, 1, 2, 2), "[adj_indices]: length 3 in dimension 0, expected 4"},
    {benchmark, I32("adj_indices", 4, 1, 2, 4, 0), "[adj_indices]: row 2: 4 is outside 0..3"},
    {benchmark, I32("adj_indices", 4, 1, 2, -1, 0), "[adj_indices]: row 2: -1 is outside 0..3"},
    {benchmark, F32("adj_indices", 4, 1, 2, 2.5F, 0), "[adj_indices]: element 2 is 2.5, expected an integer"},
    {benchmark, I32("adj_indptr", 4, 0, 1, 2, 4), "[adj_indptr]: length 4 in dimension 0, expected 5"},
    {benchmark, I32("adj_indptr", 5, 0, 2, 1, 3, 4), "[adj_indptr]: row 1: 2 is followed by 1"},
    {benchmark, I32("adj_indptr", 5, 1, 1, 2, 3, 4), "[adj_indptr]: row 0: 1, expected 0"},
    {benchmark, I64("adj_indptr", 5, 0, 1, 2, 3, INT64_MAX), "[adj_indices]: length 4 in dimension 0"},
    {benchmark, I64("adj_shape", 2, 4, 5), "an adjacency matrix is square"},
    {benchmark, I64("adj_shape", 2, -4, -4), "[adj_shape]: (-4, -4)"},
    {benchmark, I64("adj_shape", 2, INT64_MAX, INT64_MAX), "[adj_shape]"},
    {benchmark, I64("adj_shape", 3, 4, 4, 4), "[adj_shape]: length 3"},
    {benchmark, I64("attr_shape", 2, 4, 2), "[attr_indices]: row 1: 2 is outside 0..1"},
    {benchmark, I64("attr_shape", 2, 3, 3), "[attr_indptr]: length 5"},
    {benchmark, {.name = "attr_data"}, "lacks the array 'attr_data'"},
    {benchmark, F32("attr_data", 5, 1, 2, NAN, 4, 5), "[attr_data]: row 2: nan is not finite"},
    {benchmark, F32("attr_data", 5, 1, 2, 3e38F, 3e38F, 5), "feature, row 2, column 1: the entries add up to inf"},
    {benchmark, I64("labels", 3, 1, 2, 3), "[labels]: length 3 in dimension 0, expected 4"},
    {benchmark, I64("labels", 4, 0, 1, -2, 1), "[labels]: row 2: -2"},
    {benchmark, I64("labels", 4, -1, -1, -1, -1), "no vertex has a label"},
    {benchmark, I64("labels", 4, 0, INT64_MAX, 0, 0), "[labels]: row 1"},
    {benchmark, BOOL2("labels", 2, 2, 0, 1, 1, 0), "[labels]: 2 dimensions, expected 1"},
    {heterophilous,
     {"edges", 'i', 8, 2, {2, 2}, (const int64_t[]){0, 1, 3, 1}},
     "[edges]: row 1: (3, 1): vertices are 0 to 2"},
    {heterophilous,
     {"edges", 'i', 8, 2, {1, 3}, (const int64_t[]){0, 1, 2}},
     "[edges]: length 3 in dimension 1, expected 2"},
    {heterophilous,
     {"node_features", 'f', 4, 2, {2, 2}, (const float[]){1, 2, 3, 4}},
     "[node_features]: 2 rows of features for 3 vertices"},
    {heterophilous, {"node_features", 'f', 4, 2, {3, 1}, (const float[]){1, INFINITY, 4}}, "row 1, column 0: inf"},
    {heterophilous, {.name = "val_masks"}, "a split without 'valid'"},
    {heterophilous, BOOL2("val_masks", 1, 3, 0, 1, 0), "[val_masks]: 1 splits, but train has 2"},
    {heterophilous, BOOL2("val_masks", 2, 2, 0, 1, 0, 1), "[val_masks]: expected a list of vertices, or masks of 3"},
    {heterophilous, BOOL2("val_masks", 2, 3, 0, 1, 0, 0, 0, 1), "[val_masks]: vertex 2 is in train already (split 1)"},
    {plain, I64("train", 1, 0), "[val]: vertex 0 is in train already"},
    {plain, I64("train", 2, 2, 2), "[train]: vertex 2 is listed in train already"},
    {plain, I64("test", 2, 1, 3), "[test]: row 1: 3: vertices are 0 to 2"},
    {plain, I64("test", 1, -1), "[test]: row 0: -1"},
    {plain, {"vertices", 'i', 8, 0, {0}, (const int64_t[]){0}}, "no vertices"},
    {plain, {"vertices", 'i', 8, 0, {0}, (const int64_t[]){2}}, "[edges]: row 1: (1, 2)"},
    {plain, I64("vertices", 1, 3), "[vertices]: 1 dimensions, expected 0"},
    {plain, I32("labels", 3, 1, -1, 1), "[labels]: the labels are -1 and 1 alone"},
    {plain, F32("labels", 3, 1, -1, NAN), "[labels]: the labels are -1 and 1 alone"},
    {plain, F32("labels", 3, 1, 0.5F, 0), "[labels]: row 1: 0.5 is not a class"},
    {plain, I64("train", 2, 0, 0), "[train]: holds 0 and 1 alone, more than once"},
    {plain, I64("train", 4, 0, 1, 2, 0), "[train]: 4 entries for 3 vertices"},
    {plain, BOOL2("train", 3, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0), "which dimension are the vertices?"},
    {plain, BOOL2("train", 1, 2, 0, 1), "[train]: expected a list of vertices, or masks of 3"},
    {plain, {"train", 'i', 8, 2, {3, 1}, (const int64_t[]){0, 2, 0}}, "[train]: element 1 is 2: masks hold 0 and 1"},
    {pyg, {"edge_index", 'i', 8, 2, {3, 2}, (const int64_t[]){0, 1, 1, 2, 3, 0}}, "(the transpose of this array)"},
    {pyg, {"edge_index", 'i', 8, 2, {2, 1}, (const int64_t[]){0, 4}}, "[edge_index]: row 0: 4: vertices are 0 to 3"},
    {pyg, I64("num_nodes", 1, 5), "[x]: 4 rows of features for 5 vertices"},
    {pyg, F32("y", 3, 0, 1, 0), "[y]: expected [n] or [n, tasks] with n = 4"},
};

static void test_faults_are_named_and_nothing_is_written(void **state)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *path = write_with(state, faults[i].base, &faults[i].change);
        convert_options options = defaults();
        weft_status status = reader_convert(path, in_folder(state, "store"), &options);
        if (status != WEFT_ERR_DATA) {
            fail_msg("fault %zu (%s): %s: %s", i, faults[i].message, weft_status_name(status), weft_error_message());
        }
        ASSERT_MESSAGE(faults[i].message);
        if (strstr(faults[i].message, "feature, row") == NULL) {
            ASSERT_MESSAGE("in.npz");
        }
        assert_false(file_exists(in_folder(state, "store")));
    }
}

static void test_formats_are_found_or_named(void **state)
{
    const reader_format *format;
    const char *path = write_with(state, heterophilous, NULL);
    ASSERT_OK(reader_format_find(path, "auto", &format));
    assert_string_equal(format->name, "heterophilous");
    ASSERT_OK(reader_format_find(path, "weft-npz", &format));
    assert_string_equal(format->name, "weft-npz");
    ASSERT_STATUS(reader_format_find(path, "heterofilous", &format), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean heterophilous?");
    ASSERT_STATUS(reader_format_find(in_folder(state, "absent.npz"), "auto", &format), WEFT_ERR_NOINPUT);
    put_file(in_folder(state, "ind.cora.x"), "\x80\x02}q\x00.", 6);
    ASSERT_STATUS(reader_format_find(in_folder(state, "ind.cora.x"), "auto", &format), WEFT_ERR_DATA);
    ASSERT_MESSAGE("scripts/convert_planetoid");
    for (int i = 0; (format = reader_format_at(i)) != NULL; i++) {
        assert_true(format->name[0] != '\0' && format->description[0] != '\0');
    }
    assert_null(reader_format_at(-1));
}

static void fail_each_allocation(void **state, const member *base, const char *format)
{
    convert_options options = defaults();
    char path[FILE_PATH_MAX];
    char store[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s", write_with(state, base, NULL)));
    ASSERT_OK(file_path(store, "%s/store", (const char *)*state));
    options.format = format;
    options.force = true;
    for (uint64_t n = 1;; n++) {
        weft_alloc_fail_after(n);
        weft_status status = reader_convert(path, store, &options);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_false(file_exists(store));
        assert_true(n < 300);
    }
    ASSERT_OK(folder_remove(store));
}

static void test_every_allocation_may_fail(void **state)
{
    fail_each_allocation(state, heterophilous, "heterophilous");
    fail_each_allocation(state, pyg, "pyg-npz");
}

int main(void)
{
    log_set_level(LOG_QUIET);
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_gnn_benchmark),
        FOLDER_TEST(test_directions_and_loops_can_be_kept),
        FOLDER_TEST(test_heterophilous_and_its_splits),
        FOLDER_TEST(test_plain_npz),
        FOLDER_TEST(test_split_from_another_file),
        FOLDER_TEST(test_names_of_pyg),
        FOLDER_TEST(test_split_arrays),
        FOLDER_TEST(test_faults_are_named_and_nothing_is_written),
        FOLDER_TEST(test_formats_are_found_or_named),
        FOLDER_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
