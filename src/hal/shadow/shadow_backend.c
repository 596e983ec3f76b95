/*
 * hal/shadow/shadow_backend.c: a backend for finding missing transfers: another backend's operations on memory that the
 * host cannot touch (shadow_memory.h). Every operation names its operands with their extents and whether it writes
 * them, opens them, runs the inner operation and closes them again. Slow by design: two system calls an operand.
 */
#include "base/log.h"
#include "hal/shadow/shadow_memory.h"

typedef struct shadow_state {
    weft_hal *inner;
    shadow_memory memory;
} shadow_state;

/* A prepared matrix with the shape that bounds its operands. */
struct hal_spmm {
    hal_spmm *inner;
    int64_t rows, cols;
};

static shadow_state *state_of(const weft_hal *hal)
{
    return (shadow_state *)hal->state;
}

/* ---- naming operands --------------------------------------------------------------------------------------------- */

enum { MOST_USES = 10 };

typedef struct operands {
    const char *op;
    weft_dtype dtype;
    shadow_use use[MOST_USES];
    int count;
} operands;

static void add_use(operands *o, shadow_access access, const char *name, const void *data, int64_t rows,
                    size_t row_bytes, size_t stride)
{
    o->use[o->count++] = (shadow_use){
        .name = name, .data = data, .rows = (size_t)rows, .row_bytes = row_bytes, .stride = stride, .access = access};
}

static void add_matrix(operands *o, shadow_access access, const char *name, const void *data, int64_t rows,
                       int64_t cols, int64_t ld)
{
    size_t size = weft_dtype_bytes(o->dtype);
    add_use(o, access, name, data, rows, (size_t)cols * size, (size_t)ld * size);
}

/* `bytes` long; NULL: an operand that was left out. */
static void add_bytes(operands *o, shadow_access access, const char *name, const void *data, size_t bytes)
{
    if (data != NULL) {
        add_use(o, access, name, data, 1, bytes, bytes);
    }
}

static void add_vector(operands *o, shadow_access access, const char *name, const void *data, int64_t count)
{
    add_bytes(o, access, name, data, (size_t)count * weft_dtype_bytes(o->dtype));
}

static shadow_access written(double beta)
{
    return beta == 0.0 ? SHADOW_FRESH : SHADOW_UPDATE;
}

/* Run an inner operation between opening and closing its operands. */
#define RUN_INNER(hal, o, call)                                                                                        \
    do {                                                                                                               \
        shadow_memory *run_memory_ = &state_of(hal)->memory;                                                           \
        WEFT_TRY(shadow_begin(run_memory_, (o)->op, (o)->use, (o)->count));                                            \
        weft_status run_status_ = (call);                                                                              \
        shadow_end(run_memory_, (o)->use, (o)->count);                                                                 \
        return run_status_;                                                                                            \
    } while (0)

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static weft_status shadow_mem_alloc(weft_hal *hal, size_t bytes, weft_mem_tag tag, void **device)
{
    return shadow_alloc(&state_of(hal)->memory, bytes, tag, device);
}

static void shadow_mem_free(weft_hal *hal, void *device)
{
    shadow_free(&state_of(hal)->memory, device);
}

static weft_status shadow_mem_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "upload"};
    add_bytes(&o, SHADOW_FRESH, "target", device, bytes);
    RUN_INNER(hal, &o, inner->mem.upload(inner, device, host, bytes));
}

static weft_status shadow_mem_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "download"};
    add_bytes(&o, SHADOW_READ, "source", device, bytes);
    RUN_INNER(hal, &o, inner->mem.download(inner, host, device, bytes));
}

static weft_status shadow_mem_copy(weft_hal *hal, void *device_to, const void *device_from, size_t bytes)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "copy"};
    add_bytes(&o, SHADOW_FRESH, "target", device_to, bytes);
    add_bytes(&o, SHADOW_READ, "source", device_from, bytes);
    RUN_INNER(hal, &o, inner->mem.copy(inner, device_to, device_from, bytes));
}

