/*
 * machine/placement_apply.c: a plan put into force on the calling process.
 *
 * A rank that the launcher bound to one core may widen its own mask, within its control group. libgomp sizes its pool
 * when the first parallel region starts, so mask and thread count come first, and one region then pins thread by
 * thread.
 *
 * Thread 0 keeps the rank's whole mask. Measured with libgomp of gcc 12: a region with fewer threads than the last one
 * ends the surplus threads, and those made later inherit the mask of thread 0; were it pinned to one CPU, all of them
 * would share that CPU. placement_refresh pins the newborn.
 */
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <errno.h>

#include "base/log.h"
#include "machine/machine_options.def"
#include "machine/placement.h"

/* The CPU this thread is pinned to by us, -1 = none. */
static _Thread_local int pinned_cpu = -1;

static bool bind_thread(const cpu_set *mask)
{
    return sched_setaffinity(0, sizeof *mask, (const cpu_set_t *)(const void *)mask) == 0;
}

weft_status placement_current_mask(cpu_set *mask)
{
    memset(mask, 0, sizeof *mask);
    WEFT_CHECK(sched_getaffinity(0, sizeof *mask, (cpu_set_t *)(void *)mask) == 0, WEFT_ERR_LAUNCH,
               "cannot read the affinity mask: %s", strerror(errno));
    return WEFT_OK;
}

/* Places of an OpenMP library: sets of CPUs that it binds threads to. */
typedef struct omp_places {
    int (*count)(void);
    int (*cpus)(int place);
    void (*ids)(int place, int *ids);
} omp_places;

/* Of libgomp, which oneDNN brings and which binds the first thread when it is loaded, even where libomp runs the
 * regions. */
static omp_places places_of_openmp(void)
{
    omp_places places = {omp_get_num_places, omp_get_place_num_procs, omp_get_place_proc_ids};
    void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        void *const found[] = {dlsym(library, "omp_get_num_places"), dlsym(library, "omp_get_place_num_procs"),
                               dlsym(library, "omp_get_place_proc_ids")};
        if (found[0] != NULL && found[1] != NULL && found[2] != NULL) {
            memcpy(&places, found, sizeof places);
        }
        dlclose(library);
    }
    return places;
}

/*
 * OpenMP binds the first thread when its library is loaded, if the environment says so (OMP_PROC_BIND,
 * GOMP_CPU_AFFINITY). Its places together are the mask that the process had, or the CPUs that the environment names.
 */
weft_status placement_start_mask(cpu_set *mask, bool *by_openmp)
{
    int ids[PLACEMENT_MAX_CPUS];
    const omp_places places = places_of_openmp();
    WEFT_TRY(placement_current_mask(mask));
    *by_openmp = omp_get_proc_bind() != omp_proc_bind_false && places.count() > 0;
    for (int place = 0; *by_openmp && place < places.count(); place++) {
        const int count = places.cpus(place);
        if (count > 0 && count <= PLACEMENT_MAX_CPUS) {
            places.ids(place, ids);
        }
        for (int i = 0; i < count && count <= PLACEMENT_MAX_CPUS; i++) {
            cpu_set_add(mask, ids[i]);
        }
    }
    return WEFT_OK;
}

/* Pins threads 1, 2, ... that are not yet where they belong. [out] team: threads that OpenMP gave. Returns refusals. */
static int pin_team(const placement *plan, int *team)
{
    int refused = 0, given = 0;
#pragma omp parallel num_threads(plan->threads) reduction(+ : refused) reduction(max : given)
    {
        int i = omp_get_thread_num();
        given = omp_get_num_threads();
        if (plan->cpu != NULL && i > 0 && pinned_cpu != plan->cpu[i]) {
            cpu_set one;
            memset(&one, 0, sizeof one);
            cpu_set_add(&one, plan->cpu[i]);
            if (bind_thread(&one)) {
                pinned_cpu = plan->cpu[i];
            } else {
                refused = 1;
            }
        }
    }
    *team = given;
    return refused;
}

/* The OpenMP runtime read these when it was loaded; with --bind-to none each rank's copy chose the same cores. */
static void warn_of_environment(const placement *plan)
{
    static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0' && strcasecmp(value, "false") != 0) {
            log_warn("%s=%s binds the threads of every rank to the same cores; replaced (%s). Better: unset %s, and "
                     "let weft "
                     "pin, or start with: mpirun --map-by slot:PE=%d --bind-to core",
                     names[i], value, plan->reason, names[i], plan->threads);
            return;
        }
    }
}

weft_status placement_apply(const placement *plan)
{
    if (plan->healed) {
        warn_of_environment(plan);
    }
    bool bound = cpu_set_count(&plan->mask) > 0 && bind_thread(&plan->mask);
    if (!bound) {
        log_warn(
            "the operating system refuses to change the affinity mask (%s): threads stay where the launcher put them",
            strerror(errno));
    }
    omp_set_dynamic(0);
    omp_set_num_threads(plan->threads);
    int team = 0, refused = pin_team(plan, &team);
    WEFT_CHECK(team == plan->threads, WEFT_ERR_LAUNCH,
               "OpenMP gives %d of %d threads: unset OMP_THREAD_LIMIT, or use " FLAG_THREADS " %d", team, plan->threads,
               team);
    if (bound && refused > 0) {
        log_warn("the operating system refused to pin %d of %d threads", refused, plan->threads);
    }
    return WEFT_OK;
}

void placement_helper_thread(int cpu)
{
    cpu_set one;
    memset(&one, 0, sizeof one);
    omp_set_num_threads(1);
    if (cpu < 0) {
        return;
    }
    cpu_set_add(&one, cpu);
    if (!bind_thread(&one)) {
        log_warn("the operating system refused to pin a thread to CPU %d: %s", cpu, strerror(errno));
    }
}

void placement_refresh(const placement *plan)
{
    if (plan->pinned && plan->threads > 1) {
        int team = 0;
        pin_team(plan, &team);
    }
}
