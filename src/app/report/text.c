/* app/report/text.c: see app/report/text.h. */
#include "app/report/text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/escape.h"

enum {
    PRINTF_MAX = 8192,
    NAME_WHOLE_MAX = 28, /* letters of a first column that is not wrapped */
    WORD_WHOLE_MAX = 32
};

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static void put_html(FILE *file, char c)
{
    switch (c) {
    case '&':
        fputs("&amp;", file);
        break;
    case '<':
        fputs("&lt;", file);
        break;
    case '>':
        fputs("&gt;", file);
        break;
    case '"':
        fputs("&quot;", file);
        break;
    case '\'':
        fputs("&#39;", file);
        break;
    default:
        fputc(c, file);
    }
}

static void put_markdown(FILE *file, char c)
{
    if (c == '&') {
        fputs("&amp;", file);
    } else if (c == '<') {
        fputs("&lt;", file);
    } else {
        if (strchr("\\`*_[]|#~$", c) != NULL) {
            fputc('\\', file);
        }
        fputc(c, file);
    }
}

typedef enum spelling { SPELT_HTML, SPELT_MARKDOWN, SPELT_PLAIN } spelling;

static void write_spelt(FILE *file, const char *text, spelling how)
{
    while (*text != '\0') {
        uint32_t code;
        int length = utf8_length(text, &code);
        if (length == 1 && (code == '\n' || code == '\t' || code == '\r')) {
            fputc(' ', file);
        } else if (length == 0 || utf8_is_harmful(code)) {
            fputs(replacement, file);
        } else if (length > 1 || how == SPELT_PLAIN) {
            fwrite(text, 1, (size_t)length, file);
        } else if (how == SPELT_HTML) {
            put_html(file, *text);
        } else {
            put_markdown(file, *text);
        }
        text += length > 0 ? length : 1;
    }
}

void text_write(report_text *out, const char *text)
{
    write_spelt(out->file, text, out->html ? SPELT_HTML : SPELT_MARKDOWN);
}

/* Browsers break lines behind a hyphen: words that have one, such as options and times, are kept whole in HTML. */
static void write_words(report_text *out, const char *text)
{
    char piece[PRINTF_MAX];
    if (!out->html) {
        text_write(out, text);
        return;
    }
    while (*text != '\0') {
        size_t length = strspn(text, " ");
        length = length > 0 ? length : strcspn(text, " ");
        bool whole = length > 1 && length <= WORD_WHOLE_MAX && memchr(text, '-', length) != NULL;
        snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        fputs(whole ? "<span class=\"word\">" : "", out->file);
        text_write(out, piece);
        fputs(whole ? "</span>" : "", out->file);
        text += strlen(piece);
    }
}

