/* Text: blocks, line numbers, compressed files, numbers. */
#include <float.h>
#include <math.h>
#include <omp.h>

#include <zlib.h>

#include "io/text/text_source.h"
#include "io/text/text_stream.h"
#include "support/folder.h"
#include "support/random.h"

static const char *put_text(void **state, const char *name, const char *text)
{
    const char *path = in_folder(state, name);
    put_file(path, text, strlen(text));
    return path;
}

static const char *put_gzip(void **state, const char *name, const char *text, const char *mode)
{
    const char *path = in_folder(state, name);
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

/* ---- numbers ---- */

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t value;
        int used;
    } cases[] = {
        {"0\n", true, 0, 1},
        {"-0 ", true, 0, 2},
        {"+17,", true, 17, 3},
        {"9223372036854775807\n", true, INT64_MAX, 19},
        {"-9223372036854775808\n", true, INT64_MIN, 20},
        {"9223372036854775808\n", false, 0, 0},
        {"-9223372036854775809\n", false, 0, 0},
        {"99999999999999999999999\n", false, 0, 0},
        {"x\n", false, 0, 0},
        {"-\n", false, 0, 0},
        {"\n", false, 0, 0},
        {"12.5\n", true, 12, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].text;
        int64_t value = 0;
        assert_int_equal(text_scan_int(&at, &value), cases[i].good);
        assert_int_equal(at - cases[i].text, cases[i].used);
        if (cases[i].good) {
            assert_true(value == cases[i].value);
        }
    }
}

/* Every bit as strtod rounds it, over many shapes of numbers. */
static void test_reals_against_strtod(void **state)
{
    (void)state;
    static const char *const fixed[] = {"0.1\n",
                                        "-0.0\n",
                                        "1e22\n",
                                        "1e23\n",
                                        "9007199254740993\n",
                                        "5e-324\n",
                                        "1e-400\n",
                                        ".5\n",
                                        "5.\n",
                                        "000000000000000000000000012.50\n",
                                        "1.7976931348623157e308\n",
                                        "123456789012345678901234567890\n",
                                        "0.000000000000000000000000000001\n",
                                        "3e+2,",
                                        "3e\n",
                                        "3e+\n",
                                        "3E-2\n"};
    uint64_t seed = 7;
    for (int i = 0; i < 40000; i++) {
        char text[64];
        if (i < (int)(sizeof fixed / sizeof *fixed)) {
            snprintf(text, sizeof text, "%s", fixed[i]);
        } else {
            double size = pow(10, test_uniform(&seed) * 60 - 30);
            snprintf(text, sizeof text, i % 3 == 0 ? "%.6f\n" : i % 3 == 1 ? "%.17g\n" : "%.5e\n", size);
        }
        const char *at = text;
        char *end;
        double value;
        assert_true(text_scan_real(&at, false, &value));
        double expected = strtod(text, &end);
        assert_memory_equal(&value, &expected, sizeof value);
        assert_ptr_equal(at, end);
    }
    static const struct {
        const char *text;
        double value;
    } fortran[] = {{"1.5D+00\n", 1.5}, {"-2.5d-1,", -0.25}, {"1D3\n", 1000.0}, {"1.7976931348623157D+308\n", DBL_MAX}};
    for (size_t i = 0; i < sizeof fortran / sizeof *fortran; i++) {
        const char *at = fortran[i].text;
        double value;
        assert_true(text_scan_real(&at, false, &value));
        assert_memory_equal(&value, &fortran[i].value, sizeof value);
        assert_true(*at == '\n' || *at == ',');
    }
    static const char *const none[] = {"nan\n", "inf\n", "-\n", ".\n", "e5\n", "1e999\n", "1d999\n", "\n", "x\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const char *at = none[i];
        double value;
        assert_false(text_scan_real(&at, false, &value));
        assert_ptr_equal(at, none[i]);
    }
    const char *at = "NaN,";
    double value;
    assert_true(text_scan_real(&at, true, &value));
    assert_true(isnan(value) && *at == ',');
}

