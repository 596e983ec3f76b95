/*
 * comm/coll/allreduce_shared.c: the all-reduce inside one node: loads and stores instead of messages.
 *
 * All ranks see all segments of a window (comm/core/window.h), so nothing is sent: ranks meet (each raises a flag and
 * awaits the others'), and in between they read and write each other's memory. Sums run over the ranks in the order
 * 0..n-1 on every element: the result is that of fixed_order to the bit, whoever computes it. Three forms:
 *
 * Slots, for short vectors: one meeting. Each rank copies its vector into a slot of its own, raises, awaits all
 * and sums all slots into its own vector.
 *
 *      rank 0   copy -> slot 0, raise | await all | slot 0 + slot 1 -> vector
 *      rank 1   copy -> slot 1, raise | await all | slot 0 + slot 1 -> vector
 *
 *    Two slots alternate. Post p writes the slot that post p - 2 used. A rank writes it after it has seen everybody's
 *    flag p - 1, and a rank raises p - 1 only after its own post p - 2 has read all slots: nobody reads it any more.
 *
 * Direct, when every rank's vector lies in one window (comm_buffer_alloc): two meetings and no copy. Rank r sums slice
 * r of all vectors and writes it into all vectors.
 *
 *      slice        0         1         2
 *      rank 0      sums                          HERE: my vector is complete     reads n slices, writes n slices
 *      rank 1                sums                DONE: my slice is everywhere
 *      rank 2                          sums
 *
 * Staged, otherwise: pieces of the vector go through the window, two halves alternating. Rank r keeps its slice of a
 * piece to itself, the other slices are copied in; it sums slice r into its vector and into its own half, from where
 * the others copy it out. While the others sum piece k + 1, piece k is copied out and piece k + 2 in:
 *
 *      in 0, in 1, sum 0 | sum 1, out 0, in 2 | sum 2, out 1, in 3 | ...        IN k: my piece k is in the window
 *                                                                               OUT k: my slice of piece k is summed
 *
 *    Piece k + 2 takes the half of piece k. Copied in: my slices of piece k were read by their owners before they
 *    raised OUT k, which I awaited before I copied piece k out, and in k + 2 comes after out k. Summed: the owner
 *    overwrites its slice of piece k in sum k + 2, after it has seen everybody's IN k + 2, and everybody had copied
 *    piece k out by then. Pieces are numbered through all posts, so the same holds from one post to the next.
 *
 * With one node the local numbers of the ranks are their ranks.
 *
 * Cost: no message; 1 or 2 meetings (2 a piece). Direct: n slices read and written, 2 M in all. Memory: 2 slots or two
 * halves a rank, nothing for direct.
 */
#include <assert.h>
#include <string.h>

#include "comm/coll/shared_state.h"
#include "hal/pack.h"

/* Flags of the plan's window: direct meets by the first and second, pieces come IN and go OUT. */
enum { FLAG_FIRST = 0, FLAG_SECOND = 1 };

typedef struct slice {
    int64_t begin, count;
} slice;

static void count_shared(const coll_shared *shared, int64_t bytes)
{
    comm_count(&shared->comm->counters[shared->schedule->operation.lane].shared_bytes, (uint64_t)bytes);
}

/* Whether everybody's flag has reached the value; who has not is left to the schedule's message. */
static bool all_raised(coll_shared *shared, int flag, uint64_t value)
{
    for (; shared->awaited < shared->ranks; ++shared->awaited) {
        int q = shared->awaited;
        if (q != shared->me && window_flag(shared->window, q, flag) < value) {
            shared->schedule->missing = q;
            return false;
        }
    }
    shared->awaited = 0;
    return true;
}

