/* Distinct keys of bags and sums of rows, against plain loops over positions; for several numbers of threads. */
#include <math.h>
#include <omp.h>

#include "base/alloc.h"
#include "embed/embed_key.h"
#include "embed/pool/key_order.h"
#include "embed/pool/pool_sums.h"
#include "support/random.h"
#include "support/test.h"

enum { SAMPLES = 700, FIELDS = 7, BAGS = SAMPLES * FIELDS, MOST = BAGS * 40, STRIDES = 6 };

static int64_t at[BAGS + 1];
static uint64_t key[MOST];

/* hot: of ten sightings nine are of one key. Field 3 is empty; field 5 has bags of up to 300. */
static embed_bags draw(uint64_t seed, bool wide, bool hot)
{
    uint64_t state = seed;
    int64_t p = 0;
    for (int bag = 0; bag < BAGS; ++bag) {
        const int field = bag % FIELDS;
        int64_t n = field == 3 ? 0 : test_random(&state) % 4;
        n = field == 5 && bag % 50 == 5 ? 300 : n;
        at[bag] = p;
        for (; n > 0 && p < MOST; --n) {
            const uint64_t id = wide ? test_random_bits(&state) : test_random(&state) % 900;
            key[p++] = embed_key(field, hot && test_random(&state) % 10 > 0 ? 1 : id);
        }
    }
    at[BAGS] = p;
    return (embed_bags){.samples = SAMPLES, .fields = FIELDS, .at = at, .key = key};
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_index(const bag_index *index, const embed_bags *bags)
{
    static uint64_t sorted[MOST];
    static int64_t next[MOST + 1];
    const int64_t n = bags->at[BAGS];
    int64_t distinct = 0;
    memcpy(sorted, bags->key, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0; i < n; ++i) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            assert_true(index->key[distinct] == sorted[i]);
            next[distinct] = index->at[distinct];
            assert_int_equal(index->at[distinct++], i);
        }
    }
    assert_int_equal(index->distinct, distinct);
    assert_int_equal(index->at[distinct], n);
    for (int bag = 0; bag < BAGS; ++bag) {
        for (int64_t p = at[bag]; p < at[bag + 1]; ++p) {
            const int32_t place = index->place[p];
            assert_true(index->key[place] == bags->key[p]);
            assert_int_equal(index->bag[next[place]++], bag);
        }
    }
    for (int64_t i = 0; i < distinct; ++i) {
        assert_int_equal(next[i], index->at[i + 1]);
        assert_int_equal(index->times[i], index->at[i + 1] - index->at[i]);
    }
}

static void check_sums(const bag_index *index, const embed_bags *bags, int stride)
{
    const int64_t ld = (int64_t)FIELDS * stride + 3, value_ld = stride + 1;
    const size_t values = (size_t)(index->distinct * value_ld), outs = (size_t)(SAMPLES * ld);
    uint64_t state = 3;
    float *value = malloc(values * sizeof *value), *sums = calloc(values, sizeof *sums);
    float *pooled = malloc(outs * sizeof *pooled), *expected = malloc(outs * sizeof *expected);
    float *gradient = malloc(values * sizeof *gradient);
    assert_true(value != NULL && sums != NULL && pooled != NULL && expected != NULL && gradient != NULL);
    for (size_t i = 0; i < values; ++i) {
        value[i] = (float)test_uniform(&state) - 0.3F;
        gradient[i] = -7.0F;
    }
    for (size_t i = 0; i < outs; ++i) {
        pooled[i] = expected[i] = -9.0F;
    }
    pool_rows(index, bags, value, value_ld, stride, pooled, ld);
    for (int bag = 0; bag < BAGS; ++bag) {
        float *to = expected + bag / FIELDS * ld + (int64_t)(bag % FIELDS) * stride;
        for (int j = 0; j < stride; ++j) {
            to[j] = 0.0F;
            for (int64_t p = at[bag]; p < at[bag + 1]; ++p) {
                to[j] += value[index->place[p] * value_ld + j];
            }
        }
    }
    assert_memory_equal(pooled, expected, outs * sizeof *pooled);
    pool_gradients(index, FIELDS, pooled, ld, stride, gradient, value_ld);
    for (int bag = 0; bag < BAGS; ++bag) {
        const float *from = expected + bag / FIELDS * ld + (int64_t)(bag % FIELDS) * stride;
        for (int64_t p = at[bag]; p < at[bag + 1]; ++p) {
            for (int j = 0; j < stride; ++j) {
                sums[index->place[p] * value_ld + j] += from[j];
            }
        }
    }
    for (int64_t i = 0; i < index->distinct; ++i) {
        assert_memory_equal(gradient + i * value_ld, sums + i * value_ld, (size_t)stride * sizeof *sums);
        assert_true(gradient[i * value_ld + stride] == -7.0F);
    }
    free(value), free(sums), free(pooled), free(expected), free(gradient);
}

