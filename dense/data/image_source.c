/*
 * dense/data/image_source.c: see dense/data/image_source.h.
 *
 * A slot is a batch of this rank, being filled or in use. Filling is a job: its rows are taken one by one by whoever
 * works on it, so that a slow image holds up nobody else. The caller and the loaders meet under one lock, twice a batch.
 *
 * Where images are spread over the nodes a batch is two jobs: rows at hand while the others travel, then these. Only the caller
 * talks to other ranks, and posts ahead only inside an epoch, of which all know how it goes on: nothing is on its way when a
 * training ends.
 */
#include "dense/data/image_source.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "dense/data/image_fetch.h"

const weft_activity ACTIVITY_BATCH[1] = {{.text = "batches of images", .kind = ACTIVITY_COMPUTES}};

enum { SLOTS = 2, MESSAGE_BYTES = 1024 };

/* Which batch. */
typedef struct batch_key {
    bool training;
    uint64_t seed; /* as epoch: 0 in an evaluation, which is the same in each */
    uint32_t epoch;
    image_turn turn;
} batch_key;

typedef struct slot {
    batch_key key;
    image_share share;
    permutation order; /* of the epoch, where training */
    float *pixels;     /* [rows, height, width, channels] host; the device's own memory where the host sees it */
    int64_t *id;       /* [rows] host, as are label, split and mask */
    int32_t *label;
    uint8_t *split, *mask;
    weft_tensor device_pixels, device_id, device_label, device_mask[TRAIN_SPLITS];
    image_batch batch;
    train_targets targets;
    /* the job */
    bool away;                   /* rows of other nodes, else those at hand */
    atomic_llong next;           /* row that nobody works on */
    atomic_int status;           /* the first failure, */
    char message[MESSAGE_BYTES]; /* written by whoever sets it */
} slot;

struct image_source {
    weft_hal *hal;
    image_source_options options;
    int ranks, rank;
    int64_t evaluated; /* samples of an evaluation */
    train_source source;
    slot slot[SLOTS];
    int slots;
    int64_t rows;      /* most of a batch */
    int ahead;         /* the slot that is filled next, or being filled */
    bool filling;      /* a job is posted and was not waited for */
    bool evaluates[2]; /* an evaluation followed the epoch before, and this one */
    double wait_seconds;
    image_fetch *fetch; /* NULL: all rows are at hand */
    uint8_t **scratch;  /* [workers] a sample each */
    int workers;
    /* loaders */
    pthread_t *thread;
    int threads; /* running */
    pthread_mutex_t lock;
    pthread_cond_t posted, finished;
    uint64_t job; /* number of the job, 0: none was */
    int busy;     /* loaders that have not finished it */
    bool quit;
};

/* ---- what a batch holds ---------------------------------------------------------------------------------------- */

static bool same_key(const batch_key *a, const batch_key *b)
{
    return a->training == b->training && a->seed == b->seed && a->epoch == b->epoch && a->turn.step == b->turn.step &&
           a->turn.part == b->turn.part && a->turn.parts == b->turn.parts;
}

static batch_key key_of(const train_pass *pass)
{
    return (batch_key){.training = pass->training,
                       .seed = pass->training ? pass->seed : 0,
                       .epoch = pass->training ? pass->epoch : 0,
                       .turn = {.step = pass->step, .part = pass->part, .parts = pass->parts > 1 ? pass->parts : 1}};
}

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

static image_batches batches_of(const image_source *s, bool training)
{
    const image_source_options *o = &s->options;
    return training ? (image_batches){.samples = o->set->count[IMAGE_TRAIN],
                                      .batch = o->batch,
                                      .least = o->least,
                                      .share_least = o->share_least,
                                      .drop_last = o->drop_last}
                    : (image_batches){.samples = s->evaluated, .batch = eval_batch(s)};
}

static image_share share_at(const image_source *s, bool training, image_turn turn, int rank)
{
    const image_batches batches = batches_of(s, training);
    return image_order_part(&batches, turn, s->ranks, rank);
}

