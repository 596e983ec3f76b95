/* Tables with a row for each vertex, by all threads: rows by ids and by names, words as classes, and faults in one of
 * many rows. */
#include <omp.h>

#include "gnn/data/read/reader_parts.h"
#include "io/text/text_header.h"
#include "support/folder.h"

enum { ROWS = 100003, STEP = 7919, CLASSES = 37 }; /* a prime number of rows: (row * STEP) mod ROWS is a permutation */

static int64_t vertex_of(int64_t row)
{
    return row * STEP % ROWS;
}

/* A table "id,note,class,f" whose rows are in the order of vertex_of; `change` stands instead of row `at`. */
static const char *write_table(void **state, int64_t at, const char *change)
{
    const char *path = in_folder(state, "t.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("id,note,class,f\n", file);
    for (int64_t row = 0; row < ROWS; row++) {
        const int64_t v = vertex_of(row);
        if (row == at) {
            fputs(change, file);
        } else if (row % 11 == 3) {
            fprintf(file, "\"%d\",\"a, \"\"b\"\"\",,%d.5\n", (int)v, (int)(v % 100));
        } else {
            fprintf(file, "%d,x;y,c%d,%d.5\n", (int)v, (int)(v % CLASSES), (int)(v % 100));
        }
    }
    assert_int_equal(fclose(file), 0);
    return path;
}

static void test_rows_by_ids(void **state)
{
    const char *path = write_table(state, -1, "");
    for (int threads = 1; threads <= 3; threads += 2) {
        omp_set_num_threads(threads);
        raw_graph raw = {.vertices = ROWS};
        ASSERT_OK(reader_text_labels(path, true, &raw));
        assert_int_equal(raw.classes, CLASSES);
        assert_int_equal(raw.class_names.count, CLASSES);
        for (int64_t row = 0; row < ROWS; row++) {
            const int64_t v = vertex_of(row);
            char name[16];
            snprintf(name, sizeof name, "c%d", (int)(v % CLASSES));
            if (row % 11 == 3) {
                assert_int_equal(raw.label[v], -1);
            } else {
                assert_string_equal(raw.class_names.text[raw.label[v]], name);
            }
        }
        for (int64_t c = 1; c < CLASSES; c++) {
            assert_true(strcmp(raw.class_names.text[c - 1], raw.class_names.text[c]) < 0);
        }
        raw_graph_free(&raw);
    }
}

/* The columns id and f alone: note is text, so it goes first. */
static void test_features_by_ids(void **state)
{
    const char *path = in_folder(state, "f.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("f\tid\tg\n", file);
    for (int64_t row = 0; row < ROWS; row++) {
        fprintf(file, "%d.5\t%d\t\"-%d\"\n", (int)(vertex_of(row) % 100), (int)vertex_of(row), (int)(row % 9));
    }
    assert_int_equal(fclose(file), 0);
    for (int threads = 1; threads <= 3; threads += 2) {
        omp_set_num_threads(threads);
        raw_graph raw = {.vertices = ROWS};
        ASSERT_OK(reader_text_features(path, &raw));
        assert_int_equal(raw.features, 2);
        for (int64_t row = 0; row < ROWS; row++) {
            const int64_t v = vertex_of(row);
            assert_true(raw.feature[2 * v] == (float)(v % 100) + 0.5F && raw.feature[2 * v + 1] == (float)-(row % 9));
        }
        raw_graph_free(&raw);
    }
}

static void test_one_fault_among_many_rows(void **state)
{
    static const struct {
        const char *change, *message;
    } cases[] = {
        {"7,x,c1,0.5\n", "t.csv: line 70002: column 'id': vertex 7 has a row already"},
        {"100003,x,c1,0.5\n", "t.csv: line 70002: column 'id': vertex 100003: vertices are 0 to 100002"},
        {"-1,x,c1,0.5\n", "t.csv: line 70002: column 'id': '-1': expected the id of a vertex"},
        {"", "no row for vertex "},
        {"# nobody\n", "no row for vertex "},
        {"1,x\n", "t.csv: line 70002: 2 cells separated by a comma, and the header names 4"},
        {"1,x,y,2,3\n", "t.csv: line 70002: 5 cells separated by a comma, and the header names 4"},
        {"1,\"x,y,2\n", "t.csv: line 70002: column 'note': '\"x,y,2': expected a quote that ends a field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_table(state, 70000, cases[i].change);
        for (int threads = 1; threads <= 3; threads += 2) {
            omp_set_num_threads(threads);
            raw_graph raw = {.vertices = ROWS};
            ASSERT_STATUS(reader_text_labels(path, true, &raw), WEFT_ERR_DATA);
            ASSERT_MESSAGE(cases[i].message);
            raw_graph_free(&raw);
        }
    }
    char *change = malloc(64);
    snprintf(change, 64, "%d,x,17,0.5\n", (int)vertex_of(70000));
    raw_graph raw = {.vertices = ROWS};
    ASSERT_STATUS(reader_text_labels(write_table(state, 70000, change), true, &raw), WEFT_ERR_DATA);
    ASSERT_MESSAGE("t.csv: line 70002: column 'class': '17': expected a word, as above");
    raw_graph_free(&raw);
    free(change);
}

/* Vertices that have names: in an id column, in a nameless first one, in lists. */
static void test_ids_that_are_names(void **state)
{
    static const char names[] = "12\0alice\0bob\0carol \"c\"";
    static const int64_t places[] = {0, 3, 9, 13};
    static const char *const list[] = {"12", "alice", "bob", "carol \"c\""};
    static const char *const tables[] = {"name,label\n\"carol \"\"c\"\"\",2\nalice,0\n12,3\nbob,1\n",
                                         ",label\nbob,1\n12,3\ncarol \"c\",2\nalice,0\n"};
    const char *path = in_folder(state, "t.csv");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        raw_graph raw = {.vertices = 4, .ids = {.count = 4}};
        ASSERT_OK(name_list_copy(list, 4, &raw.vertex_names));
        ASSERT_OK(WEFT_NEW(&raw.ids.item, 4, WEFT_MEM_GENERAL));
        ASSERT_OK(WEFT_NEW(&raw.ids.text, sizeof names, WEFT_MEM_GENERAL));
        memcpy(raw.ids.item, places, sizeof places);
        memcpy(raw.ids.text, names, sizeof names);
        put_file(path, tables[i], strlen(tables[i]));
        ASSERT_OK(reader_text_labels(path, false, &raw));
        static const int32_t expected[] = {3, 0, 1, 2};
        assert_memory_equal(raw.label, expected, sizeof expected);
        int64_t count, *index;
        put_file(path, "bob\n12\n", 7);
        ASSERT_OK(reader_text_list(path, &raw, &count, &index));
        assert_true(count == 2 && index[0] == 2 && index[1] == 0);
        weft_free(index);
        put_file(path, "id,label\nalice,0\ndave,1\nbob,1\n12,0\n", 35);
        ASSERT_STATUS(reader_text_labels(path, false, &raw), WEFT_ERR_DATA);
        ASSERT_MESSAGE("line 3: column 'id': 'dave': expected the id of a vertex, one of the 4 in the edges");
        put_file(path, "id,label\nalice,0\nbob,1\n12,0\n", 28);
        ASSERT_STATUS(reader_text_labels(path, false, &raw), WEFT_ERR_DATA);
        ASSERT_MESSAGE("no row for vertex carol \"c\" in column 'id'");
        raw_graph_free(&raw);
    }
}

static void test_long_words(void **state)
{
    char *text = malloc(4000);
    size_t at = (size_t)sprintf(text, "label\n");
    for (int row = 0; row < 4; row++) {
        at += (size_t)sprintf(text + at, "%0*d\"\"x\n", row % 2 == 0 ? 600 : 601, 0);
    }
    const char *path = in_folder(state, "t.csv");
    put_file(path, text, at);
    raw_graph raw = {.vertices = 4};
    ASSERT_OK(reader_text_labels(path, false, &raw));
    static const int32_t expected[] = {0, 1, 0, 1}; /* '"' is before '0' */
    assert_memory_equal(raw.label, expected, sizeof expected);
    assert_int_equal(strlen(raw.class_names.text[0]), 603);
    raw_graph_free(&raw);
    free(text);
}

static weft_status read_labels(const char *path, raw_graph *raw)
{
    return reader_text_labels(path, true, raw);
}

/* Every allocation fails once: the call fails with a message and leaves nothing behind, or needed none any more. */
static void test_memory_that_runs_out(void **state)
{
    static const char text[] = "id,label,f\n1,cat,2\n0,dog,3\n2,,4\n";
    weft_status (*const readers[])(const char *path, raw_graph *raw) = {reader_text_features, read_labels,
                                                                        reader_text_split};
    const char *path = in_folder(state, "t.csv");
    omp_set_num_threads(2);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        put_file(path, i < 2 ? text : "id,split\n1,val\n0,train\n2,test\n", i < 2 ? strlen(text) : 30);
        weft_status status = WEFT_ERR_RESOURCE;
        for (uint64_t n = 1; status != WEFT_OK; n++) {
            raw_graph raw = {.vertices = 3};
            weft_alloc_fail_after(n);
            status = readers[i](path, &raw);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
            raw_graph_free(&raw);
            assert_true(n < 200 && weft_mem_usage_total().current_bytes == 0);
        }
    }
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_rows_by_ids),        FOLDER_TEST(test_features_by_ids),
        FOLDER_TEST(test_ids_that_are_names), FOLDER_TEST(test_one_fault_among_many_rows),
        FOLDER_TEST(test_long_words),         FOLDER_TEST(test_memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
