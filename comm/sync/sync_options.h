/*
 * comm/sync/sync_options.h: the options of a synchronisation: those that all modes share, and one struct a mode.
 *
 * Each mode fills in its own defaults (sync_ops.defaults, comm/sync/<mode>.c).
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"
#include "comm/sparse/sparse.h"

#define SYNC_MODES(X)                                                                                                  \
    X(SYNC_ALLREDUCE, "allreduce")                                                                                     \
    X(SYNC_TOPK, "topk")                                                                                               \
    X(SYNC_DIVIDE_SHUFFLE, "divide-shuffle")                                                                           \
    X(SYNC_SHADOW, "shadow")                                                                                           \
    X(SYNC_ASP, "asp")                                                                                                 \
    X(SYNC_AUTO, "auto")
typedef enum sync_mode { SYNC_MODES(CHOICE_VALUE) } sync_mode;

#define SYNC_SHADOW_ALGORITHMS(X)                                                                                      \
    X(SHADOW_MA, "ma")                                                                                                 \
    X(SHADOW_BMUF, "bmuf")                                                                                             \
    X(SHADOW_EASGD, "easgd")
typedef enum sync_shadow_algorithm { SYNC_SHADOW_ALGORITHMS(CHOICE_VALUE) } sync_shadow_algorithm;

#define SYNC_ASP_POLICIES(X)                                                                                           \
    X(ASP_FIXED, "fixed")                                                                                              \
    X(ASP_LEARNING_RATE, "learning-rate")                                                                              \
    X(ASP_BANDWIDTH, "bandwidth")
typedef enum sync_asp_policy { SYNC_ASP_POLICIES(CHOICE_VALUE) } sync_asp_policy;

#define SYNC_TRACKINGS(X)                                                                                              \
    X(SYNC_TRACKING_AUTO, "auto")                                                                                      \
    X(SYNC_TRACKING_ON, "on")                                                                                          \
    X(SYNC_TRACKING_OFF, "off")                                                                                        \
    X(SYNC_TRACKING_MOMENTS, "moments")
typedef enum sync_tracking { SYNC_TRACKINGS(CHOICE_VALUE) } sync_tracking;

#define SYNC_OVERLAPS(X)                                                                                               \
    X(OVERLAP_BACKWARD, "backward")                                                                                    \
    X(OVERLAP_SPLIT, "split")                                                                                          \
    X(OVERLAP_OFF, "off")
typedef enum sync_overlap { SYNC_OVERLAPS(CHOICE_VALUE) } sync_overlap;

/* What a rank's share of the data is. */
typedef enum sync_shards {
    SYNC_SHARDS_SAMPLED, /* samples, shuffled among the ranks: every share looks like the whole */
    SYNC_SHARDS_DEALT,   /* samples of a site of its own, with labels of its own */
    SYNC_SHARDS_REGIONS  /* parts of a graph: regions of it, each with few of the labels */
} sync_shards;

typedef struct sync_topk_options {
    double density; /* part of the gradient that is sent */
    select_options select;
    sparse_exchange exchange;
    sparse_choice preferred; /* what SPARSE_AUTO takes, so that a run is repeated */
    int64_t warmup;          /* steps over which the density falls from 1/4 to its value, as in DGC; 0: none */
    int64_t dense_below;     /* tensors of fewer elements, and one-dimensional ones, are sent whole */
    double momentum;         /* momentum correction: the mode keeps the velocity, and the optimiser has none */
    bool masking;            /* the velocity of what was sent starts anew */
    sparse_values values;    /* what selected values travel as; what rounding takes away waits with the rest */
} sync_topk_options;

typedef struct sync_divide_shuffle_options {
    int group;            /* ranks of a group */
    int64_t full_every;   /* steps between full averages; 0: only where sync_average() is called */
    uint64_t seed;        /* of the shuffles */
    const char *topology; /* file of racks (comm/sync/racks.h); NULL: all ranks are one rack */
} sync_divide_shuffle_options;

typedef struct sync_shadow_options {
    sync_shadow_algorithm algorithm;
    double mix;                        /* lambda: how far a replica moves towards the average */
    double block_momentum, block_rate; /* of bmuf */
    double share; /* of the time that averages are under way at most, above 0 to 1; not where a gap is given */
    int64_t gap;  /* steps from posting an average to applying it; 0: it is applied when it has come */
} sync_shadow_options;

typedef struct sync_asp_options {
    const char *sites; /* file of sites, as of racks; NULL: every node is a site */
    double threshold;  /* an update travels once it passes this part of its parameter */
    sync_asp_policy policy;
    double bandwidth;    /* [bytes/s] between sites, for ASP_BANDWIDTH */
    int64_t slack;       /* clocks that a site may run ahead of another site's news */
    int64_t flush_every; /* steps between flushes of everything; 0: never */
} sync_asp_options;

typedef struct sync_options {
    sync_mode mode;
    bool allow_lossy; /* SYNC_AUTO may choose a mode that is not exact */
    comm_algorithm algorithm;
    comm_algorithm preferred; /* what COMM_ALGO_AUTO takes where it can run, so that a run is repeated; AUTO: none */
    comm_wire wire;           /* of gradients that are sent whole: allreduce, topk */
    sync_overlap overlap;     /* of allreduce and topk; SPLIT (DeAR): allreduce only */
    int64_t bucket_bytes;
    int threads; /* of the caller, which look for values that are not finite and select */
    /* What travels beside the parameters in divide-shuffle, shadow and asp (comm/sync/tracking.c). ON, tracked
     * gradients, is WEFT_ERR_USAGE with the other modes. MOMENTS, the optimiser's second moments, is WEFT_ERR_USAGE
     * with all modes but divide-shuffle, and without second_moments. AUTO is OFF where the shards are no regions,
     * else MOMENTS where it can be and ON elsewhere. */
    sync_tracking tracking;
    bool second_moments; /* the optimiser keeps second moments: sync_second_moments() */
    sync_shards shards;  /* whoever shares the data out says so */
    sync_topk_options topk;
    sync_divide_shuffle_options divide_shuffle;
    sync_shadow_options shadow;
    sync_asp_options asp;
} sync_options;

sync_options sync_options_default(void);
