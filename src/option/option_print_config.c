/*
 * option/option_print_config.c: the config template.
 *
 * What somebody set stands as a setting, so that the file asks for the same again. The others are commented out
 * ("#lr = 0.01"), with what holds if nothing is set, so that a template saved today does not freeze today's defaults;
 * prose lines begin with "# ".
 */
#include <string.h>

#include "option/option_internal.h"

/* As option_config.c reads it back. */
static void print_value(FILE *out, const char *value)
{
    if (strpbrk(value, " \t#\"") == NULL) {
        fprintf(out, "%s\n", value);
        return;
    }
    fputc('"', out);
    for (; *value != '\0'; value++) {
        fputs(*value == '"' ? "\"\"" : (char[2]){*value, '\0'}, out);
    }
    fputs("\"\n", out);
}

static void print_setting(FILE *out, const weft_options *options, option_id id)
{
    char range[OPTION_RANGE_MAX], also[OPTION_ALSO_MAX];
    const option_row *row = option_row_in(options, id);
    const char *placeholder = option_placeholder(row);
    option_describe_range(option_catalog_of(options), row, range);
    option_describe_aliases(row, "", also);
    fprintf(out, "\n# %s\n# %s; %s%s\n%s%s = ", row->help, placeholder[0] != '\0' ? placeholder : "on|off", range, also,
            option_is_set(options, id) ? "" : "#", row->name);
    print_value(out, option_value_text(options, id));
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
        for (int place = 0; place < option_count(options); place++) {
            const option_id id = option_at(options, place);
            const bool here = strcmp(option_row_in(options, id)->section, name) == 0;
            if (here && option_allowed_from(id, OPTION_FILE)) {
                print_setting(out, options, id);
            }
        }
    }
}
