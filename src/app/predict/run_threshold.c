/* app/predict/run_threshold.c: see app/predict/run_threshold.h. */
#include "app/predict/run_threshold.h"

#include <string.h>

#include "app/workload/saved_model.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "io/json.h"

enum { SUMMARY_MAX = 64 << 20 };

/* Rows that a threshold was chosen on flatter it. judged: word of the rows that it is judged by; on: word of the rows
 * that the run chose it on. */
static void warn_of_own_rows(const char *judged, const char *on)
{
    if (strcmp(on, "none") != 0 && (strcmp(judged, on) == 0 || strcmp(judged, "labelled") == 0)) {
        log_warn("the threshold is the one that the training run chose on its %s rows: if they are judged here, "
                 "sensitivity, specificity and accuracy are too good; " FLAG_THRESHOLD " takes another",
                 on);
    }
}

static weft_status read_threshold(const char *summary, const char *judged, index_threshold *threshold)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(summary, SUMMARY_MAX, &document, &root));
    const json_value *found = json_find(json_find(root, "indexes"), "threshold");
    const double value = json_number(found, "value");
    if (value >= 0.0 && value <= 1.0) {
        threshold->value = value;
        threshold->youden = json_number(found, "youden");
        warn_of_own_rows(judged, json_string(found, "chosen_on", "none"));
    }
    json_free(document);
    return WEFT_OK;
}

/* What the run that left the model's file chose; a file of another name may be of another run. */
static void recall_threshold(const char *model, const char *judged, index_threshold *threshold)
{
    char summary[FILE_PATH_MAX];
    const char *name = strrchr(model, '/');
    weft_status status = file_path(summary, "%.*ssummary.json", name != NULL ? (int)(name + 1 - model) : 0, model);
    if (status == WEFT_OK && saved_model_has_run_name(model) && file_exists(summary)) {
        status = read_threshold(summary, judged, threshold);
    }
    if (status != WEFT_OK) {
        log_warn("%s: the run's threshold is not known", weft_error_message());
        weft_error_clear();
    }
}

weft_status threshold_asked(const weft_options *options, const char *model, index_threshold *threshold)
{
    const char *text = option_text(options, OPT_THRESHOLD);
    *threshold = (index_threshold){NAN, THRESHOLD_RUN, NAN};
    if (strcmp(text, "auto") != 0) {
        threshold->source = THRESHOLD_GIVEN;
        WEFT_CHECK(number_parse_real(text, &threshold->value) && threshold->value >= 0.0 && threshold->value <= 1.0,
                   WEFT_ERR_USAGE, FLAG_THRESHOLD " %s: expected auto or a probability, from 0 to 1", text);
    } else if (model != NULL) {
        recall_threshold(model, option_text(options, OPT_SCORED_SPLIT), threshold);
    }
    return WEFT_OK;
}

void threshold_warn_idle(const weft_options *options, const train_targets *targets)
{
    if (!binary_targets(targets)) {
        option_warn_idle(options, OPTION_IDS(OPT_THRESHOLD, OPT_BY), "without labels of two classes");
    }
}
