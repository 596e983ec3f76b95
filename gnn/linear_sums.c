/* gnn/linear_sums.c: see gnn/linear_sums.h. */
#include "gnn/linear_sums.h"

#include "gnn/layers/attention.h"

int gnn_linear_halves(const gnn_plan *plan)
{
    return plan->layer[0].self ? 2 : 1;
}

static bool attends(const gnn_plan *plan)
{
    return plan->layer[0].flow == GNN_FLOW_ATTENTION;
}

int64_t gnn_linear_sums_numbers(const gnn_plan *plan)
{
    const int64_t classes = plan->config.outputs, weights = gnn_linear_halves(plan) * plan->layer[0].d_in * classes;
    return 2 * weights + (2 * classes + (attends(plan) ? 3 : 0)) * plan->n_local;
}

static weft_status create_matrix(const gnn_linear_sums *s, int64_t rows, int64_t cols, weft_tensor *matrix)
{
    WEFT_TRY(tensor_create(s->model->hal, WEFT_DTYPE_F32, rows, cols, WEFT_MEM_WORKSPACE, matrix));
    return tensor_zero(matrix);
}

weft_status gnn_linear_sums_create(gnn_model *model, gnn_linear_sums *s)
{
    const gnn_plan *plan = &model->plan;
    *s = (gnn_linear_sums){.model = model,
                           .rows = plan->n_owned,
                           .features = plan->layer[0].d_in,
                           .classes = plan->config.outputs,
                           .halves = gnn_linear_halves(plan)};
    for (int half = 0; half < s->halves; ++half) {
        WEFT_TRY(create_matrix(s, s->features, s->classes, &s->w[half]));
        WEFT_TRY(create_matrix(s, s->features, s->classes, &s->g[half]));
    }
    WEFT_TRY(create_matrix(s, plan->n_local, s->classes, &s->a));
    WEFT_TRY(create_matrix(s, plan->n_local, s->classes, &s->b));
    if (!attends(plan)) {
        return WEFT_OK;
    }
    WEFT_TRY(create_matrix(s, plan->n_local, 1, &s->zero));
    WEFT_TRY(create_matrix(s, plan->n_local, 1, &s->total));
    return create_matrix(s, plan->n_local, 1, &s->spare);
}

void gnn_linear_sums_destroy(gnn_linear_sums *s)
{
    TENSOR_DESTROY_ALL(&s->w[0], &s->w[1], &s->g[0], &s->g[1], &s->a, &s->b, &s->zero, &s->total, &s->spare);
}

/* ---- products with the features ---------------------------------------------------------------------------------- */

static bool is_aggregated(const gnn_linear_sums *s)
{
    return s->model->plan.layer[0].flow == GNN_FLOW_CONSTANT;
}

/* What half `half` of the weights multiplies, where the features are held whole. */
static weft_tensor features_of(const gnn_linear_sums *s, int half)
{
    const gnn_layer *layer = &s->model->layer[0];
    const bool apart = s->model->features.data != NULL;
    const weft_tensor *whole = apart ? &s->model->features : &layer->input;
    return tensor_view(whole, 0, s->rows, is_aggregated(s) ? half * s->features : 0, s->features);
}

/* y = beta y + F w[half] */
static weft_status multiply(const gnn_linear_sums *s, int half, double beta, weft_tensor *y)
{
    const tensor_features *sparse = s->model->layer[0].linear.features;
    if (sparse != NULL) {
        return tensor_features_product(sparse, &s->w[half], beta, NULL, y);
    }
    const weft_tensor x = features_of(s, half);
    return tensor_gemm(&(tensor_product){.a = &x, .b = &s->w[half], .beta = beta, .exact = true}, y);
}

/* g[half] = F^T y */
static weft_status multiply_back(gnn_linear_sums *s, int half, const weft_tensor *y)
{
    const tensor_features *sparse = s->model->layer[0].linear.features;
    if (sparse != NULL) {
        return tensor_features_gradient(sparse, y, NULL, &s->g[half]);
    }
    const weft_tensor x = features_of(s, half);
    return tensor_gemm(&(tensor_product){.a = &x, .b = y, .trans_a = true, .exact = true}, &s->g[half]);
}

/* ---- means of attention ------------------------------------------------------------------------------------------ */

/* to = the sum of rows of `from` over a vertex' edges and itself, on this rank's edges alone; total = the number of
 * these. transposed: over the edges out of it. */
