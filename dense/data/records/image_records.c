/* dense/data/records/image_records.c: see dense/data/records/image_records.h. */
#include "dense/data/records/image_records.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "dense/data/image_store.h"

enum { SMALLEST_PAGE = 4096 };

/* Bytes that a file loses are a signal, but for those of its last page, which read as zeros then. */
static weft_status check_last_page(const image_bytes *all, size_t end)
{
    const bool last = all->unpacked == NULL && end > (all->bytes - 1) / SMALLEST_PAGE * SMALLEST_PAGE;
    return last ? file_map_check(all->path, &all->map) : WEFT_OK;
}

static weft_status make(void *self, int64_t number, uint8_t *pixels)
{
    const image_records *r = self;
    int at = r->files - 1;
    assert(number >= 0 && number < r->samples);
    while (number < r->file[at].first) {
        at -= 1;
    }
    const image_bytes *all = &r->file[at].all;
    const size_t begin = r->offset + (size_t)(number - r->file[at].first) * r->stride;
    if (r->take != NULL) {
        r->take(all->data + begin, pixels);
    } else {
        memcpy(pixels, all->data + begin, r->bytes);
    }
    return check_last_page(all, begin + r->bytes);
}

static void close_records(void *self)
{
    image_records *r = self;
    for (int i = 0; i < r->files; ++i) {
        image_bytes_close(&r->file[i].all);
    }
    weft_free(r);
}

weft_status image_records_create(image_set *set, image_records **records)
{
    WEFT_TRY(WEFT_NEW_ZERO(records, 1, WEFT_MEM_GENERAL));
    set->store->self = *records;
    set->store->make = make;
    set->store->stored = true;
    set->store->close = close_records;
    return WEFT_OK;
}

weft_status image_records_open(image_set *set, const char *path, const image_options *options,
                               image_bytes_stated stated, const image_bytes **all)
{
    image_records *records = set->store->self;
    WEFT_CHECK(records->files < IMAGE_RECORDS_FILES_MAX, WEFT_ERR_DATA, "%s: is file %d of the set; at most %d", path,
               records->files + 1, IMAGE_RECORDS_FILES_MAX);
    image_bytes *mine = &records->file[records->files].all;
    WEFT_TRY(image_bytes_open(path, options, stated, mine));
    records->file[records->files++].first = records->samples;
    set->store->kept += mine->unpacked != NULL ? mine->bytes : 0;
    *all = mine;
    return WEFT_OK;
}

void image_records_count(image_records *records, int64_t samples)
{
    assert(records->files > 0 && samples >= 0);
    records->samples += samples;
}
