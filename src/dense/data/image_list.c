/* dense/data/image_list.c: see dense/data/image_list.h. */
#include "dense/data/image_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/number.h"

enum { LOOK_BYTES = 1 << 14, FILE_BYTES_MAX = 1 << 30, DECODED_BYTES = 4 /* of a pixel, at most */, FIRST_SLOTS = 64 };

/* ---- names ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    int split;
} split_words[] = {{"train", IMAGE_TRAIN},
                   {"val", IMAGE_VALID},
                   {"valid", IMAGE_VALID},
                   {"validation", IMAGE_VALID},
                   {"test", IMAGE_TEST}};
enum { SPLIT_WORDS = sizeof split_words / sizeof split_words[0] };

/* The part before `end` up to the slash before it. */
static const char *part_before(const char *name, const char *end)
{
    while (end > name && end[-1] != '/') {
        end -= 1;
    }
    return end;
}

bool image_files_takes_loose(const char *file)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    const char *dot = strrchr(file, '.');
    for (int i = 0; i < 3 && dot != NULL && dot > file; ++i) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return file[0] != '.';
        }
    }
    return false;
}

/* SPLIT/CLASS/FILE at the end of a name; false: it is none. */
static bool understand(const char *name, int32_t *split, const char **tail)
{
    const char *file = part_before(name, name + strlen(name));
    if (file - name < 2 || !image_files_takes_loose(file)) {
        return false;
    }
    const char *class = part_before(name, file - 1);
    if (class - name < 2 || class + 1 == file || file - class > IMAGE_NAME_BYTES || strncmp(class, "./", 2) == 0 ||
        strncmp(class, "../", 3) == 0) {
        return false;
    }
    const char *word = part_before(name, class - 1);
    *tail = class;
    for (int i = 0; i < SPLIT_WORDS; ++i) {
        const size_t length = strlen(split_words[i].word);
        if ((size_t)(class - 1 - word) == length && strncmp(word, split_words[i].word, length) == 0) {
            *split = split_words[i].split;
            return true;
        }
    }
    return false;
}

int64_t image_changed(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

bool image_files_takes(const char *name)
{
    int32_t split;
    const char *tail;
    return understand(name, &split, &tail);
}

/* ---- what is left out ------------------------------------------------------------------------------------------ */

static bool begins_with(const char *text, const char *start)
{
    return strncasecmp(text, start, strlen(start)) == 0;
}

/* Texts and tables about images, and what systems leave behind, at any place. */
static bool lies_beside(const char *name)
{
    static const char *const endings[] = {".txt", ".csv", ".tsv", ".json", ".md", ".xml", ".yaml", ".yml"};
    const char *file = part_before(name, name + strlen(name));
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        const bool up = strcmp(part, "..") == 0 || begins_with(part, "../");
        if ((part[0] == '.' && part[1] != '/' && part[1] != '\0' && !up) || begins_with(part, "__MACOSX/")) {
            return true;
        }
    }
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && dot != NULL; ++i) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return begins_with(file, "README") || begins_with(file, "LICENSE") || strcasecmp(file, "Thumbs.db") == 0;
}

void image_files_pass_over(image_files *files, const char *name)
{
    if (lies_beside(name)) {
        return;
    }
    if (files->passed == 0 || strcmp(name, files->first_passed) < 0) {
        snprintf(files->first_passed, sizeof files->first_passed, "%s", name);
    }
    files->passed += 1;
}

int64_t image_files_seen(const image_files *files)
{
    return files->count + files->passed;
}

void image_list_tell_passed(const char *path, const image_files *files)
{
    const char *what = files->loose ? "" : " in a class folder";
    if (files->passed == 1) {
        log_warn("%s: %s is no image%s and is left out", path, files->first_passed, what);
    } else if (files->passed > 1) {
        log_warn("%s: %lld entries are no images%s and are left out, the first is %s", path, (long long)files->passed,
                 what, files->first_passed);
    }
}

/* ---- files by their names -------------------------------------------------------------------------------------- */

weft_status image_files_create(bool loose, image_files **files)
{
    WEFT_TRY(WEFT_NEW_ZERO(files, 1, WEFT_MEM_GENERAL));
    (*files)->loose = loose;
    pthread_mutex_init(&(*files)->lock, NULL);
    return WEFT_OK;
}

