/*
 * hal/hal.h: what a backend must do, on a few pages.
 *
 * A backend is a memory, a table of operations and prepared sparse matrices. The operations stand in hal/ops.def, one
 * row each, with their meaning. `ref` has every one in plain C and thereby defines it; `cpu` has faster ones; `shadow`
 * wraps another backend and pretends to be a device. A backend leaves the slots that it lacks NULL. When it is opened
 * they are filled: from `ref` when the host sees the backend's memory, else by a stub that answers
 * WEFT_ERR_UNSUPPORTED and names the operation. So callers never test for NULL, and nothing ever follows a device
 * pointer on the host.
 *
 *      hal_axpby_args args = {.x = x, .y = y, .alpha = 2.0};
 *      WEFT_TRY(hal_axpby(hal, &args));
 *
 * Conventions
 *   - An operand is a hal_mat (hal/op_args.h, what operations take): row-major, element (i, j) at data[i * ld + j], ld >= cols. Its memory is the DEVICE's:
 *     from mem->alloc of the same backend, never dereferenced by callers (cpu and ref happen to use host memory, shadow
 *     does not). Scalars and the arrays named "host" are host memory.
 *   - Every operand has its own type. What a backend does not support is WEFT_ERR_UNSUPPORTED, naming the operation and
 *     the types. ref and cpu support HAL_REAL operands that are all float32 or all float64 (for gradient checks),
 *     HAL_DATA operands also of bfloat16 and in a HAL_VALUE_OP of float16, HAL_OWN operands each of float32 or bfloat16,
 *     computed in float32 and rounded when stored, and HAL_ANY operands as the operation's row in hal/ops.def says.
 *   - Ops and copies are ordered in the backend's stream and may return early; download and sync wait. Losses and
 *     counts are operands too, so that nothing waits until somebody reads them.
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

/* An operand that is only read. */
static inline hal_mat hal_mat_from(const void *source, weft_dtype dtype, int64_t rows, int64_t cols, int64_t ld)
{
    return (hal_mat){.source = source, .rows = rows, .cols = cols, .ld = ld, .dtype = dtype};
}

/* [1, count] and [count, 1] */
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

/* Rows [row, row + rows) of a matrix; of one that was left out: nothing. */
hal_mat hal_mat_rows(const hal_mat *mat, int64_t row, int64_t rows);
/* Columns [col, col + cols), the same. */
hal_mat hal_mat_cols(const hal_mat *mat, int64_t col, int64_t cols);

/* ---- memory ------------------------------------------------------------------------------------------------- */
typedef enum hal_mem_kind {
    HAL_MEM_DEVICE, /* the host must not touch it: what a backend has that says nothing */
    HAL_MEM_SHARED, /* one memory for both: the host may touch it once the stream was waited for */
    HAL_MEM_HOST,   /* the host's own */
    HAL_MEM_PINNED  /* the host's own, that copies can reach while the caller goes on: what alloc_host gives */
} hal_mem_kind;

typedef struct hal_scratch_shape hal_scratch_shape; /* below */

/* Who beside the backend follows addresses of its memory, where that is HAL_MEM_DEVICE. */
typedef enum hal_mem_reach {
    HAL_REACH_NOBODY, /* what a backend has that says nothing */
    HAL_REACH_CUDA,   /* libraries that know the memory of CUDA devices */
    HAL_REACH_ALL,    /* whoever copies: the device is imitated */
    HAL_REACHES
} hal_mem_reach;

/* Rows of `bytes` bytes, on the device `stride` bytes from one to the next, on the host side by side. */
typedef struct hal_rows {
    int64_t rows;
    size_t bytes, stride;
} hal_rows;

