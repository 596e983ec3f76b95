/*
 * The fit of a link, the calibration on every number of ranks and nodes, and the file that keeps it.
 * trees: release
 */
#include <math.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "comm/model/calibrate.h"
#include "comm/model/model_file.h"
#include "support/comm_cases.h"
#include "support/folder.h"
#include "support/test.h"

/* ---- the fit ------------------------------------------------------------------------------------------------ */
enum { POINTS = 6 };
static const double sizes[POINTS] = {8, 4096, 32768, 262144, 1048576, 4194304};

static void test_fit_finds_the_line(void **state)
{
    (void)state;
    const comm_link links[] = {{112e-6, 1 / 0.118e9}, {0.4e-6, 1 / 9.1e9}, {5e-3, 1e-6}, {1e-9, 1e-12}};
    for (size_t k = 0; k < sizeof links / sizeof *links; ++k) {
        double seconds[POINTS];
        for (int i = 0; i < POINTS; ++i) {
            seconds[i] = links[k].latency + sizes[i] * links[k].seconds_per_byte;
        }
        for (int points = 2; points <= POINTS; ++points) {
            comm_link found = link_fit(sizes, seconds, points);
            double latency_error = fabs(found.latency / links[k].latency - 1);
            double slope_error = fabs(found.seconds_per_byte / links[k].seconds_per_byte - 1);
            /* Two points of a link whose slope hides under its latency leave few digits. */
            double allowed = points == 2 ? 1e-3 : 1e-6;
            if (latency_error > allowed || slope_error > allowed) {
                fail_msg("link %zu, %d points: latency off by %g, slope by %g", k, points, latency_error, slope_error);
            }
        }
    }
}

/* Every time off by up to 10 %, both ways: predictions at every size stay within 20 %. */
static void test_fit_bears_noise(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 1u << POINTS; ++pattern) {
        double seconds[POINTS];
        for (int i = 0; i < POINTS; ++i) {
            double exact = 30e-6 + sizes[i] / 1.15e9;
            seconds[i] = exact * ((pattern >> i & 1u) != 0 ? 1.1 : 0.9);
        }
        comm_link found = link_fit(sizes, seconds, POINTS);
        assert_true(found.latency > 0 && found.seconds_per_byte > 0);
        for (int i = 0; i < POINTS; ++i) {
            double exact = 30e-6 + sizes[i] / 1.15e9;
            double predicted = found.latency + sizes[i] * found.seconds_per_byte;
            ASSERT_NEAR(predicted / exact, 1.0, 0.2);
        }
    }
}

/* Times that no link has: a longer message that is faster, all equal, zeros. */
static void test_fit_stays_positive(void **state)
{
    (void)state;
    const double bad[][POINTS] = {{6e-3, 5e-3, 4e-3, 3e-3, 2e-3, 1e-3},
                                  {1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6},
                                  {0},
                                  {9e-3, 1e-6, 1e-6, 2e-6, 0, 9e-5}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        for (int points = 2; points <= POINTS; ++points) {
            comm_link found = link_fit(sizes, bad[k], points);
            assert_true(isfinite(found.latency) && found.latency > 0);
            assert_true(isfinite(found.seconds_per_byte) && found.seconds_per_byte > 0);
        }
    }
}

/* ---- calibration -------------------------------------------------------------------------------------------- */
static bool sane(double seconds, double most)
{
    return isfinite(seconds) && seconds > 0 && seconds <= most;
}

