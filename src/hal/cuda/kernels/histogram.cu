/*
 * hal/cuda/kernels/histogram.cu: sums of gradients and hessians by bin. A block has four features and some rows; its
 * cells, both sums in one number, are in shared memory, and are added to the result at the end. Cells of bins of 16
 * bits may be more than shared memory holds: they grow where they are. Integers have no order: the same bits every
 * time.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"

static const int64_t FEATURES = 4;
static const int64_t BLOCK_ROWS = 8192; /* of a block: no more than HAL_HISTOGRAM_ROWS */

struct histogram_job {
    const void *bins; /* uint8, or uint16 where `first` is given */
    int64_t ld, features, rows;
    const int32_t *pair, *index; /* index may be NULL */
    int64_t ld_pair;
    const int32_t *first; /* cells before those of a feature; NULL: HAL_BINS for each */
    int64_t *sums;
    int64_t ld_sums;
    bool apart; /* gradients and hessians have a column each */

    __device__ uint32_t pair_of(int64_t row) const
    {
        return (uint32_t)pair[row * ld_pair];
    }
};

static __device__ inline void histogram_add(int64_t *to, int64_t by)
{
    if (by != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(to), (unsigned long long)by);
    }
}

__global__ void __launch_bounds__(CUDA_BLOCK) histogram_kernel(histogram_job job)
{
    __shared__ unsigned long long cells[FEATURES * HAL_BINS];
    const int64_t feature = (int64_t)blockIdx.y * FEATURES;
    const int64_t begin = (int64_t)blockIdx.x * BLOCK_ROWS;
    const int64_t end = begin + BLOCK_ROWS < job.rows ? begin + BLOCK_ROWS : job.rows;
    const int64_t width = job.features - feature < FEATURES ? job.features - feature : FEATURES;
    for (int i = (int)threadIdx.x; i < FEATURES * HAL_BINS; i += CUDA_BLOCK) {
        cells[i] = 0;
    }
    __syncthreads();
    for (int64_t r = begin + threadIdx.x; r < end; r += CUDA_BLOCK) {
        const int64_t row = job.index != nullptr ? job.index[r] : r;
        const uint8_t *bins = static_cast<const uint8_t *>(job.bins) + row * job.ld + feature;
        const uint32_t pair = job.pair_of(row);
        const int64_t gradient = (int16_t)(uint16_t)(pair >> 16);
        const uint64_t add = (uint64_t)gradient << 32;
        for (int64_t f = 0; f < width; ++f) {
            atomicAdd(&cells[f * HAL_BINS + bins[f]], (unsigned long long)(add + (pair & 0xffffu)));
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < width * HAL_BINS; i += CUDA_BLOCK) {
        int64_t *to = job.sums + (feature * HAL_BINS + i) * job.ld_sums;
        const int64_t cell = (int64_t)cells[i];
        const int64_t hessians = (int64_t)(cells[i] & 0xffffffffu);
        if (job.apart) {
            histogram_add(to, (cell - hessians) / ((int64_t)1 << 32));
            histogram_add(to + 1, hessians);
        } else {
            histogram_add(to, cell);
        }
    }
}

__global__ void __launch_bounds__(CUDA_BLOCK) histogram_wide_kernel(histogram_job job)
{
    for (int64_t at = cuda_first(); at < job.rows * job.features; at += cuda_stride()) {
        const int64_t r = at / job.features, f = at % job.features;
        const int64_t row = job.index != nullptr ? job.index[r] : r;
        const uint32_t pair = job.pair_of(row);
        const int64_t gradient = (int16_t)(uint16_t)(pair >> 16), hessian = (int64_t)(pair & 0xffffu);
        const int64_t bin = static_cast<const uint16_t *>(job.bins)[row * job.ld + f];
        int64_t *to = job.sums + (job.first[f] + bin) * job.ld_sums;
        histogram_add(to, job.apart ? gradient : gradient * ((int64_t)1 << 32) + hessian);
        if (job.apart) {
            histogram_add(to + 1, hessian);
        }
    }
}

__global__ void histogram_clear(cuda_mat<int64_t> sums)
{
    for (int64_t at = cuda_first(); at < sums.rows * sums.cols; at += cuda_stride()) {
        *sums.at(at / sums.cols, at % sums.cols) = 0;
    }
}

int cuda_run_histogram(cuda_queue *queue, const hal_histogram_args *a)
{
    const int32_t *index = static_cast<const int32_t *>(a->index.source);
    const int64_t rows = index != nullptr ? a->index.rows : a->bins.rows;
    const int32_t *first = a->bins.dtype == WEFT_DTYPE_U8 ? nullptr : static_cast<const int32_t *>(a->first.source);
    const histogram_job job = {a->bins.source, a->bins.ld, a->bins.cols, rows,
                               static_cast<const int32_t *>(a->pair.source), index, a->pair.ld, first,
                               cuda_data<int64_t>(a->sums), a->sums.ld, a->sums.cols == 2};
    const int64_t tiles = cuda_pieces(a->bins.cols, FEATURES);
    if (cuda_empty(a->sums)) {
        return CUDA_DONE;
    }
    if (tiles > 65535) {
        return CUDA_ERROR_SHAPE;
    }
    if (!a->add) {
        CUDA_TRY(cuda_launch(queue, cuda_lines(queue, a->sums.rows * a->sums.cols), histogram_clear,
                             cuda_mat_of<int64_t>(a->sums)));
    }
    if (first != nullptr && rows > 0) {
        return cuda_launch(queue, cuda_lines(queue, rows * a->bins.cols), histogram_wide_kernel, job);
    }
    return rows > 0 ? cuda_launch_teams(queue, {cuda_pieces(rows, BLOCK_ROWS), CUDA_BLOCK, (unsigned)tiles},
                                        histogram_kernel, job)
                    : CUDA_DONE;
}