static weft_status walk(const gnn_linear_sums *s, bool transposed, const weft_tensor *from, weft_tensor *to,
                        weft_tensor *total)
{
    const gnn_part_edges *edges = &s->model->edges;
    const tensor_attention walked = {.rows = edges->n_local,
                                     .entries = edges->entries,
                                     .offset = transposed ? edges->out_offset : edges->in_offset,
                                     .column = transposed ? edges->out_column : edges->in_column,
                                     .how = {.heads = 1, .slope = 1.0, .self = edges->n_owned},
                                     .source = &s->zero,
                                     .target = &s->zero,
                                     .highest = &s->zero};
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_attention_forward(&walked, from, to, total));
    return WEFT_OK;
}

/* to = the mean of rows of `from` over in-neighbours and the vertex itself, or the transposed sum, which changes `from`
 * to its shares. */
static weft_status mean_rows(gnn_linear_sums *s, bool transposed, weft_tensor *from, weft_tensor *to)
{
    const gnn_part_edges *edges = &s->model->edges;
    const weft_tensor total = tensor_view(&s->total, 0, s->rows, 0, 1);
    weft_tensor x = gnn_linear_owned(s, from), y = gnn_linear_owned(s, to);
    if (transposed) {
        WEFT_TRY(tensor_head_scale(&total, true, &x, 0.0, &x));
        WEFT_TRY(gnn_exchange_destinations(edges, HALO_FORWARD, from));
        WEFT_TRY(walk(s, true, from, to, &s->spare));
        return gnn_exchange_sources(edges, HALO_REVERSE, to);
    }
    WEFT_TRY(gnn_exchange_sources(edges, HALO_FORWARD, from));
    WEFT_TRY(walk(s, false, from, to, &s->spare));
    WEFT_TRY(gnn_exchange_destinations(edges, HALO_REVERSE, to));
    return tensor_head_scale(&total, true, &y, 0.0, &y);
}

weft_status gnn_linear_sums_start(gnn_linear_sums *s)
{
    if (!attends(&s->model->plan)) {
        return gnn_aggregator_start_pass(&s->model->aggregator, &(gnn_halo_pass){.training = false});
    }
    WEFT_TRY(walk(s, false, &s->a, &s->b, &s->total));
    return gnn_exchange_destinations(&s->model->edges, HALO_REVERSE, &s->total);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* to = (sum over neighbours of from) + own * from, as convolution `number` has it. */
static weft_status sum_rows(gnn_linear_sums *s, int number, bool transposed, bool all, weft_tensor *from,
                            weft_tensor *to)
{
    const gnn_plan *plan = &s->model->plan;
    weft_tensor x = gnn_linear_owned(s, from), y = gnn_linear_owned(s, to);
    const bool own = number == 1 && s->halves > 1;
    if (attends(plan)) {
        return mean_rows(s, transposed, from, to);
    }
    gnn_aggregator_set_scope(&s->model->aggregator,
                             gnn_scope_of(&plan->layer[number * plan->convolution_layers], !all));
    WEFT_TRY(own ? tensor_axpby(1.0, &x, 0.0, &y) : WEFT_OK);
    return gnn_aggregate(&s->model->aggregator, transposed, from, own ? 1.0 : 0.0, to);
}

weft_status gnn_linear_first(gnn_linear_sums *s)
{
    weft_tensor a = gnn_linear_owned(s, &s->a), b = gnn_linear_owned(s, &s->b);
    const int last = s->halves - 1;
    if (!is_aggregated(s)) {
        WEFT_TRY(multiply(s, last, 0.0, &b));
        WEFT_TRY(sum_rows(s, 0, false, false, &s->b, &s->a));
    } else {
        WEFT_TRY(multiply(s, last, 0.0, &a));
    }
    return last > 0 ? multiply(s, 0, 1.0, &a) : WEFT_OK;
}

weft_status gnn_linear_second(gnn_linear_sums *s, bool all)
{
    return sum_rows(s, 1, false, all, &s->a, &s->b);
}

weft_status gnn_linear_backward(gnn_linear_sums *s)
{
    weft_tensor a = gnn_linear_owned(s, &s->a), b = gnn_linear_owned(s, &s->b);
    const int last = s->halves - 1;
    WEFT_TRY(sum_rows(s, 1, true, false, &s->b, &s->a));
    WEFT_TRY(last > 0 ? multiply_back(s, 0, &a) : WEFT_OK);
    if (is_aggregated(s)) {
        return multiply_back(s, last, &a);
    }
    WEFT_TRY(sum_rows(s, 0, true, false, &s->a, &s->b));
    return multiply_back(s, last, &b);
}
