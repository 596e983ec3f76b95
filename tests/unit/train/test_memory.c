/*
 * What train_memory_of foretells, against the bytes that a parameter store and an optimiser take: counted by the
 * allocator. The copies of the training loop and of the backend are worked out by hand.
 */
#include "base/alloc.h"
#include "support/test.h"
#include "train/memory.h"
#include "train/weight_average.h"

enum { ROWS = 48, COLS = 32, BIAS = 16, OWN = 160, STATE = 64, SLACK = 4096 };

static uint64_t taken(void)
{
    return weft_mem_usage_of(WEFT_MEM_PARAMETER).current_bytes;
}

static void declare(param_store *store, weft_hal *hal, weft_dtype dtype)
{
    const param_group own = {.trained = true, .lr_scale = 1.0};
    param_store_begin(store, hal, dtype);
    param_add_block(store, PARAM_GROUP_DECAY, ROWS, COLS);
    param_add_block(store, PARAM_GROUP_NO_DECAY, 1, BIAS);
    param_add_block(store, param_add_group(store, &own), 1, OWN);
    param_add_block(store, PARAM_GROUP_STATE, 1, STATE);
}

static void check_rule(weft_hal *hal, weft_dtype dtype, const optimizer_options *options, int slots)
{
    const uint64_t element = weft_dtype_bytes(dtype);
    const train_memory_desc desc = {.trained = ROWS * COLS + BIAS,
                                    .own = OWN,
                                    .state = STATE,
                                    .largest = ROWS * COLS,
                                    .dtype = dtype,
                                    .optimizer = options,
                                    .in_parts = true,
                                    .checkpoints = true,
                                    .packs = true};
    const train_memory m = train_memory_of(&desc);
    const uint64_t gradient = (ROWS * COLS + BIAS + OWN) * element, before = taken();
    param_store store;
    train_optimizer optimizer;
    declare(&store, hal, dtype);
    const uint64_t lists = taken() - before;
    ASSERT_OK(param_store_commit(&store, NULL));
    assert_int_equal(taken() - before - lists, m.values + m.gradients);
    const uint64_t stored = taken();
    ASSERT_OK(optimizer_create(&store, optimizer_rule_of(options->kind), options, NULL, NULL, &optimizer));
    assert_in_range(taken() - stored, m.moments, m.moments + SLACK); /* LARS has norms of blocks */
    assert_int_equal(m.moments, (uint64_t)slots * gradient);
    assert_int_equal(m.gradient, gradient);
    assert_int_equal(m.parts, gradient);
    assert_int_equal(m.best, (ROWS * COLS + BIAS + STATE + 2 * OWN) * element);
    assert_int_equal(m.checkpoint,
                     (ROWS * COLS + BIAS + STATE + OWN) * element + m.moments + OWN * element + m.averages / 2);
    assert_int_equal(m.averages, options->average > 0.0 ? 2 * m.values : 0);
    weight_average average;
    const uint64_t stepped = taken();
    ASSERT_OK(weight_average_create(&store, options->average, &average));
    assert_int_equal(taken() - stepped, m.averages);
    weight_average_destroy(&average);
    assert_int_equal(m.packed, 2 * ROWS * COLS * element);
    assert_int_equal(m.kept, m.values + m.gradients + m.moments + m.best + m.averages + m.parts + m.packed);
    optimizer_destroy(&optimizer);
    param_store_destroy(&store);
}

static void test_stores_and_optimisers(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    for (int wide = 0; wide < 2; ++wide) {
        const weft_dtype dtype = wide ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32;
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_ADAM, .momentum = 0.9}, 2);
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_SGD, .momentum = 0.9}, 1);
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_SGD}, 0);
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_ADAMW, .average = 0.9}, 2);
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_ADADELTA}, 2);
        check_rule(hal, dtype, &(optimizer_options){.kind = OPTIMIZER_LARS, .momentum = 0.9}, 1);
    }
    weft_hal_close(hal);
}

static void test_answers_need_no_optimiser(void **state)
{
    (void)state;
    const train_memory m = train_memory_of(&(train_memory_desc){.trained = 100, .state = 10, .dtype = WEFT_DTYPE_F32});
    assert_int_equal(m.kept, 4 * (100 + 10 + 100));
    assert_int_equal(m.moments + m.best + m.parts + m.packed + m.checkpoint, 0);
}

/* The first values pass through no more memory than is foretold. */
static void test_first_values(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    param_store store;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    declare(&store, hal, WEFT_DTYPE_F32);
    ASSERT_OK(param_add(&store, 0, 0, 0, ROWS, COLS / 2, param_glorot(ROWS, COLS), "half"));
    ASSERT_OK(param_add(&store, 0, 0, COLS / 2, ROWS, COLS / 2, param_glorot(ROWS, COLS), "other"));
    ASSERT_OK(param_add(&store, 1, 0, 0, 1, BIAS, param_constant(0.5), "bias"));
    ASSERT_OK(param_store_commit(&store, NULL));
    const train_memory m = train_memory_of(
        &(train_memory_desc){.trained = ROWS * COLS + BIAS, .largest = ROWS * COLS / 2, .dtype = WEFT_DTYPE_F32});
    ASSERT_OK(param_initialise(&store, 7));
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes, 0);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_WORKSPACE).peak_bytes, m.start);
    param_store_destroy(&store);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_values),
        cmocka_unit_test(test_stores_and_optimisers),
        cmocka_unit_test(test_answers_need_no_optimiser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
