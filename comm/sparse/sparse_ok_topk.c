/*
 * comm/sparse/sparse_ok_topk.c: Ok-Topk over the nodes: selections are reduced where they belong before they go to all,
 * so that traffic does not grow with the number of nodes.
 *
 * Among the m ranks with one local number, which hold the sums of their nodes' shard (comm/sparse/sparse_node.c):
 *
 *      select    the largest k of residual + sum
 *      split     the shard is cut into m regions that hold equal parts of the selections; node i owns region i
 *      reduce    entries go to the owners of their regions, which add them in node order
 *      threshold owners keep what reaches the global threshold (the k-th magnitude of the reduced entries)
 *      gather    what was kept goes to all
 *      feedback  the residual is cleared only where an entry was selected here and kept globally
 *
 * Regions are derived anew every 64 calls, from the mean over the nodes of the places of the selection's m-quantiles.
 * The threshold is exact every `refresh` calls (then owners hand out their k largest and everybody finds the same k-th)
 * and reused in between, moved by 1.2 % when the number kept leaves [2/3 k, 5/4 k].
 *
 * Other than the paper: the exact threshold comes with the entries themselves instead of a gather of all magnitudes;
 * the local selection is the selector's (exact, or reused with its own refresh); there is no balancing of the gather,
 * and an owner hands out no more than a selection's room, by index: the rest stays in the residuals. Values stay
 * float32: of a sum over nodes no rank could keep what rounding takes away.
 *
 * Cost of the middle: 4 (m - 1) messages, at most k + k (m - 1) packed entries a rank, in balance 2 k (m - 1) / m.
 * Memory: three selections a node, one shard.
 *
 * S. Li, T. Hoefler: Near-optimal sparse allreduce for distributed deep learning. PPoPP 2022,
 * doi:10.1145/3503221.3508399
 */
#include "base/alloc.h"
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

enum { REGIONS_EVERY = 64, REFRESH_DEFAULT = 32 };

/* What a checkpoint keeps. */
typedef struct ok_state {
    uint64_t calls;
    int64_t k;         /* that the threshold is for */
    int64_t threshold; /* bits; 0: none yet */
    int64_t bound[];   /* [m + 1] region i: [bound[i], bound[i + 1]) */
} ok_state;

/* Entries with their places, ascending. */
typedef struct entry_list {
    int64_t found;
    int32_t *index;
    float *value;
} entry_list;

struct sparse_ok_topk {
    sparse_slots local;   /* one: this rank's selection */
    sparse_slots out, in; /* [m] what goes to the owners, what came; then what owners kept */
    float *sum;           /* [count] of this rank's region; zero between calls */
    uint64_t *touched;    /* [count / 64 + 1] bits; zero between calls */
    entry_list list;      /* [m * capacity] reduced entries: of the region, then of all */
    entry_list kept;      /* [m * capacity] places in list that an exact selection keeps */
    selector *exact;
    int64_t *position;      /* [m][m - 1] */
    int64_t position_bytes; /* of this call: 0 when regions stay */
    bool refresh;
    ok_state *state;
    int64_t state_bytes;
};

/* Without capacity a list has no memory. */
static void copy_entries(const entry_list *list, int32_t *index, float *value)
{
    if (list->found > 0) {
        memcpy(index, list->index, (size_t)list->found * sizeof *index);
        memcpy(value, list->value, (size_t)list->found * sizeof *value);
    }
}

