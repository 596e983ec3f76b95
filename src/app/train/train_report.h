/* app/train/train_report.h: the log lines of a training, its closing block and table, and summary.json. */
#pragma once

#include "app/activity/activity_table.h"
#include "app/train/run_dir.h"
#include "app/train/train_events.h"
#include "app/train/train_load.h"
#include "app/train/train_outcome.h"
#include "app/workload/workload.h"
#include "base/trace/job_account.h"
#include "train/fit/fit.h"

/* Figures of one rank. The struct holds doubles alone, so one all-reduce takes it as a row. */
typedef struct train_figures {
    double seconds[ACTIVITY_ROWS_MAX];
    double lane_bytes[COMM_LANES], lane_messages[COMM_LANES];
    double lane_busy[COMM_LANES];   /* seconds from posts to their ends */
    double lane_waited[COMM_LANES]; /* seconds of lane_busy in which the rank stood still */
    double wall, cpu, bytes, messages, peak_rss, wait, allocated_peak, exposed, group_bytes, group_messages;
    double compute;
    double epoch_bytes;    /* bytes sent within epochs, evaluations included, without loading and partitioning */
    double second_work[3]; /* precondition_figures.work of all epochs */
} train_figures;

/* Smallest, mean and largest figures over the ranks. */
typedef struct train_spread {
    train_figures min, avg, max;
} train_spread;

typedef struct train_report {
    const app_context *context;
    const workload *work; /* built */
    run_dir *dir;
    train_events *events; /* rank 0's */
    const fit_services *services;
    const job_account *account;     /* of the fit */
    const comm_stats *lanes_before; /* [COMM_LANES] counters of the communicator when the fit began */
    train_observer observer;        /* the report's own, the first of the list */
    const char *metric;             /* metric_kind.text */
    double job_started, started, last_line;
    int64_t done, lines;       /* epochs done, and lines logged for them */
    double begun;              /* share of the first epoch that earlier starts had trained */
    int64_t measured;          /* epochs that this job trained itself */
    bool evaluated;            /* an epoch was evaluated */
    double epoch_bytes;        /* bytes that this rank sent in its epochs */
    double exposed_s;          /* seconds in which this rank stood still for communication in its epochs */
    sync_figures figures;      /* of the last epoch */
    int64_t staleness;         /* age of the oldest row of another rank, in epochs */
    uint64_t late_allocations; /* allocations in epochs after the first, and after the first evaluation */
    train_load load;           /* other users of the CPUs during the epochs */
    train_spread spread;       /* figures of the whole job, after train_report_close */
    train_outcome outcome;     /* measured before train_report_close; the holder of the report frees it */
    /* Figures of the preconditioner in the last epoch, but seconds of all epochs of this job. */
    precondition_figures preconditioned;
    /* Seconds of the epochs behind `preconditioned`; 0: no preconditioner. */
    double preconditioned_s;
} train_report;

/* Returns the epochs that are left at most, once `done` epochs of this run (from 0) are done: --patience may end this
 * run, and the runs after it, earlier. */
double train_report_epochs_left(const fit_services *services, int run, double done);

/* next: observers behind the report's, or NULL. */
train_observer train_report_observer(train_report *report, const train_observer *next);

/* Sums up the figures of all ranks and writes summary.json. Collective. */
weft_status train_report_close(train_report *report, const train_result *result);
/* Prints the closing block (as OGB prints it) and the table of activities on stdout. After train_report_close. */
void train_report_print(const train_report *report, const train_result *result);