static int parts_of_step(void *self, int64_t step, int parts)
{
    const image_batches batches = batches_of(self, true);
    return image_order_parts(&batches, step, parts);
}

static image_share share_of(const image_source *s, bool training, image_turn turn)
{
    return share_at(s, training, turn, s->rank);
}

/* The sample at a position of the batch's order. [out] its number over all splits. */
static void sample_at(const image_source *s, const slot *at, int64_t position, int *split, int64_t *index, int64_t *id)
{
    const int64_t *count = s->options.set->count;
    if (at->key.training) {
        *split = IMAGE_TRAIN;
        *index = (int64_t)permute(&at->order, (uint64_t)position);
        *id = *index;
        return;
    }
    image_set_evaluated_at(s->options.set, position, split, index);
    *id = count[IMAGE_TRAIN] + position;
}

static weft_status fill_row(const image_source *s, slot *to, int64_t row, uint8_t *scratch)
{
    const augment *a = &s->options.augment;
    int split;
    int64_t index;
    sample_at(s, to, to->share.begin + row, &split, &index, &to->id[row]);
    const uint8_t *pixels = scratch;
    if (to->away) {
        pixels = image_fetch_pixels(s->fetch, row);
        to->label[row] = image_set_label(s->options.set, split, index);
        image_set_note_fetched(s->options.set);
    } else {
        WEFT_TRY(image_set_read(s->options.set, split, index, scratch, &to->label[row]));
    }
    to->split[row] = to->label[row] >= 0 ? (uint8_t)split : TRAIN_SPLIT_NONE;
    float *out = to->pixels + row * a->crop_height * a->crop_width * a->channels;
    if (to->key.training) {
        augment_train(a, to->key.seed, to->key.epoch, to->id[row], pixels, out);
    } else {
        augment_plain(a, pixels, out);
    }
    return WEFT_OK;
}

/* Rows until there are none left, or one failed. */
static void work_on(const image_source *s, slot *to, int worker)
{
    for (;;) {
        const int64_t row = atomic_fetch_add(&to->next, 1);
        if (row >= to->share.count || atomic_load(&to->status) != WEFT_OK) {
            return;
        }
        if (s->fetch != NULL && image_fetch_is_away(s->fetch, row) != to->away) {
            continue;
        }
        int none = WEFT_OK;
        const weft_status status = fill_row(s, to, row, s->scratch[worker]);
        if (status != WEFT_OK && atomic_compare_exchange_strong(&to->status, &none, (int)status)) {
            snprintf(to->message, sizeof to->message, "%s", weft_error_message());
        }
    }
}

/* ---- loaders --------------------------------------------------------------------------------------------------- */

typedef struct loader {
    image_source *source;
    int number;
} loader;

