/*
 * app/options/app_options.h: what weft can be asked whatever the job works on (app/options/app_options.def), and the
 * rules between options.
 *
 * Commands read an option by its id, OPT_SYNC; option_choice gives the option's own enumeration:
 *
 *     sync_mode mode = option_choice(options, OPT_SYNC);
 *
 * A kind of workload has a table of its own: OPT_HIDDEN stands in app/gnn/options/gnn_options.h, and only files of
 * app/gnn read it. The tables of a program make its catalogue (app/workload/app_catalog.h).
 */
#pragma once

#include "app/options/option_choices.h"
#include "comm/model/calibrate.h"
#include "comm/sync/sync.h"
#include "machine/placement.h"
#include "option/option.h"
#include "table/schema.h"
#include "train/lr_schedule.h"
#include "train/model.h"
#include "train/optimizer.h"
#include "train/score/metrics.h"
#include "train/second/second.h"
#include "tune/recorded/study.h"
#include "tune/sched/sched.h"

/* The ids of table 0: rows of the option room, then one for each row here. */
#define OPTION_TABLE_FILE "app/options/app_options.def"
#define OPTION_TABLE_FROM OPTION_OWN_COUNT
#define OPTION_TABLE_MARK OPT_BEFORE
#include "option/table_ids_body.h"

/* The value in force of a CHOICE, as the enumeration of its row. */
#define option_choice(options, id) ((id##_choice)option_choice_index(options, id))

extern const option_table app_option_table; /* number 0 */

/* See option_catalog. */
bool option_is_argument(const option_command *command, const char *name);
option_id option_of_argument(const weft_options *options, const char *argument);

/*
 * Options against each other: WEFT_ERR_USAGE when two contradict each other; a warning for each that differs from its
 * default but has no effect because of another. Values and their sources are named. Rules that depend on a recipe which
 * the data are yet to choose wait for option_check_decided.
 */
weft_status option_check_rules(const weft_options *options);
/* The rules that waited, of a command that trains: `asked` is what option_check_rules saw, `decided` what became of
 * it. */
weft_status option_check_decided(const weft_options *asked, const weft_options *decided);

/* ---- rules of a kind of workload ---- */

/* WEFT_ERR_USAGE: "--a 1 (source) and --b 2 (source) contradict each other: why". */
weft_status option_contradict(const weft_options *options, option_id one, option_id other, const char *why);
/* A warning for each of these options, up to OPTION_NONE, that differs from its default, unless a row NEED explains it:
 * "--hidden 16 (command line) has no effect", and where. */
void option_warn_idle(const weft_options *options, const option_id *idle, const char *where);
/* The same warning for every option that serves none of these traits. jobs: what the job is on, in words:
 * "--hidden 16 (command line) has no effect on images: it is for graphs". */
void option_warn_unserved(const weft_options *options, const char *traits, const char *jobs);
/* A warning "--a 1 (source) has no effect with --b 2 (source): why" if `id` differs from its default. */
void option_warn_beside(const weft_options *options, option_id id, option_id other, const char *why);

/* The tables and rules as one JSON object, for programs (app/options/option_json.c). */
void option_print_json(const option_catalog *catalog, FILE *out);
