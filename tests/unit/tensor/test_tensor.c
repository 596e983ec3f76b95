/* Tensors: storage and views, refused shapes, counted cost, and results against hand-written numbers. */
#include "support/test.h"
#include "tensor/tensor_stream.h"

static weft_hal *hal;

static int open_backend(void **state)
{
    (void)state;
    return weft_hal_open("cpu", 2, &hal) == WEFT_OK ? 0 : -1;
}

static int close_backend(void **state)
{
    (void)state;
    weft_hal_close(hal);
    return 0;
}

/* rows x cols with element (i, j) = 10 i + j + first. */
static weft_tensor counted(int64_t rows, int64_t cols, float first)
{
    weft_tensor t;
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F32, rows, cols, WEFT_MEM_GENERAL, &t));
    float *host = calloc((size_t)(rows * cols) + 1, sizeof *host);
    assert_non_null(host);
    for (int64_t i = 0; i < rows * cols; ++i) {
        int64_t row = i / cols;
        host[i] = (float)(10 * row + i % cols) + first;
    }
    ASSERT_OK(tensor_upload(&t, host));
    free(host);
    return t;
}

static void assert_elements(const weft_tensor *t, const float *wanted)
{
    float *host = calloc((size_t)(t->rows * t->cols) + 1, sizeof *host);
    assert_non_null(host);
    ASSERT_OK(tensor_download(t, host));
    for (int64_t i = 0; i < t->rows * t->cols; ++i) {
        ASSERT_NEAR(host[i], wanted[i], 1e-5);
    }
    free(host);
}

static void test_storage_is_counted_and_freed(void **state)
{
    (void)state;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes;
    weft_tensor t;
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F64, 7, 3, WEFT_MEM_ACTIVATION, &t));
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes - before, 7 * 3 * 8);
    tensor_destroy(&t);
    assert_null(t.data);
    tensor_destroy(&t);
    tensor_destroy(NULL);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes, before);
}

static void test_empty_and_absurd_shapes(void **state)
{
    (void)state;
    weft_tensor t;
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F32, 0, 5, WEFT_MEM_GENERAL, &t));
    assert_null(t.data);
    ASSERT_OK(tensor_zero(&t));
    ASSERT_OK(tensor_axpby(1.0, &t, 1.0, &t));
    tensor_destroy(&t);
    ASSERT_STATUS(tensor_create(hal, WEFT_DTYPE_F64, INT64_MAX / 4, 8, WEFT_MEM_GENERAL, &t), WEFT_ERR_RESOURCE);
    ASSERT_STATUS(tensor_create(hal, WEFT_DTYPE_F64, -1, 8, WEFT_MEM_GENERAL, &t), WEFT_ERR_INTERNAL);
    assert_null(t.data);
    weft_alloc_fail_after(1);
    ASSERT_STATUS(tensor_create(hal, WEFT_DTYPE_F32, 4, 4, WEFT_MEM_GENERAL, &t), WEFT_ERR_RESOURCE);
    assert_null(t.data);
}

static void test_views_move_only_their_elements(void **state)
{
    (void)state;
    weft_tensor t = counted(4, 5, 0.0F);
    weft_tensor view = tensor_view(&t, 1, 2, 2, 3);
    assert_int_equal(view.ld, 5);
    assert_false(view.owns);
    assert_elements(&view, (float[]){12, 13, 14, 22, 23, 24});
    ASSERT_OK(tensor_zero(&view));
    assert_elements(&t, (float[]){0, 1, 2, 3, 4, 10, 11, 0, 0, 0, 20, 21, 0, 0, 0, 30, 31, 32, 33, 34});
    ASSERT_OK(tensor_upload(&view, (float[]){1, 2, 3, 4, 5, 6}));
    assert_elements(&t, (float[]){0, 1, 2, 3, 4, 10, 11, 1, 2, 3, 20, 21, 4, 5, 6, 30, 31, 32, 33, 34});
    tensor_destroy(&view); /* a view frees nothing */
    weft_tensor flat = tensor_reshape(&t, 9, 2);
    assert_int_equal(flat.ld, 2);
    weft_tensor last = tensor_view(&flat, 8, 1, 0, 2);
    assert_elements(&last, (float[]){31, 32});
    weft_tensor nothing = tensor_view(&t, 4, 0, 0, 5);
    assert_null(nothing.data);
    tensor_destroy(&t);
}

