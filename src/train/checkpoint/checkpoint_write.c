/*
 * train/checkpoint/checkpoint_write.c: a new checkpoint becomes visible whole, and old ones go.
 *
 * Files are written into a temporary folder, each synced to the disk; their checksums go into the manifest and the
 * manifest's into a file of its own; then the folder gets its name. Only after that are older checkpoints removed: the
 * one before the newest stays, so that a defect found later in the newest costs one interval. Cost: the files are
 * read back once for their checksums, from the page cache.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/version.h"
#include "io/store/store_array.h"
#include "train/checkpoint/checkpoint_internal.h"

weft_status checkpoint_writer_begin(const char *folder, checkpoint_place place, checkpoint_writer *writer)
{
    writer->temporary[0] = '\0';
    WEFT_TRY(folder_make(folder));
    WEFT_TRY(checkpoint_name(writer->goal, folder, place));
    return folder_begin(writer->goal, true, writer->temporary);
}

/* The failure that led here keeps its message. */
void checkpoint_writer_discard(checkpoint_writer *writer)
{
    if (writer->temporary[0] != '\0' && file_exists(writer->temporary)) {
        char keep[2048];
        snprintf(keep, sizeof keep, "%s", weft_error_message());
        if (folder_remove(writer->temporary) != WEFT_OK) {
            (void)weft_fail(WEFT_ERR_IO, "%s", keep);
        }
    }
    writer->temporary[0] = '\0';
}

/* ---- manifest ---- */

static weft_status write_results(const char *folder, const train_progress *p)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX];
    double *rows = NULL;
    const int64_t shape[2] = {(int64_t)p->run + 1, RESULT_COLUMNS};
    WEFT_TRY(file_path(path, "%s/results.npy", folder));
    WEFT_TRY(WEFT_NEW(&rows, shape[0] * RESULT_COLUMNS, WEFT_MEM_WORKSPACE));
    for (int64_t r = 0; r < shape[0]; ++r) {
        const train_run *run = &p->result[r];
        const double row[RESULT_COLUMNS] = {run->best_valid,    run->final_test, run->best_train,
                                            run->final_train,   run->final_loss, (double)run->best_epoch,
                                            (double)run->epochs};
        memcpy(rows + r * RESULT_COLUMNS, row, sizeof row);
    }
    status = npy_write(path, 'f', 8, 2, shape, rows);
    weft_free(rows);
    return status;
}

