/*
 * app/gnn/convert/convert_graph.c: weft convert INPUT --out STORE; INPUT is a file or folder, synth:SPEC for a
 * generated graph, or a store that gets other features, labels or splits.
 *
 * With --to NAME the graph is written in the layout of others instead. What is not a store yet becomes one first, in a
 * temporary folder beside the output.
 */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "app/gnn/convert/convert_graph.h"
#include "app/gnn/options/gnn_options.h"
#include "base/file.h"
#include "gnn/data/generate/generator.h"
#include "gnn/data/read/reader.h"
#include "gnn/data/write/writer.h"

static const char *text_or_null(const weft_options *options, option_id id)
{
    const char *text = option_text(options, id);
    return text[0] != '\0' ? text : NULL;
}

static bool is_store(const char *input)
{
    char manifest[FILE_PATH_MAX];
    return file_path(manifest, "%s/manifest.json", input) == WEFT_OK && file_exists(manifest);
}

/* Options that only say how a file is read fit neither a generated graph nor a store. */
static weft_status refuse_files(const weft_options *options, const char *input)
{
    static const option_id ids[] = {OPT_FEATURES,        OPT_LABELS,       OPT_SPLIT,
                                    OPT_CONVERT_WEIGHTS, OPT_RANDOM_SPLIT, OPT_SPLIT_NAME};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        WEFT_CHECK(option_text(options, ids[i])[0] == '\0', WEFT_ERR_USAGE,
                   "--%s adds to a data set's files; %s has its own", option_row_in(options, ids[i])->name, input);
    }
    WEFT_CHECK(option_int(options, OPT_CLASSES) == 0, WEFT_ERR_USAGE,
               FLAG_CLASSES " is for labels that are read; %s has its own", input);
    WEFT_CHECK(option_int(options, OPT_FIRST_ID) == 0 && !option_flag(options, OPT_RELABEL), WEFT_ERR_USAGE,
               "%s is for edge lists that are read; %s has vertices of its own",
               option_flag(options, OPT_RELABEL) ? FLAG_RELABEL : FLAG_FIRST_ID, input);
    return WEFT_OK;
}

/* Options of edges were heeded when the store was made, and its edges stay. */
static weft_status refuse_edges(const weft_options *options, const char *input)
{
    static const option_id ids[] = {OPT_CONVERT_WEIGHTS, OPT_SYMMETRIZE, OPT_SELF_LOOPS, OPT_VERTICES,
                                    OPT_FIRST_ID,        OPT_RELABEL,    OPT_FORMAT_IN,  OPT_SPLIT_NAME};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        WEFT_CHECK(option_source_of(options, ids[i]) == OPTION_DEFAULT, WEFT_ERR_USAGE,
                   "--%s is for edges that are read; %s is a store, whose edges stay: convert its files anew",
                   option_row_in(options, ids[i])->name, input);
    }
    return WEFT_OK;
}

static weft_status make_store(const weft_options *options, const char *input, const char *store, bool force)
{
    if (generator_named(input)) {
        WEFT_TRY(refuse_files(options, input));
        int64_t threads = option_int(options, OPT_THREADS);
        threads = threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN);
        return generator_write_store(input + strlen(GENERATOR_PREFIX), store, (int)threads, force);
    }
    if (option_int(options, OPT_THREADS) > 0) {
        omp_set_num_threads((int)option_int(options, OPT_THREADS));
    }
    convert_options convert = {
        .format = option_text(options, OPT_FORMAT_IN),
        .feature_path = text_or_null(options, OPT_FEATURES),
        .label_path = text_or_null(options, OPT_LABELS),
        .split_path = text_or_null(options, OPT_SPLIT),
        .weight_path = text_or_null(options, OPT_CONVERT_WEIGHTS),
        .random_split = text_or_null(options, OPT_RANDOM_SPLIT),
        .seed = (uint64_t)option_int(options, OPT_CONVERT_SEED),
        .split_index = (int)option_int(options, OPT_KEEP_SPLIT),
        .symmetrize = option_choice(options, OPT_SYMMETRIZE),
        .keep_self_loops = option_choice(options, OPT_SELF_LOOPS) == SELF_LOOPS_KEEP,
        .force = force,
        .memory_bytes = (int64_t)option_size(options, OPT_MEMORY),
        .vertices = option_int(options, OPT_VERTICES),
        .first_id = option_int(options, OPT_FIRST_ID),
        .relabel = option_flag(options, OPT_RELABEL),
        .classes = option_int(options, OPT_CLASSES),
        .number_labels = option_flag(options, OPT_NUMBER_LABELS),
        .split_name = text_or_null(options, OPT_SPLIT_NAME),
    };
    if (is_store(input)) {
        WEFT_TRY(refuse_edges(options, input));
        return reader_change(input, store, &convert);
    }
    return reader_convert(input, store, &convert);
}

