/* dense/engine/dense_lanes.c: see dense/engine/dense_lanes.h. */
#include "dense/engine/dense_lanes.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/failure/failure.h"
#include "dense/engine/dense_model.h"

/* Pieces of more images are no quicker, and a batch of few pieces keeps lanes waiting for the last one. */
enum { PIECE_IMAGES = 16 };

typedef struct lane {
    weft_hal *hal; /* of one thread */
    dense_model model;
    hal_cost cost; /* of the pass under way */
} lane;

struct dense_lanes {
    const dense_model *whole;
    dense_cut cut;
    int64_t images[HAL_CONV_SIZES]; /* of pieces */
    dense_config config;            /* of the lanes' models */
    lane *lane;                     /* [cut.lanes] */
    weft_tensor logits;             /* [images of a batch, outputs] */
};

/* ---- how a batch is cut ---- */

/* Numbers that the units write for an image. */
static int64_t values_of_image(const unit_list *list)
{
    int64_t values = 0;
    for (int i = 0; i < list->units; ++i) {
        const net_size size = list->size[list->unit[i].y];
        values += net_pixels(size) * size.channels;
    }
    return values;
}

static int64_t weights_of(const network *net)
{
    int64_t weights = 0;
    for (int i = 0; i < net->layers; ++i) {
        weights += net_cost_of(net, i).parameters;
    }
    return weights;
}

dense_cut dense_cut_of(const weft_hal *hal, const dense_config *config, const unit_list *list)
{
    const dense_cut whole = {.lanes = 0};
    const int64_t most = dense_most_images(config);
    if (hal == NULL || hal->mem.kind != HAL_MEM_HOST || hal->threads < 2 || config->training ||
        config->sizes >= HAL_CONV_SIZES || most < 2 * (int64_t)hal->threads) {
        return whole;
    }
    const int64_t each = (most + hal->threads - 1) / hal->threads;
    const dense_cut cut = {.lanes = hal->threads, .images = each < PIECE_IMAGES ? each : PIECE_IMAGES};
    return weights_of(config->net) <= cut.images * values_of_image(list) ? cut : whole;
}

static int add_size(int64_t images, int64_t *size, int sizes)
{
    for (int i = 0; i < sizes; ++i) {
        if (size[i] == images) {
            return sizes;
        }
    }
    if (images > 0) {
        size[sizes++] = images;
    }
    return sizes;
}

/* Returns the number of sizes of pieces that batches come in. [out] images: [config->sizes + 1] */
static int sizes_of(dense_cut cut, const dense_config *config, int64_t *images)
{
    int sizes = add_size(cut.images, images, 0);
    for (int i = 0; i < config->sizes; ++i) {
        sizes = add_size(config->images[i] % cut.images, images, sizes);
    }
    return sizes;
}

/* ---- the lanes ---- */

static weft_status create_all(dense_lanes *lanes)
{
    const dense_model *whole = lanes->whole;
    const net_size out = whole->list.size[whole->list.output];
    WEFT_TRY(WEFT_NEW_ZERO(&lanes->lane, lanes->cut.lanes, WEFT_MEM_GENERAL));
    for (int i = 0; i < lanes->cut.lanes; ++i) {
        lane *own = &lanes->lane[i];
        WEFT_TRY(weft_hal_open_alike(whole->hal, 1, &own->hal));
        WEFT_TRY(dense_model_create_lane(whole, own->hal, &lanes->config, &own->model));
    }
    return tensor_create(whole->hal, whole->dtype, dense_most_images(&whole->config) * net_pixels(out), out.channels,
                         WEFT_MEM_ACTIVATION, &lanes->logits);
}

weft_status dense_lanes_create(const dense_model *model, dense_cut cut, dense_lanes **out)
{
    WEFT_TRY(WEFT_NEW_ZERO(out, 1, WEFT_MEM_GENERAL));
    dense_lanes *lanes = *out;
    lanes->whole = model;
    lanes->cut = cut;
    lanes->config = model->config;
    lanes->config.sizes = sizes_of(cut, &model->config, lanes->images);
    lanes->config.images = lanes->images;
    return create_all(lanes);
}

