/* app/report/text.c: see app/report/text.h. */
#include "app/report/text.h"

#include <stdarg.h>
#include <string.h>

enum { PRINTF_MAX = 8192 };

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the UTF-8 sequence at c (Unicode 15, table 3-7), 0 when it is malformed. */
static int sequence_length(const unsigned char *c, uint32_t *code)
{
    int length = c[0] < 0x80 ? 1 : c[0] >= 0xc2 && c[0] <= 0xdf ? 2 : c[0] >= 0xe0 && c[0] <= 0xef ? 3 : 0;
    length = c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : length;
    *code = length <= 1 ? c[0] : c[0] & (0xffu >> (length + 1));
    for (int i = 1; i < length; ++i) {
        if ((c[i] & 0xc0) != 0x80) { /* the closing NUL is no continuation: nothing past it is read */
            return 0;
        }
        *code = *code << 6 | (c[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return length > 0 && *code >= least[length] && *code <= 0x10ffff && !surrogate ? length : 0;
}

/* Control characters, non-characters and the marks that change the writing direction. */
static bool is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || (code & 0xfffe) == 0xfffe;
}

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

void text_write(report_text *out, const char *text)
{
    while (*text != '\0') {
        uint32_t code;
        int length = sequence_length((const unsigned char *)text, &code);
        if (length == 1 && (code == '\n' || code == '\t' || code == '\r')) {
            fputc(' ', out->file);
        } else if (length == 0 || is_harmful(code)) {
            fputs(replacement, out->file);
        } else if (length > 1) {
            fwrite(text, 1, (size_t)length, out->file);
        } else if (out->html) {
            put_html(out->file, *text);
        } else {
            put_markdown(out->file, *text);
        }
        text += length > 0 ? length : 1;
    }
}

static void write_formatted(report_text *out, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void write_formatted(report_text *out, const char *format, va_list arguments)
{
    char text[PRINTF_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    text_write(out, text);
}

void text_printf(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_formatted(out, format, arguments);
    va_end(arguments);
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
        fputs(strcmp(kind, "problem") == 0 ? "> **Note:** " : "", out->file);
        write_formatted(out, format, arguments);
        fputs("\n\n", out->file);
    }
    va_end(arguments);
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

static void cell_begin(report_text *out)
{
    if (out->html) {
        fputs(out->column == 0 ? "<tr>" : "", out->file);
        fputs(out->align[out->column] == 'r' ? "<td class=\"r\">" : "<td>", out->file);
    } else {
        fputs(out->column == 0 ? "| " : " ", out->file);
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

void text_cell(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cell_begin(out);
    write_formatted(out, format, arguments);
    cell_end(out);
    va_end(arguments);
}

void text_cell_colour(report_text *out, const char *colour, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cell_begin(out);
    if (out->html) {
        fprintf(out->file, "<i class=\"patch %s\"></i>", colour);
    }
    write_formatted(out, format, arguments);
    cell_end(out);
    va_end(arguments);
}

void text_cell_strong(report_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cell_begin(out);
    fputs(out->html ? "<b>" : "**", out->file);
    write_formatted(out, format, arguments);
    fputs(out->html ? "</b>" : "**", out->file);
    cell_end(out);
    va_end(arguments);
}

void text_table_end(report_text *out)
{
    fputs(out->html ? "</tbody></table></div>\n" : "\n", out->file);
}
