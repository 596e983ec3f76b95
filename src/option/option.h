/*
 * option/option.h: options, from a catalogue that the program puts together from tables.
 *
 * A row is a line of a file that stands with the room whose work it asks for (ROOM_options.def):
 *
 *   OPTION(id, name, aliases, type, section, serves, unit, default, min, max, choices, help)
 *     name      the long option with its dashes; '-' and '_' are interchangeable when typed. FLAG_id where messages
 *               name it
 *     aliases   other accepted spellings (OGB, DGL), comma separated, without dashes
 *     type      FLAG INT REAL TEXT CHOICE SIZE (bytes, KiB/MiB/GiB) TIME (seconds, s/m/h) INTLIST ("16,32K,1..64":
 *               integers, with the units of SIZE; A..B is A, 2 A, 4 A, ... up to B)
 *     serves    the jobs that have a use for the option, by the traits of their kind ("graphs|images"); "": every job
     unit      what stands for the value in help; "": the choices, or a letter by the type
 *     default   as typed by a user; "" = unset
 *     min, max  for INT, REAL, SIZE, TIME (inclusive)
 *     choices   for CHOICE: CHOICES(type, LIST), an enumeration and its list (base/option_words.h), or WORDS("a|b"),
 *               which are read as text; for TEXT: WORDS, of which the value is one unless it names a file, with a '.'
 *               or a '/' in it; for REAL: WORDS("auto"), in the place of which a number is found (option_decide): until
 *               then it is NaN; "" for others
 *
 *   NEED(id, other, choices)
 *     `id` acts only while `other` has one of `choices` ('|' between them), or is given at all ("*")
 *
 * Names are unique within a command, not over all of them (--format reads in convert and writes in bench). Parser,
 * help, man page, bash completion, --print-config and docs/options.md come from the rows, in their order.
 *
 * Rows are gathered in tables. Table 0 is the program's own; each kind of job has one more, with its sections,
 * commands, recipes and words, and may add words to choices of other tables (option_addition). option_assemble makes
 * the catalogue. An option's id is made of the number of its table and of its row, so it is a constant of the compiler
 * whatever other tables there are.
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
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef int option_id; /* OPTION_TABLE_FIRST(number of the table) + row */

/* A list of ids, for the time of the block that it stands in. */
#define OPTION_IDS(...) ((const option_id[]){__VA_ARGS__, OPTION_NONE})

enum {
    OPTION_TABLE_SHIFT = 10,
    OPTION_TABLE_ROWS = 1 << OPTION_TABLE_SHIFT, /* most rows of a table */
    OPTION_TABLES_MAX = 16,                      /* tables have numbers from 0 to 15 */
    OPTION_ROWS_MAX = 640,                       /* most rows of a catalogue; the limits below are a catalogue's, too */
    OPTION_SECTIONS_MAX = 64,
    OPTION_COMMANDS_MAX = 32,
    OPTION_NEEDS_MAX = 256,
    OPTION_RECIPES_MAX = 512, /* settings of all recipes */
    OPTION_WORDS_MAX = 256,   /* rows of each list of words of other programs */
    OPTION_TEXT_MAX = 16384,  /* bytes of choices, helps and section lists that are put together */
    OPTION_WORD_MAX = 64      /* bytes of a name or choice, with its NUL */
};

/* The id of the first row of the table with this number. */
#define OPTION_TABLE_FIRST(number) ((number) << OPTION_TABLE_SHIFT)

/* The rows that this room answers are the first of table 0. */
enum {
    OPTION_NONE = -1,
#undef OPTION
#define OPTION(id, ...) OPT_##id,
#include "option/general_options.def"
#undef OPTION
    OPTION_OWN_COUNT
};

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

/* One option, by the columns of OPTION(...). name: without its dashes. */
typedef struct option_row {
    const char *id, *name, *aliases;
    option_type type;
    const char *section, *serves, *unit, *default_text;
    double min, max;
    const char *choices, *help;
} option_row;