void dense_lanes_destroy(dense_lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    for (int i = 0; lanes->lane != NULL && i < lanes->cut.lanes; ++i) {
        dense_model_destroy(&lanes->lane[i].model);
        weft_hal_close(lanes->lane[i].hal);
    }
    tensor_destroy(&lanes->logits);
    WEFT_FREE_ALL(lanes->lane, lanes);
}

const dense_model *dense_lanes_model(const dense_lanes *lanes)
{
    return &lanes->lane[0].model;
}

/* ---- a pass ---- */

/* Rows of `count` images from image `first` on, on a lane's backend. */
static weft_tensor rows_of(const weft_tensor *t, int64_t images, int64_t first, int64_t count, weft_hal *hal)
{
    const int64_t rows = t->rows / images;
    weft_tensor view = tensor_view(t, first * rows, count * rows, 0, t->cols);
    view.hal = hal;
    return view;
}

static weft_status piece_forward(const dense_lanes *lanes, lane *own, const train_pass *pass, int64_t piece,
                                 const weft_tensor *logits)
{
    const image_batch *batch = pass->batch->input;
    const int64_t first = piece * lanes->cut.images, left = batch->rows - first;
    const int64_t count = left < lanes->cut.images ? left : lanes->cut.images;
    const image_batch images = {.pixels = rows_of(&batch->pixels, batch->rows, first, count, own->hal),
                                .rows = count,
                                .all_rows = count,
                                .sample_id = rows_of(&batch->sample_id, batch->rows, first, count, own->hal)};
    const train_batch input = {.input = &images};
    train_pass part = *pass;
    part.batch = &input;
    weft_tensor answers, to = rows_of(logits, batch->rows, first, count, own->hal);
    WEFT_TRY(dense_forward(&own->model, &part, &answers));
    return tensor_axpby(1.0, &answers, 0.0, &to);
}

/* A batch whose pieces lanes take one after the other. */
typedef struct lane_turns {
    const train_pass *pass;
    const weft_tensor *logits;
    int64_t pieces;
    _Atomic int64_t next;
    first_failure failure;
} lane_turns;

static void lane_forward(const dense_lanes *lanes, lane *own, lane_turns *turns)
{
    hal_cost *counted = hal_cost_of_thread();
    const hal_cost before = *counted;
    int64_t piece;
    while ((piece = atomic_fetch_add(&turns->next, 1)) < turns->pieces) {
        first_failure_note(&turns->failure, piece, piece_forward(lanes, own, turns->pass, piece, turns->logits));
    }
    own->cost = (hal_cost){.flops = counted->flops - before.flops, .bytes = counted->bytes - before.bytes};
    *counted = before; /* the caller counts all lanes */
}

static void count_all(const dense_lanes *lanes)
{
    hal_cost *counted = hal_cost_of_thread();
    for (int i = 0; i < lanes->cut.lanes; ++i) {
        counted->flops += lanes->lane[i].cost.flops;
        counted->bytes += lanes->lane[i].cost.bytes;
    }
}

weft_status dense_lanes_forward(dense_lanes *lanes, const train_pass *pass, weft_tensor *logits)
{
    const image_batch *batch = pass->batch->input;
    const net_size out = lanes->whole->list.size[lanes->whole->list.output];
    lane_turns turns = {
        .pass = pass, .logits = logits, .pieces = (batch->rows + lanes->cut.images - 1) / lanes->cut.images};
    *logits = tensor_view(&lanes->logits, 0, batch->rows * net_pixels(out), 0, lanes->logits.cols);
#pragma omp parallel for schedule(static, 1) num_threads(lanes->cut.lanes)
    for (int i = 0; i < lanes->cut.lanes; ++i) {
        lane_forward(lanes, &lanes->lane[i], &turns);
    }
    count_all(lanes);
    return first_failure_tell(&turns.failure);
}
