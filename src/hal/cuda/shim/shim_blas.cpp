/*
 * hal/cuda/shim/shim_blas.cpp: the calls of cuda_blas.h on the host's memory, by the definition, with sums in double.
 * Like the library's they run in their stream's order, and late.
 */
#include <cstdio>

#include "hal/cuda/device/cuda_blas.h"
#include "hal/cuda/kernels/cuda_cells.h"

struct cuda_blas {
    cuda_queue queue;
};

namespace
{

template <typename A, typename C> void multiply_cell(cuda_product p)
{
    const A *a = static_cast<const A *>(p.a);
    const A *b = static_cast<const A *>(p.b);
    C *c = static_cast<C *>(p.c);
    for (int64_t at = cuda_first(); at < p.m * p.n; at += cuda_stride()) {
        const int64_t i = at / p.n;
        const int64_t j = at % p.n;
        double sum = 0.0;
        for (int64_t t = 0; t < p.k; ++t) {
            sum += (double)cuda_load(p.trans_a ? a[t * p.lda + i] : a[i * p.lda + t]) *
                   (double)cuda_load(p.trans_b ? b[j * p.ldb + t] : b[t * p.ldb + j]);
        }
        sum *= p.alpha;
        sum += p.beta == 0.0 ? 0.0 : p.beta * (double)cuda_load(c[i * p.ldc + j]);
        cuda_store(&c[i * p.ldc + j], (cuda_real<C>)sum);
    }
}

} // namespace

/* Every second shape: the kernels of our own make the others. */
bool cuda_blas_takes(cuda_blas **blas, cuda_stream *stream, const cuda_product *product)
{
    if (*blas == nullptr) {
        *blas = new cuda_blas{};
        (*blas)->queue.stream = stream;
        (*blas)->queue.processors = 1;
    }
    return (product->m + product->n + product->k) % 2 == 0;
}

int cuda_blas_multiply(cuda_blas *blas, const cuda_product *product)
{
    cuda_queue *queue = &blas->queue;
    const cuda_grid grid = cuda_lines(queue, product->m * product->n);
    if (product->from == WEFT_DTYPE_F64) {
        return cuda_launch(queue, grid, multiply_cell<double, double>, *product);
    }
    if (product->from == WEFT_DTYPE_F32) {
        return cuda_launch(queue, grid, multiply_cell<float, float>, *product);
    }
    if (product->from == WEFT_DTYPE_F16) {
        return product->to == WEFT_DTYPE_F32 ? cuda_launch(queue, grid, multiply_cell<cuda_f16, float>, *product)
                                             : cuda_launch(queue, grid, multiply_cell<cuda_f16, cuda_f16>, *product);
    }
    return product->to == WEFT_DTYPE_F32 ? cuda_launch(queue, grid, multiply_cell<cuda_bf16, float>, *product)
                                         : cuda_launch(queue, grid, multiply_cell<cuda_bf16, cuda_bf16>, *product);
}

void cuda_blas_close(cuda_blas *blas)
{
    delete blas;
}

size_t cuda_blas_workspace(void)
{
    return 0;
}

void cuda_blas_library(char *text, size_t bytes)
{
    snprintf(text, bytes, "cuBLAS imitated too");
}
