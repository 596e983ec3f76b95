/* app/report/report_search.c: the page of a search (search.json): its leading trials. */
#include "app/report/sections.h"

void section_search(report_text *out, run_record *run)
{
    const json_value *trial = json_first(json_find(run->summary, "trials"), JSON_ARRAY);
    quantity score, epoch;
    text_paragraph(out, "muted", "A search in the folder %s.", run->folder);
    if (trial == NULL) {
        text_paragraph(out, "problem", "No trial has a score.");
        return;
    }
    text_heading(out, out->level, "Leading trials");
    TEXT_TABLE(out, "rlrrl", "trial", "state", "validation score", "at epoch", "settings");
    for (; trial != NULL; trial = trial->next) {
        text_cell(out, "%.0f", json_number(trial, "trial"));
        text_cell(out, "%s", json_string(trial, "state", "–"));
        text_cell(out, "%s", record_value_text(json_find(trial, "score"), UNIT_COUNT, &score));
        text_cell(out, "%s", record_value_text(json_find(trial, "epoch"), UNIT_COUNT, &epoch));
        text_cell(out, "%s", json_string(trial, "settings", ""));
    }
    text_table_end(out);
}
