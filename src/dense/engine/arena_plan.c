/* dense/engine/arena_plan.c: see dense/engine/arena_plan.h. */
#include "dense/engine/arena_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Sums of sizes stay exact below it; nothing that has so much memory exists. */
#define WANTED_MAX 0x1p60

enum { SLOTS_A_UNIT = 6, SLOTS_BESIDE = 3, ALIGN_BYTES = 64 };

typedef struct planning {
    const unit_list *list;
    arena_plan *plan;
    int *gradient; /* [values] the slot of its gradient, once somebody wrote there */
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
    *s = (unit_slots){ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT,
                      ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT, ARENA_NO_SLOT};
    touch_value(p, u->x, index);
    touch_value(p, u->other, index);
    p->plan->value[u->y] = add_value(p, u->y, index);
    if (u->kind == UNIT_LINEAR && is_narrow(p, u->x)) {
        s->wide_x = add_slot(p, p->list->size[u->x], p->need->wide, index);
    }
    if (p->need->training && u->kind == UNIT_POOL && u->layer->kind == NET_MAXPOOL) {
        s->index = add_slot(p, p->list->size[u->y], 1, index);
    }
}

static bool reads_input_again(const unit *u)
{
    return u->kind == UNIT_CONV || u->kind == UNIT_LINEAR || u->kind == UNIT_NORM;
}

static bool works_in_place(const unit *u)
{
    return u->kind == UNIT_NORM || u->kind == UNIT_ACT || u->kind == UNIT_ADD || u->kind == UNIT_SCALE;
}

/* The gradient of `value` gets a share that is written to a slot of its own: that is it, or it is added. */
static void plan_share(planning *p, int value, int moment, int *written, int *sum)
{
    int *gradient = &p->gradient[value];
    *written = add_value(p, value, moment);
    if (*gradient == ARENA_NO_SLOT) {
        *gradient = *written;
    } else {
        *sum = *gradient;
        touch(p, *sum, moment);
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
    touch(p, s->index, moment);
    touch(p, s->wide_x, moment);
    if (reads_input_again(u)) {
        touch_value(p, u->x, moment);
    }
    if (u->relu) {
        touch_value(p, u->y, moment);
    }
    if (u->other != UNIT_NO_VALUE && u->other != UNIT_INPUT_VALUE) {
        plan_share(p, u->other, moment, &s->dother, &s->dother_sum);
    }
    if (s->wide_x != ARENA_NO_SLOT && u->x != UNIT_INPUT_VALUE) {
        s->wide_dx = add_slot(p, p->list->size[u->x], p->need->wide, moment);
    }
    if (u->x == UNIT_INPUT_VALUE) {
        s->dx = works_in_place(u) ? s->dy : ARENA_NO_SLOT;
    } else if (!works_in_place(u)) {
        plan_share(p, u->x, moment, &s->dx, &s->dx_sum);
    } else {
        s->dx = s->dy;
        if (p->gradient[u->x] == ARENA_NO_SLOT) {
            p->gradient[u->x] = s->dy;
        } else {
            s->dx_sum = p->gradient[u->x];
            touch(p, s->dx_sum, moment);
        }
    }
}

/* ---- places ---- */

/* A slot on its way to a place. */
typedef struct placed {
    arena_slot *slot;
} placed;

static int by_size(const void *left, const void *right)
{
    const arena_slot *a = ((const placed *)left)->slot;
    const arena_slot *b = ((const placed *)right)->slot;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return (a > b) - (a < b);
}

static int by_offset(const void *left, const void *right)
{
    const arena_slot *a = ((const placed *)left)->slot;
    const arena_slot *b = ((const placed *)right)->slot;
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
        plan->bytes = slot->offset + slot->bytes > plan->bytes ? slot->offset + slot->bytes : plan->bytes;
    }
}

static weft_status place(arena_plan *plan)
{
    placed *order = NULL;
    placed *beside = NULL;
    weft_status status = WEFT_NEW(&order, plan->slots, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? WEFT_NEW(&beside, plan->slots, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        place_slots(plan, order, beside);
    }
    weft_free(order);
    weft_free(beside);
    return status;
}

/* A narrow output is answered wide, and its gradient comes wide. */
static void plan_logits(planning *p)
{
    const int output = p->list->output;
    const int end = p->list->units - 1;
    p->gradient[output] = p->plan->value[output];
    if (is_narrow(p, output)) {
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
    WEFT_TRY(WEFT_NEW(&p->gradient, list->values, WEFT_MEM_GENERAL));
    for (int v = 0; v < list->values; ++v) {
        plan->value[v] = ARENA_NO_SLOT;
        p->gradient[v] = ARENA_NO_SLOT;
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
    weft_free(p.gradient);
    return status;
}

void arena_plan_destroy(arena_plan *plan)
{
    weft_free(plan->slot);
    weft_free(plan->value);
    weft_free(plan->unit);
    memset(plan, 0, sizeof *plan);
}
