/*
 * train/second/second_capture.c: the listener: rows that layers show in a backward pass become sums of their products.
 *
 * Rows that count are gathered SECOND_CHUNK at a time, with a 1 behind each where a bias joins, and multiplied into
 * packed triangles. Rows of features that are held sparse are written out on the host first, without their mask: they
 * are constants of the run. Convolutions show images, whose patches capture_conv.c multiplies: of every image the same
 * output pixels, drawn for the step, and as many as make layer->sample patches of all ranks.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"

bool second_is_due(const train_second *s, const second_side *side)
{
    return side->lost || (!s->retakes && side->needed && !(side->constant && side->held));
}

static bool lost_rows(const train_second *s)
{
    bool lost = false;
    for (int l = 0; l < s->layers; ++l) {
        lost = lost || s->layer[l].side[SECOND_IN].lost;
    }
    return lost;
}

bool second_wants(void *self, const train_pass *pass)
{
    train_second *s = self;
    const bool looks = s->method->sides[SECOND_IN] || s->method->sides[SECOND_OUT];
    if (pass->training && pass->part == 0) {
        second_judge_begin(s);
    }
    const bool turn = second_is_turn(s, s->options.factors);
    s->retakes = !turn && lost_rows(s);
    if (!pass->training || !looks || s->figures.stepped_back || !(turn || s->retakes)) {
        return false;
    }
    for (int l = 0; pass->part == 0 && l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        layer->count = 0;
        layer->side[SECOND_IN].started = layer->side[SECOND_OUT].started = false;
        s->terms = 0;
    }
    second_sums_begin(s);
    s->capturing = true;
    return true;
}

/* ---- a chunk of rows --------------------------------------------------------------------------------------------- */

/* Rows that count, by their number in the run of rows and their place in the sample. */
typedef struct row_list {
    int64_t count;
    int32_t index[SECOND_CHUNK];
    int64_t place[SECOND_CHUNK];
} row_list;

static weft_status gather(train_second *s, const weft_tensor *rows, int64_t count, weft_tensor *to)
{
    const weft_tensor index = tensor_view(&s->index, 0, count, 0, 1);
    const hal_gather_rows_args args = {.x = tensor_mat(rows), .index = tensor_mat(&index), .y = tensor_mat(to)};
    return hal_gather_rows(s->hal, &args);
}

/* The 1 behind each row that a joined bias is multiplied with. */
static weft_status append_ones(train_second *s, const second_layer *layer, weft_tensor *chunk)
{
    if (layer->side[SECOND_IN].n == layer->in) {
        return WEFT_OK;
    }
    const weft_tensor ones = tensor_view(&s->ones, 0, chunk->rows, 0, 1);
    weft_tensor last = tensor_view(chunk, 0, chunk->rows, layer->in, 1);
    if (chunk->dtype == ones.dtype) {
        return tensor_axpby(1.0, &ones, 0.0, &last);
    }
    const weft_tensor one = tensor_view(&s->ones, 0, 1, 0, 1); /* a product may change the type */
    return tensor_gemm(&(tensor_product){.a = &ones, .b = &one}, &last);
}

static weft_status add_products(const weft_tensor *rows, second_side *side)
{
    const hal_gram_args args = {
        .x = tensor_mat(rows), .packed = tensor_mat(&side->sums), .alpha = 1.0, .beta = side->started ? 1.0 : 0.0};
    side->started = true;
    return hal_gram(rows->hal, &args);
}

static weft_status take_inputs(train_second *s, second_layer *layer, const weft_tensor *x, const row_list *list)
{
    second_side *side = &layer->side[SECOND_IN];
    weft_tensor chunk = second_view(&s->chunk, x->dtype, list->count, side->n);
    weft_tensor front = tensor_view(&chunk, 0, list->count, 0, layer->in);
    WEFT_TRY(gather(s, x, list->count, &front));
    WEFT_TRY(append_ones(s, layer, &chunk));
    return layer->wide ? second_wide_take(s, layer, &chunk, list->place) : add_products(&chunk, side);
}

