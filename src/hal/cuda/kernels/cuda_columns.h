/*
 * hal/cuda/kernels/cuda_columns.h: sums over the rows of each column, in double, the same bits every time.
 *
 *      grid: strips of 32 columns x chunks of rows     a block: 32 columns x 8 rows at a time
 *      -> a sum a chunk, added in order by a second kernel
 *
 * The number of chunks is a function of the number of rows alone. What is summed says a struct:
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

#include "hal/cuda/kernels/cuda_launch.h"

static const int64_t CUDA_COLUMN_ROWS = 512;   /* of a chunk, at least */
static const int64_t CUDA_COLUMN_CHUNKS = 512; /* at most */

template <typename F>
__global__ void cuda_column_chunks(F f, int64_t rows, int64_t cols, int64_t chunk, double *partial)
{
    __shared__ double all[F::SUMS][CUDA_ROWS][CUDA_WARP];
    const int lane = cuda_lane();
    const int line = (int)(threadIdx.x / CUDA_WARP);
    const int64_t j = (int64_t)blockIdx.y * CUDA_WARP + lane;
    const int64_t begin = (int64_t)blockIdx.x * chunk;
    const int64_t end = begin + chunk < rows ? begin + chunk : rows;
    double sum[F::SUMS];
    for (int s = 0; s < F::SUMS; ++s) {
        sum[s] = 0.0;
    }
    for (int64_t i = begin + line; i < end && j < cols; i += CUDA_ROWS) {
        f.take(i, j, sum);
    }
    for (int s = 0; s < F::SUMS; ++s) {
        all[s][line][lane] = sum[s];
    }
    __syncthreads();
    if (line == 0 && j < cols) {
        for (int s = 0; s < F::SUMS; ++s) {
            double total = 0.0;
            for (int r = 0; r < CUDA_ROWS; ++r) {
                total += all[s][r][lane];
            }
            partial[((int64_t)blockIdx.x * F::SUMS + s) * cols + j] = total;
        }
    }
}

template <typename F> __global__ void cuda_column_rest(F f, int64_t cols, int chunks, const double *partial)
{
    for (int64_t j = cuda_first(); j < cols; j += cuda_stride()) {
        double sum[F::SUMS];
        for (int s = 0; s < F::SUMS; ++s) {
            sum[s] = 0.0;
            for (int c = 0; c < chunks; ++c) {
                sum[s] += partial[((int64_t)c * F::SUMS + s) * cols + j];
            }
        }
        f.finish(j, sum);
    }
}

/* cols = 0: nothing; rows = 0: finish with zeros. Columns beyond 2 million are refused with CUDA_ERROR_SHAPE. */
template <typename F> int cuda_columns(cuda_queue *queue, F f, int64_t rows, int64_t cols)
{
    void *scratch = nullptr;
    if (cols <= 0) {
        return CUDA_DONE;
    }
    const int64_t wanted = cuda_pieces(rows, CUDA_COLUMN_ROWS);
    const int64_t most = wanted < CUDA_COLUMN_CHUNKS ? wanted : CUDA_COLUMN_CHUNKS;
    const int64_t chunk = most > 0 ? cuda_pieces(rows, most) : 1;
    const int64_t chunks = cuda_pieces(rows, chunk);
    const int64_t strips = cuda_pieces(cols, CUDA_WARP);
    if (strips > 65535) {
        return CUDA_ERROR_SHAPE;
    }
    CUDA_TRY(cuda_queue_scratch(queue, (size_t)(chunks > 0 ? chunks : 1) * F::SUMS * (size_t)cols * sizeof(double),
                                &scratch));
    double *partial = static_cast<double *>(scratch);
    if (chunks > 0) {
        CUDA_TRY(cuda_launch_teams(queue, {chunks, CUDA_BLOCK, (unsigned)strips}, cuda_column_chunks<F>, f, rows, cols,
                                   chunk, partial));
    }
    return cuda_launch(queue, cuda_lines(queue, cols), cuda_column_rest<F>, f, cols, (int)chunks, partial);
}

#endif
