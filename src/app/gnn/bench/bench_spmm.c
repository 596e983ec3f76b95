/*
 * app/gnn/bench/bench_spmm.c: weft bench spmm: the rate of neighbour aggregation (out = A x, float32).
 *
 *      weft bench spmm --data reddit.weft,synth:arxiv --thread-counts 1,2,4 --dims 64,256 --forms all
 *
 * Lists make a matrix: a row a graph, number of threads, vertex order, form and width, with median and quartiles of
 * the repetitions after a warm-up, edge elements a second (E * d / t), the share of the limit that the measured levels
 * of memory set (spmm_case.c), the least memory traffic as a share of the triad's bandwidth, and the operations as a
 * share of a large product's (app/setup/machine_limits.h). Every result is checked against sums in double precision
 * first; a wrong one gets no rate and the command ends with exit code 70.
 *
 * --reorder cluster measures the library's vertex order, once with operands that live in it and once gathering them
 * from the given order and back; auto does so when the rows form is chosen for a large graph in its given order.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "app/gnn/options/gnn_options.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "gnn/data/generate/generator.h"
#include "graph/graph.h"
#include "partition/reorder.h"

enum { MAX_WIDTHS = 64 };

typedef struct spmm_bench {
    const weft_options *options;
    char data[BENCH_DATA_MAX][BENCH_DATA_BYTES];
    char name[BENCH_DATA_MAX][64]; /* of the graphs */
    int data_count, index;         /* index: of the graph that is measured */
    char scratch[FILE_PATH_MAX];   /* folder of a generated store, removed after its use; "" when none */
    bool open;                     /* the graph is */
    weft_graph graph;
    bench_matrix given, ordered; /* ordered.csr.rows 0: not made yet */
    int64_t widths[MAX_WIDTHS];
    int width_count;
    bench_names forms; /* numbers are those of hal_spmm_form */
    spmm_table table;
} spmm_bench;

