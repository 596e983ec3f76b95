/* app/train/run_dir.c: see app/train/run_dir.h. */
#include "app/train/run_dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/setup/shell.h"
#include "app/version/versions.h"
#include "app/workload/workload_facts.h"
#include "base/disk/file_sync.h"
#include "io/json.h"

static double unix_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

weft_status run_dir_open(const app_context *context, const workload *work, bool of_search, run_dir *dir)
{
    weft_status status = WEFT_OK;
    memset(dir, 0, sizeof *dir);
    dir->started = unix_seconds();
    dir->work = work;
    dir->of_search = of_search;
    if (comm_rank(context->comm) == 0) {
        status = run_folder_open(context->options, of_search, dir->path, &dir->folder);
    }
    WEFT_TRY(comm_agree(context->comm, status));
    return comm_bcast(context->comm, 0, dir->path, sizeof dir->path);
}

static void time_text(double seconds, char text[24])
{
    struct tm parts;
    time_t whole = (time_t)seconds;
    gmtime_r(&whole, &parts);
    strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void write_time(json_writer *json, const char *key, double seconds)
{
    char text[24];
    time_text(seconds, text);
    json_text(json, key, text);
}

static void write_options(json_writer *json, const weft_options *options)
{
    json_object(json, "options");
    for (int i = 0; i < option_count(options); ++i) {
        const option_id id = option_at(options, i);
        if (!option_applies(option_command_of(options), id)) {
            continue;
        }
        json_object(json, option_row_in(options, id)->name);
        json_text(json, "value", option_value_text(options, id));
        json_text(json, "source", option_source_text(option_source_of(options, id)));
        json_end(json);
    }
    json_end(json);
}

static weft_status write_manifest_of(const run_dir *dir, const app_context *context, const char *command, int exit)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/run.json", dir->path));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_int(&json, "schema", RUN_FILE_SCHEMA);
    json_text(&json, "command", command);
    versions_write(&json);
    json_text(&json, "host", context->host);
    json_text(&json, "cpu", context->machine.model);
    json_int(&json, "nodes", context->nodes);
    json_int(&json, "ranks", comm_size(context->comm));
    json_int(&json, "threads_per_rank", context->placement.threads);
    json_text(&json, "placement", context->placement.reason);
    json_text(&json, "backend", context->backends);
    if (context->road[0] != '\0') {
        json_text(&json, "gpu_rows", context->road);
    }
    workload_write_data(dir->work, &json);
    write_options(&json, context->options);
    write_time(&json, "started", dir->started);
    if (exit >= 0) {
        write_time(&json, "ended", unix_seconds());
        json_int(&json, "exit", exit);
    }
    run_history_write(&json, &dir->history);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

/* run.json; `exit` is -1 while running. */
static weft_status write_manifest(const run_dir *dir, const app_context *context, int exit)
{
    char *command = NULL;
    WEFT_TRY(shell_command_line(&command));
    const weft_status status = write_manifest_of(dir, context, command, exit);
    weft_free(command);
    return status;
}

static weft_status remove_file(const run_dir *dir, const char *name)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", dir->path, name));
    return unlink(path) == 0 || errno == ENOENT ? WEFT_OK : file_fail_output(errno, path);
}

/* Traces of a replaced run, which may have had more ranks than this one. */
static weft_status remove_traces(const run_dir *dir)
{
    char name[32], path[FILE_PATH_MAX];
    for (int rank = 0;; ++rank) {
        snprintf(name, sizeof name, "trace-%d.json", rank);
        WEFT_TRY(file_path(path, "%s/%s", dir->path, name));
        if (!file_exists(path)) {
            return WEFT_OK;
        }
        WEFT_TRY(remove_file(dir, name));
    }
}

/* What a killed start of this run left behind: generated data, half-written files, claims of its lock. */
static bool is_leftover(const char *name)
{
    const size_t prefix = strlen(WORKLOAD_GENERATED);
    const char *digits = name + prefix;
    bool claim = strncmp(name, RUN_LOCK_NAME ".", strlen(RUN_LOCK_NAME ".")) == 0;
    bool data = strncmp(name, WORKLOAD_GENERATED, prefix) == 0 && digits[0] != '\0' &&
                strspn(digits, "0123456789") == strlen(digits);
    return data || claim || strstr(name, ".tmp-") != NULL;
}