static void test_operations_by_hand(void **state)
{
    (void)state;
    weft_tensor a = counted(2, 3, 1.0F); /* 1 2 3 / 11 12 13 */
    weft_tensor b = counted(3, 2, 0.0F); /* 0 1 / 10 11 / 20 21 */
    weft_tensor bias = counted(1, 2, 100.0F);
    weft_tensor c = counted(2, 2, 0.0F);
    ASSERT_OK(tensor_gemm(&(tensor_product){.a = &a, .b = &b, .bias = &bias}, &c));
    assert_elements(&c, (float[]){180, 187, 480, 517});
    const tensor_product transposed = {.a = &b, .b = &a, .trans_a = true, .trans_b = true, .beta = 1.0};
    ASSERT_OK(tensor_gemm(&transposed, &c)); /* c += b^T a^T, the transpose of a b */
    assert_elements(&c, (float[]){260, 567, 566, 933});
    weft_tensor sum = counted(1, 2, 0.0F);
    ASSERT_OK(tensor_col_sum(&b, 2.0, &sum));
    assert_elements(&sum, (float[]){30, 35});
    weft_tensor scale = counted(2, 1, 1.0F); /* 1 / 11 */
    ASSERT_OK(tensor_scale_rows(&scale, &a, &a));
    assert_elements(&a, (float[]){1, 2, 3, 121, 132, 143});
    ASSERT_OK(tensor_axpby(-1.0, &a, 0.0, &a));
    ASSERT_OK(tensor_act_forward(&a, true, NULL, &a));
    assert_elements(&a, (float[]){0, 0, 0, 0, 0, 0});
    ASSERT_OK(tensor_act_backward(&b, &b, true, NULL, &b));
    assert_elements(&b, (float[]){0, 1, 10, 11, 20, 21});
    weft_tensor *all[] = {&a, &b, &bias, &c, &sum, &scale};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        tensor_destroy(all[i]);
    }
}

static void test_spmm_by_hand(void **state)
{
    (void)state;
    int64_t offset[] = {0, 2, 3};
    int32_t column[] = {1, 2, 0};
    hal_csr csr = {.rows = 2, .cols = 3, .offset = offset, .column = column};
    hal_spmm *spmm = NULL;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_AUTO, 2, &spmm));
    const tensor_sparse matrix = {.spmm = spmm, .rows = 2, .cols = 3, .entries = 3};
    weft_tensor x = counted(3, 2, 1.0F); /* 1 2 / 11 12 / 21 22 */
    weft_tensor out = counted(2, 2, 0.0F);
    weft_tensor post = counted(2, 1, 1.0F);
    ASSERT_OK(tensor_spmm(&matrix, &x, &(tensor_spmm_terms){.post = &post, .beta = 1.0}, &out));
    assert_elements(&out, (float[]){32, 35, 21, 33});
    hal_cost start = *hal_cost_of_thread();
    ASSERT_OK(tensor_spmm(&matrix, &x, &(tensor_spmm_terms){.post = &post}, &out));
    hal_cost whole = *hal_cost_of_thread();
    for (int slice = 0; slice < 3; ++slice) { /* together they cost what the whole costs */
        ASSERT_OK(tensor_spmm(&matrix, &x, &(tensor_spmm_terms){.post = &post, .slice = slice, .slices = 3}, &out));
    }
    hal_cost sliced = *hal_cost_of_thread();
    ASSERT_NEAR(sliced.flops - whole.flops, whole.flops - start.flops, 0);
    ASSERT_NEAR(sliced.bytes - whole.bytes, whole.bytes - start.bytes, 0);
    ASSERT_STATUS(tensor_spmm(&matrix, &x, &(tensor_spmm_terms){.pre = &post, .beta = 1.0}, &out), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("pre is 2 x 1, must be 3 x 1");
    ASSERT_STATUS(tensor_spmm(&matrix, &out, &(tensor_spmm_terms){.beta = 1.0}, &out), WEFT_ERR_INTERNAL);
    hal->sparse.spmm_destroy(hal, spmm);
    tensor_destroy(&x);
    tensor_destroy(&out);
    tensor_destroy(&post);
}

