/*
 * hal/cuda/factor/eigen.cu: eigenvalues: Jacobi rotations, a block a matrix. The pairs of rows that are rotated at
 * once have no row in common: they are a round of a tournament, in which each row meets every other row once a sweep.
 */
#include <assert.h>

#include "hal/cuda/factor/cuda_factor.h"
#include "hal/cuda/kernels/cuda_kernels.h"

enum { SWEEPS = 60 };
static constexpr double LEAST_ROTATED = 0x1p-126; /* an element of this magnitude needs no rotation */

/* A matrix that is rotated until it is diagonal, by its block. Round r of a tournament of `players`, an even number:
 * pair 0 is the last player and player r, pair k the players k places in front of r and behind it. */
template <typename real> struct rotated {
    int64_t n, lda, ldv, players;
    real *a, *v;
    double *cosine, *sine; /* [players / 2] of the pairs of a round */

    /* Returns false if the pair has nobody to play with. */
    __device__ bool pair_of(int64_t round, int64_t k, int64_t *p, int64_t *q) const
    {
        const int64_t turns = players - 1;
        const int64_t one = k == 0 ? turns : (round + k) % turns;
        const int64_t other = k == 0 ? round : (round - k + turns) % turns;
        *p = one < other ? one : other;
        *q = one < other ? other : one;
        return *q < n;
    }

    /* The rotation that clears element (p, q) of pair k. Returns the element's square. */
    __device__ double choose(int64_t round, int64_t k) const
    {
        int64_t p = 0;
        int64_t q = 0;
        cosine[k] = 1.0;
        sine[k] = 0.0;
        if (!pair_of(round, k, &p, &q)) {
            return 0.0;
        }
        const double element = (double)a[p * lda + q];
        if (fabs(element) > LEAST_ROTATED) {
            const double theta = ((double)a[q * lda + q] - (double)a[p * lda + p]) / (2.0 * element);
            const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
            cosine[k] = 1.0 / sqrt(t * t + 1.0);
            sine[k] = t * cosine[k];
        }
        return element * element;
    }

    __device__ void turn(int64_t k, real *x, real *y) const
    {
        const double before = (double)*x;
        const double behind = (double)*y;
        *x = (real)(cosine[k] * before - sine[k] * behind);
        *y = (real)(sine[k] * before + cosine[k] * behind);
    }

    /* Rows p and q of a and of v; rows of different pairs are different rows. */
    __device__ void turn_rows(int64_t round) const
    {
        for (int64_t at = threadIdx.x; at < players / 2 * n; at += CUDA_BLOCK) {
            const int64_t k = at / n;
            const int64_t j = at % n;
            int64_t p = 0;
            int64_t q = 0;
            if (pair_of(round, k, &p, &q) && sine[k] != 0.0) {
                turn(k, a + p * lda + j, a + q * lda + j);
                turn(k, v + p * ldv + j, v + q * ldv + j);
            }
        }
    }

    /* Columns p and q of a, whose elements (p, q) and (q, p) are zeros behind it. */
    __device__ void turn_columns(int64_t round) const
    {
        for (int64_t at = threadIdx.x; at < players / 2 * n; at += CUDA_BLOCK) {
            const int64_t i = at / (players / 2);
            const int64_t k = at % (players / 2);
            int64_t p = 0;
            int64_t q = 0;
            if (pair_of(round, k, &p, &q) && sine[k] != 0.0) {
                turn(k, a + i * lda + p, a + i * lda + q);
                if (i == p || i == q) {
                    a[i * lda + p + q - i] = (real)0;
                }
            }
        }
    }

    /* Returns the sum of squares above the diagonal as each was before its rotation. */
    __device__ double sweep() const
    {
        double own = 0.0;
        for (int64_t round = 0; round < players - 1; ++round) {
            for (int64_t k = threadIdx.x; k < players / 2; k += CUDA_BLOCK) {
                own += choose(round, k);
            }
            __syncthreads();
            turn_rows(round);
            __syncthreads();
            turn_columns(round);
            __syncthreads();
        }
        return factor_join(factor_sum(), own);
    }

    /* The upper triangle of a = the lower one, v = the identity. Returns the sum of all squares. */
    __device__ double start() const
    {
        double own = 0.0;
        for (int64_t i = threadIdx.x; i < n; i += CUDA_BLOCK) {
            for (int64_t j = 0; j <= i; ++j) {
                const double element = (double)a[i * lda + j];
                a[j * lda + i] = a[i * lda + j];
                v[i * ldv + j] = v[j * ldv + i] = (real)(i == j);
                own += element * element * (i == j ? 1.0 : 2.0);
            }
        }
        return factor_join(factor_sum(), own);
    }

    /* Values and rows of v into ascending order, by way of a. value: [n]; place: [n] */
    __device__ void sort(real *values, double *value, double *place) const
    {
        for (int64_t i = threadIdx.x; i < n; i += CUDA_BLOCK) {
            value[i] = (double)a[i * lda + i];
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < n; i += CUDA_BLOCK) {
            int64_t before = 0;
            for (int64_t j = 0; j < n; ++j) {
                before += value[j] < value[i] || (value[j] == value[i] && j < i) ? 1 : 0;
            }
            place[i] = (double)before;
            values[before] = (real)value[i];
        }
        for (int64_t at = threadIdx.x; at < n * n; at += CUDA_BLOCK) {
            a[at / n * lda + at % n] = v[at / n * ldv + at % n];
        }
        __syncthreads();
        for (int64_t at = threadIdx.x; at < n * n; at += CUDA_BLOCK) {
            v[(int64_t)place[at / n] * ldv + at % n] = a[at / n * lda + at % n];
        }
    }
};

