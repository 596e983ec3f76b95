/* app/unavailable.c: the commands that this build does not have. */
#include "app/command.h"

static weft_status unavailable(const weft_options *options)
{
    return weft_fail(WEFT_ERR_UNSUPPORTED, "weft %s is not in this build", option_command_of(options)->name);
}

weft_status app_train(const weft_options *options)
{
    return unavailable(options);
}
