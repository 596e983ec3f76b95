/*
 * dense/data/image_source.c: see dense/data/image_source.h. When a batch is made, and by which thread, is
 * train/batch/batch_loader; here is what a batch of images is made of.
 */
#include "dense/data/image_source.h"

#include <assert.h>

#include "base/alloc.h"
#include "dense/data/image_fetch.h"
#include "dense/data/vary/mixup.h"
#include "train/batch/batch_loader.h"
#include "train/train_options.def"

const weft_activity ACTIVITY_BATCH[1] = {{.text = "batches of images or texts", .kind = ACTIVITY_COMPUTES}};

/* A batch of this rank, being filled or in use. */
typedef struct slot {
    batch_key key;
    batch_share share;
    permutation order; /* of the epoch for this rank, where training */
    mixup mix;         /* of the images at positions from mix_begin on, where these are mixed */
    int64_t mix_begin;
    float *pixels; /* [rows, height, width, channels] host; the device's own memory where the host sees it */
    int64_t *id;   /* [rows] host, as are label, split and mask */
    int32_t *label;
    uint8_t *split, *mask;
    float *classes_share; /* [rows, classes] host, of training rows; NULL: labels are learnt */
    weft_tensor device_pixels, device_id, device_label, device_mask[TRAIN_SPLITS];
    image_batch batch;
    train_targets targets;
} slot;

struct image_source {
    weft_hal *hal;
    image_source_options options;
    int ranks, rank;
    int64_t evaluated; /* samples of an evaluation */
    train_source source;
    slot slot[BATCH_SLOTS];
    int slots;
    int64_t rows;       /* the largest share of a batch */
    int filling;        /* the slot that was begun last */
    image_fetch *fetch; /* NULL: all rows are at hand */
    uint8_t **scratch;  /* [workers] a sample each */
    float **partner;    /* [workers] what a sample is mixed with; NULL: samples are not mixed */
    int workers;
    batch_loader *loader;
    slot probe; /* of the probes (train_source.probe); no rows: there are none */
    int64_t probe_rows;
};

/* ---- what a batch holds ---------------------------------------------------------------------------------------- */

static int parts_of(const image_source_options *options)
{
    return options->parts > 1 ? options->parts : 1;
}

static int64_t eval_batch(const image_source *s)
{
    return s->options.eval_batch > 0 ? s->options.eval_batch : s->options.batch;
}

static int64_t outputs_of(const image_source_options *options)
{
    return options->set->classes > 0 ? options->set->classes : options->outputs;
}

static batch_plan batches_of(const image_source *s, bool training)
{
    const image_source_options *o = &s->options;
    return training ? (batch_plan){.samples = o->set->count[IMAGE_TRAIN],
                                   .batch = o->batch,
                                   .least = o->least,
                                   .share_least = o->share_least,
                                   .drop_last = o->drop_last,
                                   .deal = o->deal}
                    : (batch_plan){.samples = s->evaluated, .batch = eval_batch(s)};
}

static batch_share share_at(const image_source *s, bool training, batch_turn turn, int rank)
{
    const batch_plan batches = batches_of(s, training);
    return batch_order_part(&batches, turn, s->ranks, rank);
}

static int parts_of_step(void *self, int64_t step, int parts)
{
    const batch_plan batches = batches_of(self, true);
    return batch_order_parts(&batches, step, parts);
}

/* Returns the position in the set's evaluation of a position in this source's. */
static int64_t evaluated_at(const image_source *s, int64_t position)
{
    return s->options.only != NULL ? s->options.only[position] : position;
}

/* The sample at a position of a rank's share. order: of the epoch for that rank. [out] id: its number over all
 * splits. */
static void sample_at(const image_source *s, const slot *at, int rank, const permutation *order, int64_t position,
                      int *split, int64_t *index, int64_t *id)
{
    const int64_t *count = s->options.set->count;
    if (at->key.training) {
        const batch_plan batches = batches_of(s, true);
        *split = IMAGE_TRAIN;
        *index = batch_order_sample(&batches, rank, order, position);
        *id = *index;
        return;
    }
    image_set_evaluated_at(s->options.set, evaluated_at(s, position), split, index);
    *id = count[IMAGE_TRAIN] + evaluated_at(s, position);
}

/* Numbers of an image as the network sees it. */
static int64_t pixels_of(const augment *a)
{
    return a->crop_height * a->crop_width * augment_channels(a);
}

/* Returns true if a row of the batch that was begun last is kept by another node. */
static bool travels(void *self, int64_t row)
{
    const image_source *s = self;
    return s->fetch != NULL && image_fetch_is_away(s->fetch, row);
}

