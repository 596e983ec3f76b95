/* train/second/second_cost.c: see train/second/second_cost.h. */
#include "train/second/second_cost.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "train/second/second_internal.h"

/* Bytes that pass through memory for each element: of a turned gradient (copied, multiplied with the direction and
 * written back), and of a factor (averaged, and read for its trace). */
enum { TURN_BYTES = 64, FACTOR_BYTES = 24 };
/* Copies of a rank's state in memory while a checkpoint is written: its own, and on rank 0 that of the rank whose file
 * is written (train/checkpoint/keeper_state.c). */
enum { COPIES = 2 };
/* Operations on small matrices: of a turned layer, an inversion, and a chunk of rows. */
enum { TURN_CALLS = 8, INVERSION_CALLS = 4, LOOK_CALLS = 4 };

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* An object that counts and holds no memory but its layers. Free s->layer, also after a failure. */
static weft_status open_plan(const train_model *outline, const second_options *options, const second_ranks *job,
                             weft_hal *hal, train_second *s)
{
    assert(job->rank >= 0 && job->rank < job->ranks && job->nodes >= 1 && job->nodes <= job->ranks);
    *s = (train_second){.rank = job->rank,
                        .ranks = job->ranks,
                        .hal = hal,
                        .model = outline,
                        .params = outline->params,
                        .options = *options,
                        .method = second_method_of(options->kind),
                        .layers = outline->maps,
                        .population = job->population};
    WEFT_TRY(WEFT_NEW_ZERO(&s->layer, outline->maps, WEFT_MEM_SECOND));
    return second_size(s);
}

/* Raises *sum and *factor to the scratch memory of a side. */
static void ask_side(const train_second *s, const second_layer *layer, int i, uint64_t *sum, uint64_t *factor)
{
    const second_side *side = &layer->side[i];
    const bool eigen = layer->side[SECOND_OUT].inverts && s->options.solve == SECOND_EIGEN && !layer->wide;
    const bool wide = layer->wide && i == SECOND_IN, patches = layer->map->conv && i == SECOND_IN;
    const int64_t n = wide ? layer->sample : side->n, rows = wide ? side->n : patches ? layer->sample : SECOND_CHUNK;
    const hal_scratch_shape sums = {.op = patches ? HAL_OP_patch_gram : HAL_OP_gram,
                                    .dtype = s->params->dtype,
                                    .rows = rows,
                                    .cols = n,
                                    .terms = rows};
    const hal_scratch_shape inverse = {
        .op = eigen ? HAL_OP_syevd : HAL_OP_potrf, .dtype = s->params->dtype, .rows = n, .cols = n, .terms = n};
    if (side->needed) {
        hal_scratch_ask(s->hal, &sums, sum);
    }
    if (side->mine) {
        hal_scratch_ask(s->hal, &inverse, factor);
    }
}

/* s: placed, with its numbers of bytes. */
static second_beside beside_of(train_second *s)
{
    uint64_t sum = 0, factor = 0, rest = 0;
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        for (int i = 0; i < SECOND_SIDES; ++i) {
            ask_side(s, layer, i, &sum, &factor);
        }
        rest += layer->wide && !hal_host_visible(s->hal)
                    ? (uint64_t)(layer->side[SECOND_IN].n * layer->sample) * sizeof(float)
                    : 0;
    }
    /* Rows are gathered before they are multiplied. */
    return (second_beside){.scratch = sum + factor > rest ? sum + factor : rest,
                           .checkpoint = COPIES * second_state_bytes(s)};
}

