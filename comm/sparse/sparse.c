/*
 * comm/sparse/sparse.c: sparse all-reduces: made, posted, waited for; and what the exchanges share.
 *
 * The residual is the accumulator: a stage adds this step's vector (or the node's sum) to it, the selection reads it,
 * and what is sent is set to zero. So nothing is copied and an element is in exactly one place.
 */
#include "comm/sparse/sparse.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "comm/coll/coll.h"
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

enum { JUDGED_DENSITY = 100 }; /* AUTO chooses an exchange for one element in so many */

const char *sparse_exchange_name(sparse_exchange exchange)
{
    static const char *const names[] = {SPARSE_EXCHANGES(CHOICE_NAME)};
    return exchange >= SPARSE_AUTO && exchange <= SPARSE_ALL_GATHER ? names[exchange] : "unknown";
}

const char *sparse_values_name(sparse_values values)
{
    static const char *const names[] = {SPARSE_VALUES(CHOICE_NAME)};
    return names[values];
}

int64_t sparse_capacity(const select_options *select, int64_t k, int64_t count)
{
    int64_t capacity = select->method == SELECT_REUSE ? k + k / 4 + 1 : k;
    return capacity < count ? capacity : count;
}

/* ---- which exchange ----------------------------------------------------------------------------------------- */
static double sparse_seconds(const weft_comm *comm, sparse_exchange exchange, bool windowed, int64_t count, int64_t k,
                             sparse_values values)
{
    comm_cost cost = sparse_cost(comm_get_layout(comm), comm_rank(comm), exchange, windowed, count, k, values);
    return comm_model_seconds(comm_get_model(comm), &cost);
}

/* Regions, sizes sent ahead and merges of Ok-Topk cost work that its prediction leaves out: 1.25 times as long as
 * HiTopKComm was measured on 4 nodes where both were predicted alike. */
#define OK_TOPK_MARGIN 1.25

bool sparse_fits_device(sparse_exchange exchange, select_method method, sparse_values values)
{
    return (exchange == SPARSE_AUTO || exchange == SPARSE_ALL_GATHER) && method == SELECT_RADIX &&
           values == SPARSE_FLOAT32;
}

static sparse_exchange cheapest_exchange(const weft_comm *comm, bool windowed, int64_t count, int64_t most,
                                         sparse_values values)
{
    static const sparse_exchange candidates[] = {SPARSE_HIERARCHICAL, SPARSE_OK_TOPK, SPARSE_ALL_GATHER};
    int64_t k = count / JUDGED_DENSITY < most ? count / JUDGED_DENSITY : most;
    sparse_exchange best = SPARSE_HIERARCHICAL;
    for (int i = 1; i < 3; ++i) {
        double seconds = sparse_seconds(comm, candidates[i], windowed, count, k, values);
        seconds *= candidates[i] == SPARSE_OK_TOPK ? OK_TOPK_MARGIN : 1.0;
        best = seconds < sparse_seconds(comm, best, windowed, count, k, values) ? candidates[i] : best;
    }
    return best;
}

/* The smallest k for which a dense all-reduce is predicted to be faster; predictions grow with k. */
static int64_t break_even(const weft_comm *comm, sparse_exchange exchange, bool windowed, int64_t count,
                          sparse_values values, const coll_algorithm *algorithm)
{
    const coll_place place = {.rank = comm_rank(comm),
                              .size = comm_size(comm),
                              .layout = comm_get_layout(comm),
                              .model = comm_get_model(comm)};
    comm_cost cost = algorithm->cost(&place, count, (int64_t)sizeof(float));
    double dense = comm_model_seconds(comm_get_model(comm), &cost);
    int64_t most = 0;
    SEARCH_FIRST(most, count, sparse_seconds(comm, exchange, windowed, count, at, values) < dense);
    return most;
}

