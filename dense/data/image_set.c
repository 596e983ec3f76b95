/* dense/data/image_set.c: see dense/data/image_set.h. A new way that data sets come in is a file and a row here. */
#include "dense/data/image_set.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "base/text/append.h"
#include "dense/data/decode/image_decode.h"
#include "dense/data/image_hash.h"
#include "dense/data/image_options.def"
#include "dense/data/image_reader.h"
#include "dense/data/image_store.h"
#include "io/text/foreign_file.h"
#include "machine/placement.h"

enum { MOMENT_SAMPLES = 1 << 16, CHANNELS_MAX = 3, NAMED_GREY = 3, GREY = 128 };

weft_mem_tag WEFT_MEM_IMAGE[1] = {{.text = "images"}};

/* In the order in which a path is looked at. */
static const image_reader *const readers[] = {&image_reader_synth,   &image_reader_idx, &image_reader_cifar,
                                              &image_reader_folders, &image_reader_tar, &image_reader_loose,
                                              &image_reader_classes};
enum { READERS = sizeof readers / sizeof readers[0] };

/* Folders of classes are looked for last: a folder with a set of another kind in it is none of them. */
static bool matches(const image_reader *reader, const char *path)
{
    return reader->matches(path) && (reader != &image_reader_classes || !image_inner_exists(path));
}

/* A reader could not look, for lack of memory or as a disk fails: another one must not win. */
static bool could_not_look(void)
{
    const weft_status failed = weft_error_code();
    return failed == WEFT_ERR_RESOURCE || failed == WEFT_ERR_IO;
}

/* The reader of a format whose files are there; else the first of that format, which says what is missing; NULL where
 * nobody could look, too. */
static const image_reader *reader_of(image_format format, const char *path)
{
    const image_reader *first = NULL;
    for (int i = 0; i < READERS; ++i) {
        const bool fits = format == IMAGE_FORMAT_AUTO || format == readers[i]->format;
        weft_error_clear();
        if (fits && matches(readers[i], path)) {
            return readers[i];
        }
        if (format == IMAGE_FORMAT_AUTO && could_not_look()) {
            return NULL;
        }
        first = first == NULL && fits && format != IMAGE_FORMAT_AUTO ? readers[i] : first;
    }
    return first;
}

/* Frames are files without classes. */
static weft_status find_frames(const image_options *options, const char *path, const image_reader **reader)
{
    const image_format asked = options->format;
    WEFT_CHECK(asked == IMAGE_FORMAT_AUTO || asked == IMAGE_FORMAT_LOOSE || asked == IMAGE_FORMAT_TAR, WEFT_ERR_USAGE,
               FLAG_MOTION ": frames are a folder or a tar of images without classes: leave " FLAG_IMAGE_FORMAT " out");
    WEFT_CHECK(strncmp(path, "synth:", 6) != 0, WEFT_ERR_USAGE,
               "%s: " FLAG_MOTION " looks at frames in a folder or a tar, which weft convert makes of synth:traffic",
               path);
    WEFT_CHECK(options->paths > 1 || file_exists(path), WEFT_ERR_NOINPUT, "%s: there is no such file or folder", path);
    *reader = options->paths <= 1 && image_reader_tar.matches(path) ? &image_reader_tar : &image_reader_loose;
    return WEFT_OK;
}

/* [in, out] path: becomes that of the set which a folder holds further down. */
static weft_status find_reader(const image_options *options, char path[FILE_PATH_MAX], const image_reader **reader)
{
    char inner[FILE_PATH_MAX] = "";
    weft_error_clear();
    WEFT_CHECK(options->format == IMAGE_FORMAT_AUTO || options->format == IMAGE_FORMAT_SYNTH ||
                   !image_reader_synth.matches(path),
               WEFT_ERR_USAGE,
               "%s: images that are made have no files, and so no other format than synth: leave " FLAG_IMAGE_FORMAT
               " out",
               path);
    if (options->text != NULL) {
        *reader = &image_reader_text;
        return WEFT_OK;
    }
    if (options->motion) {
        return find_frames(options, path, reader);
    }
    *reader = options->paths > 1 ? &image_reader_loose : reader_of(options->format, path);
    if (*reader == NULL && could_not_look()) {
        return weft_error_code();
    }
    if (*reader == NULL && file_exists(path)) {
        WEFT_TRY(image_inner_find(path, inner));
    }
    if (inner[0] != '\0') {
        log_info("%s: the images of %s", path, inner);
        snprintf(path, FILE_PATH_MAX, "%s", inner);
        *reader = reader_of(options->format, path);
    }
    if (*reader != NULL) {
        return WEFT_OK;
    }
    struct stat facts;
    WEFT_CHECK(stat(path, &facts) == 0, WEFT_ERR_NOINPUT, "%s: there is no such file or folder", path);
    WEFT_TRY(S_ISDIR(facts.st_mode) ? WEFT_OK : foreign_file_refuse(path));
    return weft_fail(WEFT_ERR_DATA,
                     "%s: no data set of images: expected a folder with train-images-idx3-ubyte (MNIST), "
                     "data_batch_*.bin or train.bin (CIFAR), or train/CLASS/*.jpg, or a tar of the last, or, to be "
                     "answered, images alone; see docs/formats.md",
                     path);
}

