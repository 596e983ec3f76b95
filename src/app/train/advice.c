/* app/train/advice.c: see app/train/advice.h. */
#include "app/train/advice.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "comm/core/layout.h"
#include "train/activities.h"

/* Shorter jobs are mostly start and end: shares of their time tell nothing. */
static const double least_wall = 5.0;
static const double least_train = 2.0;

static const double taken_share = 0.15;     /* of the job's CPUs were others' */
static const double least_taken = 0.2;      /* CPUs */
static const double used_share = 0.85;      /* of the threads' time was used while training */
static const double binding_share = 0.5;    /* of the threads' time was used */
static const double imbalance_ratio = 1.15; /* slowest rank over the mean */
static const double exposed_share = 0.15;   /* of the training time */
static const double halo_share = 0.25;
static const double prepare_share = 0.35; /* of the job */
static const double evaluate_share = 0.3;
static const double memory_share = 0.85;

static bool long_enough(const advice_facts *f)
{
    return f->wall >= least_wall && f->train >= least_train;
}

static void rule_oversubscribed(const advice_facts *f, char *line)
{
    if (!f->oversubscribed) {
        return;
    }
    snprintf(
        line, ADVICE_BYTES,
        "%d ranks of %d thread%s share too few cores: start fewer ranks (mpirun -np)%s; weft doctor tells what the "
        "nodes have",
        f->ranks, f->threads, f->threads == 1 ? "" : "s", f->threads > 1 ? ", or set --threads 1" : "");
}

/* Others had a part of the CPUs that this job runs on, and the job lacks it. */
static bool has_competition(const advice_facts *f)
{
    const double taken = f->others + f->stolen;
    /* Loose threads on a wide machine may go where nobody is; pinned ones cannot. */
    const bool full = f->node_cpus < 2 * f->node_threads || f->own + taken >= used_share * f->node_cpus;
    return f->node_cpus > 0 && full && f->train >= least_train && taken >= taken_share * f->node_cpus &&
           taken >= least_taken && f->own < used_share * f->node_threads;
}

static void rule_competition(const advice_facts *f, char *line)
{
    if (!has_competition(f)) {
        return;
    }
    char processes[200] = "";
    char guests[80] = "";
    if (f->others >= 0.5 * least_taken) {
        snprintf(processes, sizeof processes, "other processes had %.1f of %d CPUs (%s)", f->others, f->node_cpus,
                 f->competitors[0] != '\0' ? f->competitors : "they cannot be seen from here");
    }
    if (f->stolen >= 0.5 * least_taken) {
        snprintf(guests, sizeof guests, "%sthe virtual machine's host gave %.1f CPUs to others",
                 processes[0] != '\0' ? ", " : "", f->stolen);
    }
    snprintf(line, ADVICE_BYTES,
             "%.0f %% CPU use of %d thread%s while training, because %s%s: end them, move this job, or "
             "leave them CPUs (fewer --threads)",
             100.0 * f->own / f->node_threads, f->node_threads, f->node_threads == 1 ? "" : "s", processes, guests);
}

static void rule_binding(const advice_facts *f, char *line)
{
    const double used = f->cpu / (f->wall * f->threads);
    if (has_competition(f) && f->others + f->stolen >= 0.5 * (f->node_threads - f->own)) {
        return; /* it has a reason already */
    }
    if (f->wall < least_wall || f->oversubscribed || f->train < 0.5 * f->wall || used >= binding_share) {
        return;
    }
    snprintf(line, ADVICE_BYTES,
             "%.0f %% of the CPU time of %d thread%s a rank was used%s: try --pin on, fewer --threads, and weft doctor",
             100.0 * used, f->threads, f->threads == 1 ? "" : "s", f->pinned ? "" : ", and threads are not pinned");
}

