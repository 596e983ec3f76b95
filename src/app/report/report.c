/* app/report/report.c: the order of a report's sections (app/report/sections.h). */
#include <stdio.h>

#include "app/report/sections.h"

static void write_run(report_text *out, run_record *run)
{
    static void (*const of_search[])(report_text *, run_record *) = {section_search, section_figures, section_facts};
    static void (*const sections[])(report_text *, run_record *) = {
        section_headline, section_learning, section_outcome,       section_indexes, section_figures, section_time,
        section_second,   section_advice,   section_communication, section_facts,   section_ranks,   section_settings};
    for (size_t i = 0; run->search && i < sizeof of_search / sizeof *of_search; ++i) {
        of_search[i](out, run);
    }
    for (size_t i = 0; !run->search && i < sizeof sections / sizeof *sections; ++i) {
        sections[i](out, run);
    }
}

weft_status report_write(report_text *out, run_record *runs, int count)
{
    char title[400];
    weft_status status = WEFT_OK;
    if (count == 1) {
        section_title(runs, title, sizeof title);
    } else {
        snprintf(title, sizeof title, "%d training runs compared", count);
    }
    out->level = 2;
    page_begin(out, title);
    text_heading(out, 1, "%s", title);
    if (count > 1) {
        section_compare(out, runs, count);
        out->level = 3;
    }
    for (int k = 0; k < count; ++k) {
        if (count > 1) {
            section_title(&runs[k], title, sizeof title);
            text_heading(out, 2, "%s: %s", runs[k].name, title);
        }
        write_run(out, &runs[k]);
        status = status == WEFT_OK ? runs[k].failed : status;
    }
    page_end(out);
    return status;
}
