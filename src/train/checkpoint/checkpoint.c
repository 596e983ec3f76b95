/* train/checkpoint/checkpoint.c: the newest good checkpoint of a folder, and its parameters; see
 * train/checkpoint/checkpoint.h. */
#include "train/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "train/checkpoint/checkpoint_internal.h"

progress_words progress_say(const train_progress *p)
{
    progress_words words;
    if (p->step > 0) {
        snprintf(words.text, sizeof words.text, "run %d, epoch %lld, step %lld of %lld", p->run + 1,
                 (long long)p->epoch + 1, (long long)p->step, (long long)p->steps);
    } else {
        snprintf(words.text, sizeof words.text, "run %d, epoch %lld", p->run + 1, (long long)p->epoch);
    }
    return words;
}

/* ---- finding ---- */

/* `lead`, then 8 to 18 digits: their end, or NULL. */
static const char *parse_number(const char *text, const char *lead, int64_t *number)
{
    const char *digits = text + strlen(lead);
    if (strncmp(text, lead, strlen(lead)) != 0) {
        return NULL;
    }
    size_t length = strspn(digits, "0123456789");
    *number = strtoll(digits, NULL, 10);
    return length >= 8 && length <= 18 ? digits + length : NULL;
}

bool checkpoint_parse_name(const char *name, checkpoint_place *place)
{
    const char *end = parse_number(name, "epoch-", &place->trained);
    place->step = 0;
    if (end != NULL && *end != '\0') {
        end = parse_number(end, "-step-", &place->step);
    }
    return end != NULL && *end == '\0';
}

weft_status checkpoint_name(char path[FILE_PATH_MAX], const char *folder, checkpoint_place place)
{
    return place.step == 0 ? file_path(path, "%s/epoch-%08lld", folder, (long long)place.trained)
                           : file_path(path, "%s/epoch-%08lld-step-%08lld", folder, (long long)place.trained,
                                       (long long)place.step);
}

bool checkpoint_is_before(checkpoint_place a, checkpoint_place b)
{
    return a.trained < b.trained || (a.trained == b.trained && a.step < b.step);
}

static const checkpoint_place NOWHERE = {.trained = -1};
static const checkpoint_place THE_END = {.trained = INT64_MAX};

/* [out] newest: the last place before `limit` among the checkpoints in a folder; NOWHERE: there is none. */
static weft_status newest_below(const char *folder, checkpoint_place limit, checkpoint_place *newest)
{
    checkpoint_place place;
    const struct dirent *entry;
    weft_status status = WEFT_OK;
    *newest = NOWHERE;
    DIR *list = opendir(folder);
    if (list == NULL) {
        return weft_fail_errno(errno, folder);
    }
    while ((entry = folder_next(list, folder, &status)) != NULL) {
        if (checkpoint_parse_name(entry->d_name, &place) && checkpoint_is_before(place, limit) &&
            checkpoint_is_before(*newest, place)) {
            *newest = place;
        }
    }
    closedir(list);
    return status;
}

/* A folder that cannot be listed may hold some: whoever opens the newest of them hears why. */
bool checkpoint_is_there(const char *folder)
{
    checkpoint_place newest;
    const weft_status status = newest_below(folder, THE_END, &newest);
    weft_error_clear();
    return status != WEFT_OK ? status != WEFT_ERR_NOINPUT : newest.trained >= 0;
}

/* The newest good one before `limit`. */
static weft_status open_newest(const char *folder, checkpoint_place limit, checkpoint *ck)
{
    char path[FILE_PATH_MAX];
    char defect[1024] = "";
    int tries = 1;
    checkpoint_place newest;
    WEFT_TRY(newest_below(folder, limit, &newest));
    checkpoint_place place = newest;
    for (checkpoint_place next; place.trained >= 0; place = next) {
        WEFT_TRY(newest_below(folder, place, &next));
        WEFT_TRY(checkpoint_name(path, folder, place));
        weft_status status = checkpoint_read(path, ck);
        if (status != WEFT_ERR_DATA && status != WEFT_ERR_NOINPUT) {
            return status;
        }
        checkpoint_place now;
        char message[1024];
        snprintf(message, sizeof message, "%s", weft_error_message());
        WEFT_TRY(newest_below(folder, limit, &now));
        if (checkpoint_is_before(newest, now) && tries < CHECKPOINT_TRIES) {
            /* A training went on, and may have removed what was the newest: from the beginning. */
            next = newest = now;
            defect[0] = '\0';
            tries += 1;
        } else {
            if (next.trained >= 0) {
                log_warn("%s; the checkpoint before it is used", message);
            }
            if (defect[0] == '\0') {
                snprintf(defect, sizeof defect, "%s", message);
            }
        }
        weft_error_clear();
    }
    WEFT_CHECK(defect[0] == '\0', WEFT_ERR_DATA, "%s: every checkpoint is damaged; the newest: %s", folder, defect);
    return weft_fail(WEFT_ERR_NOINPUT, "%s: holds no checkpoint", folder);
}

