/* gnn/halo/delayed_halo.c: see gnn/halo/delayed_halo.h. */
#include "gnn/halo/delayed_halo.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/grow.h"
#include "base/log.h"
#include "comm/halo_options.def"

/* ---- the exchanges of bins --------------------------------------------------------------------------------------- */

static weft_status exchanges_create(const delayed_halo *h, int64_t max_width, bin_exchanges *exchanges)
{
    weft_status status = WEFT_NEW_ZERO(&exchanges->of_bin, h->bins.count, WEFT_MEM_COMM);
    status = status == WEFT_OK
                 ? tensor_create(h->hal, h->dtype, h->bins.largest, max_width, WEFT_MEM_COMM, &exchanges->packed)
                 : status;
    WEFT_TRY(comm_agree(h->comm, status));
    for (int b = 0; b < h->bins.count; ++b) {
        WEFT_TRY(comm_halo_create(h->comm, h->hal, &h->bins.bin[b].lists, max_width, &exchanges->of_bin[b].halo));
    }
    return WEFT_OK;
}

static void exchanges_destroy(const delayed_halo *h, bin_exchanges *exchanges)
{
    for (int b = 0; exchanges->of_bin != NULL && b < h->bins.count; ++b) {
        comm_halo_destroy(exchanges->of_bin[b].halo); /* messages under way read and write what follows */
    }
    weft_free(exchanges->of_bin);
    tensor_destroy(&exchanges->packed);
}

static const bin_exchanges *exchanges_of(const delayed_halo *h, const delayed_leg *leg)
{
    return h->hidden ? &leg->exchanges : &h->exchanges;
}

static bool sends_own(const delayed_leg *leg)
{
    return leg->direction == HALO_FORWARD;
}

/* One side of a bin, in the packed matrix. */
static weft_tensor packed_side(const delayed_halo *h, const delayed_leg *leg, int b, bool own)
{
    const halo_bin *bin = &h->bins.bin[b];
    const weft_tensor packed = tensor_reshape(&exchanges_of(h, leg)->packed, bin->own + bin->leaf, leg->rows.cols);
    return own ? tensor_view(&packed, 0, bin->own, 0, packed.cols)
               : tensor_view(&packed, bin->own, bin->leaf, 0, packed.cols);
}

static weft_status post_bin(delayed_halo *h, int b)
{
    delayed_leg *leg = h->now;
    const bin_exchanges *exchanges = exchanges_of(h, leg);
    assert(b >= 0 && b < h->bins.count && leg->under_way < 0);
    const halo_bin *bin = &h->bins.bin[b];
    const weft_tensor packed = packed_side(h, leg, b, sends_own(leg));
    const int32_t *rows = sends_own(leg) ? h->bins.own_row + bin->first_own : h->bins.leaf_row + bin->first_leaf;
    const hal_gather_rows_args args = {
        .x = tensor_mat(&h->x), .index = hal_column_from(rows, WEFT_DTYPE_I32, packed.rows), .y = tensor_mat(&packed)};
    WEFT_TRY(packed.rows > 0 ? hal_gather_rows(h->hal, &args) : WEFT_OK);
    leg->under_way = b;
    return comm_halo_post_coded(exchanges->of_bin[b].halo, leg->direction, &h->code, h->dtype, exchanges->packed.data,
                                packed.cols, packed.cols);
}

/* What is under way goes to the rows kept. */
static weft_status take_bin(delayed_halo *h, delayed_leg *leg)
{
    const int b = leg->under_way;
    if (b < 0) {
        return WEFT_OK;
    }
    assert(b < h->bins.count);
    const halo_bin *bin = &h->bins.bin[b];
    const bool to_own = !sends_own(leg);
    weft_tensor received = packed_side(h, leg, b, to_own);
    WEFT_TRY(to_own ? tensor_zero(&received) : WEFT_OK);
    WEFT_TRY(comm_halo_wait(exchanges_of(h, leg)->of_bin[b].halo));
    leg->under_way = -1;
    weft_tensor kept =
        tensor_view(&leg->rows, to_own ? bin->first_own : bin->first_leaf, received.rows, 0, received.cols);
    return received.rows > 0 ? tensor_axpby(1.0, &received, 0.0, &kept) : WEFT_OK;
}

/* Rows of all bins, from this epoch and earlier ones, to x. */
static weft_status use_rows(delayed_halo *h)
{
    const delayed_leg *leg = h->now;
    assert(leg != NULL); /* posted in this pass */
    const int32_t *rows = sends_own(leg) ? h->bins.leaf_row : h->bins.own_row;
    const hal_scatter_rows_args args = {.x = tensor_mat(&leg->rows),
                                        .index = hal_column_from(rows, WEFT_DTYPE_I32, leg->rows.rows),
                                        .y = tensor_mat(&h->x),
                                        .mode = sends_own(leg) ? HAL_SCATTER_REPLACE : HAL_SCATTER_ADD};
    return leg->rows.rows > 0 ? hal_scatter_rows(h->hal, &args) : WEFT_OK;
}