sparse_choice sparse_choose(const weft_comm *comm, bool device, bool windowed, int64_t count, int64_t most,
                            sparse_values values)
{
    /* The other exchanges select from sums over a node, which are made in host memory. */
    const sparse_exchange exchange =
        device ? SPARSE_ALL_GATHER : cheapest_exchange(comm, windowed, count, most, values);
    const coll_algorithm *dense =
        coll_choose(comm_get_model(comm), comm_get_layout(comm), comm_size(comm), count, WEFT_DTYPE_F32);
    const bool inside = windowed && exchange != SPARSE_ALL_GATHER;
    const int64_t from = break_even(comm, exchange, inside, count, values, dense);
    return (sparse_choice){
        .exchange = exchange, .dense_from = count > 0 ? (double)from / (double)count : 1.0, .allreduce = dense->id};
}

/* ---- making ------------------------------------------------------------------------------------------------- */
static void describe(const sparse_desc *desc, char text[OPERATION_NAME_BYTES])
{
    snprintf(text, OPERATION_NAME_BYTES,
             "sparse all-reduce %s%s of %lld float32 as %s, at most %lld, selection %d (%d, %d), lane %s",
             desc->hal != NULL ? "from devices, " : "", sparse_exchange_name(desc->exchange), (long long)desc->count,
             sparse_values_name(desc->values), (long long)desc->most, (int)desc->select.method, desc->select.samplings,
             desc->select.refresh, comm_lane_name(desc->lane));
}

static weft_status check(const sparse_desc *desc)
{
    WEFT_CHECK(desc->lane >= 0 && desc->lane < COMM_LANES, WEFT_ERR_INTERNAL, "lane %d of %d", (int)desc->lane,
               (int)COMM_LANES);
    WEFT_CHECK(desc->count >= 0 && desc->count <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "a sparse all-reduce of %lld elements: at most %d, use smaller buckets", (long long)desc->count,
               INT32_MAX);
    WEFT_CHECK(desc->most >= 0 && desc->most <= desc->count, WEFT_ERR_INTERNAL, "at most %lld of %lld elements",
               (long long)desc->most, (long long)desc->count);
    WEFT_CHECK(desc->buffer != NULL || desc->count == 0, WEFT_ERR_INTERNAL,
               "a sparse all-reduce of %lld elements without a buffer", (long long)desc->count);
    WEFT_CHECK(desc->exchange >= SPARSE_AUTO && desc->exchange <= SPARSE_ALL_GATHER, WEFT_ERR_INTERNAL,
               "sparse exchange %d is unknown", (int)desc->exchange);
    WEFT_CHECK(desc->hal == NULL || sparse_fits_device(desc->exchange, desc->select.method, desc->values),
               WEFT_ERR_INTERNAL, "exchange %s of selection %d from a device", sparse_exchange_name(desc->exchange),
               (int)desc->select.method);
    return WEFT_OK;
}

/* Ranks with this rank's local number, node by node; or all ranks, node by node. */
static weft_status make_group(sparse_plan *plan)
{
    const comm_layout *layout = comm_get_layout(plan->comm);
    int rank = comm_rank(plan->comm);
    bool flat = plan->exchange == SPARSE_ALL_GATHER;
    plan->nodes = layout->nodes;
    plan->node = layout->node_of[rank];
    plan->senders = flat ? comm_size(plan->comm) : plan->nodes;
    WEFT_TRY(WEFT_NEW(&plan->group, plan->senders, WEFT_MEM_COMM));
    for (int i = 0; i < plan->senders; ++i) {
        int local = layout->local_of[rank] < layout->least ? layout->local_of[rank] : 0;
        plan->group[i] = flat ? layout->member[i] : layout->member[layout->first[i] + local];
        plan->sender = plan->group[i] == rank ? i : plan->sender;
    }
    return WEFT_OK;
}

static weft_status build_exchange(sparse_plan *plan)
{
    WEFT_TRY(make_group(plan));
    switch (plan->exchange) {
    case SPARSE_OK_TOPK:
        WEFT_TRY(sparse_ok_topk_create(plan));
        break;
    case SPARSE_ALL_GATHER:
        WEFT_TRY(sparse_all_gather_create(plan));
        break;
    case SPARSE_AUTO: /* resolved before */
    case SPARSE_HIERARCHICAL:
        WEFT_TRY(sparse_hierarchical_create(plan));
        break;
    }
    return schedule_end(&plan->schedule);
}

