/*
 * 02_partition: divide a graph store into parts and compare methods by their replication factor.
 *
 *     02_partition STORE [PARTS]      PARTS: default 4; any store will do, for instance that of 03_store
 */
#include <stdio.h>

#include <weft/graph.h>
#include <weft/options.h>
#include <weft/partition.h>

/* One line: the report, and the roots of part 0 counted from the array itself. */
static weft_status show(const weft_graph *graph, weft_options *options, const char *method)
{
    weft_partition *partition = NULL;
    weft_partition_report report;
    weft_graph_arrays arrays;
    weft_status status = weft_options_set(options, "method", method);
    if (status == WEFT_OK) {
        status = weft_partition_compute(graph, options, &partition, &report);
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_graph_get(graph, &arrays);
    const uint16_t *root = weft_partition_root(partition);
    int64_t roots = root == NULL ? arrays.vertices : 0;
    for (int64_t v = 0; root != NULL && v < arrays.vertices; ++v) {
        roots += root[v] == 0;
    }
    printf("%-8s %2d parts: replication factor %.4f, edge balance %.4f, part 0 is the root of %lld of %lld vertices\n",
           method, weft_partition_parts(partition), report.replication_factor, report.edge_balance, (long long)roots,
           (long long)arrays.vertices);
    weft_partition_destroy(partition);
    return WEFT_OK;
}

static weft_status compare(const char *store, const char *parts, weft_options *options)
{
    static const char *const methods[] = {"random", "libra", "edgecut"};
    weft_graph *graph = NULL;
    weft_status status = weft_graph_open(store, 0, &graph);
    if (status == WEFT_OK) {
        status = weft_options_set(options, "parts", parts);
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods && status == WEFT_OK; ++i) {
        status = show(graph, options, methods[i]);
    }
    weft_graph_close(graph);
    return status;
}

int main(int argc, char **argv)
{
    weft_options *options = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: 02_partition STORE [PARTS]\n");
        return WEFT_ERR_USAGE;
    }
    weft_status status = weft_options_create("partition", &options);
    if (status == WEFT_OK) {
        status = compare(argv[1], argc > 2 ? argv[2] : "4", options);
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "02_partition: %s\n", weft_error_message());
    }
    weft_options_destroy(options);
    return (int)status;
}
