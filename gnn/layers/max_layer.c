/*
 * gnn/layers/max_layer.c: GraphSAGE with the maximum over neighbours, exact for any partition.
 *
 *     m[v,j] = the largest x[u,j] over the in-neighbours u of v, 0 without any      out = x W_self + m W_neigh + b
 *
 * W. Hamilton, R. Ying, J. Leskovec: Inductive representation learning on large graphs. NeurIPS 2017, arXiv 1706.02216,
 * whose pooling has a layer in front of the maximum; this is the plain one, SAGEConv(aggr="max") of PyTorch Geometric.
 * A maximum is not linear, so it comes before the weights. A NaN is the largest of all and goes on into the loss.
 *
 * Where several neighbours have the largest value each gets an equal share of its gradient, as torch.scatter_reduce has
 * it:
 *
 *     dx[u,j] = sum over v of dm[v,j] / ties[v,j] where x[u,j] = m[v,j]      ties[v,j] = of how many u that is so
 *
 * No winner is kept: rows of x are the same bits on every rank, and so is m, for a maximum does not round. Who won is
 * found again by comparing, and the rule knows neither ranks nor numbers of vertices. A vertex's edges may lie on
 * several ranks:
 *
 *     forward   x       root -> replicas that are sources
 *               m       replicas -> root, the larger
 *     backward  m       root -> replicas that are destinations
 *               ties    replicas -> root, added
 *               dm/ties root -> replicas that are destinations
 *               dx      replicas that are sources -> root, added
 *
 * Where rows have much in common (gnn/edges/shared_edges.h), partial maxima stand behind the rows of x, as rows of the
 * same matrix, and each rank's work runs along them; what is exchanged is the same.
 *
 * Three rows a direction of the layer against two of a sum: the least would be the four rows of a sum and a bit an
 * element, who of the ranks won. Where every rank holds whole rows (an edge-cut) nothing is a replica of a destination,
 * and two legs are left. Matrices: [x | m] for all local rows, and dm and ties of layers that give an input gradient.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

typedef struct max_layer {
    weft_tensor dm, ties; /* [n_local and partial maxima, d_in]; counts are of the type of parameters */
} max_layer;

/* The first layer's input has no gradient. */
static bool gives_gradient(const gnn_layer_plan *layer)
{
    return layer->number > 0;
}

static void plan_max(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const bool constant_input = number == 0 && plan->config.input_dropout <= 0.0f;
    sum_plan(plan, number, constant_input ? GNN_FLOW_CONSTANT : GNN_FLOW_AGGREGATE_FIRST, true, layer);
    if (gives_gradient(layer)) {
        const int64_t count_size = plan->values == WEFT_DTYPE_BF16 ? 2 : 1; /* elements of the others' type */
        layer->extra = plan->n_local * layer->d_in * (1 + count_size);
        layer->aggregated = (layer->width * (5 + count_size) + 1) / 2;
    }
}

static weft_status create(gnn_layer *layer)
{
    const gnn_layer_plan *plan = layer->plan;
    weft_hal *hal = layer->params->hal;
    max_layer *max = NULL;
    if (!gives_gradient(plan)) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&max, 1, WEFT_MEM_GENERAL));
    layer->own = max;
    const int64_t rows = layer->n_local + layer->edges->shared.sums;
    WEFT_TRY(tensor_create(hal, plan->input_type, rows, plan->d_in, WEFT_MEM_ACTIVATION, &max->dm));
    WEFT_TRY(tensor_create(hal, layer->params->dtype, rows, plan->d_in, WEFT_MEM_ACTIVATION, &max->ties));
    return tensor_zero(&max->dm);
}

static void destroy(gnn_layer *layer)
{
    max_layer *max = layer->own;
    tensor_destroy(&max->dm);
    tensor_destroy(&max->ties);
}

static tensor_edges edges_of(const gnn_layer *layer, bool backward_to_sources)
{
    const gnn_part_edges *edges = layer->edges;
    return (tensor_edges){.rows = edges->n_local,
                          .entries = edges->entries,
                          .offset = backward_to_sources ? edges->out_offset : edges->in_offset,
                          .column = backward_to_sources ? edges->out_column : edges->in_column,
                          .elsewhere = backward_to_sources ? NULL : edges->elsewhere};
}

/* x, or m, with the partial maxima behind it, where rows share some. */
static weft_tensor with_shared(const gnn_layer *layer, bool m)
{
    const int64_t d_in = layer->plan->d_in;
    return tensor_view(&layer->input, 0, layer->n_local + layer->edges->shared.sums, m ? d_in : 0, d_in);
}

/* m = the largest x along partial maxima, for which a strip of constant features is copied to a matrix with room. */
static weft_status shared_largest(gnn_layer *layer, const weft_tensor *x, weft_tensor *m)
{
    const gnn_shared_edges *shared = &layer->edges->shared;
    if (layer->plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        const weft_tensor all = with_shared(layer, false);
        return gnn_shared_largest(shared, &all, m);
    }
    weft_tensor all = {.data = NULL};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(tensor_create(x->hal, x->dtype, x->rows + shared->sums, x->cols, WEFT_MEM_WORKSPACE, &all), status,
                  done);
    weft_tensor first = tensor_view(&all, 0, x->rows, 0, x->cols);
    WEFT_TRY_GOTO(tensor_axpby(1.0, x, 0.0, &first), status, done);
    status = gnn_shared_largest(shared, &all, m);
done:
    tensor_destroy(&all);
    return status;
}

static weft_status local_largest(gnn_layer *layer, const weft_tensor *x, weft_tensor *m)
{
    if (layer->edges->shared.sums > 0) {
        return shared_largest(layer, x, m);
    }
    const tensor_edges edges = edges_of(layer, false);
    return tensor_max_forward(&edges, x, m);
}

