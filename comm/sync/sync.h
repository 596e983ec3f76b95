/*
 * comm/sync/sync.h: how replicas of a model stay together: one interface, five ways.
 *
 *   SYNC_ALLREDUCE       every gradient is summed over all ranks: exact
 *   SYNC_TOPK            the largest gradients are summed, the rest waits (comm/sparse)
 *   SYNC_DIVIDE_SHUFFLE  every rank updates by itself, then parameters are averaged in changing groups (DS-Sync)
 *   SYNC_SHADOW          every rank updates by itself; averages are made in the background (ShadowSync)
 *   SYNC_ASP             updates travel when they matter (Gaia)
 *
 * A step of training, the same for all of them. B buckets are runs of the flat gradient, in the order in which the
 * backward pass finishes them:
 *
 *      sync_begin(s, weight)               a rank without data this step takes part with weight 0
 *      forward    sync_need(s, b)          before parameters of bucket b are read (split reduce: waits, updates)
 *      backward   sync_ready(s, b)         the gradient of bucket b is final: its reduction starts
 *      sync_gradients(s)                   the gradients are what the optimiser shall apply
 *      optimiser
 *      sync_parameters(s)                  parameters were updated: modes that average them do
 *      ...
 *      sync_average(s)                     before evaluation and checkpoints: all ranks hold the same parameters
 *
 * Gradients come in as local shares whose sum over ranks is the gradient. Exact modes and topk hand the sum back. Modes
 * with local updates hand back P times the share, the rank's own estimate of the sum, and average what it led to:
 * with plain SGD the mean of all updates is the exact one. With gradient tracking (comm/sync/tracking.c) it is a
 * running estimate of the sum that the ranks exchange like their parameters. An optimiser that divides by the root of
 * second moments lends them to the mode instead, which averages them like parameters (sync_second_moments).
 *
 * One rank has nobody to keep up with: every mode is SYNC_ALLREDUCE then, and no call does anything.
 *
 * Buffers are a backend's memory or the host's, float32 (float64: SYNC_ALLREDUCE only, WEFT_ERR_UNSUPPORTED otherwise).
 * Of memory that the host cannot see only what is sent crosses (comm/sync/staging.h). One thread calls, the backend's;
 * the order of calls is the same on every rank; no call but the first allocates. All functions are collective in the
 * sense that every rank makes them in the same order; only sync_create, sync_average, sync_gradients and the modes that
 * say so wait for others.
 */
#ifndef WEFT_COMM_SYNC_SYNC_H
#define WEFT_COMM_SYNC_SYNC_H

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

typedef struct sync_options {
    sync_mode mode;
    bool allow_lossy; /* auto may choose a mode that is not exact */
    /* allreduce */
    comm_algorithm algorithm;
    comm_algorithm preferred; /* what AUTO takes where it can run, so that a run is repeated; AUTO: none */
    comm_wire wire;
    sync_overlap overlap; /* SPLIT: reduce-scatter behind backward, all-gather behind the next forward (DeAR) */
    int64_t bucket_bytes;
    /* topk */
    double density;
    select_options select; /* its threads, those of the caller, also look for values that are not finite */
    sparse_exchange exchange;
    sparse_choice preferred_exchange; /* what AUTO takes, so that a run is repeated */
    int64_t warmup;                   /* steps over which the density falls from 1/4 to its value, as in DGC; 0: none */
    int64_t dense_below;              /* tensors of fewer elements, and one-dimensional ones, go dense */
    double momentum; /* momentum correction: velocity before the selection; the optimiser then has none */
    /* divide-shuffle, shadow, asp: what travels beside the parameters (comm/sync/tracking.c). ON, tracked gradients, is
     * WEFT_ERR_USAGE with the other modes; MOMENTS, the optimiser's second moments, is with all but divide-shuffle, and
     * without second_moments. AUTO is OFF where the shards do not differ, else MOMENTS where it can be and ON elsewhere. */
    sync_tracking tracking;
    bool second_moments; /* the optimiser keeps them: sync_second_moments */
    /* The ranks' shares of the data are no samples of the whole but regions of it, each with few of the labels: said by
     * whoever cuts the data. Samples that are shuffled among the ranks: false. */
    bool shards_differ;
    /* divide-shuffle */
    int group;            /* ranks of a group */
    int64_t full_every;   /* steps between full averages; 0: only where sync_average is called */
    uint64_t seed;        /* of the shuffles */
    const char *topology; /* file, or NULL: comm/sync/racks.h */
    /* shadow */
    sync_shadow_algorithm shadow;
    double mix;                        /* lambda: how far a replica moves towards the average */
    double block_momentum, block_rate; /* bmuf */
    int64_t gap;                       /* steps from posting an average to applying it; 0: when it has come */
    /* asp */
    const char *sites; /* file, or NULL: every node is a site */
    double threshold;  /* relative significance */
    sync_asp_policy policy;
    double bandwidth;    /* bytes a second between sites, for ASP_BANDWIDTH */
    int64_t slack;       /* clocks a site may run ahead of another's news; 0 */
    int64_t flush_every; /* steps between flushes of everything; 0: never */
} sync_options;