bool image_set_looks_like(const char *path)
{
    if (strncmp(path, "synth:", strlen("synth:")) == 0) {
        return image_reader_synth.matches(path); /* no file has to be looked for */
    }
    for (int i = 0; i < READERS; ++i) {
        weft_error_clear();
        if (readers[i]->matches(path) || could_not_look()) {
            return true;
        }
    }
    return image_inner_exists(path);
}

/* paths: of which `path` is the first. */
static void name_set(const char *path, int paths, image_set *set)
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
    if (paths > 1) {
        text_append(set->name, sizeof set->name, " and %d more", paths - 1);
    }
}

const char *image_memory_flag(const image_options *options)
{
    return options->memory_flag != NULL ? options->memory_flag : FLAG_CACHE_MEMORY;
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

/* A trained model answers for training images where there are no others. */
static void test_training_images(const char *path, const image_options *options, image_set *set)
{
    image_part *part = set->store->part;
    if (options->scores_training || part[IMAGE_VALID].count + part[IMAGE_TEST].count > 0) {
        return;
    }
    log_info("%s: no images for validation or test: the others take their place", path);
    weft_free(part[IMAGE_TEST].owned);
    part[IMAGE_TEST] = part[IMAGE_TRAIN];
    part[IMAGE_TRAIN] = (image_part){.count = 0};
}

static weft_status divide(const char *path, const image_options *options, image_set *set)
{
    if (options->trained && set->classes > 0) {
        test_training_images(path, options, set);
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        set->count[s] = set->store->part[s].count;
    }
    set->scores_training = options->scores_training;
    const bool trains = set->classes > 0 && !options->trained; /* loose images: there is nothing to train with */
    WEFT_TRY(trains ? set_apart(path, options, set) : WEFT_OK);
    memcpy(set->labelled, set->count, sizeof set->labelled);
    return WEFT_OK;
}

static weft_status open_local(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    const image_reader *reader;
    char place[FILE_PATH_MAX];
    WEFT_TRY(WEFT_NEW_ZERO(&set->store, 1, WEFT_MEM_GENERAL));
    set->store->strict = options->strict;
    WEFT_TRY(file_path(place, "%s", path));
    WEFT_TRY(find_reader(options, place, &reader));
    set->format = reader->format;
    name_set(path, options->paths, set);
    WEFT_TRY(reader->open(comm, place, options, set));
    if (options->teacher != NULL) {
        WEFT_TRY(image_set_teach(options->teacher, options->temperature, options->trained, set));
    }
    WEFT_TRY(options->choose != NULL ? image_set_choose_classes(options->choose, options->learnt, set) : WEFT_OK);
    return divide(place, options, set);
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

/* The bound of every node, the same on all; *ranks: of the node that has most, so that readers are told the same. */
static weft_status limit_memory(weft_comm *comm, image_options *options, int32_t *ranks)
{
    const uint64_t wanted = options->memory > 0 ? options->memory : placement_memory_available() / 2;
    int64_t least = wanted < (uint64_t)INT64_MAX ? (int64_t)wanted : INT64_MAX;
    *ranks = comm_node_size(comm);
    WEFT_TRY(comm_allreduce(comm, &least, 1, WEFT_DTYPE_I64, COMM_MIN));
    WEFT_TRY(comm_allreduce(comm, ranks, 1, WEFT_DTYPE_I32, COMM_MAX));
    options->memory = least > 0 ? (uint64_t)least : 1;
    return WEFT_OK;
}

/* The number of the first sample of a part; of TRAIN_SPLITS: of all samples. */
static int64_t first_of(const image_store *store, int split)
{
    int64_t number = 0;
    for (int s = 0; s < split; ++s) {
        number += store->part[s].count;
    }
    return number;
}

/* ---- samples that are made ------------------------------------------------------------------------------------- */

/* A malformed sample is grey, for this job: the next one is to say so again. */
static weft_status decode(const image_set *set, int64_t number, uint8_t *pixels)
{
    image_store *store = set->store;
    const weft_status status = store->make(store->self, number, pixels);
    const bool grey = status == WEFT_ERR_DATA && !store->strict;
    if (status != WEFT_OK && !grey) {
        return status;
    }
    if (grey) {
        const int before = atomic_fetch_add(&store->grey, 1);
        if (before < NAMED_GREY) {
            log_warn_of(store->rank, "%s: taken as a grey image%s", weft_error_message(),
                        before == NAMED_GREY - 1 ? "; others like it are not named" : "");
        }
        memset(pixels, GREY, (size_t)image_set_bytes(set));
    }
    if (store->cache != NULL) {
        image_cache_put(store->cache, number, pixels, !grey);
    }
    return WEFT_OK;
}

static weft_status make(const image_set *set, int64_t number, uint8_t *pixels, image_level *level)
{
    image_store *store = set->store;
    if (store->stored && store->cache == NULL) {
        *level = IMAGE_FROM_MEMORY;
        return store->make(store->self, number, pixels);
    }
    *level = store->cache != NULL ? image_cache_take(store->cache, number, pixels) : IMAGE_FROM_SOURCE;
    return *level == IMAGE_FROM_SOURCE ? decode(set, number, pixels) : WEFT_OK;
}

static void note_level(const image_set *set, image_level level)
{
    atomic_fetch_add(&set->store->samples[level], 1);
}

/* This rank's part of what its memory holds. */
static weft_status fill_cache(const image_set *set, int threads)
{
    const image_store *store = set->store;
    int me;
    const int ranks = image_cache_ranks(store->cache, &me);
    first_failure failure = {.status = WEFT_OK};
    const hal_span own = hal_split_rows(image_cache_held(store->cache), ranks, me);
#pragma omp parallel num_threads(threads)
    {
        uint8_t *pixels = NULL;
        weft_status mine = WEFT_NEW(&pixels, image_set_bytes(set), WEFT_MEM_WORKSPACE);
#pragma omp for schedule(dynamic, 16)
        for (int64_t place = own.begin; place < own.end; ++place) {
            image_level level;
            if (mine == WEFT_OK) {
                mine = make(set, image_cache_number(store->cache, place), pixels, &level);
                if (!store->stored) {
                    note_level(set, level);
                }
            }
        }
        first_failure_note(&failure, 0, mine);
        weft_free(pixels);
    }
    return first_failure_tell(&failure);
}

/*
 * A set is kept by its node, but for one that needs no copy: stored samples that are mapped, or are unpacked on the
 * only rank of their node, or where there is no room for those of all ranks and the node's beside each other; and
 * decoded samples that are read once, because touching memory for them costs more than it saves. A packed archive is
 * kept by every rank until the node keeps its samples, so these are kept all the same. [out] store->kept: now of the
 * node that keeps most. Collective.
 */
static weft_status wants_cache(weft_comm *comm, const image_options *options, const image_set *set, bool *wanted)
{
    image_store *store = set->store;
    int64_t most[2] = {(int64_t)store->kept * comm_node_size(comm), comm_node_size(comm)};
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_I64, COMM_MAX));
    store->kept = (uint64_t)most[0];
    const uint64_t copy = image_cache_bytes(first_of(store, TRAIN_SPLITS), (size_t)image_set_bytes(set), (int)most[1]);
    const bool again = !options->once || options->cache_folder != NULL || most[0] > 0;
    *wanted = store->stored ? most[0] > 0 && most[1] > 1 && options->memory >= store->kept + copy : again;
    return WEFT_OK;
}

