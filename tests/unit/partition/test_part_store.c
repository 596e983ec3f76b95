/* Parts on disk: what is kept is what was cut, and what is damaged or foreign is cut again. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "io/npy.h"
#include "partition/part_store.h"
#include "support/edge_weights.h"
#include "support/folder.h"
#include "support/graphs.h"
#include "support/same_part.h"
#include "support/test.h"

static partition_options options_of(const char *method, int parts)
{
    return (partition_options){.method = method, .parts = parts, .seed = 3, .balance = 1.2, .threads = 2};
}

/* Partition, cut and keep every part; then read each. */
static void keep_and_compare(void **state, test_graph *g, const char *method, int parts)
{
    const partition_options options = options_of(method, parts);
    weft_partition partition;
    partition_report report;
    ASSERT_OK(partition_compute(&g->graph, &options, &partition, &report));
    ASSERT_OK(partition_save(*state, &g->graph, &partition, &report, &options));
    for (int p = 0; p < parts; p++) {
        weft_part cut, kept;
        const part_layout layout = (part_layout)(p % 2);
        ASSERT_OK(part_extract(&g->graph, &partition, p, NULL, layout, &cut));
        ASSERT_STATUS(part_load(*state, &g->graph, &options, p, false, layout, &kept), WEFT_ERR_NOINPUT);
        ASSERT_OK(part_save(*state, &g->graph, &options, &cut, false));
        ASSERT_OK(part_load(*state, &g->graph, &options, p, false, layout, &kept));
        same_part(&cut, &kept);
        part_destroy(&kept);
        ASSERT_STATUS(part_load(*state, &g->graph, &options, p, true, layout, &kept), WEFT_ERR_NOINPUT);
        ASSERT_STATUS(part_load(*state, &g->graph, &options, p, false, (part_layout)(1 - p % 2), &kept),
                      WEFT_ERR_NOINPUT);
        part_destroy(&cut);
    }
    partition_destroy(&partition);
}

static void test_round_trip(void **state)
{
    for (int i = 1; i < TEST_GRAPHS; i++) {
        const char *name;
        test_graph g = test_graph_case(i, &name);
        char hash[33];
        file_hash(name, strlen(name), hash); /* each has parts of its own in the one folder */
        memcpy(g.graph.hash, hash, sizeof hash);
        keep_and_compare(state, &g, i % 2 == 0 ? "libra" : "random", 3);
        test_graph_free(&g);
    }
}

/* Facts and arrays of a part that an earlier run cut by itself: all but its file's time. */
static void test_all_at_once(void **state)
{
    for (int i = 1; i < TEST_GRAPHS; i++) {
        const char *name;
        test_graph g = test_graph_case(i, &name);
        const partition_options options = options_of("random", 1 + i);
        weft_partition partition;
        partition_report report;
        float *weight = i < TEST_GRAPHS - 1 ? test_weights(&g.graph) : NULL; /* the last one has edges twice */
        g.graph.weight = weight;
        ASSERT_OK(partition_compute(&g.graph, &options, &partition, &report));
        ASSERT_OK(partition_save(*state, &g.graph, &partition, &report, &options));
        ASSERT_OK(part_keep_all(*state, &g.graph, &options, &partition));
        for (int p = 0; p < options.parts; p++) {
            weft_part cut, kept;
            ASSERT_OK(part_extract(&g.graph, &partition, p, NULL, PART_IN_ORDER, &cut));
            ASSERT_OK(part_load(*state, &g.graph, &options, p, false, PART_IN_ORDER, &kept));
            same_part(&cut, &kept);
            part_destroy(&kept);
            part_destroy(&cut);
        }
        partition_destroy(&partition);
        free(weight);
        test_graph_free(&g);
    }
}

