/* app/dense/dense_workload.c: see app/dense/dense_workload.h. What is told is in dense_describe.c, models on disk in
 * dense_saved.c, values of options that say "auto" in dense_auto.c. */
#include "app/dense/dense_workload.h"

#include <assert.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/dense/bench/bench_dense.h"
#include "app/dense/dense_job.h"
#include "app/dense/info/info_images.h"
#include "app/workload/precision.h"
#include "base/clock.h"
#include "base/log.h"
#include "dense/data/decode/image_decode.h"
#include "dense/dense_options.def"
#include "io/data_options.def"

/* ---- the data ---- */

static workload_claims dense_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL);
    const char *data = option_text(options, OPT_DATA);
    /* A trained model's record says what its images were normalised by. */
    const bool trained = data[0] == '\0' && !option_is_auto(options, OPT_IMAGE_MOMENTS);
    return (workload_claims){
        .model = net_is_named(model)          ? CLAIM_CERTAIN
                 : strcmp(model, "auto") == 0 ? CLAIM_POSSIBLE
                                              : CLAIM_NO,
        .data = trained || image_set_looks_like(data) ? CLAIM_CERTAIN : CLAIM_NO,
    };
}

/* The channels that the first convolution of a model reads; 0: it has none. */
static int64_t channels_of_weights(const saved_model *model)
{
    for (int i = 0; i < model->weights.count; ++i) {
        const train_weight *weight = &model->weights.item[i];
        if (weight->rank == 4) {
            return weight->shape[1];
        }
    }
    return 0;
}

/* As many as there are means to normalise by, else as the model that a training starts from reads, so that grey files
 * become colours for weights that were trained on colours; 0: what the files have. */
static int64_t channels_of(const workload *work)
{
    const weft_options *o = work->context->options;
    int64_t channels = 0;
    if (!option_is_auto(o, OPT_IMAGE_MOMENTS)) {
        channels = dense_means_of(o);
    } else if (work->start != NULL) {
        channels = option_is_auto(work->start->known, OPT_IMAGE_MOMENTS) ? channels_of_weights(work->start)
                                                                         : dense_means_of(work->start->known);
    }
    return channels == 1 || channels == 3 ? channels : 0;
}

static const char *folder_of(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void note_classes(workload *work)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    work->labelled = set->classes > 0;
    work->classes = set->classes;
    work->class_name = (const char *const *)set->class_name;
}

/* What gives these images the test split that they lack. */
static const char *test_cure_of(const image_set *set)
{
    switch (set->format) {
    case IMAGE_FORMAT_IDX:
        return "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte beside the training files hold such images";
    case IMAGE_FORMAT_CIFAR:
        return "test_batch.bin (CIFAR-10) or test.bin (CIFAR-100) beside the training files holds such images";
    case IMAGE_FORMAT_SYNTH:
        return "synth:images,...,test=N makes such images";
    default:
        return dense_workload.test_cure;
    }
}

static void describe_set(workload *work)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    const int64_t *count = set->count;
    snprintf(work->name, sizeof work->name, "%s", set->name);
    memcpy(work->hash, set->hash, sizeof work->hash);
    work->malformed = set->malformed;
    work->test_cure = test_cure_of(set);
    note_classes(work);
    if (set->classes == 0) {
        log_info("%s: %lld images of %lld x %lld x %lld, without classes", set->name, (long long)count[IMAGE_TEST],
                 (long long)set->height, (long long)set->width, (long long)set->channels);
        return;
    }
    log_info("%s: %lld/%lld/%lld images of %lld x %lld x %lld in %lld classes to train/valid/test", set->name,
             (long long)count[IMAGE_TRAIN], (long long)count[IMAGE_VALID], (long long)count[IMAGE_TEST],
             (long long)set->height, (long long)set->width, (long long)set->channels, (long long)set->classes);
    if (set->classes == 1 && !work->trained) {
        log_warn("%s: all images are of one class%s%s: there is nothing to learn", set->name,
                 set->class_name != NULL ? ", " : "", set->class_name != NULL ? set->class_name[0] : "");
    }
}

/* What a node may hold of images: as asked for, and never more than the job may have. */
static void bound_memory(const app_context *context, image_options *options)
{
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    const uint64_t most = options->memory > 0 ? options->memory : app_context_memory(context) / 2;
    if (limit > 0 && limit < most) {
        options->memory = limit;
        options->memory_flag = FLAG_MEMORY_LIMIT;
    } else if (context->memory_share < 1.0) {
        options->memory = most;
    }
}

