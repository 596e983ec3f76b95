/* dense/engine/arena_plan.c: see dense/engine/arena_plan.h. */
#include "dense/engine/arena_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Sums of sizes stay exact below it; nothing that has so much memory exists. */
#define WANTED_MAX 0x1p60

enum { SLOTS_A_UNIT = 7, SLOTS_BESIDE = 3, ALIGN_BYTES = 64 };

typedef struct planning {
    const unit_list *list;
    arena_plan *plan;
    int *gradient; /* [values] the slot of its gradient, once somebody wrote there */
    int *shares;   /* [values] how many have written a share of it */
    bool *leaves;  /* [values] after the forward pass, to be made again */
    const arena_need *need;
    double wanted; /* bytes of all slots together */
} planning;

static int64_t elements_of(net_size size)
{
    return size.height * size.width * size.channels;
}

static int add_slot(planning *p, net_size size, size_t element_bytes, int moment)
{
    const int64_t elements = elements_of(size);
    assert(p->plan->slots < SLOTS_A_UNIT * p->list->units + SLOTS_BESIDE && moment >= 0);
    const double wanted = (double)elements * (double)p->need->images * (double)element_bytes;
    const int64_t bytes = wanted < WANTED_MAX ? elements * p->need->images * (int64_t)element_bytes : 0;
    p->wanted += wanted;
    p->plan->slot[p->plan->slots] = (arena_slot){.elements = elements,
                                                 .bytes = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES,
                                                 .first = moment,
                                                 .last = moment};
    return p->plan->slots++;
}

static int add_value(planning *p, int value, int moment)
{
    return add_slot(p, p->list->size[value], p->need->bytes[value], moment);
}

static bool passes(const planning *p, int value)
{
    return p->need->passing != NULL && p->need->passing[value];
}

static bool is_narrow(const planning *p, int value)
{
    return p->need->bytes[value] < p->need->wide;
}

static void touch(planning *p, int slot, int moment)
{
    if (slot != ARENA_NO_SLOT && p->plan->slot[slot].last < moment) {
        p->plan->slot[slot].last = moment;
    }
}

static void touch_value(planning *p, int value, int moment)
{
    if (value != UNIT_NO_VALUE) {
        touch(p, p->plan->value[value], moment);
    }
}

static void plan_forward(planning *p, int index)
{
    const unit *u = &p->list->unit[index];
    unit_slots *s = &p->plan->unit[index];
    *s = (unit_slots){ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT,
                      ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT};
    assert(u->x != UNIT_NO_VALUE && u->y != UNIT_INPUT_VALUE && p->plan->value[u->y] == ARENA_NO_SLOT);
    touch_value(p, u->x, index);
    touch_value(p, u->other, index);
    p->plan->value[u->y] = passes(p, u->y) ? p->plan->value[u->x] : add_value(p, u->y, index);
    if (u->kind == UNIT_LINEAR && is_narrow(p, u->x)) {
        s->wide_x = add_slot(p, p->list->size[u->x], p->need->wide, index);
    }
    if (p->need->training && u->kind == UNIT_POOL && u->layer->kind == NET_MAXPOOL) {
        s->index = add_slot(p, p->list->size[u->y], 1, index);
    }
}

/* Which of a unit's values its backward pass reads. A linear layer has a copy of a narrow input. */
static bool reads_input_again(const planning *p, const unit *u)
{
    switch (u->kind) {
    case UNIT_CONV:
    case UNIT_NORM:
    case UNIT_GROUPNORM:
    case UNIT_LAYERNORM:
    case UNIT_GATE:
    case UNIT_GAIN:
    case UNIT_ATTENTION:
        return true;
    case UNIT_LINEAR:
        return !is_narrow(p, u->x);
    case UNIT_CURVE:
        return !hal_curve_by_output(u->curve);
    default:
        return false;
    }
}

/* A residual's gradient stays where the norm's was. */
static bool works_in_place(const unit *u)
{
    const bool passes_on = u->other != UNIT_NO_VALUE && u->other != UNIT_INPUT_VALUE;
    switch (u->kind) {
    case UNIT_NORM:
        return !passes_on;
    case UNIT_GROUPNORM:
    case UNIT_LAYERNORM:
    case UNIT_ACT:
    case UNIT_CURVE:
    case UNIT_ADD:
    case UNIT_GATE:
    case UNIT_SCALE:
    case UNIT_GAIN:
    case UNIT_POSITION:
        return true;
    default:
        return false;
    }
}

/* A norm without residual tells ReLU's mask by x. */
static bool reads_output_again(const unit *u)
{
    if (u->kind == UNIT_CURVE) {
        return hal_curve_by_output(u->curve);
    }
    return u->relu && (u->kind != UNIT_NORM || u->other != UNIT_NO_VALUE);
}

