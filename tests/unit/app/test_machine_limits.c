/* Machine limits: what is kept comes back, and a file of another machine, or a damaged one, is refused. */
#include <unistd.h>

#include "app/setup/machine_limits.h"
#include "support/test.h"

static limits_key key_of_ant(void)
{
    return (limits_key){.host = "ant", .cpu = "Some \"CPU\" (R)", .backend = "cpu", .ranks = 2, .threads = 8};
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_round_trip(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft_limits_XXXXXX";
    char path[FILE_PATH_MAX];
    const limits_key key = key_of_ant();
    const machine_limits written = {.read = 4.125e10, .triad = 1.0 / 3.0 * 1e11, .gemm = 9e11, .others = 0.75};
    machine_limits read = {0};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    ASSERT_OK(limits_path(&key, path));
    assert_non_null(strstr(path, "/weft/machine-"));
    ASSERT_STATUS(limits_read(path, &key, &read), WEFT_ERR_NOINPUT);
    ASSERT_OK(limits_write(path, &key, &written));
    ASSERT_OK(limits_read(path, &key, &read));
    assert_memory_equal(&read, &written, sizeof read);

    /* Another number of threads has another file, and does not take this one. */
    limits_key other = key;
    char other_path[FILE_PATH_MAX];
    other.threads = 4;
    ASSERT_OK(limits_path(&other, other_path));
    assert_string_not_equal(path, other_path);
    ASSERT_STATUS(limits_read(path, &other, &read), WEFT_ERR_DATA);
    other = key;
    snprintf(other.host, sizeof other.host, "bee");
    ASSERT_STATUS(limits_read(path, &other, &read), WEFT_ERR_DATA);
    ASSERT_MESSAGE("\"host\" is \"ant\", here it is \"bee\"");
    ASSERT_OK(folder_remove(folder));
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{\"format\": \"weft-machine 0\"}", "{\"format\": 7}",
                                        "{\"format\": "};
    char path[] = "/tmp/weft_limits_XXXXXX";
    const limits_key key = key_of_ant();
    machine_limits limits = {.read = 1.0, .triad = 2.0, .gemm = 3.0};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(path, texts[i]);
        ASSERT_STATUS(limits_read(path, &key, &limits), WEFT_ERR_DATA);
    }
    const machine_limits zero = {.read = 1e9, .triad = 0.0, .gemm = 1e9};
    ASSERT_OK(limits_write(path, &key, &zero));
    ASSERT_STATUS(limits_read(path, &key, &limits), WEFT_ERR_DATA);
    ASSERT_MESSAGE("triad_bytes_per_s");
    assert_true(limits.read == 1.0 && limits.triad == 2.0 && limits.gemm == 3.0); /* untouched */
    unlink(path);
}

/* The product that is timed is a product: on the reference backend its rate is known to be modest, and positive. */
static void test_measure(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    double flops = 0.0;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    ASSERT_OK(limits_measure_gemm(hal, &flops));
    assert_true(flops > 1e7 && flops < 1e13);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