static void free_bench(image_bench *bench)
{
    weft_free(bench->encoded);
    weft_free(bench->scratch.data);
    weft_free(bench);
}

void image_files_destroy(image_files *files)
{
    if (files == NULL) {
        return;
    }
    if (files->close != NULL) {
        files->close(files->self);
    }
    while (files->bench != NULL) {
        image_bench *bench = files->bench;
        files->bench = bench->next;
        free_bench(bench);
    }
    for (int i = 0; i < files->count; ++i) {
        weft_free(files->file[i].name);
    }
    weft_free(files->file);
    weft_free(files->slot);
    pthread_mutex_destroy(&files->lock);
    weft_free(files);
}

/* As an archive's member is unpacked: "./a" and "/a" are a. */
static const char *bare(const char *name)
{
    while (name[0] == '/' || (name[0] == '.' && name[1] == '/')) {
        name += 1;
    }
    return name;
}

/* Where a name stands, or would (FNV-1a; the next free slot). There is a free one. */
static int64_t slot_of(const image_files *files, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *at = bare(name); *at != '\0'; ++at) {
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3;
    }
    int64_t slot = (int64_t)((hash ^ hash >> 32) & (uint64_t)(files->slots - 1));
    while (files->slot[slot] != 0 && strcmp(bare(files->file[files->slot[slot] - 1].name), bare(name)) != 0) {
        slot = (slot + 1) & (files->slots - 1);
    }
    return slot;
}

/* Room for one more name; a quarter to a half of the slots is in use. */
static weft_status grow_slots(image_files *files)
{
    int32_t *slot;
    const int64_t slots = files->slots > 0 ? 2 * files->slots : FIRST_SLOTS;
    if (2 * ((int64_t)files->count + 1) <= files->slots) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&slot, slots, WEFT_MEM_GENERAL));
    weft_free(files->slot);
    files->slot = slot;
    files->slots = slots;
    for (int i = 0; i < files->count && files->file != NULL; ++i) {
        slot[slot_of(files, files->file[i].name)] = i + 1;
    }
    return WEFT_OK;
}

static image_file *find(const image_files *files, const char *name)
{
    const int32_t number = files->slots > 0 ? files->slot[slot_of(files, name)] : 0;
    return number > 0 ? &files->file[number - 1] : NULL;
}

bool image_files_find(const image_files *files, const char *name, image_place *place)
{
    const image_file *file = find(files, name);
    if (file != NULL) {
        *place = (image_place){.offset = file->offset, .bytes = file->bytes, .changed = file->changed};
    }
    return file != NULL;
}

weft_status image_files_add(image_files *files, const char *name, const image_place *place)
{
    int32_t split = IMAGE_TEST;
    const char *tail = name;
    char *copy;
    if (!files->loose && !understand(name, &split, &tail)) {
        return WEFT_OK;
    }
    WEFT_CHECK(place->bytes <= FILE_BYTES_MAX, WEFT_ERR_DATA, "%s: an image of %s; at most 1 GiB", name,
               number_say_bytes((uint64_t)place->bytes).text);
    image_file *known = find(files, name);
    if (known != NULL) {
        known->offset = place->offset;
        known->bytes = place->bytes;
        known->changed = place->changed;
        return WEFT_OK;
    }
    WEFT_TRY(grow_slots(files));
    WEFT_TRY(grow_array((void **)&files->file, sizeof *files->file, files->count, &files->capacity, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&copy, strlen(name) + 1, WEFT_MEM_GENERAL));
    memcpy(copy, name, strlen(name) + 1);
    files->file[files->count++] = (image_file){.name = copy,
                                               .tail = copy + (tail - name),
                                               .offset = place->offset,
                                               .bytes = place->bytes,
                                               .changed = place->changed,
                                               .split = split};
    files->slot[slot_of(files, name)] = files->count;
    return WEFT_OK;
}

/* ---- order and classes ----------------------------------------------------------------------------------------- */

static size_t class_length(const image_file *file)
{
    return strcspn(file->tail, "/");
}

