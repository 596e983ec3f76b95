/*
 * gnn/layers/layer_plan.h: the shape of a graph network and the order of its work, decided before anything is
 * allocated.
 *
 * Aggregation is linear, so a layer may aggregate first (width d_in) or multiply first (width d_out). Rows moved per
 * epoch:
 *
 *     linear first      2 d_out        forward and backward
 *     aggregate first   2 d_in         forward and backward; the first layer needs no input gradient: d_in
 *     constant input    0              first layer without input dropout: aggregated once, before the first epoch
 *
 * Features that stay on the host (gnn_config.streams) pass through the backend's memory for every product: they go
 * linear first, or are a constant input whose aggregate takes their place there.
 *
 * The plan takes the smallest, and its matrices are listed here once: allocation, --dry-run and the memory check all
 * read the same sizes.
 */
#pragma once

#include "base/option_words.h"
#include "gnn/halo/gnn_halo.h"
#include "gnn/layers/form_choice.h"
#include "train/layers/norm.h"

/* Convolutions of up to two layers each, and the map that jumping connections end in. */
enum { GNN_MAX_CONVOLUTIONS = 64, GNN_MAX_LAYERS = 2 * GNN_MAX_CONVOLUTIONS + 1 };
/* Columns of the features that are aggregated at once before the first epoch; of features on the host, whose device has
 * no room: a cache line of float32. */
enum { GNN_STRIP = 64, GNN_NARROW_STRIP = 16 };

#define GNN_KINDS(X)                                                                                                   \
    X(GNN_SAGE, "sage")                                                                                                \
    X(GNN_GCN, "gcn")                                                                                                  \
    X(GNN_MLP, "mlp")                                                                                                  \
    X(GNN_GAT, "gat")                                                                                                  \
    X(GNN_GIN, "gin")                                                                                                  \
    X(GNN_SGC, "sgc")                                                                                                  \
    X(GNN_GATV2, "gatv2")                                                                                              \
    X(GNN_LIGHTGCN, "lightgcn")
typedef enum gnn_kind { GNN_KINDS(CHOICE_VALUE) } gnn_kind;

#define GNN_SAGE_AGGREGATORS(X)                                                                                        \
    X(GNN_SAGE_MEAN, "mean")                                                                                           \
    X(GNN_SAGE_GCN, "gcn")                                                                                             \
    X(GNN_SAGE_MAX, "max")
typedef enum gnn_sage_aggregator { GNN_SAGE_AGGREGATORS(CHOICE_VALUE) } gnn_sage_aggregator;

/* The layers whose parameters decay. */
#define GNN_DECAYS(X)                                                                                                  \
    X(GNN_DECAY_ALL, "all")                                                                                            \
    X(GNN_DECAY_FIRST, "first")
typedef enum gnn_decay { GNN_DECAYS(CHOICE_VALUE) } gnn_decay;

#define GNN_ORDERS(X)                                                                                                  \
    X(GNN_ORDER_AUTO, "auto")                                                                                          \
    X(GNN_ORDER_AGGREGATE_FIRST, "aggregate-first")                                                                    \
    X(GNN_ORDER_LINEAR_FIRST, "linear-first")
typedef enum gnn_order { GNN_ORDERS(CHOICE_VALUE) } gnn_order;

/* --gin-eps: the number that GIN adds to 1 as the weight of a vertex' own row. */
#define GNN_EPS_CHOICES(X)                                                                                             \
    X(GNN_EPS_0, "0")                                                                                                  \
    X(GNN_EPS_LEARNED, "learned")
typedef enum gnn_eps { GNN_EPS_CHOICES(CHOICE_VALUE) } gnn_eps;

/* --last-layer: which rows of the last layer a training epoch computes. */
#define GNN_LAST_LAYERS(X)                                                                                             \
    X(GNN_LAST_AUTO, "auto")                                                                                           \
    X(GNN_LAST_READ, "read")                                                                                           \
    X(GNN_LAST_WHOLE, "whole")