/* Whether some unit's backward pass reads its input `value`. */
static bool feeds_again(const planning *p, int value)
{
    for (int i = 0; i < p->list->units; ++i) {
        if (p->list->unit[i].x == value && reads_input_again(p, &p->list->unit[i])) {
            return true;
        }
    }
    return false;
}

/* A norm's output may leave when what it is made of stays: its input by itself, its residual if somebody reads that. */
static bool may_leave(const planning *p, int index)
{
    const unit *u = &p->list->unit[index];
    if (!p->need->training || u->kind != UNIT_NORM || u->y == p->list->output || passes(p, u->y) || p->leaves[u->x] ||
        !feeds_again(p, u->y)) {
        return false;
    }
    return u->other == UNIT_NO_VALUE || u->other == UNIT_INPUT_VALUE ||
           (!p->leaves[u->other] && feeds_again(p, u->other));
}

/* value: not the input */
static const unit *maker_of(const planning *p, int value)
{
    assert(value > UNIT_INPUT_VALUE && p->list->maker[value] != UNIT_NO_UNIT);
    return &p->list->unit[p->list->maker[value]];
}

/* A unit's backward pass reads a value, which is made again when it left. */
static void touch_again(planning *p, int value, int moment)
{
    if (!p->leaves[value]) {
        touch_value(p, value, moment);
        return;
    }
    int *again = &p->plan->again[value];
    if (*again == ARENA_NO_SLOT) {
        *again = add_value(p, value, moment);
        touch_value(p, maker_of(p, value)->x, moment);
        touch_value(p, maker_of(p, value)->other, moment);
    }
    touch(p, *again, moment);
}

/* What stands in `written` becomes the gradient of `value`, or is added: here, or by the norm whose output it is, which
 * the last one leaves it to. */
static void join_gradient(planning *p, int value, int written, int moment, int *sum)
{
    int *gradient = &p->gradient[value];
    assert(written != ARENA_NO_SLOT && p->shares[value] < p->list->readers[value]);
    const bool last = ++p->shares[value] == p->list->readers[value];
    if (*gradient == ARENA_NO_SLOT) {
        *gradient = written;
    } else if (last && maker_of(p, value)->kind == UNIT_NORM) {
        p->plan->unit[p->list->maker[value]].share = written;
    } else {
        *sum = *gradient;
        touch(p, *sum, moment);
    }
}

static void plan_share(planning *p, int value, int moment, int *written, int *sum)
{
    *written = add_value(p, value, moment);
    join_gradient(p, value, *written, moment, sum);
}

static void plan_other(planning *p, const unit *u, int moment, unit_slots *s)
{
    if (u->other == UNIT_NO_VALUE || u->other == UNIT_INPUT_VALUE) {
        return;
    }
    if (u->kind == UNIT_NORM) {
        s->dother = s->dy;
        join_gradient(p, u->other, s->dother, moment, &s->dother_sum);
    } else {
        plan_share(p, u->other, moment, &s->dother, &s->dother_sum);
    }
}

static void plan_backward(planning *p, int index)
{
    const unit *u = &p->list->unit[index];
    unit_slots *s = &p->plan->unit[index];
    const int moment = 2 * p->list->units - 1 - index;
    s->dy = p->gradient[u->y];
    assert(s->dy != ARENA_NO_SLOT);
    touch(p, s->dy, moment);
    touch(p, s->share, moment);
    touch(p, s->index, moment);
    touch(p, s->wide_x, moment);
    if (reads_input_again(p, u)) {
        touch_again(p, u->x, moment);
    }
    if (u->kind == UNIT_GATE) {
        touch_again(p, u->other, moment);
    }
    if (reads_output_again(u)) {
        touch_again(p, u->y, moment);
    }
    plan_other(p, u, moment, s);
    if (s->wide_x != ARENA_NO_SLOT && u->x != UNIT_INPUT_VALUE) {
        s->wide_dx = add_slot(p, p->list->size[u->x], p->need->wide, moment);
    }
    if (u->x == UNIT_INPUT_VALUE) {
        s->dx = works_in_place(u) ? s->dy : u->kind == UNIT_NORM ? add_value(p, u->x, moment) : ARENA_NO_SLOT;
    } else if (!works_in_place(u)) {
        plan_share(p, u->x, moment, &s->dx, &s->dx_sum);
    } else {
        s->dx = s->dy;
        join_gradient(p, u->x, s->dx, moment, &s->dx_sum);
    }
}

/* ---- places ---- */

typedef struct placed {
    arena_slot *slot;
} placed;

static int by_size(const void *left, const void *right)
{
    const arena_slot *a = ((const placed *)left)->slot, *b = ((const placed *)right)->slot;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return (a > b) - (a < b);
}

