/* machine/library.c: see machine/library.h. */
#include "machine/library.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The runtime that answers at run time need not be the compiler's own: a file name tells. */
static void openmp_version(char *version, size_t bytes)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    const bool known = symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL;
    const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
    snprintf(version, bytes, "%d, %s", _OPENMP, !known ? "linked in" : slash != NULL ? slash + 1 : info.dli_fname);
}

const char *machine_library(int i, char *version, size_t bytes)
{
    static const struct {
        const char *name;
        void (*version)(char *version, size_t bytes);
    } rows[] = {{"OpenMP", openmp_version}, {"hwloc", topology_hwloc_version}, {"libnuma", topology_numa_version}};
    if (i < 0 || i >= (int)(sizeof rows / sizeof *rows)) {
        return NULL;
    }
    rows[i].version(version, bytes);
    return rows[i].name;
}
