/*
 * train/second/second_layout.c: sizes of the layers of a second-order method, the ranks that work for them, and the
 * memory that follows from both.
 *
 * A plan (train_second.comm NULL) takes the same steps and counts bytes in place of memory, so what is planned is what
 * is held. With n columns of a side, numbers are:
 *
 *      packed factor     n^2 / 2, twice where rows change: the average, and the sums of a step
 *      result            n^2, on ranks that turn the layer
 *      work              kfac: n^2 of the largest side that this rank inverts
 */
#include "train/second/second_internal.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/integer/integers.h"

/* Rows, or patches, of a sample: at least so many, and so many for each column. Inputs that never change are the wide
 * ones, whose sample is what the first epoch waits for. */
enum { SAMPLE_LEAST_CONSTANT = 2048, SAMPLE_LEAST = 4096, SAMPLE_A_COLUMN = 4 };

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void size_layer(const train_second *s, const train_map *map, second_layer *layer)
{
    const param_block *block = &s->params->block[map->block];
    second_side *side = layer->side;
    layer->map = map;
    layer->summed = s->options.kind == SECOND_INPUT && map->sums != NULL && s->population > 0;
    layer->parts = layer->summed && map->beside ? 2 : 1;
    layer->in = (map->transposed ? block->cols : block->rows) * layer->parts;
    layer->out = (map->transposed ? block->rows : block->cols) / layer->parts;
    side[SECOND_IN].n = layer->in + (map->bias >= 0 && map->joined ? 1 : 0);
    side[SECOND_OUT].n = layer->out;
    side[SECOND_IN].constant = map->constant;
    layer->wide = layer->summed || (s->method->sides[SECOND_IN] && map->constant && s->population > 0 &&
                                    side[SECOND_IN].n > SECOND_WIDE);
    for (int i = 0; i < SECOND_SIDES; ++i) {
        side[i].needed = s->method->sides[i];
        side[i].inverts = s->method->inverts[i] && !(layer->wide && i == SECOND_OUT);
    }
    const int64_t least = map->constant ? SAMPLE_LEAST_CONSTANT : SAMPLE_LEAST;
    layer->sample =
        layer->wide ? SECOND_WIDE_ROWS : larger(least, SAMPLE_A_COLUMN * larger(side[SECOND_IN].n, layer->out));
    if (!map->conv && layer->sample > s->population) {
        layer->sample = s->population;
    }
}

/* Returns true if the layer is turned by eigenvectors of both sides. */
static bool is_eigen(const train_second *s, const second_layer *layer)
{
    return layer->side[SECOND_OUT].inverts && s->options.solve == SECOND_EIGEN;
}

second_task second_task_of(const train_second *s, const second_layer *layer)
{
    const bool both = layer->side[SECOND_OUT].inverts, eigen = is_eigen(s, layer);
    const double r = (double)layer->sample, n = (double)layer->side[SECOND_IN].n, out = (double)layer->out;
    const double once = eigen ? 9.0 : 1.0; /* of n^3: hal/ops.def */
    const double turn = both ? (eigen ? 4.0 : 2.0) * n * out * (n + out) : 2.0 * n * n * out;
    second_task task = {.turn = layer->wide ? 4.0 * r * n * out : turn};
    for (int i = 0; i < SECOND_SIDES; ++i) {
        const double m = (double)layer->side[i].n;
        const double flops = layer->wide ? r * r * n + r * r * r : once * m * m * m;
        task.invert[i] = layer->side[i].inverts ? flops / (double)s->options.interval : 0.0;
    }
    return task;
}

static weft_status assign(train_second *s)
{
    second_task *task = NULL;
    double *load = NULL;
    weft_status status = WEFT_NEW_ZERO(&task, s->layers, WEFT_MEM_SECOND);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&load, s->ranks, WEFT_MEM_SECOND) : status;
    for (int l = 0; status == WEFT_OK && l < s->layers; ++l) {
        task[l] = second_task_of(s, &s->layer[l]);
    }
    if (status == WEFT_OK && s->workers > 0) {
        second_place_assign(s->ranks, s->workers, task, s->layers, load);
    }
    for (int l = 0; status == WEFT_OK && l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        layer->group = task[l].group;
        layer->works = s->workers == 0 || s->rank / s->workers == layer->group;
        for (int i = 0; i < SECOND_SIDES; ++i) {
            second_side *side = &layer->side[i];
            side->owner = task[l].owner[i];
            side->mine = side->inverts && (s->workers == 0 || side->owner == s->rank);
        }
    }
    WEFT_FREE_ALL(task, load);
    return status;
}

