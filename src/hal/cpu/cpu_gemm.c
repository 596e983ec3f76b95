/* hal/cpu/cpu_gemm.c: matrix products: f32 by oneDNN, f64 by the reference. */
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/kernels.h"
#include "hal/cpu/onednn_shim.h"

static void add_bias(weft_hal *hal, const hal_gemm *gemm)
{
    float *c = gemm->c;
    const float *bias = gemm->bias;
    int parts = cpu_parts(hal, gemm->m * gemm->n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(gemm->m, parts, part, &begin, &end);
        for (int64_t i = begin; i < end; ++i) {
#pragma omp simd
            for (int64_t j = 0; j < gemm->n; ++j) {
                c[i * gemm->ldc + j] += bias[j];
            }
        }
    }
}

weft_status cpu_gemm(weft_hal *hal, const hal_gemm *gemm)
{
    cpu_state *state = cpu_state_of(hal);
    if (gemm->dtype != WEFT_DTYPE_F32 || gemm->k == 0 || state->gemm_cache == NULL) {
        return state->ref.dense.gemm(hal, gemm);
    }
    if (gemm->m == 0 || gemm->n == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(onednn_gemm(state->gemm_cache, gemm));
    if (gemm->bias != NULL) {
        add_bias(hal, gemm);
    }
    return WEFT_OK;
}
