/* Shards of rows: read by another number of owners, row by row; damaged, cut short, foreign and mixed ones refused. */
#include <math.h>

#include "embed/rows/row_shard.h"
#include "support/folder.h"
#include "support/random.h"

enum { KEYS = 11500, OWNERS_MOST = 5, STRIDE = 5, STEPS = 12 };

static uint64_t key[KEYS];

static embed_desc desc_of(embed_number number)
{
    return (embed_desc){.fields = 1,
                        .width = STRIDE - 1,
                        .linear = true,
                        .number = number,
                        .rule = EMBED_LAZY_ADAM,
                        .spread = 0.1,
                        .seed = 5,
                        .admit_after = 2,
                        .expire_after = 8};
}

typedef struct share {
    uint64_t owners, owner;
} share;

static bool is_mine(uint64_t k, const void *context)
{
    const share *s = context;
    return k / 7 % s->owners == s->owner;
}

/* Keys of [first, last) that a rank owns, into mine and at (their places in `key`). */
static int64_t owned(const share *s, int first, int last, uint64_t *mine, int *at)
{
    int64_t n = 0;
    for (int i = first; i < last; ++i) {
        if (is_mine(key[i], s)) {
            at[n] = i;
            mine[n++] = key[i];
        }
    }
    return n;
}

/* Batches `begin` to `end`: a window over the keys moves, so that some leave and some have too few sightings. */
static void train(row_store **store, int owners, int begin, int end)
{
    static uint64_t mine[KEYS];
    static int32_t times[KEYS];
    static int64_t row[KEYS];
    static float gradient[KEYS * STRIDE];
    static int at[KEYS];
    for (int step = begin; step < end; ++step) {
        for (int owner = 0; owner < owners; ++owner) {
            const share s = {.owners = (uint64_t)owners, .owner = (uint64_t)owner};
            const int64_t n = owned(&s, step * 500, step * 500 + 3000, mine, at);
            for (int64_t i = 0; i < n; ++i) {
                times[i] = 1;
                for (int j = 0; j < STRIDE; ++j) {
                    gradient[i * STRIDE + j] = (float)((at[i] * 31 + j * 7 + step) % 17) - 8.0F;
                }
            }
            ASSERT_OK(row_store_touch(store[owner], mine, times, n, true, row));
            row_store_update(store[owner], row, n, gradient, STRIDE, 0.01);
            if (step % 4 == 3) {
                (void)row_store_expire(store[owner]);
            }
        }
    }
}

/* Numbers of all keys, zeros where there is no row. */
static void look(row_store **store, int owners, float *value)
{
    static uint64_t mine[KEYS];
    static int64_t row[KEYS];
    static float part[KEYS * STRIDE];
    static int at[KEYS];
    for (int owner = 0; owner < owners; ++owner) {
        const share s = {.owners = (uint64_t)owners, .owner = (uint64_t)owner};
        const int64_t n = owned(&s, 0, KEYS, mine, at);
        ASSERT_OK(row_store_touch(store[owner], mine, NULL, n, false, row));
        row_store_read(store[owner], row, n, part, STRIDE);
        for (int64_t i = 0; i < n; ++i) {
            memcpy(value + at[i] * STRIDE, part + i * STRIDE, STRIDE * sizeof *part);
        }
    }
}

static void open_all(row_store **store, int owners, embed_number number)
{
    const embed_desc desc = desc_of(number);
    for (int i = 0; i < owners; ++i) {
        ASSERT_OK(row_store_open(&desc, &store[i]));
    }
}

static void close_all(row_store **store, int owners)
{
    for (int i = 0; i < owners; ++i) {
        row_store_close(store[i]);
    }
}

static const char *shard_path(void **state, int owner)
{
    char name[32];
    snprintf(name, sizeof name, "part-%d.rows", owner);
    return in_folder(state, name);
}

