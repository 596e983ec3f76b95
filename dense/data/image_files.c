/*
 * dense/data/image_files.c: see dense/data/image_files.h.
 *
 * Every image is looked at once, so that sizes and malformed ones are known before the first batch. A rank looks at its
 * share, and all hear of all; with a folder on disk for what is kept, later jobs know it.
 */
#include "dense/data/image_files.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/log.h"
#include "dense/data/image_hash.h"
#include "dense/data/image_list.h"
#include "dense/data/image_moving.h"
#include "dense/data/image_options.def"
#include "dense/data/image_sizes.h"
#include "dense/data/image_store.h"

enum { NAMED_MALFORMED = 3, LOOKS = IMAGE_SIZES_COLUMNS };

/* ---- all images, by all ranks ---------------------------------------------------------------------------------- */

static hal_span share_of(const image_files *files, int ranks, int rank)
{
    return hal_split_rows(files->count, ranks, rank);
}

/* The sizes of this rank's images, 0 of malformed ones, which end nothing. */
static weft_status look_at_share(weft_comm *comm, image_files *files, int threads)
{
    const hal_span mine = share_of(files, comm_size(comm), comm_rank(comm));
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t i = mine.begin; i < mine.end; ++i) {
        const weft_status one = image_list_read(files, &files->file[i], NULL);
        first_failure_note(&failure, i, one == WEFT_ERR_DATA ? WEFT_OK : one);
    }
    return first_failure_tell(&failure);
}

/* all [files, LOOKS], and this rank's behind them: every rank looks at its share, unless one fails. Collective. */
static weft_status look_at_all(weft_comm *comm, image_files *files, int threads, int32_t *all, int64_t *bytes)
{
    const hal_span mine = share_of(files, comm_size(comm), comm_rank(comm));
    int32_t *own = all + LOOKS * (int64_t)files->count;
    WEFT_TRY(comm_agree(comm, look_at_share(comm, files, threads)));
    for (int64_t i = mine.begin; i < mine.end; ++i) {
        int32_t *look = own + LOOKS * (i - mine.begin);
        look[0] = files->file[i].height;
        look[1] = files->file[i].width;
        look[2] = files->file[i].channels;
        memcpy(&look[3], &files->file[i].sum, sizeof files->file[i].sum);
    }
    for (int r = 0; r < comm_size(comm); ++r) {
        const hal_span of = share_of(files, comm_size(comm), r);
        bytes[r] = (of.end - of.begin) * LOOKS * (int64_t)sizeof *all;
    }
    return comm_allgatherv(comm, own, bytes[comm_rank(comm)], all, bytes);
}

/* The same, unless rank 0 knows them of an earlier job. Collective. */
static weft_status find_sizes(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                              const image_set *set, int32_t *all, int64_t *bytes)
{
    image_key key;
    int32_t known = 0;
    const bool keeps = options->cache_folder != NULL && comm_rank(comm) == 0;
    image_set_identify(set, path, &key);
    if (keeps) {
        known = image_sizes_read(options->cache_folder, &key, files->count, all);
    }
    WEFT_TRY(comm_bcast(comm, 0, &known, sizeof known));
    if (known) {
        return comm_bcast(comm, 0, all, LOOKS * (int64_t)files->count * (int64_t)sizeof *all);
    }
    WEFT_TRY(look_at_all(comm, files, options->threads, all, bytes));
    if (keeps) {
        image_sizes_write(options->cache_folder, &key, files->count, all);
    }
    return WEFT_OK;
}

/* Every file has its size, 0 of malformed ones. Collective. */
static weft_status learn_sizes(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                               const image_set *set)
{
    int32_t *all = NULL;
    int64_t *bytes = NULL;
    weft_status status = WEFT_NEW(&all, 2 * LOOKS * (int64_t)files->count, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&bytes, comm_size(comm), WEFT_MEM_WORKSPACE) : status;
    status = comm_agree(comm, status);
    if (all != NULL && bytes != NULL && status == WEFT_OK) {
        status = find_sizes(comm, path, options, files, set, all, bytes);
    }
    for (int64_t i = 0; i < files->count && all != NULL && status == WEFT_OK; ++i) {
        files->file[i].height = all[LOOKS * i];
        files->file[i].width = all[LOOKS * i + 1];
        files->file[i].channels = all[LOOKS * i + 2];
        memcpy(&files->file[i].sum, &all[LOOKS * i + 3], sizeof files->file[i].sum);
    }
    WEFT_FREE_ALL(all, bytes);
    return status;
}

static weft_status look_again(image_files *files, image_file *file)
{
    weft_status status = image_list_read(files, file, NULL);
    file->height = 0;
    return status == WEFT_OK ? weft_fail(WEFT_ERR_IO, "%s: changed while it was read", file->name) : status;
}

