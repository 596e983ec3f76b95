/* app/cli/command_export.c: weft export MODEL --out FILE.safetensors. */
#include "app/cli/command.h"
#include "app/workload/saved_model.h"
#include "base/log.h"

static weft_status write_model(const saved_model *model, const weft_options *options)
{
    const char *out = option_text(options, OPT_EXPORT_OUT);
    WEFT_CHECK(option_is_set(model->known, OPT_MODEL), WEFT_ERR_USAGE,
               "%s does not say what model its weights belong to, and no run.json is beside it: say --model (and "
               "--aggregator)",
               model->path);
    WEFT_TRY(saved_model_export(model, out));
    log_info("%s: %d layers, %d tensors, from %s", out, model->layers, model->weights.count, model->path);
    return WEFT_OK;
}

weft_status app_export(const weft_options *options)
{
    const char *out = option_text(options, OPT_EXPORT_OUT);
    saved_model *model = NULL;
    WEFT_CHECK(out[0] != '\0', WEFT_ERR_USAGE, "--out FILE.safetensors is needed: the file to write");
    WEFT_CHECK(option_flag(options, OPT_FORCE) || !file_exists(out), WEFT_ERR_USAGE,
               "%s: exists already; choose another name, or replace it with --force", out);
    weft_status status = saved_model_open(option_argument(options, 0), options, &model);
    status = status == WEFT_OK ? write_model(model, options) : status;
    saved_model_close(model);
    return status;
}
