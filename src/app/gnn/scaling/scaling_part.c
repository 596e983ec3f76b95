/* app/gnn/scaling/scaling_part.c: what crosses the border of one part; see app/gnn/scaling/scaling.h. */
#include "app/gnn/scaling/scaling.h"

static int64_t rows_of(const int64_t *offset, int parts)
{
    return offset != NULL ? offset[parts] : 0;
}

static bool meets(const part_halo *halo, int peer)
{
    return (halo->own_offset != NULL && halo->own_offset[peer + 1] > halo->own_offset[peer]) ||
           (halo->leaf_offset != NULL && halo->leaf_offset[peer + 1] > halo->leaf_offset[peer]);
}

scaling_part scaling_part_of(const weft_part *part, double replication)
{
    const part_halo *forward = &part->sources, *back = &part->destinations;
    const int64_t sent = rows_of(forward->own_offset, part->parts) + rows_of(back->leaf_offset, part->parts);
    const int64_t taken = rows_of(forward->leaf_offset, part->parts) + rows_of(back->own_offset, part->parts);
    const bool returns = rows_of(back->own_offset, part->parts) + rows_of(back->leaf_offset, part->parts) > 0;
    int peers = 0;
    for (int p = 0; p < part->parts; ++p) {
        peers += meets(forward, p) || meets(back, p);
    }
    return (scaling_part){.parts = part->parts,
                          .measured = true,
                          .rows = (double)part->n_owned,
                          .edges = (double)part->edges,
                          .halo_rows = (double)(sent > taken ? sent : taken),
                          .peers = peers,
                          .legs = part->parts == 1 ? 0
                                  : returns        ? 2
                                                   : 1,
                          .replication = replication};
}
