/*
 * hal/cpu/cpu_backend.h: what the files of the CPU backend share.
 *
 * The backend picks its kernels once, when it is opened: the widest instruction set that this processor has, capped by
 * the resource's argument ("cpu:avx2", "cpu:base"). Ops read the level from cpu_state and call the function of that
 * level; files named *_avx2.c and *_avx512.c hold them, everything else is baseline code.
 */
#ifndef WEFT_HAL_CPU_CPU_BACKEND_H
#define WEFT_HAL_CPU_CPU_BACKEND_H

#include <stddef.h>

#include "hal/hal.h"
#include "hal/isa.h"

typedef struct cpu_gemm_cache cpu_gemm_cache; /* prepared library primitives by shape; see onednn_shim.h */
typedef struct cpu_kernels cpu_kernels;       /* the kernels of one level; see kernels.h */

typedef struct cpu_state {
    hal_isa isa;
    const cpu_kernels *kernels;
    void *workspace; /* partial results of reductions; grows, see cpu_workspace */
    size_t workspace_bytes;
    cpu_gemm_cache *gemm_cache; /* NULL without the library */
    weft_hal ref;               /* its tables: what f64 runs on */
} cpu_state;

static inline cpu_state *cpu_state_of(const weft_hal *hal)
{
    return (cpu_state *)hal->state;
}

/* At least `bytes` of scratch memory owned by the backend, 64-byte aligned, valid until the next op asks for it. */
weft_status cpu_workspace(weft_hal *hal, size_t bytes, void **workspace);

/* Scratch for one row of n doubles a part, at partial[part * cpu_partial_stride(n)]: whole cache lines, so that threads
 * do not share one. */
static inline int64_t cpu_partial_stride(int64_t n)
{
    return (n + 7) / 8 * 8;
}
weft_status cpu_partials(weft_hal *hal, int parts, int64_t n, double **partial);

/* Pieces that `work` elementary operations are cut into: hal->threads, or fewer when threads would cost more than they
 * save. A function of its arguments alone, so that results do not depend on what the OpenMP runtime grants. */
int cpu_parts(const weft_hal *hal, int64_t work);

/* Each fills its table; slots left NULL are filled from ref. */
void cpu_mem_ops(hal_mem_ops *ops);
void cpu_dense_ops(hal_dense_ops *ops);
void cpu_nn_ops(hal_nn_ops *ops);
void cpu_sparse_ops(hal_sparse_ops *ops);
void cpu_optim_ops(hal_optim_ops *ops);

/* The dense group's gemm, in files of its own. */
weft_status cpu_gemm(weft_hal *hal, const hal_gemm *gemm);

#endif
