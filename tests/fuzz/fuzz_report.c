/*
 * libFuzzer: any bytes as run.json, summary.json and metrics.jsonl of a run folder (divided by "===\n"); every
 * folder that holds a run must give a report, in HTML and in Markdown.
 * with: src/app/report src/app/record src/app/facts
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/report/sections.h"
#include "fuzz/fuzz_support.h"

enum { LIMIT = 64 << 20 };

/* In the place of the rooms' activities, which no input reaches. */
static const activity_entry one_activity[] = {{.activity = ACTIVITY_OTHER, .colour = "c0"}};

const activity_entry *activity_table(void)
{
    return one_activity;
}

int activity_table_rows(void)
{
    return 1;
}

static const char *const names[] = {"run.json", "summary.json", "metrics.jsonl"};
static const char *folder;
static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    folder = fuzz_folder();
    nowhere = fopen("/dev/null", "we");
    log_set_level(LOG_QUIET);
    return nowhere != NULL ? 0 : 1;
}

static void write_report(bool html)
{
    run_record run;
    report_text out = {.file = nowhere, .html = html};
    const weft_status status = record_open(folder, &run);
    if (status != WEFT_OK || report_write(&out, &run, 1) != WEFT_OK) {
        fprintf(stderr, "no report: %s\n", weft_error_message());
        abort();
    }
    record_close(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const uint8_t *end = memmem(data, size, "===\n", 4);
        const size_t part = end != NULL ? (size_t)(end - data) : size;
        fuzz_put(folder, names[i], data, part);
        size -= end != NULL ? part + 4 : part;
        data += end != NULL ? part + 4 : part;
    }
    write_report(true);
    write_report(false);
    fuzz_check_memory(LIMIT);
    return 0;
}