static int by_offset(const void *left, const void *right)
{
    const arena_slot *a = ((const placed *)left)->slot, *b = ((const placed *)right)->slot;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* The lowest gap that takes the slot between those of `beside`, which stand at the same time. */
static int64_t lowest_gap(const arena_slot *slot, placed *beside, int count)
{
    int64_t end = 0;
    qsort(beside, (size_t)count, sizeof *beside, by_offset);
    for (int i = 0; i < count && beside[i].slot->offset < end + slot->bytes; ++i) {
        const int64_t behind = beside[i].slot->offset + beside[i].slot->bytes;
        end = behind > end ? behind : end;
    }
    return end;
}

/* order and beside: [slots]. */
static void place_slots(arena_plan *plan, placed *order, placed *beside)
{
    for (int i = 0; i < plan->slots; ++i) {
        order[i].slot = &plan->slot[i];
    }
    qsort(order, (size_t)plan->slots, sizeof *order, by_size);
    for (int i = 0; i < plan->slots; ++i) {
        arena_slot *slot = order[i].slot;
        int count = 0;
        for (int j = 0; j < i; ++j) {
            if (order[j].slot->first <= slot->last && slot->first <= order[j].slot->last) {
                beside[count++] = order[j];
            }
        }
        slot->offset = lowest_gap(slot, beside, count);
        assert(slot->offset % ALIGN_BYTES == 0 && slot->first <= slot->last);
        plan->bytes = slot->offset + slot->bytes > plan->bytes ? slot->offset + slot->bytes : plan->bytes;
    }
}

static weft_status place(arena_plan *plan)
{
    placed *order = NULL, *beside = NULL;
    weft_status status = WEFT_NEW(&order, plan->slots, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? WEFT_NEW(&beside, plan->slots, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        place_slots(plan, order, beside);
    }
    WEFT_FREE_ALL(order, beside);
    return status;
}

/* A narrow output is answered wide, and its gradient comes wide. An output that its unit reads again is answered by a
 * copy, because the gradient is written over what was answered. */
static void plan_logits(planning *p)
{
    const int output = p->list->output, end = p->list->units - 1;
    p->gradient[output] = p->plan->value[output];
    if (is_narrow(p, output) || reads_output_again(&p->list->unit[end])) {
        p->plan->logits = add_slot(p, p->list->size[output], p->need->wide, end);
        touch(p, p->plan->logits, end + 1);
        p->plan->dlogits = add_value(p, output, end + 1);
        p->gradient[output] = p->plan->dlogits;
    }
}

static weft_status make_plan(planning *p)
{
    const unit_list *list = p->list;
    arena_plan *plan = p->plan;
    WEFT_TRY(WEFT_NEW(&plan->slot, (int64_t)SLOTS_A_UNIT * list->units + SLOTS_BESIDE, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&plan->value, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&plan->unit, list->units, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&plan->again, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&p->gradient, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&p->shares, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&p->leaves, list->values, WEFT_MEM_GENERAL));
    for (int v = 0; v < list->values; ++v) {
        plan->value[v] = plan->again[v] = p->gradient[v] = ARENA_NO_SLOT;
    }
    for (int u = 0; u < list->units; ++u) {
        p->leaves[list->unit[u].y] = may_leave(p, u);
    }
    if (is_narrow(p, UNIT_INPUT_VALUE)) {
        plan->value[UNIT_INPUT_VALUE] = add_value(p, UNIT_INPUT_VALUE, 0);
    }
    for (int u = 0; u < list->units; ++u) {
        plan_forward(p, u);
    }
    plan_logits(p); /* the gradient of logits stands where they stood (train/model.h) */
    for (int u = list->units - 1; p->need->training && u >= 0; --u) {
        plan_backward(p, u);
    }
    WEFT_CHECK(p->wanted < WANTED_MAX, WEFT_ERR_RESOURCE,
               "values and gradients of %lld images would take %.3g bytes: take a smaller batch",
               (long long)p->need->images, p->wanted);
    return place(plan);
}

weft_status arena_plan_create(const unit_list *list, const arena_need *need, arena_plan *plan)
{
    planning p = {.list = list, .plan = plan, .need = need};
    *plan = (arena_plan){.logits = ARENA_NO_SLOT, .dlogits = ARENA_NO_SLOT};
    weft_status status = make_plan(&p);
    WEFT_FREE_ALL(p.gradient, p.shares, p.leaves);
    return status;
}

void arena_plan_destroy(arena_plan *plan)
{
    WEFT_FREE_ALL(plan->slot, plan->value, plan->again, plan->unit);
    memset(plan, 0, sizeof *plan);
}
