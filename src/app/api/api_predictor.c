/* app/api/api_predictor.c: see weft/predictor.h. */
#include "weft/predictor.h"

#include <math.h>
#include <string.h>

#include "app/api/api.h"
#include "app/predict/against.h"
#include "app/predict/answers.h"
#include "app/workload/app_catalog.h"
#include "base/alloc.h"

struct weft_answers {
    app_context context;
    predictor predictor;
    answers answers;
    against_scores against; /* of option against */
    bool writes;            /* made by weft_predict */
};

static weft_status answer(const weft_options *options, weft_answers *a)
{
    WEFT_TRY(app_context_open(options, &a->context));
    const weft_options *asked = a->context.options;
    WEFT_TRY(against_answer(&a->context, asked, &a->against));
    WEFT_TRY(predictor_open(&a->context, asked, &a->predictor));
    WEFT_TRY(predictor_load(&a->predictor, a->writes));
    WEFT_TRY(answers_make(&a->predictor, &a->answers));
    return against_compare(&a->predictor, a->answers.logits, &a->against, &a->answers.table);
}

static weft_status ask(const weft_options *options, bool writes, weft_answers **out)
{
    weft_answers *made = NULL;
    *out = NULL;
    WEFT_TRY(api_check_command(options, writes ? "predict" : "eval", writes ? "weft_predict" : "weft_eval"));
    WEFT_TRY(app_set_log_level(options));
    WEFT_TRY(WEFT_NEW_ZERO(&made, 1, WEFT_MEM_GENERAL));
    made->writes = writes;
    const weft_status status = answer(options, made);
    if (status != WEFT_OK) {
        predictor_abandon(&made->predictor); /* it keeps the message */
        weft_answers_destroy(made);
        return status;
    }
    *out = made;
    return WEFT_OK;
}

weft_status weft_predict(const weft_options *options, weft_answers **out)
{
    return ask(options, true, out);
}

weft_status weft_eval(const weft_options *options, weft_answers **out)
{
    return ask(options, false, out);
}

int64_t weft_answers_rows(const weft_answers *a)
{
    return a->predictor.work->held.count;
}

int64_t weft_answers_total(const weft_answers *a)
{
    return a->predictor.work->held.total;
}

int64_t weft_answers_width(const weft_answers *a)
{
    return a->predictor.work->targets->outputs;
}

int64_t weft_answers_id(const weft_answers *a, int64_t i)
{
    return held_row_id(&a->predictor.work->held, i);
}

const float *weft_answers_values(const weft_answers *a)
{
    return a->answers.logits;
}

void weft_answers_scores(const weft_answers *a, weft_scores *scores)
{
    const score_table *table = &a->answers.table;
    *scores = (weft_scores){.labelled = table->labelled, .train = NAN, .valid = NAN, .test = NAN};
    snprintf(scores->metric, sizeof scores->metric, "%s", metric_kind_of(table->metric)->word);
    if (table->labelled) {
        scores->train = table->score[0];
        scores->valid = table->score[1];
        scores->test = table->score[2];
    }
}

/* Files turn logits into probabilities in their place: the program's numbers stay as they are. */
static weft_status write_copy(weft_answers *a, const char *folder)
{
    const size_t numbers = (size_t)(weft_answers_rows(a) * weft_answers_width(a));
    float *kept = NULL;
    WEFT_TRY(comm_agree(a->context.comm, WEFT_NEW(&kept, numbers, WEFT_MEM_WORKSPACE)));
    if (numbers > 0) {
        memcpy(kept, a->answers.logits, numbers * sizeof *kept);
    }
    const weft_status status = answers_write(&a->answers, folder);
    if (numbers > 0) {
        memcpy(a->answers.logits, kept, numbers * sizeof *kept);
    }
    weft_free(kept);
    return status;
}

weft_status weft_answers_write(weft_answers *a, const char *folder)
{
    weft_comm *comm = a->context.comm;
    const bool first = comm_rank(comm) == 0;
    WEFT_CHECK(a->writes, WEFT_ERR_USAGE, "answers of weft_eval have no files: weft_predict makes some that have");
    char temporary[FILE_PATH_MAX] = "", message[FILE_PATH_MAX];
    WEFT_TRY(comm_agree(comm, first ? folder_begin(folder, false, temporary) : WEFT_OK));
    weft_status status = write_copy(a, temporary);
    status = status == WEFT_OK && first ? folder_commit(temporary, folder, false) : status;
    status = comm_agree(comm, status);
    if (status != WEFT_OK && first && file_exists(temporary)) {
        snprintf(message, sizeof message, "%s", weft_error_message());
        (void)folder_remove(temporary);
        return weft_fail(status, "%s", message);
    }
    return status;
}

void weft_answers_destroy(weft_answers *a)
{
    if (a != NULL) {
        answers_free(&a->answers);
        against_free(&a->against);
        predictor_close(&a->predictor);
        app_context_close(&a->context);
        weft_free(a);
    }
}

/* ---- weights ---- */

struct weft_weights {
    saved_model *model;
};

weft_status weft_weights_open(const char *path, weft_weights **weights)
{
    weft_weights *made = NULL;
    *weights = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&made, 1, WEFT_MEM_GENERAL));
    const weft_status status = saved_model_open_weights(path, NULL, &made->model);
    if (status != WEFT_OK) {
        weft_weights_destroy(made);
        return status;
    }
    *weights = made;
    return WEFT_OK;
}

int weft_weights_count(const weft_weights *weights)
{
    return weights->model->weights.count;
}

const char *weft_weights_name(const weft_weights *weights, int i)
{
    return weights->model->weights.item[i].name;
}

int weft_weights_shape(const weft_weights *weights, int i, const int64_t **shape)
{
    *shape = weights->model->weights.item[i].shape;
    return weights->model->weights.item[i].rank;
}

const float *weft_weights_values(const weft_weights *weights, int i)
{
    return weights->model->weights.item[i].values;
}

void weft_weights_destroy(weft_weights *weights)
{
    if (weights != NULL) {
        saved_model_close(weights->model);
        weft_free(weights);
    }
}
