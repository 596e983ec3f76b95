/*
 * partition_rules STORE RULE PARTS: the vertex-cut of a graph store by a rule of others (support/partition_rules.h),
 * its figures as weft partition --json prints them. bench/partition shows them beside Weft's.
 */
#include <stdio.h>

#include "base/clock.h"
#include "graph/graph.h"
#include "support/partition_rules.h"

static void run(const rule_graph *g, const partition_rule *rule, int parts)
{
    uint16_t *part = malloc(((size_t)g->pairs + 1) * sizeof *part);
    const double start = clock_seconds();
    rule->run(g, parts, 1, part);
    const double seconds = clock_seconds() - start;
    const rule_figures got = rule_measure(g, parts, part);
    printf("{\"method\": \"%s\", \"parts\": %d, \"replication_factor\": %.4f, \"edge_balance\": %.4f, "
           "\"vertex_balance\": %.4f, "
           "\"seconds\": %.2f, \"peak_rss_bytes\": %llu}\n",
           rule->name, parts, got.replication_factor, got.edge_balance, got.vertex_balance, seconds,
           (unsigned long long)clock_peak_rss_bytes());
    free(part);
}

int main(int argc, char **argv)
{
    const partition_rule *rule = argc == 4 ? partition_rule_find(argv[2]) : NULL;
    const int parts = argc == 4 ? atoi(argv[3]) : 0;
    weft_graph graph = {0};
    pair_list list = {0};
    if (rule == NULL || parts < 2 || parts > PARTITION_MAX_PARTS) {
        fprintf(stderr, "partition_rules STORE dbh|hdrf|2ps-l|ne PARTS\n");
        return 2;
    }
    weft_status status = graph_open(argv[1], 0, false, &graph);
    status = status == WEFT_OK ? graph_validate(&graph) : status;
    status = status == WEFT_OK ? pair_list_build(&graph, 1, &list) : status;
    if (status == WEFT_OK) {
        rule_graph g = rule_graph_of(&list);
        run(&g, rule, parts);
        rule_graph_free(&g);
    } else {
        fprintf(stderr, "partition_rules: %s\n", weft_error_message());
    }
    pair_list_free(&list);
    graph_close(&graph);
    return status == WEFT_OK ? 0 : 1;
}
