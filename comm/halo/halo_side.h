/*
 * comm/halo/halo_side.h: the rows that a rank shares with its peers, as roots or as replicas, and the memory that they
 * pass through.
 *
 * Each peer's rows of a side are a piece: a list of rows of x. In one exchange the rows of a piece travel as one
 * message (uncut), and where they lie decides how they get into it:
 *
 *      in place    rows are one ascending run, ld == width, messages reach x: sent or received where they are
 *      packed      gathered into (or scattered from) a buffer that messages reach
 *      staged      messages do not reach x: gathered on the device, downloaded, sent; received, uploaded, scattered
 *      coded       gathered, then written in fewer bits (hal_row_codec) beside; received there, decoded, scattered
 *      mixed       gathered in another order, and written in as many bits as each row chooses (comm/halo/halo_mix.h)
 *
 * Messages reach what the host sees, and the memory of a device where the transport takes it (comm_choose_direct).
 * There the beginning of a mixed message, which the host writes, keeps it staged. Pieces of ranks of this node lie in
 * shared memory instead, where the exchange goes through the window (comm/halo/halo_window.h).
 *
 * Memory: one row of max_width per shared pair and side (none for leaf runs of a host backend), twice that when staged;
 * coded, the rows of both sides and their codes. Pairs of this node: the window's, and coded the rows of both sides.
 * Buffers are sized for float32 of max_width and double once if float64 comes.
 */
#pragma once

#include <stdatomic.h>

#include "comm/halo/halo_buffer.h"
#include "comm/halo/halo_format.h"
#include "comm/halo/halo_window.h"

/* The rows shared with one peer. */
typedef struct halo_piece {
    int64_t rows, first; /* first: position in the side's list */
    int64_t most;        /* rows at creation */
    int64_t run_start;   /* first row when the rows are an ascending run, else -1 */
    /* in the exchange under way, as it was arranged */
    bool shared, in_place;       /* through the window; or sent and received where the rows are */
    int64_t packed_at, coded_at; /* rows before it in those buffers */
    char *message;               /* where its message lies, on the device; unless in place */
    /* how far it has come: who exchanges keeps these */
    int messages;     /* still under way; the driver's */
    atomic_int state; /* the driver sees it arrive, the caller unpacks it */
} halo_piece;

/* All pieces of one side, with the buffers that their rows pass through. */
typedef struct halo_side {
    weft_hal *hal;      /* of that memory */
    int peers;          /* P */
    halo_piece *piece;  /* [P] */
    int64_t rows;       /* now */
    int64_t most;       /* at creation */
    bool chosen;        /* rows are some of those */
    int32_t *index;     /* device, [most] */
    int64_t *id;        /* device, [most] global ids; NULL when none were given */
    int64_t *host_id;   /* what is uploaded to id, where rows are chosen */
    halo_buffer packed; /* device, rows of the exchange, packed by peer */
    halo_buffer coded;  /* device, rows of messages in fewer bits */
    halo_buffer staged; /* host, what is sent of those where messages do not reach them */
} halo_side;

/* offset: [peers + 1] of row, which is copied. gid: global ids of local rows, or NULL. Free with halo_side_free,
 * whatever the answer; hal outlives it. Local, like all below. */
weft_status halo_side_create(weft_hal *hal, int peers, const int64_t *offset, const int32_t *row, const int64_t *gid,
                             halo_side *side);
/* Fewer rows of each piece, from its place on. WEFT_ERR_INTERNAL: more than there were at creation. */
weft_status halo_side_choose(halo_side *side, const int64_t *offset, const int32_t *row, const int64_t *gid);
/* Waits for what is copied. A side of zeros is allowed. */
void halo_side_free(halo_side *side);

/* How the rows of each piece travel in the next exchange, and where they lie meanwhile. receives: into this side.
 * window: NULL where rows go in messages alone. Allocates when it needs more than any exchange before. */
weft_status halo_side_arrange(halo_side *side, const halo_format *format, const halo_window *window, bool receives);

/* Where the transport finds a piece's message: in memory of the host unless format->messages_reach. */
char *halo_side_message(const halo_side *side, const halo_format *format, const halo_piece *piece);
