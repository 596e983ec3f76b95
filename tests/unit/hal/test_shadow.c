/* The shadow device catches what a real device would: host access, missing uploads, writes to inputs, wrong extents. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "hal/hal.h"
#include "support/test.h"

static weft_hal *hal;

static int open_shadow(void **state)
{
    (void)state;
    log_set_level(LOG_QUIET);
    return weft_hal_open("shadow", 2, &hal) == WEFT_OK ? 0 : -1;
}

static int close_shadow(void **state)
{
    (void)state;
    weft_hal_close(hal);
    return 0;
}

static float *device_floats(size_t count)
{
    void *device = NULL;
    ASSERT_OK(hal->mem.alloc(hal, count * sizeof(float), WEFT_MEM_GENERAL, &device));
    return device;
}

/* The signal that ends a child which runs `touch`, 0 when it lives. */
static int signal_of(void (*touch)(volatile float *), volatile float *device)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer or of cmocka */
        touch(device);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_first(volatile float *device)
{
    (void)*device;
}

static void write_first(volatile float *device)
{
    *device = 1.0F;
}

static void test_host_access_faults(void **state)
{
    (void)state;
    float *device = device_floats(100);
    assert_false(hal->mem.host_visible);
    assert_int_equal(signal_of(read_first, device), SIGSEGV);
    assert_int_equal(signal_of(write_first, device), SIGSEGV);
    ASSERT_OK(hal->mem.zero(hal, device, 400)); /* closed again after an operation */
    assert_int_equal(signal_of(read_first, device), SIGSEGV);
    float own = 0.0F;
    assert_int_equal(signal_of(write_first, &own), 0); /* the child itself is sound */
    hal->mem.free(hal, device);
}

static void test_missing_upload_is_nan(void **state)
{
    (void)state;
    float *device = device_floats(64);
    float host[64] = {0};
    ASSERT_OK(hal->mem.download(hal, host, device, sizeof host));
    for (int i = 0; i < 64; ++i) {
        assert_true(isnan(host[i]));
    }
    ASSERT_OK(hal->mem.upload(hal, device, (float[]){3.0F}, sizeof(float)));
    ASSERT_OK(hal->mem.download(hal, host, device, sizeof host));
    ASSERT_NEAR(host[0], 3.0, 0);
    assert_true(isnan(host[1]));
    hal->mem.free(hal, device);
}

static weft_status idle_axpby(weft_hal *inner, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                              int64_t ldx, double beta, void *y, int64_t ldy)
{
    (void)inner, (void)dtype, (void)m, (void)n, (void)alpha, (void)x, (void)ldx, (void)beta, (void)y, (void)ldy;
    return WEFT_OK;
}

/* The backend below the shadow: the first member of its state. */
static weft_hal *inner_backend(void)
{
    return *(weft_hal **)hal->state;
}

/* What an operation forgets to write is NaN, whatever stood there before; what lies between rows is kept. */
static void test_outputs_are_poisoned(void **state)
{
    (void)state;
    float *x = device_floats(4);
    float *y = device_floats(6);
    float host[6] = {1, 2, 3, 4, 5, 6};
    ASSERT_OK(hal->mem.upload(hal, x, host, 4 * sizeof(float)));
    ASSERT_OK(hal->mem.upload(hal, y, host, 6 * sizeof(float)));
    ASSERT_OK(hal->dense.axpby(hal, WEFT_DTYPE_F32, 2, 2, 2.0, x, 2, 0.0, y, 3));
    ASSERT_OK(hal->mem.download(hal, host, y, sizeof host));
    const float wanted[6] = {2, 4, 3, 6, 8, 6};
    assert_memory_equal(host, wanted, sizeof host);
    weft_hal saved = *inner_backend();
    inner_backend()->dense.axpby = idle_axpby;
    ASSERT_OK(hal->dense.axpby(hal, WEFT_DTYPE_F32, 2, 2, 2.0, x, 2, 0.0, y, 3));
    *inner_backend() = saved;
    ASSERT_OK(hal->mem.download(hal, host, y, sizeof host));
    assert_true(isnan(host[0]) && isnan(host[1]) && isnan(host[3]) && isnan(host[4]));
    ASSERT_NEAR(host[2], 3.0, 0);
    ASSERT_NEAR(host[5], 6.0, 0);
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
}

static void test_extents_are_checked(void **state)
{
    (void)state;
    float *x = device_floats(10);
    float *y = device_floats(10);
    float host[16] = {0};
    ASSERT_OK(hal->mem.zero(hal, x, 40));
    ASSERT_STATUS(hal->mem.zero(hal, x, 41), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("takes 41 bytes at offset 0 of a block of 40");
    ASSERT_STATUS(hal->mem.upload(hal, x + 8, host, 12), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(hal->dense.axpby(hal, WEFT_DTYPE_F32, 3, 3, 1.0, x, 4, 0.0, y, 4), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("x of axpby");
    ASSERT_STATUS(hal->dense.axpby(hal, WEFT_DTYPE_F32, 2, 3, 1.0, host, 4, 0.0, y, 4), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("not memory of this device");
    assert_int_equal(signal_of(read_first, y), SIGSEGV); /* refused operations leave nothing open */
    assert_int_equal(signal_of(read_first, x), SIGSEGV);
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
}

static weft_status writing_axpby(weft_hal *inner, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                                 int64_t ldx, double beta, void *y, int64_t ldy)
{
    (void)inner, (void)dtype, (void)m, (void)n, (void)alpha, (void)ldx, (void)beta, (void)y, (void)ldy;
    *(volatile float *)(uintptr_t)x = 1.0F;
    return WEFT_OK;
}

/* An operation that writes to a const operand faults. The inner backend is swapped below the shadow for the test. */
static void test_inputs_are_read_only(void **state)
{
    (void)state;
    weft_hal saved = *inner_backend();
    float *x = device_floats(16);
    float *y = device_floats(16);
    ASSERT_OK(hal->mem.zero(hal, x, 64));
    inner_backend()->dense.axpby = writing_axpby;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        (void)hal->dense.axpby(hal, WEFT_DTYPE_F32, 1, 4, 1.0, x, 4, 0.0, y, 4);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    *inner_backend() = saved;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
}

/* Many blocks, freed in another order, and one left over for close. */
static void test_blocks_come_and_go(void **state)
{
    (void)state;
    weft_hal *other = NULL;
    ASSERT_OK(weft_hal_open("shadow:ref", 1, &other));
    uint64_t before = weft_mem_usage_of(WEFT_MEM_FEATURE).current_bytes;
    void *block[200];
    for (size_t i = 0; i < 200; ++i) {
        ASSERT_OK(other->mem.alloc(other, 1 + i * 37, WEFT_MEM_FEATURE, &block[i]));
        assert_int_equal((uintptr_t)block[i] % 64, 0);
    }
    for (size_t i = 0; i < 199; ++i) {
        size_t at = i * 83 % 199;
        ASSERT_OK(other->mem.zero(other, block[at], 1 + at * 37));
        other->mem.free(other, block[at]);
    }
    other->mem.free(other, NULL);
    other->mem.free(other, block); /* logged, not fatal */
    weft_hal_close(other);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_FEATURE).current_bytes, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_access_faults),   cmocka_unit_test(test_missing_upload_is_nan),
        cmocka_unit_test(test_outputs_are_poisoned), cmocka_unit_test(test_extents_are_checked),
        cmocka_unit_test(test_inputs_are_read_only), cmocka_unit_test(test_blocks_come_and_go),
    };
    return cmocka_run_group_tests(tests, open_shadow, close_shadow);
}
