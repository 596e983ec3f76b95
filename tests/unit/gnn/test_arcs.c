/* Edges within a memory limit: the same CSR whatever the limit, threads and order; text formats, whole and faulty. */
#include <omp.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/read/reader.h"
#include "support/folder.h"
#include "support/random.h"

static uint64_t seed;

static int32_t draw(int32_t below)
{
    return (int32_t)(test_random(&seed) % (uint32_t)below);
}

enum { VERTICES = 1500, EDGES = 60000, WRITERS = 3 };

/* Edges with a long row and duplicates, given to the writers in turn. */
static void collect(const char *beside, int64_t memory, arcs **a)
{
    seed = 5;
    ASSERT_OK(arcs_create(memory, beside, WRITERS, a));
    int32_t pairs[2 * 50];
    for (int e = 0; e < EDGES; e += 50) {
        for (int i = 0; i < 50; i++) {
            pairs[2 * i] = draw(VERTICES);
            pairs[2 * i + 1] = i % 10 == 0 ? 77 : draw(VERTICES);
        }
        ASSERT_OK(arcs_add(*a, e / 50 % WRITERS, pairs, 50));
    }
    assert_int_equal(arcs_count(*a), EDGES);
    assert_int_equal(arcs_largest_id(*a), VERTICES - 1);
}

static void test_any_limit_gives_the_same_bits(void **state)
{
    const char *beside = in_folder(state, "store");
    for (int way = 0; way < 4; way++) {
        bool reverse = (way & 1) != 0;
        bool loops = (way & 2) != 0;
        arcs *a;
        csr_graph whole;
        collect(beside, INT64_C(1) << 30, &a);
        ASSERT_OK(arcs_build(a, VERTICES, reverse, loops, &whole));
        assert_int_equal(whole.ranges, 1);
        assert_false(arcs_spilled(a));
        arcs_free(a);
        static const int64_t limits[] = {3 << 20, 1200 << 10, 600 << 10, 400 << 10};
        int ranges = 1;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            csr_graph graph;
            collect(beside, limits[i], &a);
            uint64_t before = weft_mem_usage_total().current_bytes;
            ASSERT_OK(arcs_build(a, VERTICES, reverse, loops, &graph));
            assert_true(graph.ranges >= ranges);
            ranges = graph.ranges;
            assert_int_equal(arcs_spilled(a), limits[i] < 960 << 10); /* the list has half: 480,000 bytes of pairs */
            assert_true(weft_mem_usage_total().current_bytes <= before + (uint64_t)limits[i]);
            assert_int_equal(graph.entries, whole.entries);
            assert_memory_equal(graph.offset, whole.offset, (VERTICES + 1) * sizeof(int64_t));
            assert_memory_equal(graph.source, whole.source, (size_t)whole.entries * sizeof(int32_t));
            csr_graph_free(&graph);
            arcs_free(a);
        }
        assert_true(ranges > 1);
        csr_graph_free(&whole);
    }
}

