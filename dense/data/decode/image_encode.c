/* dense/data/decode/image_encode.c: see dense/data/decode/image_encode.h. libjpeg leaves its errors by longjmp, which
 * is caught in the only frame that calls it. */
#include "dense/data/decode/image_encode.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/alloc.h"

typedef struct jpeg_maker {
    struct jpeg_compress_struct info; /* its client_data is this struct */
    struct jpeg_error_mgr error;
    jmp_buf back;
    unsigned char *data; /* libjpeg's */
    unsigned long bytes;
} jpeg_maker;

static void leave(j_common_ptr info)
{
    longjmp(((jpeg_maker *)info->client_data)->back, 1);
}

static bool make(jpeg_maker *m, const uint8_t *pixels, const image_shape *shape, int quality)
{
    if (setjmp(m->back) != 0) {
        return false;
    }
    jpeg_create_compress(&m->info);
    m->info.client_data = m;
    jpeg_mem_dest(&m->info, &m->data, &m->bytes);
    m->info.image_width = (JDIMENSION)shape->width;
    m->info.image_height = (JDIMENSION)shape->height;
    m->info.input_components = 3;
    m->info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&m->info);
    jpeg_set_quality(&m->info, quality, TRUE);
    jpeg_start_compress(&m->info, TRUE);
    while (m->info.next_scanline < m->info.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)m->info.next_scanline * (size_t)shape->width * 3);
        (void)jpeg_write_scanlines(&m->info, &row, 1);
    }
    jpeg_finish_compress(&m->info);
    return true;
}

weft_status image_encode_jpeg(const char *name, const uint8_t *pixels, const image_shape *shape, int quality,
                              uint8_t **encoded, size_t *bytes)
{
    jpeg_maker m = {.data = NULL};
    assert(shape->channels == 3);
    *encoded = NULL;
    m.info.err = jpeg_std_error(&m.error);
    m.info.client_data = &m;
    m.error.error_exit = leave;
    weft_status status;
    if (make(&m, pixels, shape, quality)) {
        status = WEFT_NEW(encoded, m.bytes, WEFT_MEM_WORKSPACE);
        if (status == WEFT_OK) {
            memcpy(*encoded, m.data, m.bytes);
            *bytes = m.bytes;
        }
    } else {
        status = weft_fail(WEFT_ERR_RESOURCE, "%s: libjpeg could not encode it", name);
    }
    jpeg_destroy_compress(&m.info);
    free(m.data); /* libjpeg's own malloc */
    return status;
}
