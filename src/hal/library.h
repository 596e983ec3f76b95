/* hal/library.h: the libraries that this room stands on, with the versions that run. */
#ifndef WEFT_HAL_LIBRARY_H
#define WEFT_HAL_LIBRARY_H

#include <stddef.h>

/* Name of the i-th, NULL past the end; its version as text. */
const char *hal_library(int i, char *version, size_t bytes);

/* The room's own: one row each, where the library's header may be included. In hal/topology_summary.c. */
void topology_hwloc_version(char *version, size_t bytes);
void topology_numa_version(char *version, size_t bytes);

#endif
