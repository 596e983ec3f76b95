/*
 * Cells of several ids: how they are split, and what a table makes of them. A bag of one id has the key that the word
 * has in a column of single ids; batches of any number of ranks have the same ids and weights.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clicks/data/click_source.h"
#include "embed/embed_key.h"
#include "support/folder.h"

static void check_ids(const char *cell, const char *separator, const char *expected)
{
    char found[128] = "";
    for (const char *at = cell; at != NULL;) {
        size_t bytes = 0;
        const char *id = click_bag_next(&at, cell + strlen(cell), separator, &bytes);
        strncat(found, id, bytes);
        strcat(found, "/");
    }
    assert_string_equal(found, expected);
}

static void splits(void **state)
{
    (void)state;
    check_ids("a", "|", "a/");
    check_ids("a|b|a", "|", "a/b/a/");
    check_ids(" a |\tb c ", "|", "a/b c/");
    check_ids("|a||b|", "|", "/a//b//");
    check_ids("a, b,c", ", ", "a/b,c/");
    check_ids("a<>b<c<>", "<>", "a/b<c//");
    check_ids("a  b", " ", "a//b/");
    check_ids("", "|", "/");
}

static void check_cells(const char *const *text, int count, const char *separator, click_bag_cells *cells)
{
    table_words *column = NULL;
    ASSERT_OK(words_create(1, &column));
    for (int i = 0; i < count; ++i) {
        int32_t code = 0;
        ASSERT_OK(words_add(column, 0, text[i], strlen(text[i]), &code));
    }
    ASSERT_OK(click_bag_split(column, separator, cells));
    assert_int_equal(cells->cells, count);
    words_free(column);
}

static void notes_what_is_odd(void **state)
{
    (void)state;
    const char *const plain[] = {"a|b", "b", "c|a|a|a"}, *const odd[] = {"x", "[1, 2]", "y||z", "z|"};
    click_bag_cells c;
    check_cells(plain, 3, "|", &c);
    const int64_t at[] = {0, 2, 3, 7};
    const int32_t word[] = {0, 1, 1, 2, 0, 0, 0};
    assert_memory_equal(c.at, at, sizeof at);
    assert_memory_equal(c.word, word, sizeof word);
    assert_int_equal(words_count(c.words), 3);
    assert_true(c.longest == 4 && c.joined == 2 && c.gap == -1 && c.gaps == 0 && c.printed == -1 && c.too_long == -1);
    click_bag_free(&c);
    check_cells(odd, 4, "|", &c);
    assert_true(c.joined == 2 && c.gap == 2 && c.gaps == 2 && c.printed == 1);
    click_bag_free(&c);
    check_cells(odd, 4, " ", &c); /* several blanks are one separator */
    assert_true(c.joined == 1 && c.gaps == 0);
    click_bag_free(&c);
    char *longest = test_calloc(1, 2 * CLICK_BAG_MOST + 4);
    for (int i = 0; i < CLICK_BAG_MOST; ++i) {
        longest[2 * i] = 'a';
        longest[2 * i + 1] = '|';
    }
    const char *const cells[] = {"b", longest};
    check_cells(cells, 2, "|", &c);
    assert_true(c.too_long == -1 && c.longest == CLICK_BAG_MOST);
    click_bag_free(&c);
    strcat(longest, "a");
    check_cells(cells, 2, "|", &c);
    assert_int_equal(c.too_long, 1);
    click_bag_free(&c);
    test_free(longest);
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 300, BATCH = 32, MOST = ROWS * 6 };

/* What all ranks have of the batches of an epoch, by place. */
typedef struct seen {
    const char *path;
    click_pooling pooling;
    int64_t count, ids;
    int64_t size[ROWS][2];
    uint64_t key[MOST];
    float weight[MOST];
} seen;

static weft_status note(weft_comm *comm, const click_batch *b, seen *s)
{
    int64_t before[8] = {0}, ids[8] = {0}, mine = b->bags.samples;
    int64_t own = mine > 0 ? b->bags.at[mine * b->bags.fields] : 0;
    WEFT_TRY(comm_allgather(comm, &mine, sizeof mine, before));
    WEFT_TRY(comm_allgather(comm, &own, sizeof own, ids));
    int64_t at = s->count, id = s->ids;
    for (int r = 0; r < comm_rank(comm); ++r) {
        at += before[r];
        id += ids[r];
    }
    for (int64_t i = 0; i < b->bags.fields * mine; ++i) {
        s->size[at + i / b->bags.fields][i % b->bags.fields] = b->bags.at[i + 1] - b->bags.at[i];
    }
    for (int64_t i = 0; i < own; ++i) {
        s->key[id + i] = b->bags.key[i];
        s->weight[id + i] = b->bags.weight == NULL ? 1.0F : b->bags.weight[i];
    }
    WEFT_TRY(comm_barrier(comm));
    for (int r = 0; r < comm_size(comm) && comm_rank(comm) == 0; ++r) {
        s->count += before[r];
        s->ids += ids[r];
    }
    return comm_barrier(comm);
}

