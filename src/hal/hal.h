/*
 * hal/hal.h: what a backend must do, on a few pages.
 *
 * A backend is a set of small tables of typed operations. `ref` fills every slot in plain C and defines what each op
 * means; `cpu` overrides what it does faster; `shadow` wraps another backend and pretends to be a device. A NULL slot
 * of a backend is filled from `ref` when it is opened, so callers never test for NULL.
 *
 * Conventions
 *   - Matrices are row-major: element (i, j) of x is x[i * ldx + j]; ld >= columns.
 *   - Pointers named in ops are DEVICE pointers: obtained from mem->alloc of the same backend and never dereferenced by
 *     callers (cpu and ref happen to use host memory, shadow does not). Scalars, descriptors and the arrays named
 * "host" are host memory.
 *   - dtype is WEFT_DTYPE_F32 or _F64 for every op; f64 exists for gradient checks. Unsupported: WEFT_ERR_UNSUPPORTED.
 *   - An empty matrix (rows or columns 0) is valid and does nothing.
 *   - Ops are called from one thread at a time per opened backend, outside OpenMP parallel regions; they use
 *     hal->threads threads themselves. No op allocates after its first call with a given shape.
 *   - Results are deterministic for a given number of threads.
 */
#ifndef WEFT_HAL_HAL_H
#define WEFT_HAL_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

typedef enum weft_dtype { WEFT_DTYPE_F32, WEFT_DTYPE_F64, WEFT_DTYPE_I32, WEFT_DTYPE_I64, WEFT_DTYPE_U8 } weft_dtype;
size_t weft_dtype_bytes(weft_dtype dtype);
const char *weft_dtype_name(weft_dtype dtype);

typedef struct weft_hal weft_hal;

/* ---- memory ------------------------------------------------------------------------------------------------- */
typedef struct hal_mem_ops {
    weft_status (*alloc)(weft_hal *hal, size_t bytes, weft_mem_tag tag, void **device);
    void (*free)(weft_hal *hal, void *device);
    weft_status (*upload)(weft_hal *hal, void *device, const void *host, size_t bytes);
    weft_status (*download)(weft_hal *hal, void *host, const void *device, size_t bytes);
    weft_status (*copy)(weft_hal *hal, void *device_to, const void *device_from, size_t bytes);
    weft_status (*zero)(weft_hal *hal, void *device, size_t bytes);
    bool host_visible; /* true: device pointers may be handed to comm and read by the host as they are */
} hal_mem_ops;

/* ---- dense -------------------------------------------------------------------------------------------------- */
/* C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C + bias[n].  op(A) is A^T (A stored [k,m]) when trans_a. */
typedef struct hal_gemm {
    weft_dtype dtype;
    bool trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    const void *bias; /* [n] or NULL */
} hal_gemm;

typedef struct hal_dense_ops {
    weft_status (*gemm)(weft_hal *hal, const hal_gemm *gemm);
    /* out[n] = beta * out + sum over rows of a[m,n] (bias gradients). */
    weft_status (*col_sum)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *a, int64_t lda,
                           double beta, void *out);
    /* y[m,n] = alpha * x + beta * y; beta = 0 never reads y. */
    weft_status (*axpby)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                         int64_t ldx, double beta, void *y, int64_t ldy);
    /* y[i,:] = scale[i] * x[i,:]; y may be x. */
    weft_status (*scale_rows)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *scale, const void *x,
                              int64_t ldx, void *y, int64_t ldy);
    /* y[i,:] = x[index[i],:] for i < count (pack). */
    weft_status (*gather_rows)(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                               const void *x, int64_t ldx, void *y, int64_t ldy);
    /* y[index[i],:] = x[i,:], or += when add. Indices are distinct (unpack). */
    weft_status (*scatter_rows)(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                bool add, const void *x, int64_t ldx, void *y, int64_t ldy);
} hal_dense_ops;

/* ---- neural-network ------------------------------------------------------------------------------------------ */
/* A dropout mask: element (i, c) is a pure function of (seed, purpose, epoch, row id of i, c); see base/philox.h. */
typedef struct hal_dropout {
    float probability; /* 0: no dropout */
    uint64_t seed;
    uint32_t purpose; /* WEFT_RNG_DROPOUT + layer */
    uint32_t epoch;
    const int64_t *row_id; /* device, [rows] global ids; NULL: row_base + i */
    int64_t row_base;
} hal_dropout;

