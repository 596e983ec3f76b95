/*
 * option/option_print_config.c: the config template.
 *
 * Settings are commented out ("#lr = 0.01"), so that a template saved today does not freeze today's defaults; prose
 * lines begin with "# ".
 */
#include <string.h>

#include "option/option_internal.h"

/* What holds if nothing is set: the recipe's value, or the built-in one. */
static const char *unset_value(const weft_options *options, option_id id)
{
    bool by_recipe = option_source_of(options, id) == OPTION_RECIPE || id == options->command->catalog->recipe;
    return by_recipe ? option_value_text(options, id) : option_row_in(options, id)->default_text;
}

static void print_setting(FILE *out, const option_row *row, const char *value)
{
    char range[OPTION_RANGE_MAX], also[OPTION_ALSO_MAX];
    const char *placeholder = option_placeholder(row);
    option_describe_range(row, range);
    option_describe_aliases(row, "", also);
    fprintf(out, "\n# %s\n# %s; %s%s\n#%s = %s\n", row->help, placeholder[0] != '\0' ? placeholder : "on|off", range,
            also, row->name, value);
}

void option_print_config(FILE *out, const weft_options *options)
{
    const option_command *command = option_command_of(options);
    const char *cursor = command->sections;
    char name[OPTION_WORD_MAX];
    fprintf(out, "# Options of weft %s. Remove the # before a name to set it; use with --config FILE.\n",
            command->name);
    while (option_list_next(&cursor, ',', name)) {
        fprintf(out, "\n[%s]\n", name);
        for (option_id id = 0; id < option_count(options); id++) {
            const option_row *row = option_row_in(options, id);
            if (strcmp(row->section, name) == 0 && option_allowed_from(id, OPTION_FILE)) {
                print_setting(out, row, unset_value(options, id));
            }
        }
    }
}
