/*
 * gnn/halo/halo_draw.h: a random part of the rows of a halo, another one in every epoch.
 *
 * A draw is a function of the vertex's global id, the seed, the epoch and the purpose, so a root and its replicas agree
 * without a message. Each vertex is drawn by itself, with the same probability: BNS-GCN (C. Wan et al.,
 * MLSys 2022, arXiv 2203.10983).
 *
 * Memory: 8 bytes for each pair of a row and a rank that shares it, 8 a local row. Cost of a draw: one Philox block a
 * pair.
 */
#pragma once

#include "comm/halo.h"
#include "partition/part.h"

typedef struct halo_draw {
    int parts;
    int64_t n_local;
    int64_t *gid;        /* [n_local] */
    part_halo all, some; /* some: of the last draw */
} halo_draw;

/* The arguments of a draw, beside the vertex. */
typedef struct halo_draw_key {
    uint64_t seed;
    uint32_t epoch;
    bool destinations; /* draw vertices that sums return to; false: vertices whose rows are sent */
} halo_draw_key;

/* lists: of `part`; both are copied. Free with halo_draw_destroy, also after a failure. Local. */
weft_status halo_draw_create(const weft_part *part, const part_halo *lists, halo_draw *draw);
/* The rows drawn with this probability, or all, for comm_halo_choose; valid until the next call. */
comm_halo_desc halo_draw_some(halo_draw *draw, double probability, const halo_draw_key *key);
comm_halo_desc halo_draw_all(const halo_draw *draw);
void halo_draw_destroy(halo_draw *draw);
