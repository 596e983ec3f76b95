/*
 * app/cli/command_predict.c: weft eval and weft predict: a trained model on data, on any number of ranks.
 *
 * eval prints what the model is worth on the data, predict writes its answers, too (app/predict/answers.h).
 */
#include "app/cli/model_job.h"
#include "app/predict/against.h"
#include "app/predict/answers.h"
#include "base/escape.h"

typedef struct predict_work {
    answers answers;
    against_scores against; /* of --against */
    bool writes;
} predict_work;

static weft_status run(model_job *job, void *self)
{
    predict_work *w = self;
    WEFT_TRY(against_answer(&job->context, job->asked, &w->against));
    WEFT_TRY(predictor_open(&job->context, job->asked, &job->predictor));
    if (w->writes) { /* scores.json: run folders have a predictions.npy as well */
        WEFT_TRY(model_job_begin_folder(job, option_text(job->asked, OPT_PREDICT_OUT), "scores.json", "predictions"));
    }
    WEFT_TRY(predictor_load(&job->predictor, w->writes));
    WEFT_TRY(answers_make(&job->predictor, &w->answers));
    WEFT_TRY(against_compare(&job->predictor, w->answers.logits, &w->against, &w->answers.table));
    if (!w->writes) {
        return WEFT_OK;
    }
    WEFT_TRY(answers_write(&w->answers, job->folder));
    return model_job_commit_folder(job);
}

static weft_status print(const model_job *job, void *self)
{
    const predict_work *w = self;
    const table_format format = option_choice(job->asked, OPT_FORMAT_OUT);
    const bool printed = answers_print(stdout, &w->answers, format);
    if (w->writes && format == TABLE_MD) {
        printf("%spredictions: %s\n", printed ? "\n" : "", escape_say(job->out).text);
    }
    return WEFT_OK;
}

static void free_answers(void *self)
{
    predict_work *w = self;
    answers_free(&w->answers);
    against_free(&w->against);
}

static weft_status predict(const weft_options *options, bool writes)
{
    static const model_work work = {run, print, free_answers};
    predict_work *w = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&w, 1, WEFT_MEM_GENERAL));
    w->writes = writes;
    const weft_status status = model_job_run(options, &work, w);
    weft_free(w);
    return status;
}

weft_status app_eval(const weft_options *options)
{
    return predict(options, false);
}

weft_status app_predict(const weft_options *options)
{
    return predict(options, true);
}