sync_options sync_options_default(void);
/* Whether gradients can be tracked: the mode has local updates. */
bool sync_mode_tracks(sync_mode mode);
/* What travels beside the parameters in this mode: ON, OFF or MOMENTS. SYNC_AUTO: ON if anything may. */
sync_tracking sync_tracking_of(const sync_options *options, sync_mode mode);
/* What topk takes of a device beside parameters and gradients, at most, for plans of memory, where gradients of `trained`
 * elements lie there on all ranks (sparse_fits_device), in buckets of at most `longest`. scratch: of its operations, which
 * share it with all others. */
typedef struct sync_device_need {
    uint64_t kept, scratch;
} sync_device_need;
sync_device_need sync_topk_on_device(const sync_options *options, const weft_hal *hal, int64_t trained,
                                     int64_t longest);
/* Whether the options go together, as far as they can be told without a communicator; sync_create asks too. */
weft_status sync_check_options(const sync_options *options);

/* A tensor of the flat buffers, for rules that look at shapes. */
typedef struct sync_tensor {
    const char *name;
    int64_t offset, rows, cols;
} sync_tensor;

typedef struct sync_bucket {
    int64_t offset, count;
} sync_bucket;

typedef struct sync_desc {
    weft_dtype dtype;
    weft_hal *hal; /* whose memory value and grad are; NULL: the host's own, which nothing is queued for */
    void *value;   /* [elements] parameters: `trained` with gradients, then state (batch statistics) */
    void *grad;    /* [trained] */
    int64_t trained, elements;
    const sync_bucket *bucket; /* [buckets] disjoint, covering [0, trained) */
    int buckets;
    const sync_tensor *tensor; /* [tensors] */
    int tensors;
} sync_desc;

typedef struct comm_sync comm_sync;

/* The mode that runs: AUTO resolved by prediction (comm/sync/choose.c), with one line in the log that says why. Plans
 * are made here and compared across ranks. Collective. Copies what it needs of desc and options. */
weft_status sync_create(weft_comm *comm, const sync_options *options, const sync_desc *desc, comm_sync **sync);
/* Nothing is under way after sync_finish and after sync_state. What else is, is cancelled: over MPI the job can then
 * only end. */
void sync_destroy(comm_sync *sync);

/* A run begins: all residuals, accumulators and clocks to zero; rank 0's parameters to all. */
weft_status sync_reset(comm_sync *sync);
/* lr: of this step (ASP's threshold follows it). weight: 1, or 0 for a rank without data. */
weft_status sync_begin(comm_sync *sync, double lr, double weight);
weft_status sync_ready(comm_sync *sync, int bucket);
weft_status sync_gradients(comm_sync *sync);
weft_status sync_parameters(comm_sync *sync);
/* Where the caller's second moments lie while they travel with the parameters: [trained] of the synchronisation's own
 * memory, which the caller fills before sync_reset, sync_parameters, sync_average and sync_finish, and reads after. NULL:
 * they do not travel. */
float *sync_second_moments(const comm_sync *sync);
/* Does sync_parameters do anything in this mode, on more than one rank? */
bool sync_moves_parameters(const comm_sync *sync);
/* OVERLAP_SPLIT: after sync_gradients the sums are still on their way; sync_need waits for one bucket, after which the
 * caller applies the optimiser to that bucket. True while bucket b is owed. */
bool sync_owes(const comm_sync *sync, int bucket);
weft_status sync_need(comm_sync *sync, int bucket);
/* Whether a gradient of this rank was not finite since sync_begin, and the tensor it lies in. Such a bucket takes part
 * as zeros, so that no rank is left waiting: the caller agrees with the other ranks and ends the run. */
bool sync_diverged(const comm_sync *sync, const char **tensor);

