/* option/option_print_man.c: the manual page weft.1, in man(7) macros. */
#include <string.h>

#include "option/option_internal.h"

/* Escape what roff would read: backslashes, hyphens (copied as minus), a dot or quote that begins a line. */
static void print_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", out);
    }
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '\\':
            fputs("\\e", out);
            break;
        case '-':
            fputs("\\-", out);
            break;
        case '`':
            fputs("\\(ga", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        case '\n':
            fputs("\n.br\n", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

/* "a,b,c" with blanks, so that lines can break. */
static void print_list(FILE *out, const char *list)
{
    char word[OPTION_WORD_MAX];
    for (const char *before = ""; option_list_next(&list, ',', word); before = ", ") {
        fputs(before, out);
        print_roff(out, word);
    }
}

static void print_recipes(const option_catalog *catalog, FILE *out)
{
    char text[OPTION_RECIPE_MAX];
    const char *choices = option_row_at(catalog, catalog->recipe)->choices;
    while (option_recipe_listed(catalog, &choices, text)) {
        fputs(".br\n", out);
        print_roff(out, text);
        fputc('\n', out);
    }
}

static void print_option(const option_catalog *catalog, FILE *out, option_id id)
{
    const option_row *row = option_row_at(catalog, id);
    const char *aliases = row->aliases;
    char alias[OPTION_WORD_MAX], range[OPTION_RANGE_MAX];
    fputs(".TP\n\\fB\\-\\-", out);
    print_roff(out, row->name);
    fputs("\\fR", out);
    if (option_placeholder(row)[0] != '\0') {
        fputs(" \\fI", out);
        print_roff(out, option_placeholder(row));
        fputs("\\fR", out);
    }
    while (option_list_next(&aliases, ',', alias)) {
        fputs(alias[1] == '\0' ? ", \\fB\\-" : ", \\fB\\-\\-", out);
        print_roff(out, alias);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_roff(out, row->help);
    option_describe_range(catalog, row, range);
    fputs("\n(", out);
    print_roff(out, range);
    fputs(")\n", out);
    if (id == catalog->recipe) {
        print_recipes(catalog, out);
    }
}

static void print_commands(const option_catalog *catalog, FILE *out)
{
    for (const option_command *command = catalog->commands; command->name != NULL; command++) {
        fprintf(out, ".SS weft %s %s\n", command->name, command->arguments);
        print_roff(out, command->summary);
        fputs(".\nOption sections: ", out);
        print_list(out, command->sections);
        fputs(".\n.PP\n.nf\n", out);
        print_roff(out, command->examples);
        fputs("\n.fi\n", out);
    }
    fputs(".SS weft generate man|completion|markdown\nprint this page, the bash completion, or the options as "
          "Markdown.\n",
          out);
}

static void print_exit_codes(FILE *out)
{
    int code = 0;
    const char *text = NULL;
    fputs(".SH EXIT STATUS\n", out);
    for (int i = 0; (text = option_exit_code(i, &code)) != NULL; i++) {
        fprintf(out, ".TP\n%d\n", code);
        print_roff(out, text);
        fputc('\n', out);
    }
}

void option_print_man(const option_catalog *catalog, FILE *out)
{
    fputs(
        ".TH WEFT 1\n.SH NAME\nweft \\- train graph neural networks and networks on images on clusters of CPUs\n.SH "
        "SYNOPSIS\n"
        ".B weft\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.PP\n.B mpirun \\-np\n\\fIP\\fR\n.B weft "
        "train\n[\\fIOPTION\\fR]...\n"
        ".SH DESCRIPTION\nResults are printed on standard output by one rank, the log on standard error.\n"
        "In option names \\- and _ are the same. A flag is written \\-\\-name, \\-\\-no\\-name or \\-\\-name=on|off;\n"
        "\\-\\- ends the options.\n.SH COMMANDS\n",
        out);
    print_commands(catalog, out);
    fputs(".SH OPTIONS\n", out);
    for (const option_section *section = catalog->sections; section->name != NULL; section++) {
        fprintf(out, ".SS \"%s: section %s\"\n%s\n", section->title, section->name, section->about);
        for (int place = 0; place < catalog->count; place++) {
            if (strcmp(catalog->rows[place].section, section->name) == 0) {
                print_option(catalog, out, catalog->id[place]);
            }
        }
    }
    fputs(".SH FILES\nA config file (\\-\\-config) holds lines \\(lqname = value\\(rq below [section] headers;\n"
          "# begins a comment. \\-\\-print\\-config prints one with every option.\n"
          ".SH ENVIRONMENT\nWEFT_NAME sets option \\-\\-name: WEFT_HIDDEN=64 is \\-\\-hidden 64.\n"
          "The command line wins over the environment, the environment over the config file, that over a recipe.\n"
          "OMP_NUM_THREADS is obeyed when \\-\\-threads is not given.\n",
          out);
    print_exit_codes(out);
}