static weft_status shadow_mem_zero(weft_hal *hal, void *device, size_t bytes)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "zero"};
    add_bytes(&o, SHADOW_FRESH, "target", device, bytes);
    RUN_INNER(hal, &o, inner->mem.zero(inner, device, bytes));
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static weft_status shadow_gemm(weft_hal *hal, const hal_gemm *g)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "gemm", .dtype = g->dtype};
    add_matrix(&o, SHADOW_READ, "a", g->a, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda);
    add_matrix(&o, SHADOW_READ, "b", g->b, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb);
    add_matrix(&o, written(g->beta), "c", g->c, g->m, g->n, g->ldc);
    add_vector(&o, SHADOW_READ, "bias", g->bias, g->n);
    RUN_INNER(hal, &o, inner->dense.gemm(inner, g));
}

static weft_status shadow_col_sum(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *a, int64_t lda,
                                  double beta, void *out)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "col_sum", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "a", a, m, n, lda);
    add_vector(&o, written(beta), "out", out, n);
    RUN_INNER(hal, &o, inner->dense.col_sum(inner, dtype, m, n, a, lda, beta, out));
}

static weft_status shadow_axpby(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                                int64_t ldx, double beta, void *y, int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "axpby", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_matrix(&o, written(beta), "y", y, m, n, ldy);
    RUN_INNER(hal, &o, inner->dense.axpby(inner, dtype, m, n, alpha, x, ldx, beta, y, ldy));
}

static weft_status shadow_scale_rows(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *scale,
                                     const void *x, int64_t ldx, void *y, int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "scale_rows", .dtype = dtype};
    add_vector(&o, SHADOW_READ, "scale", scale, m);
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_matrix(&o, SHADOW_FRESH, "y", y, m, n, ldy);
    RUN_INNER(hal, &o, inner->dense.scale_rows(inner, dtype, m, n, scale, x, ldx, y, ldy));
}

/* The rows that an index list reaches; its entries are read here, between opening and closing the list. */
static weft_status rows_reached(weft_hal *hal, const char *op, const int32_t *index, int64_t count, int64_t *rows)
{
    shadow_memory *memory = &state_of(hal)->memory;
    operands o = {.op = op};
    add_bytes(&o, SHADOW_READ, "index", index, (size_t)count * sizeof *index);
    WEFT_TRY(shadow_begin(memory, op, o.use, o.count));
    weft_status status = WEFT_OK;
    *rows = 0;
    for (int64_t i = 0; i < count && status == WEFT_OK; ++i) {
        if (index[i] < 0) {
            status = weft_fail(WEFT_ERR_INTERNAL, "shadow: index %ld of %s is %ld", (long)i, op, (long)index[i]);
        }
        *rows = index[i] >= *rows ? (int64_t)index[i] + 1 : *rows;
    }
    shadow_end(memory, o.use, o.count);
    return status;
}

static weft_status shadow_gather_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                      const void *x, int64_t ldx, void *y, int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    int64_t rows = 0;
    WEFT_TRY(rows_reached(hal, "gather_rows", index, count, &rows));
    operands o = {.op = "gather_rows", .dtype = dtype};
    add_bytes(&o, SHADOW_READ, "index", index, (size_t)count * sizeof *index);
    add_matrix(&o, SHADOW_READ, "x", x, rows, n, ldx);
    add_matrix(&o, SHADOW_FRESH, "y", y, count, n, ldy);
    RUN_INNER(hal, &o, inner->dense.gather_rows(inner, dtype, count, n, index, x, ldx, y, ldy));
}

static weft_status shadow_scatter_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                       bool add, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    int64_t rows = 0;
    WEFT_TRY(rows_reached(hal, "scatter_rows", index, count, &rows));
    operands o = {.op = "scatter_rows", .dtype = dtype};
    add_bytes(&o, SHADOW_READ, "index", index, (size_t)count * sizeof *index);
    add_matrix(&o, SHADOW_READ, "x", x, count, n, ldx);
    add_matrix(&o, SHADOW_UPDATE, "y", y, rows, n, ldy);
    RUN_INNER(hal, &o, inner->dense.scatter_rows(inner, dtype, count, n, index, add, x, ldx, y, ldy));
}

/* ---- neural network ---------------------------------------------------------------------------------------------- */

static void add_row_ids(operands *o, const hal_dropout *dropout, int64_t m)
{
    if (dropout != NULL) {
        add_bytes(o, SHADOW_READ, "row ids", dropout->row_id, (size_t)m * sizeof *dropout->row_id);
    }
}

