/*
 * app/signals.h: signals that ask `weft train` to end with a checkpoint.
 *
 *   SIGUSR1             from the start of the program: batch systems send it before time is up, also while data load
 *   SIGTERM, SIGINT     while training; before and after it they end the program at once, as does a second one
 *
 * A handler sets a flag, which the training loop shares among the ranks (train/keeper.h), and rank 0 writes one line.
 * mpirun answers SIGTERM and Ctrl-C with SIGTERM to every rank and SIGKILL 1 s later (MCA parameter
 * odls_base_sigkill_timeout); it passes SIGUSR1 on and waits. Only the command uses this, never the library.
 */
#ifndef WEFT_APP_SIGNALS_H
#define WEFT_APP_SIGNALS_H

#include <stdbool.h>

/* SIGUSR1 from now on. */
void signals_open(void);
/* SIGTERM and SIGINT from now on, or no longer. */
void signals_training(bool on);
/* Whether one came; self is not used. */
bool signals_asked(void *self);

#endif
