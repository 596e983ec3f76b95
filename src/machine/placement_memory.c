/*
 * machine/placement_memory.c: how many bytes this process may still use.
 *
 * The least of: what the machine has free or can reclaim, what every control group above the process leaves, the NUMA
 * nodes that a memory policy (numactl --membind) or cpuset confines it to, and RLIMIT_AS less the address space in use.
 */
#include "machine/placement_memory.h"

#include <inttypes.h>
#include <numa.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "machine/control_group.h"
#include "machine/placement.h"

/* Sum of the kB figures behind the given keys of a meminfo file; `prefix` is "" or "Node N ". False when unreadable. */
static bool sum_meminfo(const char *path, const char *prefix, const char *const *keys, int key_count, uint64_t *bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[256];
    size_t skip = strlen(prefix);
    int found = 0;
    *bytes = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, prefix, skip) != 0) {
            continue;
        }
        for (int k = 0; k < key_count; k++) {
            size_t length = strlen(keys[k]);
            uint64_t kib = 0;
            if (strncmp(line + skip, keys[k], length) == 0 && sscanf(line + skip + length, ": %" SCNu64, &kib) == 1) {
                *bytes += kib * 1024;
                found++;
            }
        }
    }
    fclose(file);
    return found == key_count;
}

uint64_t memory_of_machine(const char *root)
{
    static const char *const keys[] = {"MemAvailable"};
    char path[4096];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    return sum_meminfo(path, "", keys, 1, &bytes) ? bytes : UINT64_MAX;
}

uint64_t memory_of_node(const char *root, int node)
{
    static const char *const keys[] = {"MemFree", "Active(file)", "Inactive(file)"};
    char path[4096], prefix[32];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/meminfo", root, node);
    snprintf(prefix, sizeof prefix, "Node %d ", node);
    return sum_meminfo(path, prefix, keys, 3, &bytes) ? bytes : 0;
}

/* Nodes of this policy only, when it leaves out a node that has memory. */
static uint64_t memory_of_policy(void)
{
    if (numa_available() < 0) {
        return UINT64_MAX;
    }
    struct bitmask *bound = numa_get_membind();
    uint64_t bytes = 0;
    bool confined = false;
    for (int node = 0; node <= numa_max_node(); node++) {
        if (numa_bitmask_isbitset(bound, (unsigned)node)) {
            bytes += memory_of_node("/", node);
        } else if (numa_node_size64(node, NULL) > 0) {
            confined = true;
        }
    }
    numa_bitmask_free(bound);
    return confined && bytes > 0 ? bytes : UINT64_MAX;
}

int memory_nodes(int *node, int capacity)
{
    int count = 0;
    for (int i = 0; numa_available() >= 0 && i <= numa_max_node() && count < capacity; i++) {
        if (numa_node_size64(i, NULL) > 0) {
            node[count++] = i;
        }
    }
    if (count == 0 && capacity > 0) {
        node[count++] = 0;
    }
    return count;
}

int memory_node_of_cpu(int cpu)
{
    const int node = numa_available() >= 0 ? numa_node_of_cpu(cpu) : 0;
    return node > 0 ? node : 0;
}

bool memory_bind(void *begin, size_t bytes, int node)
{
    unsigned long mask[16] = {0};
    const size_t width = 8 * sizeof mask[0];
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const size_t skip = (size_t)(-(uintptr_t)begin % page);
    if (node >= (int)(width * (sizeof mask / sizeof mask[0])) || bytes < skip + page) {
        return false;
    }
    if (node >= 0) {
        mask[(size_t)node / width] |= 1UL << ((size_t)node % width);
    }
    return mbind((char *)begin + skip, (bytes - skip) / page * page, node < 0 ? MPOL_DEFAULT : MPOL_BIND,
                 node < 0 ? NULL : mask, node < 0 ? 0 : sizeof mask * 8, node < 0 ? 0 : MPOL_MF_MOVE) == 0;
}

static uint64_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%" SCNu64, &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t placement_memory_available(void)
{
    const uint64_t bounds[] = {memory_of_machine("/"), control_group_memory("/"), memory_of_policy(),
                               address_space_left()};
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        least = bounds[i] < least ? bounds[i] : least;
    }
    return least;
}