/* failed: info of the library for matrices that it has made, or NULL: those with 0 are left as they are. */
template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    syevd_kernel(cuda_mat<real> all, cuda_mat<real> vectors, cuda_mat<real> values, int32_t *info,
                 const int32_t *failed, double *scratch)
{
    const int64_t n = all.cols;
    const int64_t i = blockIdx.x;
    const int64_t players = n + n % 2;
    double *own = scratch + i * factor_rotations(n);
    if (failed != nullptr && failed[i] == 0) {
        return;
    }
    const rotated<real> matrix = {n,
                                  all.ld,
                                  vectors.ld,
                                  players,
                                  all.at(i * n, 0),
                                  vectors.at(i * n, 0),
                                  own,
                                  own + players / 2};
    int32_t bad = factor_bad_row(n, matrix.a, all.ld);
    if (bad == 0) {
        const double enough = factor_limits<real>::EPSILON * factor_limits<real>::EPSILON * matrix.start();
        double off = INFINITY;
        for (int sweep = 0; sweep < SWEEPS && off > enough; ++sweep) {
            off = matrix.sweep();
        }
        matrix.sort(values.at(i, 0), own + players, own + players + n);
        bad = off > enough ? (int32_t)(n + 1) : 0;
    }
    if (threadIdx.x == 0) {
        info[i] = bad;
    }
}

/* vectors = a, or the identity where a has a number that is not finite, for which the library has no rules. */
template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    hand_over_kernel(cuda_mat<real> all, cuda_mat<real> vectors, int32_t *info)
{
    const int64_t n = all.cols;
    const int64_t first = (int64_t)blockIdx.x * n;
    const int32_t bad = factor_bad_row(n, all.at(first, 0), all.ld);
    for (int64_t at = threadIdx.x; at < n * n; at += CUDA_BLOCK) {
        const int64_t i = at / n;
        const int64_t j = at % n;
        *vectors.at(first + i, j) = bad == 0 ? *all.at(first + i, j) : (real)(i == j);
    }
    if (threadIdx.x == 0) {
        info[blockIdx.x] = bad;
    }
}

template <typename real> static int syevd(cuda_queue *queue, const hal_syevd_args *a)
{
    const cuda_mat<real> all = cuda_mat_of<real>(a->a);
    const cuda_mat<real> vectors = cuda_mat_of<real>(a->vectors);
    const cuda_mat<real> values = cuda_mat_of<real>(a->values);
    int32_t *info = cuda_data<int32_t>(a->info);
    factor_plan plan;
    void *own = nullptr;
    CUDA_TRY(factor_begin(queue, CUDA_SOLVER_SYEVD, a->a, a->a.cols, &plan, &own));
    const cuda_grid matrices = {plan.count, CUDA_BLOCK};
    int32_t *failed = plan.library ? static_cast<int32_t *>(own) : nullptr;
    double *rotations = reinterpret_cast<double *>(
        static_cast<char *>(own) + (plan.library ? factor_lines((size_t)plan.count * sizeof(int32_t)) : 0));
    if (plan.library) {
        CUDA_TRY(cuda_launch_teams(queue, matrices, hand_over_kernel<real>, all, vectors, info));
        plan.job.lda = a->vectors.ld;
        for (int64_t i = 0; i < plan.count; ++i) {
            plan.job.info = failed + i;
            plan.job.x = values.data + i * values.ld;
            CUDA_TRY(factor_solve<real>(queue, &plan, a->vectors, i));
        }
    }
    return cuda_launch_teams(queue, matrices, syevd_kernel<real>, all, vectors, values, info,
                             static_cast<const int32_t *>(failed), rotations);
}

CUDA_OP(syevd, CUDA_BY_REAL, a, syevd, a)
