/* The first lines of tables: separators, quotes, names, roles, and headers that do not fit their rows. */
#include "io/text/text_header.h"
#include "support/folder.h"

enum { LINE_MOST = 1 << 16 };

static const char *put(void **state, const char *text)
{
    const char *path = in_folder(state, "t.csv");
    put_file(path, text, strlen(text));
    return path;
}

/* ---- fields ---- */

static void test_fields(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        char separator;
        const char *fields[5]; /* as copied */
    } cases[] = {
        {"a,b\n", ',', {"a", "b"}},
        {" a , b \r\n", ',', {"a", "b"}},
        {",,\n", ',', {"", "", ""}},
        {"\"a,b\";\"say \"\"hi\"\"\" ; c\n", ';', {"a,b", "say \"hi\"", "c"}},
        {"\tx\t\ty z\n", '\t', {"", "x", "", "y z"}},
        {"  0 \t 1  2 \n", TEXT_BLANKS, {"0", "1", "2"}},
        {"\"a b\" c\n", TEXT_BLANKS, {"a b", "c"}},
        {"golden retriever \n", TEXT_WHOLE_LINE, {"golden retriever"}},
        {"\"\"\n", ',', {""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].row;
        int64_t count = 0;
        do {
            text_field field;
            char copy[32];
            assert_true(text_scan_field(&at, cases[i].separator, &field));
            const size_t length = text_copy_field(&field, copy, sizeof copy);
            assert_int_equal(length, strlen(copy));
            assert_non_null(cases[i].fields[count]);
            assert_string_equal(copy, cases[i].fields[count]);
            count++;
        } while (text_next_field(&at, cases[i].separator));
        assert_true(text_at_end(at));
        assert_null(cases[i].fields[count]);
        assert_int_equal(text_fields_of(cases[i].row, cases[i].separator), count);
    }
    assert_int_equal(text_fields_of("a,\"b\n", ','), -1);
    assert_int_equal(text_fields_of("\"a\"b,c\n", ','), -1);
}

static void test_values_of_fields(void **state)
{
    (void)state;
    static const char *const missing[] = {"", "NA", "NaN", "nan", "-nan", "N/A", "null", "NULL", "<NA>", "#N/A"};
    static const char *const there[] = {"0", "none", "nana", "Namibia", "x"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_true(text_field_missing(&(text_field){.text = missing[i], .end = missing[i] + strlen(missing[i])}));
    }
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        assert_false(text_field_missing(&(text_field){.text = there[i], .end = there[i] + strlen(there[i])}));
    }
    static const struct {
        const char *text;
        bool whole, number;
        int64_t value;
    } cases[] = {{"17", true, true, 17},  {"-3.00", true, true, -3}, {"4.", true, true, 4},    {"4.5", false, true, 0},
                 {"4x", false, false, 0}, {"1e3", false, true, 0},   {"inf", false, false, 0}, {"", false, false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char row[16];
        snprintf(row, sizeof row, "%s\n", cases[i].text);
        const text_field field = {.text = row, .end = row + strlen(cases[i].text)};
        int64_t value = 0;
        double real;
        assert_int_equal(text_field_whole(&field, &value), cases[i].whole);
        assert_int_equal(text_field_number(&field, &real), cases[i].number);
        assert_true(!cases[i].whole || value == cases[i].value);
    }
}

/* ---- headers ---- */

