/*
 * hal/placement_memory.h: the parts of placement_memory_available() that read files, so that tests can imitate them.
 * `root` is "/" on the live machine. UINT64_MAX = unknown, no limit.
 */
#ifndef WEFT_HAL_PLACEMENT_MEMORY_H
#define WEFT_HAL_PLACEMENT_MEMORY_H

#include <stdint.h>

/* MemAvailable of proc/meminfo. */
uint64_t memory_of_machine(const char *root);

/* Free memory and page cache of one NUMA node; 0 when the node is unknown. */
uint64_t memory_of_node(const char *root, int node);

#endif
