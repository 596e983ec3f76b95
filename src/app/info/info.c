/*
 * app/info/info.c: weft info: what a store, a run folder, a checkpoint or a model holds, or what this machine or build
 * is.
 *
 * A line a fact, "name: value", on stdout. A folder tells by its files what it is; a store whose name is also a word
 * that weft info knows, as hardware, is named with its folder, ./hardware.
 */
#include "app/info/info.h"

#include <assert.h>
#include <string.h>

#include "app/version/versions.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text/append.h"
#include "io/text/path_name.h"
#include "table/table.h"

enum { NAMES_MAX = 96 };

weft_status info_ask(const workload_subject *subject, bool *known)
{
    assert((subject->kind == SUBJECT_TENSORS) == (subject->tensors != NULL));
    *known = false;
    for (int i = 0; workload_list[i] != NULL && !*known; ++i) {
        if (workload_list[i]->info != NULL) {
            WEFT_TRY(workload_list[i]->info(subject, known));
        }
    }
    return WEFT_OK;
}

static bool holds(const char *folder, const char *name)
{
    char path[FILE_PATH_MAX];
    return file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path);
}

/* A folder of checkpoints holds nothing but those. */
static bool is_checkpoint(const char *folder)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') {
        length--;
    }
    return holds(folder, "manifest.xxh3") || (length >= 4 && strncmp(folder + length - 4, "ckpt", 4) == 0);
}

/* Names that the kinds know, behind those that are everybody's. */
static int collect_names(const char *names[NAMES_MAX])
{
    int count = 0;
    names[count++] = "hardware";
    names[count++] = "build";
    assert(count < NAMES_MAX);
    for (int kind = 0; workload_list[kind] != NULL; ++kind) {
        const workload_ops *ops = workload_list[kind];
        for (int i = 0; ops->info_name != NULL && ops->info_name(i) != NULL && count < NAMES_MAX; ++i) {
            names[count++] = ops->info_name(i);
        }
    }
    return count;
}

/* Nothing has this name. */
static weft_status fail_unknown(const char *what)
{
    const char *names[NAMES_MAX];
    char list[768] = "";
    const int count = collect_names(names);
    for (int i = 0; i < count; ++i) {
        text_append_item(list, sizeof list, "%s", names[i]);
    }
    const char *near = nearest_word(what, names, count);
    WEFT_CHECK(near == NULL, WEFT_ERR_NOINPUT, "%s: no such file or folder; did you mean %s?", what, near);
    return weft_fail(WEFT_ERR_NOINPUT, "%s: no such file or folder, and no name that weft info knows: there are %s",
                     what, list);
}

/* The thing that `weft info` describes: its argument, or the value of --model. */
static weft_status find_subject(const weft_options *options, const char **what)
{
    const bool argument = option_argument_count(options) > 0;
    const char *model = option_text(options, OPT_INFO_MODEL);
    WEFT_CHECK(!argument || model[0] == '\0', WEFT_ERR_USAGE, "%s and --model %s: weft info describes one of them",
               option_argument(options, 0), model);
    *what = argument ? option_argument(options, 0) : model[0] != '\0' ? model : "hardware";
    return WEFT_OK;
}

/* A file or folder that is there. */
static weft_status info_path(const char *what, bool check)
{
    const bool is_folder = holds(what, "."); /* of any name: a store may be called after the file that it was made of */
    bool known = false;
    if (holds(what, "run.json")) {
        return info_run(what);
    }
    if (!is_folder && path_ends(what, ".safetensors")) {
        return info_model(what);
    }
    if (!is_folder && path_ends(what, ".npz")) {
        return info_weights(what);
    }
    if (is_checkpoint(what)) {
        return info_checkpoint(what);
    }
    if (table_is_store(what)) {
        return info_table(what, check);
    }
    WEFT_TRY(info_ask(&(workload_subject){.kind = SUBJECT_PATH, .what = what, .check = check}, &known));
    return known
               ? WEFT_OK
               : weft_fail(WEFT_ERR_NOINPUT,
                           "%s: is no run folder, checkpoint, model or store; weft convert makes a store of a data set",
                           what);
}

weft_status app_info(const weft_options *options)
{
    const char *what;
    const bool check = option_flag(options, OPT_CHECK);
    WEFT_TRY(find_subject(options, &what));
    if (strcmp(what, "build") == 0) {
        versions_print(stdout);
        return WEFT_OK;
    }
    if (strcmp(what, "hardware") == 0) {
        return info_hardware();
    }
    bool known = false;
    WEFT_TRY(info_ask(&(workload_subject){.kind = SUBJECT_NAME, .what = what}, &known));
    if (known) {
        return WEFT_OK;
    }
    return file_exists(what) ? info_path(what, check) : fail_unknown(what);
}
