/*
 * train/second/second_internal.h: a second-order method as the files of this folder see it.
 *
 *      second.c           create and destroy, the table of methods
 *      second_layout.c    sizes of layers, and the memory of all
 *      second_place.c     ranks that invert and that turn
 *      second_cost.c      bytes and seconds of a placement, before anything is made
 *      second_rates.c     measured rates for it
 *      second_exchange.c  messages of factors, inverses and directions
 *      second_step.c      one step: gradients are turned and clipped
 *      second_capture.c   the listener: rows become sums
 *      capture_conv.c     patches of images become sums
 *      second_factor.c    sums over ranks, running averages
 *      second_input.c     inverse of the input side
 *      second_wide.c      the same from sampled rows, for thousands of columns
 *      second_judge.c     the overhead, and the way back
 *      second_kfac.c      both sides, by eigenvectors or by inverses
 *      second_damping.c   how much is added to a diagonal
 *      second_state.c     checkpoints
 */
#pragma once

#include "train/second/capture_conv.h"
#include "train/second/second.h"
#include "train/second/second_place.h"

extern weft_mem_tag WEFT_MEM_SECOND[1]; /* factors and inverses */

/* A tensor that one rank sends to others. */
typedef struct second_parcel {
    comm_plan *plan; /* broadcast of `host`; NULL: the tensor does not travel */
    void *host;      /* the tensor's own memory if the host sees it, else a copy */
    bool posted;
} second_parcel;

/* Factors that are summed over ranks by one operation: a run of train_second.sums. */
typedef struct second_bucket {
    int64_t at, count; /* elements */
    int layer;         /* the bucket is complete when this layer is, the one that the backward pass reaches last */
    bool constant;     /* its sides are, so that it travels once a run */
    comm_plan *plan;   /* NULL: one rank */
} second_bucket;

/* One side of a layer: its factor, and the matrix that a method makes of it. */
typedef struct second_side {
    /* Columns: inputs, with the 1 of a joined bias, or outputs. */
    int64_t n;
    /* The method reads the factor of this side. */
    bool needed;
    /* The method inverts the factor of this side. */
    bool inverts;
    /* The rows of this side never change, so the first capture makes the factor of the run. */
    bool constant;
    /* `sums` hold rows of the step under way. */
    bool started;
    /* The factor stands: in `factor`, or in `rows` of a wide layer. */
    bool held;
    /* `result` is of the factor at the last inversion, for ever if the side is constant. */
    bool inverted;
    /* The inversion of the step under way failed, on the rank that made it. */
    bool refused;
    /* The rank that inverts the side, unless every rank does. */
    int owner;
    /* This rank inverts the side. */
    bool mine;
    /* Packed triangle [1, n (n + 1) / 2] of this rank's rows in the step under way, then of the rows of all ranks; a
     * view of train_second.sums. */
    weft_tensor sums;
    /* Packed triangle, running average over all ranks; of a constant side the memory of `sums`. */
    weft_tensor factor;
    /* Memory of an inversion's result, on the ranks that turn the layer: `matrix`, and for kfac a row of
     * eigenvalues. */
    weft_tensor result;
    /* [n, n] inverse (input), or eigenvectors, one a row (kfac); a view of `result`. */
    weft_tensor matrix;
    /* Mean eigenvalue of the factor, and its largest of the run. */
    double average, peak;
    /* Mean eigenvalue that divides and damps steps: `average`, or a small part of `peak`. */
    double mean;
    /* wide: a checkpoint left the sampled rows out, and the run has not taken them again. */
    bool lost;
    /* Carries `result` from the rank that inverts to the ranks that turn. */
    second_parcel parcel;
} second_side;

