/*
 * The order of an epoch has every row once, whatever the number of rows, and rows that lie near each other are read
 * near each other; names of columns survive being one text; batches of any number of ranks have the same rows.
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clicks/data/click_names.h"
#include "clicks/data/click_order.h"
#include "clicks/data/click_source.h"

enum { ROWS = 700, TRAINED = 560, BATCH = 64, EPOCHS = 2, PASS = (TRAINED + BATCH - 1) / BATCH };

static void orders(void **state)
{
    (void)state;
    const int64_t sizes[] = {
        1, 2, 100, CLICK_BLOCK - 1, CLICK_BLOCK, CLICK_BLOCK + 1, 3 * CLICK_BLOCK * CLICK_WINDOW + 77};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        const int64_t n = sizes[k], span = CLICK_BLOCK * CLICK_WINDOW;
        uint8_t *met = calloc((size_t)n, 1);
        int64_t *blocks = calloc((size_t)(n / CLICK_BLOCK + 1), sizeof *blocks), moved = 0;
        click_order order = click_order_of(n, 5, 3), other = click_order_of(n, 5, 4);
        assert_non_null(met);
        assert_non_null(blocks);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t row = click_order_at(&order, i);
            assert_true(row >= 0 && row < n);
            assert_int_equal(met[row]++, 0);
            moved += row != click_order_at(&other, i);
            /* A block is read within one window, but for the short one at the end. */
            int64_t *seen = &blocks[row / CLICK_BLOCK];
            assert_true(*seen == 0 || *seen == i / span + 1 || row / CLICK_BLOCK == n / CLICK_BLOCK);
            *seen = i / span + 1;
        }
        assert_true(n < 100 || moved > n / 2);
        free(met);
        free(blocks);
    }
}

static void check_names(const char *const *fields, int count, const char *const *numbers, int others)
{
    name_list in[2] = {{0}, {0}}, out[2];
    char *text = NULL;
    ASSERT_OK(name_list_copy(fields, count, &in[0]));
    ASSERT_OK(name_list_copy(numbers, others, &in[1]));
    ASSERT_OK(click_names_join(&in[0], &in[1], &text));
    ASSERT_OK(click_names_parse("--flag", text, &out[0], &out[1]));
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(out[i].count, in[i].count);
        for (int64_t n = 0; n < in[i].count; ++n) {
            assert_string_equal(out[i].text[n], in[i].text[n]);
        }
        name_list_free(&in[i]);
        name_list_free(&out[i]);
    }
    weft_free(text);
}

