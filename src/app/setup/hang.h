/*
 * app/setup/hang.h: the end of a command whose ranks do not come together: MPI waits and takes no time limit.
 *
 * Covers what the stall watchdog of the communication core cannot see: MPI_Init with a rank that never started, and the
 * other calls that block inside MPI (comm/transport/call_watch.h). Only the command uses this; the library ends no
 * program.
 */
#pragma once

#include "app/options/app_options.h"

/* Call at the start of the program. A call of MPI that blocks for too long then ends the process with WEFT_ERR_STALL
 * and a message. */
void hang_watch(void);
/* Sets the time limit of blocking calls to --stall-timeout. Ranks other than 0 read neither the configuration file nor
 * other variables: until they received rank 0's options, their limit comes from the command line, WEFT_STALL_TIMEOUT or
 * the default. Returns the limit in seconds, without the extra seconds that keep ranks from speaking at once. */
double hang_set_timeout(const weft_options *options);
