/* clicks/data/click_source.c: see clicks/data/click_source.h. When a batch is made, and by which thread, is
 * train/batch/batch_loader; here is what a batch of clicks is made of. */
#include "clicks/data/click_source.h"

#include <assert.h>
#include <string.h>

#include "clicks/data/click_order.h"
#include "tensor/tensor.h"
#include "train/batch/batch_loader.h"

const weft_activity ACTIVITY_CLICKS[1] = {{.text = "batches of clicks", .kind = ACTIVITY_COMPUTES}};

/* A batch of this rank, being filled or in use. */
typedef struct slot {
    batch_key key;
    batch_share share;
    int64_t *row;  /* [most] */
    int64_t *at;   /* [most * fields + 1] */
    uint64_t *id;  /* [most_ids] keys */
    float *weight; /* [most_ids] of ids, where they have weights */
    float *number; /* [most, numbers] */
    float *target; /* [most] */
    uint8_t *split, *mask;
    weft_tensor device_target, device_mask[TRAIN_SPLITS];
    click_batch batch;
    train_targets targets;
} slot;

struct click_source {
    weft_hal *hal;
    const click_rows *rows;
    click_source_options options;
    int ranks, rank;
    click_order order; /* of the pass whose batch was begun last */
    train_source source;
    slot slot[BATCH_SLOTS_MOST];
    int slots;
    int64_t most, most_ids; /* samples and ids of a batch */
    batch_loader *loader;
    train_pass pass; /* of the batch in use */
    embed_bags next; /* of the batch behind it */
};