static void test_bags(void **state)
{
    (void)state;
    static const int strides[STRIDES] = {1, 4, 7, 16, 17, 45};
    const int threads = omp_get_max_threads();
    bag_index index = {0};
    for (int turn = 0; turn < 4; ++turn) {
        const embed_bags bags = draw(11 + (uint64_t)turn, turn % 2 == 1, turn >= 2);
        for (int t = 1; t <= 7; t += t < 3 ? 1 : 4) {
            omp_set_num_threads(t);
            ASSERT_OK(bag_index_fill(&index, &bags));
            check_index(&index, &bags);
            check_sums(&index, &bags, strides[(turn * 4 + t) % STRIDES]);
        }
    }
    omp_set_num_threads(threads);
    bag_index_free(&index);
}

/* Sums of a double loop over positions, of weights that are no powers of 2. */
static void check_weighted(const bag_index *index, const embed_bags *bags, int stride)
{
    const size_t values = (size_t)(index->distinct * stride), outs = BAGS * (size_t)stride;
    float *value = malloc(values * sizeof *value), *gradient = malloc(values * sizeof *gradient);
    float *pooled = malloc(outs * sizeof *pooled), square[SAMPLES], *dsquare = malloc(values * sizeof *dsquare);
    double *sum = calloc(values + outs, sizeof *sum), *dsum = calloc(values, sizeof *dsum), squares[SAMPLES] = {0};
    uint64_t state = 5;
    for (size_t i = 0; i < values; ++i) {
        value[i] = (float)test_uniform(&state) - 0.3F;
    }
    pool_rows(index, bags, value, stride, stride, pooled, FIELDS * (int64_t)stride);
    pool_gradients(index, FIELDS, pooled, FIELDS * (int64_t)stride, stride, gradient, stride);
    pool_squares(index, bags, value, stride, square, 1);
    pool_square_gradients(index, FIELDS, square, 1, dsquare, stride);
    for (int bag = 0; bag < BAGS; ++bag) {
        for (int64_t p = at[bag]; p < at[bag + 1]; ++p) {
            const double w = (double)bags->weight[p];
            const int64_t place = index->place[p];
            for (int j = 0; j < stride; ++j) {
                sum[(int64_t)values + bag * stride + j] += w * (double)value[place * stride + j];
                sum[place * stride + j] += w * (double)pooled[bag * stride + j];
            }
            squares[bag / FIELDS] += w * w * (double)value[place * stride];
            dsum[place] += w * w * (double)square[bag / FIELDS];
        }
    }
    for (size_t i = 0; i < outs; ++i) {
        assert_float_equal(pooled[i], sum[values + i], 1e-4 * (1 + fabs(sum[values + i])));
    }
    for (size_t i = 0; i < values; ++i) {
        assert_float_equal(gradient[i], sum[i], 1e-4 * (10 + fabs(sum[i])));
    }
    for (int s = 0; s < SAMPLES; ++s) {
        assert_float_equal(square[s], squares[s], 1e-4 * (1 + fabs(squares[s])));
    }
    for (int64_t i = 0; i < index->distinct; ++i) {
        assert_float_equal(dsquare[i * stride], dsum[i], 1e-4 * (10 + fabs(dsum[i])));
    }
    free(value), free(gradient), free(pooled), free(dsquare), free(sum), free(dsum);
}

