/* app/gnn/gnn_memory.c: see app/gnn/gnn_memory.h. */
#include "app/gnn/gnn_memory.h"

#include <assert.h>
#include <math.h>

#include "app/gnn/options/gnn_options.h"
#include "gnn/layers/layer.h"
#include "gnn/linear_start.h"
#include "hal/share.h"
#include "train/train_options.def"

/* Library code, thread stacks and generated kernels that become resident with the first epoch; measured on graphs of a
 * few hundred vertices. */
#define LAZY_BYTES ((uint64_t)4 << 20)

/* Rows of so many edges go to blocks and lists. */
static bool has_long_rows(int64_t rows, int64_t edges)
{
    const double least = 64.0;
    return rows > 0 && (double)edges / (double)rows > least;
}

static bool is_weighted(const gnn_memory_facts *f)
{
    return f->graph->weight != NULL;
}

/* The aggregation matrix holds 2 bytes an edge in its block forms and 4 in its row form, 8 with weights, plus row
 * pointers; see hal_spmm_form. Rows that meet many edges go to blocks, which hold no weights. */
static uint64_t matrix_bytes(const gnn_memory_facts *f, int64_t rows, int64_t edges)
{
    uint64_t pointers = 8 * (uint64_t)rows;
    if (f->left > 0.0) { /* graphs of groups have a quarter to half as many partial sums as rows */
        return (uint64_t)(4.0 * pow(f->left, HAL_SHARE_PASSES) * (double)edges) + 3 * pointers;
    }
    if (is_weighted(f)) {
        return 8 * (uint64_t)edges + pointers;
    }
    if (f->plan->config.fixed_rows || (f->form != HAL_SPMM_ROWS && has_long_rows(rows, edges))) {
        uint64_t blocks = (uint64_t)rows / 16384 + 1;
        return 2 * (uint64_t)edges + 4 * (uint64_t)rows * blocks;
    }
    return 4 * (uint64_t)edges + pointers;
}

/* The backend tells of its own memory, which its matrices take in one form. */
static bool is_told(const gnn_memory_facts *f)
{
    return f->hal != NULL && f->hal->sparse.spmm_bytes(f->hal, 1, 1, false) > 0;
}

/* Of so many matrices: as the backend of this rank tells of its own memory, where it does. In parts that hide the halo
 * each row is there twice. */
static uint64_t matrices_bytes(const gnn_memory_facts *f, int64_t edges, uint64_t matrices)
{
    const int64_t rows = f->plan->n_local;
    const uint64_t parts = f->hides ? 2 : 1;
    const uint64_t told =
        f->hal != NULL ? f->hal->sparse.spmm_bytes(f->hal, rows * (int64_t)parts, edges, is_weighted(f)) : 0;
    return matrices * (told > 0 ? told : matrix_bytes(f, rows, edges));
}

/* What sources of a matrix so wide are packed in and, of blocks, summed in: two strips of 16 or 32 columns, or rows of
 * up to 64. Fixed point: a strip of 16 or 32 columns of 2 and of 4 bytes. */
static uint64_t packing_bytes(const gnn_memory_facts *f, int64_t width)
{
    const uint64_t fixed = width > 16 ? 48 : 24;
    const uint64_t columns = f->plan->config.fixed_rows ? fixed : width > 16 ? 64 : 32;
    const uint64_t halves = f->left > 0.0 ? 3 : 2; /* partial sums are packed behind the rows */
    return is_told(f) || width == 0 ? 0 : (uint64_t)f->plan->n_local * columns * 2 * halves * (f->hides ? 2 : 1);
}