static weft_status calibrate_and_check(weft_comm *comm, void *argument)
{
    const int *ranks_per_node = argument;
    comm_model model;
    if (*ranks_per_node > 0) {
        WEFT_TRY(comm_imitate_nodes(comm, *ranks_per_node));
    }
    const comm_stats before = comm_lane_stats(comm, COMM_LANE_CONTROL);
    WEFT_TRY(comm_calibrate(comm, &model));
    const comm_stats after = comm_lane_stats(comm, COMM_LANE_CONTROL);
    CASE_CHECK(before.bytes_sent == after.bytes_sent && before.messages_sent == after.messages_sent,
               "%llu bytes of measuring are counted", (unsigned long long)(after.bytes_sent - before.bytes_sent));
    double ratio = 0.0;
    WEFT_TRY(comm_check_model(comm, &model, &ratio));
    WEFT_TRY(case_same_on_all(comm, &ratio, sizeof ratio));
    CASE_CHECK(comm_get_layout(comm)->nodes > 1 ? ratio > 0.0 : ratio == 1.0, "the network takes %g times", ratio);
    WEFT_TRY(case_same_on_all(comm, &model, sizeof model));
    CASE_CHECK(model.measured == (comm_size(comm) > 1), "measured is %d", model.measured);
    CASE_CHECK(sane(model.inter.latency, 1) && sane(model.intra.latency, 1), "latencies %g and %g", model.inter.latency,
               model.intra.latency);
    CASE_CHECK(sane(model.inter.seconds_per_byte, 1e-5) && sane(model.intra.seconds_per_byte, 1e-5),
               "seconds a byte %g and %g", model.inter.seconds_per_byte, model.intra.seconds_per_byte);
    CASE_CHECK(sane(model.sync, 1) && sane(model.shared_per_byte, 1e-5), "shared %g and %g", model.sync,
               model.shared_per_byte);
    CASE_CHECK(sane(model.reduce_per_byte, 1e-6), "reduction %g", model.reduce_per_byte);
    CASE_CHECK(sane(model.select_per_element, 1e-5) && sane(model.scatter_per_element, 1e-5), "selection %g, %g",
               model.select_per_element, model.scatter_per_element);
    return WEFT_OK;
}

static void test_calibrate(void **state)
{
    (void)state;
    static const int jobs[][2] = {{1, 0}, {2, 0}, {2, 1}, {5, 2}}; /* ranks, of them a node */
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
        int per_node = jobs[i][1];
        ASSERT_OK(comm_thread_run(jobs[i][0], calibrate_and_check, &per_node));
    }
}

/* A network that is slow in a known way: sending to another imitated node takes latency + bytes * slope, with one
 * latency for the pieces of a long message, which follow one another. The calibration must find what was put in, and
 * find the node fast. */
enum { SLOW_RANKS = 4, SLOW_NODE = 2, SLOW_PIECE = 256 << 10 };
static const comm_link slow_link = {4e-3, 12e-9};
static double piece_end[SLOW_RANKS]; /* when the full piece ended that a rank sent last; 0: it sent something else */
static _Atomic int sent, sent_late;  /* messages between nodes; those that took a tenth longer than they should */
static transport_ops slow_ops;
static const transport_ops *fast_ops;

static weft_status slow_isend(transport *t, int lane, int peer, int tag, const void *data, size_t bytes, void *request)
{
    if (peer / SLOW_NODE != t->rank / SLOW_NODE) {
        const double begin = clock_seconds();
        const double latency = begin - piece_end[t->rank] < 1e-3 ? 0.0 : slow_link.latency;
        const double end = begin + latency + (double)bytes * slow_link.seconds_per_byte;
        while (clock_seconds() < end) {
            usleep(100);
        }
        atomic_fetch_add(&sent, 1);
        atomic_fetch_add(&sent_late, clock_seconds() - end > 0.1 * slow_link.latency);
        piece_end[t->rank] = bytes < SLOW_PIECE ? 0.0 : clock_seconds();
    }
    return fast_ops->isend(t, lane, peer, tag, data, bytes, request);
}

/* What was found, and how the network compares to that and to the fixed constants. */
typedef struct slow_result {
    comm_model model;
    double own, other;
} slow_result;

static weft_status calibrate_slow(weft_comm *comm, void *argument)
{
    slow_result *found = argument;
    slow_result mine;
    const comm_model another = comm_model_default();
    WEFT_TRY(comm_imitate_nodes(comm, SLOW_NODE));
    WEFT_TRY(comm_barrier(comm));
    comm->transport->ops = &slow_ops;
    weft_status status = comm_calibrate(comm, &mine.model);
    status = status == WEFT_OK ? comm_check_model(comm, &mine.model, &mine.own) : status;
    status = status == WEFT_OK ? comm_check_model(comm, &another, &mine.other) : status;
    comm->transport->ops = fast_ops;
    if (comm_rank(comm) == 0) {
        *found = mine;
    }
    return status;
}

