/* Opening backends: names, arguments, refusals, and that no slot is empty. */
#include "hal/hal.h"
#include "support/test.h"

static void assert_complete(const char *resource)
{
    weft_hal *hal = NULL;
    weft_status status = weft_hal_open(resource, 2, &hal);
    if (status == WEFT_ERR_UNSUPPORTED) {
        assert_null(hal);
        return;
    }
    ASSERT_OK(status);
    assert_true(hal->threads >= 1);
    void (*const *slot)(void) = (void (*const *)(void)) & hal->dense;
    for (size_t i = 0; i < sizeof hal->dense / sizeof *slot; ++i) {
        assert_true(slot[i] != NULL);
    }
    slot = (void (*const *)(void)) & hal->nn;
    for (size_t i = 0; i < sizeof hal->nn / sizeof *slot; ++i) {
        assert_true(slot[i] != NULL);
    }
    slot = (void (*const *)(void)) & hal->sparse;
    for (size_t i = 0; i < sizeof hal->sparse / sizeof *slot; ++i) {
        assert_true(slot[i] != NULL);
    }
    assert_true(hal->mem.alloc != NULL && hal->mem.free != NULL && hal->mem.upload != NULL);
    assert_true(hal->mem.download != NULL && hal->mem.copy != NULL && hal->mem.zero != NULL);
    assert_true(hal->optim.adam != NULL && hal->optim.sgd != NULL);
    weft_hal_close(hal);
}

static void test_every_backend_is_complete(void **state)
{
    (void)state;
    int listed = 0;
    for (; weft_hal_backend_at(listed) != NULL; ++listed) {
        assert_non_null(weft_hal_backend_at(listed)->description);
        assert_complete(weft_hal_backend_at(listed)->name);
    }
    assert_true(listed >= 3);
    assert_null(weft_hal_backend_at(-1));
    assert_complete("cpu:base");
    assert_complete("cpu:avx2");
    assert_complete("cpu:avx512");
    assert_complete("shadow:ref");
    assert_complete("shadow:cpu:base");
}

static void test_wrong_names_are_refused(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    ASSERT_STATUS(weft_hal_open("shadw", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean \"shadow\"");
    assert_null(hal);
    ASSERT_STATUS(weft_hal_open("cpuu:avx2", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean \"cpu\"");
    ASSERT_STATUS(weft_hal_open("", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("cpu, ref, shadow");
    ASSERT_STATUS(weft_hal_open("a name far longer than any backend could ever have been given", 1, &hal),
                  WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_hal_open("cpu:avx1024", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("base, avx2 and avx512");
    ASSERT_STATUS(weft_hal_open("ref:fast", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_hal_open("shadow:shadow", 1, &hal), WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_hal_open("cpu", 0, &hal), WEFT_ERR_USAGE);
    ASSERT_STATUS(weft_hal_open("cpu", 1 << 20, &hal), WEFT_ERR_USAGE);
    assert_null(hal);
}

static void test_failed_allocations_leave_nothing(void **state)
{
    (void)state;
    static const char *const resources[] = {"ref", "cpu", "shadow"};
    for (size_t r = 0; r < sizeof resources / sizeof resources[0]; ++r) {
        uint64_t before = weft_mem_usage_total().current_bytes;
        weft_status status = WEFT_ERR_RESOURCE;
        for (uint64_t n = 1; status != WEFT_OK && n < 20; ++n) {
            weft_hal *hal = NULL;
            weft_alloc_fail_after(n);
            status = weft_hal_open(resources[r], 1, &hal);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
            weft_hal_close(hal);
            assert_int_equal(weft_mem_usage_total().current_bytes, before);
        }
        assert_int_equal(status, WEFT_OK);
    }
}

static void test_rows_are_split_evenly(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < 12; ++rows) {
        for (int parts = 1; parts < 6; ++parts) {
            int64_t next = 0;
            for (int i = 0; i < parts; ++i) {
                int64_t begin = 0;
                int64_t end = 0;
                hal_split_rows(rows, parts, i, &begin, &end);
                assert_int_equal(begin, next);
                assert_in_range(end - begin, rows / parts, rows / parts + 1);
                next = end;
            }
            assert_int_equal(next, rows);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_backend_is_complete),
        cmocka_unit_test(test_wrong_names_are_refused),
        cmocka_unit_test(test_failed_allocations_leave_nothing),
        cmocka_unit_test(test_rows_are_split_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
