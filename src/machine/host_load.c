/* machine/host_load.c: see machine/host_load.h. */
#include "machine/host_load.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process_stat.h"

enum { PATH_BYTES = 4096, LINE_BYTES = 1024, PROCESSES_MAX = 1 << 20, TASKS_MAX = 64, DEPTH_MAX = 64 };

/* Fewer processors' worth than this is nobody's competitor. */
static const double least_named = 0.05;

typedef struct cpu_times {
    double busy, stolen; /* ticks */
} cpu_times;

typedef struct process_times {
    int pid, parent;
    int64_t started;      /* pids are used again */
    double own, children; /* ticks; children: of those that it has waited for */
    double debt;          /* of `children`, what processes that were there at the first look had by then */
    int cpu;              /* where its first thread ran last */
    char name[HOST_LOAD_NAME];
} process_times;

struct host_look {
    double at; /* clock_seconds */
    cpu_times *cpu;
    process_times *process; /* by pid */
    int count, capacity;
};

static FILE *open_at(const char *root, const char *name)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/proc/%s", root, name);
    return length > 0 && length < PATH_BYTES ? fopen(path, "re") : NULL;
}

/* proc/stat: "cpu3 user nice system idle iowait irq softirq steal ..."; user includes guests. */
static bool read_cpus(const char *root, cpu_times *cpu)
{
    char line[LINE_BYTES];
    FILE *file = open_at(root, "stat");
    bool any = false;
    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        int number = -1;
        double t[8] = {0};
        if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &number, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
                   &t[6], &t[7]) >= 5 &&
            number >= 0 && number < PLACEMENT_MAX_CPUS) {
            cpu[number] = (cpu_times){.busy = t[0] + t[1] + t[2] + t[5] + t[6], .stolen = t[7]};
            any = true;
        }
    }
    fclose(file);
    return any;
}

static bool read_process(const char *root, int64_t number, process_times *p)
{
    process_stat stat;
    if (!process_stat_read(root, number, &stat)) {
        return false;
    }
    *p = (process_times){.pid = (int)stat.number,
                         .parent = stat.parent,
                         .started = stat.began,
                         .own = stat.user + stat.system,
                         .children = stat.child_user + stat.child_system,
                         .cpu = stat.cpu};
    snprintf(p->name, sizeof p->name, "%.*s", (int)sizeof p->name - 1, stat.name);
    for (char *c = p->name; *c != '\0'; c++) {
        *c = isprint((unsigned char)*c) ? *c : '?';
    }
    return true;
}

