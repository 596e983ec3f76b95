/* app/train/train_events.c: see app/train/train_events.h. */
#include "app/train/train_events.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum { CUT_ALL = -1 };

static weft_status folder_of(const train_events *events, int run, char folder[FILE_PATH_MAX])
{
    return events->runs == 1 ? file_path(folder, "%s", events->folder)
                             : file_path(folder, "%s/run-%d", events->folder, run + 1);
}

/* ---- files of earlier starts ---- */

static weft_status cut_file(const char *path, int64_t epoch)
{
    if (epoch != CUT_ALL) {
        weft_status status = event_file_cut(path, epoch);
        if (status != WEFT_ERR_DATA) {
            return status;
        }
        log_warn("%s", weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    return unlink(path) == 0 || errno == ENOENT ? WEFT_OK : weft_fail_errno(errno, path);
}

/* Every event file of a folder ends with this epoch, or goes. */
static weft_status cut_folder(const char *folder, int64_t epoch)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    DIR *list = opendir(folder);
    if (list == NULL) {
        return errno == ENOENT ? WEFT_OK : weft_fail_errno(errno, folder);
    }
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = folder_next(list, folder, &status)) != NULL) {
        if (strncmp(entry->d_name, EVENT_FILE_PREFIX, strlen(EVENT_FILE_PREFIX)) == 0) {
            status = file_path(path, "%s/%s", folder, entry->d_name);
            status = status == WEFT_OK ? cut_file(path, epoch) : status;
        }
    }
    closedir(list);
    return status;
}

/* From this run on, of a training of several runs: their files, and folders that are empty then. */
static weft_status remove_runs(const train_events *events, int run)
{
    for (;; ++run) {
        char folder[FILE_PATH_MAX];
        WEFT_TRY(file_path(folder, "%s/run-%d", events->folder, run + 1));
        if (!file_exists(folder)) {
            return WEFT_OK;
        }
        WEFT_TRY(cut_folder(folder, CUT_ALL));
        if (rmdir(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST) {
            return weft_fail_errno(errno, folder);
        }
    }
}

static weft_status make_way(const train_events *events, const train_progress *from)
{
    char folder[FILE_PATH_MAX];
    if (from == NULL) {
        WEFT_TRY(cut_folder(events->folder, CUT_ALL));
        return remove_runs(events, 0);
    }
    WEFT_TRY(folder_of(events, from->run, folder));
    WEFT_TRY(cut_folder(folder, from->epoch));
    return events->runs > 1 ? remove_runs(events, from->run + 1) : WEFT_OK;
}

/* ---- writing ---- */

/* The first failure is told, and is the last attempt. */
static void give_up(train_events *events)
{
    log_warn("events for TensorBoard: %s; no more are written", weft_error_message());
    weft_error_clear();
    event_file_close(&events->file);
    events->on = false;
}

void train_events_begin(train_events *events, const app_context *context, const char *run_dir,
                        const train_progress *from)
{
    *events = (train_events){.on = option_flag(context->options, OPT_TENSORBOARD),
                             .runs = (int)option_int(context->options, OPT_RUNS),
                             .run = -1,
                             .resumed_run = -1,
                             .file = {.fd = -1}};
    snprintf(events->folder, sizeof events->folder, "%s", run_dir);
    snprintf(events->host, sizeof events->host, "%s", context->host);
    if (from != NULL) {
        events->resumed_run = from->run;
        events->first_epoch = from->epoch + 1;
    }
    if (make_way(events, from) != WEFT_OK) {
        give_up(events);
    }
}

static weft_status open_run(train_events *events, int run)
{
    char folder[FILE_PATH_MAX];
    event_file_close(&events->file);
    events->run = run;
    WEFT_TRY(folder_of(events, run, folder));
    WEFT_TRY(folder_make(folder));
    WEFT_TRY(event_file_create(folder, events->host, &events->file));
    return run == events->resumed_run ? event_file_restart(&events->file, events->first_epoch) : WEFT_OK;
}

static weft_status write_epoch(train_events *events, const train_epoch *epoch)
{
    static const char *const score_tag[TRAIN_SPLITS] = {"score/train", "score/valid", "score/test"};
    event_value value[EVENT_VALUES_MAX];
    int count = 0;
    value[count++] = (event_value){"loss", (float)epoch->loss};
    for (int s = 0; s < TRAIN_SPLITS && epoch->evaluated; ++s) {
        if (isfinite(epoch->score[s])) { /* a split without rows has no score */
            value[count++] = (event_value){score_tag[s], (float)epoch->score[s]};
        }
    }
    if (epoch->evaluated) {
        value[count++] = (event_value){"time/eval_s", (float)epoch->eval_s};
    }
    value[count++] = (event_value){"lr", (float)epoch->lr};
    value[count++] = (event_value){"time/epoch_s", (float)epoch->epoch_s};
    value[count++] = (event_value){"time/comm_exposed_s", (float)epoch->comm_exposed_s};
    value[count++] = (event_value){"sent_bytes", (float)epoch->comm_bytes};
    WEFT_TRY(epoch->run == events->run ? WEFT_OK : open_run(events, epoch->run));
    return event_file_write(&events->file, epoch->epoch, value, count);
}

void train_events_epoch(train_events *events, const train_epoch *epoch)
{
    if (events->on && write_epoch(events, epoch) != WEFT_OK) {
        give_up(events);
    }
}

void train_events_close(train_events *events)
{
    if (events->on) {
        event_file_close(&events->file);
    }
    events->on = false;
}
