/* app/tune/search_population.c: see app/tune/search_population.h. */
#include "app/tune/search_population.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "train/checkpoint/checkpoint.h"
#include "tune/space/space_rules.h"

enum { FOLDERS_DEEP = 4 };

/* Weights keep their shapes and meaning whatever these are. */
weft_status population_check(const search_space *space)
{
    static const char *const changing[] = {"lr",      "weight-decay",  "momentum",      "label-smoothing",
                                           "dropout", "input-dropout", "value-dropout", "attention-dropout"};
    for (int d = 0; d < space->count; ++d) {
        bool found = false;
        for (size_t i = 0; i < sizeof changing / sizeof *changing; ++i) {
            found = found || strcmp(space->dimension[d].name, changing[i]) == 0;
        }
        WEFT_CHECK(found, WEFT_ERR_USAGE,
                   FLAG_SCHEDULER " pbt changes settings on the way, and %s cannot change there: search it by another "
                                  "scheduler, or take lr, weight-decay, momentum, label-smoothing and dropouts",
                   space->dimension[d].name);
    }
    return WEFT_OK;
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static weft_status copy_folder(const char *from, const char *to, int deep);

static weft_status copy_entry(const char *from, const char *to, const char *name, int deep)
{
    char source[FILE_PATH_MAX], goal[FILE_PATH_MAX];
    struct stat facts;
    WEFT_TRY(file_path(source, "%s/%s", from, name));
    WEFT_TRY(file_path(goal, "%s/%s", to, name));
    WEFT_CHECK(lstat(source, &facts) == 0, WEFT_ERR_IO, "%s: is gone", source);
    return S_ISDIR(facts.st_mode) ? copy_folder(source, goal, deep + 1) : file_copy(source, goal);
}

static weft_status copy_folder(const char *from, const char *to, int deep)
{
    weft_status status = WEFT_OK;
    WEFT_CHECK(deep < FOLDERS_DEEP, WEFT_ERR_DATA, "%s: is no checkpoint: its folders are too deep", from);
    WEFT_TRY(folder_make(to));
    DIR *folder = opendir(from);
    WEFT_CHECK(folder != NULL, WEFT_ERR_IO, "%s: cannot be read: a trial's checkpoint is to move from there", from);
    for (const struct dirent *entry = folder_next(folder, from, &status); entry != NULL && status == WEFT_OK;
         entry = status == WEFT_OK ? folder_next(folder, from, &status) : NULL) {
        if (entry->d_name[0] != '.') {
            status = copy_entry(from, to, entry->d_name, deep);
        }
    }
    (void)closedir(folder);
    return status;
}

/* All of it, or what was there before. */
static weft_status copy_checkpoint(const char *folder, int source, int trial)
{
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX], temporary[FILE_PATH_MAX];
    WEFT_TRY(desk_trial_path(folder, source, "ckpt", from));
    WEFT_TRY(desk_trial_path(folder, trial, "ckpt", to));
    WEFT_TRY(folder_begin(to, true, temporary));
    weft_status status = copy_folder(from, temporary, 0);
    if (status != WEFT_OK) {
        char why[FILE_PATH_MAX];
        (void)snprintf(why, sizeof why, "%s", weft_error_message());
        (void)folder_remove(temporary);
        return weft_fail(status, "%s", why);
    }
    return folder_commit(temporary, to, true);
}

weft_status population_exchange(search_desk *d)
{
    int count = 0;
    const sched_exploit *exploit = sched_lineage(d->sched, &count);
    for (; d->moved < count; ++d->moved) {
        WEFT_TRY(copy_checkpoint(d->folder, exploit[d->moved].source, exploit[d->moved].trial));
    }
    return WEFT_OK;
}

static const desk_descent *last_descent(const search_desk *d, int trial)
{
    const desk_descent *last = NULL;
    for (int i = 0; i < d->descents; ++i) {
        last = d->descent[i].trial == trial ? &d->descent[i] : last;
    }
    return last;
}

