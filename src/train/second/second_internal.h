/*
 * train/second/second_internal.h: a second-order method as the files of this folder see it.
 *
 *      second.c           create and destroy, the table of methods
 *      second_step.c      one step: gradients are turned and clipped
 *      second_capture.c   the listener: rows become sums
 *      second_factor.c    sums over ranks, running averages
 *      second_input.c     inverse of the input side
 *      second_wide.c      the same from sampled rows, for thousands of columns
 *      second_kfac.c      both sides, by eigenvectors
 *      second_damping.c   how much is added to a diagonal
 *      second_state.c     checkpoints
 */
#ifndef WEFT_TRAIN_SECOND_SECOND_INTERNAL_H
#define WEFT_TRAIN_SECOND_SECOND_INTERNAL_H

#include "train/second/second.h"

extern weft_mem_tag WEFT_MEM_SECOND[1]; /* factors and inverses */

enum { SECOND_IN, SECOND_OUT, SECOND_SIDES };

/* One side of a layer: its factor, and the matrix that a method makes of it. */
typedef struct second_side {
    int64_t n;          /* columns: inputs, with the 1 of a joined bias, or outputs */
    bool needed;        /* the method reads the factor of this side */
    bool constant;      /* its rows never change: the first capture makes the factor of the run */
    bool started;       /* `sums` hold rows of the step under way */
    bool held;          /* the factor stands: `factor`, or `rows` of a wide layer */
    weft_tensor sums;   /* packed triangle [1, n (n + 1) / 2] of this rank's rows in the step under way */
    weft_tensor factor; /* packed triangle, running average over all ranks */
    weft_tensor matrix; /* [n, n] inverse (input), or eigenvectors, one a row (kfac) */
    double mean;        /* mean eigenvalue of the factor */
} second_side;

/* A linear map with its two sides. */
typedef struct second_layer {
    const train_map *map;
    int64_t in, out; /* of the weights */
    int64_t sample;  /* rows of all ranks that count, where rows have ids */
    int64_t count;   /* rows that this rank took in the step under way */
    bool wide;       /* the input side is `rows` */
    bool summed;     /* wide, of sums of input rows that the model makes (train_map.sums) */
    bool inverted;   /* the layer has what the method's `turn` reads */
    double damping;  /* rho of the input side */
    second_side side[SECOND_SIDES];
    weft_tensor scale;     /* kfac: reciprocals of damped products of eigenvalues, in the gradient's shape */
    weft_tensor rows;      /* wide: U [n, sample], sampled rows as columns, divided by the root of their number */
    weft_tensor small;     /* wide: inverse of gamma I + U^T U, [sample, sample] */
    void *columns;         /* wide: U on the host while ranks gather it; else NULL */
    double gamma;          /* wide: absolute damping */
    weft_tensor gradient;  /* [n, out] or its transpose, weights and joined bias */
    weft_tensor direction; /* of the same shape */
} second_layer;

/* A method: a row of the table in second.c. */
typedef struct second_method {
    /* Sides whose factors the method reads. Without any, nothing is captured. */
    bool sides[SECOND_SIDES];
    /* Inverts the factors as they are now. [out] layer->inverted. NULL: nothing to prepare. */
    weft_status (*prepare)(train_second *s, second_layer *layer);
    /* Fills layer->direction from layer->gradient. */
    weft_status (*turn)(train_second *s, second_layer *layer);
} second_method;

struct train_second {
    weft_comm *comm;
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
    bool capturing;     /* the step under way fills sums */
    int64_t terms;      /* of the loss of that step, over all ranks; 0: this rank had no rows */
    int64_t *counts;    /* [layers + 2] for agreement over ranks */
    void *exchange;     /* host copy of sums on their way over ranks */
    weft_tensor chunk;  /* [1, elements] memory for gathered rows */
    weft_tensor ones;   /* [SECOND_CHUNK, 1] */
    weft_tensor index;  /* [SECOND_CHUNK, 1] int32 */
    weft_tensor info;   /* [1, 1] int32 */
    weft_tensor work;   /* kfac and wide: [1, elements] of the largest intermediate matrix, twice */
    weft_tensor values; /* kfac: [1, n] eigenvalues */
    void *host[2];      /* a packed factor, or gradient and direction, on the host */
    bool unequal;       /* ranks may round differently: all take the step of rank 0 */
    double dot;         /* sum of direction . gradient over layers */
    precondition_figures figures;
    train_muon muon;      /* SECOND_MUON, which uses no layer */
    unsigned char *state; /* [buffer.bytes] for checkpoints */
    sync_buffer buffer;
    uint64_t bytes;
};

enum { SECOND_CHUNK = 1024 };
/* Phases of precondition_figures.seconds. */
enum { SECOND_FACTORS, SECOND_INVERSES, SECOND_STEPS };

/* ---- second.c ---- */
/* A tensor of the parameters' type, counted in s->bytes. */
weft_status second_tensor(train_second *s, int64_t rows, int64_t cols, weft_tensor *t);
/* The first rows * cols elements of a flat tensor, as elements of `dtype`. */
weft_tensor second_view(const weft_tensor *memory, weft_dtype dtype, int64_t rows, int64_t cols);
/* A phase begins, and ends. */
double second_begin(void);
void second_end(train_second *s, int phase, double begun);
/* ---- second_step.c ---- */
weft_status second_apply(void *self, param_store *params, double lr);
/* ---- second_capture.c ---- */
bool second_wants(void *self, const train_pass *pass);
weft_status second_take(void *self, const train_pass *pass, const tap_rows *rows);
/* Returns true if the step under way makes this factor anew. */
bool second_is_due(const second_side *side);
/* ---- second_factor.c ---- */
/* The sums of a captured step join the running averages of all ranks. Collective. */
weft_status second_update_factors(train_second *s);
/* ---- second_input.c ---- */
weft_status second_input_prepare(train_second *s, second_layer *layer);
weft_status second_input_turn(train_second *s, second_layer *layer);
/* matrix [n, n] = (packed + (shift + relative * mean eigenvalue) I)^-1. [out] good: the matrix is an inverse. */
weft_status second_invert(train_second *s, const weft_tensor *packed, double shift, double relative,
                          weft_tensor *matrix, bool *good);
/* ---- second_wide.c ---- */
/* Rows [k, n] on the backend, with their places in the sample. */
weft_status second_wide_take(train_second *s, second_layer *layer, const weft_tensor *rows, const int64_t *place);
/* Makes `rows` of what all ranks took. Collective. */
weft_status second_wide_gather(train_second *s, second_layer *layer);
weft_status second_wide_prepare(train_second *s, second_layer *layer);
weft_status second_wide_turn(train_second *s, second_layer *layer);
/* ---- second_kfac.c ---- */
weft_status second_kfac_prepare(train_second *s, second_layer *layer);
weft_status second_kfac_turn(train_second *s, second_layer *layer);
/* ---- second_damping.c ---- */
/* [out] layer->damping: rho for the input side; s->terms are known. */
void second_find_damping(train_second *s, second_layer *layer);
/* ---- second_state.c ---- */
weft_status second_state(void *self, const sync_buffer **buffer, int *count);
weft_status second_restored(void *self);

/* Returns true if the step under way does what is done every so many steps. */
static inline bool second_is_turn(const train_second *s, int64_t every)
{
    return s->step < s->options.early || s->step % every == 0;
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

#endif
