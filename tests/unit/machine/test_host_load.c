/* Who else used the processors: an imitated proc with known ticks, and a busy process beside this one. */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/host_load.h"
#include "support/folder.h"

static void put(void **state, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(void **state, const char *name, const char *format, ...)
{
    va_list args;
    FILE *file = fopen(in_folder(state, name), "w");
    assert_non_null(file);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

/* A process that has had these ticks and last ran on `cpu`, as proc(5) lays it out. */
static int parent = 1; /* of the processes put next */

static void put_process(void **state, int pid, const char *name, long user, long children, int started, int cpu)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d", pid);
    ASSERT_OK(folder_make(in_folder(state, path)));
    snprintf(path, sizeof path, "proc/%d/stat", pid);
    put(state, path,
        "%d (%s) R %d 1 1 0 -1 4194304 10 20 30 40 %ld 2 %ld 0 20 0 1 0 %d 1000 200 18446744073709551615 1 1 0 0 0 0 0 "
        "0 0 0 0 "
        "0 17 %d 0 0 0 0 0\n",
        pid, name, parent, user, children, started, cpu);
}

static void put_cpus(void **state, const long busy[4], const long stolen[4])
{
    char text[512] = "cpu  1 2 3 4 5 6 7 8 0 0\n";
    for (int i = 0; i < 4; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "cpu%d %ld 0 0 5 6 0 0 %ld 0 0\n", i, busy[i], stolen[i]);
    }
    put(state, "proc/stat", "%sintr 1 2 3\n", text);
}

static const host_process *find(const host_load *load, int pid)
{
    for (int i = 0; i < HOST_LOAD_NAMED; i++) {
        if (load->other[i].cpus > 0.0 && load->other[i].pid == pid) {
            return &load->other[i];
        }
    }
    return NULL;
}

static void test_imitated_machine(void **state)
{
    const char *root = *state;
    const long hz = sysconf(_SC_CLK_TCK), before[4] = {1000, 1000, 1000, 1000}, none[4] = {0};
    ASSERT_OK(folder_make(in_folder(state, "proc/self")));
    put_cpus(state, before, none);
    put_process(state, 10, "rank", 100, 0, 1, 0);
    put_process(state, 11, "a b) R (c\n\x1b[2J", 100, 0, 1, 1);
    put_process(state, 12, "elsewhere", 100, 0, 1, 3);
    put_process(state, 13, "make", 0, 1000000, 1, 1);
    put_process(state, 14, "sh", 0, 0, 1, 0);
    put_process(state, 15, "idle", 50, 0, 1, 0);
    put_process(state, 16, "old", 5000, 0, 1, 0);
    put_process(state, 20, "waits", 0, 0, 1, 0);
    parent = 20;
    put_process(state, 21, "between", 0, 0, 1, 0);
    parent = 21;
    put_process(state, 22, "ends", 60, 0, 1, 0);
    parent = 1;
    put(state, "proc/not-a-process", "x");
    const double before_first = clock_seconds();
    host_look *look = host_look_begin(root);
    const double behind_first = clock_seconds();
    assert_non_null(look);
    usleep(200000);
    /* Ticks are those of a second: with the true time between the looks, ratios are known exactly. */
    const long after[4] = {1000 + hz, 1000 + hz / 2, 1000, 1000 + 7 * hz}, stolen[4] = {0, hz / 4, 0, 0};
    put_cpus(state, after, stolen);
    put_process(state, 10, "rank", 100 + hz / 20, 0, 1, 0);
    put_process(state, 11, "a b) R (c\n\x1b[2J", 100 + hz / 10, 0, 1, 1);
    put_process(state, 12, "elsewhere", 100 + hz / 10, 0, 1, 3);
    put_process(state, 13, "make", 0, 1000000 + hz / 8, 1, 1); /* a compiler that came and went */
    /* Two generations are gone, with what the younger had before and 0.1 seconds since: 2 + 2 ticks are its system
     * time. */
    put_process(state, 20, "waits", 0, 60 + hz / 6 + 2 + 2, 1, 0);
    ASSERT_OK(folder_remove(in_folder(state, "proc/21")));
    ASSERT_OK(folder_remove(in_folder(state, "proc/22")));
    put_process(state, 14, "sh", 0, 1000000000, 1, 0); /* waited for a child of many days */
    put_process(state, 16, "new", hz / 5, 0, 2, 0);    /* a pid used again */
    cpu_set cpus = {{0}};
    cpu_set_add(&cpus, 0);
    cpu_set_add(&cpus, 1);
    const int mine[] = {10};
    host_load load;
    const double before_second = clock_seconds();
    host_look_end(look, root, &cpus, mine, 1, &load);
    const double behind_second = clock_seconds();
    const long a_fifth = hz / 5 + 2, a_sixth = hz / 6, an_eighth = hz / 8; /* ticks are whole */
    assert_true(load.seconds >= before_second - behind_first && load.seconds <= behind_second - before_first);
    assert_int_equal(load.cpus, 2);
    ASSERT_NEAR(load.busy * load.seconds, 1.5, 1e-9);
    ASSERT_NEAR(load.stolen * load.seconds, 0.25, 1e-9);
    assert_int_equal(load.other[0].pid, 16);
    assert_string_equal(load.other[0].name, "new");
    ASSERT_NEAR(load.other[0].cpus * load.seconds, (double)a_fifth / (double)hz, 1e-9);
    assert_int_equal(load.other[1].pid, 20);
    ASSERT_NEAR(load.other[1].cpus * load.seconds, (double)a_sixth / (double)hz, 1e-9);
    assert_int_equal(load.other[2].pid, 13);
    ASSERT_NEAR(load.other[2].cpus * load.seconds, (double)an_eighth / (double)hz, 1e-9);
    assert_null(find(&load, 10)); /* ours */
    assert_null(find(&load, 12)); /* on a CPU that we do not use */
    assert_null(find(&load, 14));
}

