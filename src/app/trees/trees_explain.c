/* app/trees/trees_explain.c: what each column adds to the answers of boosted trees. */
#include <string.h>

#include "app/trees/trees_job.h"
#include "trees/shap/tree_shap.h"

enum { CHUNK = 1024 };

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
    double *phi = NULL;
    (void)step; /* an evaluation is one step */
    weft_free(job->shares);
    job->shares = NULL;
    weft_status status = WEFT_NEW(&job->shares, all * work->outputs * width, WEFT_MEM_TREES);
    status = status == WEFT_OK ? WEFT_NEW(&phi, CHUNK * job->forest.outputs * width, WEFT_MEM_WORKSPACE) : status;
    for (int64_t first = 0; first < all && status == WEFT_OK; first += CHUNK) {
        const int64_t count = all - first < CHUNK ? all - first : CHUNK;
        status = tree_shap(&job->forest, &job->rows.data, first, count, work->context->hal->threads, phi);
        copy_rows(job, phi, status == WEFT_OK ? count : 0, job->shares + first * work->outputs * width);
    }
    weft_free(phi);
    *contribution = job->shares;
    *rows = all;
    return status;
}