static weft_status leave_out(const char *path, image_files *files, const image_options *options, image_set *set)
{
    const bool strict = options->strict;
    const bool trains = !image_list_is_loose(files) && !options->trained;
    int kept = 0;
    for (int i = 0; i < files->count; ++i) {
        image_file *file = &files->file[i];
        if (file->height > 0) {
            image_file moved = *file;
            *file = files->file[kept]; /* whose name is freed in the end */
            files->file[kept++] = moved;
            continue;
        }
        if (set->malformed < NAMED_MALFORMED || image_list_is_loose(files) || strict) {
            const weft_status status = look_again(files, file);
            if (strict || status != WEFT_ERR_DATA) {
                return weft_fail_name(status, path);
            }
            log_warn("%s: left out", weft_error_message());
        }
        set->malformed += 1;
    }
    for (int i = kept; i < files->count; ++i) {
        weft_free(files->file[i].name);
    }
    files->count = kept;
    image_list_find_splits(files);
    WEFT_CHECK((trains ? image_list_split_end(files, IMAGE_TRAIN) : kept) > 0, WEFT_ERR_DATA,
               "%s: no %simage is left of %lld that are malformed", path, trains ? "training " : "",
               (long long)set->malformed);
    return WEFT_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

/* Grey images stay grey where all are. */
static int64_t channels_of(const image_files *files)
{
    for (int i = 0; i < files->count; ++i) {
        if (files->file[i].channels != 1) {
            return 3;
        }
    }
    return 1;
}

static weft_status choose_size(const char *path, const image_options *options, image_files *files, image_set *set)
{
    const image_file *first = &files->file[0];
    WEFT_CHECK(!files->frames || options->height > 0, WEFT_ERR_USAGE,
               "%s: moving boxes have any size: choose the one that they are brought to, e.g. " FLAG_IMAGE_SIZE
               " 32x32",
               path);
    for (int i = 1; i < files->count && options->height == 0; ++i) {
        const image_file *file = &files->file[i];
        WEFT_CHECK(file->height == first->height && file->width == first->width, WEFT_ERR_DATA,
                   "%s: images of several sizes (%s: %d x %d, %s: %d x %d): choose one, e.g. " FLAG_IMAGE_SIZE
                   " 224x224",
                   path, first->name, first->height, first->width, file->name, file->height, file->width);
    }
    set->height = options->height > 0 ? options->height : first->height;
    set->width = options->height > 0 ? options->width : first->width;
    set->channels = options->channels > 0 ? options->channels : channels_of(files);
    WEFT_CHECK(options->height > 0 || (set->height <= IMAGE_SIDE_MAX && set->width <= IMAGE_SIDE_MAX), WEFT_ERR_DATA,
               "%s: %s: %lld x %lld pixels; sides have up to %d: choose a size, e.g. " FLAG_IMAGE_SIZE " 224x224", path,
               first->name, (long long)set->height, (long long)set->width, IMAGE_SIDE_MAX);
    WEFT_CHECK((set->channels == 1 || set->channels == 3) && set->width >= 1 && set->height <= IMAGE_SIDE_MAX &&
                   set->width <= IMAGE_SIDE_MAX && set->height * set->width <= IMAGE_PIXELS_MAX,
               WEFT_ERR_USAGE, "images of %lld x %lld pixels with %lld channels; sides from 1 to %d, 1 or 3 channels",
               (long long)set->height, (long long)set->width, (long long)set->channels, IMAGE_SIDE_MAX);
    files->wanted = (image_shape){.height = set->height, .width = set->width, .channels = set->channels};
    return WEFT_OK;
}

/* ---- into the set ---------------------------------------------------------------------------------------------- */

/* Boxes have no classes. */
static weft_status fill_boxes(const image_moving *moving, image_set *set)
{
    image_part *part = &set->store->part[IMAGE_TEST];
    WEFT_TRY(WEFT_NEW_ZERO(&part->label, moving->count, WEFT_MEM_IMAGE));
    part->owned = part->label;
    part->count = moving->count;
    image_hash_mix(set->hash, moving->box, (size_t)moving->count * sizeof *moving->box);
    log_info("%s: %lld boxes of %lld tracks move", set->name, (long long)moving->count, (long long)moving->tracks);
    return WEFT_OK;
}

static weft_status fill_labels(image_files *files, image_set *set)
{
    int32_t *label;
    WEFT_TRY(WEFT_NEW(&label, files->count, WEFT_MEM_IMAGE));
    for (int i = 0; i < files->count; ++i) {
        label[i] = files->file[i].class;
    }
    set->store->part[IMAGE_TRAIN].owned = label;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        set->store->part[s].count = image_list_split_end(files, s) - files->first[s];
        set->store->part[s].label = label + files->first[s];
    }
    return WEFT_OK;
}

static weft_status make_image(void *self, int64_t number, uint8_t *pixels)
{
    image_files *files = self;
    return files->moving != NULL ? image_moving_cut(files, number, pixels)
                                 : image_list_read(files, &files->file[number], pixels);
}

static const char *name_of(void *self, int64_t number)
{
    const image_files *files = self;
    return files->moving != NULL ? files->moving->names + files->moving->name_at[number] : files->file[number].name;
}

static item_origin origin_of(void *self, int64_t number)
{
    const image_files *files = self;
    return files->moving != NULL ? image_moving_origin(files, number) : (item_origin){.sum = files->file[number].sum};
}

static void close_store(void *self)
{
    image_files_destroy(self);
}

static void let_go(void *self)
{
    image_files_close_reader(self);
}

weft_status image_files_open(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                             image_files_load load, void *self, void (*close)(void *self), image_set *set)
{
    set->store->self = files;
    set->store->make = make_image;
    set->store->name = name_of;
    set->store->origin = origin_of;
    set->store->close = close_store;
    set->store->let_go = let_go;
    files->load = load;
    files->self = self;
    files->close = close;
    files->source_bytes = &set->store->source_bytes;
    files->frames = options->motion;
    WEFT_TRY(comm_agree(comm, image_list_sort(path, files, options->trained, set)));
    WEFT_TRY(learn_sizes(comm, path, options, files, set));
    WEFT_TRY(comm_agree(comm, leave_out(path, files, options, set)));
    WEFT_TRY(choose_size(path, options, files, set));
    image_list_size_benches(files);
    if (set->malformed > 0) {
        log_warn("%s: %lld malformed images are left out", path, (long long)set->malformed);
    }
    if (!files->frames) {
        return fill_labels(files, set);
    }
    WEFT_TRY(image_moving_find(comm, path, options, files));
    return fill_boxes(files->moving, set);
}
