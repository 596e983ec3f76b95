/* gnn/links/link_training.c: see gnn/links/link_training.h. */
#include "gnn/links/link_training.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "train/batch/batch_order.h"

static bool has_batches(const link_training *t)
{
    return t->batch < t->set->total;
}

static batch_plan order_of(const link_training *t)
{
    return (batch_plan){.samples = t->set->total, .batch = t->batch};
}

int64_t link_training_most(const link_set *set, int64_t batch)
{
    return batch > 0 ? smaller(batch, set->positives) : set->positives;
}

int64_t link_training_steps(const link_training *t)
{
    const batch_plan order = order_of(t);
    return t->config.trains && t->batch > 0 ? batch_order_steps(&order) : 1;
}

/* ---- set-up ---- */

static weft_status make_labels(weft_hal *hal, link_training *t)
{
    const int64_t negatives = t->config.negatives;
    const int64_t rows = t->capacity * (t->config.pairwise ? negatives : 1 + negatives);
    t->labels.targets = (train_targets){.rows = rows, .outputs = 1, .loss = TRAIN_LOSS_BCE};
    WEFT_TRY(labels_create(&t->labels, WEFT_MEM_GRAPH));
    for (int64_t row = 0; row < rows; ++row) {
        t->labels.target[row] = t->config.pairwise || row < t->capacity ? 1.0F : 0.0F;
        t->labels.split[row] = TRAIN_SPLIT_TRAIN;
    }
    return labels_upload(&t->labels, hal);
}

weft_status link_training_create(weft_hal *hal, const link_set *set, const int32_t *place,
                                 const link_training_config *config, link_training *t)
{
    *t = (link_training){.config = *config, .set = set, .place = place};
    if (!config->trains) {
        return WEFT_OK;
    }
    t->batch = config->batch > 0 ? smaller(config->batch, set->total) : set->total;
    t->capacity = link_training_most(set, t->batch);
    const int64_t all = t->capacity * (1 + config->negatives);
    WEFT_TRY(WEFT_NEW(&t->link, t->capacity, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&t->a, all, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&t->b, all, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&t->id, all, WEFT_MEM_GRAPH));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_I64, all, 1, WEFT_MEM_GRAPH, &t->device_id));
    return make_labels(hal, t);
}

void link_training_destroy(link_training *t)
{
    labels_destroy(&t->labels);
    tensor_destroy(&t->device_id);
    WEFT_FREE_ALL(t->link, t->a, t->b, t->id);
    *t = (link_training){.set = NULL};
}

/* ---- a step ---- */

/* Links of this rank among positions [begin, begin + count) of the epoch's order. Returns how many. */
static int64_t choose(link_training *t, const permutation *order, int64_t begin, int64_t count)
{
    const int64_t first = t->set->first, own = t->set->positives;
    int64_t links = 0;
    for (int64_t at = begin; at < begin + count; ++at) {
        const int64_t link = (int64_t)permute(order, (uint64_t)at) - first;
        if (link >= 0 && link < own) {
            assert(links < t->capacity);
            t->link[links++] = link;
        }
    }
    return links;
}

/* [out] whole: links of the step over all ranks. Returns those of this rank, which stand in t->link. */
static int64_t choose_links(link_training *t, const train_pass *pass, int64_t *whole)
{
    if (!has_batches(t)) {
        for (int64_t i = 0; i < t->capacity; ++i) {
            t->link[i] = i;
        }
        *whole = t->set->total;
        return t->capacity;
    }
    const permutation order = batch_order(t->set->total, pass->seed, pass->epoch);
    const int64_t begin = pass->step * t->batch;
    *whole = smaller(t->batch, t->set->total - begin);
    return choose(t, &order, begin, *whole);
}

/* Both ends and the id of `links` links and their negatives. */
static void fill(link_training *t, const train_pass *pass, int64_t links)
{
    const link_set *set = t->set;
    const int64_t negatives = t->config.negatives;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < links; ++i) {
        const int64_t link = t->link[i];
        const int32_t anchor = t->place[set->anchor[link]];
        t->a[i] = anchor;
        t->b[i] = t->place[set->other[link]];
        t->id[i] = set->first + link;
        for (int64_t k = 0; k < negatives; ++k) {
            const int64_t row = (k + 1) * links + i;
            const int64_t end = link_negative(&set->rows, set->users, set->vertices, set->anchor[link],
                                              set->other[link], (uint32_t)k, pass->epoch, pass->seed);
            t->a[row] = anchor;
            t->b[row] = t->place[end];
            t->id[row] = (k + 1) * set->total + set->first + link;
        }
    }
}

/* whole: links of the step over all ranks. */
static train_targets targets_of(const link_training *t, int64_t links, int64_t whole)
{
    const int64_t terms = t->config.pairwise ? t->config.negatives : 1 + t->config.negatives;
    const int64_t skipped = t->config.pairwise ? 0 : t->capacity - links;
    train_targets targets = t->labels.targets;
    targets.rows = links * terms;
    targets.loss_entries = targets.counted[TRAIN_SPLIT_TRAIN] = whole * terms;
    if (t->capacity > 0) { /* else there are no arrays */
        targets.target += skipped;
        targets.target_host += skipped;
        targets.split_host += skipped;
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            targets.mask[s] += skipped;
        }
    }
    return targets;
}

weft_status link_training_draw(link_training *t, const train_pass *pass)
{
    assert(t->config.trains && pass->training);
    if (t->drawn && t->seed == pass->seed && t->epoch == pass->epoch && t->step == pass->step) {
        return WEFT_OK;
    }
    int64_t whole;
    const int64_t links = choose_links(t, pass, &whole), all = links * (1 + t->config.negatives);
    fill(t, pass, links);
    weft_tensor id = tensor_view(&t->device_id, 0, all, 0, 1);
    WEFT_TRY(tensor_upload(&id, t->id));
    t->links = (link_batch){.links = all,
                            .a = t->a,
                            .b = t->b,
                            .id = t->device_id.data,
                            .compared = links,
                            .against = t->config.pairwise ? t->config.negatives : 0};
    t->targets = targets_of(t, links, whole);
    t->drawn = true;
    t->seed = pass->seed;
    t->epoch = pass->epoch;
    t->step = pass->step;
    return WEFT_OK;
}
