/* comm/coll/board.c: flags and segments of a board. comm/coll/board.h has the protocol. */
#include "comm/coll/board.h"

#include <assert.h>

#include "base/alloc.h"
#include "comm/coll/coll.h"
#include "comm/core/comm_internal.h"

enum { FLAG_HERE = 0, FLAG_READ = 1 };

struct coll_board {
    weft_comm *comm;
    comm_schedule *schedule;
    comm_window *window;
    int ranks, me;
    int speaker; /* the rank of the node that board_await() waits for; BOARD_ALL: every rank */
    int awaited; /* ranks before this one have raised the flag that is being waited for */
};

weft_status board_create(weft_comm *comm, int64_t bytes, coll_board **out)
{
    coll_board *board = NULL;
    *out = NULL;
    weft_status local = WEFT_NEW_ZERO(&board, 1, WEFT_MEM_COMM);
    weft_status status = comm->meet->agree(comm, local);
    if (local != WEFT_OK || status != WEFT_OK) {
        goto done;
    }
    *board =
        (coll_board){.comm = comm, .ranks = comm_node_size(comm), .me = comm_node_rank(comm), .speaker = BOARD_ALL};
    WEFT_TRY_GOTO(comm_window_lease(comm, bytes, &board->window), status, done);
    /* After this agreement the flags of every rank are known to be zero. */
    WEFT_TRY_GOTO(comm->meet->agree(comm, WEFT_OK), status, done);
    *out = board;
    board = NULL;
done:
    board_destroy(board);
    return status;
}

void board_destroy(coll_board *board)
{
    if (board != NULL) {
        comm_window_return(board->comm, board->window);
        weft_free(board);
    }
}

char *board_segment(const coll_board *board, int local)
{
    assert(local >= 0 && local < board->ranks);
    return window_segment(board->window, local);
}

/* Returns true if the flag of every other rank in [first, end) has reached the post. */
static bool raised(coll_board *board, int flag, int first, int end, uint64_t post)
{
    const comm_layout *layout = board->comm->layout;
    for (board->awaited = board->awaited > first ? board->awaited : first; board->awaited < end; ++board->awaited) {
        const int q = board->awaited;
        if (q != board->me && window_flag(board->window, q, flag) < post) {
            board->schedule->missing = coll_node_members(layout, layout->node_of[comm_rank(board->comm)])[q];
            return false;
        }
    }
    board->awaited = 0;
    return true;
}

static bool others_have_read(void *argument, uint64_t post)
{
    coll_board *board = argument;
    assert(post >= 1);
    return raised(board, FLAG_READ, 0, board->ranks, post - 1);
}

static bool speakers_are_here(void *argument, uint64_t post)
{
    coll_board *board = argument;
    const bool all = board->speaker == BOARD_ALL;
    return raised(board, FLAG_HERE, all ? 0 : board->speaker, all ? board->ranks : board->speaker + 1, post);
}

static weft_status say_here(void *argument, uint64_t post)
{
    window_raise(((coll_board *)argument)->window, FLAG_HERE, post);
    return WEFT_OK;
}

static weft_status say_read(void *argument, uint64_t post)
{
    window_raise(((coll_board *)argument)->window, FLAG_READ, post);
    return WEFT_OK;
}

void board_clear(comm_schedule *s, coll_board *board)
{
    board->schedule = s;
    schedule_await(s, comm_rank(board->comm), others_have_read, board);
}

void board_publish(comm_schedule *s, coll_board *board)
{
    schedule_call(s, say_here, board);
}

void board_await(comm_schedule *s, coll_board *board, int local)
{
    assert(local == BOARD_ALL || (local >= 0 && local < board->ranks));
    board->schedule = s;
    board->speaker = local;
    schedule_await(s, comm_rank(board->comm), speakers_are_here, board);
}

void board_leave(comm_schedule *s, coll_board *board)
{
    schedule_call(s, say_read, board);
}