/* [in, out] out: the image of a row, and then its mixture. The partner is read by this rank whoever trains on it. */
static weft_status mix_row(const image_source *s, const slot *to, int64_t row, int worker, float *out)
{
    const image_source_options *o = &s->options;
    const augment *a = &o->augment;
    const uint64_t at = (uint64_t)(to->share.begin + row - to->mix_begin);
    const int64_t position = to->mix_begin + (int64_t)permute(&to->mix.partner, at), classes = o->set->classes;
    int split;
    int64_t index, id;
    int32_t label;
    sample_at(s, to, s->rank, &to->order, position, &split, &index, &id);
    WEFT_TRY(image_set_read(o->set, split, index, s->scratch[worker], &label));
    augment_train(a, to->key.seed, to->key.epoch, id, s->scratch[worker], s->partner[worker]);
    mixup_pixels(to->mix.share, s->partner[worker], pixels_of(a), out);
    mixup_shares(to->mix.share, o->smoothing, to->label[row], label, classes, to->classes_share + row * classes);
    return WEFT_OK;
}

static weft_status make_row(void *self, int number, int64_t row, int worker)
{
    image_source *s = self;
    slot *to = &s->slot[number];
    const augment *a = &s->options.augment;
    int split;
    int64_t index;
    assert(row >= 0 && row < to->share.count && worker < s->workers);
    sample_at(s, to, s->rank, &to->order, to->share.begin + row, &split, &index, &to->id[row]);
    const uint8_t *pixels = s->scratch[worker];
    if (travels(s, row)) {
        pixels = image_fetch_pixels(s->fetch, row);
        to->label[row] = image_set_label(s->options.set, split, index);
        image_set_note_fetched(s->options.set);
    } else {
        WEFT_TRY(image_set_read(s->options.set, split, index, s->scratch[worker], &to->label[row]));
    }
    to->split[row] = to->label[row] >= 0 ? (uint8_t)split : TRAIN_SPLIT_NONE;
    float *out = to->pixels + row * pixels_of(a);
    if (!to->key.training) {
        augment_plain(a, pixels, out);
        return WEFT_OK;
    }
    augment_train(a, to->key.seed, to->key.epoch, to->id[row], pixels, out);
    if (s->partner != NULL) {
        return mix_row(s, to, row, worker, out);
    }
    if (to->classes_share != NULL) {
        image_set_shares(s->options.set, split, index, to->classes_share + row * s->options.set->classes);
    }
    return WEFT_OK;
}

/* ---- batches on their way -------------------------------------------------------------------------------------- */

static batch_share share_of_rank(const void *self, int rank)
{
    const image_source *s = self;
    const slot *at = &s->slot[s->filling];
    return share_at(s, at->key.training, at->key.turn, rank);
}

static void sample_of_fetch(const void *self, int64_t position, int *split, int64_t *index)
{
    const image_source *s = self;
    const slot *at = &s->slot[s->filling];
    const bool owned = at->key.training && s->options.deal != NULL;
    const int rank = owned ? batch_deal_owner(s->options.deal, position) : s->rank;
    const batch_plan batches = batches_of(s, true);
    const permutation order = owned ? batch_order_of(&batches, rank, at->key.seed, at->key.epoch) : at->order;
    int64_t id;
    sample_at(s, at, rank, &order, position, split, index, &id);
}

/* Partners are of the whole batch, in whatever parts it comes; where ranks own shards, of this rank's share, because
 * its images are its own. */
static void draw_mix(const image_source *s, slot *to)
{
    const batch_plan batches = batches_of(s, true);
    const batch_turn whole = {.step = to->key.turn.step, .parts = 1};
    const batch_share all = batch_order_part(&batches, whole, 1, 0);
    const bool owned = s->options.deal != NULL;
    const int64_t images = owned ? to->share.count : all.count;
    to->mix_begin = owned ? to->share.begin : all.begin;
    to->mix = mixup_draw(s->options.mixup, to->key.seed, to->key.epoch, whole.step, images > 0 ? images : 1);
}

static weft_status begin_batch(void *self, int number, const batch_key *key, int64_t *rows)
{
    image_source *s = self;
    slot *to = &s->slot[number];
    s->filling = number;
    to->key = *key;
    to->share = share_at(s, key->training, key->turn, s->rank);
    assert(to->share.count >= 0 && to->share.count <= s->rows);
    *rows = to->share.count;
    if (key->training) {
        const batch_plan batches = batches_of(s, true);
        to->order = batch_order_of(&batches, s->rank, key->seed, key->epoch);
    }
    if (key->training && s->partner != NULL) {
        draw_mix(s, to);
    }
    const image_fetch_batch batch = {.self = s, .share = share_of_rank, .sample = sample_of_fetch};
    return s->fetch != NULL ? image_fetch_post(s->fetch, &batch) : WEFT_OK;
}