typedef enum gnn_last_layer { GNN_LAST_LAYERS(CHOICE_VALUE) } gnn_last_layer;

/* --edge-weights: sums use the weights of a store's edges. auto: yes, if the store has weights and the model has a use
 * for them. */
#define GNN_EDGE_WEIGHTS(X)                                                                                            \
    X(GNN_WEIGHTS_AUTO, "auto")                                                                                        \
    X(GNN_WEIGHTS_ON, "on")                                                                                            \
    X(GNN_WEIGHTS_OFF, "off")
typedef enum gnn_edge_weights { GNN_EDGE_WEIGHTS(CHOICE_VALUE) } gnn_edge_weights;

/* How features are held: all of them, or only those that are not 0 (tensor/tensor_features.h). */
#define GNN_FEATURE_FORMS(X)                                                                                           \
    X(GNN_FEATURES_AUTO, "auto") /* not decided yet (gnn/facts.h) */                                                   \
    X(GNN_FEATURES_WHOLE, "whole")                                                                                     \
    X(GNN_FEATURES_SPARSE, "sparse")
typedef enum gnn_feature_form { GNN_FEATURE_FORMS(CHOICE_VALUE) } gnn_feature_form;

/* --feature-rows: the numbers of rows that sums read. */
#define GNN_FEATURE_ROWS(X)                                                                                            \
    X(GNN_ROWS_F32, "f32")                                                                                             \
    X(GNN_ROWS_I16, "i16") /* fixed point: gnn/layers/fixed_sums.h */
typedef enum gnn_feature_rows { GNN_FEATURE_ROWS(CHOICE_VALUE) } gnn_feature_rows;

/* --feature-place: which memory holds the features, if the backend has memory of its own. */
#define GNN_FEATURE_PLACES(X)                                                                                          \
    X(GNN_PLACE_AUTO, "auto") /* not decided yet */                                                                    \
    X(GNN_PLACE_DEVICE, "device")                                                                                      \
    X(GNN_PLACE_HOST, "host")
typedef enum gnn_feature_place { GNN_FEATURE_PLACES(CHOICE_VALUE) } gnn_feature_place;

/* --weight-init: how linear maps begin. */
#define GNN_WEIGHT_INITS(X)                                                                                            \
    X(GNN_INIT_GLOROT, "glorot")                                                                                       \
    X(GNN_INIT_UNIFORM, "uniform")                                                                                     \
    X(GNN_INIT_LINEAR, "linear") /* gnn/linear_start.h */
typedef enum gnn_weight_init { GNN_WEIGHT_INITS(CHOICE_VALUE) } gnn_weight_init;

/* --residual: a hidden convolution's input is added to its result. */
#define GNN_RESIDUALS(X)                                                                                               \
    X(GNN_RESIDUAL_OFF, "off")                                                                                         \
    X(GNN_RESIDUAL_ON, "on")
typedef enum gnn_residual { GNN_RESIDUALS(CHOICE_VALUE) } gnn_residual;

/* --jumping: how the results of all convolutions are combined in front of a last linear map. */
#define GNN_JUMPINGS(X)                                                                                                \
    X(GNN_JUMPING_NONE, "none")                                                                                        \
    X(GNN_JUMPING_CAT, "cat")                                                                                          \
    X(GNN_JUMPING_MAX, "max")
typedef enum gnn_jumping { GNN_JUMPINGS(CHOICE_VALUE) } gnn_jumping;

/* What reads the answers of the last layer and has parameters of its own behind those of the layers. */
typedef struct gnn_head {
    void *self;
    int64_t parameters; /* trained elements */
    weft_status (*declare)(void *self, param_store *params);
} gnn_head;

