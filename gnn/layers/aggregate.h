/*
 * gnn/layers/aggregate.h: neighbourhood sums over a partitioned graph, exact for any partition.
 *
 *     forward     y = post * (A (pre * x)) + diag * x          rows = destinations
 *     transposed  x = pre * (A^T (post * y)) + diag * y
 *
 * A vertex has one root, which owns its row, and replicas on the other ranks that hold edges of the vertex. A sum takes
 * three steps:
 *
 *     1  forward halo    owned rows go to the replicas that a local edge reads          (source replicas)
 *     2  local product   every rank sums over its own edges
 *     3  reverse halo    partial sums of replicas return to their root and are added    (destination replicas)
 *
 * The transposed sum exchanges the two lists of replicas. Where every rank holds whole rows of a symmetric graph (an
 * edge-cut), the transposed sum is the same gather with the scales exchanged, and step 3 is not needed in either
 * direction. A leg moves one row for each replica, in one message for each peer. Replicas know their scales too, so
 * rows are sent as they are.
 *
 * Where messages move while the rank computes (comm_moves_alone), the local product is cut in four (local_matrix.h) and
 * hides both legs. Work that others wait for goes first:
 *
 *   begin                                              leave                                               settle
 *   |post|  caller's work  | replica rows | inner edges ... wait | rest of    |post| inner | boundary | row   | wait |
 *   |    |  that needs no  | from owned   | until the rows       | replica    |    | edges | edges    | steps | and  |
 *   |    |  aggregate      | sources      | have arrived         | rows       |    | left  |          |       | add  |
 *        |<--------- forward leg under way ------------>|                    |<--- reverse leg under way --->|
 *
 * Row steps are work of single rows before and after a sum; unshared rows are done while messages are under way
 * (row_steps.h). With whole rows only shared rows have boundary edges, and the one wait stands in front of those,
 * behind inner edges and row steps.
 *
 * The inner edges (owned to owned, most edges of a good partition) are run in slices, with a look at the messages
 * between two slices. The number of slices that fit before the rows arrive depends on time, but the order in which a
 * row's terms are added does not: inner edges, then boundary edges, then the replicas' sums in rank order. Results are
 * deterministic; their last bits differ from those of the product in one piece.
 *
 * A training loss reads the rows of the training split alone, and the last sum before it may be cut down to those rows:
 * a scope of its own, with matrices and halos of its own (part_scope.h). A scope says which edges a sum runs along and
 * which rows cross ranks for it; rows that nobody reads hold something finite. The schedule is the same in all scopes.
 *
 * Rows of bfloat16 travel as they are stored, results and partial sums alike. Every stored value is rounded: a row
 * after its inner and after its boundary edges, a replica's partial sum likewise, and the root's row with each
 * replica's sum that it adds. With r replicas a sum is within (r + 4) 2^-9 of the magnitudes that it adds, half a unit
 * in the last place each.
 *
 * Matrices of the form HAL_SPMM_I16 sum rows of 16-bit fixed point, exactly (fixed_sums.h): rows are rounded before
 * they travel, so all row steps run before the first leg, and finished when their sums are complete.
 *
 * Order of calls, which aggregate.c asserts:
 *
 *   create --> READY --gnn_aggregate_begin--> BEGUN --gnn_aggregate_leave--> LEFT    sums of shared rows are open
 *                ^ |                            |  without overlap             | |
 *                | +-- rows: a step waits       +--------> READY <--settle-----+ +-- rows: a step runs, unshared rows
 *                +------ start_pass, from any state, also after a pass that failed
 *
 *     gnn_aggregate_begin in LEFT settles first. gnn_aggregate_end is leave and settle. set_scope and rows are not
 *     allowed in BEGUN.
 */
#pragma once

#include "base/trace/activity.h"
#include "gnn/halo/gnn_halo.h"
#include "gnn/layers/layer_plan.h"
#include "gnn/layers/local_matrix.h"
#include "gnn/layers/part_scope.h"
#include "gnn/layers/row_steps.h"
#include "partition/part.h"
#include "tensor/tensor.h"

extern const weft_activity ACTIVITY_AGGREGATE[1];
extern const weft_activity ACTIVITY_HALO[1];

/* ---- kinds of sums and scopes ------------------------------------------------------------------------------------ */

/* Scales of a sum. With edge weights a sum is over weight times row, and a degree is the sum of the weights; self
 * weighs 1. Self-loops of the graph are edges like others, and self is counted beside them, except that
 * GNN_NORM_SYMMETRIC counts self only where the vertex has no loop, as PyG's GCNConv does. */
