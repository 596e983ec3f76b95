/*
 * train/second/second_exchange.c: messages of a second-order method, all of them planned when it is created and on a
 * lane of their own below that of gradients.
 *
 *      sums         packed triangles of all layers in buckets, which are posted while the backward pass goes on to the
 *                   layers before them; summed in the order of the ranks, so that bits do not depend on the buckets
 *      inverses     from the rank that inverts a side to the ranks that turn the layer, while the next are inverted
 *      directions   from the ranks that turn a layer to the others, while the next layers are turned
 *
 * A rank posts what it receives too, in the same order as the sender, and after a failure of its own it still posts and
 * waits, because the others do.
 */
#include "train/second/second_internal.h"

#include <assert.h>

#include "base/alloc.h"

/* Elements of a bucket, unless a single factor has more: 1 MiB of float32. */
enum { BUCKET = 1 << 18 };

static bool host_sees(const train_second *s)
{
    return hal_host_visible(s->hal);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Side i of the backward order; NULL: it has no sums. */
static const second_side *side_at(const train_second *s, int i)
{
    const second_side *side = &s->layer[i / SECOND_SIDES].side[i % SECOND_SIDES];
    return side->sums.data != NULL ? side : NULL;
}

/* Cuts `sums`, whose sides lie in the order of the backward pass, at borders of sides. */
static weft_status cut_buckets(train_second *s)
{
    WEFT_TRY(WEFT_NEW_ZERO(&s->bucket, SECOND_SIDES * s->layers, WEFT_MEM_SECOND));
    int64_t at = 0;
    second_bucket *last = s->bucket;
    for (int i = SECOND_SIDES * s->layers - 1; i >= 0; --i) {
        const second_side *side = side_at(s, i);
        if (side == NULL) {
            continue;
        }
        if (s->buckets == 0 || last->constant != side->constant || last->count + side->sums.cols > BUCKET) {
            last = &s->bucket[s->buckets++];
            *last = (second_bucket){.at = at, .constant = side->constant};
        }
        last->count += side->sums.cols;
        last->layer = i / SECOND_SIDES;
        at += side->sums.cols;
    }
    assert(at == s->sums.cols);
    return WEFT_OK;
}

static weft_status plan_sums(train_second *s)
{
    for (int b = 0; b < s->buckets && s->ranks > 1; ++b) {
        second_bucket *bucket = &s->bucket[b];
        const size_t element = weft_dtype_bytes(s->params->dtype);
        const comm_allreduce_desc desc = {.lane = COMM_LANE_FACTORS,
                                          .algorithm = COMM_ALGO_FIXED_ORDER,
                                          .dtype = s->params->dtype,
                                          .op = COMM_SUM,
                                          .count = bucket->count,
                                          .buffer = (unsigned char *)s->sums_host + (size_t)bucket->at * element,
                                          .name = "factors"};
        WEFT_TRY(comm_allreduce_plan(s->comm, &desc, &bucket->plan));
    }
    return WEFT_OK;
}

static weft_status plan_parcel(const train_second *s, weft_comm *comm, int root, const weft_tensor *t, const char *name,
                               second_parcel *parcel)
{
    const comm_bcast_desc desc = {.lane = COMM_LANE_FACTORS,
                                  .dtype = s->params->dtype,
                                  .count = t->rows * t->cols,
                                  .buffer = parcel->host,
                                  .name = name};
    assert(parcel->host != NULL);
    return comm_bcast_plan(comm, root, &desc, &parcel->plan);
}

static weft_status plan_layer(train_second *s, second_layer *layer)
{
    for (int i = 0; i < SECOND_SIDES; ++i) {
        second_side *side = &layer->side[i];
        if (s->inside != NULL && layer->works && side->inverts) {
            WEFT_TRY(plan_parcel(s, s->inside, side->owner % s->workers, &side->result, "an inverse", &side->parcel));
        }
    }
    return s->between != NULL
               ? plan_parcel(s, s->between, layer->group, &layer->direction, "a direction", &layer->parcel)
               : WEFT_OK;
}

/* The communicators of inverses and of directions. */
static weft_status connect(train_second *s)
{
    const bool all = s->workers == s->ranks, one = s->workers == 1;
    if (s->workers == 0) {
        return WEFT_OK;
    }
    if (!all && !one) {
        WEFT_TRY(comm_split(s->comm, s->rank / s->workers, s->rank, &s->split[0]));
        WEFT_TRY(comm_split(s->comm, s->rank % s->workers, s->rank, &s->split[1]));
    }
    s->inside = all ? s->comm : s->split[0];
    s->between = one ? s->comm : s->split[1];
    return WEFT_OK;
}

weft_status second_exchange_create(train_second *s)
{
    WEFT_TRY(comm_agree(s->comm, cut_buckets(s)));
    WEFT_TRY(plan_sums(s));
    WEFT_TRY(connect(s));
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(plan_layer(s, &s->layer[l]));
    }
    return WEFT_OK;
}

static void destroy_parcel(const train_second *s, second_parcel *parcel)
{
    comm_plan_destroy(parcel->plan);
    if (parcel->host != NULL && !host_sees(s)) {
        weft_free(parcel->host);
    }
    *parcel = (second_parcel){.plan = NULL};
}

void second_exchange_destroy(train_second *s)
{
    for (int l = 0; s->layer != NULL && l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        destroy_parcel(s, &layer->parcel);
        destroy_parcel(s, &layer->side[SECOND_IN].parcel);
        destroy_parcel(s, &layer->side[SECOND_OUT].parcel);
    }
    for (int b = 0; b < s->buckets; ++b) {
        comm_plan_destroy(s->bucket[b].plan);
    }
    if (s->sums_host != NULL && !host_sees(s)) {
        weft_free(s->sums_host);
    }
    weft_free(s->bucket);
    comm_destroy(s->split[1]);
    comm_destroy(s->split[0]);
}

