/* hal/ref/ref_factor_body.h: included by ref_factor.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_unpack_triangle)(const hal_unpack_triangle_args *args)
{
    const real *packed = args->packed.source;
    real *a = args->a.data;
    const int64_t n = args->a.cols;
    double trace = 0.0;
    assert(args->a.rows == n && args->packed.cols == hal_triangle(n));
    for (int64_t i = 0; i < n; ++i) {
        trace += (double)packed[hal_triangle(i) + i];
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            a[i * args->a.ld + j] = a[j * args->a.ld + i] = packed[hal_triangle(i) + j];
        }
        real *diagonal = &a[i * args->a.ld + i];
        *diagonal = (real)((double)*diagonal + args->shift + args->relative * trace / (double)n);
    }
    return WEFT_OK;
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

static double TYPED(dot)(int64_t n, const real *x, const real *y)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

/* Returns the info of potrf. */
static int32_t TYPED(cholesky)(int64_t n, real *a, int64_t ld)
{
    for (int64_t i = 0; i < n; ++i) {
        real *row = a + i * ld;
        for (int64_t j = 0; j < i; ++j) {
            row[j] = (real)(((double)row[j] - TYPED(dot)(j, row, a + j * ld)) / (double)a[j * ld + j]);
        }
        const double pivot = (double)row[i] - TYPED(dot)(i, row, row);
        if (!(pivot > 0.0 && pivot < INFINITY)) {
            return (int32_t)(i + 1);
        }
        row[i] = (real)sqrt(pivot);
    }
    return 0;
}

weft_status TYPED(ref_potrf)(const hal_potrf_args *args)
{
    const int64_t n = args->a.cols;
    for (int64_t i = 0; i < hal_squares(&args->a); ++i) {
        ((int32_t *)args->info.data)[i] = TYPED(cholesky)(n, (real *)args->a.data + i * n * args->a.ld, args->a.ld);
    }
    return WEFT_OK;
}

/* The lower triangle of a becomes its inverse, column by column. */
static void TYPED(invert_lower)(int64_t n, real *a, int64_t ld)
{
    for (int64_t j = 0; j < n; ++j) {
        a[j * ld + j] = (real)(1.0 / (double)a[j * ld + j]);
        for (int64_t i = j + 1; i < n; ++i) {
            double sum = 0.0;
            for (int64_t k = j; k < i; ++k) {
                sum += (double)a[i * ld + k] * (double)a[k * ld + j];
            }
            a[i * ld + j] = (real)(-sum / (double)a[i * ld + i]);
        }
    }
}

/* The lower triangle X of a becomes X^T X, in both triangles. Row i of the result reads rows i and below of X alone. */
static void TYPED(square_lower)(int64_t n, real *a, int64_t ld)
{
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (int64_t k = i; k < n; ++k) {
                sum += (double)a[k * ld + i] * (double)a[k * ld + j];
            }
            a[i * ld + j] = (real)sum;
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            a[j * ld + i] = a[i * ld + j];
        }
    }
}

weft_status TYPED(ref_potri)(const hal_potri_args *args)
{
    const int64_t n = args->a.cols;
    for (int64_t i = 0; i < hal_squares(&args->a); ++i) {
        real *a = (real *)args->a.data + i * n * args->a.ld;
        TYPED(invert_lower)(n, a, args->a.ld);
        TYPED(square_lower)(n, a, args->a.ld);
    }
    return WEFT_OK;
}

/* x = (L L^T)^-1 x, both triangular systems by rows of L. */
static void TYPED(solve)(int64_t n, const real *l, int64_t ld, real *x)
{
    for (int64_t i = 0; i < n; ++i) {
        x[i] = (real)(((double)x[i] - TYPED(dot)(i, l + i * ld, x)) / (double)l[i * ld + i]);
    }
    for (int64_t i = n - 1; i >= 0; --i) {
        double sum = 0.0;
        for (int64_t k = i + 1; k < n; ++k) {
            sum += (double)l[k * ld + i] * (double)x[k];
        }
        x[i] = (real)(((double)x[i] - sum) / (double)l[i * ld + i]);
    }
}