static weft_status copy_ops(weft_comm *comm, void *argument)
{
    (void)argument;
    fast_ops = comm->transport->ops;
    slow_ops = *fast_ops;
    slow_ops.isend = slow_isend;
    return WEFT_OK;
}

/* Never faster than it is; what else the machine does meanwhile makes it slower at times: one of a few attempts. None
 * is where the machine let a twentieth of the messages come late in each of them: then nothing else can be told. */
static void test_finds_a_slow_network(void **state)
{
    (void)state;
    enum { ATTEMPTS = 6 };
    const double most = 1.5;
    double latency = 0.0;
    double slope = 0.0;
    double own = 0.0;
    double intra = 0.0;
    bool good = false;
    bool disturbed = true;
    ASSERT_OK(comm_thread_run(1, copy_ops, NULL));
    for (int i = 0; i < ATTEMPTS && !good; ++i) {
        slow_result found;
        atomic_store(&sent, 0);
        atomic_store(&sent_late, 0);
        ASSERT_OK(comm_thread_run(SLOW_RANKS, calibrate_slow, &found));
        latency = found.model.inter.latency / slow_link.latency;
        slope = found.model.inter.seconds_per_byte / slow_link.seconds_per_byte;
        own = found.own;
        assert_true(latency > 0.9);
        intra = found.model.intra.seconds_per_byte / slow_link.seconds_per_byte;
        good = latency <= most && slope >= 0.9 && slope <= most && own <= 2 * most && own > 0.3 && found.other > 10.0 &&
               intra < 1.0;
        disturbed = disturbed && 20 * atomic_load(&sent_late) > atomic_load(&sent);
    }
    if (!good && !disturbed) {
        fail_msg(
            "latency found is %g times the true one, seconds a byte %g times; checked again %g times; inside a node "
            "%g times the network's",
            latency, slope, own, intra);
    }
}

/* ---- the file ----------------------------------------------------------------------------------------------- */
static const comm_model some_model = {
    .inter = {112.25e-6, 1 / 0.118e9},
    .intra = {0.4e-6, 1 / 9.1e9},
    .paired_per_byte = 5e-9,
    .sync = 0.7e-6,
    .shared_per_byte = 1e-10,
    .reduce_per_byte = 2.1e-10,
    .select_per_element = 7e-10,
    .scatter_per_element = 3e-9,
    .measured = true,
    .timed = {.ranks = 4,
              .seconds = {[COMM_ALGO_RING] = {[5] = 3e-6, [9] = 1.25e-4}, [COMM_ALGO_SHARED] = {1e-7, 2e-7}}}};

static model_key some_key(char *nodes)
{
    return (model_key){.nodes = nodes, .ranks = 4, .transport = "mpi", .mpi = "Open MPI v4.1.4"};
}

static void assert_same_model(const comm_model *a, const comm_model *b)
{
    assert_true(a->inter.latency == b->inter.latency && a->inter.seconds_per_byte == b->inter.seconds_per_byte);
    assert_true(a->intra.latency == b->intra.latency && a->intra.seconds_per_byte == b->intra.seconds_per_byte);
    assert_true(a->paired_per_byte == b->paired_per_byte);
    assert_true(a->sync == b->sync && a->shared_per_byte == b->shared_per_byte);
    assert_true(a->reduce_per_byte == b->reduce_per_byte && a->select_per_element == b->select_per_element);
    assert_memory_equal(&a->timed, &b->timed, sizeof a->timed);
    assert_true(a->scatter_per_element == b->scatter_per_element && a->measured == b->measured);
}