static void test_weights(void **state)
{
    (void)state;
    static float weight[MOST];
    uint64_t drawn = 21;
    bag_index index = {0};
    for (int p = 0; p < MOST; ++p) {
        weight[p] = (float)(3.0 * test_uniform(&drawn) - 1.0);
    }
    for (int turn = 0; turn < 2; ++turn) {
        embed_bags bags = draw(31, false, turn == 1);
        bags.weight = weight;
        ASSERT_OK(bag_index_fill(&index, &bags));
        check_index(&index, &bags);
        check_weighted(&index, &bags, turn == 0 ? 17 : 5);
        bags.weight = NULL;
        ASSERT_OK(bag_index_fill(&index, &bags));
        check_sums(&index, &bags, 17);
    }
    bag_index_free(&index);
}

static int compare_positions(const void *a, const void *b)
{
    const int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return key[p] != key[q] ? (key[p] < key[q] ? -1 : 1) : (p > q) - (p < q);
}

/* Half of the keys are drawn from all 64 bits, the others share all but some bits in the middle or at the end: so that
 * few and many keys share what they are sorted by first, and keys are equal. */
static void test_order(void **state)
{
    (void)state;
    enum { KEYS = 70000 };
    static uint64_t work[2][KEYS];
    static int64_t expected[KEYS];
    static const int shifts[] = {0, 0, 30, 55};
    static const uint64_t ids[] = {20, 40000, 100000, 7};
    const int threads = omp_get_max_threads();
    uint64_t random = 5;
    for (int turn = 0; turn < 4; ++turn) {
        for (int64_t i = 0; i < KEYS; ++i) {
            const bool wide = test_random(&random) % 2 == 0;
            key[i] = wide ? test_random_bits(&random) : test_random_bits(&random) % ids[turn] << shifts[turn];
            expected[i] = i;
        }
        qsort(expected, KEYS, sizeof *expected, compare_positions);
        for (int t = 1; t <= 7; t += 3) {
            omp_set_num_threads(t);
            const uint64_t *word = key_order(key, KEYS, work[0], work[1]);
            for (int64_t i = 0; i < KEYS; ++i) {
                assert_int_equal(key_position(word[i]), expected[i]);
            }
        }
    }
    omp_set_num_threads(threads);
}

/* Batches of no samples and of empty bags; and no memory is taken for a batch that fits. */
static void test_small_batches(void **state)
{
    (void)state;
    bag_index index = {0};
    const int64_t none[4] = {0};
    const embed_bags nothing = {.samples = 0, .fields = 3, .at = none}, empty = {.samples = 1, .fields = 3, .at = none};
    float pooled[6] = {1, 1, 1, 1, 1, 1}, gradient[2] = {0};
    ASSERT_OK(bag_index_fill(&index, &nothing));
    ASSERT_OK(bag_index_fill(&index, &empty));
    assert_int_equal(index.distinct, 0);
    pool_rows(&index, &empty, NULL, 2, 2, pooled, 6);
    pool_gradients(&index, 3, pooled, 6, 2, gradient, 2);
    for (int i = 0; i < 6; ++i) {
        assert_true(pooled[i] == 0.0F);
    }
    const embed_bags bags = draw(1, false, false);
    ASSERT_OK(bag_index_reserve(&index, bags.at[BAGS]));
    const uint64_t allocations = weft_mem_usage_total().allocations;
    ASSERT_OK(bag_index_fill(&index, &bags));
    ASSERT_OK(bag_index_fill(&index, &empty));
    assert_int_equal(weft_mem_usage_total().allocations, allocations);
    const embed_bags many = {.samples = INT64_C(1) << 40, .fields = 3, .at = none};
    ASSERT_STATUS(bag_index_fill(&index, &many), WEFT_ERR_DATA);
    ASSERT_MESSAGE("smaller batches");
    bag_index_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bags), cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_order), cmocka_unit_test(test_small_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
