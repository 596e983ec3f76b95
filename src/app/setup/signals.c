/* app/setup/signals.c: see app/setup/signals.h. Handlers do no more than set a flag and write a line that was made
 * before, or remove a folder whose name was. */
#include "app/setup/signals.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "machine/launcher.h"

enum { REMOVE_TRIES = 100 };

static atomic_bool asked;
static bool speaks, launched, by_srun; /* set before any handler is */
static char empty[FILE_PATH_MAX];      /* the same */
static bool own;                       /* what is in that folder goes, too */

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
            "SIGUSR1 instead (scancel --signal=USR1, sbatch --signal) leaves all the time that the step takes\n");
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

typedef struct folder_entry { /* getdents64(2) */
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
} folder_entry;

enum { ENTRIES_BYTES = 2048, DEPTH_MAX = 8 };

static void remove_at(int parent, const char *name, int depth);

/* Entries that were read are gone before the next are: the folder is read from its beginning until nothing is left. */
static bool remove_some(int folder, int depth)
{
    _Alignas(folder_entry) char text[ENTRIES_BYTES];
    bool any = false;
    (void)lseek(folder, 0, SEEK_SET);
    const long bytes = syscall(SYS_getdents64, folder, text, sizeof text);
    for (long at = 0; at < bytes;) {
        const folder_entry *entry = (const folder_entry *)(const void *)(text + at);
        at += entry->bytes;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) {
            remove_at(folder, entry->name, depth + 1);
            any = true;
        }
    }
    return any;
}

/* Calls of the kernel alone: opendir and malloc are not for a handler. */
static void remove_at(int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || depth > DEPTH_MAX) {
        return;
    }
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (int i = 0; folder >= 0 && i < ENTRIES_BYTES && remove_some(folder, depth); i++) {
    }
    if (folder >= 0) {
        (void)close(folder);
        (void)unlinkat(parent, name, AT_REMOVEDIR);
    }
}

/* rmdir and raise are among what a handler may call. The signal waits until this returns and has its default by
 * then. */
static void on_end(int number)
{
    if (own) { /* other threads may still write into it */
        for (int i = 0; i < REMOVE_TRIES && access(empty, F_OK) == 0; i++) {
            remove_at(AT_FDCWD, empty, 0);
        }
    } else {
        (void)rmdir(empty);
    }
    (void)raise(number);
}

static void remove_at_end(const char *folder, bool whole)
{
    const int numbers[] = {SIGTERM, SIGINT};
    (void)snprintf(empty, sizeof empty, "%s", folder);
    assert(empty[0] != '\0'); /* a handler removes it: never an empty path */
    own = whole;
    for (int i = 0; i < 2; ++i) {
        set(numbers[i], on_end, (int)SA_RESETHAND);
    }
}

void signals_remove_empty(const char *folder)
{
    remove_at_end(folder, false);
}

void signals_remove_tree(const char *folder)
{
    remove_at_end(folder, true);
}

/* ---- mapped files that lose their bytes ---- */

static char lost_prefix[64];

/* Bytes of a mapped file that are gone end the program with the file's name. Every other SIGBUS is a fault of the
 * program: it comes again, with its default, when the handler returns. strlen, memcpy and stpcpy are among what a
 * handler may call. */
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
