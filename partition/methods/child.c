/* partition/methods/child.c: see partition/methods/child.h. */
#include "partition/methods/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define FIRST_LINE_S 5.0
#define LINE_EVERY_S 10.0

weft_status child_shared_alloc(size_t bytes, void **memory)
{
    *memory = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (*memory == MAP_FAILED) {
        *memory = NULL;
        return weft_fail(WEFT_ERR_RESOURCE, "%zu bytes shared with a child process: %s", bytes, strerror(errno));
    }
    return WEFT_OK;
}

void child_shared_free(void *memory, size_t bytes)
{
    if (memory != NULL) {
        munmap(memory, bytes > 0 ? bytes : 1);
    }
}

/* The second number of /proc/PID/statm: resident pages; 0 when the process is gone. */
static double resident_gib(pid_t pid)
{
    char path[64];
    long long total = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    char line[256] = "";
    char *read = fgets(line, sizeof line, file);
    fclose(file);
    if (read == NULL || sscanf(line, "%lld %lld", &total, &resident) != 2) { // NOLINT(cert-err34-c): kernel's own text
        return 0;
    }
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (double)(1 << 30);
}

/* Poll often at first (small graphs take milliseconds), then every 50 ms. */
static weft_status wait_for(pid_t pid, const child_task *task, int *wait_status)
{
    double start = clock_seconds(), next_line = start + FIRST_LINE_S;
    long pause_ns = 200000;
    for (;;) {
        pid_t done = waitpid(pid, wait_status, WNOHANG);
        if (done == pid) {
            return WEFT_OK;
        }
        if (done < 0 && errno != EINTR) {
            return weft_fail(WEFT_ERR_INTERNAL, "%s: waiting for its process failed: %s", task->what, strerror(errno));
        }
        double now = clock_seconds();
        if (now >= next_line) {
            log_info("%s: %.0f s elapsed, holds %.2f GiB of an expected %.2f GiB", task->what, now - start,
                     resident_gib(pid), (double)task->expected_bytes / (double)(1 << 30));
            next_line = now + LINE_EVERY_S;
        }
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        pause_ns = pause_ns < 50000000 ? pause_ns * 5 / 4 : pause_ns;
    }
}

weft_status child_run(const child_task *task, int *result)
{
    int wait_status = 0;
    fflush(NULL); /* or the child would hold copies of what is buffered */
    pid_t parent = getpid(), pid = fork();
    WEFT_CHECK(pid >= 0, WEFT_ERR_RESOURCE, "%s: no process for it: %s", task->what, strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(126); /* the parent died before the line above */
        }
        dup2(STDERR_FILENO, STDOUT_FILENO);
        int code = task->run(task->argument);
        fflush(NULL);
        _exit(code);
    }
    WEFT_TRY(wait_for(pid, task, &wait_status));
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        WEFT_CHECK(number != SIGKILL, WEFT_ERR_RESOURCE,
                   "%s: its process was killed (signal 9), most often because memory ran out; it was expected to need "
                   "%.2f GiB",
                   task->what, (double)task->expected_bytes / (double)(1 << 30));
        return weft_fail(WEFT_ERR_INTERNAL, "%s: its process died by signal %d (%s)", task->what, number,
                         strsignal(number));
    }
    *result = WEXITSTATUS(wait_status);
    /* The program's handler of SIGBUS ends the process so, once it has named the file. */
    WEFT_CHECK(*result != WEFT_ERR_IO, WEFT_ERR_IO,
               "%s: its process could not read the file that the line before names", task->what);
    return WEFT_OK;
}
