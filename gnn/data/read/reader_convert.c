/*
 * gnn/data/read/reader_convert.c: input file to graph store.
 *
 * Read, take the split, sort into CSR, check every invariant, write. Features that the input holds sparse stay so in
 * the store where that is smaller: those of Coauthor Physics would take 1.2 GB dense.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/base_options.def"
#include "base/file.h"
#include "base/log.h"
#include "base/text/append.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/features/features_made.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/read/reader_vertices.h"
#include "gnn/data/read/reader_weights.h"

/* The length of a name without one of these endings. */
static size_t without(const char *name, size_t length, const char *const *endings)
{
    for (; *endings != NULL; endings++) {
        size_t tail = strlen(*endings);
        if (length > tail && strncmp(name + length - tail, *endings, tail) == 0) {
            return length - tail;
        }
    }
    return length;
}

/* The name of the file or folder, without what it lies in and what tells its format, in plain characters. */
static void name_after(const char *path, char name[64])
{
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/') {
        end--;
    }
    const char *base = end;
    while (base > path && base[-1] != '/') {
        base--;
    }
    static const char *const packed[] = {".gz", ".xz", NULL};
    static const char *const formats[] = {".npz", ".txt", ".csv", ".tsv", ".graph", ".mgraph", ".metis", ".mtx", NULL};
    size_t length = without(base, (size_t)(end - base), packed);
    length = without(base, length, formats);
    length = length > 63 ? 63 : length;
    for (size_t i = 0; i < length; i++) {
        name[i] = base[i] > 32 && base[i] < 127 ? base[i] : '_';
    }
    name[length] = '\0';
}

