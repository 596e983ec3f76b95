/*
 * comm/coll/coll.h: the collective algorithms, one a file.
 *
 * Each writes the steps of one rank into a schedule and, for the all-reduces, predicts its cost in closed form: the
 * exact bytes and messages that a rank sends (asserted against Open MPI's own counters by tests/mpi/test_volume.sh) and
 * the length of the critical path (which COMM_ALGO_AUTO minimises).
 * The critical path is the same number on every rank.
 *
 * Which path a message takes depends on where the ranks stand. Inside a node all ranks move data at once, each at its
 * own rate; between nodes the ranks of a node share one network link, so `inter_bytes` are those of the busiest node in
 * its busier direction. A round in which some ranks talk across the network costs what those take.
 *
 * Bits. All ranks always get the same. Whether they depend on where in the vector an element lies, and so on how
 * tensors are laid out in buckets:
 *
 *      fixed-order            never: the serial sum in rank order
 *      recursive-doubling,    never, and both give the same bits (one tree over the ranks), so the size may switch
 *      halving-doubling       between them
 *      two-level, master      not within one vector length: node sums in a fixed order, then one of the flat algorithms
 *                             over nodes, which the length chooses: doubling (as above) or the ring (as below)
 *      ring                   yes: every block starts at another rank
 *      any, with a wire type  yes: the part that an owner does not send is not rounded
 *
 * Letters: P ranks, m nodes, n ranks of a node, M bytes of the vector, p the largest power of two <= P, e bytes of an
 * element.
 */
#pragma once

#include "comm/core/cost.h"
#include "comm/core/layout.h"
#include "comm/core/schedule.h"

/* What an all-reduce through shared memory keeps beside its steps (comm/coll/shared.h). */
typedef struct coll_shared coll_shared;
/* The same of the stages of two-level inside a node (comm/coll/node_shared.h). */
typedef struct node_shared node_shared;

/* A reduction by the caller's function: what has arrived is merged into the vector. */
typedef struct coll_merge {
    comm_merge_fn fn;
    void *into;
    const void *other;
    int64_t bytes;
} coll_merge;

/* What one rank reduces. Inside a hierarchical algorithm rank and size are numbers in a group (schedule_members). */
typedef struct coll_allreduce {
    int rank, size;
    void *buffer;
    int64_t count;
    weft_dtype dtype;
    comm_op op;
    comm_wire wire;
    comm_half half;
    const comm_layout *layout; /* NULL: every rank is a node of its own */
    const comm_model *model;   /* by which inner algorithms are chosen; NULL: the fixed constants */
    bool shared_memory;        /* ranks of a node may meet in it */
    coll_shared *shared;       /* of COMM_ALGO_SHARED, made before it is built; else NULL */
    node_shared *stage;        /* of COMM_ALGO_TWO_LEVEL, the same; NULL: messages inside the node */
    coll_merge *merge;         /* in place of op; lives as long as the schedule. NULL: none */
    char *scratch;             /* coll_algorithm.scratch bytes, 64-byte aligned */
} coll_allreduce;

/* Whose cost: rank `rank` of `size`, spread over nodes as the layout says (NULL: every rank a node), and of which form
 * of the all-reduce. */
typedef struct coll_place {
    int rank, size;
    const comm_layout *layout;
    const comm_model *model; /* as in coll_allreduce */
    comm_wire wire;
    comm_half half;
    bool shared_memory;
} coll_place;

/* Elements [begin, begin + count). */
typedef struct coll_range {
    int64_t begin, count;
} coll_range;

/* How a vector is cut into one share for each rank, in the order of the ranks. */
typedef struct coll_shares {
    const int64_t *count; /* [P] length of each share; NULL: all shares have the length `each` */
    int64_t each;         /* used only if count is NULL, else 0 */
} coll_shares;
int64_t coll_shares_begin(coll_shares shares, int rank); /* sum of the shares before this rank's */
int64_t coll_shares_count(coll_shares shares, int rank);

typedef struct coll_algorithm {
    comm_algorithm id;
    const char *name, *description;
    bool asked_only; /* never chosen by itself */
    bool one_node;   /* works only inside one node, with shared memory (coll_shared_possible) */
    bool hierarchy;  /* pays with more than one node, or for halves in shared memory */
    bool encodes;    /* takes a wire type */
    int64_t (*scratch)(const coll_allreduce *args); /* bytes; NULL: none, or taken by build itself */
    void (*build)(comm_schedule *s, const coll_allreduce *args);
    comm_cost (*cost)(const coll_place *place, int64_t count, int64_t element);
    /* The range that is complete on this rank between the two halves; NULL: the algorithm has no halves. */
    coll_range (*owned)(const coll_allreduce *args);
} coll_algorithm;

/* NULL for AUTO and for numbers that are no algorithm. */
const coll_algorithm *coll_algorithm_of(comm_algorithm id);
/* Seconds of the critical path: timed on these very ranks, else predicted under the model; beyond the timed lengths
 * the longest, or shortest, timed one scaled as predicted. The same on every rank. */
