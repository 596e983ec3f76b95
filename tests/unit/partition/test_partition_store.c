/* Partitions on disk: what is saved is loaded, and what is damaged or foreign is refused; parts of vertices that other
 * programs made, written here by hand. */
#include "base/log.h"
#include "io/npy.h"
#include "partition/given/given_parts.h"
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

/* Shares have a folder of their own, whose last ones serve for others that are near enough. */
static void test_shares_are_told_apart(void **state)
{
    const double share[3] = {0.5, 0.3, 0.2}, near[3] = {0.51, 0.295, 0.195}, equal[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    weft_partition plain, weighted, loaded;
    partition_report report, read;
    test_graph g = saved_graph(state, &plain, &report);
    partition_options options = asked;
    options.share = share;
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_NOINPUT);
    ASSERT_OK(partition_compute(&g.graph, &options, &weighted, &report));
    assert_memory_not_equal(plain.edge_part, weighted.edge_part, (size_t)plain.edges * sizeof plain.edge_part[0]);
    ASSERT_OK(partition_save(*state, &g.graph, &weighted, &report, &options));
    ASSERT_OK(partition_load(*state, &g.graph, &options, &loaded, &read));
    assert_memory_equal(loaded.edge_part, weighted.edge_part, (size_t)loaded.edges * sizeof loaded.edge_part[0]);
    assert_true(read.edge_balance == report.edge_balance);
    partition_destroy(&loaded);
    options.share = equal;
    ASSERT_OK(partition_load(*state, &g.graph, &options, &loaded, NULL));
    assert_memory_equal(loaded.edge_part, plain.edge_part, (size_t)loaded.edges * sizeof loaded.edge_part[0]);
    partition_destroy(&loaded);
    options.share = near;
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("part 0 was made for a share of 0.5, not 0.51");
    options.share_slack = 0.1;
    ASSERT_OK(partition_load(*state, &g.graph, &options, &loaded, NULL));
    partition_destroy(&loaded);
    /* Shares that are missing, or not all there, are damage. */
    const char *const damaged[] = {
        "{\"format\": \"weft-partition\", \"version\": 1, \"method\": \"libra\", \"parts\": 3, "
        "\"balance\": 1.1}",
        "{\"format\": \"weft-partition\", \"version\": 1, \"method\": \"libra\", \"parts\": 3, "
        "\"balance\": 1.1, \"shares\": [0.5, 0.3]}",
        "{\"format\": \"weft-partition\", \"version\": 1, \"method\": \"libra\", \"parts\": 3, "
        "\"balance\": 1.1, \"shares\": [0.5, 0.3, 0.2, 0.1]}"};
    options.share = share;
    for (int i = 0; i < 3; ++i) {
        put_file(in_folder(state, "partition-libra-3-11-weighted/report.json"), damaged[i], strlen(damaged[i]));
        ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, NULL), WEFT_ERR_DATA);
        ASSERT_MESSAGE("\"shares\"");
    }
    partition_destroy(&plain);
    partition_destroy(&weighted);
    test_graph_free(&g);
}