static weft_status create_cache(weft_comm *comm, const char *path, const image_options *options, const image_set *set)
{
    image_store *store = set->store;
    bool wanted;
    WEFT_TRY(wants_cache(comm, options, set, &wanted));
    if (!wanted) {
        return WEFT_OK;
    }
    image_key key;
    const int64_t size[] = {set->height, set->width, set->channels};
    image_set_identify(set, path, &key);
    image_hash_mix(key.place, size, sizeof size);
    image_hash_mix(key.identity, size, sizeof size);
    const image_disk_desc disk = {.folder = options->cache_folder,
                                  .bytes = options->cache_disk,
                                  .place = key.place,
                                  .identity = key.identity,
                                  .samples = first_of(store, TRAIN_SPLITS),
                                  .sample_bytes = (size_t)image_set_bytes(set)};
    const image_cache_desc desc = {.samples = disk.samples,
                                   .bytes = disk.sample_bytes,
                                   .memory = options->memory > store->kept ? options->memory - store->kept : 0,
                                   .threads = options->threads,
                                   .spread = !store->stored,
                                   .disk = options->cache_folder != NULL && !store->stored ? &disk : NULL};
    return image_cache_create(comm, &desc, &store->cache);
}

/*
 * Memories are filled at once, by their ranks together, where samples are spread, so that all know what is there; and
 * where a reader keeps on every rank what it makes them of, and a node has room for all: then that goes. Collective.
 */
