/* dense/data/image_set.c: see dense/data/image_set.h. A new way that data sets come in is a file and a row here. */
#include "dense/data/image_set.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "dense/data/image_store.h"
#include "machine/placement.h"

enum { MOMENT_SAMPLES = 1 << 16, CHANNELS_MAX = 3 };

weft_mem_tag WEFT_MEM_IMAGE[1] = {{.text = "images"}};

/* In the order in which a path is looked at. */
static const image_reader *const readers[] = {&image_reader_synth, &image_reader_idx, &image_reader_cifar,
                                              &image_reader_folders, &image_reader_tar};
enum { READERS = sizeof readers / sizeof readers[0] };

static weft_status find_reader(const char *path, const image_options *options, const image_reader **reader)
{
    weft_error_clear();
    for (int i = 0; i < READERS; ++i) {
        *reader = readers[i];
        if (options->format == readers[i]->format ||
            (options->format == IMAGE_FORMAT_AUTO && readers[i]->matches(path))) {
            return WEFT_OK;
        }
    }
    if (weft_error_code() == WEFT_ERR_RESOURCE) {
        return WEFT_ERR_RESOURCE; /* nobody could look */
    }
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "%s: there is no such file or folder", path);
    return weft_fail(WEFT_ERR_DATA,
                     "%s: no data set of images: expected a folder with train-images-idx3-ubyte (MNIST), "
                     "data_batch_*.bin or train.bin (CIFAR), or train/CLASS/*.jpg, or a tar of the last; see "
                     "docs/formats.md",
                     path);
}

bool image_set_looks_like(const char *path)
{
    for (int i = 0; i < READERS; ++i) {
        if (readers[i]->matches(path)) {
            return true;
        }
    }
    return false;
}

static void name_set(const char *path, image_set *set)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end -= 1;
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') {
        begin -= 1;
    }
    snprintf(set->name, sizeof set->name, "%.*s", (int)(end - begin), path + begin);
}

void image_set_mix(image_set *set, const void *data, size_t bytes)
{
    char both[2 * sizeof set->hash];
    memcpy(both, set->hash, sizeof set->hash);
    file_hash(data, bytes, both + sizeof set->hash);
    file_hash(both, sizeof both, set->hash);
}

weft_status image_set_name_classes(image_set *set, int64_t classes)
{
    char *texts;
    WEFT_TRY(WEFT_NEW_ZERO(&set->class_name, classes, WEFT_MEM_GENERAL));
    weft_status status = weft_calloc((size_t)classes, IMAGE_NAME_BYTES, WEFT_MEM_GENERAL, (void **)&texts);
    if (status != WEFT_OK) {
        weft_free(set->class_name);
        set->class_name = NULL;
        return status;
    }
    for (int64_t c = 0; c < classes; ++c) {
        set->class_name[c] = texts + c * IMAGE_NAME_BYTES;
    }
    return WEFT_OK;
}

static weft_status set_apart(const char *path, const image_options *options, image_set *set)
{
    image_store *store = set->store;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        set->count[s] = store->part[s].count;
    }
    WEFT_CHECK(set->count[IMAGE_TRAIN] > 0, WEFT_ERR_DATA, "%s: holds no training image", path);
    if (options->valid == 0 || set->count[IMAGE_VALID] > 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(options->valid > 0 && options->valid < set->count[IMAGE_TRAIN], WEFT_ERR_USAGE,
               "%s: %lld images set apart for validation of %lld for training: at least one must be left", path,
               (long long)options->valid, (long long)set->count[IMAGE_TRAIN]);
    store->held = permutation_make((uint64_t)set->count[IMAGE_TRAIN], options->seed, WEFT_RNG_SPLIT, 0);
    set->count[IMAGE_VALID] = options->valid;
    set->count[IMAGE_TRAIN] -= options->valid;
    return WEFT_OK;
}

static weft_status open_local(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    const image_reader *reader;
    WEFT_TRY(WEFT_NEW_ZERO(&set->store, 1, WEFT_MEM_GENERAL));
    WEFT_TRY(find_reader(path, options, &reader));
    set->format = reader->format;
    name_set(path, set);
    WEFT_TRY(reader->open(comm, path, options, set));
    return set_apart(path, options, set);
}

/* Ranks that see different files, on disks of their own, would train on different data. */
static weft_status check_same(weft_comm *comm, const char *path, const image_set *set)
{
    char first[sizeof set->hash];
    memcpy(first, set->hash, sizeof first);
    WEFT_TRY(comm_bcast(comm, 0, first, sizeof first));
    weft_status mine = WEFT_OK;
    if (memcmp(first, set->hash, sizeof first) != 0) {
        mine = weft_fail(WEFT_ERR_DATA, "%s: other contents on rank %d (hash %s) than on rank 0 (%s)", path,
                         comm_rank(comm), set->hash, first);
    }
    return comm_agree(comm, mine);
}