static weft_status write_moments(const char *folder, const input_moments *moments)
{
    char path[FILE_PATH_MAX];
    npz_writer *npz = NULL;
    if (moments == NULL || moments->columns == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/" INPUT_MOMENTS_FILE, folder));
    WEFT_TRY(npz_writer_open(path, &npz));
    const weft_status status = input_moments_add(moments, npz);
    if (status != WEFT_OK) {
        npz_writer_discard(npz);
        return status;
    }
    return npz_writer_commit(npz);
}

static weft_status list_file(json_writer *json, const char *folder, const char *name)
{
    char path[FILE_PATH_MAX];
    char hash[33], crc[STORE_CRC_BYTES];
    file_map map;
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    WEFT_TRY(file_map_open(path, &map));
    file_map_hash(&map, hash);
    store_map_crc32(&map, crc);
    json_object(json, name);
    json_int(json, "bytes", (int64_t)map.size);
    json_text(json, "xxh3", hash);
    json_text(json, "crc32", crc);
    json_end(json);
    file_map_close(&map);
    return WEFT_OK;
}

/* Whatever a kind of model wrote. */
static weft_status list_all(json_writer *json, const char *folder)
{
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    DIR *list = opendir(folder);
    if (list == NULL) {
        return weft_fail_errno(errno, folder);
    }
    while (status == WEFT_OK && (entry = folder_next(list, folder, &status)) != NULL) {
        const bool skip = entry->d_name[0] == '.' || strncmp(entry->d_name, "manifest.", strlen("manifest.")) == 0;
        status = skip ? WEFT_OK : list_file(json, folder, entry->d_name);
    }
    closedir(list);
    return status;
}

static weft_status list_replicas(json_writer *json, const char *folder, const checkpoint_facts *facts)
{
    char path[FILE_PATH_MAX], rank[CHECKPOINT_NAME_BYTES];
    WEFT_TRY(list_file(json, folder, "results.npy"));
    for (int f = 0; f < CHECKPOINT_FILES; ++f) {
        WEFT_TRY(file_path(path, "%s/%s", folder, checkpoint_file_names[f]));
        if (file_exists(path)) {
            WEFT_TRY(list_file(json, folder, checkpoint_file_names[f]));
        }
    }
    if (facts->moments != NULL && facts->moments->columns > 0) {
        WEFT_TRY(list_file(json, folder, INPUT_MOMENTS_FILE));
    }
    for (int r = 0; facts->has_ranks && r < facts->ranks; ++r) {
        snprintf(rank, sizeof rank, "rank-%05d.npz", r);
        WEFT_TRY(list_file(json, folder, rank));
    }
    return WEFT_OK;
}

static weft_status list_files(json_writer *json, const char *folder, const checkpoint_facts *facts)
{
    json_object(json, "files");
    WEFT_TRY(facts->content != NULL || facts->beside ? list_all(json, folder) : list_replicas(json, folder, facts));
    json_end(json);
    return WEFT_OK;
}

static void list_options(json_writer *json, const weft_options *options)
{
    json_object(json, "options");
    for (int place = 0; options != NULL && place < option_count(options); ++place) {
        const option_id id = option_at(options, place);
        if (option_applies(option_command_of(options), id)) {
            json_text(json, option_row_in(options, id)->name, option_value_text(options, id));
        }
    }
    json_end(json);
}

static int version_of(const checkpoint_facts *facts, const train_progress *p)
{
    return facts->content != NULL ? CHECKPOINT_VERSION_OWN : p->step > 0 ? CHECKPOINT_VERSION_STEP : CHECKPOINT_VERSION;
}

static weft_status write_body(json_writer *json, const char *folder, const checkpoint_facts *facts,
                              const train_progress *p)
{
    json_object(json, NULL);
    json_text(json, "format", CHECKPOINT_FORMAT);
    json_int(json, "version", version_of(facts, p));
    json_text(json, "weft", version_text());
    json_int(json, "run", p->run + 1);
    json_int(json, "epoch", p->epoch);
    json_int(json, "trained_epochs", p->trained);
    if (p->step > 0) {
        json_int(json, "step", p->step);
        json_int(json, "steps_per_epoch", p->steps);
        json_real(json, "epoch_loss", p->loss);
        json_int(json, "epoch_loss_entries", p->loss_entries);
        if (p->seen > 0) {
            json_int(json, "epoch_rows", p->seen);
            json_int(json, "epoch_rows_right", p->right);
        }
    }
    json_bool(json, "run_ended", p->run_ended);
    json_int(json, "evaluations_since_best", p->since_best);
    json_int(json, "optimizer_steps", facts->optimizer_steps);
    if (p->scaling.scale > 0.0) {
        json_real(json, "loss_scale", p->scaling.scale);
        json_int(json, "loss_scale_steps", p->scaling.clean);
        json_int(json, "skipped_steps", p->scaling.skipped);
    }
    if (p->plateau.heard > 0) {
        json_real(json, "plateau_best", p->plateau.best);
        json_int(json, "plateau_evaluations", p->plateau.heard);
        json_int(json, "plateau_since_best", p->plateau.bad);
        json_int(json, "plateau_decays", p->plateau.decays);
    }
    json_text(json, "dtype", weft_dtype_name(facts->dtype));
    json_text(json, CHECKPOINT_KEY_DATA, facts->data_hash);
    json_int(json, "ranks", facts->ranks);
    json_int(json, "threads_per_rank", facts->threads);
    if (facts->content != NULL) {
        json_text(json, "content", facts->content);
    }
    json_text(json, "sync", facts->sync);
    json_bool(json, "gradient_tracking", facts->tracking);
    json_bool(json, "rank_files", facts->has_ranks);
    list_options(json, facts->options);
    WEFT_TRY(list_files(json, folder, facts));
    json_end(json);
    json_line_end(json);
    return WEFT_OK;
}

/* Writes a line that holds a checksum of the manifest. */
static weft_status write_sum(const char *folder, const char *name, const char *sum)
{
    char path[FILE_PATH_MAX], line[STORE_HASH_BYTES + 1];
    file_writer writer;
    const int length = snprintf(line, sizeof line, "%s\n", sum);
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    WEFT_TRY(file_writer_open(path, &writer));
    weft_status status = file_write(&writer, line, (size_t)length);
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    return file_writer_commit(&writer);
}

static weft_status write_manifest_sums(const char *folder, const char *manifest)
{
    char hash[STORE_HASH_BYTES], crc[STORE_CRC_BYTES];
    file_map map;
    WEFT_TRY(file_map_open(manifest, &map));
    file_map_hash(&map, hash);
    store_map_crc32(&map, crc);
    file_map_close(&map);
    WEFT_TRY(write_sum(folder, "manifest.crc32", crc));
    return write_sum(folder, "manifest.xxh3", hash);
}

static weft_status write_manifest(const char *folder, const checkpoint_facts *facts, const train_progress *progress)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/manifest.json", folder));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    weft_status status = write_body(&json, folder, facts, progress);
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    WEFT_TRY(file_writer_commit(&writer));
    return write_manifest_sums(folder, path);
}

