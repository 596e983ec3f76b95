/*
 * app/report/text.h: the report's stream of text, as HTML or as Markdown.
 *
 * The sections of a report are written once, in headings, paragraphs and tables; this file knows how the two formats
 * spell them. Everything that goes through it is escaped: names and values come from files. The HTML is well-formed XML
 * as well, so that any parser reads it; bytes that are no UTF-8, control characters and marks that reverse the writing
 * direction become U+FFFD.
 */
#ifndef WEFT_APP_REPORT_TEXT_H
#define WEFT_APP_REPORT_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct report_text {
    FILE *file;
    bool html;
    int level;         /* of the sections' headings: 2, or 3 below the heading of a run */
    const char *align; /* of the open table: a letter a column, l or r */
    int column;        /* next cell */
} report_text;

/* Escaped text. */
void text_write(report_text *out, const char *text);
void text_printf(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void text_heading(report_text *out, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A paragraph; `kind` is its class in HTML ("muted", "problem", "warning"). */
void text_paragraph(report_text *out, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Something to copy as it stands, such as a command line: in a box of its own, without marks of Markdown in it. */
void text_code(report_text *out, const char *text);

/* A line of a list. */
void text_item(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* In HTML, what follows is folded below a line of text until text_fold_end; a long narrow table stands in columns. */
void text_fold_begin(report_text *out, const char *summary, bool long_table);
void text_fold_end(report_text *out);

/* A table: align "lrr" has three columns; names are separated by '|', which no name contains. Cells come row by row,
 * and the last of a row closes it. The first column names the row: in HTML it is not wrapped unless it is long, and
 * stays when the table is wider than the page and scrolls. */
void text_table_begin(report_text *out, const char *align, const char *names);
/* The same where names come from files: a call a column between begin and end. */
void text_columns_begin(report_text *out, const char *align);
void text_column_name(report_text *out, const char *name);
void text_columns_end(report_text *out);
void text_cell(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* With a patch of a colour class before it, where there are colours. */
void text_cell_colour(report_text *out, const char *colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Shaded by a share of 1, where there are colours: `good` in the colour of hits, else of misses. */
void text_cell_shaded(report_text *out, double share, bool good, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void text_cell_strong(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_table_end(report_text *out);

/* ---- quantities; "–" stands for what is not a finite number ---- */

typedef struct quantity {
    char text[40];
} quantity;

quantity quantity_seconds(double seconds); /* "3.08 ms" */
quantity quantity_bytes(double bytes);     /* "1.23 MB", powers of ten */
quantity quantity_count(double count);     /* "114,615,892" */
quantity quantity_percent(double share);   /* 0.9212: "92.12 %" */
quantity quantity_real(double value);      /* four digits */

#endif
