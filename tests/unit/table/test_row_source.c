/* Rows of text in segments of a few bytes, on several threads and in several ranges, beside a loop over the whole
 * text.
 * trees: release asan */
#include <omp.h>

#include "base/log.h"
#include "io/text/text_out.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/row_sum.h"
#include "support/test.h"

enum { TEXT = 2000, TRIALS = TEST_SANITIZED || TEST_RACES ? 40 : 200 };

/* Rows by a loop: what ends outside quotes, and is not empty but for '\r'. */
static void rows_by_bytes(const char *text, size_t bytes, char quote, int64_t *rows, uint64_t *sum)
{
    size_t begin = 0;
    bool inside = false;
    *rows = 0;
    *sum = 0;
    for (size_t i = 0; i <= bytes; i++) {
        inside = inside != (i < bytes && quote != '\0' && text[i] == quote);
        const bool line = i < bytes && text[i] == '\n' && !inside;
        if (line || i == bytes) {
            size_t end = i;
            end -= end > begin && text[end - 1] == '\r' && (line || inside == false);
            if (end > begin) {
                *sum += file_checksum(text + begin, end - begin, (uint64_t)*rows);
                *rows += 1;
            }
            begin = i + 1;
        }
    }
}

/* Few letters, so that quotes, ends of lines and empty lines meet borders of segments in every way; all quotes
 * closed. */
static size_t make_text(uint64_t seed, char *text)
{
    static const char letters[] = "ab,\"\n\r\n\n";
    size_t bytes = 1 + test_random(&seed) % TEXT;
    int quotes = 0;
    for (size_t i = 0; i < bytes; i++) {
        text[i] = letters[test_random(&seed) % (sizeof letters - 1)];
        quotes += text[i] == '"';
    }
    if (quotes % 2 == 1) {
        text[bytes++] = '"';
    }
    text[bytes++] = '\n';
    return bytes;
}

static void put_packed(const char *path, const char *text, size_t bytes)
{
    text_out *out;
    ASSERT_OK(text_out_open(path, &out));
    for (size_t i = 0; i < bytes; i++) {
        text_out_char(out, text[i]);
    }
    ASSERT_OK(text_out_commit(out));
}

static void test_segments(void **state)
{
    static const int64_t segments[] = {16, 17, 64, 1000, 1 << 20};
    char text[TEXT + 2];
    const char *path = in_folder(state, "rows.csv"), *packed = in_folder(state, "rows.csv.gz");
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        const char quote = trial % 4 == 0 ? '\0' : '"';
        const size_t bytes = make_text(trial, text);
        int64_t rows, expected_rows;
        uint64_t sum, expected_sum;
        rows_by_bytes(text, bytes, quote, &expected_rows, &expected_sum);
        put_file(path, text, bytes);
        put_packed(packed, text, bytes);
        omp_set_num_threads(1 + (int)(trial % 3));
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            const int parts = 1 + (int)((trial + s) % 4);
            ASSERT_OK(row_sum_read(path, quote, segments[s], parts, &rows, &sum));
            assert_int_equal(rows, expected_rows);
            assert_true(sum == expected_sum);
            ASSERT_OK(row_sum_read(packed, quote, segments[s], parts, &rows, &sum));
            assert_int_equal(rows, expected_rows);
            assert_true(sum == expected_sum);
        }
    }
}

static void test_too_many_rows(void **state)
{
    const char *path = in_folder(state, "many.csv");
    const int64_t begin = 0;
    row_layout layout = {.marks = {.separator = ','}, .begin = &begin, .rows_most = 4};
    row_source *source;
    put_file(path, "1\n2\n3\n4\n5\n", 10);
    ASSERT_OK(row_source_open(&path, 1, &layout, &source));
    ASSERT_STATUS(row_source_count(source, NULL), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("many.csv: 5 rows by the end of this file; at most 4 are read");
    row_source_close(source);
    layout.rows_most = 5;
    ASSERT_OK(row_source_open(&path, 1, &layout, &source));
    ASSERT_OK(row_source_count(source, NULL));
    assert_int_equal(row_source_rows(source), 5);
    row_source_close(source);
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_segments, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_too_many_rows, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
