/*
 * hal/hal.h: what a backend must do, on a few pages.
 *
 * A backend is a memory, a table of operations, prepared sparse matrices and prepared convolutions. hal/ops.def defines
 * the operations, one row each. `ref` implements every operation in plain C; `cpu` is the fast one for the host;
 * `shadow` wraps another backend and imitates a device; `cuda` runs on NVIDIA GPUs.
 *
 * A backend leaves the slots of operations that it lacks NULL. weft_hal_open fills these slots: from `ref` if the host
 * sees the backend's memory, else with a stub that returns WEFT_ERR_UNSUPPORTED and names the operation. Callers
 * therefore never test for NULL, and the host never follows a device pointer.
 *
 *      hal_axpby_args args = {.x = x, .y = y, .alpha = 2.0};
 *      WEFT_TRY(hal_axpby(hal, &args));
 *
 * Conventions
 *   - An operand is a hal_mat (hal/op_args.h): row-major, element (i, j) at data[i * ld + j], ld >= cols. Its memory is
 *     device memory from mem.alloc of the same backend, which callers never dereference. Scalars and arrays named
 *     "host" are host memory.
 *   - Every operand has its own type. An operation returns WEFT_ERR_UNSUPPORTED, with its name and the types, for types
 *     that it does not take. HAL_REAL operands are all float32 or all float64 (for gradient checks). HAL_DATA operands
 *     may also be bfloat16, and float16 in a HAL_VALUE_OP. HAL_OWN operands are float32 or bfloat16 each; arithmetic is
 *     float32, and a result is rounded when it is stored. The row of an operation in hal/ops.def says what HAL_ANY
 *     operands may be.
 *   - Operations and copies run in the order of their calls, in the backend's stream, and may return early; download
 *     and sync wait. Losses and counts are operands too, so that nothing waits until somebody reads them.
 *   - An empty matrix (0 rows or columns) is valid, and an operation on it does nothing.
 *   - One thread at a time calls the operations of an opened backend, outside of OpenMP parallel regions. An operation
 *     uses hal->threads threads itself, and allocates nothing after its first call with a given shape.
 *   - Results are deterministic for a given number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/option_words.h"
#include "base/status.h"
#include "hal/op_args.h"

extern weft_mem_tag WEFT_MEM_MATRIX[1]; /* prepared sparse matrices */

size_t weft_dtype_bytes(weft_dtype dtype);
const char *weft_dtype_name(weft_dtype dtype);

typedef struct weft_hal weft_hal;

/* ---- operands ---------------------------------------------------------------------------------------------------- */
static inline hal_mat hal_mat_of(void *data, weft_dtype dtype, int64_t rows, int64_t cols, int64_t ld)
{
    return (hal_mat){.data = data, .rows = rows, .cols = cols, .ld = ld, .dtype = dtype};
}

/* Makes an operand that is only read. */
static inline hal_mat hal_mat_from(const void *source, weft_dtype dtype, int64_t rows, int64_t cols, int64_t ld)
{
    return (hal_mat){.source = source, .rows = rows, .cols = cols, .ld = ld, .dtype = dtype};
}

/* A vector as a row [1, count] or as a column [count, 1]. */
static inline hal_mat hal_row_of(void *data, weft_dtype dtype, int64_t count)
{
    return hal_mat_of(data, dtype, 1, count, count);
}

static inline hal_mat hal_column_from(const void *source, weft_dtype dtype, int64_t count)
{
    return hal_mat_from(source, dtype, count, 1, 1);
}

static inline double hal_elements(const hal_mat *mat)
{
    return (double)mat->rows * (double)mat->cols;
}

/* Returns rows [row, row + rows) of a matrix. Returns a matrix that was left out (data NULL) unchanged. */
hal_mat hal_mat_rows(const hal_mat *mat, int64_t row, int64_t rows);
/* Returns columns [col, col + cols) of a matrix. Returns a matrix that was left out unchanged. */
hal_mat hal_mat_cols(const hal_mat *mat, int64_t col, int64_t cols);

