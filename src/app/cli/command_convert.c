/*
 * app/cli/command_convert.c: weft convert INPUT: the first kind of workload that takes the input makes a store of it,
 * or writes it in another layout.
 */
#include "app/cli/command.h"
#include "app/workload/workload.h"

weft_status app_convert(const weft_options *options)
{
    WEFT_TRY(option_check_rules(options));
    for (int i = 0; workload_list[i] != NULL; ++i) {
        const workload_ops *ops = workload_list[i];
        bool takes = false;
        const weft_status status = ops->convert != NULL ? ops->convert(options, &takes) : WEFT_OK;
        if (takes || status != WEFT_OK) {
            return status;
        }
    }
    return weft_fail(WEFT_ERR_USAGE,
                     "%s: is nothing that weft convert reads: weft convert --help=formats lists what it does",
                     option_argument(options, 0));
}

void app_print_formats(FILE *out)
{
    for (int i = 0; workload_list[i] != NULL; ++i) {
        if (workload_list[i]->print_formats != NULL) {
            workload_list[i]->print_formats(out);
        }
    }
}