static weft_status write_layout(const weft_options *options, const char *store, int split)
{
    weft_graph graph;
    WEFT_TRY(graph_open(store, split, true, &graph));
    weft_status status = writer_write(&graph, option_text(options, OPT_TO), option_text(options, OPT_OUT),
                                      option_flag(options, OPT_FORCE));
    graph_close(&graph);
    return status;
}

static weft_status write_through(const weft_options *options, const char *input)
{
    char temporary[FILE_PATH_MAX];
    WEFT_TRY(file_temporary_name(option_text(options, OPT_OUT), temporary));
    weft_status status = make_store(options, input, temporary, false);
    status = status == WEFT_OK ? write_layout(options, temporary, 0) : status;
    if (file_exists(temporary)) {
        char message[2048];
        snprintf(message, sizeof message, "%s", weft_error_message());
        weft_status removed = folder_remove(temporary);
        if (status != WEFT_OK) {
            return weft_fail(status, "%s", message);
        }
        return removed;
    }
    return status;
}

weft_status gnn_convert(const weft_options *options, bool *takes)
{
    *takes = true;
    const char *out = option_text(options, OPT_OUT), *input = option_argument(options, 0);
    if (strcmp(option_text(options, OPT_TO), "store") == 0) {
        return make_store(options, input, out, option_flag(options, OPT_FORCE));
    }
    if (!is_store(input)) {
        return write_through(options, input);
    }
    WEFT_TRY(refuse_files(options, input));
    int split = (int)option_int(options, OPT_KEEP_SPLIT);
    return write_layout(options, input, split > 0 ? split : 0);
}

void gnn_print_formats(FILE *out)
{
    fprintf(out, "Input formats of weft convert (--format NAME; auto looks at the file):\n\n");
    const reader_format *format;
    for (int i = 0; (format = reader_format_at(i)) != NULL; i++) {
        fprintf(out, "  %-16s %s\n", format->name, format->description);
    }
    fprintf(out, "\nOutput layouts (--to NAME; graph stores otherwise):\n\n ");
    const writer_format *writer;
    for (int i = 0; (writer = writer_format_at(i)) != NULL; i++) {
        fprintf(out, " %s", writer->name);
    }
    fprintf(out, "\n\nsynth:SPEC in place of a file generates a graph:\n\n%s", generator_help());
    fprintf(out,
            "\nFeatures for graphs that have none (--features KIND):\n\n"
            "  degree           log(1 + in-degree), log(1 + out-degree), and the in-degree's power of two one-hot\n"
            "  onehot           vertex v has a 1 in column v; sparse above 16384 vertices\n"
            "  random:D         D normal numbers of variance 1/D a vertex, by --seed\n"
            "  spectral:D       D <= 256 leading eigenvectors of the normalised adjacency\n");
    fprintf(out, "\nPlanetoid's ind.NAME.* files are pickles: scripts/convert_planetoid makes a weft-npz of them.\n"
                 "The arrays of each format are listed in docs/formats.md.\n");
}
