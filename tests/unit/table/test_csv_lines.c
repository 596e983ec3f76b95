/* Rows that are lines: cut into cells beside text_scan_field, and read from files. */
#include <math.h>

#include "io/text/text_field.h"
#include "support/folder.h"
#include "support/random.h"
#include "table/read/csv_parse.h"
#include "table/read/table_text.h"
#include "table/rows/csv_lines.h"

enum { TEXT = 300, TRIALS = 400, PAD = 64 };

/* A text of few letters that ends in a line end. Returns its length. */
static size_t make_text(uint64_t seed, const char *letters, char *text)
{
    const size_t bytes = 1 + test_random(&seed) % (TEXT - 2);
    for (size_t i = 0; i < bytes; i++) {
        text[i] = letters[test_random(&seed) % strlen(letters)];
    }
    text[bytes] = '\n';
    text[bytes + 1] = '\0';
    return bytes + 1;
}

/* ---- cells ---- */

/* Compares the cells of a line with its fields. */
static void check_cells(const csv_marks *marks, const char *line, const uint32_t *place, size_t places,
                        const char *text)
{
    const char *at = text_skip_around(line, marks->separator), *from = line;
    text_field field;
    char expected[TEXT + 1];
    size_t k = 0;
    bool more = true;
    for (; more && text_scan_field(&at, marks->separator, &field); k++) {
        sink_cell cell;
        char *copy;
        assert_true(k < places);
        const char *end = text + place[k];
        ASSERT_OK(csv_cell(marks, from, end - (end[0] == '\n' && end > from && end[-1] == '\r'), &cell, &copy));
        const size_t length = text_copy_field(&field, expected, sizeof expected);
        assert_int_equal(cell.bytes, length);
        assert_memory_equal(cell.text, expected, length);
        assert_int_equal(cell.quoted, field.quoted);
        weft_free(copy);
        from = end + 1;
        more = text_next_field(&at, marks->separator);
    }
    assert_true(more || (k == places && text[place[k - 1]] == '\n'));
}

static void test_cells_beside_fields(void **state)
{
    static char block[PAD + TEXT + PAD];
    static uint32_t place[CSV_SPAN + CSV_STEP];
    char *text = block + PAD;
    (void)state;
    for (uint64_t trial = 0; trial < 10 * TRIALS; trial++) {
        const csv_marks marks = {
            .separator = ",;\t \n"[trial % 5], .quote = '"', .by_lines = true, .blank_is_row = trial % 2 == 0};
        const size_t bytes = make_text(trial, "ab12,;\t  \"\"\"\n#\r", text), half = bytes / 2;
        uint64_t inside = 0;
        size_t found = csv_lines_places(&marks, text, half, &inside, place).places;
        const size_t more = csv_lines_places(&marks, text + half, bytes - half, &inside, place + found).places;
        for (size_t i = found; i < found + more; i++) {
            place[i] += (uint32_t)half;
        }
        found += more;
        assert_int_equal(inside, 0);
        size_t i = 0;
        for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
            size_t n = 0;
            while (text[place[i + n]] != '\n') {
                n++;
            }
            if (csv_line_is_row(&marks, line)) {
                check_cells(&marks, line, place + i, n + 1, text);
            } else {
                assert_int_equal(n, 0);
            }
            i += n + 1;
        }
        assert_int_equal(i, found);
    }
}

static void test_a_lone_quote(void **state)
{
    static const char text[] = "\"\"r\"\n";
    (void)state;
    for (int by_lines = 0; by_lines < 2; by_lines++) {
        const csv_marks marks = {.separator = ',', .quote = '"', .by_lines = by_lines == 1};
        sink_cell cell;
        char *copy;
        ASSERT_STATUS(csv_cell(&marks, text, text + 4, &cell, &copy), WEFT_ERR_DATA);
        ASSERT_MESSAGE(by_lines == 1 ? "'\"\"r\"': expected a quote that ends a field within its line"
                                     : "a quote stands alone within a cell in quotes: double it, or say --quote none");
        assert_null(copy);
    }
}

/* ---- a file ---- */

static void test_a_file(void **state)
{
    static const char text[] = "\xef\xbb\xbf# a comment\n\n f  g\n% another\n 1   x\r\n\n-2.5e1\t\"y \"\"z\"\n";
    const char *path = in_folder(state, "t.txt");
    text_header header;
    table_text table;
    const int64_t order[2] = {1, 0};
    float *value;
    put_file(path, text, sizeof text - 1);
    ASSERT_OK(text_header_read(path, 1000, &header));
    ASSERT_OK(table_text_open(&header, "things", &table));
    table_text_want(&table, 0);
    table.order = order;
    ASSERT_OK(table_text_floats(&table, 2, "a number", false, WEFT_MEM_GENERAL, &value));
    assert_true(value[0] == -25 && value[1] == 1);
    weft_free(value);
    ASSERT_STATUS(table_text_fail(&table, 1, 0, "is wrong"), WEFT_ERR_DATA);
    ASSERT_MESSAGE("t.txt: line 7: column 'f': is wrong");
    ASSERT_STATUS(table_text_floats(&table, 1, "a number", false, WEFT_MEM_GENERAL, &value), WEFT_ERR_DATA);
    ASSERT_MESSAGE("t.txt: more rows than the 1 things");
    ASSERT_STATUS(table_text_floats(&table, 3, "a number", false, WEFT_MEM_GENERAL, &value), WEFT_ERR_DATA);
    ASSERT_MESSAGE("t.txt: 2 rows for 3 things");
    assert_null(value);
    table_text_close(&table);
    text_header_free(&header);
}