static weft_status arrive(void *self)
{
    image_source *s = self;
    return image_fetch_wait(s->fetch);
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

/* Labelled rows of each split in a batch of an evaluation, over all ranks. */
static void count_evaluated(const image_source *s, int64_t first, int64_t count, int64_t counted[TRAIN_SPLITS])
{
    for (int64_t i = 0; i < count; ++i) {
        int split;
        int64_t index;
        image_set_evaluated_at(s->options.set, evaluated_at(s, first + i), &split, &index);
        counted[split] += image_set_label(s->options.set, split, index) >= 0;
    }
}

static void describe(const image_source *s, slot *b)
{
    const augment *a = &s->options.augment;
    const int64_t rows = b->share.count;
    b->batch = (image_batch){
        .pixels = tensor_view(&b->device_pixels, 0, rows * a->crop_height * a->crop_width, 0, augment_channels(a)),
        .rows = rows,
        .all_rows = b->share.part,
        .sample_id = tensor_view(&b->device_id, 0, rows, 0, 1),
        .sample_id_host = b->id};
    b->targets = (train_targets){.rows = rows,
                                 .outputs = outputs_of(&s->options),
                                 .loss = TRAIN_LOSS_XENT,
                                 .labelled = true,
                                 .label = b->device_label.data,
                                 .label_host = b->label,
                                 .split_host = b->split};
    if (b->key.training) {
        b->targets.counted[IMAGE_TRAIN] = b->share.batch;
        b->targets.loss_entries = b->share.batch;
        b->targets.share_host = b->classes_share;
        b->targets.temperature = s->partner != NULL ? 1.0 : image_set_temperature(s->options.set);
        return; /* without a mask all rows count */
    }
    count_evaluated(s, b->key.turn.step * eval_batch(s), b->share.batch, b->targets.counted);
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        b->targets.mask[m] = b->device_mask[m].data;
    }
}

static weft_status upload_rows(const weft_tensor *all, int64_t rows, const void *host)
{
    weft_tensor some = tensor_view(all, 0, rows, 0, all->cols);
    return tensor_upload(&some, host);
}

static weft_status upload(const image_source *s, slot *b)
{
    const int64_t rows = b->share.count;
    if (!hal_host_visible(s->hal)) {
        WEFT_TRY(tensor_upload(&b->batch.pixels, b->pixels));
    }
    WEFT_TRY(upload_rows(&b->device_id, rows, b->id));
    WEFT_TRY(upload_rows(&b->device_label, rows, b->label));
    for (int m = 0; m < TRAIN_SPLITS && !b->key.training; ++m) {
        for (int64_t i = 0; i < rows; ++i) {
            b->mask[i] = b->split[i] == m;
        }
        WEFT_TRY(upload_rows(&b->device_mask[m], rows, b->mask));
    }
    return WEFT_OK;
}

static weft_status prepare(image_source *s, const train_pass *pass, train_batch *batch)
{
    int number = 0;
    WEFT_TRY(batch_loader_take(s->loader, pass, &number));
    slot *b = &s->slot[number];
    describe(s, b);
    WEFT_TRY(upload(s, b));
    *batch = (train_batch){.input = &b->batch, .targets = &b->targets};
    batch_loader_ahead(s->loader, pass);
    return WEFT_OK;
}

static weft_status next_batch(void *self, const train_pass *pass, train_batch *batch)
{
    ACTIVITY_TRY(ACTIVITY_BATCH, prepare(self, pass, batch));
    return WEFT_OK;
}

/* ---- create and destroy ---------------------------------------------------------------------------------------- */

static weft_status create_slot(const image_source *s, int64_t rows, slot *b)
{
    const augment *a = &s->options.augment;
    const int64_t pixels = rows * a->crop_height * a->crop_width;
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_F32, pixels, augment_channels(a), WEFT_MEM_IMAGE, &b->device_pixels));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I64, rows, 1, WEFT_MEM_IMAGE, &b->device_id));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I32, rows, 1, WEFT_MEM_IMAGE, &b->device_label));
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_U8, rows, 1, WEFT_MEM_IMAGE, &b->device_mask[m]));
    }
    b->pixels = b->device_pixels.data;
    if (!hal_host_visible(s->hal)) {
        WEFT_TRY(WEFT_NEW(&b->pixels, pixels * augment_channels(a), WEFT_MEM_IMAGE));
    }
    WEFT_TRY(WEFT_NEW(&b->id, rows, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&b->label, rows, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&b->split, rows, WEFT_MEM_IMAGE));
    if (image_set_has_shares(s->options.set) || s->options.mixup > 0.0) {
        WEFT_TRY(WEFT_NEW_ZERO(&b->classes_share, rows * s->options.set->classes, WEFT_MEM_IMAGE));
    }
    return WEFT_NEW(&b->mask, rows, WEFT_MEM_IMAGE);
}

