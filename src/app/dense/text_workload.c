/* app/dense/text_workload.c: see app/dense/text_workload.h. */
#include "app/dense/text_workload.h"

#include <string.h>

#include "app/activity/activity_table.h"
#include "app/dense/dense_job.h"
#include "app/setup/table_setup.h"
#include "base/log.h"
#include "dense/data/texts/text_options.def"
#include "dense/data/texts/text_set.h"
#include "dense/data/texts/vocabulary.h"

/* Numbers of words come as they are. */
#define TEXT_MOMENTS "0/1"

/* Returns true if the options are of a job on texts: their model reads them, or they name a column of texts. */
static bool reads_text(const weft_options *options)
{
    return option_text(options, OPT_TEXT_COLUMN)[0] != '\0' || option_text(options, OPT_WORDS)[0] != '\0' ||
           net_zoo_reads_text(option_text(options, OPT_MODEL));
}

int64_t dense_words_of(const weft_options *options)
{
    return vocabulary_size_of_text(option_text(options, OPT_WORDS));
}

static workload_claims text_claims(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL);
    const bool reads = reads_text(options);
    const bool fits = strcmp(model, "auto") == 0 || net_is_file(model) || net_zoo_reads_text(model);
    return (workload_claims){.model = reads && fits ? CLAIM_CERTAIN : CLAIM_NO, .data = reads ? CLAIM_NAMED : CLAIM_NO};
}

static weft_status refuse(const weft_options *o, const option_id *id, const char *why)
{
    for (; *id != OPTION_NONE; ++id) {
        WEFT_CHECK(!option_is_set(o, *id), WEFT_ERR_USAGE, "--%s %s: leave it out", option_row_in(o, *id)->name, why);
    }
    return WEFT_OK;
}

/* Options of images have no meaning for words, and a trained model knows its words and their number. */
static weft_status refuse_idle(const workload *work)
{
    static const option_id of_images[] = {OPT_AUGMENT,       OPT_RANDOM_ERASE, OPT_MIXUP,       OPT_IMAGE_FORMAT,
                                          OPT_VALID_IMAGES,  OPT_CACHE_DIR,    OPT_CACHE_DISK,  OPT_MOTION,
                                          OPT_CACHE_MEMORY,  OPT_TEACHER,      OPT_TEMPERATURE, OPT_IMAGE_CLASSES,
                                          OPT_WEIGHT_COLUMN, OPT_GROUP_COLUMN, OPTION_NONE};
    static const option_id of_size[] = {OPT_IMAGE_SIZE, OPTION_NONE};
    static const option_id of_training[] = {OPT_TEXT_LENGTH, OPT_VOCABULARY, OPTION_NONE};
    const weft_options *o = work->context->options;
    const char *moments = option_text(o, OPT_IMAGE_MOMENTS);
    WEFT_TRY(refuse(o, of_images, "is not for texts"));
    WEFT_CHECK(option_is_auto(o, OPT_IMAGE_MOMENTS) || strcmp(moments, TEXT_MOMENTS) == 0, WEFT_ERR_USAGE,
               "--%s %s scales pixels and is not for texts: leave it out", option_row_in(o, OPT_IMAGE_MOMENTS)->name,
               moments);
    if (work->trained) {
        return refuse(o, of_training, "is of the training, and the model keeps it");
    }
    WEFT_CHECK(option_text(o, OPT_WORDS)[0] == '\0' || !option_is_set(o, OPT_VOCABULARY), WEFT_ERR_USAGE,
               FLAG_VOCABULARY " %lld: " FLAG_WORDS " names the words that have rows: leave one of the two out",
               (long long)option_int(o, OPT_VOCABULARY));
    return refuse(o, of_size, "is not for texts, which " FLAG_TEXT_LENGTH " cuts");
}

/* Rows of an embedding are of the words that it was trained with. [out] words: those that the options name, else those
 * of the weights that a training starts from; "": of the data. */
static weft_status find_words(const workload *work, const char **words)
{
    const weft_options *o = work->context->options;
    *words = option_text(o, OPT_WORDS);
    if (work->trained || work->start == NULL) {
        return WEFT_OK;
    }
    const char *known = option_text(work->start->known, OPT_WORDS);
    WEFT_CHECK(known[0] != '\0' || (*words)[0] != '\0', WEFT_ERR_USAGE,
               "--init-weights %s: does not say which words its rows are of: " FLAG_WORDS " names them, in their order",
               work->start->path);
    WEFT_CHECK(known[0] == '\0' || (*words)[0] == '\0' || strcmp(known, *words) == 0, WEFT_ERR_USAGE,
               FLAG_WORDS
               ": the weights of --init-weights %s are of other words, or in another order: leave " FLAG_WORDS
               " out, and its words are taken",
               work->start->path);
    WEFT_CHECK(known[0] == '\0' || !option_is_set(o, OPT_VOCABULARY), WEFT_ERR_USAGE,
               FLAG_VOCABULARY " %lld: the words are those of --init-weights %s: leave " FLAG_VOCABULARY " out",
               (long long)option_int(o, OPT_VOCABULARY), work->start->path);
    if ((*words)[0] == '\0') {
        log_info("words as for the weights of %s", work->start->path);
        *words = known;
    }
    return WEFT_OK;
}