/* ---- legs -------------------------------------------------------------------------------------------------------- */

weft_status delayed_halo_foresee(delayed_halo *halo, halo_direction direction, int64_t width)
{
    delayed_halo *h = halo;
    const int64_t rows = direction == HALO_FORWARD ? h->bins.leaf : h->bins.own;
    weft_status status = grow_array((void **)&h->leg, sizeof *h->leg, h->legs, &h->capacity, WEFT_MEM_COMM);
    if (status == WEFT_OK) {
        h->leg[h->legs] = (delayed_leg){.direction = direction, .under_way = -1};
        status = tensor_create(h->hal, h->dtype, rows, width, WEFT_MEM_COMM, &h->leg[h->legs].rows);
        h->legs += 1;
    }
    WEFT_TRY(comm_agree(h->comm, status));
    return h->hidden ? exchanges_create(h, width, &h->leg[h->legs - 1].exchanges) : WEFT_OK;
}

weft_status delayed_halo_post(delayed_halo *halo, halo_direction direction, const comm_halo_code *code, weft_tensor *x)
{
    const int number = halo->posts++;
    WEFT_CHECK(number < halo->legs, WEFT_ERR_INTERNAL, "a pass posts more than the %d legs that were foreseen",
               halo->legs);
    delayed_leg *leg = &halo->leg[number];
    WEFT_CHECK(leg->direction == direction && leg->rows.cols == x->cols, WEFT_ERR_INTERNAL,
               "post %d of a pass has rows of %lld elements, foreseen were %lld", number, (long long)x->cols,
               (long long)leg->rows.cols);
    halo->now = leg;
    halo->x = *x;
    halo->code = *code;
    WEFT_TRY(take_bin(halo, leg)); /* hidden: of the epoch before */
    return post_bin(halo, halo->refresh ? 0 : (int)(halo->epoch % halo->turns));
}

weft_status delayed_halo_wait(delayed_halo *halo)
{
    const int step = halo->refresh ? 1 : halo->turns;
    if (halo->hidden && !halo->refresh) {
        return use_rows(halo);
    }
    for (int b = halo->now->under_way + step; b < halo->bins.count; b += step) {
        WEFT_TRY(take_bin(halo, halo->now));
        WEFT_TRY(post_bin(halo, b));
    }
    WEFT_TRY(take_bin(halo, halo->now));
    return use_rows(halo);
}

bool delayed_halo_arrived(const delayed_halo *halo)
{
    const delayed_leg *leg = halo->now;
    return (halo->hidden && !halo->refresh) || comm_halo_arrived(exchanges_of(halo, leg)->of_bin[leg->under_way].halo);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

weft_status delayed_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                const part_halo *lists, int bins, bool hidden, int64_t max_width, delayed_halo *halo)
{
    *halo = (delayed_halo){.comm = comm, .hal = hal, .dtype = dtype, .hidden = hidden, .turns = bins, .previous = -1};
    WEFT_TRY(comm_agree(comm, halo_bins_create(hal, part, lists, bins, &halo->bins)));
    return hidden ? WEFT_OK : exchanges_create(halo, max_width, &halo->exchanges);
}

weft_status delayed_halo_settle(delayed_halo *halo)
{
    for (int i = 0; i < halo->legs; ++i) {
        WEFT_TRY(take_bin(halo, &halo->leg[i]));
    }
    return WEFT_OK;
}

weft_status delayed_halo_tune(delayed_halo *halo, int turns)
{
    assert(turns >= 0 && turns <= halo->bins.count && (!halo->hidden || turns == 0 || turns == halo->bins.count));
    WEFT_TRY(delayed_halo_settle(halo));
    halo->turns = turns;
    halo->previous = -1;
    return WEFT_OK;
}

weft_status delayed_halo_begin(delayed_halo *halo, int64_t epoch)
{
    assert(halo->turns > 0);
    halo->refresh = halo->previous < 0 || epoch != halo->previous + 1;
    halo->filled = halo->refresh ? epoch : halo->filled;
    halo->epoch = halo->previous = epoch;
    halo->posts = 0;
    return halo->refresh ? delayed_halo_settle(halo) : WEFT_OK;
}

