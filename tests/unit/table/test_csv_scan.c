/* Kernels that find cells and rows, beside a loop over bytes. */
#include <string.h>

#include "base/isa.h"
#include "support/random.h"
#include "support/test.h"
#include "table/rows/csv_scan.h"

enum { BEFORE = 64, TEXT = 3000, TRIALS = 300 };

typedef struct kernels {
    csv_places_fn places;
    csv_count_fn count;
    hal_isa isa;
} kernels;

static const kernels of_isa[] = {{csv_places_base, csv_count_base, HAL_ISA_BASE},
                                 {csv_places_avx2, csv_count_avx2, HAL_ISA_AVX2},
                                 {csv_places_avx512, csv_count_avx512, HAL_ISA_AVX512}};

/* Text of few letters, so that every pair of special bytes occurs. */
static void make_text(uint64_t seed, char *text, size_t bytes)
{
    static const char letters[] = "a1,;\"\n\r\t\n,";
    for (size_t i = 0; i < bytes; i++) {
        text[i] = letters[test_random(&seed) % (sizeof letters - 1)];
    }
}

static size_t places_by_bytes(const csv_marks *marks, const char *text, size_t bytes, bool *inside, uint32_t *place)
{
    size_t found = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (marks->quote != '\0' && text[i] == marks->quote) {
            *inside = !*inside;
        } else if (!*inside && (text[i] == marks->separator || text[i] == '\n')) {
            place[found++] = (uint32_t)i;
        }
    }
    return found;
}

static int64_t rows_by_bytes(const csv_marks *marks, const char *text, size_t bytes, bool inside)
{
    int64_t rows = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (marks->quote != '\0' && text[i] == marks->quote) {
            inside = !inside;
        }
        const char *end = text + i;
        const bool blank = end[-1] == '\n' || (end[-1] == '\r' && end[-2] == '\n');
        rows += text[i] == '\n' && !inside && !blank;
    }
    return rows;
}

static void test_kernels(void **state)
{
    static char block[BEFORE + TEXT + CSV_STEP];
    static uint32_t place[CSV_SPAN + CSV_STEP], expected[TEXT];
    (void)state;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        const csv_marks marks = {.separator = ",;\t"[trial % 3], .quote = trial % 5 == 0 ? '\0' : '"'};
        const size_t bytes = trial < 150 ? trial : TEXT - trial;
        char *text = block + BEFORE;
        make_text(trial, block, sizeof block);
        for (size_t k = 0; k < sizeof of_isa / sizeof *of_isa; k++) {
            if (of_isa[k].isa > hal_isa_best()) {
                continue;
            }
            for (int begin = 0; begin < 2; begin++) {
                bool inside = begin == 1;
                uint64_t state_of = begin == 1 ? ~UINT64_C(0) : 0;
                const size_t count = places_by_bytes(&marks, text, bytes, &inside, expected);
                const csv_found found = of_isa[k].places(&marks, text, bytes, &state_of, place);
                size_t lines = 0;
                for (size_t i = 0; i < count; i++) {
                    lines += text[expected[i]] == '\n';
                }
                assert_int_equal(found.places, count);
                assert_int_equal(found.lines, lines);
                assert_memory_equal(place, expected, count * sizeof *place);
                assert_true(state_of == (inside ? ~UINT64_C(0) : 0));
            }
            const csv_count counted = of_isa[k].count(&marks, text, bytes);
            assert_int_equal(counted.rows[0], rows_by_bytes(&marks, text, bytes, false));
            assert_int_equal(counted.rows[1], marks.quote == '\0' ? 0 : rows_by_bytes(&marks, text, bytes, true));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
