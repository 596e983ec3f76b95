/*
 * machine/placement_memory.h: the parts of placement_memory_available() that read files, so that tests can imitate
 * them. `root` is "/" on the live machine. UINT64_MAX = unknown, no limit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MemAvailable of proc/meminfo. */
uint64_t memory_of_machine(const char *root);

/* Free memory and page cache of one NUMA node; 0 when the node is unknown. */
uint64_t memory_of_node(const char *root, int node);

/* NUMA nodes of the live machine that have memory, by operating-system number, `capacity` at most; the count. One node
 * 0 where the kernel knows none. */
int memory_nodes(int *node, int capacity);
/* Returns the NUMA node of a logical CPU, or 0 if the kernel knows none. */
int memory_node_of_cpu(int cpu);
/* Places the whole pages of a range on a node and moves pages that are elsewhere; node -1 leaves the choice to the
 * kernel. Returns false if the kernel refuses. */
bool memory_bind(void *begin, size_t bytes, int node);