weft_status TYPED(ref_potrs)(const hal_potrs_args *args)
{
    const int64_t n = args->a.cols;
    const int64_t count = hal_squares(&args->a);
    assert(args->x.cols == n && (count == 0 || args->x.rows % count == 0));
    for (int64_t row = 0; row < args->x.rows && count > 0; ++row) {
        const int64_t matrix = row / (args->x.rows / count);
        TYPED(solve)
        (n, (const real *)args->a.source + matrix * n * args->a.ld, args->a.ld,
         (real *)args->x.data + row * args->x.ld);
    }
    return WEFT_OK;
}

/* ---- eigenvalues ------------------------------------------------------------------------------------------------- */

/* (x, y) = (c x - s y, s x + c y) for n pairs of numbers that lie `step` apart. */
static void TYPED(rotate_pairs)(int64_t n, real *x, real *y, int64_t step, double c, double s)
{
    for (int64_t k = 0; k < n; ++k) {
        const double before = (double)x[k * step];
        const double behind = (double)y[k * step];
        x[k * step] = (real)(c * before - s * behind);
        y[k * step] = (real)(s * before + c * behind);
    }
}

/* The rotation that clears element (p, q) of a: rows and columns p and q of a, rows of v. */
static void TYPED(rotate)(int64_t n, real *a, int64_t lda, real *v, int64_t ldv, int64_t p, int64_t q)
{
    assert(p >= 0 && p < q && q < n);
    const double theta = ((double)a[q * lda + q] - (double)a[p * lda + p]) / (2.0 * (double)a[p * lda + q]);
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0);
    TYPED(rotate_pairs)(n, a + p, a + q, lda, c, t * c);
    TYPED(rotate_pairs)(n, a + p * lda, a + q * lda, 1, c, t * c);
    a[p * lda + q] = a[q * lda + p] = (real)0;
    TYPED(rotate_pairs)(n, v + p * ldv, v + q * ldv, 1, c, t * c);
}

/* Returns the sum of squares above the diagonal as it was before each rotation of the sweep. */
static double TYPED(sweep)(int64_t n, real *a, int64_t lda, real *v, int64_t ldv)
{
    double off = 0.0;
    for (int64_t p = 0; p < n; ++p) {
        for (int64_t q = p + 1; q < n; ++q) {
            const double element = (double)a[p * lda + q];
            off += element * element;
            if (fabs(element) > (double)FLT_MIN) {
                TYPED(rotate)(n, a, lda, v, ldv, p, q);
            }
        }
    }
    return off;
}

/* The upper triangle = the lower one, and v = the identity. [out] size: sum of all squares. Returns the info of
 * syevd. */
static int32_t TYPED(begin_eigen)(int64_t n, real *a, int64_t lda, real *v, int64_t ldv, double *size)
{
    *size = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const double element = (double)a[i * lda + j];
            if (!isfinite(element)) {
                return (int32_t)(i + 1);
            }
            a[j * lda + i] = a[i * lda + j];
            v[i * ldv + j] = v[j * ldv + i] = (real)(i == j);
            *size += element * element * (i == j ? 1.0 : 2.0);
        }
    }
    return 0;
}

static void TYPED(swap_vectors)(int64_t n, real *values, real *v, int64_t ldv, int64_t i, int64_t j)
{
    const real value = values[i];
    values[i] = values[j];
    values[j] = value;
    for (int64_t k = 0; k < n; ++k) {
        const real element = v[i * ldv + k];
        v[i * ldv + k] = v[j * ldv + k];
        v[j * ldv + k] = element;
    }
}

