/* option/option_print_help.c: `weft --help`, `weft COMMAND --help[=SECTION]` and `--help=exit-codes`, 96 columns
 * wide. */
#include <string.h>

#include "base/text/append.h"
#include "option/option_internal.h"

enum { HELP_COLUMN = 30, HELP_WIDTH = 96 };

/* ---- shared with the other printers ----------------------------------------------------------------------------- */

const char *option_placeholder(const option_row *row)
{
    static const char *const by_type[] = {"", "N", "X", "TEXT", "", "BYTES", "T", "LIST"};
    if (row->unit[0] != '\0') {
        return row->unit;
    }
    return row->type == OPTION_CHOICE ? row->choices : by_type[row->type];
}

void option_describe_aliases(const option_row *row, const char *dashes, char text[OPTION_ALSO_MAX])
{
    const char *aliases = row->aliases;
    char alias[OPTION_WORD_MAX];
    text[0] = '\0';
    while (option_list_next(&aliases, ',', alias)) {
        if (alias[1] != '\0') {
            text_append(text, OPTION_ALSO_MAX, "%s%s%s", text[0] == '\0' ? "; also " : ", ", dashes, alias);
        }
    }
}

const char *option_jobs_text(const option_row *row, char text[OPTION_JOBS_MAX])
{
    char trait[OPTION_WORD_MAX];
    const char *cursor = row->serves;
    text[0] = '\0';
    while (option_list_next(&cursor, '|', trait)) {
        text_append(text, OPTION_JOBS_MAX, "%s%s", text[0] == '\0' ? "" : " or ", trait);
    }
    return text;
}

/* Returns true if some kind of job has no use for the option. */
static bool is_of_some(const option_catalog *catalog, const option_row *row)
{
    bool all = true;
    for (int kind = 0; kind < catalog->kinds; kind++) {
        all = all && option_serves(row, catalog->traits[kind]);
    }
    return !all;
}

void option_describe_range(const option_catalog *catalog, const option_row *row, char text[OPTION_RANGE_MAX])
{
    char jobs[OPTION_JOBS_MAX];
    char min[32], max[32];
    bool ranged = row->type == OPTION_INT || row->type == OPTION_REAL || row->type == OPTION_SIZE ||
                  row->type == OPTION_TIME || row->type == OPTION_INTLIST;
    const bool has_default = row->default_text[0] != '\0';
    snprintf(text, OPTION_RANGE_MAX, has_default ? "default %s" : "no default%s", row->default_text);
    if (ranged) {
        text_append(text, OPTION_RANGE_MAX, "; %s to %s", option_bound_text(row, row->min, min),
                    option_bound_text(row, row->max, max));
    }
    if (is_of_some(catalog, row)) {
        text_append(text, OPTION_RANGE_MAX, "; for %s", option_jobs_text(row, jobs));
    }
}

const char *option_exit_code(int i, int *code)
{
    static const struct {
        int code;
        const char *text;
    } codes[] = {
#define CODE(name, value, description) {value, description},
        WEFT_STATUS_LIST(CODE)
#undef CODE
            {134, "from mpirun: a process aborted (signal 6)"},
        {137, "from mpirun: a process was killed (signal 9), often by the kernel when memory ran out"},
        {139, "from mpirun: a process crashed (signal 11, segmentation fault): please report it"},
    };
    if (i >= (int)(sizeof codes / sizeof *codes)) {
        return NULL;
    }
    *code = codes[i].code;
    return codes[i].text;
}

/* ---- layout ----------------------------------------------------------------------------------------------------- */

/* Words from `column` on, broken before HELP_WIDTH and continued at HELP_COLUMN. Returns the column after the last. */
static int print_words(FILE *out, const char *text, int column)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    return column;
}

static int print_gap(FILE *out, int column)
{
    if (column + 2 > HELP_COLUMN) {
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    } else {
        fprintf(out, "%*s", HELP_COLUMN - column, "");
    }
    return HELP_COLUMN;
}

static void print_recipes(const option_catalog *catalog, FILE *out)
{
    char text[OPTION_RECIPE_MAX];
    const char *choices = option_row_at(catalog, catalog->recipe)->choices;
    while (option_recipe_listed(catalog, &choices, text)) {
        print_words(out, text, print_gap(out, 0));
        fputc('\n', out);
    }
}

static void print_option(const option_catalog *catalog, FILE *out, option_id id)
{
    const option_row *row = option_row_at(catalog, id);
    const char *aliases = row->aliases, *placeholder = option_placeholder(row);
    bool optional = id == OPT_HELP; /* --help[=SECTION] */
    char alias[OPTION_WORD_MAX], range[OPTION_RANGE_MAX], also[OPTION_ALSO_MAX];
    char details[OPTION_RANGE_MAX + OPTION_ALSO_MAX + 4];
    int column = fprintf(out, "  ");
    while (option_list_next(&aliases, ',', alias)) {
        if (alias[1] == '\0') {
            column += fprintf(out, "-%s, ", alias);
        }
    }
    column += fprintf(out, "--%s%s%s%s", row->name,
                      placeholder[0] == '\0' ? ""
                      : optional             ? "[="
                                             : " ",
                      placeholder, optional ? "]" : "");
    option_describe_range(catalog, row, range);
    option_describe_aliases(row, "--", also);
    snprintf(details, sizeof details, "(%s%s)", range, also);
    column = print_words(out, row->help, print_gap(out, column));
    print_words(out, details, column);
    fputc('\n', out);
    if (id == catalog->recipe) {
        print_recipes(catalog, out);
    }
}

