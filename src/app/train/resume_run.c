/* app/train/resume_run.c: see app/train/resume_run.h. */
#include "app/train/resume_run.h"

#include <string.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/log.h"
#include "io/json.h"

enum { RUN_JSON_MAX = 1 << 20 };

/* Options of one start, or of the place where it ran. */
static bool is_passing(option_id id)
{
    static const option_id passing[] = {OPT_RESUME,  OPT_FORCE, OPT_RUN_DIR, OPT_CONFIG,
                                        OPT_DRY_RUN, OPT_QUIET, OPT_VERBOSE};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; ++i) {
        if (passing[i] == id) {
            return true;
        }
    }
    return false;
}

/* Returns true if somebody gave the value: no table, recipe or look at the data did. */
static bool was_given(const json_value *option)
{
    static const option_source own[] = {OPTION_DEFAULT, OPTION_RECIPE, OPTION_DATA};
    const char *source = json_string(option, "source", "");
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
        if (strcmp(source, option_source_text(own[i])) == 0) {
            return false;
        }
    }
    return source[0] != '\0';
}

static weft_status take_options(const char *path, const json_value *root, const weft_options *asked,
                                weft_options *options)
{
    const json_value *record = json_find(root, "options");
    WEFT_CHECK(record != NULL && record->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: no options: not a run's record",
               path);
    for (int i = 0; i < option_count(asked); ++i) {
        const option_id id = option_at(asked, i);
        const char *name = option_row_in(asked, id)->name, *text = NULL;
        const json_value *option = json_find(record, name);
        if (option == NULL || !option_applies(option_command_of(asked), id) || is_passing(id) ||
            option_is_set(asked, id) || !was_given(option)) {
            continue;
        }
        WEFT_TRY(json_get_text(path, option, "value", &text));
        WEFT_TRY(option_assign(options, name, text));
        log_info("--%s %s (of %s)", name, escape_short(text).text, path);
    }
    return WEFT_OK;
}

weft_status resume_run_options(const weft_options *asked, weft_options **options)
{
    char path[FILE_PATH_MAX];
    json_document *document = NULL;
    const json_value *root = NULL;
    *options = NULL;
    if (option_argument_count(asked) == 0) {
        return WEFT_OK;
    }
    const char *run = option_argument(asked, 0);
    WEFT_CHECK(!option_is_set(asked, OPT_RUN_DIR) || strcmp(option_text(asked, OPT_RUN_DIR), run) == 0, WEFT_ERR_USAGE,
               "--resume %s and --run-dir %s are two folders: give one of them", run, option_text(asked, OPT_RUN_DIR));
    WEFT_TRY(file_path(path, "%s/run.json", run));
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "--resume %s: holds no run (no run.json)", run);
    WEFT_TRY(json_read_object(path, RUN_JSON_MAX, &document, &root));
    weft_status status = option_copy(asked, options);
    status = status == WEFT_OK ? take_options(path, root, asked, *options) : status;
    status = status == WEFT_OK ? option_assign(*options, option_row_in(asked, OPT_RUN_DIR)->name, run) : status;
    json_free(document);
    if (status != WEFT_OK) {
        option_destroy(*options);
        *options = NULL;
    }
    return status;
}