/* A linear map with its two sides. */
typedef struct second_layer {
    const train_map *map;
    int parts;       /* matrices that stand side by side in the block, and one above the other in `gradient` */
    int64_t in, out; /* of the weights, as `gradient` has them */
    int64_t sample;  /* rows of all ranks that count: rows with ids, or patches of a convolution */
    int64_t count;   /* input rows that this rank took in the step under way */
    bool wide;       /* the input side is `rows` */
    bool summed;     /* wide, of sums of input rows that the model makes (train_map.sums) */
    bool inverted;   /* the ranks that turn the layer have what the method's `turn` reads */
    bool works;      /* this rank turns the layer */
    int group;       /* number of the group of ranks that turn the layer */
    double damping;  /* rho of the input side */
    second_side side[SECOND_SIDES];
    double dot, squares; /* direction . gradient and gradient . gradient of the step that is judged last */
    double number;       /* after a step back, direction = number * gradient */
    /* kfac by eigenvectors: reciprocals of damped products of eigenvalues, in the gradient's shape. */
    weft_tensor scale;
    weft_tensor rows; /* wide: U [n, sample], sampled rows as columns, divided by the root of their number */
    void *columns;    /* wide: U on the host while ranks gather it, `rows` itself if the host sees it; else NULL */
    double gamma;     /* wide: absolute damping */
    /* [n, out] or its transpose, weights and joined bias; a view of train_second.gradient. */
    weft_tensor gradient;
    /* Shaped like `gradient`; a view of train_second.direction unless directions travel. */
    weft_tensor direction;
    /* Carries `direction` to the ranks that do not turn the layer. */
    second_parcel parcel;
} second_layer;

/* A method: a row of the table in second.c. */
typedef struct second_method {
    /* Sides whose factors the method reads. Without any, nothing is captured. */
    bool sides[SECOND_SIDES];
    /* Sides whose factors the method inverts. */
    bool inverts[SECOND_SIDES];
    /* Finds the damping and inverts the factor of a side as it is now, into its `result`. [out] good: it is one. */
    weft_status (*invert)(train_second *s, second_layer *layer, int side, bool *good);
    /* Makes what `turn` reads beside the results of both sides, on the ranks that turn the layer. NULL: nothing. */
    weft_status (*finish)(train_second *s, second_layer *layer);
    /* Fills layer->direction from layer->gradient. */
    weft_status (*turn)(train_second *s, second_layer *layer);
} second_method;

typedef enum second_verdict { SECOND_UNJUDGED, SECOND_STAYS, SECOND_STEPPED_BACK, SECOND_VERDICT_COUNT } second_verdict;
/* Phases of precondition_figures.seconds. */
enum { SECOND_FACTORS, SECOND_INVERSES, SECOND_STEPS, SECOND_PHASES };

/* Measures the overhead of a run's first steps (second_judge.c). */
typedef struct second_judge {
    double most, least; /* second_options.overhead and overhead_seconds */
    second_verdict verdict;
    double began;                /* clock at the begin of the step under way */
    precondition_figures before; /* figures at that time */
    int timed;                   /* steps that were timed */
    double phase[SECOND_PHASES]; /* least seconds of the timed steps */
    double rest;
} second_judge;

struct train_second {
    weft_comm *comm; /* NULL: the object is a plan, which counts bytes and holds no memory */
    int rank, ranks;
    weft_hal *hal;
    const train_model *model;
    param_store *params;
    second_options options;
    const second_method *method;
    train_tap tap;
    train_preconditioner preconditioner;
    int layers;
    second_layer *layer;   /* [layers], one for each map of the model */
    int64_t step;          /* applied steps of the run */
    int64_t population;    /* rows over all ranks; 0: rows have no ids, and all of them count */
    int64_t *pick, *place; /* [picks] rows of this rank in the largest sample, ascending, and their places in it */
    int64_t picks;
    bool capturing; /* the step under way fills sums */
    bool retakes;   /* it takes lost rows, and nothing else is due */
    int64_t terms;  /* of the loss of that step, over all ranks; 0: this rank had no rows */

