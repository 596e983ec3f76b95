/*
 * hal/cpu/factor/own_eigen.c: eigenvalues and eigenvectors of a symmetric matrix in double.
 *
 *    A = Q T Q^T      n - 2 reflections make A tridiagonal; vector k of them stays in row k of A, right of the diagonal
 *    T = Z^T D Z      implicit QL; its plane rotations turn pairs of rows of Z, each thread for some of the columns
 *    rows of Z Q^T    the eigenvectors: the reflections in reverse order on each row
 *
 * About 9 n^3 operations, all of them along rows. G. H. Golub, C. F. Van Loan: Matrix Computations, sections 8.2 and
 * 8.3; J. H. Wilkinson, C. Reinsch: Handbook for Automatic Computation II, 1971, contributions II/2 and II/4.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "hal/cpu/factor/own_forms.h"
#include "hal/ref/ref_backend.h"

enum { TURNS = 60 /* iterations for one eigenvalue, at most */ };

/* A rotation of rows i and i + 1. */
typedef struct plane {
    double c, s;
} plane;

typedef struct eigen_state {
    int threads;
    int64_t n;
    double *a, *z; /* [n, n] */
    double *d, *e, *v, *p,
        *scale;    /* [n] diagonal of T, below it; vector under way, its product; 2 / |v|^2 of each vector */
    plane *planes; /* [n] rotations of one iteration */
} eigen_state;

size_t own_syevd_bytes(int64_t n)
{
    return ((size_t)(2 * n * n) + (size_t)(7 * n)) * sizeof(double);
}

static eigen_state state_of(int threads, int64_t n, void *work)
{
    double *next = work;
    eigen_state s = {.threads = threads, .n = n, .a = next, .z = next + n * n};
    next += 2 * n * n;
    double **const vector[] = {&s.d, &s.e, &s.v, &s.p, &s.scale};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; ++i, next += n) {
        *vector[i] = next;
    }
    s.planes = (plane *)(void *)next;
    return s;
}

/* ---- tridiagonal form -------------------------------------------------------------------------------------------- */

/* The reflection I - scale v v^T that leaves of x[m] its first element alone. Returns that element; x becomes v. */
static double reflection(int64_t m, double *x, double *scale)
{
    const double length = sqrt(dot(m, x, x));
    *scale = 0.0;
    if (!(length > 0.0) || length == fabs(x[0])) { /* nothing to clear */
        const double first = x[0];
        x[0] = 0.0;
        return first;
    }
    const double first = x[0] > 0.0 ? -length : length;
    x[0] -= first;
    *scale = 2.0 / dot(m, x, x);
    return first;
}

/* A22 = H A22 H for rows and columns behind k, with p = scale A22 v and w = p - scale / 2 (p . v) v: A22 -= v w^T + w
 * v^T. */
static void reflect_matrix(const eigen_state *s, int64_t k)
{
    const int64_t n = s->n;
    const int64_t first = k + 1;
    const double *v = s->v;
    double *p = s->p;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = first; i < n; ++i) {
        p[i] = s->scale[k] * dot(n - first, s->a + i * n + first, v + first);
    }
    const double half = 0.5 * s->scale[k] * dot(n - first, p + first, v + first);
    for (int64_t i = first; i < n; ++i) {
        p[i] -= half * v[i];
    }
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = first; i < n; ++i) {
        double *row = s->a + i * n;
        for (int64_t j = first; j < n; ++j) {
            row[j] -= v[i] * p[j] + p[i] * v[j];
        }
    }
}

static void make_tridiagonal(const eigen_state *s)
{
    const int64_t n = s->n;
    for (int64_t k = 0; k < n; ++k) {
        double *row = s->a + k * n;
        s->d[k] = row[k];
        s->e[k] = 0.0;
        s->scale[k] = 0.0;
        if (k + 1 < n) {
            s->e[k] = k + 2 < n ? reflection(n - k - 1, row + k + 1, &s->scale[k]) : row[k + 1];
        }
        if (s->scale[k] > 0.0) {
            memcpy(s->v + k + 1, row + k + 1, (size_t)(n - k - 1) * sizeof *s->v);
            reflect_matrix(s, k);
        }
    }
}

/* ---- QL ---------------------------------------------------------------------------------------------------------- */

