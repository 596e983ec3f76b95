/*
 * hal/cpu/cpu_rows.h: the drivers of operations whose rows are independent: rows are cut evenly over the threads, or by
 * their edges; each piece runs a single-thread kernel, and what pieces sum is added in their order.
 */
#pragma once

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/kernels.h"

/* Rows [first, first + rows) of an operation. */
typedef struct cpu_piece {
    const cpu_kernels *kernels;
    int64_t first, rows;
    void *own; /* the piece's scratch memory, zeroed; NULL when the operation asks for none */
} cpu_piece;

typedef struct cpu_rows_job {
    void (*run)(const cpu_piece *piece, const void *args);
    const void *args;
    int64_t rows;
    int64_t work;     /* elementary operations in all: decides the number of pieces */
    size_t own_bytes; /* scratch memory of a piece */
} cpu_rows_job;

/* The pieces' scratch memories, each on cache lines of its own; valid until the backend's next operation. */
typedef struct cpu_parts_left {
    char *own;
    size_t stride;
    int parts;
} cpu_parts_left;

/* [out] left  may be NULL when own_bytes is 0. */
weft_status cpu_rows(weft_hal *hal, const cpu_rows_job *job, cpu_parts_left *left);

/* The job whose work is the elements of `shape`; no rows where it has no columns. */
static inline cpu_rows_job cpu_rows_of(void (*run)(const cpu_piece *piece, const void *args), const void *args,
                                       const hal_mat *shape, size_t own_bytes)
{
    const int64_t rows = shape->cols > 0 ? shape->rows : 0;
    return (cpu_rows_job){.run = run, .args = args, .rows = rows, .work = rows * shape->cols, .own_bytes = own_bytes};
}

/* Runs that job, whose pieces need no memory of their own. */
static inline weft_status cpu_each_row(weft_hal *hal, void (*run)(const cpu_piece *piece, const void *args),
                                       const void *args, const hal_mat *shape)
{
    const cpu_rows_job job = cpu_rows_of(run, args, shape, 0);
    return cpu_rows(hal, &job, NULL);
}

/* Rows of an operation over edges, whose matrix begins its rows at `offset`: they are cut by their edges, which is what
 * they cost. A row is one thread's, unless its edges would keep that busy while others wait (the centre of a star) and
 * the operation can be run for some of its columns: then every thread has some. The same bits either way. */
typedef struct cpu_edge_job {
    void (*run)(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end);
    void (*run_columns)(const cpu_kernels *kernels, const void *args, int64_t row, int64_t col,
                        int64_t cols); /* or NULL */
    const void *args;
    const hal_mat *offset;
    int64_t rows, cols, width; /* cols: of the result; width: columns that an edge works on */
} cpu_edge_job;
weft_status cpu_edge_rows(weft_hal *hal, const cpu_edge_job *job);

/* Where a piece's rows of an operand begin; NULL when it was left out. */
static inline const float *piece_in(const cpu_piece *piece, const hal_mat *mat)
{
    const float *source = mat->source;
    return source != NULL ? source + piece->first * mat->ld : NULL;
}

static inline float *piece_out(const cpu_piece *piece, const hal_mat *mat)
{
    float *data = mat->data;
    return data != NULL ? data + piece->first * mat->ld : NULL;
}

/* The same for cells of float32 or bfloat16, and the kernels for them. */
static inline const void *piece_cells_in(const cpu_piece *piece, const hal_mat *mat)
{
    return hal_mat_rows(mat, piece->first, piece->rows).source;
}

static inline void *piece_cells_out(const cpu_piece *piece, const hal_mat *mat)
{
    return hal_mat_rows(mat, piece->first, piece->rows).data;
}

static inline const cpu_cell_kernels *piece_kernels(const cpu_piece *piece, const hal_mat *mat)
{
    return mat->dtype == WEFT_DTYPE_BF16 ? &piece->kernels->bf16 : &piece->kernels->f32;
}

/* sum[n] = what doubles 0 .. n - 1 of the pieces add up to, on top of `start`; in the order of the pieces. */
static inline double left_sum(const cpu_parts_left *left, int64_t j, double start)
{
    double sum = start;
    for (int part = 0; part < left->parts; ++part) {
        sum += ((const double *)(const void *)(left->own + (size_t)part * left->stride))[j];
    }
    return sum;
}
