/* gnn/product_gain.c: see gnn/product_gain.h. */
#include "gnn/product_gain.h"

#include <math.h>

#include "base/clock.h"
#include "base/philox.h"
#include "gnn/layers/layer.h"

enum {
    TRIES = 5,   /* most runs of a round that count; work whose runs took LONG seconds gets one */
    ROUNDS = 10, /* most rounds over all layers, each in matrices of its own; none begins after LONG seconds */
    EDGES = 64,  /* most edges of a row of the matrix whose sums are measured */
    STACKED = 4  /* most rows of it for each source */
};
static const double LONG = 0.8;
static const double STEADY = 0.98; /* rounds end with one that leaves so much of the least times of both types */

/* The least seconds so far of each type, of products and of sums. */
typedef struct layer_times {
    double products[2], sums[2];
} layer_times;

/* The matrices of one layer: y[rows, out] = x[rows, in] w[in, out], and to = the sums of from[rows, width]. */
typedef struct layer_work {
    weft_tensor x, w, y;
    bool turns_back; /* the gradient of x is wanted */
    const tensor_sparse *edges;
    weft_tensor from, to;
} layer_work;

typedef weft_status work(layer_work *l);

static weft_status create_products(weft_hal *hal, const gnn_layer_plan *plan, bool first, layer_work *l)
{
    const int64_t rows = GNN_GAIN_ROWS;
    const bool before = plan->flow == GNN_FLOW_AGGREGATE_FIRST || plan->flow == GNN_FLOW_CONSTANT;
    const int64_t in = plan->self && before ? 2 * plan->d_in : plan->d_in;
    const int64_t out = plan->self && !before ? 2 * plan->d_out : plan->d_out;
    l->turns_back = !first;
    WEFT_TRY(tensor_create(hal, plan->input_type, rows, in, WEFT_MEM_WORKSPACE, &l->x));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, in, out, WEFT_MEM_WORKSPACE, &l->w));
    WEFT_TRY(tensor_create(hal, plan->output_type, rows, out, WEFT_MEM_WORKSPACE, &l->y));
    WEFT_TRY(tensor_zero(&l->x));
    WEFT_TRY(tensor_zero(&l->w));
    return tensor_zero(&l->y);
}

static weft_status create_sums(weft_hal *hal, const gnn_layer_plan *plan, const tensor_sparse *edges, layer_work *l)
{
    const weft_dtype type = plan->flow == GNN_FLOW_LINEAR_FIRST ? plan->output_type : plan->input_type;
    l->edges = edges;
    WEFT_TRY(tensor_create(hal, type, GNN_GAIN_ROWS, plan->width, WEFT_MEM_WORKSPACE, &l->from));
    WEFT_TRY(tensor_create(hal, type, edges->rows, plan->width, WEFT_MEM_WORKSPACE, &l->to));
    return tensor_zero(&l->from);
}

static weft_status multiply(layer_work *l)
{
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &l->x, .b = &l->w}, &l->y));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &l->x, .b = &l->y, .trans_a = true}, &l->w));
    return l->turns_back ? tensor_gemm(&(tensor_product){.a = &l->y, .b = &l->w, .trans_b = true}, &l->x) : WEFT_OK;
}

static weft_status add_up(layer_work *l)
{
    return tensor_spmm(l->edges, &l->from, &(tensor_spmm_terms){.beta = 0.0}, &l->to);
}

/* seconds: lowered to the least of each type. The first try is not counted. */
static weft_status compare(weft_hal *hal, work *run, layer_work of[2], double seconds[2])
{
    double spent = 0.0;
    for (int i = 0; i <= TRIES && (i < 2 || spent < LONG); ++i) {
        for (int type = 0; type < 2; ++type) {
            WEFT_TRY(hal->stream.sync(hal));
            const double begun = clock_seconds();
            WEFT_TRY(run(&of[type]));
            WEFT_TRY(hal->stream.sync(hal));
            const double took = clock_seconds() - begun;
            spent += took;
            seconds[type] = i > 0 ? fmin(seconds[type], took) : seconds[type];
        }
    }
    return WEFT_OK;
}

/* Edges of a row that are measured; the graph has so many or more. */
static int edges_of(double degree)
{
    return degree >= EDGES ? EDGES : degree > 1.0 ? (int)degree : 1;
}

/* Rows for each source: what is done once a source shall weigh as little as in the graph. */
static int stacked(double degree)
{
    return degree >= STACKED * EDGES ? STACKED : degree >= EDGES ? (int)(degree / EDGES) : 1;
}

/* How often an epoch does the sums that are measured of a layer. */
static double sums_of(const gnn_layer_plan *layer, double degree)
{
    const double measured = (double)stacked(degree) * edges_of(degree);
    return layer->width > 0 ? (layer->sums[0] + layer->sums[1]) * degree / measured : 0.0;
}