/* ---- memory ------------------------------------------------------------------------------------------------- */
typedef enum hal_mem_kind {
    HAL_MEM_DEVICE, /* device memory, which the host must not touch; the default of a backend */
    HAL_MEM_SHARED, /* memory of host and device; the host may touch it after it has waited for the stream */
    HAL_MEM_HOST,   /* host memory */
    HAL_MEM_PINNED  /* host memory from alloc_host, which copies can reach while the caller goes on */
} hal_mem_kind;

typedef struct hal_scratch_shape hal_scratch_shape; /* below */

/* Code outside of the backend that may follow an address of HAL_MEM_DEVICE. */
typedef enum hal_mem_reach {
    HAL_REACH_NOBODY, /* the default of a backend */
    HAL_REACH_CUDA,   /* libraries that know the memory of CUDA devices */
    HAL_REACH_ALL,    /* any code, because the device is imitated */
    HAL_REACHES
} hal_mem_reach;

/* Rows of `bytes` bytes: `stride` bytes apart on the device, without gaps on the host. */
typedef struct hal_rows {
    int64_t rows;
    size_t bytes, stride;
} hal_rows;

typedef struct hal_mem_ops {
    hal_mem_kind kind;   /* kind of the memory that alloc returns */
    hal_mem_reach reach; /* code that may follow its addresses, if kind is HAL_MEM_DEVICE */
    weft_status (*alloc)(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device);
    /* Waits for operations that may use the memory. */
    void (*free)(weft_hal *hal, void *device);
    /* The caller may change `host` as soon as upload returns. */
    weft_status (*upload)(weft_hal *hal, void *device, const void *host, size_t bytes);
    /* Waits for the copy. */
    weft_status (*download)(weft_hal *hal, void *host, const void *device, size_t bytes);
    weft_status (*copy)(weft_hal *hal, void *device_to, const void *device_from, size_t bytes);
    weft_status (*zero)(weft_hal *hal, void *device, size_t bytes);
    /* Copies or zeros of many rows at once, for backends whose calls take longer than the bytes of a row. NULL: one
     * call a row, or one call for rows without gaps. */
    weft_status (*upload_rows)(weft_hal *hal, void *device, const void *host, hal_rows rows);
    weft_status (*download_rows)(weft_hal *hal, void *host, const void *device, hal_rows rows);
    weft_status (*zero_rows)(weft_hal *hal, void *device, hal_rows rows);
    /* [out] Free and total bytes of the device; other processes count too. NULL: the memory is the host's. */
    weft_status (*room)(weft_hal *hal, size_t *left, size_t *total);
    /* Returns the most bytes of scratch memory that an operation of this shape takes, including those that the
     * libraries behind the backend keep. Operations share their scratch memory, so a job needs the largest answer.
     * NULL: none. */
    uint64_t (*scratch)(const weft_hal *hal, const hal_scratch_shape *shape);
    /* Prepares the calling thread, which may be any, to hand addresses of this memory to code that reaches it. NULL:
     * nothing to prepare. */
    weft_status (*enter)(weft_hal *hal);

    /* Staging memory, and copies that may return early. Until the caller has waited for an event that it recorded after
     * the call, it must not change the host memory of an upload, nor read that of a download. NULL: memory of
     * base/alloc.h, upload and download. */
    weft_status (*alloc_host)(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **host);
    void (*free_host)(weft_hal *hal, void *host);
    weft_status (*upload_async)(weft_hal *hal, void *device, const void *host, size_t bytes);
    weft_status (*download_async)(weft_hal *hal, void *host, const void *device, size_t bytes);
} hal_mem_ops;

/* ---- the stream -------------------------------------------------------------------------------------------------- */
/* A backend has one stream: operations and copies run in the order of their calls, and a call may return before its
 * work has run. download, wait and sync return when all earlier work has run. They, and reached, return the failure of
 * work that ran late. A backend without these functions has run everything when its call returns, and waiting is
 * free. */
typedef struct hal_event hal_event; /* a place in the stream */

