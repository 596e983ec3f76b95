/* hal/cpu/cpu_rows.c: see cpu_rows.h. */
#include "hal/cpu/cpu_rows.h"

#include <assert.h>
#include <string.h>

#include "base/integer/search.h"

weft_status cpu_rows(weft_hal *hal, const cpu_rows_job *job, cpu_parts_left *left)
{
    enum { LINE = 64 };
    assert(job->rows >= 0 && job->work >= 0 && (left != NULL || job->own_bytes == 0));
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    size_t stride = (job->own_bytes + LINE - 1) / LINE * LINE;
    int parts = cpu_parts(hal, job->work);
    char *own = NULL;
    if (left != NULL) {
        WEFT_TRY(cpu_workspace(hal, (size_t)parts * stride, (void **)&own));
        *left = (cpu_parts_left){.own = own, .stride = stride, .parts = parts};
    }
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span span = hal_split_rows(job->rows, parts, part);
        cpu_piece piece = {.kernels = kernels, .first = span.begin, .rows = span.end - span.begin};
        if (own != NULL) {
            piece.own = own + (size_t)part * stride;
            memset(piece.own, 0, job->own_bytes);
        }
        job->run(&piece, job->args);
    }
    return WEFT_OK;
}

enum {
    LONG_ROWS = 64,
    CHUNKS = 8,
    COLUMNS = 16
}; /* long rows at most; chunks of rows a thread; columns go in such steps */

static int64_t row_of_edge(const int64_t *offset, int64_t rows, int64_t edge)
{
    int64_t place = 0;
    SEARCH_FIRST(place, rows - 1, offset[at + 1] <= edge);
    return place;
}

/* Rows with more than half of a thread's share of the edges, ascending. One of every `most` edges lies in each of
 * them. */
static int find_long_rows(const cpu_edge_job *job, int parts, int64_t found[LONG_ROWS])
{
    const int64_t *offset = job->offset->source;
    const int64_t edges = offset[job->rows], most = edges / (2 * (int64_t)parts) + 1;
    int count = 0;
    for (int64_t edge = most; edge < edges && count < LONG_ROWS; edge += most) {
        const int64_t row = row_of_edge(offset, job->rows, edge);
        if (offset[row + 1] - offset[row] > most && (count == 0 || found[count - 1] != row)) {
            found[count++] = row;
        }
    }
    return count;
}

/* Rows [begin, end) but the long ones. */
static void run_short_rows(const cpu_edge_job *job, const cpu_kernels *kernels, const int64_t *found, int count,
                           int64_t begin, int64_t end)
{
    for (int i = 0; i < count; ++i) {
        if (found[i] >= begin && found[i] < end) {
            job->run(kernels, job->args, begin, found[i]);
            begin = found[i] + 1;
        }
    }
    job->run(kernels, job->args, begin, end);
}

static void run_with_long_rows(const cpu_edge_job *job, const cpu_kernels *kernels, int parts, const int64_t *found,
                               int count)
{
    const int64_t *offset = job->offset->source;
    const int64_t step = ((job->cols + parts - 1) / parts + COLUMNS - 1) / COLUMNS * COLUMNS;
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < count * parts; ++i) {
            const int64_t col = i % parts * step;
            if (col < job->cols) {
                const int64_t cols = job->cols - col < step ? job->cols - col : step;
                job->run_columns(kernels, job->args, found[i / parts], col, cols);
            }
        }
#pragma omp for schedule(dynamic)
        for (int chunk = 0; chunk < CHUNKS * parts; ++chunk) {
            const hal_span own = hal_split_csr(offset, job->rows, CHUNKS * parts, chunk);
            run_short_rows(job, kernels, found, count, own.begin, own.end);
        }
    }
}

weft_status cpu_edge_rows(weft_hal *hal, const cpu_edge_job *job)
{
    const int64_t *offset = job->offset->source;
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    int64_t found[LONG_ROWS];
    if (job->rows == 0) {
        return WEFT_OK;
    }
    assert(job->offset->rows == job->rows + 1);
    const int parts = cpu_parts(hal, (offset[job->rows] + job->rows) * job->width);
    const int count = job->run_columns != NULL && parts > 1 ? find_long_rows(job, parts, found) : 0;
    if (count > 0) {
        run_with_long_rows(job, kernels, parts, found, count);
        return WEFT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span own = hal_split_csr(offset, job->rows, parts, part);
        job->run(kernels, job->args, own.begin, own.end);
    }
    return WEFT_OK;
}
