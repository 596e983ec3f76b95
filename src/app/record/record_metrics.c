/*
 * app/record/record_metrics.c: metrics.jsonl, line by line.
 *
 * A line that is not an object with a run and an epoch is counted and left out; a last line without its end belongs to
 * a job that was killed while it wrote. An epoch that comes again replaces what followed it: the job was resumed there.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/record/run_record.h"
#include "base/alloc.h"
#include "base/log.h"

enum { LINES_BETWEEN_LOOKS = 4096 };

static const char file_name[] = "metrics.jsonl";

typedef struct reading {
    FILE *file;
    log_progress progress; /* in MB */
    char *line;            /* [RECORD_LINE_MAX + 1] */
    size_t length;         /* above RECORD_LINE_MAX: the line is longer */
    bool whole;            /* the line has its end */
    int64_t lines, kept, damaged, first_damaged;
    bool cut; /* the last line is not whole */
} reading;

/* Reads the next line without its end. Returns false at the end of the file. */
static bool read_line(reading *r)
{
    int c;
    r->length = 0;
    while ((c = getc_unlocked(r->file)) != EOF && c != '\n') {
        if (r->length < RECORD_LINE_MAX) {
            r->line[r->length] = (char)c;
        }
        r->length += r->length <= RECORD_LINE_MAX;
    }
    r->line[r->length < RECORD_LINE_MAX ? r->length : RECORD_LINE_MAX] = '\0';
    r->whole = c == '\n';
    return r->whole || r->length > 0;
}

