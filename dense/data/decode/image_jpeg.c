/*
 * dense/data/decode/image_jpeg.c: JPEG files through libjpeg(-turbo), a codec of image_decode.h.
 *
 * libjpeg leaves its errors by longjmp. It is only called inside guarded(), whose frame holds nothing that could be
 * lost. What it calls warnings, and goes on from with grey, are errors here where pixels are missing. Scans are
 * counted: a small file may ask for thousands of passes over a large image.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "dense/data/decode/image_decode.h"

enum {
    PIXELS_PER_BYTE = 512, /* a block of 64 pixels takes a bit at least */
    SCANS_MAX = 64,
    ROWS = 8, /* handed out for pixels at a time */
    CMYK = 4
};

typedef struct jpeg_file {
    struct jpeg_decompress_struct info; /* its client_data is this struct */
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char reason[JMSG_LENGTH_MAX];
    const uint8_t *data;
    size_t bytes;
    uint8_t *rows; /* of decoded pixels */
} jpeg_file;

static void leave(j_common_ptr info)
{
    jpeg_file *file = info->client_data;
    info->err->format_message(info, file->reason);
    longjmp(file->back, 1);
}

static void hear(j_common_ptr info, int level)
{
    const int code = info->err->msg_code;
    if (level < 0 &&
        (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF || code == JWRN_MUST_RESYNC)) {
        leave(info);
    }
}

static void stay_silent(j_common_ptr info)
{
    (void)info;
}

static void count_scans(j_common_ptr info)
{
    jpeg_file *file = info->client_data;
    if (file->info.input_scan_number > SCANS_MAX) {
        snprintf(file->reason, sizeof file->reason, "more than %d scans", SCANS_MAX);
        longjmp(file->back, 1);
    }
}

static bool guarded(jpeg_file *file, void (*work)(jpeg_file *))
{
    if (setjmp(file->back) != 0) {
        return false;
    }
    work(file);
    return true;
}

static void read_head(jpeg_file *file)
{
    jpeg_create_decompress(&file->info);
    file->info.client_data = file;
    file->info.progress = &file->progress;
    jpeg_mem_src(&file->info, file->data, file->bytes);
    (void)jpeg_read_header(&file->info, TRUE);
}

static void start(jpeg_file *file)
{
    (void)jpeg_start_decompress(&file->info);
}

static void read_rows(jpeg_file *file)
{
    const size_t row_bytes = (size_t)file->info.output_width * (size_t)file->info.output_components;
    while (file->info.output_scanline < file->info.output_height) {
        JSAMPROW row[ROWS];
        const JDIMENSION first = file->info.output_scanline, left = file->info.output_height - first;
        const JDIMENSION rows = left < ROWS ? left : ROWS;
        for (JDIMENSION i = 0; i < rows; ++i) {
            row[i] = file->rows + (first + i) * row_bytes;
        }
        (void)jpeg_read_scanlines(&file->info, row, rows);
    }
    (void)jpeg_finish_decompress(&file->info);
}

static weft_status fail(const char *name, const jpeg_file *file)
{
    WEFT_CHECK(file->error.msg_code != JERR_OUT_OF_MEMORY, WEFT_ERR_RESOURCE, "%s: no memory to decode it", name);
    return weft_fail(WEFT_ERR_DATA, "%s: malformed JPEG file (%s)", name, file->reason);
}

/* The head, checked. To be closed with jpeg_destroy_decompress whatever it answers. */
static weft_status open_file(const char *name, const uint8_t *data, size_t bytes, jpeg_file *file)
{
    *file = (jpeg_file){.data = data, .bytes = bytes};
    file->info.err = jpeg_std_error(&file->error);
    file->info.client_data = file;
    file->error.error_exit = leave;
    file->error.emit_message = hear;
    file->error.output_message = stay_silent;
    file->progress.progress_monitor = count_scans;
    if (!guarded(file, read_head)) {
        return fail(name, file);
    }
    WEFT_CHECK(!file->info.arith_code, WEFT_ERR_DATA, "%s: a JPEG file with arithmetic coding, which is not read",
               name);
    return image_check_size(name, bytes, file->info.image_height, file->info.image_width, PIXELS_PER_BYTE);
}

