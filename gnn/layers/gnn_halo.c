/* gnn/layers/gnn_halo.c: see gnn/layers/gnn_halo.h. */
#include "gnn/layers/gnn_halo.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "gnn/layers/delayed_halo.h"

/* How a leg's rows cross. */
typedef enum halo_way {
    WAY_NOTHING, /* not at all */
    WAY_WHOLE,   /* all of them */
    WAY_DELAYED,
} halo_way;

struct gnn_halo {
    weft_hal *hal;
    int64_t n_owned;
    gnn_halo_options options;
    bool second;          /* of two halos of one aggregation */
    comm_halo *whole;     /* exchanges in the caller's matrix */
    delayed_halo delayed; /* where options ask for it */
    gnn_halo_pass pass;
    int posts; /* of this pass */
    /* the leg between post and wait */
    bool posted;
    halo_way way;
};

static bool delays(const gnn_halo_options *options)
{
    return options->delay > 1 || options->hidden;
}

weft_status gnn_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                            const part_halo *lists, int64_t max_width, const gnn_halo_options *options, gnn_halo **halo)
{
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(halo, 1, WEFT_MEM_GRAPH)));
    gnn_halo *h = *halo;
    *h = (gnn_halo){.hal = hal, .n_owned = part->n_owned, .options = *options};
    h->second = lists == &part->destinations;
    const comm_halo_desc desc = gnn_halo_desc(part, lists);
    WEFT_TRY(comm_halo_create(comm, hal, &desc, max_width, &h->whole));
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
    return pass->training ? delayed_halo_begin(&halo->delayed, pass->epoch) : delayed_halo_settle(&halo->delayed);
}

int64_t gnn_halo_staleness(const gnn_halo *halo)
{
    return halo->pass.training && delays(&halo->options) ? delayed_halo_staleness(&halo->delayed) : 0;
}

/* ---- one leg ---------------------------------------------------------------------------------------------------- */

static halo_way way_of(const gnn_halo *halo, bool backward)
{
    const gnn_halo_options *o = &halo->options;
    if (!halo->pass.training) {
        return WAY_WHOLE;
    }
    return o->none ? WAY_NOTHING : delays(o) && !(backward && o->fresh_gradients) ? WAY_DELAYED : WAY_WHOLE;
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

/* The legs of a pass have purposes of their own, as many as there are. */
static comm_halo_code code_of(const gnn_halo *halo, int number)
{
    const uint32_t purposes = WEFT_RNG_DROPOUT - WEFT_RNG_HALO_ROUND;
    const uint32_t leg = 2 * (uint32_t)number + (halo->second ? 1 : 0);
    return (comm_halo_code){.codec = halo->pass.training ? halo->options.codec : HAL_ROWS_NONE,
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
    WEFT_CHECK(direction != HALO_REVERSE_MAX || halo->way == WAY_WHOLE, WEFT_ERR_UNSUPPORTED,
               "a maximum over replicas needs all of them in every epoch");
    switch (halo->way) {
    case WAY_NOTHING:
        return direction == HALO_FORWARD ? clear_replicas(halo, x) : WEFT_OK;
    case WAY_WHOLE:
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
    case WAY_WHOLE:
        return comm_halo_wait(halo->whole);
    default:
        return delayed_halo_wait(&halo->delayed);
    }
}

bool gnn_halo_arrived(const gnn_halo *halo)
{
    return !halo->posted || halo->way == WAY_NOTHING ||
           (halo->way == WAY_WHOLE ? comm_halo_arrived(halo->whole) : delayed_halo_arrived(&halo->delayed));
}

void gnn_halo_destroy(gnn_halo *halo)
{
    if (halo == NULL) {
        return;
    }
    comm_halo_destroy(halo->whole);
    delayed_halo_destroy(&halo->delayed);
    weft_free(halo);
}
