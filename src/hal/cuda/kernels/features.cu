/*
 * hal/cuda/kernels/features.cu: products with sparse features, whose CSR arrays come as operands: nothing is known of
 * their rows on the host (cuda_row_edges.h).
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row_edges.h"

template <typename cell> struct product {
    typedef cuda_real<cell> real;
    typedef real value;
    typedef cuda_sum join;
    const float *factor;
    const cell *x;
    int64_t ld_x, ld_y;
    void *y;
    bool narrow_y, transposed;
    real beta;
    cuda_mask mask;

    static __device__ real none()
    {
        return 0;
    }
    __device__ real of(int64_t e, int64_t c, int64_t row, int64_t j) const
    {
        const real kept = transposed ? cuda_kept<real>(mask, c, row) : cuda_kept<real>(mask, row, c);
        return (real)factor[e] * kept * cuda_load(x[c * ld_x + j]);
    }
    template <typename to_cell> __device__ void add_to(to_cell *to, real sum) const
    {
        cuda_store(to, (cuda_real<to_cell>)(sum + (beta == (real)0 ? (real)0 : beta * (real)cuda_load(*to))));
    }
    __device__ void finish(int64_t row, int64_t j, real sum, bool) const
    {
        const int64_t at = row * ld_y + j;
        if (narrow_y) {
            add_to(static_cast<cuda_bf16 *>(y) + at, sum);
        } else {
            add_to(static_cast<real *>(y) + at, sum);
        }
    }
};

template <typename cell> static int feature_product(cuda_queue *queue, const hal_feature_product_args *a)
{
    const product<cell> p = {static_cast<const float *>(a->value.source),
                             static_cast<const cell *>(a->x.source),
                             a->x.ld,
                             a->y.ld,
                             a->y.data,
                             a->y.dtype == WEFT_DTYPE_BF16,
                             a->transposed,
                             (cuda_real<cell>)a->beta,
                             cuda_mask_of(a->dropout)};
    return cuda_row_edges(queue, p, a->offset, a->column, a->y.rows, a->y.cols);
}

CUDA_OP(feature_product, CUDA_BY_DATA, x, feature_product, y)
