/* trees/shap/background_shap.c: see trees/shap/background_shap.h. */
#include "trees/shap/background_shap.h"

#include <assert.h>
#include <string.h>

#include "base/integer/integers.h"
#include "trees/shap/tree_shap.h"

enum { WORD = 64 };

/* Who meets the conditions of a column on the path so far. */
typedef enum column_state { BOTH, ROW_ALONE, BACKGROUND_ALONE } column_state;

/* A row in one tree, with one word of background rows. */
typedef struct background_walk {
    const weft_tree *tree;
    const float *row;     /* [columns] */
    const uint64_t *left; /* [nodes] the background rows that go left there */
    const double *share;  /* [side, side] (a - 1)! b! / (a + b)! */
    int side;
    uint8_t *state; /* [columns] of column_state; all BOTH between walks */
    double *phi;    /* [columns] */
} background_walk;

/* Over leaves below a node, times the background rows that reach them. */
typedef struct leaf_sums {
    double gained; /* what each column of A gains */
    double lost;   /* what each column of B loses */
} leaf_sums;

static leaf_sums visit(const background_walk *w, int32_t at, uint64_t rows, int a, int b)
{
    const tree_node *node = &w->tree->node[at];
    if (node->left < 0) {
        const double value = (double)node->value * __builtin_popcountll(rows);
        return (leaf_sums){value * w->share[a * w->side + b], value * w->share[b * w->side + a]};
    }
    uint8_t *state = &w->state[node->feature];
    const int right = tree_goes_left(w->tree, node, w->row[node->feature]) ? 0 : 1;
    const int32_t own = node->left + right, other = node->left + 1 - right;
    const uint64_t here = rows & (right != 0 ? ~w->left[at] : w->left[at]), there = rows & ~here;
    leaf_sums sum = {0.0, 0.0}, part;
    if (*state == ROW_ALONE) {
        return visit(w, own, rows, a, b);
    }
    if (here != 0) {
        sum = visit(w, own, here, a, b);
    }
    if (there == 0) {
        return sum;
    }
    if (*state == BOTH) {
        *state = ROW_ALONE;
        part = visit(w, own, there, a + 1, b);
        w->phi[node->feature] += part.gained;
        sum = (leaf_sums){sum.gained + part.gained, sum.lost + part.lost};
        *state = BACKGROUND_ALONE;
        part = visit(w, other, there, a, b + 1);
        w->phi[node->feature] -= part.lost;
        *state = BOTH;
    } else {
        part = visit(w, other, there, a, b);
    }
    return (leaf_sums){sum.gained + part.gained, sum.lost + part.lost};
}

/* ---- before the walks -------------------------------------------------------------------------------------------- */

/* Everything that rows share. */
typedef struct background_job {
    const weft_forest *forest;
    const float *background; /* [count, columns] */
    int64_t count, words;
    const float *value; /* [rows, columns] */
    int64_t rows;
    int side, threads;
    double *share;  /* [side, side] */
    uint64_t *left; /* [words, nodes of the tree] */
    uint8_t *state; /* [threads, columns] */
} background_job;

/* [out] side: one more than the splits on the longest path of a tree, and so than A and B together. */
static weft_status find_side(const weft_forest *forest, int *side)
{
    *side = 1;
    for (int t = 0; t < forest->trees; ++t) {
        int depth;
        WEFT_TRY(shap_depth(&forest->tree[t], &depth));
        *side = (int)larger(*side, depth + 1);
    }
    return WEFT_OK;
}

/* (a - 1)! b! / (a + b)! is 1 / (a C(a + b, b)); where a is 0 no column has a share. */
static void fill_shares(background_job *job)
{
    for (int a = 0; a < job->side; ++a) {
        double chosen = 1.0; /* C(a + b, b) */
        for (int b = 0; b < job->side; ++b) {
            job->share[a * job->side + b] = a > 0 ? 1.0 / (a * chosen) : 0.0;
            chosen *= (double)(a + b + 1) / (b + 1);
        }
    }
}