typedef struct gnn_config {
    const gnn_head *head; /* lives as long as the model; NULL: none */
    bool keeps_edges;     /* gnn_model_create leaves the part its edges, for another model */
    gnn_kind kind;
    gnn_sage_aggregator aggregator;
    int layers; /* convolutions; of sgc and lightgcn: hops */
    int64_t inputs, hidden, outputs;
    norm_kind norm;
    float dropout, input_dropout;
    int heads, out_heads;        /* of attention: of hidden layers, side by side; of the last, their mean */
    float slope, weight_dropout; /* of attention: LeakyReLU below 0; dropout of edges' weights */
    float value_dropout;         /* GAT: dropout of the rows that attention sums; rows that it scores are not masked */
    gnn_order order;
    bool learns_eps; /* of gin: the weight of a vertex' own row is 1 + a parameter, not 1 */
    bool residual;   /* a hidden convolution's input, but for the first, is added to its result */
    gnn_jumping jumping;
    gnn_weight_init init; /* of linear maps but attention's; of a new model, no part of a saved one */
    bool decay_first_only;
    /* Features, values between layers and their gradients are bfloat16; needs parameters of float32. */
    bool bf16;
    /* Every feature, as it is multiplied, is a number of bfloat16: features are held in 16 bits where they are only
     * multiplied, which changes no bit of a result. Needs parameters of float32 and a backend of the host. */
    bool narrow_features;

    /* The fields below say how the work is done. They are no part of a saved model. */

    /* Share of the features that are not 0, if only these are held; 0: features are held whole. */
    double density;
    /* Share of the edges that lead into rows that the loss reads. The last sum of a training epoch runs along these
     * edges alone; 0: along all edges. */
    double read_share;
    /* Sums are of rows of 16-bit fixed point (gnn/layers/fixed_sums.h). */
    bool fixed_rows;
    /* Features stay on the host and pass through the backend's memory in blocks; see gnn_may_stream. */
    bool streams;
    /* With streams: rows of a block; 0: some MB. */
    int64_t stream_rows;
    halo_overlap overlap;
    gnn_halo_options halo;
    /* Forms of the aggregation matrices, as gnn_aggregator_forms returns them; "": measured, or by rule. */
    char forms[GNN_FORMS + 1];
    /* Forms are chosen by a rule, without measuring. */
    bool forms_by_rule;
} gnn_config;

/* GraphSAGE's maximum over neighbours, which is no sum: gnn/layers/max_layer.c. */
static inline bool gnn_takes_maxima(const gnn_config *config)
{
    return config->kind == GNN_SAGE && config->aggregator == GNN_SAGE_MAX;
}

/* Returns true if features can pass block by block: they are only multiplied, and no epoch sums or compares those of
 * neighbours. */
static inline bool gnn_may_stream(const gnn_config *config)
{
    return config->density <= 0.0 && config->order != GNN_ORDER_AGGREGATE_FIRST && !gnn_takes_maxima(config);
}

typedef enum gnn_flow {
    GNN_FLOW_DENSE,           /* no graph: out = x W + b */
    GNN_FLOW_LINEAR_FIRST,    /* z = x W_neigh; out = x W_self + b + aggregate(z) */
    GNN_FLOW_AGGREGATE_FIRST, /* m = aggregate(x), a sum or a maximum; out = x W_self + m W_neigh + b */
    GNN_FLOW_CONSTANT,        /* m as above, computed once */
    GNN_FLOW_ATTENTION        /* z = x W; out = sums of z over edges, weighed by attention, + b */
} gnn_flow;

typedef struct gnn_layer_ops gnn_layer_ops; /* gnn/layers/layer.h */
typedef struct gnn_plan gnn_plan;

