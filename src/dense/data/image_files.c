/*
 * dense/data/image_files.c: see dense/data/image_files.h.
 *
 * Every image is looked at once, so that malformed ones are known before the first batch; where pixels stand in memory it
 * is decoded too. A rank looks at its share, and all hear of all.
 */
#include "dense/data/image_files.h"

#include <string.h>

#include <omp.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dense/data/image_list.h"
#include "dense/data/image_options.def"

enum { NAMED_MALFORMED = 3, GREY = 128 };

/* ---- all images, by all ranks ---------------------------------------------------------------------------------- */

typedef struct share {
    int64_t begin, end;
} share;

static share share_of(const weft_comm *comm, const image_files *files)
{
    share mine;
    hal_split_rows(files->count, comm_size(comm), comm_rank(comm), &mine.begin, &mine.end);
    return mine;
}

/* all [files] of `item` bytes = own of every rank, unless a rank comes with a failure. Collective. */
static weft_status gather(weft_comm *comm, const image_files *files, size_t item, weft_status status, const void *own,
                          void *all)
{
    int64_t *bytes = NULL;
    if (status == WEFT_OK) {
        status = WEFT_NEW(&bytes, comm_size(comm), WEFT_MEM_GENERAL);
    }
    status = comm_agree(comm, status);
    for (int r = 0; r < comm_size(comm) && bytes != NULL; ++r) {
        int64_t begin;
        int64_t end;
        hal_split_rows(files->count, comm_size(comm), r, &begin, &end);
        bytes[r] = (end - begin) * (int64_t)item;
    }
    if (status == WEFT_OK && bytes != NULL) {
        status = comm_allgatherv(comm, own, bytes[comm_rank(comm)], all, bytes);
    }
    weft_free(bytes);
    return status;
}

/* What is read of a share. A malformed image ends nothing; pixels [end - begin] of them, or NULL to look. */
static weft_status read_share(image_files *files, const share *mine, int threads, size_t image_bytes, uint8_t *pixels)
{
    weft_status status = WEFT_OK;
    char message[1024] = "";
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t i = mine->begin; i < mine->end; ++i) {
        uint8_t *to = pixels != NULL ? pixels + (size_t)(i - mine->begin) * image_bytes : NULL;
        const weft_status one = image_list_read(files, &files->file[i], to);
        if (one == WEFT_ERR_DATA) {
            files->file[i].height = 0;
        } else if (one != WEFT_OK) {
#pragma omp critical(image_files_failure)
            if (status == WEFT_OK) {
                status = one;
                snprintf(message, sizeof message, "%s", weft_error_message());
            }
        }
    }
    return status == WEFT_OK ? WEFT_OK : weft_fail(status, "%s", message);
}

/* Everybody learns the sizes that everybody found, unless a rank comes with a failure. Collective. */
static weft_status tell_sizes(weft_comm *comm, image_files *files, weft_status status)
{
    const share mine = share_of(comm, files);
    int32_t *all = NULL; /* [files, 2], and this rank's behind them */
    if (status == WEFT_OK) {
        status = WEFT_NEW(&all, 4 * (int64_t)files->count, WEFT_MEM_WORKSPACE);
    }
    int32_t *own = all != NULL ? all + 2 * (int64_t)files->count : NULL;
    for (int64_t i = mine.begin; i < mine.end && own != NULL; ++i) {
        own[2 * (i - mine.begin)] = files->file[i].height;
        own[2 * (i - mine.begin) + 1] = files->file[i].width;
    }
    status = gather(comm, files, 2 * sizeof *all, status, own, all);
    for (int i = 0; i < files->count && all != NULL && status == WEFT_OK; ++i) {
        files->file[i].height = all[2 * (int64_t)i];
        files->file[i].width = all[2 * (int64_t)i + 1];
    }
    weft_free(all);
    return status;
}

