/* app/gnn/scaling/scaling_model.c: seconds of an epoch from figures alone; see app/gnn/scaling/scaling.h. */
#include <assert.h>
#include <math.h>

#include "app/gnn/scaling/scaling.h"
#include "base/alloc.h"
#include "comm/coll/coll.h"

/* Passes of a training epoch over what a hidden layer gives: bias, activation and dropout forward and backward; batch
 * norm's statistics, its output and their gradients; over the answers: the loss and its gradient; over features that
 * are dropped: their masked copy, made forward and again backward. */
enum { PLAIN_PASSES = 5, NORM_PASSES = 8, ANSWER_PASSES = 4, MASK_PASSES = 4 };
/* Over rows that cross: read and written when they are packed, and when they are put in their places. */
enum { PACK_PASSES = 4 };
/* An update reads four vectors of trained parameters (value, gradient, two moments) and writes three. */
enum { UPDATE_VECTORS = 7 };

/* ---- parts beyond those that were made ---- */

/* y grows as a power of the number of parts from (p1, y1) to (p2, y2), and so on to p. */
static double follow(double p1, double y1, double p2, double y2, double p)
{
    const double power = y1 > 0.0 && y2 > 0.0 && p2 > p1 ? log(y2 / y1) / log(p2 / p1) : 1.0;
    return y2 * pow(p / p2, fmin(fmax(power, 0.0), 2.0));
}

scaling_part scaling_extrapolate(const scaling_part *measured, int count, int64_t parts, int64_t vertices)
{
    assert(count >= 1 && parts >= 1);
    const scaling_part *last = &measured[count - 1];
    const scaling_part *before = count > 1 ? &measured[count - 2] : last;
    const double p = (double)parts, p1 = (double)before->parts, p2 = (double)last->parts;
    scaling_part part = *last;
    part.parts = parts;
    part.measured = false;
    part.rows = last->rows * p2 / p;
    part.edges = last->edges * p2 / p;
    const double most = 2.0 * fmin((double)vertices, part.edges); /* a leg has a row for a vertex, and for an edge */
    part.halo_rows = fmin(follow(p1, p1 * before->halo_rows, p2, p2 * last->halo_rows, p) / p, most);
    part.peers = fmin(follow(p1, before->peers, p2, last->peers, p), p - 1.0);
    part.replication = 1.0 + follow(p1, before->replication - 1.0, p2, last->replication - 1.0, p);
    return part;
}

/* ---- an epoch ---- */

static double elementwise_seconds(const scaling_machine *machine, const gnn_plan *plan, double rows)
{
    const int passes = PLAIN_PASSES + (plan->config.norm != NORM_NONE ? NORM_PASSES : 0);
    double bytes = (double)plan->parameters * sizeof(float) * UPDATE_VECTORS;
    if (plan->config.input_dropout > 0.0F) {
        bytes += rows * (double)plan->config.inputs * (double)weft_dtype_bytes(plan->values) * MASK_PASSES;
    }
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        bytes += rows * (double)layer->d_out * (double)weft_dtype_bytes(layer->output_type) *
                 (layer->last ? ANSWER_PASSES : passes);
    }
    return bytes * machine->byte_seconds;
}

/* The part's messages of an epoch: its peers are as likely on its node as any. */
static double halo_seconds(const scaling_machine *machine, const gnn_plan *plan, const scaling_part *part, int delay,
                           double bytes)
{
    const double others = (double)part->parts - 1.0;
    const double near = fmin((double)machine->node_sockets - 1.0, others);
    const double away = others > 0.0 ? (others - near) / others : 0.0;
    int64_t directions = 0;
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        directions += layer->width > 0 ? layer->aggregated / layer->width : 0;
    }
    const double messages = (double)(directions * part->legs) * part->peers;
    const double crossing = bytes * away * machine->node_sockets;
    const comm_cost cost = {.inter_rounds = (int64_t)ceil(messages * away),
                            .inter_bytes = (int64_t)crossing,
                            .inter_paired = (int64_t)crossing,
                            .intra_rounds = (int64_t)ceil(messages * (1.0 - away)),
                            .intra_bytes = (int64_t)(bytes * (1.0 - away))};
    const double packed = part->halo_rows * gnn_plan_halo_bytes(plan, &(gnn_halo_options){.delay = delay});
    return comm_model_seconds(&machine->model, &cost) + packed * PACK_PASSES * machine->byte_seconds +
           2.0 * bytes * machine->bus_seconds; /* down and up */
}

