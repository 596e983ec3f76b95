/* machine/library.h: the libraries that this room stands on, with the versions that run. */
#pragma once

#include <stddef.h>

/* Name of the i-th, NULL past the end; its version as text. */
const char *machine_library(int i, char *version, size_t bytes);

/* The room's own: one row each, where the library's header may be included (machine/topology_summary.c). */
void topology_hwloc_version(char *version, size_t bytes);
void topology_numa_version(char *version, size_t bytes);