/* After STEPS batches on `from` owners, the same number on `to`: as if one had done all. */
static void check_owners(void **state, int from, int to, embed_number number)
{
    static float expected[KEYS * STRIDE], value[KEYS * STRIDE];
    row_store *one[1], *store[OWNERS_MOST], *next[OWNERS_MOST];
    open_all(one, 1, number);
    train(one, 1, 0, STEPS + STEPS / 2);
    look(one, 1, expected);
    open_all(store, from, number);
    train(store, from, 0, STEPS);
    open_all(next, to, number);
    for (int i = 0; i < from; ++i) {
        ASSERT_OK(row_shard_write(store[i], 0, shard_path(state, i)));
        for (int j = 0; j < to; ++j) {
            const share s = {.owners = (uint64_t)to, .owner = (uint64_t)j};
            ASSERT_OK(row_shard_read(shard_path(state, i), 0, is_mine, &s, next[j]));
        }
    }
    train(next, to, STEPS, STEPS + STEPS / 2);
    look(next, to, value);
    assert_memory_equal(value, expected, sizeof value);
    int64_t rows = 0, waiting = 0;
    for (int j = 0; j < to; ++j) {
        rows += row_store_figures(next[j]).rows;
        waiting += row_store_figures(next[j]).waiting;
    }
    assert_int_equal(rows, row_store_figures(one[0]).rows);
    assert_int_equal(waiting, row_store_figures(one[0]).waiting);
    assert_true(rows > 1000 && waiting > 300 && row_store_figures(one[0]).expired > 300);
    close_all(one, 1);
    close_all(store, from);
    close_all(next, to);
}

static void test_owners(void **state)
{
    check_owners(state, 1, 1, EMBED_F32);
    check_owners(state, 3, 2, EMBED_F32);
    check_owners(state, 1, 5, EMBED_BF16);
    check_owners(state, 4, 1, EMBED_BF16);
}

/* ---- by key ---- */

typedef struct seen {
    uint64_t last;
    int64_t rows;
    float sum;
} seen;

static weft_status see(const uint64_t *k, const float *number, int64_t rows, void *context)
{
    seen *s = context;
    for (int64_t i = 0; i < rows; ++i) {
        assert_true(s->rows == 0 || k[i] > s->last);
        s->last = k[i];
        s->rows += 1;
        for (int j = 0; j < STRIDE; ++j) {
            s->sum += fabsf(number[i * STRIDE + j]);
        }
    }
    return WEFT_OK;
}

static void test_visit(void **state)
{
    static float value[KEYS * STRIDE];
    row_store *store[1];
    seen s = {0};
    row_shard_facts facts;
    float sum = 0.0F;
    open_all(store, 1, EMBED_F32);
    train(store, 1, 0, STEPS);
    look(store, 1, value);
    for (int i = 0; i < KEYS * STRIDE; ++i) {
        sum += fabsf(value[i]);
    }
    ASSERT_OK(row_shard_write(store[0], 0, shard_path(state, 0)));
    ASSERT_OK(row_shard_visit(shard_path(state, 0), see, &s));
    ASSERT_OK(row_shard_look(shard_path(state, 0), &facts));
    assert_int_equal(s.rows, row_store_figures(store[0]).rows);
    assert_true(s.rows > 1000 && s.sum == sum);
    assert_true(facts.rows == s.rows && facts.width == STRIDE - 1 && facts.linear && facts.batches == STEPS);
    close_all(store, 1);
}

/* Under a bound that is reached, a store that was written and read goes on as one that was not: the same keys find
 * room, the same rows leave. Without row_shard_take_room it would not: its index had another size. */