/* A search for shared sums: matrices before and after a pass, and lists that grow to twice of what it finds. */
static uint64_t search_bytes(const gnn_memory_facts *f, int64_t edges)
{
    return (uint64_t)(16.0 * f->left * (double)edges);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t max3(uint64_t a, uint64_t b, uint64_t c)
{
    return larger(larger(a, b), c);
}

/* Pages of the graph and its partition, while the part is cut out. */
static uint64_t mapped_bytes(const gnn_memory_facts *f)
{
    const uint64_t id_bytes = f->graph->source64 != NULL ? 8 : 4;
    const uint64_t e = (uint64_t)f->graph->edges, n = (uint64_t)f->graph->vertices;
    const uint64_t weight_bytes = is_weighted(f) ? 4 : 0;
    if (f->parts == 1 && f->hal != NULL) { /* released as they are copied */
        const uint64_t held = (uint64_t)f->hal->threads * PART_HELD_EDGES;
        return (held < e ? held : e) * (id_bytes + weight_bytes) + n * 8;
    }
    return e * (id_bytes + weight_bytes) + n * 8 + (f->parts > 1 ? 2 * e + 2 * n : 0);
}

/* Local edges of a last layer that computes what the loss reads: of its two matrices; 0: it has none of its own. */
static int64_t read_edges(const gnn_memory_facts *f)
{
    return f->plan->read_width > 0 ? (int64_t)((double)f->edges * f->plan->config.read_share) : 0;
}

/* Matrices of long rows take less in one form than in another. */
static bool has_choice(const gnn_memory_facts *f)
{
    return !is_told(f) && !is_weighted(f) && !f->plan->config.fixed_rows && has_long_rows(f->plan->n_local, f->edges);
}

/* Blocks and lists run along the edges of rows that are read too (hal_spmm_info.marked), unless they are in parts. */
static bool reads_within(const gnn_memory_facts *f)
{
    const bool marks = f->form == HAL_SPMM_AUTO || f->form == HAL_SPMM_BLOCKS || f->form == HAL_SPMM_LISTS;
    return !f->hides && marks && has_choice(f);
}

/* Edges that a matrix of the last layer's own holds. */
static int64_t copied_edges(const gnn_memory_facts *f)
{
    return reads_within(f) ? 0 : read_edges(f);
}

static uint64_t aggregation_bytes(const gnn_memory_facts *f)
{
    if (f->plan->max_width == 0) {
        return 0;
    }
    /* CSR of each direction, global ids, whose edges are elsewhere */
    if (gnn_layer_ops_of(&f->plan->config)->walks_edges) {
        const uint64_t csr = 4 * (uint64_t)f->edges + 8 * (uint64_t)f->plan->n_local;
        return csr * (f->symmetric ? 1 : 2) + 9 * (uint64_t)f->plan->n_local;
    }
    const uint64_t matrices = f->symmetric ? 1 : 2;
    const uint64_t all = matrices_bytes(f, f->edges, matrices) + matrices * packing_bytes(f, f->plan->max_width);
    const int64_t read = copied_edges(f);
    const uint64_t column = reads_within(f) && f->plan->read_width > 0 ? sizeof(int32_t) : 0; /* where it is packed */
    const bool travels = f->plan->config.fixed_rows && f->parts > 1; /* rows and sums, of 2 and 4 bytes */
    const uint64_t integers = travels ? 6 * (uint64_t)(f->plan->n_local * f->plan->max_width) : 0;
    return all + integers + column * (uint64_t)f->plan->n_local +
           (read > 0 ? matrices_bytes(f, read, 2) + 2 * packing_bytes(f, f->plan->read_width) : 0);
}

/* What rows pass through: between ranks of a node two regions to send from and the peers' that it reads (comm/halo), in
 * fewer bits their rows as well; messages take no more. And what a delayed halo keeps of each leg: at most a row for
 * every row held. It has lists and buffers of its own beside those of evaluations, and of each leg where rows have
 * until the next epoch. */
static uint64_t halo_bytes(const gnn_memory_facts *f)
{
    const gnn_plan *plan = f->plan;
    const uint64_t rows = (uint64_t)f->halo_rows;
    const uint64_t times = gnn_halo_codes(&plan->config.halo) ? 3 : 2;
    const uint64_t scopes =
        plan->read_width > 0 ? 2 : 1; /* the last layer's rows that are read pass through a halo of their own */
    const uint64_t passing = scopes * times * rows * (uint64_t)plan->max_width * 4;
    const gnn_halo_options *halo = &plan->config.halo;
    if ((halo->delay <= 1 && !halo->hidden) || rows == 0 || plan->max_width == 0) {
        return passing + (halo->sample < 1.0 ? rows * 24 + (uint64_t)plan->n_local * 8 : 0);
    }
    const uint64_t kept = rows < (uint64_t)plan->n_local ? rows : (uint64_t)plan->n_local;
    const uint64_t bins = halo->delay > 1 ? (uint64_t)halo->delay : 1;
    uint64_t columns = 0;
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        columns += (uint64_t)(halo->fresh_gradients ? layer->width * layer->sums[0] : layer->aggregated);
    }
    const uint64_t lists = scopes * rows * 24;
    const uint64_t through = halo->hidden ? times * rows * columns * 4 : passing;
    return passing + lists + columns * kept * 4 + through +
           (halo->hidden ? columns : (uint64_t)plan->max_width) * kept * 4 / bins;
}

/* An aggregation matrix of its own, two matrices of answers of all local rows, seven of the owned ones, and one on the
 * host (gnn/smooth.c). */
static uint64_t smoothing_bytes(const gnn_memory_facts *f)
{
    const gnn_plan *plan = f->plan;
    const uint64_t answers = 4 * (uint64_t)plan->config.outputs;
    const uint64_t matrix = matrices_bytes(f, f->edges, f->symmetric ? 1 : 2);
    return f->smooths ? matrix + (uint64_t)plan->n_local * (128 + 2 * answers) + 8 * (uint64_t)plan->n_owned * answers
                      : 0;
}

