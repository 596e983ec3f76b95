/*
 * comm/sync/choose.c: what a step of each mode will take, and the choice of `--sync auto`.
 *
 * A prediction is the time that a step's communication and the work for it take by the model (comm/core/cost.h), one after
 * the other, whatever of it hides behind computing: modes hide alike, and what is hidden still keeps links and cores
 * busy. Modes in which the amount depends on the training are predicted by what is known of it:
 *
 * Every mode scans the gradient once; beside that
 *
 *      allreduce        each bucket by the best algorithm (or the one asked for), in the wire's type
 *      topk             each bucket: the selected part by the best exchange, the tensors that go dense by all-reduce
 *      divide-shuffle   parameters over a group; the mean over the divisions of the cycle, each as slow as its slowest
 *                       group, with the links of a node shared by the groups that cross them
 *      shadow           an average over all ranks every `gap` steps (in each step, when rounds follow one another), and
 *                       the passes of the snapshot and of its use
 *      asp              the all-reduce inside a site, and the share of the updates that was sent in the last step to
 *                       every other site; before the first step one part in twenty: Gaia finds that 95 % of all updates
 *                       change their parameter by less than 1 %. K. Hsieh et al.: Gaia: geo-distributed machine
 *                       learning approaching LAN speeds. NSDI 2017
 *
 * Where a mode tracks gradients (comm/sync/tracking.c) they travel with the parameters and are counted with them.
 *
 * The exact mode runs unless lossy ones are allowed and one of them is predicted to save a tenth of its time: less is
 * within the error of predictions, and no reason to give up exactness. On test systems compression seldom pays: S.
 * Agarwal, H. Wang, S. Venkataraman, D. Papailiopoulos: On the utility of gradient compression in distributed training
 * systems. MLSys 2022, arXiv:2103.00543.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/coll/coll.h"
#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"
#include "comm/sync/groups.h"
#include "comm/sync/tracking.h"

/* The scan for values that are not finite reads one stream where a reduction reads two and writes one. */
static const double scan_part = 1.0 / 3.0;
/* A lossy mode must take less than this part of the exact one's time. */
static const double worth_losing = 0.9;
static const double asp_significant = 0.05;
/* Eleven streams: the gradient scaled, parameters kept, the share taken and remembered, the filter. A reduction has
 * three. */
static const int64_t asp_passes = 4;
enum { SPARSE_ENTRY_BYTES = 8 /* a value and its place */ };

/* ---- groups of ranks ---------------------------------------------------------------------------------------- */
/* Which nodes the ranks of a group stand on, as a layout of their own. member: [count] ascending. leader: [count]. */
static weft_status group_layout(const comm_sync *sync, const int *member, int count, int *leader, comm_layout **layout)
{
    const int *node_of = comm_get_layout(sync->comm)->node_of;
    for (int i = 0; i < count; ++i) {
        leader[i] = 0;
        while (node_of[member[leader[i]]] != node_of[member[i]]) {
            ++leader[i];
        }
    }
    return layout_create(leader, count, layout);
}

/* An all-reduce over ranks that stand as the layout says; `sharing` groups like it use the links of a node at once. */
static double allreduce_seconds(const comm_sync *sync, const comm_layout *layout, int size, int64_t count, int sharing)
{
    const comm_model *model = comm_get_model(sync->comm);
    int64_t element = (int64_t)weft_dtype_bytes(sync->desc.dtype);
    const coll_place place = {.rank = 0,
                              .size = size,
                              .layout = layout,
                              .model = model,
                              .wire = sync->desc.dtype == WEFT_DTYPE_F32 ? sync->options.wire : COMM_WIRE_SAME,
                              .shared_memory = !sync->comm->messages_only};
    const coll_algorithm *algorithm = coll_algorithm_of(sync->options.algorithm);
    if (size == 1 || count == 0) {
        return 0.0;
    }
    if (algorithm == NULL || size != comm_size(sync->comm)) {
        algorithm = coll_choose_form(&place, count, element);
    }
    if (layout->nodes == 1) {
        return coll_seconds(algorithm, &place, count, element);
    }
    comm_cost cost = algorithm->cost(&place, count, element);
    cost.inter_bytes *= sharing;
    cost.inter_paired *= sharing;
    return comm_model_seconds(model, &cost);
}

/* Room for the members of one group at a time. */
typedef struct group_room {
    int *member, *leader; /* [P] */
} group_room;

