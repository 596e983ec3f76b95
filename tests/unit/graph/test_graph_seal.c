/* A store is checked once; whatever touches one of its files has it checked again. */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "base/log.h"
#include "graph/graph.h"
#include "support/folder.h"
#include "support/test.h"

/* 0 - 1 - 2, two features, labels. */
static const char *write_store(void **state, float last)
{
    static const int64_t offset[] = {0, 1, 3, 4};
    static const int32_t source[] = {1, 0, 2, 1}, label[] = {0, 1, 0};
    static const uint8_t split[] = {0, 1, 2};
    const float feature[] = {1, 2, 3, 4, 5, last};
    const graph_arrays arrays = {.vertices = 3,
                                 .edges = 4,
                                 .features = 2,
                                 .classes = 2,
                                 .splits = 1,
                                 .symmetric = true,
                                 .offset = offset,
                                 .source = source,
                                 .feature = feature,
                                 .label = label,
                                 .split = split,
                                 .name = "sealed"};
    const char *store = in_folder(state, "store");
    ASSERT_OK(graph_store_write(store, &arrays, true));
    return store;
}

static weft_status check(const char *store)
{
    weft_graph graph;
    ASSERT_OK(graph_open(store, 0, false, &graph));
    weft_status status = graph_validate_once(store, &graph);
    graph_close(&graph);
    return status;
}

/* Write over the last bytes of an array, in place. */
static void patch(void **state, const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(in_folder(state, name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -(long)bytes, SEEK_END), 0);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void test_a_good_store_is_sealed(void **state)
{
    const char *store = write_store(state, 6);
    weft_graph first, second;
    ASSERT_OK(check(store));
    assert_true(file_exists(in_folder(state, "store/checked.json")));
    ASSERT_OK(graph_open(store, 0, false, &first));
    ASSERT_OK(graph_open(store, 0, false, &second));
    assert_string_equal(first.seal, second.seal);
    assert_int_equal(strlen(first.seal), 32);
    graph_close(&first);
    graph_close(&second);
}

/* The seal spares the check: proven by a seal that is put on a bad store by hand. */
static void test_a_sealed_store_is_not_read_again(void **state)
{
    const char *store = write_store(state, NAN);
    weft_graph graph;
    char text[128];
    ASSERT_STATUS(check(store), WEFT_ERR_DATA);
    assert_false(file_exists(in_folder(state, "store/checked.json")));
    ASSERT_OK(graph_open(store, 0, false, &graph));
    int length =
        snprintf(text, sizeof text, "{\"format\": \"weft-checked\", \"version\": 1, \"seal\": \"%s\"}", graph.seal);
    graph_close(&graph);
    put_file(in_folder(state, "store/checked.json"), text, (size_t)length);
    ASSERT_OK(check(store));
    text[length - 3] = text[length - 3] == '0' ? '1' : '0';
    put_file(in_folder(state, "store/checked.json"), text, (size_t)length);
    ASSERT_STATUS(check(store), WEFT_ERR_DATA);
    ASSERT_MESSAGE("feature, row 2, column 1");
}

static void test_a_touched_array_breaks_the_seal(void **state)
{
    const char *store = write_store(state, 6);
    const float infinite = INFINITY;
    struct stat facts;
    ASSERT_OK(check(store));
    assert_int_equal(stat(in_folder(state, "store/feature.npy"), &facts), 0);
    patch(state, "store/feature.npy", &infinite, sizeof infinite);
    /* Even when the time of modification is put back: the time of change cannot be. */
    struct timespec times[2] = {facts.st_atim, facts.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, in_folder(state, "store/feature.npy"), times, 0), 0);
    ASSERT_STATUS(check(store), WEFT_ERR_DATA);
    ASSERT_MESSAGE("feature, row 2, column 1");
}

static void test_labels_and_split_are_always_checked(void **state)
{
    const char *store = write_store(state, 6);
    const int32_t label[] = {2};
    const uint8_t split[] = {9};
    weft_graph graph;
    ASSERT_OK(check(store));
    ASSERT_OK(graph_open(store, 0, false, &graph)); /* sealed, then its pages change below */
    patch(state, "store/label.npy", label, sizeof label);
    ASSERT_STATUS(graph_validate_once(store, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("label, row 2");
    patch(state, "store/label.npy", (const int32_t[]){0}, sizeof label);
    patch(state, "store/split.npy", split, sizeof split);
    ASSERT_STATUS(graph_validate_once(store, &graph), WEFT_ERR_DATA);
    ASSERT_MESSAGE("split, row 2");
    graph_close(&graph);
}

static void test_a_damaged_seal_is_none(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"format\": 1}",
                                        "{\"format\": \"weft-checked\"}",
                                        "{\"format\": \"weft-checked\", \"version\": 1, \"seal\": 7}"};
    const char *store = write_store(state, NAN);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_file(in_folder(state, "store/checked.json"), texts[i], strlen(texts[i]));
        ASSERT_STATUS(check(store), WEFT_ERR_DATA);
        ASSERT_MESSAGE("feature, row 2");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_good_store_is_sealed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_sealed_store_is_not_read_again, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_touched_array_breaks_the_seal, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_labels_and_split_are_always_checked, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_damaged_seal_is_none, folder_setup, folder_teardown),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
