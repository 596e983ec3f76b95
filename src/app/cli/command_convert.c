/*
 * app/cli/command_convert.c: weft convert INPUT: the first kind of workload that takes the input makes a store of it,
 * or writes it in another layout.
 */
#include "app/cli/command.h"
#include "app/workload/workload.h"
#include "base/file.h"
#include "table/read/table_reader.h"

weft_status app_convert(const weft_options *options)
{
    const char *out = option_text(options, OPT_OUT);
    WEFT_TRY(option_check_rules(options));
    WEFT_CHECK(out[0] != '\0', WEFT_ERR_USAGE, "--out PATH is needed: the store (or with --to, the layout) to write");
    WEFT_TRY(file_check_output(out)); /* not after an hour of reading */
    WEFT_CHECK(option_flag(options, OPT_FORCE) || !file_exists(out), WEFT_ERR_USAGE,
               "%s: exists already; choose another name, or replace it with --force", out);
    if (app_is_table(options)) {
        return app_convert_table(options);
    }
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
    fprintf(out, "\nLayouts of tables (--table-format NAME, or with --target and the other options of columns):\n\n");
    const table_reader *reader;
    for (int i = 0; (reader = table_reader_at(i)) != NULL; i++) {
        fprintf(out, "  %-16s %s\n", reader->name, reader->description);
    }
}
