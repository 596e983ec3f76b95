/* Lines of edges in every form against the same edges given directly; ids at the limits; the first faulty line. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gnn/data/edge_text.h"
#include "support/folder.h"
#include "support/graphs.h"

enum { VERTICES = 3000, LINES = 40000, ROOM = 80 };

static uint64_t seed;

static int32_t draw(int32_t below)
{
    return (int32_t)(test_random(&seed) % (uint32_t)below);
}

static weft_status read_edges(const char *path, int64_t vertices, arcs **a)
{
    text_source *source = NULL;
    ASSERT_OK(arcs_create(INT64_C(1) << 28, path, omp_get_max_threads(), a));
    ASSERT_OK(text_source_open(path, EDGE_LINE_MAX, &source));
    weft_status status = edge_text_read(source, path, vertices, *a);
    text_source_close(source);
    return status;
}

/* A line for the edge, plain or not; now and then a line without one before it. */
static void print_edge(FILE *file, const int32_t pair[2], bool odd)
{
    static const char *const separators[] = {" ", "\t", ",", "  ", " , ", ";"};
    static const char *const ends[] = {"\n", "\r\n", " \n"};
    static const char *const between[] = {"", "# 1 2\n", "\n", "  \r\n", "% 12345678 1\n"};
    const int plain = !odd || draw(4) > 0;
    const int widths[2] = {plain ? 1 : 1 + draw(18), plain ? 1 : 1 + draw(18)};
    fputs(plain ? "" : between[draw(5)], file);
    fprintf(file, "%s%0*d%s%0*d%s", plain || draw(3) > 0 ? "" : " ", widths[0], pair[0],
            separators[plain ? draw(3) : draw(6)], widths[1], pair[1], ends[plain ? draw(2) : draw(3)]);
}

static void compare(const char *path, arcs *expected)
{
    csr_graph want;
    csr_graph got;
    arcs *a = NULL;
    ASSERT_OK(read_edges(path, VERTICES, &a));
    assert_int_equal(arcs_count(a), arcs_count(expected));
    assert_int_equal(arcs_loops(a), arcs_loops(expected));
    ASSERT_OK(arcs_build(a, VERTICES, false, true, &got));
    ASSERT_OK(arcs_build(expected, VERTICES, false, true, &want));
    assert_int_equal(got.entries, want.entries);
    assert_memory_equal(got.offset, want.offset, (VERTICES + 1) * sizeof(int64_t));
    assert_memory_equal(got.source, want.source, (size_t)want.entries * sizeof(int32_t));
    csr_graph_free(&got);
    csr_graph_free(&want);
    arcs_free(a);
}

static void test_forms(void **state)
{
    const char *path = in_folder(state, "edges");
    const int threads = omp_get_max_threads();
    for (int way = 0; way < 8; way++) {
        arcs *expected = NULL;
        const int lines = way < 4 ? LINES : way - 4; /* and very few */
        omp_set_num_threads(1 + way % 4);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        ASSERT_OK(arcs_create(INT64_C(1) << 28, path, 1, &expected));
        seed = (uint64_t)way;
        for (int i = 0; i < lines; i++) {
            const int32_t pair[2] = {draw(VERTICES), draw(VERTICES)};
            print_edge(file, pair, way % 2 == 1);
            ASSERT_OK(arcs_add(expected, 0, pair, 1));
        }
        fputs("17 18", file); /* no end of line */
        ASSERT_OK(arcs_add(expected, 0, (int32_t[]){17, 18}, 1));
        assert_int_equal(fclose(file), 0);
        compare(path, expected);
        arcs_free(expected);
    }
    omp_set_num_threads(threads);
}

/* Ids of one to ten digits, the largest that is allowed and the next. */
static void test_limits(void **state)
{
    const char *path = in_folder(state, "edges");
    char text[ROOM];
    int64_t limit = 1;
    for (int digits = 1; digits <= 9; digits++) {
        arcs *a = NULL;
        limit *= 10;
        snprintf(text, sizeof text, "0 %lld\n%lld 0\n", (long long)limit - 1, (long long)limit - 1);
        put_file(path, text, strlen(text));
        ASSERT_OK(read_edges(path, limit, &a));
        assert_int_equal(arcs_largest_id(a), limit - 1);
        arcs_free(a);
        snprintf(text, sizeof text, "0 1\n1 0\n%lld 1\n", (long long)limit);
        put_file(path, text, strlen(text));
        ASSERT_STATUS(read_edges(path, limit, &a), WEFT_ERR_DATA);
        ASSERT_MESSAGE("line 3: '");
        arcs_free(a);
    }
}

/* Of several faults the first in the file is named, whichever half of a thread's piece it lies in. */
static void test_first_fault(void **state)
{
    static const char *const faults[] = {"5",
                                         "5 ",
                                         "a 1",
                                         "1 a",
                                         "1.5 2",
                                         "-1 2",
                                         "1 2 3",
                                         "1 2x",
                                         "x",
                                         "1,,2",
                                         "1:2",
                                         "99999999 1",
                                         "1 12345678901234567890",
                                         "1 2\r3"};
    const char *path = in_folder(state, "edges");
    const int threads = omp_get_max_threads();
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        for (int place = 1; place < 200; place += 33) {
            char expected[ROOM];
            arcs *a = NULL;
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            for (int i = 0; i < 200; i++) {
                fprintf(file, "%s\n", i == place || i == 199 ? faults[f] : "12 34");
            }
            assert_int_equal(fclose(file), 0);
            snprintf(expected, sizeof expected, "line %d: ", place + 1);
            omp_set_num_threads(1 + place % 3);
            ASSERT_STATUS(read_edges(path, 1000, &a), WEFT_ERR_DATA);
            ASSERT_MESSAGE(expected);
            arcs_free(a);
        }
    }
    omp_set_num_threads(threads);
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_limits, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_first_fault, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
