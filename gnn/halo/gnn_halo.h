/*
 * gnn/halo/gnn_halo.h: how the rows of an aggregation cross ranks: all of them, a part of them an epoch, or none.
 *
 *      exact      every row on every leg: what comm/halo.h does, in the caller's matrix
 *      delay R    one of R bins a leg and epoch, in turn; rows of the other bins are the last that came; hidden: rows
 *                 of the bin are one epoch old, too (delayed_halo.h). Bytes: about 1 / R of the exact mode's
 *      sample P   rows of drawn vertices (halo_draw.h), times 1 / P where they arrive; all other rows count as
 *                 nothing, so that the expectation of a sum is the sum. An epoch has two draws, for vertices
 *                 as sources and as destinations of the forward sum, and backward has them exchanged: where partial
 *                 sums return to roots its sums are the transposed ones, of the same weights. Where every rank holds
 *                 whole rows each direction has a draw of its own. Bytes: P of the exact mode's
 *      none       training passes exchange nothing: a rank knows its own rows and no others
 *
 * Rows that travel in training may be coded besides (comm_halo_code): rounded at random, keyed by the vertex's global
 * id, the leg, the epoch and the sender, so that bits do not depend on the order of anything. Evaluations exchange
 * every row.
 */
#pragma once

#include "comm/halo.h"
#include "comm/sync/sync.h"
#include "partition/part.h"
#include "tensor/tensor.h"

typedef struct gnn_halo gnn_halo;

/* Which rows cross ranks in training, and in which form. Evaluations exchange every row as it is. */
typedef struct gnn_halo_options {
    int delay;            /* R; 0 and 1: every row in every epoch */
    bool hidden;          /* rows are used an epoch after the one in which they were sent */
    bool fresh_gradients; /* delay and hiding are for the rows of forward passes alone */
    bool none;
    double sample;       /* P: the share of the rows that travels, drawn anew in every epoch; 0 and 1: all rows */
    hal_row_codec codec; /* rows in fewer bits, rounded at random */
    double mean_bits;    /* mean bits of an element, if rows choose their bits (comm_halo_code); 0: codec holds */
} gnn_halo_options;

static inline bool gnn_halo_codes(const gnn_halo_options *options)
{
    return options->codec != HAL_ROWS_NONE || options->mean_bits > 0.0;
}

/* The facts of a pass that decide which rows travel in it. */
typedef struct gnn_halo_pass {
    bool training;
    int64_t epoch;
    uint64_t seed; /* of random rounding */
} gnn_halo_pass;

/* Describes one of a part's halos to comm. The result points into `part` and `lists`. */
static inline comm_halo_desc gnn_halo_desc(const weft_part *part, const part_halo *lists)
{
    return (comm_halo_desc){.n_local = part->n_local,
                            .own_offset = lists->own_offset,
                            .own_row = lists->own_row,
                            .leaf_offset = lists->leaf_offset,
                            .leaf_row = lists->leaf_row,
                            .gid = part->gid};
}

/* lists: rows of `part`, which has replicas behind its owned rows; `part` and `lists` need not outlive the call.
 * second: true for the second of the two halos of an aggregation. Until the first pass begins every row is exchanged.
 * Free with gnn_halo_destroy, also after a failure. Collective. */
weft_status gnn_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                            const part_halo *lists, bool second, int64_t max_width, const gnn_halo_options *options,
                            gnn_halo **halo);
/* Call before each pass over all layers, forward and backward, with the same pass on all ranks. Collective. */
weft_status gnn_halo_begin(gnn_halo *halo, const gnn_halo_pass *pass);
/*
 * Sets the delay between two passes; it holds from the next training pass on, also in later runs. 0, and 1 unless rows
 * are hidden: every row travels in every epoch, with the bits of a halo that was made so. 2 to the R that the halo was
 * made with (hidden: R alone): the first training pass exchanges every row, as in a run that begins. Rows under way are
 * waited for. A checkpoint holds the delay. Collective. WEFT_ERR_USAGE names the values that are allowed if this one is
 * not, WEFT_ERR_INTERNAL two values if ranks pass different ones; nothing has changed then.
 */
weft_status gnn_halo_tune(gnn_halo *halo, int delay);
/* Returns the delay in force; 0: every row travels in every epoch. */
int gnn_halo_delay(const gnn_halo *halo);
/*
 * x [n_local, width], for the time between both as in comm/halo.h; a forward leg without exchange makes the rows of
 * replicas zero. backward: x holds gradients. A delayed leg must have been foreseen. Collective.
 * WEFT_ERR_UNSUPPORTED: HALO_REVERSE_MAX in a training pass that does not exchange everything as it is: a maximum of
 * rows of several epochs, or rounded ones, is none of them; a codec with other types than float32.
 */
weft_status gnn_halo_post(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x);
weft_status gnn_halo_wait(gnn_halo *halo);
/* Returns true if the rows under way have arrived (comm_halo_arrived), or no rows are under way. */
bool gnn_halo_arrived(const gnn_halo *halo);
/* Announces the next leg of a training pass, so that its memory is allocated before the first pass. Collective. */
weft_status gnn_halo_foresee(gnn_halo *halo, halo_direction direction, bool backward, int64_t width);
/* Rows that legs keep from epoch to epoch, for checkpoints: see delayed_halo_state. 0 buffers: legs keep no rows.
 * Collective. */
int gnn_halo_buffers(const gnn_halo *halo);
weft_status gnn_halo_state(gnn_halo *halo, const char *name, sync_buffer *buffer);
weft_status gnn_halo_restored(gnn_halo *halo);
/* Epochs since the oldest row that the pass begun last uses was computed. */
int64_t gnn_halo_staleness(const gnn_halo *halo);
void gnn_halo_destroy(gnn_halo *halo);