static weft_status read_options(spmm_bench *b)
{
    WEFT_TRY(bench_one_process("spmm"));
    WEFT_CHECK(option_is_set(b->options, OPT_DATA), WEFT_ERR_USAGE,
               "weft bench spmm needs --data: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    WEFT_TRY(bench_data_parse(option_text(b->options, OPT_DATA), b->data, &b->data_count));
    b->width_count = option_list(b->options, OPT_DIMS, b->widths, MAX_WIDTHS);
    WEFT_CHECK(b->width_count > 0 && b->width_count <= MAX_WIDTHS, WEFT_ERR_USAGE,
               "--dims takes 1 to %d widths, not %d", MAX_WIDTHS, b->width_count);
    b->table.repeats = (int)option_int(b->options, OPT_REPEATS);
    const bool listed = option_is_set(b->options, OPT_FORMS);
    return bench_names_parse(listed ? "--forms" : "--spmm", option_text(b->options, listed ? OPT_FORMS : OPT_SPMM),
                             option_row_in(b->options, OPT_SPMM)->choices, &b->forms);
}

/* A generated graph lives in a temporary store for the time of its cases. */
static weft_status open_store(spmm_bench *b, const char *data, int threads)
{
    static const char prefix[] = "synth:";
    const char *store = data;
    char path[FILE_PATH_MAX];
    if (strncmp(data, prefix, sizeof prefix - 1) == 0) {
        const char *folder = getenv("TMPDIR");
        WEFT_TRY(file_path(b->scratch, "%s/weft-bench-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp"));
        if (mkdtemp(b->scratch) == NULL) {
            b->scratch[0] = '\0';
            return weft_fail(WEFT_ERR_IO, "no temporary folder for the generated graph: set TMPDIR to a writable one");
        }
        WEFT_TRY(file_path(path, "%s/graph", b->scratch));
        WEFT_TRY(generator_write_store(data + sizeof prefix - 1, path, threads, false));
        store = path;
    }
    WEFT_TRY(graph_open(store, 0, option_flag(b->options, OPT_VERIFY), &b->graph));
    WEFT_CHECK(b->graph.source32 != NULL || b->graph.edges == 0, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; aggregation takes 32-bit ids", data, b->graph.vertices);
    b->given = (bench_matrix){.csr = {.rows = b->graph.vertices,
                                      .cols = b->graph.vertices,
                                      .offset = b->graph.offset,
                                      .column = b->graph.source32}};
    return WEFT_OK;
}

static void close_graph(spmm_bench *b)
{
    bench_matrix_free(&b->ordered);
    b->ordered = (bench_matrix){.position = NULL};
    graph_close(&b->graph);
    if (b->scratch[0] != '\0' && folder_remove(b->scratch) != WEFT_OK) {
        log_warn("the temporary folder %s could not be removed", b->scratch);
    }
    b->scratch[0] = '\0';
    b->open = false;
}

/* As training decides. */
static bool wants_order(const spmm_bench *b)
{
    const reorder_choice choice = option_choice(b->options, OPT_REORDER);
    if (choice != REORDER_AUTO) {
        return choice == REORDER_CLUSTER;
    }
    return graph_prefers_clustering(&b->graph);
}

static weft_status measure_order(spmm_bench *b, const bench_team *team, const bench_matrix *matrix)
{
    for (int i = 0; i < b->forms.count * b->width_count; i++) {
        const hal_spmm_form form = (hal_spmm_form)b->forms.wanted[i / b->width_count];
        WEFT_TRY(bench_form(team, matrix, form, b->widths[i % b->width_count], &b->table));
    }
    return WEFT_OK;
}

/* With the first team, whose threads a generator uses. */
static weft_status open_graph(spmm_bench *b, int threads)
{
    spmm_row *common = &b->table.common;
    WEFT_TRY(open_store(b, b->data[b->index], threads));
    memcpy(b->name[b->index], b->graph.name, sizeof b->name[b->index]);
    *common = (spmm_row){.graph = b->name[b->index],
                         .vertices = b->graph.vertices,
                         .edges = b->graph.edges,
                         .order_seconds = (double)NAN};
    b->open = true;
    return WEFT_OK;
}

/* All orders, forms and widths of a graph with a team. */
static weft_status run_team(bench_team *team, void *self)
{
    spmm_bench *b = self;
    WEFT_TRY(b->open ? WEFT_OK : open_graph(b, team->place.threads));
    WEFT_TRY(measure_order(b, team, &b->given));
    if (!wants_order(b)) {
        return WEFT_OK;
    }
    if (b->ordered.csr.rows == 0) {
        int32_t *position = NULL;
        WEFT_TRY(graph_cluster_order(&b->graph, 0, team->place.threads, &position, &b->table.common.order_seconds));
        WEFT_TRY(bench_matrix_reorder(&b->given.csr, position, &b->ordered));
    }
    return measure_order(b, team, &b->ordered);
}

static weft_status run_spmm(spmm_bench *b)
{
    const bench_kernel_head head = bench_kernel_head_of(b->options, "spmm");
    binding start;
    WEFT_TRY(bench_team_start(&start));
    WEFT_TRY(bench_grid_begin(&b->table.grid, &(bench_start){.options = b->options,
                                                             .title = "bench spmm",
                                                             .speaks = true,
                                                             BENCH_COLUMNS(bench_kernel_head, spmm_row),
                                                             .head = &head}));
    for (b->index = 0; b->index < b->data_count; b->index++) {
        const weft_status status = bench_each_team(b->options, &start, run_team, b);
        close_graph(b);
        WEFT_TRY(status);
    }
    return bench_grid_end(&b->table.grid);
}

weft_status bench_spmm(const weft_options *options)
{
    spmm_bench *b = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&b, 1, WEFT_MEM_GENERAL));
    b->options = options;
    weft_status status = read_options(b);
    status = status == WEFT_OK ? run_spmm(b) : status;
    bench_grid_free(&b->table.grid);
    weft_free(b);
    return status;
}
