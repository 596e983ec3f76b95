/*
 * train/checkpoint/checkpoint_manifest.c: manifest.json of a checkpoint and the checksums, read with suspicion.
 *
 * Order of trust: manifest.xxh3 vouches for the manifest, the manifest for size and XXH3-128 of every other file, and
 * only then is a file parsed. A cut or changed byte anywhere is found before anything of the checkpoint is used.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "comm/sync/sync.h"
#include "train/checkpoint/checkpoint_internal.h"

/* ---- checksums ---- */

static weft_status check_manifest_hash(const char *folder, const char *text, size_t bytes)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX], actual[33], *expected = NULL;
    size_t length = 0;
    WEFT_TRY(file_path(path, "%s/manifest.xxh3", folder));
    WEFT_TRY(file_read_text(path, 64, &expected, &length));
    file_hash(text, bytes, actual);
    WEFT_CHECK_GOTO(length == 33 && memcmp(expected, actual, 32) == 0 && expected[32] == '\n', status, done,
                    WEFT_ERR_DATA, "%s/manifest.json: damaged: its checksum is %s, manifest.xxh3 says %.32s", folder,
                    actual, expected);
done:
    weft_free(expected);
    return status;
}

static weft_status check_file(const char *folder, const char *manifest, const json_value *entry)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX], actual[33];
    int64_t bytes = 0;
    const char *expected = NULL;
    file_map map;
    WEFT_CHECK(entry->kind == JSON_OBJECT && entry->key[0] != '.' && strchr(entry->key, '/') == NULL, WEFT_ERR_DATA,
               "%s: \"files\" holds \"%s\"; expected an object for a plain file name", manifest, entry->key);
    WEFT_TRY(json_get_int(manifest, entry, "bytes", 0, INT64_MAX, &bytes));
    WEFT_TRY(json_get_text(manifest, entry, "xxh3", &expected));
    WEFT_TRY(file_path(path, "%s/%s", folder, entry->key));
    WEFT_TRY(file_map_open(path, &map));
    WEFT_CHECK_GOTO((uint64_t)bytes == map.size, status, done, WEFT_ERR_DATA,
                    "%s: damaged: %zu bytes, the manifest says %lld", path, map.size, (long long)bytes);
    file_map_hash(&map, actual);
    WEFT_CHECK_GOTO(strcmp(actual, expected) == 0, status, done, WEFT_ERR_DATA,
                    "%s: damaged: its checksum is %s, the manifest says %.32s", path, actual, expected);
done:
    file_map_close(&map);
    return status;
}

/* ---- what the manifest says ---- */

static weft_status read_text(const char *name, const json_value *root, const char *key, char *dst, size_t capacity)
{
    const char *text = NULL;
    WEFT_TRY(json_get_text(name, root, key, &text));
    WEFT_CHECK(strlen(text) < capacity, WEFT_ERR_DATA, "%s: \"%s\" has %zu bytes; the limit is %zu", name, key,
               strlen(text), capacity - 1);
    memcpy(dst, text, strlen(text) + 1);
    return WEFT_OK;
}

static weft_status read_int(const char *name, const json_value *root, const char *key, int64_t min, int *value)
{
    int64_t wide = 0;
    WEFT_TRY(json_get_int(name, root, key, min, INT32_MAX, &wide));
    *value = (int)wide;
    return WEFT_OK;
}

static weft_status read_dtype(const char *name, const json_value *root, weft_dtype *dtype)
{
    const char *text = NULL;
    WEFT_TRY(json_get_text(name, root, "dtype", &text));
    *dtype = strcmp(text, weft_dtype_name(WEFT_DTYPE_F64)) == 0 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32;
    WEFT_CHECK(strcmp(text, weft_dtype_name(*dtype)) == 0, WEFT_ERR_DATA,
               "%s: dtype \"%.32s\", expected \"float32\" or \"float64\"", name, text);
    return WEFT_OK;
}

/* A place within an epoch, and what the epoch has summed up so far. */
static weft_status read_step(const char *name, const json_value *root, train_progress *p)
{
    const json_value *loss = json_find(root, "epoch_loss");
    WEFT_TRY(json_get_int(name, root, "steps_per_epoch", 2, INT64_MAX, &p->steps));
    WEFT_TRY(json_get_int(name, root, "step", 1, p->steps - 1, &p->step));
    WEFT_TRY(json_get_int(name, root, "epoch_loss_entries", 0, INT64_MAX / 2, &p->loss_entries));
    WEFT_CHECK(loss != NULL && loss->kind == JSON_NUMBER, WEFT_ERR_DATA, "%s: \"epoch_loss\" is no number", name);
    p->loss = loss->number;
    if (json_find(root, "epoch_rows") != NULL) {
        WEFT_TRY(json_get_int(name, root, "epoch_rows", 0, INT64_MAX / 2, &p->seen));
        WEFT_TRY(json_get_int(name, root, "epoch_rows_right", 0, p->seen, &p->right));
    }
    WEFT_CHECK(!p->run_ended, WEFT_ERR_DATA, "%s: \"run_ended\" within an epoch", name);
    return WEFT_OK;
}