typedef struct hal_mem_ops {
    hal_mem_kind kind;   /* of what alloc gives */
    hal_mem_reach reach; /* of the same */
    weft_status (*alloc)(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device);
    void (*free)(weft_hal *hal, void *device);                                          /* waits for what may use it */
    weft_status (*upload)(weft_hal *hal, void *device, const void *host, size_t bytes); /* host may change at once */
    weft_status (*download)(weft_hal *hal, void *host, const void *device, size_t bytes); /* waits */
    weft_status (*copy)(weft_hal *hal, void *device_to, const void *device_from, size_t bytes);
    weft_status (*zero)(weft_hal *hal, void *device, size_t bytes);
    /* The same of rows, for backends whose calls take longer than the bytes of a row. Left out: a call a row, or one for
     * rows that lie side by side. */
    weft_status (*upload_rows)(weft_hal *hal, void *device, const void *host, hal_rows rows);
    weft_status (*download_rows)(weft_hal *hal, void *host, const void *device, hal_rows rows);
    weft_status (*zero_rows)(weft_hal *hal, void *device, hal_rows rows);
    /* Bytes that are free and that there are, of all that share the device. Left out: it is the host's memory. */
    weft_status (*room)(weft_hal *hal, size_t *left, size_t *total);
    /* What an operation of this shape takes of the backend's own memory beside its operands, at most, with what the
     * libraries behind it keep; operations share it, so that a job takes the largest answer. Left out: nothing. */
    uint64_t (*scratch)(const weft_hal *hal, const hal_scratch_shape *shape);
    /* The calling thread, any one at any time, may hand addresses of this memory to who reaches it. Left out: it may. */
    weft_status (*enter)(weft_hal *hal);

    /* Staging memory, and copies that may return early: until an event recorded after it was waited for, the host
     * memory of an upload stays as it is and that of a download holds nothing. Left out: memory of base/alloc.h,
     * upload and download. */
    weft_status (*alloc_host)(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **host);
    void (*free_host)(weft_hal *hal, void *host);
    weft_status (*upload_async)(weft_hal *hal, void *device, const void *host, size_t bytes);
    weft_status (*download_async)(weft_hal *hal, void *host, const void *device, size_t bytes);
} hal_mem_ops;

/* ---- the stream -------------------------------------------------------------------------------------------------- */
/* A backend has one stream: operations and copies run in the order of the calls, and may return before they have run.
 * download, wait and sync return when what was called before has; a failure of something that ran late is told there, and
 * by reached.
 * Left out: everything has run when its call returns, and waiting is free. */
typedef struct hal_event hal_event; /* a place in the stream */

typedef struct hal_stream_ops {
    weft_status (*create)(weft_hal *hal, hal_event **event);
    weft_status (*record)(weft_hal *hal, hal_event *event); /* behind what was called so far */
    weft_status (*wait)(weft_hal *hal, hal_event *event);   /* the host waits until the stream has come there */
    /* [out] yes  whether it has come there; never waits. Any thread asks, beside calls of others, but for one that records or
     * destroys the event. NULL: ask nothing, wait. So it is with ref and cpu, where everything has run when its call returns,
     * and with shadow, whose queue runs when somebody waits and not before. */
    weft_status (*reached)(weft_hal *hal, hal_event *event, bool *yes);
    weft_status (*sync)(weft_hal *hal); /* until it has run dry */
    void (*destroy)(weft_hal *hal, hal_event *event);
} hal_stream_ops;

/* Whether numbers of this type can be reduced: not sums of bytes, which would overflow unseen, and no 16-bit floats,
 * which are summed in float32. */
static inline bool hal_reduces(weft_dtype dtype, hal_reduction reduction)
{
    return dtype == WEFT_DTYPE_F32 || dtype == WEFT_DTYPE_F64 || dtype == WEFT_DTYPE_I32 || dtype == WEFT_DTYPE_I64 ||
           (dtype == WEFT_DTYPE_U8 && reduction != HAL_SUM);
}

/* Rows of 16-bit floats are computed in float32, of which parameters and sums beside them are. */
static inline bool hal_is_half(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_BF16 || dtype == WEFT_DTYPE_F16;
}

/* Whether numbers of this type can be converted: float32 and the 16-bit floats, into each other. */
static inline bool hal_casts(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F32 || hal_is_half(dtype);
}

/* Bytes of a row of `cols` numbers. */
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
/* Adjacency, rows = destinations, columns = sources; host arrays that must outlive spmm_create only. */
typedef struct hal_csr {
    int64_t rows, cols;
    const int64_t *offset; /* host [rows + 1], offset[0] = 0 */
    const int32_t *column; /* host [offset[rows]], each in [0, cols); any order within a row, duplicates count */
    const float *value;    /* host [offset[rows]], what each entry multiplies by; NULL: all are 1 */
} hal_csr;

