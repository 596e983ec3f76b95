/* app/advice.c: see app/advice.h. */
#include "app/advice.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Shorter jobs are mostly start and end: shares of their time tell nothing. */
static const double least_wall = 5.0;
static const double least_train = 2.0;

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

static bool rule_oversubscribed(const advice_facts *f, char *line)
{
    if (!f->oversubscribed) {
        return false;
    }
    snprintf(
        line, ADVICE_BYTES,
        "%d ranks of %d threads share too few cores: start fewer ranks (mpirun -np), or set --threads 1; weft doctor "
        "tells what the nodes have",
        f->ranks, f->threads);
    return true;
}

static bool rule_binding(const advice_facts *f, char *line)
{
    const double used = f->cpu / (f->wall * f->threads);
    if (f->wall < least_wall || f->oversubscribed || f->train < 0.5 * f->wall || used >= binding_share) {
        return false;
    }
    snprintf(line, ADVICE_BYTES,
             "%.0f %% of the CPU time of %d thread%s a rank was used%s: try --pin on, fewer --threads, and weft doctor",
             100.0 * used, f->threads, f->threads == 1 ? "" : "s", f->pinned ? "" : ", and threads are not pinned");
    return true;
}

static bool rule_imbalance(const advice_facts *f, char *line)
{
    if (!long_enough(f) || f->ranks < 2 || f->compute_max < imbalance_ratio * f->compute_avg) {
        return false;
    }
    snprintf(
        line, ADVICE_BYTES,
        "the slowest rank computes %.0f %% longer than the mean (its part may hold %.2f times the mean's edges): try "
        "--balance %.2f, --partition %s, or look for other jobs on its node",
        100.0 * (f->compute_max / f->compute_avg - 1.0), f->edge_balance, f->edge_balance > 1.05 ? 1.02 : 1.05,
        strcmp(f->partitioner, "libra") == 0 ? "metis" : "libra");
    return true;
}

/* Gradients and small data: waiting in the halo exchange has a rule of its own. */
static bool rule_exposed(const advice_facts *f, char *line)
{
    const double share = (f->exposed > f->halo ? f->exposed - f->halo : 0.0) / f->train;
    if (!long_enough(f) || f->ranks < 2 || share < exposed_share) {
        return false;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the training waits for gradients: try %s%s%s", 100.0 * share,
             f->overlap_split ? "" : "--overlap split", f->overlap_split ? "fewer ranks with more --threads each" : "",
             f->lossy       ? ""
             : f->nodes > 1 ? ", --wire bf16, or --sync auto --allow-lossy"
                            : ", or --sync auto --allow-lossy");
    return true;
}

static bool rule_halo(const advice_facts *f, char *line)
{
    const double share = f->halo / f->train;
    if (!long_enough(f) || f->ranks < 2 || share < halo_share) {
        return false;
    }
    snprintf(line, ADVICE_BYTES,
             "%.0f %% of the training waits for halo rows: try %sfewer ranks with more --threads each, or --order auto",
             100.0 * share, strcmp(f->partitioner, "metis") == 0 ? "" : "--partition metis, ");
    return true;
}

static bool rule_prepare(const advice_facts *f, char *line)
{
    const double share = f->prepare / f->wall;
    const bool cut = f->partition > 0.5 * f->prepare;
    if (f->wall < least_wall || share < prepare_share || !(cut || f->generated)) {
        return false;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the job (%.1f s) prepares the graph: %s", 100.0 * share, f->prepare,
             cut ? "weft partition STORE --parts P keeps the partition for the next job"
                 : "generate it once (weft convert --out STORE) and train from the store");
    return true;
}

static bool rule_evaluate(const advice_facts *f, char *line)
{
    const double share = f->evaluate / f->train;
    if (!long_enough(f) || f->eval_every != 1 || share < evaluate_share) {
        return false;
    }
    snprintf(line, ADVICE_BYTES, "%.0f %% of the training evaluates after every epoch: try --eval-every 10",
             100.0 * share);
    return true;
}

static bool rule_memory(const advice_facts *f, char *line)
{
    const double share = f->node_memory_bytes > 0.0 ? f->node_peak_bytes / f->node_memory_bytes : 0.0;
    if (share < memory_share) {
        return false;
    }
    snprintf(
        line, ADVICE_BYTES,
        "the fullest node held %.1f of %.1f GiB (%.0f %%): try more nodes, fewer ranks a node, or a smaller --hidden",
        f->node_peak_bytes / 0x1p30, f->node_memory_bytes / 0x1p30, 100.0 * share);
    return true;
}

/* In the order in which they are told: what makes the other figures wrong comes first. */
static bool (*const rules[])(const advice_facts *facts,
                             char *line) = {rule_oversubscribed, rule_binding, rule_imbalance, rule_exposed,
                                            rule_halo,           rule_prepare, rule_evaluate,  rule_memory};

int advice_collect(const advice_facts *facts, char line[ADVICE_LINES][ADVICE_BYTES])
{
    int count = 0;
    _Static_assert(sizeof rules / sizeof *rules <= ADVICE_LINES, "a line for every rule");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        count += rules[i](facts, line[count]) ? 1 : 0;
    }
    return count;
}
