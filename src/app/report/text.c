/* app/report/text.c: see app/report/text.h. */
#include "app/report/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/escape.h"

enum {
    PRINTF_MAX = 8192,
    NAME_WHOLE_MAX = 28, /* letters of a first column that is not wrapped */
    WORD_WHOLE_MAX = 32
};

typedef enum spelling { SPELT_HTML, SPELT_MARKDOWN, SPELT_PLAIN } spelling;

static void write_ascii(FILE *file, char c, spelling how)
{
    static const char *const escapes[SPELT_PLAIN][128] = {
        [SPELT_HTML] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"},
        [SPELT_MARKDOWN] = {['&'] = "&amp;", ['<'] = "&lt;"}};
    assert(c > 0); /* one byte of UTF-8 */
    if (how != SPELT_PLAIN && escapes[how][(int)c] != NULL) {
        fputs(escapes[how][(int)c], file);
        return;
    }
    if (how == SPELT_MARKDOWN && strchr("\\`*_[]|#~$", c) != NULL) {
        fputc('\\', file);
    }
    fputc(c, file);
}

static void write_spelt(FILE *file, const char *text, spelling how)
{
    while (*text != '\0') {
        uint32_t code;
        int length = utf8_length(text, &code);
        if (length == 1 && (code == '\n' || code == '\t' || code == '\r')) {
            fputc(' ', file);
        } else if (length == 0 || utf8_is_harmful(code)) {
            fputs("\xef\xbf\xbd", file); /* U+FFFD */
        } else if (length > 1) {
            fwrite(text, 1, (size_t)length, file);
        } else {
            write_ascii(file, *text, how);
        }
        text += length > 0 ? length : 1;
    }
}

/* Writes markup of the program itself. */
static void put(report_text *out, const char *html, const char *markdown)
{
    fputs(out->html ? html : markdown, out->file);
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

/* Writes the argument of one conversion such as %.2f: texts escaped, numbers as printf does. */
static void write_argument(report_text *out, const char *conversion, char type, va_list *arguments)
{
    switch (type) {
    case 's':
        text_write(out, va_arg(*arguments, const char *));
        break;
    case 'd':
        fprintf(out->file, conversion, va_arg(*arguments, int));
        break;
    case '%':
        fputc('%', out->file);
        break;
    default:
        fprintf(out->file, conversion, va_arg(*arguments, double));
    }
}

void text_html(report_text *out, const char *format, ...)
{
    va_list arguments;
    char conversion[16];
    va_start(arguments, format);
    while (out->html && *format != '\0') {
        const size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, out->file);
        format += plain;
        if (*format == '%') {
            const size_t length = strcspn(format + 1, "sdfg%") + 2;
            assert(length < sizeof conversion);
            snprintf(conversion, sizeof conversion, "%.*s", (int)length, format);
            write_argument(out, conversion, conversion[length - 1], &arguments);
            format += length;
        }
    }
    va_end(arguments);
}

/* [out] text: [bytes] the formatted arguments behind `format`. */
#define TEXT_FORMAT(text, bytes, format)                                                                               \
    do {                                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        vsnprintf(text, bytes, format, arguments);                                                                     \
        va_end(arguments);                                                                                             \
    } while (0)

phrase phrase_of(const char *format, ...)
{
    phrase p;
    TEXT_FORMAT(p.text, sizeof p.text, format);
    return p;
}

void phrase_add(phrase *p, const char *format, ...)
{
    const size_t at = strlen(p->text);
    TEXT_FORMAT(p->text + at, sizeof p->text - at, format);
}

void text_heading(report_text *out, int level, const char *format, ...)
{
    char text[PRINTF_MAX];
    assert(level >= 1 && level <= 6);
    TEXT_FORMAT(text, sizeof text, format);
    bool run = level == 2 && out->level > 2; /* a run among several */
    if (!out->html) {
        fprintf(out->file, "\n%.*s ", level, "######");
    }
    text_html(out, run ? "<h%d class=\"run\">" : "<h%d>", level);
    write_words(out, text);
    text_html(out, "</h%d>", level);
    put(out, "\n", "\n\n");
}

