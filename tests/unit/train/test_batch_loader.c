/*
 * The loader on batches of numbers, which a formula gives: whatever is asked for, in any order and by any number of
 * threads, stands in the slot; rows that travel are made after they arrived; a row that fails is told with its message.
 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "support/test.h"
#include "train/batch/batch_loader.h"

enum { SAMPLES = 37, BATCH = 10, STEPS = 4, EVAL_STEPS = 2, MOST = 16, ASKED = 3 };

typedef struct numbers {
    const batch_plan plan;
    train_source source;
    batch_key key[BATCH_SLOTS_MOST];
    int64_t rows[BATCH_SLOTS_MOST];
    uint64_t value[BATCH_SLOTS_MOST][MOST];
    bool travels, peeks;
    atomic_int arrived; /* batches */
    int begun;
    atomic_int early; /* rows that were made before they arrived */
    int64_t broken;   /* row that fails; -1: none */
} numbers;

static int parts_of(void *self, int64_t step, int parts)
{
    const numbers *n = self;
    return batch_order_parts(&n->plan, step, parts);
}

static uint64_t value_of(const batch_key *key, int64_t row)
{
    return (uint64_t)row + 100 * (uint64_t)(key->turn.part + 10 * key->turn.parts) +
           10000 * ((uint64_t)key->turn.step + 100 * (key->epoch + 100 * (key->seed + (key->training ? 7 : 0))));
}

static int64_t rows_of(const numbers *n, const batch_key *key)
{
    return key->training ? batch_order_part(&n->plan, key->turn, 1, 0).count : 5 + key->turn.step;
}

static weft_status begin(void *self, int slot, const batch_key *key, int64_t *rows)
{
    numbers *n = self;
    n->key[slot] = *key;
    n->rows[slot] = *rows = rows_of(n, key);
    memset(n->value[slot], 0, sizeof n->value[slot]);
    n->begun += 1;
    return WEFT_OK;
}

static bool travels(void *self, int64_t row)
{
    const numbers *n = self;
    return n->travels && row % 3 == 1;
}

static weft_status arrive(void *self)
{
    numbers *n = self;
    atomic_fetch_add(&n->arrived, 1);
    return WEFT_OK;
}

static weft_status make_row(void *self, int slot, int64_t row, int worker)
{
    numbers *n = self;
    WEFT_CHECK(worker >= 0 && worker < 3, WEFT_ERR_INTERNAL, "worker %d", worker);
    WEFT_CHECK(row != n->broken, WEFT_ERR_DATA, "row %lld is broken", (long long)row);
    if (travels(n, row) && atomic_load(&n->arrived) < n->begun) {
        atomic_fetch_add(&n->early, 1);
    }
    n->value[slot][row] += value_of(&n->key[slot], row);
    return WEFT_OK;
}

static void fill(numbers *n, weft_hal *hal, int loaders, batch_loader_desc *desc)
{
    n->source = (train_source){.self = n, .steps = STEPS, .eval_steps = EVAL_STEPS, .parts = parts_of};
    n->broken = -1;
    *desc = (batch_loader_desc){
        .work = {.self = n, .begin = begin, .make_row = make_row, .travels = travels, .arrive = arrive},
        .hal = hal,
        .source = &n->source,
        .parts = ASKED,
        .loaders = loaders,
        .workers = loaders > 0 ? loaders : 2};
}

static void check_values(const numbers *n, int slot, const batch_key *key)
{
    for (int64_t row = 0; row < MOST; ++row) {
        assert_int_equal(n->value[slot][row], row < rows_of(n, key) ? value_of(key, row) : 0);
    }
}

/* The batch that follows within an epoch of training stands in another slot, and the one in use stays as it is. */
static void check_peek(batch_loader *loader, const numbers *n, const batch_key *key, const train_pass *pass, int slot)
{
    batch_key next = *key;
    int peeked = -2;
    ASSERT_OK(batch_loader_peek(loader, pass, &peeked));
    next.turn.part += 1;
    if (next.turn.part == next.turn.parts) {
        next.turn =
            (batch_turn){.step = key->turn.step + 1, .parts = batch_order_parts(&n->plan, key->turn.step + 1, ASKED)};
    }
    if (!pass->training || next.turn.step == STEPS) {
        assert_int_equal(peeked, -1);
        return;
    }
    assert_int_not_equal(peeked, slot);
    check_values(n, peeked, &next);
    check_values(n, slot, key);
}