static void test_a_limit_may_be_too_small(void **state)
{
    arcs *a;
    csr_graph graph;
    collect(in_folder(state, "store"), 20000, &a); /* the row of vertex 77 alone needs more */
    ASSERT_STATUS(arcs_build(a, VERTICES, false, false, &graph), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("--memory");
    arcs_free(a);
    collect(in_folder(state, "store"), 8000, &a);
    ASSERT_STATUS(arcs_build(a, VERTICES, false, false, &graph), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("offsets alone");
    arcs_free(a);
    collect(in_folder(state, "store"), 1 << 20, &a);
    ASSERT_STATUS(arcs_build(a, VERTICES - 1, false, false, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("an edge of vertex 1499: vertices are 0 to 1498");
    arcs_free(a);
    ASSERT_OK(arcs_create(100, in_folder(state, "no/such/store"), 1, &a));
    int32_t pairs[200] = {0};
    ASSERT_STATUS(arcs_add(a, 0, pairs, 100), WEFT_ERR_IO);
    ASSERT_MESSAGE("mkdir -p");
    arcs_free(a);
}

static void test_spilling_survives_failing_allocations(void **state)
{
    for (uint64_t n = 1;; n++) {
        arcs *a;
        csr_graph graph;
        collect(in_folder(state, "store"), 400 << 10, &a);
        weft_alloc_fail_after(n);
        weft_status status = arcs_build(a, VERTICES, true, false, &graph);
        weft_alloc_fail_after(0);
        arcs_free(a);
        if (status == WEFT_OK) {
            csr_graph_free(&graph);
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_true(n < 300);
    }
}

/* ---- formats ---- */

static const char *put_text(void **state, const char *name, const char *text)
{
    const char *path = in_folder(state, name);
    put_file(path, text, strlen(text));
    return path;
}

static const struct {
    const char *name, *format, *text;
    int64_t vertices_option;
    int symmetrize;
    int64_t vertices, edges;
    const char *rows; /* "v: u u; v: u" of the rows that are not empty */
} good[] = {
    {"a.txt", "edge-list", "# c\n% c\n0 1\n\n1\t2\n 2 ,0\n2 2\n0 1", 0, 2, 3, 3, "0: 2; 1: 0; 2: 1; "},
    {"a.csv", "edge-list", "source,target,w\r\n0,1,0.5\r\n4,1,2\r\n", 0, 0, 5, 4, "0: 1; 1: 0 4; 4: 1; "},
    {"a.csv", "auto", "\xef\xbb\xbfsource,target\n0,1\n", 0, 2, 2, 1, "1: 0; "},
    {"a.txt", "edge-list", "0 1\n", 7, 0, 7, 2, "0: 1; 1: 0; "},
    {"a.txt", "auto", "# only\n0 0\n", 0, 0, 1, 0, ""},
    {"a.txt", "auto", "0 1 1\n2 3 w\n", 0, 2, 4, 2, "1: 0; 3: 2; "},
    {"a.csv", "auto", "Target;Type;Source\n1;x;0\n2;\"a;b\";1\n", 0, 2, 3, 2, "1: 0; 2: 1; "},
    {"a.csv", "auto", "target,source\n1,0\n2,1\n", 0, 2, 3, 2, "1: 0; 2: 1; "},
    {"a.csv", "auto", ",a,b\n0,0,1\n1,1,2\n", 0, 2, 3, 2, "1: 0; 2: 1; "},
    {"a.txt", "auto", "0 1 {'weight': 2.0, 'since': 7}\n1 2 {}\n", 0, 2, 3, 2, "1: 0; 2: 1; "},
    {"a.txt", "auto", "\"0\",\"1\"\n1.0,2.0\n", 0, 2, 3, 2, "1: 0; 2: 1; "},
    {"a.graph", "auto", "% c\n4 3\n2 3\n% inside\n1 3\n1 2\n\n", 0, 0, 4, 6, "0: 1 2; 1: 0 2; 2: 0 1; "},
    {"a.graph", "auto", "3 2 111 2\n9 1 1 2 5\n9 1 1 1 5 3 6\n9 1 1 2 6", 0, 0, 3, 4, "0: 1; 1: 0 2; 2: 1; "},
    {"a.graph", "auto", "3 2 1\n2 5\n1 5 3 6\n2 6\n\n\n", 0, 0, 3, 4, "0: 1; 1: 0 2; 2: 1; "},
    {"a.graph", "auto", "3 2 10\n4 2\n4 1 3\n4 2\n", 0, 0, 3, 4, "0: 1; 1: 0 2; 2: 1; "},
    {"m.mtx", "auto", "%%MatrixMarket matrix coordinate pattern general\n% c\n\n3 3 2\n1 2\n3 1\n", 0, 2, 3, 2,
     "0: 2; 1: 0; "},
    {"m.mtx", "auto", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 -1e3\n3 1 0.5\n3 3 1\n", 0, 2, 3, 4,
     "0: 1 2; 1: 0; 2: 0; "},
    {"m.mtx", "auto", "%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 0.5\n", 0, 2, 3, 1, "0: 1; "},
    {"m.txt", "auto", "\n  %%MatrixMarket matrix coordinate real general\n 3 3 1\n 2 1 1.5D+00\n", 0, 2, 3, 1,
     "0: 1; "},
    {"m.txt", "auto", "# by hand\n# of a MatrixMarket file\n0 1\n", 0, 2, 2, 1, "1: 0; "},
    {"M.MTX", "auto", "\xef\xbb\xbf% % matrixmarket matrix coordinate pattern symmetric\n# c\n3 3 1\n2 1\n", 0, 2, 3, 2,
     "0: 1; 1: 0; "},
    {"m.mtx", "auto", "%%matrixmarket MATRIX Coordinate Integer Skew-Symmetric\n2 2 1\n2 1 7\n", 0, 2, 2, 2,
     "0: 1; 1: 0; "},
};

static void describe_rows(const weft_graph *graph, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1] && used < capacity; e++) {
            if (e == graph->offset[v]) {
                used += (size_t)snprintf(text + used, capacity - used, "%ld:", (long)v);
            }
            used += (size_t)snprintf(text + used, capacity - used, e + 1 < graph->offset[v + 1] ? " %ld" : " %ld; ",
                                     (long)graph_source(graph, e));
        }
    }
}

static void test_formats(void **state)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        convert_options options = {.format = good[i].format,
                                   .split_index = -1,
                                   .symmetrize = good[i].symmetrize,
                                   .vertices = good[i].vertices_option,
                                   .force = true};
        ASSERT_OK(reader_convert(put_text(state, good[i].name, good[i].text), in_folder(state, "store"), &options));
        weft_graph graph;
        ASSERT_OK(graph_open(in_folder(state, "store"), 0, true, &graph));
        char rows[256];
        describe_rows(&graph, rows, sizeof rows);
        assert_int_equal(graph.vertices, good[i].vertices);
        assert_int_equal(graph.edges, good[i].edges);
        assert_string_equal(rows, good[i].rows);
        graph_close(&graph);
    }
}