static void test_room(void **state)
{
    static float expected[KEYS * STRIDE], value[KEYS * STRIDE];
    row_store *store[3];
    embed_desc desc = desc_of(EMBED_F32);
    const char *path = in_folder(state, "room.rows");
    bool taken = false;
    desc.admit_after = 0;
    desc.memory_most = 280000;
    for (int i = 0; i < 3; ++i) {
        ASSERT_OK(row_store_open(&desc, &store[i]));
    }
    train(store, 1, 0, 8);
    ASSERT_OK(row_shard_write(store[0], 0, path));
    ASSERT_OK(row_shard_take_room(path, store[1], &taken));
    assert_true(taken);
    for (int i = 1; i < 3; ++i) {
        ASSERT_OK(row_shard_read(path, 0, NULL, NULL, store[i]));
        row_store_count_from(store[i], (row_counts){.made = row_store_figures(store[0]).made,
                                                    .refused = row_store_figures(store[0]).refused,
                                                    .expired = row_store_figures(store[0]).expired});
    }
    for (int i = 0; i < 3; ++i) {
        train(&store[i], 1, 8, 18);
    }
    const row_figures through = row_store_figures(store[0]), broken = row_store_figures(store[1]);
    assert_true(through.refused > 0 && through.expired > 0);
    assert_memory_equal(&through, &broken, sizeof through);
    look(&store[0], 1, expected);
    look(&store[1], 1, value);
    assert_memory_equal(expected, value, sizeof value);
    assert_true(row_store_figures(store[2]).refused != through.refused);
    close_all(store, 3);
    desc.memory_most = 0;
    ASSERT_OK(row_store_open(&desc, &store[0]));
    ASSERT_OK(row_shard_take_room(path, store[0], &taken));
    assert_false(taken);
    close_all(store, 1);
}

/* ---- what is refused ---- */

static void read_refused(const char *path, const embed_desc *desc, const char *words)
{
    row_store *store = NULL;
    ASSERT_OK(row_store_open(desc, &store));
    ASSERT_STATUS(row_shard_read(path, 0, NULL, NULL, store), WEFT_ERR_DATA);
    ASSERT_MESSAGE(words);
    ASSERT_MESSAGE(path);
    row_store_close(store);
}

static void test_damage(void **state)
{
    row_store *store[1];
    const embed_desc desc = desc_of(EMBED_F32);
    const char *path = in_folder(state, "whole.rows"), *bad = in_folder(state, "bad.rows");
    size_t bytes;
    open_all(store, 1, EMBED_F32);
    train(store, 1, 0, 4);
    ASSERT_OK(row_shard_write(store[0], 0, path));
    close_all(store, 1);
    uint8_t *data = get_file(path, &bytes);
    for (size_t at = 0; at < bytes; at += at < 240 ? 1 : 9973) {
        data[at] ^= 0x10;
        put_file(bad, data, bytes);
        read_refused(bad, &desc, bad);
        data[at] ^= 0x10;
        if (at % 5 == 0) {
            put_file(bad, data, at);
            read_refused(bad, &desc, bad);
        }
    }
    put_file(bad, "id,click\n1,0\n", 13);
    read_refused(bad, &desc, "the file ends");
    free(data);
}

