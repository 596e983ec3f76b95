/* gnn/links/link_model.c: see gnn/links/link_model.h. */
#include "gnn/links/link_model.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "train/activities.h"

/* ---- a pass ---- */

/* The negatives of an epoch. */
static void draw(link_model *m, const train_pass *pass)
{
    const link_set *set = m->set;
    const int64_t links = set->positives, negatives = m->config.negatives;
    if (m->drawn && m->seed == pass->seed && m->epoch == pass->epoch) {
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < links; ++i) {
        for (int64_t k = 0; k < negatives; ++k) {
            const int64_t end = link_negative(&set->rows, set->users, set->vertices, set->anchor[i], set->other[i],
                                              (uint32_t)k, pass->epoch, pass->seed);
            m->training.b[(k + 1) * links + i] = m->ends.place[end];
        }
    }
    m->drawn = true;
    m->seed = pass->seed;
    m->epoch = pass->epoch;
}

static weft_status batch_of(void *self, const train_pass *pass, train_batch *batch)
{
    link_model *m = self;
    link_step *step = pass->training ? &m->training : &m->judged;
    if (pass->training) {
        draw(m, pass);
    }
    *batch = (train_batch){.input = &step->batch, .targets = &step->labels.targets};
    return WEFT_OK;
}

static bool compares(const train_pass *pass, const link_batch *batch)
{
    return pass->training && batch->against > 0;
}

/* Logits of links become differences from those of their negatives. */
static weft_status compare(link_model *m, const link_batch *batch, weft_tensor *logits)
{
    WEFT_TRY(tensor_download(logits, m->host));
    for (int64_t k = batch->against; k > 0; --k) { /* from the end, where difference k - 1 takes the place of nothing */
        for (int64_t i = 0; i < batch->compared; ++i) {
            m->host[k * batch->compared + i] = m->host[i] - m->host[k * batch->compared + i];
        }
    }
    *logits = m->difference;
    return tensor_upload(logits, m->host + batch->compared);
}

/* The gradient of differences becomes that of links and negatives, in the logits' memory. */
static weft_status part(link_model *m, const link_batch *batch, const weft_tensor *dlogits, weft_tensor *of_links)
{
    *of_links = tensor_view(&m->decoder->logit, 0, batch->links, 0, 1);
    memset(m->host, 0, (size_t)batch->compared * sizeof *m->host);
    WEFT_TRY(tensor_download(dlogits, m->host + batch->compared));
    for (int64_t k = 1; k <= batch->against; ++k) {
        for (int64_t i = 0; i < batch->compared; ++i) {
            float *of = m->host + k * batch->compared + i;
            m->host[i] += *of;
            *of = -*of;
        }
    }
    return tensor_upload(of_links, m->host);
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    link_model *m = self;
    const link_batch *batch = pass->batch->input;
    WEFT_TRY(m->encoder->forward(m->encoder->self, pass, &m->rows));
    m->interface.staleness = m->encoder->staleness;
    WEFT_TRY(link_ends_gather(&m->ends, &m->rows));
    ACTIVITY_TRY(ACTIVITY_LINEAR, link_decoder_forward(m->decoder, pass, batch, m->ends.row, logits));
    return compares(pass, batch) ? compare(m, batch, logits) : WEFT_OK;
}

static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    link_model *m = self;
    const link_batch *batch = pass->batch->input;
    const float *coefficient, *factor;
    weft_tensor of_links = *dlogits;
    WEFT_TRY(compares(pass, batch) ? part(m, batch, dlogits, &of_links) : WEFT_OK);
    ACTIVITY_TRY(ACTIVITY_LINEAR, link_decoder_backward(m->decoder, pass, batch, &of_links, &coefficient, &factor));
    WEFT_TRY(link_ends_scatter(&m->ends, batch, coefficient, factor, &m->rows));
    return m->encoder->backward(m->encoder->self, pass, &m->rows);
}

static weft_status state(void *self, const sync_buffer **buffer, int *count)
{
    const train_model *encoder = ((link_model *)self)->encoder;
    return encoder->state(encoder->self, buffer, count);
}

static weft_status restored(void *self)
{
    const train_model *encoder = ((link_model *)self)->encoder;
    return encoder->restored(encoder->self);
}

/* ---- set-up ---- */

static weft_status reserve_step(weft_hal *hal, int64_t links, int64_t rows, link_step *step)
{
    step->batch.links = links;
    step->labels.targets = (train_targets){.rows = rows, .outputs = 1, .loss = TRAIN_LOSS_BCE};
    WEFT_TRY(WEFT_NEW(&step->a, links, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&step->b, links, WEFT_MEM_GRAPH));
    return tensor_create(hal, WEFT_DTYPE_I64, links, 1, WEFT_MEM_GRAPH, &step->id);
}

/* id: [links] of this rank's links. */
static weft_status finish_step(link_step *step, const int64_t *id)
{
    step->batch.a = step->a;
    step->batch.b = step->b;
    WEFT_TRY(tensor_upload(&step->id, id));
    step->batch.id = step->id.data;
    return WEFT_OK;
}

