/* app/run_dir.c: see app/run_dir.h. */
#include "app/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/versions.h"
#include "base/json.h"
#include "base/log.h"

static double unix_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* free: a folder that holds a run may be taken. */
static weft_status make_asked(const char *asked, bool free, run_dir *dir)
{
    char manifest[FILE_PATH_MAX];
    WEFT_TRY(file_path(dir->path, "%s", asked));
    WEFT_TRY(file_path(manifest, "%s/run.json", asked));
    WEFT_CHECK(
        free || !file_exists(manifest), WEFT_ERR_USAGE,
        "%s already holds a run: choose another --run-dir, add --resume to go on with it, or --force to replace it",
        asked);
    bool absent = !file_exists(asked);
    WEFT_TRY(folder_make(asked));
    dir->made = absent;
    return WEFT_OK;
}

/* The first weft-run-NNNN that this job, and no other started at the same moment, makes. */
static weft_status make_numbered(run_dir *dir)
{
    for (int number = 1; number < 10000; ++number) {
        WEFT_TRY(file_path(dir->path, "weft-run-%04d", number));
        dir->made = mkdir(dir->path, 0777) == 0;
        if (dir->made) {
            return WEFT_OK;
        }
        if (errno != EEXIST) {
            return weft_fail_errno(errno, dir->path);
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "9999 folders named weft-run-NNNN exist here: name one with --run-dir");
}

/* The newest weft-run-NNNN here, to go on with; path is "" when there is none. */
static weft_status find_numbered(run_dir *dir)
{
    int newest = 0;
    DIR *list = opendir(".");
    if (list == NULL) {
        return weft_fail_errno(errno, ".");
    }
    const struct dirent *entry;
    while ((entry = readdir(list)) != NULL) {
        const char *digits = entry->d_name + strlen("weft-run-");
        if (strncmp(entry->d_name, "weft-run-", strlen("weft-run-")) == 0 && strlen(digits) == 4 &&
            strspn(digits, "0123456789") == 4 && atoi(digits) > newest) {
            newest = atoi(digits);
        }
    }
    closedir(list);
    dir->path[0] = '\0';
    return newest > 0 ? file_path(dir->path, "weft-run-%04d", newest) : WEFT_OK;
}

static weft_status make_folder(const weft_options *options, run_dir *dir)
{
    bool resume = option_flag(options, OPT_RESUME);
    if (option_flag(options, OPT_DRY_RUN)) {
        dir->made = true;
        return file_path(dir->path, "weft-dry-run-%ld", (long)getpid());
    }
    const char *asked = option_text(options, OPT_RUN_DIR);
    if (asked[0] != '\0') {
        return make_asked(asked, resume || option_flag(options, OPT_FORCE), dir);
    }
    if (resume) {
        WEFT_TRY(find_numbered(dir));
    }
    return resume && dir->path[0] != '\0' ? WEFT_OK : make_numbered(dir);
}

weft_status run_dir_open(const app_context *context, run_dir *dir)
{
    weft_status status = WEFT_OK;
    memset(dir, 0, sizeof *dir);
    dir->started = unix_seconds();
    if (comm_rank(context->comm) == 0) {
        status = make_folder(context->options, dir);
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
    for (int id = 0; id < OPT_COUNT; ++id) {
        if (!option_applies(option_command_of(options), (option_id)id)) {
            continue;
        }
        json_object(json, option_row_of((option_id)id)->name);
        json_text(json, "value", option_value_text(options, (option_id)id));
        json_text(json, "source", option_source_text(option_source_of(options, (option_id)id)));
        json_end(json);
    }
    json_end(json);
}

static void write_graph(json_writer *json, const weft_graph *graph)
{
    json_object(json, "graph");
    json_text(json, "name", graph->name);
    json_text(json, "hash", graph->hash);
    json_int(json, "vertices", graph->vertices);
    json_int(json, "edges", graph->edges);
    json_int(json, "features", graph->features);
    json_int(json, "classes", graph->classes);
    json_bool(json, "symmetric", graph->symmetric);
    json_end(json);
}

/* run.json; `exit` is -1 while running. */
static weft_status write_manifest(const run_dir *dir, const app_context *context, int exit)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/run.json", dir->path));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_int(&json, "schema", 1);
    versions_write(&json);
    json_text(&json, "host", context->host);
    json_text(&json, "cpu", context->machine.model);
    json_int(&json, "nodes", context->nodes);
    json_int(&json, "ranks", comm_size(context->comm));
    json_int(&json, "threads_per_rank", context->placement.threads);
    json_text(&json, "placement", context->placement.reason);
    json_text(&json, "backend", context->hal->name);
    write_graph(&json, &dir->facts);
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

static weft_status remove_file(const run_dir *dir, const char *name)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", dir->path, name));
    return unlink(path) == 0 || errno == ENOENT ? WEFT_OK : weft_fail_errno(errno, path);
}

/* Traces of a replaced run, which may have had more ranks than this one. */
static weft_status remove_traces(const run_dir *dir)
{
    char name[32];
    char path[FILE_PATH_MAX];
    for (int rank = 0;; ++rank) {
        snprintf(name, sizeof name, "trace-%d.json", rank);
        WEFT_TRY(file_path(path, "%s/%s", dir->path, name));
        if (!file_exists(path)) {
            return WEFT_OK;
        }
        WEFT_TRY(remove_file(dir, name));
    }
}

/* What a killed start of this run left behind: generated graphs, half-written files. */
static bool is_leftover(const char *name, const char *keep)
{
    const char *digits = name + strlen("graph-");
    if (strcmp(name, keep) == 0) {
        return false;
    }
    bool graph = strncmp(name, "graph-", strlen("graph-")) == 0 && digits[0] != '\0' &&
                 strspn(digits, "0123456789") == strlen(digits);
    return graph || strstr(name, ".tmp-") != NULL;
}

static weft_status remove_leftovers(const run_dir *dir, const char *keep)
{
    char path[FILE_PATH_MAX];
    struct stat facts;
    weft_status status = WEFT_OK;
    DIR *list = opendir(dir->path);
    if (list == NULL) {
        return weft_fail_errno(errno, dir->path);
    }
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = readdir(list)) != NULL) {
        if (!is_leftover(entry->d_name, keep)) {
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
    WEFT_TRY(file_path(path, "%s/ckpt", dir->path));
    return file_exists(path) ? folder_remove(path) : WEFT_OK;
}

static weft_status open_metrics(run_dir *dir, const train_progress *from)
{
    char metrics[FILE_PATH_MAX];
    WEFT_TRY(file_path(metrics, "%s/metrics.jsonl", dir->path));
    if (from != NULL) {
        WEFT_TRY(run_metrics_cut(metrics, from->run + 1, from->epoch));
    }
    dir->metrics = fopen(metrics, from != NULL ? "ae" : "we");
    return dir->metrics != NULL ? WEFT_OK : weft_fail_errno(errno, metrics);
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

weft_status run_dir_begin(run_dir *dir, const app_context *context, const weft_graph *graph, const train_progress *from,
                          const char *keep)
{
    static const char *const results[] = {"summary.json", "predictions.npy", "weights.npz", "report.html", "report.md"};
    dir->facts = (weft_graph){.vertices = graph->vertices,
                              .edges = graph->edges,
                              .features = graph->features,
                              .classes = graph->classes,
                              .symmetric = graph->symmetric};
    memcpy(dir->facts.name, graph->name, sizeof graph->name);
    memcpy(dir->facts.hash, graph->hash, sizeof graph->hash);
    WEFT_TRY(note_start(dir, context, from));
    WEFT_TRY(write_manifest(dir, context, -1)); /* first: where nothing can be written nothing is removed */
    dir->begun = true;
    for (size_t i = 0; i < sizeof results / sizeof *results; ++i) {
        WEFT_TRY(remove_file(dir, results[i]));
    }
    WEFT_TRY(remove_traces(dir));
    WEFT_TRY(remove_leftovers(dir, keep));
    if (from == NULL) {
        WEFT_TRY(remove_checkpoints(dir));
    }
    return open_metrics(dir, from);
}

static void write_traffic(json_writer *json, const char *name, uint64_t bytes, uint64_t messages)
{
    if (messages > 0) {
        json_object(json, name);
        json_int(json, "bytes", (int64_t)bytes);
        json_int(json, "messages", (int64_t)messages);
        json_end(json);
    }
}

weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch)
{
    json_writer json = json_begin(dir->metrics, false);
    json_object(&json, NULL);
    json_int(&json, "schema", 1);
    json_int(&json, "run", epoch->run + 1);
    json_int(&json, "epoch", epoch->epoch);
    json_real(&json, "loss", epoch->loss);
    if (epoch->evaluated) {
        json_real(&json, "train", epoch->score[0]);
        json_real(&json, "valid", epoch->score[1]);
        json_real(&json, "test", epoch->score[2]);
        json_real(&json, "eval_s", epoch->eval_s);
    }
    json_real(&json, "epoch_s", epoch->epoch_s);
    json_real(&json, "lr", epoch->lr);
    json_int(&json, "comm_bytes", (int64_t)epoch->comm_bytes);
    json_object(&json, "lanes");
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        write_traffic(&json, comm_lane_name((comm_lane)lane), epoch->traffic.bytes[lane],
                      epoch->traffic.messages[lane]);
    }
    write_traffic(&json, "groups", epoch->traffic.group_bytes, epoch->traffic.group_messages);
    json_end(&json);
    json_real(&json, "comm_exposed_s", epoch->comm_exposed_s);
    json_text(&json, "sync", sync_mode_name(epoch->sync));
    if (epoch->sync != SYNC_ALLREDUCE) {
        json_real(&json, "density", epoch->figures.density);
        json_real(&json, "distance", epoch->figures.distance);
        json_real(&json, "gap", epoch->figures.gap);
    }
    json_end(&json);
    json_line_end(&json);
    return fflush(dir->metrics) == 0 ? WEFT_OK : weft_fail_errno(errno, "metrics.jsonl");
}

weft_status run_dir_sync(run_dir *dir)
{
    bool good = fflush(dir->metrics) == 0 && (fsync(fileno(dir->metrics)) == 0 || errno == EINVAL);
    return good ? WEFT_OK : weft_fail_errno(errno, "metrics.jsonl");
}

weft_status run_dir_close(run_dir *dir, const app_context *context, weft_status exit)
{
    weft_status status = WEFT_OK;
    if (dir->metrics != NULL && fclose(dir->metrics) != 0) {
        status = weft_fail_errno(errno, "metrics.jsonl");
    }
    if (dir->begun) {
        run_start *last = &dir->history.start[dir->history.count - 1];
        last->exit = (int64_t)exit;
        time_text(unix_seconds(), last->ended);
        status = status == WEFT_OK ? write_manifest(dir, context, (int)exit) : status;
    } else if (dir->made && file_exists(dir->path)) {
        status = folder_remove(dir->path);
    }
    if (!dir->begun) {
        dir->path[0] = '\0'; /* there is no folder; one with a run stays named, for whoever prints it */
    }
    run_history_free(&dir->history);
    dir->metrics = NULL;
    dir->begun = dir->made = false;
    return status;
}
