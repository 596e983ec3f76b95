/*
 * app/report/report_run.h: a run folder as weft report reads it.
 *
 * Folders come from anywhere: from a job that goes on, was killed, or wrote half a line, and from people. Whatever can
 * be read is used; whatever cannot is remembered in words and shown in the report. Only a folder without any file of a
 * run is refused. Everything that is derived from the files belongs to the run and is freed with it; if memory runs
 * out, `failed` says so and the derived columns are empty. Memory: about 80 bytes per epoch for its figures and 16 per
 * curve, at most REPORT_EPOCHS_MAX epochs.
 */
#ifndef WEFT_APP_REPORT_REPORT_RUN_H
#define WEFT_APP_REPORT_REPORT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "app/report/text.h"
#include "base/file.h"
#include "io/json.h"

enum {
    REPORT_EPOCHS_MAX = 4000000,
    REPORT_SERIES_MAX = 100000, /* as --runs */
    REPORT_LINE_MAX = 1 << 16,  /* bytes of a line of metrics.jsonl */
    REPORT_NUMBERS_MAX = 1 << 20,
    REPORT_PROBLEMS = 8,
    REPORT_PROBLEM_BYTES = 600
};

/* Figures of one epoch. */
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
    uint32_t present;            /* one bit per field that the line has */
    double value[REPORT_FIELDS]; /* NaN: absent, or not finite (null) */
} report_epoch;

/* One run of --runs; its epochs ascend. */
typedef struct report_series {
    int run; /* from 1 */
    report_epoch *epoch;
    int64_t count, capacity;
    int64_t best; /* index of the epoch with the highest validation score, as training chooses it; -1: none */
} report_series;

/* Points of a line. y may hold NaN, which is a gap. */
typedef struct report_curve {
    double *x, *y;
    int64_t count;
} report_curve;

/* Numbers of a JSON array, one per rank, class or point; NaN where the array has no number. */
typedef struct report_column {
    double *value;
    int count;
} report_column;

/* The headline of a run: from summary.json or, where a job left none, from its epochs. NaN: unknown. */
typedef struct report_figures {
    const char *metric;                      /* "accuracy" or "ROC-AUC" */
    int runs;                                /* runs that the figures stand for */
    double test, test_std, valid, valid_std; /* means over runs at the best validation epoch; std of 1 run: NaN */
    double baseline;                         /* score of the baseline on baseline_split */
    const char *baseline_split;              /* "test", or "validation" if the test split has no score */
    double baseline_class;                   /* class that the baseline answers; NaN: a guess */
    double best_epoch, last_epoch;           /* of a job with one run */
    double epochs;                           /* over all runs */
    double job_epochs;                       /* epochs behind per_rank: those before a resumption do not count */
    double epoch_s, epoch_s_q1, epoch_s_q3;  /* median and quartiles of an epoch's seconds */
    double epoch_bytes, epoch_bytes_all;     /* bytes that one rank (mean) and all ranks send in an epoch */
    bool bytes_of_rank_0;                    /* epoch_bytes is rank 0's median; the others are unknown */
    double peak_memory;                      /* bytes of the largest rank */
    double ranks, threads, nodes, parameters;
    double seconds; /* of the job */
} report_figures;

typedef struct report_run {
    char folder[FILE_PATH_MAX];
    char name[256]; /* last part of the folder's path, for headings */
    json_document *manifest_document, *summary_document;
    const json_value *manifest, *summary; /* objects, or NULL */
    report_series *series;                /* in the file's order */
    int series_count;
    char problem[REPORT_PROBLEMS][REPORT_PROBLEM_BYTES]; /* sentences about what is wrong with the files or the job */
    int problems;
    report_figures figures;
    report_curve curve[REPORT_FIELDS]; /* made when they are first asked for */
    bool curve_made[REPORT_FIELDS];
    struct report_block *blocks; /* memory of what was derived */
    weft_status failed;          /* WEFT_ERR_RESOURCE once an allocation failed */
} report_run;

/* Reads the folder. WEFT_ERR_NOINPUT: it holds no run. Close it in any case. */
weft_status report_run_open(const char *folder, report_run *run);
void report_run_close(report_run *run);

/* Fills series from metrics.jsonl and says what is wrong with it (report_metrics.c). WEFT_ERR_DATA: more epochs or runs than
 * the limits above. */
weft_status report_metrics_read(const char *path, report_run *run);
/* Adds a sentence to run->problem; those beyond REPORT_PROBLEMS are dropped. */
void report_problem(report_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fills run->figures (report_data.c). */
void report_figures_make(report_run *run);

/* Memory that lives as long as the run: [count] elements of `size` bytes, zero. NULL: run->failed is set. */
void *report_alloc(report_run *run, int64_t count, size_t size);

/* ---- values of the files; object may be NULL ---- */

/* NaN, or `otherwise`, when there is no such number or text. */
double report_number(const json_value *object, const char *key);
const char *report_string(const json_value *object, const char *key, const char *otherwise);
/* First element of an array, or first member of an object; NULL when it is of another kind, or empty. */
const json_value *report_first(const json_value *value, json_kind kind);
/* Any scalar as text: a number in its unit, "yes" or "no", "–" for null and what is no scalar. */
const char *report_value_text(const json_value *value, report_unit unit, quantity *space);
/* At most REPORT_NUMBERS_MAX numbers; count 0: there is no such array. */
report_column report_numbers(report_run *run, const json_value *object, const char *key);
/* NaN beyond the column's end. */
double report_at(const report_column *column, double index);

/* "value" of an option in run.json; "" if it has none. */
const char *report_option(const report_run *run, const char *name);
/* "data" of run.json: kind, name, hash, facts. Folders of earlier versions had a name and a hash in an object of another
 * key, which is returned then, without facts. NULL: none. */
const json_value *report_data(const report_run *run);
bool report_is_earlier(const report_run *run);
/* The word for rows of the data: "vertices". */
const char *report_rows_word(const report_run *run);
/* Value of a fact of the data or the summary; NULL: there is no such fact. */
const json_value *report_fact(const report_run *run, const char *key);

/* A class as tables call it: its number, and its name where run.json has names. */
enum { REPORT_CLASS_BYTES = 64 };
const char *report_class(const report_run *run, double class, char text[REPORT_CLASS_BYTES]);
bool report_class_named(const report_run *run);

/* ---- ranks ---- */

const json_value *report_per_rank(const report_run *run);
int report_rank_count(const report_run *run); /* 0: unknown */
/* At most `limit` of the ranks, ascending and evenly spread; the one with the largest weight (may be empty) is among
 * them. Returns their number. */
int report_rank_choice(int ranks, const report_column *weight, int limit, int *chosen);

typedef struct report_spread {
    double min, mean, max; /* of the finite values; NaN: there are none */
} report_spread;

report_spread report_spread_of(const report_column *column);
/* Cells for min, mean and max, divided by `per`. */
void report_spread_cells(report_text *out, const report_spread *spread, double per, report_unit unit);

/* ---- epochs (curve.c) ---- */

/* Number of whole epochs over all runs. */
int64_t report_run_epochs(const report_run *run);
/* Median over the runs at each epoch that at least half of them reached; one run: its values. */
const report_curve *report_curve_of(report_run *run, report_field field);
/* One run's own values, NaN where they are not finite; epochs without the field are left out. */
report_curve report_series_curve(report_run *run, const report_series *series, report_field field);
/* Finite values of the field over all epochs, ascending. */
report_curve report_sorted(report_run *run, report_field field);

#endif