weft_status reader_keep_split(const char *input, int index, raw_graph *raw)
{
    if (index < 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(raw->splits > 0, WEFT_ERR_USAGE, FLAG_KEEP_SPLIT " %d: %s holds no split", index, input);
    WEFT_CHECK(index < raw->splits, WEFT_ERR_USAGE, FLAG_KEEP_SPLIT " %d: %s holds splits 0 to %" PRId64, index, input,
               raw->splits - 1);
    memmove(raw->split, raw->split + (int64_t)index * raw->vertices, (size_t)raw->vertices);
    raw->splits = 1;
    return WEFT_OK;
}

static weft_status spread_features(void *self, int64_t row, int64_t rows, float *out)
{
    const raw_graph *raw = self;
    memset(out, 0, (size_t)(rows * raw->features) * sizeof *out);
    for (int64_t v = row; v < row + rows; v++) {
        for (int64_t i = raw->feature_offset[v]; i < raw->feature_offset[v + 1]; i++) {
            out[(v - row) * raw->features + raw->feature_column[i]] = raw->feature_value[i];
        }
    }
    return WEFT_OK;
}

/* Features that the input holds sparse stand as they take fewer bytes. */
static void place_sparse_features(raw_graph *raw, graph_arrays *a)
{
    const double whole = (double)raw->vertices * (double)raw->features * sizeof(float);
    const double sparse = (double)(raw->vertices + raw->feature_offset[raw->vertices]) * 8.0;
    if (sparse < whole) {
        a->feature_offset = raw->feature_offset;
        a->feature_column = raw->feature_column;
        a->feature_value = raw->feature_value;
    } else {
        a->fill_features = spread_features;
        a->fill_self = raw;
    }
}

void reader_place_features(raw_graph *raw, graph_arrays *a)
{
    a->features = raw->features;
    a->feature = raw->feature;
    a->fill_features = raw->fill_features;
    a->fill_self = raw->fill_self;
    if (raw->feature_offset != NULL) {
        place_sparse_features(raw, a);
    }
}

static void log_split(const graph_arrays *a)
{
    if (a->splits == 0) {
        log_warn("%s: no split in the input and none given (" FLAG_SPLIT " FILE or " FLAG_RANDOM_SPLIT
                 " 60/20/20): training will ask for one",
                 a->name);
        return;
    }
    int64_t count[256] = {0};
    for (int64_t v = 0; v < a->vertices; v++) {
        count[a->split[v]]++;
    }
    log_info("%s: %" PRId64 " %s: %" PRId64 " train, %" PRId64 " valid, %" PRId64 " test, %" PRId64 " none", a->name,
             a->splits, a->splits == 1 ? "split" : "splits; the first", count[0], count[1], count[2], count[255]);
}

static void log_labels(const graph_arrays *a)
{
    char labels[48] = "no labels";
    if (a->tasks > 0) {
        snprintf(labels, sizeof labels, "%" PRId64 " binary tasks", a->tasks);
    } else if (a->label != NULL) {
        snprintf(labels, sizeof labels, "%" PRId64 " classes", a->classes);
    }
    log_info("%s: %" PRId64 " vertices, %" PRId64 " directed edges, %" PRId64 " features, %s", a->name, a->vertices,
             a->edges, a->features, labels);
    if (a->label == NULL && a->target == NULL) {
        log_warn("%s: no labels in the input and none given (" FLAG_LABELS " FILE): training will ask for them",
                 a->name);
    }
}

void reader_log_graph(const char *store, int64_t loops, const graph_arrays *a)
{
    int64_t kept_loops = 0;
#pragma omp parallel for schedule(static) reduction(+ : kept_loops)
    for (int64_t v = 0; v < a->vertices; v++) {
        for (int64_t e = a->offset[v]; e < a->offset[v + 1]; e++) {
            kept_loops += a->source[e] == v;
        }
    }
    log_labels(a);
    if (a->symmetric) {
        log_info("%s: symmetric: %" PRId64 " undirected edges", a->name, (a->edges - kept_loops) / 2 + kept_loops);
    }
    if (loops > 0) {
        log_info("%s: %" PRId64 " self-loops in the input, %" PRId64 " kept", a->name, loops, kept_loops);
    }
    if (a->weight != NULL) {
        log_info("%s: edges have weights", a->name);
    }
    log_split(a);
    log_info("%s: written", store);
}

/* Of --features: the rows are a function of the graph, not of a file. */
bool reader_makes_features(const convert_options *options)
{
    features_kind kind = FEATURES_FILE;
    int64_t width;
    return options->feature_path != NULL && features_parse(options->feature_path, &kind, &width) == WEFT_OK &&
           kind != FEATURES_FILE;
}

/* The command that repeats the conversion, as far as 1023 bytes hold it. */
static void describe_origin(const char *input, const convert_options *options, const reader_format *format,
                            bool add_reverse, char origin[1024])
{
    const struct {
        const char *option, *value;
    } files[] = {{FLAG_FEATURES, options->feature_path},     {FLAG_LABELS, options->label_path},
                 {FLAG_SPLIT, options->split_path},          {FLAG_CONVERT_WEIGHTS, options->weight_path},
                 {FLAG_RANDOM_SPLIT, options->random_split}, {FLAG_SPLIT_NAME, options->split_name}};
    snprintf(origin, 1024, "weft convert %.480s " FLAG_FORMAT_IN " %s " FLAG_SYMMETRIZE " %s " FLAG_SELF_LOOPS " %s",
             input, format->name, add_reverse ? "on" : "off", options->keep_self_loops ? "keep" : "drop");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].value != NULL) {
            text_append(origin, 1024, " %s %s", files[i].option, files[i].value);
        }
    }
    if (options->vertices > 0) {
        text_append(origin, 1024, " " FLAG_VERTICES " %" PRId64, options->vertices);
    }
    if (options->first_id > 0) {
        text_append(origin, 1024, " " FLAG_FIRST_ID " %" PRId64, options->first_id);
    }
    if (options->relabel) {
        text_append(origin, 1024, " " FLAG_RELABEL);
    }
    if (options->classes > 0) {
        text_append(origin, 1024, " " FLAG_CLASSES " %" PRId64, options->classes);
    }
    if (options->random_split != NULL || reader_makes_features(options)) {
        text_append(origin, 1024, " " FLAG_CONVERT_SEED " %" PRIu64, options->seed);
    }
}

static int64_t count_loops(const raw_graph *raw)
{
    if (raw->arcs != NULL) {
        return arcs_loops(raw->arcs);
    }
    int64_t loops = 0;
    for (int64_t e = 0; e < raw->edges; e++) {
        loops += raw->from[e] == raw->to[e];
    }
    return loops;
}

/* What the store will hold, checked before anything is written; but for its symmetry, which is known: reverses were
 * added, or looked for (reader_csr_make). */
static weft_status validate(const char *input, const graph_arrays *a)
{
    weft_graph graph = graph_of_arrays(a);
    graph.symmetric = false;
    weft_status status = graph_validate(&graph);
    return status == WEFT_OK ? WEFT_OK : weft_fail_context(status, "%s: ", input);
}

