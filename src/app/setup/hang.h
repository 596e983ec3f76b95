/*
 * app/setup/hang.h: the end of a command whose ranks do not come together: MPI waits and takes no time limit.
 *
 * Covers what the stall watchdog of the communication core cannot see: MPI_Init with a rank that never started, and the
 * other calls that block inside MPI (comm/transport/call_watch.h). Only the command uses this; the library ends no
 * program.
 */
#ifndef WEFT_APP_SETUP_HANG_H
#define WEFT_APP_SETUP_HANG_H

#include "app/options/app_options.h"

/* From the start of the program on: such a call ends the process with WEFT_ERR_STALL and a message. */
void hang_watch(void);
/* How long it may take: --stall-timeout. Ranks other than 0 do not read the environment and the configuration file;
 * until rank 0 has told them, it is their command line, WEFT_STALL_TIMEOUT or the default. Seconds without the rank's
 * turn. */
double hang_set_timeout(const weft_options *options);

#endif