static int by_class(const void *a, const void *b)
{
    const image_file *x = a;
    const image_file *y = b;
    const size_t shorter = class_length(x) < class_length(y) ? class_length(x) : class_length(y);
    const int order = strncmp(x->tail, y->tail, shorter);
    return order != 0 ? order : (class_length(x) > class_length(y)) - (class_length(x) < class_length(y));
}

static int by_place(const void *a, const void *b)
{
    const image_file *x = a;
    const image_file *y = b;
    if (x->split != y->split) {
        return x->split < y->split ? -1 : 1;
    }
    const int order = by_class(a, b) != 0 ? by_class(a, b) : strcmp(x->tail, y->tail);
    return order != 0 ? order : strcmp(x->name, y->name);
}

/* Classes are those of the training images, which come first. [out] first: file of each class; weft_free. */
static weft_status name_classes(const char *path, image_files *files, image_set *set, int **first)
{
    const int trained = files->first[IMAGE_VALID];
    WEFT_CHECK(trained > 0, WEFT_ERR_DATA,
               "%s: no training image: expected train/CLASS/NAME.jpg (or .jpeg, .png); other splits are val and test",
               path);
    for (int i = 0; i < trained; ++i) {
        set->classes += i == 0 || by_class(&files->file[i - 1], &files->file[i]) != 0;
        files->file[i].class = (int32_t)set->classes - 1;
    }
    WEFT_CHECK(set->classes <= IMAGE_CLASSES_MAX, WEFT_ERR_DATA, "%s: %lld classes; at most %d", path,
               (long long)set->classes, IMAGE_CLASSES_MAX);
    WEFT_TRY(image_set_name_classes(set, set->classes));
    WEFT_TRY(WEFT_NEW(first, set->classes, WEFT_MEM_GENERAL));
    for (int i = trained - 1; i >= 0; --i) {
        (*first)[files->file[i].class] = i;
    }
    for (int64_t k = 0; k < set->classes; ++k) {
        const image_file *file = &files->file[(*first)[k]];
        snprintf(set->class_name[k], IMAGE_NAME_BYTES, "%.*s", (int)class_length(file), file->tail);
    }
    return WEFT_OK;
}

/* The other splits, in the same order of classes, of which some may be missing. */
static weft_status class_others(const char *path, image_files *files, const image_set *set, const int *first)
{
    const int classes = (int)set->classes;
    int class = 0;
    for (int i = files->first[IMAGE_VALID]; i < files->count; ++i) {
        image_file *file = &files->file[i];
        class = file->split != file[-1].split ? 0 : class;
        while (class < classes && by_class(&files->file[first[class]], file) < 0) {
            class += 1;
        }
        WEFT_CHECK(class < classes && by_class(&files->file[first[class]], file) == 0, WEFT_ERR_DATA,
                   "%s: %s is of a class without training images: there is no train/%.*s", path, file->name,
                   (int)class_length(file), file->tail);
        file->class = class;
    }
    return WEFT_OK;
}

void image_list_find_splits(image_files *files)
{
    for (int s = 0, i = 0; s < TRAIN_SPLITS; ++s) {
        while (i < files->count && files->file[i].split < s) {
            i += 1;
        }
        files->first[s] = i;
    }
}

int image_list_split_end(const image_files *files, int split)
{
    return split + 1 < TRAIN_SPLITS ? files->first[split + 1] : files->count;
}

weft_status image_list_sort(const char *path, image_files *files, image_set *set)
{
    weft_free(files->slot); /* numbers change */
    files->slot = NULL;
    files->slots = 0;
    if (files->count > 0) {
        qsort(files->file, (size_t)files->count, sizeof *files->file, by_place);
    }
    image_list_find_splits(files);
    for (int i = 0; i < files->count; ++i) {
        const image_file *file = &files->file[i];
        const int64_t facts[2] = {file->split, file->bytes};
        const int64_t places[2] = {file->offset, file->changed};
        files->largest = (size_t)file->bytes > files->largest ? (size_t)file->bytes : files->largest;
        image_hash_mix(set->hash, facts, sizeof facts);
        image_hash_mix(set->hash, file->tail, strlen(file->tail));
        image_hash_mix(set->store->identity, places, sizeof places);
    }
    if (files->loose) {
        WEFT_CHECK(files->count > 0, WEFT_ERR_DATA, "%s: no image: expected files .jpg, .jpeg or .png", path);
        return WEFT_OK;
    }
    int *first = NULL;
    weft_status status = name_classes(path, files, set, &first);
    status = status == WEFT_OK ? class_others(path, files, set, first) : status;
    weft_free(first);
    return status;
}

