/* option/option_assign.c: options from the program that uses the library: by name, text by text, the last one
 * counts. */
#include "option/option_internal.h"

enum { SPELLED_MAX = 512 };

weft_status option_lookup(const weft_options *options, const char *name, option_id *id)
{
    *id = option_find(options->command, name, false);
    return *id != OPTION_NONE ? WEFT_OK : option_fail_unknown(options->command, "", name);
}

weft_status option_assign(weft_options *options, const char *name, const char *text)
{
    char spelled[SPELLED_MAX];
    option_id id = OPTION_NONE;
    WEFT_TRY(option_lookup(options, name, &id));
    WEFT_CHECK(option_allowed_from(id, OPTION_FILE), WEFT_ERR_USAGE, "%s: belongs on a command line", name);
    snprintf(spelled, sizeof spelled, "%s = %s", name, text);
    return option_set(options, id, OPTION_PROGRAM, spelled, text);
}