typedef struct hal_stream_ops {
    weft_status (*create)(weft_hal *hal, hal_event **event);
    /* Places the event behind all calls so far. */
    weft_status (*record)(weft_hal *hal, hal_event *event);
    /* Blocks the host until the stream has reached the event. */
    weft_status (*wait)(weft_hal *hal, hal_event *event);
    /* [out] yes: true if the stream has reached the event; never waits. Any thread may call it while other threads call
     * other functions, except for record and destroy of the same event. NULL for backends that cannot be asked, where
     * callers wait: ref and cpu run everything at once, and the queue of shadow runs only when somebody waits. */
    weft_status (*reached)(weft_hal *hal, hal_event *event, bool *yes);
    /* Blocks the host until the stream is empty. */
    weft_status (*sync)(weft_hal *hal);
    void (*destroy)(weft_hal *hal, hal_event *event);
} hal_stream_ops;

/* Returns true if numbers of this type can be reduced. Sums of bytes cannot, because they would overflow unseen; nor
 * can 16-bit floats, which are summed in float32. */
static inline bool hal_reduces(weft_dtype dtype, hal_reduction reduction)
{
    return dtype == WEFT_DTYPE_F32 || dtype == WEFT_DTYPE_F64 || dtype == WEFT_DTYPE_I32 || dtype == WEFT_DTYPE_I64 ||
           (dtype == WEFT_DTYPE_U8 && reduction != HAL_SUM);
}

/* Returns true for 16-bit floats. Their rows are computed in float32, which is also the type of parameters and sums
 * beside them. */
static inline bool hal_is_half(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_BF16 || dtype == WEFT_DTYPE_F16;
}

/* Returns true if `cast` converts numbers of this type: float32 and the 16-bit floats, into each other. */
static inline bool hal_casts(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F32 || hal_is_half(dtype);
}

/* Returns the bytes of an encoded row of `cols` numbers. */
static inline int64_t hal_row_bytes(hal_row_codec codec, int64_t cols)
{
    switch (codec) {
    case HAL_ROWS_BF16:
        return 2 * cols;
    case HAL_ROWS_INT8:
        return cols > 0 ? 4 + cols : 0;
    case HAL_ROWS_INT4:
        return cols > 0 ? 4 + (cols + 1) / 2 : 0;
    case HAL_ROWS_INT2:
        return cols > 0 ? 4 + (cols + 3) / 4 : 0;
    default:
        return 4 * cols;
    }
}

/* ---- sparse -------------------------------------------------------------------------------------------------- */
/* Adjacency matrix: rows are destinations, columns are sources. Its host arrays must live until spmm_create returns. */
typedef struct hal_csr {
    int64_t rows, cols;
    const int64_t *offset; /* host [rows + 1], offset[0] = 0 */
    const int32_t *column; /* host [offset[rows]], each in [0, cols); any order within a row, duplicates count */
    const float *value;    /* host [offset[rows]], the factor of each entry; NULL: all are 1 */
    /* host [rows], [cols]: not 0 where a run along HAL_SPMM_MARKED_ROWS or _COLS has edges (hal_spmm_part); NULL: there
     * are no such runs. A form may take no notice of marks: see hal_spmm_info.marked. */
    const uint8_t *marked_row, *marked_col;
    int64_t usual_d; /* the width that most columns are run at, by which a form may size what it reads at a time; 0: the
                      * widest operand */
} hal_csr;

/* Forms of a prepared matrix. Options take their first letters too. */
#define HAL_SPMM_MADE(X)                                                                                               \
    X(HAL_SPMM_ROWS, "rows")     /* row loop with prefetch: sparse graphs */                                           \
    X(HAL_SPMM_BLOCKS, "blocks") /* source blocks, 16-bit local columns, feature strips: dense graphs */               \
    X(HAL_SPMM_LISTS, "lists")   /* source blocks with lists of their non-empty rows: in between */                    \
    X(HAL_SPMM_TILES,                                                                                                  \
      "tiles") /* lists behind those of smaller blocks: graphs whose order keeps neighbours together */                \
    X(HAL_SPMM_SHARED, "shared") /* sums that rows have in common are made once: projections of groups */              \
    X(HAL_SPMM_I16, "i16")       /* lists of rows of 16-bit fixed point: for hal_fixed_run alone */