static weft_status dense_open(workload *work, const char *folder)
{
    (void)folder;
    dense_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const char *source = option_text(o, OPT_DATA);
    WEFT_CHECK(source[0] != '\0', WEFT_ERR_USAGE,
               "%s is missing: name a folder or an archive of images, or generated ones such as synth:images",
               FLAG_DATA);
    job->channels = channels_of(work);
    image_options options = {.format = option_choice(o, OPT_IMAGE_FORMAT),
                             .channels = job->channels,
                             .path = work->path,
                             .paths = work->paths,
                             .trained = work->trained,
                             .scores_training = work->scores_training,
                             .valid = option_int(o, OPT_VALID_IMAGES),
                             .seed = (uint64_t)option_int(o, OPT_SEED),
                             .memory = option_size(o, OPT_CACHE_MEMORY),
                             .cache_folder = folder_of(option_text(o, OPT_CACHE_DIR)),
                             .cache_disk = option_size(o, OPT_CACHE_DISK),
                             .threads = context->placement.threads};
    bound_memory(context, &options);
    activity_begin(ACTIVITY_LOAD);
    weft_status status = dense_size_of(o, &options.height, &options.width);
    status = status == WEFT_OK ? image_set_open(context->comm, source, &options, &job->set) : status;
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    describe_set(work);
    return WEFT_OK;
}

static void dense_count_classes(const workload *work, int64_t *rows)
{
    image_set_count_classes(((const dense_job *)work->self)->set, rows);
}

static weft_status dense_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names)
{
    dense_job *job = work->self;
    WEFT_TRY(image_set_relabel(job->set, class_of, classes, names));
    note_classes(work);
    return WEFT_OK;
}

/* Moments of all images are measured once while the set is open. */
static weft_status dense_decide(workload *work, weft_options *options, bool training)
{
    dense_job *job = work->self;
    const bool measured = option_is_auto(options, OPT_IMAGE_MOMENTS);
    WEFT_CHECK(channels_of(work) == job->channels, WEFT_ERR_USAGE,
               "--init-weights %s: its images have other channels than those of %s, which are open: begin another job",
               work->start != NULL ? work->start->path : "(none)", work->name);
    if (measured && job->moments[0] != '\0') {
        WEFT_TRY(option_decide(options, OPT_IMAGE_MOMENTS, job->moments));
    }
    WEFT_TRY(dense_auto_decide(work->context->comm, job->set, training, options));
    if (measured) {
        snprintf(job->moments, sizeof job->moments, "%s", option_text(options, OPT_IMAGE_MOMENTS));
    }
    return WEFT_OK;
}

/* ---- the plan ---- */

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
static void plan_sizes(dense_job *job, const app_context *context)
{
    assert(job->sizes == 0); /* a new plan begins after dense_unbuild */
    job->evaluated = image_set_evaluated(job->set);
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
    return norm != NULL ? pair_images(job, norm, option_choice(o, OPT_NORM_OVER) != DENSE_NORM_ALL, accumulate)
                        : WEFT_OK;
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
    const uint64_t batches = (uint64_t)most * image * (2 * sizeof(float) + fetched);
    uint64_t scratch = 0;
    WEFT_TRY(dense_model_scratch_bytes(context->hal, &job->config, WEFT_DTYPE_F32, &scratch));
    scratch = scratch > kept.sync_device.scratch ? scratch : kept.sync_device.scratch;
    memory_plan *memory = &work->memory;
    *memory = (memory_plan){.cure = "use more ranks or a smaller batch (--batch-size)"};
    memory_plan_add(memory, "process and images", clock_rss_bytes());
    memory_plan_add(memory, "libraries", library_bytes(context->hal));
    memory_plan_add(memory, "batches", batches);
    memory_plan_add(memory, "activations and their gradients", (uint64_t)arena);
    memory_plan_add(memory, "parameters and optimiser", kept.parameters.kept);
    memory_plan_add(memory, "checkpoint or first weights, for a while", train_memory_passing(&kept.parameters));
    memory_plan_add(memory, "synchronisation", kept.sync);
    for (int i = 0; i < memory->rows; ++i) {
        memory->peak += memory->row[i].bytes;
    }
    memory->device = batches + (uint64_t)arena + kept.parameters.kept + kept.sync_device.kept + scratch;
    memory->beside = memory->peak - (uint64_t)arena;
    memory_plan_add(memory, "scratch of operations", scratch);
    return memory_plan_check(context, memory, option_size(context->options, OPT_MEMORY_LIMIT));
}