static void rule_imbalance(const advice_facts *f, char *line)
{
    if (!long_enough(f) || f->ranks < 2 || f->compute_max < imbalance_ratio * f->compute_avg) {
        return;
    }
    const double longer = 100.0 * (f->compute_max / f->compute_avg - 1.0);
    if (f->partitioner == NULL) {
        snprintf(line, ADVICE_BYTES,
                 "the slowest rank computes %.0f %% longer than the mean: look for other jobs on its node", longer);
        return;
    }
    snprintf(line, ADVICE_BYTES,
             "the slowest rank computes %.0f %% longer than the mean (its share of the work may be %.2f times the "
             "mean's): try --balance %.2f, --partition %s, or look for other jobs on its node",
             longer, f->balance, f->balance > 1.05 ? 1.02 : 1.05,
             strcmp(f->partitioner, "libra") == 0 ? "auto" : "libra");
}

/* Gradients and small data: waiting in the halo exchange has a rule of its own. */
static void rule_exposed(const advice_facts *f, char *line)
{
    const double share = (f->exposed > f->halo ? f->exposed - f->halo : 0.0) / f->train;
    if (!long_enough(f) || f->ranks < 2 || share < exposed_share) {
        return;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the training waits for gradients: try %s%s%s", 100.0 * share,
             f->overlap_split ? "" : "--overlap split", f->overlap_split ? "fewer ranks with more --threads each" : "",
             f->lossy       ? ""
             : f->nodes > 1 ? ", --wire bf16, or --sync auto --allow-lossy"
                            : ", or --sync auto --allow-lossy");
}

static void rule_halo(const advice_facts *f, char *line)
{
    const double share = f->halo / f->train;
    if (!long_enough(f) || f->ranks < 2 || share < halo_share || f->partitioner == NULL) {
        return;
    }
    snprintf(line, ADVICE_BYTES,
             "%.0f %% of the training waits for halo rows: try %sfewer ranks with more --threads each, or --order auto",
             100.0 * share,
             strcmp(f->partitioner, "metis") == 0 || strcmp(f->partitioner, "auto") == 0 ? "" : "--partition auto, ");
}

static void rule_prepare(const advice_facts *f, char *line)
{
    const double share = f->prepare / f->wall;
    const bool cut = f->partition > 0.5 * f->prepare;
    if (f->wall < least_wall || share < prepare_share || !(cut || f->generated)) {
        return;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the job (%.1f s) prepares the data: %s", 100.0 * share, f->prepare,
             cut ? "weft partition STORE --parts P keeps the partition for the next job"
                 : "generate it once (weft convert --out STORE) and train from the store");
}

static void rule_evaluate(const advice_facts *f, char *line)
{
    const double share = f->evaluate / f->train;
    if (!long_enough(f) || f->eval_every != 1 || share < evaluate_share) {
        return;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the training evaluates after every epoch: try --eval-every 10",
             100.0 * share);
}

static void rule_memory(const advice_facts *f, char *line)
{
    const double share = f->node_memory_bytes > 0.0 ? f->node_peak_bytes / f->node_memory_bytes : 0.0;
    if (share < memory_share) {
        return;
    }
    snprintf(
        line, ADVICE_BYTES,
        "the fullest node held %.1f of %.1f GiB (%.0f %%): try more nodes, fewer ranks a node, or a smaller --hidden",
        f->node_peak_bytes / 0x1p30, f->node_memory_bytes / 0x1p30, 100.0 * share);
}

/* In the order in which they are told: what makes the other figures wrong comes first. */
static void (*const rules[])(const advice_facts *facts, char *line) = {
    rule_oversubscribed, rule_competition, rule_binding,  rule_imbalance, rule_exposed,
    rule_halo,           rule_prepare,     rule_evaluate, rule_memory};

int advice_collect(const advice_facts *facts, char line[ADVICE_LINES][ADVICE_BYTES])
{
    int count = 0;
    _Static_assert(sizeof rules / sizeof *rules <= ADVICE_LINES, "a line for every rule");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        line[count][0] = '\0';
        rules[i](facts, line[count]);
        count += line[count][0] != '\0';
    }
    return count;
}

/* ---- of a finished training ---- */

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
