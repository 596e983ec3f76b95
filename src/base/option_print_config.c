/*
 * base/option_print_config.c: the config template.
 *
 * Settings are commented out ("#lr = 0.01"), so that a template saved today does not freeze today's defaults; prose
 * lines begin with "# ".
 */
#include <string.h>

#include "base/option_internal.h"

static void print_setting(FILE *out, const option_row *row)
{
    char range[OPTION_RANGE_MAX], also[OPTION_ALSO_MAX];
    const char *placeholder = option_placeholder(row);
    option_describe_range(row, range);
    option_describe_aliases(row, "", also);
    fprintf(out, "\n# %s\n# %s; %s%s\n#%s = %s\n", row->help, placeholder[0] != '\0' ? placeholder : "on|off", range,
            also, row->name, row->default_text);
}

void option_print_config(FILE *out, const option_command *command)
{
    const char *cursor = command->sections;
    char name[OPTION_WORD_MAX];
    fprintf(out, "# Options of weft %s. Remove the # before a name to set it; use with --config FILE.\n",
            command->name);
    while (option_list_next(&cursor, ',', name)) {
        fprintf(out, "\n[%s]\n", name);
        for (int id = 0; id < OPT_COUNT; id++) {
            const option_row *row = option_row_of((option_id)id);
            if (strcmp(row->section, name) == 0 && option_allowed_from((option_id)id, OPTION_FILE)) {
                print_setting(out, row);
            }
        }
    }
}