static weft_status dense_plan(workload *work, const char *folder, int64_t outputs)
{
    (void)folder;
    dense_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const image_set *set = job->set;
    work->outputs = work->labelled ? set->classes : outputs;
    WEFT_TRY(dense_augment_of(set, o, outputs > 0, &job->augment));
    WEFT_TRY(comm_agree(context->comm, dense_open_network(o, &job->net)));
    WEFT_TRY(net_fit(&job->net, (net_size){set->height, set->width, set->channels}, work->outputs));
    weft_dtype values;
    WEFT_TRY(precision_of(context, &values));
    WEFT_TRY(plan_batches(job, o, outputs == 0));
    plan_sizes(job, context);
    job->config =
        (dense_config){.net = &job->net,
                       .norm = option_choice(o, OPT_NORM_OVER) == DENSE_NORM_ALL ? NORM_BATCH : NORM_BATCH_LOCAL,
                       .images = job->images,
                       .sizes = job->sizes,
                       .training = outputs == 0,
                       .values = values,
                       .winograd = option_choice(o, OPT_CONVOLUTION) != DENSE_CONVOLUTION_DIRECT};
    work->inputs = set->channels;
    work->shares[0] = batch_order_share(set->count[IMAGE_TRAIN], set->count[IMAGE_TRAIN], 0, comm_size(context->comm),
                                        comm_rank(context->comm))
                          .count;
    return plan_memory(work);
}

/* ---- the model ---- */

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
            job->held_id[row] = share.begin + i;
            image_set_evaluated_at(job->set, share.begin + i, &split, &index);
            const int32_t label = image_set_label(job->set, split, index);
            job->answers.label[row] = label;
            job->answers.split[row] = label >= 0 ? (uint8_t)split : TRAIN_SPLIT_NONE;
        }
    }
    assert(row == source->eval_rows); /* the source counts the same batches */
}

/* Ranks count a run of the images each: a look at a label costs nothing. */
static void count_training(const workload *work, int64_t *by_class)
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
                                          .batch = option_int(o, OPT_BATCH_SIZE),
                                          .parts = (int)option_int(o, OPT_ACCUMULATE),
                                          .least = job->batches.least,
                                          .share_least = job->batches.share_least,
                                          .loaders = (int)option_int(o, OPT_LOADER_THREADS),
                                          .threads = context->placement.threads};
    WEFT_TRY(dense_model_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->config, &job->model));
    WEFT_TRY(image_source_create(context->comm, context->hal, &options, &job->source));
    return comm_agree(context->comm, load_answers(work));
}

static weft_status dense_build(workload *work)
{
    dense_job *job = work->self;
    assert(work->model == NULL && job->source == NULL); /* planned, and not built yet */
    activity_begin(ACTIVITY_PREPARE);
    weft_status status = make_model(work);
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(status);
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
    work->held = (held_rows){.total = job->evaluated, .count = work->targets->rows, .id = job->held_id};
    return WEFT_OK;
}

/* The set of images stays open, with its caches. */
static void dense_unbuild(workload *work)
{
    dense_job *job = work->self;
    dense_job left = {.set = job->set, .channels = job->channels, .used = image_set_use(job->set)};
    image_source_destroy(job->source);
    dense_model_destroy(&job->model);
    labels_destroy(&job->answers);
    weft_free(job->held_id);
    net_destroy(&job->net);
    memcpy(left.moments, job->moments, sizeof left.moments);
    *job = left;
    work->model = NULL;
    work->targets = NULL;
}

/* Which images are open, of what size and channels, and where they are kept; images that are set apart for validation
 * are drawn by the seed. */
static bool dense_needs_other_data(const workload *work, option_id id)
{
    static const option_id of_set[] = {OPT_IMAGE_FORMAT, OPT_IMAGE_SIZE, OPT_IMAGE_MOMENTS, OPT_VALID_IMAGES,
                                       OPT_CACHE_MEMORY, OPT_CACHE_DIR,  OPT_CACHE_DISK,    OPTION_NONE};
    const bool draws = option_int(work->context->options, OPT_VALID_IMAGES) > 0;
    return option_id_listed(of_set, id) || (id == OPT_SEED && draws);
}