static weft_status measure_layer(weft_hal *hal, const gnn_plan plan[2], int l, const tensor_sparse *edges,
                                 double degree, layer_times *times)
{
    const gnn_layer_plan *layer = &plan[0].layer[l];
    const bool sums = sums_of(layer, degree) > 0.0;
    weft_status status = WEFT_OK;
    layer_work of[2] = {{.turns_back = false}};
    for (int type = 0; type < 2 && !layer->sparse; ++type) {
        WEFT_TRY_GOTO(create_products(hal, &plan[type].layer[l], l == 0, &of[type]), status, done);
    }
    for (int type = 0; type < 2 && sums; ++type) {
        WEFT_TRY_GOTO(create_sums(hal, &plan[type].layer[l], edges, &of[type]), status, done);
    }
    WEFT_TRY_GOTO(layer->sparse ? WEFT_OK : compare(hal, multiply, of, times->products), status, done);
    WEFT_TRY_GOTO(sums ? compare(hal, add_up, of, times->sums) : WEFT_OK, status, done);
done:
    for (int type = 0; type < 2; ++type) {
        TENSOR_DESTROY_ALL(&of[type].x, &of[type].w, &of[type].y, &of[type].from, &of[type].to);
    }
    return status;
}

/* Random edges from GNN_GAIN_ROWS sources, `degree` a row on average and up to twice as many: rows of one length
 * would be faster than any graph's. The form is blocks, as large graphs take: in lists a narrow row of
 * bfloat16 may cost more than one of float32 where in blocks it costs less, and which of both is the quickest here is
 * a matter of chance. */
static weft_status create_edges(weft_hal *hal, const gnn_plan *plan, int degree, int rows_of_source,
                                tensor_sparse *edges)
{
    const int64_t sources = GNN_GAIN_ROWS, rows = rows_of_source * sources, most = rows * 2 * degree;
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    int32_t *column = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&offset, rows + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&column, most, WEFT_MEM_WORKSPACE), status, done);
    offset[0] = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const philox_block length = philox4x32(philox_counter(0, (uint64_t)i, WEFT_RNG_GENERATE, 0), 0);
        philox_block draw = length;
        const int64_t own = 1 + length.word[0] % (uint32_t)(2 * degree - 1);
        for (int64_t e = 0; e < own; ++e) {
            if (e % 4 == 0) {
                draw = philox4x32(philox_counter((uint32_t)e, (uint64_t)i, WEFT_RNG_GENERATE, 1), 0);
            }
            column[offset[i] + e] = (int32_t)(draw.word[e % 4] % (uint32_t)sources);
        }
        offset[i + 1] = offset[i] + own;
    }
    const hal_csr csr = {
        .rows = rows, .cols = sources, .offset = offset, .column = column, .usual_d = gnn_plan_epoch_width(plan)};
    *edges = (tensor_sparse){.rows = rows, .cols = sources, .entries = offset[rows]};
    WEFT_TRY_GOTO(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_BLOCKS, plan->max_width, &edges->spmm), status, done);
done:
    WEFT_FREE_ALL(offset, column);
    return status;
}

/* What an epoch does with all layers, by the least times. */
static gnn_product_gain gain_of(const gnn_plan *plan, double degree, const layer_times *times)
{
    double seconds[2] = {0.0, 0.0};
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        const double sums = sums_of(layer, degree);
        for (int type = 0; type < 2; ++type) {
            seconds[type] +=
                (layer->sparse ? 0.0 : times[l].products[type]) + (sums > 0.0 ? sums * times[l].sums[type] : 0.0);
        }
    }
    return (gnn_product_gain){.seconds_f32 = seconds[0], .seconds_bf16 = seconds[1]};
}

/* A burst of other work lasts for all tries of a layer and speaks for either type; rounds are apart. */
static weft_status measure_rounds(weft_hal *hal, const gnn_plan plan[2], const tensor_sparse *edges, double degree,
                                  gnn_product_gain *gain)
{
    const double begun = clock_seconds();
    layer_times times[GNN_MAX_LAYERS];
    bool steady = false;
    for (int l = 0; l < plan[0].layers; ++l) {
        times[l] = (layer_times){.products = {INFINITY, INFINITY}, .sums = {INFINITY, INFINITY}};
    }
    for (int round = 0; round < ROUNDS && !steady && (round == 0 || clock_seconds() - begun < LONG); ++round) {
        for (int l = 0; l < plan[0].layers; ++l) {
            WEFT_TRY(measure_layer(hal, plan, l, edges, degree, &times[l]));
        }
        const gnn_product_gain own = gain_of(&plan[0], degree, times);
        steady = round > 0 && own.seconds_f32 >= STEADY * gain->seconds_f32 &&
                 own.seconds_bf16 >= STEADY * gain->seconds_bf16;
        *gain = own;
    }
    return WEFT_OK;
}

weft_status gnn_product_gain_measure(weft_hal *hal, const gnn_config *config, double degree, gnn_product_gain *gain)
{
    gnn_plan plan[2];
    tensor_sparse edges = {.spmm = NULL};
    weft_status status = WEFT_OK;
    *gain = (gnn_product_gain){0};
    for (int type = 0; type < 2; ++type) {
        gnn_config typed = *config;
        typed.bf16 = type == 1;
        gnn_plan_make(&typed, 1, 1, 1, WEFT_DTYPE_F32, &plan[type]);
    }
    WEFT_TRY(plan[0].max_width > 0 ? create_edges(hal, &plan[0], edges_of(degree), stacked(degree), &edges) : WEFT_OK);
    WEFT_TRY_GOTO(measure_rounds(hal, plan, &edges, degree, gain), status, done);
done:
    if (edges.spmm != NULL) {
        hal->sparse.spmm_destroy(hal, edges.spmm);
    }
    return status;
}