#define HAL_SPMM_FORMS(X) X(HAL_SPMM_AUTO, "auto") /* measured at creation */ HAL_SPMM_MADE(X)
typedef enum hal_spmm_form { HAL_SPMM_FORMS(CHOICE_VALUE) } hal_spmm_form;

typedef struct hal_spmm_info {
    hal_spmm_form form;
    int64_t block_cols;
    uint64_t bytes;       /* memory that the prepared matrix holds */
    bool marked;          /* the csr had marks, and the matrix runs along marked edges alone too */
    double build_seconds; /* including the measurement */
    uint64_t set_bytes;   /* working set: bytes of x that one thread reads repeatedly at a time; 0: not known */
    int64_t far_edges;    /* rows of x that a run fetches from outside of the working sets, summed over threads */
    uint64_t tile_bytes;  /* bytes of a smaller tile of x within the working set; 0: there is none */
    int64_t tile_edges;   /* edges whose row of x is read from the tile */
    int64_t reads, sums;  /* SHARED: rows of x and partial sums that a run reads, and partial sums that it makes */
} hal_spmm_info;

enum { HAL_SPMM_KINDS = HAL_SPMM_SHARED + 1 }; /* length of arrays that are indexed by form, of float32 */

/* Cost of each form of one matrix, indexed by form. */
typedef struct hal_spmm_trial {
    double seconds[HAL_SPMM_KINDS];     /* of a run of d columns, measured or scaled from a sample; 0: not tried */
    double expected[HAL_SPMM_KINDS];    /* estimate by a rule, all in one unit; 0: the rule has no answer */
    hal_spmm *prepared[HAL_SPMM_KINDS]; /* matrices that the trial has prepared completely; NULL: none */
} hal_spmm_trial;

/* Ranks that share caches and memory time a form at the same moment, because the work of the others slows it down later
 * too. */
typedef struct hal_spmm_turns {
    /* All ranks call it before each turn and before each common decision. Returns true if `says` is true on any
     * rank. */
    bool (*meet)(struct hal_spmm_turns *self, bool says);
} hal_spmm_turns;

typedef struct hal_spmm_request {
    hal_spmm_turns *turns; /* NULL: this rank measures alone */
    int64_t max_d;         /* widest operand, as for spmm_create */
    bool by_rule;          /* true: decide without measuring, with the same answer in every run */
    bool dense;            /* true: rows of operands have no gaps; false: sums lie beside sources, as in a layer */
    /* Bytes that the trial may allocate for its operands: those that the caller's own operands will take later. One
     * gigabyte is always allowed. The trial runs fewer than d columns if the bytes are too few. */
    uint64_t operand_bytes;
} hal_spmm_request;

typedef struct hal_sparse_ops {
    /* Prepares a matrix A for hal_spmm_run, which multiplies by A. For A^T, pass the transposed CSR; a symmetric graph
     * needs one matrix only. max_d: widest operand. form: a given form, or HAL_SPMM_AUTO to measure on dense operands
     * and take the best. Returns WEFT_ERR_UNSUPPORTED if the form cannot hold the matrix's values. */
    weft_status (*spmm_create)(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **spmm);
    /* Measures what each form costs: the first half of HAL_SPMM_AUTO. The caller may add up the costs of all ranks,
     * pick a form (hal_spmm_pick) and take it (hal_spmm_take) while csr lives. A backend with one form measures and
     * prepares nothing. On failure nothing stays prepared. A rank that has nothing to measure, or fails, does not meet
     * the others, so request->turns must not wait for it. */
    weft_status (*spmm_try)(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial);
    void (*spmm_destroy)(weft_hal *hal, hal_spmm *spmm);
    hal_spmm_info (*spmm_info)(weft_hal *hal, const hal_spmm *spmm);
    /* Returns the most bytes that a matrix of so many rows and entries will hold. 0, or NULL: not known. */
    uint64_t (*spmm_bytes)(const weft_hal *hal, int64_t rows, int64_t entries, bool weighted);
} hal_sparse_ops;