static bool append(host_look *look, const process_times *p)
{
    if (look->count == look->capacity) {
        int wider = look->capacity > 0 ? 2 * look->capacity : 256;
        process_times *more = NULL;
        if (wider > PROCESSES_MAX || WEFT_NEW(&more, wider, WEFT_MEM_GENERAL) != WEFT_OK) {
            return false;
        }
        if (look->count > 0) {
            memcpy(more, look->process, (size_t)look->count * sizeof *more);
        }
        weft_free(look->process);
        look->process = more;
        look->capacity = wider;
    }
    assert(look->count < look->capacity);
    look->process[look->count++] = *p;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const process_times *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* All processes; those that end while we read are left out. False: the list is not whole. */
static bool read_processes(const char *root, host_look *look)
{
    char path[PATH_BYTES];
    process_times p;
    snprintf(path, sizeof path, "%s/proc", root);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    weft_status status = WEFT_OK;
    while (folder != NULL && (entry = folder_next(folder, path, &status)) != NULL) {
        if (!is_number(entry->d_name)) {
            continue;
        }
        if (read_process(root, atoll(entry->d_name), &p) && !append(look, &p)) {
            break;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (look->count > 1) {
        qsort(look->process, (size_t)look->count, sizeof *look->process, by_pid);
    }
    return status == WEFT_OK;
}

static void look_free(host_look *look)
{
    if (look != NULL) {
        WEFT_FREE_ALL(look->cpu, look->process, look);
    }
}

host_look *host_look_begin(const char *root)
{
    host_look *look = NULL;
    bool good = WEFT_NEW_ZERO(&look, 1, WEFT_MEM_GENERAL) == WEFT_OK &&
                WEFT_NEW_ZERO(&look->cpu, PLACEMENT_MAX_CPUS, WEFT_MEM_GENERAL) == WEFT_OK &&
                read_cpus(root, look->cpu);
    const double at = clock_seconds();
    if (!good || !read_processes(root, look)) {
        look_free(look);
        weft_error_clear();
        return NULL;
    }
    look->at = at;
    return look;
}

static bool is_among(const int *list, int count, int pid)
{
    for (int i = 0; i < count; i++) {
        if (list[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Did one of its threads last run on a CPU of the set? Some of its threads, when it has very many. */
static bool ran_on(const char *root, const process_times *p, const cpu_set *cpus)
{
    char path[PATH_BYTES], name[320];
    process_stat task;
    bool found = cpu_set_has(cpus, p->cpu);
    snprintf(path, sizeof path, "%s/proc/%d/task", root, p->pid);
    DIR *folder = found ? NULL : opendir(path);
    const struct dirent *entry; /* that ends early where the process did */
    for (int i = 0; folder != NULL && !found && i < TASKS_MAX && (entry = readdir(folder)) != NULL; i++) {
        snprintf(name, sizeof name, "%d/task/%s/stat", p->pid, entry->d_name);
        found = is_number(entry->d_name) && process_stat_read_at(root, name, &task) && cpu_set_has(cpus, task.cpu);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static process_times *find(const host_look *look, int pid)
{
    const process_times key = {.pid = pid};
    return look->count > 0 ? bsearch(&key, look->process, (size_t)look->count, sizeof key, by_pid) : NULL;
}

/* The same process at the other look, or NULL. */
static process_times *same_at(const host_look *look, const process_times *p)
{
    process_times *found = find(look, p->pid);
    return found != NULL && found->started == p->started ? found : NULL;
}

/* A process that is gone went, with all it had, into the children of its nearest ancestor that is still there. */
static void note_debts(const host_look *first, const host_look *last)
{
    for (int i = 0; i < first->count; i++) {
        const process_times *gone = &first->process[i];
        const process_times *ancestor = same_at(last, gone) == NULL ? find(first, gone->parent) : NULL;
        for (int depth = 0; ancestor != NULL && depth < DEPTH_MAX; depth++) {
            process_times *heir = same_at(last, ancestor);
            if (heir != NULL) {
                heir->debt += gone->own + gone->children;
                break;
            }
            ancestor = find(first, ancestor->parent);
        }
    }
}

/* Ticks between the looks. More than there was time for is no figure of this stretch. */
static double ticks_of(const host_look *first, const process_times *now, double most)
{
    const process_times *before = same_at(first, now);
    const double own = now->own - (before != NULL ? before->own : 0.0);
    const double children = now->children - (before != NULL ? before->children : 0.0) - now->debt;
    return children > 0.0 && own + children <= most ? own + children : own;
}

static void insert(host_load *load, const process_times *p, double cpus)
{
    int at = HOST_LOAD_NAMED;
    while (at > 0 && load->other[at - 1].cpus < cpus) {
        at--;
    }
    for (int i = HOST_LOAD_NAMED - 1; i > at; i--) {
        load->other[i] = load->other[i - 1];
    }
    if (at < HOST_LOAD_NAMED) {
        load->other[at] = (host_process){.cpus = cpus, .pid = p->pid};
        memcpy(load->other[at].name, p->name, sizeof p->name);
    }
}

void host_look_end(host_look *first, const char *root, const cpu_set *cpus, const int *mine, int count, host_load *load)
{
    *load = (host_load){.cpus = cpu_set_count(cpus)};
    host_look *last = first != NULL ? host_look_begin(root) : NULL;
    const double seconds = last != NULL ? last->at - first->at : 0.0;
    const double ticks = seconds * (double)sysconf(_SC_CLK_TCK);
    if (last != NULL && ticks > 0.0) {
        load->seconds = seconds;
        note_debts(first, last);
        for (int cpu = 0; cpu < PLACEMENT_MAX_CPUS; cpu++) {
            if (cpu_set_has(cpus, cpu)) {
                load->busy += (last->cpu[cpu].busy - first->cpu[cpu].busy) / ticks;
                load->stolen += (last->cpu[cpu].stolen - first->cpu[cpu].stolen) / ticks;
            }
        }
        for (int i = 0; i < last->count; i++) {
            const process_times *p = &last->process[i];
            const double had = ticks_of(first, p, ticks * load->cpus) / ticks;
            if (had >= least_named && had > load->other[HOST_LOAD_NAMED - 1].cpus && !is_among(mine, count, p->pid) &&
                ran_on(root, p, cpus)) {
                insert(load, p, had);
            }
        }
    }
    look_free(last);
    look_free(first);
}
