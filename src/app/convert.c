/* app/convert.c: weft convert INPUT --out STORE; INPUT is a file, or synth:SPEC for a generated graph. */
#include <string.h>
#include <unistd.h>

#include "app/command.h"
#include "gnn/data/generator.h"
#include "gnn/data/reader.h"

weft_status app_convert(const weft_options *options)
{
    const char *out = option_text(options, OPT_OUT);
    const char *split = option_text(options, OPT_SPLIT);
    WEFT_CHECK(out[0] != '\0', WEFT_ERR_USAGE, "--out STORE is needed: the folder to write");
    const char *input = option_argument(options, 0);
    if (strncmp(input, GENERATOR_PREFIX, strlen(GENERATOR_PREFIX)) == 0) {
        int64_t threads = option_int(options, OPT_THREADS);
        threads = threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN);
        return generator_write_store(input + strlen(GENERATOR_PREFIX), out, (int)threads,
                                     option_flag(options, OPT_FORCE));
    }
    convert_options convert = {
        .format = option_text(options, OPT_FORMAT_IN),
        .split_path = split[0] != '\0' ? split : NULL,
        .split_index = (int)option_int(options, OPT_KEEP_SPLIT),
        .symmetrize = option_choice(options, OPT_SYMMETRIZE),
        .keep_self_loops = option_choice(options, OPT_SELF_LOOPS) == 1,
        .force = option_flag(options, OPT_FORCE),
        .memory_bytes = (int64_t)option_size(options, OPT_MEMORY),
        .vertices = option_int(options, OPT_VERTICES),
    };
    return reader_convert(input, out, &convert);
}

void app_print_formats(FILE *out)
{
    fprintf(out, "Input formats of weft convert (--format NAME; auto looks at the file):\n\n");
    const reader_format *format;
    for (int i = 0; (format = reader_format_at(i)) != NULL; i++) {
        fprintf(out, "  %-16s %s\n", format->name, format->description);
    }
    fprintf(out, "\nsynth:SPEC in place of a file generates a graph:\n\n%s", generator_help());
    fprintf(out, "\nPlanetoid's ind.NAME.* files are pickles: scripts/convert_planetoid makes a weft-npz of them.\n"
                 "The arrays of each format are listed in docs/formats.md.\n");
}
