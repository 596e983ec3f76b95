/*
 * hal/cuda/factor/cholesky.cu: plans of factorisations, and those of Cholesky: potrf, a block a matrix, column by
 * column; potri, a thread a column of the inverse factor, then a thread an element of its square; potrs, a thread a
 * right-hand side.
 */
#include <assert.h>

#include "hal/cuda/factor/cuda_factor.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static size_t own_bytes(const factor_plan *plan, cuda_solver_call call)
{
    const size_t n = (size_t)plan->n;
    const size_t count = (size_t)plan->count;
    const size_t infos = plan->library ? factor_lines(count * sizeof(int32_t)) : 0;
    switch (call) {
    case CUDA_SOLVER_POTRI:
        return plan->library ? infos : count * n * n * plan->cell;
    case CUDA_SOLVER_POTRS:
        return infos;
    case CUDA_SOLVER_SYEVD:
        return infos + count * (size_t)factor_rotations(plan->n) * sizeof(double);
    case CUDA_SOLVER_GEQRF: /* by the library: the transposed matrix, tau, signs */
        return plan->library ? infos + factor_lines((size_t)plan->m * n * plan->cell) + 2 * factor_lines(n * plan->cell)
                             : count * n * sizeof(double);
    default:
        return 0;
    }
}

static int plan_of(cuda_queue *queue, cuda_solver_call call, weft_dtype dtype, int64_t m, int64_t n, int64_t count,
                   factor_plan *plan)
{
    *plan = {};
    plan->m = m;
    plan->n = n;
    plan->count = count;
    plan->cell = dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float);
    plan->job.dtype = dtype;
    plan->job.m = m;
    plan->job.n = n;
    plan->job.lda = m;
    plan->library = cuda_solver_takes(&queue->solver, queue->stream, dtype, m, n);
    if (plan->library && call == CUDA_SOLVER_GEQRF) {
        plan->job.call = CUDA_SOLVER_ORGQR;
        CUDA_TRY(cuda_solver_workspace(queue->solver, &plan->job, &plan->work));
    }
    plan->job.call = call;
    if (plan->library) {
        size_t bytes = 0;
        CUDA_TRY(cuda_solver_workspace(queue->solver, &plan->job, &bytes));
        plan->work = factor_lines(bytes > plan->work ? bytes : plan->work);
    }
    plan->own = own_bytes(plan, call);
    return CUDA_DONE;
}

size_t cuda_scratch_factor(cuda_queue *queue, cuda_solver_call call, int64_t rows, int64_t cols, int64_t terms,
                           weft_dtype dtype)
{
    const int64_t m = call == CUDA_SOLVER_GEQRF ? terms : cols;
    factor_plan plan;
    if (m < 1 || plan_of(queue, call, dtype, m, cols, rows / m, &plan) != CUDA_DONE) {
        return 0;
    }
    return plan.work + plan.own;
}

int factor_begin(cuda_queue *queue, cuda_solver_call call, const hal_mat &a, int64_t rows, factor_plan *plan,
                 void **own)
{
    void *scratch = nullptr;
    *own = nullptr;
    CUDA_TRY(plan_of(queue, call, a.dtype, rows, a.cols, a.rows / rows, plan));
    if (plan->work + plan->own > 0) {
        CUDA_TRY(cuda_queue_scratch(queue, plan->work + plan->own, &scratch));
        plan->job.work = scratch;
        *own = static_cast<char *>(scratch) + plan->work;
    }
    plan->job.lda = a.ld;
    return CUDA_DONE;
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

/* Nobody reads a pivot's place after its column was begun, so the pivot may be written behind the barrier. */
template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK) potrf_kernel(cuda_mat<real> all, int32_t *info)
{
    const int64_t n = all.cols;
    real *a = all.at((int64_t)blockIdx.x * n, 0);
    int32_t bad = 0;
    for (int64_t j = 0; j < n && bad == 0; ++j) {
        const real *row = a + j * all.ld;
        const double pivot = (double)row[j] - factor_dot(j, row, row);
        const real root = (real)sqrt(pivot);
        bad = factor_pivot(pivot) ? 0 : (int32_t)(j + 1);
        for (int64_t i = j + 1 + threadIdx.x; i < n && bad == 0; i += CUDA_BLOCK) {
            real *below = a + i * all.ld;
            below[j] = (real)(((double)below[j] - factor_dot(j, below, row)) / (double)root);
        }
        __syncthreads();
        if (threadIdx.x == 0 && bad == 0) {
            a[j * all.ld + j] = root;
        }
    }
    if (threadIdx.x == 0) {
        info[blockIdx.x] = bad;
    }
}

/* The library may not notice a pivot that is no number: pivots in front of the one that it names are looked at. */
template <typename real> __global__ void pivot_kernel(cuda_mat<real> all, int64_t count, int32_t *info)
{
    const int64_t n = all.cols;
    for (int64_t i = cuda_first(); i < count; i += cuda_stride()) {
        const int64_t good = info[i] > 0 ? info[i] - 1 : n;
        for (int64_t j = good - 1; j >= 0; --j) {
            info[i] = factor_pivot((double)*all.at(i * n + j, j)) ? info[i] : (int32_t)(j + 1);
        }
    }
}

template <typename real> static int potrf(cuda_queue *queue, const hal_potrf_args *a)
{
    const cuda_mat<real> all = cuda_mat_of<real>(a->a);
    int32_t *info = cuda_data<int32_t>(a->info);
    factor_plan plan;
    void *own = nullptr;
    CUDA_TRY(factor_begin(queue, CUDA_SOLVER_POTRF, a->a, a->a.cols, &plan, &own));
    if (!plan.library) {
        return cuda_launch_teams(queue, {plan.count, CUDA_BLOCK}, potrf_kernel<real>, all, info);
    }
    for (int64_t i = 0; i < plan.count; ++i) {
        plan.job.info = info + i;
        CUDA_TRY(factor_solve<real>(queue, &plan, a->a, i));
    }
    return cuda_launch(queue, cuda_lines(queue, plan.count), pivot_kernel<real>, all, plan.count, info);
}

