/*
 * A store of rows against a model that is a plain array: which keys have rows, which wait, which leave, and what rows
 * hold. WEFT_LONG=1: ten million sightings instead of one.
 */
#include <math.h>
#include <omp.h>

#include "embed/rows/row_shard.h"
#include "embed/rows/row_store.h"
#include "support/folder.h"
#include "support/random.h"

enum { KEYS = 60000, BATCH = 4000, WIDTH = 3, STRIDE = 4, ADMIT = 3, EXPIRE = 25 };

typedef struct model_key {
    uint64_t key;
    int64_t count, seen; /* sightings before the batch; batch of the last one */
    bool known, row;
    float value[STRIDE];
} model_key;

static model_key model[KEYS];

static embed_desc plain(int width, bool linear)
{
    return (embed_desc){.fields = 1, .width = width, .linear = linear, .spread = 0.25, .seed = 77};
}

static int by_key(const void *a, const void *b)
{
    const model_key *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Ends of the range, equal low bits, equal high bits, neighbours, and any. */
static void draw_keys(void)
{
    uint64_t state = 5;
    for (int i = 0; i < KEYS; ++i) {
        const uint64_t n = (uint64_t)i / 4 + 1;
        const uint64_t kinds[] = {n << 44, n, n * UINT64_C(0x100000000), test_random_bits(&state)};
        model[i] = (model_key){.key = kinds[i % 4]};
    }
    model[0].key = 0;
    model[4].key = UINT64_MAX;
    qsort(model, KEYS, sizeof *model, by_key);
    for (int i = 1; i < KEYS; ++i) { /* the few that were drawn twice */
        model[i].key += model[i].key <= model[i - 1].key ? model[i - 1].key - model[i].key + 1 : 0;
    }
}

static int64_t model_rows(void)
{
    int64_t rows = 0;
    for (int i = 0; i < KEYS; ++i) {
        rows += model[i].row;
    }
    return rows;
}

static void model_expire(int64_t batch)
{
    for (int i = 0; i < KEYS; ++i) {
        if (model[i].known && batch - model[i].seen >= EXPIRE) {
            model[i] = (model_key){.key = model[i].key};
        }
    }
}

/* What the model says of a sighting; returns whether the key has a row afterwards. */
static bool model_sight(model_key *m, int32_t times, int64_t batch)
{
    m->row = m->row || m->count >= ADMIT;
    m->count += times;
    m->known = true;
    m->seen = batch;
    return m->row;
}

static void check_batch(row_store *store, int64_t batch, uint64_t *state, const int *at, int n)
{
    static uint64_t key[BATCH];
    static int32_t times[BATCH];
    static int64_t row[BATCH];
    static float value[BATCH * STRIDE], gradient[BATCH * STRIDE];
    for (int i = 0; i < n; ++i) {
        key[i] = model[at[i]].key;
        times[i] = 1 + (int32_t)(test_random(state) % 3);
        gradient[i * STRIDE] = gradient[i * STRIDE + 2] = (float)(test_random(state) % 64);
    }
    ASSERT_OK(row_store_touch(store, key, times, n, true, row));
    row_store_read(store, row, n, value, STRIDE);
    for (int i = 0; i < n; ++i) {
        model_key *m = &model[at[i]];
        const bool had = m->row;
        assert_int_equal(model_sight(m, times[i], batch), row[i] >= 0);
        if (m->row && !had) {
            memcpy(m->value, value + i * STRIDE, sizeof m->value);
            assert_true(m->value[0] != m->value[1] && fabsf(m->value[0]) <= 0.25F && m->value[3] == 0.0F);
        }
        for (int j = 0; j < STRIDE; ++j) {
            assert_true(value[i * STRIDE + j] == (m->row ? m->value[j] : 0.0F));
            m->value[j] -= 0.5F * gradient[i * STRIDE + j];
        }
    }
    row_store_update(store, row, n, gradient, STRIDE, 0.5);
}

static void check_all(row_store *store)
{
    static uint64_t key[KEYS];
    static int64_t row[KEYS];
    static float value[KEYS * STRIDE];
    for (int i = 0; i < KEYS; ++i) {
        key[i] = model[i].key;
    }
    ASSERT_OK(row_store_touch(store, key, NULL, KEYS, false, row));
    row_store_read(store, row, KEYS, value, STRIDE);
    for (int i = 0; i < KEYS; ++i) {
        assert_int_equal(row[i] >= 0, model[i].row);
        for (int j = 0; j < STRIDE && model[i].row; ++j) {
            assert_true(value[i * STRIDE + j] == model[i].value[j]);
        }
    }
}

static row_store *reload(void **state, row_store *store, const embed_desc *desc)
{
    const char *path = in_folder(state, "torture.rows");
    row_store *fresh = NULL;
    const int64_t rows = row_store_figures(store).rows;
    ASSERT_OK(row_shard_write(store, 0, path));
    row_store_close(store);
    ASSERT_OK(row_store_open(desc, &fresh));
    ASSERT_OK(row_shard_read(path, 0, NULL, NULL, fresh));
    assert_int_equal(row_store_figures(fresh).rows, rows);
    return fresh;
}

static void test_torture(void **state)
{
    const int64_t sightings = getenv("WEFT_LONG") != NULL ? 10000000 : 1000000;
    embed_desc desc = plain(WIDTH, true);
    desc.admit_after = ADMIT;
    desc.expire_after = EXPIRE;
    row_store *store = NULL;
    uint64_t random = 9;
    static int at[BATCH];
    draw_keys();
    ASSERT_OK(row_store_open(&desc, &store));
    for (int64_t batch = 1, done = 0; done < sightings; ++batch) {
        /* A window over the keys moves, so that keys come, stay and go. */
        const int window = (int)(batch * 300 % (KEYS - 15000)), step = 1 + (int)(batch % 5);
        int n = 0;
        for (int i = window + (int)(test_random(&random) % 5); i < window + 15000 && n < BATCH; i += step) {
            at[n++] = i;
        }
        check_batch(store, batch, &random, at, n);
        done += n;
        if (batch % 7 == 0) {
            const int64_t before = model_rows();
            model_expire(batch);
            assert_int_equal(row_store_expire(store), before - model_rows());
        }
        if (batch % 90 == 0) {
            store = reload(state, store, &desc);
            check_all(store);
        }
    }
    check_all(store);
    const row_figures figures = row_store_figures(store);
    assert_int_equal(figures.rows, model_rows());
    assert_true(figures.rows > 1000 && figures.expired > 1000 && figures.waiting > 0 && figures.load <= 0.7);
    row_store_close(store);
}

/* ---- what rows do not depend on ---- */

enum { SOME = 5000 };

static void fill(row_store *store, const uint64_t *key, int64_t n, bool backwards, int64_t piece)
{
    static int32_t times[SOME];
    static int64_t row[SOME];
    for (int64_t i = 0; i < SOME; ++i) {
        times[i] = 1;
    }
    for (int64_t first = 0; first < n; first += piece) {
        const int64_t from = backwards ? n - first - piece : first;
        ASSERT_OK(row_store_touch(store, key + from, times, piece, true, row));
    }
}

/* Values of keys are those of one store whatever the threads, the order of arrival, and who else has rows. */
static void test_made_rows(void **state)
{
    (void)state;
    static uint64_t key[SOME];
    static int64_t row[SOME];
    static float first[SOME * 9], other[SOME * 9];
    const int threads = omp_get_max_threads();
    for (int i = 0; i < SOME; ++i) {
        key[i] = (uint64_t)(i + 1) * UINT64_C(0x3333333333333);
    }
    for (int turn = 0; turn < 4; ++turn) {
        const embed_desc desc = plain(8, true);
        row_store *store = NULL;
        ASSERT_OK(row_store_open(&desc, &store));
        omp_set_num_threads(turn == 0 ? 1 : turn + 1);
        fill(store, key, SOME, turn % 2 == 1, turn == 2 ? SOME : 50);
        float *value = turn == 0 ? first : other;
        ASSERT_OK(row_store_touch(store, key, NULL, SOME, false, row));
        row_store_read(store, row, SOME, value, 9);
        assert_memory_equal(value, first, sizeof first);
        row_store_close(store);
    }
    omp_set_num_threads(threads);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < SOME; ++i) {
        for (int j = 0; j < 8; ++j) {
            sum += first[i * 9 + j];
            squares += first[i * 9 + j] * first[i * 9 + j];
        }
    }
    ASSERT_NEAR(sum / (8 * SOME), 0.0, 5 * 0.25 / sqrt(3.0 * 8 * SOME));
    ASSERT_NEAR(squares / (8 * SOME), 0.25 * 0.25 / 3, 0.0004);
}