weft_status population_epoch(const search_desk *d, int trial, int64_t *epoch)
{
    char path[FILE_PATH_MAX];
    checkpoint *kept = NULL;
    const desk_descent *last = last_descent(d, trial);
    const int64_t begins = last != NULL ? last->resource * d->unit : 0;
    WEFT_TRY(desk_trial_path(d->folder, trial, "ckpt", path));
    const weft_status status = file_exists(path) ? checkpoint_open(path, &kept) : WEFT_ERR_NOINPUT;
    if (status != WEFT_OK && status != WEFT_ERR_NOINPUT && status != WEFT_ERR_DATA) {
        return status;
    }
    weft_error_clear();
    *epoch = kept != NULL ? checkpoint_progress(kept)->epoch : 0;
    checkpoint_close(kept);
    WEFT_CHECK(*epoch >= begins, WEFT_ERR_DATA,
               "%s: has no checkpoint of epoch %" PRId64
               " or later, where trial %d went on from the weights of trial %d: "
               "the search cannot go on without it; begin it anew with another --run-dir",
               path, begins, trial, last->source);
    return WEFT_OK;
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

/* A whole number moves by 1 at least. */
static double changed(const space_dimension *d, double value, const sched_change *change)
{
    const double side = change->factor > 1.0 ? 1.0 : -1.0;
    if (change->resample) {
        return space_value(d, change->uniform);
    }
    if (d->kind == SPACE_CHOICE) {
        const double next = value + side;
        return d->ordered ? fmin(fmax(next, d->low), d->high) : fmod(next + d->choices, d->choices);
    }
    double next = value * change->factor;
    if (space_is_whole(d)) {
        next = round(next) != value ? round(next) : value + side;
    }
    return fmin(fmax(next, d->low), d->high);
}

weft_status population_explore(search_desk *d, int trial, int source)
{
    const size_t bytes = (size_t)d->space->count * sizeof(double);
    double *values = d->trial[trial].values;
    WEFT_TRY(grow_array((void **)&d->descent, sizeof *d->descent, d->descents, &d->descent_room, WEFT_MEM_SEARCH));
    if (source >= 0) {
        memcpy(values, d->trial[source].values, bytes);
    }
    for (int k = 0; k < d->space->count && source >= 0; ++k) {
        const sched_change change = sched_explore(d->sched, trial, k);
        values[k] = changed(&d->space->dimension[k], values[k], &change);
    }
    space_settle(d->space, values);
    if (source >= 0 && !space_allows(d->space, values)) {
        memcpy(values, d->trial[source].values, bytes); /* a step over a constraint is not taken */
    }
    desk_descent *descent = &d->descent[d->descents];
    *descent = (desk_descent){.trial = trial, .source = source, .resource = sched_trial_at(d->sched, trial)->resource};
    WEFT_TRY(WEFT_NEW(&descent->values, d->space->count, WEFT_MEM_SEARCH));
    memcpy(descent->values, values, bytes);
    d->descents += 1;
    return WEFT_OK;
}

void population_free(search_desk *d)
{
    for (int i = 0; i < d->descents; ++i) {
        weft_free(d->descent[i].values);
    }
    weft_free(d->descent);
}

weft_status population_write(const search_state *s)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/lineage.csv", s->folder));
    WEFT_TRY(file_writer_open(path, &writer));
    fprintf(writer.stream, "trial,epoch,source");
    for (int k = 0; k < s->space.count; ++k) {
        fprintf(writer.stream, ",%s", s->space.dimension[k].name);
    }
    fputc('\n', writer.stream);
    for (int i = 0; i < s->desk.descents; ++i) {
        const desk_descent *descent = &s->desk.descent[i];
        fprintf(writer.stream, "%d,%" PRId64 ",", descent->trial, search_epoch_of(s, descent->resource));
        if (descent->source >= 0) {
            fprintf(writer.stream, "%d", descent->source);
        }
        search_write_values(s, descent->values, writer.stream);
        fputc('\n', writer.stream);
    }
    return file_writer_commit(&writer);
}
