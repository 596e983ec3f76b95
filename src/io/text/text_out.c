/* io/text/text_out.c: see io/text/text_out.h. */
#include "io/text/text_out.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

enum { ITEM_MAX = 64 };

weft_status text_out_open(const char *path, text_out **out)
{
    *out = NULL;
    text_out *fresh = NULL;
    WEFT_TRY(WEFT_NEW(&fresh, 1, WEFT_MEM_GENERAL));
    fresh->gzip = NULL;
    fresh->status = WEFT_OK;
    fresh->used = 0;
    size_t length = strlen(path);
    bool deflated = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    weft_status status = deflated ? gzip_writer_open(path, &fresh->gzip) : file_writer_open(path, &fresh->file);
    if (status != WEFT_OK) {
        weft_free(fresh);
        return status;
    }
    *out = fresh;
    return WEFT_OK;
}

static void drain(text_out *out)
{
    if (out->status == WEFT_OK && out->used > 0) {
        out->status = out->gzip != NULL ? gzip_write(out->gzip, out->buffer, out->used)
                                        : file_write(&out->file, out->buffer, out->used);
    }
    out->used = 0;
}

static void make_room(text_out *out, size_t bytes)
{
    if (out->used + bytes > TEXT_OUT_BYTES) {
        drain(out);
    }
}

void text_out_char(text_out *out, char c)
{
    make_room(out, 1);
    out->buffer[out->used++] = c;
}

void text_out_text(text_out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        text_out_char(out, *text);
    }
}

void text_out_int(text_out *out, int64_t value)
{
    char digits[24];
    int count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    make_room(out, ITEM_MAX);
    if (value < 0) {
        out->buffer[out->used++] = '-';
    }
    while (count > 0) {
        out->buffer[out->used++] = digits[--count];
    }
}

void text_out_float(text_out *out, float value)
{
    char text[NUMBER_TEXT_MAX];
    text_out_text(out, isnan(value) ? "nan" : number_format_float(value, text));
}

weft_status text_out_commit(text_out *out)
{
    drain(out);
    weft_status status = out->status;
    if (status == WEFT_OK && out->gzip != NULL) {
        status = gzip_writer_commit(out->gzip);
        out->gzip = NULL;
    } else if (status == WEFT_OK) {
        status = file_writer_commit(&out->file);
    } else if (out->gzip != NULL) {
        gzip_writer_discard(out->gzip);
    } else {
        file_writer_discard(&out->file);
    }
    weft_free(out);
    return status;
}