static const char *cure_of(const gnn_memory_facts *f)
{
    if (copied_edges(f) > 0) {
        return "use more nodes, " FLAG_LAST_LAYER " whole, or a smaller --hidden";
    }
    if (f->partial > 0) {
        return "use more nodes, " FLAG_SPMM " rows, or a smaller --hidden";
    }
    if (f->training.second > 0) {
        return "use more nodes, a smaller --hidden, or " FLAG_PRECONDITION " none";
    }
    return f->plan->config.order == GNN_ORDER_LINEAR_FIRST
               ? "use more nodes, or a smaller --hidden"
               : "use more nodes, a smaller --hidden, or --input-dropout 0 with --order linear-first";
}

memory_plan gnn_memory_plan(const gnn_memory_facts *f)
{
    const gnn_plan *plan = f->plan;
    assert(plan->n_owned <= plan->n_local && f->edges >= 0 && f->halo_rows >= 0 && f->parts > 0);
    const uint64_t local = (uint64_t)plan->n_local, process = f->process + LAZY_BYTES;
    const uint64_t mapped = mapped_bytes(f);
    const uint64_t edge_bytes = is_weighted(f) ? 8 : 4;
    const uint64_t edges = (uint64_t)f->edges * edge_bytes + local * 16;
    const uint64_t smoothing = smoothing_bytes(f), matrix = aggregation_bytes(f) + smoothing;
    const uint64_t halo = halo_bytes(f), communication = halo + f->training.sync;
    const uint64_t copied = f->hides ? (uint64_t)f->edges : 0; /* of a part of them */
    const uint64_t cut = (copied + (uint64_t)copied_edges(f)) * edge_bytes;
    const uint64_t building =
        edges + larger(search_bytes(f, f->edges), matrix + cut + search_bytes(f, copied_edges(f)));
    const uint64_t kept = f->keeps ? edges : 0;
    const uint64_t passing = train_memory_passing(&f->training.parameters) + f->training.beside.checkpoint;
    const bool seen = f->hal != NULL && hal_host_visible(f->hal); /* answers are read where the model leaves them */
    const uint64_t set_up = larger(plan->setup_bytes, gnn_linear_start_bytes(plan));
    const uint64_t results = 4 * (uint64_t)plan->n_owned * (seen ? 1 : (uint64_t)plan->config.outputs + 1);
    const uint64_t training = kept + matrix + plan->host_feature_bytes + plan->feature_bytes + plan->activation_bytes +
                              f->training.parameters.kept + f->training.second + f->training.beside.scratch +
                              communication + max3(set_up, results, passing) + local * 24;
    /* Features are read into the host's memory before they are a device's; what messages pass through stands on both
     * sides. */
    const uint64_t scratch =
        larger(f->hal != NULL ? gnn_plan_scratch(plan, f->hal, f->edges) : 0, f->training.sync_device.scratch);
    const uint64_t device = matrix + plan->feature_bytes + plan->activation_bytes + f->training.parameters.kept + halo +
                            f->training.second + f->training.beside.scratch + f->training.sync_device.kept + set_up +
                            scratch;
    const uint64_t beside = kept + plan->host_feature_bytes + plan->feature_bytes + f->training.parameters.kept +
                            communication + results + local * 24;
    memory_plan memory = {
        .peak = process + max3(mapped + edges, building, training),
        .device = device,
        .beside = process + max3(mapped + edges, building, beside),
        .least = f->least,
        .cure = cure_of(f),
    };
    memory_plan_add(&memory, "process", process);
    memory_plan_add(&memory, "mapped graph (while loading)", mapped);
    memory_plan_add(&memory, f->keeps ? "local edges" : "local edges (until the matrix is built)", edges);
    memory_plan_add(&memory, "aggregation matrix", matrix - smoothing);
    if (f->smooths) {
        memory_plan_add(&memory, "smoothing", smoothing);
    }
    if (plan->host_feature_bytes > 0) {
        memory_plan_add(&memory, "features, on the host", plan->host_feature_bytes);
    }
    memory_plan_add(&memory, plan->host_feature_bytes > 0 ? "blocks of features" : "features", plan->feature_bytes);
    memory_plan_add(&memory, "activations", plan->activation_bytes);
    memory_plan_add(&memory, "parameters and optimiser", f->training.parameters.kept);
    if (f->training.second > 0) {
        memory_plan_add(&memory, "second order", f->training.second);
        memory_plan_add(&memory, "scratch of second order", f->training.beside.scratch);
    }
    memory_plan_add(&memory, "checkpoint or first weights, for a while", passing);
    memory_plan_add(&memory, "communication buffers", communication);
    memory_plan_add(&memory, "set-up (before the first epoch)", set_up);
    memory_plan_add(&memory, "results (behind the last epoch)", results);
    memory_plan_add(&memory, "scratch of operations", scratch);
    return memory;
}
