/* backend/spmm_graphs.h: random graphs and operands of aggregation, and a run of a prepared matrix. */
#pragma once

#include "base/alloc.h"
#include "hal/hal.h"
#include "hal/share.h"
#include "support/open.h"

typedef struct graph {
    const char *name;
    int64_t rows, cols;
    int64_t *offset;
    int32_t *column;
    float *value; /* or NULL */
} graph;

static uint64_t random_state = 1;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Magnitudes near 1 with both signs. */
static inline double random_value(void)
{
    return (double)(next_random() >> 40) / (double)(1 << 23) - 1.0;
}

static inline graph new_graph(const char *name, int64_t rows, int64_t cols, const int64_t *degree)
{
    graph g = {.name = name, .rows = rows, .cols = cols};
    g.offset = malloc((size_t)(rows + 1) * sizeof *g.offset);
    g.offset[0] = 0;
    for (int64_t r = 0; r < rows; r++) {
        g.offset[r + 1] = g.offset[r] + degree[r];
    }
    g.column = malloc((size_t)(g.offset[rows] + 1) * sizeof *g.column);
    for (int64_t e = 0; e < g.offset[rows]; e++) {
        g.column[e] = (int32_t)(next_random() % (uint64_t)cols);
    }
    return g;
}

/* Posts that a common user has commented on are joined: users of 2 to 60 posts, most of them near each other. */
static inline graph forum_graph(const char *name, int posts, int users)
{
    enum { MOST = 60, NEAR = 200 };
    bool *joined = calloc((size_t)posts * (size_t)posts, sizeof *joined);
    int64_t *degree = calloc((size_t)posts, sizeof *degree);
    assert_true(joined != NULL && degree != NULL);
    for (int user = 0; user < users; user++) {
        int post[MOST];
        const int own = user % 10 == 0 ? MOST : 2 + user % 17;
        const int home = (int)(next_random() % (uint64_t)posts);
        for (int i = 0; i < own; i++) {
            post[i] = (home + (int)(next_random() % (uint64_t)(i % 9 == 8 ? posts : NEAR))) % posts;
        }
        for (int i = 0; i < own; i++) {
            for (int j = 0; j < own; j++) {
                joined[(int64_t)post[i] * posts + post[j]] = post[i] != post[j];
            }
        }
    }
    for (int64_t i = 0; i < (int64_t)posts * posts; i++) {
        degree[i / posts] += joined[i];
    }
    graph g = new_graph(name, posts, posts, degree);
    int64_t e = 0;
    for (int64_t i = 0; i < (int64_t)posts * posts; i++) {
        if (joined[i]) {
            g.column[e++] = (int32_t)(i % posts);
        }
    }
    free(joined);
    free(degree);
    return g;
}

static inline void free_graph(graph *g)
{
    free(g->offset);
    free(g->column);
    free(g->value);
}

/* One run, its operands by pointer; out has `rows` rows, x has `cols`. */
typedef struct flat_args {
    weft_dtype dtype;
    bool narrow, narrow_out; /* x, out: of bfloat16 instead */
    int64_t rows, cols, d;
    const void *x;
    int64_t ldx;
    const void *pre, *post, *diag;
    double beta;
    void *out;
    int64_t ldo;
    hal_spmm_part part;
    int slice, slices;
} flat_args;

/* Where the backend finds what the host has at `source`; NULL for nothing. On a device a copy, noted in *copy. */
static inline void *on_device(weft_hal *hal, const void *source, size_t bytes, void **copy)
{
    if (hal_host_visible(hal) || source == NULL || bytes == 0) {
        return (void *)(uintptr_t)source;
    }
    ASSERT_OK(hal->mem.alloc(hal, bytes, WEFT_MEM_GENERAL, copy));
    ASSERT_OK(hal->mem.upload(hal, *copy, source, bytes));
    return *copy;
}

static inline weft_status run_flat(weft_hal *hal, hal_spmm *spmm, const flat_args *a)
{
    enum { X, PRE, POST, DIAG, OUT, OPERANDS };
    const weft_dtype x = a->narrow ? WEFT_DTYPE_BF16 : a->dtype;
    const weft_dtype out = a->narrow_out ? WEFT_DTYPE_BF16 : a->dtype;
    const size_t cell = weft_dtype_bytes(a->dtype);
    const size_t out_bytes = (size_t)(a->rows * a->ldo) * weft_dtype_bytes(out);
    void *copy[OPERANDS] = {NULL};
    void *on[OPERANDS] = {on_device(hal, a->x, (size_t)(a->cols * a->ldx) * weft_dtype_bytes(x), &copy[X]),
                          on_device(hal, a->pre, (size_t)a->cols * cell, &copy[PRE]),
                          on_device(hal, a->post, (size_t)a->rows * cell, &copy[POST]),
                          on_device(hal, a->diag, (size_t)a->rows * cell, &copy[DIAG]),
                          on_device(hal, a->out, out_bytes, &copy[OUT])};
    const hal_spmm_run_args args = {.matrix = spmm,
                                    .x = hal_mat_from(on[X], x, a->cols, a->d, a->ldx),
                                    .pre = hal_column_from(on[PRE], a->dtype, a->pre != NULL ? a->cols : 0),
                                    .post = hal_column_from(on[POST], a->dtype, a->post != NULL ? a->rows : 0),
                                    .diag = hal_column_from(on[DIAG], a->dtype, a->diag != NULL ? a->rows : 0),
                                    .beta = a->beta,
                                    .out = hal_mat_of(on[OUT], out, a->rows, a->d, a->ldo),
                                    .part = a->part,
                                    .slice = a->slice,
                                    .slices = a->slices};
    weft_status status = hal_spmm_run(hal, &args);
    if (status == WEFT_OK && copy[OUT] != NULL) {
        status = hal->mem.download(hal, a->out, copy[OUT], out_bytes);
    }
    for (int i = 0; i < OPERANDS; i++) {
        hal->mem.free(hal, copy[i]);
    }
    return status;
}

/* Drawn from a pool at a random start: large operands cost no more than a copy. */
static inline float *random_floats(size_t count)
{
    enum { POOL = 8191 };
    static float pool[POOL];
    if (pool[0] == 0.0F) {
        for (int i = 0; i < POOL; i++) {
            pool[i] = (float)random_value();
        }
    }
    float *values = NULL;
    ASSERT_OK(WEFT_NEW(&values, count + 1, WEFT_MEM_GENERAL));
    size_t at = next_random() % POOL;
    for (size_t i = 0; i < count + 1; i++) {
        values[i] = pool[at];
        at = at + 1 < POOL ? at + 1 : 0;
    }
    return values;
}

/* Forms there are: a build may leave the last one out (WEFT_SHARED_SUMS). */
static inline int kinds_there(void)
{
    int64_t offset[] = {0, 1};
    int32_t column[] = {0};
    const hal_csr csr = {.rows = 1, .cols = 1, .offset = offset, .column = column};
    hal_shared_rows rows;
    const weft_status status = hal_share_find(&csr, true, 1, NULL, &rows);
    hal_shared_rows_free(&rows);
    return status == WEFT_ERR_UNSUPPORTED ? HAL_SPMM_SHARED : HAL_SPMM_KINDS;
}
