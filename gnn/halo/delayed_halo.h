/*
 * gnn/halo/delayed_halo.h: legs that exchange one of R bins an epoch and remember the rows of the others.
 *
 * A leg keeps what it received, once for each time that a pass posts it, so layers need not know: the n-th post of a
 * pass is the same leg in every epoch.
 *
 *      FORWARD    replica's row    = the root's of the last refresh                        kept: a row a replica
 *      REVERSE    root's row      += the sum of the replicas' rows of the last refresh     kept: a row a shared root
 *
 * A vertex's replicas are in one bin, so a root adds sums of one epoch. When the bin of epoch e is used:
 *
 *      waited for   post(e) wait(e) use          rows are at most R - 1 epochs old
 *      hidden       take(e - 1) post(e) use      at most R; nobody waits for a bin that was sent a whole epoch ago
 *
 * The first pass, and one that does not follow the epoch of the pass before it (a new run, one resumed without its
 * rows), exchanges all bins and waits for them. A root's sum holds nothing older than twice a row's age, as its
 * replicas' sums are made of such rows themselves. The idea of bins, and of computing on with old rows, is from
 * DistGNN (V. Md et al., SC 2021, doi:10.1145/3458817.3480856), which leaves out the other bins' neighbours; keeping
 * the last rows and gradients, from PipeGCN (C. Wan et al., ICLR 2022, arXiv 2203.10428), which is R = 1, hidden.
 *
 * Memory: the rows kept, and the buffers of one comm_halo; hidden, such buffers for each leg, as all are under way at
 * once.
 */
#pragma once

#include "comm/sync/sync.h"
#include "gnn/halo/halo_bins.h"
#include "tensor/tensor.h"

typedef struct bin_exchange {
    comm_halo *halo;
} bin_exchange;

/* The exchanges of all bins, and the matrix that their rows pass through. */
typedef struct bin_exchanges {
    weft_tensor packed;   /* [largest bin, widest row] */
    bin_exchange *of_bin; /* [bins] */
} bin_exchanges;

typedef struct delayed_leg {
    halo_direction direction;
    weft_tensor rows;        /* as they came last, by bin */
    bin_exchanges exchanges; /* hidden: its own */
    int under_way;           /* bin; -1: none */
    void *host;              /* the rows in host memory, for checkpoints; NULL: none yet */
} delayed_leg;

/* Facts that a checkpoint holds beside the kept rows, to tell if they fit. */
typedef struct delayed_facts {
    int64_t bins, hidden, previous, filled;
    uint64_t rows; /* a number for the rows and their order */
    int64_t turns; /* the delay in force */
} delayed_facts;

typedef struct delayed_halo {
    weft_comm *comm;
    weft_hal *hal;
    weft_dtype dtype;
    bool hidden;
    halo_bins bins;          /* count 0: nothing is delayed */
    int turns;               /* delay in force: epoch e exchanges each bin b with b % turns == e % turns; 0: exact */
    bin_exchanges exchanges; /* of all legs, unless hidden */
    delayed_leg *leg;        /* [legs], in the order of a pass */
    int legs, capacity;
    int64_t epoch, filled; /* of the pass, and in which all bins were exchanged */
    int64_t previous;      /* epoch of the pass before this one; -1: none */
    bool refresh;          /* this pass exchanges all bins */
    delayed_facts facts;   /* of what a checkpoint holds */
    int posts;             /* of this pass */
    /* the leg between post and wait */
    delayed_leg *now;
    weft_tensor x;
    comm_halo_code code;
} delayed_halo;

/* lists: of `part`; not kept. max_width: elements of the widest row. Free with delayed_halo_destroy, also after a
 * failure. Collective. */
weft_status delayed_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                const part_halo *lists, int bins, bool hidden, int64_t max_width, delayed_halo *halo);
/* Announce the next leg of every pass, of rows of `width` elements. All legs are announced before the first pass: no
 * later call allocates, and the number of buffers of a checkpoint never changes. Collective. */
weft_status delayed_halo_foresee(delayed_halo *halo, halo_direction direction, int64_t width);
/* A training pass; all ranks alike. Collective where a run begins. */
weft_status delayed_halo_begin(delayed_halo *halo, int64_t epoch);
/* Sets the delay between two passes: 0, no pass is delayed until the next call, or 1 to the number of bins; hidden: no
 * other number than that of the bins. Waits for messages that are under way. The rows kept are dropped, so the next
 * delayed pass exchanges all bins. Checkpoints hold the delay. Collective. */
weft_status delayed_halo_tune(delayed_halo *halo, int turns);
/* Like comm_halo_post_coded and comm_halo_wait of x [n_local, width], but rows that did not travel are old. Collective.
 * WEFT_ERR_INTERNAL: a post that was not foreseen, by its number in the pass, direction or width. */
weft_status delayed_halo_post(delayed_halo *halo, halo_direction direction, const comm_halo_code *code, weft_tensor *x);
weft_status delayed_halo_wait(delayed_halo *halo);
bool delayed_halo_arrived(const delayed_halo *halo);
/* Waits for messages that are under way from one epoch to the next. The rows that legs will use do not change.
 * Collective. */
weft_status delayed_halo_settle(delayed_halo *halo);
/* Epochs since the oldest row that the pass uses was sent. */
int64_t delayed_halo_staleness(const delayed_halo *halo);
/* State for checkpoints, like train_model's state and restored. [out] buffer: delayed_halo_buffers(halo) buffers, named
 * "name.KIND". State that was kept with other bins or rows is dropped, and the next pass exchanges everything.
 * WEFT_ERR_DATA on all ranks: a number is impossible, or ranks disagree; the state is dropped, too. Collective. */
int delayed_halo_buffers(const delayed_halo *halo);
weft_status delayed_halo_state(delayed_halo *halo, const char *name, sync_buffer *buffer);
weft_status delayed_halo_restored(delayed_halo *halo);
void delayed_halo_destroy(delayed_halo *halo);
