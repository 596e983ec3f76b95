/* Memory bandwidth, the settings of a host read from an imitated /proc and /sys, and hwloc's tree in words. */
#include <sys/stat.h>

#include "base/file.h"
#include "machine/host_settings.h"
#include "machine/library.h"
#include "machine/placement.h"
#include "machine/placement_memory.h"
#include "machine/stream.h"
#include "machine/topology_summary.h"
#include "support/test.h"

static void test_rates(void **state)
{
    (void)state;
    stream_rates rates;
    int node[4];
    stream_request request = {.threads = 2, .array_bytes = 4 << 20, .thread_node = -1, .memory_node = -1};
    ASSERT_OK(stream_measure(&request, &rates));
    assert_true(rates.read > 1e7 && rates.read < 1e13 && rates.triad > 1e7 && rates.triad < 1e13);
    assert_true(memory_nodes(node, 4) >= 1);
    request.memory_node = node[0];
    const weft_status status = stream_measure(&request, &rates);
    assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE); /* a container may forbid memory policies */
    request.memory_node = -1;
    request.thread_node = 4095; /* nobody is there */
    ASSERT_OK(stream_measure(&request, &rates));
    assert_true(rates.read == 0.0 && rates.triad == 0.0);
}

static void test_sets(void **state)
{
    (void)state;
    double small, large, none, rows;
    stream_request request = {.threads = 2, .thread_node = -1, .memory_node = -1};
    ASSERT_OK(stream_measure_set(&request, 8 << 10, 0, &small));
    ASSERT_OK(stream_measure_set(&request, 64 << 20, 0, &large));
    assert_true(small > 1e7 && small < 1e13 && large > 1e7 && large < 1e13);
    ASSERT_OK(stream_measure_set(&request, 0, 0, &none)); /* one word */
    assert_true(none > 1e7);
    for (size_t row = 4; row <= 4096; row *= 8) { /* a part of a line, and up to 64 */
        ASSERT_OK(stream_measure_set(&request, 100 << 10, row, &rows));
        assert_true(rows > 1e7 && rows < 1e13);
    }
    request.thread_node = 4095; /* nobody is there */
    ASSERT_OK(stream_measure_set(&request, 8 << 10, 0, &none));
    assert_true(none == 0.0);
}

static void test_sizes(void **state)
{
    (void)state;
    const size_t mib = (size_t)1 << 20;
    assert_int_equal(stream_array_bytes(0, 1), 16 * mib);
    assert_true(stream_array_bytes(8 * mib, 1) <= 32 * mib && stream_array_bytes((uint64_t)1 << 40, 1) <= 192 * mib);
    assert_true(stream_array_bytes((uint64_t)1 << 40, 64) == 16 * mib);
}

static void put(const char *root, const char *folder, const char *name, const char *text)
{
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/%s", root, folder));
    ASSERT_OK(folder_make(path));
    ASSERT_OK(file_path(path, "%s/%s/%s", root, folder, name));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_settings(void **state)
{
    (void)state;
    char root[] = "/tmp/weft_settings_XXXXXX";
    host_settings s;
    assert_non_null(mkdtemp(root));
    host_settings_read(root, &s); /* nothing there: unknown */
    assert_true(s.governor[0] == '\0' && s.mhz == 0.0 && s.mhz_most == 0.0 && !s.virtual_machine);
    assert_true(s.huge_pages[0] == '\0');
    put(root, "sys/devices/system/cpu/cpu0/cpufreq", "scaling_governor", "powersave\n");
    put(root, "sys/devices/system/cpu/cpu0/cpufreq", "cpuinfo_max_freq", "3500000\n");
    put(root, "proc", "cpuinfo",
        "processor\t: 0\ncpu MHz\t\t: 1000.000\nflags\t\t: fpu hypervisor avx2\n\nprocessor\t: 1\ncpu MHz\t\t: "
        "2000.000\n");
    put(root, "sys/kernel/mm/transparent_hugepage", "enabled", "always madvise [never]\n");
    host_settings_read(root, &s);
    assert_string_equal(s.governor, "powersave");
    assert_float_equal(s.mhz_most, 3500.0, 1e-9);
    assert_float_equal(s.mhz, 1500.0, 1e-9);
    assert_true(s.virtual_machine);
    assert_string_equal(s.huge_pages, "never");
    put(root, "sys/kernel/mm/transparent_hugepage", "enabled", "always [madvise\n"); /* cut */
    host_settings_read(root, &s);
    assert_string_equal(s.huge_pages, "");
    ASSERT_OK(folder_remove(root));
}

static void test_summary(void **state)
{
    (void)state;
    char text[512];
    ASSERT_OK(topology_summary(WEFT_SOURCE_DIR "/tests/data/topology_2x4x2_mcdram.xml", text, sizeof text));
    assert_non_null(strstr(text, "2 Package"));
    assert_non_null(strstr(text, "8 Core"));
    assert_non_null(strstr(text, "16 PU"));
    char brief[16];
    ASSERT_OK(topology_summary(NULL, brief, sizeof brief)); /* cut, not overrun */
    assert_true(strlen(brief) < sizeof brief);
    ASSERT_STATUS(topology_summary("/nonexistent.xml", text, sizeof text), WEFT_ERR_DATA);
}

static void test_libraries(void **state)
{
    (void)state;
    char version[160];
    int count = 0;
    for (; machine_library(count, version, sizeof version) != NULL; count++) {
        assert_true(version[0] != '\0');
    }
    assert_int_equal(count, 3);
    assert_null(machine_library(-1, version, sizeof version));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),    cmocka_unit_test(test_sets),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_summary), cmocka_unit_test(test_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
