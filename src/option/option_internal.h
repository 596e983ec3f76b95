/*
 * option/option_internal.h: what the files option_*.c share.
 *
 *   option_assemble.c one catalogue from several tables
 *   option_table.c    looking up rows, commands and sections
 *   option_nearest.c  edit distance and suggestions
 *   option_foreign.c  words of other programs
 *   option_value.c    text to value by type; the weft_options object and its getters
 *   option_parse.c    the command line and the environment
 *   option_config.c   the config file
 *   option_assign.c   values from the program that uses the library
 *   option_recipe.c   named sets of defaults
 *   option_pack.c     the blob for other ranks
 *   option_print_*.c  everything that is generated from the table
 */
#pragma once

#include "option/option.h"

enum { OPTION_LIST_MAX = 64, OPTION_ENV_MAX = OPTION_WORD_MAX + 8 };

typedef struct option_value {
    option_source source;
    bool decided;    /* option_decide gave it */
    char *text;      /* normalised, owned */
    int64_t integer; /* INT; FLAG 0 or 1; CHOICE index */
    double real;     /* REAL; TIME in seconds */
    uint64_t size;   /* SIZE in bytes */
} option_value;

struct weft_options {
    const option_command *command;
    option_value *values; /* [count of the catalogue], by place */
    char **arguments;     /* positional, owned */
    int argument_count;
};

/* ---- table ---- */
/* A choice that has on and off among its choices: --name alone is on, --no-name is off, as with flags. */
bool option_is_switch(const option_row *row);
/* The option of the command with this name or alias, '-' and '_' alike; OPTION_NONE when there is none. One-letter
 * aliases are found only when `letter`. */
option_id option_find(const option_command *command, const char *name, bool letter);
/* Names and long aliases of the command's options (of all when NULL), for suggestions. Returns their number. */
enum { OPTION_NAMES_MAX = 512 };
int option_collect_names(const option_catalog *catalog, const option_command *command,
                         char names[OPTION_NAMES_MAX][OPTION_WORD_MAX]);
/* WEFT_NAME of a name. */
void option_environment_name(const char *name, char text[OPTION_ENV_MAX]);

/* ---- nearest ---- */
/* The near name of the command's options (of all when NULL), copied to `found`, or NULL. */
const char *option_nearest_name(const option_catalog *catalog, const option_command *command, const char *word,
                                char found[OPTION_WORD_MAX]);

/* ---- foreign words ---- */
/* What to say to an option of another program, or NULL. */
const char *option_foreign_answer(const option_catalog *catalog, const char *name);
/* What to say to a command, or to a value of an option, that other programs have; or NULL. */
const char *option_command_answer(const option_catalog *catalog, const char *name);
const char *option_value_answer(const option_catalog *catalog, option_id id, const char *text);
/* Returns true if the words differ in nothing but letter case, '-', '_' and blanks: ResNet18 is resnet-18. */
bool option_same_word(const char *a, const char *b);
/* The choice that the text means, where it is another program's word for one; else the text. */
const char *option_own_word(const option_catalog *catalog, option_id id, const char *text);

/* ---- refusals ---- */
/* WEFT_ERR_USAGE for an option that the command does not have; `dashes` as written before the name. */
weft_status option_fail_unknown(const option_command *command, const char *dashes, const char *name);

/* ---- values ---- */
/*
 * Give a value. A value from a stronger source stays; a different value from the same source is refused, except from
 * the program. `spelled` is what the user wrote and where, and begins every message: "--lr 1e9", "a.conf: line 3: lr =
 * 1e9".
 */
weft_status option_set(weft_options *options, option_id id, option_source source, const char *spelled,
                       const char *text);
weft_status option_add_argument(weft_options *options, const char *text);
/* The value is one of option_decide. */
void option_mark_decided(weft_options *options, option_id id);
/* Back to the built-in default, whoever gave the value. */
weft_status option_restore_default(weft_options *options, option_id id);

/* ---- recipes ---- */
/* Give every option that no stronger source has set its value in the recipe in force, or its built-in default. */
weft_status option_use_recipe(weft_options *options);
/* "kipf = --model gcn --layers 2 ...": the recipe as options. */
enum { OPTION_RECIPE_MAX = 512 };
void option_describe_recipe(const option_catalog *catalog, const char *recipe, char text[OPTION_RECIPE_MAX]);
/* The next recipe so described, leaving out those without options of their own; false at the end. *cursor starts at the
 * choices. */
bool option_recipe_listed(const option_catalog *catalog, const char **cursor, char text[OPTION_RECIPE_MAX]);

/* ---- printing ---- */
/* "N", "mean|gcn", ...: what stands for the value; "" for flags. */
const char *option_placeholder(const option_row *row);
/* "default 0.5; 0 to 0.999; for graphs": default, range, and the jobs where some have no use for the option. */
enum { OPTION_RANGE_MAX = 256, OPTION_ALSO_MAX = 256 };
void option_describe_range(const option_catalog *catalog, const option_row *row, char text[OPTION_RANGE_MAX]);
/* "; also --wd, --decay": the long aliases, each after `dashes`; "" when there are none. */
void option_describe_aliases(const option_row *row, const char *dashes, char text[OPTION_ALSO_MAX]);
/* A bound as in messages: 65536, 0.999, 1e+06. */
const char *option_bound_text(const option_row *row, double bound, char text[32]);
/* Exit code number i and what it means: the statuses, then those that mpirun reports. Returns NULL past the end. */
const char *option_exit_code(int i, int *code);
