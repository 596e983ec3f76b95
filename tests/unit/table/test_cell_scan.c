/* Kernels that read cells, beside strtod of the C library and a loop over bytes.
 * trees: release asan */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "support/random.h"
#include "support/test.h"
#include "table/column/cell_scan.h"
#include "table/column/decimal.h"

enum { CELLS = 61, BYTES_MOST = 22, TRIALS = TEST_SANITIZED || TEST_RACES ? 300 : 4000 };
enum { CELLS_ROOM = (CELLS + CELL_GROUP - 1) / CELL_GROUP * CELL_GROUP };

typedef struct cell_text {
    char block[DECIMAL_PAD + CELLS * (BYTES_MOST + 4)];
    int32_t before[CELLS_ROOM], end[CELLS_ROOM];
} cell_text;

/* Cells that are numbers, nearly numbers, words and nothing. */
static size_t make_cell(uint64_t *seed, char *text, char point)
{
    static const char letters[] = "0123456789.,-+e ax\"\t\r\xc3\xff:/";
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
    memset(t->end, 0, sizeof t->end);
    char *text = t->block + DECIMAL_PAD;
    int32_t at = 0;
    for (int i = 0; i < CELLS; i++) {
        t->before[i] = at - 1;
        at += (int32_t)make_cell(&seed, text + at, point);
        t->end[i] = at;
        text[at++] = test_random(&seed) % 5 == 0 ? '\n' : ';';
        at += (int32_t)(test_random(&seed) % 3); /* other cells may stand between */
    }
}

/* Judges a cell by strtod and by its bytes. A short number has at most 15 digits; what is none is not a number. */
static unsigned judge(const char *begin, const char *end, const cell_marks *marks, double *number)
{
    const size_t bytes = (size_t)(end - begin);
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
           (bytes == 0 ? CELL_EMPTY | CELL_NUMBER | CELL_WHOLE | CELL_BARE : 0U);
}

static void check_cells(cell_scan_fn scan, const cell_marks *marks, const cell_text *t)
{
    const char *text = t->block + DECIMAL_PAD;
    double value[CELLS_ROOM], expected;
    uint8_t found[CELLS_ROOM];
    scan(marks, text, t->before, t->end, CELLS, value, found);
    for (size_t i = 0; i < CELLS; i++) {
        const unsigned bits = judge(text + t->before[i] + 1, text + t->end[i], marks, &expected);
        assert_int_equal(found[i], bits);
        assert_true(isnan(expected) ? isnan(value[i]) : value[i] == expected);
        assert_true(isnan(expected) || signbit(value[i]) == signbit(expected));
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
    const int32_t before[CELL_GROUP] = {-4, 2}, end[CELL_GROUP] = {2, 6};
    const cell_marks marks = {.point = '.', .quote = '"'};
    const cell_scan_fn scan[2] = {cell_scan_base, cell_scan_best()};
    (void)state;
    for (int k = 0; k < 2; k++) {
        double value[CELL_GROUP];
        uint8_t found[CELL_GROUP];
        scan[k](&marks, block + 19, before, end, 2, value, found);
        assert_true(value[0] == 12345 && value[1] == 678);
        assert_int_equal(found[0], CELL_NUMBER | CELL_WHOLE | CELL_BARE);
        assert_int_equal(found[1], CELL_NUMBER | CELL_WHOLE | CELL_BARE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_cell_before_the_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