typedef enum gnn_normalisation {
    GNN_NORM_MEAN,             /* sum over in-neighbours / in-degree; isolated: 0 */
    GNN_NORM_MEAN_SELF,        /* (sum + self) / (in-degree + 1): GraphSAGE "gcn" */
    GNN_NORM_SYMMETRIC,        /* D^-1/2 (A + I) D^-1/2, D = in-degree + 1, I without vertices that have a loop: Kipf,
                                * Welling 2017, arXiv 1609.02907 */
    GNN_NORM_SYMMETRIC_OTHERS, /* D^-1/2 A D^-1/2, D = in-degree; without in-edges: 0 */
    GNN_NORM_SUM_SELF          /* sum + self: GIN with eps = 0 */
} gnn_normalisation;

/* The edges that a sum runs along: all, or those into rows that the training loss reads. */
typedef enum gnn_scope { GNN_SCOPE_ALL, GNN_SCOPE_READ, GNN_SCOPES } gnn_scope;

/* The scope of a layer's sums in a pass. */
static inline gnn_scope gnn_scope_of(const gnn_layer_plan *layer, bool training)
{
    return training && layer->share < 1.0 ? GNN_SCOPE_READ : GNN_SCOPE_ALL;
}

/* ---- the aggregator ---------------------------------------------------------------------------------------------- */

/* Place in the order of calls. NONE: the model has no sums; passes, steps and settling do nothing special then. */
typedef enum gnn_aggregator_state {
    GNN_AGGREGATOR_NONE,
    GNN_AGGREGATOR_READY,
    GNN_AGGREGATOR_BEGUN,
    GNN_AGGREGATOR_LEFT
} gnn_aggregator_state;

/* The local edges of a scope, prepared, and the rows that cross ranks for them. */
typedef struct gnn_scoped {
    /* Matrices of GNN_SCOPE_ALL run along this scope's edges too, which are marked there: it has none of its own. */
    bool within;
    /* `forward` serves both directions: whole rows, or symmetric local edges. */
    bool shares;
    gnn_local_matrix forward, transposed;
    /* sources: halo of replicated rows that a local edge reads. destinations: halo of replicated rows that a local edge
     * writes; with whole rows, those that the transposed product reads. They are one halo where the lists are equal on
     * all ranks, and NULL on one rank. */
    gnn_halo *sources, *destinations;
} gnn_scoped;

/* An aggregation between begin and settle. */
typedef struct gnn_aggregation {
    gnn_scope scope;
    bool transposed;
    weft_tensor x, out;
    double beta;
} gnn_aggregation;

/* Scales of all local rows, [n_local, 1] each. Empty vectors count as 1, 1 and 0. diag is 0 on replicas. */
typedef struct gnn_vertex_scales {
    weft_tensor pre, post, diag;
} gnn_vertex_scales;

typedef struct gnn_fixed_sums gnn_fixed_sums; /* gnn/layers/fixed_sums.h */

typedef struct gnn_aggregator {
    /* Fixed when it is created. */
    weft_comm *comm;
    weft_hal *hal;
    weft_dtype dtype;
    int64_t n_owned, n_local;
    /* The halo hides behind the local product. */
    bool overlaps;
    /* Every rank holds whole rows (partition/part.h): both directions gather. */
    bool whole_rows;
    /* Number of valid entries of `of`: 1, or GNN_SCOPES. */
    int scopes;
    gnn_scoped of[GNN_SCOPES];
    gnn_vertex_scales scales;
    /* Scales from edges among owned vertices alone, for passes without exchange. */
    gnn_vertex_scales own_scales;
    /* Of matrices of the form HAL_SPMM_I16; NULL: sums are of floating-point numbers. */
    gnn_fixed_sums *fixed;

    /* The pass and the aggregation under way. */
    gnn_aggregator_state state;
    /* The pass exchanges nothing and uses own_scales. */
    bool local;
    /* Scope of the next aggregation. */
    gnn_scope scope;
    gnn_aggregation under_way;
    /* Row steps that wait for shared rows of the last aggregation, or for the next begin. */
    gnn_row_steps steps;

    /* Buffers listed by the last gnn_aggregator_state_buffers; NULL: none. */
    sync_buffer *buffer;

    /* Figures for the job. */
    double build_seconds;
    /* Measurements by which the matrices' forms were chosen. */
    gnn_form_figures forms;
    /* Training passes that started, ACTIVITY_AGGREGATE when the last of them did, and the least seconds of local
     * products between two of them (0: none is over). */
    int64_t passes;
    double booked, epoch_seconds;
} gnn_aggregator;

/* ---- for models: making, passes, checkpoints --------------------------------------------------------------------- */