int64_t delayed_halo_staleness(const delayed_halo *halo)
{
    const int64_t since = halo->epoch - halo->filled;
    const int64_t most = halo->turns - (halo->hidden ? 0 : 1);
    return since > most ? most : since;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static delayed_facts facts_of(const delayed_halo *h)
{
    delayed_facts facts = {.bins = h->bins.count,
                           .hidden = h->hidden,
                           .turns = h->turns,
                           .previous = h->previous,
                           .filled = h->filled,
                           .rows = 1};
    for (int64_t i = 0; i < h->bins.own + h->bins.leaf; ++i) { /* by bin */
        facts.rows = (facts.rows ^ (uint64_t)h->bins.packed_gid[i]) * 0x9e3779b97f4a7c15u;
        facts.rows ^= facts.rows >> 29;
    }
    return facts;
}

int delayed_halo_buffers(const delayed_halo *halo)
{
    return 1 + halo->legs;
}

weft_status delayed_halo_state(delayed_halo *halo, const char *name, sync_buffer *buffer)
{
    assert(halo->posts == 0 || halo->posts == halo->legs); /* what was foreseen is what a pass did */
    WEFT_TRY(delayed_halo_settle(halo));
    halo->facts = facts_of(halo);
    buffer[0] = (sync_buffer){.data = &halo->facts, .bytes = sizeof halo->facts};
    snprintf(buffer[0].name, sizeof buffer[0].name, "%s.facts", name);
    for (int i = 0; i < halo->legs; ++i) {
        delayed_leg *leg = &halo->leg[i];
        const size_t bytes = (size_t)(leg->rows.rows * leg->rows.cols) * weft_dtype_bytes(halo->dtype);
        WEFT_TRY(leg->host == NULL ? weft_malloc(bytes, 1, WEFT_MEM_COMM, &leg->host) : WEFT_OK);
        WEFT_TRY(bytes > 0 ? tensor_download(&leg->rows, leg->host) : WEFT_OK);
        buffer[1 + i] = (sync_buffer){.data = leg->host, .bytes = (int64_t)bytes};
        snprintf(buffer[1 + i].name, sizeof buffer[1 + i].name, "%s.leg%d", name, i);
    }
    return WEFT_OK;
}

/* Zeros: a checkpoint of other options, which has no such buffer. */
static bool has_facts(const delayed_facts *facts)
{
    return facts->bins != 0 || facts->hidden != 0 || facts->previous != 0 || facts->filled != 0 || facts->rows != 0;
}

static weft_status check_facts(const delayed_facts *facts)
{
    const bool options = facts->bins >= 1 && facts->bins <= INT32_MAX && (facts->hidden == 0 || facts->hidden == 1) &&
                         facts->turns >= 0 && facts->turns <= facts->bins &&
                         (facts->turns == 0 || facts->turns == facts->bins || (facts->turns > 1 && facts->hidden == 0));
    const bool epochs = facts->previous < 0
                            ? facts->previous == -1
                            : facts->filled >= 0 && facts->filled <= facts->previous && facts->previous <= UINT32_MAX;
    WEFT_CHECK(!has_facts(facts) || (options && epochs), WEFT_ERR_DATA,
               "damaged: rows of a halo in %lld bins (hidden: %lld) of a delay of %lld, all of epoch %lld, the last of "
               "epoch %lld",
               (long long)facts->bins, (long long)facts->hidden, (long long)facts->turns, (long long)facts->filled,
               (long long)facts->previous);
    return WEFT_OK;
}

/* All ranks exchanged rows in the same epochs, with the same delay. */
static weft_status check_alike(const delayed_halo *h)
{
    const delayed_facts *facts = &h->facts;
    int64_t bounds[6] = {facts->previous, facts->filled, facts->turns, ~facts->previous, ~facts->filled, ~facts->turns};
    WEFT_TRY(comm_allreduce(h->comm, bounds, 6, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_CHECK(bounds[0] == ~bounds[3] && bounds[1] == ~bounds[4] && bounds[2] == ~bounds[5], WEFT_ERR_DATA,
               "damaged: the ranks' files do not agree on the epochs of a halo's rows, %lld to %lld, or on its delay, "
               "%lld to %lld",
               (long long)~bounds[3], (long long)bounds[0], (long long)~bounds[5], (long long)bounds[2]);
    return WEFT_OK;
}

weft_status delayed_halo_restored(delayed_halo *halo)
{
    const delayed_facts now = facts_of(halo), *then = &halo->facts;
    halo->previous = -1;
    WEFT_TRY(comm_agree(halo->comm, check_facts(then)));
    WEFT_TRY(check_alike(halo));
    int32_t same = then->bins == now.bins && then->hidden == now.hidden && then->rows == now.rows;
    WEFT_TRY(comm_allreduce(halo->comm, &same, 1, WEFT_DTYPE_I32, COMM_MIN));
    for (int i = 0; same && i < halo->legs; ++i) {
        delayed_leg *leg = &halo->leg[i];
        WEFT_TRY(leg->rows.rows > 0 ? tensor_upload(&leg->rows, leg->host) : WEFT_OK);
    }
    if (same && then->turns != halo->turns) {
        log_info("the halo goes on with " FLAG_DELAY " %lld, to which it was tuned", (long long)then->turns);
        halo->turns = (int)then->turns;
    }
    halo->previous = same ? then->previous : -1;
    halo->filled = then->filled;
    return WEFT_OK;
}

void delayed_halo_destroy(delayed_halo *halo)
{
    exchanges_destroy(halo, &halo->exchanges);
    for (int i = 0; i < halo->legs; ++i) {
        exchanges_destroy(halo, &halo->leg[i].exchanges);
        tensor_destroy(&halo->leg[i].rows);
        weft_free(halo->leg[i].host);
    }
    weft_free(halo->leg);
    halo_bins_destroy(&halo->bins);
    *halo = (delayed_halo){.hal = NULL};
}
