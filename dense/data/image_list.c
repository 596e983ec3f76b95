/* dense/data/image_list.c: see dense/data/image_list.h. */
#include "dense/data/image_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/grow.h"
#include "base/number.h"
#include "dense/data/image_moving.h"
#include "dense/data/names/image_names.h"

enum { LOOK_BYTES = 1 << 14, FILE_BYTES_MAX = 1 << 30, DECODED_BYTES = 4 /* of a pixel, at most */, FIRST_SLOTS = 64 };

int64_t image_changed(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

bool image_files_takes(const char *name)
{
    return image_name_is_read(name) && strchr(name, '/') != NULL;
}

bool image_files_takes_loose(const char *file)
{
    return image_name_is_read(file);
}

/* ---- files by their names -------------------------------------------------------------------------------------- */

weft_status image_files_create(image_layout layout, image_files **files)
{
    WEFT_TRY(WEFT_NEW_ZERO(files, 1, WEFT_MEM_GENERAL));
    (*files)->layout = layout;
    pthread_mutex_init(&(*files)->lock, NULL);
    return WEFT_OK;
}

static void free_bench(image_bench *bench)
{
    image_scratch_free(&bench->scratch);
    WEFT_FREE_ALL(bench->encoded, bench);
}

void image_files_close_reader(image_files *files)
{
    if (files->close != NULL) {
        files->close(files->self);
    }
    files->close = NULL;
    while (files->bench != NULL) {
        image_bench *bench = files->bench;
        files->bench = bench->next;
        free_bench(bench);
    }
}

void image_files_destroy(image_files *files)
{
    if (files == NULL) {
        return;
    }
    image_files_close_reader(files);
    image_moving_free(files->moving);
    for (int i = 0; i < files->count; ++i) {
        weft_free(files->file[i].name);
    }
    WEFT_FREE_ALL(files->file, files->slot);
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
    char *copy;
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
                                               .tail = copy,
                                               .offset = place->offset,
                                               .bytes = place->bytes,
                                               .changed = place->changed,
                                               .split = IMAGE_TEST};
    files->slot[slot_of(files, name)] = files->count;
    return WEFT_OK;
}

/* ---- one image ------------------------------------------------------------------------------------------------- */

static weft_status new_bench(const image_files *files, image_bench **bench)
{
    WEFT_TRY(WEFT_NEW_ZERO(bench, 1, WEFT_MEM_GENERAL));
    weft_status status = WEFT_NEW(&(*bench)->encoded, files->largest + 1, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? image_scratch_grow(&(*bench)->scratch, files->scratch) : status;
    if (status != WEFT_OK) {
        free_bench(*bench);
    }
    return status;
}

/* holds: the bench that has this file decoded goes before others; 0: any. */
static weft_status take_bench(image_files *files, int holds, image_bench **bench)
{
    pthread_mutex_lock(&files->lock);
    image_bench **at = &files->bench;
    while (holds > 0 && *at != NULL && (*at)->holds != holds) {
        at = &(*at)->next;
    }
    at = *at != NULL ? at : &files->bench;
    *bench = *at;
    if (*bench != NULL) {
        *at = (*bench)->next;
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
    bench->holds = 0;
    WEFT_TRY(load(files, file, bytes, bench, &data));
    return image_decode(file->name, data, bytes, wanted, &bench->scratch, pixels);
}

/* Most files tell their size in their first bytes; what cannot be understood by those is read whole. */
static weft_status look(image_files *files, image_file *file, image_bench *bench)
{
    const size_t all = (size_t)file->bytes;
    weft_status status = WEFT_ERR_DATA;
    image_shape is = {.height = 0};
    for (size_t bytes = all < LOOK_BYTES ? all : LOOK_BYTES;; bytes = all) {
        const uint8_t *data;
        WEFT_TRY(load(files, file, bytes, bench, &data));
        status = image_look(file->name, data, bytes, &is);
        file->sum = bytes <= LOOK_BYTES ? file_checksum(data, bytes, (uint64_t)all) : file->sum;
        if (status != WEFT_ERR_DATA || bytes == all) {
            break;
        }
    }
    if (status == WEFT_OK && image_list_is_loose(files) && !files->frames) { /* all frames are decoded later */
        const image_shape own = {.height = is.height, .width = is.width, .channels = 3};
        status = decode_at(files, file, &own, bench, NULL);
    }
    const bool good = status == WEFT_OK;
    file->height = good ? (int32_t)is.height : 0;
    file->width = good ? (int32_t)is.width : 0;
    file->channels = good ? (int32_t)is.channels : 0;
    return status;
}

weft_status image_list_read(image_files *files, image_file *file, uint8_t *pixels)
{
    image_bench *bench;
    if (pixels != NULL) {
        return image_list_read_as(files, file, &files->wanted, pixels);
    }
    WEFT_TRY(take_bench(files, 0, &bench));
    const weft_status status = look(files, file, bench);
    give_bench(files, bench);
    return status;
}

weft_status image_list_read_as(image_files *files, const image_file *file, const image_shape *wanted, uint8_t *pixels)
{
    image_bench *bench;
    WEFT_TRY(take_bench(files, 0, &bench));
    const weft_status status = decode_at(files, file, wanted, bench, pixels);
    give_bench(files, bench);
    return status;
}

static weft_status hold(image_files *files, int number, const image_shape *least, image_bench *bench)
{
    const image_file *file = &files->file[number];
    const uint8_t *data;
    if (bench->holds == number + 1) {
        return WEFT_OK;
    }
    bench->holds = 0;
    WEFT_TRY(load(files, file, (size_t)file->bytes, bench, &data));
    WEFT_TRY(image_decode_large(file->name, data, (size_t)file->bytes, least, &bench->scratch, &bench->is));
    bench->holds = number + 1;
    return WEFT_OK;
}

weft_status image_list_cut(image_files *files, int number, const image_shape *least, const image_cutout *part,
                           uint8_t *pixels)
{
    const image_file *file = &files->file[number];
    image_bench *bench;
    WEFT_TRY(take_bench(files, number + 1, &bench));
    const weft_status status = hold(files, number, least, bench);
    if (status == WEFT_OK) {
        const float high = (float)bench->is.height / (float)file->height;
        const float wide = (float)bench->is.width / (float)file->width;
        const image_cutout scaled = {.left = part->left * wide,
                                     .top = part->top * high,
                                     .width = part->width * wide,
                                     .height = part->height * high};
        image_cut(bench->scratch.data, &bench->is, &scaled, &files->wanted, pixels);
    }
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
