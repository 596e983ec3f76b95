/*
 * comm/sync/sync.h: how the replicas of a model stay together: one interface, five modes.
 *
 *   SYNC_ALLREDUCE       every gradient is summed over all ranks: exact
 *   SYNC_TOPK            the largest gradients are summed, the rest waits (comm/sparse)
 *   SYNC_DIVIDE_SHUFFLE  every rank updates by itself, then parameters are averaged in changing groups (DS-Sync)
 *   SYNC_SHADOW          every rank updates by itself; averages are made in the background (ShadowSync)
 *   SYNC_ASP             updates travel between sites once they are large enough (Gaia)
 *
 * A step of training is the same for all modes. The buckets are runs of the flat gradient, in the order in which the
 * backward pass finishes them:
 *
 *      sync_begin(s, lr, weight)           a rank without data takes part in this step with weight 0
 *      forward    sync_need(s, b)          before the parameters of bucket b are read (split reduce: waits, updates)
 *      backward   sync_ready(s, b)         the gradient of bucket b is final: its reduction starts
 *      sync_gradients(s)                   the gradients are those that the optimiser shall apply
 *      optimiser
 *      sync_parameters(s)                  parameters were updated: some modes average them
 *      ...
 *      sync_average(s)                     before evaluations and checkpoints: all ranks hold the same parameters
 *
 * Gradients come in as local shares whose sum over ranks is the gradient. Exact modes and topk hand the sum back. Modes
 * with local updates hand back P times the share, the rank's own estimate of the sum, and average the parameters that
 * result: with plain SGD the mean of all updates is the exact one. With gradient tracking (comm/sync/tracking.c) they
 * hand back a running estimate of the sum, which the ranks exchange like their parameters. An optimiser that divides by
 * the root of second moments may lend these moments to the mode, which averages them like parameters
 * (sync_second_moments).
 *
 * On one rank every mode is SYNC_ALLREDUCE, and no call does anything.
 *
 * Buffers are a backend's memory or the host's, float32 (float64: SYNC_ALLREDUCE only, WEFT_ERR_UNSUPPORTED otherwise).
 * From memory that the host cannot see, only the bytes that are sent cross to the host (comm/sync/staging.h). One
 * thread calls, the one that owns the backend. No call but sync_create and sync_tune allocates after the first step.
 * All functions are collective: every rank makes the same calls in the same order. Only sync_create, sync_tune,
 * sync_average, sync_gradients and the calls of modes that say so wait for other ranks.
 */
#pragma once

#include "comm/sync/sync_options.h"

/* Returns true if gradients can be tracked in this mode: it has local updates. */
bool sync_mode_tracks(sync_mode mode);
/* Returns what travels beside the parameters in this mode: ON, OFF or MOMENTS. SYNC_AUTO: ON if anything may travel. */
sync_tracking sync_tracking_of(const sync_options *options, sync_mode mode);

/* Bytes that topk takes on a device beside parameters and gradients. scratch: workspace of its operations, which all
 * operations of the device share. */
typedef struct sync_device_need {
    uint64_t kept, scratch;
} sync_device_need;
/* Returns an upper bound, for plans of memory, if gradients of `trained` elements lie on devices of all ranks
 * (sparse_fits_device), in buckets of at most `longest` elements. */
sync_device_need sync_topk_on_device(const sync_options *options, const weft_hal *hal, int64_t trained,
                                     int64_t longest);
/* WEFT_ERR_USAGE if options exclude each other, as far as this is known without a communicator; sync_create checks
 * too. */
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
    weft_hal *hal; /* whose memory value and grad are; NULL: the host's own, on which nothing is queued */
    void *value;   /* [elements] parameters: `trained` with gradients, then state (batch statistics) */
    void *grad;    /* [trained] */
    int64_t trained, elements;
    const sync_bucket *bucket; /* [buckets] disjoint, covering [0, trained) */
    int buckets;
    const sync_tensor *tensor; /* [tensors] */
    int tensors;
} sync_desc;

typedef struct comm_sync comm_sync;

/* Makes the mode that runs: SYNC_AUTO is resolved by prediction (comm/sync/choose.c), with one line in the log that
 * says why. Plans are made here and compared across ranks. Copies what it needs of desc and options. Collective. */
weft_status sync_create(weft_comm *comm, const sync_options *options, const sync_desc *desc, comm_sync **sync);
/* After sync_finish and sync_state nothing is under way. Otherwise operations under way are cancelled, and over MPI
 * the job can only end. */
void sync_destroy(comm_sync *sync);

/* A run begins: all residuals, accumulators and clocks become zero, tuned knobs return to their options, and rank 0's
 * parameters go to all ranks. */
weft_status sync_reset(comm_sync *sync);
/* lr: of this step (ASP's threshold follows it). weight: 1, or 0 for a rank without data. */
weft_status sync_begin(comm_sync *sync, double lr, double weight);
weft_status sync_ready(comm_sync *sync, int bucket);
weft_status sync_gradients(comm_sync *sync);
weft_status sync_parameters(comm_sync *sync);
/* Returns [trained] memory of the synchronisation's own in which the caller's second moments travel with the
 * parameters. The caller fills it before sync_reset, sync_parameters, sync_average and sync_finish, and reads it
 * afterwards. NULL: no second moments travel. */
