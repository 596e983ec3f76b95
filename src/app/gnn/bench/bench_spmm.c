/*
 * app/gnn/bench/bench_spmm.c: weft bench spmm: the rate of neighbour aggregation (out = A x, float32).
 *
 *      weft bench spmm --data reddit.weft,synth:arxiv --thread-counts 1,2,4 --dims 64,256 --forms all
 *
 * A row a graph, number of threads, vertex order, form and width: edge elements a second (E * d / t) and shares of
 * limits (spmm_case.c). --reorder cluster measures the library's vertex order, once with operands that live in it and
 * once gathering them from the given order and back; auto does so for graphs that training clusters.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "app/gnn/options/gnn_options.h"
#include "base/log.h"
#include "gnn/data/generate/generator.h"
#include "partition/reorder.h"

static weft_status begin(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    const weft_options *o = run->options;
    const bool listed = option_is_set(o, OPT_FORMS);
    WEFT_CHECK(option_is_set(o, OPT_DATA), WEFT_ERR_USAGE,
               "weft bench spmm needs --data: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    WEFT_TRY(bench_data_parse(option_text(o, OPT_DATA), b->data, &run->sets));
    b->width_count = option_list(o, OPT_DIMS, b->widths, SPMM_WIDTHS_MAX);
    WEFT_CHECK(b->width_count > 0 && b->width_count <= SPMM_WIDTHS_MAX, WEFT_ERR_USAGE,
               "--dims takes 1 to %d widths, not %d", SPMM_WIDTHS_MAX, b->width_count);
    WEFT_TRY(bench_names_parse(listed ? "--forms" : "--spmm", option_text(o, listed ? OPT_FORMS : OPT_SPMM),
                               option_row_in(o, OPT_SPMM)->choices, &b->forms));
    return bench_begin(run, &(bench_table){BENCH_ROWS(spmm_row)});
}

/* A generated graph lives in a temporary store for the time of its cases. The generator uses the threads of the first
 * team. */
static weft_status generate(spmm_bench *b, const char *spec, char store[FILE_PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    WEFT_TRY(file_path(b->scratch, "%s/weft-bench-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp"));
    if (mkdtemp(b->scratch) == NULL) {
        b->scratch[0] = '\0';
        return weft_fail(WEFT_ERR_IO, "no temporary folder for the generated graph: set TMPDIR to a writable one");
    }
    WEFT_TRY(file_path(store, "%s/graph", b->scratch));
    return generator_write_store(spec, store, b->run.team->place.threads, false);
}

static weft_status open_graph(spmm_bench *b)
{
    const char *data = b->data[b->run.set];
    char store[FILE_PATH_MAX];
    const bool generated = generator_named(data);
    WEFT_TRY(generated ? generate(b, data + strlen(GENERATOR_PREFIX), store) : WEFT_OK);
    WEFT_TRY(graph_open(generated ? store : data, 0, option_flag(b->run.options, OPT_VERIFY), &b->graph));
    WEFT_CHECK(b->graph.source32 != NULL || b->graph.edges == 0, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; aggregation takes 32-bit ids", data, b->graph.vertices);
    b->given = (bench_matrix){.csr = {.rows = b->graph.vertices,
                                      .cols = b->graph.vertices,
                                      .offset = b->graph.offset,
                                      .column = b->graph.source32}};
    memcpy(b->name[b->run.set], b->graph.name, sizeof b->name[0]);
    b->order_seconds = (double)NAN;
    return WEFT_OK;
}

static void close_graph(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    bench_matrix_free(&b->ordered);
    graph_close(&b->graph);
    if (b->scratch[0] != '\0' && folder_remove(b->scratch) != WEFT_OK) {
        log_warn("the temporary folder %s could not be removed", b->scratch);
    }
    b->scratch[0] = '\0';
}

static weft_status measure_order(spmm_bench *b, const bench_matrix *matrix)
{
    for (int i = 0; i < b->forms.count * b->width_count; i++) {
        const hal_spmm_form form = (hal_spmm_form)b->forms.wanted[i / b->width_count];
        WEFT_TRY(bench_form(b, matrix, form, b->widths[i % b->width_count]));
    }
    return WEFT_OK;
}

/* All orders, forms and widths of a graph with a team. The order is chosen as training chooses it. */
static weft_status measure(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    const reorder_choice choice = option_choice(run->options, OPT_REORDER);
    WEFT_TRY(b->graph.mapping != NULL ? WEFT_OK : open_graph(b));
    WEFT_TRY(measure_order(b, &b->given));
    if (choice == REORDER_NONE || (choice == REORDER_AUTO && !graph_prefers_clustering(&b->graph))) {
        return WEFT_OK;
    }
    if (b->ordered.csr.rows == 0) {
        int32_t *position = NULL;
        WEFT_TRY(graph_cluster_order(&b->graph, 0, run->team->place.threads, &position, &b->order_seconds));
        WEFT_TRY(bench_matrix_reorder(&b->given.csr, position, &b->ordered));
    }
    return measure_order(b, &b->ordered);
}

const bench_kind bench_spmm = {.bytes = sizeof(spmm_bench), .begin = begin, .measure = measure, .leave = close_graph};