static weft_status shadow_act_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                      bool relu, const hal_dropout *dropout, void *y, int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "act_forward", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_matrix(&o, SHADOW_FRESH, "y", y, m, n, ldy);
    add_row_ids(&o, dropout, m);
    RUN_INNER(hal, &o, inner->nn.act_forward(inner, dtype, m, n, x, ldx, relu, dropout, y, ldy));
}

static weft_status shadow_act_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                       int64_t lddy, const void *y, int64_t ldy, bool relu, const hal_dropout *dropout,
                                       void *dx, int64_t lddx)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "act_backward", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "dy", dy, m, n, lddy);
    if (relu) {
        add_matrix(&o, SHADOW_READ, "y", y, m, n, ldy);
    }
    add_matrix(&o, SHADOW_FRESH, "dx", dx, m, n, lddx);
    add_row_ids(&o, dropout, m);
    RUN_INNER(hal, &o, inner->nn.act_backward(inner, dtype, m, n, dy, lddy, y, ldy, relu, dropout, dx, lddx));
}

static weft_status shadow_bn_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                   double *stats)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "bn_stats", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_bytes(&o, SHADOW_FRESH, "stats", stats, (size_t)(2 * n) * sizeof *stats);
    RUN_INNER(hal, &o, inner->nn.bn_stats(inner, dtype, m, n, x, ldx, stats));
}

static weft_status shadow_bn_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                   const void *mean, const void *rstd, const void *gamma, const void *beta, void *y,
                                   int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "bn_apply", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_vector(&o, SHADOW_READ, "mean", mean, n);
    add_vector(&o, SHADOW_READ, "rstd", rstd, n);
    add_vector(&o, SHADOW_READ, "gamma", gamma, n);
    add_vector(&o, SHADOW_READ, "beta", beta, n);
    add_matrix(&o, SHADOW_FRESH, "y", y, m, n, ldy);
    RUN_INNER(hal, &o, inner->nn.bn_apply(inner, dtype, m, n, x, ldx, mean, rstd, gamma, beta, y, ldy));
}

static weft_status shadow_bn_backward_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                            int64_t lddy, const void *x, int64_t ldx, const void *mean,
                                            const void *rstd, double *stats)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "bn_backward_stats", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "dy", dy, m, n, lddy);
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_vector(&o, SHADOW_READ, "mean", mean, n);
    add_vector(&o, SHADOW_READ, "rstd", rstd, n);
    add_bytes(&o, SHADOW_FRESH, "stats", stats, (size_t)(2 * n) * sizeof *stats);
    RUN_INNER(hal, &o, inner->nn.bn_backward_stats(inner, dtype, m, n, dy, lddy, x, ldx, mean, rstd, stats));
}

static weft_status shadow_bn_backward_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                            int64_t lddy, const void *x, int64_t ldx, const void *mean,
                                            const void *rstd, const void *gamma, const double *stats, double count,
                                            void *dx, int64_t lddx)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "bn_backward_apply", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "dy", dy, m, n, lddy);
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_vector(&o, SHADOW_READ, "mean", mean, n);
    add_vector(&o, SHADOW_READ, "rstd", rstd, n);
    add_vector(&o, SHADOW_READ, "gamma", gamma, n);
    add_bytes(&o, SHADOW_READ, "stats", stats, (size_t)(2 * n) * sizeof *stats);
    add_matrix(&o, SHADOW_FRESH, "dx", dx, m, n, lddx);
    RUN_INNER(
        hal, &o,
        inner->nn.bn_backward_apply(inner, dtype, m, n, dy, lddy, x, ldx, mean, rstd, gamma, stats, count, dx, lddx));
}

static weft_status shadow_ln_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                     const void *gamma, const void *beta, double epsilon, void *saved, void *y,
                                     int64_t ldy)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "ln_forward", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_vector(&o, SHADOW_READ, "gamma", gamma, n);
    add_vector(&o, SHADOW_READ, "beta", beta, n);
    add_vector(&o, SHADOW_FRESH, "saved", saved, 2 * m);
    add_matrix(&o, SHADOW_FRESH, "y", y, m, n, ldy);
    RUN_INNER(hal, &o, inner->nn.ln_forward(inner, dtype, m, n, x, ldx, gamma, beta, epsilon, saved, y, ldy));
}