static void test_file_round_trip(void **state)
{
    char nodes[] = "ant:2 bee:2";
    const model_key key = some_key(nodes);
    const char *path = in_folder(state, "deep/er/model.json");
    comm_model read = comm_model_default();
    ASSERT_STATUS(model_read(path, &key, &read), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("No such file");
    ASSERT_OK(model_write(path, &key, &some_model));
    ASSERT_OK(model_read(path, &key, &read));
    assert_same_model(&read, &some_model);
}

/* Each part of the key by itself makes the file a stranger's. */
static void test_file_of_others(void **state)
{
    char nodes[] = "ant:2 bee:2";
    char others[] = "ant:2 cow:2";
    const model_key key = some_key(nodes);
    const char *path = in_folder(state, "model.json");
    const struct {
        model_key key;
        const char *text;
    } strangers[] = {
        {{.nodes = others, .ranks = 4, .transport = "mpi", .mpi = "Open MPI v4.1.4"}, "\"nodes\" is \"ant:2 bee:2\""},
        {{.nodes = nodes, .ranks = 8, .transport = "mpi", .mpi = "Open MPI v4.1.4"}, "\"ranks\" is 4, here it is 8"},
        {{.nodes = nodes, .ranks = 4, .transport = "thread", .mpi = "Open MPI v4.1.4"}, "\"transport\""},
        {{.nodes = nodes, .ranks = 4, .transport = "mpi", .mpi = "MPICH 4.0"}, "here it is \"MPICH 4.0\""},
        {{.nodes = nodes, .ranks = 4, .transport = "mpi", .mpi = "Open MPI v4.1.4", .machine = "another processor"},
         "here it is \"another processor\""},
    };
    ASSERT_OK(model_write(path, &key, &some_model));
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; ++i) {
        comm_model read = comm_model_default();
        const comm_model before = read;
        ASSERT_STATUS(model_read(path, &strangers[i].key, &read), WEFT_ERR_DATA);
        ASSERT_MESSAGE(path);
        ASSERT_MESSAGE(strangers[i].text);
        assert_same_model(&read, &before);
    }
}

/* The text of a good file with one place changed: refused, and the message names the entry. */
static void test_file_damaged(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } damage[] = {
        {"\"sync\": 7e-07", "\"sync\": 0", "\"sync\" is 0"},
        {"\"sync\": 7e-07", "\"sync\": -1", "\"sync\" is -1"},
        {"\"sync\": 7e-07", "\"sync\": \"x\"", "\"sync\" must be a number"},
        {"\"sync\": 7e-07", "\"sync\": null", "\"sync\" must be a number"},
        {"\"sync\": 7e-07", "\"sink\": 7e-07", "the key \"sync\" is missing"},
        {"\"sync\": 7e-07", "\"sync\": 1e99", "\"sync\" is 1e+99"},
        {"\"inter\"", "\"enter\"", "\"inter\" must be an object"},
        {"\"latency\": 4e-07", "\"latency\": []", "\"latency\" must be a number"},
        {"weft-comm-model 4", "weft-comm-model 3", "\"format\" is \"weft-comm-model 3\""},
        {"\"weft\": \"", "\"weft\": \"9.", "\"weft\""},
        {"\"ranks\": 4", "\"ranks\": 4.5", "\"ranks\" must be an integer"},
        {"\"timed_ranks\": 4", "\"timed_ranks\": 5", "\"timed_ranks\""},
        {"\"ring\"", "\"rung\"", "\"rung\" is no all-reduce"},
        {"3e-06,", "3e-06, 0,", "has more than 14 lengths"},
        {"3e-06,", "", "has 13 lengths instead of 14"},
        {"3e-06,", "-3e-06,", "entry 5 of \"ring\""},
        {"\"machine\"", "\"engine\"", "\"machine\""},
        {"}\n", "", "line"},
    };
    char nodes[] = "ant:2 bee:2";
    const model_key key = some_key(nodes);
    const char *path = in_folder(state, "model.json");
    ASSERT_OK(model_write(path, &key, &some_model));
    size_t bytes = 0;
    char *good = (char *)get_file(path, &bytes);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; ++i) {
        char bad[4096];
        comm_model read = comm_model_default();
        char *at = strstr(good, damage[i].from);
        if (i == sizeof damage / sizeof *damage - 1) {
            at = good + bytes - 2; /* the last brace */
        }
        assert_non_null(at);
        int length =
            snprintf(bad, sizeof bad, "%.*s%s%s", (int)(at - good), good, damage[i].to, at + strlen(damage[i].from));
        put_file(path, bad, (size_t)length);
        if (model_read(path, &key, &read) != WEFT_ERR_DATA) {
            fail_msg("taken as good: %s", bad);
        }
        ASSERT_MESSAGE(path);
        ASSERT_MESSAGE(damage[i].message);
    }
    /* Cut off anywhere: never taken. */
    for (size_t length = 0; length + 2 < bytes; length += 7) {
        comm_model read;
        put_file(path, good, length);
        assert_true(model_read(path, &key, &read) != WEFT_OK);
    }
    free(good);
}

