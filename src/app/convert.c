/* app/convert.c: weft convert INPUT --out STORE. */
#include "app/command.h"
#include "gnn/data/reader.h"

weft_status app_convert(const weft_options *options)
{
    const char *out = option_text(options, OPT_OUT);
    const char *split = option_text(options, OPT_SPLIT);
    WEFT_CHECK(out[0] != '\0', WEFT_ERR_USAGE, "--out STORE is needed: the folder to write");
    convert_options convert = {
        .format = option_text(options, OPT_FORMAT_IN),
        .split_path = split[0] != '\0' ? split : NULL,
        .split_index = (int)option_int(options, OPT_KEEP_SPLIT),
        .symmetrize = option_choice(options, OPT_SYMMETRIZE),
        .keep_self_loops = option_choice(options, OPT_SELF_LOOPS) == 1,
        .force = option_flag(options, OPT_FORCE),
    };
    return reader_convert(option_argument(options, 0), out, &convert);
}

void app_print_formats(FILE *out)
{
    fprintf(out, "Input formats of weft convert (--format NAME; auto looks at the file):\n\n");
    const reader_format *format;
    for (int i = 0; (format = reader_format_at(i)) != NULL; i++) {
        fprintf(out, "  %-16s %s\n", format->name, format->description);
    }
    fprintf(out, "\nPlanetoid's ind.NAME.* files are pickles: scripts/convert_planetoid makes a weft-npz of them.\n"
                 "The arrays of each format are listed in docs/formats.md.\n");
}
