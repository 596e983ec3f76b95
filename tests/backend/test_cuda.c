/*
 * backend/test_cuda.c: what the backend cuda says where there is no device or no memory, and the order of its copies
 * and operations, on the imitated device (WEFT_CUDA=SHIM), which runs what it was told as late as it may. room: hal
 */
#include <math.h>

#include "base/alloc.h"
#include "hal/cuda/cuda_devices.h"
#include "hal/hal.h"
#include "support/test.h"

enum { COUNT = 1000, ROUNDS = 7 };

static void open_device(const char *resource, const char *devices, const char *memory, weft_hal **hal,
                        weft_status expected)
{
    assert_int_equal(setenv("WEFT_CUDA_SHIM_DEVICES", devices, 1), 0);
    assert_int_equal(setenv("WEFT_CUDA_SHIM_MEMORY", memory, 1), 0);
    *hal = NULL;
    assert_int_equal(weft_hal_open(resource, 1, hal), expected);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *resource, *devices;
        weft_status status;
        const char *told;
    } cases[] = {{"cuda", "0", WEFT_ERR_UNSUPPORTED, "take the backend cpu"},
                 {"cuda:2", "2", WEFT_ERR_UNSUPPORTED, "there are 2 GPUs, 0 to 1"},
                 {"cuda:one", "1", WEFT_ERR_USAGE, "the number of a GPU"},
                 {"cuda:-1", "1", WEFT_ERR_USAGE, "the number of a GPU"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        weft_hal *hal;
        open_device(cases[i].resource, cases[i].devices, "1000000000", &hal, cases[i].status);
        assert_null(hal);
        assert_non_null(strstr(weft_error_message(), cases[i].told));
        weft_error_clear();
    }
}

static void test_memory(void **state)
{
    (void)state;
    weft_hal *hal;
    void *all, *more = &all;
    open_device("cuda:1", "2", "100000000", &hal, WEFT_OK);
    ASSERT_OK(hal->mem.alloc(hal, 80000000, WEFT_MEM_GENERAL, &all));
    assert_int_equal(hal->mem.alloc(hal, 30000000, WEFT_MEM_GENERAL, &more), WEFT_ERR_RESOURCE);
    assert_null(more);
    assert_non_null(strstr(weft_error_message(), "30000000 bytes"));
    assert_non_null(strstr(weft_error_message(), "GPU 1"));
    weft_error_clear();
    hal->mem.free(hal, all);
    ASSERT_OK(hal->mem.alloc(hal, 90000000, WEFT_MEM_GENERAL, &all));
    hal->mem.free(hal, all);
    weft_hal_close(hal);
}

/* Halves of one matrix go up, are scaled and come down round after round, through the same memory of both sides. */
static void test_order(void **state)
{
    (void)state;
    weft_hal *hal;
    void *device, *up, *down;
    hal_event *done;
    const size_t bytes = COUNT * sizeof(float);
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    ASSERT_OK(hal->mem.alloc(hal, 2 * bytes, WEFT_MEM_GENERAL, &device));
    ASSERT_OK(hal->mem.alloc_host(hal, 2 * bytes, WEFT_MEM_GENERAL, &up));
    ASSERT_OK(hal->mem.alloc_host(hal, 2 * bytes, WEFT_MEM_GENERAL, &down));
    ASSERT_OK(hal->stream.create(hal, &done));
    ASSERT_OK(hal->mem.zero(hal, device, 2 * bytes));
    float *from = up, *to = down;
    double expected[2 * COUNT] = {0.0};
    for (int round = 0; round < ROUNDS; ++round) {
        const int half = round % 2;
        float *at = (float *)device + half * COUNT;
        for (int i = 0; i < COUNT; ++i) {
            from[half * COUNT + i] = (float)(i + 10 * round);
            expected[half * COUNT + i] = i + 10 * round;
        }
        ASSERT_OK(hal->mem.upload_async(hal, at, from + half * COUNT, bytes));
        const hal_mat whole = hal_row_of(device, WEFT_DTYPE_F32, 2 * (int64_t)COUNT);
        ASSERT_OK(hal_axpby(hal, &(hal_axpby_args){.x = whole, .y = whole, .alpha = 2.0}));
        ASSERT_OK(hal->mem.download_async(hal, to, device, 2 * bytes));
        ASSERT_OK(hal->stream.record(hal, done));
        if (round == 0) { /* late: nothing has asked for it */
            assert_true(to[1] != (float)(2 * expected[1]));
        }
        ASSERT_OK(hal->stream.wait(hal, done));
        for (int i = 0; i < 2 * COUNT; ++i) {
            expected[i] *= 2.0;
            assert_true(to[i] == (float)expected[i]);
        }
    }
    hal->stream.destroy(hal, done);
    hal->mem.free_host(hal, up);
    hal->mem.free_host(hal, down);
    hal->mem.free(hal, device);
    weft_hal_close(hal);
}

