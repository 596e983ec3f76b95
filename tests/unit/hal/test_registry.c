/* Opening backends: names, arguments, refusals, and that no slot is empty. */
#include "hal/core/fill_slots.h"
#include "hal/devices.h"
#include "hal/hal.h"
#include "hal/table/op_table.h"
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
    for (int op = 0; op < HAL_OPS; ++op) {
        assert_true(weft_hal_supports(hal, (hal_op)op));
    }
    assert_true(hal->sparse.spmm_create != NULL && hal->sparse.spmm_destroy != NULL && hal->sparse.spmm_info != NULL);
    assert_true(hal->image.conv_create != NULL && hal->image.conv_destroy != NULL && hal->image.conv_info != NULL);
    assert_true(hal->mem.alloc != NULL && hal->mem.free != NULL && hal->mem.upload != NULL);
    assert_true(hal->mem.download != NULL && hal->mem.copy != NULL && hal->mem.zero != NULL);
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

/* A device whose memory the host must not touch and which has nothing else. */
static weft_status foreign_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    (void)hal, (void)bytes, (void)tag;
    *device = NULL;
    return WEFT_OK;
}

/* Every operation is refused by its name, in front of operands that would end the process if they were followed. */
static void test_foreign_memory_never_reaches_ref(void **state)
{
    (void)state;
    weft_hal hal = {.name = "tiny", .threads = 1, .mem = {.alloc = foreign_alloc}};
    hal_fill_slots(&hal);
    for (int op = 0; op < HAL_OPS; ++op) {
        _Alignas(16) char args[1024];
        char wanted[96];
        memset(args, 0x5a, sizeof args);
        assert_true(hal_op_args_bytes((hal_op)op) <= sizeof args);
        assert_false(weft_hal_supports(&hal, (hal_op)op));
        ASSERT_STATUS(hal_op_call(&hal, (hal_op)op, args), WEFT_ERR_UNSUPPORTED);
        snprintf(wanted, sizeof wanted, "backend tiny: no operation %s", hal_op_name((hal_op)op));
        assert_string_equal(weft_error_message(), wanted);
    }
    hal_spmm *spmm = NULL;
    ASSERT_STATUS(hal.sparse.spmm_create(&hal, &(hal_csr){.rows = 0}, HAL_SPMM_AUTO, 1, &spmm), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("backend tiny: no operation spmm_create");
    assert_null(spmm);
    hal_conv *conv = NULL;
    ASSERT_STATUS(hal.image.conv_create(&hal, &(hal_conv_shape){.in = 1}, NULL, 0, &conv), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("backend tiny: no operation conv_create");
    assert_null(conv);
}

/* On memory that the host sees, ref fills what is missing and what is there stays. */
static weft_status own_axpby(weft_hal *hal, const hal_axpby_args *args)
{
    (void)hal, (void)args;
    return WEFT_STOPPED;
}

static void test_visible_memory_is_served_by_ref(void **state)
{
    (void)state;
    weft_hal hal = {.name = "tiny", .threads = 1, .op = {.axpby = own_axpby}};
    hal_fill_slots(&hal);
    float x[2] = {1.0F, 2.0F};
    float sum = 0.0F;
    assert_true(hal.op.axpby == own_axpby);
    for (int op = 0; op < HAL_OPS; ++op) {
        assert_true(weft_hal_supports(&hal, (hal_op)op));
    }
    ASSERT_OK(hal_col_sum(&hal, &(hal_col_sum_args){.x = hal_mat_of(x, WEFT_DTYPE_F32, 2, 1, 1),
                                                    .out = hal_row_of(&sum, WEFT_DTYPE_F32, 1)}));
    assert_true(sum == 3.0F);
}

/* Types are an operand's own; what ref and cpu do not have is refused with all of them. */
static void test_mixed_types_are_refused(void **state)
{
    (void)state;
    static const char *const resources[] = {"ref", "cpu", "shadow"};
    for (size_t r = 0; r < sizeof resources / sizeof resources[0]; ++r) {
        weft_hal *hal = NULL;
        void *device = NULL;
        ASSERT_OK(weft_hal_open(resources[r], 1, &hal));
        ASSERT_OK(hal->mem.alloc(hal, 256, WEFT_MEM_GENERAL, &device));
        hal_gemm_args args = {.a = hal_mat_of(device, WEFT_DTYPE_F32, 2, 2, 2),
                              .b = hal_mat_of(device, WEFT_DTYPE_F16, 2, 2, 2),
                              .c = hal_mat_of(device, WEFT_DTYPE_F32, 2, 2, 2),
                              .alpha = 1.0};
        ASSERT_STATUS(hal_gemm(hal, &args), WEFT_ERR_UNSUPPORTED);
        assert_string_equal(weft_error_message(), "gemm: no operation on a float32, b float16, c float32");
        args.a.dtype = WEFT_DTYPE_I8;
        args.b.dtype = WEFT_DTYPE_I8;
        args.c.dtype = WEFT_DTYPE_I8;
        ASSERT_STATUS(hal_gemm(hal, &args), WEFT_ERR_UNSUPPORTED);
        assert_string_equal(weft_error_message(), "gemm: no operation on a int8, b int8, c int8");
        hal_gather_rows_args rows = {.x = hal_mat_of(device, WEFT_DTYPE_F32, 2, 2, 2),
                                     .index = hal_column_from(device, WEFT_DTYPE_I64, 2),
                                     .y = hal_mat_of(device, WEFT_DTYPE_F32, 2, 2, 2)};
        ASSERT_STATUS(hal_gather_rows(hal, &rows), WEFT_ERR_UNSUPPORTED);
        ASSERT_MESSAGE("gather_rows: no operation on x float32, index int64, y float32");
        const hal_mat bytes = hal_mat_of(device, WEFT_DTYPE_U8, 2, 2, 2);
        const hal_mat floats = hal_mat_of(device, WEFT_DTYPE_F32, 2, 2, 2);
        const hal_mat doubles = hal_mat_of(device, WEFT_DTYPE_F64, 2, 2, 2);
        hal_reduce_args sum = {.left = bytes, .right = bytes, .to = bytes, .reduction = HAL_SUM};
        ASSERT_STATUS(hal_reduce(hal, &sum), WEFT_ERR_UNSUPPORTED);
        ASSERT_MESSAGE("reduce: no operation on left uint8, right uint8, to uint8");
        sum.right = floats;
        sum.reduction = HAL_MAX;
        ASSERT_STATUS(hal_reduce(hal, &sum), WEFT_ERR_UNSUPPORTED);
        ASSERT_STATUS(hal_cast(hal, &(hal_cast_args){.x = floats, .y = doubles}), WEFT_ERR_UNSUPPORTED);
        ASSERT_MESSAGE("cast: no operation on x float32, y float64");
        const hal_mat halves = hal_mat_of(device, WEFT_DTYPE_F16, 2, 2, 2);
        ASSERT_STATUS(hal_cast(hal, &(hal_cast_args){.x = floats, .y = halves, .add = true}), WEFT_ERR_UNSUPPORTED);
        hal->mem.free(hal, device);
        weft_hal_close(hal);
    }
    assert_int_equal(weft_dtype_bytes(WEFT_DTYPE_BF16), 2);
    assert_int_equal(weft_dtype_bytes(WEFT_DTYPE_F16), 2);
    assert_int_equal(weft_dtype_bytes(WEFT_DTYPE_I8), 1);
}

/* Of a machine whose devices nobody knows: one of two. */
static void test_auto_takes_what_there_is(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    assert_true(hal_backend_is_auto("auto") && !hal_backend_is_auto("cpu") && !hal_backend_has_devices("auto"));
    assert_true(hal_backend_has_devices("cuda:1") && !hal_backend_has_devices("cudart"));
    ASSERT_OK(weft_hal_open("auto", 1, &hal));
    assert_true(strcmp(hal->name, hal_host_visible(hal) ? HAL_BACKEND_HOST : HAL_BACKEND_DEVICES) == 0);
    weft_hal_close(hal);
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
                const hal_span own = hal_split_rows(rows, parts, i);
                assert_int_equal(own.begin, next);
                assert_in_range(own.end - own.begin, rows / parts, rows / parts + 1);
                next = own.end;
            }
            assert_int_equal(next, rows);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_backend_is_complete),
        cmocka_unit_test(test_foreign_memory_never_reaches_ref),
        cmocka_unit_test(test_visible_memory_is_served_by_ref),
        cmocka_unit_test(test_mixed_types_are_refused),
        cmocka_unit_test(test_auto_takes_what_there_is),
        cmocka_unit_test(test_wrong_names_are_refused),
        cmocka_unit_test(test_failed_allocations_leave_nothing),
        cmocka_unit_test(test_rows_are_split_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