static void destroy_slot(const image_source *s, slot *b)
{
    if (!hal_host_visible(s->hal)) {
        weft_free(b->pixels);
    }
    WEFT_FREE_ALL(b->id, b->label, b->split, b->mask, b->classes_share);
    TENSOR_DESTROY_ALL(&b->device_pixels, &b->device_id, &b->device_label);
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        tensor_destroy(&b->device_mask[m]);
    }
}

/* ---- probes ---------------------------------------------------------------------------------------------------- */

/* Images of a probe of one rank: enough for a point of accuracy, and few beside the steps between two looks. */
enum { PROBE_IMAGES = 512 };

/* Image `at` of the probe of `owner`: of its shard, or of a run of all images in a random order where there are no
 * shards. */
static int64_t probed(const image_source *s, int owner, int64_t at)
{
    const batch_deal *deal = s->options.deal;
    const int64_t images = s->options.set->count[IMAGE_TRAIN];
    if (deal != NULL) {
        return deal->sample[deal->first[owner] + at % batch_deal_size(deal, owner)];
    }
    const permutation order = batch_order(images, 0, 0);
    return (int64_t)permute(&order, (uint64_t)((owner * (images / s->ranks) + at) % images));
}

static weft_status probe_batch(void *self, int64_t step, train_batch *batch)
{
    image_source *s = self;
    slot *b = &s->probe;
    const augment *a = &s->options.augment;
    const int64_t rows = s->probe_rows, each = pixels_of(a);
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t index = probed(s, (int)(step % s->ranks), step / s->ranks * rows + i);
        WEFT_TRY(image_set_read(s->options.set, IMAGE_TRAIN, index, s->scratch[0], &b->label[i]));
        augment_plain(a, s->scratch[0], b->pixels + i * each);
        b->id[i] = index;
        b->split[i] = IMAGE_TRAIN;
    }
    b->key.training = true; /* without masks: all rows count */
    b->share = (batch_share){.batch = rows, .part = rows, .count = rows};
    describe(s, b);
    WEFT_TRY(upload(s, b));
    *batch = (train_batch){.input = &b->batch, .targets = &b->targets};
    return WEFT_OK;
}