/* What the thread that writes meets comes up with its words; parts before are whole, and none is written after. */
static void test_one_cannot_be_written(void **state)
{
    const partition_options options = options_of("random", 5);
    test_graph g = test_graph_random(30, 60, true, 9);
    weft_partition partition;
    partition_report report;
    weft_part kept;
    ASSERT_OK(partition_compute(&g.graph, &options, &partition, &report));
    ASSERT_OK(partition_save(*state, &g.graph, &partition, &report, &options));
    assert_int_equal(mkdir(in_folder(state, "partition-random-5-3/part-2.npz"), 0777), 0);
    ASSERT_STATUS(part_keep_all(*state, &g.graph, &options, &partition), WEFT_ERR_IO);
    ASSERT_MESSAGE("part-2.npz: is a folder");
    ASSERT_OK(part_load(*state, &g.graph, &options, 1, false, PART_IN_ORDER, &kept));
    part_destroy(&kept);
    ASSERT_STATUS(part_load(*state, &g.graph, &options, 4, false, PART_IN_ORDER, &kept), WEFT_ERR_NOINPUT);
    partition_destroy(&partition);
    test_graph_free(&g);
}

typedef struct kept_part {
    test_graph g;
    float *weight;
    partition_options options;
    weft_partition partition;
    partition_report report;
    weft_part cut;
    const char *path;
} kept_part;

static kept_part keep_one(void **state)
{
    kept_part k = {.options = options_of("random", 2)};
    k.g = test_graph_random(30, 60, true, 9);
    k.g.graph.weight = k.weight = test_weights(&k.g.graph);
    ASSERT_OK(partition_compute(&k.g.graph, &k.options, &k.partition, &k.report));
    ASSERT_OK(partition_save(*state, &k.g.graph, &k.partition, &k.report, &k.options));
    ASSERT_OK(part_extract(&k.g.graph, &k.partition, 1, NULL, PART_SHARED_FIRST, &k.cut));
    ASSERT_OK(part_save(*state, &k.g.graph, &k.options, &k.cut, false));
    k.path = in_folder(state, "partition-random-2-3/part-1-shared.npz");
    return k;
}

static void drop_one(kept_part *k)
{
    part_destroy(&k->cut);
    partition_destroy(&k->partition);
    free(k->weight);
    test_graph_free(&k->g);
}

/* Refused, or the damage was to bytes that nobody reads. */
static void refuse_or_same(void **state, const kept_part *k)
{
    weft_part kept;
    weft_status status = part_load(*state, &k->g.graph, &k->options, 1, false, PART_SHARED_FIRST, &kept);
    if (status == WEFT_OK) {
        same_part(&k->cut, &kept);
        part_destroy(&kept);
    } else {
        assert_true(status == WEFT_ERR_DATA || status == WEFT_ERR_NOINPUT || status == WEFT_ERR_UNSUPPORTED);
        assert_null(kept.gid);
    }
}

static void test_every_cut_and_every_byte(void **state)
{
    kept_part k = keep_one(state);
    weft_part kept;
    size_t bytes = 0;
    uint8_t *image = get_file(k.path, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        put_file(k.path, image, length);
        ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_DATA);
    }
    for (size_t at = 0; at < bytes; at++) {
        image[at] ^= 0x5a;
        put_file(k.path, image, bytes);
        refuse_or_same(state, &k);
        image[at] ^= 0x5a;
    }
    free(image);
    drop_one(&k);
}

/* Files that are whole, but say what cannot be: nothing is read past its end. */
static void test_false_indices(void **state)
{
    kept_part k = keep_one(state);
    weft_part kept, copy = k.cut;
    struct {
        int32_t *at;
        int32_t value;
    } const wrong[] = {{&copy.source[0], (int32_t)copy.n_local},
                       {&copy.source[1], -1},
                       {(int32_t *)&copy.gid[0], 30},
                       {(int32_t *)&copy.offset[1], INT32_MAX},
                       {(int32_t *)&copy.offset[copy.n_local], (int32_t)copy.edges - 1},
                       {&copy.sources.own_row[0], (int32_t)copy.n_owned},
                       {&copy.sources.leaf_row[0], (int32_t)copy.n_local},
                       {(int32_t *)&copy.weight[0], INT32_MIN + 1}, /* below 0 */
                       {(int32_t *)&copy.weight[1], 0x7f800000},    /* infinite */
                       {(int32_t *)&copy.in_weight[0] + 1, -1}};    /* not a number */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i].at == NULL) {
            fail_msg("array %zu is empty", i);
            return;
        }
        int32_t right = *wrong[i].at;
        *wrong[i].at = wrong[i].value;
        ASSERT_OK(part_save(*state, &k.g.graph, &k.options, &copy, false));
        ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_DATA);
        ASSERT_MESSAGE("part-1-shared.npz");
        *wrong[i].at = right;
    }
    drop_one(&k);
}

