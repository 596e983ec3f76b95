/*
 * hal/cpu/sparse/spmm_tiles.h: the edges of the TILES form whose sources stay in the first-level cache.
 *
 * A tile is 2^shift columns, a band a window of rows. Where a row has SPMM_TILE_EDGES edges and more in a tile, they
 * are listed by band and tile, with rows in order of their number, and summed before all others: the tile's strip stays
 * in the first-level cache, the band's sums in the second-level one. What is left goes to the lists of blocks.
 *
 *                  tile 0   tile 1   tile 2   tile 3
 *      row 0       . .      xxxxxxxx   .      .            x  in the lists of tiles
 *      row 1       xxxxxxx  xxxxxxxx   .        .          .  in the lists of blocks
 *
 * Rows have so many edges in so few columns where the order of the vertices keeps neighbours together, or in dense
 * graphs.
 *
 * An edge and a row cost less in a tile than in a block, so that tiles pay from 8 edges on; what it brings, and other
 * sizes of tiles and bands: docs/notes/aggregation.md.
 */
#pragma once

#include "hal/cpu/sparse/spmm_runs.h"

/* Edges of the rows of a window: those of row r are column[offset[r] .. offset[r + 1]). */
typedef struct spmm_edge_view {
    const int64_t *offset;
    const int32_t *column;
} spmm_edge_view;

/* One thread's scratch while its bands are split. A pair is a row and a tile that holds edges of it. */
typedef struct spmm_tile_builder {
    const hal_csr *csr;
    spmm_run_writer writer; /* [pairs of a tile] */
    spmm_run_place place;   /* of the band's chunk */
    uint32_t *in_tile;      /* [tiles] edges of the row at hand; then its pair + 1; zeros in between */
    uint32_t *pairs_in;     /* [tiles] pairs of the band; then where they end in `grouped`; zeros in between */
    int32_t *met;           /* [tiles] tiles of the row at hand */
    int32_t *listed;        /* [tiles] tiles of the band that have pairs */
    int64_t listed_count, pairs;
    int32_t *tile;        /* [pairs] */
    uint16_t *row;        /* [pairs] in the band */
    uint32_t *edges;      /* [pairs] how many; then where they go */
    uint32_t *grouped;    /* [pairs] by tile */
    int64_t *first_pair;  /* [window + 1] of each row */
    int64_t *rest_offset; /* [window + 1] edges that are left */
    int32_t *rest_column;
} spmm_tile_builder;

/* Edges of this row in tiles of 2^shift columns that hold enough of it. count: [tiles] zeros, before and after. */
int64_t spmm_tiled_edges(const hal_csr *csr, int64_t row, int shift, uint32_t *count);

/* The bands of all parts, as wide as by_block's windows; no chunk has anything. */
weft_status spmm_tiles_begin(hal_spmm *spmm);

/* On failure, too, spmm_tile_builder_free. *b is all zeros. */
weft_status spmm_tile_builder_new(hal_spmm *spmm, const hal_csr *csr, int part, spmm_tile_builder *b);
void spmm_tile_builder_free(spmm_tile_builder *b);

/* List the pairs of a band, rows [begin, begin + rows): sizes to its chunk, or, where the writer fills, data to the
 * chunk's places. Returns the edges that are left, until the next call. */
spmm_edge_view spmm_tiles_split(spmm_tile_builder *b, int64_t band, int64_t begin, int64_t rows);