/* Rows that count: row i belongs to split[i] (0 train, 1 valid, 2 test, 255 none). */
enum { HAL_SPLITS = 3, HAL_SPLIT_NONE = 255 };

typedef struct hal_nn_ops {
    /* y = dropout(act(x)): act is ReLU when relu, else identity; kept values are scaled by 1 / (1 - p). y may be x. */
    weft_status (*act_forward)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                               bool relu, const hal_dropout *dropout, void *y, int64_t ldy);
    /* dx = dy * d act / dx with y the op's own output; with relu the sign of y tells the mask, without it the mask is
     * drawn again. dx may be dy. */
    weft_status (*act_backward)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                                const void *y, int64_t ldy, bool relu, const hal_dropout *dropout, void *dx,
                                int64_t lddx);

    /* Batch norm in two phases so that the sums can be reduced over ranks in between.
     * stats[2n] (f64, device): sum over rows of x, then of x * x. */
    weft_status (*bn_stats)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                            double *stats);
    /* y = gamma * (x - mean) * rstd + beta with mean, rstd, gamma, beta [n]. y may be x. */
    weft_status (*bn_apply)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                            const void *mean, const void *rstd, const void *gamma, const void *beta, void *y,
                            int64_t ldy);
    /* stats[2n] (f64): sum dy, then sum of dy * xhat, xhat = (x - mean) * rstd. */
    weft_status (*bn_backward_stats)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                     int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                     double *stats);
    /* dx = gamma * rstd * (dy - sum_dy / count - xhat * sum_dy_xhat / count); stats as above, reduced over ranks,
     * count = rows over all ranks. dx may be dy. */
    weft_status (*bn_backward_apply)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                     int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                     const void *gamma, const double *stats, double count, void *dx, int64_t lddx);

    /* Layer norm over the columns of each row; saved [2m]: mean, rstd of row 0, of row 1, ...: for backward. */
    weft_status (*ln_forward)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                              const void *gamma, const void *beta, double epsilon, void *saved, void *y, int64_t ldy);
    /* dx, and dgamma[n] += , dbeta[n] += sums over rows. dx may be dy. */
    weft_status (*ln_backward)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                               const void *x, int64_t ldx, const void *gamma, const void *saved, void *dgamma,
                               void *dbeta, void *dx, int64_t lddx);

    /* Softmax cross-entropy over rows whose split is `which`: *loss_sum (host) += -log softmax(x_i)[label_i] summed;
     * dx (NULL: not wanted) = scale * (softmax(x_i) - onehot) on those rows, 0 elsewhere. dx may be x.
     * A counted row has a label in [0, n): validated when data are loaded. */
    weft_status (*softmax_xent)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                const int32_t *label, const uint8_t *split, int which, double scale, double *loss_sum,
                                void *dx, int64_t lddx);
    /* Binary cross-entropy with logits over n tasks; target [m,n] f32 in {0, 1}, NaN = unlabelled (no loss).
     * *loss_sum and *loss_count (host) += over labelled entries of counted rows. */
    weft_status (*bce_logits)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                              const float *target, int64_t ldt, const uint8_t *split, int which, double scale,
                              double *loss_sum, int64_t *loss_count, void *dx, int64_t lddx);
    /* correct[s] and total[s] (host, HAL_SPLITS) += rows of split s whose argmax (lowest index wins) is the label. */
    weft_status (*accuracy)(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                            const int32_t *label, const uint8_t *split, int64_t *correct, int64_t *total);
} hal_nn_ops;

/* ---- sparse -------------------------------------------------------------------------------------------------- */
/* Unweighted adjacency, rows = destinations, columns = sources; host arrays that must outlive spmm_create only. */
typedef struct hal_csr {
    int64_t rows, cols;
    const int64_t *offset; /* host [rows + 1], offset[0] = 0 */
    const int32_t *column; /* host [offset[rows]], each in [0, cols); any order within a row, duplicates count */
} hal_csr;

