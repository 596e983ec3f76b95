/* embed/pool/pool_sums.c: sums of rows by threads; see the header. */
#include "embed/pool/pool_sums.h"

#include "base/isa.h"
#include "embed/pool/pool_kernels.h"
#include "machine/thread_ranges.h"

static const pool_kernels *kernels(void)
{
    static const pool_kernels *const table[HAL_ISAS] = {[HAL_ISA_BASE] = &pool_kernels_base,
                                                        [HAL_ISA_AVX2] = &pool_kernels_avx2,
                                                        [HAL_ISA_AVX512] = &pool_kernels_avx512};
    return table[hal_isa_best()];
}

void pool_rows(const bag_index *index, const embed_bags *bags, const float *value, int64_t value_ld, int stride,
               float *pooled, int64_t ld)
{
    const pool_source source = {.from = value, .ld = value_ld, .fields = bags->fields, .stride = stride};
    const int64_t count = bags->samples * bags->fields;
    const pool_kernels *k = kernels();
#pragma omp parallel num_threads(split_threads((bags->at[count] + count) * stride, omp_get_max_threads()))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        k->rows(&source, bags->at, index->place, split_rows(bags->at, count, t, threads),
                split_rows(bags->at, count, t + 1, threads), pooled, ld);
    }
}

void pool_gradients(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride, float *gradient,
                    int64_t gradient_ld)
{
    const pool_source source = {.from = dpooled, .ld = ld, .fields = fields, .stride = stride};
    const pool_kernels *k = kernels();
#pragma omp parallel num_threads(split_threads(index->positions *stride, omp_get_max_threads()))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        k->gradients(&source, index->at, index->bag, split_rows(index->at, index->distinct, t, threads),
                     split_rows(index->at, index->distinct, t + 1, threads), gradient, gradient_ld);
    }
}
