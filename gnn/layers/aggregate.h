/*
 * gnn/layers/aggregate.h: neighbourhood sums over a partitioned graph, exact for any partition.
 *
 *     forward     y = post * (A (pre * x)) + diag * x          rows = destinations
 *     transposed  x = pre * (A^T (post * y)) + diag * y
 *
 * Only the root of a vertex holds its row before and after; what happens in between, for replicas on other ranks:
 *
 *     1  forward halo    root rows go to the replicas that feed a local edge        (source replicas)
 *     2  local product   every rank sums over its own edges
 *     3  reverse halo    partial sums of replicas return to their root and are added (destination replicas)
 *
 * and transposed with the two lists exchanged. Where every rank holds whole rows of a symmetric graph (an edge-cut), the
 * transposed sum is the same gather with the scales exchanged, and there is no third step in either direction. Rows
 * moved: one a replica and leg, in one message a peer. The scale
 * vectors are known on replicas too (exchanged once), so nothing is scaled before sending.
 *
 * Where messages move while the rank computes (comm_moves_alone), the local product is cut in four (local_matrix.h) and
 * hides both legs. What others wait for goes first:
 *
 *     begin                                              end
 *     |post|  caller's work  | replica rows | inner edges ... wait | rest of    |post| inner | boundary | row   | wait |
 *     |    |  that needs no  | from owned   | until the rows       | replica    |    | edges | edges    | steps | and  |
 *     |    |  aggregate      | sources      | have arrived         | rows       |    | left  |          |       | add  |
 *          |<--------- forward leg under way ------------>|                    |<--- reverse leg under way --->|
 *
 * Row steps are the work of single rows before and after, as far as it is that of unshared rows (row_steps.h). With whole rows
 * boundary edges are those of shared rows, and the one wait stands in front of them, behind inner edges and row steps.
 *
 * The inner edges (owned to owned, most of a good partition) are run in slices, and messages are looked after between
 * two of them. How many slices fit before the rows arrive is a matter of time, but not the order in which a row's terms
 * are added: inner, then boundary edges, then the replicas' sums in rank order. Deterministic, though the last bits are
 * not those of the product in one piece.
 *
 * A training loss reads some rows alone, and the last sum before it may be cut down to those: a scope of its own, with matrices
 * and halos of its own (part_scope.h). A scope says which edges a sum runs along, and which rows cross ranks for it; the rows that
 * nobody reads hold something finite. The schedule is the same in all scopes.
 *
 * Rows of bfloat16 travel as they are stored, results and partial sums alike. What is stored is rounded: a row after its
 * inner and after its boundary edges, a replica's partial sum likewise, and the root's row with each replica's that it
 * adds. With r replicas a sum is so within (r + 4) 2^-9 of the magnitudes that it adds, half a unit in the last place each.
 */
#ifndef WEFT_GNN_LAYERS_AGGREGATE_H
#define WEFT_GNN_LAYERS_AGGREGATE_H

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

/* Of a part whose edges have weights a sum is over weight times row, and a degree the sum of the weights; self weighs 1.
 * Of a graph that has self-loops they are edges like others, and self is counted beside them; GNN_NORM_SYMMETRIC alone counts
 * self only where the vertex has no loop, as PyG's GCNConv. */
typedef enum gnn_normalisation {
    GNN_NORM_MEAN,             /* sum over in-neighbours / in-degree; isolated: 0 */
    GNN_NORM_MEAN_SELF,        /* (sum + self) / (in-degree + 1): GraphSAGE "gcn" */
    GNN_NORM_SYMMETRIC,        /* D^-1/2 (A + I) D^-1/2, D = in-degree + 1, I without vertices that have a loop: Kipf,
                                * Welling 2017, arXiv 1609.02907 */
    GNN_NORM_SYMMETRIC_OTHERS, /* D^-1/2 A D^-1/2, D = in-degree; without in-edges: 0 */
    GNN_NORM_SUM_SELF          /* sum + self: GIN with eps = 0 */
} gnn_normalisation;

/* Along which edges: all, or those into rows that the loss reads. */
typedef enum gnn_scope { GNN_SCOPE_ALL, GNN_SCOPE_READ, GNN_SCOPES } gnn_scope;

/* What a layer's sums run along in a pass. */
static inline gnn_scope gnn_scope_of(const gnn_layer_plan *layer, bool training)
{
    return training && layer->share < 1.0 ? GNN_SCOPE_READ : GNN_SCOPE_ALL;
}

/* The local edges of a scope, prepared, and the rows that cross ranks for them. */
typedef struct gnn_scoped {
    bool shares; /* `forward` serves both directions: whole rows, or symmetric local edges */
    gnn_local_matrix forward, transposed;
    /* Replicas that feed an edge, and those that are fed, which with whole rows are replicas by which the transposed sum is fed.
     * One halo where the lists are equal on all ranks; NULL on one rank. */
    gnn_halo *sources, *destinations;
} gnn_scoped;

/* An aggregation between begin and end. */
typedef struct gnn_aggregation {
    gnn_scope scope;
    bool transposed;
    weft_tensor x, out;
    double beta;
} gnn_aggregation;

/* [n_local, 1] each; empty = 1, 1, 0. diag is 0 on replicas. */
typedef struct gnn_vertex_scales {
    weft_tensor pre, post, diag;
} gnn_vertex_scales;