/* ---- sums of factors --------------------------------------------------------------------------------------------- */

/* The constant sides are those of one layer, or of none: their factors stand together. */
static bool travels(const train_second *s, const second_bucket *bucket)
{
    for (int i = 0; i < SECOND_SIDES * s->layers; ++i) {
        const second_side *side = side_at(s, i);
        if (bucket->constant && side != NULL && side->constant && second_is_due(s, side)) {
            return true;
        }
    }
    return !bucket->constant;
}

void second_sums_begin(train_second *s)
{
    s->posted = 0;
}

/* Zeros where this rank had no rows, and all of the bucket where messages are made of it. */
static weft_status complete(train_second *s, const second_bucket *bucket)
{
    int64_t at = 0;
    for (int i = SECOND_SIDES * s->layers - 1; i >= 0; --i) {
        second_side *side = &s->layer[i / SECOND_SIDES].side[i % SECOND_SIDES];
        if (side->sums.data == NULL) {
            continue;
        }
        if (at >= bucket->at && at < bucket->at + bucket->count && !side->started) {
            WEFT_TRY(tensor_zero(&side->sums));
        }
        at += side->sums.cols;
    }
    if (s->ranks == 1) {
        return WEFT_OK;
    }
    const weft_tensor sums = tensor_view(&s->sums, 0, 1, bucket->at, bucket->count);
    unsigned char *host = (unsigned char *)s->sums_host + (size_t)bucket->at * weft_dtype_bytes(s->params->dtype);
    return host_sees(s) ? s->hal->stream.sync(s->hal) : tensor_download(&sums, host);
}

weft_status second_sums_post(train_second *s, int layer)
{
    weft_status status = WEFT_OK;
    for (; s->posted < s->buckets && s->bucket[s->posted].layer > layer; ++s->posted) {
        const second_bucket *bucket = &s->bucket[s->posted];
        if (!travels(s, bucket)) {
            continue;
        }
        const weft_status ready = complete(s, bucket);
        const weft_status posted = bucket->plan != NULL ? comm_post(bucket->plan) : WEFT_OK;
        status = status != WEFT_OK ? status : ready != WEFT_OK ? ready : posted;
    }
    return status;
}

weft_status second_sums_wait(train_second *s)
{
    weft_status status = second_sums_post(s, -1);
    for (int b = 0; b < s->buckets; ++b) {
        const second_bucket *bucket = &s->bucket[b];
        if (bucket->plan == NULL || !travels(s, bucket)) {
            continue;
        }
        weft_tensor sums = tensor_view(&s->sums, 0, 1, bucket->at, bucket->count);
        unsigned char *host = (unsigned char *)s->sums_host + (size_t)bucket->at * weft_dtype_bytes(s->params->dtype);
        weft_status arrived = comm_wait(bucket->plan);
        arrived = arrived == WEFT_OK && !host_sees(s) ? tensor_upload(&sums, host) : arrived;
        status = status != WEFT_OK ? status : arrived;
    }
    return status;
}

/* ---- inverses and directions ------------------------------------------------------------------------------------- */

weft_status second_post(const train_second *s, second_parcel *parcel, bool sends, const weft_tensor *from)
{
    if (parcel->plan == NULL) {
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    if (sends) {
        status = host_sees(s) ? s->hal->stream.sync(s->hal) : tensor_download(from, parcel->host);
    }
    const weft_status posted = comm_post(parcel->plan);
    parcel->posted = true;
    return status != WEFT_OK ? status : posted;
}

weft_status second_wait(const train_second *s, second_parcel *parcel, bool sends, weft_tensor *to)
{
    if (!parcel->posted) {
        return WEFT_OK;
    }
    parcel->posted = false;
    WEFT_TRY(comm_wait(parcel->plan));
    return sends || host_sees(s) ? WEFT_OK : tensor_upload(to, parcel->host);
}

weft_status second_share_verdicts(train_second *s, const bool *due)
{
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        double *verdict = s->verdicts + (ptrdiff_t)l * SECOND_VERDICTS;
        const bool mine = layer->side[SECOND_IN].mine || layer->side[SECOND_OUT].mine;
        verdict[SECOND_REFUSED_IN] = due[l] && layer->side[SECOND_IN].refused;
        verdict[SECOND_REFUSED_OUT] = due[l] && layer->side[SECOND_OUT].refused;
        verdict[SECOND_DAMPING] = due[l] && mine ? layer->damping : 0.0;
        verdict[SECOND_GAMMA] = due[l] && mine ? layer->gamma : 0.0;
    }
    WEFT_TRY(comm_allreduce(s->comm, s->verdicts, (int64_t)s->layers * SECOND_VERDICTS, WEFT_DTYPE_F64, COMM_MAX));
    for (int l = 0; l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        const double *verdict = s->verdicts + (ptrdiff_t)l * SECOND_VERDICTS;
        if (due[l]) {
            layer->side[SECOND_IN].refused = verdict[SECOND_REFUSED_IN] != 0.0;
            layer->side[SECOND_OUT].refused = verdict[SECOND_REFUSED_OUT] != 0.0;
            layer->damping = verdict[SECOND_DAMPING];
            layer->gamma = verdict[SECOND_GAMMA];
        }
    }
    return WEFT_OK;
}