weft_status second_size(train_second *s)
{
    s->workers = second_place_workers(&s->options.place, s->ranks);
    for (int l = 0; l < s->layers; ++l) {
        size_layer(s, &s->model->map[l], &s->layer[l]);
    }
    return assign(s);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

weft_tensor second_view(const weft_tensor *memory, weft_dtype dtype, int64_t rows, int64_t cols)
{
    assert((size_t)(rows * cols) * weft_dtype_bytes(dtype) <= (size_t)memory->cols * weft_dtype_bytes(memory->dtype));
    return (weft_tensor){
        .hal = memory->hal, .dtype = dtype, .rows = rows, .cols = cols, .ld = cols, .data = memory->data};
}

/* A tensor, counted in s->bytes. */
static weft_status take(train_second *s, weft_dtype dtype, int64_t rows, int64_t cols, weft_tensor *t)
{
    const uint64_t bytes = (uint64_t)(rows * cols) * weft_dtype_bytes(dtype);
    s->bytes += bytes;
    *t = (weft_tensor){.dtype = dtype, .rows = rows, .cols = cols, .ld = cols};
    if (s->comm == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(s->hal, dtype, rows, cols, WEFT_MEM_SECOND, t));
    return s->hal->mem.zero(s->hal, t->data, bytes); /* a checkpoint holds all, also what no step has filled yet */
}

static weft_status take_numbers(train_second *s, int64_t rows, int64_t cols, weft_tensor *t)
{
    return take(s, s->params->dtype, rows, cols, t);
}

/* Numbers on the host. */
static weft_status take_host(train_second *s, int64_t count, void **memory)
{
    const size_t element = weft_dtype_bytes(s->params->dtype);
    s->bytes += (uint64_t)count * element;
    return s->comm == NULL ? WEFT_OK : weft_malloc((size_t)count, element, WEFT_MEM_SECOND, memory);
}

/* What travels between ranks: the tensor's own memory where the host sees it. */
static weft_status take_parcel(train_second *s, const weft_tensor *t, void **memory)
{
    if (s->hal == NULL || hal_host_visible(s->hal)) {
        *memory = t->data;
        return WEFT_OK;
    }
    return take_host(s, t->rows * t->cols, memory);
}

static bool has_sums(const second_layer *layer, int side)
{
    return layer->side[side].needed && !(layer->wide && side == SECOND_IN);
}

/* Packed triangles, in the order of the backward pass. */
static weft_status allocate_sums(train_second *s)
{
    int64_t elements = 0;
    for (int i = 0; i < SECOND_SIDES * s->layers; ++i) {
        const second_layer *layer = &s->layer[i / SECOND_SIDES];
        elements += has_sums(layer, i % SECOND_SIDES) ? second_packed(layer->side[i % SECOND_SIDES].n) : 0;
    }
    WEFT_TRY(take_numbers(s, 1, elements, &s->sums));
    WEFT_TRY(s->ranks > 1 ? take_parcel(s, &s->sums, &s->sums_host) : WEFT_OK);
    int64_t at = 0;
    for (int i = SECOND_SIDES * s->layers - 1; i >= 0; --i) {
        second_layer *layer = &s->layer[i / SECOND_SIDES];
        second_side *side = &layer->side[i % SECOND_SIDES];
        if (!has_sums(layer, i % SECOND_SIDES)) {
            continue;
        }
        side->sums = tensor_view(&s->sums, 0, 1, at, second_packed(side->n));
        side->factor = side->sums;
        WEFT_TRY(side->constant ? WEFT_OK : take_numbers(s, 1, second_packed(side->n), &side->factor));
        at += second_packed(side->n);
    }
    return WEFT_OK;
}

/* Memory of a side's inverse, where it is made and where it is read. */
static weft_status allocate_result(train_second *s, second_layer *layer, second_side *side)
{
    const bool values = is_eigen(s, layer); /* a row of eigenvalues behind the eigenvectors */
    if (!side->inverts || !layer->works) {
        return WEFT_OK;
    }
    const int64_t n = layer->wide ? layer->sample : side->n;
    WEFT_TRY(take_numbers(s, n + (values ? 1 : 0), n, &side->result));
    side->matrix = tensor_view(&side->result, 0, n, 0, n);
    return s->workers > 1 ? take_parcel(s, &side->result, &side->parcel.host) : WEFT_OK;
}

static weft_status allocate_layer(train_second *s, second_layer *layer)
{
    const bool turned = layer->map->transposed, travels = s->workers > 0 && s->workers < s->ranks;
    const int64_t n = layer->side[SECOND_IN].n;
    const int64_t rows = turned ? layer->out : n, cols = turned ? n : layer->out;
    for (int i = 0; i < SECOND_SIDES; ++i) {
        WEFT_TRY(allocate_result(s, layer, &layer->side[i]));
    }
    if (layer->wide) {
        WEFT_TRY(take_numbers(s, n, layer->sample, &layer->rows));
    } else if (is_eigen(s, layer) && layer->works) {
        WEFT_TRY(take_numbers(s, rows, cols, &layer->scale));
    }
    layer->gradient = second_view(&s->gradient, s->params->dtype, rows, cols);
    if (travels) {
        WEFT_TRY(take_numbers(s, rows, cols, &layer->direction));
        return take_parcel(s, &layer->direction, &layer->parcel.host);
    }
    layer->direction = second_view(&s->direction, s->params->dtype, rows, cols);
    return WEFT_OK;
}

/* Elements of the largest intermediate matrices of a layer on this rank: of inversions, and of turned gradients. */
static void size_work(const train_second *s, const second_layer *layer, int64_t *inversion, int64_t *turn)
{
    const second_side *in = &layer->side[SECOND_IN], *out = &layer->side[SECOND_OUT];
    if (layer->wide) {
        *inversion = in->mine ? second_packed(layer->sample) : 0;
        *turn = layer->works ? layer->sample * layer->out : 0;
        return;
    }
    const bool eigen = is_eigen(s, layer);
    *inversion = larger(eigen && in->mine ? in->n * in->n : 0, eigen && out->mine ? out->n * out->n : 0);
    *turn = out->inverts && layer->works ? in->n * layer->out : 0;
}

/* Memory that layers use one after the other. */
static weft_status allocate_scratch(train_second *s)
{
    int64_t chunk = 0, inversion = 0, turn = 0, most = 0, host = 0;
    for (int l = 0; l < s->layers; ++l) {
        const second_layer *layer = &s->layer[l];
        const int64_t n = layer->side[SECOND_IN].n, out = layer->out;
        int64_t inverts = 0, turns = 0;
        size_work(s, layer, &inverts, &turns);
        if (!layer->map->conv) {
            chunk = larger(chunk, larger((layer->wide ? 64 : SECOND_CHUNK) * n, SECOND_CHUNK * out));
        }
        inversion = larger(inversion, inverts);
        turn = larger(turn, turns);
        most = larger(most, n * out);
        host = larger(host, larger(n * out, n + out));
    }
    s->host_elements = host;
    WEFT_TRY(take_host(s, host, &s->host[0]));
    WEFT_TRY(take_host(s, host, &s->host[1]));
    WEFT_TRY(take_numbers(s, 1, chunk, &s->chunk));
    WEFT_TRY(take_numbers(s, 1, larger(inversion, turn), &s->work[0]));
    WEFT_TRY(take_numbers(s, 1, turn, &s->work[1]));
    WEFT_TRY(take_numbers(s, 1, most, &s->gradient));
    WEFT_TRY(s->workers > 0 && s->workers < s->ranks ? WEFT_OK : take_numbers(s, 1, most, &s->direction));
    WEFT_TRY(take_numbers(s, SECOND_CHUNK, 1, &s->ones));
    WEFT_TRY(take(s, WEFT_DTYPE_I32, SECOND_CHUNK, 1, &s->index));
    return take(s, WEFT_DTYPE_I32, 1, 1, &s->info);
}

weft_status second_allocate(train_second *s)
{
    WEFT_TRY(allocate_scratch(s));
    WEFT_TRY(allocate_sums(s));
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(allocate_layer(s, &s->layer[l]));
    }
    return WEFT_OK;
}
