/* hal/library.c: see hal/library.h. */
#include "hal/library.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "hal/cpu/onednn_shim.h"

/* The runtime that answers at run time need not be the compiler's own: a file name tells. */
static void openmp_version(char *version, size_t bytes)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    const bool known = symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL;
    const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
    snprintf(version, bytes, "%d, %s", _OPENMP, !known ? "linked in" : slash != NULL ? slash + 1 : info.dli_fname);
}

static void onednn_text(char *version, size_t bytes)
{
    const char *text = onednn_version();
    const char *space = strchr(text, ' ');
    snprintf(version, bytes, "%s", space != NULL ? space + 1 : text);
}

const char *hal_library(int i, char *version, size_t bytes)
{
    static const struct {
        const char *name;
        void (*version)(char *version, size_t bytes);
    } rows[] = {{"OpenMP", openmp_version},
                {"oneDNN", onednn_text},
                {"hwloc", topology_hwloc_version},
                {"libnuma", topology_numa_version}};
    if (i < 0 || i >= (int)(sizeof rows / sizeof *rows)) {
        return NULL;
    }
    rows[i].version(version, bytes);
    return rows[i].name;
}