/* Slice q of `count` elements, cut between cache lines; `lead` elements of the first line lie before the vector. */
static slice slice_of(const coll_shared *shared, int64_t count, int64_t lead, int q)
{
    int64_t line = SHARED_LINE / shared->element;
    hal_span own = hal_split_rows((lead + count + line - 1) / line, shared->ranks, q);
    own.begin = own.begin * line - lead;
    own.end = own.end * line - lead;
    own.begin = own.begin < 0 ? 0 : own.begin > count ? count : own.begin;
    own.end = own.end < 0 ? 0 : own.end > count ? count : own.end;
    return (slice){own.begin, own.end - own.begin};
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */
/* A short vector follows the slot's flag at once, so that both travel in one cache line; a longer one begins at the
 * next line, where it is aligned. */
static char *slot_data(const coll_shared *shared, char *slot)
{
    return slot + (shared->count * shared->element <= SHARED_LINE - (int64_t)sizeof(uint64_t)
                       ? (int64_t)sizeof(uint64_t)
                       : SHARED_LINE);
}

static weft_status slots_begin(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    char *slot = shared_slot(shared, shared->me, post);
    shared->awaited = 0;
    memcpy(slot_data(shared, slot), shared->buffer, (size_t)(shared->count * shared->element));
    __atomic_store_n(shared_slot_flag(slot), post, __ATOMIC_RELEASE);
    return WEFT_OK;
}

static bool slots_here(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    for (; shared->awaited < shared->ranks; ++shared->awaited) {
        char *slot = shared_slot(shared, shared->awaited, post);
        if (__atomic_load_n(shared_slot_flag(slot), __ATOMIC_ACQUIRE) < post) {
            shared->schedule->missing = shared->awaited;
            return false;
        }
    }
    shared->awaited = 0;
    return true;
}

static weft_status slots_sum(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    for (int q = 0; q < shared->ranks; ++q) {
        shared->from[q] = slot_data(shared, shared_slot(shared, q, post));
    }
    shared->to[0] = shared->buffer;
    hal_pack_reduce_all(shared->dtype, (hal_reduction)shared->op, shared->to, 1, shared->from, shared->ranks,
                        shared->count);
    count_shared(shared, shared->ranks * shared->count * shared->element);
    return WEFT_OK;
}

/* ---- direct ------------------------------------------------------------------------------------------------------ */
static weft_status direct_here(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    shared->awaited = 0;
    window_raise(shared->window, FLAG_FIRST, post);
    return WEFT_OK;
}

static bool direct_all_here(void *argument, uint64_t post)
{
    return all_raised(argument, FLAG_FIRST, post);
}

static weft_status direct_sum(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    /* Segments begin on cache lines, so every rank finds the same place of rank 0's vector in its line. */
    int64_t into_line = (int64_t)((uintptr_t)shared->vector[0] % SHARED_LINE);
    slice mine = slice_of(shared, shared->count, into_line / shared->element, shared->me);
    for (int q = 0; q < shared->ranks; ++q) {
        shared->to[q] = (char *)shared->vector[q] + mine.begin * shared->element;
        shared->from[q] = shared->to[q];
    }
    hal_pack_reduce_all(shared->dtype, (hal_reduction)shared->op, shared->to, shared->ranks, shared->from,
                        shared->ranks, mine.count);
    window_raise(shared->window, FLAG_SECOND, post);
    count_shared(shared, 2 * shared->ranks * mine.count * shared->element);
    return WEFT_OK;
}

static bool direct_all_done(void *argument, uint64_t post)
{
    return all_raised(argument, FLAG_SECOND, post);
}

/* ---- staged ------------------------------------------------------------------------------------------------------ */
/* Pieces of all posts are numbered through; flags carry the number plus one. */
static int64_t piece_number(const coll_shared *shared, uint64_t post, int64_t k)
{
    return (int64_t)(post - 1) * shared->pieces + k;
}

static char *half_of(const coll_shared *shared, int q, int64_t number)
{
    return shared_segment(shared, q) + number % 2 * shared->slot_bytes;
}

static int64_t piece_count(const coll_shared *shared, int64_t k)
{
    int64_t rest = shared->count - k * shared->piece;
    return rest < shared->piece ? rest : shared->piece;
}

static char *piece_of(const coll_shared *shared, int64_t k)
{
    return shared->buffer + k * shared->piece * shared->element;
}

/* Slice q of piece k. All pieces are cut at the same places, the last one wherever it ends: what is copied in never
 * touches what the owner of a slice wrote in the piece before. */
static slice piece_slice(const coll_shared *shared, int64_t k, int q)
{
    int64_t count = piece_count(shared, k);
    slice whole = slice_of(shared, shared->piece, 0, q);
    int64_t begin = whole.begin < count ? whole.begin : count;
    int64_t rest = count - begin;
    return (slice){begin, whole.count < rest ? whole.count : rest};
}

/* Everything of the next piece but this rank's own slice. */
static void piece_in(coll_shared *shared, uint64_t post)
{
    int64_t k = shared->entered++;
    int64_t number = piece_number(shared, post, k);
    int64_t count = piece_count(shared, k);
    char *half = half_of(shared, shared->me, number);
    const char *piece = piece_of(shared, k);
    slice mine = piece_slice(shared, k, shared->me);
    int64_t behind = (mine.begin + mine.count) * shared->element;
    memcpy(half, piece, (size_t)(mine.begin * shared->element));
    memcpy(half + behind, piece + behind, (size_t)(count * shared->element - behind));
    window_raise(shared->window, FLAG_FIRST, (uint64_t)number + 1);
    count_shared(shared, (count - mine.count) * shared->element);
}

static weft_status staged_begin(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    shared->awaited = 0;
    shared->entered = 0;
    shared->summed = 0;
    shared->left = 0;
    piece_in(shared, post);
    if (shared->pieces > 1) {
        piece_in(shared, post);
    }
    return WEFT_OK;
}

static bool staged_all_in(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    return all_raised(shared, FLAG_FIRST, (uint64_t)piece_number(shared, post, shared->summed) + 1);
}

static weft_status staged_sum(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    int64_t k = shared->summed++;
    int64_t number = piece_number(shared, post, k);
    slice mine = piece_slice(shared, k, shared->me);
    int64_t begin = mine.begin * shared->element;
    for (int q = 0; q < shared->ranks; ++q) {
        shared->from[q] = half_of(shared, q, number) + begin;
    }
    shared->from[shared->me] = piece_of(shared, k) + begin;
    shared->to[0] = piece_of(shared, k) + begin;
    shared->to[1] = half_of(shared, shared->me, number) + begin;
    hal_pack_reduce_all(shared->dtype, (hal_reduction)shared->op, shared->to, 2, shared->from, shared->ranks,
                        mine.count);
    window_raise(shared->window, FLAG_SECOND, (uint64_t)number + 1);
    count_shared(shared, shared->ranks * mine.count * shared->element);
    return WEFT_OK;
}

static bool staged_all_out(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    return all_raised(shared, FLAG_SECOND, (uint64_t)piece_number(shared, post, shared->left) + 1);
}

/* The others' slices of the oldest piece come home; the next piece takes its half. */
static weft_status staged_out(void *argument, uint64_t post)
{
    coll_shared *shared = argument;
    int64_t k = shared->left++;
    int64_t number = piece_number(shared, post, k);
    for (int q = 0; q < shared->ranks; ++q) {
        slice theirs = piece_slice(shared, k, q);
        if (q != shared->me && theirs.count > 0) {
            int64_t begin = theirs.begin * shared->element;
            memcpy(piece_of(shared, k) + begin, half_of(shared, q, number) + begin,
                   (size_t)(theirs.count * shared->element));
            count_shared(shared, theirs.count * shared->element);
        }
    }
    if (shared->entered < shared->pieces) {
        piece_in(shared, post);
    }
    return WEFT_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */
static void build_slots(comm_schedule *s, coll_shared *shared)
{
    schedule_round(s, "copy in");
    schedule_call(s, slots_begin, shared);
    schedule_round(s, "meet");
    schedule_await(s, 0, slots_here, shared);
    schedule_call(s, slots_sum, shared);
}

static void build_direct(comm_schedule *s, coll_shared *shared)
{
    schedule_round(s, "vectors complete");
    schedule_call(s, direct_here, shared);
    schedule_await(s, 0, direct_all_here, shared);
    schedule_round(s, "slices summed");
    schedule_call(s, direct_sum, shared);
    schedule_await(s, 0, direct_all_done, shared);
}

static void build_staged(comm_schedule *s, coll_shared *shared)
{
    schedule_round(s, "first pieces");
    schedule_call(s, staged_begin, shared);
    schedule_await(s, 0, staged_all_in, shared);
    schedule_call(s, staged_sum, shared);
    for (int64_t k = 0; k < shared->pieces; ++k) {
        schedule_round(s, "piece");
        if (k + 1 < shared->pieces) {
            schedule_await(s, 0, staged_all_in, shared);
            schedule_call(s, staged_sum, shared);
        }
        schedule_await(s, 0, staged_all_out, shared);
        schedule_call(s, staged_out, shared);
    }
}

void coll_shared_build_small(comm_schedule *s, coll_shared *shared)
{
    shared->schedule = s;
    build_slots(s, shared);
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->shared != NULL && args->half == COMM_WHOLE);
    coll_shared *shared = args->shared;
    shared->schedule = s;
    switch (shared->form) {
    case SHARED_SLOTS:
        build_slots(s, shared);
        break;
    case SHARED_DIRECT:
        build_direct(s, shared);
        break;
    case SHARED_STAGED:
        build_staged(s, shared);
        break;
    }
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    comm_cost cost = {0};
    int64_t bytes = count * element;
    if (count == 0 || place->size == 1) {
        return cost;
    }
    bool slots = shared_fits_slot(place->size, bytes, true);
    cost.shared_syncs = slots ? 1 : 2;
    cost.shared_bytes = slots ? place->size * bytes : 2 * bytes;
    cost.reduced = slots ? (place->size - 1) * bytes : (count - count / place->size) * element;
    return cost;
}

const coll_algorithm allreduce_shared = {.id = COMM_ALGO_SHARED,
                                         .name = "shared",
                                         .description =
                                             "sums in shared memory, in rank order: any length, ranks of one node",
                                         .one_node = true,
                                         .build = build_steps,
                                         .cost = cost_of};
