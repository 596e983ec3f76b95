/* comm/coll/cut.c: what the collectives on the caller's shares have in common. comm/coll/cut.h has the idea. */
#include "comm/coll/cut.h"

#include <assert.h>

#include "base/alloc.h"
#include "comm/core/comm_internal.h"

void coll_cut_set(coll_cut *cut, const int64_t *count)
{
    const int64_t element = (int64_t)weft_dtype_bytes(cut->dtype);
    for (int r = 0; r < comm_size(cut->comm); ++r) {
        assert(count[r] >= 0);
        cut->bytes[r] = count[r] * element;
        cut->begin[r + 1] = cut->begin[r] + cut->bytes[r];
    }
}

weft_status coll_cut_init(coll_cut *cut, const int64_t *count)
{
    const int size = comm_size(cut->comm);
    WEFT_TRY(WEFT_NEW_ZERO(&cut->bytes, size, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&cut->begin, (int64_t)size + 1, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&cut->at, comm_node_size(cut->comm), WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&cut->leader, comm_get_layout(cut->comm)->nodes, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&cut->from, size, WEFT_MEM_COMM));
    coll_cut_set(cut, count);
    return WEFT_OK;
}

void coll_cut_free(coll_cut *cut)
{
    board_destroy(cut->board);
    WEFT_FREE_ALL(cut->bytes, cut->begin, cut->at, cut->leader, (void *)cut->from);
    *cut = (coll_cut){.comm = NULL};
}

int64_t coll_cut_node_bytes(const coll_cut *cut, int node)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int *member = coll_node_members(layout, node);
    int64_t bytes = 0;
    for (int i = 0; i < coll_node_ranks(layout, node); ++i) {
        bytes += cut->bytes[member[i]];
    }
    return bytes;
}

void coll_cut_count_shared(const coll_cut *cut, int64_t bytes)
{
    comm_count(&cut->comm->counters[cut->lane].shared_bytes, (uint64_t)bytes);
}
