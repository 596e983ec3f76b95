/*
 * app/report/report_run.h: a run folder as weft report reads it.
 *
 * Folders come from anywhere: from a job that goes on, was killed, or wrote half a line, and from people. Whatever can
 * be read is used; whatever cannot is remembered in words and shown in the report. Only a folder without any file of a
 * run is refused. Memory: about 80 bytes an epoch, at most REPORT_EPOCHS_MAX epochs.
 */
#ifndef WEFT_APP_REPORT_REPORT_RUN_H
#define WEFT_APP_REPORT_REPORT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "io/json.h"

enum {
    REPORT_EPOCHS_MAX = 4000000,
    REPORT_SERIES_MAX = 100000, /* as --runs */
    REPORT_LINE_MAX = 1 << 16,  /* bytes of a line of metrics.jsonl */
    REPORT_RANKS_MAX = 1 << 20,
    REPORT_PROBLEM_MAX = 600
};

/* What an epoch is asked for. */
typedef enum report_field {
    REPORT_LOSS,
    REPORT_TRAIN,
    REPORT_VALID,
    REPORT_TEST,
    REPORT_EPOCH_S,
    REPORT_EXPOSED_S,
    REPORT_BYTES,
    REPORT_LR,
    REPORT_FIELDS
} report_field;

typedef struct report_epoch {
    int64_t epoch;
    uint32_t present;            /* bit of each field that the line has */
    double value[REPORT_FIELDS]; /* NaN: absent, or not finite (null) */
} report_epoch;

/* One of --runs; epochs ascend. */
typedef struct report_series {
    int run; /* from 1 */
    report_epoch *epoch;
    int64_t count, capacity;
    int64_t best; /* index of the epoch with the highest validation score, as training chooses it; -1 */
} report_series;

typedef struct report_run {
    char folder[FILE_PATH_MAX];
    char name[256]; /* the folder's, for headings */
    json_document *manifest_document, *summary_document;
    const json_value *manifest, *summary; /* objects, or NULL */
    report_series *series;                /* in the file's order */
    int series_count;
    bool has_metrics;
    int64_t lines, damaged, first_damaged; /* of metrics.jsonl; line numbers from 1 */
    bool cut;                              /* the last line is not whole */
    int64_t not_finite, first_not_finite;  /* epochs whose loss is not a finite number */
    int first_not_finite_run;
    char manifest_problem[REPORT_PROBLEM_MAX], summary_problem[REPORT_PROBLEM_MAX], metrics_problem[REPORT_PROBLEM_MAX];
} report_run;

/* Read the folder. WEFT_ERR_NOINPUT: it holds no run. Close it in any case. */
weft_status report_run_open(const char *folder, report_run *run);
void report_run_close(report_run *run);

/* All whole epochs. */
int64_t report_run_epochs(const report_run *run);

/* Of an object that may be NULL. NaN, or `otherwise`, when there is no such number or text. */
double report_number(const json_value *object, const char *key);
const char *report_string(const json_value *object, const char *key, const char *otherwise);
/* "value" of an option in run.json. */
const char *report_option(const report_run *run, const char *name);
/* What run.json tells of the images, or of the graph, that it was trained on. NULL: nothing. */
const json_value *report_images(const report_run *run);
const json_value *report_data(const report_run *run);

/* A class as tables call it: its number, and its name where run.json has names. */
enum { REPORT_CLASS_BYTES = 64 };
const char *report_class(const report_run *run, double class, char text[REPORT_CLASS_BYTES]);
bool report_class_named(const report_run *run);

/* Median over the runs at each epoch that at least half of them reached; one run: its values. */
typedef struct report_curve {
    double *x, *y;
    int64_t count;
} report_curve;

weft_status report_curve_of(const report_run *run, report_field field, report_curve *curve);
/* One run's own values, NaN where they are not finite, epochs without the field left out. */
weft_status report_curve_of_series(const report_series *series, report_field field, report_curve *curve);
void report_curve_free(report_curve *curve);
/* Finite values of the field over all epochs, ascending. */
weft_status report_values(const report_run *run, report_field field, double **values, int64_t *count);

#endif
