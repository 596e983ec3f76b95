/*
 * app/bench_spmm.c: weft bench spmm: the rate of neighbour aggregation (out = A x, float32) on one graph.
 *
 * A row a width, form and vertex order: median and quartiles of the repetitions after a warm-up, edge elements a second
 * (E * d / t), the least memory traffic as a share of the triad's bandwidth. Every result is checked against sums in
 * double precision first; a wrong one gets no rate and the command ends with exit code 70.
 *
 * --reorder cluster measures the library's vertex order, once with operands that live in it and once gathering them
 * from the given order and back; auto does so when the rows form is chosen for a large graph in its given order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench_spmm.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/log.h"
#include "gnn/data/generator.h"
#include "hal/placement.h"
#include "partition/graph.h"
#include "partition/reorder.h"

enum { MAX_WIDTHS = 64, MAX_FORMS = 4, ORDERS = 3 };
enum { REORDER_AUTO, REORDER_NONE, REORDER_CLUSTER }; /* order of --reorder's choices */

typedef struct spmm_bench {
    const weft_options *options;
    char scratch[FILE_PATH_MAX]; /* folder of a generated store, removed at the end; "" when none */
    weft_graph graph;
    placement place;
    weft_hal *hal;
    int64_t widths[MAX_WIDTHS];
    int width_count;
    const char *form[MAX_FORMS];
    int form_count;
    bench_table table;
} spmm_bench;

/* "all", or names separated by commas. */
static weft_status read_forms(spmm_bench *b)
{
    static const char *const names[] = {"auto", "rows", "blocks", "lists"};
    const bool listed = option_is_set(b->options, OPT_FORMS);
    const char *text = option_text(b->options, listed ? OPT_FORMS : OPT_SPMM);
    if (strcmp(text, "all") == 0) {
        text = "rows,blocks,lists";
    }
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        int found = -1;
        for (int i = 0; i < MAX_FORMS; i++) {
            found = strlen(names[i]) == length && strncmp(names[i], text, length) == 0 ? i : found;
        }
        WEFT_CHECK(found >= 0, WEFT_ERR_USAGE, "--forms %.*s: the forms are auto, rows, blocks, lists, or all",
                   (int)length, text);
        WEFT_CHECK(b->form_count < MAX_FORMS, WEFT_ERR_USAGE, "--forms takes at most %d forms", MAX_FORMS);
        b->form[b->form_count++] = names[found];
        text += length + (text[length] == ',');
    }
    WEFT_CHECK(b->form_count > 0, WEFT_ERR_USAGE, "--forms is empty: auto, rows, blocks, lists, or all");
    return WEFT_OK;
}