/* ---- one image ------------------------------------------------------------------------------------------------- */

static weft_status new_bench(const image_files *files, image_bench **bench)
{
    WEFT_TRY(WEFT_NEW_ZERO(bench, 1, WEFT_MEM_GENERAL));
    weft_status status = WEFT_NEW(&(*bench)->encoded, files->largest + 1, WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK) {
        status = image_scratch_grow(&(*bench)->scratch, files->scratch);
    }
    if (status != WEFT_OK) {
        free_bench(*bench);
    }
    return status;
}

static weft_status take_bench(image_files *files, image_bench **bench)
{
    pthread_mutex_lock(&files->lock);
    *bench = files->bench;
    if (*bench != NULL) {
        files->bench = (*bench)->next;
    }
    pthread_mutex_unlock(&files->lock);
    return *bench != NULL ? WEFT_OK : new_bench(files, bench);
}

static void give_bench(image_files *files, image_bench *bench)
{
    pthread_mutex_lock(&files->lock);
    bench->next = files->bench;
    files->bench = bench;
    pthread_mutex_unlock(&files->lock);
}

/* The first `bytes` of a file. */
static weft_status load(image_files *files, const image_file *file, size_t bytes, const image_bench *bench,
                        const uint8_t **data)
{
    WEFT_TRY(files->load(files->self, file->name, file->offset, bytes, bench->encoded, data));
    if (*data == bench->encoded) {
        atomic_fetch_add(files->source_bytes, (unsigned long long)bytes);
    }
    return WEFT_OK;
}

static weft_status decode_at(image_files *files, const image_file *file, const image_shape *wanted, image_bench *bench,
                             uint8_t *pixels)
{
    const uint8_t *data;
    const size_t bytes = (size_t)file->bytes;
    WEFT_TRY(load(files, file, bytes, bench, &data));
    return image_decode(file->name, data, bytes, wanted, &bench->scratch, pixels);
}

/* Most files tell their size in their first bytes; what cannot be understood by those is read whole. */
static weft_status look(image_files *files, image_file *file, image_bench *bench)
{
    const size_t all = (size_t)file->bytes;
    weft_status status = WEFT_ERR_DATA;
    int64_t height = 0;
    int64_t width = 0;
    for (size_t bytes = all < LOOK_BYTES ? all : LOOK_BYTES;; bytes = all) {
        const uint8_t *data;
        WEFT_TRY(load(files, file, bytes, bench, &data));
        status = image_look(file->name, data, bytes, &height, &width);
        if (status != WEFT_ERR_DATA || bytes == all) {
            break;
        }
    }
    if (status == WEFT_OK && files->loose) {
        const image_shape own = {.height = height, .width = width, .channels = 3};
        status = decode_at(files, file, &own, bench, NULL);
    }
    file->height = status == WEFT_OK ? (int32_t)height : 0;
    file->width = status == WEFT_OK ? (int32_t)width : 0;
    return status;
}

weft_status image_list_read(image_files *files, image_file *file, uint8_t *pixels)
{
    image_bench *bench;
    WEFT_TRY(take_bench(files, &bench));
    const weft_status status =
        pixels != NULL ? decode_at(files, file, &files->wanted, bench, pixels) : look(files, file, bench);
    give_bench(files, bench);
    return status;
}

void image_list_size_benches(image_files *files)
{
    while (files->bench != NULL) {
        image_bench *bench = files->bench;
        files->bench = bench->next;
        free_bench(bench);
    }
    for (int i = 0; i < files->count; ++i) {
        const size_t bytes = DECODED_BYTES * (size_t)files->file[i].height * (size_t)files->file[i].width;
        files->scratch = bytes > files->scratch ? bytes : files->scratch;
    }
}