static void write_formatted(report_text *out, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void write_formatted(report_text *out, const char *format, va_list arguments)
{
    char text[PRINTF_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    write_words(out, text);
}

void text_printf(report_text *out, const char *format, ...)
{
    va_list arguments;
    char text[PRINTF_MAX];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_write(out, text);
}

void text_heading(report_text *out, int level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (out->html) {
        bool part = level == 2 && out->level > 2; /* a run among several */
        fprintf(out->file, part ? "<h%d class=\"run\">" : "<h%d>", level);
        write_formatted(out, format, arguments);
        fprintf(out->file, "</h%d>\n", level);
    } else {
        fprintf(out->file, "\n%.*s ", level, "######");
        write_formatted(out, format, arguments);
        fputs("\n\n", out->file);
    }
    va_end(arguments);
}

void text_paragraph(report_text *out, const char *kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (out->html) {
        fprintf(out->file, "<p class=\"%s\">", kind);
        write_formatted(out, format, arguments);
        fputs("</p>\n", out->file);
    } else {
        fputs(strcmp(kind, "problem") == 0   ? "> **Note:** "
              : strcmp(kind, "warning") == 0 ? "> **Warning:** "
                                             : "",
              out->file);
        write_formatted(out, format, arguments);
        fputs("\n\n", out->file);
    }
    va_end(arguments);
}

/* Markdown: between two fences that are longer than any row of backticks in the text. */
void text_code(report_text *out, const char *text)
{
    if (out->html) {
        fputs("<pre class=\"code\">", out->file);
        write_words(out, text);
        fputs("</pre>\n", out->file);
        return;
    }
    size_t longest = 2;
    for (const char *at = text; *at != '\0'; ++at) {
        size_t row = strspn(at, "`");
        longest = row > longest ? row : longest;
        at += row > 0 ? row - 1 : 0;
    }
    for (int fence = 0; fence < 2; ++fence) {
        for (size_t i = 0; i <= longest; ++i) {
            fputc('`', out->file);
        }
        fputs("\n", out->file);
        if (fence == 0) {
            write_spelt(out->file, text, SPELT_PLAIN);
        }
        fputs("\n", out->file);
    }
}

void text_item(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(out->html ? "<p class=\"item\">" : "- ", out->file);
    write_formatted(out, format, arguments);
    fputs(out->html ? "</p>\n" : "\n", out->file);
    va_end(arguments);
}

void text_fold_begin(report_text *out, const char *summary, bool long_table)
{
    if (out->html) {
        fprintf(out->file, "<details%s><summary>", long_table ? " class=\"many\"" : "");
        text_write(out, summary);
        fputs("</summary>\n", out->file);
    } else {
        text_paragraph(out, "", "%s:", summary);
    }
}

void text_fold_end(report_text *out)
{
    if (out->html) {
        fputs("</details>\n", out->file);
    }
}

/* ---- tables ---- */

void text_columns_begin(report_text *out, const char *align)
{
    out->align = align;
    out->column = 0;
    fputs(out->html ? "<div class=\"scroll\"><table><thead><tr>" : "|", out->file);
}

void text_column_name(report_text *out, const char *name)
{
    const char *open = out->align[out->column] == 'r' ? "<th class=\"r\">" : "<th>";
    fputs(out->html ? open : " ", out->file);
    text_write(out, name);
    fputs(out->html ? "</th>" : " |", out->file);
    out->column += 1;
}

void text_columns_end(report_text *out)
{
    fputs(out->html ? "</tr></thead><tbody>\n" : "\n|", out->file);
    for (const char *a = out->align; *a != '\0' && !out->html; ++a) {
        fputs(*a == 'r' ? "---:|" : "---|", out->file);
    }
    fputs(out->html ? "" : "\n", out->file);
    out->column = 0;
}

void text_table_begin(report_text *out, const char *align, const char *names)
{
    text_columns_begin(out, align);
    for (const char *a = align; *a != '\0'; ++a) {
        char name[128];
        size_t length = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        text_column_name(out, name);
        names += length + (names[length] == '|');
    }
    text_columns_end(out);
}

/* The open tag of a cell that will hold `text`, with more classes and attributes (both may be ""). */
static void cell_open(report_text *out, const char *text, const char *classes, const char *attributes)
{
    const char *right = out->align[out->column] == 'r' ? "r" : "";
    const char *wide = out->column == 0 && strlen(text) > NAME_WHOLE_MAX ? " wide" : "";
    if (!out->html) {
        fputs(out->column == 0 ? "| " : " ", out->file);
        return;
    }
    fputs(out->column == 0 ? "<tr>" : "", out->file);
    if (right[0] != '\0' || wide[0] != '\0' || classes[0] != '\0') {
        fprintf(out->file, "<td class=\"%s%s%s\"%s>", right, wide, classes, attributes);
    } else {
        fprintf(out->file, "<td%s>", attributes);
    }
}

static void cell_end(report_text *out)
{
    out->column += 1;
    bool last = out->align[out->column] == '\0';
    fputs(out->html ? "</td>" : " |", out->file);
    if (last) {
        fputs(out->html ? "</tr>\n" : "\n", out->file);
        out->column = 0;
    }
}

/* What stands around a cell's text. */
typedef struct cell {
    const char *classes, *attributes;
    const char *patch; /* colour class; NULL: none */
    bool strong;
} cell;

static void put_cell(report_text *out, const cell *c, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void put_cell(report_text *out, const cell *c, const char *format, va_list arguments)
{
    char text[PRINTF_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    cell_open(out, text, c->classes != NULL ? c->classes : "", c->attributes != NULL ? c->attributes : "");
    if (c->patch != NULL && out->html) {
        fprintf(out->file, "<i class=\"patch %s\"></i>", c->patch);
    }
    fputs(!c->strong ? "" : out->html ? "<b>" : "**", out->file);
    write_words(out, text);
    fputs(!c->strong ? "" : out->html ? "</b>" : "**", out->file);
    cell_end(out);
}

void text_cell(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_cell(out, &(cell){.strong = false}, format, arguments);
    va_end(arguments);
}

void text_cell_colour(report_text *out, const char *colour, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_cell(out, &(cell){.patch = colour}, format, arguments);
    va_end(arguments);
}

void text_cell_shaded(report_text *out, double share, bool good, const char *format, ...)
{
    char attributes[48];
    va_list arguments;
    va_start(arguments, format);
    /* Less than half of the colour stays: the figure is read in any shade. */
    snprintf(attributes, sizeof attributes, " style=\"--share:%.0f%%\"", 40 * fmin(fmax(share, 0), 1));
    put_cell(out, &(cell){.classes = good ? " hit" : " miss", .attributes = attributes}, format, arguments);
    va_end(arguments);
}

void text_cell_strong(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_cell(out, &(cell){.strong = true}, format, arguments);
    va_end(arguments);
}

void text_table_end(report_text *out)
{
    fputs(out->html ? "</tbody></table></div>\n" : "\n", out->file);
}
