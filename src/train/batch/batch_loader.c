/* train/batch/batch_loader.c: see train/batch/batch_loader.h. */
#include "train/batch/batch_loader.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { MESSAGE_BYTES = 1024 };

/* The job of filling one slot. */
typedef struct slot_job {
    batch_key key;
    int64_t rows;
    bool travelled;              /* the job is the rows of other ranks, else those at hand */
    atomic_llong next;           /* the next row that nobody works on */
    atomic_int status;           /* the first failure */
    char message[MESSAGE_BYTES]; /* its text, written by whoever sets `status` */
} slot_job;

struct batch_loader {
    batch_loader_desc desc;
    bool travels;
    slot_job slot[BATCH_SLOTS_MOST];
    int slots;
    int taken;         /* the slot of the batch in use */
    int peeked;        /* the slot of the next batch, which somebody has looked at; -1: none */
    int ahead;         /* the slot that is filled next, or being filled */
    bool filling;      /* a job is posted and was not waited for */
    bool evaluates[2]; /* an evaluation followed the epoch before this one, and this one */
    double wait_seconds;
    /* loader threads */
    pthread_t *thread;
    int threads; /* running */
    pthread_mutex_t lock;
    pthread_cond_t posted, finished;
    uint64_t job; /* number of the job; 0: there was none */
    int busy;     /* threads that have not finished it */
    bool quit;
};

int batch_loader_slots(int loaders, bool peeks)
{
    return (loaders > 0 ? BATCH_SLOTS : 1) + peeks;
}

/* ---- names of batches -------------------------------------------------------------------------------------------- */

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

static int parts_of(const batch_loader *l, int64_t step)
{
    const train_source *source = l->desc.source;
    return source->parts != NULL ? source->parts(source->self, step, l->desc.parts) : l->desc.parts;
}

/* The epochs that were show whether evaluations follow epochs. */
static void note_turn(batch_loader *l, const batch_key *now)
{
    if (now->training && now->turn.step == 0 && now->turn.part == 0) {
        l->evaluates[0] = l->evaluates[1];
    }
    if (now->turn.step == 0 && now->turn.part == 0) {
        l->evaluates[1] = !now->training;
    }
}

static batch_key guess_next(const batch_loader *l, const batch_key *now, const train_pass *pass)
{
    const train_source *source = l->desc.source;
    const int64_t steps = now->training ? source->steps : source->eval_steps;
    batch_key next = *now;
    next.turn.part += 1;
    if (next.turn.part == next.turn.parts) {
        next.turn.part = 0;
        next.turn.step += 1;
        next.turn.parts = now->training ? parts_of(l, next.turn.step) : 1;
    }
    if (next.turn.step < steps) {
        return next;
    }
    if (source->steps == 0 || (now->training && l->evaluates[0])) {
        return (batch_key){.training = false, .turn = {.parts = 1}};
    }
    return (batch_key){
        .training = true, .seed = pass->seed, .epoch = pass->epoch + 1, .turn = {.parts = parts_of(l, 0)}};
}