static weft_status look(const char *name, const uint8_t *data, size_t bytes, image_shape *is)
{
    jpeg_file file;
    weft_status status = open_file(name, data, bytes, &file);
    *is = (image_shape){.height = file.info.image_height,
                        .width = file.info.image_width,
                        .channels = file.info.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
    jpeg_destroy_decompress(&file.info);
    return status;
}

/* The largest of 1, 2, 4, 8 by which the image may shrink and still cover what is wanted. */
static unsigned shrinking(const jpeg_file *file, const image_shape *wanted)
{
    unsigned by = 8;
    while (by > 1 && (file->info.image_height / by < wanted->height || file->info.image_width / by < wanted->width)) {
        by /= 2;
    }
    return by;
}

static void choose_colours(jpeg_file *file, int64_t channels)
{
    const J_COLOR_SPACE space = file->info.jpeg_color_space;
    if (space == JCS_CMYK || space == JCS_YCCK) {
        file->info.out_color_space = JCS_CMYK;
    } else {
        file->info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    }
}

/* Inks as Adobe writes them, inverted, to light; grey by the weights of ITU-R BT.601. */
static void mix_inks(uint8_t *rows, size_t pixels, int64_t channels)
{
    for (size_t i = 0; i < pixels; ++i) {
        const uint8_t *ink = rows + i * CMYK;
        const unsigned red = (unsigned)ink[0] * ink[3] / 255;
        const unsigned green = (unsigned)ink[1] * ink[3] / 255;
        const unsigned blue = (unsigned)ink[2] * ink[3] / 255;
        if (channels == 1) {
            rows[i] = (uint8_t)((299 * red + 587 * green + 114 * blue + 500) / 1000);
        } else {
            rows[3 * i] = (uint8_t)red;
            rows[3 * i + 1] = (uint8_t)green;
            rows[3 * i + 2] = (uint8_t)blue;
        }
    }
}

static weft_status read_pixels(const char *name, jpeg_file *file, const image_shape *wanted, image_scratch *scratch,
                               image_shape *is)
{
    file->info.scale_num = 1;
    file->info.scale_denom = shrinking(file, wanted);
    choose_colours(file, wanted->channels);
    if (!guarded(file, start)) {
        return fail(name, file);
    }
    const size_t pixels = (size_t)file->info.output_height * (size_t)file->info.output_width;
    WEFT_TRY(image_scratch_grow(scratch, pixels * (size_t)file->info.output_components));
    file->rows = scratch->data;
    if (!guarded(file, read_rows)) {
        return fail(name, file);
    }
    if (file->info.out_color_space == JCS_CMYK) {
        mix_inks(scratch->data, pixels, wanted->channels);
    }
    *is = (image_shape){
        .height = file->info.output_height, .width = file->info.output_width, .channels = wanted->channels};
    return WEFT_OK;
}

static weft_status decode(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                          image_scratch *scratch, image_shape *is)
{
    jpeg_file file;
    weft_status status = open_file(name, data, bytes, &file);
    status = status == WEFT_OK ? read_pixels(name, &file, wanted, scratch, is) : status;
    jpeg_destroy_decompress(&file.info);
    return status;
}

/* What it was built with: the library does not tell its own. */
const char *image_jpeg_version(void)
{
#ifdef LIBJPEG_TURBO_VERSION
#define TEXT_OF(x)    #x
#define VERSION_OF(x) TEXT_OF(x)
    return "libjpeg-turbo " VERSION_OF(LIBJPEG_TURBO_VERSION);
#else
    return "libjpeg";
#endif
}

const image_codec image_jpeg = {.magic = "\xff\xd8\xff", .magic_bytes = 3, .look = look, .decode = decode};
