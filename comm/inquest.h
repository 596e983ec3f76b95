/*
 * comm/inquest.h: who is missing: what the ranks of a stalled job find out before it ends.
 *
 * When nothing moves for the stall timeout, every rank that waits knows only whom it waits for, and that rank may wait
 * itself. So each tells all others where it stands, on a lane of its own, and listens for a moment. Who stays silent is
 * stopped, dead or cut off: the root cause.
 *
 *      rank 0 waits for 3, rank 3 waits for 2, rank 1 waits for 2      rank 2 is silent: it is the cause
 *
 * The lowest rank that was heard speaks for all, so that the job ends with one block of text. A cut network may leave
 * two such ranks, one on each side.
 */
#ifndef WEFT_COMM_INQUEST_H
#define WEFT_COMM_INQUEST_H

#include "comm/comm.h"

enum { INQUEST_TEXT_BYTES = 2048 };

typedef struct comm_inquest {
    bool speaks;                   /* this rank is the lowest that was heard */
    int silent;                    /* ranks that were not heard */
    char text[INQUEST_TEXT_BYTES]; /* the cause in a sentence, then a line for each of the first ranks heard */
} comm_inquest;

/*
 * place: where this rank stands, for the others (the message of the stall). host: its node's name. Waits at most
 * `patience` seconds, less when everybody was heard. Never fails: what cannot be found out is left out. To be called by
 * every rank that fails with WEFT_ERR_STALL, just before it ends the job; the communicator is of no use afterwards.
 */
void comm_hold_inquest(weft_comm *comm, const char *host, const char *place, double patience, comm_inquest *result);

#endif
