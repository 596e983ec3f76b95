/*
 * comm/halo/halo_window.h: rows for the ranks of this node, through memory that they share: no message, one copy less.
 *
 * Every rank owns two regions of a window (comm/core/window.h) and uses them in turn. In exchange k it packs the rows
 * of all peers of its node into region k % 2 and raises HERE; a peer that sees the flag unpacks straight from there,
 * and raises READ when it has unpacked everybody's.
 *
 *      rank 0    pack into region k % 2    HERE k | ...            | from rank 1's region into x    READ k
 *      rank 1                pack    HERE k | ... | from rank 0's region into x    READ k
 *
 * An exchange ends when the HERE of all peers have reached k and their READ k - 1. So who packs k + 1 overwrites what
 * was read as k - 1, and no post waits. What a wait needs is posts of its own exchange, which stand behind the waits of
 * earlier ones only: ranks that post in the same order never block each other. Where rows go both ways the second
 * condition follows from the first.
 *
 * Memory: two regions, each of the rows of the side that shares more.
 */
#pragma once

#include "comm/comm.h"

typedef struct halo_window halo_window;

/* Whose list of rows: of the root or of the replicas. */
typedef enum halo_list { HALO_OWN, HALO_LEAVES, HALO_LISTS } halo_list;

/*
 * offset[list]: [P + 1] of this rank's lists. Rows of at most row_bytes fit. wanted: false where the host does not see
 * the rows. *window: NULL where some rank does not want it, no rank shares rows with another of its node, or shared
 * memory has no room (with a line in the log). Collective, the same answer on every rank.
 */
weft_status halo_window_create(weft_comm *comm, const int64_t *const offset[HALO_LISTS], int64_t row_bytes, bool wanted,
                               halo_window **window);
void halo_window_destroy(halo_window *window); /* NULL is allowed; no exchange is under way */

/* Do rows of so many bytes travel through it? The same answer on every rank. NULL: no. */
bool halo_window_takes(const halo_window *window, int64_t row_bytes);
/* Is it the way to this rank? */
bool halo_window_reaches(const halo_window *window, int peer);

/* The next exchange: its region may be written. */
void halo_window_begin(halo_window *window);
/* Where the rows of this rank's list for a peer lie in this exchange, and those of a peer's list for this rank. */
char *halo_window_to(const halo_window *window, halo_list list, int peer, int64_t row_bytes);
char *halo_window_from(const halo_window *window, halo_list list, int peer, int64_t row_bytes);
/* This rank's rows are packed; and it has unpacked those of all others. */
void halo_window_say_here(halo_window *window);
void halo_window_say_read(halo_window *window);

/* Are a peer's rows of this exchange there? */
bool halo_window_is_here(const halo_window *window, int peer);
/* A peer that has not read the exchange before this one; -1: all have. */
int halo_window_unread(const halo_window *window);
