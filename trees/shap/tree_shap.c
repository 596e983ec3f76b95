/*
 * trees/shap/tree_shap.c: see trees/shap/tree_shap.h.
 *
 * Let f = z (1 - t) + o t be the factor of a column, at each point t. The walk keeps the product P of the factors of
 * all columns on the path, and comes back from a child with S, the sum of weight v P over the leaves below it. An edge
 * of column j whose factor goes from fo to f
 *
 *     down    P <- P f / fo
 *     up      phi_j += (o - z) sum of S / f         the leaves below, with this edge's factor
 *             phi_j -= (oo - zo) sum of S / fo      if an edge above was of column j: it counts them, too
 *
 * z depends on the path alone, and o is 0 or 1, so f / fo and (o - z) / f take few values, which are tabled by edge:
 * the loop over rows compares and multiplies (shap_walk.h).
 *
 * Let d be the difference of those two factors of S. Along a path the d of a column's edges add up to (o - z) / f of
 * its last one, so interactions are a sum over pairs of edges, one above the other:
 *
 *     up      Phi_ij += 1/2 sum of d d' S           d: of this edge, of column j; d': of each edge above, of column i
 */
#include "trees/shap/tree_shap.h"

#include <assert.h>
#include <string.h>

#include "base/failure/failure.h"
#include "base/isa.h"
#include "trees/shap/shap_walk.h"

enum { LANES = SHAP_LANES };

/* Rows that are explained together, of one output at a time. */
typedef struct shap_job {
    const weft_forest *forest;
    const float *value; /* [blocks, columns, LANES] */
    int64_t rows, blocks;
    int threads, output;
    bool pairs;
    int64_t width; /* numbers of a row: columns, and pairs of columns where they are asked for */
    double *sum;   /* [blocks, width, LANES] */
    double mean;   /* what a row of which nothing is known answers */
} shap_job;

/* ---- a tree ------------------------------------------------------------------------------------------------------ */

static shap_visit *const visits[HAL_ISAS] = {
    [HAL_ISA_BASE] = shap_visit_base, [HAL_ISA_AVX2] = shap_visit_avx2, [HAL_ISA_AVX512] = shap_visit_avx512};

static weft_status walk_create(const shap_tree *s, bool pairs, shap_walk *w)
{
    const int64_t levels = s->depth + 1, numbers = levels * s->points * LANES;
    *w = (shap_walk){.s = s};
    WEFT_TRY(WEFT_NEW(&w->stack, 2 * numbers, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->path, levels, WEFT_MEM_WORKSPACE));
    WEFT_TRY(pairs ? WEFT_NEW(&w->edge, numbers, WEFT_MEM_WORKSPACE) : WEFT_OK);
    return WEFT_NEW(&w->met, (int64_t)s->tree->nodes * LANES, WEFT_MEM_WORKSPACE);
}

static void walk_block(const shap_job *job, int64_t block, shap_walk *w)
{
    const int64_t columns = job->forest->columns;
    double *p = shap_level(w, 0, 0);
    w->value = job->value + block * columns * LANES;
    w->phi = job->sum + block * job->width * LANES;
    w->pair = job->pairs ? w->phi + columns * LANES : NULL;
    for (int64_t i = 0; i < (int64_t)w->s->points * LANES; ++i) {
        p[i] = 1.0;
    }
    visits[hal_isa_best()](w, 0, 0);
}

static weft_status add_tree(shap_job *job, const weft_tree *tree)
{
    shap_tree s;
    const int threads = job->threads;
    first_failure failure = {.status = WEFT_OK};
    weft_status status;
    WEFT_TRY_GOTO(shap_tree_create(tree, &s), status, done);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; ++part) {
        shap_walk w = {0};
        const weft_status own = walk_create(&s, job->pairs, &w);
        const int64_t end = job->blocks * (part + 1) / threads;
        for (int64_t b = job->blocks * part / threads; own == WEFT_OK && b < end; ++b) {
            walk_block(job, b, &w);
        }
        WEFT_FREE_ALL(w.stack, w.path, w.edge, w.met);
        first_failure_note(&failure, part, own);
    }
    status = first_failure_tell(&failure);
    job->mean += s.mean;