/* Known by their first letters too. */
#define HAL_SPMM_MADE(X)                                                                                               \
    X(HAL_SPMM_ROWS, "rows")     /* row loop with prefetch: sparse graphs */                                           \
    X(HAL_SPMM_BLOCKS, "blocks") /* source blocks, 16-bit local columns, feature strips: dense graphs */               \
    X(HAL_SPMM_LISTS, "lists")   /* source blocks with lists of their non-empty rows: in between */                    \
    X(HAL_SPMM_TILES, "tiles") /* lists behind those of smaller blocks: graphs whose order keeps neighbours together */
#define HAL_SPMM_FORMS(X) X(HAL_SPMM_AUTO, "auto") /* measured at creation */ HAL_SPMM_MADE(X)
typedef enum hal_spmm_form { HAL_SPMM_FORMS(CHOICE_VALUE) } hal_spmm_form;

typedef struct hal_spmm_info {
    hal_spmm_form form;
    int64_t block_cols;
    uint64_t bytes;       /* memory the prepared matrix holds */
    double build_seconds; /* including the measurement */
    uint64_t set_bytes;   /* of x, that a thread reads again and again at a time; 0: the backend does not tell */
    int64_t far_edges;    /* rows of x that a run brings in from beyond those sets, of all threads */
    uint64_t tile_bytes;  /* of x, a smaller set that is read before that one; 0: there is none */
    int64_t tile_edges;   /* edges whose row of x is read out of it */
} hal_spmm_info;

enum { HAL_SPMM_KINDS = HAL_SPMM_TILES + 1 }; /* entries of what is listed by form */

/* What the forms of one matrix would cost; by form. */
typedef struct hal_spmm_trial {
    double seconds[HAL_SPMM_KINDS];     /* of a run of d columns, measured or scaled from a sample; 0: not tried */
    double expected[HAL_SPMM_KINDS];    /* by a rule, each in the same unit; 0: it knows nothing */
    hal_spmm *prepared[HAL_SPMM_KINDS]; /* whole, on the way; NULL: not prepared */
} hal_spmm_trial;

/* How ranks that share caches and memory run the same form at the same time, as they will later: a form is as quick as what
 * runs beside it lets it be. */
typedef struct hal_spmm_turns {
    /* Called before each turn, and wherever something is decided for all, by all ranks alike. True: some rank says so. */
    bool (*meet)(struct hal_spmm_turns *self, bool says);
} hal_spmm_turns;

typedef struct hal_spmm_request {
    hal_spmm_turns *turns;  /* NULL: this rank goes by itself */
    int64_t max_d;          /* as for spmm_create */
    int64_t d;              /* columns that will be run most; 0: max_d */
    bool by_rule;           /* nothing is measured: the same answer in every run */
    bool dense;             /* rows of operands will lie side by side; else as a layer's: sums beside sources */
    uint64_t operand_bytes; /* that may be taken for a while: what the caller's own operands will take; a gigabyte is
                             * taken unasked. Too little for d columns: fewer are run */
} hal_spmm_request;

typedef struct hal_sparse_ops {
    /* max_d: widest d that will be run (sizes the packing buffer). form: AUTO (tried on dense operands, picked and taken
     * here) or forced; WEFT_ERR_UNSUPPORTED where it holds no values.
     * Multiplies (hal_spmm_run) by A; call it with the transposed CSR for A^T (equal to A for symmetric graphs: share
     * it). */
    weft_status (*spmm_create)(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **spmm);
    /* The first half of AUTO: what each form costs here. Whoever knows what other ranks measured adds it up, picks
     * (hal_spmm_pick) and takes (hal_spmm_take), while csr lives. A backend with one form says nothing and prepares
     * nothing. Nothing is left prepared on failure. Ranks that have nothing to measure, or fail, do not meet the others:
     * request->turns has to let them go. */
    weft_status (*spmm_try)(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial);
    void (*spmm_destroy)(weft_hal *hal, hal_spmm *spmm);
    hal_spmm_info (*spmm_info)(weft_hal *hal, const hal_spmm *spmm);
    /* Bytes that a matrix of so many rows and entries will hold, at most; 0, and left out: the backend does not tell. */
    uint64_t (*spmm_bytes)(const weft_hal *hal, int64_t rows, int64_t entries, bool weighted);
} hal_sparse_ops;