static weft_status shadow_ln_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                      int64_t lddy, const void *x, int64_t ldx, const void *gamma, const void *saved,
                                      void *dgamma, void *dbeta, void *dx, int64_t lddx)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "ln_backward", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "dy", dy, m, n, lddy);
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_vector(&o, SHADOW_READ, "gamma", gamma, n);
    add_vector(&o, SHADOW_READ, "saved", saved, 2 * m);
    add_vector(&o, SHADOW_UPDATE, "dgamma", dgamma, n);
    add_vector(&o, SHADOW_UPDATE, "dbeta", dbeta, n);
    add_matrix(&o, SHADOW_FRESH, "dx", dx, m, n, lddx);
    RUN_INNER(hal, &o,
              inner->nn.ln_backward(inner, dtype, m, n, dy, lddy, x, ldx, gamma, saved, dgamma, dbeta, dx, lddx));
}

static weft_status shadow_softmax_xent(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x,
                                       int64_t ldx, const int32_t *label, const uint8_t *split, int which, double scale,
                                       double *loss_sum, void *dx, int64_t lddx)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "softmax_xent", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_bytes(&o, SHADOW_READ, "label", label, (size_t)m * sizeof *label);
    add_bytes(&o, SHADOW_READ, "split", split, (size_t)m);
    if (dx != NULL) {
        add_matrix(&o, SHADOW_FRESH, "dx", dx, m, n, lddx);
    }
    RUN_INNER(hal, &o,
              inner->nn.softmax_xent(inner, dtype, m, n, x, ldx, label, split, which, scale, loss_sum, dx, lddx));
}

static weft_status shadow_bce_logits(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                     const float *target, int64_t ldt, const uint8_t *split, int which, double scale,
                                     double *loss_sum, int64_t *loss_count, void *dx, int64_t lddx)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "bce_logits", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_use(&o, SHADOW_READ, "target", target, m, (size_t)n * sizeof *target, (size_t)ldt * sizeof *target);
    add_bytes(&o, SHADOW_READ, "split", split, (size_t)m);
    if (dx != NULL) {
        add_matrix(&o, SHADOW_FRESH, "dx", dx, m, n, lddx);
    }
    RUN_INNER(hal, &o,
              inner->nn.bce_logits(inner, dtype, m, n, x, ldx, target, ldt, split, which, scale, loss_sum, loss_count,
                                   dx, lddx));
}

static weft_status shadow_accuracy(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                   const int32_t *label, const uint8_t *split, int64_t *correct, int64_t *total)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "accuracy", .dtype = dtype};
    add_matrix(&o, SHADOW_READ, "x", x, m, n, ldx);
    add_bytes(&o, SHADOW_READ, "label", label, (size_t)m * sizeof *label);
    add_bytes(&o, SHADOW_READ, "split", split, (size_t)m);
    RUN_INNER(hal, &o, inner->nn.accuracy(inner, dtype, m, n, x, ldx, label, split, correct, total));
}

/* ---- sparse ------------------------------------------------------------------------------------------------------ */

static weft_status shadow_spmm_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d,
                                      hal_spmm **out)
{
    weft_hal *inner = state_of(hal)->inner;
    *out = NULL;
    hal_spmm *spmm = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&spmm, 1, WEFT_MEM_GRAPH));
    spmm->rows = csr->rows;
    spmm->cols = csr->cols;
    weft_status status = inner->sparse.spmm_create(inner, csr, form, max_d, &spmm->inner);
    if (status != WEFT_OK) {
        weft_free(spmm);
        return status;
    }
    *out = spmm;
    return WEFT_OK;
}

static weft_status shadow_spmm_run(weft_hal *hal, hal_spmm *spmm, const hal_spmm_args *args)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "spmm", .dtype = args->dtype};
    add_matrix(&o, SHADOW_READ, "x", args->x, spmm->cols, args->d, args->ldx);
    add_vector(&o, SHADOW_READ, "pre", args->pre, spmm->cols);
    add_vector(&o, SHADOW_READ, "post", args->post, spmm->rows);
    add_vector(&o, SHADOW_READ, "diag", args->diag, spmm->rows);
    add_matrix(&o, written(args->beta), "out", args->out, spmm->rows, args->d, args->ldo);
    RUN_INNER(hal, &o, inner->sparse.spmm_run(inner, spmm->inner, args));
}

static void shadow_spmm_destroy(weft_hal *hal, hal_spmm *spmm)
{
    weft_hal *inner = state_of(hal)->inner;
    if (spmm != NULL) {
        inner->sparse.spmm_destroy(inner, spmm->inner);
        weft_free(spmm);
    }
}

