/* app/api/api_options.c: see weft/options.h. */
#include "weft/options.h"

#include <string.h>

#include "app/api/api.h"
#include "app/workload/app_catalog.h"

weft_status api_check_command(const weft_options *options, const char *command, const char *function)
{
    const char *given = option_command_of(options)->name;
    WEFT_CHECK(strcmp(given, command) == 0, WEFT_ERR_USAGE,
               "%s takes the options of \"%s\", not of \"%s\": make them with weft_options_create(\"%s\", ...)",
               function, command, given, command);
    return WEFT_OK;
}

weft_status weft_options_create(const char *command, weft_options **options)
{
    const option_command *found = NULL;
    *options = NULL;
    WEFT_TRY(option_command_find(app_catalog(), command, &found));
    return option_create(found, options);
}

weft_status weft_options_set(weft_options *options, const char *name, const char *value)
{
    return option_assign(options, name, value);
}

weft_status weft_options_load(weft_options *options, const char *path)
{
    return option_apply_config_file(options, path);
}

weft_status weft_options_get(const weft_options *options, const char *name, const char **text)
{
    option_id id = OPTION_NONE;
    *text = "";
    WEFT_TRY(option_lookup(options, name, &id));
    *text = option_value_text(options, id);
    return WEFT_OK;
}

void weft_options_destroy(weft_options *options)
{
    option_destroy(options);
}
