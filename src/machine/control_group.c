/* machine/control_group.c: see machine/control_group.h. */
#include "machine/control_group.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 };

/* Version 1 writes "no limit" as the largest page-aligned number; anything of that size means the same. */
#define NO_LIMIT_FROM (UINT64_C(1) << 60)

typedef struct group {
    char mount[PATH_BYTES]; /* where the hierarchy is mounted, below root */
    char path[PATH_BYTES];  /* the process's group in it: "" or "/a/b" */
} group;

static FILE *open_at(const char *folder, const char *group_path, const char *name)
{
    char path[3 * PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s/%s", folder, group_path, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

/* One number; false when the file is missing or says "max". */
static bool read_number(const group *g, const char *name, uint64_t *value)
{
    FILE *file = open_at(g->mount, g->path, name);
    if (file == NULL) {
        return false;
    }
    char line[64];
    bool known = fgets(line, sizeof line, file) != NULL && sscanf(line, "%" SCNu64, value) == 1;
    fclose(file);
    return known;
}

/* The number behind `key` in a file of "key value" lines; 0 when absent. */
static uint64_t read_key(const group *g, const char *name, const char *key)
{
    FILE *file = open_at(g->mount, g->path, name);
    if (file == NULL) {
        return 0;
    }
    char line[256], word[128];
    uint64_t value = 0, found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%127s %" SCNu64, word, &value) == 2 && strcmp(word, key) == 0) {
            found = value;
            break;
        }
    }
    fclose(file);
    return found;
}

/* Steps to the parent group; false at the top. */
static bool parent(group *g)
{
    char *slash = strrchr(g->path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/* Whether the comma-separated list holds the word. */
static bool lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/*
 * The process's group for a controller of version 1 ("memory", "cpu") or, with controller "", of version 2, from
 * proc/self/cgroup: lines "hierarchy:controllers:path".
 */
static bool find_group(const char *root, const char *controller, group *g)
{
    FILE *file = open_at(root, "", "proc/self/cgroup");
    if (file == NULL) {
        return false;
    }
    char line[LINE_BYTES];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        controllers++;
        if (controller[0] == '\0' ? controllers[0] != '\0' : !lists(controllers, controller)) {
            continue;
        }
        found = true;
        snprintf(g->path, sizeof g->path, "%s", strcmp(path, "/") == 0 ? "" : path);
        snprintf(g->mount, sizeof g->mount, "%s/sys/fs/cgroup%s%s", root, controller[0] != '\0' ? "/" : "", controller);
    }
    fclose(file);
    return found;
}

static uint64_t remainder_of(uint64_t limit, uint64_t used, uint64_t reclaimable)
{
    used = used > reclaimable ? used - reclaimable : 0;
    return limit > used ? limit - used : 0;
}

static uint64_t memory_below(const char *root, const char *controller, const char *limit_name, const char *used_name,
                             const char *cache_key)
{
    group g;
    uint64_t least = UINT64_MAX;
    if (!find_group(root, controller, &g)) {
        return least;
    }
    do {
        uint64_t limit = 0, used = 0;
        if (!read_number(&g, limit_name, &limit) || limit >= NO_LIMIT_FROM || !read_number(&g, used_name, &used)) {
            continue;
        }
        uint64_t left = remainder_of(limit, used, read_key(&g, "memory.stat", cache_key));
        least = left < least ? left : least;
    } while (parent(&g));
    return least;
}

uint64_t control_group_memory(const char *root)
{
    uint64_t v2 = memory_below(root, "", "memory.max", "memory.current", "inactive_file");
    uint64_t v1 = memory_below(root, "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
    return v1 < v2 ? v1 : v2;
}

/* Version 2: "quota period" or "max period" in one file; version 1: two files, quota -1 = no limit. */
static bool read_quota(const group *g, bool v2, double *cpus)
{
    double quota = 0, period = 0;
    if (v2) {
        FILE *file = open_at(g->mount, g->path, "cpu.max");
        if (file == NULL) {
            return false;
        }
        char line[64] = "";
        bool known = fgets(line, sizeof line, file) != NULL && sscanf(line, "%lf %lf", &quota, &period) == 2;
        fclose(file);
        if (!known) {
            return false;
        }
    } else {
        uint64_t quota_us = 0, period_us = 0;
        if (!read_number(g, "cpu.cfs_quota_us", &quota_us) || !read_number(g, "cpu.cfs_period_us", &period_us) ||
            quota_us >= NO_LIMIT_FROM) {
            return false;
        }
        quota = (double)quota_us;
        period = (double)period_us;
    }
    *cpus = quota / period;
    return quota > 0 && period > 0;
}

int control_group_cpus(const char *root)
{
    double least = 0;
    for (int v2 = 0; v2 <= 1; v2++) {
        group g;
        if (!find_group(root, v2 != 0 ? "" : "cpu", &g)) {
            continue;
        }
        do {
            double cpus = 0;
            if (read_quota(&g, v2 != 0, &cpus) && (least == 0 || cpus < least)) {
                least = cpus;
            }
        } while (parent(&g));
    }
    if (least <= 0 || least >= PATH_BYTES) {
        return 0;
    }
    return least < 1 ? 1 : (int)least;
}
