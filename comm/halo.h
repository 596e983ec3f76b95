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
 * Volume of either direction: one row of `width` elements per (root, replica) pair, one message per pair of ranks that
 * share any; in fewer bits, as hal_row_bytes says. Between ranks of one node the rows lie in memory that both see, and
 * there is no message. In messages, leaf rows that are one ascending run are sent and received in place, without packing, and
 * rows in a device's memory pass through the host's, unless comm_choose_direct found that the transport takes them where they
 * are. Each rank does as it can: the bytes of messages are the same. A post does not wait for a device that packs, where the
 * backend lets the driver ask for it: messages start when the rows are there.
 */
#ifndef WEFT_COMM_HALO_H
#define WEFT_COMM_HALO_H

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

/* How rows are written in messages; `sender` is filled in. */
typedef struct comm_halo_code {
    hal_row_codec codec;
    double
        mean_bits; /* 2 to 8: each row in 2, 4 or 8, chosen for every message by the rows' ranges, and this many an element of
                       * them all (comm/halo/halo_mix.h); 0: all as codec says */
    hal_row_rounding rounding;
} comm_halo_code;

/* Whether callers compute with their own rows between post and wait; auto: where messages move meanwhile; epoch: as auto,
 * and rows that travel in training have until the next epoch. */
#define HALO_OVERLAPS(X)                                                                                               \
    X(HALO_OVERLAP_AUTO, "auto")                                                                                       \
    X(HALO_OVERLAP_ON, "on")                                                                                           \
    X(HALO_OVERLAP_OFF, "off")                                                                                         \
    X(HALO_OVERLAP_EPOCH, "epoch")
typedef enum halo_overlap { HALO_OVERLAPS(CHOICE_VALUE) } halo_overlap;

/* How rows are written, as users say it: all as one of hal_row_codec, or mixed. */
#define HALO_CODECS(X)                                                                                                 \
    X(HALO_CODEC_NONE, "none")                                                                                         \
    X(HALO_CODEC_BF16, "bf16")                                                                                         \
    X(HALO_CODEC_INT8, "int8")                                                                                         \
    X(HALO_CODEC_INT4, "int4")                                                                                         \
    X(HALO_CODEC_INT2, "int2")                                                                                         \
    X(HALO_CODEC_ADAPTIVE, "adaptive")
typedef enum halo_codec { HALO_CODECS(CHOICE_VALUE) } halo_codec;

/* Of adaptive: HAL_ROWS_NONE, as no codec is that of all rows. */
static inline hal_row_codec halo_row_codec(halo_codec codec)
{
    static const hal_row_codec of[] = {HAL_ROWS_NONE, HAL_ROWS_BF16, HAL_ROWS_INT8,
                                       HAL_ROWS_INT4, HAL_ROWS_INT2, HAL_ROWS_NONE};
    return of[codec];
}

/* Whether rows are exchanged at all. */
#define HALO_EXCHANGES(X)                                                                                              \
    X(HALO_EXCHANGE_ON, "on")                                                                                          \
    X(HALO_EXCHANGE_OFF, "off")
typedef enum halo_exchanged { HALO_EXCHANGES(CHOICE_VALUE) } halo_exchanged;

typedef enum halo_direction { HALO_FORWARD, HALO_REVERSE, HALO_REVERSE_MAX } halo_direction;

/*
 * Collective. Copies the lists, checks them against the peers' (counts equal, rows in range), allocates buffers for
 * rows of at most max_width float32; exchanges allocate nothing. hal packs, unpacks and adds; it must outlive the
 * halo. Where shared memory has no room, the ranks of a node send messages, which is told once in the log.
 */
weft_status comm_halo_create(weft_comm *comm, weft_hal *hal, const comm_halo_desc *desc, int64_t max_width,
                             comm_halo **halo);
/*
 * Which rows the next posts move: of each peer's some of those that the halo was made with, the same ones on both sides.
 * lists: offset [P + 1] and rows for each side; gid as at creation; not kept. Not while an exchange is under way.
 * WEFT_ERR_INTERNAL: more rows for a peer than there were. Local.
 */
weft_status comm_halo_choose(comm_halo *halo, const comm_halo_desc *lists);
/*
 * x: device pointer, [n_local, width] with leading dimension ld, of float32, float64 or bfloat16, which travels as it is
 * and whose sums are rounded after each peer. WEFT_ERR_UNSUPPORTED: another type. Until the wait the rows of the side that sends must
 * not be written, and those of the side that receives neither written nor read (forward: what is received; reverse:
 * they may be written, the wait adds to what it finds). Other rows are the caller's. Collective.
 */
weft_status comm_halo_post(comm_halo *halo, halo_direction direction, weft_dtype dtype, void *x, int64_t ld,
                           int64_t width);
/* The same with rows of float32 in fewer bits, rounded at random by their global id and the sender: hal_row_codec, with
 * every rank's the same code. WEFT_ERR_UNSUPPORTED: other types, and HALO_REVERSE_MAX. Allocates when a code comes for
 * the first time. Collective. */
weft_status comm_halo_post_coded(comm_halo *halo, halo_direction direction, const comm_halo_code *code,
                                 weft_dtype dtype, void *x, int64_t ld, int64_t width);
weft_status comm_halo_wait(comm_halo *halo);
/* Have all rows of the exchange under way come and gone, so that the wait has only rows to unpack? Moves nothing:
 * see comm_poll. */
bool comm_halo_arrived(const comm_halo *halo);
void comm_halo_destroy(comm_halo *halo);

/* Rows this rank sends in one exchange of that direction. */
int64_t comm_halo_rows(const comm_halo *halo, halo_direction direction);

/* Bytes of a message of so many rows; width: elements of a row of float32. */
int64_t comm_halo_code_bytes(const comm_halo_code *code, int64_t rows, int64_t width);

#endif
