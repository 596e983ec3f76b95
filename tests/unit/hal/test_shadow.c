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
    assert_false(hal_host_visible(hal));
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

static weft_status idle_axpby(weft_hal *inner, const hal_axpby_args *args)
{
    (void)inner, (void)args;
    return WEFT_OK;
}

static hal_mat mat(float *x, int64_t rows, int64_t cols, int64_t ld)
{
    return hal_mat_of(x, WEFT_DTYPE_F32, rows, cols, ld);
}

/* y = alpha x */
static weft_status axpby(hal_mat x, hal_mat y, double alpha)
{
    return hal_axpby(hal, &(hal_axpby_args){.x = x, .y = y, .alpha = alpha});
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
    ASSERT_OK(axpby(mat(x, 2, 2, 2), mat(y, 2, 2, 3), 2.0));
    ASSERT_OK(hal->mem.download(hal, host, y, sizeof host));
    const float wanted[6] = {2, 4, 3, 6, 8, 6};
    assert_memory_equal(host, wanted, sizeof host);
    weft_hal saved = *inner_backend();
    inner_backend()->op.axpby = idle_axpby;
    ASSERT_OK(axpby(mat(x, 2, 2, 2), mat(y, 2, 2, 3), 2.0));
    ASSERT_OK(hal->stream.sync(hal));
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
    ASSERT_STATUS(axpby(mat(x, 3, 3, 4), mat(y, 3, 3, 4), 1.0), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("x of axpby");
    ASSERT_STATUS(axpby(mat(host, 2, 3, 4), mat(y, 2, 3, 4), 1.0), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("not memory of this device");
    assert_int_equal(signal_of(read_first, y), SIGSEGV); /* refused operations leave nothing open */
    assert_int_equal(signal_of(read_first, x), SIGSEGV);
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
}

static weft_status writing_axpby(weft_hal *inner, const hal_axpby_args *args)
{
    (void)inner;
    *(volatile float *)args->x.data = 1.0F;
    return WEFT_OK;
}

static float *unnamed;

static weft_status straying_axpby(weft_hal *inner, const hal_axpby_args *args)
{
    (void)inner, (void)args;
    *(volatile float *)unnamed = 1.0F;
    return WEFT_OK;
}

/* The signal that ends a child in which `op` is the axpby below the shadow; it follows an operation that wrote to
 * `written`, in the same run of the queue. The inner backend is swapped for the test. */
static int signal_of_axpby(weft_status (*op)(weft_hal *, const hal_axpby_args *), float *x, float *y, float *written)
{
    weft_hal saved = *inner_backend();
    inner_backend()->op.axpby = op;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        (void)hal->mem.zero(hal, written, 64);
        (void)axpby(mat(x, 1, 4, 4), mat(y, 1, 4, 4), 1.0);
        (void)hal->stream.sync(hal);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    *inner_backend() = saved;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Writing to a const operand faults, and to what is no operand, also where the operation before was let write there. */
static void test_operations_are_held_to_their_operands(void **state)
{
    (void)state;
    float *x = device_floats(16);
    float *y = device_floats(16);
    unnamed = device_floats(16);
    ASSERT_OK(hal->mem.zero(hal, x, 64));
    ASSERT_OK(hal->stream.sync(hal));
    assert_int_equal(signal_of_axpby(writing_axpby, x, y, y), SIGSEGV);
    assert_int_equal(signal_of_axpby(writing_axpby, x, y, x), SIGSEGV);
    assert_int_equal(signal_of_axpby(straying_axpby, x, y, y), SIGSEGV);
    assert_int_equal(signal_of_axpby(straying_axpby, x, y, unnamed), SIGSEGV);
    assert_int_equal(signal_of_axpby(idle_axpby, x, y, unnamed), 0); /* the child itself is sound */
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
    hal->mem.free(hal, unnamed);
}

/* ---- late completion --------------------------------------------------------------------------------------------- */

static float *staging_floats(size_t count)
{
    void *host = NULL;
    ASSERT_OK(hal->mem.alloc_host(hal, count * sizeof(float), WEFT_MEM_GENERAL, &host));
    return host;
}

/* A download that nobody waited for has brought nothing but poison; each event brings what was called before it. */
static void test_results_wait_for_their_event(void **state)
{
    (void)state;
    float *x = device_floats(4);
    float *y = device_floats(4);
    float *first = staging_floats(4);
    float *second = staging_floats(4);
    hal_event *event = NULL;
    float values[4] = {1, 2, 3, 4};
    unsigned char poison[4 * sizeof(float)];
    memset(poison, 0xA5, sizeof poison);
    ASSERT_OK(hal->stream.create(hal, &event));
    ASSERT_OK(hal->mem.upload(hal, x, values, sizeof values));
    memset(values, 0, sizeof values); /* the caller's at once */
    ASSERT_OK(axpby(mat(x, 1, 4, 4), mat(y, 1, 4, 4), 2.0));
    ASSERT_OK(hal->mem.download_async(hal, first, y, sizeof values));
    ASSERT_OK(hal->stream.record(hal, event));
    ASSERT_OK(axpby(mat(y, 1, 4, 4), mat(x, 1, 4, 4), 10.0));
    ASSERT_OK(hal->mem.download_async(hal, second, x, sizeof values));
    assert_memory_equal(first, poison, sizeof poison);
    ASSERT_OK(hal->stream.wait(hal, event));
    assert_memory_equal(first, ((float[]){2, 4, 6, 8}), sizeof values);
    assert_memory_equal(second, poison, sizeof poison);
    ASSERT_OK(hal->stream.sync(hal));
    assert_memory_equal(second, ((float[]){20, 40, 60, 80}), sizeof values);
    hal->stream.destroy(hal, event);
    hal->mem.free_host(hal, first);
    hal->mem.free_host(hal, second);
    hal->mem.free(hal, x);
    hal->mem.free(hal, y);
}

/* Staging memory that changes before its upload was waited for is an error at the wait, told once. */
static void test_changed_staging_is_told(void **state)
{
    (void)state;
    float *x = device_floats(4);
    float *host = staging_floats(4);
    memset(host, 0, 4 * sizeof *host);
    ASSERT_OK(hal->mem.upload_async(hal, x, host, 4 * sizeof *host));
    host[2] = 1.0F;
    ASSERT_STATUS(hal->stream.sync(hal), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("16 bytes of host memory changed between an upload and the wait for it");
    ASSERT_OK(hal->stream.sync(hal));
    hal->mem.free_host(hal, host);
    hal->mem.free(hal, x);
}

/* More than the queue and its memory hold: the order stays. */
static void test_full_queue_keeps_the_order(void **state)
{
    (void)state;
    enum { ROUNDS = 700, LARGE = 300000 };
    float *x = device_floats(1);
    float *sum = device_floats(1);
    float *large = device_floats(LARGE);
    float *host = calloc(LARGE, sizeof *host);
    float result = 0.0F;
    assert_non_null(host);
    ASSERT_OK(hal->mem.zero(hal, sum, sizeof result));
    for (int i = 1; i <= ROUNDS; ++i) {
        float value = (float)i;
        ASSERT_OK(hal->mem.upload(hal, x, &value, sizeof value));
        const hal_axpby_args add = {.x = mat(x, 1, 1, 1), .y = mat(sum, 1, 1, 1), .alpha = 1.0, .beta = 1.0};
        ASSERT_OK(hal_axpby(hal, &add));
    }
    for (int i = 0; i < 3; ++i) { /* 1.2 MB each */
        host[LARGE - 1] = (float)i;
        ASSERT_OK(hal->mem.upload(hal, large, host, LARGE * sizeof *host));
    }
    host[LARGE - 1] = 9.0F;
    ASSERT_OK(hal->mem.download(hal, &result, large + LARGE - 1, sizeof result));
    ASSERT_NEAR(result, 2.0, 0);
    ASSERT_OK(hal->mem.download(hal, &result, sum, sizeof result));
    ASSERT_NEAR(result, ROUNDS * (ROUNDS + 1) / 2.0, 0);
    free(host);
    hal->mem.free(hal, x);
    hal->mem.free(hal, sum);
    hal->mem.free(hal, large);
}

/* Many blocks, freed in another order, and one left over for close. */
static void test_blocks_come_and_go(void **state)
{
    (void)state;
    weft_hal *other = NULL;
    ASSERT_OK(weft_hal_open("shadow:ref", 1, &other));
    uint64_t before = weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes;
    void *block[200];
    for (size_t i = 0; i < 200; ++i) {
        ASSERT_OK(other->mem.alloc(other, 1 + i * 37, WEFT_MEM_WORKSPACE, &block[i]));
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
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_access_faults),
        cmocka_unit_test(test_missing_upload_is_nan),
        cmocka_unit_test(test_outputs_are_poisoned),
        cmocka_unit_test(test_extents_are_checked),
        cmocka_unit_test(test_operations_are_held_to_their_operands),
        cmocka_unit_test(test_blocks_come_and_go),
        cmocka_unit_test(test_results_wait_for_their_event),
        cmocka_unit_test(test_changed_staging_is_told),
        cmocka_unit_test(test_full_queue_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, open_shadow, close_shadow);
}