    /* Ranks of a group (train/second/second_place.h); 0: every rank inverts and turns everything. */
    int workers;
    /* Ranks of this rank's group, between which inverses travel; NULL: none do. */
    weft_comm *inside;
    /* One rank of each group, between which directions travel; NULL: none do. */
    weft_comm *between;
    /* `inside` and `between` where they are not `comm`. */
    weft_comm *split[2];
    second_bucket *bucket; /* [buckets] in the order of the backward pass */
    int buckets, posted;   /* posted: of those of the step under way */
    weft_tensor sums;      /* [1, elements] packed triangles of all sides, in the order of the backward pass */
    void *sums_host;       /* memory of `sums`, or a copy if the host does not see it */

    int64_t *counts;       /* [layers + 2] for agreement over ranks */
    bool *due;             /* [layers] layers that the step under way inverts */
    double *verdicts;      /* [layers * SECOND_VERDICTS] what owners say of their inversions */
    capture_conv patches;  /* scratch memory of convolutions */
    weft_tensor chunk;     /* [1, elements] memory for gathered rows */
    weft_tensor ones;      /* [SECOND_CHUNK, 1] */
    weft_tensor index;     /* [SECOND_CHUNK, 1] int32 */
    weft_tensor info;      /* [1, 1] int32 */
    weft_tensor work[2];   /* kfac and wide: [1, elements] of the largest intermediate matrices */
    weft_tensor gradient;  /* [1, elements] gradient of the layer that is turned */
    weft_tensor direction; /* [1, elements] the like of its direction */
    void *host[2];         /* [host_elements] gradient and direction, or a part of a factor, on the host */
    int64_t host_elements;
    bool unequal; /* ranks may round differently: all take the step of rank 0 */
    double dot;   /* sum of direction . gradient over layers */
    precondition_figures figures;
    second_judge judge;
    train_muon muon; /* SECOND_MUON, which uses no layer */
    double *numbers; /* for checkpoints: what is no matrix */
    sync_buffer *buffer;
    int buffers; /* number of valid entries of `buffer`; 0: no checkpoint was asked for */
    uint64_t bytes;
};

enum { SECOND_CHUNK = 1024 };
/* Numbers of a layer in train_second.verdicts. */
enum { SECOND_REFUSED_IN, SECOND_REFUSED_OUT, SECOND_DAMPING, SECOND_GAMMA, SECOND_VERDICTS };

/* ---- second.c ---- */
const second_method *second_method_of(second_kind kind);
/* A phase begins, and ends. */
double second_begin(void);
void second_end(train_second *s, int phase, double begun);
/* This rank's own work begins, and ends: part of a phase that waits for no other rank. */
double second_work_begin(void);
void second_work_end(train_second *s, int phase, double begun);
/* ---- second_layout.c ---- */
/* Sizes all layers and says which ranks invert and turn them. s->population is known. */
weft_status second_size(train_second *s);
/* Operations of a layer for each step. */
second_task second_task_of(const train_second *s, const second_layer *layer);
/* Takes the memory that second_size asks for; a plan only counts it. */
weft_status second_allocate(train_second *s);
/* The first rows * cols elements of a flat tensor, as elements of `dtype`. */
weft_tensor second_view(const weft_tensor *memory, weft_dtype dtype, int64_t rows, int64_t cols);
/* ---- second_exchange.c ---- */
/* Plans all messages. Collective. */
weft_status second_exchange_create(train_second *s);
void second_exchange_destroy(train_second *s);
/* Sums of factors over ranks. begin: a step captures. post: the buckets that are complete before the backward pass
 * reaches `layer`, in order; -1: all. wait: all of them. */
void second_sums_begin(train_second *s);
weft_status second_sums_post(train_second *s, int layer);
weft_status second_sums_wait(train_second *s);
/* A parcel leaves (sends: this rank has what travels, in `from`), and is there, in `to`. Without a plan: nothing. Both
 * go on after a failure, so that no rank waits for ever. */
