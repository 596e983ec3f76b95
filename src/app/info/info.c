/*
 * app/info/info.c: weft info: what a graph store, a run folder, a checkpoint or a model holds, or what this machine or
 * build is.
 *
 * A line a fact, "name: value", on stdout. A folder tells by its files what it is; a store that is called hardware,
 * build or like a network is named with its folder, ./hardware.
 */
#include "app/info/info.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/version/versions.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/nearest.h"
#include "dense/net/zoo.h"
#include "table/table.h"

enum { ZOO_NAMES_MAX = 64 };

void info_text(const char *name, const char *text)
{
    printf("%s: %s\n", escape_say(name).text, escape_say(text).text);
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

static bool ends_with(const char *file, const char *end)
{
    const size_t length = strlen(file);
    const size_t ending = strlen(end);
    return length > ending && strcmp(file + length - ending, end) == 0;
}

/* Nothing has this name: the networks have names, too. */
static weft_status fail_unknown(const char *what)
{
    const char *names[ZOO_NAMES_MAX + 2] = {"hardware", "build"};
    char list[512] = "";
    int count = 2;
    for (; count < ZOO_NAMES_MAX + 2 && net_zoo_name(count - 2) != NULL; count++) {
        const size_t used = strlen(list);
        names[count] = net_zoo_name(count - 2);
        snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", names[count]);
    }
    const char *near = nearest_word(what, names, count);
    WEFT_CHECK(near == NULL, WEFT_ERR_NOINPUT, "%s: no such file or folder; did you mean %s?", what, near);
    return weft_fail(WEFT_ERR_NOINPUT,
                     "%s: no such file or folder, and no network on images of that name: there are %s", what, list);
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
    if (net_is_named(what)) {
        return info_network(what);
    }
    if (!file_exists(what)) {
        return fail_unknown(what);
    }
    if (holds(what, "run.json")) {
        return info_run(what);
    }
    const bool is_folder = holds(what, "."); /* of any name: a store may be called after the file that it was made of */
    if (!is_folder && ends_with(what, ".safetensors")) {
        return info_model(what);
    }
    if (!is_folder && ends_with(what, ".npz")) {
        return info_weights(what);
    }
    if (table_is_store(what)) {
        return info_table(what, check);
    }
    return is_checkpoint(what) ? info_checkpoint(what) : info_store(what, check);
}
