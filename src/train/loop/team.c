/* train/loop/team.c: see train/loop/team.h. */
#include "train/loop/team.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "train/activities.h"

const weft_activity ACTIVITY_TEAM[1] = {{.text = "waiting for workers", .kind = ACTIVITY_COMPUTES}};

typedef enum turn { TURN_NONE, TURN_WORKER, TURN_DONE } turn;

typedef struct member {
    train_team *team;
    const train_worker *worker;
    pthread_t thread;
    weft_tensor loss;
    /* Whose the pass is, under the team's lock; all else is the worker's in TURN_WORKER, and the caller's otherwise. */
    turn turn;
    train_pass pass;
    train_batch batch;
    weft_status status;
    char message[1024];
} member;

struct train_team {
    pthread_mutex_t lock;
    pthread_cond_t asked, done;
    bool quit;
    team_loss *take_loss;
    void *self;
    int members, threads; /* threads: that were started */
    member *member;
};

/* ---- a worker ---------------------------------------------------------------------------------------------------- */

static weft_status compute(member *m)
{
    const train_model *model = m->worker->model;
    weft_tensor logits;
    WEFT_TRY(tensor_zero(&m->loss));
    WEFT_TRY(model->forward(model->self, &m->pass, &logits));
    WEFT_TRY(m->team->take_loss(m->team->self, m->batch.targets, &logits, &m->loss));
    return model->backward(model->self, &m->pass, &logits);
}

static void *worker_main(void *argument)
{
    member *m = argument;
    train_team *team = m->team;
    split_set_threads(m->worker->model->params->hal->threads);
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (m->turn != TURN_WORKER && !team->quit) {
            pthread_cond_wait(&team->asked, &team->lock);
        }
        if (m->turn != TURN_WORKER) {
            break;
        }
        pthread_mutex_unlock(&team->lock);
        m->status = compute(m);
        if (m->status != WEFT_OK) {
            (void)snprintf(m->message, sizeof m->message, "%s", weft_error_message());
        }
        pthread_mutex_lock(&team->lock);
        m->turn = TURN_DONE;
        pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

static void copy_floats(const weft_tensor *from, const weft_tensor *to)
{
    assert(from->cols == to->cols && from->dtype == WEFT_DTYPE_F32 && to->dtype == WEFT_DTYPE_F32);
    if (from->cols > 0) {
        memcpy(to->data, from->data, (size_t)from->cols * sizeof(float));
    }
}

weft_status team_begin(train_team *team, const train_pass *pass, const param_store *from)
{
    member *m = &team->member[pass->step % team->members];
    const train_worker *worker = m->worker;
    m->pass = *pass;
    m->pass.hooks = NULL;
    WEFT_TRY(worker->source->batch(worker->source->self, pass, &m->batch));
    m->pass.batch = &m->batch;
    WEFT_TRY(worker->model->fetch(worker->model->self, &m->pass));
    copy_floats(&from->value, &worker->model->params->value);
    pthread_mutex_lock(&team->lock);
    assert(m->turn == TURN_NONE);
    m->turn = TURN_WORKER;
    pthread_cond_broadcast(&team->asked);
    pthread_mutex_unlock(&team->lock);
    return WEFT_OK;
}

/* The pass is over: the worker has none. */
static void await(train_team *team, member *m)
{
    activity_begin(ACTIVITY_TEAM);
    pthread_mutex_lock(&team->lock);
    assert(m->turn != TURN_NONE);
    while (m->turn == TURN_WORKER) {
        pthread_cond_wait(&team->done, &team->lock);
    }
    m->turn = TURN_NONE;
    pthread_mutex_unlock(&team->lock);
    activity_end(ACTIVITY_TEAM);
}

weft_status team_end(train_team *team, int64_t step, param_store *to, weft_tensor *loss, const train_targets **targets)
{
    member *m = &team->member[step % team->members];
    const train_model *model = m->worker->model;
    double sum = 0.0;
    await(team, m);
    assert(m->pass.step == step);
    WEFT_CHECK(m->status == WEFT_OK, m->status, "%s", m->message);
    WEFT_TRY(model->give(model->self, &m->pass));
    copy_floats(&model->params->grad, &to->grad);
    WEFT_TRY(tensor_download(&m->loss, &sum));
    WEFT_TRY(tensor_upload(loss, &sum));
    *targets = m->batch.targets;
    return WEFT_OK;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------ */

static weft_status start(train_team *team, member *m)
{
    const int error = pthread_create(&m->thread, NULL, worker_main, m);
    WEFT_CHECK(error == 0, WEFT_ERR_RESOURCE, "worker thread %d of %d cannot be started: %s", team->threads + 1,
               team->members, strerror(error));
    team->threads += 1;
    return WEFT_OK;
}

static weft_status fill(train_team *team, const train_workers *workers)
{
    WEFT_TRY(WEFT_NEW_ZERO(&team->member, workers->count, WEFT_MEM_GENERAL));
    team->members = workers->count;
    for (int i = 0; i < team->members; ++i) {
        member *m = &team->member[i];
        const param_store *params = workers->worker[i].model->params;
        WEFT_CHECK(params->hal->mem.kind == HAL_MEM_HOST && params->dtype == WEFT_DTYPE_F32 && params->own == 0,
                   WEFT_ERR_UNSUPPORTED, "workers need parameters in float32, in the host's memory, none a rank's own");
        m->team = team;
        m->worker = &workers->worker[i];
        WEFT_TRY(tensor_create(params->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &m->loss));
    }
    for (int i = 0; i < team->members; ++i) {
        WEFT_TRY(start(team, &team->member[i]));
    }
    return WEFT_OK;
}

weft_status team_create(const train_workers *workers, team_loss *loss, void *self, train_team **out)
{
    train_team *team = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&team, 1, WEFT_MEM_GENERAL));
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->asked, NULL);
    pthread_cond_init(&team->done, NULL);
    team->take_loss = loss;
    team->self = self;
    const weft_status status = fill(team, workers);
    if (status != WEFT_OK) {
        team_destroy(team);
        return status;
    }
    *out = team;
    return WEFT_OK;
}

void team_destroy(train_team *team)
{
    if (team == NULL) {
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->quit = true;
    pthread_cond_broadcast(&team->asked);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->threads; ++i) {
        pthread_join(team->member[i].thread, NULL);
    }
    for (int i = 0; team->member != NULL && i < team->members; ++i) {
        tensor_destroy(&team->member[i].loss);
    }
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->asked);
    pthread_cond_destroy(&team->done);
    WEFT_FREE_ALL(team->member, team);
}