/* ---- memory ---- */

/* Ascending keys that were not drawn before. */
static void new_keys(uint64_t *key, int n, uint64_t *next)
{
    for (int i = 0; i < n; ++i) {
        key[i] = (*next += 977);
    }
}

static void test_memory_most(void **state)
{
    (void)state;
    enum { MOST = 2 << 20, N = 500 };
    embed_desc desc = plain(16, false);
    desc.rule = EMBED_ROW_ADAGRAD;
    desc.expire_after = 40;
    desc.memory_most = MOST;
    row_store *store = NULL;
    static uint64_t key[N];
    static int32_t times[N];
    static int64_t row[N];
    static float value[N * 16];
    uint64_t next = 0;
    ASSERT_OK(row_store_open(&desc, &store));
    const uint64_t before = weft_mem_usage_of(WEFT_MEM_ROWS).current_bytes;
    int64_t most = 0;
    for (int batch = 0; batch < 300; ++batch) {
        const row_figures then = row_store_figures(store);
        new_keys(key, N, &next);
        ASSERT_OK(row_store_touch(store, key, times, N, true, row));
        row_store_read(store, row, N, value, 16);
        const row_figures now = row_store_figures(store);
        int64_t without = 0;
        for (int i = 0; i < N; ++i) {
            without += row[i] < 0;
            assert_true((row[i] < 0) == (value[i * 16] == 0.0F));
        }
        assert_int_equal(now.refused - then.refused, without);
        assert_int_equal(now.rows - then.rows, N - without - (now.expired - then.expired));
        assert_true(now.bytes <= MOST && weft_mem_usage_of(WEFT_MEM_ROWS).current_bytes <= before + MOST);
        most = now.rows > most ? now.rows : most;
    }
    const row_figures figures = row_store_figures(store);
    assert_true(weft_mem_usage_of(WEFT_MEM_ROWS).peak_bytes <= MOST + 4096);
    assert_true(figures.refused > 0 && figures.expired > 0);
    /* 68 bytes a row and 23 to 34 of the index: what is taken is used. */
    assert_true(most > MOST / (68 + 35) * 3 / 4);
    assert_true(figures.made - figures.expired == figures.rows);
    row_store_close(store);
}

