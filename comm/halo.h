/*
 * comm/halo.h: the halo exchange between the root of a vertex and its replicas on other ranks.
 *
 * Every rank holds a matrix x of n_local rows. A halo names, for each peer, the rows that this rank (as root) shares
 * with it, and the rows of this rank (as replica) whose root is that peer, in the same order on both sides:
 *
 *      root side   own_row[own_offset[p] .. own_offset[p+1])     rows whose replica lives on p
 *      leaf side   leaf_row[leaf_offset[p] .. leaf_offset[p+1])  rows whose root is p
 *
 *   HALO_FORWARD       root row -> replicas: x[leaf] = x[root]
 *   HALO_REVERSE       replicas -> root:     x[root] += x[leaf], peers in ascending rank order (deterministic)
 *   HALO_REVERSE_MAX   replicas -> root:     x[root] = max(x[root], x[leaf]), element by element; a NaN stays
 *
 * Volume of either direction: one row of `width` elements per pair of a root and a replica, and one message per pair of
 * ranks that share any row; coded rows take the bytes that hal_row_bytes gives. Ranks of one node exchange rows through
 * shared memory, without a message.
 *
 * A message is sent and received in place, without packing, if its leaf rows are one ascending run. Rows in a device's
 * memory pass through host memory, unless comm_choose_direct found that the transport takes them from the device. Each
 * rank does what its backend allows; the bytes of messages are the same. A post does not wait for a device that packs
 * rows, if the backend lets the driver ask whether they are packed: messages start when the rows are there.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"

typedef struct comm_halo comm_halo;

typedef struct comm_halo_desc {
    int64_t n_local;
    const int64_t *own_offset; /* [P + 1] */
    const int32_t *own_row;
    const int64_t *leaf_offset; /* [P + 1] */
    const int32_t *leaf_row;
    const int64_t *gid; /* [n_local] global ids; NULL: rows are never sent in fewer bits */
} comm_halo_desc;

/* How rows are written in messages. The exchange fills in rounding.sender. */
typedef struct comm_halo_code {
    hal_row_codec codec;
    /* 2 to 8: each row takes 2, 4 or 8 bits an element, chosen for every message by the ranges of its rows, and this
     * many bits on average over the message (comm/halo/halo_mix.h). 0: all rows are written as codec says. */
    double mean_bits;
    hal_row_rounding rounding;
} comm_halo_code;

/* Do callers compute with their own rows between post and wait? AUTO: if messages move meanwhile. EPOCH: like AUTO,
 * and rows that travel in training have until the next epoch. */
#define HALO_OVERLAPS(X)                                                                                               \
    X(HALO_OVERLAP_AUTO, "auto")                                                                                       \
    X(HALO_OVERLAP_ON, "on")                                                                                           \
    X(HALO_OVERLAP_OFF, "off")                                                                                         \
    X(HALO_OVERLAP_EPOCH, "epoch")
typedef enum halo_overlap { HALO_OVERLAPS(CHOICE_VALUE) } halo_overlap;

/* How rows are written, as users say it: all rows in one hal_row_codec, or each row in as many bits as it deserves. */
#define HALO_CODECS(X)                                                                                                 \
    X(HALO_CODEC_NONE, "none")                                                                                         \
    X(HALO_CODEC_BF16, "bf16")                                                                                         \
    X(HALO_CODEC_INT8, "int8")                                                                                         \
    X(HALO_CODEC_INT4, "int4")                                                                                         \
    X(HALO_CODEC_INT2, "int2")                                                                                         \
    X(HALO_CODEC_ADAPTIVE, "adaptive")
typedef enum halo_codec { HALO_CODECS(CHOICE_VALUE) } halo_codec;

/* Returns the codec of all rows; HAL_ROWS_NONE for adaptive, which has no codec for all rows. */
static inline hal_row_codec halo_row_codec(halo_codec codec)
{
    static const hal_row_codec of[] = {HAL_ROWS_NONE, HAL_ROWS_BF16, HAL_ROWS_INT8,
                                       HAL_ROWS_INT4, HAL_ROWS_INT2, HAL_ROWS_NONE};
    return of[codec];
}

/* Are rows exchanged at all? */
#define HALO_EXCHANGES(X)                                                                                              \
    X(HALO_EXCHANGE_ON, "on")                                                                                          \
    X(HALO_EXCHANGE_OFF, "off")
typedef enum halo_exchanged { HALO_EXCHANGES(CHOICE_VALUE) } halo_exchanged;

typedef enum halo_direction { HALO_FORWARD, HALO_REVERSE, HALO_REVERSE_MAX } halo_direction;

/*
 * Collective. Copies the lists, checks them against the peers' (counts equal, rows in range), allocates buffers for
 * rows of at most max_width float32; exchanges allocate nothing. hal packs, unpacks and adds; it must outlive the
 * halo. If shared memory has no room, the ranks of a node send messages, with one line in the log.
 */
weft_status comm_halo_create(weft_comm *comm, weft_hal *hal, const comm_halo_desc *desc, int64_t max_width,
                             comm_halo **halo);
/*
 * Chooses the rows that the next posts move: for each peer a subset of the rows that the halo was made with, the same
 * on both sides. lists: offset [P + 1] and rows for each side; gid as at creation; not kept. Not while an exchange is
 * under way. WEFT_ERR_INTERNAL: more rows for a peer than the halo was made with. Local.
 */
weft_status comm_halo_choose(comm_halo *halo, const comm_halo_desc *lists);
/*
 * x: device pointer, [n_local, width] with leading dimension ld, of float32, float64, bfloat16, int32 (not
 * REVERSE_MAX) or int16 (FORWARD) (WEFT_ERR_UNSUPPORTED: another type). bfloat16 travels as it is, and its sums are
 * rounded after each peer; those of int32 are exact. Until the wait, the caller must
 * not write the rows of the side that sends. FORWARD: it must neither read nor write the rows that are received.
 * REVERSE: it may write them, because the wait adds to what it finds. All other rows are the caller's. Collective.
 */
weft_status comm_halo_post(comm_halo *halo, halo_direction direction, weft_dtype dtype, void *x, int64_t ld,
                           int64_t width);
/* Like comm_halo_post(), but writes float32 rows in fewer bits, rounded at random by their global id and the sender
 * (hal_row_codec). All ranks pass the same code. WEFT_ERR_UNSUPPORTED: other types, and HALO_REVERSE_MAX. Allocates
 * when a code comes for the first time. Collective. */
weft_status comm_halo_post_coded(comm_halo *halo, halo_direction direction, const comm_halo_code *code,
                                 weft_dtype dtype, void *x, int64_t ld, int64_t width);
weft_status comm_halo_wait(comm_halo *halo);
/* Returns true if all messages of the exchange under way have ended, so that the wait only unpacks rows. Moves nothing;
 * comm_poll() does. */
bool comm_halo_arrived(const comm_halo *halo);
void comm_halo_destroy(comm_halo *halo);

/* Returns the rows that this rank sends in one exchange of that direction. */
int64_t comm_halo_rows(const comm_halo *halo, halo_direction direction);

/* Returns the bytes of a message of `rows` rows of float32. width: elements of a row. */
int64_t comm_halo_code_bytes(const comm_halo_code *code, int64_t rows, int64_t width);
