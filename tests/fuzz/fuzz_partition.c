/*
 * Fuzz target: what lies beside a store as a kept partition. Up to the first zero byte: report.json; behind it:
 * edge_part.npy, or, when there is nothing, a good one. And parts of vertices from elsewhere: behind a first byte 1 a
 * text, behind a first byte 2 a partition book, up to the first zero byte, and the array that it may name, array.npy.
 * Seeds: tests/fuzz/make_seeds DIR.
 */
#include <sys/stat.h>

#include "fuzz/fuzz_support.h"
#include "io/npy.h"
#include "partition/given/given_parts.h"
#include "partition/partition.h"

enum { VERTICES = 4, EDGES = 6, STATED_LIMIT = 16 << 20 };

static const char *folder;
static char kept[FILE_PATH_MAX];

static void put_array(const char *name, int64_t count)
{
    static const uint16_t part[EDGES] = {0, 1, 2, 0, 1, 2};
    char path[FILE_PATH_MAX];
    if (file_path(path, "%s/%s", kept, name) != WEFT_OK || npy_write(path, 'u', 2, 1, &count, part) != WEFT_OK) {
        abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    snprintf(kept, sizeof kept, "%s/partition-random-3-0", folder);
    if (mkdir(kept, 0700) != 0) {
        abort();
    }
    put_array("root.npy", VERTICES);
    return 0;
}

static void read_given(const char *name)
{
    char path[FILE_PATH_MAX], key[33];
    uint16_t part[VERTICES];
    if (file_path(path, "%s/%s", folder, name) != WEFT_OK) {
        abort();
    }
    (void)given_parts_identity(path, key);
    if (given_parts_read(path, VERTICES, 3, part) == WEFT_OK) {
        for (int v = 0; v < VERTICES; v++) {
            if (part[v] >= 3) {
                abort();
            }
        }
    }
    fuzz_check_memory(STATED_LIMIT);
}

static void test_given(const uint8_t *data, size_t size)
{
    if (data[0] == 1) {
        fuzz_put(folder, "text", data + 1, size - 1);
        read_given("text");
        return;
    }
    const uint8_t *zero = memchr(data + 1, 0, size - 1);
    const size_t text = zero != NULL ? (size_t)(zero - data) - 1 : size - 1;
    fuzz_put(folder, "array.npy", zero != NULL ? zero + 1 : data, zero != NULL ? size - text - 2 : 0);
    fuzz_put(folder, "book.json", data + 1, text);
    read_given("book.json");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && (data[0] == 1 || data[0] == 2)) {
        test_given(data, size);
        return 0;
    }
    const weft_graph graph = {
        .vertices = VERTICES, .edges = EDGES, .name = "g", .hash = "00000000000000000000000000000000"};
    const partition_options options = {.method = "random", .parts = 3, .seed = 0, .balance = 1.1, .threads = 1};
    weft_partition partition = {0};
    partition_report report;
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t text = zero != NULL ? (size_t)(zero - data) : size;
    fuzz_put(kept, "report.json", data, text);
    if (zero != NULL) {
        fuzz_put(kept, "edge_part.npy", zero + 1, size - text - 1);
    } else {
        put_array("edge_part.npy", EDGES);
    }
    if (partition_load(folder, &graph, &options, &partition, &report) == WEFT_OK) {
        for (int e = 0; e < EDGES; e++) {
            if (partition.edge_part[e] >= 3) {
                abort();
            }
        }
        if (report.rows_per_layer < 0 || report.empty_parts < 0) {
            abort();
        }
        partition_destroy(&partition);
    }
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
