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
    const pool_source source = {
        .from = value, .ld = value_ld, .fields = bags->fields, .stride = stride, .weight = bags->weight};
    const int64_t count = bags->samples * bags->fields;
    const pool_kernels *k = kernels();
#pragma omp parallel num_threads(split_threads((bags->at[count] + count) * stride, omp_get_max_threads()))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        k->rows(&source, bags->at, index->place, split_rows(bags->at, count, t, threads),
                split_rows(bags->at, count, t + 1, threads), pooled, ld);
    }
}

static pool_source bags_of(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride)
{
    return (pool_source){.from = dpooled,
                         .ld = ld,
                         .fields = fields,
                         .stride = stride,
                         .weight = index->weighted ? index->weight : NULL};
}

void pool_some_gradients(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride,
                         int64_t first, int64_t last, float *gradient)
{
    const pool_source source = bags_of(index, fields, dpooled, ld, stride);
    kernels()->gradients(&source, index->at, index->bag, first, last, gradient, stride);
}

void pool_gradients(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride, float *gradient,
                    int64_t gradient_ld)
{
    const pool_source source = bags_of(index, fields, dpooled, ld, stride);
    const pool_kernels *k = kernels();
#pragma omp parallel num_threads(split_threads(index->positions *stride, omp_get_max_threads()))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t first = split_rows(index->at, index->distinct, t, threads);
        const int64_t last = split_rows(index->at, index->distinct, t + 1, threads);
        k->gradients(&source, index->at, index->bag, first, last, gradient + first * gradient_ld, gradient_ld);
    }
}

static float squared(const float *weight, int64_t position)
{
    return weight == NULL ? 1.0F : weight[position] * weight[position];
}

void pool_squares(const bag_index *index, const embed_bags *bags, const float *square, int64_t square_ld, float *total,
                  int64_t ld)
{
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(split_threads(bags->at[bags->samples * bags->fields] + bags->samples, omp_get_max_threads()))
    for (int64_t s = 0; s < bags->samples; ++s) {
        float sum = 0;
        for (int64_t p = bags->at[s * bags->fields]; p < bags->at[(s + 1) * bags->fields]; ++p) {
            sum += squared(bags->weight, p) * square[index->place[p] * square_ld];
        }
        total[s * ld] = sum;
    }
}

void pool_square_gradients(const bag_index *index, int fields, const float *dtotal, int64_t ld, float *dsquare,
                           int64_t dsquare_ld)
{
    const float *weight = index->weighted ? index->weight : NULL;
#pragma omp parallel for schedule(static) num_threads(split_threads(index->positions, omp_get_max_threads()))
    for (int64_t i = 0; i < index->distinct; ++i) {
        float sum = 0;
        for (int64_t p = index->at[i]; p < index->at[i + 1]; ++p) {
            sum += squared(weight, p) * dtotal[index->bag[p] / fields * ld];
        }
        dsquare[i * dsquare_ld] = sum;
    }
}
