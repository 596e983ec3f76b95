/* app/clicks/clicks_made.c: rows that are made (clicks/synth) as data of a job: what is refused beside them, and how
 * well they can be ordered. */
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "base/log.h"
#include "base/text/append.h"
#include "train/score/metrics.h"

static bool differs(const weft_options *o, option_id id)
{
    return option_applies(option_command_of(o), id) && option_is_set(o, id) &&
           strcmp(option_value_text(o, id), option_row_in(o, id)->default_text) != 0;
}

weft_status clicks_check_made(const workload *work, const char *data)
{
    click_spec spec;
    static const option_id idle[] = {
        OPT_TARGET,     OPT_WEIGHT_COLUMN, OPT_GROUP_COLUMN,   OPT_SPLIT_COLUMN, OPT_CATEGORY,
        OPT_ID_COLUMN,  OPT_REAL,          OPT_DROP,           OPT_MISSING,      OPT_TABLE_FORMAT,
        OPT_HEADER,     OPT_QUOTE,         OPT_DECIMAL,        OPT_SPARSE,       OPT_INDEX_BASE,
        OPT_VALID_FILE, OPT_TEST_FILE,     OPT_CLICK_POSITIVE, OPT_ABSENT,
    };
    const weft_options *o = work->context->options;
    WEFT_TRY(click_spec_parse(data, &spec));
    WEFT_CHECK(work->paths <= 1, WEFT_ERR_USAGE, "%s is one of several places of data: name it alone", data);
    for (size_t i = 0; i < sizeof idle / sizeof *idle; ++i) {
        WEFT_CHECK(!differs(o, idle[i]), WEFT_ERR_USAGE,
                   "--%s is about files of tables, and rows that are made have none: leave it out",
                   option_row_in(o, idle[i])->name);
    }
    return WEFT_OK;
}

static void tell_ceiling(const double ceiling[TRAIN_SPLITS])
{
    static const char *const names[TRAIN_SPLITS] = {"Train", "Valid", "Test"};
    char text[96] = "";
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        if (ceiling[s] > 0.0) { /* NaN: one label alone */
            text_append_item(text, sizeof text, "%s: %.2f%%", names[s], 100.0 * ceiling[s]);
        }
    }
    if (text[0] != '\0') {
        log_info("ROC-AUC of what made the rows, which no model exceeds: %s", text);
    }
}

/* No model orders the rows better than the probability by which labels were drawn. */
weft_status clicks_find_ceiling(workload *work, const float *logit)
{
    const clicks_job *job = work->self;
    const app_context *context = work->context;
    const train_targets *t = &job->answers.targets;
    const metrics_desc desc = {
        .metric = TRAIN_METRIC_ROCAUC, .loss = TRAIN_LOSS_BCE, .outputs = 1, .rows = t->rows, .dtype = WEFT_DTYPE_F32};
    train_metrics metrics = {.comm = NULL};
    weft_tensor z = {.data = NULL};
    weft_status status = WEFT_OK,
                local = tensor_create(context->hal, WEFT_DTYPE_F32, t->rows, 1, WEFT_MEM_WORKSPACE, &z);
    local = local == WEFT_OK ? tensor_upload(&z, logit) : local;
    COMM_AGREED_GOTO(comm_agree(context->comm, local), local, status, done);
    WEFT_TRY_GOTO(metrics_create(context->comm, context->hal, &desc, &metrics), status, done);
    local = metrics_begin(&metrics);
    local = local == WEFT_OK ? metrics_add(&metrics, &z, t) : local;
    COMM_AGREED_GOTO(comm_agree(context->comm, local), local, status, done);
    status = metrics_end(&metrics, work->ceiling);
    if (status == WEFT_OK) {
        tell_ceiling(work->ceiling);
    }
done:
    metrics_destroy(&metrics);
    tensor_destroy(&z);
    return status;
}