static weft_status room_create(const comm_sync *sync, group_room *room)
{
    *room = (group_room){NULL, NULL};
    WEFT_TRY(WEFT_NEW(&room->member, comm_size(sync->comm), WEFT_MEM_COMM));
    return WEFT_NEW(&room->leader, comm_size(sync->comm), WEFT_MEM_COMM);
}

static void room_free(group_room *room)
{
    weft_free(room->member);
    weft_free(room->leader);
}

/* The ranks whose color is `color`. Returns how many. */
static int collect(const int *color_of, int ranks, int color, int *member)
{
    int count = 0;
    for (int r = 0; r < ranks; ++r) {
        if (color_of[r] == color) {
            member[count++] = r;
        }
    }
    return count;
}

/* Groups with ranks on the busiest node and elsewhere, at most. color_of: [P], colors 0 .. P - 1. */
static int crossing_groups(const comm_layout *layout, const int *color_of, int ranks)
{
    int most = 1;
    for (int node = 0; node < layout->nodes; ++node) {
        int crossing = 0;
        for (int i = layout->first[node]; i < layout->first[node + 1]; ++i) {
            int color = color_of[layout->member[i]];
            bool seen = false;
            for (int j = layout->first[node]; j < i && !seen; ++j) {
                seen = color_of[layout->member[j]] == color;
            }
            bool leaves = false;
            for (int r = 0; r < ranks && !seen && !leaves; ++r) {
                leaves = color_of[r] == color && layout->node_of[r] != node;
            }
            crossing += leaves;
        }
        most = crossing > most ? crossing : most;
    }
    return most;
}

/* All groups of a division reduce `count` elements side by side: the slowest one. color_of: [P]. */
static weft_status division_seconds(const comm_sync *sync, const int *color_of, int64_t count, group_room *room,
                                    double *seconds)
{
    int ranks = comm_size(sync->comm);
    int sharing = crossing_groups(comm_get_layout(sync->comm), color_of, ranks);
    *seconds = 0.0;
    for (int color = 0; color < ranks; ++color) {
        comm_layout *layout = NULL;
        int size = collect(color_of, ranks, color, room->member);
        if (size < 2) {
            continue;
        }
        WEFT_TRY(group_layout(sync, room->member, size, room->leader, &layout));
        *seconds = fmax(*seconds, allreduce_seconds(sync, layout, size, count, sharing));
        layout_destroy(layout);
    }
    return WEFT_OK;
}

/* ---- the modes ---------------------------------------------------------------------------------------------- */
static double all_ranks_seconds(const comm_sync *sync, int64_t count)
{
    return allreduce_seconds(sync, comm_get_layout(sync->comm), comm_size(sync->comm), count, 1);
}

static double predict_allreduce(const comm_sync *sync)
{
    double seconds = 0.0;
    for (int b = 0; b < sync->desc.buckets; ++b) {
        seconds += all_ranks_seconds(sync, sync->desc.bucket[b].count);
    }
    return seconds;
}

/* Elements of a bucket that topk selects from: those of matrices that are large enough. */
static int64_t selectable(const comm_sync *sync, const sync_bucket *bucket)
{
    int64_t count = 0;
    int64_t end = bucket->offset + bucket->count;
    for (int t = 0; t < sync->desc.tensors; ++t) {
        const sync_tensor *tensor = &sync->desc.tensor[t];
        int64_t size = tensor->rows * tensor->cols;
        int64_t from = tensor->offset > bucket->offset ? tensor->offset : bucket->offset;
        int64_t to = tensor->offset + size < end ? tensor->offset + size : end;
        bool matrix = tensor->rows > 1 && tensor->cols > 1;
        count += matrix && size >= sync->options.dense_below && to > from ? to - from : 0;
    }
    return count;
}

static double exchange_seconds(const comm_sync *sync, sparse_exchange exchange, int64_t count, int64_t k)
{
    const comm_layout *layout = comm_get_layout(sync->comm);
    bool windowed = exchange != SPARSE_ALL_GATHER && layout->most > 1 && !sync->comm->messages_only;
    comm_cost cost = sparse_cost(layout, 0, exchange, windowed, count, k);
    return comm_model_seconds(comm_get_model(sync->comm), &cost);
}

static double sparse_seconds(const comm_sync *sync, int64_t count)
{
    int64_t k = (int64_t)ceil(sync->options.density * (double)count);
    if (count == 0) {
        return 0.0;
    }
    if (sync->options.exchange != SPARSE_AUTO) {
        return exchange_seconds(sync, sync->options.exchange, count, k);
    }
    double best = exchange_seconds(sync, SPARSE_HIERARCHICAL, count, k);
    best = fmin(best, exchange_seconds(sync, SPARSE_OK_TOPK, count, k));
    return fmin(best, exchange_seconds(sync, SPARSE_ALL_GATHER, count, k));
}