/* Both are equally long. */
static void rename_key(const char *path, const char *from, const char *to)
{
    char text[4096] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    char *at = strstr(text, from);
    assert_non_null(at);
    memcpy(at, to, strlen(from));
    put_file(path, text, length);
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
    saved.edge_part[17] = (uint16_t)((kept + 1) % 3); /* a part that exists: the hash alone tells */
    ASSERT_OK(npy_write(edge_part, 'u', 2, 1, &saved.edges, saved.edge_part));
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("edge_part.npy: its hash is not that of report.json");
    rename_key(in_folder(state, "partition-libra-3-11/report.json"), "\"edge_part_hash\"", "\"edge_part_from\"");
    ASSERT_OK(partition_load(*state, &g.graph, &asked, &loaded, NULL)); /* as before there were hashes */
    partition_destroy(&loaded);
    rename_key(in_folder(state, "partition-libra-3-11/report.json"), "\"root_hash\": \"", "\"root_hash\":\"x");
    ASSERT_STATUS(partition_load(*state, &g.graph, &asked, &loaded, NULL), WEFT_ERR_DATA);
    rename_key(in_folder(state, "partition-libra-3-11/report.json"), "\"root_hash\":\"x", "\"root_hash\": \"");
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

/* ---- parts from files -------------------------------------------------------------------------------------------- */

enum { GIVEN_N = 6, GIVEN_PARTS = 3 };
static const uint16_t given[GIVEN_N] = {2, 0, 1, 1, 0, 2};

static const char *put_text(void **state, const char *name, const char *text)
{
    const char *path = in_folder(state, name);
    put_file(path, text, strlen(text));
    return path;
}

static void check_given(const char *path)
{
    uint16_t part[GIVEN_N];
    ASSERT_OK(given_parts_read(path, GIVEN_N, GIVEN_PARTS, part));
    assert_memory_equal(part, given, sizeof given);
}

static void check_refused(const char *path, const char *text)
{
    uint16_t part[GIVEN_N];
    ASSERT_STATUS(given_parts_read(path, GIVEN_N, GIVEN_PARTS, part), WEFT_ERR_DATA);
    ASSERT_MESSAGE(text);
}

static void test_parts_from_text_and_arrays(void **state)
{
    static const uint8_t bytes[GIVEN_N] = {2, 0, 1, 1, 0, 2};
    const int64_t n = GIVEN_N, fewer = GIVEN_N - 1;
    check_given(put_text(state, "g.part.3", "2\n0\n1\n1\n0\n2\n"));
    check_given(put_text(state, "g.part.3", " 2\r\n0 \r\n1\r\n1\r\n0\r\n2\r\n\r\n"));
    check_given(put_text(state, "g.pairs", "4 0\n0 2\n1\t0\n5 2\n2 1\n3 1"));
    const char *path = in_folder(state, "g.npy");
    ASSERT_OK(npy_write(path, 'u', 1, 1, &n, bytes));
    check_given(path);
    ASSERT_OK(npy_write(path, 'u', 1, 1, &fewer, bytes));
    check_refused(path, "6 vertices");

    check_refused(put_text(state, "bad", "2\n0\n1\n3\n0\n2\n"), "line 4: part 3, must be between 0 and 2");
    check_refused(put_text(state, "bad", "2\n0\n99999999999999999999999\n1\n0\n2\n"), "line 3");
    check_refused(put_text(state, "bad", "2\n0\n1\n1\n0\n"), "5 lines, the graph has 6 vertices");
    check_refused(put_text(state, "bad", "2\n0\n1\n1\n0\n2\n0\n"), "more lines");
    check_refused(put_text(state, "bad", "2\n0\n\n1\n0\n2\n"), "line 3 holds 0 numbers");
    check_refused(put_text(state, "bad", "2\n0\n1 1\n1\n0\n2\n"), "line 3 holds 2 numbers");
    check_refused(put_text(state, "bad", "2\n0\n-1\n1\n0\n2\n"), "line 3");
    check_refused(put_text(state, "bad", "0 2\n0 1\n1 0\n2 0\n3 0\n4 0\n"), "line 2: vertex 0 has a part already, 2");
    check_refused(put_text(state, "bad", "0 2\n6 1\n1 0\n2 0\n3 0\n4 0\n"), "line 2: vertex 6");
    check_refused(put_text(state, "bad", ""), "0 lines");
    uint16_t part[GIVEN_N];
    ASSERT_STATUS(given_parts_read(in_folder(state, "absent"), GIVEN_N, GIVEN_PARTS, part), WEFT_ERR_NOINPUT);
}

#define BOOK(map) "{\"graph_name\": \"g\", \"num_parts\": 3, \"node_map\": " map "}"

static void test_parts_from_partition_books(void **state)
{
    static const int64_t original[GIVEN_N] = {4, 1, 2, 3, 5, 0}, twice[GIVEN_N] = {4, 1, 2, 3, 5, 4};
    static const uint16_t by_range[GIVEN_N] = {0, 0, 1, 1, 2, 2};
    const int64_t n = GIVEN_N;
    uint16_t part[GIVEN_N];
    ASSERT_OK(npy_write(in_folder(state, "map.npy"), 'u', 2, 1, &n, given));
    ASSERT_OK(npy_write(in_folder(state, "orig_nids.npy"), 'i', 8, 1, &n, original));
    check_given(put_text(state, "a.json", BOOK("\"elsewhere/map.npy\"")));
    check_given(put_text(state, "b.json",
                         BOOK("{\"_N\": [[0, 2], [2, 4], [4, 6]]}, \"orig_nids\": \"orig_nids.npy\", \"part-0\": {}")));
    const char *path = put_text(state, "c.json", BOOK("[2, 4, 6]")); /* ends alone */
    ASSERT_OK(given_parts_read(path, GIVEN_N, GIVEN_PARTS, part));
    assert_memory_equal(part, by_range, sizeof by_range);
    ASSERT_STATUS(given_parts_read(path, GIVEN_N, 4, part), WEFT_ERR_DATA);
    ASSERT_MESSAGE("made for 3 parts, asked for are 4");

    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [3, 4], [4, 6]]")), "part 1 begins at 3");
    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [2, 4], [4, 7]]")), "part 2 ends at 7");
    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [2, 4], [4, 5]]")), "end at 5");
    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [2, 6]]")), "has 2 ranges");
    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [2, 4], [4, 6], [6, 6]]")), "more ranges");
    check_refused(put_text(state, "bad.json", BOOK("[[0, 2], [2], [4, 6]]")), "range of part 1: expected");
    check_refused(put_text(state, "bad.json", BOOK("{\"user\": [2, 4, 6], \"item\": [1, 2, 3]}")), "several kinds");
    check_refused(put_text(state, "bad.json", BOOK("{}")), "no kind");
    check_refused(put_text(state, "bad.json", BOOK("7")), "name an array");
    check_refused(put_text(state, "bad.json", "{\"num_parts\": 3}"), "node_map");
    ASSERT_OK(npy_write(in_folder(state, "orig_nids.npy"), 'i', 8, 1, &n, twice));
    check_refused(in_folder(state, "b.json"), "element 5: vertex 4 occurs twice");
    path = put_text(state, "bad.json", BOOK("\"absent.npy\""));
    ASSERT_STATUS(given_parts_read(path, GIVEN_N, GIVEN_PARTS, part), WEFT_ERR_NOINPUT);
}