/* Returns true if `next` is of the same epoch, or of the same evaluation, as `now`. */
static bool goes_on(const batch_key *now, const batch_key *next)
{
    return next->training == now->training && (next->turn.step > 0 || next->turn.part > 0);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Keeps the failure of the calling thread, unless there is an earlier one. */
static void set_failed(slot_job *to, weft_status status)
{
    int none = WEFT_OK;
    if (status != WEFT_OK && atomic_compare_exchange_strong(&to->status, &none, (int)status)) {
        snprintf(to->message, sizeof to->message, "%s", weft_error_message());
    }
}

/* Rows until there are none left, or one failed. */
static void work_on(const batch_loader *l, int slot, slot_job *to, int worker)
{
    const batch_work *work = &l->desc.work;
    for (;;) {
        const int64_t row = atomic_fetch_add(&to->next, 1);
        if (row >= to->rows || atomic_load(&to->status) != WEFT_OK) {
            return;
        }
        if (l->travels && work->travels(work->self, row) != to->travelled) {
            continue;
        }
        set_failed(to, work->make_row(work->self, slot, row, worker));
    }
}

/* ---- loader threads ---------------------------------------------------------------------------------------------- */

typedef struct loader_thread {
    batch_loader *loader;
    int number;
} loader_thread;

static void *loader_main(void *argument)
{
    const loader_thread me = *(loader_thread *)argument;
    batch_loader *l = me.loader;
    uint64_t done = 0;
    weft_free(argument);
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (l->job == done && !l->quit) {
            pthread_cond_wait(&l->posted, &l->lock);
        }
        if (l->quit) {
            break;
        }
        done = l->job;
        const int slot = l->ahead;
        pthread_mutex_unlock(&l->lock);
        work_on(l, slot, &l->slot[slot], me.number);
        pthread_mutex_lock(&l->lock);
        l->busy -= 1;
        assert(l->busy >= 0);
        if (l->busy == 0) {
            pthread_cond_signal(&l->finished);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static weft_status start_threads(batch_loader *l)
{
    WEFT_TRY(WEFT_NEW_ZERO(&l->thread, l->desc.loaders, WEFT_MEM_GENERAL));
    while (l->threads < l->desc.loaders) {
        loader_thread *me;
        WEFT_TRY(WEFT_NEW(&me, 1, WEFT_MEM_GENERAL));
        *me = (loader_thread){.loader = l, .number = l->threads};
        const int error = pthread_create(&l->thread[l->threads], NULL, loader_main, me);
        if (error != 0) {
            weft_free(me);
            return weft_fail(WEFT_ERR_RESOURCE, "thread %d of %d that prepare batches cannot be started: %s",
                             l->threads + 1, l->desc.loaders, strerror(error));
        }
        l->threads += 1;
    }
    return WEFT_OK;
}

static void stop_threads(batch_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->posted);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->threads; ++i) {
        pthread_join(l->thread[i], NULL);
    }
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Begins to make rows at hand, or those that travelled, of the slot ahead. Without loaders they are made when this
 * returns. */
static void run_job(batch_loader *l, bool travelled)
{
    slot_job *to = &l->slot[l->ahead];
    assert(l->busy == 0);
    to->travelled = travelled;
    atomic_store(&to->next, 0);
    if (l->threads > 0) {
        pthread_mutex_lock(&l->lock);
        l->job += 1;
        l->busy = l->threads;
        pthread_cond_broadcast(&l->posted);
        pthread_mutex_unlock(&l->lock);
        return;
    }
#pragma omp parallel num_threads(l->desc.workers)
    work_on(l, l->ahead, to, omp_get_thread_num());
}

static void await_job(batch_loader *l)
{
    if (l->threads > 0) {
        pthread_mutex_lock(&l->lock);
        while (l->busy > 0) {
            pthread_cond_wait(&l->finished, &l->lock);
        }
        pthread_mutex_unlock(&l->lock);
    }
}

/* Begins to fill the slot ahead. */
static void post(batch_loader *l, const batch_key *key)
{
    const batch_work *work = &l->desc.work;
    slot_job *to = &l->slot[l->ahead];
    assert(!l->filling && key->turn.part >= 0 && key->turn.part < key->turn.parts);
    to->key = *key;
    to->rows = 0;
    atomic_store(&to->status, WEFT_OK);
    l->filling = true;
    set_failed(to, work->begin(work->self, l->ahead, key, &to->rows));
    run_job(l, false);
}

static void await(batch_loader *l)
{
    const batch_work *work = &l->desc.work;
    assert(l->filling);
    await_job(l);
    if (l->travels) {
        set_failed(&l->slot[l->ahead], work->arrive(work->self));
        run_job(l, true);
        await_job(l);
    }
    l->filling = false;
}

/* Before the host writes to memory of a slot, no operation that still runs may read it. */
static weft_status let_go(weft_hal *hal)
{
    return hal_host_visible(hal) && hal->stream.sync != NULL ? hal->stream.sync(hal) : WEFT_OK;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static weft_status status_of(const slot_job *b)
{
    return atomic_load(&b->status) == WEFT_OK ? WEFT_OK
                                              : weft_fail((weft_status)atomic_load(&b->status), "%s", b->message);
}

/* The batch `key` is made in the slot ahead, unless it stands there already. */
static weft_status take_ahead(batch_loader *l, const batch_key *key)
{
    const bool guessed = l->filling;
    if (guessed) {
        await(l);
    }
    WEFT_TRY(let_go(l->desc.hal));
    if (!guessed || !same_key(&l->slot[l->ahead].key, key)) {
        post(l, key);
        await(l);
    }
    return WEFT_OK;
}

weft_status batch_loader_take(batch_loader *l, const train_pass *pass, int *slot)
{
    const batch_key key = key_of(pass);
    WEFT_CHECK(!key.training || key.turn.parts == parts_of(l, key.turn.step), WEFT_ERR_INTERNAL,
               "step %lld in %d parts from a source that was made for %d", (long long)key.turn.step, key.turn.parts,
               parts_of(l, key.turn.step));
    const double begin = clock_seconds();
    const bool peeked = l->peeked >= 0 && same_key(&l->slot[l->peeked].key, &key);
    l->taken = peeked ? l->peeked : l->ahead;
    l->peeked = -1;
    if (!peeked) {
        WEFT_TRY(take_ahead(l, &key));
    }
    l->wait_seconds += clock_seconds() - begin;
    *slot = l->taken;
    return status_of(&l->slot[l->taken]);
}

void batch_loader_ahead(batch_loader *l, const train_pass *pass)
{
    const batch_key key = l->slot[l->taken].key;
    note_turn(l, &key);
    if (l->threads == 0 || l->filling) { /* it was begun when the batch that is in use now was looked at */
        return;
    }
    const batch_key next = guess_next(l, &key, pass);
    l->ahead = (l->taken + 1) % l->slots;
    if (!l->travels || goes_on(&key, &next)) {
        post(l, &next);
    }
}

weft_status batch_loader_peek(batch_loader *l, const train_pass *pass, int *slot)
{
    const batch_key key = l->slot[l->taken].key, next = guess_next(l, &key, pass);
    assert(l->desc.peeks && !l->travels && l->peeked < 0);
    *slot = -1;
    if (!key.training || !goes_on(&key, &next)) {
        return WEFT_OK;
    }
    const double begin = clock_seconds();
    l->ahead = l->filling ? l->ahead : (l->taken + 1) % l->slots;
    WEFT_TRY(take_ahead(l, &next));
    l->wait_seconds += clock_seconds() - begin;
    l->peeked = l->ahead;
    *slot = l->peeked;
    l->ahead = (l->peeked + 1) % l->slots;
    if (l->threads > 0) {
        const batch_key behind = guess_next(l, &next, pass);
        post(l, &behind);
    }
    return status_of(&l->slot[l->peeked]);
}

/* ---- create and destroy ------------------------------------------------------------------------------------------ */

weft_status batch_loader_create(const batch_loader_desc *desc, batch_loader **loader)
{
    batch_loader *l = NULL;
    assert(desc->parts >= 1 && desc->workers >= 1 && desc->loaders >= 0 && desc->work.make_row != NULL);
    *loader = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&l, 1, WEFT_MEM_GENERAL));
    l->desc = *desc;
    l->peeked = -1;
    l->slots = batch_loader_slots(desc->loaders, desc->peeks);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->posted, NULL);
    pthread_cond_init(&l->finished, NULL);
    const weft_status status = desc->loaders > 0 ? start_threads(l) : WEFT_OK;
    if (status != WEFT_OK) {
        batch_loader_destroy(l);
        return status;
    }
    *loader = l;
    return WEFT_OK;
}

void batch_loader_destroy(batch_loader *l)
{
    if (l == NULL) {
        return;
    }
    stop_threads(l);
    weft_free(l->thread);
    pthread_cond_destroy(&l->finished);
    pthread_cond_destroy(&l->posted);
    pthread_mutex_destroy(&l->lock);
    weft_free(l);
}

void batch_loader_expect_travel(batch_loader *l)
{
    assert(!l->filling && l->job == 0 && l->desc.work.travels != NULL && l->desc.work.arrive != NULL);
    l->travels = true;
}

double batch_loader_wait_seconds(const batch_loader *l)
{
    return l->wait_seconds;
}