static void test_foreign(void **state)
{
    row_store *store[2];
    embed_desc desc = desc_of(EMBED_F32);
    const char *path = in_folder(state, "a.rows"), *later = in_folder(state, "b.rows");
    open_all(store, 2, EMBED_F32);
    train(store, 1, 0, 4);
    ASSERT_OK(row_shard_write(store[0], 0, path));
    train(store, 1, 4, 5);
    ASSERT_OK(row_shard_write(store[0], 0, later));
    ASSERT_OK(row_shard_read(path, 0, NULL, NULL, store[1]));
    ASSERT_STATUS(row_shard_read(path, 0, NULL, NULL, store[1]), WEFT_ERR_DATA);
    ASSERT_MESSAGE("there already");
    ASSERT_STATUS(row_shard_read(later, 0, NULL, NULL, store[1]), WEFT_ERR_DATA);
    ASSERT_MESSAGE("different checkpoints");
    close_all(store, 2);
    desc.rule = EMBED_SGD;
    read_refused(path, &desc, "sgd");
    desc = desc_of(EMBED_F32);
    desc.linear = false;
    read_refused(path, &desc, "another model");
    desc = desc_of(EMBED_F32);
    desc.memory_most = ROW_MEMORY_LEAST;
    ASSERT_OK(row_store_open(&desc, &store[0]));
    ASSERT_STATUS(row_shard_read(later, 0, NULL, NULL, store[0]), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("use more ranks");
    row_store_close(store[0]);
    ASSERT_OK(row_store_open(&(embed_desc){.fields = 1, .width = 4}, &store[0]));
    ASSERT_OK(row_shard_write(store[0], 5, path));
    ASSERT_OK(row_shard_read(path, 5, NULL, NULL, store[0]));
    ASSERT_OK(row_shard_read(path, 0, NULL, NULL, store[0]));
    ASSERT_STATUS(row_shard_read(path, 6, NULL, NULL, store[0]), WEFT_ERR_DATA);
    ASSERT_MESSAGE("weights beside them");
    row_store_close(store[0]);
    ASSERT_STATUS(row_shard_look(in_folder(state, "none.rows"), &(row_shard_facts){0}), WEFT_ERR_NOINPUT);
}

typedef struct visit {
    const uint64_t *key;
    int64_t done;
} visit;

static weft_status is_next(const uint64_t *k, const float *number, int64_t rows, void *context)
{
    visit *v = context;
    for (int64_t i = 0; i < rows; ++i) {
        assert_true(k[i] == v->key[v->done + i] && number[i] == (float)((v->done + i) % 1000));
    }
    v->done += rows;
    return WEFT_OK;
}

/* So many keys that they are sorted a part at a time: of fields of which one has most ids, and with keys that wait. */
static void test_parts(void **state)
{
    enum { MANY = 700000, FEW = 300000 };
    (void)state;
    const embed_desc desc = {.fields = 3, .width = 1, .rule = EMBED_SGD, .spread = 0.0, .admit_after = 1};
    uint64_t *all = test_calloc(MANY + FEW, sizeof *all);
    int64_t *row = test_calloc(MANY + FEW, sizeof *row);
    int32_t *times = test_calloc(MANY + FEW, sizeof *times);
    float *gradient = test_calloc(MANY, sizeof *gradient);
    row_store *store = NULL, *other = NULL;
    row_shard_facts facts;
    visit v = {.key = all};
    for (int64_t i = 0; i < MANY; ++i) {
        const uint64_t field = i < 1000 ? 0 : i < MANY - 1000 ? 1 : 2;
        all[i] = field << 54 | (uint64_t)i * 24000000007U;
        gradient[i] = -(float)(i % 1000);
        times[i] = 1;
    }
    ASSERT_OK(row_store_open(&desc, &store));
    ASSERT_OK(row_store_touch(store, all, times, MANY, true, row));
    ASSERT_OK(row_store_touch(store, all, times, MANY, true, row));
    row_store_update(store, row, MANY, gradient, 1, 1.0);
    for (int64_t i = 0; i < FEW; ++i) {
        all[MANY + i] = UINT64_C(5) << 54 | (uint64_t)i << 35;
        times[MANY + i] = 1;
    }
    ASSERT_OK(row_store_touch(store, all + MANY, times, FEW, true, row));
    const char *path = shard_path(state, 0);
    ASSERT_OK(row_shard_write(store, 3, path));
    ASSERT_OK(row_shard_visit(path, is_next, &v));
    assert_int_equal(v.done, MANY);
    ASSERT_OK(row_shard_look(path, &facts));
    assert_true(facts.rows == MANY && facts.waiting == FEW);
    ASSERT_OK(row_store_open(&desc, &other));
    ASSERT_OK(row_shard_read(path, 3, NULL, NULL, other));
    assert_true(row_store_figures(other).rows == MANY && row_store_figures(other).waiting == FEW);
    const uint64_t before = weft_mem_usage_total().current_bytes, mark = weft_mem_peak_restart();
    ASSERT_OK(row_shard_write(other, 3, path));
    assert_true(weft_mem_usage_total().peak_bytes - before <= (uint64_t)row_shard_bytes(MANY) * 5 / 4);
    weft_mem_peak_resume(mark);
    row_store_close(store);
    row_store_close(other);
    test_free(all);
    test_free(row);
    test_free(times);
    test_free(gradient);
}

int main(void)
{
    for (int i = 0; i < KEYS; ++i) {
        key[i] = (uint64_t)i * UINT64_C(0x4000000000001);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_owners, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_parts, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_visit, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_room, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damage, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
