/*
 * hal/cuda/shim/shim_block.h: the language of kernels, for a host compiler: one grid at a time on the calling thread,
 * block after block. The threads of a block whose kernel has barriers are fibers that take turns at the barriers;
 * without barriers they are the rounds of a loop.
 *
 * WEFT_CUDA_SHIM_ORDER says in which order threads and blocks run: forward, reverse or random, the default. A barrier
 * that is missing shows as a wrong number in one of them; a barrier that some threads of a block or warp do not reach
 * ends the process with the kernel's name for it. Memory order inside a warp is not imitated: a thread runs until it
 * waits.
 */
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

struct shim_index {
    unsigned x, y, z;
};

/* Where the running thread stands. */
struct shim_place {
    shim_index thread, block, block_dim, grid_dim;
};
extern __thread shim_place shim_at; /* not thread_local, which may be asked for by a call */

#define threadIdx (shim_at.thread)
#define blockIdx  (shim_at.block)
#define blockDim  (shim_at.block_dim)
#define gridDim   (shim_at.grid_dim)

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
/* One block runs at a time on a host thread. */
#define __shared__ static thread_local

enum { SHIM_WARP = 32, SHIM_MOST_THREADS = 1024 };

/* A kernel with its arguments. */
struct shim_kernel {
    virtual void run_thread() = 0;
    virtual ~shim_kernel() = default;
};

/* barriers: the kernel waits inside. */
void shim_run_grid(shim_kernel &kernel, shim_index grid, shim_index block, bool barriers);

void shim_wait_block();
/* Every lane of `mask` hands in a word and gets all of them. */
const uint64_t *shim_wait_warp(unsigned mask, uint64_t word);

static inline void __syncthreads()
{
    shim_wait_block();
}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    (void)shim_wait_warp(mask, 0);
}

static inline unsigned shim_lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % SHIM_WARP;
}

/* The word of lane `from`; a lane outside the group of `width` keeps its own. */
template <typename T> static inline T shim_shuffle(unsigned mask, T own, unsigned from, bool inside)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "shuffles move at most eight bytes");
    uint64_t word = 0;
    memcpy(&word, &own, sizeof own);
    const uint64_t *words = shim_wait_warp(mask, word);
    T there = own;
    if (inside) {
        memcpy(&there, &words[from], sizeof there);
    }
    return there;
}

template <typename T> static inline T __shfl_sync(unsigned mask, T own, int from, int width = SHIM_WARP)
{
    const unsigned lane = shim_lane();
    const unsigned group = lane / (unsigned)width * (unsigned)width;
    return shim_shuffle(mask, own, group + (unsigned)from % (unsigned)width, true);
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T own, int bits, int width = SHIM_WARP)
{
    const unsigned lane = shim_lane();
    const unsigned from = lane ^ (unsigned)bits;
    return shim_shuffle(mask, own, from % SHIM_WARP, from / (unsigned)width == lane / (unsigned)width);
}

template <typename T> static inline T __shfl_down_sync(unsigned mask, T own, unsigned by, int width = SHIM_WARP)
{
    const unsigned lane = shim_lane();
    const unsigned from = lane + by;
    return shim_shuffle(mask, own, from % SHIM_WARP, from / (unsigned)width == lane / (unsigned)width);
}

template <typename T> static inline T __shfl_up_sync(unsigned mask, T own, unsigned by, int width = SHIM_WARP)
{
    const unsigned lane = shim_lane();
    const bool inside = lane % (unsigned)width >= by;
    return shim_shuffle(mask, own, (lane - by) % SHIM_WARP, inside);
}

static inline unsigned __ballot_sync(unsigned mask, int holds)
{
    const uint64_t *words = shim_wait_warp(mask, holds != 0 ? 1 : 0);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < SHIM_WARP; ++lane) {
        bits |= (mask >> lane & 1u) != 0 && words[lane] != 0 ? 1u << lane : 0u;
    }
    return bits;
}

static inline int __any_sync(unsigned mask, int holds)
{
    return __ballot_sync(mask, holds) != 0 ? 1 : 0;
}

/* Blocks run one after the other on one host thread: nothing is under way elsewhere. */
static inline void __threadfence()
{
}

template <typename T> static inline T atomicAdd(T *to, T by)
{
    const T before = *to;
    *to += by;
    return before;
}

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

template <typename T> static inline T __ldg(const T *at)
{
    return *at;
}

/* Rounded each, never fused into one operation. */
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}

static inline float __fadd_rn(float a, float b)
{
    return a + b;
}

static inline double __dmul_rn(double a, double b)
{
    return a * b;
}

static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
