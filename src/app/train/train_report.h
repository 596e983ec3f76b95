/*
 * app/train/train_report.h: what a training run tells: a line now and then, the closing block and table, the result
 * files.
 */
#ifndef WEFT_APP_TRAIN_TRAIN_REPORT_H
#define WEFT_APP_TRAIN_TRAIN_REPORT_H

#include "app/activity/activity_table.h"
#include "app/train/run_dir.h"
#include "app/train/train_events.h"
#include "app/train/train_load.h"
#include "app/train/train_outcome.h"
#include "app/workload/workload.h"
#include "train/fit/fit.h"

/* Figures of one rank; a row of doubles, so that it is reduced as one. */
typedef struct train_figures {
    double seconds[ACTIVITY_COUNT];
    double lane_bytes[COMM_LANES], lane_messages[COMM_LANES];
    double lane_busy[COMM_LANES], lane_waited[COMM_LANES]; /* from post to end; of that, stood still */
    double wall, cpu, bytes, messages, peak_rss, wait, allocated_peak, exposed, group_bytes, group_messages;
    double compute;
    double epoch_bytes; /* sent within epochs, evaluation included: without loading and partitioning */
} train_figures;

/* The figures over all ranks. */
typedef struct train_spread {
    train_figures min, avg, max;
} train_spread;

typedef struct train_report {
    const app_context *context;
    const workload *work; /* built */
    run_dir *dir;
    train_events *events; /* rank 0's */
    const fit_services *services;
    train_observer observer; /* the report's own, the first of the list */
    const char *metric;      /* "accuracy" or "ROC-AUC" */
    double job_started, started, last_line;
    int64_t done, lines;       /* epochs, lines so far */
    double begun;              /* part of the next epoch that starts before this one had done */
    int64_t measured;          /* epochs that this job trained itself */
    bool evaluated;            /* at least once */
    double epoch_bytes;        /* this rank sent while it trained */
    double exposed_s;          /* this rank stood still for communication while it trained */
    sync_figures figures;      /* of the last epoch */
    int64_t staleness;         /* most epochs that a row of another rank was old */
    uint64_t late_allocations; /* in epochs after the first, and after the first evaluation */
    train_load load;           /* who else used the CPUs while it trained */
    train_spread spread;       /* of the whole job, once closed */
    train_outcome outcome;     /* measured before it is closed; train_report_destroy */
} train_report;

/* What is ahead at most when `done` epochs of this run (from 0) are: --patience may end it, and those to come,
 * earlier. */
double train_report_epochs_left(const fit_services *services, int run, double done);

void train_report_destroy(train_report *report);
/* next: observers behind the report's, or NULL. */
train_observer train_report_observer(train_report *report, const train_observer *next);

/* Sum up over the ranks and write summary.json. Collective. */
weft_status train_report_close(train_report *report, const train_result *result);
/* The final block (as OGB prints it) and the table of activities, on stdout. After train_report_close. */
void train_report_print(const train_report *report, const train_result *result);

#endif
