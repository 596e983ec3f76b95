/* Lines of edges in every form against the same edges given directly; ids at the limits; the first faulty line. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/log.h"
#include "gnn/data/edges/edge_lines.h"
#include "gnn/data/edges/edge_text.h"
#include "support/folder.h"
#include "support/random.h"

enum { VERTICES = 3000, LINES = 40000, ROOM = 80 };

static uint64_t seed;

static int32_t draw(int32_t below)
{
    return (int32_t)(test_random(&seed) % (uint32_t)below);
}

enum { MUCH = 1 << 28, LITTLE = 1 << 20 }; /* memory: with little, edges go through a file, by way of a batch */

static weft_status read_edges(const char *path, int64_t memory, int64_t vertices, arcs **a)
{
    text_source *source = NULL;
    ASSERT_OK(arcs_create(memory, path, omp_get_max_threads(), a));
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

static void compare(const char *path, int64_t memory, arcs *expected)
{
    csr_graph want;
    csr_graph got;
    arcs *a = NULL;
    ASSERT_OK(read_edges(path, memory, VERTICES, &a));
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
        ASSERT_OK(arcs_create(MUCH, path, 1, &expected));
        seed = (uint64_t)way;
        for (int i = 0; i < lines; i++) {
            const int32_t pair[2] = {draw(VERTICES), draw(VERTICES)};
            print_edge(file, pair, way % 2 == 1);
            ASSERT_OK(arcs_add(expected, 0, pair, 1));
        }
        fputs("17 18", file); /* no end of line */
        ASSERT_OK(arcs_add(expected, 0, (int32_t[]){17, 18}, 1));
        assert_int_equal(fclose(file), 0);
        compare(path, MUCH, expected);
        compare(path, LITTLE, expected);
        arcs_free(expected);
    }
    omp_set_num_threads(threads);
}

/* A row x, target, y, source: common ones, and with what fields may have around them. */
static void print_row(FILE *file, const int32_t pair[2], char separator)
{
    static const char *const words[] = {"7", "-1.5e3", "\"a, b;\"", "\"\"\"\"", "word"};
    static const char *const around[] = {"", "", "", " ", "  "};
    static const char *const ends[] = {"\n", "\n", "\r\n", " \n"};
    const char *blank = around[separator == ' ' ? 0 : draw(5)];
    char id[2][ROOM];
    for (int i = 0; i < 2; i++) {
        snprintf(id[i], ROOM, draw(8) == 0 ? "\"%d\"" : draw(8) == 0 ? "%d.0" : "%d", pair[i]);
    }
    fprintf(file, "%s%s%c%s%s%c%s%c%s%s%s", words[draw(5)], blank, separator, id[1], blank, separator, words[draw(5)],
            separator, id[0], blank, ends[draw(4)]);
}

static void test_tables(void **state)
{
    static const char separators[] = {',', ';', '\t', ' '};
    const char *path = in_folder(state, "edges");
    const int threads = omp_get_max_threads();
    for (int way = 0; way < 8; way++) {
        arcs *expected = NULL;
        const char separator = separators[way % 4];
        omp_set_num_threads(1 + way / 4 * 2);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        ASSERT_OK(arcs_create(MUCH, path, 1, &expected));
        seed = (uint64_t)way + 100;
        fprintf(file, "x%cTarget%cy%cSRC\n", separator, separator, separator);
        for (int i = 0; i < LINES; i++) {
            const int32_t pair[2] = {draw(VERTICES), draw(VERTICES)};
            print_row(file, pair, separator);
            ASSERT_OK(arcs_add(expected, 0, pair, 1));
        }
        assert_int_equal(fclose(file), 0);
        compare(path, MUCH, expected);
        compare(path, LITTLE, expected);
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
        ASSERT_OK(read_edges(path, MUCH, limit, &a));
        assert_int_equal(arcs_largest_id(a), limit - 1);
        arcs_free(a);
        snprintf(text, sizeof text, "0 1\n1 0\n%lld 1\n", (long long)limit);
        put_file(path, text, strlen(text));
        ASSERT_STATUS(read_edges(path, MUCH, limit, &a), WEFT_ERR_DATA);
        ASSERT_MESSAGE("line 3: '");
        arcs_free(a);
    }
}