/*
 * All ranks hold the mean of all parameters (state included). The modes' own variables go on as if nothing happened.
 * Modes whose definition includes full averages keep it (divide-shuffle); the others train on from their own replicas:
 * sync_resume puts those back, so that how often a run is evaluated does not change it. Nothing to do for exact modes
 * and topk, whose replicas are equal.
 */
weft_status sync_average(comm_sync *sync);
weft_status sync_resume(comm_sync *sync);
/* The last step of a run: background rounds end, all ranks in the same round. Implies sync_average, which stays. */
weft_status sync_finish(comm_sync *sync);

/* Steps of the longest rank: shorter ones go on with weight 0. Collective. */
weft_status sync_agree_steps(weft_comm *comm, int64_t mine, int64_t *longest);

typedef struct sync_figures {
    double exposed_s;  /* the caller stood still */
    double busy_s;     /* from post to end, summed over operations */
    double density;    /* elements sent over elements there were, last step */
    double distance;   /* consensus: root mean square over parameters of the ranks' deviation from their mean, measured
                          at the last average, before it; 0 for exact modes */
    double gap;        /* mean steps between two synchronisations that reached this rank */
    int64_t staleness; /* largest, in steps */
    uint64_t bytes_sent, messages_sent; /* over communicators of the mode's own (groups, sites, background rounds):
                                           comm_lane_stats of the communicator given does not count them */
    uint64_t steps;
} sync_figures;
sync_figures sync_get_figures(const comm_sync *sync); /* since sync_create */
sync_mode sync_running(const comm_sync *sync);
sync_tracking sync_running_tracking(const comm_sync *sync); /* ON, OFF or MOMENTS */
const char *sync_mode_name(sync_mode mode);
/* Steps after which what they exchange repeats itself. */
int sync_period(const comm_sync *sync);

/*
 * Everything a mode remembers between steps, for checkpoints: named buffers, the same names in the same order on every
 * rank of every start. First ends what is under way (collective); a bucket that is owed must have been taken. Writing
 * the same bytes back continues to the bit. After sync_average this rank's own parameters stand in their place again.
 */
typedef struct sync_buffer {
    char name[48];
    void *data;
    int64_t bytes;
} sync_buffer;
weft_status sync_state(comm_sync *sync, const sync_buffer **buffer, int *count);
/*
 * The buffers of sync_state were filled from a checkpoint, on all ranks. WEFT_ERR_DATA on all ranks if a number in them cannot be
 * (a counter out of its range, ranks that disagree about what they share); the mode then stands as after sync_reset. Collective.
 */
weft_status sync_restored(comm_sync *sync);

/* ---- what a mode implements: comm/sync/<mode>.c ----------------------------------------------------------------- */
typedef struct sync_ops {
    const char *name;
    bool exact;
    bool local_updates; /* replicas differ: gradients are handed back as P times the share, scaled before `gradients`;
                           a mode with `ready` scales by itself, once its reductions have ended */
    bool admits;        /* where a thread moves messages, its operations call sync_admit first */
    bool average_stays; /* sync_average is part of the mode: training goes on from the mean */
    weft_status (*create)(comm_sync *sync);     /* sync->self; NULL: the mode keeps nothing */
    void (*destroy)(comm_sync *sync);           /* also of what a failed create left; NULL */
    const char *(*idle)(const comm_sync *sync); /* once made: why every step is that of all-reduce, or NULL; NULL */
    weft_status (*reset)(comm_sync *sync);      /* parameters are rank 0's by now; NULL */
    weft_status (*ready)(comm_sync *sync, int bucket); /* once a bucket and step, same order on all ranks; NULL */
    weft_status (*gradients)(comm_sync *sync);         /* NULL */
    weft_status (*parameters)(comm_sync *sync);        /* NULL */
    bool (*owes)(const comm_sync *sync, int bucket);   /* NULL: never */
    weft_status (*need)(comm_sync *sync, int bucket);  /* of a bucket that is owed; NULL */
    weft_status (*settle)(comm_sync *sync, bool last); /* end what is under way; NULL */
    int (*period)(const comm_sync *sync);              /* NULL: 1 */
    /* Fills, returns how many: less than SYNC_BUFFERS, and SYNC_BUFFERS_EACH a bucket; NULL. */
    int (*state)(comm_sync *sync, sync_buffer *buffer);
    weft_status (*restored)(comm_sync *sync); /* checks what `state` named, as sync_restored has it; collective; NULL */
} sync_ops;

