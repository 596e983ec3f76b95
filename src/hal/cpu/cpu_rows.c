/* hal/cpu/cpu_rows.c: see cpu_rows.h. */
#include "hal/cpu/cpu_rows.h"

#include <assert.h>
#include <string.h>

weft_status cpu_rows(weft_hal *hal, const cpu_rows_job *job, cpu_parts_left *left)
{
    enum { LINE = 64 };
    assert(job->rows >= 0 && job->work >= 0 && (left != NULL || job->own_bytes == 0));
    const cpu_kernels *kernels = cpu_state_of(hal)->kernels;
    size_t stride = (job->own_bytes + LINE - 1) / LINE * LINE;
    int parts = cpu_parts(hal, job->work);
    char *own = NULL;
    if (left != NULL) {
        WEFT_TRY(cpu_workspace(hal, (size_t)parts * stride, (void **)&own));
        *left = (cpu_parts_left){.own = own, .stride = stride, .parts = parts};
    }
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(job->rows, parts, part, &begin, &end);
        cpu_piece piece = {.kernels = kernels, .first = begin, .rows = end - begin};
        if (own != NULL) {
            piece.own = own + (size_t)part * stride;
            memset(piece.own, 0, job->own_bytes);
        }
        job->run(&piece, job->args);
    }
    return WEFT_OK;
}

weft_status cpu_edge_rows(weft_hal *hal, const cpu_edge_job *job)
{
    const int64_t *offset = job->offset->source;
    const cpu_kernels *kernels = cpu_state_of(hal)->kernels;
    if (job->rows == 0) {
        return WEFT_OK;
    }
    assert(job->offset->rows == job->rows + 1);
    const int parts = cpu_parts(hal, (offset[job->rows] + job->rows) * job->width);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_csr(offset, job->rows, parts, part, &begin, &end);
        job->run(kernels, job->args, begin, end);
    }
    return WEFT_OK;
}
