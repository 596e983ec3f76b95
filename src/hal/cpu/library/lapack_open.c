/* hal/cpu/library/lapack_open.c: finding, naming and trusting LAPACK; see lapack.h. */
#include "hal/cpu/library/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hal/cpu/library/lapack_library.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static lapack library;
#ifdef WEFT_HAVE_LAPACK
#define FOUND_FIRST UNOPENED
#else
#define FOUND_FIRST NONE
#endif
static enum { UNOPENED, NONE, ABSENT, OFF, WRONG, READY } found = FOUND_FIRST;
static const char *wrong; /* what lapack_check found */

/* [out] function: the address of `name` in the first of two libraries that has it; false if none has. Function pointers
 * are not objects: they are copied as what they are. */
static bool find(void *const handle[2], const char *name, void *function)
{
    void *address = NULL;
    for (int i = 0; i < 2 && address == NULL; ++i) {
        address = handle[i] != NULL ? dlsym(handle[i], name) : NULL;
    }
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* OpenBLAS starts a pool of its own when it is loaded, unless it was built for OpenMP or this says 1; the one for
 * OpenMP takes the runtime's number of threads all the same. A user's own setting stays. */
static void *load_openblas(void)
{
    const char *const name = "OPENBLAS_NUM_THREADS";
    const bool ours = getenv(name) == NULL;
    if (ours) {
        (void)setenv(name, "1", 1);
    }
    void *handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (ours) {
        (void)unsetenv(name);
    }
    return handle;
}

static bool find_calls(void *const handle[2])
{
    const struct {
        const char *name;
        void *function;
    } calls[] = {{"LAPACKE_spotrf_work", &library.spotrf}, {"LAPACKE_dpotrf_work", &library.dpotrf},
                 {"LAPACKE_spotri_work", &library.spotri}, {"LAPACKE_dpotri_work", &library.dpotri},
                 {"LAPACKE_spotrs_work", &library.spotrs}, {"LAPACKE_dpotrs_work", &library.dpotrs},
                 {"LAPACKE_ssyevd_work", &library.ssyevd}, {"LAPACKE_dsyevd_work", &library.dsyevd},
                 {"LAPACKE_sgelqf_work", &library.sgelqf}, {"LAPACKE_dgelqf_work", &library.dgelqf},
                 {"LAPACKE_sorglq_work", &library.sorglq}, {"LAPACKE_dorglq_work", &library.dorglq},
                 {"cblas_sgemm", &library.sgemm},          {"cblas_dgemm", &library.dgemm}};
    bool all = true;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        all = find(handle, calls[i].name, calls[i].function) && all;
    }
    return all;
}

/* Names the library and holds a pool of its own to one thread. */
static void name_library(void *const handle[2])
{
    static const char *const build[] = {"one thread", "threads of its own, held to one", "OpenMP"};
    const char *(*config)(void) = NULL;
    const char *(*core)(void) = NULL;
    int (*parallel)(void) = NULL;
    void (*set_threads)(int) = NULL;
    library.reference =
        !find(handle, "openblas_get_config", &config) || !find(handle, "openblas_get_corename", &core) ||
        !find(handle, "openblas_get_parallel", &parallel) || !find(handle, "openblas_set_num_threads", &set_threads);
    if (library.reference) {
        snprintf(library.name, sizeof library.name, "reference LAPACK");
        return;
    }
    int version[3] = {0};
    const int kind = parallel() >= 0 && parallel() <= 2 ? parallel() : 1;
    (void)sscanf(config(), "OpenBLAS %d.%d.%d", &version[0], &version[1], &version[2]);
    snprintf(library.name, sizeof library.name, "OpenBLAS %d.%d.%d, kernel %s, %s", version[0], version[1], version[2],
             core(), build[kind]);
    if (kind == 1) {
        set_threads(1);
    }
}

static void open_library(void)
{
    if (found == NONE) {
        return;
    }
    const char *const wish = getenv("WEFT_LAPACK");
    if (wish != NULL && strcmp(wish, "off") == 0) {
        found = OFF;
        return;
    }
    /* The first library that a program loads answers for the names of the second one, whose own may be the
     * reference. */
    void *const handle[2] = {load_openblas(), dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL)};
    if (!find_calls(handle)) {
        found = ABSENT;
        return;
    }
    name_library(handle);
    wrong = wish != NULL && strcmp(wish, "wrong") == 0 ? "what WEFT_LAPACK names" : lapack_check(&library);
    found = wrong == NULL ? READY : WRONG;
}

/* Logs what a user may want to change. */
static void tell(void)
{
    if (found == ABSENT) {
        log_warn(
            "LAPACK: no libopenblas.so.0 with liblapacke.so.3 on this machine: factorisations run on Weft's own forms, "
            "which are slower (Debian: libopenblas0-openmp, liblapacke)");
    } else if (found == WRONG) {
        log_warn(
            "LAPACK: %s computes %s wrong on this processor: factorisations run on Weft's own forms, which are slower; "
            "a newer OpenBLAS may be right, or this one with OPENBLAS_CORETYPE=Haswell in the environment",
            library.name, wrong);
    } else if (found == READY && library.reference) {
        log_warn("LAPACK: what this machine has is the reference, several times as slow as OpenBLAS (Debian: "
                 "libopenblas0-openmp)");
    } else if (found == READY) {
        log_debug("LAPACK: %s", library.name);
    }
}

const lapack *lapack_get(void)
{
    static pthread_once_t told = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_library);
    (void)pthread_once(&told, tell);
    return found == READY ? &library : NULL;
}

void lapack_describe(bool open, char *text, size_t bytes)
{
    static const char *const words[] = {
        [UNOPENED] = "", [NONE] = "none", [ABSENT] = "not found", [OFF] = "off (WEFT_LAPACK)"};
    if (open) {
        (void)pthread_once(&once, open_library);
    }
    if (found == READY) {
        snprintf(text, bytes, "%s", library.name);
    } else if (found == WRONG) {
        snprintf(text, bytes, "%s, not used: wrong on this processor", library.name);
    } else {
        snprintf(text, bytes, "%s", words[found]);
    }
}
