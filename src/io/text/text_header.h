/*
 * io/text/text_header.h: the first lines of a table: its separator, its columns' names, and what the names mean.
 *
 * Every reader of text asks here, so that a name means the same in edges, weights, features, labels and splits. A first
 * line whose first field is neither a number nor missing (NA) is a header. Names are compared without case, blanks and
 * marks ("Node ID", "node_id" and "nodeId" are one); of Neo4j's "name:TYPE" the name counts, or :ID, :START_ID,
 * :END_ID.
 *
 *   text_header h;
 *   WEFT_TRY(text_header_read(path, line_max, &h));
 *   WEFT_TRY_GOTO(text_header_find(&h, TEXT_SOURCE, &column), status, done);        -1: there is none
 *   ... text_source_open; text_header_skip(&h, source); parse rows by h.separator and h.columns; text_header_free
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/text/text_field.h"

/* Role, names that mean it, names that mean it where none of the former is there. "head" and "tail" are left out: an
 * arc's head is its target, a triple's head its source. The table of docs/formats.md is this one. */
#define TEXT_ROLES(X)                                                                                                  \
    X(TEXT_SOURCE, "source src from u startid sourceid srcid fromid fromnode fromnodeid sourcenode srcnode",           \
      "node1 id1 start i row")                                                                                         \
    X(TEXT_TARGET,                                                                                                     \
      "target tgt to v dst dest destination endid targetid dstid toid tonode tonodeid targetnode dstnode",             \
      "node2 id2 end j col")                                                                                           \
    X(TEXT_WEIGHT, "weight weights w edgeweight", "value")                                                             \
    X(TEXT_ID, "id node nodeid vertex vertexid nid nodeidx vertexidx nodeindex vertexindex",                           \
      "index idx name nodename vertexname")                                                                            \
    X(TEXT_LABEL, "label labels class y target category nodelabel classlabel labelid classid", "")                     \
    X(TEXT_SPLIT, "split set part subset", "")                                                                         \
    X(TEXT_TRAIN, "train training trainmask trainingmask istrain", "")                                                 \
    X(TEXT_VALID,                                                                                                      \
      "valid val validation dev validmask valmask validationmask devmask isvalid isval isvalidation isdev", "")        \
    X(TEXT_TEST, "test testing testmask testingmask istest", "")

enum { TEXT_TABLE_LINE = 64 << 20 }; /* bytes of a line of a table with a row for each vertex */

typedef enum text_role {
#define TEXT_ROLE_VALUE(role, names, weaker) role,
    TEXT_ROLES(TEXT_ROLE_VALUE)
#undef TEXT_ROLE_VALUE
        TEXT_ROLE_COUNT
} text_role;

typedef struct text_header {
    const char *path;
    char separator;  /* io/text/text_field.h: of all lines */
    bool named;      /* there is a header */
    int64_t line;    /* where the header stands, else the first row; 0: the file has neither */
    int64_t columns; /* fields of a row, a left-out first one among them; 0: the file has no rows and no header */
    int64_t
        /* 0: the first column counts or names the rows (pandas' index, R's row names), so it is no data; -1: none */
        index;
    char **name; /* [columns], without quotes; NULL unless named */
    char *row;   /* the first row, ends in '\n'; NULL: there is none */
    int64_t row_line;
    char *first; /* the line that the names were cut from, as it stands there */
} text_header;

/* Look at the first lines of `path`, which must stay. Comments (#, %) and empty lines are read over. WEFT_ERR_DATA:
 * rows have another number of fields than the header has names; the message has both numbers and what may be the
 * reason. */
weft_status text_header_read(const char *path, size_t line_max, text_header *header);
void text_header_free(text_header *header);
/* The first line is no header but a row, as the caller knows by what follows; as many columns as before. Not with an
 * index. */
weft_status text_header_drop(text_header *header);
/* Moves a source that was just opened past the line of the header, if there is one. */
weft_status text_header_skip(const text_header *header, text_source *source);

/* [out] column: the column of a role, or -1. WEFT_ERR_DATA names both columns if two have the role. */
weft_status text_header_find(const text_header *header, text_role role, int64_t *column);
/* [out] column: the column of TEXT_ID, found as text_header_find does. Without one it is a nameless first column of
 * words, which are the names of rows; that column is then no index any more. */
weft_status text_header_take_ids(text_header *header, int64_t *column);
/* Returns true if a name is one of the role's words, compared as names of columns are. */
bool text_name_is(const char *name, text_role role);
/* Returns true if two names are equal but for case, blanks and marks. */
bool text_same_name(const char *a, const char *b);
/* Returns true if the column's name is one of the role's words. */
bool text_header_is(const text_header *header, int64_t column, text_role role);
/* Returns true if the column's name is a word that means the role only where no stronger word is there. */
bool text_header_is_weak(const text_header *header, int64_t column, text_role role);
/* The field of the first row; false without a row. */
bool text_header_sample(const text_header *header, int64_t column, text_field *field);
/* "column 'NAME'" or "column N", from 1. */
const char *text_header_column(const text_header *header, int64_t column, char text[64]);
/* Log in one line which columns nobody reads: those with used[column] false. Nothing where all are used. */
void text_header_tell_unused(const text_header *header, const bool *used);
