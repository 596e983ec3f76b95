/* Allocation and status basics. */
#include "base/alloc.h"
#include "support/test.h"

static void test_alloc_counts(void **state)
{
    (void)state;
    float *x = NULL;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes;
    ASSERT_OK(WEFT_NEW(&x, 1000, WEFT_MEM_WORKSPACE));
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes - before, 4000);
    weft_free(x);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes, before);
}

/* What a room declares is counted by itself and in the total, and its name stands in the refusal. */
static weft_mem_tag cargo[1] = {{.text = "cargo"}};

static void test_alloc_tag_of_a_room(void **state)
{
    (void)state;
    float *x = NULL;
    const weft_mem_usage total = weft_mem_usage_total(), general = weft_mem_usage_of(WEFT_MEM_GENERAL);
    ASSERT_OK(WEFT_NEW(&x, 100, cargo));
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, 400);
    assert_int_equal(weft_mem_usage_total().current_bytes - total.current_bytes, 400);
    assert_int_equal(weft_mem_usage_total().allocations - total.allocations, 1);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_GENERAL).allocations, general.allocations);
    weft_free(x);
    ASSERT_OK(WEFT_NEW(&x, 10, cargo));
    weft_free(x);
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, 0);
    assert_int_equal(weft_mem_usage_of(cargo).peak_bytes, 400);
    assert_int_equal(weft_mem_usage_of(cargo).allocations, 2);
    ASSERT_STATUS(weft_malloc(SIZE_MAX / 2, 4, cargo, (void **)&x), WEFT_ERR_RESOURCE);
    assert_non_null(strstr(weft_error_message(), "cargo"));
}

/* The whole pages of a part of a large block are given back and count no more; its neighbours keep their bytes. */
static void test_alloc_part_is_given_back(void **state)
{
    (void)state;
    const size_t bytes = (size_t)8 << 20, page = 4096;
    char *x = NULL;
    ASSERT_OK(weft_malloc(bytes, 1, cargo, (void **)&x));
    memset(x, 7, bytes);
    weft_free_part(x, page - 1, 5 * page + 1);
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, bytes - 4 * page);
    assert_int_equal(x[page - 1], 7);
    assert_int_equal(x[5 * page], 7);
    weft_free(x);
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, 0);
    ASSERT_OK(weft_malloc(3 * page, 1, cargo, (void **)&x));
    weft_free_part(x, 0, 3 * page);
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, 3 * page);
    weft_free(x);
    assert_int_equal(weft_mem_usage_of(cargo).current_bytes, 0);
}

static void test_alloc_overflow_is_refused(void **state)
{
    (void)state;
    void *x = NULL;
    ASSERT_STATUS(weft_malloc(SIZE_MAX / 2, 4, WEFT_MEM_WORKSPACE, &x), WEFT_ERR_RESOURCE);
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
        cmocka_unit_test(test_alloc_tag_of_a_room),
        cmocka_unit_test(test_alloc_part_is_given_back),
        cmocka_unit_test(test_alloc_overflow_is_refused),
        cmocka_unit_test(test_alloc_failure_can_be_injected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