/* A table that is full to the last slot it may take finds every key, and no other. */
static void test_absent(void **state)
{
    (void)state;
    enum { N = 64 * 14 };
    const embed_desc desc = plain(1, false);
    row_store *store = NULL;
    static uint64_t key[N + 1];
    static int32_t times[N + 1];
    static int64_t row[N + 1];
    ASSERT_OK(row_store_open(&desc, &store));
    for (int n = 1; n <= N; ++n) {
        key[n - 1] = (uint64_t)n << 44;
        key[n] = UINT64_MAX;
        ASSERT_OK(row_store_touch(store, key + n - 1, times, 1, true, row));
        ASSERT_OK(row_store_touch(store, key, NULL, n + 1, false, row));
        for (int i = 0; i < n; ++i) {
            assert_int_equal(row[i], i);
        }
        assert_int_equal(row[n], -1);
    }
    row_store_close(store);
}

/* Ages of 2^24 batches and more: the stamp has come round. */
static void test_long_ages(void **state)
{
    (void)state;
    embed_desc desc = plain(1, false);
    desc.expire_after = 1 << 23;
    row_store *store = NULL;
    const uint64_t key[2] = {3, 4};
    const int32_t times[2] = {1, 1};
    int64_t row[2];
    ASSERT_OK(row_store_open(&desc, &store));
    ASSERT_OK(row_store_touch(store, key, times, 2, true, row));
    for (int64_t batch = 1; batch < 1 << 23; ++batch) {
        ASSERT_OK(row_store_touch(store, key + 1, times, batch % 1000 == 0, true, row));
    }
    assert_int_equal(row_store_figures(store).rows, 2);
    ASSERT_OK(row_store_touch(store, key, times, 0, true, row));
    assert_int_equal(row_store_expire(store), 1);
    ASSERT_OK(row_store_touch(store, key, NULL, 2, false, row));
    assert_int_equal(row[0], -1);
    assert_int_equal(row[1], 1);
    row_store_close(store);
}

