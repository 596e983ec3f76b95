/* Ids of edges in order, against a plain sort: numbers and names, by any number of threads, with failing
 * allocations. */
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gnn/data/edges/id_map.h"
#include "support/folder.h"
#include "support/random.h"

enum { LINES = 30000, IDS = 5000, ROOM = 32 };

/* What is written, and what is expected of it. */
typedef struct expected {
    char text[IDS][ROOM];
    bool used[IDS];
    const char *sorted[IDS];
    int64_t count;
} expected;

static expected plan;

static int by_number(const void *a, const void *b)
{
    const long long x = atoll(*(const char *const *)a), y = atoll(*(const char *const *)b);
    return (x > y) - (x < y);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Edges between ids that have gaps, are negative and large; or names, some of them with separators and quotes in
 * them. */
static void write_edges(const char *path, bool names, uint64_t seed)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    plan.count = 0;
    for (int i = 0; i < IDS; i++) {
        plan.used[i] = false;
        if (names) {
            snprintf(plan.text[i], ROOM, i % 7 == 0 ? "n, %u" : "%x", (unsigned)test_random(&seed));
        } else {
            snprintf(plan.text[i], ROOM, "%lld", (long long)i * i * i * 70000000 - 1000);
        }
    }
    fputs("kind,target,source\n", file);
    for (int e = 0; e < LINES; e++) {
        const int a = (int)(test_random(&seed) % IDS), b = (int)(test_random(&seed) % IDS);
        const bool quoted = names || e % 5 == 0;
        fprintf(file, quoted ? "x,\"%s\",\"%s\"\n" : "x,%s,%s\n", plan.text[a], plan.text[b]);
        plan.used[a] = true;
        plan.used[b] = true;
    }
    assert_int_equal(fclose(file), 0);
    for (int i = 0; i < IDS; i++) {
        if (plan.used[i]) {
            plan.sorted[plan.count++] = plan.text[i];
        }
    }
    qsort(plan.sorted, (size_t)plan.count, sizeof *plan.sorted, names ? by_bytes : by_number);
    int64_t different = 0;
    for (int64_t i = 0; i < plan.count; i++) {
        if (different == 0 || strcmp(plan.sorted[i], plan.sorted[different - 1]) != 0) {
            plan.sorted[different++] = plan.sorted[i];
        }
    }
    plan.count = different;
}

static weft_status read_map(const char *path, int64_t memory, id_map *map)
{
    edge_columns columns;
    WEFT_TRY(edge_columns_find(path, false, false, &columns));
    const id_file file = {.path = path, .columns = &columns, .line_max = EDGE_LINE_MAX};
    weft_status status = id_map_read(&file, 1, memory, map);
    edge_columns_free(&columns);
    return status;
}

static void check_map(const id_map *map)
{
    name_list names;
    assert_int_equal(map->count, plan.count);
    ASSERT_OK(id_map_names(map, &names));
    for (int64_t i = 0; i < plan.count; i++) {
        const char *name = plan.sorted[i];
        const text_field field = {.text = name, .end = name + strlen(name)};
        int64_t vertex = -1;
        assert_string_equal(names.text[i], name);
        assert_true(id_map_find(map, &field, &vertex));
        assert_int_equal(vertex, i);
    }
    static const char absent[] = "12345678901";
    int64_t vertex;
    assert_false(id_map_find(map, &(text_field){.text = absent, .end = absent + 11}, &vertex));
    assert_false(id_map_find(map, &(text_field){.text = absent, .end = absent}, &vertex));
    name_list_free(&names);
}

static void test_any_threads(void **state)
{
    const char *path = in_folder(state, "edges.csv");
    const int before = omp_get_max_threads();
    for (int way = 0; way < 6; way++) {
        id_map map;
        write_edges(path, way % 2 == 1, (uint64_t)way);
        omp_set_num_threads(1 + way / 2 * 2);
        ASSERT_OK(read_map(path, 0, &map));
        assert_int_equal(map.text != NULL, way % 2 == 1);
        assert_false(id_map_is_plain(&map));
        check_map(&map);
        id_map_free(&map);
    }
    omp_set_num_threads(before);
}

static void test_quotes(void **state)
{
    const char *path = in_folder(state, "quotes.csv");
    static const char text[] = "from,to\n\"say \"\"a\"\"\",b\nb,\"say \"\"\"\n";
    static const char *const expect[] = {"b", "say \"", "say \"a\""};
    id_map map;
    name_list names;
    put_file(path, text, sizeof text - 1);
    ASSERT_OK(read_map(path, 0, &map));
    ASSERT_OK(id_map_names(&map, &names));
    assert_int_equal(map.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(names.text[i], expect[i]);
    }
    static const char quoted[] = "say \"\"a\"\"";
    int64_t vertex = -1;
    assert_true(id_map_find(&map, &(text_field){.text = quoted, .end = quoted + 9, .quoted = true}, &vertex));
    assert_int_equal(vertex, 2);
    name_list_free(&names);
    id_map_free(&map);
}

static void test_plain(void **state)
{
    const char *path = in_folder(state, "plain.txt");
    id_map map;
    put_file(path, "2 0\n1 2.0\n", 10);
    ASSERT_OK(read_map(path, 0, &map));
    assert_true(id_map_is_plain(&map));
    id_map_free(&map);
    put_file(path, "2 0\n3 2\n", 8);
    ASSERT_OK(read_map(path, 0, &map));
    assert_false(id_map_is_plain(&map));
    id_map_free(&map);
}

static void test_limits(void **state)
{
    const char *path = in_folder(state, "limits.csv");
    id_map map;
    write_edges(path, true, 9);
    ASSERT_STATUS(read_map(path, 20000, &map), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("the ids of vertices need more than --memory gives");
    put_file(path, "from,to\na,b\na,\n", 15);
    ASSERT_STATUS(read_map(path, 0, &map), WEFT_ERR_DATA);
    ASSERT_MESSAGE("limits.csv: line 3: the line ends where a vertex id is expected");
    omp_set_num_threads(2);
    put_file(path, "from,to\na,b\nb,c\n", 16);
    for (uint64_t n = 1;; n++) {
        weft_alloc_fail_after(n);
        const weft_status status = read_map(path, 0, &map);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_true(n < 100);
    }
    id_map_free(&map);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {IN_FOLDER(test_any_threads), IN_FOLDER(test_quotes), IN_FOLDER(test_plain),
                                       IN_FOLDER(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