static void write_lines(const char *path, const char *usual, int lines, const char *other, int place)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < lines; i++) {
        fprintf(file, "%s\n", i == place || i == lines - 1 ? other : usual);
    }
    assert_int_equal(fclose(file), 0);
}

/* Of several faults the first in the file is named, whichever thread's it is, in files of one block and of many ranges.
 */
static void test_first_fault(void **state)
{
    static const char *const faults[] = {"5",     "5 ",   " 5",         "a 1",         "1 a",
                                         "1.5 2", "-1 2", "1 2 3",      "1 2x",        "x",
                                         "1,,2",  "1:2",  "99999999 1", "1 123456789", "1 12345678901234567890",
                                         "1 2\r3"};
    const char *path = in_folder(state, "edges");
    const int threads = omp_get_max_threads();
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        for (int i = 0; i < 12; i++) {
            const int lines = i < 6 ? 200 : 20000;
            const int place = 1 + i % 6 * (lines / 6);
            char expected[ROOM];
            arcs *a = NULL;
            write_lines(path, "12 34", lines, faults[f], place);
            snprintf(expected, sizeof expected, "line %d: ", place + 1);
            omp_set_num_threads(1 + i % 3);
            ASSERT_STATUS(read_edges(path, MUCH, 1000, &a), WEFT_ERR_DATA);
            ASSERT_MESSAGE(expected);
            arcs_free(a);
        }
    }
    omp_set_num_threads(threads);
}

/* Lines longer than several ranges, and than the limit; many comments; a zero byte. */
static void test_long_lines(void **state)
{
    enum { LENGTH = 50000 };
    const char *path = in_folder(state, "edges");
    static char comment[LENGTH + 1];
    memset(comment, '#', LENGTH);
    for (int i = 0; i < 4; i++) {
        arcs *a = NULL;
        write_lines(path, "12 34", 5000, comment, 1 + 1250 * i);
        ASSERT_OK(read_edges(path, MUCH, 1000, &a));
        assert_int_equal(arcs_count(a), 4998);
        arcs_free(a);
        write_lines(path, "# 12 34", 20000, "5 6", 1 + 1250 * i);
        ASSERT_OK(read_edges(path, MUCH, 1000, &a));
        assert_int_equal(arcs_count(a), 2);
        arcs_free(a);
    }
    text_source *source = NULL;
    arcs *a = NULL;
    write_lines(path, "12 34", 5000, comment, 3000);
    ASSERT_OK(arcs_create(MUCH, path, omp_get_max_threads(), &a));
    ASSERT_OK(text_source_open(path, 30000, &source));
    ASSERT_STATUS(edge_text_read(source, path, 1000, a), WEFT_ERR_DATA);
    ASSERT_MESSAGE("line 3001: longer than 30000 bytes");
    text_source_close(source);
    arcs_free(a);

    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite("# \0\n1 2\n", 1, 8, file), 8);
    assert_int_equal(fclose(file), 0);
    ASSERT_STATUS(read_edges(path, MUCH, 1000, &a), WEFT_ERR_DATA);
    ASSERT_MESSAGE("line 5001: a zero byte");
    arcs_free(a);
}

enum { KERNEL_BYTES = 20000, KERNEL_LINES = KERNEL_BYTES / 4 };

typedef struct common_lines {
    char text[KERNEL_BYTES + TEXT_PAD];
    size_t bytes, begin[KERNEL_LINES + 1]; /* of line i; the last one is of another kind */
    int lines;                             /* common ones */
    uint64_t sum[KERNEL_LINES + 1];        /* of the lines before line i, in any order */
    bool longer[KERNEL_LINES + 1];         /* line i has an id of more than 7 digits */
} common_lines;

