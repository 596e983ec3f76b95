/*
 * table/schema.h: which columns a table has, what they are for, and how files spell them.
 *
 * A schema begins as a guess from the first rows, which the caller's options override. Reading verifies it over the
 * whole file. A whole number that does not fit int32 makes its column a long; a number with a fraction makes a
 * column of whole numbers real. A word in a column of numbers is refused with file, line, column, value and cure,
 * because a guessed category would hide a damaged row. Nothing of this depends on threads or ranks: every rule is a
 * maximum over all rows.
 */
#pragma once

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"
#include "io/name_list.h"
#include "table/column.h"
#include "table/sparse_block.h"
#include "table/words.h"

struct sink_cell;

/* Takes a cell instead of the column's array. Any thread, the cells of one row in their order. WEFT_ERR_DATA: the
 * message gets file, line and column. */
typedef weft_status (*sink_take)(void *self, int thread, int64_t row, int64_t column, const struct sink_cell *cell);

typedef struct table_field {
    char *name; /* NUL-terminated UTF-8, without quotes */
    table_kind kind;
    table_role role;
    bool maybe_split;   /* the name is one of a split; the words decide. Only while the first rows are looked at. */
    bool asked;         /* the request said the kind */
    table_words *words; /* of a category; NULL for other kinds */
    int64_t missing;    /* cells without a value, over all rows */
    /* Least and greatest value, over all rows; least > most if the column has no number. */
    double least, most;
    /* What table/read/table_text.h sets. */
    sink_take take; /* gets the cells; NULL: they are stored by their kind */
    void *self;
    const char *expected; /* of a real column: what a cell is, "a finite number"; NULL: options are the cure */
    bool required;        /* of a real column: a missing cell is refused */
} table_field;

/* Facts about cells of one column. Facts of several threads or ranks add up in any order. */
typedef struct table_tally {
    int64_t missing;
    double least, most;
    bool word, fraction, wide; /* a cell was no number; was a number with a fraction; did not fit int32 */
    bool no_split;             /* a cell was no word of a split */
} table_tally;
#define TABLE_TALLY_NONE ((table_tally){.least = DBL_MAX, .most = -DBL_MAX})

typedef struct table_schema {
    int64_t count;
    table_field *field; /* [count], in the order of the file */
} table_schema;

/* Does the first line name the columns? Auto: yes if its first cell that is not empty is neither a number nor
 * missing. */
#define TABLE_HEADERS(X)                                                                                               \
    X(TABLE_HEADER_AUTO, "auto")                                                                                       \
    X(TABLE_HEADER_YES, "yes")                                                                                         \
    X(TABLE_HEADER_NO, "no")
typedef enum table_header { TABLE_HEADERS(CHOICE_VALUE) } table_header;

/* What double quotes are: around cells, or characters like others. */
#define TABLE_QUOTES(X)                                                                                                \
    X(TABLE_QUOTE_DOUBLE, "double")                                                                                    \
    X(TABLE_QUOTE_NONE, "none")
typedef enum table_quote { TABLE_QUOTES(CHOICE_VALUE) } table_quote;

/* The decimal point. Auto: a comma where the first rows show it, and no comma separates columns. */
#define TABLE_DECIMALS(X)                                                                                              \
    X(TABLE_DECIMAL_AUTO, "auto")                                                                                      \
    X(TABLE_DECIMAL_POINT, "point")                                                                                    \
    X(TABLE_DECIMAL_COMMA, "comma")
typedef enum table_decimal { TABLE_DECIMALS(CHOICE_VALUE) } table_decimal;

/* How a cell is read that a line of a LIBSVM file leaves out. */
#define TABLE_ABSENTS(X)                                                                                               \
    X(TABLE_ABSENT_ZERO, "zero")                                                                                       \
    X(TABLE_ABSENT_MISSING, "missing")
typedef enum table_absent { TABLE_ABSENTS(CHOICE_VALUE) } table_absent;

typedef enum table_sparse_choice { TABLE_SPARSES(CHOICE_VALUE) } table_sparse_choice;

enum { TABLE_READS = 2 }; /* lists of the columns that a model reads */

