/* comm/halo/halo_window.c: see comm/halo/halo_window.h. */
#include "comm/halo/halo_window.h"

#include "base/alloc.h"
#include "base/log.h"
#include "comm/core/comm_internal.h"

enum { FLAG_HERE, FLAG_READ, REGIONS = 2, LINE = 64 };

/* Rows before those of one pair, in the region of the rank that sends them. */
typedef struct halo_place {
    int64_t before[HALO_LISTS];
} halo_place;

struct halo_window {
    weft_comm *comm;
    comm_window *window; /* leased */
    int64_t row_bytes;   /* at most */
    uint64_t exchange;   /* number of the last one begun */
    halo_place *mine;    /* [P] of the rows for each rank */
    halo_place *theirs;  /* [P] of each rank's rows for this one */
    bool *shares;        /* [P] this rank and it have rows in common */
};

static bool on_my_node(const weft_comm *comm, int peer)
{
    const comm_layout *layout = comm->layout;
    return peer != comm_rank(comm) && layout->node_of[peer] == layout->node_of[comm_rank(comm)];
}

static int64_t rows_of(const int64_t *offset, int peer)
{
    return offset[peer + 1] - offset[peer];
}

/* ---- making ------------------------------------------------------------------------------------------------------ */
void halo_window_destroy(halo_window *window)
{
    if (window != NULL) {
        comm_window_return(window->comm, window->window);
        WEFT_FREE_ALL(window->mine, window->theirs, window->shares, window);
    }
}

static weft_status window_new(weft_comm *comm, int64_t row_bytes, halo_window **out)
{
    weft_status status = WEFT_OK;
    halo_window *window = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&window, 1, WEFT_MEM_COMM));
    *window = (halo_window){.comm = comm, .row_bytes = row_bytes};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&window->mine, comm_size(comm), WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&window->theirs, comm_size(comm), WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&window->shares, comm_size(comm), WEFT_MEM_COMM), status, done);
    *out = window;
    window = NULL;
done:
    halo_window_destroy(window);
    return status;
}

/* Rows for the node's ranks one after the other, list by list. Returns how many the longer list has. */
static int64_t lay_out(halo_window *window, const int64_t *const offset[HALO_LISTS])
{
    int64_t most = 0;
    for (int list = 0; list < HALO_LISTS; ++list) {
        int64_t before = 0;
        for (int p = 0; p < comm_size(window->comm); ++p) {
            const int64_t rows = on_my_node(window->comm, p) ? rows_of(offset[list], p) : 0;
            window->mine[p].before[list] = before;
            window->shares[p] = window->shares[p] || rows > 0;
            before += rows;
        }
        most = before > most ? before : most;
    }
    return most;
}

/* Collective. */
static weft_status tell_places(halo_window *window)
{
    int64_t *bytes = NULL;
    const int size = comm_size(window->comm);
    weft_status status = WEFT_NEW(&bytes, size, WEFT_MEM_COMM);
    for (int p = 0; p < size && status == WEFT_OK; ++p) {
        bytes[p] = (int64_t)sizeof *window->mine;
    }
    WEFT_TRY_GOTO(comm_agree(window->comm, status), status, done);
    status = comm_alltoallv(window->comm, window->mine, bytes, window->theirs, bytes);
done:
    weft_free(bytes);
    return status;
}

/* Collective: *needed is the same on every rank. bytes: of this rank's segment. */
static weft_status agree_needed(weft_comm *comm, int64_t bytes, bool wanted, bool *needed)
{
    int64_t most[2] = {bytes, !wanted || comm->messages_only};
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_I64, COMM_MAX));
    *needed = most[0] > 0 && most[1] == 0;
    return WEFT_OK;
}

/* Collective: *leased false on every rank where there is no room. */
static weft_status lease(halo_window *window, int64_t bytes, bool *leased)
{
    weft_status status = comm_window_lease(window->comm, bytes, &window->window);
    *leased = status == WEFT_OK;
    if (status == WEFT_ERR_RESOURCE) {
        log_warn("rows of a halo travel in messages inside the node: %s", weft_error_message());
        return WEFT_OK;
    }
    WEFT_TRY(status);
    return comm_agree(window->comm, WEFT_OK); /* the flags of all are known to be zero after this */
}

weft_status halo_window_create(weft_comm *comm, const int64_t *const offset[HALO_LISTS], int64_t row_bytes, bool wanted,
                               halo_window **out)
{
    weft_status status = WEFT_OK;
    halo_window *window = NULL;
    bool useful = false;
    *out = NULL;
    weft_status local = window_new(comm, row_bytes, &window);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    const int64_t region = (lay_out(window, offset) * row_bytes + LINE - 1) / LINE * LINE;
    WEFT_TRY_GOTO(agree_needed(comm, REGIONS * region, wanted, &useful), status, done);
    if (useful) {
        WEFT_TRY_GOTO(tell_places(window), status, done);
        WEFT_TRY_GOTO(lease(window, REGIONS * region, &useful), status, done);
    }
    if (useful) {
        *out = window;
        window = NULL;
    }
done:
    halo_window_destroy(window);
    return status;
}

/* ---- using ------------------------------------------------------------------------------------------------------- */
bool halo_window_takes(const halo_window *window, int64_t row_bytes)
{
    return window != NULL && row_bytes > 0 && row_bytes <= window->row_bytes;
}

bool halo_window_reaches(const halo_window *window, int peer)
{
    return window->shares[peer];
}

void halo_window_begin(halo_window *window)
{
    ++window->exchange;
}

/* Region of this exchange in a rank's segment. */
static char *region_of(const halo_window *window, int rank)
{
    const int local = window->comm->layout->local_of[rank];
    const int64_t bytes = window_segment_bytes(window->window, local) / (REGIONS * LINE) * LINE;
    return (char *)window_segment(window->window, local) + (int64_t)(window->exchange % REGIONS) * bytes;
}

char *halo_window_to(const halo_window *window, halo_list list, int peer, int64_t row_bytes)
{
    return region_of(window, comm_rank(window->comm)) + window->mine[peer].before[list] * row_bytes;
}

char *halo_window_from(const halo_window *window, halo_list list, int peer, int64_t row_bytes)
{
    return region_of(window, peer) + window->theirs[peer].before[list] * row_bytes;
}

void halo_window_say_here(halo_window *window)
{
    window_raise(window->window, FLAG_HERE, window->exchange);
}

void halo_window_say_read(halo_window *window)
{
    window_raise(window->window, FLAG_READ, window->exchange);
}

static bool has_raised(const halo_window *window, int peer, int flag, uint64_t exchange)
{
    return window_flag(window->window, window->comm->layout->local_of[peer], flag) >= exchange;
}

bool halo_window_is_here(const halo_window *window, int peer)
{
    return has_raised(window, peer, FLAG_HERE, window->exchange);
}

int halo_window_unread(const halo_window *window)
{
    const comm_layout *layout = window->comm->layout;
    const int node = layout->node_of[comm_rank(window->comm)];
    for (int i = layout->first[node]; i < layout->first[node + 1]; ++i) {
        const int p = layout->member[i];
        if (window->shares[p] && !has_raised(window, p, FLAG_READ, window->exchange - 1)) {
            return p;
        }
    }
    return -1;
}
