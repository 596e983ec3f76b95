/*
 * gnn/data/features/spectral.c: see gnn/data/features/spectral.h.
 *
 * Chebyshev-filtered subspace iteration: a block of m > D vectors is multiplied by a polynomial of S that is small on
 * [-1, cut] and grows fast above, made orthonormal, and turned to the Ritz vectors of S in it (Rayleigh-Ritz). `cut` is
 * the smallest Ritz value of the step before.
 *
 *   X = random;  repeat:  X = p(S) X;  X = orth(X);  X'SX = V T V';  X = X V;  until |S x - t x| <= TOLERANCE for D of
 * them
 *
 * A step costs DEGREE + 1 products with S and a few of [n, m] by [m, m]. Memory: 16 bytes times n m, and the graph
 * without directions where it has some. Y. Zhou, Y. Saad: A Chebyshev-Davidson algorithm for large symmetric
 * eigenproblems. SIAM Journal on Matrix Analysis and Applications 29, 2007, doi:10.1137/050630404
 */
#include "gnn/data/features/spectral.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "base/philox.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/features/spectral_dense.h"
#include "graph/graph.h"
#include "hal/devices.h"
#include "hal/hal.h"
#include "io/store/store_options.def"
#include "machine/placement.h"
#include "partition/cover/adjacency.h"

enum { DEGREE = 20, STEPS = 200, SPARE_LEAST = 8 };
#define TOLERANCE 1e-6
#define NOISE     1e-9
#define CUT_LEAST (-0.99)    /* the filter needs an interval below it */
#define CUT_MOST  (1 - 1e-9) /* and one above */

typedef struct solver {
    weft_hal *hal; /* of one thread, so that factorisations have the same bits for every number of threads */
    int64_t n, m, wanted;
    adjacency graph;
    pair_list pairs;
    double *scale;             /* [n] 1 / sqrt(degree), 0 without edges */
    double *x, *y;             /* [n, m] */
    double *gram, *turn;       /* [m, m] */
    double *partial, *row;     /* workspace */
    double *values, *residual; /* [m] */
} solver;

static void solver_free(solver *s)
{
    adjacency_free(&s->graph);
    pair_list_free(&s->pairs);
    double *blocks[] = {s->scale, s->x, s->y, s->gram, s->turn, s->partial, s->row, s->values, s->residual};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        weft_free(blocks[i]);
    }
    weft_hal_close(s->hal);
}

static weft_status check_memory(const solver *s, int64_t edges, bool symmetric, int64_t memory_bytes)
{
    const uint64_t available = placement_memory_available();
    const uint64_t limit = memory_bytes > 0 ? (uint64_t)memory_bytes : available / 2;
    const uint64_t needed =
        (uint64_t)s->n * (16 * (uint64_t)s->m + 4 * (uint64_t)s->wanted + 16) + (uint64_t)edges * (symmetric ? 2 : 12);
    WEFT_CHECK(needed <= limit, WEFT_ERR_RESOURCE,
               FLAG_FEATURES " spectral:%" PRId64 ": takes %s of memory for %" PRId64
                             " vertices, %s are allowed (" FLAG_MEMORY "): fewer columns, or random:D",
               s->wanted, number_say_bytes(needed).text, s->n, number_say_bytes(limit).text);
    return WEFT_OK;
}

static weft_status solver_create(const weft_graph *graph, int64_t width, int64_t memory_bytes, solver *s)
{
    const int threads = omp_get_max_threads();
    const int64_t spare = width / 4 > SPARE_LEAST ? width / 4 : SPARE_LEAST;
    s->n = graph->vertices;
    s->wanted = width;
    s->m = width + spare < s->n ? width + spare : s->n;
    WEFT_CHECK(width <= s->n, WEFT_ERR_USAGE,
               FLAG_FEATURES " spectral:%" PRId64 ": the graph has %" PRId64 " vertices, and as many eigenvectors",
               width, s->n);
    WEFT_TRY(weft_hal_open(HAL_BACKEND_HOST, 1, &s->hal));
    WEFT_TRY(check_memory(s, graph->edges, graph->symmetric, memory_bytes));
    WEFT_TRY(pair_list_build(graph, threads, &s->pairs));
    WEFT_TRY(adjacency_build(graph, &s->pairs, threads, &s->graph));
    pair_list_free(&s->pairs);
    WEFT_TRY(WEFT_NEW(&s->scale, s->n, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->x, s->n * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->y, s->n * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->gram, s->m * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->turn, s->m * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->partial, DENSE_RUNS * s->m * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->row, threads * s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->values, s->m, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->residual, s->m, WEFT_MEM_WORKSPACE));
    for (int64_t v = 0; v < s->n; v++) {
        const int64_t degree = s->graph.offset[v + 1] - s->graph.offset[v];
        s->scale[v] = degree > 0 ? 1 / sqrt((double)degree) : 0;
    }
    return WEFT_OK;
}