/* m = the largest x of neighbours, on the owned rows. */
static weft_status largest(gnn_layer *layer, weft_tensor *x, weft_tensor *m)
{
    WEFT_TRY(gnn_exchange_sources(layer->edges, HALO_FORWARD, x));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, local_largest(layer, x, m));
    return gnn_exchange_destinations(layer->edges, HALO_REVERSE_MAX, m);
}

static weft_status prepare(gnn_layer *layer)
{
    return sum_layer_prepare_by(layer, largest);
}

/* [x | m] of the owned rows. */
static weft_tensor operand(const gnn_layer *layer)
{
    return tensor_view(&layer->input, 0, layer->n_owned, 0, 2 * layer->plan->d_in);
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    if (layer->plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        weft_tensor x = layer_local_x(layer);
        weft_tensor m = layer_local_m(layer);
        WEFT_TRY(largest(layer, &x, &m));
    }
    WEFT_TRY(linear_need(&layer->linear, pass));
    weft_tensor bias = param_value(layer->params, layer->linear.bias);
    weft_tensor both = operand(layer);
    weft_tensor out = gnn_layer_out(layer);
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 linear_forward(&layer->linear, &(linear_rows){.x = &both, .dropout = dropout}, &bias, 0.0, &out));
    return WEFT_OK;
}

static weft_status local_ties(gnn_layer *layer, const weft_tensor *m)
{
    max_layer *max = layer->own;
    const int64_t sums = layer->edges->shared.sums;
    if (sums == 0) {
        const tensor_edges edges = edges_of(layer, false);
        const weft_tensor x = layer_local_x(layer);
        return tensor_max_ties(&edges, &x, m, NULL, &max->ties);
    }
    const weft_tensor x = with_shared(layer, false);
    const weft_tensor partial = tensor_view(&x, layer->n_local, sums, 0, x.cols);
    const weft_tensor with_m = with_shared(layer, true);
    weft_tensor copy = tensor_view(&with_m, layer->n_local, sums, 0, x.cols);
    WEFT_TRY(tensor_axpby(1.0, &partial, 0.0, &copy)); /* behind m, where gradients look for it */
    return gnn_shared_ties(&layer->edges->shared, &x, m, &max->ties);
}

/* dx = what neighbours' maxima give each source, of this rank's edges. */
static weft_status local_gradient(gnn_layer *layer, weft_tensor *dx)
{
    max_layer *max = layer->own;
    const weft_tensor x = with_shared(layer, false);
    const weft_tensor m = with_shared(layer, true);
    if (layer->edges->shared.sums > 0) {
        return gnn_shared_backward(&layer->edges->shared, &x, &m, &max->dm, dx);
    }
    const tensor_edges edges = edges_of(layer, true);
    return tensor_max_backward(&edges, &x, &m, &max->dm, dx);
}

/* Of how many neighbours m is the value, over all ranks, on the owned rows. */
static weft_status count_ties(gnn_layer *layer)
{
    max_layer *max = layer->own;
    weft_tensor m = layer_local_m(layer);
    weft_tensor ties = tensor_view(&max->ties, 0, layer->n_local, 0, max->ties.cols);
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &m));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, local_ties(layer, &m));
    return gnn_exchange_destinations(layer->edges, HALO_REVERSE, &ties);
}

/* dm = dout W_neigh^T, and of it the share of each neighbour that tied. */
static weft_status share_gradient(gnn_layer *layer)
{
    max_layer *max = layer->own;
    const int64_t d_in = layer->plan->d_in;
    assert(max != NULL && max->dm.cols == d_in && max->ties.cols == d_in);
    const train_linear neighbours = layer_half(layer, true);
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor dm = tensor_view(&max->dm, 0, layer->n_owned, 0, d_in);
    weft_tensor ties = tensor_view(&max->ties, 0, layer->n_owned, 0, d_in);
    WEFT_TRY(linear_input_gradient(&neighbours, &dout, 0.0, &dm));
    return tensor_max_share(&ties, &dm);
}

/* dx = what neighbours' maxima give it, and dout W_self^T. */
static weft_status input_gradient(gnn_layer *layer, weft_tensor *dx)
{
    max_layer *max = layer->own;
    weft_tensor dm = tensor_view(&max->dm, 0, layer->n_local, 0, layer->plan->d_in);
    const train_linear own = layer_half(layer, false);
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    WEFT_TRY(count_ties(layer));
    ACTIVITY_TRY(ACTIVITY_LINEAR, share_gradient(layer));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &dm));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, local_gradient(layer, dx));
    WEFT_TRY(gnn_exchange_sources(layer->edges, HALO_REVERSE, dx));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_input_gradient(&own, &dout, 1.0, &dx_owned));
    return WEFT_OK;
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    weft_tensor both = operand(layer);
    weft_tensor dout = gnn_layer_out(layer);
    WEFT_TRY(layer_bias_gradient(layer));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_weight_gradient(&layer->linear, pass,
                                                         &(linear_rows){.x = &both, .dropout = dropout}, &dout, false));
    WEFT_TRY(linear_ready(&layer->linear, pass));
    return dx != NULL ? input_gradient(layer, dx) : WEFT_OK;
}

const gnn_layer_ops gnn_layer_max = {.plan = plan_max,
                                     .connects = true,
                                     .walks_edges = true,
                                     .shares_maxima = true,
                                     .declare = sum_layer_declare,
                                     .create = create,
                                     .destroy = destroy,
                                     .prepare = prepare,
                                     .forward = forward,
                                     .backward = backward};
