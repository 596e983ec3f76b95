/*
 * comm/halo/halo.c: the halo exchange: what is done when, and by whom.
 *
 *      post      arranges both sides (comm/halo/halo_side.h), packs (comm/halo/halo_pack.h), hands over to the driver
 *      driver    starts the messages, counts the pieces that arrive, in messages and behind flags of the window
 *      wait      unpacks
 *
 * Packing happens in the post and unpacking in the wait, on the caller's thread: a backend serves one thread at a time,
 * and the caller computes with it while the driver, which may be another thread, moves the messages. A device packs
 * when its stream comes to it, and nobody stands still for that: the driver starts the messages once it has come past
 * an event behind the last pack operation and copy, where the backend lets it ask (hal_stream_ops.reached); else the
 * post waits. Unpacking starts as soon as a message is complete; in reverse a peer waits for all lower ones, so that
 * sums do not depend on arrival.
 *
 * Where the host sees x, the pieces of ranks of this node are packed or coded into shared memory, from where the peer
 * unpacks them (comm/halo/halo_window.h), unless rows are larger than float32 of max_width.
 */
#include "comm/halo.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/core/comm_internal.h"
#include "comm/core/transfer.h"
#include "comm/halo/halo_lists.h"
#include "comm/halo/halo_pack.h"

typedef enum halo_phase { HALO_START, HALO_TRANSFER, HALO_DONE } halo_phase;

typedef enum piece_state { PIECE_EMPTY, PIECE_UNDER_WAY, PIECE_ARRIVED, PIECE_UNPACKED } piece_state;

struct comm_halo {
    comm_operation operation; /* first: the engine sees only this */
    weft_comm *comm;
    weft_hal *hal;
    int64_t n_local, max_width;
    halo_side own, leaf;
    bool direct; /* messages reach memory of the device, which the host must not touch */
    comm_transfers transfers;
    halo_window *window; /* NULL: messages alone */
    halo_mixer *mixer;   /* NULL until rows are mixed for the first time */
    /* the exchange under way */
    bool posted;  /* and not waited for */
    bool through; /* the window, where it reaches */
    bool late;    /* the driver asks whether the stream has come past what was packed; else the post waits for it */
    atomic_int arrived; /* pieces that are complete; the driver's */
    int looked_at;      /* of those, how many the caller has seen */
    int awaited;        /* pieces in the window that are not there yet; the driver's */
    unsigned looks;     /* at flags in vain; the driver's */
    halo_phase phase;   /* the driver's */
    halo_format format;
    int next_peer;     /* REVERSE: lowest peer that is not added yet */
    double span_begin; /* for the trace */
    hal_event *packed; /* behind what was packed, in the stream */
};

static const char *const direction_name[] = {"halo forward", "halo reverse", "halo reverse max"};

static halo_side *sending_side(comm_halo *halo)
{
    return halo->format.direction == HALO_FORWARD ? &halo->own : &halo->leaf;
}

static halo_side *receiving_side(comm_halo *halo)
{
    return halo->format.direction == HALO_FORWARD ? &halo->leaf : &halo->own;
}

static halo_piece *received_pieces(const comm_halo *halo)
{
    return halo->format.direction == HALO_FORWARD ? halo->leaf.piece : halo->own.piece;
}

/* ---- one exchange ----------------------------------------------------------------------------------------------- */
/* Of a piece's message. */
static int64_t piece_bytes(const comm_halo *halo, const halo_piece *piece)
{
    assert(piece->rows >= 0);
    return halo_format_bytes(&halo->format, piece->rows);
}

/* What the transport carries of a piece. */
static int64_t message_bytes(const comm_halo *halo, const halo_piece *piece)
{
    return piece->shared ? 0 : piece_bytes(halo, piece);
}

static void expect_pieces(comm_halo *halo)
{
    halo_side *side = receiving_side(halo);
    halo->awaited = 0;
    for (int p = 0; p < comm_size(halo->comm); ++p) {
        halo_piece *piece = &side->piece[p];
        int64_t bytes = piece_bytes(halo, piece);
        piece->messages = (int)transfers_chunks(halo->comm, message_bytes(halo, piece));
        halo->awaited += piece->shared && bytes > 0;
        atomic_store_explicit(&piece->state, bytes > 0 ? PIECE_UNDER_WAY : PIECE_EMPTY, memory_order_relaxed);
    }
    atomic_store_explicit(&halo->arrived, 0, memory_order_relaxed);
    halo->looked_at = 0;
    halo->next_peer = 0;
}