static int32_t TYPED(eigen)(int64_t n, real *a, int64_t lda, real *v, int64_t ldv, real *values)
{
    double size = 0.0;
    const int32_t info = TYPED(begin_eigen)(n, a, lda, v, ldv, &size);
    double off = info == 0 ? INFINITY : 0.0;
    for (int sweep = 0; sweep < SWEEPS && off > EPSILON * EPSILON * size; ++sweep) {
        off = TYPED(sweep)(n, a, lda, v, ldv);
    }
    for (int64_t i = 0; i < n; ++i) {
        values[i] = a[i * lda + i];
    }
    for (int64_t i = 0; i < n && info == 0; ++i) { /* ascending; of equal values the earlier one first */
        int64_t least = i;
        for (int64_t j = i + 1; j < n; ++j) {
            least = values[j] < values[least] ? j : least;
        }
        TYPED(swap_vectors)(n, values, v, ldv, i, least);
    }
    return info != 0 ? info : off > EPSILON * EPSILON * size ? (int32_t)(n + 1) : 0;
}

weft_status TYPED(ref_syevd)(const hal_syevd_args *args)
{
    const int64_t n = args->a.cols;
    assert(args->vectors.rows == args->a.rows && args->vectors.cols == n);
    for (int64_t i = 0; i < hal_squares(&args->a); ++i) {
        ((int32_t *)args->info.data)[i] =
            TYPED(eigen)(n, (real *)args->a.data + i * n * args->a.ld, args->a.ld,
                         (real *)args->vectors.data + i * n * args->vectors.ld, args->vectors.ld,
                         (real *)args->values.data + i * args->values.ld);
    }
    return WEFT_OK;
}

/* ---- Q and R ----------------------------------------------------------------------------------------------------- */

/* The product of columns i and j of a[m, n]. */
static double TYPED(column_dot)(int64_t m, const real *a, int64_t ld, int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t r = 0; r < m; ++r) {
        sum += (double)a[r * ld + i] * (double)a[r * ld + j];
    }
    return sum;
}

/* Column j loses what it has in common with the columns before it, whose shares grow in column j of r. */
static void TYPED(take_out)(int64_t m, int64_t j, real *a, int64_t lda, real *r, int64_t ldr)
{
    for (int64_t k = 0; k < j; ++k) {
        const double share = TYPED(column_dot)(m, a, lda, k, j);
        r[k * ldr + j] = (real)((double)r[k * ldr + j] + share);
        for (int64_t i = 0; i < m; ++i) {
            a[i * lda + j] = (real)((double)a[i * lda + j] - share * (double)a[i * lda + k]);
        }
    }
}

static int32_t TYPED(orthonormalise)(int64_t m, int64_t n, real *a, int64_t lda, real *r, int64_t ldr)
{
    int32_t info = 0;
    for (int64_t j = 0; j < n; ++j) {
        const double before = sqrt(TYPED(column_dot)(m, a, lda, j, j));
        for (int64_t k = 0; k < n; ++k) {
            r[k * ldr + j] = (real)0;
        }
        TYPED(take_out)(m, j, a, lda, r, ldr);
        TYPED(take_out)(m, j, a, lda, r, ldr);
        const double length = sqrt(TYPED(column_dot)(m, a, lda, j, j));
        const bool depends = !(length > (double)(m + n) * EPSILON * before && length < INFINITY);
        info = info == 0 && depends ? (int32_t)(j + 1) : info;
        r[j * ldr + j] = (real)length;
        for (int64_t i = 0; i < m; ++i) {
            a[i * lda + j] = depends ? (real)0 : (real)((double)a[i * lda + j] / length);
        }
    }
    return info;
}

weft_status TYPED(ref_geqrf)(const hal_geqrf_args *args)
{
    const int64_t n = args->a.cols;
    const int64_t count = hal_squares(&args->r);
    const int64_t m = count > 0 ? args->a.rows / count : 0;
    assert(args->r.cols == n && m >= n && m * count == args->a.rows);
    for (int64_t i = 0; i < count; ++i) {
        ((int32_t *)args->info.data)[i] =
            TYPED(orthonormalise)(m, n, (real *)args->a.data + i * m * args->a.ld, args->a.ld,
                                  (real *)args->r.data + i * n * args->r.ld, args->r.ld);
    }
    return WEFT_OK;
}