static weft_status drain(weft_comm *comm, int threads, image_set *set)
{
    image_store *store = set->store;
    if (store->cache == NULL || (store->kept == 0 && !image_set_is_spread(set))) {
        return WEFT_OK;
    }
    const int64_t held = image_cache_held(store->cache);
    const bool all = held == first_of(store, TRAIN_SPLITS);
    if (image_set_is_spread(set)) {
        log_info("%s: each memory keeps %lld of %lld images, decoded now; the others are fetched", set->name,
                 (long long)held, (long long)first_of(store, TRAIN_SPLITS));
    }
    weft_status status = all || image_set_is_spread(set) ? fill_cache(set, threads) : WEFT_OK;
    WEFT_TRY(comm_agree(comm, status)); /* nobody asks for a sample that is not there */
    if (all && store->let_go != NULL) {
        store->let_go(store->self);
    } else if (all) {
        store->close(store->self);
        store->close = NULL;
    }
    return WEFT_OK;
}

weft_status image_set_open(weft_comm *comm, const char *path, const image_options *options, image_set **out)
{
    image_options limited = *options;
    image_set *set;
    int32_t ranks;
    *out = NULL;
    WEFT_TRY(limit_memory(comm, &limited, &ranks));
    image_options part = limited;
    part.memory = limited.memory > (uint64_t)ranks ? limited.memory / (uint64_t)ranks : 1;
    weft_status status = WEFT_NEW_ZERO(&set, 1, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? open_local(comm, path, &part, set) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(check_same(comm, path, set), status, done);
    set->store->rank = comm_rank(comm);
    WEFT_TRY_GOTO(create_cache(comm, path, &limited, set), status, done);
    WEFT_TRY_GOTO(drain(comm, limited.threads, set), status, done);
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
        image_cache_destroy(store->cache);
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            weft_free(store->part[s].owned);
        }
        teacher_close(&store->teacher);
        weft_free(store->taught);
    }
    if (set->class_name != NULL) {
        weft_free(set->class_name[0]);
    }
    WEFT_FREE_ALL(set->class_name, set->vocabulary, store, set);
}

int64_t image_set_channels(const image_set *set)
{
    return set->words > 0 ? 1 : set->channels;
}

int64_t image_set_bytes(const image_set *set)
{
    return set->height * set->width * set->channels;
}

const image_part *image_set_find(const image_set *set, int *split, int64_t *index)
{
    const image_store *store = set->store;
    if (store->held.n > 0 && *split != IMAGE_TEST) {
        const int64_t at = *split == IMAGE_VALID ? set->count[IMAGE_TRAIN] + *index : *index;
        *index = (int64_t)permute(&store->held, (uint64_t)at);
        *split = IMAGE_TRAIN;
    }
    return &store->part[*split];
}

weft_status image_set_read(const image_set *set, int split, int64_t index, uint8_t *pixels, int32_t *label)
{
    WEFT_CHECK(split >= 0 && split < TRAIN_SPLITS && index >= 0 && index < set->count[split], WEFT_ERR_INTERNAL,
               "image %lld of split %d is asked for", (long long)index, split);
    const image_part *part = image_set_find(set, &split, &index);
    *label = part->label[index];
    image_level level;
    WEFT_TRY(make(set, first_of(set->store, split) + index, pixels, &level));
    note_level(set, level);
    return WEFT_OK;
}

int32_t image_set_label(const image_set *set, int split, int64_t index)
{
    return image_set_find(set, &split, &index)->label[index];
}

int64_t image_set_evaluated(const image_set *set)
{
    return set->count[IMAGE_VALID] + set->count[IMAGE_TEST] + (set->scores_training ? set->count[IMAGE_TRAIN] : 0);
}

