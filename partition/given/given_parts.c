/* partition/given/given_parts.c: see partition/given/given_parts.h. */
#include "partition/given/given_parts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "io/foreign_kind.h"
#include "partition/given/given_array.h"
#include "partition/given/given_book.h"
#include "partition/partition.h"

bool given_is_file(const char *method)
{
    return strpbrk(method, "./") != NULL;
}

static bool has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), more = strlen(suffix);
    return length > more && strcmp(path + length - more, suffix) == 0;
}

typedef struct given_state {
    const char *path;
    const char *unit; /* of the file: "line", "element" */
    int64_t vertices;
    int parts;
    uint16_t *part;
} given_state;

/* at: line or element of the file. */
static weft_status set_part(const given_state *state, int64_t at, int64_t vertex, int64_t part)
{
    WEFT_CHECK(vertex >= 0 && vertex < state->vertices, WEFT_ERR_DATA,
               "%s: %s %" PRId64 ": vertex %" PRId64 ", must be between 0 and %" PRId64
               ", the last of the graph: was the file made of this graph?",
               state->path, state->unit, at, vertex, state->vertices - 1);
    WEFT_CHECK(part >= 0 && part < state->parts, WEFT_ERR_DATA,
               "%s: %s %" PRId64 ": part %" PRId64
               ", must be between 0 and %d (parts count from 0): use as many ranks, or parts, as the file was made for",
               state->path, state->unit, at, part, state->parts - 1);
    WEFT_CHECK(state->part[vertex] == PARTITION_NO_PART, WEFT_ERR_DATA,
               "%s: %s %" PRId64 ": vertex %" PRId64 " has a part already, %d", state->path, state->unit, at, vertex,
               state->part[vertex]);
    state->part[vertex] = (uint16_t)part;
    return WEFT_OK;
}

static weft_status take_element(void *self, int64_t element, int64_t value)
{
    return set_part(self, element, element, value);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

enum { NUMBERS_MAX = 2 };

/* The numbers of the line that begins at *at, which moves to the next one. */
static weft_status scan_line(const given_state *state, int64_t line, const char **at, const char *end,
                             int64_t number[NUMBERS_MAX], int *count)
{
    const char *c = *at;
    *count = 0;
    for (;;) {
        while (c < end && (*c == ' ' || *c == '\t' || *c == '\r')) {
            ++c;
        }
        if (c == end || *c == '\n') {
            *at = c < end ? c + 1 : c;
            return WEFT_OK;
        }
        WEFT_CHECK(isdigit((unsigned char)*c) && *count < NUMBERS_MAX, WEFT_ERR_DATA,
                   "%s: line %" PRId64 ": expected the part of a vertex, or a vertex and its part, found \"%.*s\"",
                   state->path, line, (int)(end - c < 16 ? end - c : 16), c);
        int64_t value = 0;
        const char *first = c;
        for (; c < end && isdigit((unsigned char)*c); ++c) {
            WEFT_CHECK(value < INT64_MAX / 10 - 1, WEFT_ERR_DATA,
                       "%s: line %" PRId64 ": the number %.*s... is larger than any vertex or part", state->path, line,
                       (int)(c - first), first);
            value = 10 * value + (*c - '0');
        }
        number[(*count)++] = value;
    }
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at)) {
        ++at;
    }
    return at == end;
}