static void *loader_main(void *argument)
{
    const loader me = *(loader *)argument;
    image_source *s = me.source;
    uint64_t done = 0;
    weft_free(argument);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->job == done && !s->quit) {
            pthread_cond_wait(&s->posted, &s->lock);
        }
        if (s->quit) {
            break;
        }
        done = s->job;
        slot *to = &s->slot[s->ahead];
        pthread_mutex_unlock(&s->lock);
        work_on(s, to, me.number);
        pthread_mutex_lock(&s->lock);
        s->busy -= 1;
        if (s->busy == 0) {
            pthread_cond_signal(&s->finished);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static weft_status start_loaders(image_source *s)
{
    WEFT_TRY(WEFT_NEW_ZERO(&s->thread, s->options.loaders, WEFT_MEM_GENERAL));
    while (s->threads < s->options.loaders) {
        loader *me;
        WEFT_TRY(WEFT_NEW(&me, 1, WEFT_MEM_GENERAL));
        *me = (loader){.source = s, .number = s->threads};
        const int error = pthread_create(&s->thread[s->threads], NULL, loader_main, me);
        if (error != 0) {
            weft_free(me);
            return weft_fail(WEFT_ERR_RESOURCE, "thread %d of %d that load images cannot be started: %s",
                             s->threads + 1, s->options.loaders, strerror(error));
        }
        s->threads += 1;
    }
    return WEFT_OK;
}

static void stop_loaders(image_source *s)
{
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    pthread_cond_broadcast(&s->posted);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->threads; ++i) {
        pthread_join(s->thread[i], NULL);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------------------------ */

static void set_failed(slot *to, weft_status status)
{
    if (status != WEFT_OK && atomic_load(&to->status) == WEFT_OK) {
        atomic_store(&to->status, (int)status);
        snprintf(to->message, sizeof to->message, "%s", weft_error_message());
    }
}

static image_share share_of_rank(const void *self, int rank)
{
    const image_source *s = self;
    const slot *at = &s->slot[s->ahead];
    return share_at(s, at->key.training, at->key.turn, rank);
}

static void sample_of_fetch(const void *self, int64_t position, int *split, int64_t *index)
{
    const image_source *s = self;
    int64_t id;
    sample_at(s, &s->slot[s->ahead], position, split, index, &id);
}

/* The rows at hand, or away, of the slot ahead; without loaders they are done when this returns. */
static void run_job(image_source *s, bool away)
{
    slot *to = &s->slot[s->ahead];
    to->away = away;
    atomic_store(&to->next, 0);
    if (s->threads > 0) {
        pthread_mutex_lock(&s->lock);
        s->job += 1;
        s->busy = s->threads;
        pthread_cond_broadcast(&s->posted);
        pthread_mutex_unlock(&s->lock);
        return;
    }
#pragma omp parallel num_threads(s->workers)
    work_on(s, to, omp_get_thread_num());
}

static void await_job(image_source *s)
{
    if (s->threads > 0) {
        pthread_mutex_lock(&s->lock);
        while (s->busy > 0) {
            pthread_cond_wait(&s->finished, &s->lock);
        }
        pthread_mutex_unlock(&s->lock);
    }
}

/* Begin to fill the slot ahead. */
static void post(image_source *s, const batch_key *key)
{
    slot *to = &s->slot[s->ahead];
    to->key = *key;
    to->share = share_of(s, key->training, key->turn);
    if (key->training) {
        to->order = image_order(s->options.set->count[IMAGE_TRAIN], key->seed, key->epoch);
    }
    atomic_store(&to->status, WEFT_OK);
    s->filling = true;
    if (s->fetch != NULL) {
        const image_fetch_batch batch = {.self = s, .share = share_of_rank, .sample = sample_of_fetch};
        set_failed(to, image_fetch_post(s->fetch, &batch));
    }
    run_job(s, false);
}

static void await(image_source *s)
{
    slot *to = &s->slot[s->ahead];
    await_job(s);
    if (s->fetch != NULL) {
        set_failed(to, image_fetch_wait(s->fetch));
        run_job(s, true);
        await_job(s);
    }
    s->filling = false;
}

/* Whether evaluations follow epochs is seen in those that were. */
static void note_turn(image_source *s, const batch_key *now)
{
    if (now->training && now->turn.step == 0 && now->turn.part == 0) {
        s->evaluates[0] = s->evaluates[1];
    }
    if (now->turn.step == 0 && now->turn.part == 0) {
        s->evaluates[1] = !now->training;
    }
}

/* What the training loop asks for next, as far as one can know. */
static batch_key guess_next(image_source *s, const batch_key *now, const train_pass *pass)
{
    const int64_t steps = now->training ? s->source.steps : s->source.eval_steps;
    const int parts = parts_of(&s->options);
    batch_key next = *now;
    next.turn.part += 1;
    if (next.turn.part == next.turn.parts) {
        next.turn.part = 0;
        next.turn.step += 1;
        next.turn.parts = now->training ? parts_of_step(s, next.turn.step, parts) : 1;
    }
    if (next.turn.step < steps) {
        return next;
    }
    if (s->source.steps == 0 || (now->training && s->evaluates[0])) {
        return (batch_key){.training = false, .turn = {.parts = 1}};
    }
    return (batch_key){
        .training = true, .seed = pass->seed, .epoch = pass->epoch + 1, .turn = {.parts = parts_of_step(s, 0, parts)}};
}

/* The same epoch, or the same evaluation. */
static bool goes_on(const batch_key *now, const batch_key *next)
{
    return next->training == now->training && (next->turn.step > 0 || next->turn.part > 0);
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

/* Labelled rows of each split in a batch of an evaluation, over all ranks. */
static void count_evaluated(const image_source *s, int64_t first, int64_t count, int64_t counted[TRAIN_SPLITS])
{
    for (int64_t i = 0; i < count; ++i) {
        int split;
        int64_t index;
        image_set_evaluated_at(s->options.set, first + i, &split, &index);
        counted[split] += image_set_label(s->options.set, split, index) >= 0;
    }
}

static void describe(const image_source *s, slot *b)
{
    const augment *a = &s->options.augment;
    const int64_t rows = b->share.count;
    b->batch = (image_batch){
        .pixels = tensor_view(&b->device_pixels, 0, rows * a->crop_height * a->crop_width, 0, a->channels),
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

/* Before the host writes to a slot's memory, nothing that still runs may read it. */
static weft_status let_go(const image_source *s)
{
    return hal_host_visible(s->hal) && s->hal->stream.sync != NULL ? s->hal->stream.sync(s->hal) : WEFT_OK;
}

static weft_status prepare(image_source *s, const train_pass *pass, train_batch *batch)
{
    const batch_key key = key_of(pass);
    WEFT_CHECK(!key.training || key.turn.parts == parts_of(&s->options), WEFT_ERR_INTERNAL,
               "batches in %d parts from a source that was made for %d", key.turn.parts, parts_of(&s->options));
    slot *b = &s->slot[s->ahead];
    const double begin = clock_seconds();
    const bool guessed = s->filling;
    if (guessed) {
        await(s);
    }
    WEFT_TRY(let_go(s));
    if (!guessed || !same_key(&b->key, &key)) {
        post(s, &key);
        await(s);
    }
    s->wait_seconds += clock_seconds() - begin;
    if (atomic_load(&b->status) != WEFT_OK) {
        return weft_fail((weft_status)atomic_load(&b->status), "%s", b->message);
    }
    describe(s, b);
    WEFT_TRY(upload(s, b));
    *batch = (train_batch){.input = &b->batch, .targets = &b->targets};
    note_turn(s, &key);
    if (s->threads > 0) {
        const batch_key next = guess_next(s, &key, pass);
        s->ahead = (s->ahead + 1) % s->slots;
        if (s->fetch == NULL || goes_on(&key, &next)) {
            post(s, &next);
        }
    }
    return WEFT_OK;
}

static weft_status next_batch(void *self, const train_pass *pass, train_batch *batch)
{
    activity_begin(ACTIVITY_BATCH);
    weft_status status = prepare(self, pass, batch);
    activity_end(ACTIVITY_BATCH);
    return status;
}

/* ---- create and destroy ---------------------------------------------------------------------------------------- */

static weft_status create_slot(const image_source *s, int64_t rows, slot *b)
{
    const augment *a = &s->options.augment;
    const int64_t pixels = rows * a->crop_height * a->crop_width;
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_F32, pixels, a->channels, WEFT_MEM_IMAGE, &b->device_pixels));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I64, rows, 1, WEFT_MEM_IMAGE, &b->device_id));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I32, rows, 1, WEFT_MEM_IMAGE, &b->device_label));
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_U8, rows, 1, WEFT_MEM_IMAGE, &b->device_mask[m]));
    }
    b->pixels = b->device_pixels.data;
    if (!hal_host_visible(s->hal)) {
        WEFT_TRY(WEFT_NEW(&b->pixels, pixels * a->channels, WEFT_MEM_IMAGE));
    }
    WEFT_TRY(WEFT_NEW(&b->id, rows, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&b->label, rows, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&b->split, rows, WEFT_MEM_IMAGE));
    return WEFT_NEW(&b->mask, rows, WEFT_MEM_IMAGE);
}