static void describe_texts(workload *work)
{
    const image_set *set = ((const dense_job *)work->self)->set;
    snprintf(work->name, sizeof work->name, "%s", set->name);
    memcpy(work->hash, set->hash, sizeof work->hash);
    dense_note_classes(work);
    log_info("%s: %lld/%lld/%lld texts in %lld classes to train/valid/test", set->name,
             (long long)set->count[IMAGE_TRAIN], (long long)set->count[IMAGE_VALID], (long long)set->count[IMAGE_TEST],
             (long long)set->classes);
    if (set->classes == 1 && !work->trained) {
        log_warn("%s: all texts are of one class, %s: there is nothing to learn", set->name, set->class_name[0]);
    }
}

static weft_status text_open(workload *work, const char *folder)
{
    (void)folder;
    dense_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    table_places places;
    int64_t length = 0, width = 0;
    const char *words = NULL;
    WEFT_TRY(refuse_idle(work));
    WEFT_TRY(find_words(work, &words));
    WEFT_TRY(app_table_places(o, work->path, work->paths, !work->trained, &places));
    WEFT_TRY(dense_size_of(o, &length, &width));
    const text_request request = {.table = app_table_request(o),
                                  .column = option_text(o, OPT_TEXT_COLUMN),
                                  .path = places.path,
                                  .part = app_table_parts(&places, !work->trained),
                                  .paths = places.paths,
                                  .valid = option_real(o, OPT_VALID_SHARE),
                                  .test = option_real(o, OPT_TEST_SHARE),
                                  .length = work->trained || length > 0 ? length : option_int(o, OPT_TEXT_LENGTH),
                                  .vocabulary = option_int(o, OPT_VOCABULARY),
                                  .words = words};
    const image_options options = {.text = &request,
                                   .trained = work->trained,
                                   .scores_training = work->scores_training,
                                   .threads = context->placement.threads};
    activity_begin(ACTIVITY_LOAD);
    const weft_status status = image_set_open(context->comm, places.path[0], &options, &job->set);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    describe_texts(work);
    return WEFT_OK;
}

static weft_status decide_network(weft_options *options)
{
    if (option_is_auto(options, OPT_RECIPE)) {
        log_info("recipe texts (auto)");
        WEFT_TRY(option_decide(options, OPT_RECIPE, "texts"));
    }
    if (option_is_auto(options, OPT_MODEL)) {
        log_info("model encoder-small (auto)");
        WEFT_TRY(option_decide(options, OPT_MODEL, "encoder-small"));
    }
    return WEFT_OK;
}

static weft_status text_decide(workload *work, weft_options *options, bool training)
{
    const dense_job *job = work->self;
    const char *start = training && work->start != NULL ? option_text(work->start->known, OPT_WORDS) : "";
    WEFT_CHECK(start[0] == '\0' || strcmp(start, job->set->vocabulary) == 0, WEFT_ERR_USAGE,
               "--init-weights %s: its words are not those of %s, which are open: begin another job", work->start->path,
               work->name);
    WEFT_TRY(training ? decide_network(options) : WEFT_OK);
    if (option_is_auto(options, OPT_AUGMENT)) {
        WEFT_TRY(option_decide(options, OPT_AUGMENT, "none"));
    }
    if (option_is_auto(options, OPT_IMAGE_MOMENTS)) {
        WEFT_TRY(option_decide(options, OPT_IMAGE_MOMENTS, TEXT_MOMENTS));
    }
    if (option_text(options, OPT_WORDS)[0] == '\0') {
        WEFT_TRY(option_decide(options, OPT_WORDS, job->set->vocabulary));
    }
    return dense_auto_decide(work->context->comm, job->set, training, options);
}

/* The words are of the rows that train, and the length may be. */
static bool text_needs_other_data(const workload *work, option_id id)
{
    static const option_id of_set[] = {OPT_TEXT_COLUMN, OPT_TEXT_LENGTH, OPT_VOCABULARY, OPT_WORDS,
                                       OPT_IMAGE_SIZE,  OPT_VALID_SHARE, OPT_TEST_SHARE, OPTION_NONE};
    (void)work;
    return option_id_listed(of_set, id);
}

/* Beside those of networks on images, which all saved models record. */
static const option_id recorded[] = {OPT_TEXT_COLUMN, OPT_WORDS, OPTION_NONE};
static const option_id inputs[] = {OPT_IMAGE_MOMENTS, OPT_WORDS, OPTION_NONE};
static const option_id of_data[] = {OPT_TEXT_COLUMN, OPTION_NONE};
static const option_id resumable[] = {OPT_NETWORK, OPTION_NONE};
static const workload_activity activities[] = {{NULL, NULL, 0}};

const workload_ops text_workload = {
    .options = &text_option_table,
    .claims = text_claims,
    .activities = activities,
    .recorded = recorded,
    .inputs = inputs,
    .of_data = of_data,
    .resumable = resumable,
    .data = "texts",
    .field = "texts",
    .rows = "texts",
    .accepts = "table of texts",
    .split_cure = "--valid-share S draws a share of the rows",
    .test_cure = "--test-share S draws a share of the rows",
    .label_cure = "weft predict answers for them; --target names the column of the classes",
    .share = {{"train_texts", "training texts", ""}},
    .shards = SYNC_SHARDS_SAMPLED,
    .self_bytes = sizeof(dense_job),
    .open = text_open,
    .count_classes = dense_count_classes,
    .relabel = dense_relabel,
    .decide = text_decide,
    .adopt = dense_adopt,
    .plan = dense_plan,
    .build = dense_build,
    .count_training = dense_count_training,
    .unbuild = dense_unbuild,
    .needs_other_data = text_needs_other_data,
    .end = dense_end,
    .data_facts = dense_data_facts,
    .row_name = dense_row_name,
    .row_title = {"row", "text"},
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
};