/* ---- blocks ---- */

/* Rows as seen: sum of the first numbers weighted by row, so that a wrong row number or a lost row shows. */
typedef struct tally {
    int64_t rows[64];
    uint64_t sum[64];
} tally;

static bool tally_piece(void *self, text_piece *piece)
{
    tally *t = self;
    const char *at = piece->text;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        int64_t value;
        const char *field = at;
        if (!text_scan_int(&at, &value)) {
            return text_expected(piece, field, "a number");
        }
        t->rows[piece->thread]++;
        t->sum[piece->thread] += (uint64_t)(row + 1) * (uint64_t)value;
        at = text_next_line(at, piece->end);
    }
    return true;
}

static weft_status read_tally(const char *path, const char *comments, int64_t *rows, uint64_t *sum)
{
    tally t = {.rows = {0}};
    text_parser parser = {.self = &t, .parse = tally_piece, .count_rows = true};
    snprintf(parser.comments, sizeof parser.comments, "%s", comments);
    text_source *source;
    WEFT_TRY(text_source_open(path, 1000, &source));
    weft_status status = text_source_parse(source, &parser, rows);
    text_source_close(source);
    int64_t parsed = 0;
    *sum = 0;
    for (int i = 0; i < 64; i++) {
        parsed += t.rows[i];
        *sum += t.sum[i];
    }
    assert_true(status != WEFT_OK || parsed == *rows);
    return status;
}

/* Text of several blocks, with comments, blank lines, carriage returns and a last line without an end. */
static char *big_text(int64_t *rows, uint64_t *sum)
{
    size_t capacity = 10 << 20;
    char *text = malloc(capacity + 64);
    size_t at = 0;
    *rows = 0;
    *sum = 0;
    for (int i = 0; at < capacity; i++) {
        at += (size_t)sprintf(text + at,
                              i % 97 == 0   ? "# %d\n"
                              : i % 89 == 0 ? "\n"
                              : i % 7 == 0  ? "  %d\r\n"
                                            : "%d\n",
                              i % 9973 * 7919 % 100003);
        if (i % 97 != 0 && i % 89 != 0) {
            ++*rows;
            *sum += (uint64_t)*rows * (uint64_t)(i % 9973 * 7919 % 100003);
        }
    }
    sprintf(text + at, "5");
    ++*rows;
    *sum += (uint64_t)*rows * 5;
    return text;
}

static void test_blocks_and_rows(void **state)
{
    int64_t rows;
    uint64_t sum;
    char *text = big_text(&rows, &sum);
    put_text(state, "big.txt", text);
    put_gzip(state, "big.txt.gz", text, "wb1");
    static const char *const names[] = {"big.txt", "big.txt.gz"};
    for (int i = 0; i < 4; i++) {
        omp_set_num_threads(1 + 2 * (i / 2));
        int64_t found_rows;
        uint64_t found_sum;
        ASSERT_OK(read_tally(in_folder(state, names[i % 2]), "#", &found_rows, &found_sum));
        assert_int_equal(found_rows, rows);
        assert_true(found_sum == sum);
    }
    free(text);
}

