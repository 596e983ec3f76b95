/* comm/comm_internal.h: the communicator as the room comm sees it. */
#ifndef WEFT_COMM_INTERNAL_H
#define WEFT_COMM_INTERNAL_H

#include "comm/comm.h"
#include "comm/cost.h"
#include "comm/layout.h"
#include "comm/progress.h"
#include "comm/schedule.h"
#include "comm/transport/transport.h"

/* Well below INT_MAX and a multiple of every element size. */
#define COMM_CHUNK_BYTES ((int64_t)1 << 30)

struct weft_comm {
    transport *transport;
    comm_progress *progress; /* shared with the communicators split from this one */
    comm_layout *layout;
    comm_model model;
    comm_stats stats[COMM_LANES];
    int next_tag[COMM_LANES];
    int64_t chunk_bytes;    /* longest message; a smaller one is set by tests, on every rank alike */
    comm_schedule blocking; /* of the blocking collectives: kept, so that a repeated call allocates nothing */
};

/* Wrap a transport, owned from now on, also on failure. Collective over its ranks. */
weft_status comm_create(transport *t, weft_comm **comm);

/* Collective: make the layout from each rank's lowest rank on its node, in place of the one there was. */
weft_status comm_layout_exchange(weft_comm *comm, int leader);

/* Operations of a lane are posted in the same order on every rank; the tag tells them apart. */
int comm_next_tag(weft_comm *comm, comm_lane lane);

/* Collective: WEFT_ERR_INTERNAL on every rank, naming two descriptions, unless all ranks pass the same text. */
weft_status comm_check_same(weft_comm *comm, const char *text);

const char *comm_lane_name(comm_lane lane);

#endif