static weft_status take_chunk(train_second *s, second_layer *layer, const tap_rows *rows, const row_list *list)
{
    weft_tensor index = tensor_view(&s->index, 0, list->count, 0, 1);
    if (list->count == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_upload(&index, list->index));
    layer->count += list->count;
    if (rows->x != NULL && !layer->summed && second_is_due(s, &layer->side[SECOND_IN])) {
        WEFT_TRY(take_inputs(s, layer, rows->x, list));
    }
    if (!second_is_due(s, &layer->side[SECOND_OUT])) {
        return WEFT_OK;
    }
    const weft_tensor *dy = layer->summed ? rows->dsum : rows->dy;
    weft_tensor chunk = second_view(&s->chunk, dy->dtype, list->count, layer->out);
    WEFT_TRY(gather(s, dy, list->count, &chunk));
    return add_products(&chunk, &layer->side[SECOND_OUT]);
}

/* ---- sparse features --------------------------------------------------------------------------------------------- */

/* Rows of a sparse matrix on the host, as CSR. */
typedef struct host_rows {
    int64_t *offset;
    int32_t *column;
    float *value;
} host_rows;

static weft_status read_features(const tensor_features *f, host_rows *rows)
{
    const hal_mem_ops *mem = &f->hal->mem;
    WEFT_TRY(WEFT_NEW(&rows->offset, f->rows + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&rows->column, f->entries, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&rows->value, f->entries, WEFT_MEM_WORKSPACE));
    WEFT_TRY(mem->download(f->hal, rows->offset, f->offset[0], (size_t)(f->rows + 1) * sizeof *rows->offset));
    WEFT_TRY(mem->download(f->hal, rows->column, f->column[0], (size_t)f->entries * sizeof *rows->column));
    return mem->download(f->hal, rows->value, f->value[0], (size_t)f->entries * sizeof *rows->value);
}

/* The sampled rows, a chunk at a time. */
static weft_status add_features(train_second *s, second_layer *layer, const host_rows *rows, void *host)
{
    second_side *side = &layer->side[SECOND_IN];
    const size_t element = weft_dtype_bytes(s->params->dtype);
    const int64_t most = s->chunk.cols / side->n < SECOND_CHUNK ? s->chunk.cols / side->n : SECOND_CHUNK;
    int64_t place[SECOND_CHUNK];
    for (int64_t p = 0; p < s->picks;) {
        int64_t count = 0;
        memset(host, 0, (size_t)(most * side->n) * element);
        for (; p < s->picks && count < most; ++p) {
            if (s->place[p] >= layer->sample) {
                continue;
            }
            for (int64_t e = rows->offset[s->pick[p]]; e < rows->offset[s->pick[p] + 1]; ++e) {
                second_put(s, host, count * side->n + rows->column[e], rows->value[e]);
            }
            if (side->n > layer->in) {
                second_put(s, host, count * side->n + layer->in, 1.0);
            }
            place[count++] = s->place[p];
        }
        if (count == 0) {
            break;
        }
        weft_tensor chunk = second_view(&s->chunk, s->params->dtype, count, side->n);
        WEFT_TRY(tensor_upload(&chunk, host));
        WEFT_TRY(layer->wide ? second_wide_take(s, layer, &chunk, place) : add_products(&chunk, side));
    }
    return WEFT_OK;
}

static weft_status take_features(train_second *s, second_layer *layer, const tensor_features *features)
{
    host_rows rows = {0};
    void *host = NULL;
    weft_status status = read_features(features, &rows);
    if (status == WEFT_OK) {
        status = weft_malloc((size_t)s->chunk.cols, weft_dtype_bytes(s->params->dtype), WEFT_MEM_WORKSPACE, &host);
    }
    status = status == WEFT_OK ? add_features(s, layer, &rows, host) : status;
    WEFT_FREE_ALL(rows.offset, rows.column, rows.value, host);
    return status;
}

/* ---- a run of rows ----------------------------------------------------------------------------------------------- */

/* Number of the layer; -1: nobody asks for these rows. */
static int layer_of(const train_second *s, int block)
{
    int l = s->layers - 1;
    while (l >= 0 && s->layer[l].map->block != block) {
        l -= 1;
    }
    return l;
}

/* The backward pass has reached a layer: what belongs to the layers behind it alone is complete in the last part. */
static weft_status reach(train_second *s, const train_pass *pass, int layer)
{
    const bool last = pass->part + 1 == pass->parts;
    WEFT_CHECK(s->posted == 0 || s->bucket[s->posted - 1].layer > layer, WEFT_ERR_INTERNAL,
               "the backward pass is back at layer %d, whose factors are on their way", layer);
    return last ? second_sums_post(s, layer) : WEFT_OK;
}

