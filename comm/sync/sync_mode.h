/*
 * comm/sync/sync_mode.h: the room's own: what a synchronisation keeps, and what a mode implements.
 *
 * A mode is a file comm/sync/<mode>.c with one table of functions (sync_ops), a word in SYNC_MODES, a struct of options
 * in sync_options, and a row of the list in comm/sync/create.c.
 */
#pragma once

#include "comm/sync/sync.h"

/* ---- what a mode implements -------------------------------------------------------------------------------------- */
/* A knob that the mode lets sync_tune turn. */
typedef struct sync_tunable {
    sync_knob knob;
    double least, most;                        /* range of the value, both included */
    bool whole;                                /* only whole numbers */
    double (*of)(const sync_options *options); /* returns the value that the options give */
    /* Sets the value between two steps, in sync->options and wherever else the mode keeps it. The value is in range
     * and the same on all ranks. restoring: the mode's buffers of state hold those of a checkpoint, which stay.
     * Collective. */
    weft_status (*set)(comm_sync *sync, double value, bool restoring);
} sync_tunable;

/* Functions may be NULL, unless a comment says otherwise. */
typedef struct sync_ops {
    const char *name;
    bool exact;
    /* Replicas differ: gradients are handed back as P times the share, scaled before `gradients` is called. A mode with
     * `ready` scales by itself, once its reductions have ended. */
    bool local_updates;
    bool admits;        /* where a thread moves messages, the mode's operations call sync_admit first */
    bool average_stays; /* sync_average is part of the mode: training goes on from the mean */
    const sync_tunable *tunable;
    int tunables;
    void (*defaults)(sync_options *options); /* fills in the mode's own struct of options */
    /* [out] seconds: of a step's communication and of the work for it, by the model of cost, without the scan that
     * all modes make. The mode need not run. Never NULL. Collective. */
    weft_status (*predict)(const comm_sync *sync, double *seconds);
    weft_status (*create)(comm_sync *sync); /* makes sync->self; NULL: the mode keeps nothing */
    void (*destroy)(comm_sync *sync);       /* also frees what a failed create left */
    /* After create: returns why every step would be that of all-reduce, or NULL. */
    const char *(*idle)(const comm_sync *sync);
    weft_status (*reset)(comm_sync *sync);             /* the parameters are rank 0's by then */
    weft_status (*ready)(comm_sync *sync, int bucket); /* once a bucket and step, in the same order on all ranks */
    weft_status (*gradients)(comm_sync *sync);
    weft_status (*parameters)(comm_sync *sync);
    bool (*owes)(const comm_sync *sync, int bucket);   /* NULL: never */
    weft_status (*need)(comm_sync *sync, int bucket);  /* of a bucket that is owed */
    weft_status (*settle)(comm_sync *sync, bool last); /* ends what is under way */
    int (*period)(const comm_sync *sync);              /* NULL: 1 */
    /* Fills in buffers and returns how many: together less than SYNC_BUFFERS, and SYNC_BUFFERS_EACH a bucket. */
    int (*state)(comm_sync *sync, sync_buffer *buffer);
    weft_status (*restored)(comm_sync *sync); /* checks what `state` named, as sync_restored says; collective */
} sync_ops;

/* The members of a mode whose file calls its functions so: of every mode, and of one that can be tuned and keeps
 * variables of its own. */
#define SYNC_OPS .predict = predict, .create = create, .destroy = destroy
#define SYNC_OPS_TUNED                                                                                                 \
    SYNC_OPS, .tunable = tunables, .tunables = 1, .defaults = defaults, .reset = reset, .state = state,                \
              .restored = restored

enum { SYNC_BUFFERS = 32, SYNC_BUFFERS_EACH = 4 };

extern const sync_ops sync_allreduce_ops, sync_topk_ops, sync_divide_shuffle_ops, sync_shadow_ops, sync_asp_ops;
/* mode: not SYNC_AUTO. */
const sync_ops *sync_ops_of(sync_mode mode);