static bool holds(const char *folder, const char *name)
{
    char path[FILE_PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && file_exists(path);
}

static weft_status open_at(const char *path, checkpoint *ck)
{
    char folder[FILE_PATH_MAX];
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "%s: no such checkpoint or run folder", path);
    if (holds(path, "manifest.json") || holds(path, "manifest.xxh3")) {
        WEFT_CHECK(
            holds(path, "manifest.xxh3"), WEFT_ERR_NOINPUT,
            "%s: is no checkpoint (no manifest.xxh3 in it): name a run folder, or a checkpoint in its folder ckpt",
            path);
        return checkpoint_read(path, ck);
    }
    if (holds(path, "ckpt")) {
        WEFT_TRY(file_path(folder, "%s/ckpt", path));
        return open_newest(folder, THE_END, ck);
    }
    return open_newest(path, THE_END, ck);
}

weft_status checkpoint_open(const char *path, checkpoint **ck)
{
    *ck = NULL;
    checkpoint *fresh = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&fresh, 1, WEFT_MEM_GENERAL));
    weft_status status = open_at(path, fresh);
    if (status != WEFT_OK) {
        weft_free(fresh);
        return status;
    }
    *ck = fresh;
    return WEFT_OK;
}

weft_status checkpoint_open_before(const checkpoint *ck, checkpoint **older)
{
    char folder[FILE_PATH_MAX];
    checkpoint_place place;
    checkpoint *fresh = NULL;
    *older = NULL;
    WEFT_TRY(file_path(folder, "%s", ck->path));
    char *slash = strrchr(folder, '/');
    WEFT_CHECK(slash != NULL && checkpoint_parse_name(slash + 1, &place), WEFT_ERR_NOINPUT,
               "%s: no other checkpoint is known beside it", ck->path);
    *slash = '\0';
    WEFT_TRY(WEFT_NEW_ZERO(&fresh, 1, WEFT_MEM_GENERAL));
    weft_status status = open_newest(folder, place, fresh);
    if (status != WEFT_OK) {
        weft_free(fresh);
        return status;
    }
    *older = fresh;
    return WEFT_OK;
}

void checkpoint_close(checkpoint *ck)
{
    if (ck != NULL) {
        checkpoint_forget(ck);
        weft_free(ck);
    }
}

/* ---- accessors ---- */

const char *checkpoint_path(const checkpoint *ck)
{
    return ck->path;
}

const train_progress *checkpoint_progress(const checkpoint *ck)
{
    return &ck->progress;
}

int checkpoint_ranks(const checkpoint *ck)
{
    return ck->ranks;
}

int checkpoint_threads(const checkpoint *ck)
{
    return ck->threads;
}

const char *checkpoint_version(const checkpoint *ck)
{
    return ck->version;
}

const char *checkpoint_data_hash(const checkpoint *ck)
{
    return ck->data_hash;
}

const char *checkpoint_sync(const checkpoint *ck)
{
    return ck->sync;
}

const char *checkpoint_option(const checkpoint *ck, const char *name)
{
    const json_value *value = json_find(ck->options, name);
    return value != NULL && value->kind == JSON_TEXT ? value->text : NULL;
}

weft_dtype checkpoint_dtype(const checkpoint *ck)
{
    return ck->dtype;
}

bool checkpoint_has_state(const checkpoint *ck)
{
    return ck->optimizer_steps > 0 || ck->content[0] != '\0';
}

const char *checkpoint_content(const checkpoint *ck)
{
    return ck->content;
}

weft_status checkpoint_moments(const checkpoint *ck, input_moments *moments)
{
    char path[FILE_PATH_MAX];
    npz_file *npz = NULL;
    *moments = (input_moments){.columns = 0};
    if (!ck->has_moments) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/" INPUT_MOMENTS_FILE, ck->path));
    WEFT_TRY(npz_open(path, &npz));
    weft_status status = input_moments_read(path, npz, moments);
    npz_close(npz);
    return status;
}

/* ---- parameters ---- */

static weft_status read_parameters(const checkpoint *ck, checkpoint_which which, const param_store *store, void *host)
{
    char path[FILE_PATH_MAX];
    int file = which == CHECKPOINT_BEST && ck->has[FILE_BEST] ? FILE_BEST : FILE_LAST;
    WEFT_TRY(file_path(path, "%s/%s", ck->path, checkpoint_file_names[file]));
    return checkpoint_read_named(path, store, host, store->elements);
}

weft_status checkpoint_load_shared(weft_comm *comm, const checkpoint *ck, checkpoint_which which, param_store *store)
{
    void *host = NULL;
    size_t item = weft_dtype_bytes(store->dtype);
    weft_status status = weft_malloc((size_t)store->elements, item, WEFT_MEM_WORKSPACE, &host);
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = read_parameters(ck, which, store, host);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_bcast(comm, 0, host, store->elements * (int64_t)item), status, done);
    status = tensor_upload(&store->value, host);
done:
    weft_free(host);
    return status;
}
