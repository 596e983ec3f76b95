/* gnn/facts.c: see gnn/facts.h. */
#include "gnn/facts.h"

#include <math.h>
#include <string.h>

/* Rows added in a walk over numbers or edges, against elements of a full product in the same time: measured, 6 to
 * 20. */
static const double walk_cost = 16.0;

static bool is_labelled(const weft_graph *graph, int64_t v)
{
    if (graph->label != NULL) {
        return graph->label[v] >= 0;
    }
    for (int64_t t = 0; t < graph->tasks; ++t) {
        if (!isnan(graph->target[v * graph->tasks + t])) {
            return true;
        }
    }
    return false;
}

static void count_labels(const weft_graph *graph, gnn_facts *facts)
{
    bool labels = graph->label != NULL || graph->target != NULL;
    facts->features = graph->features;
    facts->answers = graph->target != NULL ? 2 * graph->tasks : graph->classes;
    for (int64_t v = 0; labels && graph->split != NULL && v < graph->vertices; ++v) {
        const bool training = graph->split[v] == TRAIN_SPLIT_TRAIN && is_labelled(graph, v);
        facts->training += training;
        facts->training_edges += training && graph->offset != NULL ? graph->offset[v + 1] - graph->offset[v] : 0;
    }
}

static void count_features(const weft_graph *graph, gnn_facts *facts)
{
    int64_t n = graph->vertices;
    int64_t rows = n < GNN_FACT_ROWS ? n : GNN_FACT_ROWS;
    for (int64_t i = 0; i < rows && graph->features > 0; ++i) {
        int64_t v = rows > 1 ? i * (n - 1) / (rows - 1) : 0;
        const graph_feature_count count = graph_feature_counts(graph, v);
        facts->zeros += graph->features - count.numbers;
        facts->negative += count.negative;
        facts->values += graph->features;
        facts->cancelled += fabs(count.sum) < GNN_CANCELLED_SUM * count.magnitude;
        facts->rows++;
    }
}

gnn_facts gnn_facts_of(const weft_graph *graph)
{
    gnn_facts facts = {0};
    count_labels(graph, &facts);
    count_features(graph, &facts);
    facts.edges = graph->edges;
    facts.degree = graph->vertices > 0 ? (double)graph->edges / (double)graph->vertices : 0.0;
    return facts;
}

double gnn_labels_per_answer(const gnn_facts *facts)
{
    return facts->answers > 0 ? (double)facts->training / (double)facts->answers : 0.0;
}

bool gnn_has_few_labels(const gnn_facts *facts)
{
    return gnn_labels_per_answer(facts) < GNN_FEW_LABELS;
}

bool gnn_has_wide_features(const gnn_facts *facts)
{
    return facts->training < facts->features;
}

gnn_feature_scaling gnn_scaling_for(const gnn_facts *facts, bool norm)
{
    bool counts = facts->negative == 0 && 2 * facts->zeros > facts->values;
    if (!counts) {
        return GNN_SCALE_STANDARD;
    }
    return norm ? GNN_SCALE_NONE : GNN_SCALE_LENGTH;
}

bool gnn_sums_cancel(const gnn_facts *facts)
{
    return 100 * facts->cancelled > facts->rows;
}

double gnn_read_share(const gnn_facts *facts)
{
    return facts->edges > 0 ? (double)facts->training_edges / (double)facts->edges : 0.0;
}

bool gnn_reads_few(const gnn_facts *facts)
{
    return facts->training_edges > 0 && gnn_read_share(facts) <= GNN_READ_SHARE;
}

/* The lower half of a float32 is what bfloat16 lacks. Denormals do not count as its numbers, because processors may
 * take them for 0. */
static bool row_is_narrow(const float *row, int64_t count)
{
    enum { LOWER = 0xffff, EXPONENT = 0x7f800000, MAGNITUDE = 0x7fffffff };
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &row[i], sizeof bits);
        const bool denormal = (bits & EXPONENT) == 0 && (bits & MAGNITUDE) != 0;
        bad |= (bits & LOWER) | (uint32_t)denormal;
    }
    return bad == 0;
}

weft_status gnn_features_are_narrow(weft_comm *comm, const weft_graph *graph, bool *narrow)
{
    enum { PIECE = 1 << 14 };
    const int ranks = comm_size(comm);
    const hal_span own = hal_split_rows(graph->vertices, ranks, comm_rank(comm));
    int32_t without = graph->features > 0 ? ranks : 0;
    float *room = NULL;
    *narrow = false;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&room, graph->features, WEFT_MEM_WORKSPACE)));
    for (int64_t v = own.begin; v < own.end && without == ranks; ++v) {
        without = row_is_narrow(graph_feature_row(graph, v, room), graph->features) ? ranks : comm_rank(comm);
        if (v % PIECE == 0) {
            graph_release_pages(graph);
        }
    }
    graph_release_pages(graph);
    weft_free(room);
    WEFT_TRY(comm_allreduce(comm, &without, 1, WEFT_DTYPE_I32, COMM_MIN));
    *narrow = without == ranks;
    return WEFT_OK;
}

double gnn_density(const gnn_facts *facts)
{
    return facts->values > 0 ? 1.0 - (double)facts->zeros / (double)facts->values : 1.0;
}

bool gnn_has_sparse_features(const gnn_facts *facts)
{
    const double features = (double)facts->features;
    return walk_cost * (gnn_density(facts) * features + facts->degree) < features;
}