static void test_headers(void **state)
{
    static const struct {
        const char *text;
        char separator;
        bool named;
        int64_t line, columns, index;
        const char *names[4];
    } cases[] = {
        {"source,target\n0,1\n", ',', true, 1, 2, -1, {"source", "target"}},
        {"\xef\xbb\xbf\"a\";\"b\"\r\n1;2\r\n", ';', true, 1, 2, -1, {"a", "b"}},
        {"# x\n\n% y\nfirst name\tb\n1\t2\n", '\t', true, 4, 2, -1, {"first name", "b"}},
        {"a b c\n1 2 3\n", ' ', true, 1, 3, -1, {"a", "b", "c"}},
        {",label\n0,2\n", ',', true, 1, 2, 0, {"", "label"}},
        {"\"\",\"label\"\n\"1\",2\n", ',', true, 1, 2, 0, {"", "label"}},
        {"\tlabel\n0\t2\n", '\t', true, 1, 2, 0, {"", "label"}},
        {"Unnamed: 0,label\n0,2\n", ',', true, 1, 2, 0, {"Unnamed: 0", "label"}},
        {"\"a\",\"b\"\n\"1\",2,3\n", ',', true, 1, 3, 0, {"", "a", "b"}}, /* R: write.table(sep = ",") */
        {"\"a\" \"b\"\n\"1\" 2 3\n", ' ', true, 1, 3, 0, {"", "a", "b"}}, /* R: write.table */
        {"\"a\"\n\"1\" 2\n", ' ', true, 1, 2, 0, {"", "a"}},
        {",0,1\n0,5,6\n", ',', true, 1, 3, 0, {"", "0", "1"}}, /* pandas */
        {",0,1\n7,5,6\n", ',', false, 1, 3, -1, {NULL}},
        {"a;b\nx;2;3\n", ';', true, 1, 3, 0, {"", "a", "b"}},
        {"label\ngolden retriever\n", '\n', true, 1, 1, -1, {"label"}},
        {"body mass\n0\n", '\n', true, 1, 1, -1, {"body mass"}},
        {"label\n0\n", '\n', true, 1, 1, -1, {"label"}},
        {"0;1\n2;3\n", ';', false, 1, 2, -1, {NULL}},
        {"\n0\t\t1 2\n", ' ', false, 2, 3, -1, {NULL}},
        {"0,5;1,5\n1;2\n", ';', false, 1, 2, -1, {NULL}},
        {"NA\n1\n", '\n', false, 1, 1, -1, {NULL}},
        {"\"0\",\"1\"\n", ',', false, 1, 2, -1, {NULL}},
        {"a,b\n", ',', true, 1, 2, -1, {"a", "b"}},
        {"# nothing\n", ' ', false, 0, 0, -1, {NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_header h;
        ASSERT_OK(text_header_read(put(state, cases[i].text), LINE_MOST, &h));
        assert_int_equal(h.separator, cases[i].separator);
        assert_int_equal(h.named, cases[i].named);
        assert_int_equal(h.line, cases[i].line);
        assert_int_equal(h.columns, cases[i].columns);
        assert_int_equal(h.index, cases[i].index);
        assert_int_equal(h.name != NULL, h.named);
        for (int64_t j = 0; h.named && j < h.columns; j++) {
            assert_string_equal(h.name[j], cases[i].names[j]);
        }
        text_header_free(&h);
    }
}

static void test_headers_that_do_not_fit(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"source,target,weight\n0,1,0,5\n", "line 1 has 3 names, line 2 has 4 fields: decimal commas?"},
        {"source,target\n1,0,1\n",
         "line 1 has 2 names, line 2 has 3 fields: decimal commas? (numbers are written 0.5; R's row"},
        {"x\n0,5\n", "line 1 has 1 names, line 2 has 2 fields: decimal commas?"},
        {"a,b\n0 1\n", "line 1 has 2 names, line 2 has 1 fields: a blank separates there, a comma in line 1"},
        {"a b\n0,1\n", "a comma separates there, a blank in line 1; one separator a file"},
        {"a,b,c\n0,1\n", "line 1 has 3 names, line 2 has 2 fields"},
        {"a,b,\n0,1\n", "line 1 has 3 names, line 2 has 2 fields"},
        {"a\n\n0,1,2\n", "line 1 has 1 names, line 3 has 3 fields"},
        {"a,\"b\n0,1\n", "line 1: a quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_header h;
        ASSERT_STATUS(text_header_read(put(state, cases[i].text), LINE_MOST, &h), WEFT_ERR_DATA);
        ASSERT_MESSAGE(cases[i].message);
        ASSERT_MESSAGE("t.csv");
        assert_null(h.name);
        assert_null(h.row);
    }
}

static void test_roles(void **state)
{
    static const struct {
        const char *header;
        text_role role;
        int64_t column; /* -2: refused */
    } cases[] = {
        {"id,source,target", TEXT_SOURCE, 1},
        {"id,source,target", TEXT_TARGET, 2},
        {"Target,Source", TEXT_SOURCE, 1},
        {"time,src,dst", TEXT_WEIGHT, -1},
        {":START_ID,:END_ID,:TYPE", TEXT_SOURCE, 0},
        {":START_ID(Person),since:int,:END_ID(Person)", TEXT_TARGET, 2},
        {"personId:ID(Person),name,:LABEL", TEXT_ID, 0},
        {"personId:ID(Person),name,:LABEL", TEXT_LABEL, 2},
        {"cost:int,Weight:float", TEXT_WEIGHT, 1},
        {"Node ID,x", TEXT_ID, 0},
        {"nodeId,x", TEXT_ID, 0},
        {"id,name", TEXT_ID, 0},
        {"x,name", TEXT_ID, 1},
        {"id,node", TEXT_ID, -2},
        {"label,class", TEXT_LABEL, -2},
        {"index,name", TEXT_ID, -2},
        {"head,tail", TEXT_SOURCE, -1},
        {"train_mask,valMask,is-test", TEXT_TRAIN, 0},
        {"train_mask,valMask,is-test", TEXT_VALID, 1},
        {"train_mask,valMask,is-test", TEXT_TEST, 2},
        {"to,FROM", TEXT_SOURCE, 1},
        {",id", TEXT_ID, 1},
        {"a_name_that_is_too_long_to_be_one_of_the_table,id", TEXT_ID, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_header h;
        int64_t column = -3;
        ASSERT_OK(text_header_read(put(state, cases[i].header), LINE_MOST, &h));
        const weft_status status = text_header_find(&h, cases[i].role, &column);
        assert_int_equal(status, cases[i].column == -2 ? WEFT_ERR_DATA : WEFT_OK);
        if (cases[i].column == -2) {
            ASSERT_MESSAGE("t.csv: line 1: the columns '");
        } else {
            assert_int_equal(column, cases[i].column);
            assert_true(column < 0 || text_header_is(&h, column, cases[i].role));
        }
        text_header_free(&h);
    }
}

static void test_drop_and_skip(void **state)
{
    text_header h;
    text_source *source;
    text_field field;
    char line[16], copy[16];
    bool end;
    const char *path = put(state, "# c\ncat\ndog\n");
    ASSERT_OK(text_header_read(path, LINE_MOST, &h));
    assert_true(h.named && h.row_line == 3);
    assert_true(text_header_sample(&h, 0, &field));
    text_copy_field(&field, copy, sizeof copy);
    assert_string_equal(copy, "dog");
    ASSERT_OK(text_source_open(path, LINE_MOST, &source));
    ASSERT_OK(text_header_skip(&h, source));
    ASSERT_OK(text_source_line(source, line, sizeof line, &end));
    assert_string_equal(line, "dog");
    assert_int_equal(text_source_line_number(source), 3);
    text_source_close(source);
    ASSERT_OK(text_header_drop(&h));
    assert_true(!h.named && h.row_line == 2 && h.columns == 1);
    assert_true(text_header_sample(&h, 0, &field) && !text_header_sample(&h, 1, &field));
    ASSERT_OK(text_source_open(path, LINE_MOST, &source));
    ASSERT_OK(text_header_skip(&h, source));
    ASSERT_OK(text_source_line(source, line, sizeof line, &end));
    assert_string_equal(line, "# c");
    text_source_close(source);
    text_header_free(&h);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields), cmocka_unit_test(test_values_of_fields),
        FOLDER_TEST(test_headers),     FOLDER_TEST(test_headers_that_do_not_fit),
        FOLDER_TEST(test_roles),       FOLDER_TEST(test_drop_and_skip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