/* Takes over the window, also on failure. */
static weft_status build(weft_comm *comm, const sparse_desc *desc, const char *text, const sparse_choice *choice,
                         sparse_window *window, sparse_plan **out)
{
    weft_status status = WEFT_OK;
    sparse_plan *plan = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&plan, 1, WEFT_MEM_COMM), status, done);
    plan->comm = comm;
    plan->desc = *desc;
    plan->exchange = choice->exchange;
    plan->desc.values = choice->exchange != SPARSE_OK_TOPK ? desc->values : SPARSE_FLOAT32;
    plan->dense_from = (int64_t)ceil(choice->dense_from * (double)desc->count);
    plan->desc.preferred.allreduce = choice->allreduce;
    plan->window = *window;
    *window = (sparse_window){0};
    plan->variable = desc->select.method == SELECT_REUSE || plan->exchange == SPARSE_OK_TOPK;
    schedule_begin(&plan->schedule, comm, desc->lane, text);
    WEFT_TRY_GOTO(build_exchange(plan), status, done);
    WEFT_TRY_GOTO(desc->hal != NULL ? sparse_device_create(plan)
                                    : WEFT_NEW_ZERO(&plan->residual, plan->count, WEFT_MEM_COMM),
                  status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&plan->sent, sparse_capacity(&desc->select, desc->most, plan->count), WEFT_MEM_COMM), status,
                  done);
    /* A device selects by itself: of its selector there is the state alone. */
    WEFT_TRY_GOTO(selector_create(&desc->select, plan->device == NULL ? plan->count : 0, &plan->selector), status,
                  done);
    *out = plan;
    return WEFT_OK;
done:
    sparse_window_close(comm, window);
    sparse_destroy(plan);
    return status;
}

/* What runs; windowed: every vector lies in a window of its node. */
static sparse_choice choose(const weft_comm *comm, const sparse_desc *desc, bool windowed)
{
    const bool fits = desc->hal == NULL || desc->preferred.exchange == SPARSE_ALL_GATHER;
    if (desc->exchange != SPARSE_AUTO) {
        return (sparse_choice){.exchange = desc->exchange, .dense_from = 1.0};
    }
    return desc->preferred.exchange != SPARSE_AUTO && fits
               ? desc->preferred
               : sparse_choose(comm, desc->hal != NULL, windowed, desc->count, desc->most, desc->values);
}

/* Collective: where the vectors lie, and by that which exchange runs. */
static weft_status find_window(weft_comm *comm, const sparse_desc *desc, sparse_window *window, sparse_choice *choice)
{
    weft_status status = sparse_window_find(comm, desc, window);
    WEFT_TRY(status);
    *choice = choose(comm, desc, window->usable);
    window->usable = window->usable && choice->exchange != SPARSE_ALL_GATHER;
    if (window->usable) {
        status = sparse_window_open(comm, node_bundle_most(comm, desc), window);
    }
    if (status != WEFT_OK) {
        sparse_window_close(comm, window);
    }
    return status;
}

weft_status sparse_create(weft_comm *comm, const sparse_desc *desc, sparse_plan **plan)
{
    char text[OPERATION_NAME_BYTES];
    sparse_window window = {0};
    sparse_choice choice;
    *plan = NULL;
    describe(desc, text);
    WEFT_TRY(comm_check_same(comm, text));
    WEFT_TRY(comm_agree(comm, check(desc)));
    WEFT_TRY(find_window(comm, desc, &window, &choice));
    weft_status status = comm_agree(comm, build(comm, desc, text, &choice, &window, plan));
    if (status == WEFT_OK && *plan != NULL && (*plan)->dense_from <= desc->most) {
        status = dense_create(*plan);
    }
    if (status != WEFT_OK) {
        sparse_destroy(*plan);
        *plan = NULL;
    }
    return status;
}

void sparse_destroy(sparse_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    schedule_free(&plan->schedule);
    dense_free(plan);
    sparse_device_free(plan);
    node_free(plan);
    sparse_window_close(plan->comm, &plan->window);
    sparse_ok_topk_free(plan);
    slots_free(&plan->slots);
    selector_destroy(plan->selector);
    WEFT_FREE_ALL(plan->group, plan->residual, plan->sent, plan);
}

