/*
 * app/info.c: weft info: what a graph store holds, or what this machine is.
 *
 * A line a fact, "name: value", on stdout. Only manifest, headers, offsets, labels and splits are read; --check reads
 * the rest too.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "app/command.h"
#include "base/alloc.h"
#include "hal/placement.h"
#include "partition/graph_manifest.h"

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static weft_status print_degrees(const weft_graph *graph)
{
    int64_t n = graph->vertices;
    int64_t *degree = NULL;
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

/* Text of a manifest: a foreign one must not steer the terminal. */
static void print_text(const char *name, const char *text)
{
    printf("%s: ", name);
    for (; *text != '\0'; text++) {
        putchar((unsigned char)*text < 32 || *text == 127 ? ' ' : *text);
    }
    putchar('\n');
}

static void print_manifest(const graph_manifest *m)
{
    print_text("name", m->name);
    printf("vertices: %" PRId64 "\nedges (directed): %" PRId64 "\nsymmetric: %s\nfeatures: %" PRId64 "\n", m->vertices,
           m->edges, m->symmetric ? "yes" : "no", m->features);
    if (m->origin[0] != '\0') {
        print_text("origin", m->origin);
    }
    for (int id = 0; id < GRAPH_ARRAYS; id++) {
        const graph_manifest_array *entry = &m->arrays[id];
        if (entry->present && entry->bytes >= 0) {
            printf("array %s: %" PRId64 " bytes\n", graph_array_names[id], entry->bytes);
        }
    }
}

static weft_status describe_store(const char *store, bool check)
{
    weft_graph graph;
    graph_manifest *manifest = NULL;
    char hash[33];
    WEFT_TRY(graph_open(store, 0, check, &graph));
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&manifest, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(graph_manifest_read(store, manifest, hash), status, done);
    print_manifest(manifest);
    printf("hash: %s\n", graph.hash);
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

static weft_status describe_machine(void)
{
    machine m;
    WEFT_TRY(machine_detect(&m));
    char text[256];
    printf("processor: %s\npackages: %d\ncores: %d, %d hardware threads each\nNUMA nodes: %d (and %d without cores)\n",
           m.model, m.packages, m.cores, m.smt, m.numa_nodes, m.memory_only_numa);
    printf("usable logical CPUs: %s\n", cpu_set_text(&m.allowed, text, sizeof text));
    printf("L2 of a core: %" PRIu64 " KiB\nL3 seen by a core: %" PRIu64 " KiB\n", m.l2_bytes >> 10, m.l3_bytes >> 10);
    printf("memory: %.1f GiB, %.1f GiB available to this process\n", (double)m.memory_bytes / 0x1p30,
           (double)placement_memory_available() / 0x1p30);
    machine_free(&m);
    return WEFT_OK;
}

weft_status app_info(const weft_options *options)
{
    return option_argument_count(options) == 0
               ? describe_machine()
               : describe_store(option_argument(options, 0), option_flag(options, OPT_CHECK));
}
