/* app/dense/dense_workload.c: see app/dense/dense_workload.h. What is told is in dense_describe.c, models on disk in
 * dense_saved.c, values of options that say "auto" in dense_auto.c. */
#include "app/dense/dense_workload.h"

#include <string.h>

#include "app/activity/activity_table.h"
#include "app/dense/bench/bench_dense.h"
#include "app/dense/convert/convert_images.h"
#include "app/dense/dense_job.h"
#include "app/dense/info/info_images.h"
#include "app/setup/layer_setup.h"
#include "app/setup/second_setup.h"
#include "base/log.h"
#include "dense/data/decode/image_decode.h"

/* ---- the data ---- */

static workload_claims dense_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL), *data = option_text(options, OPT_DATA);
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

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void dense_note_classes(workload *work)
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
    dense_note_classes(work);
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

weft_status dense_check_lessons(const weft_options *o)
{
    const bool weighs = option_text(o, OPT_CLASS_WEIGHTS)[0] != '\0', mixes = option_real(o, OPT_MIXUP) > 0.0;
    const option_id other = option_real(o, OPT_LABEL_SMOOTHING) > 0.0 ? OPT_LABEL_SMOOTHING : OPT_CLASS_WEIGHTS;
    if (option_real(o, OPT_TEMPERATURE) > 0.0 && (other == OPT_LABEL_SMOOTHING || weighs)) {
        return option_contradict(o, OPT_TEMPERATURE, other, "one learns a label, the other shares of all classes");
    }
    if (mixes && option_text(o, OPT_TEACHER)[0] != '\0') {
        return option_contradict(o, OPT_MIXUP, OPT_TEACHER,
                                 "a teacher answers for images as they are, not for mixed ones");
    }
    if (mixes && weighs) {
        return option_contradict(o, OPT_MIXUP, OPT_CLASS_WEIGHTS, "a mixed image is of two classes");
    }
    return WEFT_OK;
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
                             .once = work->trained,
                             .scores_training = work->scores_training,
                             .valid = option_int(o, OPT_VALID_IMAGES),
                             .seed = (uint64_t)option_int(o, OPT_SEED),
                             .memory = option_size(o, OPT_CACHE_MEMORY),
                             .cache_folder = text_or_null(option_text(o, OPT_CACHE_DIR)),
                             .cache_disk = option_size(o, OPT_CACHE_DISK),
                             .teacher = text_or_null(option_text(o, OPT_TEACHER)),
                             .temperature = option_real(o, OPT_TEMPERATURE),
                             .choose = text_or_null(option_text(o, OPT_IMAGE_CLASSES)),
                             .learnt = work->trained && option_was_decided(o, OPT_IMAGE_CLASSES),
                             .threads = context->placement.threads,
                             .motion = option_flag(o, OPT_MOTION) || work->known != NULL,
                             .known = work->known,
                             .known_count = work->known_count};
    WEFT_CHECK(!options.motion || work->trained || options.teacher != NULL, WEFT_ERR_USAGE,
               FLAG_MOTION ": what moves has no classes to train for: weft predict answers for it, and " FLAG_TEACHER
                           " takes such answers for classes");
    WEFT_TRY(work->trained ? WEFT_OK : dense_check_lessons(o));
    bound_memory(context, &options);
    activity_begin(ACTIVITY_LOAD);
    weft_status status = dense_size_of(o, &options.height, &options.width);
    status = status == WEFT_OK ? image_set_open(context->comm, source, &options, &job->set) : status;
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    describe_set(work);
    return WEFT_OK;
}

void dense_count_classes(const workload *work, int64_t *rows)
{
    image_set_count_classes(((const dense_job *)work->self)->set, rows);
}

weft_status dense_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names)
{
    dense_job *job = work->self;
    WEFT_TRY(image_set_relabel(job->set, class_of, classes, names));
    dense_note_classes(work);
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

void dense_unbuild(workload *work)
{
    dense_job *job = work->self;
    dense_job left = {.set = job->set, .channels = job->channels, .used = image_set_use(job->set)};
    image_source_destroy(job->source);
    dense_model_destroy(&job->model);
    labels_destroy(&job->answers);
    weft_free(job->held_id);
    net_destroy(&job->net);
    batch_deal_destroy(&job->deal);
    memcpy(left.moments, job->moments, sizeof left.moments);
    *job = left;
    work->model = NULL;
    work->targets = NULL;
}

/* Which images are open, of what size and channels, and where they are kept; images that are set apart for validation
 * are drawn by the seed. */
static bool dense_needs_other_data(const workload *work, option_id id)
{
    static const option_id of_set[] = {OPT_IMAGE_FORMAT, OPT_IMAGE_SIZE,   OPT_IMAGE_MOMENTS,
                                       OPT_VALID_IMAGES, OPT_CACHE_MEMORY, OPT_CACHE_DIR,
                                       OPT_CACHE_DISK,   OPT_MOTION,       OPTION_NONE};
    const bool draws = option_int(work->context->options, OPT_VALID_IMAGES) > 0;
    return option_id_listed(of_set, id) || (id == OPT_SEED && draws);
}

void dense_end(workload *work)
{
    dense_job *job = work->self;
    if (job->set != NULL) {
        dense_unbuild(work);
    }
    image_set_close(job->set);
}

weft_status dense_adopt(const app_context *context, const checkpoint *ck)
{
    WEFT_TRY(second_setup_adopt(context, ck));
    return app_adopt_layers(context, ck, OPT_NETWORK);
}

static const option_id recorded[] = {OPT_IMAGE_MOMENTS, OPT_IMAGE_SIZE, OPT_NETWORK, OPT_IMAGE_CLASSES, OPTION_NONE};
static const option_id inputs[] = {OPT_IMAGE_MOMENTS, OPTION_NONE};
static const option_id of_data[] = {OPT_IMAGE_CLASSES, OPTION_NONE};
/* A run keeps its network, and the hash of the data says what they are. */
static const option_id resumable[] = {OPT_NETWORK,   OPT_IMAGE_FORMAT, OPT_CACHE_MEMORY,
                                      OPT_CACHE_DIR, OPT_CACHE_DISK,   OPTION_NONE};

static const workload_activity activities[] = {
    {ACTIVITY_BATCH, "batches", 40}, {ACTIVITY_CONVOLVE, "convolve", 50}, {NULL, NULL, 0}};

static const option_id bench_uses[] = {OPT_MODEL,       OPT_BATCH_SIZE,    OPT_PRECISION,
                                       OPT_CONVOLUTION, OPT_THREAD_COUNTS, OPTION_NONE};
static const workload_bench benches[] = {{"dense", "networks on images", &bench_dense, bench_uses},
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
    .of_data = of_data,
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
    .count_training = dense_count_training,
    .unbuild = dense_unbuild,
    .needs_other_data = dense_needs_other_data,
    .end = dense_end,
    .data_facts = dense_data_facts,
    .row_name = dense_row_name,
    .row_origin = dense_row_origin,
    .row_title = {"file", "image"},
    .shows_answers = true,
    .answers_some = true,
    .plan_facts = dense_plan_facts,
    .epoch_facts = dense_epoch_facts,
    .gather_figures = dense_gather_figures,
    .result_facts = dense_result_facts,
    .closing_facts = dense_closing_facts,
    .recognise = dense_recognise,
    .read_named = dense_read_named,
    .write_named = dense_write_named,
    .write_onnx = dense_write_onnx,
    .benches = benches,
    .info = dense_info,
    .info_name = net_zoo_name,
    .convert = dense_convert,
    .print_formats = dense_print_formats,
    .library = dense_library,
};
