/*
 * One holder at a time, whatever dies: processes that contend, die with the lock in their hands and take it over; dead,
 * living and foreign holders, known by number, beginning and beat; a holder that stood still; files that are no lock.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/lock.h"
#include "io/process.h"
#include "support/folder.h"

enum { CONTENDERS = 8, TURNS = 40 };

static const file_lock_pace quick = {.beat_s = 0.05, .look_s = 0.02, .looks = 15};
/* Who would observe a holder until it is believed dead would do so for ten minutes, longer than this test may last. */
static const file_lock_pace patient = {.beat_s = 0.05, .look_s = 0.02, .looks = 30000};

/* A record of whoever; kernel NULL: of this one. */
static void forge(const char *path, const char *kernel, int64_t number, int64_t began, int beat)
{
    char text[512];
    process_name me;
    process_name_self(&me);
    snprintf(text, sizeof text,
             "{\"host\": \"node17\", \"process\": %lld, \"began\": %lld, \"kernel\": \"%s\", \"job\": \"slurm 33\", "
             "\"since\": \"2024-05-01T12:00:00Z\", \"mark\": \"1\", \"beat\": \"%010d\"}\n",
             (long long)number, (long long)began, kernel != NULL ? kernel : me.kernel, beat);
    put_file(path, text, strlen(text));
}

static void takes(const char *path, const file_lock_pace *pace)
{
    file_lock *lock = NULL;
    ASSERT_OK(file_lock_take(path, pace, &lock));
    ASSERT_OK(file_lock_check(lock));
    file_lock_release(lock);
    assert_false(file_exists(path));
}

static void refused(const char *path, weft_status code, const char *text)
{
    file_lock *lock = NULL;
    assert_int_equal(file_lock_take(path, &patient, &lock), code);
    assert_null(lock);
    if (strstr(weft_error_message(), text) == NULL) {
        fail_msg("no '%s' in: %s", text, weft_error_message());
    }
    weft_error_clear();
}

static void test_held_and_released(void **state)
{
    const char *path = in_folder(state, "lock");
    file_lock *lock = NULL;
    char text[64];
    ASSERT_OK(file_lock_take(path, &quick, &lock));
    snprintf(text, sizeof text, "held by process %d on ", (int)getpid());
    refused(path, WEFT_ERR_USAGE, text);
    assert_true(file_exists(path));
    file_lock_release(lock);
    assert_false(file_exists(path));
    file_lock_release(NULL);
    ASSERT_OK(file_lock_check(NULL));
    takes(path, &quick);
}

/* ---- by its number -------------------------------------------------------------------------------------------- */

static void test_processes(void **state)
{
    process_name me;
    (void)state;
    process_name_self(&me);
    assert_int_equal(process_find(&me), PROCESS_RUNS);
    process_name other = me;
    other.began += 1; /* the number was given again */
    assert_int_equal(process_find(&other), PROCESS_ENDED);
    other = me;
    other.kernel[0] ^= 1;
    assert_int_equal(process_find(&other), PROCESS_ELSEWHERE);
    other = me;
    other.number = 0;
    assert_int_equal(process_find(&other), PROCESS_ELSEWHERE);
    setenv("SLURM_JOB_ID", "4711", 1);
    process_name_self(&me);
    unsetenv("SLURM_JOB_ID");
    assert_string_equal(me.job, "slurm 4711");

    pid_t child = fork();
    if (child == 0) {
        pause();
    }
    process_name_self(&me);
    me.number = child;
    me.began = 0;
    assert_int_equal(process_find(&me), PROCESS_RUNS);
    kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_find(&me), PROCESS_ENDED); /* a zombie */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(process_find(&me), PROCESS_ENDED);
}