static weft_status pack_pieces(comm_halo *halo)
{
    halo_side *side = sending_side(halo);
    for (int p = 0; p < comm_size(halo->comm); ++p) {
        const halo_piece *piece = &side->piece[p];
        if (piece_bytes(halo, piece) > 0 && !piece->in_place) {
            WEFT_TRY(halo_pack(side, &halo->format, piece, halo->mixer));
        }
    }
    return WEFT_OK;
}

/* Messages and peers touch memory of the host, or the device's by themselves, once the stream has come here: what is
 * sent has been written, and what the last exchange uploaded or unpacked out of the memory that is received into has
 * been read. */
static weft_status mark_stream(comm_halo *halo)
{
    return halo->hal->stream.record(halo->hal, halo->packed);
}

static weft_status wait_for_stream(comm_halo *halo)
{
    WEFT_TRY(mark_stream(halo));
    return halo->hal->stream.wait(halo->hal, halo->packed);
}

/* Whether messages may start; the driver's. */
static weft_status ask_stream(comm_halo *halo, bool *reached)
{
    *reached = true;
    return halo->late ? halo->hal->stream.reached(halo->hal, halo->packed, reached) : WEFT_OK;
}

/* Peers are served from the next rank on, so that no rank is everybody's first target. */
static weft_status start_messages(comm_halo *halo)
{
    const halo_side *to = receiving_side(halo);
    const halo_side *from = sending_side(halo);
    int size = comm_size(halo->comm);
    transfers_clear(&halo->transfers);
    for (int p = 0; p < size; ++p) {
        const halo_piece *piece = &to->piece[p];
        WEFT_TRY(transfers_receive(&halo->transfers, p, halo_side_message(to, &halo->format, piece),
                                   message_bytes(halo, piece), p));
    }
    for (int k = 1; k < size; ++k) {
        int p = (comm_rank(halo->comm) + k) % size;
        const halo_piece *piece = &from->piece[p];
        WEFT_TRY(transfers_send(&halo->transfers, p, halo_side_message(from, &halo->format, piece),
                                message_bytes(halo, piece), p));
    }
    return WEFT_OK;
}

/* Rows through the window are sent as well, but as no message. */
static void count_shared(comm_halo *halo)
{
    comm_counters *counters = &halo->comm->counters[COMM_LANE_HALO];
    int64_t sent = 0, received = 0;
    for (int p = 0; p < comm_size(halo->comm); ++p) {
        const halo_piece *to = &sending_side(halo)->piece[p], *from = &receiving_side(halo)->piece[p];
        sent += piece_bytes(halo, to) - message_bytes(halo, to);
        received += piece_bytes(halo, from) - message_bytes(halo, from);
    }
    comm_count(&counters->bytes_sent, (uint64_t)sent);
    comm_count(&counters->shared_bytes, (uint64_t)(sent + received));
}

static void note_arrival(comm_halo *halo, halo_piece *piece)
{
    atomic_store_explicit(&piece->state, PIECE_ARRIVED, memory_order_release);
    atomic_fetch_add_explicit(&halo->arrived, 1, memory_order_release);
}

static void note_arrivals(comm_halo *halo)
{
    halo_side *side = receiving_side(halo);
    for (int i = 0; i < halo->transfers.ended_count; ++i) {
        const transfer_info *info = &halo->transfers.info[halo->transfers.ended[i]];
        if (!info->is_send && --side->piece[info->group].messages == 0) {
            note_arrival(halo, &side->piece[info->group]);
        }
    }
}

static piece_state state_of(const halo_piece *piece)
{
    return (piece_state)atomic_load_explicit(&piece->state, memory_order_acquire);
}