/* Of a training with --precision f16; other manifests have none of the keys. */
static weft_status read_scaling(const char *name, const json_value *root, train_scaling *scaling)
{
    const json_value *scale = json_find(root, "loss_scale");
    if (scale == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(scale->kind == JSON_NUMBER && scale->number > 0.0 && scale->number <= LOSS_SCALE_LAST, WEFT_ERR_DATA,
               "%s: \"loss_scale\" is no number above 0 and up to %.0f", name, LOSS_SCALE_LAST);
    scaling->scale = scale->number;
    WEFT_TRY(json_get_int(name, root, "loss_scale_steps", 0, INT64_MAX / 2, &scaling->clean));
    return json_get_int(name, root, "skipped_steps", 0, INT64_MAX / 2, &scaling->skipped);
}

/* Of a training whose rate follows the scores; other manifests have none of the keys. */
static weft_status read_plateau(const char *name, const json_value *root, train_plateau *plateau)
{
    const json_value *best = json_find(root, "plateau_best");
    if (best == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(best->kind == JSON_NUMBER, WEFT_ERR_DATA, "%s: \"plateau_best\" is no number", name);
    plateau->best = best->number;
    WEFT_TRY(json_get_int(name, root, "plateau_evaluations", 1, INT64_MAX / 2, &plateau->heard));
    WEFT_TRY(json_get_int(name, root, "plateau_since_best", 0, plateau->heard, &plateau->bad));
    return json_get_int(name, root, "plateau_decays", 0, plateau->heard, &plateau->decays);
}

static weft_status read_progress(const char *name, const json_value *root, train_progress *p)
{
    int run = 0;
    WEFT_TRY(read_int(name, root, "run", 1, &run));
    p->run = run - 1;
    WEFT_TRY(json_get_int(name, root, "epoch", 0, UINT32_MAX, &p->epoch));
    WEFT_TRY(json_get_int(name, root, "trained_epochs", p->epoch, SYNC_STEPS_LIMIT, &p->trained));
    WEFT_TRY(json_get_bool(name, root, "run_ended", &p->run_ended));
    WEFT_TRY(read_scaling(name, root, &p->scaling));
    WEFT_TRY(read_plateau(name, root, &p->plateau));
    if (json_find(root, "step") != NULL) {
        WEFT_TRY(read_step(name, root, p));
    }
    return json_get_int(name, root, "evaluations_since_best", 0, INT64_MAX / 2, &p->since_best);
}

/* Without the key: the option of the job that wrote it, which had no choice of its own. */
static weft_status read_tracking(const char *name, const json_value *root, checkpoint *ck)
{
    const char *option = checkpoint_option(ck, "gradient-tracking");
    ck->tracking = option != NULL && strcmp(option, "on") == 0;
    return json_find(root, "gradient_tracking") != NULL ? json_get_bool(name, root, "gradient_tracking", &ck->tracking)
                                                        : WEFT_OK;
}

static weft_status read_facts(const char *name, const json_value *root, checkpoint *ck)
{
    WEFT_TRY(read_text(name, root, "weft", ck->version, sizeof ck->version));
    WEFT_TRY(read_text(name, root, CHECKPOINT_KEY_DATA, ck->data_hash, sizeof ck->data_hash));
    if (json_find(root, "content") != NULL) {
        WEFT_TRY(read_text(name, root, "content", ck->content, sizeof ck->content));
    }
    WEFT_TRY(read_text(name, root, "sync", ck->sync, sizeof ck->sync));
    WEFT_TRY(read_int(name, root, "ranks", 1, &ck->ranks));
    WEFT_TRY(read_int(name, root, "threads_per_rank", 0, &ck->threads));
    WEFT_TRY(read_dtype(name, root, &ck->dtype));
    WEFT_TRY(json_get_bool(name, root, "rank_files", &ck->has_ranks));
    WEFT_TRY(json_get_int(name, root, "optimizer_steps", 0, SYNC_STEPS_LIMIT, &ck->optimizer_steps));
    WEFT_TRY(read_progress(name, root, &ck->progress));
    ck->options = json_find(root, "options");
    WEFT_CHECK(ck->options != NULL && ck->options->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"options\" is no object",
               name);
    return read_tracking(name, root, ck);
}

/* Nothing that is needed may be left out of the list: an unlisted file would go unchecked. */
static weft_status check_files(const char *folder, const char *name, const json_value *root, checkpoint *ck)
{
    const json_value *files = json_find(root, "files");
    char rank[CHECKPOINT_NAME_BYTES];
    WEFT_CHECK(files != NULL && files->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"files\" is no object", name);
    for (const json_value *entry = files->child; entry != NULL; entry = entry->next) {
        WEFT_TRY(check_file(folder, name, entry));
    }
    for (int f = 0; f < CHECKPOINT_FILES; ++f) {
        ck->has[f] = json_find(files, checkpoint_file_names[f]) != NULL;
    }
    WEFT_CHECK((ck->has[FILE_LAST] || ck->content[0] != '\0') && json_find(files, "results.npy") != NULL, WEFT_ERR_DATA,
               "%s: \"files\" lists no last.npz or no results.npy", name);
    ck->has_moments = json_find(files, INPUT_MOMENTS_FILE) != NULL;
    for (int r = 0; ck->has_ranks && r < ck->ranks; ++r) {
        snprintf(rank, sizeof rank, "rank-%05d.npz", r);
        WEFT_CHECK(json_find(files, rank) != NULL, WEFT_ERR_DATA, "%s: \"files\" does not list %s", name, rank);
    }
    return WEFT_OK;
}

static weft_status read_manifest(const char *folder, checkpoint *ck)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX], *text = NULL;
    size_t bytes = 0;
    const char *format = NULL;
    int64_t version = 0;
    WEFT_TRY(file_path(path, "%s/manifest.json", folder));
    WEFT_TRY(file_read_text(path, CHECKPOINT_MANIFEST_MAX, &text, &bytes));
    WEFT_TRY_GOTO(check_manifest_hash(folder, text, bytes), status, done);
    WEFT_TRY_GOTO(json_parse(path, text, bytes, &ck->document), status, done);
    const json_value *root = json_root(ck->document);
    WEFT_CHECK_GOTO(root->kind == JSON_OBJECT, status, done, WEFT_ERR_DATA, "%s: is not a JSON object", path);
    WEFT_TRY_GOTO(json_get_text(path, root, "format", &format), status, done);
    WEFT_CHECK_GOTO(strcmp(format, CHECKPOINT_FORMAT) == 0, status, done, WEFT_ERR_DATA,
                    "%s: format \"%.64s\", expected \"" CHECKPOINT_FORMAT "\"", path, format);
    WEFT_TRY_GOTO(json_get_int(path, root, "version", 0, INT64_MAX, &version), status, done);
    WEFT_CHECK_GOTO(version >= CHECKPOINT_VERSION && version <= CHECKPOINT_VERSION_OWN, status, done,
                    WEFT_ERR_UNSUPPORTED, "%s: version %lld of checkpoints; this build reads versions %d to %d", path,
                    (long long)version, CHECKPOINT_VERSION, CHECKPOINT_VERSION_OWN);
    WEFT_TRY_GOTO(read_facts(path, root, ck), status, done);
    status = check_files(folder, path, root, ck);
done:
    weft_free(text);
    return status;
}