static void test_errors_name_the_line(void **state)
{
    enum { LINES = 1200000 };
    char *text = malloc((size_t)LINES * 8 + 64);
    size_t at = 0;
    for (int i = 1; i <= LINES; i++) {
        at += (size_t)sprintf(text + at, i == 1100001 ? "qx,y\n" : i == 1150000 ? "worse\n" : "%d\n", i % 10000);
    }
    int64_t rows;
    uint64_t sum;
    put_text(state, "a.txt", text);
    put_gzip(state, "a.gz", text, "wb1");
    ASSERT_STATUS(read_tally(in_folder(state, "a.txt"), "", &rows, &sum), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a.txt: line 1100001: 'qx': expected a number");
    ASSERT_STATUS(read_tally(in_folder(state, "a.gz"), "", &rows, &sum), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a.gz: line 1100001: 'qx'");
    text[at - 2] = '\0';
    for (char *p = text; p < text + at; p++) {
        *p = *p == 'q' || *p == 'w' ? '1' : *p;
    }
    put_file(in_folder(state, "zero.txt"), text, at);
    ASSERT_STATUS(read_tally(in_folder(state, "zero.txt"), "", &rows, &sum), WEFT_ERR_DATA);
    ASSERT_MESSAGE("zero.txt: line 1200000: a zero byte");
    free(text);
    char *line = malloc(9 << 20);
    memset(line, '1', 9 << 20);
    put_file(in_folder(state, "endless.txt"), line, 9 << 20);
    ASSERT_STATUS(read_tally(in_folder(state, "endless.txt"), "", &rows, &sum), WEFT_ERR_DATA);
    ASSERT_MESSAGE("endless.txt: line 1: longer than");
    free(line);
}

static void test_compressed_files(void **state)
{
    int64_t rows = 0;
    uint64_t sum = 0;
    const char *members = put_gzip(state, "two.gz", "1\n2\n", "wb");
    put_gzip(state, "two.gz", "3\n", "ab");
    ASSERT_OK(read_tally(members, "", &rows, &sum));
    assert_int_equal(rows, 3);
    assert_true(sum == 1 + 4 + 9);
    size_t bytes;
    uint8_t *image = get_file(members, &bytes);
    for (size_t cut = 2; cut < bytes; cut++) {
        put_file(in_folder(state, "cut.gz"), image, cut);
        weft_status status = read_tally(in_folder(state, "cut.gz"), "", &rows, &sum);
        assert_true(status == WEFT_ERR_DATA || (status == WEFT_OK && rows == 2)); /* just after the first member */
    }
    image[bytes / 2 - 6] ^= 0x10;
    put_file(in_folder(state, "bad.gz"), image, bytes);
    ASSERT_STATUS(read_tally(in_folder(state, "bad.gz"), "", &rows, &sum), WEFT_ERR_DATA);
    free(image);
    FILE *file = fopen(in_folder(state, "two.gz"), "ab");
    fputs("tail", file);
    fclose(file);
    ASSERT_STATUS(read_tally(in_folder(state, "two.gz"), "", &rows, &sum), WEFT_ERR_DATA);
    ASSERT_MESSAGE("not gzip follow");
    ASSERT_STATUS(read_tally(in_folder(state, "absent"), "", &rows, &sum), WEFT_ERR_NOINPUT);
    ASSERT_STATUS(read_tally(*state, "", &rows, &sum), WEFT_ERR_NOINPUT);
    ASSERT_OK(read_tally(put_text(state, "empty", ""), "", &rows, &sum));
    assert_int_equal(rows, 0);
}

static void test_lines_before_parsing(void **state)
{
    text_source *source;
    char line[8];
    bool end;
    ASSERT_OK(text_source_open(put_text(state, "l.txt", "one\r\ntwo\n7\n8"), 100, &source));
    ASSERT_OK(text_source_line(source, line, sizeof line, &end));
    assert_string_equal(line, "one");
    assert_int_equal(text_source_line_number(source), 1);
    ASSERT_OK(text_source_line(source, line, sizeof line, &end));
    assert_string_equal(line, "two");
    tally t = {.rows = {0}};
    text_parser parser = {.self = &t, .parse = tally_piece, .count_rows = true};
    int64_t rows;
    ASSERT_OK(text_source_parse(source, &parser, &rows));
    assert_int_equal(rows, 2);
    ASSERT_OK(text_source_line(source, line, sizeof line, &end));
    assert_true(end);
    text_source_close(source);
    ASSERT_OK(text_source_open(put_text(state, "l.txt", "12345678\n"), 100, &source));
    ASSERT_STATUS(text_source_line(source, line, sizeof line, &end), WEFT_ERR_DATA);
    text_source_close(source);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),    cmocka_unit_test(test_reals_against_strtod),
        FOLDER_TEST(test_blocks_and_rows),  FOLDER_TEST(test_errors_name_the_line),
        FOLDER_TEST(test_compressed_files), FOLDER_TEST(test_lines_before_parsing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