static double predict_topk(const comm_sync *sync)
{
    double seconds = 0.0;
    for (int b = 0; b < sync->desc.buckets; ++b) {
        const sync_bucket *bucket = &sync->desc.bucket[b];
        int64_t sparse = selectable(sync, bucket);
        seconds += sparse_seconds(sync, sparse) + all_ranks_seconds(sync, bucket->count - sparse);
    }
    return seconds;
}

/* What every mode does with a gradient that is handed in. */
static double admission_seconds(const comm_sync *sync)
{
    double bytes = (double)sync->desc.trained * (double)weft_dtype_bytes(sync->desc.dtype);
    return scan_part * bytes * comm_get_model(sync->comm)->reduce_per_byte;
}

static weft_status read_sets(const comm_sync *sync, const char *file, bool nodes, comm_topology **sets)
{
    if (file != NULL) {
        return topology_read(sync->comm, file, sets);
    }
    return comm_agree(sync->comm, nodes ? topology_nodes(sync->comm, sets) : topology_whole(sync->comm, sets));
}

static weft_status predict_divide_shuffle(const comm_sync *sync, double *seconds)
{
    weft_status status = WEFT_OK;
    comm_topology *racks = NULL;
    sync_groups *groups = NULL;
    group_room room = {NULL, NULL};
    double sum = 0.0;
    const int64_t elements = tracking_elements(sync, SYNC_DIVIDE_SHUFFLE);
    WEFT_TRY_GOTO(read_sets(sync, sync->options.topology, false, &racks), status, done);
    WEFT_TRY_GOTO(groups_create(racks, sync->options.group, sync->options.seed, &groups), status, done);
    WEFT_TRY_GOTO(room_create(sync, &room), status, done);
    for (int t = 0; t < groups->rounds; ++t) {
        double round = 0.0;
        const int *color_of = groups->color + (ptrdiff_t)t * groups->ranks;
        WEFT_TRY_GOTO(division_seconds(sync, color_of, elements, &room, &round), status, done);
        sum += round;
    }
    *seconds = sum / groups->rounds;
done:
    room_free(&room);
    groups_destroy(groups);
    topology_destroy(racks);
    return status;
}

static double predict_shadow(const comm_sync *sync)
{
    const comm_model *model = comm_get_model(sync->comm);
    const int64_t elements = tracking_elements(sync, SYNC_SHADOW);
    double passes = 2.0 * (double)elements * (double)sizeof(float) * model->reduce_per_byte;
    double gap = sync->options.gap > 1 ? (double)sync->options.gap : 1.0;
    return (all_ranks_seconds(sync, elements) + passes) / gap;
}

/* The part of the updates that travels: of the last step where this mode runs. Collective. */
static weft_status asp_share(const comm_sync *sync, double *share)
{
    *share = asp_significant;
    if (sync->mode != SYNC_ASP || sync->figures.steps == 0) {
        return WEFT_OK;
    }
    *share = sync->figures.density; /* 1 on ranks that do not talk to other sites */
    return comm_allreduce(sync->comm, share, 1, WEFT_DTYPE_F64, COMM_MIN);
}

static weft_status predict_asp(const comm_sync *sync, double share, double *seconds)
{
    weft_status status = WEFT_OK;
    comm_topology *sites = NULL;
    group_room room = {NULL, NULL};
    double inside = 0.0;
    WEFT_TRY_GOTO(read_sets(sync, sync->options.sites, true, &sites), status, done);
    WEFT_TRY_GOTO(room_create(sync, &room), status, done);
    WEFT_TRY_GOTO(division_seconds(sync, sites->set_of, sync->desc.trained, &room, &inside), status, done);
    int64_t others = sites->sets - 1;
    int64_t travelling = tracking_travelling(sync, SYNC_ASP);
    int64_t entries = (int64_t)(share * (double)travelling);
    int64_t dense_bytes = travelling * (int64_t)sizeof(float);
    int64_t bytes = entries * SPARSE_ENTRY_BYTES < dense_bytes ? entries * SPARSE_ENTRY_BYTES : dense_bytes;
    const comm_cost passes = {.reduced = others > 0 ? asp_passes * dense_bytes : 0};
    const comm_cost network = {.inter_rounds = others, .inter_bytes = others * bytes};
    /* A bucket is filtered while the one before it travels, and handed on while the next one comes. How much of that
     * hides depends on what the network itself takes of the cores: between nothing and all of it, the middle. */
    const comm_cost meanwhile = {.intra_rounds = others > 0,
                                 .intra_bytes = others * bytes,
                                 .selected = travelling,
                                 .scattered = others * entries};
    const comm_model *model = comm_get_model(sync->comm);
    const double travels = comm_model_seconds(model, &network);
    const double works = comm_model_seconds(model, &meanwhile);
    *seconds = inside + comm_model_seconds(model, &passes) + fmax(travels, works) + 0.5 * fmin(travels, works);
done:
    room_free(&room);
    topology_destroy(sites);
    return status;
}