/* What a caller may say about columns; every text may be NULL. Lists are separated by commas. */
typedef struct table_request {
    const char *target, *weight, *group, *split,
        *order;                              /* name of a column, or its number from 1 if no column has that name */
    const char *category, *id, *real, *drop; /* lists of names or numbers */
    const char *learned; /* name of the target that a trained model learned: it is the target where `target` names none,
                            and if there is no such column, none is; NULL: a name may tell (io/text/text_header.h) */
    const name_list *reads[TABLE_READS]; /* columns that a trained model reads, which are no target; NULL: none */
    const char *missing; /* list of words that mean "no value" beside the empty cell; NULL: TABLE_MISSING_WORDS */
    const char *format;  /* name of a reader; NULL or "auto": recognised by the file */
    table_header header;
    table_quote quote;
    table_decimal decimal;
    table_sparse_choice
        sparse;       /* a caller that says no, which is 0, gets columns alone, and a table with a block is refused */
    bool keeps_given; /* auto keeps given cells alone, however few columns they are of */
    const char *categories_by; /* what asks for `category`, in messages; NULL: FLAG_CATEGORY */
    bool unread;               /* features are not read, and nothing is said of them */
    table_absent absent;       /* missing: of columns alone, so auto makes no block */
    int64_t index_base;        /* the least index of a LIBSVM file, 0 or 1; -1: recognised by the file */
    int64_t room;              /* bytes for the columns of a rank and `beside` of each row: if they are more, columns
                                  wait (table_hold); 0: none wait. The same on all ranks. */
    int64_t beside;            /* bytes a row that the caller takes while columns stand in memory */
} table_request;

/* Words that mean "no value", compared without case. */
#define TABLE_MISSING_WORDS "NA,N/A,nan,null,?,\\N"

weft_status schema_create(int64_t count, table_schema *schema);
weft_status schema_name(table_schema *schema, int64_t column, const char *text, size_t bytes);
void schema_free(table_schema *schema);

/* Gives columns the roles and kinds that the request names, then finds a target and a split by their names where the
 * request names none (io/text/text_header.h). `path` is for messages. WEFT_ERR_USAGE: no such column, with the nearest
 * name; a column with two roles; a target that the model reads. WEFT_ERR_DATA: two columns have one name. */
weft_status schema_apply(const char *path, const table_request *request, bool named, table_schema *schema);
/* What can be asked of a store, whose columns have kinds and roles already: to leave some out, and to take what a model
 * learned for the target, and not what it reads. WEFT_ERR_USAGE: another target than the store's, or one that the model
 * reads. */
weft_status schema_apply_stored(const char *path, const table_request *request, table_schema *schema);
void schema_add_tally(table_tally *sum, const table_tally *other);
/* The part that a word of a split means: 0 train, 1 valid, 2 test, TABLE_NO_SPLIT none; -1: it is no such word. */
int schema_split_of(const char *text, size_t bytes);
/* Puts facts about all rows into the schema. [out] widened: a column got another kind, so the pass must be repeated. */
weft_status schema_take(const char *path, table_schema *schema, const table_tally *tally, bool *widened);
/* The column of a role, or -1. */
int64_t schema_find(const table_schema *schema, table_role role);
/* The column of an exact name, else of one that differs in case, blanks and marks, else of a number from 1. flag: the
 * option that names it. WEFT_ERR_USAGE: no such column, with the nearest name. */
weft_status schema_find_named(const char *path, const table_schema *schema, const char *flag, const char *word,
                              int64_t *column);
/* Bytes of one row as memory and stores hold it. */
int64_t schema_row_bytes(const table_schema *schema);
/* "column 'NAME'", or "column N", from 1, where its name is empty or the table has no such column (a row has too many
 * cells), for messages. Returns text. */
const char *schema_say(const table_schema *schema, int64_t column, char text[96]);
/* Logs a line for each column, SCHEMA_LINES at most: name, kind, role, missing cells, range or number of words.
 * Warns of a target that is constant or partly missing, and of no target. */
enum { SCHEMA_LINES = 60 };
void schema_tell(const char *path, const table_schema *schema, int64_t rows);
