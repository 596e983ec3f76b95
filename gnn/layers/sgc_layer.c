/*
 * gnn/layers/sgc_layer.c: simple graph convolution: K hops of GCN's propagation S = D^-1/2 (A + I) D^-1/2 and one
 * linear map.
 *
 *     constant input    m = S^K x, once, before the first epoch; out = m W + b     an epoch moves no row
 *     masked or sparse  z = x W; out = S^K z + b                                   K aggregations of width d_out a pass
 *
 * Both are the same map, because nothing lies between the hops. Hops of the second go to and fro between the two places
 * of the output matrix, out and z, such that the last one ends in out:
 *
 *     forward   x W -> z or out   S: -> ...  S: z -> out, onto the bias
 *     backward  S^T: out -> z -> ...   dW = x^T of it
 *
 * F. Wu, T. Zhang, A. H. de Souza Jr., C. Fifty, T. Yu, K. Q. Weinberger: Simplifying graph convolutional networks.
 * ICML 2019, arXiv 1902.07153.
 *
 * LightGCN is the mean of all hops from 0 to K, without loops and without a bias, S = D^-1/2 A D^-1/2; of features that
 * are one-hot, W is a row that is learned for each vertex. The sum of hops is made as Horner's rule makes polynomials,
 * r <- S r + e with e = x W / (K + 1), from r = e on; backward does the same with the gradient in the place of e.
 *
 * X. He, K. Deng, X. Wang, Y. Li, Y. Zhang, M. Wang: LightGCN: Simplifying and powering graph convolution network for
 * recommendation. SIGIR 2020, arXiv 2002.02126, doi:10.1145/3397271.3401063.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

#include "base/alloc.h"

static void plan_sgc(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const bool constant = plan->config.input_dropout <= 0.0f && plan->config.order != GNN_ORDER_LINEAR_FIRST &&
                          !layer_takes_sparse(&plan->config, number);
    layer->hops = plan->config.layers;
    sum_plan(plan, number, constant ? GNN_FLOW_CONSTANT : GNN_FLOW_LINEAR_FIRST, false, layer);
}

static gnn_normalisation normalisation(const gnn_config *config)
{
    (void)config;
    return GNN_NORM_SYMMETRIC;
}

/* Where rows stand that are `hops` hops away from out. */
static weft_tensor place(const gnn_layer *layer, int hops)
{
    assert(hops >= 0 && hops <= layer->plan->hops);
    return hops % 2 == 0 ? layer_local_out(layer) : layer_local_z(layer);
}

static weft_tensor product(const gnn_layer *layer)
{
    weft_tensor all = place(layer, layer->plan->hops);
    return tensor_view(&all, 0, layer->n_owned, 0, all.cols);
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    if (layer->plan->flow == GNN_FLOW_CONSTANT) {
        return sum_layer_forward(layer, pass, dropout);
    }
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor y = product(layer);
    WEFT_TRY(linear_need(&layer->linear, pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 linear_forward(&layer->linear, &(linear_rows){.x = &x, .dropout = dropout}, NULL, 0.0, &y));
    for (int left = layer->plan->hops; left > 1; --left) {
        weft_tensor from = place(layer, left);
        weft_tensor to = place(layer, left - 1);
        WEFT_TRY(gnn_aggregate(layer->aggregator, false, &from, 0.0, &to));
    }
    weft_tensor z = layer_local_z(layer);
    weft_tensor out = layer_local_out(layer);
    WEFT_TRY(layer_set_bias(layer));
    return gnn_aggregate(layer->aggregator, false, &z, 1.0, &out);
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    if (layer->plan->flow == GNN_FLOW_CONSTANT) {
        return sum_layer_backward(layer, pass, dropout, dx);
    }
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor dy = product(layer);
    WEFT_TRY(layer_bias_gradient(layer));
    for (int done = 0; done < layer->plan->hops; ++done) {
        weft_tensor from = place(layer, done);
        weft_tensor to = place(layer, done + 1);
        WEFT_TRY(gnn_aggregate(layer->aggregator, true, &from, 0.0, &to));
    }
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 linear_weight_gradient(&layer->linear, pass, &(linear_rows){.x = &x, .dropout = dropout}, &dy, false));
    return linear_ready(&layer->linear, pass);
}

