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
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process_stat.h"

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
    process_stat stat;
    memset(name, 0, sizeof *name);
    (void)gethostname(name->host, sizeof name->host - 1); /* for people: the kernel's id is what counts */
    read_kernel(name->kernel, sizeof name->kernel);
    name->number = getpid();
    name->began = process_stat_read("", name->number, &stat) ? stat.began : 0;
    read_job(name->job, sizeof name->job);
}

process_fate process_find(const process_name *name)
{
    char kernel[sizeof name->kernel];
    process_stat stat;
    read_kernel(kernel, sizeof kernel);
    if (kernel[0] == '\0' || strcmp(kernel, name->kernel) != 0 || name->number <= 0 || name->number > INT32_MAX) {
        return PROCESS_ELSEWHERE;
    }
    if (process_stat_read("", name->number, &stat)) {
        const bool over = stat.state == 'Z' || stat.state == 'X'; /* nobody has asked for its exit code yet */
        return over || (name->began != 0 && stat.began != name->began) ? PROCESS_ENDED : PROCESS_RUNS;
    }
    return kill((pid_t)name->number, 0) != 0 && errno == ESRCH ? PROCESS_ENDED : PROCESS_RUNS;
}