/* More than both pieces of staging memory hold. */
static void test_long_copies(void **state)
{
    (void)state;
    enum { LONG = 5 * 1000 * 1000 + 3 };
    weft_hal *hal;
    void *a, *b;
    int32_t *host = malloc(LONG * sizeof *host);
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    assert_non_null(host);
    for (int i = 0; i < LONG; ++i) {
        host[i] = i * 7;
    }
    ASSERT_OK(hal->mem.alloc(hal, LONG * sizeof *host, WEFT_MEM_GENERAL, &a));
    ASSERT_OK(hal->mem.alloc(hal, LONG * sizeof *host, WEFT_MEM_GENERAL, &b));
    ASSERT_OK(hal->mem.upload(hal, a, host, LONG * sizeof *host));
    memset(host, 0, LONG * sizeof *host); /* the caller's again */
    ASSERT_OK(hal->mem.copy(hal, b, a, LONG * sizeof *host));
    ASSERT_OK(hal->mem.zero(hal, a, LONG * sizeof *host));
    ASSERT_OK(hal->mem.download(hal, host, b, LONG * sizeof *host));
    for (int i = 0; i < LONG; ++i) {
        assert_int_equal(host[i], i * 7);
    }
    ASSERT_OK(hal->mem.download(hal, host, a, LONG * sizeof *host));
    assert_int_equal(host[LONG - 1], 0);
    hal->mem.free(hal, a);
    hal->mem.free(hal, b);
    free(host);
    weft_hal_close(hal);
}

/* Rows that lie apart on the device: many in a piece of staging memory, and each longer than one. What lies between
 * them stays as it was. */
static void test_rows(void **state)
{
    (void)state;
    const hal_rows shape[] = {{.rows = 300007, .bytes = 12, .stride = 28},
                              {.rows = 3, .bytes = 4194308, .stride = 4194400}};
    weft_hal *hal;
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    for (size_t s = 0; s < sizeof shape / sizeof *shape; ++s) {
        const hal_rows rows = shape[s];
        const size_t all = (size_t)rows.rows * rows.stride;
        const size_t packed = (size_t)rows.rows * rows.bytes;
        unsigned char *host = malloc(packed);
        unsigned char *seen = malloc(all);
        void *device = NULL;
        assert_true(host != NULL && seen != NULL);
        for (size_t i = 0; i < packed; ++i) {
            host[i] = (unsigned char)(1 + i % 251);
        }
        ASSERT_OK(hal->mem.alloc(hal, all, WEFT_MEM_GENERAL, &device));
        ASSERT_OK(hal->mem.zero(hal, device, all));
        ASSERT_OK(hal->mem.upload_rows(hal, device, host, rows));
        memset(host, 0, packed); /* the caller's again */
        ASSERT_OK(hal->mem.download(hal, seen, device, all));
        for (size_t i = 0; i < all; ++i) {
            const size_t row = i / rows.stride;
            const size_t at = i % rows.stride;
            assert_int_equal(seen[i], at < rows.bytes ? 1 + (row * rows.bytes + at) % 251 : 0);
        }
        ASSERT_OK(hal->mem.download_rows(hal, host, device, rows));
        for (size_t i = 0; i < packed; ++i) {
            assert_int_equal(host[i], 1 + i % 251);
        }
        memset(seen, 7, all);
        ASSERT_OK(hal->mem.upload(hal, device, seen, all));
        ASSERT_OK(hal->mem.zero_rows(hal, device, rows));
        ASSERT_OK(hal->mem.download(hal, seen, device, all));
        for (size_t i = 0; i < all; ++i) {
            assert_int_equal(seen[i], i % rows.stride < rows.bytes ? 0 : 7);
        }
        hal->mem.free(hal, device);
        free(host);
        free(seen);
    }
    weft_hal_close(hal);
}