/* A store whose rows never leave is read by one whose rows do: what is older than stamps tell is old. */
static void test_old_rows(void **state)
{
    embed_desc desc = plain(1, false);
    row_store *store = NULL, *next = NULL;
    const uint64_t key[2] = {3, 4};
    const int32_t times[2] = {1, 1};
    const char *path = in_folder(state, "old.rows");
    int64_t row[2];
    ASSERT_OK(row_store_open(&desc, &store));
    ASSERT_OK(row_store_touch(store, key, times, 2, true, row));
    for (int64_t batch = 0; batch < (1 << 24) + 9; ++batch) {
        ASSERT_OK(row_store_touch(store, key, times, 0, true, row));
    }
    ASSERT_OK(row_store_touch(store, key + 1, times, 1, true, row));
    ASSERT_OK(row_shard_write(store, 0, path));
    desc.expire_after = 1000;
    ASSERT_OK(row_store_open(&desc, &next));
    ASSERT_OK(row_shard_read(path, 0, NULL, NULL, next));
    assert_int_equal(row_store_expire(next), 1);
    ASSERT_OK(row_store_touch(next, key, NULL, 2, false, row));
    assert_true(row[0] == -1 && row[1] >= 0);
    row_store_close(store);
    row_store_close(next);
}

static void test_refusals(void **state)
{
    (void)state;
    row_store *store = NULL;
    embed_desc desc = plain(0, false);
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("0 numbers");
    desc = plain(4, false);
    desc.memory_most = 1000;
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("1000 bytes");
    desc = plain(4, false);
    desc.expire_after = INT64_C(1) << 24;
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
    desc = plain(4, false);
    desc.rule = EMBED_LAZY_ADAM;
    desc.beta1 = 1.0;
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
    assert_null(store);
}

