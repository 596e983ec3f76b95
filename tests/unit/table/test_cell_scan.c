/* Kernels that read cells, beside strtod of the C library and a loop over bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "support/random.h"
#include "support/test.h"
#include "table/column/cell_scan.h"
#include "table/column/decimal.h"

enum { CELLS = 61, BYTES_MOST = 22, TRIALS = TEST_SANITIZED || TEST_RACES ? 300 : 4000 };

typedef struct cell_text {
    char block[DECIMAL_PAD + CELLS * (BYTES_MOST + 2)];
    uint32_t place[1 + CELLS];
} cell_text;

/* Cells that are numbers, nearly numbers, words and nothing. */
static size_t make_cell(uint64_t *seed, char *text, char point)
{
    static const char letters[] = "0123456789.,-+e ax\"\t\r\xc3";
    const size_t bytes = test_random(seed) % (BYTES_MOST - 1);
    const bool digits = test_random(seed) % 4 != 0;
    for (size_t i = 0; i < bytes; i++) {
        text[i] = digits ? (char)('0' + test_random(seed) % 10) : letters[test_random(seed) % (sizeof letters - 1)];
    }
    if (digits && bytes > 0 && test_random(seed) % 2 == 0) {
        text[test_random(seed) % bytes] = point;
    }
    if (digits && bytes > 0 && test_random(seed) % 3 == 0) {
        text[0] = '-';
    }
    return bytes;
}

static void make_cells(uint64_t seed, char point, cell_text *t)
{
    memset(t->block, '7', sizeof t->block); /* what stands around is no part of a cell */
    char *text = t->block + DECIMAL_PAD;
    size_t at = 0;
    t->place[0] = UINT32_MAX;
    for (int i = 1; i <= CELLS; i++) {
        at += make_cell(&seed, text + at, point);
        const bool line = test_random(&seed) % 5 == 0;
        if (line && test_random(&seed) % 2 == 0) {
            text[at++] = '\r';
        }
        t->place[i] = (uint32_t)at;
        text[at++] = line ? '\n' : ';';
    }
}

/* Judges a cell by strtod and by its bytes. A short number has at most 15 digits; what is none is not a number. */
static unsigned judge(const char *begin, const char *end, const cell_marks *marks, double *number)
{
    const bool last = *end == '\n', ret = last && end > begin && end[-1] == '\r';
    const size_t bytes = (size_t)(end - begin) - ret;
    char copy[BYTES_MOST + 2] = "", *stop;
    bool bare = bytes > 0 && bytes <= CELL_SHORT, plain = bare;
    int digits = 0, points = 0;
    for (size_t i = 0; i < bytes; i++) {
        const char c = begin[i];
        copy[i] = (char)(c == marks->point ? '.' : c == '.' ? 'x' : c);
        bare = bare && (uint8_t)c > ' ' && c != marks->quote;
        digits += c >= '0' && c <= '9';
        points += c == marks->point;
        plain = plain && ((c >= '0' && c <= '9') || c == marks->point || (c == '-' && i == 0));
    }
    *number = strtod(copy, &stop);
    const bool is_number = plain && digits > 0 && digits < 16 && points < 2 && *stop == '\0';
    *number = is_number ? *number : NAN;
    return (is_number ? CELL_NUMBER : 0U) | (is_number && points == 0 ? CELL_WHOLE : 0U) | (bare ? CELL_BARE : 0U) |
           (bytes == 0 ? CELL_EMPTY | CELL_NUMBER | CELL_WHOLE | CELL_BARE : 0U) | (last ? CELL_LAST : 0U) |
           (ret ? CELL_RETURN : 0U);
}

static void check_cells(cell_scan_fn scan, const cell_marks *marks, const cell_text *t)
{
    enum { ROOM = (CELLS + CELL_GROUP - 1) / CELL_GROUP * CELL_GROUP };
    const char *text = t->block + DECIMAL_PAD;
    double value[ROOM], expected;
    uint8_t found[ROOM];
    scan(marks, text, t->place + 1, CELLS, value, found);
    for (size_t i = 0; i < CELLS; i++) {
        const char *begin = cell_begin(text, t->place + 1, i);
        const unsigned bits = judge(begin, text + t->place[i + 1], marks, &expected);
        assert_int_equal(found[i], bits);
        assert_true(isnan(expected) ? isnan(value[i]) : value[i] == expected);
        assert_true(isnan(expected) || signbit(value[i]) == signbit(expected));
        assert_ptr_equal(cell_end(text, t->place + 1, i, found[i]),
                         text + t->place[i + 1] - ((bits & CELL_RETURN) != 0));
    }
}

static void test_kernels(void **state)
{
    static cell_text t;
    (void)state;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        const cell_marks marks = {.point = trial % 3 == 0 ? ',' : '.', .quote = trial % 4 == 0 ? '\0' : '"'};
        make_cells(trial, marks.point, &t);
        check_cells(cell_scan_base, &marks, &t);
        if (hal_isa_best() >= HAL_ISA_AVX2) {
            check_cells(cell_scan_avx2, &marks, &t);
        }
        if (hal_isa_best() >= HAL_ISA_AVX512) {
            check_cells(cell_scan_avx512, &marks, &t);
        }
    }
}

/* A cell may begin before the text that places count from. */
static void test_cell_before_the_text(void **state)
{
    static const char block[] = "................12345,678\n";
    const uint32_t place[3] = {(uint32_t)-4, 2, 6};
    const cell_marks marks = {.point = '.', .quote = '"'};
    const cell_scan_fn scan[2] = {cell_scan_base, cell_scan_best()};
    (void)state;
    for (int k = 0; k < 2; k++) {
        double value[CELL_GROUP];
        uint8_t found[CELL_GROUP];
        scan[k](&marks, block + 19, place + 1, 2, value, found);
        assert_true(value[0] == 12345 && value[1] == 678);
        assert_int_equal(found[0], CELL_NUMBER | CELL_WHOLE | CELL_BARE);
        assert_int_equal(found[1], CELL_NUMBER | CELL_WHOLE | CELL_BARE | CELL_LAST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_cell_before_the_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
