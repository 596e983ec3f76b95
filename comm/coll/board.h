/*
 * comm/coll/board.h: a board on which each rank of a node publishes bytes that the other ranks of the node read.
 *
 * Every rank owns one segment of shared memory (comm/core/window.h) and two flags, which carry the number of the post:
 *
 *      clear      wait until the others have read what this rank published in the post before
 *      (fill the own segment)
 *      publish    HERE: the own segment holds the bytes of this post
 *      await      wait for HERE of one rank, or of all
 *      (read the other segments)
 *      leave      READ: this rank has read what it needs
 *
 * Cost: one meeting a post. The wait in clear is over by then, unless posts follow one another without a pause.
 */
#pragma once

#include "comm/core/schedule.h"

typedef struct coll_board coll_board;

enum { BOARD_ALL = -1 };

/* bytes: of this rank's segment; ranks may differ. Collective. WEFT_ERR_RESOURCE on all ranks if there is no shared
 * memory. */
weft_status board_create(weft_comm *comm, int64_t bytes, coll_board **board);
void board_destroy(coll_board *board); /* NULL is allowed */
/* The segment of the rank with number `local` in this node. */
char *board_segment(const coll_board *board, int local);

/* Steps of a schedule. The board must live as long as the schedule. */
void board_clear(comm_schedule *s, coll_board *board);
void board_publish(comm_schedule *s, coll_board *board);
/* local: the number in this node of the rank that publishes, the same in every call for one board; BOARD_ALL: every
 * rank. */
void board_await(comm_schedule *s, coll_board *board, int local);
void board_leave(comm_schedule *s, coll_board *board);