/* Returns the form with the fewest seconds, where 0 seconds means not tried. If the form with the lowest estimate is as
 * fast, up to the noise of repetitions, it is taken instead, so that one matrix gets one form in every run. If nothing
 * was tried, the estimate alone decides; if there is no estimate either, the form is HAL_SPMM_ROWS. */
hal_spmm_form hal_spmm_pick(const double seconds[HAL_SPMM_KINDS], const double expected[HAL_SPMM_KINDS]);
/* Takes the matrix in this form from the trial, or prepares it now, and destroys the other matrices of the trial.
 * [out] *spmm: the caller destroys it with spmm_destroy; NULL on failure. */
weft_status hal_spmm_take(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_trial *trial, hal_spmm_form form,
                          hal_spmm **spmm);
/* Sums in fixed point (hal/ops.def) of up to `entries` rows. Returns the largest magnitude that a number of 16 bits may
 * have so that no sum leaves 32 bits, at most 32767; 0: not even 1 may. */
int32_t hal_fixed_most(int64_t entries);
/* Returns the quantum of a column whose largest magnitude is given: the smallest power of two, not below 2^-100, with
 * which it is at most `most` >= 1 quanta. 1 for a column of zeros; NaN for a magnitude that is not finite. */
float hal_fixed_quantum(float largest, int32_t most);
/* Destroys all matrices that a trial has prepared. */
void hal_spmm_trial_end(weft_hal *hal, hal_spmm_trial *trial);

/* ---- images ------------------------------------------------------------------------------------------------------ */
/* [out] extent: height and width of the output, the number of places of the kernel within the padded input. */
void hal_conv_extent(const hal_conv_shape *shape, int64_t extent[2]);
void hal_pool_extent(const hal_pool_shape *shape, int64_t extent[2]);
/* Returns the columns of the weights [out, in / groups * kernel[0] * kernel[1]]. */
int64_t hal_conv_terms(const hal_conv_shape *shape);
/* Returns WEFT_ERR_UNSUPPORTED, naming the figure, for impossible shapes: no output, groups that do not divide the
 * channels, strides below 1, a pooling window that lies in padding alone, a maximum over more than 256 elements. */
weft_status hal_conv_check(const hal_conv_shape *shape);
weft_status hal_pool_check(const hal_pool_shape *shape);

typedef struct hal_conv_info {
    char forward[64], backward_data[64], backward_weights[64]; /* names of the implementations; "": none */
    bool slow;            /* true if a pass has only a product of matrices or the reference */
    bool winograd;        /* true if Winograd's products are used, which the shape must allow */
    bool rounds_sums;     /* true if sums are rounded to the type of x before the bias is added */
    bool rounds_gradient; /* true if gradients of weights are rounded to the type of x before they are added */
} hal_conv_info;

typedef struct hal_image_ops {
    /* Prepares a convolution for batches of images[0 .. sizes) images, sizes <= HAL_CONV_SIZES. It makes the primitives
     * and the scratch memory, which all convolutions share, so that the operations conv_*, which run it, allocate
     * nothing. Returns WEFT_ERR_UNSUPPORTED if hal_conv_check does, or for a type that the backend lacks. */
    weft_status (*conv_create)(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                               hal_conv **conv);
    void (*conv_destroy)(weft_hal *hal, hal_conv *conv);
    hal_conv_info (*conv_info)(weft_hal *hal, const hal_conv *conv);
    /* Returns true if a convolution of this shape applies a norm at less cost than bn_apply in front of it. conv_create
     * may return WEFT_ERR_UNSUPPORTED for a shape with a norm otherwise. */
    bool (*conv_norms)(const weft_hal *hal, const hal_conv_shape *shape);
} hal_image_ops;

