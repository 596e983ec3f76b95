/*
 * app/setup/signals.h: signals that ask training and searches to end with checkpoints, one that asks nothing, and what
 * the end of `weft predict` and of a dry run leaves behind.
 *
 *   SIGXFSZ             always: a write beyond the limit of files (ulimit -f) fails with EFBIG, as on a full disk
 *   SIGBUS              always: a mapped input that was cut short, or whose disk fails, ends the program with the
 *                       file's name
 *   SIGUSR1             from the start of the program: batch systems send it before time is up, also while data load
 *   SIGTERM, SIGINT     while training; before and after it they end the program at once, as does a second one
 *
 * A handler sets a flag, which the training loop shares among the ranks (train/checkpoint/keeper.h), and rank 0 writes
 * one line.
 *
 * mpirun passes SIGUSR1 on at once and waits: the signal to send. SIGTERM and Ctrl-C are its own end. Open MPI 4.1.4,
 * measured with its parameter odls_base_sigkill_timeout = N seconds (1 by default):
 *
 *      0   mpirun is told       SIGCONT to the ranks, which go on as if nothing had happened
 *      N                        SIGTERM to the ranks
 *      2 N                      SIGKILL
 *
 * so a larger N postpones the checkpoint by as much as it prolongs the time for it. Only the command uses this, never
 * the library.
 */
#pragma once

#include <stdbool.h>

/* SIGXFSZ no longer kills. */
void signals_let_writes_fail(void);
/* A mapped file that loses its bytes ends the program with one line that names it, WEFT_ERR_IO. */
void signals_name_lost_files(void);
/* SIGUSR1 from now on. */
void signals_open(void);
/* SIGTERM and SIGINT from now on, or no longer. */
void signals_training(bool on);
/* From now on SIGTERM and SIGINT remove this folder before they end the program, as long as nothing is in it: what has
 * been written into it stays for whoever makes the next one in its place (folder_begin). */
void signals_remove_empty(const char *folder);
/* From now on SIGTERM and SIGINT remove this folder, which is the program's own, with all that is in it. */
void signals_remove_tree(const char *folder);
/* Whether one came; self is not used. */
bool signals_asked(void *self);
