/* app/predict/answer_table.c on answers of three rows: the likeliest classes in order, ties, and a row that is no
 * number. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/predict/answer_table.h"
#include "io/npy.h"
#include "support/test.h"

enum { ROWS = 3, CLASSES = 4 };

static void test_order(void **state)
{
    (void)state;
    static const float answers[ROWS][CLASSES] = {
        {0.1F, 0.5F, 0.1F, 0.3F}, {0.25F, 0.25F, 0.25F, 0.25F}, {NAN, NAN, NAN, NAN}};
    static const int64_t wanted[ROWS][CLASSES] = {{1, 3, 0, 2}, {0, 1, 2, 3}, {0, 1, 2, 3}};
    static const int64_t shape[] = {ROWS, CLASSES};
    static const char *const files[] = {"a.png", "b.png", "c.png"};
    char folder[] = "/tmp/weft-answers-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/probabilities.npy", folder);
    ASSERT_OK(npy_write(path, 'f', sizeof(float), 2, shape, answers));
    for (int top = 1; top <= CLASSES + 1; ++top) {
        answer_table *table = calloc(1, sizeof *table);
        assert_non_null(table);
        const answer_table_desc desc = {.model = "m",
                                        .data = "d",
                                        .kind = "images",
                                        .title = "file",
                                        .probabilities = path,
                                        .row_name = files,
                                        .top = top};
        ASSERT_OK(answer_table_make(&desc, table));
        const int places = top < CLASSES ? top : CLASSES;
        assert_int_equal(table->lines.rows, ROWS);
        assert_int_equal(table->lines.columns, 1 + 2 * places);
        for (int row = 0; row < ROWS; ++row) {
            const table_cell *cell = table->lines.cell + (ptrdiff_t)row * table->lines.columns;
            assert_string_equal(cell[0].text, files[row]);
            for (int place = 0; place < places; ++place) {
                assert_int_equal(cell[1 + 2 * place].integer, wanted[row][place]);
                const double here = cell[2 + 2 * place].real;
                const double there = (double)answers[row][wanted[row][place]];
                assert_true(here == there || (isnan(here) && isnan(there)));
            }
        }
        answer_table_destroy(table);
        free(table);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