void image_set_evaluated_at(const image_set *set, int64_t position, int *split, int64_t *index)
{
    static const int order[TRAIN_SPLITS] = {IMAGE_VALID, IMAGE_TEST, IMAGE_TRAIN};
    int i = 0;
    assert(position >= 0 && position < image_set_evaluated(set));
    while (i + 1 < TRAIN_SPLITS && position >= set->count[order[i]]) {
        position -= set->count[order[i]];
        i += 1;
    }
    *split = order[i];
    *index = position;
}

void image_set_count_classes(const image_set *set, int64_t *by_class)
{
    memset(by_class, 0, (size_t)set->classes * sizeof *by_class);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const image_part *part = &set->store->part[s];
        for (int64_t i = 0; i < part->count; ++i) {
            assert(part->label[i] >= 0 && part->label[i] < set->classes);
            by_class[part->label[i]] += 1;
        }
    }
}

weft_status image_set_rename_classes(image_set *set, int64_t classes, char *const *names)
{
    if (set->class_name != NULL) {
        WEFT_FREE_ALL(set->class_name[0], set->class_name);
        set->class_name = NULL;
    }
    set->classes = classes;
    if (names == NULL || classes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(image_set_name_classes(set, classes));
    for (int64_t c = 0; c < classes; ++c) {
        snprintf(set->class_name[c], IMAGE_NAME_BYTES, "%s", names[c]);
    }
    return WEFT_OK;
}

/* Labels are the set's own: readers make them, of whatever they read. */
weft_status image_set_relabel(image_set *set, const int32_t *class_of, int64_t classes, char *const *names)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const image_part *part = &set->store->part[s];
        set->labelled[s] = part->count;
        for (int64_t i = 0; i < part->count; ++i) {
            part->label[i] = classes > 0 ? class_of[part->label[i]] : 0;
            set->labelled[s] -= part->label[i] < 0;
        }
    }
    return image_set_rename_classes(set, classes, names);
}

bool image_set_is_spread(const image_set *set)
{
    return set->store->cache != NULL && image_cache_is_spread(set->store->cache);
}

int image_set_server(const image_set *set, int split, int64_t index, int reader)
{
    if (!image_set_is_spread(set)) {
        return -1;
    }
    const image_cache *cache = set->store->cache;
    assert(split >= 0 && split < TRAIN_SPLITS && index >= 0 && index < set->count[split]);
    image_set_find(set, &split, &index);
    const int home = image_cache_home(cache, first_of(set->store, split) + index);
    return home >= 0 && reader >= 0 && image_cache_together(cache, home, reader) ? -1 : home;
}

weft_status image_set_serve(const image_set *set, int split, int64_t index, uint8_t *pixels)
{
    image_level level;
    image_set_find(set, &split, &index);
    return make(set, first_of(set->store, split) + index, pixels, &level);
}

void image_set_note_fetched(const image_set *set)
{
    note_level(set, IMAGE_FROM_NODES);
}

const char *image_set_file(const image_set *set, int split, int64_t index)
{
    const image_store *store = set->store;
    image_set_find(set, &split, &index);
    return store->name != NULL ? store->name(store->self, first_of(store, split) + index) : NULL;
}

item_origin image_set_origin(const image_set *set, int split, int64_t index)
{
    const image_store *store = set->store;
    image_set_find(set, &split, &index);
    return store->origin != NULL ? store->origin(store->self, first_of(store, split) + index) : (item_origin){.sum = 0};
}

image_use image_set_use(const image_set *set)
{
    image_use use = {.source_bytes = atomic_load(&set->store->source_bytes)};
    for (int level = 0; level < IMAGE_LEVELS; ++level) {
        use.samples[level] = atomic_load(&set->store->samples[level]);
    }
    return use;
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

/* What this rank has at hand, and of the rest its part. sum[0..] of values, sum[CHANNELS_MAX..] of squares */
static weft_status add_up(const image_set *set, int64_t begin, int64_t end, int64_t samples, int rank, uint8_t *pixels,
                          int64_t *sum)
{
    for (int64_t i = 0; i < samples; ++i) {
        int32_t label;
        const int home = image_set_server(set, IMAGE_TRAIN, i, -1);
        if (home >= 0 ? home != rank : i < begin || i >= end) {
            continue;
        }
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
    const hal_span own = hal_split_rows(samples, comm_size(comm), comm_rank(comm));
    int64_t sum[2 * CHANNELS_MAX] = {0};
    uint8_t *pixels = NULL;
    weft_status status = WEFT_NEW(&pixels, image_set_bytes(set), WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? add_up(set, own.begin, own.end, samples, comm_rank(comm), pixels, sum) : status;
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