/* The form with the least seconds, 0 being one that was not tried; the one that is expected to cost least where that is as
 * good up to what repetitions differ by, so that one matrix gets one form in every run, and where nothing was tried. Rows
 * where nothing is known. */
hal_spmm_form hal_spmm_pick(const double seconds[HAL_SPMM_KINDS], const double expected[HAL_SPMM_KINDS]);
/* The matrix in this form, prepared in the trial or now; the trial's others are destroyed. [out] *spmm: spmm_destroy;
 * NULL on failure. */
weft_status hal_spmm_take(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_trial *trial, hal_spmm_form form,
                          hal_spmm **spmm);
/* What a trial prepared is destroyed. */
void hal_spmm_trial_end(weft_hal *hal, hal_spmm_trial *trial);

/* ---- images ------------------------------------------------------------------------------------------------------ */
/* Height and width of what comes out: places of the kernel within the padded input. */
void hal_conv_extent(const hal_conv_shape *shape, int64_t extent[2]);
void hal_pool_extent(const hal_pool_shape *shape, int64_t extent[2]);
/* Columns of the weights [out, in / groups * kernel[0] * kernel[1]]. */
int64_t hal_conv_terms(const hal_conv_shape *shape);
/* WEFT_ERR_UNSUPPORTED, naming the figure, for shapes that nothing fits: no output, groups that do not divide the
 * channels, strides below 1, a pooling window that lies in padding alone, a maximum over more than 256 elements. */
weft_status hal_conv_check(const hal_conv_shape *shape);
weft_status hal_pool_check(const hal_pool_shape *shape);

typedef struct hal_conv_info {
    char forward[64], backward_data[64], backward_weights[64]; /* implementations; "" where there is none */
    bool slow;            /* a product of matrices or the reference was all there is for one of them */
    bool winograd;        /* what the shape allows is taken */
    bool rounds_sums;     /* to the type of x, before a bias is added */
    bool rounds_gradient; /* of weights: to the type of x, before it is added */
} hal_conv_info;

typedef struct hal_image_ops {
    /* Prepare for batches of images[0 .. sizes) images, sizes <= HAL_CONV_SIZES: primitives and scratch memory, which
     * all convolutions share, are made here, and nothing is allocated afterwards. The operations conv_* run it.
     * WEFT_ERR_UNSUPPORTED: hal_conv_check, or a type that the backend lacks. */
    weft_status (*conv_create)(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                               hal_conv **conv);
    void (*conv_destroy)(weft_hal *hal, hal_conv *conv);
    hal_conv_info (*conv_info)(weft_hal *hal, const hal_conv *conv);
    /* Whether a convolution of this shape takes a norm at less than what bn_apply before it costs. Others may refuse a
     * shape with a norm: WEFT_ERR_UNSUPPORTED. */
    bool (*conv_norms)(const weft_hal *hal, const hal_conv_shape *shape);
} hal_image_ops;

/* For backends: check shape and sizes, and fill the common beginning. */
weft_status hal_conv_begin(const hal_conv_shape *shape, const int64_t *images, int sizes, hal_conv *conv);
/* [out] size  the place in conv->images of the number that `rows` pixels of the input are, for x[rows, in] and
 * y[y_rows, out]; -1 for no images. WEFT_ERR_INTERNAL, naming operation and figures, when it was not prepared for. */
weft_status hal_conv_size(const hal_conv *conv, const char *op, const hal_mat *x, const hal_mat *y, int *size);
/* WEFT_ERR_INTERNAL when a bias, or its gradient, is given and the shape has none, or the other way round. */
weft_status hal_conv_bias(const hal_conv *conv, const char *op, const hal_mat *bias);
/* Likewise of a norm's vectors, and when one has not the convolution's input channels. */
weft_status hal_conv_norm_check(const hal_conv *conv, const char *op, const hal_conv_norm *norm);

/* ---- second order and trees --------------------------------------------------------------------------------------- */
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
/* Checks the operands of patch_gram. WEFT_ERR_UNSUPPORTED names the figure: a shape that no kernel fits, or groups. */
weft_status hal_patch_gram_check(const hal_patch_gram_args *args);
/* Checks the operands of histogram. WEFT_ERR_UNSUPPORTED if there are more rows than sums[256 * features, 1] can hold. */
weft_status hal_histogram_check(const hal_histogram_args *args);