typedef struct gnn_aggregator {
    weft_comm *comm;
    weft_hal *hal;
    weft_dtype dtype;
    int64_t n_owned, n_local;
    bool overlaps;   /* the halo hides behind the local product */
    bool whole_rows; /* on every rank (partition/part.h): both directions run over gathered rows */
    gnn_scoped of[GNN_SCOPES];
    int scopes;      /* those that there are: 1, or all */
    gnn_scope scope; /* of what begins next */
    gnn_vertex_scales scales;
    gnn_vertex_scales own_scales; /* from edges among owned vertices alone: for passes without exchange */
    bool local;                   /* such a pass is under way */
    gnn_aggregation under_way;
    bool open;           /* it was left: sums of shared rows are not complete */
    gnn_row_steps steps; /* that wait for it, or for the next */
    sync_buffer *buffer; /* of the last gnn_aggregator_state; NULL: none */
    double build_seconds;
    gnn_form_figures forms; /* what the matrices' forms were chosen by */
    int64_t passes;         /* of training that began */
    double booked;          /* ACTIVITY_AGGREGATE when the last of them did */
    double epoch_seconds;   /* of local products between two of them, the least; 0: none is over */
} gnn_aggregator;

typedef struct gnn_aggregator_options {
    gnn_normalisation normalisation;
    gnn_forms_asked forms; /* letters: what gnn_aggregator_forms told earlier */
    halo_overlap overlap;  /* AUTO: where messages move while the rank computes */
    gnn_halo_options halo;
    int64_t read_width;  /* widest matrix aggregated in the scope of the rows read; 0: there is none */
    const uint8_t *read; /* [n_owned] not 0: a row of it */
} gnn_aggregator_options;

/* [GNN_FORMS] letters: the form of each prepared matrix of all edges (gnn/layers/local_matrix.h), forward, then transposed, and
 * the end of the text. All '-' without a graph. Those of another scope are alike. */
void gnn_aggregator_forms(const gnn_aggregator *aggregator, char forms[GNN_FORMS + 1]);

/* Is the halo of such an aggregator hidden? */
bool gnn_overlaps(const weft_comm *comm, halo_overlap overlap);
/* Builds both directions and the halos; the part's CSR may be released afterwards. Collective. */
weft_status gnn_aggregator_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                  const gnn_aggregator_options *options, gnn_aggregator *aggregator);
/* A pass over the layers begins, forward and, in training, backward: gnn/halo/gnn_halo.h says which rows are exchanged in
 * it. Without exchange (--no-halo) sums and degrees are those of the edges among a rank's own vertices. Before the first
 * one everything is exchanged. Collective. */
weft_status gnn_aggregator_begin(gnn_aggregator *aggregator, const gnn_halo_pass *pass);
/* Aggregations from here on are of this scope, which was made if it is not GNN_SCOPE_ALL. */
void gnn_aggregator_within(gnn_aggregator *aggregator, gnn_scope scope);
/* The next aggregation of a training pass, of `width` columns, within the scope set: see gnn_halo_foresee. Collective. */
weft_status gnn_aggregator_foresee(gnn_aggregator *aggregator, bool transposed, int64_t width);
/* What aggregations remember from epoch to epoch, as train_model's state and restored. remembers: the same on all ranks. */
bool gnn_aggregator_remembers(const gnn_aggregator *aggregator);
weft_status gnn_aggregator_state(gnn_aggregator *aggregator, const sync_buffer **buffer, int *count);
weft_status gnn_aggregator_restored(gnn_aggregator *aggregator);
/* Of a leg's rows in the pass that was begun last, in epochs: see gnn_halo_staleness. */
int64_t gnn_aggregator_staleness(const gnn_aggregator *aggregator);
/*
 * out = aggregate(x) + beta * out on the owned rows, beta 0 or 1; both [n_local, d], the replicas' rows are scratch
 * (finite before the first call: create such matrices zeroed). x and out must not overlap. Collective.
 */
weft_status gnn_aggregate(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta, weft_tensor *out);
/*
 * The same in two halves, for work in between that neither reads out nor writes x; out's owned rows may be written, and
 * beta adds to what the end finds there. One at a time. Work of milliseconds calls _poll now and then.
 *
 *     WEFT_TRY(gnn_aggregate_begin(&aggregator, false, &z, 1.0, &out));
 *     ... out = x W + b ...
 *     WEFT_TRY(gnn_aggregate_end(&aggregator));
 *
 * _leave in place of _end: shared rows of out may not be complete, so until _settle, or the next _begin, out is for row
 * steps alone. _rows adds a step, for the rows of the layers [n_owned]: it is run at once where nothing can be gained by
 * waiting. _begin, too, runs all steps that wait.
 */
weft_status gnn_aggregate_begin(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta,
                                weft_tensor *out);
void gnn_aggregate_poll(gnn_aggregator *aggregator);
weft_status gnn_aggregate_end(gnn_aggregator *aggregator);
weft_status gnn_aggregate_leave(gnn_aggregator *aggregator);
weft_status gnn_aggregate_rows(gnn_aggregator *aggregator, int64_t n_owned, const gnn_row_step *step);
weft_status gnn_aggregate_settle(gnn_aggregator *aggregator);
void gnn_aggregator_destroy(gnn_aggregator *aggregator);

#endif