static void test_dead_holder(void **state)
{
    const char *path = in_folder(state, "lock");
    pid_t child = fork();
    if (child == 0) {
        file_lock *lock = NULL;
        _exit(file_lock_take(path, &quick, &lock) == WEFT_OK ? 0 : 1);
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(code == 0 && file_exists(path));
    takes(path, &patient);             /* without an observation */
    forge(path, NULL, getpid(), 1, 0); /* this number, but another beginning */
    takes(path, &patient);
}

/* ---- contention ----------------------------------------------------------------------------------------------- */

typedef struct arena {
    _Atomic int inside, turns, deaths, refusals;
    _Atomic bool two;
} arena;

/* Take the lock as often as it comes, be alone in it for a moment, and now and then die with it. */
static void contend(arena *a, const char *path, unsigned seed)
{
    const file_lock_pace pace = {.beat_s = 5, .look_s = 0.0005, .looks = 20000};
    while (atomic_load(&a->turns) < TURNS) {
        file_lock *lock = NULL;
        const weft_status status = file_lock_take(path, &pace, &lock);
        if (status == WEFT_ERR_USAGE) {
            atomic_fetch_add(&a->refusals, 1);
            continue;
        }
        if (status != WEFT_OK) {
            fprintf(stderr, "%s\n", weft_error_message());
            _exit(1);
        }
        if (atomic_fetch_add(&a->inside, 1) != 0) {
            atomic_store(&a->two, true);
        }
        usleep(rand_r(&seed) % 2000);
        atomic_fetch_sub(&a->inside, 1);
        atomic_fetch_add(&a->turns, 1);
        if (rand_r(&seed) % 2 == 0) {
            atomic_fetch_add(&a->deaths, 1);
            kill(getpid(), SIGKILL);
        }
        file_lock_release(lock);
    }
    _exit(0);
}

static void test_one_at_a_time(void **state)
{
    const char *path = in_folder(state, "lock");
    arena *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(a != MAP_FAILED);
    int running = 0;
    for (unsigned seed = 1; running > 0 || atomic_load(&a->turns) < TURNS; ++seed) {
        int code = 0;
        if (running == CONTENDERS || atomic_load(&a->turns) >= TURNS) {
            assert_true(waitpid(-1, &code, 0) > 0);
            assert_true(WIFSIGNALED(code) || WEXITSTATUS(code) == 0);
            running -= 1;
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            contend(a, path, seed);
        }
        running += 1;
    }
    assert_false(atomic_load(&a->two));
    assert_true(atomic_load(&a->deaths) > 5 && atomic_load(&a->refusals) > 0);
    munmap(a, sizeof *a);
    if (file_exists(path)) {
        takes(path, &quick);
    }
}

/* ---- other hosts ---------------------------------------------------------------------------------------------- */

static void test_foreign_and_still(void **state)
{
    const char *path = in_folder(state, "lock");
    forge(path, "another kernel", getpid(), 1, 0);
    const double start = clock_seconds();
    takes(path, &quick);
    assert_true(clock_seconds() - start >= 0.9 * quick.look_s * quick.looks);
    put_file(path, "", 0); /* its maker died before it wrote */
    takes(path, &quick);
    put_file(path, "{\"host\": 3", 10);
    takes(path, &quick);
}

static void test_foreign_and_alive(void **state)
{
    const char *path = in_folder(state, "lock");
    forge(path, "another kernel", 1, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        FILE *file = fopen(path, "r+");
        for (int beat = 1; file != NULL && beat < 1000; ++beat) {
            usleep(100000);
            fseek(file, -13, SEEK_END);
            fprintf(file, "%010d", beat);
            fflush(file);
        }
        _exit(0);
    }
    refused(path, WEFT_ERR_USAGE, "held by process 1 on node17, since 2024-05-01T12:00:00Z, slurm 33");
    assert_true(file_exists(path));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
}

/* The beat itself: what an observer on another host would see. */
static void test_beat(void **state)
{
    const char *path = in_folder(state, "lock");
    file_lock *lock = NULL;
    size_t before = 0;
    size_t after = 0;
    ASSERT_OK(file_lock_take(path, &quick, &lock));
    uint8_t *a = get_file(path, &before);
    uint8_t *b = NULL;
    for (int i = 0; i < 6000 && (b == NULL || memcmp(a, b, before) == 0); ++i) {
        usleep(10000);
        free(b);
        b = get_file(path, &after);
        assert_int_equal(before, after);
    }
    assert_true(memcmp(a, b, before) != 0);
    free(a);
    free(b);
    file_lock_release(lock);
}

/* It stood still, and another one has its lock. */
static void test_lost(void **state)
{
    const char *path = in_folder(state, "lock");
    const char *next = in_folder(state, "next");
    const file_lock_pace slow = {.beat_s = 0.05, .look_s = 1, .looks = 30};
    file_lock *lock = NULL;
    ASSERT_OK(file_lock_take(path, &slow, &lock));
    forge(next, "another kernel", 1, 1, 0);
    assert_int_equal(rename(next, path), 0);
    weft_status status = WEFT_OK;
    for (int i = 0; i < 6000 && status == WEFT_OK; ++i) {
        usleep(10000);
        status = file_lock_check(lock);
    }
    assert_int_equal(status, WEFT_ERR_IO);
    assert_non_null(strstr(weft_error_message(), "taken over by process 1 on node17"));
    file_lock_release(lock);
    assert_true(file_exists(path));
    unlink(path);
}

/* ---- files that are no lock ------------------------------------------------------------------------------------- */

static void test_no_lock(void **state)
{
    const char *path = in_folder(state, "lock");
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    put_file(path, longer, sizeof longer);
    refused(path, WEFT_ERR_IO, "2000 bytes");
    unlink(path);
    assert_int_equal(symlink("elsewhere", path), 0);
    refused(path, WEFT_ERR_IO, "symbolic link");
    assert_false(file_exists(in_folder(state, "elsewhere")));
    unlink(path);
    assert_int_equal(mkdir(path, 0777), 0);
    refused(path, WEFT_ERR_IO, "not a regular file");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    refused(path, WEFT_ERR_IO, "not a regular file");
    unlink(path);
    refused(in_folder(state, "no/lock"), WEFT_ERR_NOINPUT, "no/lock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_held_and_released, folder_setup, folder_teardown),
        cmocka_unit_test(test_processes),
        cmocka_unit_test_setup_teardown(test_dead_holder, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_and_still, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_and_alive, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_beat, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_lost, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_lock, folder_setup, folder_teardown),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
