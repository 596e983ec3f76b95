/*
 * hal/cuda/shim/shim_solver.cpp: the calls of cuda_solver.h on the host's memory, by columns, as textbooks have them.
 * Like the library's they run in their stream's order, and late. It is as unhelpful as a library may be: a pivot that is
 * a NaN is not noticed, R has a negative diagonal, and eigenvalues of some sizes do not converge.
 */
#include <cmath>
#include <cstdio>

#include "hal/cuda/device/cuda_solver.h"
#include "hal/cuda/kernels/cuda_cells.h"

struct cuda_solver {
    cuda_queue queue;
};

namespace
{

/* Element (i, j) of a matrix by columns. */
template <typename real> struct matrix {
    real *data;
    int64_t ld;

    real &operator()(int64_t i, int64_t j) const
    {
        return data[j * ld + i];
    }
};

template <typename real> void potrf(cuda_solver_job job, matrix<real> a)
{
    *job.info = 0;
    for (int64_t j = 0; j < job.n; ++j) {
        for (int64_t i = 0; i <= j; ++i) {
            double sum = (double)a(i, j);
            for (int64_t k = 0; k < i; ++k) {
                sum -= (double)a(k, i) * (double)a(k, j);
            }
            if (i == j && sum <= 0.0) {
                *job.info = (int32_t)(j + 1);
                return;
            }
            a(i, j) = (real)(i == j ? sqrt(sum) : sum / (double)a(i, i));
        }
    }
}

/* y[n] = (U^T U)^-1 y */
template <typename real> void substitute(int64_t n, matrix<real> u, real *y)
{
    for (int64_t i = 0; i < n; ++i) {
        double sum = (double)y[i];
        for (int64_t k = 0; k < i; ++k) {
            sum -= (double)u(k, i) * (double)y[k];
        }
        y[i] = (real)(sum / (double)u(i, i));
    }
    for (int64_t i = n - 1; i >= 0; --i) {
        double sum = (double)y[i];
        for (int64_t k = i + 1; k < n; ++k) {
            sum -= (double)u(i, k) * (double)y[k];
        }
        y[i] = (real)(sum / (double)u(i, i));
    }
}

template <typename real> void potrs(cuda_solver_job job, matrix<real> a)
{
    *job.info = 0;
    for (int64_t side = 0; side < job.m; ++side) {
        substitute(job.n, a, static_cast<real *>(job.x) + side * job.ldx);
    }
}

/* Column by column of the identity, into the workspace first. */
template <typename real> void potri(cuda_solver_job job, matrix<real> a)
{
    const matrix<real> inverse = {static_cast<real *>(job.work), job.n};
    *job.info = 0;
    for (int64_t j = 0; j < job.n; ++j) {
        for (int64_t i = 0; i < job.n; ++i) {
            inverse(i, j) = (real)(i == j);
        }
        substitute(job.n, a, &inverse(0, j));
    }
    for (int64_t j = 0; j < job.n; ++j) {
        for (int64_t i = 0; i <= j; ++i) {
            a(i, j) = inverse(i, j);
        }
    }
}

/* Rotates columns p and q of x. */
template <typename real> void turn(int64_t n, matrix<real> x, int64_t p, int64_t q, double c, double s)
{
    for (int64_t k = 0; k < n; ++k) {
        const double before = (double)x(k, p);
        const double behind = (double)x(k, q);
        x(k, p) = (real)(c * before - s * behind);
        x(k, q) = (real)(s * before + c * behind);
    }
}

/* Orthogonal columns of a, by turning pairs of them (M. R. Hestenes: Inversion of matrices by biorthogonalization and
 * related results. J. SIAM 6, 1958): their lengths are the eigenvalues of a matrix without negative ones. */
template <typename real> void syevd(cuda_solver_job job, matrix<real> a)
{
    const int64_t n = job.n;
    const matrix<real> v = {static_cast<real *>(job.work), n};
    real *values = static_cast<real *>(job.x);
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            v(i, j) = (real)(i == j);
            a(i, j) = i <= j ? a(i, j) : a(j, i);
        }
    }
    for (int sweep = 0; sweep < 30; ++sweep) {
        for (int64_t p = 0; p < n; ++p) {
            for (int64_t q = p + 1; q < n; ++q) {
                double both[3] = {0.0, 0.0, 0.0};
                for (int64_t k = 0; k < n; ++k) {
                    both[0] += (double)a(k, p) * (double)a(k, p);
                    both[1] += (double)a(k, q) * (double)a(k, q);
                    both[2] += (double)a(k, p) * (double)a(k, q);
                }
                if (fabs(both[2]) > 1e-30) {
                    const double theta = (both[1] - both[0]) / (2.0 * both[2]);
                    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                    const double c = 1.0 / sqrt(t * t + 1.0);
                    turn(n, a, p, q, c, t * c);
                    turn(n, v, p, q, c, t * c);
                }
            }
        }
    }
    for (int64_t j = 0; j < n; ++j) { /* the place of column j is the number of shorter ones */
        double own = 0.0;
        int64_t place = 0;
        for (int64_t k = 0; k < n; ++k) {
            own += (double)a(k, j) * (double)a(k, j);
        }
        for (int64_t other = 0; other < n; ++other) {
            double length = 0.0;
            for (int64_t k = 0; k < n; ++k) {
                length += (double)a(k, other) * (double)a(k, other);
            }
            place += length < own || (length == own && other < j) ? 1 : 0;
        }
        values[place] = (real)sqrt(own);
        v(0, n + j) = (real)place;
    }
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            a(i, (int64_t)v(0, n + j)) = v(i, j);
        }
    }
    *job.info = n % 3 == 0 ? 1 : 0;
    for (int64_t j = 0; j < n && *job.info != 0; ++j) {
        values[j] = (real)NAN;
    }
}

