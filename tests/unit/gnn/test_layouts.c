/* Layouts of public data sets: written and read back in memory that runs out at every point; forms of SciPy matrices;
 * large JSON read by tokens. */
#include "base/log.h"
#include "gnn/data/read/json_scan.h"
#include "gnn/data/read/reader.h"
#include "gnn/data/write/writer.h"
#include "io/npy.h"
#include "support/folder.h"

/* 0 -> 1, 2 -> 1, 0 -> 2, 1 -> 0; label of 1 unknown, 2 in no part. */
static const int64_t offset[] = {0, 1, 3, 4};
static const int32_t source[] = {1, 0, 2, 0};
static const float feature[] = {0.1F, -2, 3e-20F, 4, 5, 6.5F};
static const int32_t label[] = {1, -1, 0};
static const uint8_t split[] = {0, 1, 255};

static weft_graph sample(void)
{
    return (weft_graph){.vertices = 3,
                        .edges = 4,
                        .features = 2,
                        .classes = 2,
                        .splits = 1,
                        .offset = offset,
                        .source32 = source,
                        .feature = feature,
                        .label = label,
                        .split = split,
                        .name = "sample"};
}

static void check_store(void **state, const char *name)
{
    weft_graph graph;
    ASSERT_OK(graph_open(in_folder(state, name), 0, true, &graph));
    assert_int_equal(graph.vertices, 3);
    assert_int_equal(graph.edges, 4);
    assert_int_equal(graph.features, 2);
    assert_int_equal(graph.classes, 2);
    assert_memory_equal(graph.offset, offset, sizeof offset);
    assert_memory_equal(graph.source32, source, sizeof source);
    assert_memory_equal(graph.feature, feature, sizeof feature);
    assert_memory_equal(graph.label, label, sizeof label);
    assert_memory_equal(graph.split, split, sizeof split);
    graph_close(&graph);
}

static convert_options as_it_stands(const char *format)
{
    return (convert_options){.format = format, .split_index = -1, .symmetrize = 2, .memory_bytes = 64 << 20};
}

static void write_and_read(void **state, const char *format)
{
    char folder[FILE_PATH_MAX], store[FILE_PATH_MAX];
    ASSERT_OK(file_path(folder, "%s/%s", (const char *)*state, format));
    ASSERT_OK(file_path(store, "%s/%s.store", (const char *)*state, format));
    weft_graph graph = sample();
    convert_options options = as_it_stands(format);
    uint64_t n = 1;
    for (weft_status status = WEFT_ERR_RESOURCE; status != WEFT_OK; n++) {
        weft_alloc_fail_after(n);
        status = writer_write(&graph, format, folder, false);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(file_exists(folder), status == WEFT_OK);
        assert_true(n < 300);
    }
    n = 1;
    for (weft_status status = WEFT_ERR_RESOURCE; status != WEFT_OK; n++) {
        weft_alloc_fail_after(n);
        status = reader_convert(folder, store, &options);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(file_exists(store), status == WEFT_OK);
        assert_true(n < 500);
    }
    check_store(state, strrchr(store, '/') + 1);
}

static void test_every_allocation_may_fail(void **state)
{
    write_and_read(state, "ogb");
    write_and_read(state, "ogb-binary");
    write_and_read(state, "dgl-reddit");
    write_and_read(state, "graphsaint");
}

/* reddit_graph.npz as a CSR or CSC matrix, the format's name as bytes or characters, ids of another width. */
static void put_matrix(void **state, bool by_column, bool characters)
{
    static const uint32_t letters[] = {'c', 's', 'c'};
    /* CSR lists destinations by source. */
    static const uint16_t indptr[2][4] = {{0, 2, 3, 4}, {0, 1, 3, 4}};
    static const int64_t indices[2][4] = {{1, 2, 0, 1}, {1, 0, 2, 0}};
    const int64_t four = 4;
    const int64_t two = 2;
    npz_writer *npz;
    ASSERT_OK(npz_writer_open(in_folder(state, "dgl-reddit/reddit_graph.npz"), &npz));
    ASSERT_OK(npz_writer_add(npz, "indptr", 'u', 2, 1, &four, indptr[by_column]));
    ASSERT_OK(npz_writer_add(npz, "indices", 'i', 8, 1, &four, indices[by_column]));
    ASSERT_OK(npz_writer_add(npz, "shape", 'i', 4, 1, &two, (int32_t[]){3, 3}));
    if (characters) {
        ASSERT_OK(npz_writer_add(npz, "format", 'U', 12, 0, NULL, letters));
    } else {
        ASSERT_OK(npz_writer_add(npz, "format", 'S', 3, 0, NULL, by_column ? "csc" : "csr"));
    }
    ASSERT_OK(npz_writer_commit(npz));
}

