/*
 * 03_store: write a graph store from arrays and read it back.
 *
 *     03_store FOLDER                 the store to write; an existing store is replaced
 *
 * The graph is a ring of N vertices: each is a neighbour of the one before and the one after. The left half has label
 * 0, the right half label 1; every tenth vertex is for testing, every tenth for validation, the others for training.
 */
#include <stdio.h>

#include <weft/graph.h>

enum { N = 200, FEATURES = 2, DEGREE = 2 };

static int64_t offset[N + 1];
static int32_t source[N * DEGREE];
static float feature[N * FEATURES];
static int32_t label[N];
static uint8_t split[N];

static void make_ring(void)
{
    for (int32_t v = 0; v < N; ++v) {
        int32_t before = (v + N - 1) % N;
        int32_t after = (v + 1) % N;
        offset[v + 1] = offset[v] + DEGREE;
        source[offset[v]] = before < after ? before : after; /* ascending in a row */
        source[offset[v] + 1] = before < after ? after : before;
        feature[v * FEATURES] = (float)v / N;
        feature[v * FEATURES + 1] = 1.0F;
        label[v] = v >= N / 2;
        split[v] = (uint8_t)(v % 10 == 0 ? 2 : v % 10 == 5 ? 1 : 0);
    }
}

static weft_status write_ring(const char *path)
{
    const weft_graph_arrays ring = {
        .vertices = N,
        .edges = N * DEGREE,
        .features = FEATURES,
        .classes = 2,
        .splits = 1,
        .symmetric = true,
        .offset = offset,
        .source = source,
        .feature = feature,
        .label = label,
        .split = split,
        .name = "ring",
    };
    return weft_graph_write(path, &ring, true);
}

/* Open the store and look at vertex 0. */
static weft_status read_ring(const char *path)
{
    weft_graph *graph = NULL;
    weft_graph_arrays a;
    weft_status status = weft_graph_open(path, 0, &graph);
    if (status == WEFT_OK) {
        status = weft_graph_validate(graph);
    }
    if (status == WEFT_OK) {
        weft_graph_get(graph, &a);
        printf("%s: %lld vertices, %lld edges, %lld features, %lld classes\n", a.name, (long long)a.vertices,
               (long long)a.edges, (long long)a.features, (long long)a.classes);
        printf("vertex 0 hears from");
        for (int64_t k = a.offset[0]; k < a.offset[1]; ++k) {
            printf(" %d", (int)a.source[k]);
        }
        printf("\n");
    }
    weft_graph_close(graph);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: 03_store FOLDER\n");
        return WEFT_ERR_USAGE;
    }
    make_ring();
    weft_status status = write_ring(argv[1]);
    if (status == WEFT_OK) {
        status = read_ring(argv[1]);
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "03_store: %s\n", weft_error_message());
    }
    return (int)status;
}