/* Turns rows l .. l + count of Z: rotation i is of rows l + i and l + i + 1, the last one comes first. */
static void turn_rows(const eigen_state *s, int64_t l, int64_t count)
{
    const int64_t n = s->n;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; ++part) {
        const hal_span own = hal_split_rows(n, s->threads, part);
        for (int64_t i = count - 1; i >= 0; --i) {
            double *upper = s->z + (l + i) * n;
            double *lower = upper + n;
            const plane turn = s->planes[i];
            for (int64_t j = own.begin; j < own.end; ++j) {
                const double x = lower[j];
                lower[j] = turn.s * upper[j] + turn.c * x;
                upper[j] = turn.c * upper[j] - turn.s * x;
            }
        }
    }
}

/* The first row from l on behind which T falls apart. */
static int64_t end_of_block(const eigen_state *s, int64_t l)
{
    int64_t m = l;
    while (m + 1 < s->n && fabs(s->e[m]) > DBL_EPSILON * (fabs(s->d[m]) + fabs(s->d[m + 1]))) {
        ++m;
    }
    return m;
}

/* One QL iteration on rows l .. m of T, with Wilkinson's shift. */
static void iterate(const eigen_state *s, int64_t l, int64_t m)
{
    double *d = s->d;
    double *e = s->e;
    double g = (d[l + 1] - d[l]) / (2.0 * e[l]);
    double r = hypot(g, 1.0);
    g = d[m] - d[l] + e[l] / (g + copysign(r, g));
    double sine = 1.0;
    double cosine = 1.0;
    double p = 0.0;
    int64_t i = m - 1;
    for (; i >= l; --i) {
        const double f = sine * e[i];
        const double b = cosine * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0.0) { /* underflow: T falls apart at i + 1 */
            d[i + 1] -= p;
            e[m] = 0.0;
            break;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2.0 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        s->planes[i - l] = (plane){.c = cosine, .s = sine};
    }
    if (i < l) {
        d[l] -= p;
        e[l] = g;
        e[m] = 0.0;
        turn_rows(s, l, m - l);
    } else {
        memmove(s->planes, s->planes + (i + 1 - l), (size_t)(m - i - 1) * sizeof *s->planes);
        turn_rows(s, i + 1, m - i - 1);
    }
}

static bool diagonalise(const eigen_state *s)
{
    for (int64_t l = 0; l < s->n; ++l) {
        int turns = 0;
        for (int64_t m = end_of_block(s, l); m > l; m = end_of_block(s, l)) {
            if (turns++ == TURNS) {
                return false;
            }
            iterate(s, l, m);
        }
    }
    return true;
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* Each row of Z goes through the reflections, the last one first. */
static void turn_back(const eigen_state *s)
{
    const int64_t n = s->n;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < n; ++i) {
        double *row = s->z + i * n;
        for (int64_t k = n - 3; k >= 0; --k) {
            const double *v = s->a + k * n + k + 1;
            const double along = s->scale[k] * dot(n - k - 1, v, row + k + 1);
            for (int64_t j = 0; j < n - k - 1; ++j) {
                row[k + 1 + j] -= along * v[j];
            }
        }
    }
}

/* Values in ascending order with their rows of Z; of equal ones the earlier first. */
static void put_out(const eigen_state *s, const hal_mat *vectors, const hal_mat *values)
{
    for (int64_t i = 0; i < s->n; ++i) {
        int64_t least = 0;
        for (int64_t j = 1; j < s->n; ++j) {
            least = s->d[j] < s->d[least] ? j : least;
        }
        ref_store(values, 0, i, s->d[least]);
        for (int64_t j = 0; j < s->n; ++j) {
            ref_store(vectors, i, j, s->z[least * s->n + j]);
        }
        s->d[least] = INFINITY; /* taken */
    }
}

int32_t own_syevd(int threads, const hal_mat *a, const hal_mat *vectors, const hal_mat *values, void *work)
{
    const int64_t n = a->cols;
    const eigen_state s = state_of(threads, n, work);
    assert(a->rows == n && vectors->rows == n && values->cols == n);
    memset(s.z, 0, (size_t)(n * n) * sizeof *s.z);
    for (int64_t i = 0; i < n; ++i) {
        s.z[i * n + i] = 1.0;
        for (int64_t j = 0; j <= i; ++j) {
            s.a[i * n + j] = s.a[j * n + i] = ref_load(a, i, j);
        }
    }
    make_tridiagonal(&s);
    if (!diagonalise(&s)) {
        return (int32_t)(n + 1);
    }
    turn_back(&s);
    put_out(&s, vectors, values);
    return 0;
}