float *sync_second_moments(const comm_sync *sync);
/* Returns true if sync_parameters does anything in this mode, on more than one rank. */
bool sync_moves_parameters(const comm_sync *sync);
/* OVERLAP_SPLIT: after sync_gradients the sums are still on their way; sync_need waits for one bucket, after which the
 * caller applies the optimiser to that bucket. sync_owes returns true while bucket b is on its way. */
bool sync_owes(const comm_sync *sync, int bucket);
weft_status sync_need(comm_sync *sync, int bucket);
/* Returns true if a gradient of this rank was not finite since sync_begin. [out] tensor: the tensor in which it
 * lies. Such a bucket takes part as zeros, so that no rank is left waiting: the caller agrees with the other ranks
 * and ends the run. */
bool sync_diverged(const comm_sync *sync, const char **tensor);

/*
 * Afterwards all ranks hold the mean of all parameters (state included). The modes' own variables do not change. Modes
 * whose definition includes full averages keep the mean (divide-shuffle). The others train on from their own replicas:
 * sync_resume puts the replicas back, so that how often a run is evaluated does not change it. Exact modes and topk
 * have equal replicas, so nothing happens.
 */
weft_status sync_average(comm_sync *sync);
weft_status sync_resume(comm_sync *sync);
/* The last step of a run: background rounds end, on all ranks in the same round. Implies sync_average, whose mean
 * stays. */
weft_status sync_finish(comm_sync *sync);

/* More steps than any training makes: every counter of steps in a checkpoint is smaller. */
#define SYNC_STEPS_LIMIT ((int64_t)1 << 48)

/* [out] longest: the most steps that any rank has; ranks with fewer steps go on with weight 0. Collective. */
weft_status sync_agree_steps(weft_comm *comm, int64_t mine, int64_t *longest);

/* ---- what may change while a mode runs --------------------------------------------------------------------------- */
typedef enum sync_knob {
    SYNC_KNOB_DENSITY, /* topk: part of the gradient that is sent, above 0 and at most 1 */
    SYNC_KNOB_GROUP,   /* divide-shuffle: ranks of a group, a whole number from 2; the cycle of divisions begins anew */
    SYNC_KNOB_GAP,     /* shadow: steps from an average to its use, a whole number; 0: when it has come */
    SYNC_KNOB_THRESHOLD, /* asp: part of its parameter that an update must pass, at least 0 */
    SYNC_KNOBS
} sync_knob;

/*
 * Sets a knob between two steps; it holds from the next step on. A checkpoint keeps the value, and sync_reset returns
 * to the option. Collective: every rank passes the same knob and value, otherwise WEFT_ERR_INTERNAL names both.
 * WEFT_ERR_USAGE on all ranks if the running mode has no such knob, with those that it has, or if the value is out of
 * range. A topk that gave way to allreduce has no knob. On one rank the value is checked for the mode that was asked
 * for, and has no effect.
 */
weft_status sync_tune(comm_sync *sync, sync_knob knob, double value);
/* Returns the value of a knob of the running mode; NaN if the mode has no such knob. */
double sync_tuned(const comm_sync *sync, sync_knob knob);
/* Returns the option that gives a knob its first value, as users write it. */
const char *sync_knob_name(sync_knob knob);

/* ---- figures and state ------------------------------------------------------------------------------------------- */
typedef struct sync_figures {
    double exposed_s; /* time in which the caller stood still */
    double busy_s;    /* from post to end, summed over operations */
    double density;   /* part of the elements that was sent in the last step */
    /* Consensus distance: root mean square over the parameters of the ranks' deviation from their mean, measured
     * before the last average; 0 for exact modes. */
    double distance;
    double gap;        /* mean steps between two synchronisations that reached this rank */
    int64_t staleness; /* largest, in steps */
    int sites;         /* of asp; 0: another mode */
    /* Over communicators of the mode's own (groups, sites, background rounds), which comm_lane_stats of the
     * communicator given to sync_create does not count. */
    uint64_t bytes_sent, messages_sent;
    uint64_t shared_bytes; /* read and written in memory that ranks of a node share, in place of messages */
    uint64_t steps;
} sync_figures;
sync_figures sync_get_figures(const comm_sync *sync); /* since sync_create */
sync_mode sync_running(const comm_sync *sync);
sync_tracking sync_running_tracking(const comm_sync *sync); /* ON, OFF or MOMENTS */
const char *sync_mode_name(sync_mode mode);
/* Returns the steps after which the pattern of messages repeats itself. */
int sync_period(const comm_sync *sync);
/* [out] seconds: of one step's communication in a mode with these options, by prediction; where the amount depends
 * on the training and the mode runs, from what its last step sent. Files of racks and sites are read. Collective. */
weft_status sync_predict(const comm_sync *sync, sync_mode mode, double *seconds);

/*
 * Everything that a mode remembers between steps, for checkpoints: named buffers, the same names in the same order on
 * every rank and at every start with the same mode. sync_state first ends what is under way (collective); a bucket that
 * is owed must have been taken. Writing the same bytes back continues to the bit. After sync_average, sync_state first
 * puts this rank's own parameters back.
 */
typedef struct sync_buffer {
    char name[48];
    void *data;
    int64_t bytes;
} sync_buffer;
weft_status sync_state(comm_sync *sync, const sync_buffer **buffer, int *count);
/*
 * The buffers of sync_state were filled from a checkpoint, on all ranks. WEFT_ERR_DATA on all ranks if a number in them
 * cannot be (a counter out of its range, ranks that disagree about what they share); the mode then stands as after
 * sync_reset. Collective.
 */
weft_status sync_restored(comm_sync *sync);