/* Reads all columns. */
static weft_status read_numbers(const char *path, bool nan_allowed, float **value)
{
    text_header header;
    table_text table;
    table_lines lines;
    *value = NULL;
    WEFT_TRY(text_header_read(path, 1000, &header));
    ASSERT_OK(table_text_open(&header, "things", &table));
    ASSERT_OK(table_text_count(&header, &lines));
    for (int64_t j = 0; j < header.columns; j++) {
        table_text_want(&table, j);
    }
    const weft_status status =
        table_text_floats(&table, lines.filled, "a finite number", nan_allowed, WEFT_MEM_GENERAL, value);
    table_text_close(&table);
    text_header_free(&header);
    return status;
}

static void test_numbers(void **state)
{
    static const char text[] = "0.5,,nan\n,2,1e3\n\"7\" ,8,\n";
    const char *path = in_folder(state, "f.csv");
    float *f;
    put_file(path, text, sizeof text - 1);
    ASSERT_OK(read_numbers(path, true, &f));
    assert_true(f[0] == 0.5F && isnan(f[1]) && isnan(f[2]) && isnan(f[3]) && f[4] == 2 && f[5] == 1000 && f[6] == 7 &&
                f[7] == 8 && isnan(f[8]));
    weft_free(f);
    put_file(path, "# nothing\n", 10);
    ASSERT_OK(read_numbers(path, false, &f));
}

static void test_faults(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"1,2\n3;4\n", "line 2: 1 cells separated by a comma, and the first row has 2"},
        {"0;1\n0,5;1\n", "line 2: column 1: '0,5': a comma within a number: decimal commas?"},
        {"1,2\n3\n", "line 2: 1 cells separated by a comma, and the first row has 2"},
        {"1,2\n# no row\n3,4,5\n", "line 3: 3 cells separated by a comma, and the first row has 2"},
        {"1,2\n3,\n", "line 2: column 2: an empty field: expected a finite number"},
        {"1,2\n3,x\n", "line 2: column 2: 'x': expected a finite number"},
        {"1,2\n1,inf\n", "line 2: column 2: 'inf': expected a finite number"},
        {"1,2\n1,1e39\n", "line 2: column 2: '1e39' is beyond the range of float32"},
        {"1,2\n1,nan\n", "line 2: column 2: 'nan': expected a finite number"},
        {"f g\n1 2\n3 \"4\n", "line 3: column 'g': '\"4': expected a quote that ends a field within its line"},
        {"f g\n1 2\n\"3 4\n", "line 3: column 'f': '\"3 4': expected a quote that ends a field within its line"},
        {"f,g\n1,2\n\"3\"4,5\n", "line 3: column 'f': '\"3\"4': expected a quote that ends a field within its line"},
        {"f,g\n1,2\n3,4,\"5\n", "line 3: column 3: '\"5': expected a quote that ends a field within its line"},
        {"f,g\n1,2\n3,4,5,\"6\n", "line 3: column 4: '\"6': expected a quote that ends a field within its line"},
        {"head\nhead\n1\n", "line 2: column 'head': 'head': expected a finite number"},
    };
    const char *path = in_folder(state, "t.csv");
    float *value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(path, cases[i].text, strlen(cases[i].text));
        ASSERT_STATUS(read_numbers(path, false, &value), WEFT_ERR_DATA);
        ASSERT_MESSAGE(cases[i].message);
        ASSERT_MESSAGE("t.csv");
    }
}

static void test_lines_of_a_file(void **state)
{
    static const char text[] = "label\n\nx\n#\n \ny\n\n\r\n#\n";
    const char *path = in_folder(state, "l.txt");
    text_header header;
    table_lines lines;
    put_file(path, text, sizeof text - 1);
    ASSERT_OK(text_header_read(path, 1000, &header));
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(table_text_count(&header, &lines));
        assert_int_equal(lines.filled, 2 + i); /* the header is a row at last */
        assert_int_equal(lines.blank, 4);
        assert_int_equal(lines.blank_tail, 2);
        ASSERT_OK(i == 0 ? text_header_drop(&header) : WEFT_OK);
    }
    text_header_free(&header);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells_beside_fields),
                                       cmocka_unit_test(test_a_lone_quote),
                                       FOLDER_TEST(test_a_file),
                                       FOLDER_TEST(test_numbers),
                                       FOLDER_TEST(test_faults),
                                       FOLDER_TEST(test_lines_of_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