typedef struct gnn_aggregator_options {
    gnn_normalisation normalisation;
    /* letters: what gnn_aggregator_forms returned earlier. */
    gnn_forms_asked forms;
    /* AUTO: overlap where messages move while the rank computes. */
    halo_overlap overlap;
    gnn_halo_options halo;
    /* Width of the widest matrix aggregated in GNN_SCOPE_READ; 0: there is no such scope. */
    int64_t read_width;
    /* [n_owned] not 0: the training loss reads the row. */
    const uint8_t *read;
} gnn_aggregator_options;

/* Builds both directions and the halos; the part's CSR may be released afterwards. Free with gnn_aggregator_destroy,
 * also after a failure. Collective. */
weft_status gnn_aggregator_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                  const gnn_aggregator_options *options, gnn_aggregator *aggregator);
void gnn_aggregator_destroy(gnn_aggregator *aggregator);

/* Announces the next aggregation of a training pass, of `width` columns in the scope that is set, before the first
 * pass: see gnn_halo_foresee. Collective. */
weft_status gnn_aggregator_foresee(gnn_aggregator *aggregator, bool transposed, int64_t width);
/* Sets the delay of every halo of the aggregator: see gnn_halo_tune. Collective. */
weft_status gnn_aggregator_tune_delay(gnn_aggregator *aggregator, int delay);
/* Returns the delay in force; 0: every row travels in every epoch. */
int gnn_aggregator_delay(const gnn_aggregator *aggregator);
/* Starts a pass over the layers, forward and, in training, backward; gnn/halo/gnn_halo.h says which rows are exchanged
 * in it. Without exchange (--no-halo) sums and degrees are those of the edges among a rank's own vertices. Before the
 * first pass everything is exchanged. Collective. */
weft_status gnn_aggregator_start_pass(gnn_aggregator *aggregator, const gnn_halo_pass *pass);
/* Sets the scope of the aggregations that follow; GNN_SCOPE_READ needs read_width > 0. */
void gnn_aggregator_set_scope(gnn_aggregator *aggregator, gnn_scope scope);
/* Age in epochs of a leg's rows in the pass that was started last: see gnn_halo_staleness. */
int64_t gnn_aggregator_staleness(const gnn_aggregator *aggregator);

/* Returns true if aggregations keep rows from epoch to epoch; the same on all ranks. The other two are train_model's
 * state and restored. */
bool gnn_aggregator_remembers(const gnn_aggregator *aggregator);
weft_status gnn_aggregator_state_buffers(gnn_aggregator *aggregator, const sync_buffer **buffer, int *count);
weft_status gnn_aggregator_restored(gnn_aggregator *aggregator);

/* ---- for layers: one aggregation --------------------------------------------------------------------------------- */

/*
 * out = aggregate(x) + beta * out on the owned rows, beta 0 or 1; both [n_local, d]. The replicas' rows are scratch and
 * must be finite before the first call: create such matrices zeroed. x and out must not overlap. Collective.
 */
weft_status gnn_aggregate(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta, weft_tensor *out);
/*
 * gnn_aggregate in two halves, for work in between that neither reads out nor writes x. The caller may write owned rows
 * of out; beta adds to the values that end finds there. One aggregation at a time. Work of milliseconds calls
 * gnn_aggregate_poll now and then.
 *
 *     WEFT_TRY(gnn_aggregate_begin(&aggregator, false, &z, 1.0, &out));
 *     ... out = x W + b ...
 *     WEFT_TRY(gnn_aggregate_end(&aggregator));
 */
weft_status gnn_aggregate_begin(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta,
                                weft_tensor *out);
void gnn_aggregate_poll(gnn_aggregator *aggregator);
weft_status gnn_aggregate_end(gnn_aggregator *aggregator);
/* Leaves the sums of shared rows incomplete. Until settle or the next begin only row steps may touch out. */
weft_status gnn_aggregate_leave(gnn_aggregator *aggregator);
/* Adds a row step for the rows of the layers [n_owned]. It runs at once where waiting gains nothing. begin and settle
 * run all steps that wait. */
weft_status gnn_aggregate_rows(gnn_aggregator *aggregator, int64_t n_owned, const gnn_row_step *step);
/* Completes the sums of shared rows, and runs the row steps that wait. */
weft_status gnn_aggregate_settle(gnn_aggregator *aggregator);

/* ---- for the job: choices and figures ---------------------------------------------------------------------------- */

/* [out] forms: a letter for the form of each prepared matrix of all edges (gnn/layers/local_matrix.h), forward, then
 * transposed, and the end of the text. All '-' without a graph. The other scope has the same forms. */
void gnn_aggregator_forms(const gnn_aggregator *aggregator, char forms[GNN_FORMS + 1]);
/* Returns true if an aggregator made with this option hides its halo. */
bool gnn_overlaps(const weft_comm *comm, halo_overlap overlap);