static weft_status read_lines(const given_state *state, const file_map *map)
{
    const char *at = (const char *)map->data, *end = at + map->size;
    int64_t number[NUMBERS_MAX] = {0}, line = 1;
    int columns = 0;
    for (; at < end; ++line) {
        int count = 0;
        if (line > state->vertices && is_blank(at, end)) {
            break;
        }
        WEFT_TRY(scan_line(state, line, &at, end, number, &count));
        columns = line == 1 ? count : columns;
        WEFT_CHECK(count == columns && count > 0, WEFT_ERR_DATA,
                   "%s: line %" PRId64 " holds %d numbers, %s: a partition has a line for every vertex", state->path,
                   line, count, columns == 2 ? "the first one a vertex and its part" : "expected one");
        WEFT_CHECK(line <= state->vertices, WEFT_ERR_DATA,
                   "%s: more lines than the graph's %" PRId64 " vertices: was the file made of this graph?",
                   state->path, state->vertices);
        const int64_t vertex = count == 2 ? number[0] : line - 1;
        WEFT_TRY(set_part(state, line, vertex, number[count - 1]));
    }
    WEFT_CHECK(line > state->vertices, WEFT_ERR_DATA,
               "%s: %" PRId64 " lines, the graph has %" PRId64 " vertices: was the file made of this graph?",
               state->path, line - 1, state->vertices);
    return WEFT_OK;
}

static weft_status read_text(const given_state *state)
{
    file_map map;
    WEFT_TRY(file_map_open(state->path, &map));
    weft_status status = foreign_kind_check(state->path, map.data, map.size < FOREIGN_HEAD ? map.size : FOREIGN_HEAD);
    status = status == WEFT_OK ? read_lines(state, &map) : status;
    file_map_close(&map);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void warn_of_empty_parts(const given_state *state)
{
    bool filled[PARTITION_MAX_PARTS] = {false};
    int empty = 0;
    for (int64_t v = 0; v < state->vertices; ++v) {
        filled[state->part[v]] = true;
    }
    for (int p = 0; p < state->parts; ++p) {
        empty += filled[p] ? 0 : 1;
    }
    if (empty > 0 && state->vertices >= state->parts) {
        log_warn("%s: %d of %d parts have no vertex: was it made for fewer parts?", state->path, empty, state->parts);
    }
}

static weft_status read_array(given_state *state, const char *path)
{
    state->path = path;
    state->unit = "element";
    return given_array_read(path, state->vertices, take_element, state);
}

weft_status given_parts_read(const char *path, int64_t vertices, int parts, uint16_t *part)
{
    char array[FILE_PATH_MAX] = "";
    given_state state = {.path = path, .unit = "line", .vertices = vertices, .parts = parts, .part = part};
    for (int64_t v = 0; v < vertices; ++v) {
        part[v] = PARTITION_NO_PART;
    }
    if (has_suffix(path, ".json")) {
        WEFT_TRY(given_book_read(path, vertices, parts, part, array));
        WEFT_TRY(array[0] != '\0' ? read_array(&state, array) : WEFT_OK);
    } else if (has_suffix(path, ".npy")) {
        WEFT_TRY(read_array(&state, path));
    } else {
        WEFT_TRY(read_text(&state));
    }
    warn_of_empty_parts(&state);
    return WEFT_OK;
}

static weft_status mix_file(const char *path, char key[33])
{
    char text[128];
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return weft_fail_errno(errno, path);
    }
    const int length = snprintf(text, sizeof text, "%s %jd %jd.%09ld", key, (intmax_t)facts.st_size,
                                (intmax_t)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    file_hash(text, (size_t)length, key);
    return WEFT_OK;
}

weft_status given_parts_identity(const char *path, char key[33])
{
    char arrays[GIVEN_BOOK_ARRAYS][FILE_PATH_MAX] = {"", ""};
    key[0] = '\0';
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "%s: no such file, and no partitioning method of this name", path);
    WEFT_TRY(mix_file(path, key));
    WEFT_TRY(has_suffix(path, ".json") ? given_book_arrays(path, arrays) : WEFT_OK);
    for (int i = 0; i < GIVEN_BOOK_ARRAYS; ++i) {
        const weft_status status = arrays[i][0] != '\0' ? mix_file(arrays[i], key) : WEFT_OK;
        if (status != WEFT_OK) {
            return weft_fail_context(status, "%s: names an array that cannot be read: ", path);
        }
    }
    return WEFT_OK;
}