/* Malformed images leave the list; `pixels` NULL, or those of all, which close up. */
static weft_status leave_out(const char *path, image_files *files, const image_options *options, size_t image_bytes,
                             uint8_t *pixels, image_set *set)
{
    int kept = 0;
    for (int i = 0; i < files->count; ++i) {
        image_file *file = &files->file[i];
        if (file->height > 0) {
            if (pixels != NULL && kept < i) {
                memcpy(pixels + (size_t)kept * image_bytes, pixels + (size_t)i * image_bytes, image_bytes);
            }
            image_file moved = *file;
            *file = files->file[kept]; /* whose name is freed in the end */
            files->file[kept++] = moved;
            continue;
        }
        if (set->malformed < NAMED_MALFORMED || options->strict) {
            uint8_t *none = NULL;
            weft_status status = WEFT_OK;
            if (pixels != NULL) {
                status = WEFT_NEW(&none, image_bytes, WEFT_MEM_WORKSPACE);
            }
            status = status == WEFT_OK ? image_list_read(files, file, none) : status;
            weft_free(none);
            file->height = 0;
            if (status == WEFT_OK) {
                status = weft_fail(WEFT_ERR_IO, "%s: changed while it was read", file->name);
            }
            if (options->strict || status != WEFT_ERR_DATA) {
                return status;
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
    WEFT_CHECK(files->first[IMAGE_VALID] > 0, WEFT_ERR_DATA, "%s: no training image is left of %lld that are malformed",
               path, (long long)set->malformed);
    return WEFT_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

static weft_status choose_size(const char *path, const image_options *options, image_files *files, image_set *set)
{
    const image_file *first = &files->file[0];
    for (int i = 1; i < files->count && options->height == 0; ++i) {
        const image_file *file = &files->file[i];
        WEFT_CHECK(file->height == first->height && file->width == first->width, WEFT_ERR_DATA,
                   "%s: images of several sizes (%s: %d x %d, %s: %d x %d): choose one, e.g. " FLAG_IMAGE_SIZE
                   " 224x224",
                   path, first->name, first->height, first->width, file->name, file->height, file->width);
    }
    set->height = options->height > 0 ? options->height : first->height;
    set->width = options->height > 0 ? options->width : first->width;
    set->channels = options->channels > 0 ? options->channels : 3;
    WEFT_CHECK((set->channels == 1 || set->channels == 3) && set->width >= 1 && set->height <= IMAGE_SIDE_MAX &&
                   set->width <= IMAGE_SIDE_MAX && set->height * set->width <= IMAGE_PIXELS_MAX,
               WEFT_ERR_USAGE, "images of %lld x %lld pixels with %lld channels; sides from 1 to %d, 1 or 3 channels",
               (long long)set->height, (long long)set->width, (long long)set->channels, IMAGE_SIDE_MAX);
    files->wanted = (image_shape){.height = set->height, .width = set->width, .channels = set->channels};
    return WEFT_OK;
}

/* ---- into the set ---------------------------------------------------------------------------------------------- */

static weft_status fill_labels(image_files *files, image_set *set)
{
    int32_t *label;
    WEFT_TRY(WEFT_NEW(&label, files->count, WEFT_MEM_IMAGE));
    for (int i = 0; i < files->count; ++i) {
        label[i] = files->file[i].class;
    }
    set->store->part[IMAGE_TRAIN].owned[1] = label;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        set->store->part[s].count = image_list_split_end(files, s) - files->first[s];
        set->store->part[s].label = label + files->first[s];
    }
    return WEFT_OK;
}

/* All pixels into memory. */
static weft_status decode_all(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                              image_set *set)
{
    const size_t image_bytes = (size_t)image_set_bytes(set);
    const share mine = share_of(comm, files);
    uint8_t *own = NULL;
    uint8_t *pixels = NULL;
    weft_status status = weft_malloc((size_t)files->count, image_bytes, WEFT_MEM_IMAGE, (void **)&pixels);
    set->store->part[IMAGE_TRAIN].owned[0] = pixels;
    if (status == WEFT_OK) {
        status = weft_malloc((size_t)(mine.end - mine.begin), image_bytes, WEFT_MEM_IMAGE, (void **)&own);
    }
    if (status == WEFT_OK) {
        status = read_share(files, &mine, options->threads, image_bytes, own);
    }
    status = gather(comm, files, image_bytes, status, own, pixels);
    weft_free(own);
    WEFT_TRY(tell_sizes(comm, files, status));
    WEFT_TRY(comm_agree(comm, leave_out(path, files, options, image_bytes, pixels, set)));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        set->store->part[s].pixels = pixels + (size_t)files->first[s] * image_bytes;
    }
    return WEFT_OK;
}

static weft_status make_image(void *self, int split, int64_t index, uint8_t *pixels)
{
    image_files *files = self;
    image_file *file = &files->file[files->first[split] + index];
    weft_status status = image_list_read(files, file, pixels);
    if (status == WEFT_ERR_DATA && !files->strict) {
        if (atomic_fetch_add(&files->grey, 1) < NAMED_MALFORMED) {
            log_warn("%s: taken as a grey image", weft_error_message());
        }
        memset(pixels, GREY, (size_t)(files->wanted.height * files->wanted.width * files->wanted.channels));
        return WEFT_OK;
    }
    return status;
}

static void close_store(void *self)
{
    image_files_destroy(self);
}

weft_status image_files_open(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                             image_files_load load, void *self, void (*close)(void *self), image_set *set)
{
    set->store->self = files;
    set->store->make = make_image;
    set->store->close = close_store;
    files->load = load;
    files->self = self;
    files->close = close;
    files->strict = options->strict;
    WEFT_TRY(comm_agree(comm, image_list_sort(path, files, set)));
    const share mine = share_of(comm, files);
    WEFT_TRY(tell_sizes(comm, files, read_share(files, &mine, options->threads, 0, NULL)));
    WEFT_TRY(comm_agree(comm, leave_out(path, files, options, 0, NULL, set)));
    WEFT_TRY(choose_size(path, options, files, set));
    const uint64_t all = (uint64_t)files->count * (uint64_t)image_set_bytes(set);
    const bool held = all <= options->memory;
    if (held) {
        WEFT_TRY(decode_all(comm, path, options, files, set));
    } else {
        image_list_size_benches(files);
    }
    if (set->malformed > 0) {
        log_warn("%s: %lld malformed images are left out", path, (long long)set->malformed);
    }
    WEFT_TRY(fill_labels(files, set));
    if (held) { /* nothing is read any more */
        set->store->close = NULL;
        image_files_destroy(files);
    }
    return WEFT_OK;
}
