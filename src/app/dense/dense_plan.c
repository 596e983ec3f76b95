/* app/dense/dense_plan.c: batches, the sizes in which they come, and the memory that a network needs for them. */
#include <assert.h>
#include <string.h>

#include "app/dense/dense_job.h"
#include "app/workload/precision.h"
#include "base/clock.h"
#include "base/log.h"
#include "train/second/capture_conv.h"

static void add_size(dense_job *job, const batch_plan *batches, batch_turn turn, const app_context *context)
{
    const batch_share share = batch_order_part(batches, turn, comm_size(context->comm), comm_rank(context->comm));
    for (int i = 0; i < job->sizes; ++i) {
        if (job->images[i] == share.count) {
            return;
        }
    }
    if (share.count > 0) {
        assert(job->sizes < DENSE_SIZES);
        job->images[job->sizes++] = share.count;
    }
}

static void add_step(dense_job *job, const batch_plan *batches, int64_t step, int asked, const app_context *context)
{
    const int parts = batch_order_parts(batches, step, asked);
    for (int part = 0; part < parts; ++part) {
        add_size(job, batches, (batch_turn){.step = step, .part = part, .parts = parts}, context);
    }
}

/* Batches are whole ones and a last one, which come in parts; ranks' shares differ by an image, so that there are few
 * sizes. */
static void plan_sizes(const workload *work)
{
    dense_job *job = work->self;
    const app_context *context = work->context;
    assert(job->sizes == 0); /* a new plan begins after dense_unbuild */
    job->evaluated = work->only != NULL ? work->only_count : image_set_evaluated(job->set);
    const batch_plan evaluation = {.samples = job->evaluated, .batch = job->batches.batch};
    const batch_plan *const list[] = {&job->batches, &evaluation};
    const int asked[] = {(int)option_int(context->options, OPT_ACCUMULATE), 1};
    for (int i = 0; i < 2; ++i) {
        const int64_t steps = batch_order_steps(list[i]);
        if (steps > 0) {
            add_step(job, list[i], 0, asked[i], context);
            add_step(job, list[i], steps - 1, asked[i], context);
        }
    }
}

/* A batch norm of one pixel an image has no deviation in a step of one image, in a part of one, or, where ranks
 * normalise by themselves, in a share of one. */
static weft_status pair_images(dense_job *job, const net_layer *norm, bool own, int accumulate)
{
    batch_plan *b = &job->batches;
    const char *net = job->net.name;
    WEFT_CHECK(b->batch >= 2, WEFT_ERR_USAGE,
               "--batch-size %lld: %s: layer %s is a batch norm of one pixel an image, which one image leaves no "
               "deviation: give at least 2, or leave the layer out",
               (long long)b->batch, net, norm->name);
    WEFT_CHECK(b->samples >= 2, WEFT_ERR_DATA,
               "%s: has %lld training images; layer %s of %s, a batch norm of one pixel an image, needs at least 2",
               job->set->name, (long long)b->samples, norm->name, net);
    WEFT_CHECK(
        accumulate <= b->batch / 2, WEFT_ERR_USAGE,
        "--accumulate %d: %s: layer %s is a batch norm of one pixel an image, and needs 2 images in a part: a batch "
        "of %lld images (--batch-size) comes in at most %lld parts",
        accumulate, net, norm->name, (long long)b->batch, (long long)b->batch / 2);
    b->least = 2;
    b->share_least = own ? 2 : 0;
    if (b->samples > b->batch && b->samples % b->batch == 1) {
        log_info("the last step of an epoch takes %lld images, as one alone would leave layer %s of %s one value a "
                 "channel to normalise",
                 (long long)b->batch + 1, norm->name, net);
    }
    return WEFT_OK;
}

static weft_status plan_batches(dense_job *job, const weft_options *o, bool training)
{
    const int accumulate = (int)option_int(o, OPT_ACCUMULATE);
    batch_plan *b = &job->batches;
    *b = (batch_plan){.samples = job->set->count[IMAGE_TRAIN], .batch = option_int(o, OPT_BATCH_SIZE)};
    if (!training) {
        return WEFT_OK;
    }
    WEFT_CHECK(accumulate <= b->batch, WEFT_ERR_USAGE,
               "--accumulate %d: a batch of %lld images (--batch-size) comes in at most %lld parts", accumulate,
               (long long)b->batch, (long long)b->batch);
    const net_layer *norm = net_norm_of_pixel(&job->net);
    WEFT_TRY(norm != NULL ? pair_images(job, norm, option_choice(o, OPT_NORM_OVER) != DENSE_NORM_ALL, accumulate)
                          : WEFT_OK);
    b->deal = job->deal.ranks > 0 ? &job->deal : NULL;
    return batch_order_check(b, accumulate);
}

/* Parameters of the network, its running statistics, and its largest layer. */
static train_memory_desc parameters_of(const network *net)
{
    train_memory_desc sum = {.dtype = WEFT_DTYPE_F32, .packs = true};
    for (int i = 0; i < net->layers; ++i) {
        const int64_t count = net_cost_of(net, i).parameters;
        sum.trained += count;
        sum.state += net->layer[i].kind == NET_NORM ? count : 0; /* mean and variance beside gamma and beta */
        sum.largest = count > sum.largest ? count : sum.largest;
    }
    return sum;
}

/* Code that the library of convolutions makes and maps when it first computes, with buffers of its own: 11 to 18 MB
 * were measured of LeNet, ResNet-20 and mlp, whatever their batches. */
static uint64_t library_bytes(const weft_hal *hal)
{
    return hal_host_visible(hal) && strncmp(hal->name, "cpu", 3) == 0 ? (uint64_t)15 << 20 : 0;
}