/* c[rows, columns] loses 2 v v^T c / (v^T v), with v = 1 and the numbers below (j, j) of a, and tau = 2 / (v^T v). */
template <typename real>
void reflect(int64_t m, matrix<real> a, int64_t j, double tau, matrix<real> c, int64_t first, int64_t end)
{
    for (int64_t col = first; col < end; ++col) {
        double sum = (double)c(j, col);
        for (int64_t i = j + 1; i < m; ++i) {
            sum += (double)a(i, j) * (double)c(i, col);
        }
        c(j, col) = (real)((double)c(j, col) - tau * sum);
        for (int64_t i = j + 1; i < m; ++i) {
            c(i, col) = (real)((double)c(i, col) - tau * sum * (double)a(i, j));
        }
    }
}

template <typename real> void geqrf(cuda_solver_job job, matrix<real> a)
{
    real *tau = static_cast<real *>(job.x);
    *job.info = 0;
    for (int64_t j = 0; j < job.n; ++j) {
        double squares = 0.0;
        for (int64_t i = j; i < job.m; ++i) {
            squares += (double)a(i, j) * (double)a(i, j);
        }
        const double alpha = (double)a(j, j);
        const double beta = alpha > 0.0 ? -sqrt(squares) : sqrt(squares);
        tau[j] = (real)(beta == 0.0 ? 0.0 : (beta - alpha) / beta);
        for (int64_t i = j + 1; i < job.m && beta != 0.0; ++i) {
            a(i, j) = (real)((double)a(i, j) / (alpha - beta));
        }
        reflect(job.m, a, j, (double)tau[j], a, j + 1, job.n);
        a(j, j) = (real)beta;
    }
}

/* The columns of the identity, reflected from the last reflection to the first. */
template <typename real> void orgqr(cuda_solver_job job, matrix<real> a)
{
    const matrix<real> q = {static_cast<real *>(job.work), job.m};
    *job.info = 0;
    for (int64_t j = 0; j < job.n; ++j) {
        for (int64_t i = 0; i < job.m; ++i) {
            q(i, j) = (real)(i == j);
        }
    }
    for (int64_t j = job.n - 1; j >= 0; --j) {
        reflect(job.m, a, j, (double)static_cast<real *>(job.x)[j], q, 0, job.n);
    }
    for (int64_t j = 0; j < job.n; ++j) {
        for (int64_t i = 0; i < job.m; ++i) {
            a(i, j) = q(i, j);
        }
    }
}

template <typename real> void run(cuda_solver_job job)
{
    static void (*const calls[CUDA_SOLVER_CALLS])(cuda_solver_job, matrix<real>) = {
        potrf<real>, potri<real>, potrs<real>, syevd<real>, geqrf<real>, orgqr<real>};
    calls[job.call](job, {static_cast<real *>(job.a), job.lda});
}

} // namespace

/* Every second number of columns: the kernels of our own make the others. */
bool cuda_solver_takes(cuda_solver **solver, cuda_stream *stream, weft_dtype dtype, int64_t m, int64_t n)
{
    (void)dtype;
    (void)m;
    if (*solver == nullptr) {
        *solver = new cuda_solver{};
        (*solver)->queue.stream = stream;
        (*solver)->queue.processors = 1;
    }
    return n % 2 == 0;
}

int cuda_solver_workspace(cuda_solver *solver, cuda_solver_job *job, size_t *bytes)
{
    (void)solver;
    const int64_t more = job->call == CUDA_SOLVER_SYEVD ? 2 : 1; /* with places of eigenvectors */
    const bool none = job->call == CUDA_SOLVER_POTRS || job->call == CUDA_SOLVER_POTRF;
    job->elements = none ? 0 : (size_t)(more * (job->m > job->n ? job->m : job->n) * job->n);
    *bytes = job->elements * (job->dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float));
    return CUDA_DONE;
}

int cuda_solver_run(cuda_solver *solver, const cuda_solver_job *job)
{
    const cuda_grid once = {1, 1};
    return job->dtype == WEFT_DTYPE_F64 ? cuda_launch(&solver->queue, once, run<double>, *job)
                                        : cuda_launch(&solver->queue, once, run<float>, *job);
}

void cuda_solver_close(cuda_solver *solver)
{
    delete solver;
}

void cuda_solver_library(char *text, size_t bytes)
{
    snprintf(text, bytes, "cuSOLVER imitated too");
}