/* ---- running ------------------------------------------------------------------------------------------------ */
weft_status sparse_post(sparse_plan *plan, int64_t k)
{
    WEFT_CHECK(!operation_active(&plan->schedule.operation) && !plan->runs_dense, WEFT_ERR_INTERNAL,
               "%s is posted twice without a wait", plan->schedule.operation.name);
    WEFT_CHECK(k >= 0 && k <= plan->desc.most, WEFT_ERR_INTERNAL, "%s: %lld asked for", plan->schedule.operation.name,
               (long long)k);
    bool flat = plan->exchange == SPARSE_ALL_GATHER;
    plan->k = k;
    plan->share = flat ? k : plan->at.mine >= 0 ? sparse_share(k, plan->at.shards, plan->at.mine) : 0;
    plan->trouble = (sparse_note){.rank = -1};
    plan->sent_count = 0;
    if (plan->device != NULL) {
        WEFT_TRY(sparse_device_take(plan, sparse_sends_everything(plan, k)));
    }
    if (sparse_sends_everything(plan, k)) {
        return dense_post(plan);
    }
    for (int i = 0; i < plan->slots.count && !plan->variable; ++i) {
        plan->slots.bytes[i] = NOTE_BYTES + wire_bytes(plan->count, plan->share, plan->desc.values);
    }
    schedule_post(&plan->schedule);
    return operation_active(&plan->schedule.operation) ? WEFT_OK : progress_status(&plan->schedule.operation);
}

/* The operation has ended, well or in the words of its verdict. */
static weft_status finish(sparse_plan *plan, bool everything, weft_status status)
{
    return status == WEFT_OK && plan->device != NULL ? sparse_device_put(plan, everything) : status;
}

weft_status sparse_wait(sparse_plan *plan)
{
    if (plan->runs_dense) {
        return finish(plan, true, dense_wait(plan));
    }
    WEFT_TRY(schedule_wait(&plan->schedule));
    return finish(plan, false, sparse_verdict(plan));
}

/* ---- asking ------------------------------------------------------------------------------------------------- */
float *sparse_residual(sparse_plan *plan, int64_t *begin, int64_t *count)
{
    *begin = plan->begin;
    *count = plan->count;
    return plan->device != NULL ? sparse_device_residual(plan) : plan->residual;
}

selector *sparse_selector(sparse_plan *plan)
{
    return plan->selector;
}

void *sparse_state(sparse_plan *plan, int64_t *bytes)
{
    *bytes = 0;
    return plan->exchange == SPARSE_OK_TOPK ? sparse_ok_topk_state(plan, bytes) : NULL;
}

weft_status sparse_restored(sparse_plan *plan)
{
    return plan->exchange == SPARSE_OK_TOPK ? sparse_ok_topk_restored(plan) : WEFT_OK;
}

bool sparse_sends_everything(const sparse_plan *plan, int64_t k)
{
    return k >= plan->dense_from;
}

const int32_t *sparse_sent(const sparse_plan *plan, int64_t *found)
{
    const bool everything = sparse_sends_everything(plan, plan->k);
    *found = everything ? plan->desc.count : plan->sent_count;
    return everything ? NULL : plan->sent;
}

/* ---- steps that exchanges share ----------------------------------------------------------------------------- */
void sparse_blame(sparse_plan *plan, const sparse_note *note)
{
    sparse_note *known = &plan->trouble;
    bool earlier = note->rank < known->rank || (note->rank == known->rank && note->index < known->index);
    if (note->rank >= 0 && (known->rank < 0 || earlier)) {
        *known = (sparse_note){.rank = note->rank, .index = note->index};
    }
}

weft_status sparse_verdict(const sparse_plan *plan)
{
    assert(plan->trouble.rank < comm_size(plan->comm));
    WEFT_CHECK(plan->trouble.rank < 0, WEFT_ERR_DIVERGED,
               "rank %d: element %d of a vector of %lld, or its sum, is not finite: lower the learning rate",
               plan->trouble.rank, plan->trouble.index, (long long)plan->desc.count);
    return WEFT_OK;
}

