/* gnn/halo/gnn_halo.c: see gnn/halo/gnn_halo.h. */
#include "gnn/halo/gnn_halo.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "comm/halo_options.def"
#include "gnn/halo/delayed_halo.h"
#include "gnn/halo/halo_draw.h"

typedef enum halo_way {
    WAY_NOTHING, /* not at all */
    WAY_WHOLE,   /* all of them */
    WAY_DRAWN,   /* a random part of them */
    WAY_DELAYED,
} halo_way;

struct gnn_halo {
    weft_comm *comm;
    weft_hal *hal;
    int64_t n_owned;
    gnn_halo_options options;
    bool second;          /* of two halos of one aggregation */
    comm_halo *whole;     /* exchanges in the caller's matrix */
    delayed_halo delayed; /* where options ask for it */
    halo_draw draw;       /* the same */
    int chosen;           /* rows of `whole`: CHOSE_ALL, or those drawn for sources (0) or destinations (1) */
    int64_t chosen_epoch; /* of the draw */
    gnn_halo_pass pass;
    int posts; /* of this pass */
    /* the leg between post and wait */
    bool posted;
    halo_way way;
    halo_direction direction;
    weft_tensor x;
};

enum { CHOSE_ALL = -1 };

static bool draws(const gnn_halo_options *options)
{
    return options->sample > 0.0 && options->sample < 1.0;
}

static bool delays(const gnn_halo_options *options)
{
    return !options->none && (options->delay > 1 || options->hidden);
}

weft_status gnn_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                            const part_halo *lists, bool second, int64_t max_width, const gnn_halo_options *options,
                            gnn_halo **halo)
{
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(halo, 1, WEFT_MEM_GRAPH)));
    gnn_halo *h = *halo;
    *h = (gnn_halo){
        .comm = comm, .hal = hal, .n_owned = part->n_owned, .options = *options, .second = second, .chosen = CHOSE_ALL};
    const comm_halo_desc desc = gnn_halo_desc(part, lists);
    WEFT_TRY(comm_halo_create(comm, hal, &desc, max_width, &h->whole));
    WEFT_TRY(draws(options) ? comm_agree(comm, halo_draw_create(part, lists, &h->draw)) : WEFT_OK);
    return delays(options) ? delayed_halo_create(comm, hal, dtype, part, lists, options->delay > 1 ? options->delay : 1,
                                                 options->hidden, max_width, &h->delayed)
                           : WEFT_OK;
}

weft_status gnn_halo_begin(gnn_halo *halo, const gnn_halo_pass *pass)
{
    assert(!halo->posted);
    halo->pass = *pass;
    halo->posts = 0;
    if (!delays(&halo->options)) {
        return WEFT_OK;
    }
    return pass->training && halo->delayed.turns > 0 ? delayed_halo_begin(&halo->delayed, pass->epoch)
                                                     : delayed_halo_settle(&halo->delayed);
}

int64_t gnn_halo_staleness(const gnn_halo *halo)
{
    return halo->pass.training && halo->delayed.turns > 0 ? delayed_halo_staleness(&halo->delayed) : 0;
}

/* ---- the delay --------------------------------------------------------------------------------------------------- */

/* Delay 1 of rows that are not hidden is exact. */
static int turns_of(const gnn_halo *halo, int delay)
{
    return delay == 1 && !halo->options.hidden ? 0 : delay;
}

static weft_status check_delay(const gnn_halo *halo, int delay)
{
    const int most = halo->delayed.bins.count;
    const int turns = turns_of(halo, delay);
    char range[64];
    if (turns == 0 || turns == most || (turns > 1 && turns < most && !halo->options.hidden)) {
        return WEFT_OK;
    }
    if (halo->options.hidden && most > 0) {
        snprintf(range, sizeof range, "0, or %d with " FLAG_HALO_OVERLAP " epoch", most);
    } else {
        snprintf(range, sizeof range, "a whole number from 0 to %d", most > 0 ? most : 1);
    }
    return weft_fail(WEFT_ERR_USAGE, FLAG_DELAY " %d: expected %s, for which the halo was made", delay, range);
}