/* [out] left: of a tree. Returns the sum of its answers for the background. */
static double send_background(const background_job *job, const weft_tree *tree)
{
    const int columns = job->forest->columns;
    double sum = 0.0;
    memset(job->left, 0, (size_t)(job->words * tree->nodes) * sizeof *job->left);
    for (int64_t i = 0; i < job->count; ++i) {
        const float *row = job->background + i * columns;
        uint64_t *left = job->left + i / WORD * tree->nodes;
        for (int32_t n = 0; n < tree->nodes; ++n) {
            const tree_node *node = &tree->node[n];
            const bool goes = node->left >= 0 && tree_goes_left(tree, node, row[node->feature]);
            left[n] |= (uint64_t)goes << (i % WORD);
        }
        sum += (double)tree->node[tree_leaf(tree, row)].value;
    }
    return sum;
}

/* ---- all trees --------------------------------------------------------------------------------------------------- */

static void explain_row(const background_job *job, const weft_tree *tree, const float *row, uint8_t *state, double *phi)
{
    for (int64_t word = 0; word < job->words; ++word) {
        const int64_t rows = smaller(job->count - word * WORD, WORD);
        const background_walk w = {.tree = tree,
                                   .row = row,
                                   .left = job->left + word * tree->nodes,
                                   .share = job->share,
                                   .side = job->side,
                                   .state = state,
                                   .phi = phi};
        (void)visit(&w, 0, rows == WORD ? ~UINT64_C(0) : (UINT64_C(1) << rows) - 1, 0, 0);
    }
}

static void add_tree(const background_job *job, int t, double *phi)
{
    const weft_forest *forest = job->forest;
    const int64_t columns = forest->columns, width = columns + 1;
    const double sum = send_background(job, &forest->tree[t]);
#pragma omp parallel for schedule(static, 1) num_threads(job->threads)
    for (int part = 0; part < job->threads; ++part) {
        for (int64_t i = job->rows * part / job->threads; i < job->rows * (part + 1) / job->threads; ++i) {
            double *own = phi + (i * forest->outputs + t % forest->outputs) * width;
            explain_row(job, &forest->tree[t], job->value + i * columns, job->state + part * columns, own);
            own[columns] += sum;
        }
    }
}

/* Sums over the background become means. */
static void divide_sums(const background_job *job, double *phi)
{
    const int64_t width = job->forest->columns + 1, outputs = job->forest->outputs;
    for (int64_t i = 0; i < job->rows * outputs; ++i) {
        for (int64_t c = 0; c < width; ++c) {
            phi[i * width + c] /= (double)job->count;
        }
        phi[i * width + width - 1] += (double)job->forest->base[i % outputs];
    }
}

static weft_status take_memory(background_job *job, float **value)
{
    int32_t nodes = 1;
    for (int t = 0; t < job->forest->trees; ++t) {
        nodes = (int32_t)larger(nodes, job->forest->tree[t].nodes);
    }
    WEFT_TRY(WEFT_NEW(&job->share, (int64_t)job->side * job->side, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&job->left, job->words * nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&job->state, (int64_t)job->threads * job->forest->columns, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(value, job->rows * job->forest->columns, WEFT_MEM_WORKSPACE);
}

weft_status background_shap(const weft_forest *forest, const float *background, int64_t count, const tree_columns *data,
                            int64_t first, int64_t rows, int threads, double *phi)
{
    float *value = NULL;
    background_job job = {.forest = forest,
                          .background = background,
                          .count = count,
                          .words = (count + WORD - 1) / WORD,
                          .rows = rows,
                          .threads = threads};
    weft_status status = WEFT_OK;
    assert(count > 0 && data->columns == forest->columns && first >= 0 && first + rows <= data->rows);
    memset(phi, 0, (size_t)(rows * forest->outputs * (forest->columns + 1)) * sizeof *phi);
    WEFT_TRY(find_side(forest, &job.side));
    WEFT_TRY_GOTO(take_memory(&job, &value), status, done);
    WEFT_TRY_GOTO(tree_columns_rows(data, first, rows, value), status, done);
    job.value = value;
    fill_shares(&job);
    for (int t = 0; t < forest->trees; ++t) {
        add_tree(&job, t, phi);
    }
    divide_sums(&job, phi);
done:
    WEFT_FREE_ALL(value, job.share, job.left, job.state);
    return status;
}
