/* hal/cpu/onednn_shim.c: f32 matrix products by oneDNN, versions 2 and 3. */
#include "hal/cpu/onednn_shim.h"

#ifdef WEFT_HAVE_ONEDNN

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

struct cpu_gemm_cache {
    int threads;
};

weft_status onednn_create(int threads, cpu_isa isa, cpu_gemm_cache **out)
{
    (void)isa;
    *out = NULL;
    cpu_gemm_cache *cache = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&cache, 1, WEFT_MEM_GENERAL));
    cache->threads = threads;
    *out = cache;
    return WEFT_OK;
}

void onednn_destroy(cpu_gemm_cache *cache)
{
    weft_free(cache);
}

weft_status onednn_gemm(cpu_gemm_cache *cache, const hal_gemm *gemm)
{
    int before = omp_get_max_threads();
    if (before != cache->threads) {
        omp_set_num_threads(cache->threads);
    }
    dnnl_status_t status =
        dnnl_sgemm(gemm->trans_a ? 'T' : 'N', gemm->trans_b ? 'T' : 'N', gemm->m, gemm->n, gemm->k, (float)gemm->alpha,
                   gemm->a, gemm->lda, gemm->b, gemm->ldb, (float)gemm->beta, gemm->c, gemm->ldc);
    if (before != cache->threads) {
        omp_set_num_threads(before);
    }
    WEFT_CHECK(status == dnnl_success, WEFT_ERR_INTERNAL, "oneDNN: sgemm %ld x %ld x %ld failed with status %d",
               (long)gemm->m, (long)gemm->n, (long)gemm->k, (int)status);
    return WEFT_OK;
}

const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

#else

weft_status onednn_create(int threads, cpu_isa isa, cpu_gemm_cache **cache)
{
    (void)threads;
    (void)isa;
    *cache = NULL;
    return WEFT_OK;
}

void onednn_destroy(cpu_gemm_cache *cache)
{
    (void)cache;
}

weft_status onednn_gemm(cpu_gemm_cache *cache, const hal_gemm *gemm)
{
    (void)cache;
    (void)gemm;
    return weft_fail(WEFT_ERR_UNSUPPORTED, "this build has no oneDNN");
}

const char *onednn_version(void)
{
    return "none";
}

#endif