static weft_status allreduce_seconds(const scaling_machine *machine, int64_t parts, int64_t count, double *seconds)
{
    comm_layout *layout = NULL;
    int *leader = NULL;
    WEFT_TRY(WEFT_NEW(&leader, parts, WEFT_MEM_GENERAL));
    for (int64_t r = 0; r < parts; ++r) {
        leader[r] = (int)(r - r % machine->node_sockets);
    }
    weft_status status = layout_create(leader, (int)parts, &layout);
    if (status == WEFT_OK) {
        const int64_t element = (int64_t)sizeof(float);
        const coll_place place = {.size = (int)parts,
                                  .layout = layout,
                                  .model = &machine->model,
                                  .wire = machine->wire,
                                  .shared_memory = true};
        const coll_algorithm *asked = coll_algorithm_of(machine->allreduce);
        const bool can = asked != NULL && (asked->asked_only || coll_eligible(asked, &place));
        *seconds = coll_seconds(can ? asked : coll_choose_form(&place, count, element), &place, count, element);
    }
    layout_destroy(layout);
    weft_free(leader);
    return status;
}

weft_status scaling_predict(const scaling_machine *machine, const gnn_plan *plan, const gnn_halo_options *halo,
                            const scaling_part *part, scaling_epoch *epoch)
{
    *epoch = (scaling_epoch){.elementwise = elementwise_seconds(machine, plan, part->rows)};
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        epoch->aggregate += part->edges * layer->share * (double)layer->aggregated * part->edge_seconds[l];
        epoch->linear += part->rows * machine->row_seconds[l];
    }
    epoch->aggregate /= machine->aggregate_speed;
    if (part->parts > 1) {
        const int64_t gradients = plan->parameters;
        WEFT_TRY(allreduce_seconds(machine, part->parts, gradients, &epoch->allreduce));
        epoch->allreduce += 2.0 * (double)gradients * sizeof(float) * machine->bus_seconds;
        epoch->halo_bytes = part->halo_rows * gnn_plan_halo_bytes(plan, halo);
        epoch->halo = halo->none ? 0.0 : halo_seconds(machine, plan, part, halo->delay, epoch->halo_bytes);
    }
    epoch->launch = plan->layers * machine->launch_seconds;
    const double computes = epoch->aggregate + epoch->linear + epoch->elementwise + epoch->launch;
    const double moves = epoch->halo + epoch->allreduce;
    epoch->total = computes + moves;
    epoch->least = fmax(computes, moves);
    return WEFT_OK;
}

static int64_t rows_of(const int64_t *offset, int parts)
{
    return offset != NULL ? offset[parts] : 0;
}

static bool meets(const part_halo *halo, int peer)
{
    return (halo->own_offset != NULL && halo->own_offset[peer + 1] > halo->own_offset[peer]) ||
           (halo->leaf_offset != NULL && halo->leaf_offset[peer + 1] > halo->leaf_offset[peer]);
}

scaling_part scaling_part_of(const weft_part *part, double replication)
{
    const part_halo *forward = &part->sources, *back = &part->destinations;
    const int64_t sent = rows_of(forward->own_offset, part->parts) + rows_of(back->leaf_offset, part->parts);
    const int64_t taken = rows_of(forward->leaf_offset, part->parts) + rows_of(back->own_offset, part->parts);
    const bool returns = rows_of(back->own_offset, part->parts) + rows_of(back->leaf_offset, part->parts) > 0;
    int peers = 0;
    for (int p = 0; p < part->parts; ++p) {
        peers += meets(forward, p) || meets(back, p);
    }
    return (scaling_part){.parts = part->parts,
                          .measured = true,
                          .rows = (double)part->n_owned,
                          .edges = (double)part->edges,
                          .halo_rows = (double)(sent > taken ? sent : taken),
                          .peers = peers,
                          .legs = part->parts == 1 ? 0
                                  : returns        ? 2
                                                   : 1,
                          .replication = replication};
}