typedef struct gnn_layer_plan {
    const gnn_layer_ops *ops; /* the layer's kind */
    gnn_flow flow;
    bool self;            /* separate weights for the vertex itself (GraphSAGE mean) */
    bool sparse;          /* first layer: products walk the features that are not 0; needs a flow that multiplies x */
    bool streams;         /* first layer: x stays on the host and passes in blocks, which are masked in their place */
    bool narrow;          /* first layer: x is held as bfloat16, exactly, and its products are those of float32 */
    bool panels;          /* first layer, input dropout: masked panel by panel, never stored whole */
    bool last;            /* of the model: its result is the answer */
    bool centred;         /* batch norm behind it takes off the mean, and with it the bias, whose gradient is 0 */
    bool learns_eps;      /* GIN's, as in gnn_config */
    gnn_weight_init init; /* as in gnn_config */
    bool inner;           /* followed by a layer of the same convolution */
    int skip;             /* the layer whose input is added behind this one's normalisation; -1: none */
    int hops;             /* aggregations, one after the other, with no weights in between */
    int sums[2];          /* aggregations that a training epoch makes, each `width` columns wide: forward, transposed */
    int number;           /* of its convolution */
    char name[16];        /* of its parameters: "layer3" */
    int64_t d_in, d_out;
    int heads; /* attention: of this layer, 0 without; slope and dropouts as in gnn_config */
    float slope, weight_dropout, value_dropout;
    /* Input matrix: x, or x | m side by side. Output matrix: out, or out | z side by side. */
    int64_t input_rows, input_cols, output_rows, output_cols;
    weft_dtype input_type, output_type; /* of the two matrices; the last layer's output has the parameters' type */
    int64_t width;                      /* of the widest matrix that is aggregated at once, 0 without a graph */
    int strips;                         /* so wide, that a constant input passes through before the first epoch */
    int64_t extra;                      /* elements of matrices that the kind keeps besides */
    int64_t aggregated;                 /* columns aggregated in a training epoch, each over two legs */
    double share;                       /* share of the edges that it aggregates along: 1, or config.read_share */
    int64_t weights;                    /* numbers trained, without the normalisation behind the layer */
} gnn_layer_plan;

struct gnn_plan {
    gnn_config config;
    int64_t n_owned, n_local;
    weft_dtype values; /* features, what stands between layers, and its gradients */
    gnn_layer_plan layer[GNN_MAX_LAYERS];
    int layers;         /* number of valid entries of `layer` */
    int64_t read_width; /* widest matrix that is aggregated along a share of the edges, 0: none is */
    /* Convolution k has the layers k * convolution_layers to (k + 1) * convolution_layers - 1. */
    int convolutions, convolution_layers;
    int64_t max_width;     /* widest aggregated matrix */
    int64_t panel_rows;    /* of the dropout panels, 0: none */
    int64_t stream_rows;   /* of the two blocks that features on the host pass through, 0: none */
    int64_t gradient_cols; /* of the extra gradient matrix that normalisation needs, 0: none */
    int64_t skip_cols;     /* of the gradient that passes a residual convolution by, 0: none */
    int64_t jump_cols;     /* of all convolutions' results side by side, 0: nothing jumps */
    int64_t parameters;    /* trained elements */
    int64_t state;         /* elements of running statistics */
    int64_t largest;       /* elements of the largest parameter, at most */
    uint64_t feature_bytes, activation_bytes, setup_bytes;
    uint64_t host_feature_bytes; /* of features that stay on the host; feature_bytes are of the two blocks then */
};

/* dtype: of parameters */
void gnn_plan_make(const gnn_config *config, int64_t n_owned, int64_t n_local, int threads, weft_dtype dtype,
                   gnn_plan *plan);
/* Counts rows of partial maxima (gnn/edges/shared_edges.h) behind those of vertices, for a plan that has none yet. */
void gnn_plan_share(gnn_plan *plan, int64_t sums);
/* Memory that the backend's operations take beside their operands, at most, for a part of so many edges. */
uint64_t gnn_plan_scratch(const gnn_plan *plan, const weft_hal *hal, int64_t edges);
const char *gnn_flow_text(gnn_flow flow);
/* Returns the width of the matrix that an epoch aggregates most often; 0: epochs aggregate none, although one may be
 * aggregated before the first epoch. */
int64_t gnn_plan_epoch_width(const gnn_plan *plan);

/* Bytes of a training epoch for each row that crosses ranks on every leg (partition_report.rows_per_layer counts such
 * rows), in both directions of all layers, as `halo` lets them travel: all of them, one in `delay`, coded, or none. */
double gnn_plan_halo_bytes(const gnn_plan *plan, const gnn_halo_options *halo);