enum { SYNC_BUFFERS = 32, SYNC_BUFFERS_EACH = 4 };

/* Of memory that the host cannot see: comm/sync/staging.c. */
typedef struct sync_staging {
    void *value, *grad;           /* the device's; NULL: the modes work on the caller's memory */
    void *value_host, *grad_host; /* what stands in the modes' desc instead */
    int64_t elements;             /* of value */
    bool everywhere;              /* every rank has its own on a device */
    bool stays;                   /* gradients stay on the device: the mode takes them there, or sends none */
    void *narrow, *narrow_host;   /* [trained] of narrow_dtype, on the device and here; NULL: all of it crosses */
    weft_dtype narrow_dtype;
    hal_event **event; /* [buckets] behind the copy of a gradient, for its reduction; NULL: copies are waited for */
    /* Of gradients that stay: [buckets] the first element that was not finite, or -1, on the device and here behind the event. */
    int64_t *place, *place_host;
    hal_event *admitted;
} sync_staging;

/* What travels beside the parameters: comm/sync/tracking.c. */
typedef struct sync_tracker {
    sync_tracking kind; /* OFF: the rest is NULL */
    float *caller;      /* the parameters of sync_create's desc, [trained | state] */
    float *value;       /* [trained | tracked gradients or second moments | state], the modes' desc.value */
    float *last;        /* [trained] ON: this rank's estimate of the step before */
} sync_tracker;

struct comm_sync {
    const sync_ops *ops;
    sync_mode mode; /* that runs */
    void *self;     /* the mode's own */
    weft_comm *comm;
    sync_options options; /* topology and sites: while the mode is created only */
    sync_desc desc;       /* its arrays are the sync's own copies; with a tracker, value and elements are its */
    sync_staging staging;
    sync_tracker tracker;
    double lr, weight;
    int64_t step;      /* since reset, from 1 */
    bool *ready;       /* [buckets] in this step */
    bool admits_aside; /* the mode's operations call sync_admit, on the communication thread */
    int diverged;      /* tensor whose gradient was not finite in this step, or -1 */
    sync_figures figures;
    comm_plan *mean;    /* full average of all parameters: an exact all-reduce; modes with local updates only */
    float *mean_buffer; /* [elements] the sum, then this rank's own parameters while the mean stands in their place */
    bool averaged;
    sync_buffer *buffer; /* [SYNC_BUFFERS + SYNC_BUFFERS_EACH * buckets] */
};

extern const sync_ops sync_allreduce_ops, sync_topk_ops, sync_divide_shuffle_ops, sync_shadow_ops, sync_asp_ops;

/* A bucket that is not finite, or of a rank without data, becomes zeros before it takes part. threads: of the caller. */
void sync_admit(comm_sync *sync, int bucket, int threads);
/* An element of the flat gradient is not finite in this step: the first one names its tensor. */
void sync_blame(comm_sync *sync, int64_t element);
/* More steps than a training makes: what counts them in a checkpoint is less. */
#define SYNC_STEPS_LIMIT ((int64_t)1 << 48)
/* For the modes: a counter of a checkpoint, or another number of it, lies in [low, high]. WEFT_ERR_DATA naming it. */
weft_status sync_check_range(const comm_sync *sync, const char *name, int64_t value, int64_t low, int64_t high);
/* For the modes: all ranks restored the same numbers [count <= SYNC_ALIKE]. WEFT_ERR_DATA on all ranks. Collective. */
enum { SYNC_ALIKE = 8 };
weft_status sync_check_alike(const comm_sync *sync, const char *names, const int64_t *value, int count);
/* For the modes: end the timed section that began at `start`: the caller stood still. */
void sync_expose(comm_sync *sync, double start);
/* The number of the tensor that holds an element of the flat gradient, or the one before it; -1: none. */
int sync_tensor_of(const sync_desc *desc, int64_t element);

/* ---- the choice: comm/sync/choose.c ----------------------------------------------------------------------------- */
/* Predicted seconds of one step's communication by a mode with these options; where its amount depends on the training
 * and the mode runs, from what its last step sent. Collective: files of racks and sites are read. */
weft_status sync_predict(const comm_sync *sync, sync_mode mode, double *seconds);
/* Resolve SYNC_AUTO: the fastest mode that is allowed, the same on every rank, with one line in the log that says why.
 * float32 and more than one rank. Collective. */
weft_status sync_choose(const comm_sync *sync, sync_mode *mode);

#endif