static void test_forms_of_a_matrix(void **state)
{
    weft_graph graph = sample();
    convert_options options = as_it_stands("auto");
    options.force = true;
    ASSERT_OK(writer_write(&graph, "dgl-reddit", in_folder(state, "dgl-reddit"), false));
    put_matrix(state, false, false);
    ASSERT_OK(reader_convert(in_folder(state, "dgl-reddit"), in_folder(state, "csr"), &options));
    check_store(state, "csr");
    put_matrix(state, true, false);
    ASSERT_OK(reader_convert(in_folder(state, "dgl-reddit"), in_folder(state, "csc"), &options));
    check_store(state, "csc");
    put_matrix(state, true, true);
    ASSERT_OK(reader_convert(in_folder(state, "dgl-reddit"), in_folder(state, "csc"), &options));
    check_store(state, "csc");
}

static void put_text(void **state, const char *name, const char *text)
{
    put_file(in_folder(state, name), text, strlen(text));
}

static void test_json_by_tokens(void **state)
{
    json_scan scan;
    char text[32];
    int64_t value;
    put_text(state, "a.json", " { \"k\" :\n [ 1, -2 ,3.0,4e2] }\n");
    ASSERT_OK(json_scan_open(in_folder(state, "a.json"), &scan));
    ASSERT_OK(json_scan_need(&scan, '{'));
    ASSERT_OK(json_scan_text(&scan, text));
    assert_string_equal(text, "k");
    ASSERT_OK(json_scan_need(&scan, ':'));
    ASSERT_OK(json_scan_need(&scan, '['));
    static const int64_t expected[] = {1, -2, 3, 400};
    for (int i = 0; i < 4; i++) {
        ASSERT_OK(json_scan_int(&scan, &value));
        assert_int_equal(value, expected[i]);
        assert_int_equal(json_scan_take(&scan, ','), i < 3);
    }
    ASSERT_STATUS(json_scan_need(&scan, '}'), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a.json: line 2, column 18: expected '}', found ']'");
    ASSERT_OK(json_scan_need(&scan, ']'));
    ASSERT_STATUS(json_scan_end(&scan), WEFT_ERR_DATA);
    ASSERT_OK(json_scan_need(&scan, '}'));
    ASSERT_OK(json_scan_end(&scan));
    json_scan_close(&scan);
}

static void test_json_faults(void **state)
{
    static const char *const wrong[] = {"", "1.5", "99999999999999999999", "1e400", "-", "x", "nan", "\"1\"", "--1"};
    json_scan scan;
    int64_t value;
    char text[32];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_text(state, "b.json", wrong[i]);
        ASSERT_OK(json_scan_open(in_folder(state, "b.json"), &scan));
        ASSERT_STATUS(json_scan_int(&scan, &value), WEFT_ERR_DATA);
        ASSERT_MESSAGE(i == 0 ? "expected a whole number, the file ends" : "line 1, column 1: expected a whole number");
        json_scan_close(&scan);
    }
    static const char *const texts[] = {"\"abc", "\"a\\n\"", "\"0123456789012345678901234567890123\"", "abc"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(state, "c.json", texts[i]);
        ASSERT_OK(json_scan_open(in_folder(state, "c.json"), &scan));
        ASSERT_STATUS(json_scan_text(&scan, text), WEFT_ERR_DATA);
        json_scan_close(&scan);
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_every_allocation_may_fail),
        FOLDER_TEST(test_forms_of_a_matrix),
        FOLDER_TEST(test_json_by_tokens),
        FOLDER_TEST(test_json_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
