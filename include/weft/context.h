/*
 * weft/context.h: ranks that talk, threads in their place, a backend.
 *
 * Under a launcher (mpirun, srun) the context spans all processes of the job and starts MPI unless the program has;
 * otherwise it is one rank. weft_train() opens one for itself. A program opens its own to know its rank, and keeps it
 * open around several trainings: MPI ends when the last context that started it closes, and cannot start a second time.
 *
 *     weft_context *context = NULL;
 *     if (weft_context_create(options, &context) == WEFT_OK && weft_context_rank(context) == 0) {
 *         printf("%d ranks\n", weft_context_size(context));
 *     }
 *     weft_context_destroy(context);
 *
 * Process-wide effects, which last: the calling thread's CPU mask and OpenMP's thread count follow the options threads
 * and pin; ranks other than 0 stay silent in the log (stderr), and quiet and verbose set its level. Threads: call from
 * the thread that started MPI, usually main's.
 */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include "weft/options.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_context weft_context;

/*
 * Open a context. Collective over all processes of the job.
 *   options  [in]   of any command: threads, pin, backend, quiet and verbose are used, rank 0's on every rank; not kept
 *   context  [out]  the caller's, for weft_context_destroy; NULL on failure
 * WEFT_ERR_LAUNCH: launcher and MPI library do not fit, MPI has already ended, or more threads than CPUs are asked for;
 * WEFT_ERR_USAGE: no such backend, or quiet together with verbose; WEFT_ERR_UNSUPPORTED: not on this machine;
 * WEFT_ERR_RESOURCE: memory or threads are short.
 */
weft_status weft_context_create(const weft_options *options, weft_context **context);

/* This process, 0 to size - 1. Not collective. */
int weft_context_rank(const weft_context *context);
/* Processes of the job. Not collective. */
int weft_context_size(const weft_context *context);
/* Threads of this rank. Not collective. */
int weft_context_threads(const weft_context *context);
/* Name of the backend: "cpu", "ref", ... Valid as long as the context. Not collective. */
const char *weft_context_backend(const weft_context *context);

/* Close and free; NULL is allowed. Collective. */
void weft_context_destroy(weft_context *context);

#ifdef __cplusplus
}
#endif
#endif