static void dense_end(workload *work)
{
    dense_job *job = work->self;
    if (job->set != NULL) {
        dense_unbuild(work);
    }
    image_set_close(job->set);
}

/* The layers of a network of the user's own become those of the checkpoint, with a warning where its file has others by
 * now. */
static weft_status dense_adopt(const app_context *context, const checkpoint *ck)
{
    const weft_options *o = context->options;
    const char *own = ck != NULL ? checkpoint_option(ck, option_row_in(o, OPT_NETWORK)->name) : NULL;
    const char *now = option_text(o, OPT_NETWORK);
    if (own != NULL && own[0] != '\0' && now[0] != '\0' && strcmp(own, now) != 0) {
        log_warn("%s has changed since the run began, which goes on with the layers that it was begun with; for the "
                 "others start another run",
                 option_text(o, OPT_MODEL));
    }
    return app_decide_shared(context->comm, context->decided, OPT_NETWORK, own);
}

static const option_id recorded[] = {OPT_IMAGE_MOMENTS, OPT_IMAGE_SIZE, OPT_NETWORK, OPTION_NONE};
static const option_id inputs[] = {OPT_IMAGE_MOMENTS, OPTION_NONE};
/* A run keeps its network, and the hash of the data says what they are. */
static const option_id resumable[] = {OPT_NETWORK,   OPT_IMAGE_FORMAT, OPT_CACHE_MEMORY,
                                      OPT_CACHE_DIR, OPT_CACHE_DISK,   OPTION_NONE};

static const workload_activity activities[] = {
    {ACTIVITY_BATCH, "batches", 40}, {ACTIVITY_CONVOLVE, "convolve", 50}, {NULL, NULL, 0}};

static const option_id bench_uses[] = {OPT_MODEL,       OPT_BATCH_SIZE,    OPT_PRECISION,
                                       OPT_CONVOLUTION, OPT_THREAD_COUNTS, OPTION_NONE};
static const workload_bench benches[] = {{"dense", "networks on images", bench_dense, bench_uses},
                                         {NULL, NULL, NULL, NULL}};

static const char *dense_library(int i, char *text, size_t bytes)
{
    static const char *const names[] = {"JPEG", "libpng"};
    snprintf(text, bytes, "%s", i == 0 ? image_jpeg_version() : image_png_version());
    return i < 2 ? names[i] : NULL;
}

const workload_ops dense_workload = {
    .options = &dense_option_table,
    .claims = dense_claims,
    .activities = activities,
    .recorded = recorded,
    .inputs = inputs,
    .resumable = resumable,
    .data = "images",
    .field = "images",
    .rows = "images",
    .accepts = "data set of images (train-images-idx3-ubyte of MNIST; data_batch_*.bin or train.bin of CIFAR; folders "
               "train/CLASS/ of .jpg and .png; a tar of such)",
    .split_cure = "--valid-images N sets some of the training images apart",
    .test_cure = "folders test/CLASS/ beside train/CLASS/ hold such images",
    .label_cure = "weft predict answers for them; images in folders train/CLASS/ and test/CLASS/ have scores",
    .share = {{"train_images", "training images", ""}},
    .shards = SYNC_SHARDS_SAMPLED,
    .self_bytes = sizeof(dense_job),
    .open = dense_open,
    .count_classes = dense_count_classes,
    .relabel = dense_relabel,
    .decide = dense_decide,
    .adopt = dense_adopt,
    .plan = dense_plan,
    .build = dense_build,
    .count_training = count_training,
    .unbuild = dense_unbuild,
    .needs_other_data = dense_needs_other_data,
    .end = dense_end,
    .data_facts = dense_data_facts,
    .row_name = dense_row_name,
    .row_title = {"file", "image"},
    .shows_answers = true,
    .plan_facts = dense_plan_facts,
    .epoch_facts = dense_epoch_facts,
    .gather_figures = dense_gather_figures,
    .result_facts = dense_result_facts,
    .closing_facts = dense_closing_facts,
    .recognise = dense_recognise,
    .read_named = dense_read_named,
    .write_named = dense_write_named,
    .benches = benches,
    .info = dense_info,
    .info_name = net_zoo_name,
    .library = dense_library,
};
