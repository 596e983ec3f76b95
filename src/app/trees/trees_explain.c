/* app/trees/trees_explain.c: what each column adds to the answers of boosted trees. */
#include <string.h>

#include "app/trees/trees_job.h"
#include "base/integer/integers.h"
#include "trees/shap/tree_shap.h"

/* Rows that are explained together: tables of the trees are made anew for each chunk, whose shares take so many
 * bytes. */
enum { LEAST_CHUNK = 1024, MOST_CHUNK = 1 << 16, CHUNK_BYTES = 64 << 20 };

static int64_t chunk_rows(int64_t width)
{
    const int64_t rows = CHUNK_BYTES / (width * (int64_t)sizeof(double));
    return larger(smaller(rows, MOST_CHUNK), LEAST_CHUNK);
}

/* phi: [rows, outputs of the forest, columns + 1]. Of two classes the first answers 0 whatever comes in. */
static void copy_rows(const trees_job *job, const double *phi, int64_t rows, float *to)
{
    const int64_t width = job->forest.columns + 1, outputs = job->forest.outputs;
    const bool two = job->loss == TREE_LOSS_LOGISTIC;
    for (int64_t i = 0; i < rows; ++i) {
        if (two) {
            memset(to, 0, (size_t)width * sizeof *to);
            to += width;
        }
        for (int64_t k = 0; k < outputs * width; ++k) {
            *to++ = (float)phi[i * outputs * width + k];
        }
    }
}

weft_status trees_explain(const workload *work, int64_t step, const float **contribution, int64_t *rows)
{
    trees_job *job = work->self;
    const int64_t width = job->forest.columns + 1, all = job->rows.data.rows;
    const int64_t chunk = smaller(chunk_rows(job->forest.outputs * width), all > 0 ? all : 1);
    double *phi = NULL;
    (void)step; /* an evaluation is one step */
    weft_free(job->shares);
    job->shares = NULL;
    weft_status status = WEFT_NEW(&job->shares, all * work->outputs * width, WEFT_MEM_TREES);
    status = status == WEFT_OK ? WEFT_NEW(&phi, chunk * job->forest.outputs * width, WEFT_MEM_WORKSPACE) : status;
    for (int64_t first = 0; first < all && status == WEFT_OK; first += chunk) {
        const int64_t count = smaller(chunk, all - first);
        status = tree_shap(&job->forest, &job->rows.data, first, count, work->context->hal->threads, phi);
        copy_rows(job, phi, status == WEFT_OK ? count : 0, job->shares + first * work->outputs * width);
    }
    weft_free(phi);
    *contribution = job->shares;
    *rows = all;
    return status;
}