weft_status gnn_halo_tune(gnn_halo *halo, int delay)
{
    int64_t bounds[2] = {delay, -(int64_t)delay};
    assert(!halo->posted);
    WEFT_TRY(comm_agree(halo->comm, check_delay(halo, delay)));
    WEFT_TRY(comm_allreduce(halo->comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_CHECK(bounds[0] == -bounds[1], WEFT_ERR_INTERNAL, FLAG_DELAY " %lld on one rank, %lld on another",
               (long long)-bounds[1], (long long)bounds[0]);
    return delays(&halo->options) ? delayed_halo_tune(&halo->delayed, turns_of(halo, delay)) : WEFT_OK;
}

int gnn_halo_delay(const gnn_halo *halo)
{
    return delays(&halo->options) ? halo->delayed.turns : 0;
}

/* ---- one leg ---------------------------------------------------------------------------------------------------- */

static bool delays_leg(const gnn_halo_options *options, bool backward)
{
    return delays(options) && !(backward && options->fresh_gradients);
}

weft_status gnn_halo_foresee(gnn_halo *halo, halo_direction direction, bool backward, int64_t width)
{
    return delays_leg(&halo->options, backward) ? delayed_halo_foresee(&halo->delayed, direction, width) : WEFT_OK;
}

int gnn_halo_buffers(const gnn_halo *halo)
{
    return delays(&halo->options) ? delayed_halo_buffers(&halo->delayed) : 0;
}

weft_status gnn_halo_state(gnn_halo *halo, const char *name, sync_buffer *buffer)
{
    return delayed_halo_state(&halo->delayed, name, buffer);
}

weft_status gnn_halo_restored(gnn_halo *halo)
{
    return delayed_halo_restored(&halo->delayed);
}

static halo_way way_of(const gnn_halo *halo, bool backward)
{
    const gnn_halo_options *o = &halo->options;
    if (!halo->pass.training) {
        return WAY_WHOLE;
    }
    const bool delayed = delays_leg(o, backward) && halo->delayed.turns > 0;
    return o->none ? WAY_NOTHING : delayed ? WAY_DELAYED : draws(o) ? WAY_DRAWN : WAY_WHOLE;
}

static weft_tensor replicas_of(const gnn_halo *halo, const weft_tensor *x)
{
    return tensor_view(x, halo->n_owned, x->rows - halo->n_owned, 0, x->cols);
}

static weft_status clear_replicas(const gnn_halo *halo, const weft_tensor *x)
{
    weft_tensor replicas = replicas_of(halo, x);
    return replicas.rows > 0 ? tensor_zero(&replicas) : WEFT_OK;
}

/* What a leg draws depends on what its vertices are in the forward sum, so that backward is the transpose of it. */
static weft_status choose_rows(gnn_halo *halo, halo_direction direction, bool backward)
{
    const int side = halo->way != WAY_DRAWN ? CHOSE_ALL : (direction == HALO_FORWARD) == backward;
    if (side == halo->chosen && (side == CHOSE_ALL || halo->chosen_epoch == halo->pass.epoch)) {
        return WEFT_OK;
    }
    const halo_draw_key key = {.seed = halo->pass.seed, .epoch = (uint32_t)halo->pass.epoch, .destinations = side == 1};
    const comm_halo_desc rows =
        side == CHOSE_ALL ? halo_draw_all(&halo->draw) : halo_draw_some(&halo->draw, halo->options.sample, &key);
    halo->chosen = side;
    halo->chosen_epoch = halo->pass.epoch;
    return comm_halo_choose(halo->whole, &rows);
}

/* Each row drawn stands for 1 / P of them. */
static weft_status weigh_replicas(const gnn_halo *halo)
{
    weft_tensor replicas = replicas_of(halo, &halo->x);
    return replicas.rows > 0 ? tensor_axpby(0.0, &replicas, 1.0 / halo->options.sample, &replicas) : WEFT_OK;
}

static weft_status post_drawn(gnn_halo *halo, const comm_halo_code *code)
{
    const weft_tensor *x = &halo->x;
    WEFT_TRY(halo->direction == HALO_FORWARD ? clear_replicas(halo, x) : weigh_replicas(halo));
    return comm_halo_post_coded(halo->whole, halo->direction, code, x->dtype, x->data, x->ld, x->cols);
}

static weft_status wait_drawn(gnn_halo *halo)
{
    WEFT_TRY(comm_halo_wait(halo->whole));
    return halo->direction == HALO_FORWARD ? weigh_replicas(halo) : WEFT_OK;
}

/* The legs of a pass have purposes of their own, as many as there are. */
static comm_halo_code code_of(const gnn_halo *halo, int number)
{
    const uint32_t purposes = WEFT_RNG_DROPOUT - WEFT_RNG_HALO_ROUND;
    const uint32_t leg = 2 * (uint32_t)number + (halo->second ? 1 : 0);
    const bool codes = halo->pass.training;
    return (comm_halo_code){.codec = codes ? halo->options.codec : HAL_ROWS_NONE,
                            .mean_bits = codes ? halo->options.mean_bits : 0.0,
                            .rounding = {.seed = halo->pass.seed,
                                         .purpose = WEFT_RNG_HALO_ROUND + leg % purposes,
                                         .epoch = (uint32_t)halo->pass.epoch}};
}

weft_status gnn_halo_post(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x)
{
    assert(!halo->posted);
    const comm_halo_code code = code_of(halo, halo->posts++);
    halo->posted = true;
    halo->way = way_of(halo, backward);
    halo->direction = direction;
    halo->x = *x;
    WEFT_CHECK(direction != HALO_REVERSE_MAX || halo->way == WAY_WHOLE, WEFT_ERR_UNSUPPORTED,
               "a maximum over replicas needs all of them in every epoch");
    switch (halo->way) {
    case WAY_NOTHING:
        return direction == HALO_FORWARD ? clear_replicas(halo, x) : WEFT_OK;
    case WAY_DRAWN:
        WEFT_TRY(choose_rows(halo, direction, backward));
        return post_drawn(halo, &code);
    case WAY_WHOLE:
        WEFT_TRY(choose_rows(halo, direction, backward));
        return comm_halo_post_coded(halo->whole, direction, &code, x->dtype, x->data, x->ld, x->cols);
    default:
        return delayed_halo_post(&halo->delayed, direction, &code, x);
    }
}

weft_status gnn_halo_wait(gnn_halo *halo)
{
    assert(halo->posted);
    halo->posted = false;
    switch (halo->way) {
    case WAY_NOTHING:
        return WEFT_OK;
    case WAY_DRAWN:
        return wait_drawn(halo);
    case WAY_WHOLE:
        return comm_halo_wait(halo->whole);
    default:
        return delayed_halo_wait(&halo->delayed);
    }
}

bool gnn_halo_arrived(const gnn_halo *halo)
{
    return !halo->posted || halo->way == WAY_NOTHING ||
           (halo->way == WAY_DELAYED ? delayed_halo_arrived(&halo->delayed) : comm_halo_arrived(halo->whole));
}

void gnn_halo_destroy(gnn_halo *halo)
{
    if (halo == NULL) {
        return;
    }
    comm_halo_destroy(halo->whole);
    delayed_halo_destroy(&halo->delayed);
    halo_draw_destroy(&halo->draw);
    weft_free(halo);
}