/* ---- memory that is foretold ------------------------------------------------------------------------------------- */

/* Bytes that a device which is opened for it takes beside what it is given. */
static uint64_t workspace(void)
{
    return weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes;
}

static void *filled(weft_hal *hal, size_t bytes)
{
    void *device = NULL;
    ASSERT_OK(hal->mem.alloc(hal, bytes, WEFT_MEM_GENERAL, &device));
    ASSERT_OK(hal->mem.zero(hal, device, bytes));
    return device;
}

enum { MANY = 1500, HUB = 1400 };

/* Some rows are long, one of them of nearly all columns. */
static hal_csr long_rows(void)
{
    static int64_t offset[MANY + 1];
    static int32_t column[MANY * 4 + 4 * HUB];
    int64_t at = 0;
    for (int64_t r = 0; r < MANY; ++r) {
        const int64_t length = r == 3 ? HUB : r % 500 == 7 ? 514 : r % 4;
        for (int64_t e = 0; e < length; ++e) {
            column[at++] = (int32_t)((r + e) % MANY);
        }
        offset[r + 1] = at;
    }
    return (hal_csr){.rows = MANY, .cols = MANY, .offset = offset, .column = column};
}

/* A run on a device of its own takes what was foretold, or less; without a factor rows are read in packs, or in
 * strips. */
static void expect_spmm(weft_dtype dtype, int64_t d, bool factor)
{
    weft_hal *hal;
    hal_spmm *spmm = NULL;
    const hal_csr csr = long_rows();
    const int64_t edges = csr.offset[MANY];
    const size_t bytes = (size_t)(MANY * d) * weft_dtype_bytes(dtype);
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_AUTO, d, &spmm));
    assert_true(hal->sparse.spmm_info(hal, spmm).bytes <= hal->sparse.spmm_bytes(hal, MANY, edges, false));
    void *x = filled(hal, bytes), *out = filled(hal, bytes), *pre = filled(hal, MANY * weft_dtype_bytes(dtype));
    const uint64_t before = workspace();
    ASSERT_OK(hal_spmm_run(hal, &(hal_spmm_run_args){.matrix = spmm,
                                                     .x = hal_mat_from(x, dtype, MANY, d, d),
                                                     .pre = hal_column_from(pre, dtype, factor ? MANY : 0),
                                                     .out = hal_mat_of(out, dtype, MANY, d, d)}));
    const uint64_t took = workspace() - before;
    const hal_scratch_shape shape = {
        .op = HAL_OP_spmm_run, .dtype = dtype, .rows = MANY, .cols = d, .sources = MANY, .edges = edges};
    assert_true(took > 0);
    if (took > hal->mem.scratch(hal, &shape)) {
        fail_msg("%ld columns: %lu bytes where %lu were foretold", (long)d, (unsigned long)took,
                 (unsigned long)hal->mem.scratch(hal, &shape));
    }
    hal->sparse.spmm_destroy(hal, spmm);
    hal->mem.free(hal, x);
    hal->mem.free(hal, out);
    hal->mem.free(hal, pre);
    weft_hal_close(hal);
}

/* Gradients of weights are cut into pieces. */
static void expect_gemm(weft_dtype dtype, int64_t m, int64_t n)
{
    weft_hal *hal;
    enum { TERMS = 5001 };
    const size_t cell = weft_dtype_bytes(dtype);
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    void *a = filled(hal, (size_t)(TERMS * m) * cell), *b = filled(hal, (size_t)(TERMS * n) * cell);
    void *c = filled(hal, (size_t)(m * n) * cell);
    const uint64_t before = workspace();
    ASSERT_OK(hal_gemm(hal, &(hal_gemm_args){.a = hal_mat_from(a, dtype, TERMS, m, m),
                                             .b = hal_mat_from(b, dtype, TERMS, n, n),
                                             .c = hal_mat_of(c, dtype, m, n, n),
                                             .trans_a = true,
                                             .alpha = 1.0}));
    const uint64_t took = workspace() - before;
    const hal_scratch_shape shape = {.op = HAL_OP_gemm, .dtype = dtype, .rows = m, .cols = n, .terms = TERMS};
    assert_true(took > 0 && took <= hal->mem.scratch(hal, &shape));
    hal->mem.free(hal, a);
    hal->mem.free(hal, b);
    hal->mem.free(hal, c);
    weft_hal_close(hal);
}