weft_status reader_make_features(const convert_options *options, graph_arrays *a, struct features_made **made)
{
    const weft_graph graph = graph_of_arrays(a);
    WEFT_TRY(features_make(options->feature_path, &graph, options->seed, options->memory_bytes, made));
    features_place(*made, a);
    return WEFT_OK;
}

static const char *weights_path(const char *input, const convert_options *options)
{
    return strcmp(options->weight_path, "input") == 0 ? input : options->weight_path;
}

/* What edges weigh, if that is asked for; a graph whose directions weigh differently is not symmetric. */
static weft_status read_weights(const char *input, const convert_options *options, bool add_reverse,
                                const raw_graph *raw, const csr_graph *csr, graph_arrays *a, float **weight)
{
    int64_t row;
    if (options->weight_path == NULL) {
        return WEFT_OK;
    }
    const char *path = weights_path(input, options);
    const reader_weights_how how = {.both_ways = add_reverse,
                                    .told = path == input,
                                    .kind = path == input ? raw->kind : EDGE_FILE_AUTO,
                                    .first_id = raw->asked_first_id,
                                    .map = raw->ids.count > 0 ? &raw->ids : NULL,
                                    .memory_bytes = raw->memory_bytes};
    WEFT_TRY(reader_weights(path, csr, &how, weight));
    a->weight = *weight;
    const weft_graph graph = {.vertices = csr->vertices,
                              .edges = csr->entries,
                              .offset = csr->offset,
                              .source32 = csr->source,
                              .weight = *weight};
    a->symmetric = a->symmetric && (add_reverse || csr->entries == 0 || graph_first_one_way(&graph, &row) < 0);
    return WEFT_OK;
}