static void test_names_are_harmless(void **state)
{
    const long hz = sysconf(_SC_CLK_TCK), busy[4] = {1, 1, 1, 1}, none[4] = {0};
    ASSERT_OK(folder_make(in_folder(state, "proc")));
    put_cpus(state, busy, none);
    put_process(state, 11, "a b) R (c\n\x1b[2J", 100, 0, 1, 1);
    host_look *look = host_look_begin(*state);
    assert_non_null(look);
    usleep(100000);
    put_process(state, 11, "a b) R (c\n\x1b[2J", 100 + hz, 0, 1, 1);
    cpu_set cpus = {{0}};
    cpu_set_add(&cpus, 1);
    host_load load;
    host_look_end(look, *state, &cpus, NULL, 0, &load);
    assert_string_equal(load.other[0].name, "a b) R (c??[2J");
}

static void test_nothing_known(void **state)
{
    cpu_set cpus = {{0}};
    host_load load;
    host_look *look = host_look_begin(in_folder(state, "nothing"));
    assert_null(look);
    host_look_end(look, *state, &cpus, NULL, 0, &load);
    assert_true(load.seconds == 0.0);
    assert_true(load.other[0].cpus == 0.0);
}

/* Every process there is but one: what else this machine does shall not take its place among the named. */
static int all_but(int pid, int *list, int most)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    int count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL && count < most) {
        int number = atoi(entry->d_name);
        if (number > 0 && number != pid) {
            list[count++] = number;
        }
    }
    closedir(folder);
    return count;
}

/* Processor seconds of a process so far. */
static double spent(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A process that turns in a circle: found on this machine, with the time that its own clock says; between what it had
 * inside and around the two looks, and the ticks that each of them cuts off. */
static void test_this_machine(void **state)
{
    (void)state;
    enum { MOST = 100000 };
    static int others[MOST];
    cpu_set cpus;
    clockid_t clock;
    host_load load;
    ASSERT_OK(placement_current_mask(&cpus));
    pid_t child = fork();
    if (child == 0) {
        alarm(110); /* if the test is killed */
        for (volatile unsigned long i = 0;; i++) {
        }
    }
    assert_true(child > 0);
    assert_int_equal(clock_getcpuclockid(child, &clock), 0);
    const int all = all_but((int)child, others, MOST);
    const double before_first = spent(clock);
    host_look *look = host_look_begin("/");
    const double behind_first = spent(clock);
    assert_non_null(look);
    sleep(1);
    const double before_second = spent(clock);
    host_look_end(look, "/", &cpus, others, all, &load);
    const double behind_second = spent(clock), ticks = 3.0 / (double)sysconf(_SC_CLK_TCK);
    const host_process *found = find(&load, (int)child);
    if ((before_second - behind_first) / load.seconds >
        0.1) { /* on a machine that starves it there is nothing to find */
        assert_non_null(found);
        assert_true(found->cpus * load.seconds >= before_second - behind_first - ticks);
        assert_true(found->cpus * load.seconds <= behind_second - before_first + ticks);
        assert_true(load.busy * load.seconds >= before_second - behind_first - 0.1);
    }
    assert_in_range(load.cpus, 1, PLACEMENT_MAX_CPUS);
    look = host_look_begin("/");
    sleep(1);
    const int both[] = {(int)getpid(), (int)child};
    host_look_end(look, "/", &cpus, both, 2, &load);
    assert_null(find(&load, (int)child));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_imitated_machine, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_names_are_harmless, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_known, folder_setup, folder_teardown),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
