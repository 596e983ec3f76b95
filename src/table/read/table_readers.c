/* table/read/table_readers.c: the list of readers, and which of them takes a file. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/append.h"
#include "io/foreign_kind.h"
#include "io/text/text_stream.h"
#include "table/read/table_reader.h"
#include "table/table_options.def"

/* In the order in which they are asked; csv takes any text. */
enum { READERS = 5 };
static const table_reader *const readers[READERS] = {&table_reader_arrays, &table_reader_criteo, &table_reader_avazu,
                                                     &table_reader_libsvm, &table_reader_csv};

const table_reader *table_reader_at(int index)
{
    return index >= 0 && index < READERS ? readers[index] : NULL;
}

static weft_status find_named(const char *name, const table_reader **reader)
{
    char list[200] = "";
    for (int i = 0; i < READERS; i++) {
        if (strcmp(readers[i]->name, name) == 0) {
            *reader = readers[i];
            return WEFT_OK;
        }
        text_append_item(list, sizeof list, "%s", readers[i]->name);
    }
    return weft_fail(WEFT_ERR_USAGE, FLAG_TABLE_FORMAT " %s: no such layout of tables; there are %s", name, list);
}

weft_status table_reader_find(const char *path, const table_request *request, const table_reader **reader)
{
    char text[READER_HEAD];
    text_stream *stream;
    size_t bytes = 0, got = 1;
    weft_status status = WEFT_OK;
    if (request->format != NULL && request->format[0] != '\0' && strcmp(request->format, "auto") != 0) {
        return find_named(request->format, reader);
    }
    WEFT_TRY(text_stream_open(path, &stream));
    while (bytes < sizeof text && got > 0 && status == WEFT_OK) {
        status = text_stream_read(stream, text + bytes, sizeof text - bytes, &got);
        bytes += status == WEFT_OK ? got : 0;
    }
    text_stream_close(stream);
    WEFT_TRY(status);
    WEFT_CHECK(bytes > 0, WEFT_ERR_DATA, "%s: is empty", path);
    const reader_head head = {.path = path, .text = text, .bytes = bytes};
    for (int i = 0; i < READERS; i++) {
        if (readers[i]->recognise(&head)) {
            *reader = readers[i];
            return WEFT_OK;
        }
    }
    WEFT_TRY(foreign_kind_check(path, (const uint8_t *)text, bytes));
    return weft_fail(WEFT_ERR_DATA, "%s: is neither text nor an array of NumPy: tables are CSV, LIBSVM, .npy or .npz",
                     path);
}