/* The file once more, with two elements of one member exchanged. False: the member has no two that differ. */
static bool exchange_two(const char *path, int changed)
{
    npz_file *npz = NULL;
    npz_writer *writer = NULL;
    bool differ = false;
    ASSERT_OK(npz_open(path, &npz));
    ASSERT_OK(npz_writer_open(path, &writer));
    for (int i = 0; i < npz_count(npz); i++) {
        npy_array array;
        ASSERT_OK(npz_read(npz, i, &array));
        const size_t item = (size_t)array.header.item_bytes, last = ((size_t)array.header.count - 1) * item;
        unsigned char *data = array.data, element[8];
        for (size_t at = 0; i == changed && at < last && !differ; at += item) {
            differ = memcmp(data + at, data + last, item) != 0;
            if (differ) {
                memcpy(element, data + at, item);
                memcpy(data + at, data + last, item);
                memcpy(data + last, element, item);
            }
        }
        ASSERT_OK(npz_writer_add(writer, npz_name(npz, i), array.header.kind, (int)item, 1, &array.header.count, data));
        npy_array_free(&array);
    }
    npz_close(npz);
    ASSERT_OK(npz_writer_commit(writer));
    return differ;
}

/* Checksums of members are right, indices within their bounds, and the part is another one. */
static void test_false_meaning(void **state)
{
    kept_part k = keep_one(state);
    npz_file *npz = NULL;
    size_t bytes = 0;
    int exchanged = 0;
    uint8_t *image = get_file(k.path, &bytes);
    ASSERT_OK(npz_open(k.path, &npz));
    const int members = npz_count(npz);
    npz_close(npz);
    for (int i = 0; i < members; i++) {
        weft_part kept;
        if (exchange_two(k.path, i)) {
            exchanged += 1;
            const weft_status status = part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept);
            assert_true(status == WEFT_ERR_DATA ||
                        status == WEFT_ERR_NOINPUT); /* the latter: of another version, or key */
            ASSERT_MESSAGE("part-1-shared.npz");
        }
        put_file(k.path, image, bytes);
    }
    assert_true(exchanged >= members - 2);
    refuse_or_same(state, &k);
    free(image);
    drop_one(&k);
}

static void test_foreign_parts(void **state)
{
    kept_part k = keep_one(state);
    weft_part kept;
    k.g.graph.hash[0] = 'f';
    ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_NOINPUT);
    k.g.graph.hash[0] = '0';
    ASSERT_OK(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept));
    part_destroy(&kept);
    k.g.graph.weight = NULL; /* a job that leaves the weights out */
    ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_NOINPUT);
    k.g.graph.weight = k.weight;
    /* Somebody edits the partition. */
    const char *root = in_folder(state, "partition-random-2-3/root.npy");
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 12345}};
    assert_int_equal(utimensat(AT_FDCWD, root, times, 0), 0);
    ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("another graph or partition");
    /* A partition that is made anew takes its parts with it. */
    ASSERT_OK(partition_save(*state, &k.g.graph, &k.partition, &k.report, &k.options));
    ASSERT_STATUS(part_load(*state, &k.g.graph, &k.options, 1, false, PART_SHARED_FIRST, &kept), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("no such part");
    part_release_edges(&k.cut);
    ASSERT_STATUS(part_save(*state, &k.g.graph, &k.options, &k.cut, false), WEFT_ERR_INTERNAL);
    drop_one(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_all_at_once, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_one_cannot_be_written, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_every_cut_and_every_byte, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_false_indices, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_false_meaning, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_parts, folder_setup, folder_teardown),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