static weft_status read_results(const char *folder, train_progress *p)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX];
    npy_map npy;
    const int64_t shape[2] = {(int64_t)p->run + 1, RESULT_COLUMNS};
    WEFT_TRY(file_path(path, "%s/results.npy", folder));
    WEFT_TRY(npy_map_open(path, &npy));
    WEFT_TRY_GOTO(npy_expect(path, &npy.header, 'f', 8, 2, shape), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&p->result, shape[0], WEFT_MEM_GENERAL), status, done);
    for (int64_t r = 0; r < shape[0]; ++r) {
        double row[RESULT_COLUMNS];
        memcpy(row, (const unsigned char *)npy.data + (size_t)r * sizeof row, sizeof row);
        for (int c = 5; c < RESULT_COLUMNS; ++c) {
            WEFT_CHECK_GOTO(row[c] >= 0 && row[c] < 9e15, status, done, WEFT_ERR_DATA,
                            "%s: row %lld, column %d is %g, expected a number of epochs", path, (long long)r, c,
                            number_plain(row[c]));
        }
        p->result[r] = (train_run){.best_valid = row[0],
                                   .final_test = row[1],
                                   .best_train = row[2],
                                   .final_train = row[3],
                                   .final_loss = row[4],
                                   .best_epoch = (int64_t)row[5],
                                   .epochs = (int64_t)row[6]};
    }
done:
    npy_map_close(&npy);
    return status;
}

weft_status checkpoint_read(const char *folder, checkpoint *ck)
{
    memset(ck, 0, sizeof *ck);
    WEFT_TRY(file_path(ck->path, "%s", folder));
    weft_status status = read_manifest(folder, ck);
    status = status == WEFT_OK ? read_results(folder, &ck->progress) : status;
    if (status != WEFT_OK) {
        checkpoint_forget(ck);
    }
    return status;
}

void checkpoint_forget(checkpoint *ck)
{
    json_free(ck->document);
    weft_free(ck->progress.result);
    ck->document = NULL;
    ck->progress.result = NULL;
}
