/*
 * app/options/option_arguments.c: options and arguments taken for each other.
 *
 * An option whose value the command takes as an argument (weft report --run-dir run), and an argument that belongs
 * behind an option (weft train graph).
 */
#include <string.h>

#include "app/options/app_options.h"
#include "base/file.h"

bool option_is_argument(const option_command *command, const char *name)
{
    static const option_id given[] = {OPT_DATA, OPT_CHECKPOINT, OPT_RUN_DIR};
    const bool takes = command->max_arguments > 0 && option_argument_flag(command) == OPTION_NONE;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (takes && option_find_any(command->catalog, name) == given[i]) {
            return true;
        }
    }
    return takes && (option_same_name(name, "input") || option_same_name(name, "model-path"));
}

/* A run folder or a file of weights, as --checkpoint takes them. */
static bool is_model(const char *path)
{
    static const char *const endings[] = {".safetensors", ".npz"};
    char manifest[FILE_PATH_MAX];
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0) {
            return true;
        }
    }
    return snprintf(manifest, sizeof manifest, "%s/run.json", path) < FILE_PATH_MAX && file_exists(manifest);
}

option_id option_of_argument(const weft_options *options, const char *argument)
{
    const option_command *command = option_command_of(options);
    bool model = option_applies(command, OPT_CHECKPOINT) && !option_is_set(options, OPT_CHECKPOINT);
    bool data = option_applies(command, OPT_DATA) && !option_is_set(options, OPT_DATA);
    if (model && (!data || is_model(argument))) {
        return OPT_CHECKPOINT;
    }
    return data ? OPT_DATA : OPTION_NONE;
}
