/*
 * app/options/app_options.h: what weft can be asked, put together from the rooms' tables (app/options/app_options.def).
 *
 * The commands read an option by its id, OPT_SYNC; option_choice gives the option's own enumeration:
 *
 *     sync_mode mode = option_choice(options, OPT_SYNC);
 */
#ifndef WEFT_APP_OPTIONS_APP_OPTIONS_H
#define WEFT_APP_OPTIONS_APP_OPTIONS_H

#include "app/options/option_choices.h"
#include "comm/halo.h"
#include "comm/model/calibrate.h"
#include "comm/sync/sync.h"
#include "dense/data/image_set.h"
#include "dense/dense_choices.h"
#include "gnn/data/read/reader.h"
#include "gnn/dataset.h"
#include "gnn/layers/layer_plan.h"
#include "machine/placement.h"
#include "option/option.h"
#include "partition/reorder.h"
#include "train/layers/norm.h"
#include "train/lr_schedule.h"
#include "train/metrics.h"
#include "train/model.h"
#include "train/optimizer.h"

/* The ids: those of the option room, then one for each row here. */
enum {
    OPT_BEFORE = OPTION_OWN_COUNT - 1,
#undef OPTION
#define OPTION(id, ...) OPT_##id,
#include "app/options/app_options.def"
#undef OPTION
    OPT_COUNT
};

/* OPT_SYNC_choice is sync_mode: the enumeration of each option that has one, void of those that are read by text. */
#define CHOICES(type, LIST) type
#define WORDS(text)         void
#define OPTION_TYPE_FLAG(id, choices)
#define OPTION_TYPE_INT(id, choices)
#define OPTION_TYPE_REAL(id, choices)
#define OPTION_TYPE_TEXT(id, choices)
#define OPTION_TYPE_CHOICE(id, choices) typedef choices OPT_##id##_choice;
#define OPTION_TYPE_SIZE(id, choices)
#define OPTION_TYPE_TIME(id, choices)
#define OPTION_TYPE_INTLIST(id, choices)
#define OPTION(id, name, aliases, type, section, unit, default_text, min, max, choices, help)                          \
    OPTION_TYPE_##type(id, choices)
#include "app/options/app_options.def"
#undef OPTION
#undef WORDS
#undef CHOICES

/* The value in force of a CHOICE, as the enumeration of its row. */
#define option_choice(options, id) ((id##_choice)option_choice_index(options, id))

extern const option_catalog app_catalog;
extern const option_row option_rows[];           /* [OPT_COUNT] */
extern const option_section option_sections[];   /* in the order of help; ends with name == NULL */
extern const option_command option_commands[];   /* ends with name == NULL */
extern const option_command option_command_bare; /* `weft --version`: no command, general options only */
extern const option_foreign option_foreigns[];   /* ends with words == NULL */
extern const option_synonym option_synonyms[];   /* ends with words == NULL */
extern const option_foreign_value option_foreign_values[];
extern const option_foreign option_foreign_commands[];
extern const option_recipe_setting option_recipes[]; /* ends with recipe == NULL */

static inline const option_row *option_row_of(option_id id)
{
    return &option_rows[id];
}

/* See option_catalog. */
bool option_is_argument(const option_command *command, const char *name);
option_id option_of_argument(const weft_options *options, const char *argument);

/* A row NEED of the tables. */
typedef struct option_need {
    option_id id, other;
    const char *choices;
} option_need;

extern const option_need option_needs[]; /* ends with choices == NULL */

/*
 * Options against each other: WEFT_ERR_USAGE when two contradict each other; a warning for each that differs from its
 * default but has no effect because of another. Values and their sources are named. Rules that depend on a recipe which
 * the data are yet to choose wait for option_check_decided.
 */
weft_status option_check_rules(const weft_options *options);
/* The rules that waited, of a command that trains: `asked` is what option_check_rules saw, `decided` what became of it. */
weft_status option_check_decided(const weft_options *asked, const weft_options *decided);
/* A warning for each of these options, up to OPTION_NONE, that differs from its default, unless a rule tells it:
 * "--hidden 16 (command line) has no effect", and where. */
void option_warn_idle(const weft_options *options, const option_id *idle, const char *where);

/* The tables and rules as one JSON object, for programs (app/options/option_json.c). */
void option_print_json(const option_catalog *catalog, FILE *out);

#endif