/* The first pick that is not before this row. */
static int64_t find_pick(const train_second *s, int64_t row)
{
    int64_t place = 0;
    SEARCH_FIRST(place, s->picks, s->pick[at] < row);
    return place;
}

static weft_status take_sample(train_second *s, second_layer *layer, const tap_rows *rows)
{
    row_list list = {.count = 0};
    const int64_t end = rows->first + rows->dy->rows;
    const int64_t most = layer->wide ? 64 : SECOND_CHUNK;
    for (int64_t p = find_pick(s, rows->first); p < s->picks && s->pick[p] < end; ++p) {
        if (s->place[p] >= layer->sample) {
            continue;
        }
        list.index[list.count] = (int32_t)(s->pick[p] - rows->first);
        list.place[list.count++] = s->place[p];
        if (list.count == most) {
            WEFT_TRY(take_chunk(s, layer, rows, &list));
            list.count = 0;
        }
    }
    return take_chunk(s, layer, rows, &list);
}

static weft_status take_all(train_second *s, second_layer *layer, const tap_rows *rows)
{
    row_list list = {.count = 0};
    for (int64_t row = 0; row < rows->dy->rows; row += list.count) {
        const int64_t left = rows->dy->rows - row;
        list.count = left < SECOND_CHUNK ? left : SECOND_CHUNK;
        for (int64_t i = 0; i < list.count; ++i) {
            list.index[i] = (int32_t)(row + i);
        }
        WEFT_TRY(take_chunk(s, layer, rows, &list));
    }
    return WEFT_OK;
}

/* The form `reduce`: each image is a row. */
static weft_status take_means(train_second *s, second_layer *layer, const tap_rows *rows)
{
    second_side *in = &layer->side[SECOND_IN], *out = &layer->side[SECOND_OUT];
    layer->count += rows->images;
    if (second_is_due(s, in)) {
        WEFT_TRY(capture_mean_inputs(&s->patches, rows, in->started, &in->sums));
        in->started = true;
    }
    if (second_is_due(s, out)) {
        WEFT_TRY(capture_sum_outputs(&s->patches, rows, out->started, &out->sums));
        out->started = true;
    }
    return WEFT_OK;
}

static weft_status take_images(train_second *s, second_layer *layer, const tap_rows *rows)
{
    second_side *in = &layer->side[SECOND_IN], *out = &layer->side[SECOND_OUT];
    const capture_pixels pixels = {
        .most = (layer->sample + s->terms - 1) / s->terms, .seed = s->options.seed, .draw = (uint32_t)s->step};
    if (second_is_due(s, in)) {
        int64_t count = 0;
        WEFT_TRY(capture_conv_inputs(&s->patches, rows, &pixels, in->started, &in->sums, &count));
        in->started = true;
        layer->count += count;
    }
    return second_is_due(s, out) ? add_products(rows->dy, out) : WEFT_OK;
}

weft_status second_take(void *self, const train_pass *pass, const tap_rows *rows)
{
    train_second *s = self;
    const int number = layer_of(s, rows->block);
    if (number < 0) {
        return WEFT_OK;
    }
    second_layer *layer = &s->layer[number];
    assert((rows->conv != NULL) == layer->map->conv && rows->transposed == layer->map->transposed);
    assert(rows->rows * rows->cols == layer->in * layer->out);
    assert(!layer->summed || rows->dsum != NULL);
    s->terms = pass->batch->targets->loss_entries;
    WEFT_TRY(reach(s, pass, number));
    const double begun = second_begin(), work = second_work_begin();
    const bool reduces = s->options.form == SECOND_REDUCE && rows->images > 0 && rows->dy->rows > rows->images;
    weft_status status = reduces              ? take_means(s, layer, rows)
                         : rows->conv != NULL ? take_images(s, layer, rows)
                         : s->population > 0  ? take_sample(s, layer, rows)
                                              : take_all(s, layer, rows);
    if (status == WEFT_OK && rows->sparse != NULL && !layer->summed && second_is_due(s, &layer->side[SECOND_IN])) {
        assert(s->population > 0 && layer->side[SECOND_IN].constant && rows->first == 0);
        status = take_features(s, layer, rows->sparse);
    }
    second_work_end(s, SECOND_FACTORS, work);
    second_end(s, SECOND_FACTORS, begun);
    return status;
}