/* OPTION as OPTION_ROW makes an option_row of a line. CHOICES must then be CHOICE_WORDS of its list, WORDS its text. */
#define OPTION_ROW(id, name, aliases, type, section, serves, unit, default_text, min, max, choices, help)              \
    {#id, &name[2], aliases, OPTION_##type, section, serves, unit, default_text, min, max, choices, help},

/* OPTION as OPTION_CHOICE_TYPE makes a type of a line: OPT_SYNC_choice is sync_mode. CHOICES must then be its type,
 * WORDS void. */
#define OPTION_CHOICE_TYPE(id, name, aliases, type, section, serves, unit, default_text, min, max, choices, help)      \
    OPTION_CHOICE_TYPE_##type(id, choices)
#define OPTION_CHOICE_TYPE_FLAG(id, choices)
#define OPTION_CHOICE_TYPE_INT(id, choices)
#define OPTION_CHOICE_TYPE_REAL(id, choices)
#define OPTION_CHOICE_TYPE_TEXT(id, choices)
#define OPTION_CHOICE_TYPE_CHOICE(id, choices) typedef choices OPT_##id##_choice;
#define OPTION_CHOICE_TYPE_SIZE(id, choices)
#define OPTION_CHOICE_TYPE_TIME(id, choices)
#define OPTION_CHOICE_TYPE_INTLIST(id, choices)

/* What a resumed run does with an option that has another value than in its checkpoint. */
typedef enum option_change {
    OPTION_CHANGES,  /* it takes the new value */
    OPTION_REOPENS,  /* it takes the new value, with which data and ranks are set up: a later fit on open data cannot */
    OPTION_DISTURBS, /* it takes the new value and logs that results are not the same to the bit */
    OPTION_STAYS     /* it is refused */
} option_change;

typedef struct option_section {
    const char *name, *title, *about;
    /* A word of --help=TOPIC for commands that take the section, which the program prints itself; or NULL. */
    const char *topic;
    /* Commands that take the section where their own list has "*", comma separated; or NULL. */
    const char *commands;
    /* What a resumed run does with changed options of the section. */
    option_change change;
} option_section;

typedef struct weft_options weft_options;
typedef struct option_catalog option_catalog;

/* A command: which sections it takes, and its positional arguments. */
typedef struct option_command {
    const option_catalog *catalog;
    const char *name;
    const char *summary;
    const char *arguments; /* as shown in the usage line, e.g. "INPUT"; "[--FLAG RUN]": none without the flag */
    int min_arguments, max_arguments;
    const char
        *sections; /* comma separated, in help order; in a table "*" stands for the sections that name the command, and
                                "*train" for those that name train, or the command */
    const char *examples; /* lines for the help text */
} option_command;

/* One NEED(...) of a file: `id` acts only while `other` has one of the choices. */
typedef struct option_need {
    option_id id, other;
    const char *choices; /* '|' between them; "*": any value but "" */
} option_need;

#define OPTION_NEED(id, other, choices) {OPT_##id, OPT_##other, choices},

/* Words that a table adds to a row of another table, as a kind of job adds its models to --model. A word that the row
 * has already is not added again. */
typedef struct option_addition {
    option_id id;
    const char *unit, *choices; /* '|' between words; "": none */
    const char *help;           /* a half-sentence, which is put behind "; "; "": none */
} option_addition;

/* An answer to options or commands of other programs. */
typedef struct option_foreign {
    const char *words; /* comma separated */
    const char *answer;
} option_foreign;

/* Words of other programs for a choice: they are taken, and recorded, as `choice`. */
typedef struct option_synonym {
    option_id id;
    const char *words; /* comma separated */
    const char *choice;
} option_synonym;

/* An answer to values that other programs take and this option does not. */
typedef struct option_foreign_value {
    option_id id;
    const char *words; /* comma separated */
    const char *answer;
} option_foreign_value;

/* One setting of a recipe. A recipe without settings is the built-in defaults. */
typedef struct option_recipe_setting {
    const char *recipe;
    option_id id;
    const char *text;
} option_recipe_setting;

/*
 * The options of one kind of job, or of all (number 0), and everything that goes with them. A list that is NULL is
 * empty; each of the others ends with a row whose last pointer is NULL.
 */
typedef struct option_table {
    /* Unique among the tables of a program, from 0 to OPTION_TABLES_MAX - 1. */
    int number;
    /* Words for the column `serves` that jobs of the kind have, '|' between them; NULL: the table is of no kind. */
    const char *traits;
    const option_row *rows; /* [count] */
    int count;
    const option_need *needs;
    const option_section *sections; /* in the order of help */
    const option_command *commands;
    const option_addition *additions;
    const option_recipe_setting *recipes;
    const option_synonym *synonyms;
    const option_foreign *foreigns;
    const option_foreign_value *values;
    const option_foreign *other_commands; /* words for commands */
    /* Rules that rows NEED cannot say, for options of any command; WEFT_ERR_USAGE. NULL: none. */
    weft_status (*check)(const weft_options *options);
} option_table;

/* All that a program can be asked. The program sets the first fields; option_assemble fills in the others. */
struct option_catalog {
    option_id recipe; /* the option that names a recipe; its choices are all recipes */
    /* Returns true if the command takes as an argument what an option of this name gives to other commands. */
    bool (*is_argument)(const option_command *command, const char *name);
    /* Returns the option that an argument too many was meant for, or OPTION_NONE. */
    option_id (*of_argument)(const weft_options *options, const char *argument);

    int count;                             /* rows of all tables */
    option_id id[OPTION_ROWS_MAX];         /* [count] */
    option_row rows[OPTION_ROWS_MAX];      /* [count], with all additions */
    int first[OPTION_TABLES_MAX];          /* place of the first row of the table with this number */
    int rows_of[OPTION_TABLES_MAX];        /* its rows; 0: there is no such table */
    const char *traits[OPTION_TABLES_MAX]; /* [kinds] */
    int kinds;
    weft_status (*checks[OPTION_TABLES_MAX])(const weft_options *options); /* [check_count] */
    int check_count;
    /* Each list ends as those of tables do. */
    option_section sections[OPTION_SECTIONS_MAX];
    option_command commands[OPTION_COMMANDS_MAX];
    option_command bare; /* no command: general options only */
    option_need needs[OPTION_NEEDS_MAX];
    option_recipe_setting recipes[OPTION_RECIPES_MAX];
    option_synonym synonyms[OPTION_WORDS_MAX];
    option_foreign foreigns[OPTION_WORDS_MAX];
    option_foreign_value values[OPTION_WORDS_MAX];
    option_foreign other_commands[OPTION_WORDS_MAX];
    char text[OPTION_TEXT_MAX]; /* what was put together */
    size_t text_bytes;
};

/*
 * [in, out] catalog: the program's fields, the others zeroed. tables: [count], in the order of help; they live as long
 * as the catalogue, which must not be moved. WEFT_ERR_INTERNAL: two tables have one number, an addition or a section
 * list names what there is not, or a limit is too small.
 */
weft_status option_assemble(option_catalog *catalog, const option_table *const *tables, int count);
/* WEFT_ERR_INTERNAL: two options of one command share a name, or a row's section is no command's. It takes a tenth of a
 * second under a sanitizer: tests of the catalogue call it, not each start of the program. */
weft_status option_catalog_check(const option_catalog *catalog);
/* The row's place among all rows, or -1. */
int option_place(const option_catalog *catalog, option_id id);
const option_row *option_row_at(const option_catalog *catalog, option_id id);
/* Returns true if jobs of a kind with these traits have a use for the option. */
bool option_serves(const option_row *row, const char *traits);
/* "graphs or images": the column `serves` for readers. Returns text. */
enum { OPTION_JOBS_MAX = 128 };
const char *option_jobs_text(const option_row *row, char text[OPTION_JOBS_MAX]);

/* The flag without which the command takes no argument, or OPTION_NONE. */
option_id option_argument_flag(const option_command *command);

/* argv[0] is the command's name. [out] options, freed with option_destroy. */
weft_status option_parse(const option_command *command, int argc, char **argv, weft_options **options);
/* Like option_parse(), but reads neither config file nor environment: for ranks that receive rank 0's values. */
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
/* [out] copy: options with the values that were set; recipes are applied anew. */
weft_status option_copy(const weft_options *options, weft_options **copy);
/* "auto" turns out to be `text`. The source stays where somebody asked for "auto", else it is OPTION_DATA. */
weft_status option_decide(weft_options *options, option_id id, const char *text);
void option_destroy(weft_options *options);

const option_command *option_command_of(const weft_options *options);
const option_catalog *option_catalog_of(const weft_options *options);
/* The row of an option of the options' catalogue, how many there are, and the id at a place from 0 to that. */
const option_row *option_row_in(const weft_options *options, option_id id);
int option_count(const weft_options *options);
option_id option_at(const weft_options *options, int place);
int option_argument_count(const weft_options *options);
const char *option_argument(const weft_options *options, int i);

bool option_flag(const weft_options *options, option_id id);
int64_t option_int(const weft_options *options, option_id id);      /* INT */
double option_real(const weft_options *options, option_id id);      /* REAL, TIME in seconds */
uint64_t option_size(const weft_options *options, option_id id);    /* SIZE in bytes */
const char *option_text(const weft_options *options, option_id id); /* TEXT, CHOICE; "" when unset */
int option_choice_index(const weft_options *options, option_id id); /* CHOICE: index among the choices */
int option_list(const weft_options *options, option_id id, int64_t *values, int capacity); /* INTLIST: count */
bool option_is_set(const weft_options *options, option_id id);                             /* by somebody */
bool option_is_auto(const weft_options *options, option_id id); /* a CHOICE, TEXT or REAL whose value is "auto" */
option_source option_source_of(const weft_options *options, option_id id);
/* Returns true if option_decide gave the value, because nobody or "auto" had; a copy of the options forgets it. */
bool option_was_decided(const weft_options *options, option_id id);
const char *option_source_text(option_source source);
/* The effective value as text, e.g. for manifests. Valid as long as the options. */
const char *option_value_text(const weft_options *options, option_id id);
bool option_applies(const option_command *command, option_id id);
/* Help, version and print-config act at once and stand on the command line only; so does config in a config file. */
bool option_allowed_from(option_id id, option_source source);
/* The command of this name; WEFT_ERR_USAGE with the nearest name. */
weft_status option_command_find(const option_catalog *catalog, const char *name, const option_command **command);
/* WEFT_ERR_USAGE, with the nearest topic, unless --help=TOPIC of the command knows this one. */
weft_status option_check_topic(const option_command *command, const char *topic);

/* All values as one blob (malloc'ed with base/alloc.h), for sending to other ranks. */
weft_status option_pack(const weft_options *options, void **blob, size_t *bytes);
weft_status option_unpack(const option_catalog *catalog, const void *blob, size_t bytes, weft_options **options);

/* ---- words and lists of the tables ---- */
/* Next item of a list such as "a,b,c"; false at its end. *cursor starts at the list. */
bool option_list_next(const char **cursor, char separator, char item[OPTION_WORD_MAX]);
bool option_list_has(const char *list, char separator, const char *word);
/* Returns true if the list of ids, which ends with OPTION_NONE or is NULL, has the id. */
bool option_id_listed(const option_id *ids, option_id id);
/* Returns true if the names differ in '-' and '_' alone. */
bool option_same_name(const char *a, const char *b);
/* The first option of any command with this name or long alias; OPTION_NONE when there is none. */
option_id option_find_any(const option_catalog *catalog, const char *name);
const option_section *option_section_find(const option_catalog *catalog, const char *name);
/* Returns true if the command takes this section. */
bool option_section_used(const option_command *command, const char *section);

/* Generated from the catalogue. `section`: "" or NULL = all of the command's, or a topic that option_check_topic knows
 * (not a section's own topic, which is the program's to print). */
void option_print_help(FILE *out, const option_command *command, const char *section);
void option_print_config(FILE *out, const weft_options *options);       /* a config file that asks for the same */
void option_print_overview(const option_catalog *catalog, FILE *out);   /* weft --help */
void option_print_recipes(const option_catalog *catalog, FILE *out);    /* --help=recipes */
void option_print_man(const option_catalog *catalog, FILE *out);        /* weft.1 */
void option_print_completion(const option_catalog *catalog, FILE *out); /* bash */
void option_print_markdown(const option_catalog *catalog, FILE *out);   /* docs/options.md */
