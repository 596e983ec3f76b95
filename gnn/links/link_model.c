/* gnn/links/link_model.c: see gnn/links/link_model.h. */
#include "gnn/links/link_model.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "train/activities.h"

/* ---- a pass ---- */

static weft_status batch_of(void *self, const train_pass *pass, train_batch *batch)
{
    link_model *m = self;
    *batch = (train_batch){.input = &m->judged.batch, .targets = &m->judged.labels.targets};
    if (pass->training) {
        WEFT_TRY(link_training_draw(&m->training, pass));
        *batch = (train_batch){.input = &m->training.links, .targets = &m->training.targets};
    }
    return WEFT_OK;
}

/* The pass as the encoder sees it, to which every step is an epoch: each visits all vertices, with masks of its own. */
static train_pass pass_of_encoder(const link_model *m, const train_pass *pass)
{
    train_pass of = *pass;
    if (pass->training && m->source.steps > 1) {
        of.epoch = (uint32_t)((pass->epoch - 1) * m->source.steps + pass->step + 1);
    }
    return of;
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
    *logits = tensor_view(&m->difference, 0, batch->compared * batch->against, 0, 1);
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
    const train_pass of_encoder = pass_of_encoder(m, pass);
    WEFT_TRY(m->encoder->forward(m->encoder->self, &of_encoder, &m->rows));
    m->interface.staleness = m->encoder->staleness;
    WEFT_TRY(link_ends_gather(&m->ends, &m->rows));
    ACTIVITY_TRY(ACTIVITY_LINEAR, link_decoder_forward(m->decoder, pass, batch, m->ends.row, logits));
    return compares(pass, batch) ? compare(m, batch, logits) : WEFT_OK;
}

static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    link_model *m = self;
    const link_batch *batch = pass->batch->input;
    const train_pass of_encoder = pass_of_encoder(m, pass);
    const float *coefficient, *factor;
    weft_tensor of_links = *dlogits;
    WEFT_TRY(compares(pass, batch) ? part(m, batch, dlogits, &of_links) : WEFT_OK);
    ACTIVITY_TRY(ACTIVITY_LINEAR, link_decoder_backward(m->decoder, pass, batch, &of_links, &coefficient, &factor));
    WEFT_TRY(link_ends_scatter(&m->ends, batch, coefficient, factor, &m->rows));
    return m->encoder->backward(m->encoder->self, &of_encoder, &m->rows);
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

static weft_status reserve_judged(weft_hal *hal, int64_t links, link_step *step)
{
    step->batch.links = links;
    step->labels.targets = (train_targets){.rows = links, .outputs = 1, .loss = TRAIN_LOSS_BCE};
    WEFT_TRY(WEFT_NEW(&step->a, links, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&step->b, links, WEFT_MEM_GRAPH));
    return tensor_create(hal, WEFT_DTYPE_I64, links, 1, WEFT_MEM_GRAPH, &step->id);
}

static weft_status make_judged(link_model *m)
{
    const link_list *l = &m->set->judged;
    link_step *step = &m->judged;
    WEFT_TRY(reserve_judged(m->hal, l->count, step));
    step->labels.targets.group = l->group;
    step->labels.targets.hits_at = m->config.hits_at;
    for (int64_t i = 0; i < l->count; ++i) {
        step->a[i] = m->ends.place[l->a[i]];
        step->b[i] = m->ends.place[l->b[i]];
    }
    step->batch.a = step->a;
    step->batch.b = step->b;
    step->batch.id = step->id.data;
    WEFT_TRY(tensor_upload(&step->id, l->id));
    if (!m->config.labelled) {
        return WEFT_OK;
    }
    WEFT_TRY(labels_create(&step->labels, WEFT_MEM_GRAPH));
    memcpy(step->labels.target, l->target, (size_t)l->count * sizeof *l->target);
    memcpy(step->labels.split, l->split, (size_t)l->count * sizeof *l->split);
    return WEFT_OK;
}

/* training: links and negatives of a step, at most. */
static weft_status make_steps(link_model *m, int64_t training)
{
    const link_training_config *of = &m->config.training;
    const int64_t pairs = of->pairwise && of->trains ? training - training / (1 + of->negatives) : 0;
    WEFT_TRY(link_training_create(m->hal, m->set, m->ends.place, of, &m->training));
    WEFT_TRY(make_judged(m));
    WEFT_TRY(link_decoder_create(m->hal, larger(m->judged.batch.links, training), m->decoder));
    WEFT_TRY(tensor_create(m->hal, WEFT_DTYPE_F32, pairs, 1, WEFT_MEM_ACTIVATION, &m->difference));
    return of->pairwise ? WEFT_NEW(&m->host, training, WEFT_MEM_ACTIVATION) : WEFT_OK;
}

/* Collective. */
static weft_status count_judged(link_model *m)
{
    uint64_t hash = 0;
    if (!m->config.labelled) {
        return WEFT_OK;
    }
    WEFT_TRY(labels_count(&m->judged.labels, m->comm, &hash));
    return comm_agree(m->comm, labels_upload(&m->judged.labels, m->hal));
}

weft_status link_model_create(weft_comm *comm, weft_hal *hal, const train_model *encoder, const int64_t *gid,
                              int64_t owned, const link_set *set, link_decoder *decoder,
                              const link_model_config *config, link_model *m)
{
    const link_training_config *of = &config->training;
    const int64_t training = of->trains ? link_training_most(set, of->batch) * (1 + of->negatives) : 0;
    const int64_t most = larger(set->judged.count, training);
    *m = (link_model){.comm = comm, .hal = hal, .encoder = encoder, .set = set, .decoder = decoder, .config = *config};
    WEFT_TRY(link_ends_create(comm, set->vertices, gid, owned, decoder->config.width, most, &m->ends));
    WEFT_TRY(comm_agree(comm, make_steps(m, training)));
    WEFT_TRY(count_judged(m));
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
    m->source.steps = link_training_steps(&m->training);
    m->source.loss_entries = of->trains ? set->total * (of->pairwise ? of->negatives : 1 + of->negatives) : 0;
    return WEFT_OK;
}

void link_model_destroy(link_model *m)
{
    if (m->comm == NULL) {
        return;
    }
    link_training_destroy(&m->training);
    labels_destroy(&m->judged.labels);
    tensor_destroy(&m->judged.id);
    WEFT_FREE_ALL(m->judged.a, m->judged.b);
    link_ends_destroy(&m->ends);
    tensor_destroy(&m->difference);
    weft_free(m->host);
    *m = (link_model){.comm = NULL};
}
