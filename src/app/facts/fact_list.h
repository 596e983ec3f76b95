/*
 * app/facts/fact_list.h: facts as rows: what a kind of workload tells of its data, its plan and its result, or what a
 * command tells of a file. Whoever knows the facts fills a list; whoever shows them needs to know nothing of their
 * meaning.
 *
 *     fact_list list = {.rows = 0};
 *     facts_group(&list, "partition", "Partition: metis");
 *     facts_int(&list, "cut_edges", "cut edges", "", "whose ends are computed by different ranks", 1200);
 *     facts_write_groups(&list, json);           or facts_print(&list, stdout, "")
 *
 * A list allocates nothing, so that an epoch may tell facts; it takes 16 KiB and a fixed number of rows and groups,
 * which a kind knows when it is written.
 *
 * A row has a key (for programs: stable, without blanks), a label (for people), a unit, a value, and a meaning in a
 * few words, which may be "". Units: "" of counts and ratios, "bytes", "s", "%", "x", or a word that is printed behind
 * the value.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "io/json.h"

enum {
    FACTS_MOST = 64,         /* rows of a list */
    FACT_GROUPS_MOST = 16,   /* groups of a list */
    FACT_TEXTS_BYTES = 4096, /* of all texts of a list */
    FACT_KEY_BYTES = 40,
    FACT_LABEL_BYTES = 64,
    FACT_TITLE_BYTES = 96
};

/* The key of the number of classes that labels have; a model of the data asks for it (app/workload/saved_model.h). */
#define FACT_CLASSES "classes"

typedef enum fact_kind { FACT_INT, FACT_REAL, FACT_TEXT, FACT_YES_NO } fact_kind;

typedef struct fact {
    char key[FACT_KEY_BYTES], label[FACT_LABEL_BYTES];
    const char *unit, *meaning;
    fact_kind kind;
    int64_t integer; /* of FACT_INT, and 0 or 1 of FACT_YES_NO */
    double real;     /* of FACT_REAL */
    int text;        /* of FACT_TEXT: where it begins in the list's texts */
} fact;

/* Consecutive rows under a title. */
typedef struct fact_group {
    char key[FACT_KEY_BYTES], title[FACT_TITLE_BYTES];
    int first; /* row of the list */
} fact_group;

/* An empty list is {.rows = 0}. */
typedef struct fact_list {
    int rows, groups, used; /* used: bytes of the texts */
    fact row[FACTS_MOST];
    fact_group group[FACT_GROUPS_MOST];
    char texts[FACT_TEXTS_BYTES];
} fact_list;

/* A column of figures that every rank has one of: what a row of facts has, without the value. */
typedef struct fact_column {
    const char *key, *label, *unit;
} fact_column;

/* Rows that follow belong to this group. Rows before the first group belong to none. */
void facts_group(fact_list *list, const char *key, const char *title);
/* Units and meanings live as long as the list; keys, labels and texts are copied. A text for which no room is left is
 * cut. */
void facts_int(fact_list *list, const char *key, const char *label, const char *unit, const char *meaning,
               int64_t value);
void facts_real(fact_list *list, const char *key, const char *label, const char *unit, const char *meaning,
                double value);
void facts_text(fact_list *list, const char *key, const char *label, const char *meaning, const char *value);
void facts_yes_no(fact_list *list, const char *key, const char *label, const char *meaning, bool value);

/* ---- for files ---- */

/* An array "facts" of all rows, without groups: {"key", "label", "unit", "value"}. */
void facts_write_rows(const fact_list *list, json_writer *json);
/* An array "facts" of groups: {"key", "group": the title, "rows": rows as above that have "meaning", too}. */
void facts_write_groups(const fact_list *list, json_writer *json);
/* An object for each group, by its key, which has the values by theirs. For lines of a log. */
void facts_write_objects(const fact_list *list, json_writer *json);
/* An array "columns": {"key", "label", "unit"}, up to the first without a key and at most `most`. */
void facts_write_columns(const fact_column *column, int most, json_writer *json);

/* ---- for people ---- */

/* A line a row, "label: value unit", without groups. prefix: "" or a word before each label. */
void facts_print(const fact_list *list, FILE *out, const char *prefix);
/* A line a group, "title: label value unit, label value unit". */
void facts_print_groups(const fact_list *list, FILE *out);

/* ---- reading what was written ---- */

/* What run.json tells of the data, or NULL. *older: a version of Weft wrote it that had no rows of facts: the values
 * stand in the object itself. */
const json_value *facts_data_of(const json_value *run, bool *older);
/* The value of a row, or NULL. data: from facts_data_of, or NULL. */
const json_value *facts_value(const json_value *data, const char *key);
/* The value of a row of an array of rows, or NULL. rows: may be NULL. */
const json_value *facts_value_of(const json_value *rows, const char *key);
/* A line a row of an array that facts_write_rows wrote, or of the rows of a group; rows that are none are left out. */
void facts_print_json(const json_value *rows, FILE *out, const char *prefix);