/* x = keep x + noise of length `noise` a column: the start, and what keeps columns apart that the filter made one. */
static void disturb(const solver *s, uint64_t seed, int step, double keep, double noise)
{
    const double scale = noise / sqrt((double)s->n);
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < s->n; v++) {
        for (int64_t j = 0; j < s->m; j++) {
            const philox_block block =
                philox4x32(philox_counter((uint32_t)j, (uint64_t)v, WEFT_RNG_FEATURES, (uint32_t)step + 1), seed);
            const double drawn = scale * (double)philox_normal(block.word[0], block.word[1]);
            s->x[v * s->m + j] = keep != 0 ? keep * s->x[v * s->m + j] + drawn : drawn;
        }
    }
}

/* out = a (S x - c x) - b out, row by row: out may not be x. */
static void apply(const solver *s, const double *x, double a, double c, double b, double *out)
{
    const int64_t m = s->m;
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t v = 0; v < s->n; v++) {
        double *sum = s->row + omp_get_thread_num() * m;
        memset(sum, 0, (size_t)m * sizeof *sum);
        for (int64_t e = s->graph.offset[v]; e < s->graph.offset[v + 1]; e++) {
            const int64_t u = s->graph.neighbour[e];
            for (int64_t j = 0; j < m; j++) {
                sum[j] += s->scale[u] * x[u * m + j];
            }
        }
        for (int64_t j = 0; j < m; j++) {
            const double before = b != 0 ? b * out[v * m + j] : 0; /* what was never written is not read */
            out[v * m + j] = a * (s->scale[v] * sum[j] - c * x[v * m + j]) - before;
        }
    }
}

static void exchange(solver *s)
{
    double *x = s->x;
    s->x = s->y;
    s->y = x;
}

/* x = p(S) x: the Chebyshev polynomial of [-1, cut], scaled to 1 at the eigenvalue 1. */
static void filter(solver *s, double cut, log_progress *progress, double *products)
{
    const double half = (cut + 1) / 2, centre = (cut - 1) / 2, first = half / (1 - centre);
    double sigma = first;
    apply(s, s->x, sigma / half, centre, 0, s->y);
    for (int k = 2; k <= DEGREE; k++) {
        const double next = 1 / (2 / first - sigma);
        apply(s, s->y, 2 * next / half, centre, sigma * next, s->x);
        exchange(s);
        sigma = next;
        log_progress_update(progress, ++*products);
    }
    exchange(s);
}

/* The largest residual |S x - t x| of the wanted vectors; y holds S x. */
static double worst_residual(const solver *s)
{
    double worst = 0;
    memset(s->partial, 0, (size_t)(DENSE_RUNS * s->m) * sizeof *s->partial);
#pragma omp parallel for schedule(dynamic, 1)
    for (int run = 0; run < DENSE_RUNS; run++) {
        double *sum = s->partial + run * s->m;
        for (int64_t v = s->n * run / DENSE_RUNS; v < s->n * (run + 1) / DENSE_RUNS; v++) {
            for (int64_t j = 0; j < s->m; j++) {
                const double r = s->y[v * s->m + j] - s->values[j] * s->x[v * s->m + j];
                sum[j] += r * r;
            }
        }
    }
    for (int64_t j = 0; j < s->wanted; j++) {
        double sum = 0;
        for (int run = 0; run < DENSE_RUNS; run++) {
            sum += s->partial[run * s->m + j];
        }
        worst = sqrt(sum) > worst ? sqrt(sum) : worst;
    }
    return worst;
}

