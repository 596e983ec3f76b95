/*
 * io/process.c: see io/process.h.
 *
 * /proc/NUMBER/stat tells state and beginning. Where /proc hides the processes of others (hidepid), a signal 0 still
 * tells whether the number is taken; a number that is taken is then believed to be the same process, which errs on the
 * side of refusing.
 */
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of /proc, cut to its first line or to what fits; "" when it cannot be read. */
static void read_line(const char *path, char *text, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, bytes - 1) : -1;
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* Fields 3 and 22 of proc(5)'s stat, which stand behind the program's name in brackets; the name may hold brackets. */
static bool read_stat(int64_t number, char *state, int64_t *began)
{
    char path[48];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", number);
    read_line(path, text, sizeof text);
    const char *next = strrchr(text, ')');
    if (next == NULL || next[1] != ' ') {
        return false;
    }
    next += 2;
    *state = *next;
    for (int field = 3; field < 22; ++field) {
        next = strchr(next, ' ');
        if (next == NULL) {
            return false;
        }
        next += 1;
    }
    *began = strtoll(next, NULL, 10);
    return true;
}

static void read_kernel(char *kernel, size_t bytes)
{
    char boot[48];
    char space[40] = "";
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    const ssize_t got = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    const bool known = boot[0] != '\0' && got > 0;
    snprintf(kernel, bytes, "%s%s%s", known ? boot : "", known ? " " : "", known ? space : "");
}

static void read_job(char *job, size_t bytes)
{
    static const struct {
        const char *variable, *system;
    } systems[] = {{"SLURM_JOB_ID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"}, {"FLUX_JOB_ID", "flux"}};
    job[0] = '\0';
    for (size_t i = 0; i < sizeof systems / sizeof *systems && job[0] == '\0'; ++i) {
        const char *id = getenv(systems[i].variable);
        if (id != NULL && id[0] != '\0') {
            snprintf(job, bytes, "%s %s", systems[i].system, id);
        }
    }
}

void process_name_self(process_name *name)
{
    char state;
    memset(name, 0, sizeof *name);
    (void)gethostname(name->host, sizeof name->host - 1); /* for people: the kernel's id is what counts */
    read_kernel(name->kernel, sizeof name->kernel);
    name->number = getpid();
    (void)read_stat(name->number, &state, &name->began);
    read_job(name->job, sizeof name->job);
}

process_fate process_find(const process_name *name)
{
    char kernel[sizeof name->kernel];
    char state = ' ';
    int64_t began = 0;
    read_kernel(kernel, sizeof kernel);
    if (kernel[0] == '\0' || strcmp(kernel, name->kernel) != 0 || name->number <= 0 || name->number > INT32_MAX) {
        return PROCESS_ELSEWHERE;
    }
    if (read_stat(name->number, &state, &began)) {
        const bool over = state == 'Z' || state == 'X'; /* nobody has asked for its exit code yet */
        return over || (name->began != 0 && began != name->began) ? PROCESS_ENDED : PROCESS_RUNS;
    }
    return kill((pid_t)name->number, 0) != 0 && errno == ESRCH ? PROCESS_ENDED : PROCESS_RUNS;
}
