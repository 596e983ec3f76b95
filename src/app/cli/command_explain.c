/*
 * app/cli/command_explain.c: weft explain: what each input adds to a trained model's answers, on any number of ranks.
 *
 * The folder that it writes stands in the run folder of the model, where weft report finds it.
 */
#include "app/cli/model_job.h"
#include "app/explain/explain_file.h"
#include "base/escape.h"

typedef struct explain_work {
    explain_request how;
    explanation found;
} explain_work;

static weft_status read_request(const weft_options *o, explain_request *how)
{
    WEFT_TRY(option_check_rules(o));
    *how = (explain_request){.pairs = option_flag(o, OPT_EXPLAIN_PAIRS),
                             .against = option_flag(o, OPT_EXPLAIN_AGAINST),
                             .background = option_text(o, OPT_EXPLAIN_BACKGROUND),
                             .background_rows = option_int(o, OPT_EXPLAIN_ROWS),
                             .seed = (uint64_t)option_int(o, OPT_EXPLAIN_SEED)};
    return how->pairs && how->against
               ? option_contradict(o, OPT_EXPLAIN_PAIRS, OPT_EXPLAIN_AGAINST,
                                   "pairs are explained by the paths of the model, not against a background")
               : WEFT_OK;
}

/* --out; else `explain` in the run folder, or one of its own for a model without a run folder. */
static weft_status choose_folder(const weft_options *o, char path[FILE_PATH_MAX])
{
    const char *out = option_text(o, OPT_EXPLAIN_OUT), *model = option_text(o, OPT_CHECKPOINT);
    char manifest[FILE_PATH_MAX];
    WEFT_TRY(file_path(manifest, "%s/run.json", model));
    return out[0] != '\0'          ? file_path(path, "%s", out)
           : file_exists(manifest) ? file_path(path, "%s/explain", model)
                                   : file_path(path, "weft-explanation");
}

static weft_status write_files(model_job *job, const explanation *found)
{
    weft_comm *comm = job->context.comm;
    WEFT_TRY(contributions_write(&found->parts, job->folder));
    const weft_status status =
        comm_rank(comm) == 0 ? explain_write(found, job->predictor.model->path, job->folder) : WEFT_OK;
    WEFT_TRY(comm_agree(comm, status));
    return model_job_commit_folder(job);
}

static weft_status run(model_job *job, void *self)
{
    explain_work *w = self;
    char out[FILE_PATH_MAX];
    WEFT_TRY(read_request(job->asked, &w->how));
    WEFT_TRY(predictor_open(&job->context, job->asked, &job->predictor));
    const workload_ops *ops = workload_of(job->predictor.options);
    WEFT_CHECK(ops->explain != NULL, WEFT_ERR_UNSUPPORTED, "models on %s do not say what each input adds to an answer",
               ops->field);
    WEFT_TRY(choose_folder(job->asked, out));
    WEFT_TRY(model_job_begin_folder(job, out, "contributions.npy", "explanations"));
    WEFT_TRY(predictor_load(&job->predictor, true));
    WEFT_TRY(explanation_make(&job->predictor, &w->how, (int)option_int(job->asked, OPT_EXPLAIN_TOP), &w->found));
    return write_files(job, &w->found);
}

static weft_status print(const model_job *job, void *self)
{
    const explain_work *w = self;
    const table_format format = option_choice(job->asked, OPT_FORMAT_OUT);
    WEFT_TRY(explain_print(stdout, &w->found, job->predictor.model->path, format));
    if (format == TABLE_MD) {
        printf("\nexplanation: %s\n", escape_say(job->out).text);
    }
    return WEFT_OK;
}

static void free_explanation(void *self)
{
    explanation_free(&((explain_work *)self)->found);
}

weft_status app_explain(const weft_options *options)
{
    static const model_work work = {run, print, free_explanation};
    explain_work *w = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&w, 1, WEFT_MEM_GENERAL));
    const weft_status status = model_job_run(options, &work, w);
    weft_free(w);
    return status;
}
