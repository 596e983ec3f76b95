/* app/dense/dense_build.c: a planned network with its batches and the right answers. */
#include <assert.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/dense/dense_job.h"
#include "base/log.h"

/* The answers of all images that this rank evaluates, in the order of its batches. */
static void take_answers(const workload *work, dense_job *job)
{
    const app_context *context = work->context;
    const int64_t batch = option_int(context->options, OPT_BATCH_SIZE);
    const train_source *source = image_source_of(job->source);
    int64_t row = 0;
    for (int64_t step = 0; step < source->eval_steps && job->evaluated > 0; ++step) {
        const batch_share share =
            batch_order_share(job->evaluated, batch, step, comm_size(context->comm), comm_rank(context->comm));
        for (int64_t i = 0; i < share.count; ++i, ++row) {
            int split;
            int64_t index;
            job->held_id[row] = work->only != NULL ? work->only[share.begin + i] : share.begin + i;
            image_set_evaluated_at(job->set, job->held_id[row], &split, &index);
            const int32_t label = image_set_label(job->set, split, index);
            job->answers.label[row] = label;
            job->answers.split[row] = label >= 0 ? (uint8_t)split : TRAIN_SPLIT_NONE;
        }
    }
    assert(row == source->eval_rows); /* the source counts the same batches */
}

/* Ranks count a run of the images each: a look at a label costs nothing. */
void dense_count_training(const workload *work, int64_t *by_class)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    const weft_comm *comm = work->context->comm;
    const int64_t images = set->count[IMAGE_TRAIN];
    const batch_share share = batch_order_share(images, images, 0, comm_size(comm), comm_rank(comm));
    for (int64_t i = 0; i < share.count; ++i) {
        by_class[image_set_label(set, IMAGE_TRAIN, share.begin + i)] += 1;
    }
}

static weft_status load_answers(workload *work)
{
    dense_job *job = work->self;
    const image_set *set = job->set;
    train_targets *t = &job->answers.targets;
    *t = (train_targets){.rows = image_source_of(job->source)->eval_rows,
                         .outputs = work->outputs,
                         .loss = TRAIN_LOSS_XENT,
                         .loss_entries = set->count[IMAGE_TRAIN]};
    WEFT_TRY(labels_create(&job->answers, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&job->held_id, t->rows, WEFT_MEM_IMAGE));
    take_answers(work, job);
    if (!work->labelled) {
        return WEFT_OK;
    }
    memcpy(t->counted, set->labelled, sizeof t->counted);
    return labels_upload(&job->answers, work->context->hal);
}

static weft_status make_model(workload *work)
{
    dense_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const image_source_options options = {.set = job->set,
                                          .outputs = work->outputs,
                                          .augment = job->augment,
                                          .mixup = job->config.training ? option_real(o, OPT_MIXUP) : 0.0,
                                          .smoothing = option_real(o, OPT_LABEL_SMOOTHING),
                                          .batch = option_int(o, OPT_BATCH_SIZE),
                                          .parts = (int)option_int(o, OPT_ACCUMULATE),
                                          .least = job->batches.least,
                                          .share_least = job->batches.share_least,
                                          .probes = option_real(o, OPT_SKEW_GUARD) > 0.0 &&
                                                    comm_size(context->comm) > 1 && job->config.training,
                                          .deal = job->batches.deal,
                                          .only = work->only,
                                          .only_count = work->only_count,
                                          .loaders = (int)option_int(o, OPT_LOADER_THREADS),
                                          .threads = context->placement.threads};
    WEFT_TRY(dense_model_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->config, &job->model));
    WEFT_TRY(image_source_create(context->comm, context->hal, &options, &job->source));
    return comm_agree(context->comm, load_answers(work));
}

weft_status dense_build(workload *work)
{
    dense_job *job = work->self;
    assert(work->model == NULL && job->source == NULL); /* planned, and not built yet */
    ACTIVITY_TRY(ACTIVITY_PREPARE, make_model(work));
    if (job->model.slow > 0) {
        log_warn(
            "%d of the convolutions, %s first, have shapes that the library computes slowly: they take longer than "
            "their flops say",
            job->model.slow, job->model.slow_layer);
    }
    if (job->model.winograd > 0) {
        log_info(FLAG_CONVOLUTION " winograd: %d convolutions%s", job->model.winograd,
                 job->config.values == WEFT_DTYPE_BF16 ? "; direct rounds less" : "");
    }
    work->model = &job->model.interface;
    work->targets = &job->answers.targets;
    work->source = *image_source_of(job->source);
    work->held = (held_rows){.total = image_set_evaluated(job->set), .count = work->targets->rows, .id = job->held_id};
    return WEFT_OK;
}
