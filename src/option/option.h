/*
 * option/option.h: options, from one table (option/options.def).
 *
 * Precedence: default < recipe < config file < environment (WEFT_NAME) < command line < the calling program; each value
 * remembers where it came from. Unknown, misspelt, out-of-range or repeated-with-different-value options are
 * WEFT_ERR_USAGE, with the nearest name, range and source; there are no silent abbreviations. Only rank 0 reads files
 * and environment: the parsed values travel to the other ranks as one blob (option_pack / option_unpack).
 *
 * Spelling: --name value, --name=value, -x value for one-letter aliases; '-' and '_' are the same inside names. A flag
 * is --name, --no-name or --name=on|off; a choice that has on and off may be written so, too. "--" ends the options. A
 * value that begins with "--" is written --name=VALUE.
 */
#ifndef WEFT_OPTION_OPTION_H
#define WEFT_OPTION_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef enum option_id {
#define OPTION(id, ...) OPT_##id,
#include "option/options.def"
#undef OPTION
    OPT_COUNT
} option_id;

typedef enum option_type {
    OPTION_FLAG,
    OPTION_INT,
    OPTION_REAL,
    OPTION_TEXT,
    OPTION_CHOICE,
    OPTION_SIZE,
    OPTION_TIME,
    OPTION_INTLIST
} option_type;

typedef enum option_source {
    OPTION_DEFAULT,
    OPTION_RECIPE, /* a named set of defaults, chosen by --recipe */
    OPTION_DATA,   /* option_decide: "auto" became this when the data were known */
    OPTION_FILE,
    OPTION_ENVIRONMENT,
    OPTION_COMMAND_LINE,
    OPTION_PROGRAM /* option_assign: the last value given counts */
} option_source;

typedef struct option_row {
    const char *id, *name, *aliases;
    option_type type;
    const char *section, *unit, *default_text;
    double min, max;
    const char *choices, *help;
} option_row;

/* A command: which sections of the table it takes, and its positional arguments. */
typedef struct option_command {
    const char *name;
    const char *summary;
    const char *arguments; /* as shown in the usage line, e.g. "INPUT" */
    int min_arguments, max_arguments;
    const char *sections; /* comma separated, in help order */
    const char *examples; /* lines for the help text */
} option_command;

extern const option_command option_commands[];   /* ends with name == NULL */
extern const option_command option_command_bare; /* `weft --version`: no command, general options only */

typedef struct weft_options weft_options;

const option_row *option_row_of(option_id id);

/* argv[0] is the command's name. [out] options, freed with option_destroy. */
weft_status option_parse(const option_command *command, int argc, char **argv, weft_options **options);
/* The same without config file and environment: for ranks that receive rank 0's values. */
weft_status option_parse_arguments(const option_command *command, int argc, char **argv, weft_options **options);
/* Defaults and this config text alone; `name` is for messages. */
weft_status option_parse_config(const option_command *command, const char *name, const char *text, size_t bytes,
                                weft_options **options);
/* For programs that use the library: all defaults, then values by name, to which those of config files give way. */
weft_status option_create(const option_command *command, weft_options **options);
weft_status option_assign(weft_options *options, const char *name, const char *text);
weft_status option_apply_config_file(weft_options *options, const char *path);
/* The command's option of this name, as a config file would spell it; WEFT_ERR_USAGE with the nearest name. */
weft_status option_lookup(const weft_options *options, const char *name, option_id *id);
/* Of what was set; recipes are applied anew. */
weft_status option_copy(const weft_options *options, weft_options **copy);
/* "auto" turns out to be `text`. The source stays where somebody asked for "auto", else it is OPTION_DATA. */
weft_status option_decide(weft_options *options, option_id id, const char *text);
void option_destroy(weft_options *options);

const option_command *option_command_of(const weft_options *options);
int option_argument_count(const weft_options *options);
const char *option_argument(const weft_options *options, int i);

bool option_flag(const weft_options *options, option_id id);
int64_t option_int(const weft_options *options, option_id id);      /* INT */
double option_real(const weft_options *options, option_id id);      /* REAL, TIME in seconds */
uint64_t option_size(const weft_options *options, option_id id);    /* SIZE in bytes */
const char *option_text(const weft_options *options, option_id id); /* TEXT, CHOICE; "" when unset */
int option_choice(const weft_options *options, option_id id);       /* CHOICE: index among the choices */
int option_list(const weft_options *options, option_id id, int64_t *values, int capacity); /* INTLIST: count */
bool option_is_set(const weft_options *options, option_id id);                             /* by somebody */
option_source option_source_of(const weft_options *options, option_id id);
const char *option_source_text(option_source source);
/* The effective value as text, e.g. for manifests. Valid as long as the options. */
const char *option_value_text(const weft_options *options, option_id id);
bool option_applies(const option_command *command, option_id id);
/* Help, version and print-config act at once and stand on the command line only; so does config in a config file. */
bool option_allowed_from(option_id id, option_source source);
/* The command of this name; WEFT_ERR_USAGE with the nearest name. */
weft_status option_command_find(const char *name, const option_command **command);
/* Is this a topic of --help=TOPIC for the command? WEFT_ERR_USAGE with the nearest one. */
weft_status option_check_topic(const option_command *command, const char *topic);

/*
 * Options against each other: WEFT_ERR_USAGE when two contradict each other; a warning for each that differs from its
 * default but has no effect because of another. Values and their sources are named.
 */
weft_status option_check_rules(const weft_options *options);

/* All values as one blob (malloc'ed with base/alloc.h), for sending to other ranks. */
weft_status option_pack(const weft_options *options, void **blob, size_t *bytes);
weft_status option_unpack(const void *blob, size_t bytes, weft_options **options);

/* Generated from the table. `section`: "" or NULL = all of the command's, or a topic that option_check_topic knows (not
 * "formats", which is the readers' to print). */
void option_print_help(FILE *out, const option_command *command, const char *section);
void option_print_overview(FILE *out);                            /* weft --help */
void option_print_config(FILE *out, const weft_options *options); /* the template of their command, by their recipe */
void option_print_man(FILE *out);                                 /* weft.1 */
void option_print_completion(FILE *out);                          /* bash */
void option_print_markdown(FILE *out);                            /* docs/options.md */
void option_print_json(FILE *out);                                /* the whole table, for programs */

#endif