weft_status second_plan_bytes(const train_model *outline, const second_options *options, const second_ranks *job,
                              weft_hal *hal, uint64_t *bytes, second_beside *beside)
{
    train_second s;
    if (beside != NULL) {
        *beside = (second_beside){.scratch = 0};
    }
    if (options->kind == SECOND_MUON) {
        return muon_plan_bytes(outline, &options->muon, job->ranks, bytes);
    }
    weft_status status = open_plan(outline, options, job, hal, &s);
    status = status == WEFT_OK ? second_allocate(&s) : status;
    *bytes = s.bytes;
    if (beside != NULL && status == WEFT_OK) {
        *beside = beside_of(&s);
    }
    weft_free(s.layer);
    return status;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Sums in the order of the ranks (comm/coll/allreduce_fixed_order.c). */
static double sum_seconds(const comm_model *network, const second_ranks *job, double bytes)
{
    const int64_t rounds = 2 * ((int64_t)job->ranks - 1);
    const int64_t passed = (int64_t)((double)rounds / job->ranks * bytes);
    const comm_cost cost = {.inter_rounds = job->nodes > 1 ? rounds : 0,
                            .inter_bytes = job->nodes > 1 ? passed : 0,
                            .intra_rounds = job->nodes > 1 ? 0 : rounds,
                            .intra_bytes = job->nodes > 1 ? 0 : passed,
                            .reduced = (int64_t)bytes};
    return job->ranks > 1 ? comm_model_seconds(network, &cost) : 0.0;
}

/* A broadcast to `ranks` ranks on `nodes` nodes: down a tree between nodes, through shared memory inside them. */
static double broadcast_seconds(const comm_model *network, int ranks, int nodes, double bytes)
{
    const int64_t levels = (int64_t)ceil(log2(nodes));
    const comm_cost cost = {.inter_rounds = levels,
                            .inter_bytes = levels * (int64_t)bytes,
                            .shared_syncs = ranks > nodes ? 2 : 0,
                            .shared_bytes = ranks > nodes ? 2 * (int64_t)bytes : 0};
    return ranks > 1 ? comm_model_seconds(network, &cost) : 0.0;
}

/* ---- seconds ----------------------------------------------------------------------------------------------------- */

/* n^3 a second, between the rated sizes by the straight line in logarithms. */
static double rate_at(const double *rate, double n)
{
    const double place = fmin(fmax(log2(n / SECOND_RATED_FIRST), 0.0), SECOND_RATED - 1.0);
    const int i = (int)fmin(place, SECOND_RATED - 2.0);
    return exp2(log2(rate[i]) + (place - i) * (log2(rate[i + 1]) - log2(rate[i])));
}

static double inversion_seconds(const second_layer *layer, int side, const second_rates *rates)
{
    const double n = (double)(layer->wide ? layer->sample : layer->side[side].n);
    const bool eigen = layer->side[SECOND_OUT].inverts;
    const double gram = layer->wide ? n * n * (double)layer->side[side].n / rates->gram : 0.0;
    return gram + n * n * n / rate_at(eigen ? rates->eigen : rates->cholesky, n) + INVERSION_CALLS * rates->call;
}

/* Rows of the sample on this rank, multiplied; and averages. [out] messages: seconds of sums over ranks. */
static double look_seconds(const train_second *s, const second_ranks *job, const second_rates *rates,
                           const comm_model *network, double *messages)
{
    double seconds = 0.0, elements = 0.0;
    for (int i = 0; i < SECOND_SIDES * s->layers; ++i) {
        const second_layer *layer = &s->layer[i / SECOND_SIDES];
        const second_side *side = &layer->side[i % SECOND_SIDES];
        const double rows = (double)(s->population > 0 ? layer->sample : job->rows) / s->ranks, n = (double)side->n;
        if (!side->needed || side->constant) { /* constant sides are looked at once a run */
            continue;
        }
        seconds += rows * n * n / rates->gram + rows * n * 2 * sizeof(float) / rates->memory +
                   (rows / SECOND_CHUNK + 1.0) * LOOK_CALLS * rates->call;
        elements += (double)second_packed(side->n);
    }
    *messages = sum_seconds(network, job, elements * sizeof(float));
    return seconds + elements * FACTOR_BYTES / rates->memory;
}

/* Ranks of a group lie on so many nodes. */
static int nodes_of(const second_ranks *job, int ranks)
{
    const int on_a_node = (job->ranks + job->nodes - 1) / job->nodes;
    return (ranks + on_a_node - 1) / on_a_node;
}

/* The busiest rank's. load [ranks]: zeros. [out] messages: seconds of broadcasts. */
static double inversions_seconds(const train_second *s, const second_ranks *job, const second_rates *rates,
                                 const comm_model *network, double *load, double *messages)
{
    double busiest = 0.0;
    *messages = 0.0;
    for (int i = 0; i < SECOND_SIDES * s->layers; ++i) {
        const second_layer *layer = &s->layer[i / SECOND_SIDES];
        const second_side *side = &layer->side[i % SECOND_SIDES];
        if (!side->inverts || side->constant) { /* constant sides are inverted once a run */
            continue;
        }
        const double n = (double)side->n;
        load[side->owner] += inversion_seconds(layer, i % SECOND_SIDES, rates);
        *messages += s->workers > 0
                         ? broadcast_seconds(network, s->workers, nodes_of(job, s->workers), n * n * sizeof(float))
                         : 0.0;
    }
    for (int r = 0; r < s->ranks; ++r) {
        busiest = fmax(busiest, load[r]);
    }
    return busiest;
}

/* The busiest rank's. [out] messages: seconds of broadcasts. */
static double turns_seconds(const train_second *s, const second_ranks *job, const second_rates *rates,
                            const comm_model *network, double *messages)
{
    const int groups = s->workers > 0 ? s->ranks / s->workers : 1;
    double busiest = 0.0, rest = 0.0;
    *messages = 0.0;
    for (int g = 0; g < groups; ++g) {
        double own = 0.0;
        for (int l = 0; l < s->layers; ++l) {
            const bool mine = s->workers == 0 || s->layer[l].group == g;
            own += mine ? second_task_of(s, &s->layer[l]).turn / rates->product + TURN_CALLS * rates->call : 0.0;
        }
        busiest = fmax(busiest, own);
    }
    for (int l = 0; l < s->layers; ++l) {
        const double elements = (double)(s->layer[l].side[SECOND_IN].n * s->layer[l].out);
        rest += elements * TURN_BYTES / rates->memory + TURN_CALLS * rates->call;
        *messages +=
            broadcast_seconds(network, groups, job->nodes < groups ? job->nodes : groups, elements * sizeof(float));
    }
    return busiest + rest;
}

weft_status second_flops_of(const train_model *outline, const second_options *options, const second_ranks *job,
                            double *flops)
{
    train_second s;
    const weft_status status = open_plan(outline, options, job, NULL, &s);
    *flops = 0.0;
    for (int l = 0; status == WEFT_OK && l < s.layers; ++l) {
        const second_task task = second_task_of(&s, &s.layer[l]);
        *flops += task.invert[SECOND_IN] + task.invert[SECOND_OUT] + task.turn;
    }
    weft_free(s.layer);
    return status;
}

static weft_status largest_bytes(const train_model *outline, const second_options *options, const second_ranks *job,
                                 uint64_t *most)
{
    *most = 0;
    for (int r = 0; r < job->ranks; ++r) {
        second_ranks other = *job;
        uint64_t bytes = 0;
        other.rank = r;
        WEFT_TRY(second_plan_bytes(outline, options, &other, NULL, &bytes, NULL));
        *most = bytes > *most ? bytes : *most;
    }
    return WEFT_OK;
}

weft_status second_price_of(const train_model *outline, const second_options *options, const second_ranks *job,
                            const second_rates *rates, const comm_model *network, second_price *price)
{
    train_second s;
    double *load = NULL;
    assert(options->kind == SECOND_INPUT || options->kind == SECOND_KFAC);
    weft_status status = open_plan(outline, options, job, NULL, &s);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&load, job->ranks, WEFT_MEM_SECOND) : status;
    if (status == WEFT_OK) {
        const double factors = (double)options->factors, interval = (double)options->interval;
        double sums = 0.0, inverses = 0.0, directions = 0.0;
        *price = (second_price){.look = look_seconds(&s, job, rates, network, &sums),
                                .inversion = inversions_seconds(&s, job, rates, network, load, &inverses),
                                .turn = turns_seconds(&s, job, rates, network, &directions)};
        price->messages = sums / factors + inverses / interval + directions;
        price->step = price->look / factors + price->inversion / interval + price->turn + price->messages;
        status = largest_bytes(outline, options, job, &price->bytes);
    }
    weft_free(s.layer);
    weft_free(load);
    return status;
}
