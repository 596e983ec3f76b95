/*
 * backend/test_cuda.c: what the backend cuda says where there is no device or no memory, and the order of its copies and
 * operations, on the imitated device (WEFT_CUDA=SHIM), which runs what it was told as late as it may. room: hal
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_architectures), cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_refusals),      cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_order),         cmocka_unit_test(test_long_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