/* ---- operations: made of hal/ops.def ----------------------------------------------------------------------------- */
/* The slots that a backend fills. */
typedef struct hal_ops {
#define HAL_OP(group, name, flops, operands, ...) weft_status (*name)(weft_hal * hal, const hal_##name##_args *args);
#include "hal/ops.def"
} hal_ops;

/* HAL_OP_<op>: an operation by number, for code that treats all of them alike. */
typedef enum hal_op {
#define HAL_OP(group, name, flops, operands, ...) HAL_OP_##name,
#include "hal/ops.def"
    HAL_OPS
} hal_op;

/* A run of an operation, for plans of memory. */
struct hal_scratch_shape {
    hal_op op;
    weft_dtype dtype;   /* of what it puts out */
    int64_t rows, cols; /* the same; of sums over rows, losses, counts and selections: of what they are made from */
    int64_t selected;   /* of select_largest: elements, or fewer */
    int64_t terms;      /* of products */
    int64_t heads;      /* of attention */
    int64_t sources;    /* of spmm_run: rows of x, */
    int64_t edges;      /* and entries of the matrix, of which no two are in one place */
    /* of conv_forward, for all three passes: what conv_create would be given, and no other field */
    const hal_conv_shape *conv;
    const int64_t *images;
    int sizes;
};

/* Run an operation: its cost is counted and its span traced. `args`: its own struct. */
weft_status hal_run(weft_hal *hal, hal_op op, const void *args);

/* hal_<op>(hal, args): what callers call. */
#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    static inline weft_status hal_##name(weft_hal *hal, const hal_##name##_args *args)                                 \
    {                                                                                                                  \
        return hal_run(hal, HAL_OP_##name, args);                                                                      \
    }
#include "hal/ops.def"

/* Whether the backend has the operation, for the types that it supports. */
bool weft_hal_supports(const weft_hal *hal, hal_op op);

typedef struct hal_cost {
    double flops;
    double bytes; /* operands read, and results written, once each */
} hal_cost;
/* The sum over the operations of the calling thread. */
hal_cost *hal_cost_of_thread(void);

/* ---- an opened backend ---------------------------------------------------------------------------------------- */
struct weft_hal {
    const char *name;
    int threads;
    hal_mem_ops mem;
    hal_stream_ops stream;
    hal_ops op;
    hal_sparse_ops sparse;
    hal_image_ops image;
    bool native_bf16; /* products of bfloat16 have instructions of their own; else they are slower than of float32 */
    bool native_f16;  /* the same of float16; ref, of which nobody expects speed, says so too */
    void *state;      /* the backend's own */
    void (*close)(weft_hal *hal);
};

/* Whether the host may touch the backend's memory, and hand it to comm as it is, once the stream was waited for. */
static inline bool hal_host_visible(const weft_hal *hal)
{
    return hal->mem.kind != HAL_MEM_DEVICE;
}

/* *most becomes the larger of itself and what a run of this shape takes. */
static inline void hal_scratch_ask(const weft_hal *hal, const hal_scratch_shape *shape, uint64_t *most)
{
    const uint64_t bytes = hal->mem.scratch(hal, shape);
    *most = bytes > *most ? bytes : *most;
}

/* One line of the list of backends (hal/backend_list.h): the only place that names them all. */
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
void weft_hal_close(weft_hal *hal);

/* The i-th backend compiled in, or NULL past the end. */
const hal_backend *weft_hal_backend_at(int i);

/* The library for dense products and its version, "oneDNN 2.6.3". */
const char *weft_hal_library(void);
/* [out] text: the library for factorisations, "OpenBLAS 0.3.21, kernel Zen, OpenMP", or why there is none. It is opened by the
 * first factorisation of 32 rows or more, or here if `open`; "" if it has not been opened. */
void weft_hal_lapack(bool open, char *text, size_t bytes);

/* The ratio of the operation lars, of norms that the host sees. */
double hal_lars_ratio(const hal_lars_args *args);

/* Rows [*begin, *end) of `parts` equal-work pieces, piece i: by rows, and by offsets of a CSR. */
void hal_split_rows(int64_t rows, int parts, int i, int64_t *begin, int64_t *end);
void hal_split_csr(const int64_t *offset, int64_t rows, int parts, int i, int64_t *begin, int64_t *end);

#endif