static uint64_t mix(int64_t from, int64_t to)
{
    uint64_t state = (uint64_t)from << 32 ^ (uint64_t)to;
    test_random_bits(&state);
    return test_random_bits(&state);
}

static void make_common(common_lines *t, const edge_ids *ids, int digits, const char *other)
{
    *t = (common_lines){.bytes = 0};
    for (; t->bytes < KERNEL_BYTES - ROOM && draw(1500) > 0; t->lines++) {
        int64_t number[2];
        for (int i = 0; i < 2; i++) {
            int64_t below = 10;
            for (int d = draw(digits); d > 0; d--) {
                below *= 10;
            }
            number[i] = (int64_t)(test_uniform(&seed) * (double)below);
            number[i] = number[i] < ids->first ? ids->first : number[i] > ids->last ? ids->last : number[i];
        }
        t->begin[t->lines] = t->bytes;
        t->longer[t->lines] = number[0] > 9999999 || number[1] > 9999999;
        t->sum[t->lines + 1] = t->sum[t->lines] + mix(number[0] - ids->first, number[1] - ids->first);
        t->bytes += (size_t)sprintf(t->text + t->bytes, "%lld%c%lld\n", (long long)number[0], " \t,"[draw(3)],
                                    (long long)number[1]);
    }
    t->begin[t->lines] = t->bytes;
    t->bytes += (size_t)sprintf(t->text + t->bytes, "%s\n", other);
    memset(t->text + t->bytes, "0 \n1"[draw(4)], TEXT_PAD);
}

/* Which line of the text is at `at`. */
static int line_at(const common_lines *t, const char *at)
{
    int line = 0;
    while (line < t->lines && t->begin[line] < (size_t)(at - t->text)) {
        line++;
    }
    assert_ptr_equal(at, t->text + t->begin[line]);
    return line;
}

/* Each kernel reads what is common, however many digits there are, and stops at the beginning of a line. */
static void test_kernels(void **state)
{
    (void)state;
    static const edge_lines_fn kernels[HAL_ISAS] = {edge_lines_base, edge_lines_avx2, edge_lines_avx512};
    static const char *const others[] = {"x",    "1  2", "", "1 2 3", "0000000000000000001 1", "2147483648 1",
                                         " 1 2", "1 "};
    static common_lines t[2];
    enum { KERNEL_PAIRS = 2 * KERNEL_LINES + EDGE_LINES_ROOM };
    static int32_t pairs[2 * KERNEL_PAIRS];
    for (int round = 0; round < 300; round++) {
        const edge_ids ids = {.first = round % 2, .last = round % 3 == 0 ? 999999 : INT32_MAX};
        seed = (uint64_t)round;
        for (int i = 0; i < 2; i++) {
            make_common(&t[i], &ids, 1 + round % 10, others[draw(8)]);
        }
        for (hal_isa isa = HAL_ISA_BASE; isa <= hal_isa_best(); ++isa) {
            const char *from[2] = {t[0].text, t[1].text};
            const char *const end[2] = {t[0].text + t[0].bytes, t[1].text + t[1].bytes};
            const int64_t count = kernels[isa](&ids, from, end, pairs, KERNEL_PAIRS);
            const int line[2] = {line_at(&t[0], from[0]), line_at(&t[1], from[1])};
            uint64_t sum = 0;
            for (int64_t i = 0; i < count; i++) {
                sum += mix(pairs[2 * i], pairs[2 * i + 1]);
            }
            assert_int_equal(count, line[0] + line[1]);
            assert_true(sum == t[0].sum[line[0]] + t[1].sum[line[1]]);
            bool stopped = false; /* base: at one of the two lines that come next */
            for (int i = 0; i < 2; i++) {
                stopped = stopped || line[i] == t[i].lines || t[i].longer[line[i]];
                assert_true(isa == HAL_ISA_BASE || t[i].lines - line[i] < 4 * (int)isa); /* a vector */
            }
            assert_true(stopped || isa != HAL_ISA_BASE);
        }
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tables, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_limits, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_first_fault, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_long_lines, folder_setup, folder_teardown),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