static void check_batch(batch_loader *loader, numbers *n, const train_pass *pass)
{
    int slot = -1;
    ASSERT_OK(batch_loader_take(loader, pass, &slot));
    const batch_key key = {.training = pass->training,
                           .seed = pass->training ? pass->seed : 0,
                           .epoch = pass->training ? pass->epoch : 0,
                           .turn = {.step = pass->step, .part = pass->part, .parts = pass->parts}};
    check_values(n, slot, &key);
    batch_loader_ahead(loader, pass);
    if (n->peeks && pass->step % 4 != 3) {
        check_peek(loader, n, &key, pass, slot);
    }
}

static void check_epochs(batch_loader *loader, numbers *n, uint64_t seed, bool evaluates)
{
    for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
        for (int64_t step = 0; step < STEPS; ++step) {
            const int parts = parts_of(n, step, ASKED);
            for (int part = 0; part < parts; ++part) {
                check_batch(
                    loader, n,
                    &(train_pass){
                        .training = true, .seed = seed, .epoch = epoch, .step = step, .part = part, .parts = parts});
            }
        }
        for (int64_t step = 0; step < EVAL_STEPS && evaluates; ++step) {
            check_batch(loader, n, &(train_pass){.seed = seed, .epoch = epoch, .step = step, .parts = 1});
        }
    }
}

static void test_batches_are_those_asked_for(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int loaders = 0; loaders <= 3; ++loaders) {
        for (int form = 0; form < 3; ++form) {
            numbers n = {
                .plan = {.samples = SAMPLES, .batch = BATCH, .least = 2}, .travels = form == 1, .peeks = form == 2};
            batch_loader_desc desc;
            batch_loader *loader = NULL;
            fill(&n, hal, loaders, &desc);
            desc.peeks = n.peeks;
            ASSERT_OK(batch_loader_create(&desc, &loader));
            if (n.travels) {
                batch_loader_expect_travel(loader);
            }
            check_epochs(loader, &n, 1, true);
            const uint64_t before = weft_mem_usage_total().allocations;
            check_epochs(loader, &n, 2, false); /* another seed, and no evaluations from here on: wrong guesses */
            check_batch(loader, &n,
                        &(train_pass){.training = true, .seed = 9, .epoch = 5, .step = 3, .part = 1, .parts = 3});
            assert_int_equal(weft_mem_usage_total().allocations, before);
            assert_int_equal(atomic_load(&n.early), 0);
            assert_true(n.travels == (atomic_load(&n.arrived) > 0));
            assert_true(batch_loader_wait_seconds(loader) > 0.0);
            batch_loader_destroy(loader);
        }
    }
    weft_hal_close(hal);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* The last step has 7 samples, at least 2 a part: it comes in 3 parts, and one of 3 samples in a single part of a
 * smaller plan. */
static void test_short_steps_have_fewer_parts(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    numbers n = {.plan = {.samples = 13, .batch = BATCH, .least = 2}};
    batch_loader_desc desc;
    batch_loader *loader = NULL;
    int slot = 0;
    fill(&n, hal, 0, &desc);
    n.source.steps = 2;
    ASSERT_OK(batch_loader_create(&desc, &loader));
    assert_int_equal(parts_of(&n, 1, ASKED), 1);
    check_batch(loader, &n, &(train_pass){.training = true, .seed = 1, .epoch = 1, .step = 1, .parts = 1});
    ASSERT_STATUS(
        batch_loader_take(loader, &(train_pass){.training = true, .seed = 1, .epoch = 1, .step = 1, .parts = 3}, &slot),
        WEFT_ERR_INTERNAL);
    batch_loader_destroy(loader);
    weft_hal_close(hal);
}

static void test_a_broken_row_is_told(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int loaders = 0; loaders <= 2; ++loaders) {
        numbers n = {.plan = {.samples = SAMPLES, .batch = BATCH}};
        batch_loader_desc desc;
        batch_loader *loader = NULL;
        const train_pass pass = {.training = true, .seed = 1, .epoch = 1, .parts = ASKED};
        int slot = 0;
        fill(&n, hal, loaders, &desc);
        n.broken = 2;
        ASSERT_OK(batch_loader_create(&desc, &loader));
        ASSERT_STATUS(batch_loader_take(loader, &pass, &slot), WEFT_ERR_DATA);
        ASSERT_MESSAGE("row 2 is broken");
        batch_loader_destroy(loader);
    }
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_are_those_asked_for),
        cmocka_unit_test(test_short_steps_have_fewer_parts),
        cmocka_unit_test(test_a_broken_row_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
