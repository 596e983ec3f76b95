/* Labels on a backend, against their definition: what comes back is what was given, and a row's masks are its split. */
#include "base/alloc.h"
#include "support/test.h"
#include "train/labels.h"

enum { ROWS = 37, TASKS = 3 };

static void fill(train_labels *labels)
{
    for (int64_t i = 0; i < labels->targets.rows; ++i) {
        labels->split[i] = (uint8_t)(i % 5 < TRAIN_SPLITS ? i % 5 : TRAIN_SPLIT_NONE);
        if (labels->label != NULL) {
            labels->label[i] = (int32_t)(i * 7 % 4) - 1;
        } else {
            for (int64_t c = 0; c < TASKS; ++c) {
                labels->target[i * TASKS + c] = (float)((i + c) % 2);
            }
        }
    }
}

static weft_status make(weft_hal *hal, train_loss loss, int64_t rows, train_labels *labels)
{
    *labels = (train_labels){.targets = {.rows = rows, .outputs = TASKS, .loss = loss}};
    WEFT_TRY(labels_create(labels, WEFT_MEM_GENERAL));
    fill(labels);
    return labels_upload(labels, hal);
}

static void check(weft_hal *hal, train_loss loss)
{
    train_labels labels;
    float target[ROWS * TASKS];
    int32_t label[ROWS];
    uint8_t mask[ROWS];
    ASSERT_OK(make(hal, loss, ROWS, &labels));
    const train_targets *t = &labels.targets;
    assert_true(t->labelled);
    assert_true(t->split_host == labels.split);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        ASSERT_OK(hal->mem.download(hal, mask, t->mask[s], sizeof mask));
        for (int i = 0; i < ROWS; ++i) {
            assert_int_equal(mask[i], i % 5 == s);
        }
    }
    if (loss == TRAIN_LOSS_XENT) {
        assert_null(t->target);
        ASSERT_OK(hal->mem.download(hal, label, t->label, sizeof label));
        assert_memory_equal(label, t->label_host, sizeof label);
        assert_int_equal(label[3], 0); /* 3 * 7 % 4 - 1 */
    } else {
        assert_null(t->label);
        ASSERT_OK(hal->mem.download(hal, target, t->target, sizeof target));
        assert_memory_equal(target, t->target_host, sizeof target);
    }
    labels_destroy(&labels);
    labels_destroy(&labels); /* zeros */
}

static void test_backends(void **state)
{
    (void)state;
    static const char *const names[] = {"ref", "shadow"};
    for (int b = 0; b < 2; ++b) {
        weft_hal *hal;
        train_labels none;
        ASSERT_OK(weft_hal_open(names[b], 1, &hal));
        check(hal, TRAIN_LOSS_XENT);
        check(hal, TRAIN_LOSS_BCE);
        ASSERT_OK(make(hal, TRAIN_LOSS_XENT, 0, &none)); /* a rank without rows */
        assert_true(none.targets.labelled);
        assert_null(none.targets.label);
        assert_null(none.targets.mask[0]);
        labels_destroy(&none);
        weft_hal_close(hal);
    }
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_GENERAL).current_bytes, 0);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    weft_hal *hal;
    weft_status status = WEFT_ERR_RESOURCE;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    const uint64_t before = weft_mem_usage_total().current_bytes;
    for (uint64_t n = 1; status != WEFT_OK; ++n) {
        train_labels labels;
        weft_alloc_fail_after(n);
        status = make(hal, TRAIN_LOSS_BCE, ROWS, &labels);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        labels_destroy(&labels);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
