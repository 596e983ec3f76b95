/* Blocks of cells, beside the same cells put one by one: values, tallies, and the cells that are left.
 * trees: release asan */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "table/column/sink.h"

enum {
    ROWS_MOST = 21,
    COLUMNS_MOST = 90,
    CELLS_MOST = ROWS_MOST * COLUMNS_MOST,
    BYTES_MOST = 24,
    TRIALS = TEST_SANITIZED || TEST_RACES ? 40 : 400
};

/* Columns in turn are of these kinds; the last is dropped. */
static const table_kind kinds[] = {TABLE_REAL,     TABLE_INTEGER, TABLE_LONG, TABLE_REAL,
                                   TABLE_CATEGORY, TABLE_ID,      TABLE_REAL, TABLE_UNSEEN};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct cells {
    char block[DECIMAL_PAD + CELLS_MOST * (BYTES_MOST + 1) + DECIMAL_PAD];
    int32_t place[1 + CELLS_MOST + CELL_GROUP];
    double value[CELLS_MOST + CELL_GROUP];
    uint8_t found[CELLS_MOST + CELL_GROUP + SINK_AHEAD];
    int64_t rows, columns;
} cells;

/* Numbers mostly, as columns have them; also fractions, wide and long numbers, words for "no value" and nothing. */
static size_t make_cell(uint64_t *seed, bool word, char *text)
{
    static const char *const others[] = {
        "",   "NA",  "1.5",        "3000000000",        "-2147483648", "2147483648", "1234567890123456789",
        "-0", "1e3", "2147483647", "123456789012345.5", "+7"};
    const uint64_t choice = test_random(seed) % 40;
    const char *other = choice < sizeof others / sizeof *others ? others[choice] : NULL;
    return (size_t)(other != NULL ? snprintf(text, BYTES_MOST, "%s", other)
                    : word        ? snprintf(text, BYTES_MOST, "w%d", (int)(test_random(seed) % 30))
                                  : snprintf(text, BYTES_MOST, "%d", (int)(test_random(seed) % 2000) - 1000));
}

static void make_cells(uint64_t seed, cells *c)
{
    char *text = c->block + DECIMAL_PAD;
    int32_t at = 0;
    c->rows = 1 + (int64_t)(test_random(&seed) % ROWS_MOST);
    c->columns = 1 + (int64_t)(test_random(&seed) % COLUMNS_MOST);
    memset(c->block, '7', sizeof c->block);
    memset(c->found, 255, sizeof c->found);
    c->place[0] = -1;
    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        const table_kind kind = kinds[i % c->columns % KINDS];
        at += (int32_t)make_cell(&seed, kind == TABLE_CATEGORY || kind == TABLE_ID, text + at);
        c->place[1 + i] = at;
        text[at++] = (i + 1) % c->columns == 0 ? '\n' : ',';
    }
}

typedef struct target {
    table_schema schema;
    table_sink sink;
    void *value[COLUMNS_MOST];
    uint64_t values[COLUMNS_MOST][1 + ROWS_MOST + 1]; /* a row before the block and one behind it stay as they are */
} target;

static void open_target(const cells *c, target *t)
{
    ASSERT_OK(schema_create(c->columns, &t->schema));
    memset(t->values, 0x5a, sizeof t->values);
    for (int64_t j = 0; j < c->columns; j++) {
        table_field *f = &t->schema.field[j];
        char name[16];
        const int bytes = snprintf(name, sizeof name, "c%d", (int)j);
        ASSERT_OK(schema_name(&t->schema, j, name, (size_t)bytes));
        f->kind = kinds[j % KINDS];
        f->role = f->kind == TABLE_UNSEEN ? TABLE_DROPPED : TABLE_FEATURE;
        t->value[j] = j % 5 == 4 ? NULL : t->values[j]; /* some columns want facts alone */
    }
    ASSERT_OK(sink_create(&t->schema, NULL, '.', 1, 10, c->rows + 2, t->value, &t->sink));
}

static void close_target(target *t)
{
    sink_free(&t->sink);
    schema_free(&t->schema);
}

static void put_one(const cells *c, table_sink *sink, int64_t i)
{
    const char *text = c->block + DECIMAL_PAD;
    const char *begin = text + c->place[i] + 1;
    const sink_cell cell = {.text = begin, .bytes = (size_t)(text + c->place[1 + i] - begin)};
    ASSERT_OK(sink_put(sink, 0, 11 + i / c->columns, i % c->columns, &cell));
}

static void put_all(const cells *c, target *t)
{
    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        put_one(c, &t->sink, i);
    }
}

static void put_block(cells *c, cell_scan_fn scan, target *t)
{
    const cell_marks marks = {.point = '.', .quote = '"'};
    const size_t count = (size_t)(c->rows * c->columns);
    int64_t left, marked = 0;
    scan(&marks, c->block + DECIMAL_PAD, c->place, c->place + 1, count, c->value, c->found);
    const sink_block block = {.text = c->block + DECIMAL_PAD,
                              .before = c->place,
                              .end = c->place + 1,
                              .value = c->value,
                              .found = c->found,
                              .row = 11,
                              .rows = c->rows,
                              .columns = c->columns};
    ASSERT_OK(sink_put_block(&t->sink, 0, &block, &left));
    for (size_t i = 0; i < count; i++) {
        if ((c->found[i] & CELL_LEFT) != 0) {
            put_one(c, &t->sink, (int64_t)i);
            marked++;
        }
    }
    assert_int_equal(marked, left);
}

/* Codes in the order of words: before, they are in the order in which words came. */
static void sort_codes(const cells *c, target *t)
{
    for (int64_t j = 0; j < c->columns; j++) {
        int32_t *order = NULL, *code = (int32_t *)(void *)t->values[j] + 1;
        if (t->schema.field[j].words != NULL) {
            ASSERT_OK(words_sort(t->schema.field[j].words, &order));
        }
        for (int64_t i = 0; order != NULL && t->value[j] != NULL && i < c->rows; i++) {
            code[i] = code[i] < 0 ? code[i] : order[code[i]];
        }
        weft_free(order);
    }
}

static void check_same(const cells *c, const target *a, const target *b)
{
    for (int64_t j = 0; j < c->columns; j++) {
        const table_tally *left = &a->sink.tally[j], *right = &b->sink.tally[j];
        assert_int_equal(left->missing, right->missing);
        assert_true(left->least == right->least && left->most == right->most);
        assert_true(left->fraction == right->fraction && left->word == right->word);
        assert_true(left->wide == right->wide || kinds[j % KINDS] == TABLE_LONG);
        /* A column that turns out to be of another kind is read again. */
        if (!left->fraction && !(left->wide && kinds[j % KINDS] == TABLE_INTEGER)) {
            assert_memory_equal(a->values[j], b->values[j], sizeof a->values[j]);
        }
    }
}

static void test_block(void **state)
{
    static cells c;
    static target one_by_one, together;
    const cell_scan_fn scan[2] = {cell_scan_base, cell_scan_best()};
    (void)state;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        make_cells(trial, &c);
        open_target(&c, &one_by_one);
        put_all(&c, &one_by_one);
        open_target(&c, &together);
        put_block(&c, scan[trial % 2], &together);
        sort_codes(&c, &one_by_one);
        sort_codes(&c, &together);
        check_same(&c, &one_by_one, &together);
        close_target(&together);
        close_target(&one_by_one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
