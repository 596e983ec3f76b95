/* app/trees/trees_plan.c: the memory of a job on a table, before it is taken. */
#include "app/trees/trees_job.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "trees/grow/histograms.h"
#include "trees/tree_options.def"

enum {
    BESIDE = 40,       /* bytes of a row beside its columns until they are bins: label, split, masks, answers */
    SCRATCH = 16 << 20 /* bytes of buffers of the reader, of the search for cuts and of histograms, about */
};

weft_status trees_plan_room(const workload *work, table_request *request)
{
    const app_context *context = work->context;
    const memory_plan now = {.peak = clock_rss_bytes()};
    if (work->trained || trees_keeps_numbers(work) || work->start != NULL) {
        return WEFT_OK;
    }
    request->beside = BESIDE;
    request->room = larger((int64_t)memory_plan_room(context, &now) - SCRATCH, 1);
    return comm_allreduce(context->comm, &request->room, 1, WEFT_DTYPE_I64, COMM_MIN);
}

/* Cells of a rank's columns in a histogram, at most: cuts are not known yet. */
static int64_t most_cells(const tree_rows *rows, int values, int ranks)
{
    const int columns = (rows->data.columns + ranks - 1) / ranks;
    int64_t most = 0;
    for (int c = 0; c < rows->data.columns && values > TREE_BYTE_VALUES; ++c) {
        const table_field *f = &rows->table.schema.field[rows->field[c]];
        const bool whole = f->kind == TABLE_INTEGER || f->kind == TABLE_LONG;
        const double span = whole && f->most >= f->least ? f->most - f->least + 1.0 : (double)rows->table.rows;
        const int64_t bound = f->kind == TABLE_CATEGORY ? smaller(values, TREE_CATEGORY_BINS) : values;
        most = larger(most, span >= (double)bound ? bound : (int64_t)span);
    }
    return columns * (values > TREE_BYTE_VALUES ? most + 2 : HAL_BINS);
}

/* Bytes beside answers by which training passes the table as it was read: while cuts are looked for, while the last
 * half of the columns becomes bins, or once bins have taken the place of numbers, whichever is most. */
static int64_t training_bytes(const workload *work, int64_t margins, int64_t answers)
{
    const trees_job *job = work->self;
    const tree_rows *rows = &job->rows;
    const int64_t count = rows->data.rows;
    const int values = job->options.values;
    const int64_t bin_bytes = values > TREE_BYTE_VALUES ? 2 : 1;
    const int64_t cutting =
        count * 2 + tree_cuts_bytes(rows->data.columns, values, work->context->hal->threads); /* and no answers yet */
    const int64_t halves = rows->data.hold != NULL ? count * (bin_bytes * rows->data.columns + 12) : 0;
    int64_t training = count * (2 * bin_bytes * rows->data.columns + 23 + 12 * margins);
    for (int c = 0; c < rows->data.columns && !trees_keeps_numbers(work) && work->start == NULL; ++c) {
        const tree_column *column = &rows->column[c];
        training -= column->kind == TABLE_CATEGORY || column->data == NULL
                        ? 0
                        : count * (int64_t)table_kind_bytes(column->kind);
    }
    return larger(larger(larger(cutting, halves) - answers, training), 0);
}

/* Plans histograms of the nodes that wait, or of fewer nodes where all do not fit beside the rest of the plan. [out]
 * bound: of them, 0: all fit. Collective. */