static const struct {
    const char *name, *text;
    weft_status status;
    const char *message;
} faults[] = {
    {"a.txt", "0 1\n2 x\n", WEFT_ERR_DATA, "a.txt: line 2: 'x': expected a vertex id, 0 to 2147483646"},
    {"a.txt", "0 1\n# c\n2 -3\n", WEFT_ERR_DATA, "a.txt: line 3: '-3': expected a vertex id"},
    {"a.txt", "0 1\n2147483647 0\n", WEFT_ERR_DATA, "line 2: '2147483647': expected a vertex id, 0 to 2147483646"},
    {"a.txt", "0 1\n0 18446744073709551617\n", WEFT_ERR_DATA, "line 2: '18446744073709551617': expected a vertex id"},
    {"a.txt", "0 1\n0 1000000000000000000000000000000000001\n", WEFT_ERR_DATA, "line 2: '10000000000"},
    {"a.txt", "0 1\n2\n", WEFT_ERR_DATA, "line 2: the line ends where a vertex id"},
    {"a.txt", "0 1\n2\n3\n4 5\n", WEFT_ERR_DATA, "line 2: the line ends where a vertex id"},
    {"a.txt", "0 1\n2 3 4\n", WEFT_ERR_DATA, "line 2: '4': expected the end of the line after 2 fields"},
    {"a.txt", "0 1 1\n2 3\n", WEFT_ERR_DATA, "line 2: 2 fields where 3 are expected"},
    {"a.txt", "0 1 1\n2 3 4 5\n", WEFT_ERR_DATA, "line 2: more than 3 fields where 3 are expected"},
    {"a.csv", "source,target\n0,alice\n", WEFT_ERR_DATA,
     "line 2: 'alice': expected a vertex id, 0 to 2147483646 (--relabel"},
    {"a.csv", "source,label\n0,1\n", WEFT_ERR_DATA,
     "line 1: the column 'source' is one end of edges, and none is named for the other: call it target"},
    {"a.csv", "one,two,three\n0,1,2\n", WEFT_ERR_DATA, "line 1: no column is named for the ends of edges"},
    {"a.csv", "source,from,target\n0,1,2\n", WEFT_ERR_DATA, "'source' and 'from' mean the same"},
    {"a.txt", "0 1\n1.5 2\n", WEFT_ERR_DATA, "line 2: '.5': expected a separator after the id"},
    {"a.txt", "0 1\n0,,1\n", WEFT_ERR_DATA, "line 2: ',1': expected a vertex id"},
    {"b.txt", "some words\n", WEFT_ERR_DATA, "b.txt: text of no known format (it begins: some words)"},
    {"a.graph", "x\n", WEFT_ERR_DATA, "line 1: 'x': expected VERTICES EDGES"},
    {"a.graph", "% c\n", WEFT_ERR_DATA, "ends before the header"},
    {"a.graph", "3 2 2\n2\n1 3\n2\n", WEFT_ERR_DATA, "line 1: '3 2 2': expected VERTICES EDGES [FMT [NCON]]"},
    {"a.graph", "0 0\n", WEFT_ERR_DATA, "line 1: 0 vertices"},
    {"a.graph", "2147483648 0\n", WEFT_ERR_DATA, "line 1: 2147483648 vertices"},
    {"a.graph", "3 2\n2\n1 4\n2\n", WEFT_ERR_DATA, "line 3: '4': expected a neighbour of vertex 2, 1 to 3"},
    {"a.graph", "3 2\n2\n1 0\n2\n", WEFT_ERR_DATA, "line 3: '0': expected a neighbour of vertex 2"},
    {"a.graph", "3 2\n2\n1 a\n2\n", WEFT_ERR_DATA, "line 3: 'a': expected a neighbour"},
    {"a.graph", "3 2 1\n2 1\n1 1 3\n2 1\n", WEFT_ERR_DATA, "line 3: the line ends where the weight of the edge"},
    {"a.graph", "3 2 10\n1 2\n1 1 3\n\n", WEFT_ERR_DATA, "line 4: the line ends where the size or weight"},
    {"a.graph", "3 2\n2\n1 3\n", WEFT_ERR_DATA, "a.graph: ends after the line of vertex 2 of 3"},
    {"a.graph", "3 2\n2\n1 3\n2\n1\n", WEFT_ERR_DATA, "line 5: '1': expected no more lines"},
    {"a.graph", "3 3\n2\n1 3\n2\n", WEFT_ERR_DATA, "its lines name 4 neighbours; the header's 3 edges"},
    {"a.graph", "3 1\n2 3\n\n\n", WEFT_ERR_DATA, "row of vertex 1: names 2, whose row does not name it"},
    {"a.graph", "3 2\n2\n3 1\n1\n", WEFT_ERR_DATA, "row of vertex 2: names 3, whose row does not name it"},
    {"m.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n", WEFT_ERR_UNSUPPORTED, "a dense matrix"},
    {"m.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n", WEFT_ERR_UNSUPPORTED, "line 1: 'complex'"},
    {"m.mtx", "%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", WEFT_ERR_UNSUPPORTED, "line 1: 'hermitian'"},
    {"m.mtx", "%%MatrixMarket matrix coordinate\n1 1 0\n", WEFT_ERR_DATA, "line 1: "},
    {"m.mtx", "3 3 2\n1 2\n2 3\n", WEFT_ERR_DATA, "line 1: '3 3 2': expected '%%MatrixMarket matrix coordinate"},
    {"m.txt", "% made by hand\n%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n", WEFT_ERR_DATA,
     "line 1: '% made by hand': expected '%%MatrixMarket"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 2\n", WEFT_ERR_DATA,
     "line 2: 2 rows and 3 columns: an adjacency matrix is square"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2\n1 2\n", WEFT_ERR_DATA, "line 2: '2 2': expected"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n", WEFT_ERR_DATA,
     "ends before the line with the sizes"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 3\n", WEFT_ERR_DATA,
     "line 3: '3': expected a vertex id, 1 to 2"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n0 1\n", WEFT_ERR_DATA,
     "line 3: '0': expected a vertex id, 1 to 2"},
    {"m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n", WEFT_ERR_DATA,
     "1 entries, but its size line promises 2"},
    {"m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n", WEFT_ERR_DATA,
     "line 3: the line ends where a number is expected"},
};