/* Batches of probes are as large as this rank's share of a training step, for which networks are prepared. */
static weft_status create_probe(image_source *s)
{
    const int parts = parts_of_step(s, 0, parts_of(&s->options));
    const batch_plan training = batches_of(s, true);
    const int64_t most = batch_order_most(&training, parts_of(&s->options), s->ranks);
    s->probe_rows = s->options.probes ? share_at(s, true, (batch_turn){.parts = parts}, s->rank).count : 0;
    if (!s->options.probes || outputs_of(&s->options) == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(
        s->probe_rows > 0, WEFT_ERR_USAGE,
        FLAG_SKEW_GUARD
        ": rank %d has no image in the first step of an epoch to score replicas on: use a larger " FLAG_BATCH_SIZE
        " or fewer ranks",
        s->rank);
    s->source.probe_steps = s->ranks * (PROBE_IMAGES > most ? PROBE_IMAGES / most : 1);
    s->source.probe_rows = s->probe_rows;
    s->source.probe = probe_batch;
    return create_slot(s, s->probe_rows, &s->probe);
}

static weft_status check_options(const image_source_options *o)
{
    const image_set *set = o->set;
    WEFT_CHECK(o->batch >= 1 && o->eval_batch >= 0, WEFT_ERR_USAGE, "batches of %lld images; at least 1",
               (long long)(o->batch < 1 ? o->batch : o->eval_batch));
    WEFT_CHECK(set->count[IMAGE_TRAIN] + set->count[IMAGE_VALID] + set->count[IMAGE_TEST] >= 1, WEFT_ERR_USAGE,
               "%s: no images", set->name);
    WEFT_CHECK(o->augment.height == set->height && o->augment.width == set->width &&
                   o->augment.channels == set->channels,
               WEFT_ERR_INTERNAL, "an augmentation for images of another size than those of %s", set->name);
    return augment_check(&o->augment);
}

static void fill_source(image_source *s)
{
    const image_source_options *o = &s->options;
    const int64_t samples = o->set->count[IMAGE_TRAIN];
    const batch_plan training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t steps = batch_order_steps(&training), eval_steps = batch_order_steps(&evaluation);
    s->source = (train_source){.self = s,
                               .steps = steps,
                               .eval_steps = eval_steps > 0 ? eval_steps : 1,
                               .leaves_training = true,
                               .label_distance = o->deal != NULL ? batch_deal_distance(o->deal) : 0.0,
                               .loss_entries = o->drop_last && steps * o->batch < samples ? steps * o->batch : samples,
                               .loss = TRAIN_LOSS_XENT,
                               .outputs = outputs_of(o),
                               .divides = true,
                               .parts = parts_of_step,
                               .batch = next_batch};
    for (int64_t step = 0; step < eval_steps; ++step) {
        s->source.eval_rows += share_at(s, false, (batch_turn){.step = step, .parts = 1}, s->rank).count;
    }
}

static weft_status create_partners(image_source *s)
{
    WEFT_TRY(WEFT_NEW_ZERO(&s->partner, s->workers, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < s->workers; ++i) {
        WEFT_TRY(WEFT_NEW(&s->partner[i], pixels_of(&s->options.augment), WEFT_MEM_WORKSPACE));
    }
    return WEFT_OK;
}

static weft_status create_parts(image_source *s)
{
    const image_source_options *o = &s->options;
    WEFT_TRY(check_options(o));
    s->evaluated = o->only != NULL ? o->only_count : image_set_evaluated(o->set);
    fill_source(s);
    const batch_plan training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t train_rows = batch_order_most(&training, parts_of(o), s->ranks);
    const int64_t eval_rows = batch_order_most(&evaluation, 1, s->ranks);
    s->slots = batch_loader_slots(o->loaders, false);
    s->rows = train_rows > eval_rows ? train_rows : eval_rows;
    for (int i = 0; i < s->slots; ++i) {
        WEFT_TRY(create_slot(s, s->rows, &s->slot[i]));
    }
    s->workers = o->loaders > 0 ? o->loaders : o->threads;
    WEFT_TRY(WEFT_NEW_ZERO(&s->scratch, s->workers, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < s->workers; ++i) {
        WEFT_TRY(WEFT_NEW(&s->scratch[i], image_set_bytes(o->set), WEFT_MEM_WORKSPACE));
    }
    WEFT_TRY(o->mixup > 0.0 ? create_partners(s) : WEFT_OK);
    const batch_loader_desc desc = {
        .work = {.self = s, .begin = begin_batch, .make_row = make_row, .travels = travels, .arrive = arrive},
        .hal = s->hal,
        .source = &s->source,
        .parts = parts_of(o),
        .loaders = o->loaders,
        .workers = s->workers};
    WEFT_TRY(create_probe(s));
    return batch_loader_create(&desc, &s->loader);
}

weft_status image_source_create(weft_comm *comm, weft_hal *hal, const image_source_options *options,
                                image_source **source)
{
    image_source *s;
    *source = NULL;
    weft_status status = WEFT_NEW_ZERO(&s, 1, WEFT_MEM_GENERAL);
    if (status == WEFT_OK) {
        s->hal = hal;
        s->options = *options;
        s->ranks = comm_size(comm);
        s->rank = comm_rank(comm);
        status = create_parts(s);
    }
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? image_fetch_create(comm, options->set, s->rows, &s->fetch) : status;
    if (status != WEFT_OK) {
        image_source_destroy(s);
        return status;
    }
    if (s->fetch != NULL) {
        batch_loader_expect_travel(s->loader);
    }
    *source = s;
    return WEFT_OK;
}

void image_source_destroy(image_source *s)
{
    if (s == NULL) {
        return;
    }
    batch_loader_destroy(s->loader);
    for (int i = 0; i < s->slots; ++i) {
        destroy_slot(s, &s->slot[i]);
    }
    destroy_slot(s, &s->probe);
    for (int i = 0; i < s->workers && s->scratch != NULL; ++i) {
        weft_free(s->scratch[i]);
    }
    for (int i = 0; i < s->workers && s->partner != NULL; ++i) {
        weft_free(s->partner[i]);
    }
    WEFT_FREE_ALL(s->scratch, s->partner);
    image_fetch_destroy(s->fetch);
    weft_free(s);
}

const train_source *image_source_of(const image_source *source)
{
    return &source->source;
}

double image_source_wait_seconds(const image_source *source)
{
    return batch_loader_wait_seconds(source->loader);
}
