/*
 * machine/control_group.h: what the control groups of this process grant (versions 1 and 2).
 *
 * A limit may stand at any level: every level from the process's group up to the root is read and the smallest
 * remainder counts. `root` is "/" on the live machine; tests give a folder that imitates proc and sys. Files that are
 * missing or unreadable mean no limit.
 */
#pragma once

#include <stdint.h>

/* Bytes that may still be used: limit - used + page cache that the kernel gives back. UINT64_MAX = no limit. */
uint64_t control_group_memory(const char *root);

/* CPUs' worth of run time, rounded down, at least 1. 0 = no limit. */
int control_group_cpus(const char *root);