double coll_seconds(const coll_algorithm *algorithm, const coll_place *place, int64_t count, int64_t element);
/* Whether the algorithm can do what is asked, and may be worth it. */
bool coll_eligible(const coll_algorithm *algorithm, const coll_place *place);
/* The cheapest by coll_seconds; the same on every rank. The whole, in its own type, in
 * shared memory where there is a node to share it. */
const coll_algorithm *coll_choose(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                  weft_dtype dtype);
/* The same for any form. Halves are chosen by the cost of the whole, among the algorithms that have them: both halves
 * get the same one. */
const coll_algorithm *coll_choose_form(const coll_place *place, int64_t count, int64_t element);
/*
 * What `groups` groups of place->size ranks, one rank a node, run side by side in a hierarchical algorithm, on at most
 * `count` elements each. Halving-doubling stands in for recursive doubling in halves, with the same bits, so a
 * hierarchical algorithm's halves equal its whole.
 */
const coll_algorithm *coll_choose_inner(const coll_place *place, int groups, int64_t count, int64_t element);

/* Arguments and place of a rank of the communicator; the form is the whole in its own type, as plans are made: through
 * shared memory unless the communicator has none. */
coll_allreduce coll_arguments(const weft_comm *comm, void *buffer, int64_t count, weft_dtype dtype, comm_op op);
coll_place coll_place_of(const coll_allreduce *args);
/* Scratch, then the steps; nothing for an empty vector or a single rank. args->scratch is filled in. */
void coll_build(comm_schedule *s, const coll_algorithm *algorithm, coll_allreduce *args);

/* The rows of the table; each is defined by the file allreduce_<name>.c. */
extern const coll_algorithm allreduce_recursive_doubling, allreduce_halving_doubling, allreduce_ring,
    allreduce_fixed_order, allreduce_shared, allreduce_two_level, allreduce_master;

/* Returns the messages that a rank sends in a broadcast; number: the rank, counted from the root. */
int coll_bcast_children(int number, int size);
void coll_bcast_build(comm_schedule *s, int rank, int size, int root, void *buffer, int64_t bytes);
/* send: the own block; NULL: it lies in its place already. */
void coll_allgather_build(comm_schedule *s, int rank, int size, const void *send, void *recv, coll_shares bytes);
void coll_alltoallv_build(comm_schedule *s, int rank, int size, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes);
void coll_gatherv_build(comm_schedule *s, int rank, int size, int root, const void *send, int64_t send_bytes,
                        void *recv, const int64_t *recv_bytes);
void coll_barrier_build(comm_schedule *s, int rank, int size);

/* The vector becomes left op right: what has arrived, and itself; the order matters to the bits. */
void coll_reduce(comm_schedule *s, const coll_allreduce *args, const void *left, const void *right);

/* ---- folding P ranks onto a power of two (comm/coll/fold.c) ----------------------------------------------------- */
typedef struct coll_fold {
    int power;   /* p */
    int extra;   /* P - p: pairs that are folded */
    int virtual; /* this rank's number in 0..p-1, or -1 when its neighbour acts for it */
    int steps;   /* log2 p */
} coll_fold;

coll_fold coll_fold_of(int rank, int size);
int coll_fold_rank(const coll_fold *fold, int virtual); /* the rank that acts as `virtual` */
/* One round before: the vector of every even folded rank is reduced into its odd neighbour's. tmp: one vector. */
void coll_fold_in(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args, void *tmp);
/* One round after: the result goes back. */
void coll_fold_out(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args);

/* ---- the critical path of a round, split by the layout (comm/coll/path.c) ---------------------------------------- */
/* The ranks that act as v and v ^ mask exchange `bytes` both ways; mask 0: even folded ranks send theirs one way. */
void coll_path_pairs(comm_cost *cost, const coll_place *place, const coll_fold *fold, int mask, int64_t bytes);
/* `rounds` rounds in which every rank sends to the next one; `bytes`: of one rank in all rounds. */
void coll_path_ring(comm_cost *cost, const coll_place *place, int64_t rounds, int64_t bytes);
/* Every rank sends `bytes` to every other one, all at once. */
void coll_path_direct(comm_cost *cost, const coll_place *place, int64_t bytes);
/* A cost, plus `times` another one's path: for stages one after the other. What is sent stays. */
void coll_path_add(comm_cost *cost, const comm_cost *stage, int64_t times);
int coll_ceil_log2(int size);

/* ---- small things ------------------------------------------------------------------------------------------------ */
static inline int64_t coll_vector_bytes(const coll_allreduce *args)
{
    return args->count * (int64_t)weft_dtype_bytes(args->dtype);
}

static inline bool coll_scatters(comm_half half)
{
    return half != COMM_ALL_GATHER;
}

static inline bool coll_gathers(comm_half half)
{
    return half != COMM_REDUCE_SCATTER;
}

/* Piece i of `parts`, as even as can be, the longer ones first. */
static inline coll_range coll_split(int64_t count, int parts, int i)
{
    const hal_span piece = hal_split_rows(count, parts, i);
    return (coll_range){piece.begin, piece.end - piece.begin};
}

/* The layout's ranks and size of a node. */
static inline const int *coll_node_members(const comm_layout *layout, int node)
{
    return layout->member + layout->first[node];
}

static inline int coll_node_ranks(const comm_layout *layout, int node)
{
    return layout->first[node + 1] - layout->first[node];
}