/* Whose vector made the residual infinite; this rank's if it was the sum. */
static sparse_note find_trouble(const sparse_plan *plan)
{
    sparse_note note = {.rank = comm_rank(plan->comm)};
    int64_t i = 0;
    while (i < plan->count - 1 && hal_magnitude(plan->residual[i]) < HAL_MAGNITUDE_INFINITY) {
        ++i;
    }
    for (int q = 0; q < plan->at.ranks; ++q) {
        if (hal_magnitude(plan->at.source[q][i]) >= HAL_MAGNITUDE_INFINITY) {
            note.rank = plan->at.member[q];
            break;
        }
    }
    note.index = (int32_t)(plan->begin + i);
    return note;
}

weft_status sparse_select_into(sparse_plan *plan, sparse_slots *slots, int i)
{
    assert(i >= 0);
    assert(plan->share <= plan->count);
    sparse_note *note = slots_note(slots, i);
    int64_t room = plan->desc.select.method == SELECT_REUSE ? slots->capacity : plan->share;
    int64_t found = 0;
    int32_t *index = slots_index(slots, i);
    float *value = (float *)(void *)(index + room);
    weft_status status =
        selector_run(plan->selector, plan->residual, plan->count, plan->share, room, index, value, &found);
    *note = (sparse_note){.rank = -1, .amount = found};
    if (status == WEFT_ERR_DIVERGED) {
        *note = find_trouble(plan);
        return WEFT_OK;
    }
    if (status == WEFT_OK && found < room) {
        memmove(index + found, value, (size_t)found * sizeof *value);
    }
    return status;
}

weft_status sparse_select(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    WEFT_TRY(sparse_select_into(plan, &plan->slots, plan->sender));
    const int32_t *index = slots_index(&plan->slots, plan->sender);
    plan->sent_count = slots_note(&plan->slots, plan->sender)->amount;
    float *value = slots_value(&plan->slots, plan->sender);
    wire_round(plan->sent_count, plan->desc.values, value);
    for (int64_t e = 0; e < plan->sent_count; ++e) {
        plan->residual[index[e]] -= value[e]; /* exact: what rounding took away has fewer bits */
        plan->sent[e] = (int32_t)plan->begin + index[e];
    }
    return WEFT_OK;
}

weft_status sparse_add_slots(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    float *to = plan->desc.buffer + plan->begin;
    int64_t bytes = 0;
    if (plan->exchange == SPARSE_ALL_GATHER) { /* else cleared as it was read */
        memset(to, 0, (size_t)plan->count * sizeof *to);
    }
    for (int i = 0; i < plan->slots.count; ++i) {
        sparse_blame(plan, slots_note(&plan->slots, i));
        WEFT_TRY(slot_add((const char *)slots_note(&plan->slots, i), to, plan->count, &bytes));
    }
    return WEFT_OK;
}

static weft_status announce(void *argument, uint64_t post)
{
    (void)post;
    return slots_announce(argument);
}

/* late: what the notes announce, else the notes. */
static void build_part(sparse_plan *plan, sparse_slots *out, bool one_a_receiver, sparse_slots *in, bool late)
{
    comm_schedule *s = &plan->schedule;
    for (int k = 1; k < plan->senders; ++k) {
        int to = (plan->sender + k) % plan->senders;
        int source = (plan->sender + plan->senders - k) % plan->senders;
        int sent = one_a_receiver ? to : plan->sender;
        if (late) {
            schedule_receive_late(s, source, slots_wire(in, source), &in->bytes[source], slots_wire_most(in));
            schedule_send_late(s, to, slots_wire(out, sent), &out->bytes[sent], slots_wire_most(out));
        } else {
            schedule_receive(s, source, slots_note(in, source), NOTE_BYTES);
            schedule_send(s, to, slots_note(out, sent), NOTE_BYTES);
        }
    }
}

void sparse_exchange_slots(sparse_plan *plan, sparse_slots *out, bool one_a_receiver, sparse_slots *in)
{
    comm_schedule *s = &plan->schedule;
    schedule_call(s, slots_pack, out);
    schedule_members(s, plan->group);
    schedule_round(s, "inter");
    if (plan->variable) {
        build_part(plan, out, one_a_receiver, in, false);
        schedule_call(s, announce, in);
        if (out != in) {
            schedule_call(s, announce, out);
        }
        schedule_round(s, "inter");
    }
    build_part(plan, out, one_a_receiver, in, true);
    schedule_call(s, slots_unpack, in);
    schedule_members(s, NULL);
}
