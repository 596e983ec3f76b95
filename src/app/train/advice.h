/*
 * app/train/advice.h: what could make this job faster, from what it measured: the lines under the closing table of a
 * training, and an array of summary.json.
 *
 * One table of rules, which are functions of the facts alone: a rule speaks when its figure passes a threshold, tells
 * the figure, and names the options to try.
 */
#pragma once

#include "app/train/train_report.h"
#include "io/json.h"

enum { ADVICE_LINES = 12, ADVICE_BYTES = 400 };

/* Seconds are of the whole job; avg and max are over ranks. */
typedef struct advice_facts {
    int ranks, nodes, threads; /* threads of a rank */
    bool pinned, oversubscribed;
    double wall, cpu;                /* avg; cpu: of all threads of a rank */
    double prepare;                  /* avg: load, partition and prepare matrices */
    double partition;                /* avg: of that, the partition */
    bool generated;                  /* the data, by this job */
    double compute_avg, compute_max; /* linear, aggregate, element-wise, loss, optimiser */
    double halo;                     /* avg: in the halo exchange */
    double train;                    /* avg: compute, halo, all-reduce and evaluation */
    double exposed;                  /* avg: stood still for communication while training */
    double evaluate;                 /* avg */
    int64_t eval_every;              /* epochs between evaluations */
    bool overlap_split;              /* --overlap split */
    bool lossy;                      /* wire or mode that is not exact already */
    const char *partitioner;         /* --partition; NULL: the data are not partitioned */
    double balance;                  /* work of the rank that has most over the mean */
    double own, others, stolen;      /* while training, processors' worth on the node where others had most: this job,
                                        other processes, other guests of a virtual machine's host */
    int node_threads, node_cpus;     /* there: of this job, and the CPUs they run on; 0 = not known */
    const char *competitors;         /* "python3 (pid 7) 0.9, ..."; "" when they cannot be seen */
    double node_peak_bytes;          /* of the fullest node */
    double node_memory_bytes;        /* what it had at most */
} advice_facts;

/* [out] line; the count. */
int advice_collect(const advice_facts *facts, char line[ADVICE_LINES][ADVICE_BYTES]);

/* Seconds that one rank computes in epochs, without waiting for other ranks. seconds: by activity. */
double train_compute_seconds(const double seconds[ACTIVITY_ROWS_MAX]);

/* Both on rank 0, once report->spread is known. A line each on stdout; an array "advice" of texts. */
void train_advice_print(const train_report *report);
void train_advice_write(json_writer *json, const train_report *report);
