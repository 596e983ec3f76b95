/* Graph store: written, opened, checked; damaged ones refused with what is wrong. */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph.h"
#include "io/npy.h"
#include "support/folder.h"
#include "support/random.h"

/* A 5-vertex path 0-1-2-3 with vertex 4 alone; 3 features, 2 classes, 2 splits. */
static const int64_t offset[] = {0, 1, 3, 5, 6, 6};
static const int32_t source[] = {1, 0, 2, 1, 3, 2};
static const float feature[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const int32_t label[] = {0, 1, 0, 1, -1};
static const uint8_t split[] = {0, 1, 2, 0, 255, 2, 2, 1, 0, 255};

static graph_arrays sample(void)
{
    return (graph_arrays){.vertices = 5,
                          .edges = 6,
                          .features = 3,
                          .classes = 2,
                          .splits = 2,
                          .symmetric = true,
                          .offset = offset,
                          .source = source,
                          .feature = feature,
                          .label = label,
                          .split = split,
                          .name = "path \"5\"",
                          .origin = "a test\nwith two lines"};
}

static const char *write_sample(void **state)
{
    const char *store = in_folder(state, "store");
    graph_arrays arrays = sample();
    ASSERT_OK(graph_store_write(store, &arrays, false));
    return store;
}

static void test_round_trip(void **state)
{
    const char *store = write_sample(state);
    weft_graph graph;
    ASSERT_OK(graph_open(store, 1, true, &graph));
    assert_int_equal(graph.vertices, 5);
    assert_int_equal(graph.edges, 6);
    assert_int_equal(graph.features, 3);
    assert_int_equal(graph.classes, 2);
    assert_int_equal(graph.tasks, 0);
    assert_int_equal(graph.splits, 2);
    assert_true(graph.symmetric);
    assert_string_equal(graph.name, "path \"5\"");
    assert_memory_equal(graph.offset, offset, sizeof offset);
    assert_non_null(graph.source32);
    assert_null(graph.source64);
    assert_memory_equal(graph.source32, source, sizeof source);
    assert_memory_equal(graph.feature, feature, sizeof feature);
    assert_memory_equal(graph.label, label, sizeof label);
    assert_null(graph.target);
    assert_memory_equal(graph.split, split + 5, 5);
    assert_int_equal(strlen(graph.hash), 32);
    for (int64_t e = 0; e < 6 && graph.source32 != NULL; e++) {
        assert_int_equal(graph_source(&graph, e), source[e]);
    }
    graph_release_pages(&graph);
    assert_memory_equal(graph.feature, feature, sizeof feature);
    ASSERT_OK(graph_validate(&graph));
    graph_close(&graph);
    graph_close(&graph);
}

static void test_hash_names_the_content(void **state)
{
    const char *store = write_sample(state);
    weft_graph one;
    weft_graph two;
    ASSERT_OK(graph_open(store, 0, false, &one));
    graph_arrays arrays = sample();
    ASSERT_OK(graph_store_write(in_folder(state, "same"), &arrays, false));
    ASSERT_OK(graph_open(in_folder(state, "same"), 0, false, &two));
    assert_string_equal(one.hash, two.hash);
    graph_close(&two);
    float other[15];
    memcpy(other, feature, sizeof other);
    other[7] += 1;
    arrays.feature = other;
    ASSERT_OK(graph_store_write(in_folder(state, "other"), &arrays, false));
    ASSERT_OK(graph_open(in_folder(state, "other"), 0, false, &two));
    assert_string_not_equal(one.hash, two.hash);
    graph_close(&two);
    graph_close(&one);
}

static void test_float_targets_and_a_single_split(void **state)
{
    const float target[10] = {0, 1, NAN, 1, 0, 0, 1, 1, NAN, NAN};
    graph_arrays arrays = sample();
    arrays.label = NULL;
    arrays.classes = 0;
    arrays.target = target;
    arrays.tasks = 2;
    arrays.splits = 1;
    ASSERT_OK(graph_store_write(in_folder(state, "store"), &arrays, false));
    weft_graph graph;
    ASSERT_OK(graph_open(in_folder(state, "store"), 0, true, &graph));
    assert_int_equal(graph.tasks, 2);
    assert_memory_equal(graph.target, target, sizeof target);
    assert_memory_equal(graph.split, split, 5);
    ASSERT_OK(graph_validate(&graph));
    graph_close(&graph);
    npy_map map;
    ASSERT_OK(npy_map_open(in_folder(state, "store/split.npy"), &map));
    assert_int_equal(map.header.dims, 1);
    npy_map_close(&map);
}

static const float weight[] = {0.5F, 0.5F, 0.0F, 0.0F, 2.25F, 2.25F}; /* as 0-1, 1-2, 2-3 go both ways */

static void test_weights_of_edges(void **state)
{
    graph_arrays arrays = sample();
    arrays.weight = weight;
    ASSERT_OK(graph_store_write(in_folder(state, "store"), &arrays, false));
    weft_graph graph;
    ASSERT_OK(graph_open(in_folder(state, "store"), 0, true, &graph));
    assert_memory_equal(graph.weight, weight, sizeof weight);
    ASSERT_OK(graph_validate(&graph));
    graph_close(&graph);
    size_t bytes;
    uint8_t *manifest = get_file(in_folder(state, "store/manifest.json"), &bytes);
    assert_non_null(strstr((const char *)manifest, "\"version\": 2")); /* for readers that know no weights */
    free(manifest);
    const int64_t shape[1] = {6};
    float other[6];
    memcpy(other, weight, sizeof other);
    other[5] = 3.0F;
    ASSERT_OK(npy_write(in_folder(state, "store/weight.npy"), 'f', 4, 1, shape, other));
    ASSERT_STATUS(graph_open(in_folder(state, "store"), 0, true, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("weight.npy: checksum");
    const int64_t few[1] = {5};
    ASSERT_OK(npy_write(in_folder(state, "store/weight.npy"), 'f', 4, 1, few, other));
    ASSERT_STATUS(graph_open(in_folder(state, "store"), 0, false, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("weight.npy");
    graph_arrays plain = sample();
    ASSERT_OK(graph_store_write(in_folder(state, "plain"), &plain, false));
    ASSERT_OK(graph_open(in_folder(state, "plain"), 0, true, &graph));
    assert_null(graph.weight);
    graph_close(&graph);
}

static void test_structure_alone(void **state)
{
    const int64_t none[3] = {0, 0, 0};
    graph_arrays arrays = {.vertices = 2, .offset = none, .symmetric = true};
    ASSERT_OK(graph_store_write(in_folder(state, "store"), &arrays, false));
    weft_graph graph;
    ASSERT_OK(graph_open(in_folder(state, "store"), 0, true, &graph));
    assert_null(graph.source32);
    assert_null(graph.feature);
    assert_null(graph.split);
    ASSERT_OK(graph_validate(&graph));
    graph_close(&graph);
    ASSERT_STATUS(graph_open(in_folder(state, "store"), 1, true, &graph), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("holds none");
}

static void test_64_bit_ids_are_read(void **state)
{
    const char *store = write_sample(state);
    int64_t wide[6];
    for (int i = 0; i < 6; i++) {
        wide[i] = source[i];
    }
    const int64_t shape[1] = {6};
    ASSERT_OK(npy_write(in_folder(state, "store/source.npy"), 'i', 8, 1, shape, wide));
    const char *manifest =
        "{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 5, \"edges\": 6, \"symmetric\": true}";
    put_file(in_folder(state, "store/manifest.json"), manifest, strlen(manifest));
    weft_graph graph;
    ASSERT_OK(graph_open(store, 0, true, &graph));
    assert_null(graph.source32);
    assert_memory_equal(graph.source64, wide, sizeof wide);
    ASSERT_OK(graph_validate(&graph));
    graph_close(&graph);
}

/* Without checksums the hash must still change with the array. */
static void test_hash_without_checksums_follows_the_files(void **state)
{
    const char *store = write_sample(state);
    const char *manifest =
        "{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 5, \"edges\": 6, \"symmetric\": true}";
    put_file(in_folder(state, "store/manifest.json"), manifest, strlen(manifest));
    weft_graph one;
    weft_graph two;
    ASSERT_OK(graph_open(store, 0, false, &one));
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder(state, "store/source.npy"), times, 0), 0);
    ASSERT_OK(graph_open(store, 0, false, &two));
    assert_string_not_equal(one.hash, two.hash);
    graph_close(&one);
    graph_close(&two);
}

static void test_existing_stores_are_kept(void **state)
{
    const char *store = write_sample(state);
    graph_arrays arrays = sample();
    ASSERT_STATUS(graph_store_write(store, &arrays, false), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--force");
    arrays.name = "again";
    ASSERT_OK(graph_store_write(store, &arrays, true));
    weft_graph graph;
    ASSERT_OK(graph_open(store, 0, true, &graph));
    assert_string_equal(graph.name, "again");
    graph_close(&graph);
}

static void test_force_spares_what_is_no_store(void **state)
{
    const char *home = in_folder(state, "home");
    assert_int_equal(mkdir(home, 0777), 0);
    put_file(in_folder(state, "home/thesis"), "x", 1);
    graph_arrays arrays = sample();
    ASSERT_STATUS(graph_store_write(home, &arrays, true), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("not a graph store");
    assert_true(file_exists(in_folder(state, "home/thesis")));
    assert_int_equal(unlink(in_folder(state, "home/thesis")), 0);
    ASSERT_OK(graph_store_write(home, &arrays, true));
}

typedef struct filler {
    int64_t next, rows, calls;
    weft_status fails;
} filler;

static weft_status fill(void *self, int64_t row, int64_t rows, float *out)
{
    filler *f = self;
    if (f->fails != WEFT_OK && f->calls == 1) {
        return weft_fail(f->fails, "the source of features dried up");
    }
    assert_int_equal(row, f->next);
    f->next += rows;
    f->calls++;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < f->rows; j++) {
            out[i * f->rows + j] = (float)((row + i) % 1000) + (float)(j % 7);
        }
    }
    return WEFT_OK;
}

static void test_features_in_pieces(void **state)
{
    enum { N = 5, F = 3 << 20 }; /* 12 MiB a row: two rows a piece, three pieces */
    filler f = {.rows = F};
    graph_arrays arrays = sample();
    arrays.feature = NULL;
    arrays.features = F;
    arrays.fill_features = fill;
    arrays.fill_self = &f;
    ASSERT_OK(graph_store_write(in_folder(state, "store"), &arrays, false));
    assert_int_equal(f.calls, 3);
    assert_int_equal(f.next, N);
    weft_graph graph;
    ASSERT_OK(graph_open(in_folder(state, "store"), 0, true, &graph));
    for (int64_t i = 0; i < N; i++) {
        assert_true(graph.feature[i * F] == (float)i);
        assert_true(graph.feature[i * F + F - 1] == (float)i + (float)((F - 1) % 7));
    }
    graph_close(&graph);
    f = (filler){.rows = F, .fails = WEFT_ERR_DATA};
    ASSERT_STATUS(graph_store_write(in_folder(state, "failed"), &arrays, false), WEFT_ERR_DATA);
    ASSERT_MESSAGE("dried up");
    assert_false(file_exists(in_folder(state, "failed")));
}

/* Every bit flip in any file of a store is found by opening with verify. */
static void test_bit_flips_are_found(void **state)
{
    const char *store = write_sample(state);
    static const char *const files[] = {"offset.npy", "source.npy", "feature.npy", "label.npy", "split.npy"};
    uint64_t seed = 1;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[FILE_PATH_MAX];
        ASSERT_OK(file_path(path, "%s/%s", store, files[f]));
        size_t bytes;
        uint8_t *data = get_file(path, &bytes);
        for (int round = 0; round < 40; round++) {
            size_t bit = test_random(&seed) % (8 * bytes);
            data[bit / 8] ^= (uint8_t)(1U << bit % 8);
            put_file(path, data, bytes);
            weft_graph graph;
            ASSERT_STATUS(graph_open(store, 0, true, &graph), WEFT_ERR_DATA);
            ASSERT_MESSAGE(files[f]);
            data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
        put_file(path, data, bytes);
        free(data);
    }
    weft_graph graph;
    ASSERT_OK(graph_open(store, 0, true, &graph));
    graph_close(&graph);
}

static void test_missing_pieces_are_named(void **state)
{
    weft_graph graph;
    ASSERT_STATUS(graph_open(in_folder(state, "absent"), 0, false, &graph), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("weft convert");
    ASSERT_STATUS(graph_open(*state, 0, false, &graph), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("no manifest.json");
    const char *store = write_sample(state);
    ASSERT_STATUS(graph_open(store, 2, false, &graph), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("0 to 1");
    assert_int_equal(unlink(in_folder(state, "store/label.npy")), 0);
    ASSERT_STATUS(graph_open(store, 0, false, &graph), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("label.npy");
}

#define COUNTS "\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 5, \"edges\": 6, \"symmetric\": true"

static void test_bad_manifests_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "manifest.json"},
        {"[]", "not a JSON object"},
        {"{}", "format"},
        {"{\"format\": \"other\"}", "expected \"weft-graph\""},
        {"{\"format\": \"weft-graph\"}", "version"},
        {"{\"format\": \"weft-graph\", \"version\": 1}", "vertices"},
        {"{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": -5}", "vertices"},
        {"{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 5.5}", "vertices"},
        {"{" COUNTS ", \"features\": \"3\"}", "features"},
        {"{" COUNTS ", \"classes\": 2, \"tasks\": 2}", "classes"},
        {"{" COUNTS ", \"arrays\": []}", "arrays"},
        {"{" COUNTS ", \"arrays\": {\"ofset\": {}}}", "ofset"},
        {"{" COUNTS ", \"arrays\": {\"feature\": {}}}", "feature"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"file\": \"../x.npy\"}}}", "plain file name"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"file\": \"/etc/passwd\"}}}", "plain file name"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"dtype\": \"int32\"}}}", "int32"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"shape\": [5]}}}", "shape"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"shape\": [-6]}}}", "shape"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"bytes\": 5}}}", "bytes"},
        {"{" COUNTS ", \"arrays\": {\"offset\": {\"xxh3\": \"00000000000000000000000000000000\"}}}", "checksum"},
        {"{" COUNTS ", \"features\": 4}", "expected float32 (5, 4)"},
        {"{" COUNTS ", \"tasks\": 1}", "target.npy"},
        {"{" COUNTS ", \"splits\": 3}", "expected uint8 (3, 5)"},
        {"{" COUNTS ", \"weighted\": true}", "belongs to version 2"},
        {"{" COUNTS ", \"class_names\": true}", "belongs to version 3"},
        {"{" COUNTS ", \"features\": 3, \"feature_numbers\": 3}", "belongs to version 3"},
        {"{" COUNTS ", \"weighted\": 1}", "weighted"},
        {"{" COUNTS ", \"arrays\": {\"weight\": {}}}", "weight"},
        {"{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 4, \"edges\": 6, \"symmetric\": true}",
         "expected int64 (5,)"},
        {"{\"format\": \"weft-graph\", \"version\": 1, \"vertices\": 5, \"edges\": 7, \"symmetric\": true}",
         "expected int32 (7,)"},
    };
    write_sample(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(in_folder(state, "store/manifest.json"), cases[i].text, strlen(cases[i].text));
        weft_graph graph;
        weft_status status = graph_open(in_folder(state, "store"), 0, true, &graph);
        if (status != WEFT_ERR_DATA && status != WEFT_ERR_NOINPUT) {
            fail_msg("case %zu: %s: %s", i, weft_status_name(status), weft_error_message());
        }
        ASSERT_MESSAGE(cases[i].message);
        ASSERT_MESSAGE("store");
    }
    const char *future = "{\"format\": \"weft-graph\", \"version\": 99}";
    put_file(in_folder(state, "store/manifest.json"), future, strlen(future));
    weft_graph graph;
    ASSERT_STATUS(graph_open(in_folder(state, "store"), 0, true, &graph), WEFT_ERR_UNSUPPORTED);
}

static void test_validation_names_the_first_offence(void **state)
{
    (void)state;
    int64_t o[6];
    int32_t s[6];
    float x[15];
    int32_t l[5];
    uint8_t p[5];
    float w[6];
    weft_graph good = {.vertices = 5,
                       .edges = 6,
                       .features = 3,
                       .classes = 2,
                       .symmetric = true,
                       .offset = o,
                       .source32 = s,
                       .weight = w,
                       .feature = x,
                       .label = l,
                       .split = p,
                       .name = "g"};
#define RESET()                                                                                                        \
    (memcpy(o, offset, sizeof o), memcpy(s, source, sizeof s), memcpy(x, feature, sizeof x),                           \
     memcpy(l, label, sizeof l), memcpy(p, split, sizeof p), memcpy(w, weight, sizeof w))
#define REFUSED(change, text)                                                                                          \
    do {                                                                                                               \
        RESET();                                                                                                       \
        change;                                                                                                        \
        ASSERT_STATUS(graph_validate(&good), WEFT_ERR_DATA);                                                           \
        ASSERT_MESSAGE(text);                                                                                          \
    } while (0)
    RESET();
    ASSERT_OK(graph_validate(&good));
    REFUSED(o[0] = 1, "offset, row 0: 1");
    REFUSED(o[2] = 0, "offset, row 1: 1 is followed by 0");
    REFUSED(o[5] = 7, "offset, row 5: 7");
    REFUSED(s[3] = 5, "entry 3 (row 2): vertex 5");
    REFUSED(s[3] = -1, "entry 3 (row 2): vertex -1");
    REFUSED((s[3] = 3, s[4] = 1), "entry 4 (row 2): vertex 1 after 3");
    REFUSED(s[2] = 0, "entry 2 (row 1): vertex 0 after 0");
    REFUSED(s[5] = 1, "entry 4: the edge 3 -> 2 has no reverse");
    REFUSED(w[2] = -1.0F, "weight, entry 2: -1");
    REFUSED(w[3] = NAN, "weight, entry 3: nan");
    REFUSED(w[3] = INFINITY, "weight, entry 3: inf");
    REFUSED(w[1] = 1e-40F, "weight, entry 1: 9.99995e-41");
    REFUSED(w[5] = 2.5F, "entry 4: the edge 3 -> 2 has no reverse of its weight (2.25)");
    REFUSED((l[3] = 2, l[4] = 9), "label, row 3: 2");
    REFUSED(l[4] = -2, "label, row 4: -2");
    REFUSED((p[2] = 3, p[4] = 4), "split, row 2: 3");
    REFUSED((x[7] = NAN, x[14] = NAN), "feature, row 2, column 1");
    REFUSED(x[0] = -INFINITY, "feature, row 0, column 0");
    const float target[5] = {0, NAN, 1, 0, INFINITY};
    RESET();
    good.target = target;
    good.tasks = 1;
    ASSERT_STATUS(graph_validate(&good), WEFT_ERR_DATA);
    ASSERT_MESSAGE("target, row 4, column 0");
}

/* Every allocation may fail; nothing leaks and nothing half-written stays. */
static void test_every_allocation_may_fail(void **state)
{
    graph_arrays arrays = sample();
    const char *store = in_folder(state, "store");
    for (uint64_t n = 1;; n++) {
        weft_alloc_fail_after(n);
        weft_status status = graph_store_write(store, &arrays, false);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_false(file_exists(store));
        assert_true(n < 100);
    }
    for (uint64_t n = 1;; n++) {
        weft_graph graph;
        weft_alloc_fail_after(n);
        weft_status status = graph_open(store, 0, true, &graph);
        weft_alloc_fail_after(0);
        graph_close(&graph);
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_true(n < 100);
    }
}

/* Three classes and five vertices with names of several alphabets, blanks and punctuation. */
static const char *const class_names[] = {"cat", "große Katze, \"wild\"", "猫"};
static const char *const vertex_names[] = {"0", "alice", "bob smith", "10000000001", "é"};

static void test_names_round_trip(void **state)
{
    const char *store = in_folder(state, "named");
    graph_arrays arrays = sample();
    arrays.classes = 3;
    arrays.class_name = class_names;
    arrays.vertex_name = vertex_names;
    weft_graph graph;
    name_list names;
    ASSERT_OK(graph_store_write(store, &arrays, false));
    ASSERT_OK(graph_open(store, 0, true, &graph));
    assert_int_equal(graph.class_names.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(graph.class_names.text[i], class_names[i]);
    }
    ASSERT_OK(graph_vertex_names(&graph, &names));
    assert_int_equal(names.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(names.text[i], vertex_names[i]);
    }
    name_list_free(&names);
    graph_close(&graph);
    size_t bytes;
    uint8_t *manifest = get_file(in_folder(state, "named/manifest.json"), &bytes);
    assert_non_null(memmem(manifest, bytes, "\"version\": 3", 12));
    free(manifest);
}

static void test_a_store_without_names_has_none(void **state)
{
    weft_graph graph;
    name_list names;
    ASSERT_OK(graph_open(write_sample(state), 0, false, &graph));
    assert_null(graph.class_names.text);
    ASSERT_OK(graph_vertex_names(&graph, &names));
    assert_null(names.text);
    graph_close(&graph);
}

static void test_names_that_are_refused(void **state)
{
    const char *const twice[] = {"a", "b", "a"}, *const broken[] = {"a", "b\nc", "d"}, *const empty[] = {"a", "", "b"};
    graph_arrays arrays = sample();
    weft_graph graph;
    arrays.classes = 3;
    arrays.class_name = broken;
    ASSERT_STATUS(graph_store_write(in_folder(state, "broken"), &arrays, false), WEFT_ERR_DATA);
    ASSERT_MESSAGE("class_name: name 1");
    arrays.class_name = empty;
    ASSERT_STATUS(graph_store_write(in_folder(state, "empty"), &arrays, false), WEFT_ERR_DATA);
    arrays.class_name = twice;
    ASSERT_OK(graph_store_write(in_folder(state, "twice"), &arrays, false));
    ASSERT_STATUS(graph_open(in_folder(state, "twice"), 0, false, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("two names are 'a'");
    const int64_t shape[] = {4};
    arrays.class_name = class_names;
    ASSERT_OK(graph_store_write(in_folder(state, "short"), &arrays, false));
    ASSERT_OK(npy_write(in_folder(state, "short/class_name.npy"), 'u', 1, 1, shape, "a\nb\n"));
    ASSERT_STATUS(graph_open(in_folder(state, "short"), 0, false, &graph), WEFT_ERR_DATA);
}

/* Columns 0 and 2 of row 0, none of row 1, column 1 of row 4. */
static const int64_t feature_offset[] = {0, 2, 2, 2, 2, 3};
static const int32_t feature_column[] = {0, 2, 1};
static const float feature_value[] = {1.5F, -2, 4};

static graph_arrays sparse_sample(void)
{
    graph_arrays arrays = sample();
    arrays.feature = NULL;
    arrays.feature_offset = feature_offset;
    arrays.feature_column = feature_column;
    arrays.feature_value = feature_value;
    return arrays;
}

static void test_sparse_features_round_trip(void **state)
{
    static const float whole[5][3] = {{1.5F, 0, -2}, {0}, {0}, {0}, {0, 4, 0}};
    const char *store = in_folder(state, "sparse");
    const graph_arrays arrays = sparse_sample();
    weft_graph graph;
    float room[3], value[3];
    int32_t column[3];
    ASSERT_OK(graph_store_write(store, &arrays, false));
    ASSERT_OK(graph_open(store, 0, true, &graph));
    assert_null(graph.feature);
    assert_int_equal(graph.features, 3);
    ASSERT_OK(graph_validate(&graph));
    for (int v = 0; v < 5; v++) {
        assert_memory_equal(graph_feature_row(&graph, v, room), whole[v], sizeof whole[v]);
    }
    assert_int_equal(graph_feature_counts(&graph, 0).numbers, 2);
    assert_int_equal(graph_feature_counts(&graph, 0).negative, 1);
    assert_int_equal(graph_feature_numbers(&graph, 0, column, value), 2);
    assert_int_equal(column[1], 2);
    assert_true(value[1] == -2);
    graph_close(&graph);
    /* Whole features answer alike. */
    ASSERT_OK(graph_open(write_sample(state), 0, false, &graph));
    assert_ptr_equal(graph_feature_row(&graph, 1, room), graph.feature + 3);
    assert_int_equal(graph_feature_numbers(&graph, 1, column, value), 3);
    assert_int_equal(column[2], 2);
    assert_true(value[2] == 6);
    graph_close(&graph);
}

static void test_sparse_features_that_are_refused(void **state)
{
    const struct {
        const char *array;
        char kind;
        int item, count;
        const void *data;
        const char *message;
    } faults[] = {
        {"feature_column", 'i', 4, 3, (const int32_t[]){2, 2, 1}, "entry 1 (row 0): column 2"},
        {"feature_column", 'i', 4, 3, (const int32_t[]){2, 0, 1}, "entry 1 (row 0): column 0"},
        {"feature_column", 'i', 4, 3, (const int32_t[]){0, 3, 1},
         "column 3; the columns of a row ascend, each once, from 0 to 2"},
        {"feature_column", 'i', 4, 3, (const int32_t[]){-1, 2, 1}, "column -1"},
        {"feature_value", 'f', 4, 3, (const float[]){1, INFINITY, 1}, "feature_value, entry 1: inf"},
        {"feature_offset", 'i', 8, 6, (const int64_t[]){0, 2, 1, 2, 2, 3}, "feature_offset, row 1: 2 is followed by 1"},
        {"feature_offset", 'i', 8, 6, (const int64_t[]){0, 2, 2, 2, 2, 4},
         "expected 0 to 3 (the numbers of sparse features)"},
        {"feature_offset", 'i', 8, 5, (const int64_t[]){0, 2, 2, 2, 3}, "feature_offset"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *store = in_folder(state, "sparse");
        char array[64];
        weft_graph graph;
        const graph_arrays arrays = sparse_sample();
        const int64_t shape[1] = {faults[i].count};
        snprintf(array, sizeof array, "sparse/%s.npy", faults[i].array);
        ASSERT_OK(graph_store_write(store, &arrays, true));
        ASSERT_OK(npy_write(in_folder(state, array), faults[i].kind, faults[i].item, 1, shape, faults[i].data));
        weft_status status = graph_open(store, 0, false, &graph);
        status = status == WEFT_OK ? graph_validate(&graph) : status;
        graph_close(&graph);
        assert_int_equal(status, WEFT_ERR_DATA);
        ASSERT_MESSAGE(faults[i].message);
    }
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_round_trip),
        FOLDER_TEST(test_names_round_trip),
        FOLDER_TEST(test_sparse_features_round_trip),
        FOLDER_TEST(test_sparse_features_that_are_refused),
        FOLDER_TEST(test_a_store_without_names_has_none),
        FOLDER_TEST(test_names_that_are_refused),
        FOLDER_TEST(test_hash_names_the_content),
        FOLDER_TEST(test_float_targets_and_a_single_split),
        FOLDER_TEST(test_weights_of_edges),
        FOLDER_TEST(test_structure_alone),
        FOLDER_TEST(test_64_bit_ids_are_read),
        FOLDER_TEST(test_hash_without_checksums_follows_the_files),
        FOLDER_TEST(test_existing_stores_are_kept),
        FOLDER_TEST(test_force_spares_what_is_no_store),
        FOLDER_TEST(test_features_in_pieces),
        FOLDER_TEST(test_bit_flips_are_found),
        FOLDER_TEST(test_missing_pieces_are_named),
        FOLDER_TEST(test_bad_manifests_are_refused),
        cmocka_unit_test(test_validation_names_the_first_offence),
        FOLDER_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