static void test_wrong_shapes_are_refused(void **state)
{
    (void)state;
    weft_tensor a = counted(2, 3, 0.0F);
    weft_tensor b = counted(2, 3, 0.0F);
    weft_tensor c = counted(2, 2, 0.0F);
    weft_tensor vector = counted(1, 3, 0.0F);
    ASSERT_STATUS(tensor_gemm(&(tensor_product){.a = &a, .b = &b}, &c), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("b is 2 x 3, must be 3 x 2");
    ASSERT_OK(tensor_gemm(&(tensor_product){.a = &a, .b = &b, .trans_b = true}, &c));
    ASSERT_STATUS(tensor_gemm(&(tensor_product){.a = &a, .b = &b, .bias = &vector, .trans_b = true}, &c),
                  WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("bias");
    ASSERT_STATUS(tensor_axpby(1.0, &a, 1.0, &c), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("x is 2 x 3, must be 2 x 2");
    ASSERT_STATUS(tensor_col_sum(&a, 0.0, &c), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(tensor_scale_rows(&vector, &a, &a), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(tensor_act_forward(&a, true, NULL, &c), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(tensor_act_backward(&a, &c, true, NULL, &a), WEFT_ERR_INTERNAL);
    weft_tensor *all[] = {&a, &b, &c, &vector};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        tensor_destroy(all[i]);
    }
}

static void test_other_types_and_backends_are_refused(void **state)
{
    (void)state;
    weft_hal *other = NULL;
    ASSERT_OK(weft_hal_open("ref", 1, &other));
    weft_tensor a = counted(2, 3, 0.0F);
    weft_tensor wide;
    weft_tensor elsewhere;
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F64, 2, 3, WEFT_MEM_GENERAL, &wide));
    ASSERT_OK(tensor_create(other, WEFT_DTYPE_F32, 2, 3, WEFT_MEM_GENERAL, &elsewhere));
    ASSERT_STATUS(tensor_axpby(1.0, &wide, 0.0, &a), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("x is float64, the result is float32");
    ASSERT_STATUS(tensor_axpby(1.0, &elsewhere, 0.0, &a), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("backend ref");
    tensor_destroy(&a);
    tensor_destroy(&wide);
    tensor_destroy(&elsewhere);
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_I32, 2, 3, WEFT_MEM_GENERAL, &a));
    ASSERT_STATUS(tensor_axpby(1.0, &a, 0.0, &a), WEFT_ERR_UNSUPPORTED);
    tensor_destroy(&a);
    weft_hal_close(other);
}

static void test_cost_is_counted(void **state)
{
    (void)state;
    weft_tensor a = counted(8, 3, 0.0F);
    weft_tensor b = counted(3, 5, 0.0F);
    weft_tensor c = counted(8, 5, 0.0F);
    hal_cost before = *hal_cost_of_thread();
    ASSERT_OK(tensor_gemm(&(tensor_product){.a = &a, .b = &b, .beta = 1.0}, &c));
    hal_cost after = *hal_cost_of_thread();
    ASSERT_NEAR(after.flops - before.flops, 2 * 8 * 5 * 3, 0);
    ASSERT_NEAR(after.bytes - before.bytes, 4 * (24 + 15 + 2 * 40), 0);
    tensor_destroy(&a);
    tensor_destroy(&b);
    tensor_destroy(&c);
}

/* Rows of the host's memory come in two blocks in turn, on a device that copies as late as it may. */
static void test_streams_by_hand(void **state)
{
    (void)state;
    const float host[5][2] = {{0, 1}, {10, 11}, {20, 21}, {30, 31}, {40, 41}};
    weft_hal *device = NULL;
    tensor_stream stream;
    weft_tensor here[3];
    ASSERT_OK(weft_hal_open(test_device("shadow:ref"), 1, &device));
    ASSERT_OK(tensor_stream_create(device, WEFT_DTYPE_F32, 5, 2, 2, WEFT_MEM_GENERAL, &stream));
    ASSERT_OK(tensor_upload(&stream.rows, host));
    weft_tensor second = tensor_view(&stream.rows, 0, 5, 1, 1);
    weft_tensor column;
    ASSERT_OK(tensor_create(device, WEFT_DTYPE_F32, 5, 1, WEFT_MEM_GENERAL, &column));
    ASSERT_OK(tensor_stream_upload(&second, &column));
    assert_elements(&column, (float[]){1, 11, 21, 31, 41});
    ASSERT_OK(tensor_axpby(2.0, &column, 0.0, &column));
    ASSERT_OK(tensor_stream_download(&column, &second));
    tensor_destroy(&column);
    for (int i = 0; i < 3; ++i) {
        weft_tensor rows = tensor_view(&stream.rows, 2 * i, i < 2 ? 2 : 1, 0, 2);
        ASSERT_OK(tensor_stream_bring(&stream, &rows, &here[i]));
    }
    assert_true(here[0].data == here[2].data && here[0].data != here[1].data);
    assert_int_equal(here[2].rows, 1);
    assert_elements(&here[1], (float[]){20, 42, 30, 62});
    assert_elements(&here[2], (float[]){40, 82});
    ASSERT_STATUS(tensor_axpby(1.0, &stream.rows, 0.0, &stream.block[0]), WEFT_ERR_INTERNAL);
    tensor_stream_destroy(&stream);
    tensor_stream_destroy(&stream);
    assert_int_equal(tensor_stream_block_rows(WEFT_DTYPE_F32, 1 << 20, 100), 41728);
    assert_int_equal(tensor_stream_block_rows(WEFT_DTYPE_F32, 1 << 20, 1 << 20), 256);
    assert_int_equal(tensor_stream_block_rows(WEFT_DTYPE_F32, 20000, 100), 2304);
    assert_int_equal(tensor_stream_block_rows(WEFT_DTYPE_F32, 0, 100), 256);
    ASSERT_STATUS(tensor_stream_create(device, WEFT_DTYPE_F32, INT64_MAX / 4, 8, 2, WEFT_MEM_GENERAL, &stream),
                  WEFT_ERR_RESOURCE);
    tensor_stream_destroy(&stream);
    weft_status status = WEFT_ERR_RESOURCE;
    for (int n = 1; status != WEFT_OK; ++n) { /* whatever cannot be taken */
        weft_alloc_fail_after(n);
        status = tensor_stream_create(device, WEFT_DTYPE_F32, 5, 2, 2, WEFT_MEM_GENERAL, &stream);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || (status == WEFT_ERR_RESOURCE && n < 20));
        tensor_stream_destroy(&stream);
    }
    weft_hal_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_is_counted_and_freed),
        cmocka_unit_test(test_empty_and_absurd_shapes),
        cmocka_unit_test(test_views_move_only_their_elements),
        cmocka_unit_test(test_operations_by_hand),
        cmocka_unit_test(test_spmm_by_hand),
        cmocka_unit_test(test_wrong_shapes_are_refused),
        cmocka_unit_test(test_other_types_and_backends_are_refused),
        cmocka_unit_test(test_streams_by_hand),
        cmocka_unit_test(test_cost_is_counted),
    };
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