enum { SIDE = 6, CONV_SIZES = 2 };

/* Both directions of a convolution take what was foretold when it was prepared, to the byte, and nothing when it is
 * asked. */
static void expect_conv(int64_t in, int64_t out, int64_t kernel, bool bias)
{
    weft_hal *hal;
    hal_conv *conv;
    static const int64_t images[CONV_SIZES] = {4, 7};
    const hal_conv_shape shape = {.height = SIDE,
                                  .width = SIDE,
                                  .in = in,
                                  .out = out,
                                  .groups = 1,
                                  .kernel = {kernel, kernel},
                                  .stride = {1, 1},
                                  .dilation = {1, 1},
                                  .pad = {{kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}},
                                  .dtype = WEFT_DTYPE_F32,
                                  .bias = bias,
                                  .training = true,
                                  .backward_data = true};
    const int64_t pixels = images[1] * SIDE * SIDE, terms = in * kernel * kernel;
    const size_t cell = sizeof(float);
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    void *x = filled(hal, (size_t)(pixels * in) * cell), *y = filled(hal, (size_t)(pixels * out) * cell);
    void *weight = filled(hal, (size_t)(out * terms) * cell), *vector = filled(hal, (size_t)out * cell);
    const uint64_t before = workspace();
    const hal_scratch_shape asked = {
        .op = HAL_OP_conv_forward, .dtype = WEFT_DTYPE_F32, .conv = &shape, .images = images, .sizes = CONV_SIZES};
    const uint64_t foretold = hal->mem.scratch(hal, &asked);
    assert_int_equal(workspace(), before);
    ASSERT_OK(hal->image.conv_create(hal, &shape, images, CONV_SIZES, &conv));
    const hal_mat none = {.dtype = WEFT_DTYPE_F32};
    const hal_mat of_x = hal_mat_of(x, WEFT_DTYPE_F32, pixels, in, in);
    const hal_mat of_y = hal_mat_of(y, WEFT_DTYPE_F32, pixels, out, out);
    const hal_mat of_weight = hal_mat_of(weight, WEFT_DTYPE_F32, out, terms, terms);
    const hal_mat of_bias = bias ? hal_row_of(vector, WEFT_DTYPE_F32, out) : none;
    ASSERT_OK(hal_conv_forward(
        hal, &(hal_conv_forward_args){.x = of_x, .weight = of_weight, .bias = of_bias, .y = of_y, .conv = conv}));
    ASSERT_OK(hal_conv_backward_weights(
        hal, &(hal_conv_backward_weights_args){
                 .x = of_x, .dy = of_y, .dweight = of_weight, .dbias = of_bias, .conv = conv}));
    ASSERT_OK(hal_conv_backward_data(
        hal, &(hal_conv_backward_data_args){.dy = of_y, .weight = of_weight, .dx = of_x, .conv = conv}));
    hal->image.conv_destroy(hal, conv);
    const uint64_t took = workspace() - before;
    if (took == 0 || took != foretold) {
        fail_msg("convolution %ld -> %ld, %ld x %ld: %lu bytes where %lu were foretold", (long)in, (long)out,
                 (long)kernel, (long)kernel, (unsigned long)took, (unsigned long)foretold);
    }
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
    hal->mem.free(hal, weight);
    hal->mem.free(hal, vector);
    weft_hal_close(hal);
}