/* For backends: checks shape and sizes, and fills the common beginning. */
weft_status hal_conv_begin(const hal_conv_shape *shape, const int64_t *images, int sizes, hal_conv *conv);
/* [out] size: index in conv->images of the number of images in x[rows, in] and y[y_rows, out]; -1 for no images.
 * Returns WEFT_ERR_INTERNAL, naming operation and figures, if the convolution was not prepared for that number. */
weft_status hal_conv_size(const hal_conv *conv, const char *op, const hal_mat *x, const hal_mat *y, int *size);
/* Returns WEFT_ERR_INTERNAL if a bias, or its gradient, is given but not in the shape, or in the shape but not
 * given. */
weft_status hal_conv_bias(const hal_conv *conv, const char *op, const hal_mat *bias);
/* Returns WEFT_ERR_INTERNAL if vectors of a norm are given but not in the shape, or the other way round, or if one of
 * them does not have the convolution's input channels. */
weft_status hal_conv_norm_check(const hal_conv *conv, const char *op, const hal_conv_norm *norm);

/* ---- second order and trees -------------------------------------------------------------------------------------- */
/* Elements of a packed triangle of n columns, and where row i of it begins. */
static inline int64_t hal_triangle(int64_t n)
{
    return n * (n + 1) / 2;
}

/* Number of square matrices that stand below each other in a[count * n, n]. */
static inline int64_t hal_squares(const hal_mat *a)
{
    return a->cols > 0 ? a->rows / a->cols : 0;
}

/* Number of patches (output pixels) of the images x[rows, in] of this shape. */
int64_t hal_patches(const hal_conv_shape *shape, int64_t rows);
/* Columns of a patch: those of the weights, and with shape->bias a 1 behind them. */
static inline int64_t hal_patch_columns(const hal_conv_shape *shape)
{
    return hal_conv_terms(shape) + (shape->bias ? 1 : 0);
}
/* Checks the operands of patch_gram. WEFT_ERR_UNSUPPORTED names the figure: a shape that no kernel fits, or groups. */
weft_status hal_patch_gram_check(const hal_patch_gram_args *args);
/* Checks the operands of histogram. WEFT_ERR_UNSUPPORTED if there are more rows than sums[cells, 1] can
 * hold. */
weft_status hal_histogram_check(const hal_histogram_args *args);

/* ---- operations: made of hal/ops.def ----------------------------------------------------------------------------- */
/* Slots that a backend fills. */
typedef struct hal_ops {
#define HAL_OP(group, name, flops, operands, ...) weft_status (*name)(weft_hal * hal, const hal_##name##_args *args);
#include "hal/ops.def"
} hal_ops;

/* HAL_OP_<op>: the number of an operation, for code that treats all operations alike. */
typedef enum hal_op {
#define HAL_OP(group, name, flops, operands, ...) HAL_OP_##name,
#include "hal/ops.def"
    HAL_OPS
} hal_op;

/* The shape of one call of an operation, for plans of memory. */
struct hal_scratch_shape {
    hal_op op;
    weft_dtype dtype; /* type of the result */
    int64_t rows,
        cols;         /* shape of the result; of the input for sums by row, losses, counts, selections, group factor */
    int64_t selected; /* select_largest: most elements that it selects */
    int64_t terms;    /* products: length of a sum; geqrf: rows of one matrix */
    int64_t heads;    /* attention: number of heads */
    int64_t sources;  /* spmm_run: rows of x */
    int64_t edges;    /* spmm_run: entries of the matrix, no two of them in one place */
    /* conv_forward, for all three passes: arguments of conv_create; the fields above, but op, are not read */
    const hal_conv_shape *conv;
    const int64_t *images;
    int sizes;
};

/* Runs an operation, counts its cost and traces its span. args: a struct hal_<op>_args. */
weft_status hal_run(weft_hal *hal, hal_op op, const void *args);

