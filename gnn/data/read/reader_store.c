/*
 * gnn/data/read/reader_store.c: features, labels and splits for a store that is there already.
 *
 * The edges are those of the store, mapped: nothing is sorted again. What the options name is read as beside any other
 * input (gnn/data/read/reader_attach.c), and the rest is taken over. The new store grows in a temporary folder and is
 * renamed, so that a killed job leaves the old one as it was.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/features/features_made.h"
#include "gnn/data/read/reader_parts.h"

static weft_status copy_of(const void *from, int64_t count, size_t size, void *out)
{
    void **to = out;
    WEFT_TRY(weft_malloc((size_t)count, size, WEFT_MEM_GRAPH, to));
    memcpy(*to, from, (size_t)count * size);
    return WEFT_OK;
}

/* All split vectors of the store, of which an opened graph has one. */
static weft_status take_splits(const char *input, const weft_graph *graph, raw_graph *raw)
{
    WEFT_TRY(reader_new_splits(raw, graph->splits));
    for (int64_t k = 0; k < graph->splits; k++) {
        weft_graph one;
        WEFT_TRY(graph_open(input, (int)k, false, &one));
        memcpy(raw->split + k * raw->vertices, one.split, (size_t)raw->vertices);
        graph_close(&one);
    }
    return WEFT_OK;
}

/* Labels and splits of the store, as far as the options do not replace them. */
static weft_status take_over(const char *input, const weft_graph *graph, const convert_options *options, raw_graph *raw)
{
    if (options->label_path == NULL && graph->label != NULL) {
        raw->classes = graph->classes;
        WEFT_TRY(copy_of(graph->label, graph->vertices, sizeof *raw->label, &raw->label));
    }
    if (options->label_path == NULL && graph->target != NULL) {
        raw->tasks = graph->tasks;
        WEFT_TRY(copy_of(graph->target, graph->vertices * graph->tasks, sizeof *raw->target, &raw->target));
    }
    const bool kept = options->split_path == NULL && options->random_split == NULL && graph->splits > 0;
    return kept ? take_splits(input, graph, raw) : WEFT_OK;
}

/* The graph that is written: edges of the store, and of `raw` what it has. */
static graph_arrays arrays_of(const weft_graph *graph, raw_graph *raw, const name_list *vertex_names, bool own_classes)
{
    graph_arrays a = {
        .vertices = graph->vertices,
        .edges = graph->edges,
        .features = graph->features,
        .classes = raw->classes,
        .tasks = raw->tasks,
        .splits = raw->splits,
        .symmetric = graph->symmetric,
        .offset = graph->offset,
        .source = graph->source32,
        .weight = graph->weight,
        .feature = graph->feature,
        .feature_offset = graph->feature_offset,
        .feature_column = graph->feature_column,
        .feature_value = graph->feature_value,
        .label = raw->label,
        .target = raw->target,
        .split = raw->split,
        .class_name = (const char *const *)(own_classes ? graph->class_names.text : raw->class_names.text),
        .vertex_name = (const char *const *)vertex_names->text,
        .name = graph->name,
    };
    return a;
}

static weft_status write_changed(const char *input, const char *store, const convert_options *options,
                                 const weft_graph *graph, raw_graph *raw)
{
    char origin[1024];
    features_made *made = NULL;
    name_list vertex_names = {0};
    weft_status status = graph->vertex_names ? graph_vertex_names(graph, &vertex_names) : WEFT_OK;
    graph_arrays a = arrays_of(graph, raw, &vertex_names, options->label_path == NULL);
    snprintf(
        origin, sizeof origin,
        "weft convert %.240s"
        "%s%.160s%s%.160s%s%.160s%s%.40s",
        input, options->feature_path != NULL ? " " FLAG_FEATURES " " : "",
        options->feature_path != NULL ? options->feature_path : "",
        options->label_path != NULL ? " " FLAG_LABELS " " : "", options->label_path != NULL ? options->label_path : "",
        options->split_path != NULL ? " " FLAG_SPLIT " " : "", options->split_path != NULL ? options->split_path : "",
        options->random_split != NULL ? " " FLAG_RANDOM_SPLIT " " : "",
        options->random_split != NULL ? options->random_split : "");
    a.origin = origin;
    if (options->feature_path != NULL) {
        a.feature_offset = NULL;
        a.feature_column = NULL;
        a.feature_value = NULL;
        reader_place_features(raw, &a);
    }
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(reader_makes_features(options) ? reader_make_features(options, &a, &made) : WEFT_OK, status, done);
    const weft_graph written = graph_of_arrays(&a);
    WEFT_TRY_GOTO(graph_validate(&written), status, done);
    WEFT_TRY_GOTO(graph_store_write(store, &a, options->force), status, done);
    reader_log_graph(store, 0, &a);
done:
    features_free(made);
    name_list_free(&vertex_names);
    return status;
}

static weft_status change_opened(const char *input, const char *store, const convert_options *options,
                                 const weft_graph *graph)
{
    raw_graph raw = {.vertices = graph->vertices,
                     .memory_bytes = options->memory_bytes,
                     .asked_classes = options->classes,
                     .numbers = options->number_labels,
                     .split_elsewhere = options->split_path != NULL || options->random_split != NULL,
                     .names_alone = graph->vertex_names,
                     .beside = store};
    weft_status status;
    WEFT_CHECK(graph->source64 == NULL, WEFT_ERR_UNSUPPORTED,
               "%s: has more than 2^31 - 1 vertices, which convert does not write", input);
    WEFT_TRY_GOTO(take_over(input, graph, options, &raw), status, done);
    WEFT_TRY_GOTO(reader_attach(options, &raw), status, done);
    WEFT_TRY_GOTO(reader_settle_sparse(input, &raw), status, done);
    WEFT_TRY_GOTO(reader_keep_split(input, options->split_index, &raw), status, done);
    status = write_changed(input, store, options, graph, &raw);
done:
    raw_graph_free(&raw);
    return status;
}

weft_status reader_change(const char *input, const char *store, const convert_options *options)
{
    weft_graph graph;
    WEFT_CHECK(options->feature_path != NULL || options->label_path != NULL || options->split_path != NULL ||
                   options->random_split != NULL,
               WEFT_ERR_USAGE,
               "%s: is a graph store already: " FLAG_FEATURES ", " FLAG_LABELS ", " FLAG_SPLIT " and " FLAG_RANDOM_SPLIT
               " make another of it; " FLAG_TO " NAME writes it in another layout",
               input);
    WEFT_CHECK((options->classes == 0 && !options->number_labels) || options->label_path != NULL, WEFT_ERR_USAGE,
               "%s: has labels of its own; what they are goes with new ones, " FLAG_LABELS " FILE", input);
    WEFT_TRY(options->random_split != NULL ? reader_split_check_shares(options->random_split) : WEFT_OK);
    WEFT_TRY(options->force ? graph_store_check_replaceable(store) : WEFT_OK);
    WEFT_TRY(graph_open(input, 0, true, &graph));
    weft_status status = change_opened(input, store, options, &graph);
    graph_close(&graph);
    return status;
}