void text_paragraph(report_text *out, const char *kind, const char *format, ...)
{
    char text[PRINTF_MAX];
    const bool item = strcmp(kind, "item") == 0;
    TEXT_FORMAT(text, sizeof text, format);
    if (out->html) {
        fprintf(out->file, "<p class=\"%s\">", kind);
    } else {
        fputs(item                           ? "- "
              : strcmp(kind, "problem") == 0 ? "> **Note:** "
              : strcmp(kind, "warning") == 0 ? "> **Warning:** "
                                             : "",
              out->file);
    }
    write_words(out, text);
    put(out, "</p>\n", item ? "\n" : "\n\n");
}

/* Markdown: between two fences that are longer than any row of backticks in the text. */
void text_code(report_text *out, const char *text)
{
    if (out->html) {
        put(out, "<pre class=\"code\">", "");
        write_words(out, text);
        put(out, "</pre>\n", "");
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
        fputc('\n', out->file);
        write_spelt(out->file, fence == 0 ? text : "", SPELT_PLAIN);
        fputc('\n', out->file);
    }
}

void text_fold_begin(report_text *out, bool folded, const char *summary, bool long_table)
{
    if (folded && out->html) {
        text_html(out,
                  long_table ? "<details class=\"many\"><summary>%s</summary>\n" : "<details><summary>%s</summary>\n",
                  summary);
    } else if (folded) {
        text_paragraph(out, "", "%s:", summary);
    }
}

void text_fold_end(report_text *out, bool folded)
{
    put(out, folded ? "</details>\n" : "", "");
}

/* ---- tables ---- */

void text_table_named(report_text *out, const char *align, const char *const *names)
{
    put(out, "<div class=\"scroll\"><table><thead><tr>", "|");
    for (int c = 0; align[c] != '\0'; ++c) {
        put(out, align[c] == 'r' ? "<th class=\"r\">" : "<th>", " ");
        write_words(out, names[c]);
        put(out, "</th>", " |");
    }
    put(out, "</tr></thead><tbody>\n", "\n|");
    for (int c = 0; align[c] != '\0'; ++c) {
        put(out, "", align[c] == 'r' ? "---:|" : "---|");
    }
    put(out, "", "\n");
    out->align = align;
    out->column = 0;
}

static void cell_open(report_text *out, const char *text, const cell_style *style)
{
    const bool first = out->column == 0;
    const char *right = out->align[out->column] == 'r' ? "r" : "";
    const char *wide = first && strlen(text) > NAME_WHOLE_MAX ? " wide" : "";
    const char *shade = style->shade != NULL ? style->shade : "";
    if (!out->html) {
        fputs(first ? "| " : " ", out->file);
        return;
    }
    fputs(first ? "<tr><td" : "<td", out->file);
    if (right[0] != '\0' || wide[0] != '\0' || shade[0] != '\0') {
        fprintf(out->file, " class=\"%s%s%s%s\"", right, wide, shade[0] != '\0' ? " " : "", shade);
    }
    if (shade[0] != '\0') { /* less than half of the colour stays: the figure is read in any shade */
        fprintf(out->file, " style=\"--share:%.0f%%\"", 40 * fmin(fmax(style->share, 0), 1));
    }
    fputs(">", out->file);
}

void text_cell_styled(report_text *out, cell_style style, const char *text)
{
    assert(out->align[out->column] != '\0');
    cell_open(out, text, &style);
    if (style.patch != NULL) {
        text_html(out, "<i class=\"patch %s\"></i>", style.patch);
    }
    put(out, style.strong ? "<b>" : "", style.strong ? "**" : "");
    write_words(out, text);
    put(out, style.strong ? "</b></td>" : "</td>", style.strong ? "** |" : " |");
    out->column += 1;
    if (out->align[out->column] == '\0') {
        put(out, "</tr>\n", "\n");
        out->column = 0;
    }
}

void text_cell(report_text *out, const char *format, ...)
{
    char text[PRINTF_MAX];
    TEXT_FORMAT(text, sizeof text, format);
    text_cell_styled(out, (cell_style){.strong = false}, text);
}

void text_cells(report_text *out, const char *const *texts)
{
    for (int i = 0; texts[i] != NULL; ++i) {
        text_cell_styled(out, (cell_style){.strong = false}, texts[i]);
    }
}

void text_table_end(report_text *out)
{
    assert(out->column == 0);
    put(out, "</tbody></table></div>\n", "\n");
}