/* ---- old ones ---- */

static bool is_same(checkpoint_place a, checkpoint_place b)
{
    return a.trained == b.trained && a.step == b.step;
}

/* Neither the newest, nor the one before it: an older one, one that a resumed training left behind as damaged, or what
 * a killed job had begun. */
static bool is_superfluous(const char *name, checkpoint_place newest, checkpoint_place before)
{
    checkpoint_place place;
    if (checkpoint_parse_name(name, &place)) {
        return !is_same(place, newest) && !is_same(place, before);
    }
    return strncmp(name, "epoch-", 6) == 0 && strstr(name, ".tmp-") != NULL;
}

/* Visit the folder's names: find the checkpoint before `newest`; then, with that known, remove what is superfluous. */
static weft_status visit(const char *folder, checkpoint_place newest, checkpoint_place *before, bool remove)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    DIR *list = opendir(folder);
    if (list == NULL) {
        return weft_fail_errno(errno, folder);
    }
    const struct dirent *entry;
    checkpoint_place place;
    while (status == WEFT_OK && (entry = folder_next(list, folder, &status)) != NULL) {
        if (!remove && checkpoint_parse_name(entry->d_name, &place) && checkpoint_is_before(place, newest) &&
            checkpoint_is_before(*before, place)) {
            *before = place;
        } else if (remove && is_superfluous(entry->d_name, newest, *before)) {
            status = file_path(path, "%s/%s", folder, entry->d_name);
            status = status == WEFT_OK ? folder_remove(path) : status;
        }
    }
    closedir(list);
    return status;
}

/* The new one is safe by now: what cannot be removed is a warning. */
static void prune(const char *goal)
{
    char folder[FILE_PATH_MAX];
    checkpoint_place newest;
    checkpoint_place before = {.trained = -1};
    const char *slash = strrchr(goal, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - goal), goal);
    (void)checkpoint_parse_name(slash + 1, &newest);
    weft_status status = visit(folder, newest, &before, false);
    status = status == WEFT_OK ? visit(folder, newest, &before, true) : status;
    if (status != WEFT_OK) {
        log_warn("an old checkpoint stays: %s", weft_error_message());
        weft_error_clear();
    }
}

weft_status checkpoint_writer_commit(checkpoint_writer *writer, const checkpoint_facts *facts,
                                     const train_progress *progress)
{
    weft_status status = write_results(writer->temporary, progress);
    status = status == WEFT_OK ? write_moments(writer->temporary, facts->moments) : status;
    status = status == WEFT_OK ? write_manifest(writer->temporary, facts, progress) : status;
    status = status == WEFT_OK ? folder_commit(writer->temporary, writer->goal, true) : status;
    if (status == WEFT_OK) {
        prune(writer->goal);
    }
    checkpoint_writer_discard(writer);
    return status;
}
