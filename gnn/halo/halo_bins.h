/*
 * gnn/halo/halo_bins.h: the rows of a halo divided into bins that are exchanged one at a time.
 *
 * A vertex has one bin, a function of its global id, so all its replicas are refreshed together and all ranks agree
 * without a message. A bin is exchanged in a packed matrix of its own rows, which the caller fills from the matrix that
 * the rows belong to, and reads back:
 *
 *      packed of bin b    | rows that this rank is root of | rows that it has as replica |
 *                           own                              leaf
 *
 * The lists below name the same rows in the caller's matrix, those of bin b from first_own and first_leaf on.
 *
 * Memory: 8 bytes a row and list, 8 a row for its global id.
 */
#pragma once

#include "comm/halo.h"
#include "partition/part.h"

typedef struct halo_bin {
    comm_halo_desc lists; /* rows of the packed matrix */
    int64_t own, leaf;    /* rows; each once, however many ranks share it */
    int64_t first_own, first_leaf;
} halo_bin;

typedef struct halo_bins {
    weft_hal *hal;
    int count;
    halo_bin *bin;               /* [count] */
    int64_t own, leaf, largest;  /* rows of all bins, and of both sides of the largest bin */
    int32_t *own_row, *leaf_row; /* device: [own], [leaf], by bin */
    /* what the bins' lists point into */
    int64_t *offset;     /* [count, 2, P + 1] own, leaf */
    int32_t *packed_row; /* own rows of all bins, then leaf rows */
    int64_t *packed_gid; /* [own + leaf], by bin */
} halo_bins;

/* The bin of a vertex, 0 .. bins - 1. */
int halo_bin_of(int64_t gid, int bins);

/* lists: of `part`; not kept. Free with halo_bins_destroy, also after a failure. Local. */
weft_status halo_bins_create(weft_hal *hal, const weft_part *part, const part_halo *lists, int count, halo_bins *bins);
void halo_bins_destroy(halo_bins *bins);
