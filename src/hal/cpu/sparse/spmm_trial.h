/*
 * hal/cpu/sparse/spmm_trial.h: forms of one matrix timed against each other on the machine that will run them.
 *
 * A matrix of at most SPMM_WHOLE_EDGES edges is prepared in every form and run whole. Of a larger one each form runs on
 * a sample first, in its own unit of work: ROWS on a run of rows, BLOCKS and LISTS on whole blocks, packing apart;
 * where several come near the quickest, those are then prepared and run whole, the others are not built. Where these
 * are BLOCKS and LISTS alone, a quarter of their blocks is prepared and run, and then the quicker one whole. Where the
 * blocks are few, that quarter is the sample already, and runs again. Forms take turns, round by round, and of each the
 * least time counts: what else the machine does hits all of them, and only adds time.
 *
 * TILES is LISTS with some edges elsewhere, so it runs on no sample: it stays in the race where LISTS does. SHARED has
 * no sample either, as what rows share shows in the whole matrix: it is always run whole, of a large matrix before the
 * others, of which those are prepared whole whose samples come near it.
 *
 * Operands lie as a layer's do, which decides between forms: rows as wide as they will be, of sums and sources side by
 * side in one matrix. ROWS reads a whole row of a far source at once, LISTS a strip of all rows, and again for the
 * next: fewer columns, or narrower rows, make LISTS look better than it is.
 *
 *      row r    | sums, d columns | sources, d columns |      ld = 2 d
 *
 * Where the request says that they will be dense, they are two matrices with ld = d, and ROWS does not pack.
 *
 * Ranks of a node share its last cache: one that runs a form beside another form of its neighbour's measures a mixture
 * that no epoch will run. They meet before each turn (hal_spmm_turns), and make as many of each kind as the one that
 * wants most.
 *
 * Before a sample runs the sources are written anew, as by the layer before, so that it does not find in the caches
 * what the whole matrix would not.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

enum { SPMM_WHOLE_EDGES = 1 << 23 };

/* Forms that take part only where a sample of the matrix speaks for them. */
typedef struct spmm_entry {
    bool tiled, shared;
} spmm_entry;

/* The seconds of trial, and what was prepared on the way. csr has edges, max_d >= 1, d <= max_d.
 * WEFT_ERR_RESOURCE when there is no room for operands or forms; nothing is prepared then. */
weft_status spmm_trial_run(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, spmm_entry entry,
                           hal_spmm_trial *trial);