/* The k largest of a vector that begins behind a border, by a device that was asked for `most` of them or fewer. */
static void expect_selection(int64_t elements, int64_t k, int64_t most, bool exact)
{
    weft_hal *hal;
    open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
    float *x = filled(hal, (size_t)(elements + 3) * sizeof *x);
    void *index = filled(hal, (size_t)k * sizeof(int32_t)), *value = filled(hal, (size_t)k * sizeof(float));
    const uint64_t before = workspace();
    ASSERT_OK(hal_select_largest(hal, &(hal_select_largest_args){.x = hal_row_of(x + 3, WEFT_DTYPE_F32, elements),
                                                                 .index = hal_row_of(index, WEFT_DTYPE_I32, k),
                                                                 .value = hal_row_of(value, WEFT_DTYPE_F32, k)}));
    const uint64_t took = workspace() - before;
    const hal_scratch_shape shape = {
        .op = HAL_OP_select_largest, .dtype = WEFT_DTYPE_F32, .rows = 1, .cols = elements, .selected = most};
    const uint64_t foretold = hal->mem.scratch(hal, &shape);
    if (took == 0 || took > foretold || (exact && took != foretold)) {
        fail_msg("%ld of %ld: %lu bytes where %lu were foretold", (long)k, (long)elements, (unsigned long)took,
                 (unsigned long)foretold);
    }
    hal->mem.free(hal, x);
    hal->mem.free(hal, index);
    hal->mem.free(hal, value);
    weft_hal_close(hal);
}

/* Factorisations by the imitated library (an even number of columns) and by kernels of our own. */
static void expect_factors(int64_t n)
{
    enum { MATRICES = 3 };
    const int64_t m = 2 * n + 1;
    const hal_op ops[] = {HAL_OP_potrf, HAL_OP_potri, HAL_OP_potrs, HAL_OP_syevd, HAL_OP_geqrf};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        weft_hal *hal;
        const int64_t rows = ops[i] == HAL_OP_geqrf ? m : n;
        open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
        double *of_a = filled(hal, (size_t)(MATRICES * rows * n) * sizeof *of_a);
        double *of_x = filled(hal, (size_t)(MATRICES * n * n) * sizeof *of_x);
        double *of_values = filled(hal, (size_t)(MATRICES * n) * sizeof *of_values);
        const hal_mat a = hal_mat_of(of_a, WEFT_DTYPE_F64, MATRICES * rows, n, n);
        const hal_mat x = hal_mat_of(of_x, WEFT_DTYPE_F64, MATRICES * n, n, n);
        const hal_mat values = hal_mat_of(of_values, WEFT_DTYPE_F64, MATRICES, n, n);
        const hal_mat info = hal_mat_of(filled(hal, MATRICES * sizeof(int32_t)), WEFT_DTYPE_I32, MATRICES, 1, 1);
        const uint64_t before = workspace();
        switch (ops[i]) {
        case HAL_OP_potrf:
            ASSERT_OK(hal_potrf(hal, &(hal_potrf_args){.a = a, .info = info}));
            break;
        case HAL_OP_potri:
            ASSERT_OK(hal_potri(hal, &(hal_potri_args){.a = a}));
            break;
        case HAL_OP_potrs:
            ASSERT_OK(hal_potrs(hal, &(hal_potrs_args){.a = a, .x = x}));
            break;
        case HAL_OP_syevd:
            ASSERT_OK(hal_syevd(hal, &(hal_syevd_args){.a = a, .vectors = x, .values = values, .info = info}));
            break;
        default:
            ASSERT_OK(hal_geqrf(hal, &(hal_geqrf_args){.a = a, .r = x, .info = info}));
        }
        const uint64_t took = workspace() - before;
        const hal_scratch_shape shape = {
            .op = ops[i], .dtype = WEFT_DTYPE_F64, .rows = MATRICES * rows, .cols = n, .terms = m};
        if (took != hal->mem.scratch(hal, &shape)) {
            fail_msg("factorisation %zu of %ld columns: %lu bytes where %lu were foretold", i, (long)n,
                     (unsigned long)took, (unsigned long)hal->mem.scratch(hal, &shape));
        }
        hal->mem.free(hal, of_a);
        hal->mem.free(hal, of_x);
        hal->mem.free(hal, of_values);
        hal->mem.free(hal, info.data);
        weft_hal_close(hal);
    }
}

