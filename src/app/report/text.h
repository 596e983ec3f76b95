/*
 * app/report/text.h: the report's stream of text, as HTML or as Markdown.
 *
 * The sections of a report are written once, in headings, paragraphs and tables; this file knows how the two formats
 * spell them. Everything that goes through it is escaped: names and values come from files. The HTML is well-formed XML
 * as well, so that any parser reads it; bytes that are no UTF-8, control characters and marks that reverse the writing
 * direction become U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct report_text {
    FILE *file;
    bool html;
    int level;         /* level of the sections' headings: 2, or 3 below the heading of a run */
    const char *align; /* open table: one letter per column, l or r */
    int column;        /* open table: index of the next cell */
} report_text;

/* ---- the page ---- */

/* Head, style and the start of the body (page.c). Markdown needs nothing here. */
void page_begin(report_text *out, const char *title);
/* Footer, and in HTML the script. */
void page_end(report_text *out);

/* ---- words ---- */

/* Writes escaped text. */
void text_write(report_text *out, const char *text);
/* Writes markup, in HTML only: the format is the program's own, texts among the arguments are escaped. Conversions
 * are %s, %d, and %f and %g with their precision. */
void text_html(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void text_heading(report_text *out, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A paragraph; `kind` is its class in HTML: "", "muted", "lead", "problem", "warning" or "item", a line of a list. */
void text_paragraph(report_text *out, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Text to copy as it stands, such as a command line, in a box of its own and without marks of Markdown. */
void text_code(report_text *out, const char *text);

/* In HTML everything up to text_fold_end is folded below the line `summary`, if `folded`; long_table sets a narrow
 * table in columns. */
void text_fold_begin(report_text *out, bool folded, const char *summary, bool long_table);
void text_fold_end(report_text *out, bool folded);

/* Two columns beside each other: text_html(out, PAIR_BEGIN), the left one, PAIR_NEXT, the right one, PAIR_END. */
#define PAIR_BEGIN "<div class=\"pair\"><div>\n"
#define PAIR_NEXT  "</div><div>\n"
#define PAIR_END   "</div></div>\n"

/* A short text that is put together from pieces; what does not fit is cut. */
typedef struct phrase {
    char text[400];
} phrase;

phrase phrase_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void phrase_add(phrase *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- tables ----
 *
 * Cells come row by row; the last cell of a row closes the row. The first column names the row: in HTML it is not
 * wrapped unless it is long, and it stays in place when a table that is wider than the page scrolls.
 */

/* TEXT_TABLE(out, "lrr", "name", "least", "most") begins a table of three columns. */
#define TEXT_TABLE(out, align, ...) text_table_named(out, align, (const char *const[]){__VA_ARGS__})
/* As many columns as `align` has letters, which lives as long as the table is open. */
void text_table_named(report_text *out, const char *align, const char *const *names);
void text_table_end(report_text *out);

/* How one cell is set; all fields may be zero. */
typedef struct cell_style {
    const char *patch; /* colour class of a patch before the text, or NULL */
    const char *shade; /* "hit" or "miss": class of the background, or NULL */
    double share;      /* strength of the background, 0 to 1 */
    bool strong;
} cell_style;

void text_cell(report_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_cell_styled(report_text *out, cell_style style, const char *text);
/* Several plain cells: TEXT_CELLS(out, "name", quantity_count(3).text). */
#define TEXT_CELLS(out, ...) text_cells(out, (const char *const[]){__VA_ARGS__, NULL})
void text_cells(report_text *out, const char *const *texts);