/* A piece of this node that is not there yet, in ascending rank order from `first` on; -1: none. */
static int next_awaited(const comm_halo *halo, int first)
{
    const halo_piece *piece = received_pieces(halo);
    for (int p = first; p < comm_size(halo->comm) && halo->awaited > 0; ++p) {
        if (piece[p].shared && state_of(&piece[p]) == PIECE_UNDER_WAY) {
            return p;
        }
    }
    return -1;
}

/* *blocked: somebody's flag is not there yet. */
static weft_status look_at_flags(comm_halo *halo, bool *blocked, bool *moved)
{
    *blocked = false;
    if (!halo->through) {
        return WEFT_OK;
    }
    for (int p = next_awaited(halo, 0); p >= 0; p = next_awaited(halo, p + 1)) {
        if (halo_window_is_here(halo->window, p)) {
            note_arrival(halo, &receiving_side(halo)->piece[p]);
            halo->awaited -= 1;
            *moved = true;
        }
    }
    *blocked = halo->awaited > 0 || halo_window_unread(halo->window) >= 0;
    return *blocked ? window_look_again(halo->comm, &halo->looks) : WEFT_OK;
}

static bool has_arrivals(const comm_operation *op)
{
    const comm_halo *halo = (const comm_halo *)op;
    return atomic_load_explicit(&halo->arrived, memory_order_acquire) != halo->looked_at;
}

static weft_status unpack_piece(comm_halo *halo, halo_piece *piece)
{
    atomic_store_explicit(&piece->state, PIECE_UNPACKED, memory_order_relaxed);
    return halo_unpack(receiving_side(halo), &halo->format, piece, halo->mixer);
}

static weft_status unpack_pieces(comm_halo *halo)
{
    halo_piece *piece = receiving_side(halo)->piece;
    int size = comm_size(halo->comm);
    halo->looked_at = atomic_load_explicit(&halo->arrived, memory_order_acquire);
    if (halo->format.direction == HALO_FORWARD) {
        for (int p = 0; p < size; ++p) {
            if (state_of(&piece[p]) == PIECE_ARRIVED) {
                WEFT_TRY(unpack_piece(halo, &piece[p]));
            }
        }
        return WEFT_OK;
    }
    for (; halo->next_peer < size && state_of(&piece[halo->next_peer]) != PIECE_UNDER_WAY; ++halo->next_peer) {
        if (state_of(&piece[halo->next_peer]) == PIECE_ARRIVED) {
            WEFT_TRY(unpack_piece(halo, &piece[halo->next_peer]));
        }
    }
    return WEFT_OK;
}

static weft_status unpack_arrived(comm_halo *halo)
{
    if (!has_arrivals(&halo->operation)) {
        return WEFT_OK;
    }
    double begin = trace_begin();
    WEFT_TRY(unpack_pieces(halo));
    trace_end(begin, TRACE_COMM, "unpack", -1);
    return WEFT_OK;
}

/* The messages from first to last, for the trace. */
static void span_end(const comm_halo *halo)
{
    const halo_side *side = halo->format.direction == HALO_FORWARD ? &halo->own : &halo->leaf;
    int64_t bytes = 0;
    for (int p = 0; p < comm_size(halo->comm); ++p) {
        bytes += piece_bytes(halo, &side->piece[p]);
    }
    trace_category category = halo->comm->layout->nodes > 1 ? TRACE_INTER : TRACE_INTRA;
    trace_end(halo->span_begin, category, direction_name[halo->format.direction], bytes);
}

static weft_status halo_advance(comm_operation *op, bool *done, bool *moved)
{
    comm_halo *halo = (comm_halo *)op;
    bool blocked = false;
    if (halo->direct) {
        WEFT_TRY(halo->hal->mem.enter(halo->hal)); /* the driver may be another thread each time */
    }
    if (halo->phase == HALO_START) {
        bool reached = false;
        WEFT_TRY(ask_stream(halo, &reached));
        if (!reached) {
            return WEFT_OK;
        }
        halo->span_begin = trace_begin();
        WEFT_TRY(start_messages(halo));
        count_shared(halo);
        *moved = true;
        halo->phase = HALO_TRANSFER;
    }
    WEFT_TRY(transfers_test(&halo->transfers));
    *moved = *moved || halo->transfers.ended_count > 0;
    note_arrivals(halo);
    WEFT_TRY(look_at_flags(halo, &blocked, moved));
    if (transfers_done(&halo->transfers) && !blocked) {
        halo->phase = HALO_DONE;
        span_end(halo);
    }
    *done = halo->phase == HALO_DONE;
    return WEFT_OK;
}