/* Links, then negative k of each, k from 0. */
static weft_status make_training(link_model *m)
{
    const link_set *set = m->set;
    const int64_t links = set->positives, negatives = m->config.trains ? m->config.negatives : 0;
    const int64_t all = m->config.trains ? links * (1 + negatives) : 0;
    link_step *step = &m->training;
    int64_t *id = NULL;
    WEFT_TRY(reserve_step(m->hal, all, m->config.pairwise ? links * negatives : all, step));
    WEFT_TRY(labels_create(&step->labels, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&id, all, WEFT_MEM_WORKSPACE));
    for (int64_t at = 0; at < all; ++at) {
        const int64_t i = at % links, k = at / links;
        id[at] = k * set->total + set->first + i;
        step->a[at] = m->ends.place[set->anchor[i]];
        step->b[at] = m->ends.place[set->other[i]]; /* of negatives until they are drawn */
    }
    for (int64_t row = 0; row < step->labels.targets.rows; ++row) {
        step->labels.target[row] = m->config.pairwise || row < links ? 1.0F : 0.0F;
        step->labels.split[row] = TRAIN_SPLIT_TRAIN;
    }
    step->batch.compared = links;
    step->batch.against = m->config.pairwise ? negatives : 0;
    const weft_status status = finish_step(step, id);
    weft_free(id);
    return status;
}

static weft_status make_judged(link_model *m)
{
    const link_list *l = &m->set->judged;
    link_step *step = &m->judged;
    WEFT_TRY(reserve_step(m->hal, l->count, l->count, step));
    step->labels.targets.group = l->group;
    step->labels.targets.hits_at = m->config.hits_at;
    for (int64_t i = 0; i < l->count; ++i) {
        step->a[i] = m->ends.place[l->a[i]];
        step->b[i] = m->ends.place[l->b[i]];
    }
    WEFT_TRY(finish_step(step, l->id));
    if (!m->config.labelled) {
        return WEFT_OK;
    }
    WEFT_TRY(labels_create(&step->labels, WEFT_MEM_GRAPH));
    memcpy(step->labels.target, l->target, (size_t)l->count * sizeof *l->target);
    memcpy(step->labels.split, l->split, (size_t)l->count * sizeof *l->split);
    return WEFT_OK;
}

static weft_status make_steps(link_model *m)
{
    const int64_t pairs = m->config.pairwise && m->config.trains ? m->set->positives * m->config.negatives : 0;
    WEFT_TRY(make_training(m));
    WEFT_TRY(make_judged(m));
    const int64_t most =
        m->judged.batch.links > m->training.batch.links ? m->judged.batch.links : m->training.batch.links;
    WEFT_TRY(link_decoder_create(m->hal, most, m->decoder));
    WEFT_TRY(tensor_create(m->hal, WEFT_DTYPE_F32, pairs, 1, WEFT_MEM_ACTIVATION, &m->difference));
    return m->config.pairwise ? WEFT_NEW(&m->host, m->training.batch.links, WEFT_MEM_ACTIVATION) : WEFT_OK;
}

/* Collective. */
static weft_status count_labels(link_model *m)
{
    link_step *const steps[] = {&m->training, &m->judged};
    for (int i = 0; i < 2; ++i) {
        uint64_t hash = 0;
        const bool labelled = i == 0 ? m->config.trains : m->config.labelled;
        WEFT_TRY(labelled ? labels_count(&steps[i]->labels, m->comm, &hash) : WEFT_OK);
        WEFT_TRY(comm_agree(m->comm, labelled ? labels_upload(&steps[i]->labels, m->hal) : WEFT_OK));
    }
    return WEFT_OK;
}

weft_status link_model_create(weft_comm *comm, weft_hal *hal, const train_model *encoder, const int64_t *gid,
                              int64_t owned, const link_set *set, link_decoder *decoder,
                              const link_model_config *config, link_model *m)
{
    const int64_t training = config->trains ? set->positives * (1 + config->negatives) : 0;
    const int64_t most = set->judged.count > training ? set->judged.count : training;
    *m = (link_model){.comm = comm, .hal = hal, .encoder = encoder, .set = set, .decoder = decoder, .config = *config};
    WEFT_TRY(link_ends_create(comm, set->vertices, gid, owned, decoder->config.width, most, &m->ends));
    WEFT_TRY(comm_agree(comm, make_steps(m)));
    WEFT_TRY(count_labels(m));
    const bool keeps = encoder->state != NULL;
    m->interface = (train_model){.name = "links",
                                 .self = m,
                                 .params = encoder->params,
                                 .forward = forward,
                                 .backward = backward,
                                 .state = keeps ? state : NULL,
                                 .restored = keeps ? restored : NULL};
    m->source = source_whole(&m->judged.labels.targets);
    m->source.self = m;
    m->source.batch = batch_of;
    m->source.loss_entries = m->training.labels.targets.loss_entries;
    return WEFT_OK;
}

static void destroy_step(link_step *step)
{
    labels_destroy(&step->labels);
    tensor_destroy(&step->id);
    WEFT_FREE_ALL(step->a, step->b);
}

void link_model_destroy(link_model *m)
{
    if (m->comm == NULL) {
        return;
    }
    destroy_step(&m->training);
    destroy_step(&m->judged);
    link_ends_destroy(&m->ends);
    tensor_destroy(&m->difference);
    weft_free(m->host);
    *m = (link_model){.comm = NULL};
}
