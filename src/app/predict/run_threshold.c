/* app/predict/run_threshold.c: see app/predict/run_threshold.h. */
#include "app/predict/run_threshold.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "io/json.h"

enum { SUMMARY_MAX = 64 << 20 };

static weft_status read_threshold(const char *summary, index_threshold *threshold)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(summary, SUMMARY_MAX, &document, &root));
    const json_value *found = json_find(json_find(root, "indexes"), "threshold");
    const double value = json_number(found, "value");
    if (value >= 0.0 && value <= 1.0) {
        threshold->value = value;
        threshold->youden = json_number(found, "youden");
    }
    json_free(document);
    return WEFT_OK;
}

index_threshold run_threshold_of(const char *path)
{
    index_threshold threshold = {NAN, THRESHOLD_RUN, NAN};
    char summary[FILE_PATH_MAX];
    const char *name = strrchr(path, '/');
    weft_status status = file_path(summary, "%.*ssummary.json", name != NULL ? (int)(name + 1 - path) : 0, path);
    if (status == WEFT_OK && file_exists(summary)) {
        status = read_threshold(summary, &threshold);
    }
    if (status != WEFT_OK) {
        log_warn("%s: the run's threshold is not known", weft_error_message());
        weft_error_clear();
    }
    return threshold;
}
