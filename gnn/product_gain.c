/* gnn/product_gain.c: see gnn/product_gain.h. */
#include "gnn/product_gain.h"

#include <math.h>

#include "base/clock.h"
#include "gnn/layers/layer.h"

/* Most runs that count; layers whose runs took LONG seconds get one. */
enum { TRIES = 4 };
static const double LONG = 0.1;

/* The matrices of one layer's products: y[rows, out] = x[rows, in] w[in, out]. */
typedef struct layer_products {
    weft_tensor x, w, y;
    bool turns_back; /* the gradient of x is wanted */
} layer_products;

static weft_status create(weft_hal *hal, const gnn_layer_plan *plan, bool first, layer_products *p)
{
    const int64_t rows = GNN_GAIN_ROWS;
    const bool before = plan->flow == GNN_FLOW_AGGREGATE_FIRST || plan->flow == GNN_FLOW_CONSTANT;
    const int64_t in = plan->self && before ? 2 * plan->d_in : plan->d_in;
    const int64_t out = plan->self && !before ? 2 * plan->d_out : plan->d_out;
    p->turns_back = !first;
    WEFT_TRY(tensor_create(hal, plan->input_type, rows, in, WEFT_MEM_WORKSPACE, &p->x));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, in, out, WEFT_MEM_WORKSPACE, &p->w));
    WEFT_TRY(tensor_create(hal, plan->output_type, rows, out, WEFT_MEM_WORKSPACE, &p->y));
    WEFT_TRY(tensor_zero(&p->x));
    WEFT_TRY(tensor_zero(&p->w));
    return tensor_zero(&p->y);
}

static weft_status multiply(layer_products *p)
{
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &p->x, .b = &p->w}, &p->y));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &p->x, .b = &p->y, .trans_a = true}, &p->w));
    return p->turns_back ? tensor_gemm(&(tensor_product){.a = &p->y, .b = &p->w, .trans_b = true}, &p->x) : WEFT_OK;
}

/* seconds: the least so far of each type. The first try is not counted. */
static weft_status compare(weft_hal *hal, layer_products p[2], double seconds[2])
{
    double spent = 0.0;
    seconds[0] = seconds[1] = INFINITY;
    for (int i = 0; i <= TRIES && (i < 2 || spent < LONG); ++i) {
        for (int type = 0; type < 2; ++type) {
            WEFT_TRY(hal->stream.sync(hal));
            const double begun = clock_seconds();
            WEFT_TRY(multiply(&p[type]));
            WEFT_TRY(hal->stream.sync(hal));
            const double took = clock_seconds() - begun;
            spent += took;
            seconds[type] = i > 0 ? fmin(seconds[type], took) : seconds[type];
        }
    }
    return WEFT_OK;
}

static weft_status measure_layer(weft_hal *hal, const gnn_plan plan[2], int l, gnn_product_gain *gain)
{
    weft_status status = WEFT_OK;
    layer_products p[2] = {{.turns_back = false}};
    double seconds[2];
    for (int type = 0; type < 2; ++type) {
        WEFT_TRY_GOTO(create(hal, &plan[type].layer[l], l == 0, &p[type]), status, done);
    }
    WEFT_TRY_GOTO(compare(hal, p, seconds), status, done);
    gain->seconds_f32 += seconds[0];
    gain->seconds_bf16 += seconds[1];
done:
    for (int type = 0; type < 2; ++type) {
        TENSOR_DESTROY_ALL(&p[type].x, &p[type].w, &p[type].y);
    }
    return status;
}

weft_status gnn_product_gain_measure(weft_hal *hal, const gnn_config *config, gnn_product_gain *gain)
{
    gnn_plan plan[2];
    *gain = (gnn_product_gain){0};
    for (int type = 0; type < 2; ++type) {
        gnn_config typed = *config;
        typed.bf16 = type == 1;
        gnn_plan_make(&typed, 1, 1, 1, WEFT_DTYPE_F32, &plan[type]);
    }
    for (int l = 0; l < plan[0].layers; ++l) {
        WEFT_TRY(plan[0].layer[l].sparse ? WEFT_OK : measure_layer(hal, plan, l, gain));
    }
    return WEFT_OK;
}
