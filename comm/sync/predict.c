/* comm/sync/predict.c: seconds of all-reduces among groups of ranks, for the predictions of the modes. */
#include "comm/sync/predict.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "comm/coll/coll.h"
#include "comm/core/comm_internal.h"

/* Which nodes the ranks of a group stand on, as a layout of their own. member: [count] ascending. leader: [count]. */
static weft_status group_layout(const comm_sync *sync, const int *member, int count, int *leader, comm_layout **layout)
{
    const int *node_of = comm_get_layout(sync->comm)->node_of;
    for (int i = 0; i < count; ++i) {
        leader[i] = 0;
        while (node_of[member[leader[i]]] != node_of[member[i]]) {
            ++leader[i];
        }
    }
    return layout_create(leader, count, layout);
}

/* An all-reduce over ranks that stand as the layout says; `sharing` groups like it use the links of a node at once. */
static double allreduce_seconds(const comm_sync *sync, const comm_layout *layout, int size, int64_t count, int sharing)
{
    const comm_model *model = comm_get_model(sync->comm);
    int64_t element = (int64_t)weft_dtype_bytes(sync->desc.dtype);
    const coll_place place = {.rank = 0,
                              .size = size,
                              .layout = layout,
                              .model = model,
                              .wire = sync->desc.dtype == WEFT_DTYPE_F32 ? sync->options.wire : COMM_WIRE_SAME,
                              .shared_memory = !sync->comm->messages_only};
    const coll_algorithm *algorithm = coll_algorithm_of(sync->options.algorithm);
    if (size == 1 || count == 0) {
        return 0.0;
    }
    if (algorithm == NULL || size != comm_size(sync->comm)) {
        algorithm = coll_choose_form(&place, count, element);
    }
    if (layout->nodes == 1) {
        return coll_seconds(algorithm, &place, count, element);
    }
    comm_cost cost = algorithm->cost(&place, count, element);
    cost.inter_bytes *= sharing;
    cost.inter_paired *= sharing;
    return comm_model_seconds(model, &cost);
}

weft_status predict_room_create(const comm_sync *sync, predict_room *room)
{
    *room = (predict_room){NULL, NULL};
    WEFT_TRY(WEFT_NEW(&room->member, comm_size(sync->comm), WEFT_MEM_COMM));
    return WEFT_NEW(&room->leader, comm_size(sync->comm), WEFT_MEM_COMM);
}

void predict_room_free(predict_room *room)
{
    WEFT_FREE_ALL(room->member, room->leader);
}

/* The ranks whose color is `color`. Returns how many. */
static int collect(const int *color_of, int ranks, int color, int *member)
{
    assert(color >= 0 && color < ranks);
    int count = 0;
    for (int r = 0; r < ranks; ++r) {
        if (color_of[r] == color) {
            member[count++] = r;
        }
    }
    return count;
}

/* Groups with ranks on the busiest node and elsewhere, at most. color_of: [P], colors 0 .. P - 1. */
static int crossing_groups(const comm_layout *layout, const int *color_of, int ranks)
{
    int most = 1;
    for (int node = 0; node < layout->nodes; ++node) {
        int crossing = 0;
        for (int i = layout->first[node]; i < layout->first[node + 1]; ++i) {
            int color = color_of[layout->member[i]];
            bool seen = false;
            for (int j = layout->first[node]; j < i && !seen; ++j) {
                seen = color_of[layout->member[j]] == color;
            }
            bool leaves = false;
            for (int r = 0; r < ranks && !seen && !leaves; ++r) {
                leaves = color_of[r] == color && layout->node_of[r] != node;
            }
            crossing += leaves;
        }
        most = crossing > most ? crossing : most;
    }
    return most;
}

weft_status predict_division(const comm_sync *sync, const int *color_of, int64_t count, predict_room *room,
                             double *seconds)
{
    int ranks = comm_size(sync->comm);
    int sharing = crossing_groups(comm_get_layout(sync->comm), color_of, ranks);
    *seconds = 0.0;
    for (int color = 0; color < ranks; ++color) {
        comm_layout *layout = NULL;
        int size = collect(color_of, ranks, color, room->member);
        if (size < 2) {
            continue;
        }
        WEFT_TRY(group_layout(sync, room->member, size, room->leader, &layout));
        *seconds = fmax(*seconds, allreduce_seconds(sync, layout, size, count, sharing));
        layout_destroy(layout);
    }
    return WEFT_OK;
}

double predict_allreduce(const comm_sync *sync, int64_t count)
{
    return allreduce_seconds(sync, comm_get_layout(sync->comm), comm_size(sync->comm), count, 1);
}

weft_status predict_read_sets(const comm_sync *sync, const char *file, bool nodes, comm_topology **sets)
{
    if (file != NULL) {
        return topology_read(sync->comm, file, sets);
    }
    return comm_agree(sync->comm, nodes ? topology_nodes(sync->comm, sets) : topology_whole(sync->comm, sets));
}
