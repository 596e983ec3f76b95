/* app/train/train_advice.c: see app/train/train_advice.h. */
#include "app/train/train_advice.h"

#include <stdio.h>

#include "app/train/advice.h"
#include "base/clock.h"
#include "comm/core/layout.h"
#include "train/activities.h"

double train_compute_seconds(const double seconds[ACTIVITY_ROWS_MAX])
{
    double sum = 0.0;
    for (int a = 0; a < activity_table_rows(); ++a) {
        sum += activity_table()[a].activity->kind == ACTIVITY_COMPUTES ? seconds[a] : 0.0;
    }
    return sum;
}

/* Messages that the kind of workload sends for its rows. */
static double exchange_seconds(const double seconds[ACTIVITY_ROWS_MAX])
{
    double sum = 0.0;
    for (int a = 0; a < activity_table_rows(); ++a) {
        const activity_entry *entry = &activity_table()[a];
        sum += entry->of_kind && entry->activity->kind == ACTIVITY_MOVES ? seconds[a] : 0.0;
    }
    return sum;
}

static advice_facts facts_of(const train_report *report)
{
    const app_context *context = report->context;
    const train_figures *avg = &report->spread.avg;
    const int node_ranks = comm_get_layout(context->comm)->most;
    advice_facts f = {.ranks = comm_size(context->comm),
                      .nodes = context->nodes,
                      .threads = context->placement.threads,
                      .pinned = context->placement.pinned,
                      .oversubscribed = context->placement.oversubscribed,
                      .wall = avg->wall,
                      .cpu = avg->cpu,
                      .prepare = avg->seconds[activity_table_row(ACTIVITY_LOAD)] +
                                 avg->seconds[activity_table_row(ACTIVITY_PARTITION)] +
                                 avg->seconds[activity_table_row(ACTIVITY_PREPARE)],
                      .partition = avg->seconds[activity_table_row(ACTIVITY_PARTITION)],
                      .generated = report->work->generated,
                      .compute_avg = avg->compute,
                      .compute_max = report->spread.max.compute,
                      .halo = exchange_seconds(avg->seconds),
                      .exposed = avg->exposed,
                      .evaluate = avg->seconds[activity_table_row(ACTIVITY_EVALUATE)],
                      .eval_every = report->services->eval_every,
                      .overlap_split = option_choice(context->options, OPT_OVERLAP) == OVERLAP_SPLIT,
                      .lossy = option_choice(context->options, OPT_WIRE) != COMM_WIRE_SAME ||
                               option_choice(context->options, OPT_SYNC) != SYNC_ALLREDUCE,
                      .partitioner = report->work->divider,
                      .balance = report->work->balance,
                      .own = report->load.own,
                      .others = report->load.others,
                      .stolen = report->load.stolen,
                      .node_threads = report->load.threads,
                      .node_cpus = report->load.cpus,
                      .competitors = report->load.competitors,
                      .node_peak_bytes = node_ranks * avg->peak_rss};
    f.train = f.compute_avg + f.halo + avg->seconds[activity_table_row(ACTIVITY_ALLREDUCE)] + f.evaluate;
    f.node_memory_bytes = (double)placement_memory_available() + node_ranks * (double)clock_rss_bytes();
    return f;
}

void train_advice_print(const train_report *report)
{
    char line[ADVICE_LINES][ADVICE_BYTES];
    const advice_facts facts = facts_of(report);
    const int count = advice_collect(&facts, line);
    for (int i = 0; i < count; i++) {
        printf("advice: %s\n", line[i]);
    }
}

void train_advice_write(json_writer *json, const train_report *report)
{
    char line[ADVICE_LINES][ADVICE_BYTES];
    const advice_facts facts = facts_of(report);
    const int count = advice_collect(&facts, line);
    json_array(json, "advice");
    for (int i = 0; i < count; i++) {
        json_text(json, NULL, line[i]);
    }
    json_end(json);
}