static void test_foretold(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 8, 30, 64, 131};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i) {
        expect_spmm(WEFT_DTYPE_F32, widths[i], true);
        expect_spmm(WEFT_DTYPE_F32, widths[i], false);
        expect_spmm(WEFT_DTYPE_F64, widths[i], true);
    }
    expect_gemm(WEFT_DTYPE_F32, 16, 16); /* an odd sum of sizes: not the library's */
    expect_gemm(WEFT_DTYPE_F32, 100, 48);
    expect_gemm(WEFT_DTYPE_F64, 130, 70);
    expect_factors(8);
    expect_factors(9);
    expect_conv(3, 4, 3, true); /* of these the imitated cuDNN makes one number of images each */
    expect_conv(4, 4, 3, false);
    expect_conv(8, 16, 1, true); /* products */
    expect_conv(7, 16, 1, true);
    enum {
        LONG_VECTOR = 300000,
        LISTED = (LONG_VECTOR / 4 - (1 << 15)) / 3 /* the most that have a list of candidates */
    };
    expect_selection(LONG_VECTOR, 1, 1, true);
    expect_selection(LONG_VECTOR, LISTED, LISTED, true);
    expect_selection(LONG_VECTOR, LISTED, LONG_VECTOR, true); /* fewer take more */
    expect_selection(LONG_VECTOR, LISTED + 1, LISTED + 1, false);
    expect_selection(1000, 10, 10, true);
}

/* A library that refuses what it was prepared for is left out: the same bits as without it, and the name says so. */
static void test_refusing_library(void **state)
{
    (void)state;
    enum { PIXELS = 2 * 5 * 4, CHANNELS = 3, OUT = 7, TERMS = CHANNELS * 3 * 3 };
    static const char *const settings[][2] = {{"takes", "off"}, {"refuses", "on"}, {"takes", "on"}};
    const hal_conv_shape shape = {.height = 5,
                                  .width = 4,
                                  .in = CHANNELS,
                                  .out = OUT,
                                  .groups = 1,
                                  .kernel = {3, 3},
                                  .stride = {1, 1},
                                  .dilation = {1, 1},
                                  .pad = {{1, 1}, {1, 1}},
                                  .dtype = WEFT_DTYPE_F32,
                                  .add = true};
    float x[PIXELS * CHANNELS], weight[OUT * TERMS], y[3][PIXELS * OUT];
    const int64_t images = 2; /* an even sum: the imitation takes it */
    for (int i = 0; i < PIXELS * CHANNELS; ++i) {
        x[i] = sinf((float)i);
    }
    for (int i = 0; i < OUT * TERMS; ++i) {
        weight[i] = cosf((float)i);
    }
    for (int s = 0; s < 3; ++s) {
        weft_hal *hal;
        hal_conv *conv;
        void *on[3];
        const float *const from[3] = {x, weight, y[s]};
        const size_t bytes[3] = {sizeof x, sizeof weight, sizeof y[s]};
        assert_int_equal(setenv("WEFT_CUDA_SHIM_DNN", settings[s][0], 1), 0);
        assert_int_equal(setenv("WEFT_CUDNN", settings[s][1], 1), 0);
        open_device("cuda", "1", "1000000000", &hal, WEFT_OK);
        ASSERT_OK(hal->image.conv_create(hal, &shape, &images, 1, &conv));
        assert_int_equal(strcmp(hal->image.conv_info(hal, conv).forward, "cuDNN imitated") == 0, s > 0);
        memset(y[s], 0, sizeof y[s]);
        for (int i = 0; i < 3; ++i) {
            ASSERT_OK(hal->mem.alloc(hal, bytes[i], WEFT_MEM_GENERAL, &on[i]));
            ASSERT_OK(hal->mem.upload(hal, on[i], from[i], bytes[i]));
        }
        ASSERT_OK(hal_conv_forward(
            hal, &(hal_conv_forward_args){.x = hal_mat_of(on[0], WEFT_DTYPE_F32, PIXELS, CHANNELS, CHANNELS),
                                          .weight = hal_mat_of(on[1], WEFT_DTYPE_F32, OUT, TERMS, TERMS),
                                          .y = hal_mat_of(on[2], WEFT_DTYPE_F32, PIXELS, OUT, OUT),
                                          .conv = conv}));
        ASSERT_OK(hal->mem.download(hal, y[s], on[2], sizeof y[s]));
        assert_int_equal(strcmp(hal->image.conv_info(hal, conv).forward, "cuDNN imitated") == 0, s == 2);
        for (int i = 0; i < 3; ++i) {
            hal->mem.free(hal, on[i]);
        }
        hal->image.conv_destroy(hal, conv);
        weft_hal_close(hal);
    }
    assert_memory_equal(y[1], y[0], sizeof y[0]);
    for (int i = 0; i < PIXELS * OUT; ++i) {
        assert_true(fabsf(y[2][i] - y[0][i]) < 1e-5F);
    }
    assert_int_equal(unsetenv("WEFT_CUDA_SHIM_DNN"), 0);
    assert_int_equal(unsetenv("WEFT_CUDNN"), 0);
}

