/*
 * comm/coll/barrier.c: nobody leaves before everybody came. Dissemination: in round k rank r tells r + 2^k and hears
 * from r - 2^k; after ceil(log2 P) rounds it has heard, directly or not, from all. Messages of one byte.
 *
 * D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization. IJPP 17(1), 1988,
 * doi:10.1007/BF01379320
 */
#include "comm/coll/coll.h"

void coll_barrier_build(comm_schedule *s, int rank, int size)
{
    void *scratch = NULL;
    schedule_scratch(s, 2, &scratch);
    char *token = scratch;
    if (token == NULL) {
        return; /* schedule_end reports it */
    }
    schedule_round(s, "token");
    schedule_copy(s, token, "x", 1);
    for (int64_t distance = 1; distance < size; distance *= 2) {
        schedule_round(s, "token");
        schedule_receive(s, (int)((rank + size - distance) % size), token + 1, 1);
        schedule_send(s, (int)((rank + distance) % size), token, 1);
    }
}
