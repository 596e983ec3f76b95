/* Allocation and status basics. */
#include "base/alloc.h"
#include "support/test.h"

static void test_alloc_counts(void **state)
{
    (void)state;
    float *x = NULL;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_GRAPH).current_bytes;
    ASSERT_OK(WEFT_NEW(&x, 1000, WEFT_MEM_GRAPH));
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_GRAPH).current_bytes - before, 4000);
    weft_free(x);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_GRAPH).current_bytes, before);
}

static void test_alloc_overflow_is_refused(void **state)
{
    (void)state;
    void *x = NULL;
    ASSERT_STATUS(weft_malloc(SIZE_MAX / 2, 4, WEFT_MEM_GRAPH, &x), WEFT_ERR_RESOURCE);
    assert_null(x);
}

static void test_alloc_failure_can_be_injected(void **state)
{
    (void)state;
    void *x = NULL;
    weft_alloc_fail_after(2);
    ASSERT_OK(weft_malloc(8, 1, WEFT_MEM_GENERAL, &x));
    weft_free(x);
    ASSERT_STATUS(weft_malloc(8, 1, WEFT_MEM_GENERAL, &x), WEFT_ERR_RESOURCE);
    ASSERT_OK(weft_malloc(8, 1, WEFT_MEM_GENERAL, &x));
    weft_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_counts),
        cmocka_unit_test(test_alloc_overflow_is_refused),
        cmocka_unit_test(test_alloc_failure_can_be_injected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