const gnn_layer_ops gnn_layer_sgc = {.plan = plan_sgc,
                                     .hops = true,
                                     .normalisation = normalisation,
                                     .declare = sum_layer_declare,
                                     .prepare = sum_layer_prepare,
                                     .forward = forward,
                                     .backward = backward};

/* ---- LightGCN ---- */

static void plan_lightgcn(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    layer->hops = plan->config.layers;
    layer->centred = true; /* the bias begins with 0, and so it stays */
    sum_plan(plan, number, GNN_FLOW_LINEAR_FIRST, false, layer);
    layer->extra = plan->n_owned * layer->d_out;
}

static gnn_normalisation normalisation_of_others(const gnn_config *config)
{
    (void)config;
    return GNN_NORM_SYMMETRIC_OTHERS;
}

static weft_status create_term(gnn_layer *layer)
{
    weft_tensor *term = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&term, 1, WEFT_MEM_GENERAL));
    layer->own = term;
    return tensor_create(layer->params->hal, layer->plan->output_type, layer->n_owned, layer->plan->d_out,
                         WEFT_MEM_ACTIVATION, term);
}

static void destroy_term(gnn_layer *layer)
{
    tensor_destroy(layer->own);
}

/* rows [n_owned, d] become the term of Horner's rule, and so does the place where it begins; the sum ends `hops` places
 * on. */
static weft_status sum_hops(gnn_layer *layer, bool backward, const weft_tensor *rows)
{
    weft_tensor *term = layer->own;
    const int hops = layer->plan->hops;
    WEFT_TRY(tensor_axpby(1.0 / (double)(hops + 1), rows, 0.0, term));
    for (int done = 0; done <= hops; ++done) {
        weft_tensor to = place(layer, backward ? done : hops - done);
        weft_tensor owned = tensor_view(&to, 0, layer->n_owned, 0, to.cols);
        WEFT_TRY(tensor_axpby(1.0, term, 0.0, &owned));
        if (done > 0) {
            weft_tensor from = place(layer, backward ? done - 1 : hops - done + 1);
            WEFT_TRY(gnn_aggregate(layer->aggregator, backward, &from, 1.0, &to));
        }
    }
    return WEFT_OK;
}

static weft_status lightgcn_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    weft_tensor x = gnn_layer_x(layer), y = product(layer);
    WEFT_TRY(linear_need(&layer->linear, pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 linear_forward(&layer->linear, &(linear_rows){.x = &x, .dropout = dropout}, NULL, 0.0, &y));
    return sum_hops(layer, false, &y);
}

static weft_status lightgcn_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout,
                                     weft_tensor *dx)
{
    weft_tensor x = gnn_layer_x(layer), dout = gnn_layer_out(layer), dy = product(layer);
    assert(dx == NULL); /* it is the only layer */
    (void)dx;
    WEFT_TRY(layer_bias_gradient(layer));
    WEFT_TRY(sum_hops(layer, true, &dout));
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 linear_weight_gradient(&layer->linear, pass, &(linear_rows){.x = &x, .dropout = dropout}, &dy, false));
    return linear_ready(&layer->linear, pass);
}

const gnn_layer_ops gnn_layer_lightgcn = {.plan = plan_lightgcn,
                                          .hops = true,
                                          .normalisation = normalisation_of_others,
                                          .declare = sum_layer_declare,
                                          .create = create_term,
                                          .destroy = destroy_term,
                                          .forward = lightgcn_forward,
                                          .backward = lightgcn_backward};
