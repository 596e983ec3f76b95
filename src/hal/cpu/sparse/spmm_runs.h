/*
 * hal/cpu/sparse/spmm_runs.h: rows in order of their number of edges, written as runs of equal length. Used twice for
 * the same rows: a first pass counts, a second one writes.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

typedef struct spmm_run_writer {
    spmm_blocks *m;
    bool fill;           /* second pass: write */
    bool unmarked;       /* rows that are put are not marked */
    uint32_t *id, *swap; /* [most] rows, or (row, tile) pairs, that are listed together */
} spmm_run_writer;

/* Where a chunk has got to. */
typedef struct spmm_run_place {
    spmm_chunk next; /* the next free place, or the size so far */
    int64_t at;      /* window, or tile, of the last run */
} spmm_run_place;

/* id[0 .. count) in ascending order of edges[id], equal ones as they were. */
void spmm_runs_sort(spmm_run_writer *w, int64_t count, const uint32_t *edges);

/* Put id[0 .. count), sorted; of id i the row is row[i], or i where row is NULL. [out] edges[id]: where its columns
 * begin, relative to `base`. */
void spmm_runs_put(spmm_run_writer *w, int64_t count, const uint16_t *row, int64_t at, int64_t base,
                   spmm_run_place *place, uint32_t *edges);