/* No memory at any of the first allocations: an error, no crash, and the store serves afterwards. */
static void test_no_memory(void **state)
{
    (void)state;
    static uint64_t key[3000];
    static int32_t times[3000];
    static int64_t row[3000];
    uint64_t next = 0;
    new_keys(key, 3000, &next);
    for (uint64_t fails = 1; fails < 200; ++fails) {
        const embed_desc desc = plain(16, false);
        row_store *store = NULL;
        weft_alloc_fail_after(fails);
        weft_status status = row_store_open(&desc, &store);
        if (status == WEFT_OK) {
            status = row_store_touch(store, key, times, 3000, true, row);
            weft_alloc_fail_after(0);
            ASSERT_OK(row_store_touch(store, key, times, 3000, true, row));
            assert_int_equal(row_store_figures(store).rows, 3000);
        }
        weft_alloc_fail_after(0);
        row_store_close(store);
        if (status == WEFT_OK) {
            assert_true(fails > 16); /* the eight blocks of the index twice: when it is opened and when it grows */
            return;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
    }
    fail_msg("more than 200 allocations");
}

/* Batches of `n` keys, each `times` times: which have a row behind each of them. */
static void draw_lots(const embed_desc *desc, int n, int32_t times, int batches, bool *row)
{
    row_store *store = NULL;
    uint64_t *key = test_calloc(n, sizeof *key);
    int32_t *each = test_calloc(n, sizeof *each);
    int64_t *at = test_calloc(n, sizeof *at);
    for (int i = 0; i < n; ++i) {
        key[i] = 1000 + 7 * (uint64_t)i;
        each[i] = times;
    }
    ASSERT_OK(row_store_open(desc, &store));
    for (int b = 0; b < batches; ++b) {
        ASSERT_OK(row_store_touch(store, key, each, n, true, at));
        for (int i = 0; i < n; ++i) {
            row[b * n + i] = at[i] >= 0;
        }
    }
    row_store_close(store);
    test_free(key);
    test_free(each);
    test_free(at);
}

/* Of many keys a share 1 - (1 - p)^k has a row after k sightings; whether a key has one depends neither on the other
 * keys nor on batches, but on the seed; behind a count the lots begin later. */
static void test_lots(void **state)
{
    (void)state;
    enum { N = 20000, BATCHES = 6 };
    embed_desc desc = plain(WIDTH, true);
    desc.admit_chance = 0.3;
    bool *row = test_calloc((size_t)N * BATCHES, sizeof *row), *other = test_calloc((size_t)N * BATCHES, sizeof *other);
    draw_lots(&desc, N, 1, BATCHES, row);
    double expected = 1;
    for (int b = 0; b < BATCHES; ++b) {
        int rows = 0;
        expected *= 0.7;
        for (int i = 0; i < N; ++i) {
            rows += row[b * N + i];
            assert_true(b == 0 || row[b * N + i] >= row[(b - 1) * N + i]);
        }
        const double sd = sqrt(N * expected * (1 - expected));
        assert_true(fabs(rows - N * (1 - expected)) < 4 * sd);
    }
    draw_lots(&desc, N / 10, 3, 2, other); /* fewer keys; the fourth sighting comes with the second batch */
    assert_memory_equal(other, row, N / 10 * sizeof *row);
    assert_memory_equal(other + N / 10, row + 3 * N, N / 10 * sizeof *row);
    desc.admit_after = 2;
    draw_lots(&desc, N, 1, BATCHES, other);
    for (int i = 0; i < 2 * N; ++i) {
        assert_false(other[i]);
    }
    assert_memory_equal(other + 2 * N, row, 4 * (size_t)N * sizeof *row);
    desc.admit_after = 0;
    desc.seed += 1;
    draw_lots(&desc, N, 1, BATCHES, other);
    assert_memory_not_equal(other, row, N * sizeof *row);
    desc.admit_chance = ROW_CHANCE_LEAST / 2;
    row_store *store = NULL;
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
    test_free(row);
    test_free(other);
}

/* Rows below a norm leave with the old ones, but for those of the last batch. */
static void test_small_rows_leave(void **state)
{
    (void)state;
    enum { N = 6 };
    embed_desc desc = plain(1, true);
    desc.expire_after = 100;
    desc.expire_norm = 5;
    row_store *store = NULL;
    const uint64_t key[N] = {1, 2, 3, 4, 5, 6};
    const int32_t times[N] = {1, 1, 1, 1, 1, 1};
    const float wanted[N][2] = {{3, 4.1F}, {3, 3.9F}, {-3, -4.1F}, {0, 0}, {0, 0}, {6, 0}};
    int64_t row[N];
    float value[N][2];
    ASSERT_OK(row_store_open(&desc, &store));
    ASSERT_OK(row_store_touch(store, key, times, N, true, row));
    row_store_read(store, row, N, value[0], 2);
    for (int i = 0; i < N; ++i) {
        value[i][0] -= wanted[i][0];
        value[i][1] -= wanted[i][1];
    }
    row_store_update(store, row, N, value[0], 2, 1.0);
    assert_int_equal(row_store_expire(store), 0); /* the last batch named all of them */
    ASSERT_OK(row_store_touch(store, key + 4, times, 1, true, row));
    row_store_read(store, row, 1, value[0], 2);
    assert_true(fabsf(value[0][0]) < 1e-6F);
    assert_int_equal(row_store_expire(store), 2); /* 2 and 4; 5 was just named */
    ASSERT_OK(row_store_touch(store, key, times, N, false, row));
    const bool stays[N] = {true, false, true, false, true, true};
    for (int i = 0; i < N; ++i) {
        assert_int_equal(row[i] >= 0, stays[i]);
    }
    row_store_close(store);
    desc.expire_after = 0;
    ASSERT_STATUS(row_store_open(&desc, &store), WEFT_ERR_USAGE);
}

/* Keys come one at a time, so a stripe is as full as it may be before it grows: all are found behind each growth. */
static void test_full_stripes(void **state)
{
    (void)state;
    enum { MANY = 1500 };
    static uint64_t key[MANY];
    static int64_t row[MANY];
    const embed_desc desc = plain(2, false);
    row_store *store = NULL;
    double before = 0.0;
    int growths = 0;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* single keys are no work for several */
    ASSERT_OK(row_store_open(&desc, &store));
    for (int64_t n = 0; n < MANY; ++n) {
        const int32_t times = 1;
        key[n] = (uint64_t)(n + 1) << 40;
        ASSERT_OK(row_store_touch(store, &key[n], &times, 1, true, &row[n]));
        const double load = row_store_figures(store).load;
        assert_true(row[n] >= 0 && load <= 0.7);
        if (load < before) {
            growths += 1;
            ASSERT_OK(row_store_touch(store, key, NULL, n + 1, false, row));
        }
        for (int64_t i = 0; i <= n; ++i) {
            assert_true(row[i] >= 0);
        }
        before = load;
    }
    assert_int_equal(row_store_figures(store).rows, MANY);
    assert_true(growths > 20);
    row_store_close(store);
    omp_set_num_threads(threads);
}

/* What a plan says of rows and their index is what a store of so many takes, whatever the width and rule are. */
static void test_plan(void **state)
{
    (void)state;
    enum { PLANNED = 60000, AT_ONCE = 500 };
    static uint64_t key[AT_ONCE];
    static int32_t times[AT_ONCE];
    static int64_t row[AT_ONCE];
    static const int widths[] = {1, 4, 16, 33, 64};
    int64_t before = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w) {
        const embed_desc desc = {.fields = 1,
                                 .width = widths[w],
                                 .linear = w % 2 == 1,
                                 .rule = w % 2 == 1 ? EMBED_ADAGRAD : EMBED_ROW_ADAGRAD,
                                 .number = w == 2 ? EMBED_BF16 : EMBED_F32,
                                 .seed = 4};
        row_store *store = NULL;
        ASSERT_OK(row_store_open(&desc, &store));
        for (int64_t n = 0; n < PLANNED; n += AT_ONCE) {
            for (int i = 0; i < AT_ONCE; ++i) {
                key[i] = (uint64_t)(n + i) * 1000;
                times[i] = 1;
            }
            ASSERT_OK(row_store_touch(store, key, times, AT_ONCE, true, row));
            const row_figures now = row_store_figures(store);
            const double slots = (double)now.rows / now.load, used = (double)now.rows * (double)now.row_bytes;
            const double planned = (double)row_store_bytes(&desc, now.rows);
            assert_true(n + AT_ONCE < PLANNED || fabs(planned / (used + 16.0 * slots) - 1.0) < 0.05);
        }
        row_store_close(store);
    }
    for (int width = 1; width < 2000; ++width) { /* wider rows never take less */
        const embed_desc desc = {.fields = 1, .width = width, .rule = EMBED_SGD};
        const int64_t planned = row_store_bytes(&desc, PLANNED);
        assert_true(planned > before);
        before = planned;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lots),
        cmocka_unit_test(test_small_rows_leave),
        cmocka_unit_test(test_memory_most),
        cmocka_unit_test_setup_teardown(test_torture, folder_setup, folder_teardown),
        cmocka_unit_test(test_made_rows),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_long_ages),
        cmocka_unit_test_setup_teardown(test_old_rows, folder_setup, folder_teardown),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_full_stripes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