static weft_status remove_leftovers(const run_dir *dir)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    weft_status status = WEFT_OK;
    DIR *list = opendir(dir->path);
    if (list == NULL) {
        return file_fail_output(errno, dir->path);
    }
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = folder_next(list, dir->path, &status)) != NULL) {
        if (!is_leftover(entry->d_name)) {
            continue;
        }
        status = file_path(path, "%s/%s", dir->path, entry->d_name);
        if (status == WEFT_OK && lstat(path, &facts) == 0) {
            status = S_ISDIR(facts.st_mode) ? folder_remove(path) : remove_file(dir, entry->d_name);
        }
    }
    closedir(list);
    return status;
}

/* A run that begins at the beginning has no checkpoints of another. */
static weft_status remove_checkpoints(const run_dir *dir)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    WEFT_TRY(file_path(path, "%s/ckpt", dir->path));
    if (lstat(path, &facts) != 0) {
        return WEFT_OK;
    }
    return S_ISDIR(facts.st_mode) ? folder_remove(path) : remove_file(dir, "ckpt");
}

/* What a resumed run goes on writing must be its own: through a link it would change what lies elsewhere. */
static weft_status check_own(const run_dir *dir, const char *name, mode_t type, const char *expected)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    WEFT_TRY(file_path(path, "%s/%s", dir->path, name));
    WEFT_CHECK(lstat(path, &facts) != 0 || (facts.st_mode & S_IFMT) == type, WEFT_ERR_IO,
               "%s: is %s, expected a %s of the run's own: move what it names to its place", path,
               S_ISLNK(facts.st_mode) ? "a symbolic link" : "something else", expected);
    return WEFT_OK;
}

/* A run that begins replaces the file, as it does run.json; one that goes on appends to it. */
static weft_status open_metrics(run_dir *dir, const train_progress *from)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/metrics.jsonl", dir->path));
    if (from != NULL) {
        WEFT_TRY(run_metrics_cut(path, from->run + 1, from->epoch));
    } else {
        WEFT_TRY(remove_file(dir, "metrics.jsonl"));
    }
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (from == NULL ? O_EXCL : 0), 0666);
    dir->metrics = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (dir->metrics == NULL) {
        weft_status status = file_fail_output(errno, path);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    return WEFT_OK;
}

static weft_status note_start(run_dir *dir, const app_context *context, const train_progress *from)
{
    char path[FILE_PATH_MAX];
    run_start start = {.ranks = comm_size(context->comm), .exit = -1};
    if (option_flag(context->options, OPT_RESUME)) {
        WEFT_TRY(file_path(path, "%s/run.json", dir->path));
        WEFT_TRY(run_history_read(path, &dir->history));
    }
    time_text(dir->started, start.started);
    snprintf(start.host, sizeof start.host, "%s", context->host);
    if (from != NULL) {
        start.after_run = from->run + 1;
        start.after_epoch = from->epoch;
    }
    return run_history_add(&dir->history, &start);
}

/* Results of a replaced run, and what a killed start of this one left behind. */
static weft_status remove_old(const run_dir *dir, const train_progress *from)
{
    static const char *const results[] = {"summary.json", "predictions.npy", "weights.npz",
                                          "report.html",  "report.md",       "explain/explain.json"};
    for (size_t i = 0; i < sizeof results / sizeof *results; ++i) {
        WEFT_TRY(remove_file(dir, results[i]));
    }
    WEFT_TRY(remove_traces(dir));
    WEFT_TRY(remove_leftovers(dir));
    return from == NULL ? remove_checkpoints(dir) : WEFT_OK;
}

weft_status run_dir_begin(run_dir *dir, const app_context *context, const train_progress *from)
{
    if (from != NULL) {
        WEFT_TRY(check_own(dir, "metrics.jsonl", S_IFREG, "file"));
        WEFT_TRY(check_own(dir, "ckpt", S_IFDIR, "folder"));
    }
    WEFT_TRY(note_start(dir, context, from));
    /* First: where nothing can be written nothing is removed. The journal of a search says what trains. */
    WEFT_TRY(dir->of_search ? WEFT_OK : write_manifest(dir, context, -1));
    dir->begun = true;
    WEFT_TRY(dir->folder.made ? WEFT_OK : remove_old(dir, from));
    return open_metrics(dir, from);
}

static void write_traffic(json_writer *json, const char *name, uint64_t bytes, uint64_t messages)
{
    if (bytes > 0) {
        json_object(json, name);
        json_int(json, "bytes", (int64_t)bytes);
        json_int(json, "messages", (int64_t)messages);
        json_end(json);
    }
}

/* The last check of --skew-guard. */
static void write_skew(const skew_figures *skew, json_writer *json)
{
    json_real(json, "skew_home", skew->last.home);
    json_real(json, "skew_away", skew->last.away);
    json_real(json, "skew_mean", skew->last.judge);
    json_real(json, "skew_score", skew->score);
    json_real(json, "skew_bytes", skew->last.cost);
    json_int(json, "skew_rung", skew->rung);
    json_real(json, "skew_setting", skew->setting);
}

weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch)
{
    assert(dir->begun && dir->metrics != NULL);
    WEFT_TRY(file_lock_check(dir->folder.lock));
    json_writer json = json_begin(dir->metrics, false);
    json_object(&json, NULL);
    json_int(&json, "schema", 1);
    json_int(&json, "run", epoch->run + 1);
    json_int(&json, "epoch", epoch->epoch);
    if (epoch->steps > 1) {
        json_int(&json, "steps", epoch->steps);
    }
    json_real(&json, "loss", epoch->loss);
    if (epoch->evaluated) {
        json_real(&json, "train", epoch->score[0]);
        json_real(&json, "valid", epoch->score[1]);
        json_real(&json, "test", epoch->score[2]);
        json_real(&json, "eval_s", epoch->eval_s);
    }
    json_real(&json, "epoch_s", epoch->epoch_s);
    if (epoch->begin_s > 0.0) {
        json_real(&json, "begin_s", epoch->begin_s);
    }
    json_real(&json, "lr", epoch->lr);
    if (epoch->preconditioned) {
        const precondition_figures *p = &epoch->precondition;
        json_real(&json, "second_clip", p->clip);
        json_real(&json, "second_damping", p->damping);
        json_int(&json, "second_refused", p->refused);
        if (p->overhead > 0.0) {
            json_real(&json, "second_overhead", p->overhead);
            json_bool(&json, "second_stepped_back", p->stepped_back);
        }
        json_real(&json, "second_factors_s", p->seconds[0]);
        json_real(&json, "second_inverses_s", p->seconds[1]);
        json_real(&json, "second_steps_s", p->seconds[2]);
    }
    json_int(&json, "comm_bytes", (int64_t)epoch->comm_bytes);
    json_int(&json, "halo_bytes", (int64_t)epoch->halo_bytes);
    json_int(&json, "staleness", epoch->staleness);
    if (epoch->skew.checked) {
        write_skew(&epoch->skew, &json);
    }
    if (epoch->scaling.scale > 0.0) {
        json_real(&json, "loss_scale", epoch->scaling.scale);
        json_int(&json, "skipped_steps", epoch->scaling.skipped);
    }
    json_object(&json, "lanes");
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        write_traffic(&json, comm_lane_name((comm_lane)lane), epoch->traffic.bytes[lane],
                      epoch->traffic.messages[lane]);
    }
    write_traffic(&json, "groups", epoch->traffic.group_bytes, epoch->traffic.group_messages);
    json_end(&json);
    json_real(&json, "comm_exposed_s", epoch->comm_exposed_s);
    json_text(&json, "sync", dir->work->ops->fit != NULL ? "none" : sync_mode_name(epoch->sync));
    if (epoch->sync != SYNC_ALLREDUCE) {
        json_real(&json, "density", epoch->figures.density);
        json_real(&json, "distance", epoch->figures.distance);
        json_real(&json, "gap", epoch->figures.gap);
    }
    workload_write_epoch(dir->work, &json);
    json_end(&json);
    json_line_end(&json);
    return fflush(dir->metrics) == 0 ? WEFT_OK : weft_fail_errno(errno, "metrics.jsonl");
}

weft_status run_dir_sync(run_dir *dir)
{
    WEFT_TRY(file_lock_check(dir->folder.lock));
    const int error = fflush(dir->metrics) != 0 ? errno : file_sync(fileno(dir->metrics));
    return error == 0 ? WEFT_OK : weft_fail_errno(error, "metrics.jsonl");
}

weft_status run_dir_close(run_dir *dir, const app_context *context, weft_status exit)
{
    weft_status status = WEFT_OK;
    if (dir->metrics != NULL && fclose(dir->metrics) != 0) {
        status = weft_fail_errno(errno, "metrics.jsonl");
    }
    if (dir->begun && file_lock_check(dir->folder.lock) == WEFT_OK) { /* else run.json is another job's by now */
        run_start *last = &dir->history.start[dir->history.count - 1];
        last->exit = (int64_t)exit;
        time_text(unix_seconds(), last->ended);
        status = status == WEFT_OK ? write_manifest(dir, context, (int)exit) : status;
    }
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    weft_status closed = run_folder_close(dir->path, &dir->folder, dir->begun);
    if (!dir->begun) {
        dir->path[0] = '\0'; /* there is no folder; one with a run stays named, for whoever prints it */
    }
    run_history_free(&dir->history);
    dir->metrics = NULL;
    dir->begun = false;
    return status == WEFT_OK ? closed : weft_fail(status, "%s", message);
}