/* The same on all ranks, which must agree on whether pixels stand in memory. */
static weft_status limit_memory(weft_comm *comm, image_options *options)
{
    const uint64_t free_bytes = placement_memory_available() / 2 / (uint64_t)comm_node_size(comm);
    const uint64_t wanted = options->memory > 0 ? options->memory : free_bytes;
    int64_t least = wanted < (uint64_t)INT64_MAX ? (int64_t)wanted : INT64_MAX;
    WEFT_TRY(comm_allreduce(comm, &least, 1, WEFT_DTYPE_I64, COMM_MIN));
    options->memory = least > 0 ? (uint64_t)least : 1;
    return WEFT_OK;
}

weft_status image_set_open(weft_comm *comm, const char *path, const image_options *options, image_set **out)
{
    image_options limited = *options;
    image_set *set;
    *out = NULL;
    WEFT_TRY(limit_memory(comm, &limited));
    weft_status status = WEFT_NEW_ZERO(&set, 1, WEFT_MEM_GENERAL);
    if (status == WEFT_OK) {
        status = open_local(comm, path, &limited, set);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(check_same(comm, path, set), status, done);
    *out = set;
    return WEFT_OK;
done:
    image_set_close(set);
    return status;
}

void image_set_close(image_set *set)
{
    if (set == NULL) {
        return;
    }
    image_store *store = set->store;
    if (store != NULL) {
        if (store->close != NULL) {
            store->close(store->self);
        }
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            weft_free(store->part[s].owned[0]);
            weft_free(store->part[s].owned[1]);
        }
    }
    if (set->class_name != NULL) {
        weft_free(set->class_name[0]);
    }
    weft_free(set->class_name);
    weft_free(store);
    weft_free(set);
}

int64_t image_set_bytes(const image_set *set)
{
    return set->height * set->width * set->channels;
}

weft_status image_set_read(const image_set *set, int split, int64_t index, uint8_t *pixels, int32_t *label)
{
    const image_store *store = set->store;
    WEFT_CHECK(split >= 0 && split < TRAIN_SPLITS && index >= 0 && index < set->count[split], WEFT_ERR_INTERNAL,
               "image %lld of split %d is asked for", (long long)index, split);
    if (store->held.n > 0 && split != IMAGE_TEST) {
        index =
            (int64_t)permute(&store->held, (uint64_t)(split == IMAGE_VALID ? set->count[IMAGE_TRAIN] + index : index));
        split = IMAGE_TRAIN;
    }
    const image_part *part = &store->part[split];
    *label = part->label[index];
    if (part->pixels == NULL) {
        return store->make(store->self, split, index, pixels);
    }
    memcpy(pixels, part->pixels + index * image_set_bytes(set), (size_t)image_set_bytes(set));
    return WEFT_OK;
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

/* sum[0..] of values, sum[CHANNELS_MAX..] of squares */
static weft_status add_up(const image_set *set, int64_t begin, int64_t end, uint8_t *pixels, int64_t *sum)
{
    for (int64_t i = begin; i < end; ++i) {
        int32_t label;
        WEFT_TRY(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        for (int64_t p = 0; p < image_set_bytes(set); ++p) {
            const int64_t c = p % set->channels;
            sum[c] += pixels[p];
            sum[CHANNELS_MAX + c] += (int64_t)pixels[p] * pixels[p];
        }
    }
    return WEFT_OK;
}

weft_status image_set_moments(weft_comm *comm, const image_set *set, float *mean, float *deviation)
{
    const int64_t samples = set->count[IMAGE_TRAIN] < MOMENT_SAMPLES ? set->count[IMAGE_TRAIN] : MOMENT_SAMPLES;
    int64_t sum[2 * CHANNELS_MAX] = {0};
    int64_t begin;
    int64_t end;
    uint8_t *pixels = NULL;
    hal_split_rows(samples, comm_size(comm), comm_rank(comm), &begin, &end);
    weft_status status = WEFT_NEW(&pixels, image_set_bytes(set), WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK) {
        status = add_up(set, begin, end, pixels, sum);
    }
    weft_free(pixels);
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_allreduce(comm, sum, 2 * CHANNELS_MAX, WEFT_DTYPE_I64, COMM_SUM));
    const double values = (double)(samples * set->height * set->width);
    for (int64_t c = 0; c < set->channels; ++c) {
        const double m = (double)sum[c] / values / 255;
        const double variance = (double)sum[CHANNELS_MAX + c] / values / (255.0 * 255.0) - m * m;
        mean[c] = (float)m;
        deviation[c] = variance > 0 ? (float)sqrt(variance) : 1.0f;
    }
    return WEFT_OK;
}
