/*
 * app/info/info_model.c: weft info MODEL.safetensors: the model that names and shapes tell, the metadata and the
 * tensors. The header is checked as for loading; the values are not looked at. weft info weights.npz: the arrays, and
 * where the run that describes them is.
 */
#include <stdio.h>
#include <string.h>

#include "app/info/info.h"
#include "app/info/info_text.h"
#include "base/escape.h"
#include "base/file.h"

static void print_tensor(const safetensors_entry *entry)
{
    char text[512], shape[SHAPE_TEXT_BYTES];
    snprintf(text, sizeof text, "%s %s", entry->dtype, weights_shape_text(entry->dims, entry->shape, shape));
    info_text(entry->stored, text);
}

/* What the first kind says that knows these tensors; those of another model are worth a look too. */
static weft_status print_model(safetensors_file *file, const char *path)
{
    bool known = false;
    const workload_subject subject = {.kind = SUBJECT_TENSORS, .what = path, .tensors = file};
    WEFT_TRY(info_ask(&subject, &known));
    if (!known) {
        printf("model: none that Weft knows\n");
    }
    return WEFT_OK;
}

/* Moments have a line of their own. */
static void print_metadata(const safetensors_text *text)
{
    if (strcmp(text->key, INPUT_MOMENTS_KEY_MEAN) != 0 && strcmp(text->key, INPUT_MOMENTS_KEY_DEV) != 0) {
        info_text(text->key, text->value);
    }
}

static weft_status print_moments(const safetensors_file *file, const char *path)
{
    input_moments moments;
    WEFT_TRY(input_moments_read_metadata(path, file, &moments));
    info_moments(&moments);
    input_moments_destroy(&moments);
    return WEFT_OK;
}

weft_status info_model(const char *path)
{
    safetensors_file *file = NULL;
    WEFT_TRY(safetensors_open(path, &file));
    printf("kind: safetensors, %d tensors\n", safetensors_count(file));
    weft_status status = print_model(file, path);
    status = status == WEFT_OK ? print_moments(file, path) : status;
    safetensors_text text;
    for (int i = 0; status == WEFT_OK && safetensors_metadata_at(file, i, &text); i++) {
        print_metadata(&text);
    }
    for (int i = 0; status == WEFT_OK && i < safetensors_count(file); i++) {
        print_tensor(safetensors_entry_at(file, i));
    }
    safetensors_close(file);
    return status;
}

/* ---- weights.npz ---- */

/* The folder of the file, where run.json in it says what made the weights. */
static weft_status print_run_of(const char *path)
{
    char folder[FILE_PATH_MAX], record[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash != NULL && slash > path ? (int)(slash - path) : 1;
    WEFT_TRY(file_path(folder, "%.*s", length, slash != NULL ? path : "."));
    WEFT_TRY(file_path(record, "%s/run.json", folder));
    if (file_exists(record)) {
        printf("run: %s, which weft info %s describes\n", escape_say(folder).text, escape_say(folder).text);
    }
    return WEFT_OK;
}

weft_status info_weights(const char *path)
{
    train_weights weights = {.count = 0};
    weft_status status = weights_read_npz(path, &weights);
    if (status == WEFT_OK) {
        printf("kind: weights of a model, %d arrays\n", weights.count);
        info_moments(&weights.moments);
        status = print_run_of(path);
    } else if (status == WEFT_ERR_DATA) {
        status = weft_fail_context(status, "no weights of a model (weft convert makes a store of a data set's .npz): ");
    }
    for (int i = 0; status == WEFT_OK && i < weights.count; i++) {
        const train_weight *weight = &weights.item[i];
        char shape[SHAPE_TEXT_BYTES];
        info_text(weight->name, weights_shape_text(weight->rank, weight->shape, shape));
    }
    weights_destroy(&weights);
    return status;
}
