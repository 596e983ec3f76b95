/* Partitions on disk: what is saved is loaded, and what is damaged or foreign is refused. */
#include "base/log.h"
#include "io/npy.h"
#include "partition/partition.h"
#include "support/folder.h"
#include "support/graphs.h"
#include "support/test.h"

static const partition_options asked = {.method = "libra", .parts = 3, .seed = 11, .balance = 1.1, .threads = 2};

static test_graph saved_graph(void **state, weft_partition *partition, partition_report *report)
{
    test_graph g = test_graph_random(200, 900, true, 5);
    ASSERT_OK(partition_compute(&g.graph, &asked, partition, report));
    ASSERT_OK(partition_save(*state, &g.graph, partition, report, &asked));
    return g;
}

static void test_round_trip(void **state)
{
    weft_partition saved, loaded;
    partition_report written, read;
    test_graph g = saved_graph(state, &saved, &written);
    ASSERT_OK(partition_save(*state, &g.graph, &saved, &written, &asked)); /* the same again replaces it */
    ASSERT_OK(partition_load(*state, &g.graph, &asked, &loaded, &read));
    assert_int_equal(loaded.parts, 3);
    assert_string_equal(loaded.method, "libra");
    assert_memory_equal(loaded.edge_part, saved.edge_part, (size_t)saved.edges * sizeof saved.edge_part[0]);
    assert_memory_equal(loaded.root, saved.root, (size_t)saved.vertices * sizeof saved.root[0]);
    assert_true(read.replication_factor == written.replication_factor && read.seconds == written.seconds);
    assert_int_equal(read.rows_per_layer, written.rows_per_layer);
    assert_int_equal(read.peak_rss_bytes, written.peak_rss_bytes);
    ASSERT_OK(partition_is_valid(&g.graph, &loaded));
    partition_destroy(&loaded);
    partition_destroy(&saved);
    test_graph_free(&g);
}

static void test_one_part_needs_no_files(void **state)
{
    test_graph g = test_graph_random(20, 50, true, 5);
    partition_options options = asked;
    options.parts = 1;
    weft_partition partition;
    ASSERT_OK(partition_load(*state, &g.graph, &options, &partition, NULL));
    assert_null(partition.edge_part);
    ASSERT_OK(partition_save(*state, &g.graph, &partition, NULL, &options));
    partition_destroy(&partition);
    test_graph_free(&g);
}

static void test_absent_ones_are_not_found(void **state)
{
    weft_partition saved, loaded;
    partition_report report;
    test_graph g = saved_graph(state, &saved, &report);
    partition_options options = asked;
    options.parts = 4;
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_NOINPUT);
    options = asked;
    options.seed = 12;
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_NOINPUT);
    options = asked;
    options.balance = 1.2;
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("--balance");
    options = asked;
    options.method = "libre";
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_USAGE);
    partition_destroy(&saved);
    test_graph_free(&g);
}

static void test_foreign_and_damaged_ones_are_refused(void **state)
{
    weft_partition saved, loaded;
    partition_report report;
    test_graph g = saved_graph(state, &saved, &report);
    const char *edge_part = in_folder(state, "partition-libra-3-11/edge_part.npy");
    g.graph.hash[0] = 'f';
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("made for graph");
    g.graph.hash[0] = '0';

    uint16_t kept = saved.edge_part[17];
    saved.edge_part[17] = 3;
    ASSERT_OK(npy_write(edge_part, 'u', 2, 1, &saved.edges, saved.edge_part));
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("row 17: part 3 of 3");
    saved.edge_part[17] = kept;
    int64_t fewer = saved.edges - 1;
    ASSERT_OK(npy_write(edge_part, 'u', 2, 1, &fewer, saved.edge_part));
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    ASSERT_OK(npy_write(edge_part, 'u', 2, 1, &saved.edges, saved.edge_part));
    ASSERT_OK(partition_load(*state, &g.graph, &asked, &loaded, NULL));
    partition_destroy(&loaded);

    put_file(in_folder(state, "partition-libra-3-11/report.json"), "{}", 2);
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("report.json");
    partition_destroy(&saved);
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_one_part_needs_no_files, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_absent_ones_are_not_found, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_and_damaged_ones_are_refused, folder_setup, folder_teardown),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
