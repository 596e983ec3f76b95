/* reader_csr_make against a brute-force set of pairs. */
#include <omp.h>

#include "base/alloc.h"
#include "gnn/data/read/reader_parts.h"
#include "support/random.h"
#include "support/test.h"

static uint64_t seed;

static int32_t draw(int32_t below)
{
    return (int32_t)(test_random(&seed) % (uint32_t)below);
}

typedef struct made_csr {
    csr_graph graph;
    bool symmetric;
} made_csr;

static weft_status make(int64_t n, int64_t edges, const int32_t *from, const int32_t *to, bool reverse, bool loops,
                        made_csr *c)
{
    raw_graph raw = {.vertices = n, .edges = edges};
    weft_status status = WEFT_NEW(&raw.from, edges, WEFT_MEM_WORKSPACE);
    *c = (made_csr){.symmetric = false};
    status = status == WEFT_OK ? WEFT_NEW(&raw.to, edges, WEFT_MEM_WORKSPACE) : status;
    for (int64_t e = 0; status == WEFT_OK && e < edges; e++) {
        raw.from[e] = from[e];
        raw.to[e] = to[e];
    }
    status = status == WEFT_OK ? reader_csr_make("edges", &raw, reverse, loops, &c->graph, &c->symmetric) : status;
    raw_graph_free(&raw);
    return status;
}

/* The definition: a matrix of booleans. */
static void check_against_matrix(int32_t n, int64_t edges, const int32_t *from, const int32_t *to, bool reverse,
                                 bool loops)
{
    uint8_t *matrix = calloc((size_t)n * (size_t)n, 1); /* [to][from] */
    for (int64_t e = 0; e < edges; e++) {
        if (from[e] != to[e] || loops) {
            matrix[to[e] * n + from[e]] = 1;
            if (reverse) {
                matrix[from[e] * n + to[e]] = 1;
            }
        }
    }
    made_csr c;
    ASSERT_OK(make(n, edges, from, to, reverse, loops, &c));
    int64_t at = 0;
    bool symmetric = true;
    for (int32_t v = 0; v < n; v++) {
        assert_int_equal(c.graph.offset[v], at);
        for (int32_t u = 0; u < n; u++) {
            symmetric = symmetric && matrix[v * n + u] == matrix[u * n + v];
            if (matrix[v * n + u]) {
                assert_int_equal(c.graph.source[at], u);
                at++;
            }
        }
    }
    assert_int_equal(c.graph.offset[n], at);
    assert_int_equal(c.graph.entries, at);
    assert_int_equal(c.symmetric, symmetric);
    csr_graph_free(&c.graph);
    free(matrix);
}

static void test_random_graphs(void **state)
{
    (void)state;
    static const int32_t sizes[] = {1, 2, 3, 10, 60, 300};
    int32_t from[3000];
    int32_t to[3000];
    for (int round = 0; round < 120; round++) {
        seed = (uint64_t)round;
        omp_set_num_threads(1 + round % 3);
        int32_t n = sizes[round % 6];
        int64_t edges = draw(round % 5 == 0 ? 3 : 3000);
        int32_t hub = draw(n);
        for (int64_t e = 0; e < edges; e++) {
            from[e] = draw(n);
            to[e] = e % 4 == 0 ? hub : draw(n); /* one long row, many duplicates and self-loops */
        }
        check_against_matrix(n, edges, from, to, (round & 1) != 0, (round & 2) != 0);
    }
}

static void test_symmetry_is_seen_without_adding_reverses(void **state)
{
    (void)state;
    const int32_t from[] = {0, 1, 1, 2, 3};
    const int32_t to[] = {1, 0, 2, 1, 3};
    check_against_matrix(4, 5, from, to, false, true);
    check_against_matrix(4, 3, from, to, false, true);
}

static int ascending(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* Ids of two, three and four significant bytes, in rows long enough for every level of the radix sort. */
static void test_wide_ids(void **state)
{
    (void)state;
    static const int32_t sizes[] = {256, 257, 65536, 65537, (1 << 24) + 9};
    enum { EDGES = 30000 };
    int32_t *from = malloc(EDGES * sizeof *from);
    int32_t *to = malloc(EDGES * sizeof *to);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int32_t n = sizes[i];
        seed = i;
        for (int e = 0; e < EDGES; e++) {
            from[e] = e % 3 == 0 ? n - 1 - draw(n < 5000 ? n : 5000) : draw(n);
            to[e] = n / 2;
        }
        made_csr c;
        ASSERT_OK(make(n, EDGES, from, to, false, true, &c));
        qsort(from, EDGES, sizeof *from, ascending);
        int64_t kept = 0;
        for (int e = 0; e < EDGES; e++) {
            if (e == 0 || from[e] != from[e - 1]) {
                assert_int_equal(c.graph.source[kept++], from[e]);
            }
        }
        assert_int_equal(c.graph.entries, kept);
        assert_int_equal(c.graph.offset[n / 2], 0);
        assert_int_equal(c.graph.offset[n / 2 + 1], kept);
        assert_int_equal(c.graph.offset[n], kept);
        csr_graph_free(&c.graph);
    }
    free(from);
    free(to);
}

static void test_no_edges(void **state)
{
    (void)state;
    made_csr c;
    ASSERT_OK(make(3, 0, NULL, NULL, true, false, &c));
    assert_int_equal(c.graph.offset[3], 0);
    assert_true(c.symmetric);
    csr_graph_free(&c.graph);
}

static void test_bad_ids_are_named(void **state)
{
    (void)state;
    const int32_t from[] = {0, 1, 2, -1};
    const int32_t to[] = {1, 2, 3, 0};
    made_csr c;
    ASSERT_STATUS(make(3, 4, from, to, true, false, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("edge 2: (2, 3): vertices are 0 to 2");
    assert_null(c.graph.offset);
    ASSERT_STATUS(make(4, 4, from, to, true, false, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("edge 3: (-1, 0)");
    ASSERT_STATUS(make(INT64_C(1) << 31, 0, NULL, NULL, true, false, &c), WEFT_ERR_UNSUPPORTED);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    const int32_t from[] = {0, 1};
    const int32_t to[] = {1, 2};
    for (uint64_t n = 1;; n++) {
        made_csr c;
        weft_alloc_fail_after(n);
        weft_status status = make(3, 2, from, to, true, false, &c);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            csr_graph_free(&c.graph);
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_null(c.graph.offset);
        assert_null(c.graph.source);
        assert_true(n < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),     cmocka_unit_test(test_symmetry_is_seen_without_adding_reverses),
        cmocka_unit_test(test_wide_ids),          cmocka_unit_test(test_no_edges),
        cmocka_unit_test(test_bad_ids_are_named), cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