static batch_plan batches_of(const click_source *s, bool training)
{
    return (batch_plan){.samples = training ? s->rows->counted[TRAIN_SPLIT_TRAIN] : s->rows->evaluated,
                        .batch = s->options.batch};
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

/* Epochs of fewer rows than a pass has take up where the one before ended: the pass in the place of the epoch, and its
 * step. */
static batch_key place_in_pass(const click_source *s, const batch_key *key)
{
    const batch_plan pass = batches_of(s, true);
    const int64_t steps = batch_order_steps(&pass);
    const int64_t batch = (int64_t)(key->epoch - 1) * s->source.steps + key->turn.step;
    batch_key place = *key;
    place.epoch = (uint32_t)(batch / steps) + 1;
    place.turn.step = batch % steps;
    return place;
}

static void enter_pass(click_source *s, const batch_key *key)
{
    if (s->order.rows == 0 || s->order.seed != key->seed || s->order.epoch != key->epoch) {
        s->order = click_order_of(s->rows->counted[TRAIN_SPLIT_TRAIN], key->seed, key->epoch);
    }
}

/* Where the ids of each field of each sample begin. */
static void place_ids(const click_rows *rows, slot *to)
{
    int64_t *at = to->at;
    for (int64_t i = 0; i < to->share.count; ++i) {
        for (int f = 0; f < rows->fields; ++f, ++at) {
            at[1] = at[0] + click_rows_size(rows, to->row[i], f);
        }
    }
}

static weft_status begin_batch(void *self, int number, const batch_key *key, int64_t *rows)
{
    click_source *s = self;
    slot *to = &s->slot[number];
    const batch_plan batches = batches_of(s, key->training);
    const batch_key of_pass = key->training ? place_in_pass(s, key) : *key;
    to->key = *key;
    to->share = batch_order_part(&batches, of_pass.turn, s->ranks, s->rank);
    assert(to->share.count >= 0 && to->share.count <= s->most);
    if (key->training) {
        enter_pass(s, &of_pass);
    }
    for (int64_t i = 0; i < to->share.count; ++i) {
        to->row[i] = key->training ? click_rows_train(s->rows, click_order_at(&s->order, to->share.begin + i))
                                   : click_rows_eval(s->rows, to->share.begin + i);
    }
    if (s->rows->bags) {
        place_ids(s->rows, to);
    }
    *rows = to->share.count;
    return WEFT_OK;
}

static weft_status make_row(void *self, int number, int64_t i, int worker)
{
    click_source *s = self;
    slot *to = &s->slot[number];
    const click_rows *rows = s->rows;
    const int64_t row = to->row[i];
    (void)worker;
    const int64_t at = to->at[i * rows->fields];
    click_rows_read(rows, s->options.scaling, row, to->id + at, rows->weighted ? to->weight + at : NULL,
                    to->number + i * rows->numbers, &to->target[i]);
    to->split[i] = click_rows_split(rows, row);
    return WEFT_OK;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Labelled rows of each split in a batch of an evaluation, over all ranks. */
static void count_evaluated(const click_source *s, int64_t first, int64_t count, int64_t counted[TRAIN_SPLITS])
{
    for (int64_t i = 0; i < count; ++i) {
        const uint8_t split = click_rows_split(s->rows, click_rows_eval(s->rows, first + i));
        if (split < TRAIN_SPLITS) {
            counted[split] += 1;
        }
    }
}

/* A batch of training has a name: never 0, and of the batches of a run no other has it. */
static uint64_t name_of(const batch_key *key)
{
    return key->training ? (uint64_t)key->epoch << 40 | (uint64_t)key->turn.step : 0;
}

static embed_bags bags_of(const click_source *s, const slot *b)
{
    return (embed_bags){.samples = b->share.count,
                        .fields = s->rows->fields,
                        .at = b->at,
                        .key = b->id,
                        .weight = s->rows->weighted ? b->weight : NULL,
                        .batch = name_of(&b->key)};
}

static weft_status next_bags(void *self, const embed_bags **bags)
{
    click_source *s = self;
    int number = -1;
    *bags = NULL;
    WEFT_TRY(batch_loader_peek(s->loader, &s->pass, &number));
    if (number >= 0) {
        s->next = bags_of(s, &s->slot[number]);
        *bags = &s->next;
    }
    return WEFT_OK;
}

static void describe(click_source *s, slot *b)
{
    const int64_t rows = b->share.count;
    b->batch = (click_batch){
        .bags = bags_of(s, b),
        .numbers = s->rows->numbers,
        .number = b->number,
        .sample_id = b->row,
        .next = s->options.ahead && b->key.training ? next_bags : NULL,
        .source = s,
    };
    b->targets = (train_targets){.rows = rows,
                                 .outputs = 1,
                                 .loss = TRAIN_LOSS_BCE,
                                 .labelled = s->rows->labelled,
                                 .target = b->device_target.data,
                                 .target_host = b->target,
                                 .split_host = b->split};
    if (b->key.training) {
        b->targets.counted[TRAIN_SPLIT_TRAIN] = b->share.batch;
        b->targets.loss_entries = b->share.batch;
        return; /* without a mask all rows count */
    }
    count_evaluated(s, b->key.turn.step * s->options.batch, b->share.batch, b->targets.counted);
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        b->targets.mask[m] = b->device_mask[m].data;
    }
}

static weft_status upload_rows(const weft_tensor *all, int64_t rows, const void *host)
{
    weft_tensor some = tensor_view(all, 0, rows, 0, all->cols);
    return tensor_upload(&some, host);
}

static weft_status upload(slot *b)
{
    const int64_t rows = b->share.count;
    WEFT_TRY(upload_rows(&b->device_target, rows, b->target));
    for (int m = 0; m < TRAIN_SPLITS && !b->key.training; ++m) {
        for (int64_t i = 0; i < rows; ++i) {
            b->mask[i] = b->split[i] == m;
        }
        WEFT_TRY(upload_rows(&b->device_mask[m], rows, b->mask));
    }
    return WEFT_OK;
}

static weft_status prepare(click_source *s, const train_pass *pass, train_batch *batch)
{
    int number = 0;
    WEFT_TRY(batch_loader_take(s->loader, pass, &number));
    slot *b = &s->slot[number];
    s->pass = *pass;
    describe(s, b);
    WEFT_TRY(upload(b));
    *batch = (train_batch){.input = &b->batch, .targets = &b->targets};
    batch_loader_ahead(s->loader, pass);
    return WEFT_OK;
}

static weft_status next_batch(void *self, const train_pass *pass, train_batch *batch)
{
    ACTIVITY_TRY(ACTIVITY_CLICKS, prepare(self, pass, batch));
    return WEFT_OK;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------ */

int64_t click_source_bytes(const click_rows *rows, int64_t samples, int loaders, bool ahead)
{
    const int64_t row = 8 + 8 * (int64_t)rows->fields + 4 * rows->numbers + 8 + 5, id = rows->weighted ? 12 : 8;
    return batch_loader_slots(loaders, ahead) * (samples * row + click_rows_most(rows, samples) * id);
}

static weft_status create_slot(const click_source *s, slot *b)
{
    const int64_t most = s->most, bags = most * s->rows->fields;
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_F32, most, 1, WEFT_MEM_CLICKS, &b->device_target));
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_U8, most, 1, WEFT_MEM_CLICKS, &b->device_mask[m]));
    }
    WEFT_TRY(WEFT_NEW(&b->row, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&b->at, bags + 1, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&b->id, s->most_ids, WEFT_MEM_CLICKS));
    WEFT_TRY(s->rows->weighted ? WEFT_NEW(&b->weight, s->most_ids, WEFT_MEM_CLICKS) : WEFT_OK);
    WEFT_TRY(WEFT_NEW(&b->number, most * s->rows->numbers, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&b->target, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&b->split, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&b->mask, most, WEFT_MEM_CLICKS));
    for (int64_t i = 0; i <= bags; ++i) {
        b->at[i] = i; /* where every field of a row has one id */
    }
    return WEFT_OK;
}