/* The bytes and the place of second order. */
static weft_status plan_second(workload *work)
{
    const dense_job *job = work->self;
    const app_context *context = work->context;
    const second_ranks among = {.rank = comm_rank(context->comm),
                                .ranks = comm_size(context->comm),
                                .nodes = context->nodes,
                                .rows = job->batches.batch};
    dense_model outline;
    weft_status status =
        comm_agree(context->comm, dense_model_outline(context->hal, WEFT_DTYPE_F32, &job->config, &outline));
    if (status == WEFT_OK) {
        status = second_outlook_make(context, &outline.interface, &among, UINT64_MAX, &work->second);
    }
    work->second.beside.scratch +=
        net_has_norm(&job->net) && work->second.beside.scratch > 0 ? CAPTURE_NORMED_BYTES : 0;
    dense_model_destroy(&outline);
    return status;
}

static weft_status plan_memory(workload *work)
{
    const dense_job *job = work->self;
    const app_context *context = work->context;
    const int ranks = comm_size(context->comm);
    const train_memory_desc desc = parameters_of(&job->net);
    const memory_training kept = memory_plan_training(context, !work->trained, dense_workload.shards, ranks, &desc);
    const int64_t arena = dense_model_arena_bytes(context->hal, &job->config, WEFT_DTYPE_F32);
    if (arena < 0) {
        return weft_error_code();
    }
    int64_t most = 0;
    for (int i = 0; i < job->sizes; ++i) {
        most = job->images[i] > most ? job->images[i] : most;
    }
    const uint64_t image = (uint64_t)image_set_bytes(job->set);
    const uint64_t fetched = image_set_is_spread(job->set) ? 2 * (uint64_t)ranks : 0;
    const uint64_t probes = option_real(context->options, OPT_SKEW_GUARD) > 0.0 ? sizeof(float) : 0;
    const uint64_t dealt = job->batches.deal != NULL ? (uint64_t)job->batches.samples * sizeof(int64_t) : 0;
    const uint64_t batches = (uint64_t)most * image * (2 * sizeof(float) + fetched + probes) + dealt;
    uint64_t scratch = 0;
    WEFT_TRY(dense_model_scratch_bytes(context->hal, &job->config, WEFT_DTYPE_F32, &scratch));
    scratch = scratch > kept.sync_device.scratch ? scratch : kept.sync_device.scratch;
    memory_plan *memory = &work->memory;
    *memory = (memory_plan){.cure = "use more ranks or a smaller batch (--batch-size)"};
    memory_plan_add(memory, job->set->words > 0 ? "process and texts" : "process and images", job->process);
    memory_plan_add(memory, "libraries", library_bytes(context->hal));
    memory_plan_add(memory, "batches", batches);
    memory_plan_add(memory, "activations and their gradients", (uint64_t)arena);
    memory_plan_add(memory, "parameters and optimiser", kept.parameters.kept);
    memory_plan_add(memory, "checkpoint or first weights, for a while",
                    train_memory_passing(&kept.parameters) + work->second.beside.checkpoint);
    memory_plan_add(memory, "synchronisation", kept.sync);
    if (work->second.bytes > 0) {
        memory_plan_add(memory, "second order", work->second.bytes);
        memory_plan_add(memory, "scratch of second order", work->second.beside.scratch);
    }
    memory_plan_sum(memory);
    memory->device = batches + (uint64_t)arena + kept.parameters.kept + kept.sync_device.kept + work->second.bytes +
                     work->second.beside.scratch + scratch;
    memory->beside = memory->peak - (uint64_t)arena;
    memory_plan_add(memory, "scratch of operations", scratch);
    return memory_plan_check(context, memory, option_size(context->options, OPT_MEMORY_LIMIT));
}

weft_status dense_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    dense_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const image_set *set = job->set;
    work->outputs = work->labelled ? set->classes : outputs;
    WEFT_TRY(outputs == 0 ? dense_check_lessons(o) : WEFT_OK);
    WEFT_TRY(dense_augment_of(set, o, outputs > 0, &job->augment));
    WEFT_TRY(comm_agree(context->comm, dense_open_network(o, &job->net)));
    job->net.words = set->words;
    WEFT_TRY(net_fit(&job->net, (net_size){set->height, set->width, image_set_channels(set)}, work->outputs));
    weft_dtype values;
    WEFT_TRY(precision_of(context, &values));
    WEFT_TRY(outputs == 0 ? dense_deal(work) : WEFT_OK);
    WEFT_TRY(plan_batches(job, o, outputs == 0));
    plan_sizes(work);
    job->config =
        (dense_config){.net = &job->net,
                       .norm = option_choice(o, OPT_NORM_OVER) == DENSE_NORM_ALL ? NORM_BATCH : NORM_BATCH_LOCAL,
                       .images = job->images,
                       .sizes = job->sizes,
                       .training = outputs == 0,
                       .values = values,
                       .winograd = option_choice(o, OPT_CONVOLUTION) != DENSE_CONVOLUTION_DIRECT};
    work->inputs = image_set_channels(set);
    work->shares[0] = job->batches.deal != NULL ? batch_deal_size(&job->deal, comm_rank(context->comm))
                                                : batch_order_share(set->count[IMAGE_TRAIN], set->count[IMAGE_TRAIN], 0,
                                                                    comm_size(context->comm), comm_rank(context->comm))
                                                      .count;
    job->process = clock_rss_bytes();
    WEFT_TRY(outputs == 0 ? plan_second(work) : WEFT_OK);
    return plan_memory(work);
}
