/*
 * comm/sparse/sparse_all_gather.c: every rank selects from its own vector and all selections go to all: the baseline.
 *
 * Selections travel around a ring of ranks ordered node by node, so that every one of them crosses a node's network
 * link once. Everybody adds them in that order.
 *
 * Cost: P - 1 rounds, (P - 1) (16 + packed entries) bytes a rank and link. Memory: a residual of M, P selections.
 */
#include "comm/sparse/sparse_internal.h"

static weft_status add_vector(void *argument, uint64_t post)
{
    (void)post;
    const sparse_plan *plan = argument;
    float *to = plan->residual;
    const float *from = plan->desc.buffer;
    int64_t count = plan->count;
    int threads = count >= (1 << 16) ? plan->desc.select.threads : 1;
    if (threads == 1) {
        for (int64_t i = 0; i < count; ++i) {
            to[i] += from[i];
        }
        return WEFT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) {
        to[i] += from[i];
    }
    return WEFT_OK;
}

static weft_status announce_own(void *argument, uint64_t post)
{
    (void)post;
    return slots_announce(argument);
}

static weft_status blame_senders(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    for (int i = 0; i < plan->slots.count; ++i) {
        sparse_blame(plan, slots_note(&plan->slots, i));
    }
    return WEFT_OK;
}

/* Slots are numbered along the ring. Where sizes vary, all notes go to all first. */
static void build_ring(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    sparse_slots *slots = &plan->slots;
    int size = plan->senders;
    int right = (plan->sender + 1) % size;
    int left = (plan->sender + size - 1) % size;
    schedule_call(s, slots_pack, slots);
    schedule_members(s, plan->group);
    for (int k = 1; plan->variable && k < size; ++k) {
        int to = (plan->sender + k) % size;
        int source = (plan->sender + size - k) % size;
        if (k == 1) {
            schedule_round(s, "inter");
        }
        schedule_receive(s, source, slots_note(slots, source), NOTE_BYTES);
        schedule_send(s, to, slots_note(slots, plan->sender), NOTE_BYTES);
    }
    if (plan->variable) {
        schedule_round(s, "inter");
        schedule_call(s, announce_own, slots);
    }
    for (int k = 0; k < size - 1; ++k) {
        int sent = (plan->sender - k + size) % size;
        int got = (plan->sender - k - 1 + size) % size;
        schedule_round(s, "inter");
        schedule_receive_late(s, left, slots_wire(slots, got), &slots->bytes[got], slots_wire_most(slots));
        schedule_send_late(s, right, slots_wire(slots, sent), &slots->bytes[sent], slots_wire_most(slots));
    }
    schedule_call(s, slots_unpack, slots);
    schedule_members(s, NULL);
}

weft_status sparse_all_gather_create(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    plan->count = plan->desc.count;
    const int64_t most = sparse_capacity(&plan->desc.select, plan->desc.most, plan->desc.count);
    if (plan->desc.hal != NULL) { /* it selects when its stream comes to it, and adds once the caller has waited */
        WEFT_TRY(slots_create(&plan->slots, plan->desc.hal, plan->senders, most > 0 ? most : 1));
        WEFT_TRY(slots_travel(plan, &plan->slots, plan->sender));
        schedule_round(s, "select");
        schedule_try(s, sparse_device_taken, plan);
        build_ring(plan);
        schedule_round(s, "unpack");
        schedule_call(s, blame_senders, plan);
        return WEFT_OK;
    }
    WEFT_TRY(slots_create(&plan->slots, NULL, plan->senders, most));
    WEFT_TRY(slots_travel(plan, &plan->slots, plan->sender));
    schedule_round(s, "select");
    schedule_call(s, add_vector, plan);
    schedule_call(s, sparse_select, plan);
    build_ring(plan);
    schedule_round(s, "unpack");
    schedule_call(s, sparse_add_slots, plan);
    return WEFT_OK;
}
