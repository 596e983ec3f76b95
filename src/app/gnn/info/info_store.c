/*
 * app/gnn/info/info_store.c: weft info STORE: what a graph store holds.
 *
 * Only manifest, headers, offsets, labels and splits are read; --check reads the rest too.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/gnn/info/info_graph.h"
#include "base/alloc.h"
#include "graph/graph_manifest.h"

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static weft_status print_degrees(const weft_graph *graph)
{
    int64_t n = graph->vertices, *degree = NULL;
    WEFT_TRY(WEFT_NEW(&degree, n, WEFT_MEM_WORKSPACE));
    int64_t isolated = 0;
    weft_status status = WEFT_OK;
    for (int64_t v = 0; v < n; v++) {
        degree[v] = graph->offset[v + 1] - graph->offset[v];
        isolated += degree[v] == 0;
        WEFT_CHECK_GOTO(degree[v] >= 0, status, done, WEFT_ERR_DATA,
                        "offset, row %" PRId64 ": %" PRId64 " is followed by %" PRId64 "; it must ascend", v,
                        graph->offset[v], graph->offset[v + 1]);
    }
    qsort(degree, (size_t)n, sizeof *degree, ascending);
    printf("in-degree: min %" PRId64 ", median %" PRId64 ", mean %.2f, 99 %% %" PRId64 ", max %" PRId64 "\n", degree[0],
           degree[n / 2], (double)graph->edges / (double)n, degree[n - 1 - n / 100], degree[n - 1]);
    printf("vertices without incoming edges: %" PRId64 "\n", isolated);
done:
    weft_free(degree);
    return status;
}

static void print_labels(const weft_graph *graph)
{
    int64_t labelled = 0;
    if (graph->label != NULL) {
        for (int64_t v = 0; v < graph->vertices; v++) {
            labelled += graph->label[v] >= 0;
        }
        printf("labels: %" PRId64 " classes, %" PRId64 " vertices labelled\n", graph->classes, labelled);
    } else if (graph->target != NULL) {
        printf("labels: %" PRId64 " float tasks\n", graph->tasks);
    } else {
        printf("labels: none\n");
    }
}

static void print_split(const weft_graph *graph, int index)
{
    int64_t count[256] = {0};
    assert(graph->split != NULL); /* index is below the number of splits */
    for (int64_t v = 0; v < graph->vertices; v++) {
        count[graph->split[v]]++;
    }
    printf("split %d: %" PRId64 " train, %" PRId64 " valid, %" PRId64 " test, %" PRId64 " none\n", index, count[0],
           count[1], count[2], count[255]);
}

static weft_status print_splits(const char *store, int64_t splits)
{
    if (splits == 0) {
        printf("splits: none\n");
    }
    for (int index = 0; index < splits; index++) {
        weft_graph graph;
        WEFT_TRY(graph_open(store, index, false, &graph));
        print_split(&graph, index);
        graph_close(&graph);
    }
    return WEFT_OK;
}

static void print_manifest(const graph_manifest *m, const char *hash)
{
    fact_list list = {.rows = 0};
    facts_text(&list, "name", "name", "", m->name);
    facts_int(&list, "vertices", "vertices", "", "", m->vertices);
    facts_int(&list, "edges", "edges (directed)", "", "", m->edges);
    facts_yes_no(&list, "symmetric", "symmetric", "", m->symmetric);
    facts_yes_no(&list, "weighted", "weights of edges", "", m->weighted);
    facts_int(&list, "features", "features", "", "", m->features);
    if (m->origin[0] != '\0') {
        facts_text(&list, "origin", "origin", "", m->origin);
    }
    for (int id = 0; id < GRAPH_ARRAYS; id++) {
        const store_array *entry = &m->arrays[id];
        if (entry->present && entry->bytes >= 0) {
            char label[FACT_LABEL_BYTES];
            snprintf(label, sizeof label, "array %s", graph_array_names[id]);
            facts_int(&list, graph_array_names[id], label, "bytes", "", entry->bytes);
        }
    }
    facts_text(&list, "hash", "hash", "", hash);
    facts_print(&list, stdout, "");
}

static weft_status info_store(const char *store, bool check)
{
    weft_graph graph;
    graph_manifest *manifest = NULL;
    char hash[33];
    WEFT_TRY(graph_open(store, 0, check, &graph));
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&manifest, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(graph_manifest_read(store, manifest, hash), status, done);
    print_manifest(manifest, graph.hash);
    WEFT_TRY_GOTO(print_degrees(&graph), status, done);
    print_labels(&graph);
    WEFT_TRY_GOTO(print_splits(store, graph.splits), status, done);
    if (check) {
        WEFT_TRY_GOTO(graph_validate(&graph), status, done);
        printf("checked: checksums and every invariant hold\n");
    }
done:
    weft_free(manifest);
    graph_close(&graph);
    return status;
}

static bool is_store(const char *path)
{
    char manifest[FILE_PATH_MAX];
    return file_path(manifest, "%s/manifest.json", path) == WEFT_OK && file_exists(manifest);
}

weft_status gnn_info(const workload_subject *subject, bool *known)
{
    if (subject->kind == SUBJECT_TENSORS) {
        return gnn_info_tensors(subject->tensors, subject->what, known);
    }
    *known = subject->kind == SUBJECT_PATH && is_store(subject->what);
    return *known ? info_store(subject->what, subject->check) : WEFT_OK;
}
