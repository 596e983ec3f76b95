/* io/safetensors_write.c: the writer; see io/safetensors.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "io/json.h"
#include "io/safetensors.h"

enum { LENGTH_BYTES = 8, BORDER = 8 };

static weft_status item_bytes(const char *path, const safetensors_item *item, size_t *bytes)
{
    *bytes = item->integers ? sizeof(int64_t) : sizeof(float);
    for (int d = 0; d < item->dims; d++) {
        WEFT_CHECK(item->shape[d] >= 0 && !__builtin_mul_overflow(*bytes, (size_t)item->shape[d], bytes) &&
                       *bytes <= INT64_MAX,
                   WEFT_ERR_UNSUPPORTED, "%s: tensor %s: the size does not fit 63 bits", path, item->name);
    }
    return WEFT_OK;
}

static weft_status write_item(const char *path, json_writer *json, const safetensors_item *item, size_t *offset)
{
    size_t bytes = 0;
    WEFT_TRY(item_bytes(path, item, &bytes));
    json_object(json, item->name);
    json_text(json, "dtype", item->integers ? "I64" : "F32");
    json_array(json, "shape");
    for (int d = 0; d < item->dims; d++) {
        json_int(json, NULL, item->shape[d]);
    }
    json_end(json);
    json_array(json, "data_offsets");
    json_int(json, NULL, (int64_t)*offset);
    *offset += bytes;
    json_int(json, NULL, (int64_t)*offset);
    json_end(json);
    json_end(json);
    return WEFT_OK;
}

/* The header's text in `text`, padded with blanks so that the data begin on a border. */
static weft_status write_header(const char *path, const safetensors_item *items, int count,
                                const safetensors_text *texts, int text_count, char *text, size_t *length)
{
    weft_status status = WEFT_OK;
    size_t offset = 0;
    FILE *stream = fmemopen(text, SAFETENSORS_HEADER_MAX, "w");
    if (stream == NULL) {
        return weft_fail_errno(errno, path);
    }
    json_writer json = json_begin(stream, false);
    json_object(&json, NULL);
    if (text_count > 0) {
        json_object(&json, "__metadata__");
        for (int i = 0; i < text_count; i++) {
            json_text(&json, texts[i].key, texts[i].value);
        }
        json_end(&json);
    }
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        status = write_item(path, &json, &items[i], &offset);
    }
    json_end(&json);
    bool full = fflush(stream) != 0 || ferror(stream) != 0;
    long end = ftell(stream);
    fclose(stream);
    WEFT_TRY(status);
    WEFT_CHECK(!full && end > 0 && end + BORDER <= SAFETENSORS_HEADER_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: %d tensors need a header of more than %d bytes", path, count, SAFETENSORS_HEADER_MAX);
    *length = ((size_t)end + BORDER - 1) / BORDER * BORDER;
    memset(text + end, ' ', *length - (size_t)end);
    return WEFT_OK;
}

static weft_status write_streamed(file_writer *writer, const safetensors_item *item, size_t bytes)
{
    const off_t begin = ftello(writer->stream);
    WEFT_TRY(item->write(item->self, writer));
    const off_t end = ftello(writer->stream);
    WEFT_CHECK(end - begin == (off_t)bytes, WEFT_ERR_INTERNAL, "%s: tensor %s: %lld bytes were written, not %zu",
               writer->path, item->name, (long long)(end - begin), bytes);
    return WEFT_OK;
}

static weft_status write_parts(file_writer *writer, const char *text, size_t length, const safetensors_item *items,
                               int count)
{
    uint8_t lead[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++) {
        lead[i] = (uint8_t)(length >> 8 * i);
    }
    WEFT_TRY(file_write(writer, lead, sizeof lead));
    WEFT_TRY(file_write(writer, text, length));
    for (int i = 0; i < count; i++) {
        size_t bytes = 0;
        WEFT_TRY(item_bytes(writer->path, &items[i], &bytes));
        WEFT_TRY(items[i].values != NULL || bytes == 0 ? file_write(writer, items[i].values, bytes)
                                                       : write_streamed(writer, &items[i], bytes));
    }
    return WEFT_OK;
}

weft_status safetensors_write(const char *path, const safetensors_item *items, int count, const safetensors_text *texts,
                              int text_count)
{
    weft_status status = WEFT_OK;
    char *text = NULL;
    size_t length = 0;
    file_writer writer;
    WEFT_TRY(WEFT_NEW_ZERO(&text, SAFETENSORS_HEADER_MAX, WEFT_MEM_GENERAL));
    WEFT_TRY_GOTO(write_header(path, items, count, texts, text_count, text, &length), status, done);
    WEFT_TRY_GOTO(file_writer_open(path, &writer), status, done);
    status = write_parts(&writer, text, length, items, count);
    if (status == WEFT_OK) {
        status = file_writer_commit(&writer);
    } else {
        file_writer_discard(&writer);
    }
done:
    weft_free(text);
    return status;
}