static void destroy_slot(const image_source *s, slot *b)
{
    if (!hal_host_visible(s->hal)) {
        weft_free(b->pixels);
    }
    weft_free(b->id);
    weft_free(b->label);
    weft_free(b->split);
    weft_free(b->mask);
    tensor_destroy(&b->device_pixels);
    tensor_destroy(&b->device_id);
    tensor_destroy(&b->device_label);
    for (int m = 0; m < TRAIN_SPLITS; ++m) {
        tensor_destroy(&b->device_mask[m]);
    }
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
    const image_batches training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t steps = image_order_steps(&training);
    const int64_t eval_steps = image_order_steps(&evaluation);
    s->source = (train_source){.self = s,
                               .steps = steps,
                               .eval_steps = eval_steps > 0 ? eval_steps : 1,
                               .loss_entries = o->drop_last && steps * o->batch < samples ? steps * o->batch : samples,
                               .loss = TRAIN_LOSS_XENT,
                               .outputs = outputs_of(o),
                               .divides = true,
                               .parts = parts_of_step,
                               .batch = next_batch};
    for (int64_t step = 0; step < eval_steps; ++step) {
        s->source.eval_rows += share_of(s, false, (image_turn){.step = step, .parts = 1}).count;
    }
}

static weft_status create_parts(image_source *s)
{
    const image_source_options *o = &s->options;
    WEFT_TRY(check_options(o));
    s->evaluated = image_set_evaluated(o->set);
    fill_source(s);
    const image_batches training = batches_of(s, true), evaluation = batches_of(s, false);
    const int64_t train_rows = image_order_most(&training, parts_of(o), s->ranks);
    const int64_t eval_rows = image_order_most(&evaluation, 1, s->ranks);
    s->slots = o->loaders > 0 ? SLOTS : 1;
    s->rows = train_rows > eval_rows ? train_rows : eval_rows;
    for (int i = 0; i < s->slots; ++i) {
        WEFT_TRY(create_slot(s, s->rows, &s->slot[i]));
    }
    s->workers = o->loaders > 0 ? o->loaders : o->threads;
    WEFT_TRY(WEFT_NEW_ZERO(&s->scratch, s->workers, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < s->workers; ++i) {
        WEFT_TRY(WEFT_NEW(&s->scratch[i], image_set_bytes(o->set), WEFT_MEM_WORKSPACE));
    }
    return o->loaders > 0 ? start_loaders(s) : WEFT_OK;
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
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->posted, NULL);
        pthread_cond_init(&s->finished, NULL);
        status = create_parts(s);
    }
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? image_fetch_create(comm, options->set, s->rows, &s->fetch) : status;
    if (status != WEFT_OK) {
        image_source_destroy(s);
        return status;
    }
    *source = s;
    return WEFT_OK;
}

void image_source_destroy(image_source *s)
{
    if (s == NULL) {
        return;
    }
    stop_loaders(s);
    for (int i = 0; i < s->slots; ++i) {
        destroy_slot(s, &s->slot[i]);
    }
    for (int i = 0; i < s->workers && s->scratch != NULL; ++i) {
        weft_free(s->scratch[i]);
    }
    weft_free(s->scratch);
    weft_free(s->thread);
    image_fetch_destroy(s->fetch);
    pthread_cond_destroy(&s->finished);
    pthread_cond_destroy(&s->posted);
    pthread_mutex_destroy(&s->lock);
    weft_free(s);
}

const train_source *image_source_of(const image_source *source)
{
    return &source->source;
}

double image_source_wait_seconds(const image_source *source)
{
    return source->wait_seconds;
}