static void append_slot(entry_list *list, const sparse_slots *slots, int i)
{
    int64_t amount = slots_note(slots, i)->amount;
    if (amount > 0) {
        memcpy(list->index + list->found, slots_index(slots, i), (size_t)amount * sizeof *list->index);
        memcpy(list->value + list->found, slots_value(slots, i), (size_t)amount * sizeof *list->value);
        list->found += amount;
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------- */
static weft_status list_create(entry_list *list, int64_t capacity)
{
    WEFT_TRY(WEFT_NEW(&list->index, capacity, WEFT_MEM_COMM));
    return WEFT_NEW(&list->value, capacity, WEFT_MEM_COMM);
}

static void list_free(entry_list *list)
{
    WEFT_FREE_ALL(list->index, list->value);
}

static weft_status ok_create(sparse_plan *plan)
{
    sparse_ok_topk *ok = NULL;
    int m = plan->nodes;
    int64_t capacity = plan->at.shard[plan->at.mine].capacity;
    select_options exact = {.method = SELECT_RADIX, .threads = plan->desc.select.threads};
    WEFT_TRY(WEFT_NEW_ZERO(&ok, 1, WEFT_MEM_COMM));
    plan->ok_topk = ok;
    ok->state_bytes = (int64_t)sizeof *ok->state + (m + 1) * (int64_t)sizeof ok->state->bound[0];
    WEFT_TRY(weft_calloc(1, (size_t)ok->state_bytes, WEFT_MEM_COMM, (void **)&ok->state));
    ok->state->bound[m] = plan->count;
    WEFT_TRY(slots_create(&ok->local, NULL, 1, capacity));
    WEFT_TRY(slots_create(&ok->out, NULL, m, capacity));
    WEFT_TRY(slots_create(&ok->in, NULL, m, capacity));
    WEFT_TRY(slots_travel(plan, &ok->out, -1));
    WEFT_TRY(slots_travel(plan, &ok->in, plan->node));
    WEFT_TRY(slots_create(&plan->slots, NULL, 1, m * capacity));
    WEFT_TRY(WEFT_NEW_ZERO(&ok->sum, plan->count, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&ok->touched, plan->count / 64 + 1, WEFT_MEM_COMM));
    WEFT_TRY(list_create(&ok->list, m * capacity));
    WEFT_TRY(list_create(&ok->kept, m * capacity));
    WEFT_TRY(WEFT_NEW_ZERO(&ok->position, (int64_t)m * m, WEFT_MEM_COMM));
    return selector_create(&exact, m * capacity, &ok->exact);
}

void sparse_ok_topk_free(sparse_plan *plan)
{
    sparse_ok_topk *ok = plan->ok_topk;
    if (ok == NULL) {
        return;
    }
    slots_free(&ok->local);
    slots_free(&ok->out);
    slots_free(&ok->in);
    list_free(&ok->list);
    list_free(&ok->kept);
    selector_destroy(ok->exact);
    WEFT_FREE_ALL(ok->sum, ok->touched, ok->position, ok->state, ok);
}

void *sparse_ok_topk_state(sparse_plan *plan, int64_t *bytes)
{
    *bytes = plan->ok_topk != NULL ? plan->ok_topk->state_bytes : 0;
    return plan->ok_topk != NULL ? plan->ok_topk->state : NULL;
}

static weft_status check_state(const sparse_plan *plan)
{
    const ok_state *state = plan->ok_topk->state;
    int64_t before = 0;
    WEFT_CHECK(state->k >= 0 && state->k <= plan->count && state->threshold >= 0 &&
                   state->threshold < HAL_MAGNITUDE_INFINITY,
               WEFT_ERR_DATA, "damaged: the threshold of exchange ok-topk is %lld, for %lld of %lld elements",
               (long long)state->threshold, (long long)state->k, (long long)plan->count);
    for (int q = 1; q < plan->nodes; before = state->bound[q++]) {
        WEFT_CHECK(state->bound[q] >= before && state->bound[q] <= plan->count, WEFT_ERR_DATA,
                   "damaged: region %d of exchange ok-topk begins at %lld, expected %lld to %lld", q,
                   (long long)state->bound[q], (long long)before, (long long)plan->count);
    }
    return WEFT_OK;
}

/* A number for all of the state, between 0 and INT64_MAX - 1. */
static int64_t state_number(const sparse_ok_topk *ok)
{
    const unsigned char *byte = (const unsigned char *)ok->state;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (int64_t i = 0; i < ok->state_bytes; ++i) {
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    }
    return (int64_t)(hash >> 2);
}

/* Ranks that own the same shard have the same state; ranks of different shards need not. */
weft_status sparse_ok_topk_restored(sparse_plan *plan)
{
    const int shards = plan->at.shards;
    const bool owns = plan->ok_topk != NULL;
    int64_t *bounds = NULL; /* [2][shards] the least number of each shard, and the complement of the largest */
    weft_status status = WEFT_NEW(&bounds, 2 * (int64_t)shards, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK && owns ? check_state(plan) : status;
    WEFT_TRY_GOTO(comm_agree(plan->comm, status), status, done);
    for (int i = 0; i < 2 * shards; ++i) {
        bounds[i] = INT64_MAX;
    }
    if (owns) {
        bounds[plan->at.mine] = state_number(plan->ok_topk);
        bounds[shards + plan->at.mine] = ~bounds[plan->at.mine];
    }
    WEFT_TRY_GOTO(comm_allreduce(plan->comm, bounds, 2 * (int64_t)shards, WEFT_DTYPE_I64, COMM_MIN), status, done);
    for (int i = 0; i < shards && status == WEFT_OK; ++i) {
        if (bounds[i] != ~bounds[shards + i]) {
            status =
                weft_fail(WEFT_ERR_DATA, "damaged: the ranks' files do not agree on the regions of exchange ok-topk");
        }
    }
done:
    weft_free(bounds);
    return status;
}

/* ---- select and split ---------------------------------------------------------------------------------------- */
static int64_t *positions_of(const sparse_plan *plan, int node)
{
    return plan->ok_topk->position + (int64_t)node * (plan->nodes - 1);
}

static weft_status select_local(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    sparse_ok_topk *ok = plan->ok_topk;
    ok_state *state = ok->state;
    int m = plan->nodes;
    uint64_t every = plan->desc.select.refresh >= 1 ? (uint64_t)plan->desc.select.refresh : REFRESH_DEFAULT;
    WEFT_TRY(sparse_select_into(plan, &ok->local, 0));
    sparse_blame(plan, slots_note(&ok->local, 0));
    ok->refresh = state->threshold == 0 || state->k != plan->share || state->calls % every == 0;
    bool moves = state->calls % REGIONS_EVERY == 0;
    int64_t found = slots_note(&ok->local, 0)->amount;
    const int32_t *index = slots_index(&ok->local, 0);
    int64_t *position = positions_of(plan, plan->node);
    ok->position_bytes = moves ? (m - 1) * (int64_t)sizeof *position : 0;
    for (int q = 1; q < m && moves; ++q) {
        position[q - 1] = found > 0 ? index[found * q / m] : plan->count * q / m;
    }
    return WEFT_OK;
}

static void move_regions(const sparse_plan *plan)
{
    int64_t *bound = plan->ok_topk->state->bound;
    for (int q = 1; q < plan->nodes; ++q) {
        int64_t sum = 0;
        for (int i = 0; i < plan->nodes; ++i) {
            sum += positions_of(plan, i)[q - 1];
        }
        bound[q] = sum / plan->nodes;
    }
}

/* One slot an owner; the selection ascends, so every slot is a run of it. */
static weft_status split_selection(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    sparse_ok_topk *ok = plan->ok_topk;
    if (ok->position_bytes > 0) {
        move_regions(plan);
    }
    const int32_t *index = slots_index(&ok->local, 0);
    const float *value = slots_value(&ok->local, 0);
    int64_t found = slots_note(&ok->local, 0)->amount;
    int64_t e = 0;
    for (int i = 0; i < plan->nodes; ++i) {
        int64_t begin = e;
        while (e < found && (i == plan->nodes - 1 || index[e] < ok->state->bound[i + 1])) {
            ++e;
        }
        *slots_note(&ok->out, i) = plan->trouble;
        slots_note(&ok->out, i)->amount = e - begin;
        memcpy(slots_index(&ok->out, i), index + begin, (size_t)(e - begin) * sizeof *index);
        memcpy(slots_value(&ok->out, i), value + begin, (size_t)(e - begin) * sizeof *value);
    }
    return WEFT_OK;
}

/* ---- reduce ------------------------------------------------------------------------------------------------- */
static weft_status add_region(sparse_plan *plan)
{
    sparse_ok_topk *ok = plan->ok_topk;
    memcpy(slots_note(&ok->in, plan->node), slots_note(&ok->out, plan->node),
           (size_t)(NOTE_BYTES + slots_note(&ok->out, plan->node)->amount * ENTRY_BYTES));
    for (int i = 0; i < plan->nodes; ++i) {
        int64_t bytes = 0;
        const sparse_note *note = slots_note(&ok->in, i);
        const int32_t *index = slots_index(&ok->in, i);
        sparse_blame(plan, note);
        WEFT_TRY(slot_add((const char *)note, ok->sum, plan->count, &bytes));
        for (int64_t e = 0; e < note->amount; ++e) {
            ok->touched[index[e] / 64] |= (uint64_t)1 << (index[e] % 64);
        }
    }
    return WEFT_OK;
}

/* The reduced entries in order; sum and bits are zero again. */
static void list_region(sparse_plan *plan)
{
    sparse_ok_topk *ok = plan->ok_topk;
    ok->list.found = 0;
    for (int64_t w = 0; w <= plan->count / 64; ++w) {
        while (ok->touched[w] != 0) {
            int32_t i = (int32_t)(w * 64 + __builtin_ctzll(ok->touched[w]));
            ok->touched[w] &= ok->touched[w] - 1;
            ok->list.index[ok->list.found] = i;
            ok->list.value[ok->list.found++] = ok->sum[i];
            ok->sum[i] = 0.0f;
        }
    }
}

/* Keep the k largest of the list (everything when there are fewer). */
static weft_status keep_largest(sparse_ok_topk *ok, int64_t k)
{
    if (ok->list.found <= k) {
        return WEFT_OK;
    }
    WEFT_TRY(
        selector_run(ok->exact, ok->list.value, ok->list.found, k, k, ok->kept.index, ok->kept.value, &ok->kept.found));
    for (int64_t e = 0; e < k; ++e) {
        ok->list.index[e] = ok->list.index[ok->kept.index[e]];
        ok->list.value[e] = ok->kept.value[e];
    }
    ok->list.found = k;
    return WEFT_OK;
}

static void keep_reaching(sparse_ok_topk *ok, int64_t capacity)
{
    int64_t kept = 0;
    for (int64_t e = 0; e < ok->list.found && kept < capacity; ++e) {
        if (hal_magnitude(ok->list.value[e]) >= (uint32_t)ok->state->threshold) {
            ok->list.index[kept] = ok->list.index[e];
            ok->list.value[kept++] = ok->list.value[e];
        }
    }
    ok->list.found = kept;
}

/* A sum of finite entries may still overflow. */
static void blame_overflow(sparse_plan *plan)
{
    const entry_list *list = &plan->ok_topk->list;
    for (int64_t e = 0; e < list->found; ++e) {
        if (hal_magnitude(list->value[e]) >= HAL_MAGNITUDE_INFINITY) {
            const sparse_note note = {.rank = comm_rank(plan->comm), .index = (int32_t)plan->begin + list->index[e]};
            sparse_blame(plan, &note);
            return;
        }
    }
}

static void write_list(const entry_list *list, const sparse_slots *slots, int i)
{
    slots_note(slots, i)->amount = list->found;
    copy_entries(list, slots_index(slots, i), slots_value(slots, i));
}

static weft_status reduce_region(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    sparse_ok_topk *ok = plan->ok_topk;
    WEFT_TRY(add_region(plan));
    list_region(plan);
    blame_overflow(plan);
    if (plan->trouble.rank >= 0) {
        ok->list.found = 0;
    } else if (ok->refresh) {
        WEFT_TRY(keep_largest(ok, plan->share));
    } else {
        keep_reaching(ok, ok->in.capacity);
    }
    *slots_note(&ok->in, plan->node) = plan->trouble;
    write_list(&ok->list, &ok->in, plan->node);
    return WEFT_OK;
}

/* ---- gather and feedback ------------------------------------------------------------------------------------ */
static void adapt_threshold(sparse_ok_topk *ok, int64_t k)
{
    ok_state *state = ok->state;
    uint32_t bits = (uint32_t)state->threshold;
    if (ok->refresh) {
        bits = HAL_MAGNITUDE_INFINITY - 1;
        for (int64_t e = 0; e < ok->list.found; ++e) {
            uint32_t here = hal_magnitude(ok->list.value[e]);
            bits = here < bits ? here : bits;
        }
        state->k = k;
    } else {
        float threshold = 0.0f;
        memcpy(&threshold, &bits, sizeof threshold);
        threshold = 4 * ok->list.found > 5 * k   ? threshold * 1.012f
                    : 3 * ok->list.found < 2 * k ? threshold / 1.012f
                                                 : threshold;
        bits = hal_magnitude(threshold);
    }
    state->threshold = bits == 0 ? 1 : bits < HAL_MAGNITUDE_INFINITY ? bits : HAL_MAGNITUDE_INFINITY - 1;
}

/* Both lists ascend: what was selected here and kept globally leaves the residual. */
static void clear_residual(sparse_plan *plan)
{
    const sparse_ok_topk *ok = plan->ok_topk;
    const int32_t *selected = slots_index(&ok->local, 0);
    int64_t found = slots_note(&ok->local, 0)->amount;
    int64_t g = 0;
    for (int64_t e = 0; e < found; ++e) {
        while (g < ok->list.found && ok->list.index[g] < selected[e]) {
            ++g;
        }
        if (g < ok->list.found && ok->list.index[g] == selected[e]) {
            plan->residual[selected[e]] = 0.0f;
            plan->sent[plan->sent_count++] = (int32_t)plan->begin + selected[e];
        }
    }
}

static weft_status finish_kept(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    sparse_ok_topk *ok = plan->ok_topk;
    ok->list.found = 0;
    for (int i = 0; i < plan->nodes; ++i) {
        sparse_blame(plan, slots_note(&ok->in, i));
        append_slot(&ok->list, &ok->in, i);
    }
    if (plan->trouble.rank >= 0) {
        ok->list.found = 0;
    } else {
        if (ok->refresh) {
            WEFT_TRY(keep_largest(ok, plan->share));
        }
        adapt_threshold(ok, plan->share);
        clear_residual(plan);
        ++ok->state->calls;
    }
    *slots_note(&plan->slots, 0) = plan->trouble;
    write_list(&ok->list, &plan->slots, 0);
    return sparse_add_slots(plan, post);
}

/* ---- the schedule -------------------------------------------------------------------------------------------- */
static void build_positions(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    int m = plan->nodes;
    int64_t most = (m - 1) * (int64_t)sizeof(int64_t);
    schedule_members(s, plan->group);
    schedule_round(s, "inter");
    for (int k = 1; k < m; ++k) {
        int to = (plan->node + k) % m;
        int from = (plan->node + m - k) % m;
        schedule_receive_late(s, from, positions_of(plan, from), &plan->ok_topk->position_bytes, most);
        schedule_send_late(s, to, positions_of(plan, plan->node), &plan->ok_topk->position_bytes, most);
    }
    schedule_members(s, NULL);
}

weft_status sparse_ok_topk_create(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    WEFT_TRY(node_create(plan));
    plan->at.bundle_slots = 1;
    if (plan->at.mine >= 0) {
        WEFT_TRY(ok_create(plan));
    }
    node_build_sum(plan);
    if (plan->at.mine >= 0) {
        sparse_ok_topk *ok = plan->ok_topk;
        schedule_round(s, "select");
        schedule_call(s, select_local, plan);
        build_positions(plan);
        schedule_round(s, "pack");
        schedule_call(s, split_selection, plan);
        sparse_exchange_slots(plan, &ok->out, true, &ok->in);
        schedule_round(s, "unpack");
        schedule_call(s, reduce_region, plan);
        sparse_exchange_slots(plan, &ok->in, false, &ok->in);
        schedule_round(s, "unpack");
        schedule_call(s, finish_kept, plan);
    }
    node_build_gather(plan);
    return WEFT_OK;
}