weft_status second_post(const train_second *s, second_parcel *parcel, bool sends, const weft_tensor *from);
weft_status second_wait(const train_second *s, second_parcel *parcel, bool sends, weft_tensor *to);
/* Ranks learn what owners found: `refused`, damping and gamma of the layers that `due` says. Collective. */
weft_status second_share_verdicts(train_second *s, const bool *due);
/* ---- second_step.c ---- */
weft_status second_apply(void *self, param_store *params, double lr);
/* ---- second_capture.c ---- */
bool second_wants(void *self, const train_pass *pass);
weft_status second_take(void *self, const train_pass *pass, const tap_rows *rows);
/* Returns true if the step under way makes this factor anew. */
bool second_is_due(const train_second *s, const second_side *side);
/* ---- second_factor.c ---- */
/* The sums of a captured step join the running averages of all ranks. Collective. */
weft_status second_update_factors(train_second *s);
/* ---- second_input.c ---- */
weft_status second_input_invert(train_second *s, second_layer *layer, int side, bool *good);
weft_status second_input_turn(train_second *s, second_layer *layer);
/* side->matrix = (factor + relative * mean eigenvalue I)^-1; a factor that is not positive definite gets ten times the
 * damping, a few times over. [out] good: the matrix is an inverse. */
weft_status second_invert_side(train_second *s, second_side *side, double relative, bool *good);
/* matrix [n, n] = (packed + (shift + relative * mean eigenvalue) I)^-1. [out] good: the matrix is an inverse. */
weft_status second_invert(train_second *s, const weft_tensor *packed, double shift, double relative,
                          weft_tensor *matrix, bool *good);
/* ---- second_wide.c ---- */
/* Rows [k, n] on the backend, with their places in the sample. */
weft_status second_wide_take(train_second *s, second_layer *layer, const weft_tensor *rows, const int64_t *place);
/* Makes `rows` of what all ranks took. Collective. */
weft_status second_wide_gather(train_second *s, second_layer *layer);
weft_status second_wide_invert(train_second *s, second_layer *layer, bool *good);
weft_status second_wide_turn(train_second *s, second_layer *layer);
/* ---- second_kfac.c ---- */
weft_status second_kfac_invert(train_second *s, second_layer *layer, int side, bool *good);
weft_status second_kfac_finish(train_second *s, second_layer *layer);
weft_status second_kfac_turn(train_second *s, second_layer *layer);
/* ---- second_judge.c ---- */
/* A step begins, and ends. Collective. */
void second_judge_begin(train_second *s);
weft_status second_judge_end(train_second *s);
/* Returns true if the step under way is the last that is timed. */
bool second_judge_is_last(const train_second *s);
/* ---- second_damping.c ---- */
/* [out] layer->damping: rho for the input side; s->terms are known. */
void second_find_damping(train_second *s, second_layer *layer);
/* ---- second_state.c ---- */
weft_status second_state(void *self, const sync_buffer **buffer, int *count);
weft_status second_restored(void *self);
void second_state_destroy(train_second *s);
/* Returns the bytes of this rank's matrices in a checkpoint; of a plan too. */
uint64_t second_state_bytes(train_second *s);

/* Returns true if the step under way does what is done every so many steps, or more often in the early steps. */
static inline bool second_is_turn(const train_second *s, int64_t every)
{
    const second_options *o = &s->options;
    return s->step % (s->step < o->early && o->early_every < every ? o->early_every : every) == 0;
}

/* Elements of a packed triangle. */
static inline int64_t second_packed(int64_t n)
{
    return n * (n + 1) / 2;
}

/* Element i of a host array of the parameters' type. */
static inline double second_number(const train_second *s, const void *array, int64_t i)
{
    return s->params->dtype == WEFT_DTYPE_F64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void second_put(const train_second *s, void *array, int64_t i, double value)
{
    if (s->params->dtype == WEFT_DTYPE_F64) {
        ((double *)array)[i] = value;
    } else {
        ((float *)array)[i] = (float)value;
    }
}