static weft_status predict(const comm_sync *sync, sync_mode mode, double *seconds)
{
    double share = 0.0;
    WEFT_CHECK(sync->desc.dtype == WEFT_DTYPE_F32 || mode == SYNC_ALLREDUCE, WEFT_ERR_UNSUPPORTED,
               "sync %s takes float32, these are %s", sync_mode_name(mode), weft_dtype_name(sync->desc.dtype));
    *seconds = 0.0;
    switch (mode) {
    case SYNC_ALLREDUCE:
        *seconds = predict_allreduce(sync);
        return WEFT_OK;
    case SYNC_TOPK:
        *seconds = predict_topk(sync);
        return WEFT_OK;
    case SYNC_DIVIDE_SHUFFLE:
        return comm_agree(sync->comm, predict_divide_shuffle(sync, seconds));
    case SYNC_SHADOW:
        *seconds = predict_shadow(sync);
        return WEFT_OK;
    case SYNC_ASP:
        WEFT_TRY(asp_share(sync, &share));
        return comm_agree(sync->comm, predict_asp(sync, share, seconds));
    case SYNC_AUTO:
        break;
    }
    return weft_fail(WEFT_ERR_INTERNAL, "no prediction for sync mode %d", (int)mode);
}

weft_status sync_predict(const comm_sync *sync, sync_mode mode, double *seconds)
{
    WEFT_TRY(predict(sync, mode, seconds));
    *seconds += admission_seconds(sync);
    return WEFT_OK;
}

/* ---- the choice --------------------------------------------------------------------------------------------- */
static const char *duration(double seconds, char text[32])
{
    if (seconds >= 1.0) {
        snprintf(text, 32, "%.3g s", seconds);
    } else if (seconds >= 1e-3) {
        snprintf(text, 32, "%.3g ms", 1e3 * seconds);
    } else {
        snprintf(text, 32, "%.3g us", 1e6 * seconds);
    }
    return text;
}

static void log_choice(const comm_sync *sync, const double seconds[SYNC_AUTO], sync_mode fastest, sync_mode chosen)
{
    char text[512];
    char one[32];
    size_t used = 0;
    const char *why = "every other mode is slower or saves less than a tenth";
    if (chosen != SYNC_ALLREDUCE) {
        why = "the fastest";
    } else if (fastest != SYNC_ALLREDUCE && !sync->options.allow_lossy) {
        why = "the others are not exact; " FLAG_ALLOW_LOSSY " would let them run";
    }
    for (int mode = 0; mode < SYNC_AUTO; ++mode) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", mode > 0 ? ", " : "",
                                 sync_mode_name((sync_mode)mode), duration(seconds[mode], one));
    }
    log_info("sync: a step's communication by the %s model: %s; %s runs: %s",
             comm_get_model(sync->comm)->measured ? "measured" : "fixed", text, sync_mode_name(chosen), why);
}

weft_status sync_choose(const comm_sync *sync, sync_mode *mode)
{
    double seconds[SYNC_AUTO];
    int32_t chosen = SYNC_ALLREDUCE;
    sync_mode fastest = SYNC_ALLREDUCE;
    for (int m = 0; m < SYNC_AUTO; ++m) {
        WEFT_TRY(sync_predict(sync, (sync_mode)m, &seconds[m]));
        bool beats_exact = seconds[m] < worth_losing * seconds[SYNC_ALLREDUCE];
        fastest = beats_exact && seconds[m] < seconds[fastest] ? (sync_mode)m : fastest;
    }
    chosen = sync->options.allow_lossy ? (int32_t)fastest : SYNC_ALLREDUCE;
    /* Equal models give equal predictions; processors may differ in the last bit. */
    WEFT_TRY(comm_bcast(sync->comm, 0, &chosen, (int64_t)sizeof chosen));
    *mode = (sync_mode)chosen;
    log_choice(sync, seconds, fastest, *mode);
    return WEFT_OK;
}