/* ---- what a synchronisation keeps -------------------------------------------------------------------------------- */
/* Gradients and parameters in memory that the host cannot see: comm/sync/staging.c. */
typedef struct sync_staging {
    void *value, *grad;           /* device memory of the caller; NULL: the modes work on the caller's memory */
    void *value_host, *grad_host; /* host memory that stands in the modes' desc instead */
    int64_t elements;             /* of value */
    bool everywhere;              /* on every rank the caller's memory is a device's */
    bool stays;                   /* gradients stay on the device: the mode takes them from there, or sends none */
    /* [trained] gradients of narrow_dtype, on the device and on the host; NULL: gradients cross in their own type. */
    void *narrow, *narrow_host;
    weft_dtype narrow_dtype;
    hal_event **event; /* [buckets] behind the copy of a gradient, for its reduction; NULL: copies are waited for */
    /* [buckets] of gradients that stay: the first element that was not finite, or -1, on the device and, behind the
     * event, on the host. */
    int64_t *place, *place_host;
    hal_event *admitted;
} sync_staging;

/* What travels beside the parameters: comm/sync/tracking.c. */
typedef struct sync_tracker {
    sync_tracking kind; /* OFF: the other fields are NULL */
    float *caller;      /* the parameters of sync_create's desc, [trained | state] */
    float *value;       /* [trained | tracked gradients or second moments | state], the modes' desc.value */
    float *last;        /* [trained] ON: this rank's estimate of the step before */
} sync_tracker;

/* A knob's value, as a checkpoint keeps it. */
typedef struct sync_turned {
    double turned; /* 1: sync_tune set the value; 0: the options give it */
    double value;
} sync_turned;

struct comm_sync {
    const sync_ops *ops;
    sync_mode mode; /* that runs */
    void *self;     /* the mode's own */
    weft_comm *comm;
    sync_options options; /* with tuned values; topology and sites are NULL once the mode is created */
    sync_desc desc; /* its arrays are the sync's own copies; with a tracker, value and elements are the tracker's */
    sync_staging staging;
    sync_tracker tracker;
    double lr, weight;
    int64_t step;      /* since reset, from 1 */
    bool *ready;       /* [buckets] in this step */
    bool admits_aside; /* the mode's operations call sync_admit, on the communication thread */
    int diverged;      /* tensor whose gradient was not finite in this step, or -1 */
    sync_figures figures;
    comm_plan *mean;    /* full average of all parameters, an exact all-reduce; NULL: the mode has no local updates */
    float *mean_buffer; /* [elements] the sum; while the mean stands in their place, this rank's own parameters */
    bool averaged;
    sync_turned knob[SYNC_KNOBS];
    double given[SYNC_KNOBS]; /* values of the mode's knobs before any was turned */
    sync_buffer *buffer;      /* [SYNC_BUFFERS + SYNC_BUFFERS_EACH * buckets] */
};

/* ---- help for the modes ------------------------------------------------------------------------------------------ */
/* A bucket that is not finite, or of a rank without data, becomes zeros before it takes part. threads: of the
 * caller. */
void sync_admit(comm_sync *sync, int bucket, int threads);
/* Records that an element of the flat gradient is not finite in this step; the first one names its tensor. */
void sync_blame(comm_sync *sync, int64_t element);
/* WEFT_ERR_DATA naming the number if a number of a checkpoint does not lie in [low, high]. */
weft_status sync_check_range(const comm_sync *sync, const char *name, int64_t value, int64_t low, int64_t high);
/* WEFT_ERR_DATA on all ranks unless all ranks restored the same numbers [count <= SYNC_ALIKE]. Collective. */
enum { SYNC_ALIKE = 8 };
weft_status sync_check_alike(const comm_sync *sync, const char *names, const int64_t *value, int count);
/* Ends the timed section that began at `start`, in which the caller stood still. */
void sync_expose(comm_sync *sync, double start);
/* Returns the number of the tensor that holds an element of the flat gradient, or of the tensor before it; -1: none. */
int sync_tensor_of(const sync_desc *desc, int64_t element);

/* ---- the choice: comm/sync/choose.c ------------------------------------------------------------------------------ */
/* Resolves SYNC_AUTO: the fastest mode that is allowed, the same on every rank, with one line in the log that says why.
 * float32 and more than one rank. Collective. */
weft_status sync_choose(const comm_sync *sync, sync_mode *mode);

/* ---- knobs: comm/sync/tune.c ------------------------------------------------------------------------------------- */
/* Notes the values that the options give, once the mode runs. */
void tune_begin(comm_sync *sync);
/* Turns all knobs back to their options. restoring: as in sync_tunable. Collective. */
weft_status tune_reset(comm_sync *sync, bool restoring);
/* Fills in the buffer of the knobs and returns 1, or 0 if the mode has no knob. */
int tune_state(comm_sync *sync, sync_buffer *buffer);
/* Turns the knobs as the restored buffer says, after checking it. Collective. */
weft_status tune_restored(comm_sync *sync);
