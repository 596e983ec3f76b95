/*
 * app/report/report_metrics.c: metrics.jsonl, line by line.
 *
 * A line that is not an object with a run and an epoch is counted and left out; a last line without its end belongs to
 * a job that was killed while it wrote. An epoch that comes again replaces what followed it: the job was resumed there.
 */
#include "app/report/report_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum { LINES_BETWEEN_LOOKS = 4096 };
#define PROGRESS_EVERY_S 5.0

static const char *const field_keys[REPORT_FIELDS] = {"loss",    "train",          "valid",      "test",
                                                      "epoch_s", "comm_exposed_s", "comm_bytes", "lr"};

typedef enum line_end { LINE_WHOLE, LINE_CUT, LINE_NONE } line_end;

/* The next line without its end; *length > REPORT_LINE_MAX when it is longer than the buffer. */
static line_end read_line(FILE *file, char *line, size_t *length)
{
    int c;
    *length = 0;
    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (*length < REPORT_LINE_MAX) {
            line[*length] = (char)c;
        }
        *length += *length <= REPORT_LINE_MAX;
    }
    line[*length < REPORT_LINE_MAX ? *length : REPORT_LINE_MAX] = '\0';
    if (c == '\n') {
        return LINE_WHOLE;
    }
    return *length > 0 ? LINE_CUT : LINE_NONE;
}

/* Runs ascend in the file: one that is new must be the highest so far, else *series is NULL. */
static weft_status series_of(report_run *run, int number, report_series **series)
{
    int low = 0, high = run->series_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (run->series[middle].run < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *series = low < run->series_count && run->series[low].run == number ? &run->series[low] : NULL;
    if (*series != NULL || low < run->series_count) {
        return WEFT_OK;
    }
    size_t count = (size_t)run->series_count;
    if ((count & (count - 1)) == 0) {
        WEFT_TRY(
            weft_realloc((void **)&run->series, count == 0 ? 1 : 2 * count, sizeof *run->series, WEFT_MEM_GENERAL));
    }
    run->series[count] = (report_series){.run = number, .best = -1};
    run->series_count += 1;
    *series = &run->series[count];
    return WEFT_OK;
}

static weft_status append(report_series *series, const report_epoch *epoch)
{
    while (series->count > 0 && series->epoch[series->count - 1].epoch >= epoch->epoch) {
        series->count -= 1;
    }
    if (series->count == series->capacity) {
        int64_t capacity = series->capacity == 0 ? 64 : 2 * series->capacity;
        WEFT_TRY(weft_realloc((void **)&series->epoch, (size_t)capacity, sizeof *series->epoch, WEFT_MEM_GENERAL));
        series->capacity = capacity;
    }
    series->epoch[series->count++] = *epoch;
    return WEFT_OK;
}

/* False: not a line of metrics. */
static bool epoch_of(const json_value *object, int64_t *run, report_epoch *epoch)
{
    if (json_get_int("metrics.jsonl", object, "run", 1, REPORT_SERIES_MAX, run) != WEFT_OK ||
        json_get_int("metrics.jsonl", object, "epoch", 1, INT64_C(1000000000000), &epoch->epoch) != WEFT_OK) {
        weft_error_clear();
        return false;
    }
    epoch->present = 0;
    for (int f = 0; f < REPORT_FIELDS; ++f) {
        epoch->value[f] = report_number(object, field_keys[f]);
        epoch->present |= json_find(object, field_keys[f]) != NULL ? 1u << f : 0;
    }
    return true;
}

static weft_status take_line(report_run *run, const char *line, size_t length, bool *taken)
{
    json_document *document = NULL;
    report_epoch epoch;
    int64_t number = 0;
    *taken = false;
    if (length > REPORT_LINE_MAX) {
        return WEFT_OK;
    }
    weft_status status = json_parse("metrics.jsonl", line, length, &document);
    if (status == WEFT_OK && json_root(document)->kind == JSON_OBJECT &&
        epoch_of(json_root(document), &number, &epoch)) {
        report_series *series = NULL;
        WEFT_TRY_GOTO(series_of(run, (int)number, &series), status, done);
        if (series != NULL) {
            WEFT_TRY_GOTO(append(series, &epoch), status, done);
            *taken = true;
        }
    } else if (status == WEFT_ERR_DATA) {
        weft_error_clear();
        status = WEFT_OK;
    }
done:
    json_free(document);
    return status;
}

/* A line every few seconds while a long file is read. */
static void say_progress(FILE *file, double size, double started, double *last)
{
    double now = clock_seconds(), at = (double)ftello(file);
    if (now - *last > PROGRESS_EVERY_S && at > 0) {
        *last = now;
        log_info("reading metrics.jsonl: %.0f of %.0f MB, ETA %s", at / 1e6, size / 1e6,
                 clock_say((now - started) * (size / at - 1)).text);
    }
}

static weft_status read_lines(FILE *file, double size, char *line, report_run *run)
{
    size_t length = 0;
    line_end end;
    int64_t kept = 0;
    double started = clock_seconds(), last = started;
    while ((end = read_line(file, line, &length)) != LINE_NONE) {
        bool taken;
        run->lines += 1;
        if (run->lines % LINES_BETWEEN_LOOKS == 0) {
            say_progress(file, size, started, &last);
        }
        WEFT_TRY(take_line(run, line, length, &taken));
        kept += taken;
        WEFT_CHECK(kept <= REPORT_EPOCHS_MAX, WEFT_ERR_DATA, "metrics.jsonl: more than %d epochs; those are shown",
                   REPORT_EPOCHS_MAX);
        if (!taken && end == LINE_CUT) {
            run->cut = true;
        } else if (!taken) {
            run->first_damaged = run->damaged == 0 ? run->lines : run->first_damaged;
            run->damaged += 1;
        }
    }
    return ferror(file) == 0 ? WEFT_OK : weft_fail_errno(errno, "metrics.jsonl");
}

/* As the training loop chooses: the first of the highest; a split without rows (NaN) keeps the latest. */
static void find_best(report_series *series)
{
    double best = NAN;
    for (int64_t i = 0; i < series->count; ++i) {
        double valid = series->epoch[i].value[REPORT_VALID];
        bool evaluated = (series->epoch[i].present >> REPORT_VALID & 1) != 0;
        if (evaluated && (series->best < 0 || isnan(valid) || valid > best)) {
            series->best = i;
            best = valid;
        }
    }
}

static void look_over(report_run *run)
{
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        find_best(&run->series[s]);
        for (int64_t i = 0; i < series->count; ++i) {
            if (!isfinite(series->epoch[i].value[REPORT_LOSS])) {
                if (run->not_finite == 0) {
                    run->first_not_finite = series->epoch[i].epoch;
                    run->first_not_finite_run = series->run;
                }
                run->not_finite += 1;
            }
        }
    }
}

weft_status report_metrics_read(const char *path, report_run *run)
{
    struct stat info;
    char *line = NULL;
    weft_status status = WEFT_OK;
    int fd;
    WEFT_TRY(file_open(path, &fd, &info));
    FILE *file = fdopen(fd, "r");
    if (file == NULL) {
        status = weft_fail_errno(errno, path);
        close(fd);
        return status;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&line, REPORT_LINE_MAX + 1, WEFT_MEM_GENERAL), status, done);
    status = read_lines(file, (double)info.st_size, line, run);
    look_over(run);
done:
    weft_free(line);
    fclose(file);
    return status;
}
