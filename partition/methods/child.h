/*
 * partition/methods/child.h: run a function in a child process.
 *
 * For third-party code that installs signal handlers, prints on stdout, may crash on memory shortage or leave its
 * memory fragmented: the child keeps all of that to itself, and its memory is gone when it ends. The child is a copy of
 * the calling thread only: the function must not use OpenMP, MPI or locks that other threads may hold. Results go
 * through memory from child_shared_alloc.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed memory that parent and child both see. */
weft_status child_shared_alloc(size_t bytes, void **memory);
void child_shared_free(void *memory, size_t bytes);

typedef struct child_task {
    const char *what;           /* for messages: "METIS" */
    uint64_t expected_bytes;    /* of the child's peak, for the progress line; 0 = unknown */
    int (*run)(void *argument); /* its result (0..125) is the child's exit status */
    void *argument;
} child_task;

/*
 * Fork, wait, log a line with elapsed time and the child's memory after 5 s and then every 10 s. stdout of the child
 * goes to stderr. [out] result what run returned. WEFT_ERR_RESOURCE: no process could be made, or the child was killed
 * (SIGKILL: most often out of memory); WEFT_ERR_INTERNAL: it died by another signal, which is named.
 */
weft_status child_run(const child_task *task, int *result);