static void halo_cancel(comm_operation *op)
{
    comm_halo *halo = (comm_halo *)op;
    transfers_cancel(&halo->transfers);
    if (halo->through || halo->phase == HALO_START) { /* peers wait for what was never sent */
        halo->comm->transport->ops->abandon(halo->comm->transport);
    }
}

static void halo_describe(const comm_operation *op, char *text, size_t bytes)
{
    const comm_halo *halo = (const comm_halo *)op;
    const int awaited = next_awaited(halo, 0);
    const int unread = halo->through ? halo_window_unread(halo->window) : -1;
    if (halo->phase == HALO_START) {
        snprintf(text, bytes, "the device has not come past the packing of its rows");
    } else if (!transfers_done(&halo->transfers) || (awaited < 0 && unread < 0)) {
        transfers_describe(&halo->transfers, text, bytes);
    } else if (awaited >= 0) {
        snprintf(text, bytes, "rank %d has not come: %lld rows of it are awaited in shared memory", awaited,
                 (long long)received_pieces(halo)[awaited].rows);
    } else {
        snprintf(text, bytes, "rank %d has not read the rows of the exchange before", unread);
    }
}

/* ---- before an exchange ------------------------------------------------------------------------------------------ */
static void aim(comm_halo *halo, halo_direction direction, const comm_halo_code *code, hal_mat x)
{
    comm_halo_code sent = *code;
    sent.rounding.sender = (uint32_t)comm_rank(halo->comm);
    halo->format = halo_format_of(halo->hal, direction, &sent, x, halo->direct);
    halo->through = halo_window_takes(halo->window, halo->format.row_bytes);
    halo->late = halo->hal->stream.reached != NULL && !halo->through;
}

/* Of the exchange that is aimed at; allocates when it needs more than any before. */
static weft_status arrange_pieces(comm_halo *halo)
{
    const halo_window *window = halo->through ? halo->window : NULL;
    WEFT_TRY(halo_side_arrange(sending_side(halo), &halo->format, window, false));
    return halo_side_arrange(receiving_side(halo), &halo->format, window, true);
}