static weft_status plan_histograms(const workload *work, int64_t cells, memory_plan *memory, uint64_t *bound)
{
    const trees_job *job = work->self;
    const tree_growth *g = &job->options.growth;
    const uint64_t all = growth_histogram_bytes(job->rows.table.rows, g->depth, g->leaves, cells);
    const uint64_t least = (uint64_t)cells * HISTOGRAMS_LEAST * 2 * sizeof(int64_t);
    memory_plan_sum(memory);
    int64_t room = (int64_t)memory_plan_room(work->context, memory);
    WEFT_TRY(comm_allreduce(work->context->comm, &room, 1, WEFT_DTYPE_I64, COMM_MIN));
    *bound = all <= (uint64_t)room ? 0 : (uint64_t)room > least ? (uint64_t)room : least;
    if (*bound > 0 && comm_rank(work->context->comm) == 0) {
        log_info(
            "histograms of all nodes that wait would take %s, and %s are left: those of some nodes are summed again, "
            "which takes longer; fewer " FLAG_TREE_BINS ", " FLAG_TREE_LEAVES " or " FLAG_TREE_DEPTH " take less",
            number_say_bytes(all).text, number_say_bytes(*bound).text);
    }
    memory_plan_add(memory, "histograms of nodes", *bound > 0 ? *bound : all);
    return WEFT_OK;
}

/* Bytes of all trees, as many and as large as they may become: those that grow and the copy that answers; under dart
 * also the copy of the best round. */
static uint64_t forest_bytes(const workload *work)
{
    const trees_job *job = work->self;
    const tree_growth *g = &job->options.growth;
    const int64_t rows = larger(job->rows.table.rows, 1), rounds = option_int(work->context->options, OPT_EPOCHS);
    const int64_t by_depth = g->depth > 0 && g->depth < 62 ? INT64_C(1) << g->depth : INT64_MAX;
    const int64_t by_leaves = g->leaves > 0 ? g->leaves : INT64_MAX;
    const int64_t leaves = smaller(rows, smaller(by_depth, by_leaves));
    const int64_t trees = rounds * (job->loss == TREE_LOSS_SOFTMAX ? work->outputs : 1);
    const int64_t copies = job->options.drop > 0.0 ? 3 : 2;
    return (uint64_t)(copies * trees) * (2 * (uint64_t)leaves - 1) * sizeof(tree_node);
}

/* Trees seldom become as large as they may, so a job is not refused for them, but told. */
static void plan_forest(const workload *work, memory_plan *memory)
{
    const uint64_t most = forest_bytes(work);
    memory_plan_sum(memory);
    const uint64_t room = memory_plan_room(work->context, memory);
    if (most > room && comm_rank(work->context->comm) == 0) {
        log_warn("trees may take up to %s, and %s are left: fewer --epochs, " FLAG_TREE_LEAVES " or " FLAG_TREE_DEPTH
                 " take less",
                 number_say_bytes(most).text, number_say_bytes(room).text);
    }
    memory_plan_add(memory, "trees, at most", most < room ? most : room);
}

weft_status trees_plan_memory(workload *work)
{
    trees_job *job = work->self;
    const tree_rows *rows = &job->rows;
    memory_plan *memory = &work->memory;
    const int ranks = comm_size(work->context->comm);
    const int64_t margins = job->loss == TREE_LOSS_SOFTMAX ? work->outputs : 1;
    const int64_t answers = rows->data.rows * 4 * (work->outputs + (work->trained ? margins : 0));
    *memory = (memory_plan){.cure = work->trained ? "use more nodes"
                                                  : "use more nodes, or fewer " FLAG_TREE_BINS ", " FLAG_TREE_LEAVES
                                                    " or " FLAG_TREE_DEPTH};
    memory_plan_add(memory, "process and table", clock_rss_bytes());
    memory_plan_add(memory, "answers", (uint64_t)answers);
    if (!work->trained) {
        const int64_t cells = most_cells(rows, job->options.values, ranks);
        memory_plan_add(memory, "bins and gradients beyond numbers", (uint64_t)training_bytes(work, margins, answers));
        memory_plan_add(memory, "histograms on their way between ranks",
                        ranks == 1 ? 0 : 2 * growth_scatter_bytes(cells * ranks));
        WEFT_TRY(plan_histograms(work, cells, memory, &job->options.growth.histogram_bytes));
        plan_forest(work, memory);
    }
    memory_plan_sum(memory);
    return memory_plan_check(work->context, memory, option_size(work->context->options, OPT_MEMORY_LIMIT));
}