typedef enum hal_spmm_form {
    HAL_SPMM_AUTO,   /* measured at creation */
    HAL_SPMM_ROWS,   /* row loop with prefetch: sparse graphs */
    HAL_SPMM_BLOCKS, /* source blocks, 16-bit local columns, feature strips: dense graphs */
    HAL_SPMM_LISTS   /* source blocks with lists of their non-empty rows: in between */
} hal_spmm_form;

typedef struct hal_spmm hal_spmm; /* a prepared matrix, owned by the backend */

typedef struct hal_spmm_info {
    hal_spmm_form form;
    int64_t block_cols;
    uint64_t bytes;       /* memory the prepared matrix holds */
    double build_seconds; /* including the measurement */
} hal_spmm_info;

/* out[r,:] = beta * out[r,:] + post[r] * sum over c in row r of pre[c] * x[c,:]
 *            + diag[r] * x[r,:]  (the last term only when diag != NULL; needs rows <= cols). */
typedef struct hal_spmm_args {
    weft_dtype dtype;
    int64_t d;     /* columns of x and out */
    const void *x; /* [cols, d] */
    int64_t ldx;
    const void *pre;  /* [cols] or NULL = 1 */
    const void *post; /* [rows] or NULL = 1 */
    const void *diag; /* [rows] or NULL */
    double beta;      /* 0 never reads out */
    void *out;        /* [rows, d], not x */
    int64_t ldo;
} hal_spmm_args;

typedef struct hal_sparse_ops {
    /* max_d: widest d that will be run (sizes the packing buffer). form: AUTO or forced.
     * Multiplies by A; call it with the transposed CSR for A^T (equal to A for symmetric graphs: share it). */
    weft_status (*spmm_create)(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **spmm);
    weft_status (*spmm_run)(weft_hal *hal, hal_spmm *spmm, const hal_spmm_args *args);
    void (*spmm_destroy)(weft_hal *hal, hal_spmm *spmm);
    hal_spmm_info (*spmm_info)(weft_hal *hal, const hal_spmm *spmm);
} hal_sparse_ops;

/* ---- optimisers ---------------------------------------------------------------------------------------------- */
typedef struct hal_adam {
    double lr, beta1, beta2, epsilon;
    double weight_decay; /* L2: added to the gradient */
    int64_t step;        /* 1 for the first update: bias correction */
} hal_adam;

typedef struct hal_sgd {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
    int64_t step; /* 1 for the first update: momentum starts as the gradient */
} hal_sgd;

/* As torch.optim.Adam and torch.optim.SGD define them. w, g, state: [n], f32 or f64. */
typedef struct hal_optim_ops {
    weft_status (*adam)(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_adam *adam, void *w, const void *g,
                        void *m, void *v);
    weft_status (*sgd)(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_sgd *sgd, void *w, const void *g,
                       void *momentum);
} hal_optim_ops;

/* ---- an opened backend ---------------------------------------------------------------------------------------- */
struct weft_hal {
    const char *name;
    int threads;
    hal_mem_ops mem;
    hal_dense_ops dense;
    hal_nn_ops nn;
    hal_sparse_ops sparse;
    hal_optim_ops optim;
    void *state; /* the backend's own */
    void (*close)(weft_hal *hal);
};

/* One line of the list of backends (hal/backend_list.h): the only place that names them all. */
typedef struct hal_backend {
    const char *name;
    const char *description;
    weft_status (*open)(weft_hal *hal, int threads, const char *argument);
} hal_backend;

/*
 * Open "ref", "cpu", "cpu:avx2" (caps the instruction set), "shadow" (over cpu) or "shadow:ref".
 * threads: OpenMP threads its ops use (>= 1). Close with weft_hal_close.
 * WEFT_ERR_USAGE names the nearest backend; WEFT_ERR_UNSUPPORTED when this CPU or build lacks it.
 */
weft_status weft_hal_open(const char *resource, int threads, weft_hal **hal);
void weft_hal_close(weft_hal *hal);

/* The i-th backend compiled in, or NULL past the end. */
const hal_backend *weft_hal_backend_at(int i);

/* Rows [*begin, *end) of `parts` equal-work pieces, piece i: by rows, and by offsets of a CSR. */
void hal_split_rows(int64_t rows, int parts, int i, int64_t *begin, int64_t *end);
void hal_split_csr(const int64_t *offset, int64_t rows, int parts, int i, int64_t *begin, int64_t *end);

#endif
