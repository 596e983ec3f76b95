/*
 * app/info/info_run.c: weft info RUN_DIR: what a run was asked, on what, and how it ended: the facts of run.json and
 * summary.json that people look for first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/facts/fact_list.h"
#include "app/info/info.h"
#include "app/info/info_text.h"
#include "base/file.h"
#include "io/json.h"

enum { LONGEST = 1 << 20 };

/* Parse folder/name. *document NULL, and no failure, when there is no such file. */
static weft_status read_document(const char *folder, const char *name, json_document **document)
{
    char path[FILE_PATH_MAX];
    const json_value *object = NULL;
    *document = NULL;
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    return file_exists(path) ? json_read_object(path, LONGEST, document, &object) : WEFT_OK;
}

static void print_value(const char *label, const json_value *value)
{
    if (value == NULL) {
        return;
    }
    if (value->kind == JSON_TEXT) {
        info_text(label, value->text);
    } else if (value->kind == JSON_NUMBER && value->integral) {
        printf("%s: %" PRId64 "\n", label, value->integer);
    } else if (value->kind == JSON_NUMBER) {
        printf("%s: %.6g\n", label, value->number);
    } else if (value->kind == JSON_BOOL) {
        printf("%s: %s\n", label, value->boolean ? "yes" : "no");
    }
}

/* Prints the values of these names, each behind its name. */
static void print_named(const json_value *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_value(names[i], json_find(object, names[i]));
    }
}

/* Only what was not left at its default, with its source. */
static void print_options(const json_value *options)
{
    for (const json_value *row = options != NULL ? options->child : NULL; row != NULL; row = row->next) {
        const json_value *value = json_find(row, "value");
        const json_value *source = json_find(row, "source");
        const bool texts = value != NULL && source != NULL && value->kind == JSON_TEXT && source->kind == JSON_TEXT;
        if (texts && strcmp(source->text, "default") != 0) {
            char label[96];
            snprintf(label, sizeof label, "--%.60s (%.20s)", row->key, source->text);
            info_text(label, value->text);
        }
    }
}

static void print_end(const json_value *run)
{
    const json_value *exit = json_find(run, "exit");
    print_value("started", json_find(run, "started"));
    print_value("ended", json_find(run, "ended"));
    if (exit == NULL || exit->kind != JSON_NUMBER) {
        printf("exit: none: the run goes on, or was killed\n");
    } else {
        printf("exit: %" PRId64 " (%s)\n", exit->integer, weft_status_text((weft_status)exit->integer));
    }
}

/* Texts and numbers of a run of an earlier version, which stand in the object itself. */
static void print_older_data(const json_value *data)
{
    printf("format: of an earlier version of Weft\n");
    for (const json_value *row = data->child; row != NULL; row = row->next) {
        char label[128];
        snprintf(label, sizeof label, "%.40s %.60s", data->key, row->key);
        print_value(label, row);
    }
}

/* Prints the data that the run was trained on: "graph name: cora", and so on. */
static void print_data(const json_value *run)
{
    static const char *const names[] = {"name", "hash"};
    bool older;
    const json_value *data = facts_data_of(run, &older);
    const json_value *kind = json_find(data, "kind");
    const json_value *rows = json_find(data, "facts");
    const char *prefix = kind != NULL && kind->kind == JSON_TEXT ? kind->text : "data";
    if (data == NULL || older) {
        if (data != NULL) {
            print_older_data(data);
        }
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char label[64];
        snprintf(label, sizeof label, "%.40s %s", prefix, names[i]);
        print_value(label, json_find(data, names[i]));
    }
    if (rows != NULL && rows->kind == JSON_ARRAY) {
        facts_print_json(rows, stdout, prefix);
    }
}

static void print_run(const json_value *run)
{
    static const char *const versions[] = {"weft", "revision", "compiler", "build"};
    static const char *const names[] = {"host",      "cpu",     "nodes",   "ranks", "threads_per_rank",
                                        "placement", "backend", "gpu_rows"};
    print_named(json_find(run, "versions"), versions, sizeof versions / sizeof *versions);
    print_named(run, names, sizeof names / sizeof *names);
    print_data(run);
    print_options(json_find(run, "options"));
    print_end(run);
}

/* Rows of each group, behind a line with its title. */
static void print_groups(const json_value *groups)
{
    for (const json_value *group = groups->child; group != NULL; group = group->next) {
        const json_value *title = json_find(group, "group");
        const json_value *rows = json_find(group, "rows");
        if (rows != NULL && rows->kind == JSON_ARRAY) {
            print_value("facts", title);
            facts_print_json(rows, stdout, "");
        }
    }
}

static void print_summary(const json_value *summary)
{
    static const char *const names[] = {"metric",     "runs",     "epochs",         "valid_mean",     "valid_std",
                                        "test_mean",  "test_std", "epoch_s_median", "peak_rss_bytes", "sent_bytes_avg",
                                        "parameters", "sync",     "cpu_use",        "seconds"};
    const json_value *groups = json_find(summary, "facts");
    print_named(summary, names, sizeof names / sizeof *names);
    if (groups != NULL && groups->kind == JSON_ARRAY) {
        print_groups(groups);
    }
}

/* Of a run without checkpoints, which tell as much. */
static weft_status print_weights(const char *folder)
{
    char path[FILE_PATH_MAX];
    npz_file *npz = NULL;
    input_moments moments;
    WEFT_TRY(file_path(path, "%s/weights.npz", folder));
    if (!file_exists(path)) {
        return WEFT_OK;
    }
    WEFT_TRY(npz_open(path, &npz));
    weft_status status = input_moments_read(path, npz, &moments);
    npz_close(npz);
    info_moments(&moments);
    input_moments_destroy(&moments);
    return status;
}

weft_status info_run(const char *folder)
{
    json_document *run = NULL, *summary = NULL;
    char checkpoints[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(read_document(folder, "run.json", &run), status, done);
    WEFT_TRY_GOTO(read_document(folder, "summary.json", &summary), status, done);
    WEFT_TRY_GOTO(file_path(checkpoints, "%s/ckpt", folder), status, done);
    printf("kind: run folder\n");
    if (run != NULL) {
        print_run(json_root(run));
    }
    if (summary != NULL) {
        print_summary(json_root(summary));
    }
    status = file_exists(checkpoints) ? info_checkpoint(checkpoints) : print_weights(folder);
done:
    json_free(run);
    json_free(summary);
    return status;
}
