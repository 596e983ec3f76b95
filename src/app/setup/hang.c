/* app/setup/hang.c: see app/setup/hang.h. */
#include "app/setup/hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "comm/transport/call_watch.h"
#include "machine/launcher.h"

/* MPI may wait for anything: no MPI_Abort, no exit handlers. mpirun ends the others when it sees the status. */
static void end_process(const char *call, double seconds)
{
    char text[768];
    snprintf(text, sizeof text,
             "%s has not come back for %.1f s (--stall-timeout): another rank never came. Look for a process that is "
             "stopped or still starting (ps -o pid,stat,cmd on every host: state T), a host that is down, and "
             "interfaces that do not reach each other (mpirun --mca btl_tcp_if_include NAME --mca oob_tcp_if_include "
             "NAME); `weft doctor`, started in the same way, measures every pair of ranks",
             call, seconds);
    log_fatal(launcher_rank(), WEFT_ERR_STALL, text);
    fflush(stdout);
    _exit(WEFT_ERR_STALL);
}

void hang_watch(void)
{
    comm_on_hang(end_process);
}

/* The environment's value, where this rank was not allowed to read it; it was checked on rank 0 if that is like this.
 */
static double own_timeout(const weft_options *options)
{
    const char *text = getenv("WEFT_STALL_TIMEOUT");
    weft_options *own = NULL;
    double seconds = option_real(options, OPT_STALL_TIMEOUT);
    if (option_is_set(options, OPT_STALL_TIMEOUT) || text == NULL ||
        option_create(option_command_of(options), &own) != WEFT_OK) {
        return seconds;
    }
    if (option_assign(own, "stall-timeout", text) == WEFT_OK) {
        seconds = option_real(own, OPT_STALL_TIMEOUT);
    }
    weft_error_clear();
    option_destroy(own);
    return seconds;
}

double hang_set_timeout(const weft_options *options)
{
    double seconds = own_timeout(options);
    /* One rank speaks: mpirun takes a second to end the others, so they come in turn. */
    static const double turns[] = {0.0, 1.1, 2.2};
    int rank = launcher_rank();
    comm_set_hang_timeout(seconds + turns[rank < 2 ? rank : 2]);
    return seconds;
}
