/*
 * hal/cpu/onednn_shim.h: the only door to oneDNN: f32 matrix products by its matmul primitive, versions 2.6 to 3.x.
 *
 * A primitive is made once a shape and kept, with the library's scratch memory owned by us, so that repeated products
 * allocate nothing. Without the library (WEFT_ONEDNN=OFF) creation gives NULL and nothing else may be called.
 */
#ifndef WEFT_HAL_CPU_ONEDNN_SHIM_H
#define WEFT_HAL_CPU_ONEDNN_SHIM_H

#include "hal/cpu/cpu_backend.h"

/* [out] cache  NULL when this build has no oneDNN. Destroy with onednn_destroy; NULL is allowed. */
weft_status onednn_create(int threads, cpu_gemm_cache **cache);
void onednn_destroy(cpu_gemm_cache *cache);

/* An f32 product with m, n and k > 0 and alpha = 1. */
weft_status onednn_gemm(cpu_gemm_cache *cache, const cpu_product *gemm);

/* "oneDNN 3.2.0" or "none". */
const char *onednn_version(void);

#endif
