/*
 * app/cli/command_predict.c: weft eval and weft predict: a trained model on data, on any number of ranks.
 *
 * eval prints what the model is worth on the data, predict writes its answers, too (app/predict/answers.h).
 */
#include <assert.h>

#include "app/cli/command.h"
#include "app/cli/signals.h"
#include "app/predict/against.h"
#include "app/predict/answers.h"
#include "base/escape.h"
#include "base/log.h"

typedef struct predict_job {
    app_context context;
    const weft_options *asked;
    predictor predictor;
    answers answers;
    against_scores against;     /* of the model of --against */
    char folder[FILE_PATH_MAX]; /* rank 0 of weft predict: folder of the answers, until it is renamed to --out */
} predict_job;

/* Only what looks like predictions is replaced, whatever --force says; run folders have a predictions.npy as well. */
static weft_status begin_folder(predict_job *p)
{
    const char *out = option_text(p->asked, OPT_PREDICT_OUT);
    bool force = option_flag(p->asked, OPT_FORCE);
    char scores[FILE_PATH_MAX];
    WEFT_TRY(file_path(scores, "%s/scores.json", out));
    WEFT_CHECK(!force || !file_exists(out) || file_exists(scores), WEFT_ERR_USAGE,
               "%s: exists and holds no scores.json: --force replaces folders of predictions only", out);
    WEFT_TRY(folder_begin(out, force, p->folder));
    signals_remove_empty(p->folder);
    return WEFT_OK;
}

static weft_status write_answers(predict_job *p)
{
    weft_status status = WEFT_OK;
    assert(comm_rank(p->context.comm) != 0 || p->folder[0] != '\0'); /* begin_folder made it */
    WEFT_TRY(answers_write(&p->answers, p->folder));
    if (comm_rank(p->context.comm) == 0) {
        status = folder_commit(p->folder, option_text(p->asked, OPT_PREDICT_OUT), option_flag(p->asked, OPT_FORCE));
        p->folder[0] = '\0';
    }
    return comm_agree(p->context.comm, status);
}

static weft_status run(predict_job *p, bool writes)
{
    weft_comm *comm = p->context.comm;
    WEFT_TRY(against_answer(&p->context, p->asked, &p->against));
    WEFT_TRY(predictor_open(&p->context, p->asked, &p->predictor));
    WEFT_TRY(comm_agree(comm, writes && comm_rank(comm) == 0 ? begin_folder(p) : WEFT_OK));
    WEFT_TRY(predictor_load(&p->predictor, writes));
    WEFT_TRY(answers_make(&p->predictor, &p->answers));
    WEFT_TRY(against_compare(&p->predictor, p->answers.logits, &p->against, &p->answers.table));
    return writes ? write_answers(p) : WEFT_OK;
}

/* Nothing half-done stays; the message of what went wrong does. */
static weft_status clean_up(predict_job *p, weft_status status)
{
    char message[FILE_PATH_MAX];
    predictor_abandon(&p->predictor);
    snprintf(message, sizeof message, "%s", weft_error_message());
    const bool first = p->context.comm != NULL && comm_rank(p->context.comm) == 0;
    if (first && p->folder[0] != '\0' && file_exists(p->folder) && folder_remove(p->folder) != WEFT_OK) {
        log_warn("left behind: %s", weft_error_message());
    }
    weft_error_clear();
    return status != WEFT_OK && message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

static void print_result(const predict_job *p, bool writes)
{
    const table_format format = option_choice(p->asked, OPT_FORMAT_OUT);
    const bool printed = answers_print(stdout, &p->answers, format);
    if (writes && format == TABLE_MD) {
        printf("%spredictions: %s\n", printed ? "\n" : "", escape_say(option_text(p->asked, OPT_PREDICT_OUT)).text);
    }
}

static weft_status run_and_print(predict_job *p, const weft_options *options, bool writes)
{
    const app_context *context = &p->context;
    weft_status status = app_context_open(options, &p->context);
    if (status == WEFT_OK) {
        p->asked = context->options;
        status = run(p, writes);
    }
    status = clean_up(p, status);
    if (status != WEFT_OK) {
        app_context_fail(context, status);
    } else if (comm_rank(context->comm) == 0) {
        print_result(p, writes);
    }
    return status;
}

static weft_status predict(const weft_options *options, bool writes)
{
    predict_job *p = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&p, 1, WEFT_MEM_GENERAL));
    weft_status status = run_and_print(p, options, writes);
    answers_free(&p->answers);
    against_free(&p->against);
    predictor_close(&p->predictor);
    app_context_close(&p->context);
    weft_free(p);
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