/* What whole matrices of float32 of the largest width need both ways. */
static weft_status reserve_usual(comm_halo *halo)
{
    for (halo_direction direction = HALO_FORWARD; direction <= HALO_REVERSE; ++direction) {
        aim(halo, direction, &(comm_halo_code){.codec = HAL_ROWS_NONE},
            hal_mat_of(NULL, WEFT_DTYPE_F32, halo->n_local, halo->max_width, halo->max_width));
        WEFT_TRY(arrange_pieces(halo));
    }
    return WEFT_OK;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */
static int64_t most_messages(const weft_comm *comm, const halo_side *side, int64_t row_bytes)
{
    int64_t messages = 0;
    for (int p = 0; p < comm_size(comm); ++p) {
        messages += transfers_chunks(comm, side->piece[p].rows * row_bytes);
    }
    return messages;
}

static weft_status create_local(weft_comm *comm, weft_hal *hal, const comm_halo_desc *desc, int64_t max_width,
                                comm_halo *halo)
{
    int size = comm_size(comm);
    WEFT_TRY(hal->stream.create(hal, &halo->packed));
    WEFT_TRY(halo_side_create(hal, size, desc->own_offset, desc->own_row, desc->gid, &halo->own));
    WEFT_TRY(halo_side_create(hal, size, desc->leaf_offset, desc->leaf_row, desc->gid, &halo->leaf));
    const int64_t row_bytes = max_width * (int64_t)sizeof(float);
    return transfers_reserve(&halo->transfers, most_messages(comm, &halo->own, 2 * row_bytes) +
                                                   most_messages(comm, &halo->leaf, 2 * row_bytes));
}

/* ---- public ----------------------------------------------------------------------------------------------------- */
weft_status comm_halo_create(weft_comm *comm, weft_hal *hal, const comm_halo_desc *desc, int64_t max_width,
                             comm_halo **out)
{
    weft_status status = WEFT_OK;
    comm_halo *halo = NULL;
    char text[OPERATION_NAME_BYTES];
    *out = NULL;
    snprintf(text, sizeof text, "halo exchange of rows of at most %lld elements", (long long)max_width);
    WEFT_TRY(comm_check_same(comm, text));
    WEFT_TRY(halo_lists_check(comm, desc, max_width));
    weft_status local = WEFT_NEW_ZERO(&halo, 1, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    *halo = (comm_halo){.comm = comm,
                        .hal = hal,
                        .n_local = desc->n_local,
                        .max_width = max_width,
                        .direct = !hal_host_visible(hal) && comm->straight[hal->mem.reach]};
    halo->operation.comm = comm;
    halo->operation.lane = COMM_LANE_HALO;
    halo->operation.advance = halo_advance;
    halo->operation.cancel = halo_cancel;
    halo->operation.describe = halo_describe;
    transfers_init(&halo->transfers, comm, COMM_LANE_HALO);
    WEFT_TRY_GOTO(comm_agree(comm, create_local(comm, hal, desc, max_width, halo)), status, done);
    WEFT_TRY_GOTO(halo_window_create(comm, (const int64_t *const[HALO_LISTS]){desc->own_offset, desc->leaf_offset},
                                     max_width * (int64_t)sizeof(float), hal_host_visible(hal), &halo->window),
                  status, done);
    WEFT_TRY_GOTO(comm_agree(comm, reserve_usual(halo)), status, done);
    *out = halo;
    halo = NULL;
done:
    comm_halo_destroy(halo);
    return status;
}

weft_status comm_halo_choose(comm_halo *halo, const comm_halo_desc *lists)
{
    WEFT_CHECK(!halo->posted, WEFT_ERR_INTERNAL, "halo: rows are chosen between post and wait");
    WEFT_TRY(halo_side_choose(&halo->own, lists->own_offset, lists->own_row, lists->gid));
    return halo_side_choose(&halo->leaf, lists->leaf_offset, lists->leaf_row, lists->gid);
}

weft_status comm_halo_post(comm_halo *halo, halo_direction direction, weft_dtype dtype, void *x, int64_t ld,
                           int64_t width)
{
    return comm_halo_post_coded(halo, direction, &(comm_halo_code){.codec = HAL_ROWS_NONE}, dtype, x, ld, width);
}

static weft_status check_code(const comm_halo *halo, halo_direction direction, const comm_halo_code *code,
                              weft_dtype dtype)
{
    const bool coded = halo_code_is_coded(code);
    WEFT_CHECK(!coded || (dtype == WEFT_DTYPE_F32 && direction != HALO_REVERSE_MAX), WEFT_ERR_UNSUPPORTED,
               "halo: rows of %s in fewer bits, %s", weft_dtype_name(dtype), direction_name[direction]);
    WEFT_CHECK(!coded || (halo->own.id != NULL || halo->own.rows == 0), WEFT_ERR_INTERNAL,
               "halo: rows in fewer bits need global ids");
    return WEFT_OK;
}

static bool halo_takes(weft_dtype dtype, halo_direction direction)
{
    return dtype == WEFT_DTYPE_F32 || dtype == WEFT_DTYPE_F64 || dtype == WEFT_DTYPE_BF16 ||
           (dtype == WEFT_DTYPE_I16 && direction == HALO_FORWARD) ||
           (dtype == WEFT_DTYPE_I32 && direction != HALO_REVERSE_MAX);
}

static weft_status check_post(const comm_halo *halo, halo_direction direction, const comm_halo_code *code,
                              const hal_mat *x)
{
    WEFT_CHECK(!halo->posted, WEFT_ERR_INTERNAL, "halo: posted twice without a wait");
    WEFT_CHECK(halo_takes(x->dtype, direction), WEFT_ERR_UNSUPPORTED, "%s: rows of %s", direction_name[direction],
               weft_dtype_name(x->dtype));
    WEFT_CHECK(x->cols >= 0 && x->cols <= halo->max_width && x->ld >= x->cols, WEFT_ERR_INTERNAL,
               "halo: rows of %lld elements, ld %lld, made for at most %lld", (long long)x->cols, (long long)x->ld,
               (long long)halo->max_width);
    WEFT_CHECK(x->source != NULL || x->rows == 0 || x->cols == 0, WEFT_ERR_INTERNAL, "halo: no matrix");
    return check_code(halo, direction, code, x->dtype);
}

weft_status comm_halo_post_coded(comm_halo *halo, halo_direction direction, const comm_halo_code *code,
                                 weft_dtype dtype, void *x, int64_t ld, int64_t width)
{
    const hal_mat rows = hal_mat_of(x, dtype, halo->n_local, width, ld);
    WEFT_TRY(check_post(halo, direction, code, &rows));
    if (halo_code_is_mixed(code) && halo->mixer == NULL) {
        WEFT_TRY(halo_mixer_create(halo->hal, halo->own.most > halo->leaf.most ? halo->own.most : halo->leaf.most,
                                   halo->max_width, &halo->mixer));
    }
    aim(halo, direction, code, rows);
    snprintf(halo->operation.name, sizeof halo->operation.name, "%s of %lld rows of %lld %s", direction_name[direction],
             (long long)comm_halo_rows(halo, direction), (long long)width, weft_dtype_name(dtype));
    if (halo->through) {
        halo_window_begin(halo->window);
    }
    WEFT_TRY(arrange_pieces(halo));
    expect_pieces(halo);
    double begin = trace_begin();
    WEFT_TRY(pack_pieces(halo));
    WEFT_TRY(halo->late ? mark_stream(halo) : wait_for_stream(halo));
    if (halo->through) {
        halo_window_say_here(halo->window);
    }
    trace_end(begin, TRACE_COMM, "pack", -1);
    halo->transfers.tag = comm_next_tag(halo->comm, COMM_LANE_HALO);
    halo->phase = HALO_START;
    begin = trace_begin();
    progress_post(halo->comm->progress, &halo->operation);
    trace_end(begin, TRACE_SYNC, "submit", -1);
    halo->posted = operation_active(&halo->operation) || halo->operation.status == WEFT_OK;
    return halo->posted ? WEFT_OK : progress_status(&halo->operation);
}

/* The peers may overwrite what was unpacked. */
static weft_status say_read(comm_halo *halo)
{
    if (halo->through) {
        WEFT_TRY(wait_for_stream(halo));
        halo_window_say_read(halo->window);
    }
    return WEFT_OK;
}

weft_status comm_halo_wait(comm_halo *halo)
{
    comm_progress *progress = halo->comm->progress;
    double start = clock_seconds();
    double begin = trace_begin();
    weft_status status = halo->posted ? WEFT_OK : progress_status(&halo->operation);
    while (halo->posted) {
        bool ended = progress_wait_until(progress, &halo->operation, has_arrivals);
        status = ended ? progress_status(&halo->operation) : WEFT_OK;
        status = status == WEFT_OK ? unpack_arrived(halo) : status;
        status = ended && status == WEFT_OK ? say_read(halo) : status;
        halo->posted = !ended && status == WEFT_OK;
    }
    progress_cancel(progress, &halo->operation); /* where unpacking failed */
    trace_end(begin, TRACE_SYNC, "wait", -1);
    comm_count_seconds(&halo->comm->counters[COMM_LANE_HALO].wait_ns, clock_seconds() - start);
    return status;
}

bool comm_halo_arrived(const comm_halo *halo)
{
    return !operation_active(&halo->operation);
}

void comm_halo_destroy(comm_halo *halo)
{
    if (halo == NULL) {
        return;
    }
    if (halo->comm != NULL) {
        progress_cancel(halo->comm->progress, &halo->operation);
        transfers_free(&halo->transfers);
        halo_window_destroy(halo->window);
        halo_mixer_destroy(halo->mixer);
        halo_side_free(&halo->own);
        halo_side_free(&halo->leaf);
        if (halo->packed != NULL) {
            halo->hal->stream.destroy(halo->hal, halo->packed);
        }
    }
    weft_free(halo);
}

int64_t comm_halo_rows(const comm_halo *halo, halo_direction direction)
{
    return direction == HALO_FORWARD ? halo->own.rows : halo->leaf.rows;
}
