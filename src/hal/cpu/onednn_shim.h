/*
 * hal/cpu/onednn_shim.h: the only door to oneDNN. f32 matrix products; without the library (WEFT_ONEDNN=OFF) creation
 * gives NULL and nothing else is called.
 */
#ifndef WEFT_HAL_CPU_ONEDNN_SHIM_H
#define WEFT_HAL_CPU_ONEDNN_SHIM_H

#include "hal/cpu/cpu_backend.h"

/* [out] cache  NULL when this build has no oneDNN. The library is capped to `isa` (the first opened backend decides:
 * oneDNN takes the cap once a process). Destroy with onednn_destroy; NULL is allowed. */
weft_status onednn_create(int threads, cpu_isa isa, cpu_gemm_cache **cache);
void onednn_destroy(cpu_gemm_cache *cache);

/* An f32 product with m, n and k > 0. */
weft_status onednn_gemm(cpu_gemm_cache *cache, const hal_gemm *gemm);

/* "oneDNN 3.2.0" or "none". */
const char *onednn_version(void);

#endif