static weft_status walk(weft_comm *comm, void *argument)
{
    seen *s = argument;
    static char tags[] = "tags", *list[] = {tags};
    const name_list bags = {.text = list, .count = 1};
    click_rows rows = {0};
    click_scaling scaling = {.kind = CLICK_SCALING_STANDARD};
    click_source *source = NULL;
    weft_hal *hal = NULL;
    const bool pairs = strstr(s->path, ".svm") != NULL;
    const click_rows_options options = {.request = {.target = pairs ? NULL : "y",
                                                    .category = pairs ? NULL : "tags,one",
                                                    .format = pairs ? "libsvm" : "csv",
                                                    .sparse = TABLE_SPARSE_AUTO,
                                                    .index_base = -1,
                                                    .keeps_given = true},
                                        .positive = NAN,
                                        .bags = pairs ? NULL : &bags,
                                        .separator = ";",
                                        .pooling = s->pooling};
    weft_status status = weft_hal_open("cpu", 1, &hal);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(click_rows_open(comm, &s->path, 1, &options, &rows), status, done);
    WEFT_TRY_GOTO(click_rows_measure(comm, &rows, &scaling), status, done);
    const click_source_options how = {
        .batch = BATCH, .scaling = &scaling, .loaders = comm_size(comm) % 2, .threads = 1};
    WEFT_TRY_GOTO(click_source_create(comm, hal, &rows, &how, &source), status, done);
    const train_source *batches = click_source_of(source);
    train_batch batch;
    for (int64_t step = 0; step < batches->steps; ++step) {
        const train_pass pass = {.training = true, .seed = 9, .epoch = 1, .step = step, .parts = 1};
        WEFT_TRY_GOTO(batches->batch(batches->self, &pass, &batch), status, done);
        WEFT_TRY_GOTO(note(comm, batch.input, s), status, done);
    }
done:
    click_source_destroy(source);
    input_moments_destroy(&scaling.moments);
    click_rows_close(&rows);
    weft_hal_close(hal);
    return status;
}

static seen *seen_on(int ranks, const char *path, click_pooling pooling)
{
    seen *s = test_calloc(1, sizeof *s);
    s->path = path;
    s->pooling = pooling;
    ASSERT_OK(comm_thread_run(ranks, walk, s));
    return s;
}

/* Row i has i % 5 ids in `tags`, where 4 is a pair named twice, and the first of them in `one`. */
static void write_table(const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("tags,one,y\n", out);
    for (int i = 0; i < ROWS; ++i) {
        const int id = i * 7 % 31;
        for (int k = 0; k < i % 5; ++k) {
            fprintf(out, "%s%d", k > 0 ? ";" : "", id + k % 2);
        }
        fprintf(out, ",%d,%d\n", id, i % 3 == 0);
    }
    fclose(out);
}

static void batches_of_bags(void **state)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/bags.csv", (const char *)*state);
    write_table(path);
    for (int pooling = 0; pooling < 2; ++pooling) {
        seen *one = seen_on(1, path, (click_pooling)pooling);
        assert_int_equal(one->count, ROWS);
        assert_int_equal(one->ids, ROWS / 5 * (0 + 1 + 2 + 3 + 4) + ROWS);
        for (int64_t i = 0, id = 0; i < ROWS; ++i) {
            const int64_t tags = one->size[i][0];
            assert_int_equal(one->size[i][1], 1);
            for (int64_t k = 0; k < tags; ++k) {
                assert_float_equal(one->weight[id + k], pooling == 0 ? 1.0 : 1.0 / (double)tags, 1e-7);
                assert_true(one->key[id + k] == one->key[id + k % 2]);
            }
            assert_float_equal(one->weight[id + tags], 1, 0);
            if (tags > 0) { /* the same word, in another field */
                assert_true((one->key[id + tags] ^ UINT64_C(1) << EMBED_ID_BITS) == one->key[id]);
            }
            id += tags + 1;
        }
        for (int ranks = 2; ranks <= 5; ++ranks) {
            seen *many = seen_on(ranks, path, (click_pooling)pooling);
            assert_memory_equal(many, one, sizeof *one);
            test_free(many);
        }
        test_free(one);
    }
}

/* Pairs INDEX:VALUE: the same index is the same id whether a file begins with 0 or 1, and weights are values. */
static void batches_of_pairs(void **state)
{
    char path[2][512];
    seen *s[2];
    for (int base = 0; base < 2; ++base) {
        (void)snprintf(path[base], sizeof path[base], "%s/base%d.svm", (const char *)*state, base);
        FILE *out = fopen(path[base], "w");
        assert_non_null(out);
        for (int i = 0; i < ROWS; ++i) {
            fprintf(out, "%d%s", i % 3 == 0, i == 7 && base == 0 ? " 0:1" : "");
            for (int k = 0; k < i % 4; ++k) {
                fprintf(out, " %d:%g", 1 + i % 5 + 3 * k, 0.5 * (i % 5 + k));
            }
            fputs("\n", out);
        }
        fclose(out);
        s[base] = seen_on(base + 1, path[base], CLICK_POOLING_SUM);
        assert_int_equal(s[base]->ids, ROWS / 4 * 6 + (base == 0));
    }
    uint64_t key_of[16] = {0};
    for (int64_t a = 0, b = 0; b < s[1]->ids; ++a, ++b) {
        a += s[0]->key[a] != s[1]->key[b]; /* index 0 */
        assert_true(s[0]->key[a] == s[1]->key[b] && s[0]->weight[a] == s[1]->weight[b]);
        const int value = (int)(2 * s[1]->weight[b]);
        assert_true(value >= 0 && value < 7);
        key_of[value] = s[1]->key[b];
    }
    assert_true(key_of[0] != key_of[6] && embed_key_field(key_of[6]) == 0);
    test_free(s[0]);
    test_free(s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),
        cmocka_unit_test(notes_what_is_odd),
        cmocka_unit_test_setup_teardown(batches_of_bags, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(batches_of_pairs, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
