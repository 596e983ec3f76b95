/*
 * hal/op_args.h: arguments of operations: matrices, descriptions of shapes, and the structs hal_<op>_args that
 * hal/ops.def makes of them. It is plain data that kernels in C++ read too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"

typedef enum weft_dtype {
    WEFT_DTYPE_F32,
    WEFT_DTYPE_F64,
    WEFT_DTYPE_I32,
    WEFT_DTYPE_I64,
    WEFT_DTYPE_U8,
    WEFT_DTYPE_BF16,
    WEFT_DTYPE_F16,
    WEFT_DTYPE_I8,
    WEFT_DTYPE_I16
} weft_dtype;

/* ---- operands ---------------------------------------------------------------------------------------------------- */
typedef struct hal_mat {
    union {
        void *data;
        const void *source; /* the same address, for an operand that is only read */
    };
    int64_t rows, cols, ld;
    weft_dtype dtype;
} hal_mat;

typedef enum hal_access { HAL_UNUSED, HAL_IN, HAL_OUT, HAL_UPDATE } hal_access;
/* Types of operands in hal/ops.def, in place of a weft_dtype. */
enum {
    HAL_REAL = -1,  /* the element type of the operation: float32 or float64 */
    HAL_ANY = -2,   /* a type that the rule of the operation's row judges */
    HAL_DATA = -3,  /* rows of float32, float64, bfloat16 or float16, one type in an operation */
    HAL_PARAM = -4, /* parameters and sums beside such rows: float64 beside float64, else float32 */
    HAL_OWN = -5    /* rows of float32 or bfloat16, which operands choose separately, or all of float64 */
};

/* How scatter_rows treats the row that is there: it replaces it, adds to it, or keeps the larger of two numbers, where
 * a NaN wins. */
/* Activations of images beside ReLU. gelu: x * P(N(0, 1) <= x), D. Hendrycks, K. Gimpel, arXiv 1606.08415. silu: x *
 * sigmoid(x), S. Elfwing, E. Uchibe, K. Doya, arXiv 1702.03118. relu6: min(max(x, 0), 6). */
typedef enum hal_curve { HAL_CURVE_GELU, HAL_CURVE_SILU, HAL_CURVE_SIGMOID, HAL_CURVE_RELU6 } hal_curve;

/* Returns true for curves whose slope is a function of what they give, so that a backward pass reads that alone. */
static inline bool hal_curve_by_output(hal_curve curve)
{
    return curve == HAL_CURVE_SIGMOID || curve == HAL_CURVE_RELU6;
}

typedef enum hal_scatter { HAL_SCATTER_REPLACE, HAL_SCATTER_ADD, HAL_SCATTER_MAX } hal_scatter;

/* ---- what operations take besides matrices ----------------------------------------------------------------------- */
/* A dropout mask: element (i, c) is a pure function of (seed, purpose, epoch, row id of i, c); see base/philox.h. */
typedef struct hal_dropout {
    float probability; /* 0: no dropout */
    uint64_t seed;
    uint32_t purpose; /* WEFT_RNG_DROPOUT + layer */
    uint32_t epoch;
    hal_mat row_id; /* [rows, 1] global ids, int64; if left out, the id of row i is row_base + i */
    int64_t row_base;
} hal_dropout;

/* Scalars of attention over edges (hal/ops.def). */
enum { HAL_HEADS = 64 }; /* most heads */
typedef struct hal_attention {
    int heads;    /* 1..HAL_HEADS */
    double slope; /* slope of LeakyReLU below 0, in [0, 1] */
    int64_t self; /* rows 0 .. self - 1 have an edge to themselves, besides those of the matrix */
    /* Dropout of edges. With a probability above 0, row_id holds the id of every row of `source` and `target`. */
    hal_dropout dropout;
} hal_attention;

/* How two numbers are reduced to one. A NaN on either side is the result of MAX and MIN; integers wrap. */
typedef enum hal_reduction { HAL_SUM, HAL_MAX, HAL_MIN } hal_reduction;

/* ---- rows in messages ---------------------------------------------------------------------------------------- */
/*
 * A row of float32 in fewer bits, rounded at random so that its expectation is the row:
 *
 *      bf16    columns x 16 bits: up or down to a neighbouring bfloat16
 *      int8    scale, columns x 8 bits:  x = scale * q, |q| <= 127, scale = largest magnitude of the row / 127
 *      int4    scale, columns x 4 bits:  |q| <= 7, q + 8 in a half byte, the even column in the lower one
 *      int2    low, scale, columns x 2 bits:  x = low + scale * q, 0 <= q <= 3, four columns a byte from its lower end
 *
 * The first four bytes of a row of int8 and int4 are scale, a float32. A row of int2 begins with low and scale, a
 * bfloat16 each: low is the largest one that is not above the row's smallest number, and scale the smallest one that is
 * not below a third of the distance from low to the row's largest number. A row without negative numbers, as ReLU makes
 * it, therefore keeps its zeros. The error of an element is below scale, and with bf16 below 2^-7 of its magnitude. A
 * row whose largest magnitude is below HAL_ROW_TINY becomes zeros. A row with a number that is not finite becomes NaNs;
 * with bf16 only that number does.
 */