/* x orthonormal, then the Ritz vectors in their span, with their values; the residual comes back. */
static weft_status rayleigh_ritz(solver *s, double *residual)
{
    WEFT_TRY(dense_orthonormalise(s->hal, s->n, s->m, s->x, s->gram, s->partial));
    apply(s, s->x, 1, 0, 0, s->y);
    dense_gram(s->n, s->m, s->x, s->y, s->partial, s->gram);
    WEFT_TRY(dense_eigen(s->hal, s->m, s->gram, s->partial, s->turn, s->values));
    dense_multiply(s->n, s->m, s->x, s->turn, s->row);
    dense_multiply(s->n, s->m, s->y, s->turn, s->row);
    *residual = worst_residual(s);
    return WEFT_OK;
}

/* Residuals fall by about the same factor in each step: products that are still to come, so far as two steps tell. */
static double products_left(double before, double residual, int step)
{
    const double most = (double)(STEPS - step) * DEGREE;
    if (residual <= TOLERANCE || residual >= before) {
        return residual <= TOLERANCE ? 0 : most;
    }
    return fmin(most, DEGREE * ceil(log(residual / TOLERANCE) / log(before / residual)));
}

static weft_status iterate(solver *s, uint64_t seed)
{
    double residual = 0, products = 0;
    log_progress progress = log_progress_begin("spectral features", "products", 0);
    int step = 0;
    disturb(s, seed, step, 0, 1);
    dense_scale(s->n, s->m, s->x, s->gram, s->partial, s->row);
    WEFT_TRY(rayleigh_ritz(s, &residual));
    while (step < STEPS && residual > TOLERANCE) {
        step++;
        filter(s, fmin(fmax(s->values[s->m - 1], CUT_LEAST), CUT_MOST), &progress, &products);
        dense_scale(s->n, s->m, s->x, s->gram, s->partial, s->row);
        disturb(s, seed, step, 1, NOISE);
        const double before = residual;
        WEFT_TRY(rayleigh_ritz(s, &residual));
        products++;
        progress.total = products + products_left(before, residual, step);
        log_progress_update(&progress, products);
    }
    log_progress_end(&progress);
    if (residual > TOLERANCE) {
        log_warn(
            "spectral features: after %d steps the residual is %.2g, above %.0g: eigenvalues lie close to each other, "
            "and the vectors are mixtures of those",
            STEPS, residual, TOLERANCE);
    } else {
        log_info("spectral features: eigenvalues %.6g to %.6g, residual %.1g after %d steps", s->values[0],
                 s->values[s->wanted - 1], residual, step);
    }
    return WEFT_OK;
}

/* The wanted columns, each with its largest entry positive. */
static void choose(const solver *s, double *vectors)
{
    assert(s->wanted <= s->m);
    for (int64_t j = 0; j < s->wanted; j++) {
        double most = 0;
        for (int64_t v = 0; v < s->n; v++) { /* rounding must not decide between entries of one size */
            const double entry = s->x[v * s->m + j];
            most = fabs(entry) > fabs(most) * (1 + 1e-5) ? entry : most;
        }
        for (int64_t v = 0; v < s->n; v++) {
            vectors[v * s->wanted + j] = most < 0 ? -s->x[v * s->m + j] : s->x[v * s->m + j];
        }
    }
}

/* The vectors in double precision, of length 1, with their eigenvalues [width]. [out] vectors [n, width] */
static weft_status solve(const weft_graph *graph, int64_t width, uint64_t seed, int64_t memory_bytes, double **vectors,
                         double *values)
{
    solver s = {.x = NULL};
    weft_status status;
    *vectors = NULL;
    WEFT_TRY_GOTO(solver_create(graph, width, memory_bytes, &s), status, done);
    WEFT_TRY_GOTO(iterate(&s, seed), status, done);
    weft_free(s.y);
    s.y = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(vectors, s.n * width, WEFT_MEM_WORKSPACE), status, done);
    choose(&s, *vectors);
    memcpy(values, s.values, (size_t)width * sizeof *values);
done:
    solver_free(&s);
    return status;
}

weft_status spectral_features(const weft_graph *graph, int64_t width, uint64_t seed, int64_t memory_bytes,
                              float **matrix)
{
    double *vectors = NULL, *values = NULL;
    weft_status status;
    *matrix = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&values, width, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(solve(graph, width, seed, memory_bytes, &vectors, values), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(matrix, graph->vertices * width, WEFT_MEM_FEATURE), status, done);
    const double scale = sqrt((double)graph->vertices);
    for (int64_t i = 0; i < graph->vertices * width; i++) {
        (*matrix)[i] = (float)(scale * vectors[i]);
    }
done:
    WEFT_FREE_ALL(vectors, values);
    return status;
}
