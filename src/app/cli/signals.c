/* app/cli/signals.c: see app/cli/signals.h. Handlers do no more than set a flag and write a line that was made
 * before, or remove a folder whose name was. */
#include "app/cli/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "machine/launcher.h"

static atomic_bool asked;
static bool speaks, launched, by_srun; /* set before any handler is */
static char empty[FILE_PATH_MAX];      /* the same */

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* nobody to tell */
}

static void on_signal(int number)
{
    bool first = !atomic_exchange(&asked, true);
    if (!first || !speaks) {
        return;
    }
    if (number == SIGUSR1) {
        say("weft: SIGUSR1: a checkpoint after this step, then the end\n");
    } else if (by_srun) {
        say("weft: SIGTERM: a checkpoint after this step, then the end; Slurm kills the job after its KillWait: "
            "SIGUSR1 "
            "instead (scancel --signal=USR1, sbatch --signal) leaves all the time that the step takes\n");
    } else if (launched) {
        say("weft: SIGTERM: a checkpoint after this step, then the end; mpirun kills its ranks 1 s after this signal: "
            "SIGUSR1 to mpirun instead comes at once and leaves all the time that the step takes\n");
    } else {
        say("weft: a checkpoint after this step, then the end; a second signal ends at once\n");
    }
}

static void set(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

/* A handler, not SIG_IGN: programs that this one starts get the default back. */
static void ignore(int number)
{
    (void)number;
}

void signals_let_writes_fail(void)
{
    set(SIGXFSZ, ignore, SA_RESTART);
}

void signals_open(void)
{
    speaks = launcher_rank() == 0;
    launched = launcher_present();
    by_srun = launcher_is_srun();
    set(SIGUSR1, on_signal, SA_RESTART);
}

void signals_training(bool on)
{
    const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; ++i) {
        set(numbers[i], on ? on_signal : SIG_DFL, on ? (int)(SA_RESTART | SA_RESETHAND) : 0);
    }
}

/* rmdir and raise are among what a handler may call. The signal waits until this returns and has its default by then. */
static void on_end(int number)
{
    (void)rmdir(empty);
    (void)raise(number);
}

void signals_remove_empty(const char *folder)
{
    const int numbers[] = {SIGTERM, SIGINT};
    (void)snprintf(empty, sizeof empty, "%s", folder);
    for (int i = 0; i < 2; ++i) {
        set(numbers[i], on_end, (int)SA_RESETHAND);
    }
}

/* ---- mapped files that lose their bytes ---- */

static char lost_prefix[64];

/* Bytes of a mapped file that are gone end the program with the file's name. Every other SIGBUS is a fault of the program: it
 * comes again, with its default, when the handler returns. strlen, memcpy and stpcpy are among what a handler may call. */
static void on_lost_page(int number, siginfo_t *info, void *context)
{
    char text[2048];
    (void)context;
    if (info->si_code != BUS_ADRERR) {
        set(number, SIG_DFL, 0);
        return;
    }
    const char *name = file_map_name(info->si_addr);
    char *end = stpcpy(text, lost_prefix);
    if (name != NULL) {
        end = stpcpy(end, name);
        end = stpcpy(end,
                     ": was cut short while it was in use, or its disk cannot be read: input files must stay as they "
                     "are until the job ends\n");
    } else {
        end = stpcpy(end, "a mapped page is gone: a file was cut short while it was in use, a disk cannot be read, or "
                          "shared memory is full (df /dev/shm)\n");
    }
    ssize_t written = write(STDERR_FILENO, text, (size_t)(end - text));
    (void)written; /* nobody to tell */
    _exit(WEFT_ERR_IO);
}

void signals_name_lost_files(void)
{
    struct sigaction action = {.sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO};
    (void)snprintf(lost_prefix, sizeof lost_prefix, "weft: error: [rank %d, exit %d] ", launcher_rank(), WEFT_ERR_IO);
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

bool signals_asked(void *self)
{
    (void)self;
    return atomic_load(&asked);
}