#define HAL_ROW_CODECS(X)                                                                                              \
    X(HAL_ROWS_NONE, "none")                                                                                           \
    X(HAL_ROWS_BF16, "bf16")                                                                                           \
    X(HAL_ROWS_INT8, "int8")                                                                                           \
    X(HAL_ROWS_INT4, "int4")                                                                                           \
    X(HAL_ROWS_INT2, "int2")
typedef enum hal_row_codec { HAL_ROW_CODECS(CHOICE_VALUE) } hal_row_codec;

#define HAL_ROW_TINY 0x1p-100f

/* Random numbers of a row's rounding: column c of the row with global id `id` takes 16-bit lane c % 8 of the Philox
 * block at index (sender << 20 | c / 8), this purpose and epoch (base/philox.h), as (lane + 1/2) / 2^16 between 0 and
 * 1. */
typedef struct hal_row_rounding {
    uint64_t seed;
    uint32_t purpose, epoch, sender; /* sender < 4096 */
} hal_row_rounding;

typedef struct hal_spmm hal_spmm; /* a prepared matrix, owned by the backend */

/* The edges of a prepared matrix that a run has: all, or those of marked rows or columns (hal_csr). */
typedef enum hal_spmm_part { HAL_SPMM_ALL_EDGES, HAL_SPMM_MARKED_ROWS, HAL_SPMM_MARKED_COLS } hal_spmm_part;

/* ---- images ------------------------------------------------------------------------------------------------------ */
/* A batch of images is a matrix [images * height * width, channels]: pixel (n, y, x) is row (n * height + y) * width +
 * x ("NHWC"). Pairs are [rows, columns]; padding is [rows, columns][before, behind]. */
typedef struct hal_conv_shape {
    int64_t height, width;   /* of the input */
    int64_t in, out, groups; /* channels; each of `groups` equal shares of `in` makes its share of `out` */
    int64_t kernel[2], stride[2], dilation[2]; /* dilation 1: dense */
    int64_t pad[2][2];
    weft_dtype dtype;     /* type of x, y and their gradients; weights and bias are HAL_PARAM of it */
    bool bias, add, relu; /* terms of conv_forward: y = relu(conv(x) + bias + y) */
    bool norm;            /* true if x goes through a batch norm first (hal_conv_norm) */
    bool winograd;        /* true if Winograd's products may be used: fewer, of sums that are rounded to dtype */
    bool training;        /* false if conv_forward alone will run */
    bool backward_data;   /* false if conv_backward_data will not run, as in the first layer of a network */
} hal_conv_shape;

typedef struct hal_pool_shape {
    bool average;          /* true: average over the whole kernel, padding as zeros; false: maximum without padding */
    int64_t height, width; /* of the input */
    int64_t kernel[2], stride[2];
    int64_t pad[2][2]; /* each less than the kernel */
} hal_pool_shape;

/* The batch norm in front of a convolution: bn_apply of x without a residual, rounded to the type of x. Padding stays
 * zeros. The vectors are [1, in] each, and are not read if the shape has no norm. */
typedef struct hal_conv_norm {
    hal_mat mean, rstd, gamma, beta;
    bool relu;
} hal_conv_norm;

enum { HAL_CONV_SIZES = 16 }; /* most numbers of images that one convolution is prepared for */

/* The common beginning of every prepared convolution; private fields of the backend follow. */
typedef struct hal_conv {
    hal_conv_shape shape;
    int64_t images[HAL_CONV_SIZES];
    int sizes;
} hal_conv;

/* ---- trees ------------------------------------------------------------------------------------------------------- */
enum {
    HAL_BINS = 256,               /* cells of a feature in a histogram of uint8 */
    HAL_HISTOGRAM_ROWS = 1 << 15, /* rows whose sums fit into the two halves of one number */
};

/* The pair of a row: a gradient and a hessian that the caller has scaled and rounded. */
static inline int32_t hal_pair_of(int16_t gradient, uint16_t hessian)
{
    return (int32_t)((uint32_t)(uint16_t)gradient << 16 | hessian);
}

static inline int16_t hal_pair_gradient(int32_t pair)
{
    return (int16_t)(uint16_t)((uint32_t)pair >> 16);
}

static inline uint16_t hal_pair_hessian(int32_t pair)
{
    return (uint16_t)((uint32_t)pair & 0xffffU);
}

/* The two halves of a cell that is one number: 2^32 * gradients + hessians, which are not negative. */
static inline int64_t hal_cell_hessian(int64_t cell)
{
    return (int64_t)((uint64_t)cell & UINT32_MAX);
}

static inline int64_t hal_cell_gradient(int64_t cell)
{
    return (cell - hal_cell_hessian(cell)) >> 32;
}

/* ---- operations: made of hal/ops.def ----------------------------------------------------------------------------- */
/* hal_<op>_args: the operands, then the scalars. */
#define HAL_OPERAND(name, type, access) hal_mat name;
#define HAL_OPERAND_OF(path, type, access)
#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    typedef struct hal_##name##_args {                                                                                 \
        operands __VA_ARGS__                                                                                           \
    } hal_##name##_args;
#include "hal/ops.def"
#undef HAL_OPERAND
#undef HAL_OPERAND_OF
