/* comm/halo/halo_lists.c: see comm/halo/halo_lists.h. Cost: O(rows), and one message of a count per pair of ranks. */
#include "comm/halo/halo_lists.h"

#include <string.h>

#include "base/alloc.h"

/* seen: [n_local] stamps. A row may be shared with many peers as root, but has one root as replica. */
static weft_status check_list(const char *what, int size, int rank, int64_t n_local, const int64_t *offset,
                              const int32_t *row, bool distinct_over_peers, int32_t *seen)
{
    WEFT_CHECK(offset[0] == 0, WEFT_ERR_INTERNAL, "halo: %s_offset starts at %lld instead of 0", what,
               (long long)offset[0]);
    memset(seen, 0xff, (size_t)n_local * sizeof *seen);
    for (int p = 0; p < size; ++p) {
        WEFT_CHECK(offset[p + 1] >= offset[p] && (p != rank || offset[p + 1] == offset[p]), WEFT_ERR_INTERNAL,
                   "halo: %s_offset goes from %lld to %lld at peer %d of rank %d", what, (long long)offset[p],
                   (long long)offset[p + 1], p, rank);
        for (int64_t i = offset[p]; i < offset[p + 1]; ++i) {
            WEFT_CHECK(row[i] >= 0 && row[i] < n_local, WEFT_ERR_INTERNAL,
                       "halo: %s_row[%lld] = %d for peer %d, rank %d has %lld rows", what, (long long)i, row[i], p,
                       rank, (long long)n_local);
            WEFT_CHECK(seen[row[i]] < 0 || (!distinct_over_peers && seen[row[i]] != p), WEFT_ERR_INTERNAL,
                       "halo: row %d of rank %d is in %s_row twice (peers %d and %d)", row[i], rank, what, seen[row[i]],
                       p);
            seen[row[i]] = p;
        }
    }
    return WEFT_OK;
}

static weft_status check_own(const weft_comm *comm, const comm_halo_desc *desc, int64_t max_width)
{
    int32_t *seen = NULL;
    weft_status status = WEFT_OK;
    WEFT_CHECK(desc->n_local >= 0 && desc->n_local <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "halo: %lld local rows",
               (long long)desc->n_local);
    WEFT_CHECK(max_width >= 1 && max_width <= INT32_MAX, WEFT_ERR_INTERNAL, "halo: rows of at most %lld elements",
               (long long)max_width);
    WEFT_TRY(WEFT_NEW(&seen, desc->n_local + 1, WEFT_MEM_COMM));
    WEFT_TRY_GOTO(check_list("own", comm_size(comm), comm_rank(comm), desc->n_local, desc->own_offset, desc->own_row,
                             false, seen),
                  status, done);
    WEFT_TRY_GOTO(check_list("leaf", comm_size(comm), comm_rank(comm), desc->n_local, desc->leaf_offset, desc->leaf_row,
                             true, seen),
                  status, done);
done:
    weft_free(seen);
    return status;
}

/* Every root count must be the peer's leaf count. Collective; counts: [3 P] of work space. */
static weft_status check_peers(weft_comm *comm, const comm_halo_desc *desc, int64_t *counts)
{
    int size = comm_size(comm);
    int64_t *bytes = counts;
    int64_t *own = counts + size;
    int64_t *theirs = counts + 2 * (int64_t)size;
    for (int p = 0; p < size; ++p) {
        bytes[p] = (int64_t)sizeof *own;
        own[p] = desc->own_offset[p + 1] - desc->own_offset[p];
    }
    WEFT_TRY(comm_alltoallv(comm, own, bytes, theirs, bytes));
    weft_status status = WEFT_OK;
    for (int p = 0; p < size && status == WEFT_OK; ++p) {
        int64_t leaves = desc->leaf_offset[p + 1] - desc->leaf_offset[p];
        if (theirs[p] != leaves) {
            status = weft_fail(WEFT_ERR_INTERNAL, "halo: rank %d shares %lld rows with rank %d, which expects %lld", p,
                               (long long)theirs[p], comm_rank(comm), (long long)leaves);
        }
    }
    return comm_agree(comm, status);
}

weft_status halo_lists_check(weft_comm *comm, const comm_halo_desc *desc, int64_t max_width)
{
    int64_t *counts = NULL;
    weft_status local = check_own(comm, desc, max_width);
    local = local == WEFT_OK ? WEFT_NEW(&counts, 3 * (int64_t)comm_size(comm), WEFT_MEM_COMM) : local;
    weft_status status = comm_agree(comm, local);
    if (local == WEFT_OK && status == WEFT_OK) {
        status = check_peers(comm, desc, counts);
    }
    weft_free(counts);
    return status;
}
