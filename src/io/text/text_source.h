/*
 * io/text/text_source.h: text files as runs of whole lines, and their parsing by all threads.
 *
 *   file ----> block ----> pieces of whole lines, one for each thread
 *        read or inflated by a thread of its own while the block before it is parsed
 *   plain file, rows need no numbers ----> ranges, which the threads read and parse themselves
 *
 * Plain files, .gz (also of several members) and .xz (where the build found liblzma) look alike; which one a file is
 * shows its first bytes, not its name. Every line of a piece ends in '\n' (one is added to a last line without), so a
 * parser that stops at '\n' needs no other bound, and TEXT_PAD bytes after it may be read (not used). Memory: two
 * blocks (4 to 64 MiB each by the number of threads), or 256 KiB a thread; more only where a line is longer. Zero bytes
 * and endless lines are refused with file and line.
 *
 * Use: fill in a text_parser, call text_source_parse. Tables of vertices: table/read/table_text.h. Edges:
 * gnn/data/edges/edge_text.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

typedef struct text_source text_source;

enum { TEXT_PAD = 64 }; /* bytes before a block and behind it that may be read */

/* A run of whole lines, parsed by one thread. */
typedef struct text_piece {
    const struct text_parser *parser;
    const char *text;
    const char *end;    /* past the last '\n' */
    int64_t row;        /* data rows before this piece, when the parser counts rows */
    int64_t rows;       /* data rows in it, when the parser counts rows */
    int thread;         /* 0 .. text_source_threads() - 1 */
    const char *at;     /* set by a parser that fails: where, for the line number */
    char reason[512];   /* and why; the message becomes "FILE: line N: REASON" */
    weft_status status; /* set instead of `at` where not the text is to blame: reason is the whole message */
} text_piece;

typedef struct text_parser {
    void *self;
    /* Parse one piece; false = fail with piece->at and piece->reason. Runs on several threads at once, and on pieces in
     * any order unless rows are counted. */
    bool (*parse)(void *self, text_piece *piece);
    /* Optional, before the pieces of a block are parsed, from one thread: rows so far including this block. */
    weft_status (*reserve)(void *self, int64_t rows);
    bool count_rows;   /* fill in row and rows: costs one more look at the text */
    bool blank_is_row; /* an empty line is a row (METIS: a vertex without neighbours) */
    char comments[4];  /* lines that begin with one of these characters are no rows, e.g. "#%" */
    /* Optional, for progress lines: how many of `unit` (e.g. "edges") there are by now; beside parsing threads. */
    const char *unit;
    int64_t (*counted)(void *self);
} text_parser;

/* Open and look at the first bytes. A line that fits neither a block nor line_max bytes (at most 1 GiB) is refused. */
weft_status text_source_open(const char *path, size_t line_max, text_source **source);
void text_source_close(text_source *source);

/* How many threads the pieces are given to; fixed when the source is opened. */
int text_source_threads(const text_source *source);

/* The next line, without '\n', NUL-terminated, into line[capacity]; for headers, before text_source_parse. *end: there
 * is none. A line of capacity bytes or more is an error. */
weft_status text_source_line(text_source *source, char *line, size_t capacity, bool *end);
/* The number of the line that text_source_line gave last, from 1. */
int64_t text_source_line_number(const text_source *source);
/* Past the next `lines` lines, of any length; fewer where the file ends. */
weft_status text_source_skip(text_source *source, int64_t lines);

/* Parse the rest of the file; progress lines with MB/s and ETA. WEFT_ERR_DATA: the first failing piece's message, in
 * file order. [out] rows, may be NULL: data rows, when the parser counts them. */
weft_status text_source_parse(text_source *source, const text_parser *parser, int64_t *rows);

/* Bytes of text so far, for rates. Any thread. */
int64_t text_source_text_bytes(const text_source *source);

/* Move *at to the first field of the next row of a piece, past comments and empty lines; false at the end. */
bool text_next_row(const text_piece *piece, const char **at);

/* Bytes of a byte order mark of UTF-8, which some programs put before the first line, at `text`: 3 or 0. */
enum { TEXT_MARK = 3 };
static inline size_t text_mark(const char *text)
{
    return memcmp(text, "\xef\xbb\xbf", TEXT_MARK) == 0 ? TEXT_MARK : 0;
}

/* Past blanks and tabs. */
static inline const char *text_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

/* Past one separator: blanks, tabs, and at most one comma or semicolon among them. */
static inline const char *text_skip_separator(const char *at)
{
    at = text_skip_blanks(at);
    return *at == ',' || *at == ';' ? text_skip_blanks(at + 1) : at;
}

/* Past the end of this line. */
static inline const char *text_next_line(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop == NULL ? end : stop + 1;
}

/* At the end of a line: '\n', or '\r' before it. */
static inline bool text_at_end(const char *at)
{
    return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/* Past an end of line, as text_at_end finds it. */
static inline const char *text_past_end(const char *at)
{
    return at + (*at == '\r' ? 2 : 1);
}

/* How often '\n' occurs. */
int64_t text_count_lines(const char *text, size_t bytes);

/* Decimal integer with optional sign at *at; false (and *at unmoved) when there is none or it leaves int64. */
bool text_scan_int(const char **at, int64_t *value);
/* Finite decimal number at *at, correctly rounded to double; "nan" gives NaN when nan_allowed. */
bool text_scan_real(const char **at, bool nan_allowed, double *value);
/* piece->at, piece->reason = what was expected, with the offending field quoted (at most 40 bytes of it, printable).
 * Returns false, so that a parser can return it. */
bool text_expected(text_piece *piece, const char *at, const char *what);
/* piece->status and reason from a call that failed on this thread; returns false. */
bool text_fail(text_piece *piece, weft_status status);
