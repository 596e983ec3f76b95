/*
 * app/gnn/scaling/scaling_rates.c: what an edge and a row cost here, by the kernels that training runs, on a part as
 * training cuts it and at the widths of its layers. Each is run once to warm up, which counts where it takes long, and
 * until some time has passed; the least counts. Rates are checked nowhere here: `weft bench spmm` and `gemm` check
 * results before they print theirs.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/gnn/scaling/scaling.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "tensor/tensor_features.h"

enum { SAMPLED_ROWS = 65536, MOST_RUNS = 8 };
#define ENOUGH_SECONDS 0.3 /* of one product */

/* Matrices in a backend's memory, all ones: the pages of zeros that nobody wrote to are one page. */
static weft_status new_ones(weft_hal *hal, int64_t count, void **data)
{
    float *ones = NULL;
    const int64_t floats = count > 0 ? count : 1;
    WEFT_TRY(WEFT_NEW(&ones, floats, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < floats; ++i) {
        ones[i] = 1.0F;
    }
    weft_status status = hal->mem.alloc(hal, (size_t)floats * sizeof *ones, WEFT_MEM_WORKSPACE, data);
    status = status == WEFT_OK ? hal->mem.upload(hal, *data, ones, (size_t)floats * sizeof *ones) : status;
    weft_free(ones);
    return status;
}

typedef enum timed_kind { TIMED_SPMM, TIMED_GEMM, TIMED_FEATURES, TIMED_FEATURE_GRADIENT } timed_kind;

typedef struct timed_run {
    weft_hal *hal;
    timed_kind kind;
    hal_spmm_run_args spmm;
    hal_gemm_args gemm;
    const tensor_features *features; /* sparse: Y = F W, W' = F^T Y */
    weft_tensor *w, *y;
} timed_run;

static weft_status call(const timed_run *run)
{
    switch (run->kind) {
    case TIMED_SPMM:
        return hal_spmm_run(run->hal, &run->spmm);
    case TIMED_GEMM:
        return hal_gemm(run->hal, &run->gemm);
    case TIMED_FEATURES:
        return tensor_features_product(run->features, run->w, 0.0, NULL, run->y);
    case TIMED_FEATURE_GRADIENT:
        break;
    }
    return tensor_features_gradient(run->features, run->y, NULL, run->w);
}

static weft_status run_once(const timed_run *run)
{
    WEFT_TRY(call(run));
    return run->hal->stream.sync(run->hal);
}

static weft_status time_least(const timed_run *run, double *least)
{
    const double begun = clock_seconds();
    WEFT_TRY(run_once(run));
    const double first = clock_seconds() - begun;
    *least = first < ENOUGH_SECONDS ? INFINITY : first;
    for (int i = 0; i < MOST_RUNS && (!isfinite(*least) || clock_seconds() - begun < ENOUGH_SECONDS); ++i) {
        const double start = clock_seconds();
        WEFT_TRY(run_once(run));
        *least = fmin(*least, clock_seconds() - start);
    }
    return WEFT_OK;
}

/* ---- aggregation ---- */

/* The layer before this one that aggregates the same width, or the layer itself. */
static int same_width(const gnn_plan *plan, int layer)
{
    for (int l = 0; l < layer; ++l) {
        if (plan->layer[l].aggregated > 0 && plan->layer[l].width == plan->layer[layer].width) {
            return l;
        }
    }
    return layer;
}

/* As training takes it: tried as wide as epochs aggregate, with operands where the timed ones come after. */
static weft_status create_matrix(weft_hal *hal, const hal_csr *csr, const gnn_plan *plan, hal_spmm_form form,
                                 hal_spmm **matrix)
{
    const hal_spmm_request request = {.max_d = plan->max_width,
                                      .operand_bytes = 8 * (uint64_t)(csr->rows * plan->max_width)};
    hal_spmm_trial trial;
    if (form != HAL_SPMM_AUTO) {
        return hal->sparse.spmm_create(hal, csr, form, plan->max_width, matrix);
    }
    WEFT_TRY(hal->sparse.spmm_try(hal, csr, &request, &trial));
    return hal_spmm_take(hal, csr, plan->max_width, &trial, hal_spmm_pick(trial.seconds, trial.expected), matrix);
}

weft_status scaling_measure_edges(weft_hal *hal, const weft_part *part, const gnn_plan *plan, hal_spmm_form form,
                                  double *seconds)
{
    const hal_csr csr = {.rows = part->n_local,
                         .cols = part->n_local,
                         .offset = part->offset,
                         .column = part->source,
                         .value = part->weight,
                         .usual_d = gnn_plan_epoch_width(plan)};
    timed_run run = {.hal = hal};
    void *x = NULL, *out = NULL;
    weft_status status = WEFT_OK;
    memset(seconds, 0, GNN_MAX_LAYERS * sizeof *seconds);
    if (part->edges == 0 || plan->max_width == 0) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(create_matrix(hal, &csr, plan, form, &run.spmm.matrix), status, done);
    WEFT_TRY_GOTO(new_ones(hal, csr.cols * plan->max_width, &x), status, done);
    WEFT_TRY_GOTO(new_ones(hal, csr.rows * plan->max_width, &out), status, done);
    for (int l = 0; l < plan->layers; ++l) {
        const int64_t d = plan->layer[l].width;
        const int same = same_width(plan, l);
        if (plan->layer[l].aggregated == 0 || same < l) {
            seconds[l] = plan->layer[l].aggregated > 0 ? seconds[same] : 0.0;
            continue;
        }
        run.spmm.x = hal_mat_of(x, WEFT_DTYPE_F32, csr.cols, d, d);
        run.spmm.out = hal_mat_of(out, WEFT_DTYPE_F32, csr.rows, d, d);
        WEFT_TRY_GOTO(time_least(&run, &seconds[l]), status, done);
        seconds[l] /= (double)part->edges * (double)d;
    }
done:
    hal->mem.free(hal, x);
    hal->mem.free(hal, out);
    if (run.spmm.matrix != NULL) {
        hal->sparse.spmm_destroy(hal, run.spmm.matrix);
    }
    return status;
}

/* ---- dense products ---- */

/* Y = X W, W' = X^T Y, and X = Y W^T unless nobody wants the gradient of the input. x: [rows, in], y: [rows, out]. */
static weft_status time_layer(weft_hal *hal, hal_mat x, hal_mat w, hal_mat y, bool input_gradient, double *seconds)
{
    timed_run run = {.hal = hal, .kind = TIMED_GEMM, .gemm = {.alpha = 1.0, .a = x, .b = w, .c = y}};
    double one = 0.0;
    WEFT_TRY(time_least(&run, seconds));
    run.gemm = (hal_gemm_args){.trans_a = true, .alpha = 1.0, .a = x, .b = y, .c = w};
    WEFT_TRY(time_least(&run, &one));
    *seconds += one;
    if (input_gradient) {
        run.gemm = (hal_gemm_args){.trans_b = true, .alpha = 1.0, .a = y, .b = w, .c = x};
        WEFT_TRY(time_least(&run, &one));
        *seconds += one;
    }
    return WEFT_OK;
}

void scaling_product_shape(const gnn_layer_plan *layer, int64_t *in, int64_t *out)
{
    const int64_t sides = layer->self ? 2 : 1; /* weights of the vertex and of its neighbours, side by side */
    const bool linear_first = layer->flow == GNN_FLOW_LINEAR_FIRST;
    *in = layer->d_in * (linear_first ? 1 : sides);
    *out = layer->d_out * (linear_first ? sides : 1);
}

static weft_status measure_layer(weft_hal *hal, int64_t rows, const gnn_plan *plan, int number, double *seconds)
{
    int64_t in = 0, out = 0;
    scaling_product_shape(&plan->layer[number], &in, &out);
    void *x = NULL, *w = NULL, *y = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(new_ones(hal, rows * in, &x), status, done);
    WEFT_TRY_GOTO(new_ones(hal, in * out, &w), status, done);
    WEFT_TRY_GOTO(new_ones(hal, rows * out, &y), status, done);
    status = time_layer(hal, hal_mat_of(x, WEFT_DTYPE_F32, rows, in, in), hal_mat_of(w, WEFT_DTYPE_F32, in, out, out),
                        hal_mat_of(y, WEFT_DTYPE_F32, rows, out, out), number > 0, seconds);
    *seconds /= (double)rows;
done:
    hal->mem.free(hal, x);
    hal->mem.free(hal, w);
    hal->mem.free(hal, y);
    return status;
}

/* ---- sparse features ---- */

/* Rows spread evenly over the graph: [out] their numbers as CSR arrays, for weft_free. */
static weft_status sample_features(const weft_graph *graph, int64_t rows, int64_t **offset, int32_t **column,
                                   float **value)
{
    WEFT_TRY(WEFT_NEW(offset, rows + 1, WEFT_MEM_WORKSPACE));
    (*offset)[0] = 0;
    for (int64_t i = 0; i < rows; ++i) {
        (*offset)[i + 1] = (*offset)[i] + graph_feature_numbers(graph, i * graph->vertices / rows, NULL, NULL);
    }
    WEFT_TRY(WEFT_NEW(column, (*offset)[rows], WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(value, (*offset)[rows], WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < rows; ++i) {
        graph_feature_numbers(graph, i * graph->vertices / rows, *column + (*offset)[i], *value + (*offset)[i]);
    }
    return WEFT_OK;
}

/* The first layer where features are held sparse: Y = F W and W' = F^T Y, which walk the numbers of F. */
static weft_status measure_sparse_layer(weft_hal *hal, const weft_graph *graph, int64_t rows, const gnn_plan *plan,
                                        double *seconds)
{
    int64_t in = 0, out = 0, *offset = NULL;
    int32_t *column = NULL;
    float *value = NULL;
    double one = 0.0;
    tensor_features features = {.hal = NULL};
    weft_tensor w = {.hal = NULL}, y = {.hal = NULL};
    weft_status status;
    scaling_product_shape(&plan->layer[0], &in, &out);
    WEFT_TRY_GOTO(sample_features(graph, rows, &offset, &column, &value), status, done);
    const hal_csr csr = {.rows = rows, .cols = in, .offset = offset, .column = column};
    WEFT_TRY_GOTO(tensor_features_create(hal, &csr, value, WEFT_MEM_WORKSPACE, &features), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, in, out, WEFT_MEM_WORKSPACE, &w), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, rows, out, WEFT_MEM_WORKSPACE, &y), status, done);
    WEFT_TRY_GOTO(tensor_zero(&w), status, done);
    WEFT_TRY_GOTO(tensor_zero(&y), status, done);
    timed_run run = {.hal = hal, .kind = TIMED_FEATURES, .features = &features, .w = &w, .y = &y};
    WEFT_TRY_GOTO(time_least(&run, seconds), status, done);
    run.kind = TIMED_FEATURE_GRADIENT;
    WEFT_TRY_GOTO(time_least(&run, &one), status, done);
    *seconds = (*seconds + one) / (double)rows;
done:
    TENSOR_DESTROY_ALL(&w, &y);
    tensor_features_destroy(&features);
    WEFT_FREE_ALL(offset, column, value);
    return status;
}

weft_status scaling_measure_rows(weft_hal *hal, const weft_graph *graph, const gnn_plan *plan, double *seconds)
{
    const int64_t sampled = graph->vertices < SAMPLED_ROWS ? graph->vertices : SAMPLED_ROWS;
    assert(sampled > 0 && plan->layers <= GNN_MAX_LAYERS);
    for (int l = 0; l < plan->layers; ++l) {
        WEFT_TRY(plan->layer[l].sparse ? measure_sparse_layer(hal, graph, sampled, plan, &seconds[l])
                                       : measure_layer(hal, sampled, plan, l, &seconds[l]));
    }
    return WEFT_OK;
}