static hal_spmm_info shadow_spmm_info(weft_hal *hal, const hal_spmm *spmm)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->sparse.spmm_info(inner, spmm->inner);
}

/* ---- optimisers -------------------------------------------------------------------------------------------------- */

static weft_status shadow_adam(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_adam *adam, void *w, const void *g,
                               void *m, void *v)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "adam", .dtype = dtype};
    add_vector(&o, SHADOW_UPDATE, "w", w, n);
    add_vector(&o, SHADOW_READ, "g", g, n);
    add_vector(&o, SHADOW_UPDATE, "m", m, n);
    add_vector(&o, SHADOW_UPDATE, "v", v, n);
    RUN_INNER(hal, &o, inner->optim.adam(inner, dtype, n, adam, w, g, m, v));
}

static weft_status shadow_sgd(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_sgd *sgd, void *w, const void *g,
                              void *momentum)
{
    weft_hal *inner = state_of(hal)->inner;
    operands o = {.op = "sgd", .dtype = dtype};
    add_vector(&o, SHADOW_UPDATE, "w", w, n);
    add_vector(&o, SHADOW_READ, "g", g, n);
    if (sgd->momentum != 0.0) {
        add_vector(&o, sgd->step == 1 ? SHADOW_FRESH : SHADOW_UPDATE, "momentum", momentum, n);
    }
    RUN_INNER(hal, &o, inner->optim.sgd(inner, dtype, n, sgd, w, g, momentum));
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void shadow_close(weft_hal *hal)
{
    shadow_state *state = state_of(hal);
    int64_t left = shadow_free_all(&state->memory);
    if (left > 0) {
        log_warn("shadow: %ld blocks of device memory were never freed", (long)left);
    }
    weft_hal_close(state->inner);
    weft_free(state);
    hal->state = NULL;
}

static void fill_ops(weft_hal *hal)
{
    hal->mem = (hal_mem_ops){.alloc = shadow_mem_alloc,
                             .free = shadow_mem_free,
                             .upload = shadow_mem_upload,
                             .download = shadow_mem_download,
                             .copy = shadow_mem_copy,
                             .zero = shadow_mem_zero,
                             .host_visible = false};
    hal->dense = (hal_dense_ops){.gemm = shadow_gemm,
                                 .col_sum = shadow_col_sum,
                                 .axpby = shadow_axpby,
                                 .scale_rows = shadow_scale_rows,
                                 .gather_rows = shadow_gather_rows,
                                 .scatter_rows = shadow_scatter_rows};
    hal->nn = (hal_nn_ops){.act_forward = shadow_act_forward,
                           .act_backward = shadow_act_backward,
                           .bn_stats = shadow_bn_stats,
                           .bn_apply = shadow_bn_apply,
                           .bn_backward_stats = shadow_bn_backward_stats,
                           .bn_backward_apply = shadow_bn_backward_apply,
                           .ln_forward = shadow_ln_forward,
                           .ln_backward = shadow_ln_backward,
                           .softmax_xent = shadow_softmax_xent,
                           .bce_logits = shadow_bce_logits,
                           .accuracy = shadow_accuracy};
    hal->sparse = (hal_sparse_ops){.spmm_create = shadow_spmm_create,
                                   .spmm_run = shadow_spmm_run,
                                   .spmm_destroy = shadow_spmm_destroy,
                                   .spmm_info = shadow_spmm_info};
    hal->optim = (hal_optim_ops){.adam = shadow_adam, .sgd = shadow_sgd};
}

weft_status hal_open_shadow(weft_hal *hal, int threads, const char *argument);
weft_status hal_open_shadow(weft_hal *hal, int threads, const char *argument)
{
    weft_hal *inner = NULL;
    WEFT_TRY(weft_hal_open(argument[0] != '\0' ? argument : "cpu", threads, &inner));
    weft_status status = WEFT_OK;
    shadow_state *state = NULL;
    WEFT_CHECK_GOTO(inner->mem.host_visible, status, failed, WEFT_ERR_USAGE,
                    "shadow:%s: only a backend on host memory can be wrapped", argument);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state, 1, WEFT_MEM_GENERAL), status, failed);
    state->inner = inner;
    hal->state = state;
    hal->close = shadow_close;
    fill_ops(hal);
    return WEFT_OK;
failed:
    weft_hal_close(inner);
    return status;
}