/* Runs ascend in the file: a new one must be the highest so far, else *series is NULL. */
static weft_status series_of(run_record *run, int number, record_series **series)
{
    int at = run->series_count;
    while (at > 0 && run->series[at - 1].run > number) {
        at -= 1;
    }
    const bool known = at > 0 && run->series[at - 1].run == number;
    *series = known ? &run->series[at - 1] : NULL;
    if (known || at < run->series_count) {
        return WEFT_OK;
    }
    if ((at & (at - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
        const size_t room = at == 0 ? 1 : 2 * (size_t)at;
        WEFT_TRY(weft_realloc((void **)&run->series, room, sizeof *run->series, WEFT_MEM_GENERAL));
    }
    assert(at == run->series_count && number > 0);
    *series = &run->series[run->series_count++];
    **series = (record_series){.run = number, .best = -1};
    return WEFT_OK;
}

static weft_status append(record_series *series, const record_epoch *epoch)
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

/* Returns false if the object is no line of metrics. */
static bool epoch_of(const json_value *object, int64_t *run, record_epoch *epoch)
{
    static const char *const keys[RECORD_FIELDS] = {"loss",
                                                    "train",
                                                    "valid",
                                                    "test",
                                                    "epoch_s",
                                                    "comm_exposed_s",
                                                    "comm_bytes",
                                                    "lr",
                                                    "second_clip",
                                                    "second_damping",
                                                    "second_refused",
                                                    "second_factors_s",
                                                    "second_inverses_s",
                                                    "second_steps_s"};
    if (object->kind != JSON_OBJECT || json_get_int(file_name, object, "run", 1, RECORD_SERIES_MAX, run) != WEFT_OK ||
        json_get_int(file_name, object, "epoch", 1, INT64_C(1000000000000), &epoch->epoch) != WEFT_OK) {
        weft_error_clear();
        return false;
    }
    epoch->present = 0;
    for (int f = 0; f < RECORD_FIELDS; ++f) {
        epoch->value[f] = json_number(object, keys[f]);
        epoch->present |= json_find(object, keys[f]) != NULL ? 1u << f : 0;
    }
    return true;
}

static weft_status take_line(run_record *run, const reading *r, bool *taken)
{
    json_document *document = NULL;
    record_series *series = NULL;
    record_epoch epoch;
    int64_t number = 0;
    *taken = false;
    if (r->length > RECORD_LINE_MAX) {
        return WEFT_OK;
    }
    weft_status status = json_parse(file_name, r->line, r->length, &document);
    if (status == WEFT_ERR_DATA) {
        weft_error_clear();
        return WEFT_OK;
    }
    if (status == WEFT_OK && epoch_of(json_root(document), &number, &epoch)) {
        status = series_of(run, (int)number, &series);
    }
    if (series != NULL) {
        status = append(series, &epoch);
        *taken = status == WEFT_OK;
    }
    json_free(document);
    return status;
}

static weft_status read_lines(reading *r, run_record *run)
{
    while (read_line(r)) {
        bool taken;
        r->lines += 1;
        if (r->lines % LINES_BETWEEN_LOOKS == 0) {
            log_progress_update(&r->progress, (double)ftello(r->file) / 1e6);
        }
        WEFT_TRY(take_line(run, r, &taken));
        r->kept += taken;
        WEFT_CHECK(r->kept <= RECORD_EPOCHS_MAX, WEFT_ERR_DATA, "metrics.jsonl: more than %d epochs; those are shown",
                   RECORD_EPOCHS_MAX);
        r->cut = !taken && !r->whole;
        if (!taken && r->whole) {
            r->first_damaged = r->damaged == 0 ? r->lines : r->first_damaged;
            r->damaged += 1;
        }
    }
    return ferror(r->file) == 0 ? WEFT_OK : weft_fail_errno(errno, file_name);
}

/* As the training loop chooses: the first of the highest; a split without rows (NaN) keeps the latest. */
static void find_best(record_series *series, bool errors)
{
    double best = NAN;
    for (int64_t i = 0; i < series->count; ++i) {
        double valid = series->epoch[i].value[RECORD_VALID];
        bool evaluated = (series->epoch[i].present >> RECORD_VALID & 1) != 0;
        if (evaluated && (series->best < 0 || isnan(valid) || (errors ? valid < best : valid > best))) {
            series->best = i;
            best = valid;
        }
    }
}

/* The first epoch whose loss is no finite number, and how many there are. */
static void tell_losses(run_record *run)
{
    int64_t count = 0, first = 0;
    int first_run = 0;
    for (int s = 0; s < run->series_count; ++s) {
        const record_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            if (!isfinite(series->epoch[i].value[RECORD_LOSS]) && count++ == 0) {
                first = series->epoch[i].epoch;
                first_run = series->run;
            }
        }
    }
    if (count > 0) {
        record_problem(
            run, "The loss is not a finite number in %lld epoch%s, first in epoch %lld of run %d: gaps in the curves.",
            (long long)count, count > 1 ? "s" : "", (long long)first, first_run);
    }
}

static void look_over(run_record *run, const reading *r)
{
    for (int s = 0; s < run->series_count; ++s) {
        find_best(&run->series[s], record_metric(run)->error);
    }
    if (record_epochs(run) == 0) {
        record_problem(run, "metrics.jsonl has no epoch: there are no curves.");
    }
    if (r->damaged > 0) {
        record_problem(run,
                       "%lld of %lld lines of metrics.jsonl cannot be read (the first is line %lld) and are left out.",
                       (long long)r->damaged, (long long)r->lines, (long long)r->first_damaged);
    }
    if (r->cut) {
        record_problem(
            run, "The last line of metrics.jsonl is cut off: the job is writing it, or was killed while it wrote.");
    }
    tell_losses(run);
}

weft_status record_metrics_read(const char *path, run_record *run)
{
    struct stat info;
    int fd;
    WEFT_TRY(file_open(path, &fd, &info));
    reading r = {.file = fdopen(fd, "r"),
                 .progress = log_progress_begin("reading metrics.jsonl", "MB", (double)info.st_size / 1e6)};
    if (r.file == NULL) {
        weft_status status = weft_fail_errno(errno, path);
        close(fd);
        return status;
    }
    weft_status status = WEFT_NEW(&r.line, RECORD_LINE_MAX + 1, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? read_lines(&r, run) : status;
    log_progress_end(&r.progress);
    look_over(run, &r);
    weft_free(r.line);
    fclose(r.file);
    return status;
}
