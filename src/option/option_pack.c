/*
 * option/option_pack.c: all values as one blob, for the other ranks.
 *
 * The blob holds texts, in the machine's byte order, and is read back through option_set, so a rank of another build
 * refuses what it does not know instead of reading it wrongly:
 *
 *   uint32 magic | table hash, lower half | command's index | arguments | values
 *   each argument: uint32 bytes, bytes
 *   each value:    uint32 id, uint32 source, uint32 bytes, bytes        (only values that are not defaults)
 */
#include <string.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "option/option_internal.h"

enum { BLOB_MAGIC = 0x54464557, BLOB_HEADER = 5 }; /* "WEFT" */

/* Both ends must have the same tables: ids are positions in them. */
static uint32_t table_hash(const option_catalog *catalog)
{
    XXH64_hash_t hash = 0;
    for (const option_row *row = catalog->rows; row < catalog->rows + catalog->count; row++) {
        hash = XXH64(row->id, strlen(row->id), hash);
        hash = XXH64(row->choices, strlen(row->choices), hash + (XXH64_hash_t)row->type);
    }
    return (uint32_t)hash;
}

typedef struct blob_writer {
    unsigned char *at; /* NULL while measuring */
    size_t bytes;
} blob_writer;

static void put(blob_writer *blob, const void *data, size_t bytes)
{
    if (blob->at != NULL && bytes > 0) {
        memcpy(blob->at + blob->bytes, data, bytes);
    }
    blob->bytes += bytes;
}

static void put_number(blob_writer *blob, size_t number)
{
    uint32_t value = (uint32_t)number;
    put(blob, &value, sizeof value);
}

static void put_text(blob_writer *blob, const char *text)
{
    put_number(blob, strlen(text));
    put(blob, text, strlen(text));
}

static size_t command_index(const option_command *command)
{
    const option_command *commands = command->catalog->commands;
    size_t index = 0;
    while (commands[index].name != NULL && &commands[index] != command) {
        index++;
    }
    return index; /* the bare command is one past the table */
}

static void write_blob(const weft_options *options, blob_writer *blob)
{
    const int count = option_count(options);
    size_t values = 0;
    for (int place = 0; place < count; place++) {
        values += option_is_set(options, option_at(options, place));
    }
    put_number(blob, BLOB_MAGIC);
    put_number(blob, table_hash(options->command->catalog));
    put_number(blob, command_index(options->command));
    put_number(blob, (size_t)options->argument_count);
    put_number(blob, values);
    for (int i = 0; i < options->argument_count; i++) {
        put_text(blob, options->arguments[i]);
    }
    for (int place = 0; place < count; place++) {
        const option_id id = option_at(options, place);
        if (option_is_set(options, id)) {
            put_number(blob, (size_t)id);
            put_number(blob, (size_t)options->values[place].source);
            put_text(blob, options->values[place].text);
        }
    }
}

weft_status option_pack(const weft_options *options, void **blob, size_t *bytes)
{
    blob_writer measure = {NULL, 0}, writer = {NULL, 0};
    *blob = NULL;
    *bytes = 0;
    write_blob(options, &measure);
    WEFT_CHECK(measure.bytes <= UINT32_MAX, WEFT_ERR_USAGE, "%zu bytes of options, at most 4 GiB", measure.bytes);
    WEFT_TRY(weft_malloc(measure.bytes, 1, WEFT_MEM_GENERAL, blob));
    writer.at = *blob;
    write_blob(options, &writer);
    *bytes = writer.bytes;
    return WEFT_OK;
}

typedef struct blob_reader {
    const unsigned char *at;
    size_t left;
} blob_reader;

static weft_status get_number(blob_reader *blob, uint32_t *number)
{
    WEFT_CHECK(blob->at != NULL && blob->left >= sizeof *number, WEFT_ERR_INTERNAL,
               "the options received from rank 0 are cut short");
    memcpy(number, blob->at, sizeof *number);
    blob->at += sizeof *number;
    blob->left -= sizeof *number;
    return WEFT_OK;
}

/* A NUL-terminated copy; free with weft_free. */
static weft_status get_text(blob_reader *blob, char **text)
{
    uint32_t bytes = 0;
    WEFT_TRY(get_number(blob, &bytes));
    WEFT_CHECK(blob->left >= bytes, WEFT_ERR_INTERNAL, "the options received from rank 0 are cut short");
    WEFT_TRY(WEFT_NEW(text, (size_t)bytes + 1, WEFT_MEM_GENERAL));
    memcpy(*text, blob->at, bytes);
    (*text)[bytes] = '\0';
    blob->at += bytes;
    blob->left -= bytes;
    return WEFT_OK;
}

static weft_status read_argument(blob_reader *blob, weft_options *options)
{
    char *text = NULL;
    WEFT_TRY(get_text(blob, &text));
    weft_status status = option_add_argument(options, text);
    weft_free(text);
    return status;
}

static weft_status read_value(blob_reader *blob, weft_options *options)
{
    uint32_t id = 0, source = 0;
    char *text = NULL;
    WEFT_TRY(get_number(blob, &id));
    WEFT_TRY(get_number(blob, &source));
    WEFT_CHECK(id <= INT32_MAX && option_place(option_catalog_of(options), (option_id)id) >= 0 &&
                   source <= OPTION_PROGRAM,
               WEFT_ERR_INTERNAL, "the options received from rank 0 are damaged: id %u, source %u", id, source);
    WEFT_TRY(get_text(blob, &text));
    weft_status status =
        option_set(options, (option_id)id, (option_source)source, option_row_in(options, (option_id)id)->name, text);
    weft_free(text);
    return status;
}

static weft_status read_blob(blob_reader *blob, const uint32_t header[BLOB_HEADER], weft_options *options)
{
    for (uint32_t i = 0; i < header[3]; i++) {
        WEFT_TRY(read_argument(blob, options));
    }
    for (uint32_t i = 0; i < header[4]; i++) {
        WEFT_TRY(read_value(blob, options));
    }
    WEFT_CHECK(blob->left == 0, WEFT_ERR_INTERNAL, "the options received from rank 0 have %zu bytes too many",
               blob->left);
    return WEFT_OK;
}

weft_status option_unpack(const option_catalog *catalog, const void *blob, size_t bytes, weft_options **options)
{
    blob_reader reader = {blob, bytes};
    uint32_t header[BLOB_HEADER];
    const option_command *command = &catalog->bare;
    *options = NULL;
    for (int i = 0; i < BLOB_HEADER; i++) {
        WEFT_TRY(get_number(&reader, &header[i]));
    }
    WEFT_CHECK(header[0] == BLOB_MAGIC && header[1] == table_hash(catalog), WEFT_ERR_LAUNCH,
               "rank 0 runs another build of weft: install the same one on every node");
    size_t commands = command_index(&catalog->bare);
    WEFT_CHECK(header[2] <= commands, WEFT_ERR_INTERNAL, "the options received from rank 0 name command %u", header[2]);
    if (header[2] < commands) {
        command = &catalog->commands[header[2]];
    }
    WEFT_TRY(option_create(command, options));
    weft_status status = read_blob(&reader, header, *options);
    if (status != WEFT_OK) {
        option_destroy(*options);
        *options = NULL;
    }
    return status;
}

weft_status option_copy(const weft_options *options, weft_options **copy)
{
    void *blob = NULL;
    size_t bytes = 0;
    *copy = NULL;
    WEFT_TRY(option_pack(options, &blob, &bytes));
    weft_status status = option_unpack(options->command->catalog, blob, bytes, copy);
    weft_free(blob);
    return status;
}
