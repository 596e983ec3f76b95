/* comm/sync/predict.h: what the predictions of the modes share: all-reduces among all ranks, and among groups of
 * them. */
#pragma once

#include "comm/sync/racks.h"
#include "comm/sync/sync_mode.h"

/* Returns the seconds of an all-reduce of `count` elements over all ranks, by the algorithm that would run. */
double predict_allreduce(const comm_sync *sync, int64_t count);

/* Work space for the members of one group at a time. */
typedef struct predict_room {
    int *member, *leader; /* [P] */
} predict_room;
weft_status predict_room_create(const comm_sync *sync,
                                predict_room *room); /* predict_room_free() also after a failure */
void predict_room_free(predict_room *room);

/* [out] seconds: of the slowest group, when all groups of a division reduce `count` elements side by side. color_of:
 * [P], colors 0 .. P - 1. Local. */
weft_status predict_division(const comm_sync *sync, const int *color_of, int64_t count, predict_room *room,
                             double *seconds);

/* Reads racks or sites from a file. file NULL: every node is a set if `nodes`, else all ranks are one set.
 * Collective. */
weft_status predict_read_sets(const comm_sync *sync, const char *file, bool nodes, comm_topology **sets);
