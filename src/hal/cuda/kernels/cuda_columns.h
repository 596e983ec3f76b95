/*
 * hal/cuda/kernels/cuda_columns.h: sums over the rows of each column, in double, the same bits every time.
 *
 *      grid: strips of 32 columns x chunks of rows     a block: 32 columns x 8 rows at a time, or 8 x 32
 *      -> a sum a chunk, which a second kernel adds: a block 8 columns x 32 chunks at a time
 *
 * Lines of a block take rows, and chunks, in turn and are joined by halves: who adds what is a function of the shape
 * alone. What is summed says a struct:
 *
 *      struct column_sum {
 *          enum { SUMS = 1 };
 *          cuda_mat<const float> x;
 *          __device__ void take(int64_t i, int64_t j, double *sum) const { sum[0] += *x.at(i, j); }
 *          __device__ void finish(int64_t j, const double *sum) const { out[j] = sum[0]; }
 *      };
 *      return cuda_columns(queue, column_sum{...}, rows, cols);
 */
#ifndef WEFT_HAL_CUDA_KERNELS_CUDA_COLUMNS_H
#define WEFT_HAL_CUDA_KERNELS_CUDA_COLUMNS_H

#include "hal/cuda/kernels/cuda_row.h"

static const int64_t CUDA_COLUMN_ROWS = 512;   /* of a chunk, at least */
static const int64_t CUDA_COLUMN_CHUNKS = 512; /* at most */
static constexpr int CUDA_COLUMN_FEW = 8;      /* columns of a block that adds chunks, or rows of few columns */

/* What the lines of a block have of each column, in the first line. */
template <int SUMS> static __device__ inline void cuda_join_lines(double (&sum)[SUMS], unsigned lanes)
{
    __shared__ double all[SUMS][CUDA_BLOCK];
    const unsigned t = threadIdx.x;
    for (int s = 0; s < SUMS; ++s) {
        all[s][t] = sum[s];
    }
    __syncthreads();
    for (unsigned half = CUDA_BLOCK / 2; half >= lanes; half /= 2) {
        for (int s = 0; s < SUMS && t < half; ++s) {
            all[s][t] += all[s][t + half];
        }
        __syncthreads();
    }
    for (int s = 0; s < SUMS; ++s) {
        sum[s] = all[s][t];
    }
}

/* LANES columns of a block: known to the compiler, so that a thread loads several rows before it adds them. */
template <typename F, int LANES>
__global__ void __launch_bounds__(CUDA_BLOCK)
    cuda_column_chunks(F f, int64_t rows, int64_t cols, int64_t chunk, double *partial)
{
    const int lane = (int)threadIdx.x % LANES;
    const int64_t j = (int64_t)blockIdx.y * LANES + lane;
    const int64_t begin = (int64_t)blockIdx.x * chunk;
    const int64_t end = begin + chunk < rows ? begin + chunk : rows;
    double sum[F::SUMS] = {};
    for (int64_t i = begin + threadIdx.x / LANES; i < end && j < cols; i += CUDA_BLOCK / LANES) {
        f.take(i, j, sum);
    }
    cuda_join_lines(sum, LANES);
    for (int s = 0; s < F::SUMS && threadIdx.x < LANES && j < cols; ++s) {
        partial[((int64_t)blockIdx.x * F::SUMS + s) * cols + j] = sum[s];
    }
}

template <typename F>
__global__ void __launch_bounds__(CUDA_BLOCK)
    cuda_column_rest(F f, int64_t cols, int chunks, cuda_row_team team, const double *partial)
{
    const int64_t j = (int64_t)blockIdx.x * team.lanes + team.lane();
    double sum[F::SUMS] = {};
    const int line = (int)threadIdx.x >> team.bits;
    const int lines = CUDA_BLOCK >> team.bits;
    const int own = j < cols ? (chunks - line + lines - 1) >> (8 - team.bits) : 0;
    CUDA_UNROLL
    for (int k = 0; k < own; ++k) {
        for (int s = 0; s < F::SUMS; ++s) {
            sum[s] += partial[((int64_t)(line + k * lines) * F::SUMS + s) * cols + j];
        }
    }
    cuda_join_lines(sum, (unsigned)team.lanes);
    if ((int)threadIdx.x < team.lanes && j < cols) {
        f.finish(j, sum);
    }
}

template <typename F, int LANES>
int cuda_column_strips(cuda_queue *queue, const F &f, int64_t rows, int64_t cols, int64_t chunk, double *partial)
{
    const int64_t strips = cuda_pieces(cols, LANES);
    if (strips > 65535) {
        return CUDA_ERROR_SHAPE;
    }
    return cuda_launch_teams(queue, {cuda_pieces(rows, chunk), CUDA_BLOCK, (unsigned)strips},
                             cuda_column_chunks<F, LANES>, f, rows, cols, chunk, partial);
}

static inline int64_t cuda_column_chunks_of(int64_t rows)
{
    const int64_t wanted = cuda_pieces(rows, CUDA_COLUMN_ROWS);
    return wanted < CUDA_COLUMN_CHUNKS ? wanted : CUDA_COLUMN_CHUNKS;
}

/* Of scratch memory. */
static inline size_t cuda_column_bytes(int64_t rows, int64_t cols, int sums)
{
    const int64_t chunks = cuda_column_chunks_of(rows);
    return (size_t)((chunks > 0 ? chunks : 1) * sums * cols) * sizeof(double);
}

/* cols = 0: nothing; rows = 0: finish with zeros. Columns beyond 2 million are refused with CUDA_ERROR_SHAPE. */
template <typename F> int cuda_columns(cuda_queue *queue, F f, int64_t rows, int64_t cols)
{
    void *scratch = nullptr;
    if (cols <= 0) {
        return CUDA_DONE;
    }
    const int64_t most = cuda_column_chunks_of(rows);
    const int64_t chunk = most > 0 ? cuda_pieces(rows, most) : 1;
    const int64_t chunks = cuda_pieces(rows, chunk);
    const cuda_row_team team = cuda_row_team_of(cols < CUDA_COLUMN_FEW ? cols : CUDA_COLUMN_FEW);
    CUDA_TRY(cuda_queue_scratch(queue, cuda_column_bytes(rows, cols, F::SUMS), &scratch));
    double *partial = static_cast<double *>(scratch);
    if (chunks > 0) {
        CUDA_TRY((cols > 2 * CUDA_COLUMN_FEW
                      ? cuda_column_strips<F, CUDA_WARP>(queue, f, rows, cols, chunk, partial)
                      : cuda_column_strips<F, CUDA_COLUMN_FEW>(queue, f, rows, cols, chunk, partial)));
    }
    return cuda_launch_teams(queue, {cuda_pieces(cols, team.lanes), CUDA_BLOCK}, cuda_column_rest<F>, f, cols,
                             (int)chunks, team, partial);
}

#endif