CUDA_OP(potrf, CUDA_BY_REAL, a, potrf, a)

/* Column j of the inverse of L, from its diagonal down. inverse: [count * n, n]. */
template <typename real> __global__ void invert_kernel(cuda_mat<real> all, real *inverse)
{
    const int64_t n = all.cols;
    for (int64_t at = cuda_first(); at < all.rows; at += cuda_stride()) {
        const int64_t first = at / n * n;
        const int64_t j = at - first;
        real *x = inverse + first * n + j;
        for (int64_t i = j; i < n; ++i) {
            const real *row = all.at(first + i, 0);
            double sum = i == j ? -1.0 : 0.0;
            for (int64_t k = j; k < i; ++k) {
                sum += (double)row[k] * (double)x[k * n];
            }
            x[i * n] = (real)(-sum / (double)row[i]);
        }
    }
}

/* a = X^T X of the lower triangle X, in both triangles. */
template <typename real> __global__ void square_kernel(cuda_mat<real> all, const real *inverse)
{
    const int64_t n = all.cols;
    for (int64_t at = cuda_first(); at < all.rows * n; at += cuda_stride()) {
        const int64_t first = at / n / n * n;
        const int64_t i = at / n - first;
        const int64_t j = at % n;
        const real *x = inverse + first * n;
        double sum = 0.0;
        for (int64_t k = i > j ? i : j; k < n; ++k) {
            sum += (double)x[k * n + i] * (double)x[k * n + j];
        }
        *all.at(first + i, j) = (real)sum;
    }
}

template <typename real> __global__ void mirror_kernel(cuda_mat<real> all)
{
    const int64_t n = all.cols;
    for (int64_t at = cuda_first(); at < all.rows * n; at += cuda_stride()) {
        const int64_t i = at / n % n;
        const int64_t j = at % n;
        if (j > i) {
            *all.at(at / n, j) = *all.at(at / n - i + j, i);
        }
    }
}

template <typename real> static int potri(cuda_queue *queue, const hal_potri_args *a)
{
    const cuda_mat<real> all = cuda_mat_of<real>(a->a);
    factor_plan plan;
    void *own = nullptr;
    CUDA_TRY(factor_begin(queue, CUDA_SOLVER_POTRI, a->a, a->a.cols, &plan, &own));
    const cuda_grid cells = cuda_lines(queue, all.rows * all.cols);
    if (!plan.library) {
        CUDA_TRY(cuda_launch(queue, cuda_lines(queue, all.rows), invert_kernel<real>, all, static_cast<real *>(own)));
        return cuda_launch(queue, cells, square_kernel<real>, all, static_cast<const real *>(own));
    }
    plan.job.info = static_cast<int32_t *>(own); /* says a zero pivot alone, which potrf told */
    for (int64_t i = 0; i < plan.count; ++i) {
        CUDA_TRY(factor_solve<real>(queue, &plan, a->a, i));
    }
    return cuda_launch(queue, cells, mirror_kernel<real>, all);
}

CUDA_OP(potri, CUDA_BY_REAL, a, potri, a)

/* sides: right-hand sides of a matrix. */
template <typename real> __global__ void potrs_kernel(cuda_mat<real> all, cuda_mat<real> right, int64_t sides)
{
    const int64_t n = all.cols;
    for (int64_t at = cuda_first(); at < right.rows; at += cuda_stride()) {
        const real *l = all.at(at / sides * n, 0);
        real *x = right.at(at, 0);
        for (int64_t i = 0; i < n; ++i) {
            const real *row = l + i * all.ld;
            x[i] = (real)(((double)x[i] - factor_dot(i, row, x)) / (double)row[i]);
        }
        for (int64_t i = n - 1; i >= 0; --i) {
            double sum = 0.0;
            for (int64_t k = i + 1; k < n; ++k) {
                sum += (double)l[k * all.ld + i] * (double)x[k];
            }
            x[i] = (real)(((double)x[i] - sum) / (double)l[i * all.ld + i]);
        }
    }
}

template <typename real> static int potrs(cuda_queue *queue, const hal_potrs_args *a)
{
    factor_plan plan;
    void *own = nullptr;
    CUDA_TRY(factor_begin(queue, CUDA_SOLVER_POTRS, a->a, a->a.cols, &plan, &own));
    const int64_t sides = a->x.rows / plan.count;
    assert(a->x.cols == plan.n && sides * plan.count == a->x.rows);
    if (!plan.library || sides > INT32_MAX) {
        return cuda_launch(queue, cuda_lines(queue, a->x.rows), potrs_kernel<real>, cuda_mat_of<real>(a->a),
                           cuda_mat_of<real>(a->x), sides);
    }
    plan.job.m = sides;
    plan.job.info = static_cast<int32_t *>(own);
    plan.job.ldx = a->x.ld;
    for (int64_t i = 0; i < plan.count; ++i) {
        plan.job.x = cuda_data<real>(a->x) + i * sides * a->x.ld;
        CUDA_TRY(factor_solve<real>(queue, &plan, a->a, i));
    }
    return CUDA_DONE;
}

int cuda_run_potrs(cuda_queue *queue, const hal_potrs_args *a)
{
    return cuda_empty(a->a) || a->x.rows == 0 ? CUDA_DONE : CUDA_BY_REAL(a->a.dtype, potrs, queue, a);
}
