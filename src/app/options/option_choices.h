/* app/options/option_choices.h: choices that belong to commands (base/option_words.h). */
#pragma once

#include "base/option_words.h"

/* How results are printed. */
#define TABLE_FORMATS(X) X(TABLE_MD, "md") X(TABLE_CSV, "csv") X(TABLE_JSON, "json")
typedef enum table_format { TABLE_FORMATS(CHOICE_VALUE) } table_format;

#define REPORT_FORMATS(X) X(REPORT_HTML, "html") X(REPORT_MD, "md")
typedef enum report_format { REPORT_FORMATS(CHOICE_VALUE) } report_format;

/* Whether a partition is kept beside its store. */
#define SAVE_CHOICES(X) X(SAVE_ON, "on") X(SAVE_OFF, "off")
typedef enum save_choice { SAVE_CHOICES(CHOICE_VALUE) } save_choice;

/* The rows whose scores are told class by class. */
#define SCORE_SPLITS(X)                                                                                                \
    X(SCORE_TEST, "test") X(SCORE_VALID, "valid") X(SCORE_TRAIN, "train") X(SCORE_LABELLED, "labelled")
typedef enum score_split { SCORE_SPLITS(CHOICE_VALUE) } score_split;

/* What a prediction computes on: this machine as it is measured, or a card by its figures. */
#define SCALING_DEVICES(X)                                                                                             \
    X(SCALING_MEASURED, "measured") X(SCALING_P40, "p40") X(SCALING_V100, "v100") X(SCALING_H100, "h100")
typedef enum scaling_device_name { SCALING_DEVICES(CHOICE_VALUE) } scaling_device_name;

/* What `weft bench comm` measures. */
#define BENCH_OPS(X)                                                                                                   \
    X(BENCH_OP_ALLREDUCE, "allreduce")                                                                                 \
    X(BENCH_OP_ALLGATHER, "allgather")                                                                                 \
    X(BENCH_OP_BCAST, "bcast")                                                                                         \
    X(BENCH_OP_REDUCESCATTER, "reducescatter")                                                                         \
    X(BENCH_OP_SYNC, "sync")                                                                                           \
    X(BENCH_OP_SELECT, "select")
typedef enum bench_op { BENCH_OPS(CHOICE_VALUE) } bench_op;
