/* app/cli/command_export.c: weft export MODEL --out FILE.safetensors, FILE.onnx of networks on images, FILE.json of
 * trees, or FILE.npy of rows of embeddings. */
#include <string.h>
#include <strings.h>

#include "app/cli/command.h"
#include "app/workload/saved_model.h"
#include "app/workload/workload.h"
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

/* The ending of a file's name with its dot, or "" where it has none. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot > name ? dot : "";
}

/* A kind whose models are files of its own (workload_ops.model_file) has such a file copied. */
static weft_status write_own(const saved_model *model, const char *out)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(out, &writer));
    const weft_status status = file_write(&writer, model->own, model->own_bytes);
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    WEFT_TRY(file_writer_commit(&writer));
    log_info("%s: from %s", out, model->path);
    return WEFT_OK;
}

/* FILE.npy, and FILE-keys.npy. */
static weft_status write_rows(const saved_model *model, const weft_options *options)
{
    const char *out = option_text(options, OPT_EXPORT_OUT);
    const workload_ops *ops = workload_of(model->known);
    const size_t stem = strlen(out) - strlen(ending_of(out));
    char keys[FILE_PATH_MAX];
    WEFT_CHECK(ops->write_rows != NULL, WEFT_ERR_USAGE,
               "--out %s: arrays of NumPy are for rows of embeddings, which models on %s have not: name it "
               "FILE.safetensors; weights.npz in the run folder has the weights as arrays",
               out, ops->field);
    WEFT_CHECK(snprintf(keys, sizeof keys, "%.*s-keys.npy", (int)stem, out) < (int)sizeof keys, WEFT_ERR_USAGE,
               "--out %s: the path is too long", out);
    WEFT_CHECK(option_flag(options, OPT_FORCE) || !file_exists(keys), WEFT_ERR_USAGE,
               "%s: exists already; choose another name, or replace it with --force", keys);
    return ops->write_rows(model, out, keys);
}

static weft_status write_onnx(const saved_model *model, const char *out)
{
    const workload_ops *ops = workload_of(model->known);
    WEFT_CHECK(ops->write_onnx != NULL, WEFT_ERR_USAGE,
               "--out %s: ONNX is for networks on images, and this is a model on %s: name it FILE.%s", out, ops->field,
               model->own != NULL ? "json" : "safetensors");
    WEFT_TRY(ops->write_onnx(model, out));
    log_info("%s: %d layers, from %s", out, model->layers, model->path);
    return WEFT_OK;
}

static weft_status write_as_asked(const saved_model *model, const weft_options *options)
{
    const char *out = option_text(options, OPT_EXPORT_OUT);
    if (model->own == NULL && strcmp(ending_of(out), ".npy") == 0) {
        return write_rows(model, options);
    }
    if (strcmp(ending_of(out), ".onnx") == 0) {
        return write_onnx(model, out);
    }
    const bool json = strcmp(ending_of(out), ".json") == 0;
    WEFT_CHECK(json == (model->own != NULL), WEFT_ERR_USAGE, "--out %s: %s", out,
               json ? "JSON is for trees: name it FILE.safetensors"
                    : "trees are written as JSON that XGBoost reads: name it FILE.json");
    return json ? write_own(model, out) : write_model(model, options);
}

/* Few formats are written: a name that stands for another would deceive whoever loads the file. */
static weft_status check_ending(const char *out)
{
    static const struct {
        const char *ending, *cure;
    } cures[] = {
        {".npz", "; weights.npz in the run folder has the weights as arrays of NumPy"},
        {".onnx", "; ONNX, of networks on images, is FILE.onnx in small letters"},
        {".h5", "; safetensors.numpy.load_file reads it for other programs"},
    };
    const char *ending = ending_of(out);
    const char *cure = "; model.load_state_dict(safetensors.torch.load_file(FILE)) reads it in PyTorch";
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++) {
        cure = strcasecmp(ending, cures[i].ending) == 0 ? cures[i].cure : cure;
    }
    static const char *const endings[] = {"", ".safetensors", ".onnx", ".json", ".npy"};
    bool known = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        known = known || strcmp(ending, endings[i]) == 0;
    }
    WEFT_CHECK(
        known, WEFT_ERR_USAGE,
        "--out %s: weft export writes safetensors, networks on images as FILE.onnx, trees as FILE.json, and rows "
        "of embeddings as FILE.npy: name it FILE.safetensors%s",
        out, cure);
    return WEFT_OK;
}

weft_status app_export(const weft_options *options)
{
    const char *out = option_text(options, OPT_EXPORT_OUT);
    saved_model *model = NULL;
    WEFT_CHECK(out[0] != '\0', WEFT_ERR_USAGE, "--out FILE.safetensors is needed: the file to write");
    WEFT_TRY(check_ending(out));
    WEFT_CHECK(option_flag(options, OPT_FORCE) || !file_exists(out), WEFT_ERR_USAGE,
               "%s: exists already; choose another name, or replace it with --force", out);
    weft_status status = saved_model_open(option_argument(options, 0), options, &model);
    status = status == WEFT_OK ? write_as_asked(model, options) : status;
    saved_model_close(model);
    return status;
}