static void names(void **state)
{
    (void)state;
    static const char *const plain[] = {"user", "item"}, *const odd[] = {"a,b", ";", "\\", "c\\;d,", "price \xC3\xA9"};
    static const char *const refused[] = {"a;b;c", "a\\", "a,\x01;b"};
    check_names(plain, 2, plain, 1);
    check_names(odd, 5, odd, 3);
    check_names(plain, 1, plain, 0);
    check_names(plain, 0, odd, 5);
    for (int i = 0; i < 3; ++i) {
        name_list fields, numbers;
        assert_int_equal(click_names_parse("--flag", refused[i], &fields, &numbers), WEFT_ERR_USAGE);
        name_list_free(&fields);
        name_list_free(&numbers);
    }
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* What all ranks saw, by place: of the epochs' rows, then of the evaluation's. */
typedef struct seen {
    uint64_t key[EPOCHS * ROWS + ROWS][2];
    float number[EPOCHS * ROWS + ROWS], label[EPOCHS * ROWS + ROWS];
    int64_t id[EPOCHS * ROWS + ROWS], count;
    click_scaling scaling;
} seen;

static seen *all;
static int64_t epoch_rows; /* of the sources that are walked */

static weft_status note(weft_comm *comm, const train_batch *batch)
{
    const click_batch *b = batch->input;
    int64_t before[8] = {0}, mine = b->bags.samples;
    WEFT_TRY(comm_allgather(comm, &mine, sizeof mine, before));
    int64_t at = all->count;
    for (int r = 0; r < comm_rank(comm); ++r) {
        at += before[r];
    }
    for (int64_t i = 0; i < mine; ++i) {
        memcpy(all->key[at + i], b->bags.key + 2 * i, sizeof all->key[0]);
        all->number[at + i] = b->number[i];
        all->label[at + i] = batch->targets->target_host[i];
        all->id[at + i] = b->sample_id[i];
    }
    WEFT_TRY(comm_barrier(comm));
    for (int r = 0; r < comm_size(comm) && comm_rank(comm) == 0; ++r) {
        all->count += before[r];
    }
    return comm_barrier(comm);
}

static weft_status walk(weft_comm *comm, void *path)
{
    click_rows rows = {0};
    click_scaling scaling = {.kind = CLICK_SCALING_LOG};
    click_source *source = NULL;
    weft_hal *hal = NULL;
    const char *const paths[] = {path};
    const click_rows_options options = {
        .request = {.target = "y", .index_base = -1}, .valid = 0.1, .test = 0.1, .positive = NAN};
    weft_status status = weft_hal_open("cpu", 1, &hal);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(click_rows_open(comm, paths, 1, &options, &rows), status, done);
    WEFT_TRY_GOTO(click_rows_measure(comm, &rows, &scaling), status, done);
    const click_source_options how = {
        .batch = BATCH, .epoch_rows = epoch_rows, .scaling = &scaling, .loaders = comm_size(comm) % 2, .threads = 1};
    WEFT_TRY_GOTO(click_source_create(comm, hal, &rows, &how, &source), status, done);
    const train_source *s = click_source_of(source);
    train_batch batch;
    for (int64_t b = 0; b < (int64_t)EPOCHS * PASS; ++b) { /* of all passes */
        const train_pass pass = {
            .training = true, .seed = 9, .epoch = (uint32_t)(b / s->steps) + 1, .step = b % s->steps, .parts = 1};
        WEFT_TRY_GOTO(s->batch(s->self, &pass, &batch), status, done);
        WEFT_TRY_GOTO(note(comm, &batch), status, done);
    }
    for (int64_t step = 0; step < s->eval_steps; ++step) {
        const train_pass pass = {.step = step, .parts = 1};
        WEFT_TRY_GOTO(s->batch(s->self, &pass, &batch), status, done);
        WEFT_TRY_GOTO(note(comm, &batch), status, done);
    }
done:
    click_source_destroy(source);
    input_moments_destroy(&scaling.moments);
    click_rows_close(&rows);
    weft_hal_close(hal);
    return status;
}

static void batches(void **state)
{
    (void)state;
    char path[] = "clicks-XXXXXX.csv";
    const int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    fputs("a,b,x,y\n", out);
    for (int i = 0; i < ROWS; ++i) {
        fprintf(out, "w%d,%s,%.3f,%d\n", i * 7 % 31, i % 5 == 0 ? "" : "v", i % 11 * 1.5 - 3.0, i % 3 == 0);
    }
    fclose(out);
    seen *first = NULL;
    for (int ranks = 1; ranks <= 5; ranks += ranks < 3 ? 1 : 2) {
        all = calloc(1, sizeof *all);
        assert_non_null(all);
        ASSERT_OK(comm_thread_run(ranks, walk, path));
        if (first == NULL) {
            first = all;
            assert_int_equal(all->count, EPOCHS * 560 + 140);
            uint8_t met[ROWS] = {0};
            for (int64_t i = 0; i < 560; ++i) {
                assert_int_equal(met[all->id[i]]++, 0);
                assert_true(all->label[i] == (float)(all->id[i] % 3 == 0));
            }
            for (int64_t i = EPOCHS * 560; i < all->count; ++i) {
                assert_int_equal(met[all->id[i]]++, 0);
            }
        } else {
            assert_memory_equal(all, first, sizeof *all);
            free(all);
        }
    }
    epoch_rows = 2 * BATCH + 1; /* three batches, which do not divide a pass */
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        all = calloc(1, sizeof *all);
        assert_non_null(all);
        ASSERT_OK(comm_thread_run(ranks, walk, path));
        assert_memory_equal(all, first, sizeof *all);
        free(all);
    }
    epoch_rows = 0;
    free(first);
    remove(path);
}

/* Rows that are made are the same stream for any number of ranks, and each trains or is evaluated by its number. */
static void made_batches(void **state)
{
    (void)state;
    char data[] = "synth:clicks,rows=700,fields=2,ids=50,numbers=1";
    seen *first = NULL;
    for (int ranks = 1; ranks <= 5; ranks += ranks < 3 ? 1 : 2) {
        all = calloc(1, sizeof *all);
        assert_non_null(all);
        ASSERT_OK(comm_thread_run(ranks, walk, data));
        if (first != NULL) {
            assert_memory_equal(all, first, sizeof *all);
            free(all);
            continue;
        }
        first = all;
        uint8_t met[ROWS] = {0};
        assert_int_equal(all->count, EPOCHS * 560 + 140);
        for (int64_t i = 0; i < all->count; ++i) {
            assert_true(i < EPOCHS * 560 ? all->id[i] < 560 : all->id[i] == 560 + i - EPOCHS * 560);
            met[all->id[i]] += 1;
            assert_true(all->label[i] == 0.0F || all->label[i] == 1.0F);
        }
        for (int i = 0; i < ROWS; ++i) {
            assert_int_equal(met[i], i < 560 ? EPOCHS : 1);
        }
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(names), cmocka_unit_test(batches),
                                       cmocka_unit_test(made_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