static weft_status write_store(const char *input, const char *store, const convert_options *options,
                               const reader_format *format, raw_graph *raw)
{
    bool add_reverse = raw->both_ways || options->symmetrize == SYMMETRIZE_ON ||
                       (options->symmetrize == SYMMETRIZE_AUTO && format->symmetrize);
    int64_t loops = count_loops(raw);
    char origin[1024];
    describe_origin(input, options, format, add_reverse, origin);
    graph_arrays a = {
        .vertices = raw->vertices,
        .classes = raw->classes,
        .tasks = raw->tasks,
        .splits = raw->splits,
        .label = raw->label,
        .target = raw->target,
        .split = raw->split,
        .class_name = (const char *const *)raw->class_names.text,
        .vertex_name = (const char *const *)raw->vertex_names.text,
        .name = raw->name,
        .origin = origin,
    };
    reader_place_features(raw, &a);
    csr_graph csr;
    WEFT_TRY(reader_csr_make(input, raw, add_reverse, options->keep_self_loops, &csr, &a.symmetric));
    a.edges = csr.entries;
    a.offset = csr.offset;
    a.source = csr.source;
    if (format->takes_vertices) {
        reader_vertices_tell(input, raw, &csr, a.symmetric);
    }
    features_made *made = NULL;
    float *weight = NULL;
    weft_status status;
    WEFT_TRY_GOTO(read_weights(input, options, add_reverse, raw, &csr, &a, &weight), status, done);
    WEFT_TRY_GOTO(reader_makes_features(options) ? reader_make_features(options, &a, &made) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(validate(input, &a), status, done);
    WEFT_TRY_GOTO(graph_store_write(store, &a, options->force), status, done);
    reader_log_graph(store, loops, &a);
done:
    weft_free(weight);
    features_free(made);
    csr_graph_free(&csr);
    return status;
}

/* Inputs are looked at before they are read, and read more than once. */
static weft_status refuse_pipe(const char *path)
{
    struct stat facts;
    WEFT_CHECK(path == NULL || stat(path, &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode),
               WEFT_ERR_NOINPUT, "%s: is a pipe or a device, which can be read once only: write it into a file first",
               path);
    return WEFT_OK;
}

static weft_status refuse_pipes(const char *input, const convert_options *options)
{
    const char *const paths[] = {input, options->feature_path, options->label_path, options->split_path,
                                 options->weight_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        WEFT_TRY(refuse_pipe(paths[i]));
    }
    return WEFT_OK;
}

weft_status reader_convert(const char *input, const char *store, const convert_options *options)
{
    input = strcmp(input, "-") == 0 && !file_exists(input) ? "/dev/stdin" : input;
    WEFT_TRY(refuse_pipes(input, options));
    WEFT_CHECK(options->force || !file_exists(store), WEFT_ERR_USAGE,
               "%s: exists already; choose another name, or replace it with " FLAG_FORCE, store);
    WEFT_TRY(options->force ? graph_store_check_replaceable(store) : WEFT_OK);
    const reader_format *format;
    WEFT_TRY(reader_format_find(input, options->format, &format));
    WEFT_CHECK(options->vertices == 0 || format->takes_vertices, WEFT_ERR_USAGE,
               FLAG_VERTICES " %" PRId64 ": only edge lists leave the number of vertices open; %s says it itself",
               options->vertices, format->name);
    WEFT_CHECK((options->first_id == 0 && !options->relabel) || format->takes_ids, WEFT_ERR_USAGE,
               "%s: %s: only edge lists leave open what ids mean; %s says it itself%s", input,
               options->relabel ? FLAG_RELABEL : FLAG_FIRST_ID, format->name,
               !format->takes_vertices ? ""
               : options->relabel      ? " (save numpy.unique(edge_index, return_inverse=True)[1].reshape(2, -1))"
                                       : " (save edge_index - 1)");
    features_kind kind;
    int64_t width;
    WEFT_TRY(options->feature_path != NULL ? features_parse(options->feature_path, &kind, &width) : WEFT_OK);
    WEFT_TRY(options->random_split != NULL ? reader_split_check_shares(options->random_split) : WEFT_OK);
    WEFT_CHECK(options->split_name == NULL || format->has_split_folders, WEFT_ERR_USAGE,
               FLAG_SPLIT_NAME " %s: only OGB data sets have splits by name; this is %s", options->split_name,
               format->name);
    log_info("reading %s (%s)", input, format->name);
    raw_graph raw = {
        .vertices = 0,
        .memory_bytes = options->memory_bytes,
        .asked_vertices = options->vertices,
        .asked_first_id = options->first_id,
        .relabels = options->relabel,
        .takes_ids = format->takes_ids,
        .tables = {reader_makes_features(options) ? NULL : options->feature_path, options->label_path,
                   options->split_path},
        .asked_classes = options->label_path != NULL ? 0 : options->classes,
        .numbers = options->label_path == NULL && options->number_labels,
        .split_name = options->split_name,
        .split_elsewhere = options->split_path != NULL || options->random_split != NULL,
        .weighs = options->weight_path != NULL && strcmp(weights_path(input, options), input) == 0,
        .beside = store,
    };
    name_after(input, raw.name);
    weft_status status;
    bool read = false;
    WEFT_TRY_GOTO(reader_format_read(format, input, &raw), status, done);
    read = true;
    WEFT_TRY_GOTO(format->takes_vertices ? reader_vertices_settle(input, &raw) : WEFT_OK, status, done);
    raw.asked_classes = options->classes;
    raw.numbers = options->number_labels;
    status = reader_attach(options, &raw);
    if (status != WEFT_OK) {
        status = status == WEFT_ERR_DATA && format->takes_vertices ? reader_vertices_hint(input, &raw, status) : status;
        goto done;
    }
    WEFT_CHECK_GOTO(options->classes == 0 || raw.label != NULL, status, done, WEFT_ERR_USAGE,
                    FLAG_CLASSES " %" PRId64 ": %s has %s", options->classes, input,
                    raw.target != NULL ? "binary tasks instead of classes" : "no labels");
    WEFT_CHECK_GOTO(!options->number_labels || (raw.target != NULL && raw.tasks == 1), status, done, WEFT_ERR_USAGE,
                    FLAG_NUMBER_LABELS ": %s has %s; give a file of numbers with " FLAG_LABELS, input,
                    raw.label != NULL    ? "classes"
                    : raw.target != NULL ? "binary tasks"
                                         : "no labels");
    WEFT_TRY_GOTO(reader_settle_sparse(input, &raw), status, done);
    WEFT_TRY_GOTO(reader_keep_split(input, options->split_index, &raw), status, done);
    status = write_store(input, store, options, format, &raw);
done:
    raw_graph_free(&raw);
    /* A lack of memory has no name of a file by itself; other failures behind reading have that of another file. */
    return status != WEFT_OK && (!read || status == WEFT_ERR_RESOURCE) ? weft_fail_name(status, input) : status;
}