static void destroy_slot(slot *b)
{
    WEFT_FREE_ALL(b->row, b->at, b->id, b->weight, b->number, b->target, b->split, b->mask);
    tensor_destroy(&b->device_target);
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        tensor_destroy(&b->device_mask[m]);
    }
}

static void fill_source(click_source *s)
{
    const batch_plan training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t pass = batch_order_steps(&training), eval_steps = batch_order_steps(&evaluation);
    const int64_t asked = (s->options.epoch_rows + training.batch - 1) / training.batch;
    const int64_t steps = asked > 0 && asked < pass ? asked : pass;
    s->source = (train_source){.self = s,
                               .steps = steps > 0 ? steps : 1,
                               .eval_steps = eval_steps > 0 ? eval_steps : 1,
                               .loss_entries = s->rows->counted[TRAIN_SPLIT_TRAIN],
                               .loss = TRAIN_LOSS_BCE,
                               .outputs = 1,
                               .batch = next_batch};
    for (int64_t step = 0; step < eval_steps; ++step) {
        s->source.eval_rows +=
            batch_order_part(&evaluation, (batch_turn){.step = step, .parts = 1}, s->ranks, s->rank).count;
    }
}

static weft_status create_parts(click_source *s)
{
    const click_source_options *o = &s->options;
    fill_source(s);
    const batch_plan training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t train_rows = batch_order_most(&training, 1, s->ranks);
    const int64_t eval_rows = batch_order_most(&evaluation, 1, s->ranks);
    s->most = train_rows > eval_rows ? train_rows : eval_rows;
    s->most_ids = click_rows_most(s->rows, s->most);
    s->slots = batch_loader_slots(o->loaders, o->ahead);
    for (int i = 0; i < s->slots; ++i) {
        WEFT_TRY(create_slot(s, &s->slot[i]));
    }
    const batch_loader_desc desc = {.work = {.self = s, .begin = begin_batch, .make_row = make_row},
                                    .hal = s->hal,
                                    .source = &s->source,
                                    .parts = 1,
                                    .loaders = o->loaders,
                                    .workers = o->loaders > 0 ? o->loaders : o->threads,
                                    .peeks = o->ahead};
    return batch_loader_create(&desc, &s->loader);
}

weft_status click_source_create(weft_comm *comm, weft_hal *hal, const click_rows *rows,
                                const click_source_options *options, click_source **source)
{
    click_source *s = NULL;
    *source = NULL;
    weft_status status = WEFT_NEW_ZERO(&s, 1, WEFT_MEM_CLICKS);
    if (status == WEFT_OK) {
        s->hal = hal;
        s->rows = rows;
        s->options = *options;
        s->ranks = comm_size(comm);
        s->rank = comm_rank(comm);
        status = create_parts(s);
    }
    status = comm_agree(comm, status);
    if (status != WEFT_OK) {
        click_source_destroy(s);
        return status;
    }
    *source = s;
    return WEFT_OK;
}

void click_source_destroy(click_source *s)
{
    if (s != NULL) {
        batch_loader_destroy(s->loader);
        for (int i = 0; i < s->slots; ++i) {
            destroy_slot(&s->slot[i]);
        }
        weft_free(s);
    }
}

const train_source *click_source_of(const click_source *source)
{
    return &source->source;
}

int64_t click_source_most(const click_source *source)
{
    return source->most;
}