/* hal_<op>(hal, args): the function that callers call. */
#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    static inline weft_status hal_##name(weft_hal *hal, const hal_##name##_args *args)                                 \
    {                                                                                                                  \
        return hal_run(hal, HAL_OP_##name, args);                                                                      \
    }
#include "hal/ops.def"

/* Returns true if the backend has the operation, for at least one type. */
bool weft_hal_supports(const weft_hal *hal, hal_op op);

typedef struct hal_cost {
    double flops;
    double bytes; /* each operand read once, each result written once */
} hal_cost;
/* Returns the total of all operations that the calling thread has run. The caller may reset it. */
hal_cost *hal_cost_of_thread(void);

enum { HAL_ARGUMENT_BYTES = 64 };

/* ---- an opened backend ---------------------------------------------------------------------------------------- */
struct weft_hal {
    const char *name;
    char argument[HAL_ARGUMENT_BYTES]; /* behind the colon of the resource; "": there was none */
    int threads;
    hal_mem_ops mem;
    hal_stream_ops stream;
    hal_ops op;
    hal_sparse_ops sparse;
    hal_image_ops image;
    bool native_bf16; /* true if the processor multiplies bfloat16; else products are slower than those of float32 */
    /* True if threads of a team may each call hal->op.histogram at once: a call then works on the calling thread. */
    bool calls_in_team;
    bool native_f16; /* true if the device multiplies float16; also true of ref, which is not meant to be fast */
    /* Folder in which preparing a matrix may keep what took it seconds to find, for the next job; NULL: nowhere. The
     * owner sets it, and it lives until the owner sets another. */
    const char *keep_folder;
    void *state; /* private to the backend */
    void (*close)(weft_hal *hal);
};

/* Returns true if the host may access backend memory. The caller must wait for the stream first; comm may then send
 * from it. */
static inline bool hal_host_visible(const weft_hal *hal)
{
    return hal->mem.kind != HAL_MEM_DEVICE;
}

/* Raises *most to the scratch memory [bytes] of a call of this shape. */
static inline void hal_scratch_ask(const weft_hal *hal, const hal_scratch_shape *shape, uint64_t *most)
{
    const uint64_t bytes = hal->mem.scratch(hal, shape);
    *most = bytes > *most ? bytes : *most;
}

/* One line of the list of backends, hal/backend_list.h, which is the only place that names all of them. */
typedef struct hal_backend {
    const char *name;
    const char *description;
    weft_status (*open)(weft_hal *hal, int threads, const char *argument);
} hal_backend;

/*
 * Open "ref", "cpu", "cpu:avx2" (caps the instruction set), "shadow" (over cpu) or "shadow:ref"; "auto": hal/devices.h.
 * threads: OpenMP threads its ops use (>= 1). Close with weft_hal_close.
 * WEFT_ERR_USAGE names the nearest backend; WEFT_ERR_UNSUPPORTED when this CPU or build lacks it.
 */
weft_status weft_hal_open(const char *resource, int threads, weft_hal **hal);
/* Opens the same backend, with the same cap, once more, for a thread that works by itself. */
weft_status weft_hal_open_alike(const weft_hal *like, int threads, weft_hal **hal);
void weft_hal_close(weft_hal *hal);

/* Returns the i-th backend of this build, or NULL past the end. */
const hal_backend *weft_hal_backend_at(int i);

/* Returns name and version of the library for dense products, "oneDNN 2.6.3". */
const char *weft_hal_library(void);
/* [out] text: the library for factorisations, "OpenBLAS 0.3.21, kernel Zen, OpenMP", or why there is none. It is opened
 * by the first factorisation of 32 rows or more, or here if `open`; "" if it has not been opened. */
void weft_hal_lapack(bool open, char *text, size_t bytes);

/* Returns the ratio that the operation lars scales its learning rate by. The host must see args->norms. */
double hal_lars_ratio(const hal_lars_args *args);

/* Rows [begin, end). */
typedef struct hal_span {
    int64_t begin, end;
} hal_span;

/* Returns the rows of piece i, if all rows are cut into `parts` pieces of equal work: equal numbers of rows, or of
 * entries of a CSR matrix. */
hal_span hal_split_rows(int64_t rows, int parts, int i);
hal_span hal_split_csr(const int64_t *offset, int64_t rows, int parts, int i);
