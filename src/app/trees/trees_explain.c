/* app/trees/trees_explain.c: what each column adds to the answers of boosted trees, and which leaves make them. */
#include <string.h>

#include "app/trees/trees_background.h"
#include "app/trees/trees_job.h"
#include "base/integer/integers.h"
#include "trees/shap/background_shap.h"
#include "trees/shap/tree_shap.h"

/* Rows that are explained together: tables of the trees are made anew for each chunk, whose shares take so many
 * bytes. */
enum { LEAST_CHUNK = 1024, MOST_CHUNK = 1 << 16, CHUNK_BYTES = 64 << 20 };

/* One call of workload_ops.explain. */
typedef struct trees_explanation {
    trees_job *job;
    const explain_request *how;
    float *background; /* [count, columns]; NULL: by the paths of trees */
    int64_t count;
    int64_t width; /* numbers of an answer */
    int threads;
} trees_explanation;

static int64_t chunk_rows(int64_t width)
{
    const int64_t rows = CHUNK_BYTES / (width * (int64_t)sizeof(double));
    return larger(smaller(rows, MOST_CHUNK), LEAST_CHUNK);
}

static weft_status explain_chunk(const trees_explanation *e, int64_t first, int64_t rows, double *phi)
{
    const weft_forest *forest = &e->job->forest;
    const tree_columns *data = &e->job->rows.data;
    return e->background != NULL
               ? background_shap(forest, e->background, e->count, data, first, rows, e->threads, phi)
               : (e->how->pairs ? tree_shap_pairs : tree_shap)(forest, data, first, rows, e->threads, phi);
}

/* phi: [rows, outputs of the forest, width]. Of two classes the first answers 0 whatever comes in. */
static void copy_rows(const trees_explanation *e, const double *phi, int64_t rows, float *to)
{
    const int64_t numbers = e->job->forest.outputs * e->width;
    const bool two = e->job->loss == TREE_LOSS_LOGISTIC;
    for (int64_t i = 0; i < rows; ++i) {
        if (two) {
            memset(to, 0, (size_t)e->width * sizeof *to);
            to += e->width;
        }
        for (int64_t k = 0; k < numbers; ++k) {
            *to++ = (float)phi[i * numbers + k];
        }
    }
}

static weft_status explain_all(const trees_explanation *e, int64_t outputs)
{
    const int64_t all = e->job->rows.data.rows, each = e->job->forest.outputs * e->width;
    const int64_t chunk = smaller(chunk_rows(each), larger(all, 1));
    double *phi = NULL;
    WEFT_TRY(WEFT_NEW(&e->job->shares, all * outputs * e->width, WEFT_MEM_TREES));
    weft_status status = WEFT_NEW(&phi, chunk * each, WEFT_MEM_WORKSPACE);
    for (int64_t first = 0; first < all && status == WEFT_OK; first += chunk) {
        const int64_t rows = smaller(chunk, all - first);
        status = explain_chunk(e, first, rows, phi);
        copy_rows(e, phi, status == WEFT_OK ? rows : 0, e->job->shares + first * outputs * e->width);
    }
    weft_free(phi);
    return status;
}

weft_status trees_explain(const workload *work, const explain_request *how, int64_t step, const float **contribution,
                          int64_t *rows)
{
    trees_job *job = work->self;
    const int64_t side = job->forest.columns + 1;
    trees_explanation e = {.job = job, .how = how, .threads = work->context->hal->threads};
    (void)step; /* an evaluation is one step */
    WEFT_CHECK(!how->pairs || !how->against, WEFT_ERR_UNSUPPORTED,
               "pairs of columns are explained by the paths of trees, not against a background");
    e.width = how->pairs ? side * side : side;
    weft_free(job->shares);
    job->shares = NULL;
    weft_status status = how->against ? trees_background(work, how, &e.background, &e.count) : WEFT_OK;
    status = status == WEFT_OK ? explain_all(&e, work->outputs) : status;
    weft_free(e.background);
    *contribution = job->shares;
    *rows = job->rows.data.rows;
    return status;
}

const char *trees_input_name(const workload *work, int64_t input)
{
    return trees_column_name(work->self, (int)input);
}

weft_status trees_input_values(const workload *work, int64_t input, float *value)
{
    const tree_columns *data = &((const trees_job *)work->self)->rows.data;
    tree_column_read(&data->column[input], 0, data->rows, value);
    return WEFT_OK;
}

weft_status trees_detail(const workload *work, workload_detail which, void **word, int64_t *width)
{
    const trees_job *job = work->self;
    const weft_forest *forest = &job->forest;
    const tree_columns *data = &job->rows.data;
    const int threads = work->context->hal->threads;
    *width = which == DETAIL_LEAVES ? forest->trees : forest->outputs;
    WEFT_TRY(weft_malloc((size_t)(data->rows * *width), sizeof(float), WEFT_MEM_WORKSPACE, word));
    return which == DETAIL_LEAVES ? forest_leaves(forest, data, threads, *word)
                                  : forest_margins(forest, data, 0, forest->trees, threads, *word);
}