static void test_file_cannot_be_written(void **state)
{
    char nodes[] = "ant:2 bee:2";
    const model_key key = some_key(nodes);
    put_file(in_folder(state, "file"), "x", 1);
    assert_true(model_write(in_folder(state, "file/model.json"), &key, &some_model) != WEFT_OK);
    assert_true(model_write(*state, &key, &some_model) != WEFT_OK);
}

static void test_default_path(void **state)
{
    (void)state;
    char nodes[] = "ant:2 bee:2";
    char others[] = "ant:2 bee:3";
    const model_key key = some_key(nodes);
    const model_key other = some_key(others);
    char path[FILE_PATH_MAX];
    char second[FILE_PATH_MAX];
    char *home = getenv("HOME");
    char kept[FILE_PATH_MAX];
    snprintf(kept, sizeof kept, "%s", home != NULL ? home : "/");
    setenv("XDG_CACHE_HOME", "/the/cache", 1);
    ASSERT_OK(model_default_path(&key, path));
    assert_int_equal(strncmp(path, "/the/cache/weft/comm-", 21), 0);
    ASSERT_OK(model_default_path(&key, second));
    assert_string_equal(path, second);
    ASSERT_OK(model_default_path(&other, second));
    assert_string_not_equal(path, second);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/ada", 1);
    ASSERT_OK(model_default_path(&key, path));
    assert_int_equal(strncmp(path, "/home/ada/.cache/weft/comm-", 27), 0);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    ASSERT_STATUS(model_default_path(&key, path), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("--comm-model");
    setenv("HOME", kept, 1);
}

/* Nodes by name, with their ranks. */
static weft_status check_key(weft_comm *comm, void *argument)
{
    (void)argument;
    char host[64] = "";
    char expected[256];
    model_key key;
    WEFT_TRY(comm_imitate_nodes(comm, 3));
    weft_status status = model_key_of(comm, "a processor", &key);
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "%s:1 %s:3", host, host);
    bool right = comm_rank(comm) != 0 ? key.nodes == NULL
                                      : status == WEFT_OK && strcmp(key.nodes, expected) == 0 && key.ranks == 4;
    model_key_free(&key);
    WEFT_TRY(status);
    CASE_CHECK(right, "rank %d: nodes are not \"%.100s\"", comm_rank(comm), expected);
    return WEFT_OK;
}

static void test_key(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(4, check_key, NULL));
}

/* ---- memory that runs out --------------------------------------------------------------------------------------- */
static weft_status key_and_calibrate(weft_comm *comm, void *argument)
{
    (void)argument;
    model_key key;
    comm_model model;
    weft_status status = model_key_of(comm, "a processor", &key);
    model_key_free(&key);
    WEFT_TRY(status);
    return comm_calibrate(comm, &model);
}

/* Whichever allocation fails on whichever rank: no rank is left waiting, nothing leaks, nothing crashes. */
static void test_memory_is_short(void **state)
{
    (void)state;
    enum { FAILURES = 12 };
    int refused = 0;
    for (uint64_t n = 1; n <= FAILURES; ++n) {
        weft_alloc_fail_after(8 + n); /* the first ones make the ranks themselves */
        weft_status status = comm_thread_run(2, key_and_calibrate, NULL);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_LAUNCH);
        refused += status != WEFT_OK;
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_finds_the_line),
        cmocka_unit_test(test_fit_bears_noise),
        cmocka_unit_test(test_fit_stays_positive),
        cmocka_unit_test(test_calibrate),
        cmocka_unit_test(test_finds_a_slow_network),
        cmocka_unit_test_setup_teardown(test_file_round_trip, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_file_of_others, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_file_damaged, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_file_cannot_be_written, folder_setup, folder_teardown),
        cmocka_unit_test(test_default_path),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