static void print_section(const option_catalog *catalog, FILE *out, const option_section *section)
{
    fprintf(out, "%s options [%s]: %s\n", section->title, section->name, section->about);
    for (int place = 0; place < catalog->count; place++) {
        if (strcmp(catalog->rows[place].section, section->name) == 0) {
            print_option(catalog, out, catalog->id[place]);
        }
    }
    fputc('\n', out);
}

static void print_exit_codes(FILE *out)
{
    int code = 0;
    const char *text = NULL;
    fputs("Exit codes:\n", out);
    for (int i = 0; (text = option_exit_code(i, &code)) != NULL; i++) {
        fprintf(out, "  %3d  %s\n", code, text);
    }
}

static void print_examples(FILE *out, const char *examples)
{
    if (examples[0] == '\0') {
        return;
    }
    fputs("Examples:\n", out);
    while (*examples != '\0') {
        int length = (int)strcspn(examples, "\n");
        fprintf(out, "  %.*s\n", length, examples);
        examples += length + (examples[length] == '\n');
    }
    fputc('\n', out);
}

/* ---- public ----------------------------------------------------------------------------------------------------- */

void option_print_help(FILE *out, const option_command *command, const char *section)
{
    const option_catalog *catalog = command->catalog;
    const char *cursor = command->sections;
    char name[OPTION_WORD_MAX];
    if (section != NULL && strcmp(section, "exit-codes") == 0) {
        print_exit_codes(out);
        return;
    }
    if (section != NULL && section[0] != '\0') {
        print_section(catalog, out, option_section_find(catalog, section));
        return;
    }
    fprintf(out, "Usage: weft %s%s%s [OPTION]...\n", command->name, command->arguments[0] != '\0' ? " " : "",
            command->arguments);
    fprintf(out, "weft %s: %s.\n\n", command->name, command->summary);
    print_examples(out, command->examples);
    while (option_list_next(&cursor, ',', name)) {
        print_section(catalog, out, option_section_find(catalog, name));
    }
    fputs("Every option can also be set by a line `name = value` in a config file (--config FILE) and by a variable\n"
          "WEFT_NAME in the environment. The command line wins over the environment, that over the config file.\n",
          out);
}

/* " --norm none --lr 0.01": a line of as many as fit, none cut before its value. */
static void print_settings(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        const char *next = strstr(text + 1, " --");
        const size_t length = next != NULL ? (size_t)(next - text) : strlen(text);
        if (column == 0 || column + length > HELP_WIDTH) {
            fprintf(out, "%s     ", column > 0 ? "\n" : "");
            column = 5;
        }
        fprintf(out, "%.*s", (int)length, text);
        column += length;
        text += length;
    }
    fputc('\n', out);
}

void option_print_recipes(const option_catalog *catalog, FILE *out)
{
    const option_row *row = option_row_at(catalog, catalog->recipe);
    const char *cursor = row->choices;
    char text[OPTION_RECIPE_MAX];
    fprintf(out, "Recipes (--%s NAME): sets of defaults; what you give yourself wins over them.\n\n", row->name);
    while (option_recipe_listed(catalog, &cursor, text)) {
        const char *settings = strchr(text, ' ');
        fprintf(out, "  %.*s\n", (int)(settings - text), text);
        print_settings(out, strstr(settings, " --"));
    }
    fputs("\nauto chooses by the data: weft train --help=training, docs/recipes.md.\n", out);
}

void option_print_overview(const option_catalog *catalog, FILE *out)
{
    fputs("Usage: weft COMMAND [OPTION]...\n"
          "weft trains graph neural networks and networks on images on clusters of CPUs, under mpirun or alone.\n\n"
          "Commands:\n",
          out);
    for (const option_command *command = catalog->commands; command->name != NULL; command++) {
        fprintf(out, "  %-15s %-9s %s\n", command->name, command->arguments, command->summary);
    }
    fputs("\nTo begin with:\n"
          "  weft COMMAND --help            the command's options; weft COMMAND --help=SECTION: some of them\n"
          "  weft COMMAND --print-config    a config file with every option and its default\n"
          "  weft --help=exit-codes         what the exit codes mean\n"
          "  weft --version --verbose       version, build and libraries\n"
          "  weft generate man|completion|markdown    the manual page, bash completion, the options as Markdown\n",
          out);
}