/* What code runs where, by the rules of CUDA's programming guide. */
static void test_architectures(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int major, minor;
        bool runs;
    } cases[] = {{"60-real 61-real 70-real 90", 6, 0, true},
                 {"61-real 70-real", 6, 0, false}, /* machine code runs on its version and later minor ones */
                 {"60-real", 6, 1, true},
                 {"60-real 61-real 70-real", 7, 5, true},
                 {"60-real 61-real 70-real", 8, 0, false},
                 {"60-real 70-virtual", 8, 0, true}, /* intermediate code on every later one */
                 {"90", 10, 0, true},
                 {"90", 8, 9, false},
                 {"75-real 80-real 90-real 100", 7, 0, false},
                 {"90a", 9, 0, true}, /* of one version alone */
                 {"90a", 10, 0, false},
                 {"native", 6, 1, true},
                 {"70-virtual", 7, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (cuda_list_runs(cases[i].list, cases[i].major, cases[i].minor) != cases[i].runs) {
            fail_msg("%s on %d.%d", cases[i].list, cases[i].major, cases[i].minor);
        }
    }
}

/* Devices as they are told of, and a backend that shares its device's memory. */
static void test_devices(void **state)
{
    (void)state;
    hal_device device;
    int count = 0;
    assert_int_equal(setenv("WEFT_CUDA_SHIM_DEVICES", "3", 1), 0);
    assert_int_equal(setenv("WEFT_CUDA_SHIM_CAPABILITY", "86", 1), 0);
    assert_int_equal(setenv("WEFT_CUDA_SHIM_MEMORY", "50000000", 1), 0);
    ASSERT_OK(hal_devices_count(&count));
    assert_int_equal(count, 3);
    ASSERT_OK(hal_device_describe(2, true, &device));
    assert_string_equal(device.place, "0000:0c:00.0");
    assert_int_equal(device.major * 10 + device.minor, 86);
    assert_true(device.compiled);
    assert_int_equal(device.peers, 3);
    assert_int_equal(device.total, 50000000);
    assert_int_equal(hal_device_describe(3, false, &device), WEFT_ERR_UNSUPPORTED);
    weft_error_clear();
    assert_int_equal(setenv("WEFT_CUDA_SHIM_CAPABILITY", "61", 1), 0);
    weft_hal *hal;
    open_device("cuda", "1", "50000000", &hal, WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_message(), "CMAKE_CUDA_ARCHITECTURES=61"));
    weft_error_clear();
    assert_int_equal(unsetenv("WEFT_CUDA_SHIM_CAPABILITY"), 0);
    open_device("cuda", "1", "50000000", &hal, WEFT_OK);
    void *some;
    size_t left, total;
    ASSERT_OK(hal->mem.alloc(hal, 20000000, WEFT_MEM_GENERAL, &some));
    ASSERT_OK(hal->mem.room(hal, &left, &total));
    assert_int_equal(left, 30000000);
    assert_int_equal(total, 50000000);
    hal->mem.free(hal, some);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_architectures), cmocka_unit_test(test_devices), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_order),   cmocka_unit_test(test_refusing_library),
        cmocka_unit_test(test_long_copies),   cmocka_unit_test(test_rows),    cmocka_unit_test(test_foretold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
