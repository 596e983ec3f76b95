/*
 * hal/cuda/kernels/features.cu: products with sparse features, whose CSR arrays come as operands: nothing is known of their rows
 * on the host. Two launches: a warp a row, and for long rows a block a row.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_team.h"

template <typename cell> struct product {
    const int64_t *offset;
    const int32_t *column;
    const float *value;
    const cell *x;
    int64_t ld_x, rows, d, ld_y;
    void *y;
    bool narrow_y, transposed;
    double beta;
    cuda_mask mask;
    int lanes;
};

template <typename cell> static __device__ void finish(const product<cell> &p, int64_t row, int64_t j, cuda_real<cell> sum)
{
    typedef cuda_real<cell> real;
    const int64_t at = row * p.ld_y + j;
    if (p.narrow_y) {
        cuda_bf16 *y = static_cast<cuda_bf16 *>(p.y) + at;
        cuda_store(y, (float)(sum + (p.beta == 0.0 ? (real)0 : (real)p.beta * (real)cuda_load(*y))));
    } else {
        real *y = static_cast<real *>(p.y) + at;
        *y = sum + (p.beta == 0.0 ? (real)0 : (real)p.beta * *y);
    }
}

/* The row's entries that teams number `team` of `teams` take. */
template <typename cell>
static __device__ cuda_real<cell> sum_entries(const product<cell> &p, int64_t row, int64_t j, unsigned team, unsigned teams)
{
    typedef cuda_real<cell> real;
    real sum = 0;
    CUDA_UNROLL
    for (int64_t e = p.offset[row] + team; e < p.offset[row + 1]; e += teams) {
        const int64_t c = p.column[e];
        const real kept = p.transposed ? cuda_kept<real>(p.mask, c, row) : cuda_kept<real>(p.mask, row, c);
        sum += (real)p.value[e] * kept * cuda_load(p.x[c * p.ld_x + j]);
    }
    return sum;
}

template <typename cell, bool LONG> __global__ void __launch_bounds__(CUDA_BLOCK) product_kernel(product<cell> p)
{
    typedef cuda_real<cell> real;
    const unsigned threads = LONG ? CUDA_BLOCK : CUDA_WARP; /* of a row */
    const unsigned lanes = (unsigned)p.lanes;
    const unsigned team = threadIdx.x % threads / lanes;
    const int64_t j = (int64_t)blockIdx.y * lanes + threadIdx.x % lanes;
    const int64_t step = (int64_t)gridDim.x * (CUDA_BLOCK / threads);
    for (int64_t row = LONG ? (int64_t)blockIdx.x : cuda_row(); row < p.rows; row += step) {
        if ((p.offset[row + 1] - p.offset[row] > CUDA_LONG_ROW) != LONG) {
            continue;
        }
        real sum[1] = {j < p.d ? sum_entries(p, row, j, team, threads / lanes) : (real)0};
        cuda_join_teams(cuda_sum(), sum, p.lanes);
        if (LONG) {
            cuda_join_warps(cuda_sum(), sum);
        }
        if (team == 0 && j < p.d) {
            finish(p, row, j, sum[0]);
        }
    }
}

template <typename cell> static int feature_product(cuda_queue *queue, const hal_feature_product_args *a)
{
    const product<cell> p = {static_cast<const int64_t *>(a->offset.source),
                             static_cast<const int32_t *>(a->column.source),
                             static_cast<const float *>(a->value.source),
                             static_cast<const cell *>(a->x.source),
                             a->x.ld,
                             a->y.rows,
                             a->y.cols,
                             a->y.ld,
                             a->y.data,
                             a->y.dtype == WEFT_DTYPE_BF16,
                             a->transposed,
                             a->beta,
                             cuda_mask_of(a->dropout),
                             cuda_team_lanes(a->y.cols)};
    const unsigned strips = (unsigned)cuda_pieces(p.d, p.lanes);
    cuda_grid grid = cuda_rows(p.rows);
    grid.y = strips;
    CUDA_TRY(cuda_launch_teams(queue, grid, product_kernel<cell, false>, p));
    return a->column.rows <= CUDA_LONG_ROW ? CUDA_DONE
                                           : cuda_launch_teams(queue, {cuda_long_blocks(queue, p.rows), CUDA_BLOCK, strips},
                                                               product_kernel<cell, true>, p);
}

int cuda_run_feature_product(cuda_queue *queue, const hal_feature_product_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->x.dtype, feature_product, queue, a);
}
