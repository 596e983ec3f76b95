/*
 * app/record/run_record.h: a run folder as it is read again, for a report or a training that goes on.
 *
 * Folders come from anywhere: from a job that goes on, was killed, or wrote half a line, and from people. Whatever can
 * be read is used; whatever cannot is remembered in words and shown in the report. Only a folder without any file of a
 * run is refused. Everything that is derived from the files belongs to the run and is freed with it; if memory runs
 * out, `failed` says so and the derived columns are empty. Memory: about 130 bytes per epoch for its figures and 16 per
 * curve, at most RECORD_EPOCHS_MAX epochs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/record/quantity.h"
#include "base/file.h"
#include "io/json.h"
#include "train/score/metric_kinds.h"

enum {
    RECORD_EPOCHS_MAX = 4000000,
    RECORD_SERIES_MAX = 100000, /* as --runs */
    RECORD_LINE_MAX = 1 << 16,  /* bytes of a line of metrics.jsonl */
    RECORD_NUMBERS_MAX = 1 << 20,
    RECORD_PROBLEMS = 8,
    RECORD_PROBLEM_BYTES = 600
};

/* Figures of one epoch. */
typedef enum record_field {
    RECORD_LOSS,
    RECORD_TRAIN,
    RECORD_VALID,
    RECORD_TEST,
    RECORD_EPOCH_S,
    RECORD_EXPOSED_S,
    RECORD_BYTES,
    RECORD_LR,
    RECORD_CLIP, /* of second order (train/precondition.h), as all below */
    RECORD_DAMPING,
    RECORD_REFUSED,
    RECORD_FACTORS_S,
    RECORD_INVERSES_S,
    RECORD_STEPS_S,
    RECORD_FIELDS
} record_field;

typedef struct record_epoch {
    int64_t epoch;
    uint32_t present;            /* one bit per field that the line has */
    double value[RECORD_FIELDS]; /* NaN: absent, or not finite (null) */
} record_epoch;

/* One run of --runs; its epochs ascend. */
typedef struct record_series {
    int run; /* from 1 */
    record_epoch *epoch;
    int64_t count, capacity;
    int64_t best; /* index of the epoch with the highest validation score, as training chooses it; -1: none */
} record_series;

/* Points of a line. y may hold NaN, which is a gap. */
typedef struct record_curve {
    double *x, *y;
    int64_t count;
} record_curve;

/* Numbers of a JSON array, one per rank, class or point; NaN where the array has no number. */
typedef struct record_column {
    double *value;
    int count;
} record_column;

/* The headline of a run: from summary.json or, where a job left none, from its epochs. NaN: unknown. */
typedef struct record_figures {
    const char *metric;                      /* metric_kind.text */
    quantity_unit score_unit;                /* shares are percentages, errors are real */
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
} record_figures;

typedef struct run_record {
    char folder[FILE_PATH_MAX];
    char name[256]; /* last part of the folder's path, for headings */
    json_document *manifest_document, *summary_document, *explain_document, *plan_document;
    const json_value *manifest, *summary; /* objects, or NULL */
    bool search;                          /* the folder of weft tune: summary is search.json, and all else is empty */
    const json_value *explanation;        /* of weft explain in the folder: an object, or NULL */
    const json_value *plan;               /* of weft focus plan in the folder: an object, or NULL */
    const json_value *data;               /* of run.json: kind, name, hash, facts (app/facts/fact_list.h); NULL: none */
    bool earlier;                         /* an earlier version of Weft wrote the data, without facts */
    const json_value *class_name;         /* first name of a class of the data, or NULL */
    const json_value *per_rank;           /* of summary.json, or NULL */
    int rank_count;                       /* ranks of per_rank; 0: unknown */
    record_series *series;                /* in the file's order */
    int series_count;
    char problem[RECORD_PROBLEMS][RECORD_PROBLEM_BYTES]; /* sentences about what is wrong with the files or the job */
    int problems;
    record_figures figures;
    record_curve curve[RECORD_FIELDS]; /* made when they are first asked for; x NULL: not yet */
    struct record_block *blocks;       /* memory of what was derived */
    weft_status failed;                /* WEFT_ERR_RESOURCE once an allocation failed */
} run_record;

/* Reads the folder. WEFT_ERR_NOINPUT: it holds no run. Close it in any case. */
weft_status record_open(const char *folder, run_record *run);
void record_close(run_record *run);

/* Fills series from metrics.jsonl and says what is wrong with it (record_metrics.c). WEFT_ERR_DATA: more epochs or
 * runs than the limits above. */
weft_status record_metrics_read(const char *path, run_record *run);
/* Adds a sentence to run->problem; those beyond RECORD_PROBLEMS are dropped. */
void record_problem(run_record *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fills run->figures (record_figures.c). */
void record_figures_make(run_record *run);

/* Memory that lives as long as the run: [count] elements of `size` bytes, zero. NULL: run->failed is set. */
void *record_alloc(run_record *run, int64_t count, size_t size);

/* ---- values of the files; object may be NULL ---- */

/* Any scalar as text: a number in its unit, "yes" or "no", "–" for null and what is no scalar. */
const char *record_value_text(const json_value *value, quantity_unit unit, quantity *space);
/* At most RECORD_NUMBERS_MAX numbers of an array, or of the array of this key; count 0: there is no such array. */
record_column record_values(run_record *run, const json_value *array);
record_column record_numbers(run_record *run, const json_value *object, const char *key);
/* NaN beyond the column's end. */
double record_at(const record_column *column, double index);

/* "value" of an option in run.json; "" if it has none. */
const char *record_option(const run_record *run, const char *name);
/* The word for rows of the data: "vertices". */
const char *record_rows_word(const run_record *run);
/* Value of a fact of the data or the summary; NULL: there is no such fact. */
const json_value *record_fact(const run_record *run, const char *key);

/* A class as tables call it: its number, and its name where run.json has names. */
enum { RECORD_CLASS_BYTES = 64 };
const char *record_class(const run_record *run, double class, char text[RECORD_CLASS_BYTES]);

/* ---- ranks ---- */

/* At most `limit` of the ranks, ascending and evenly spread; the one with the largest weight (may be empty) is among
 * them. Returns their number. */
int record_rank_choice(int ranks, const record_column *weight, int limit, int *chosen);

typedef struct record_spread {
    double min, mean, max; /* of the finite values; NaN: there are none */
} record_spread;

record_spread record_spread_of(const record_column *column);

/* ---- epochs (record_curve.c) ---- */

/* Number of whole epochs over all runs. */
/* What the scores are, by summary.json or the options. */
const metric_kind *record_metric(const run_record *run);
int64_t record_epochs(const run_record *run);
/* Median over the runs at each epoch that at least half of them reached; one run: its values. */
const record_curve *record_curve_of(run_record *run, record_field field);
/* One run's own values, NaN where they are not finite; epochs without the field are left out. */
record_curve record_series_curve(run_record *run, const record_series *series, record_field field);
/* Finite values of the field over all epochs, ascending. */
record_curve record_sorted(run_record *run, record_field field);