/* A method that names a file: the roots are the file's, what is kept is found again until the file changes. */
static void test_a_file_is_a_method(void **state)
{
    test_graph g = test_graph_random(GIVEN_N, 12, true, 5);
    const partition_options options = {.method = put_text(state, "g.part.3", "2\n0\n1\n1\n0\n2\n"),
                                       .parts = GIVEN_PARTS,
                                       .balance = 1.1,
                                       .threads = 2};
    weft_partition made, loaded;
    partition_report report;
    ASSERT_OK(partition_compute(&g.graph, &options, &made, &report));
    ASSERT_OK(partition_is_valid(&g.graph, &made));
    assert_string_equal(made.method, "file");
    assert_true(made.edge_cut);
    assert_memory_equal(made.root, given, sizeof given);
    ASSERT_OK(partition_save(*state, &g.graph, &made, &report, &options));
    ASSERT_OK(partition_load(*state, &g.graph, &options, &loaded, &report));
    assert_true(loaded.edge_cut);
    assert_memory_equal(loaded.root, given, sizeof given);
    assert_memory_equal(loaded.edge_part, made.edge_part, (size_t)made.edges * sizeof made.edge_part[0]);
    partition_destroy(&loaded);
    put_text(state, "g.part.3", "2\n0\n1\n1\n0\n1 \n");
    ASSERT_STATUS(partition_load(*state, &g.graph, &options, &loaded, &report), WEFT_ERR_NOINPUT);
    partition_destroy(&made);
    test_graph_free(&g);
}

/* An edge-cut whose edges roots tell: the same figures, and no file of edges. */
static void test_edges_by_roots(void **state)
{
    test_graph g = test_graph_random(200, 900, true, 5);
    const char *file = in_folder(state, "partition-edgecut-3-0/edge_part.npy");
    partition_options options = {.method = "edgecut", .parts = 3, .balance = 1.1, .threads = 2};
    weft_partition full, made, loaded;
    partition_report expected, report, read;
    ASSERT_OK(partition_compute(&g.graph, &options, &full, &expected));
    ASSERT_OK(partition_save(*state, &g.graph, &full, &expected, &options));
    assert_true(file_exists(file));
    options.by_roots = true;
    ASSERT_OK(partition_compute(&g.graph, &options, &made, &report));
    assert_null(made.edge_part);
    assert_memory_equal(made.root, full.root, (size_t)full.vertices * sizeof full.root[0]);
    report.seconds = expected.seconds;
    report.peak_rss_bytes = expected.peak_rss_bytes;
    assert_memory_equal(&report, &expected, sizeof report);
    ASSERT_OK(partition_save(*state, &g.graph, &made, &report, &options));
    assert_false(file_exists(file));
    ASSERT_OK(partition_load(*state, &g.graph, &options, &loaded, &read));
    assert_true(loaded.edge_cut && loaded.edge_part == NULL);
    assert_memory_equal(loaded.root, full.root, (size_t)full.vertices * sizeof full.root[0]);
    assert_memory_equal(&read, &expected, sizeof read);
    ASSERT_OK(partition_is_valid(&g.graph, &loaded));
    partition_destroy(&loaded);
    partition_destroy(&made);
    partition_destroy(&full);
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_one_part_needs_no_files, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_absent_ones_are_not_found, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_shares_are_told_apart, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_and_damaged_ones_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_parts_from_text_and_arrays, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_parts_from_partition_books, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_is_a_method, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_edges_by_roots, folder_setup, folder_teardown),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
