/*
 * app/report/page.c: head, style and script around the sections of an HTML report (app/report/text.h).
 *
 * Style and script stand in the page, so that one file can be mailed, archived and opened without a network. Neither
 * contains '<' or '&': the page stays well-formed XML. They are page*.css and page.js beside this file, which the build
 * makes strings of (cmake/WeftTexts.cmake). The script shows, under the pointer, the epoch nearest to it and the value
 * of each line there, which it reads back from the drawing's scale; without it all else is there.
 *
 * Colours: c0 ... c7 tell run folders apart; the others have a meaning (computing is cool, communication is warm). They
 * are those of M. Okabe and K. Ito (Color Universal Design, 2008), which people with any colour vision tell apart,
 * darkened or lightened for contrast with either background. Dark follows the reader's system; paper is always light.
 */
#include "app/report/text.h"

#include "app/report/page_texts.h"
#include "base/version.h"

static const char *const colours[] = {"c0",       "c1",        "c2",       "c3",      "c4",    "c5",    "c6",
                                      "c7",       "loss",      "train",    "valid",   "test",  "time",  "wait",
                                      "linear",   "aggregate", "element",  "lossa",   "optim", "halo",  "reduce",
                                      "evaluate", "memory",    "convolve", "batches", "sums",  "second"};

static void write_style(FILE *file)
{
    fprintf(file, "<style>\n:root{color-scheme:light dark;%s}\n", style_light);
    fprintf(file, "@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s\n", style_dark, style_rest);
    for (size_t i = 0; i < sizeof colours / sizeof *colours; ++i) {
        const char *c = colours[i];
        fprintf(file,
                ".%s{stroke:var(--%s)}.f-%s{fill:var(--%s)}.t-%s{fill:var(--%s)}.patch.%s{background:var(--%s)}\n", c,
                c, c, c, c, c, c, c);
    }
    fputs(".train,.time,.wait{stroke-width:1.5}\n</style>\n", file);
}

void page_begin(report_text *out, const char *title)
{
    text_html(out,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
              "content=\"width=device-width, initial-scale=1\"/>\n<title>%s</title>\n",
              title);
    if (out->html) {
        write_style(out->file);
    }
    text_html(out, "</head>\n<body>\n<main>\n");
}

void page_end(report_text *out)
{
    fprintf(out->file, out->html ? "<footer>weft %s, weft report</footer>\n" : "---\n\nweft %s, weft report\n",
            version_text());
    if (out->html) {
        fprintf(out->file, "</main>\n<script>%s</script>\n</body>\n</html>\n", script);
    }
}