done:
    shap_tree_destroy(&s);
    return status;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* [columns + 1] of a row. from: its lane of the first sum. */
static void write_columns(const shap_job *job, const double *from, double *to)
{
    const int64_t columns = job->forest->columns;
    for (int64_t c = 0; c < columns; ++c) {
        to[c] = from[c * LANES];
    }
    to[columns] = job->mean;
}

/* [columns + 1, columns + 1] of a row. What pairs do not share is a column's own. */
static void write_pairs(const shap_job *job, const double *from, double *to)
{
    const int64_t columns = job->forest->columns, width = columns + 1;
    for (int64_t j = 0; j < columns; ++j) {
        to[j * width + j] = from[j * LANES];
        to[j * width + columns] = to[columns * width + j] = 0.0;
    }
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            const double half = 0.5 * from[(columns + shap_pair(i, j)) * LANES];
            to[i * width + j] = to[j * width + i] = half;
            to[i * width + i] -= half;
            to[j * width + j] -= half;
        }
    }
    to[columns * width + columns] = job->mean;
}

static void write_rows(const shap_job *job, double *phi)
{
    const int64_t side = job->forest->columns + 1, each = job->pairs ? side * side : side;
#pragma omp parallel for schedule(static) num_threads(job->threads)
    for (int64_t i = 0; i < job->rows; ++i) {
        const double *from = job->sum + i / LANES * job->width * LANES + i % LANES;
        double *to = phi + (i * job->forest->outputs + job->output) * each;
        (job->pairs ? write_pairs : write_columns)(job, from, to);
    }
}

static weft_status add_output(shap_job *job, double *phi)
{
    const weft_forest *forest = job->forest;
    memset(job->sum, 0, (size_t)(job->blocks * job->width * LANES) * sizeof *job->sum);
    job->mean = (double)forest->base[job->output];
    for (int t = job->output; t < forest->trees; t += forest->outputs) {
        WEFT_TRY(add_tree(job, &forest->tree[t]));
    }
    write_rows(job, phi);
    return WEFT_OK;
}

static void read_blocks(const tree_columns *data, int64_t first, int64_t rows, float *value)
{
    for (int64_t block = 0; block * LANES < rows; ++block) {
        const int64_t count = rows - block * LANES < LANES ? rows - block * LANES : LANES;
        float *to = value + block * data->columns * LANES;
        memset(to, 0, (size_t)data->columns * LANES * sizeof *to);
        for (int c = 0; c < data->columns; ++c) {
            tree_column_read(&data->column[c], first + block * LANES, count, to + (int64_t)c * LANES);
        }
    }
}

static weft_status explain(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows,
                           int threads, bool pairs, double *phi)
{
    float *value = NULL;
    const int64_t columns = forest->columns;
    shap_job job = {.forest = forest, .rows = rows, .blocks = (rows + LANES - 1) / LANES, .threads = threads};
    weft_status status = WEFT_OK;
    assert(data->columns == columns && first >= 0 && first + rows <= data->rows);
    job.pairs = pairs;
    job.width = columns + (pairs ? columns * (columns - 1) / 2 : 0);
    WEFT_TRY_GOTO(WEFT_NEW(&value, job.blocks * columns * LANES, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&job.sum, job.blocks * job.width * LANES, WEFT_MEM_WORKSPACE), status, done);
    read_blocks(data, first, rows, value);
    job.value = value;
    for (; job.output < forest->outputs && status == WEFT_OK; ++job.output) {
        status = add_output(&job, phi);
    }
done:
    WEFT_FREE_ALL(value, job.sum);
    return status;
}

weft_status tree_shap(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows, int threads,
                      double *phi)
{
    return explain(forest, data, first, rows, threads, false, phi);
}

weft_status tree_shap_pairs(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows,
                            int threads, double *phi)
{
    return explain(forest, data, first, rows, threads, true, phi);
}
