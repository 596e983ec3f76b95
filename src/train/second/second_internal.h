/*
 * train/second/second_internal.h: a second-order method as the files of this folder see it.
 *
 *      second.c           made, told of steps, clip
 *      second_capture.c   rows to sums (the listener)
 *      second_factor.c    sums over ranks, running averages
 *      second_input.c     inverse of the input side
 *      second_wide.c      the same by sampled rows, for thousands of columns
 *      second_kfac.c      both sides, by eigenvectors
 *      second_damping.c   how much is added to a diagonal
 *      second_state.c     what checkpoints hold
 */
#ifndef WEFT_TRAIN_SECOND_SECOND_INTERNAL_H
#define WEFT_TRAIN_SECOND_SECOND_INTERNAL_H

#include "train/second/second.h"

extern weft_mem_tag WEFT_MEM_SECOND[1]; /* factors and inverses */

enum { SECOND_IN, SECOND_OUT, SECOND_SIDES };

/* One side of a layer: a factor, and what is made of it. */
typedef struct second_side {
    int64_t n;           /* columns: of inputs with the 1 of a bias, or of outputs */
    bool constant;       /* rows never change: made by the first capture alone */
    bool held;           /* `factor`, or `rows`, stands */
    weft_tensor sums;    /* packed triangle [1, n (n + 1) / 2] of this rank's rows in the step under way */
    weft_tensor factor;  /* packed triangle, running average over all ranks */
    weft_tensor inverse; /* [n, n] inverse (input), or eigenvectors, one a row (kfac) */
    double *value;       /* kfac: [n] eigenvalues */
    double mean;         /* of the factor's eigenvalues */
} second_side;

/* A linear map with its two sides. */
typedef struct second_layer {
    const train_map *map;
    int64_t in, out; /* of the weights; side[SECOND_IN].n is in + 1 with a bias */
    int64_t sample;  /* rows that count, over all ranks, where rows have ids */
    int64_t count;   /* rows that this rank took in the step under way, then over all ranks */
    bool wide;       /* the input side is `rows` */
    bool inverted;   /* the layer has what `turn` needs */
    double damping;  /* rho of the input side */
    second_side side[SECOND_SIDES];
    weft_tensor scale; /* kfac: [side 0, side 1] reciprocals of damped products of eigenvalues */
    weft_tensor rows;  /* wide: U [n, SECOND_WIDE_ROWS], sampled rows as columns, over the root of their number */
    weft_tensor small; /* wide: inverse of gamma I + U^T U [SECOND_WIDE_ROWS, SECOND_WIDE_ROWS] */
    void *columns;     /* wide: U on the host, while it is gathered */
    double gamma;      /* wide: absolute damping */
    weft_tensor gradient, direction; /* the whole matrix with the bias, [n, out] or transposed */
} second_layer;

/* A method: a row of the table in second.c. */
typedef struct second_method {
    /* Factors that it needs. Without any, nothing is captured. */
    bool sides[SECOND_SIDES];
    /* Inverts what the factors are now. [out] layer->inverted. NULL: nothing to prepare. */
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
    int64_t population;    /* rows over all ranks; 0: rows have no ids and all count */
    int64_t *pick, *place; /* [picks] rows of this rank in the largest sample, ascending, and their places in it */
    int64_t picks;
    bool capturing;    /* sums of the step under way */
    int64_t terms;     /* of the loss of that step, over all ranks */
    void *exchange;    /* host copy of sums, on their way over ranks */
    weft_tensor chunk; /* rows that count, gathered, SECOND_CHUNK at most */
    weft_tensor ones;  /* [SECOND_CHUNK, 1] */
    weft_tensor index; /* [SECOND_CHUNK, 1] int32 */
    weft_tensor info;  /* [1, 1] int32 */
    void *host[2];     /* the largest gradient and direction on the host, for the clip */
    bool unequal;      /* ranks compute differently: rank 0's step is everybody's */
    second_figures figures;
    unsigned char *state; /* [state_bytes] for checkpoints */
    int64_t state_bytes;
    sync_buffer buffer;
    uint64_t bytes;
};

enum { SECOND_CHUNK = 1024 };

/* ---- second_capture.c ---- */
bool second_wants(void *self, const train_pass *pass);
weft_status second_take(void *self, const train_pass *pass, const tap_rows *rows);
/* ---- second_factor.c ---- */
/* The sums of a captured step become running averages on all ranks. Collective. */
weft_status second_update_factors(train_second *s);
/* ---- second_input.c, second_wide.c, second_kfac.c ---- */
weft_status second_input_prepare(train_second *s, second_layer *layer);
weft_status second_input_turn(train_second *s, second_layer *layer);
weft_status second_wide_take(train_second *s, second_layer *layer, const weft_tensor *rows, const int64_t *place);
weft_status second_wide_gather(train_second *s, second_layer *layer);
weft_status second_wide_prepare(train_second *s, second_layer *layer);
weft_status second_wide_turn(second_layer *layer);
weft_status second_kfac_prepare(train_second *s, second_layer *layer);
weft_status second_kfac_turn(train_second *s, second_layer *layer);
/* ---- second_damping.c ---- */
/* Returns rho for the input side of the layer, whose factor stands: what was asked for, or by the factor. */
weft_status second_find_damping(train_second *s, second_layer *layer, double *rho);
/* ---- second_state.c ---- */
weft_status second_state(void *self, const sync_buffer **buffer, int *count);
weft_status second_restored(void *self);

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