static weft_status read_options(spmm_bench *b)
{
    WEFT_CHECK(launcher_size() <= 1, WEFT_ERR_LAUNCH,
               "weft bench spmm runs as one process, not as %d: start it without mpirun", launcher_size());
    WEFT_CHECK(option_is_set(b->options, OPT_DATA), WEFT_ERR_USAGE,
               "weft bench spmm needs --data: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    b->width_count = option_list(b->options, OPT_DIMS, b->widths, MAX_WIDTHS);
    WEFT_CHECK(b->width_count > 0 && b->width_count <= MAX_WIDTHS, WEFT_ERR_USAGE,
               "--dims takes 1 to %d widths, not %d", MAX_WIDTHS, b->width_count);
    return read_forms(b);
}

/* 0: what the machine has. The variable may be a list; its first number counts. */
static int threads_wanted(const weft_options *options)
{
    const int64_t asked = option_int(options, OPT_THREADS);
    const char *environment = getenv("OMP_NUM_THREADS");
    if (asked > 0 || environment == NULL) {
        return (int)asked;
    }
    const long threads = strtol(environment, NULL, 10);
    return threads > 0 && threads <= INT16_MAX ? (int)threads : 0;
}

static weft_status place_threads(spmm_bench *b)
{
    machine m = {0};
    cpu_set mask;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(machine_detect(&m), status, done);
    WEFT_TRY_GOTO(placement_current_mask(&mask), status, done);
    placement_request request = {.node_ranks = 1,
                                 .node_rank = 0,
                                 .masks = &mask,
                                 .threads = threads_wanted(b->options),
                                 .pin = (pin_mode)option_choice(b->options, OPT_PIN)};
    WEFT_TRY_GOTO(placement_plan(&m, &request, &b->place), status, done);
    WEFT_TRY_GOTO(placement_apply(&b->place), status, done);
done:
    machine_free(&m);
    return status;
}

/* A generated graph lives in a temporary store for the time of the run. */
static weft_status open_graph(spmm_bench *b)
{
    static const char prefix[] = "synth:";
    const char *data = option_text(b->options, OPT_DATA);
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
        WEFT_TRY(generator_write_store(data + sizeof prefix - 1, path, b->place.threads, false));
        store = path;
    }
    WEFT_TRY(graph_open(store, 0, option_flag(b->options, OPT_VERIFY), &b->graph));
    WEFT_CHECK(b->graph.source32 != NULL || b->graph.edges == 0, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; aggregation takes 32-bit ids", data, b->graph.vertices);
    return WEFT_OK;
}

static weft_status measure_order(spmm_bench *b, const bench_matrix *matrix)
{
    int repeats = (int)option_int(b->options, OPT_REPEATS);
    for (int i = 0; i < b->form_count; i++) {
        WEFT_TRY(bench_form(b->hal, matrix, b->form[i], b->widths, b->width_count, repeats, &b->table));
    }
    return WEFT_OK;
}

/* As training decides. */
static bool wants_order(const spmm_bench *b)
{
    const int choice = option_choice(b->options, OPT_REORDER);
    if (choice != REORDER_AUTO) {
        return choice == REORDER_CLUSTER;
    }
    return graph_prefers_clustering(&b->graph);
}

static weft_status measure(spmm_bench *b)
{
    bench_matrix matrix = {.csr = {.rows = b->graph.vertices,
                                   .cols = b->graph.vertices,
                                   .offset = b->graph.offset,
                                   .column = b->graph.source32}};
    WEFT_TRY(measure_order(b, &matrix));
    if (!wants_order(b)) {
        return WEFT_OK;
    }
    int32_t *position = NULL;
    bench_matrix ordered;
    WEFT_TRY(graph_cluster_order(&b->graph, 0, b->place.threads, &position, &b->table.order_seconds));
    WEFT_TRY(bench_matrix_reorder(&matrix.csr, position, &ordered));
    weft_status status = measure_order(b, &ordered);
    bench_matrix_free(&ordered);
    return status;
}

static weft_status run_spmm(spmm_bench *b)
{
    WEFT_TRY(place_threads(b));
    WEFT_TRY(open_graph(b));
    WEFT_TRY(weft_hal_open(option_text(b->options, OPT_BACKEND), b->place.threads, &b->hal));
    b->table.vertices = b->graph.vertices;
    b->table.edges = b->graph.edges;
    b->table.threads = b->place.threads;
    b->table.backend = b->hal->name;
    b->table.order_seconds = -1.0;
    memcpy(b->table.graph, b->graph.name, sizeof b->table.graph);
    WEFT_TRY(WEFT_NEW_ZERO(&b->table.row, ORDERS * b->form_count * b->width_count, WEFT_MEM_GENERAL));
    WEFT_TRY(bench_triad(b->place.threads, &b->table.triad));
    WEFT_TRY(measure(b));
    bench_print(stdout, &b->table, (bench_format)option_choice(b->options, OPT_FORMAT_OUT));
    for (int i = 0; i < b->table.count; i++) {
        const bench_row *row = &b->table.row[i];
        WEFT_CHECK(row->valid, WEFT_ERR_INTERNAL,
                   "aggregation of width %" PRId64 " in form %s is wrong: an error of %.3g times its bound", row->d,
                   row->wanted, row->worst);
    }
    return WEFT_OK;
}

weft_status bench_spmm(const weft_options *options)
{
    spmm_bench b = {.options = options};
    weft_status status = read_options(&b);
    if (status == WEFT_OK) {
        status = run_spmm(&b);
    }
    weft_free(b.table.row);
    weft_hal_close(b.hal);
    graph_close(&b.graph);
    placement_free(&b.place);
    if (b.scratch[0] != '\0' && folder_remove(b.scratch) != WEFT_OK) {
        log_warn("the temporary folder %s could not be removed", b.scratch);
    }
    return status;
}