static void test_faults_are_named_and_nothing_is_written(void **state)
{
    convert_options options = {.format = "auto", .split_index = -1};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *path = put_text(state, faults[i].name, faults[i].text);
        ASSERT_STATUS(reader_convert(path, in_folder(state, "store"), &options), faults[i].status);
        ASSERT_MESSAGE(faults[i].message);
        assert_false(file_exists(in_folder(state, "store")));
    }
    options.vertices = 3;
    ASSERT_STATUS(reader_convert(put_text(state, "a.txt", "0 1\n1 3\n"), in_folder(state, "store"), &options),
                  WEFT_ERR_DATA);
    ASSERT_MESSAGE("line 2: '3': expected a vertex id, 0 to 2");
    ASSERT_STATUS(reader_convert(put_text(state, "a.graph", "2 1\n2\n1\n"), in_folder(state, "store"), &options),
                  WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--vertices 3");
    options.vertices = 0;
    ASSERT_STATUS(reader_convert(put_text(state, "c.txt", "# no edges\n"), in_folder(state, "store"),
                                 &(convert_options){.format = "edge-list", .split_index = -1}),
                  WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds no edges");
}

static void test_every_allocation_may_fail(void **state)
{
    static const char *const names[] = {"a.txt", "a.graph", "m.mtx"};
    static const char *const texts[] = {"a,b\n0,1\n1,2\n", "2 1\n2\n1\n",
                                        "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"};
    omp_set_num_threads(2);
    for (int i = 0; i < 3; i++) {
        char path[FILE_PATH_MAX];
        char store[FILE_PATH_MAX];
        ASSERT_OK(file_path(path, "%s", put_text(state, names[i], texts[i])));
        ASSERT_OK(file_path(store, "%s", in_folder(state, names[i] + 1)));
        convert_options options = {.format = "auto", .split_index = -1};
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
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_any_limit_gives_the_same_bits),           FOLDER_TEST(test_a_limit_may_be_too_small),
        FOLDER_TEST(test_spilling_survives_failing_allocations),   FOLDER_TEST(test_formats),
        FOLDER_TEST(test_faults_are_named_and_nothing_is_written), FOLDER_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
