/* Files of --topology and --sites: what is accepted, and what the message says when it is not. */
#include "base/alloc.h"
#include "comm/sync/racks.h"
#include "support/folder.h"

enum { RANKS = 6 };

static const char hosts[RANKS][TOPOLOGY_HOST_BYTES] = {
    "node01", "node01", "node02.cluster.org", "node02.cluster.org", "Big-3.cluster.org", "big-3.other.org"};

static weft_status parse(const char *text, comm_topology **topology)
{
    return topology_parse("racks.txt", text, hosts, RANKS, topology);
}

static void expect(const char *text, int sets, const int *set_of, const char *last_name)
{
    comm_topology *t = NULL;
    ASSERT_OK(parse(text, &t));
    assert_int_equal(t->sets, sets);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(t->set_of[r], set_of[r]);
    }
    assert_string_equal(t->name[sets - 1], last_name);
    topology_destroy(t);
}

static void test_accepted(void **state)
{
    (void)state;
    const int halves[RANKS] = {0, 0, 0, 1, 1, 1};
    const int by_host[RANKS] = {0, 0, 1, 1, 1, 0};
    const int mixed[RANKS] = {1, 1, 0, 0, 1, 0};
    expect("a: 0-2\nb: 3-5\n", 2, halves, "b");
    expect("# racks\n\n  a :0,1,2 # first\r\nb: 3 4-4 5", 2, halves, "b");
    /* Short names match full ones; two full names only each other. */
    expect("east: node01.cluster.org big-3.other.org\nempty: node77 node78\nwest: NODE02 big-3.cluster.org\n", 2,
           by_host, "west");
    expect("x: node02 5\ny: node01 4\n", 2, mixed, "y");
    const int one[RANKS] = {0};
    expect("all: node01 node02 big-3", 1, one, "all");
}

static void refuse(const char *text, const char *first, const char *second)
{
    comm_topology *t = NULL;
    ASSERT_STATUS(parse(text, &t), WEFT_ERR_DATA);
    assert_null(t);
    ASSERT_MESSAGE("racks.txt");
    ASSERT_MESSAGE(first);
    ASSERT_MESSAGE(second);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("a: 0-5\nb: 3\n", "racks.txt:2: rank 3", "of line 1");
    refuse("a: 0-2\nb: 3-4\n", "rank 5 on host 'big-3.other.org'", "in no set");
    refuse("a: 0-5\na: node77\n", "racks.txt:2: set 'a'", "one line");
    refuse("a: 0-6\n", "'0-6' names rank 6", "0 to 5");
    refuse("a: 0-99999999999999999999\n", "names rank", "0 to 5");
    refuse("a: 3-1\n", "'3-1' is no list of ranks", "0-7,12");
    refuse("a: 1,,2\n", "'1,,2'", "0-7,12");
    refuse("a: 1,\n", "'1,'", "0-7,12");
    refuse("a: -\n", "'-'", "0-7,12");
    refuse("\n\nnode01 node02\n", "racks.txt:3: no colon after 'node01'", "name: host host");
    refuse(": 0-5\n", "racks.txt:1", "name has 1 to");
    refuse("a: node01 no*de\n", "'no*de'", "neither a host");
    refuse("a: b: 0-5\n", "'b:'", "neither a host");
    refuse("", "rank 0 on host 'node01'", "in no set");
    char text[600];
    memset(text, 'x', sizeof text);
    memcpy(text, "a: ", 3);
    text[599] = '\0';
    refuse(text, "a word of 596 characters", "at most");
    text[1] = 'x';
    text[2] = 'x';
    text[598] = ':';
    refuse(text, "before its colon", "598");
}

static void test_memory_shortage(void **state)
{
    (void)state;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    int failures = 0;
    for (uint64_t n = 1; n < 12; ++n) {
        comm_topology *t = NULL;
        weft_alloc_fail_after(n);
        weft_status status = parse("a: 0-2\nb: 3-5\n", &t);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        failures += status != WEFT_OK;
        topology_destroy(t);
    }
    assert_int_equal(failures, 6);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
}

/* ---- through a communicator ------------------------------------------------------------------------------ */
static weft_status read_on_all(weft_comm *comm, void *argument)
{
    comm_topology *t = NULL;
    WEFT_TRY(topology_read(comm, argument, &t));
    bool right = t->sets == 2 && t->set_of[0] == 0 && t->set_of[1] == 0 && t->set_of[2] == 1;
    topology_destroy(t);
    return right ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "wrong sets");
}

/* This machine's name, asked of the machine. */
static weft_status read_own_host(weft_comm *comm, void *argument)
{
    comm_topology *t = NULL;
    WEFT_TRY(topology_read(comm, argument, &t));
    bool right = t->sets == 1 && strcmp(t->name[0], "here") == 0;
    topology_destroy(t);
    return right ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "wrong sets");
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_read(void **state)
{
    const char *path = in_folder(state, "racks");
    char argument[FILE_PATH_MAX];
    snprintf(argument, sizeof argument, "%s", path);
    write_text(path, "a: 0-1\nb: 2\n");
    ASSERT_OK(comm_thread_run(3, read_on_all, argument));
    ASSERT_STATUS(comm_thread_run(2, read_on_all, argument), WEFT_ERR_DATA);
    ASSERT_MESSAGE(":2: '2' names rank 2");

    char own[300] = "";
    char text[400];
    assert_int_equal(gethostname(own, sizeof own - 1), 0);
    snprintf(text, sizeof text, "there: elsewhere\nhere: %s\n", own);
    write_text(path, text);
    ASSERT_OK(comm_thread_run(4, read_own_host, argument));

    snprintf(argument, sizeof argument, "%s", in_folder(state, "missing"));
    ASSERT_STATUS(comm_thread_run(3, read_on_all, argument), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory_shortage),
        cmocka_unit_test_setup_teardown(test_read, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
