/* partition/given/given_book.c: see partition/given/given_book.h. */
#include "partition/given/given_book.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "io/json.h"
#include "partition/given/given_array.h"
#include "partition/partition.h"

enum { BOOK_MAX_BYTES = 1 << 20 };

/* An array's place as the book tells it: beside the book, or where the name leads. */
static weft_status locate(const char *book, const char *name, char path[FILE_PATH_MAX])
{
    const char *slash = strrchr(book, '/'), *own = strrchr(name, '/');
    const int folder = slash != NULL ? (int)(slash - book) + 1 : 0;
    WEFT_TRY(file_path(path, "%.*s%s", folder, book, own != NULL ? own + 1 : name));
    return file_exists(path) ? WEFT_OK : file_path(path, "%s", name);
}

/* node_map, or that of the only kind of vertices. */
static weft_status find_map(const char *path, const json_value *book, const json_value **found)
{
    const json_value *map = json_find(book, "node_map");
    WEFT_CHECK(map != NULL, WEFT_ERR_DATA, "%s: no \"node_map\": not a partition book of DGL", path);
    if (map->kind == JSON_OBJECT) {
        WEFT_CHECK(map->child != NULL, WEFT_ERR_DATA, "%s: \"node_map\" names no kind of vertices", path);
        WEFT_CHECK(
            map->child->next == NULL, WEFT_ERR_DATA,
            "%s: \"node_map\" has several kinds of vertices, \"%s\" and \"%s\" first: only graphs of one kind are "
            "read",
            path, map->child->key, map->child->next->key);
        map = map->child;
    }
    WEFT_CHECK(map->kind == JSON_ARRAY || map->kind == JSON_TEXT, WEFT_ERR_DATA,
               "%s: \"node_map\" must hold a range of vertices for each part, or name an array", path);
    *found = map;
    return WEFT_OK;
}

static weft_status find_original(const char *path, const json_value *book, char array[FILE_PATH_MAX])
{
    const char *name = NULL;
    array[0] = '\0';
    if (json_find(book, "orig_nids") == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(json_get_text(path, book, "orig_nids", &name));
    return locate(path, name, array);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* The end of a part's range, which must begin where the last one ended. */
static weft_status range_end(const char *path, const json_value *range, int part, int64_t begin, int64_t vertices,
                             int64_t *end)
{
    const json_value *last = range, *first = NULL;
    if (range->kind == JSON_ARRAY) {
        first = range->child;
        last = first != NULL ? first->next : NULL;
        WEFT_CHECK(first != NULL && first->integral && last != NULL && last->integral && last->next == NULL,
                   WEFT_ERR_DATA, "%s: range of part %d: expected [begin, end]", path, part);
        WEFT_CHECK(first->integer == begin, WEFT_ERR_DATA,
                   "%s: range of part %d begins at %" PRId64 ", the one before ends at %" PRId64, path, part,
                   first->integer, begin);
    }
    WEFT_CHECK(last->kind == JSON_NUMBER && last->integral, WEFT_ERR_DATA,
               "%s: range of part %d: expected [begin, end], or the end", path, part);
    WEFT_CHECK(last->integer >= begin && last->integer <= vertices, WEFT_ERR_DATA,
               "%s: range of part %d ends at %" PRId64 ", must be between %" PRId64 " and the graph's %" PRId64
               " vertices: was the book made of this graph?",
               path, part, last->integer, begin, vertices);
    *end = last->integer;
    return WEFT_OK;
}

static weft_status read_ranges(const char *path, const json_value *map, int64_t vertices, int parts, uint16_t *part)
{
    int64_t begin = 0, end = 0;
    int p = 0;
    for (const json_value *range = map->child; range != NULL; range = range->next, ++p) {
        WEFT_CHECK(p < parts, WEFT_ERR_DATA, "%s: \"node_map\" has more ranges than \"num_parts\", %d", path, parts);
        WEFT_TRY(range_end(path, range, p, begin, vertices, &end));
        for (; begin < end; ++begin) {
            part[begin] = (uint16_t)p;
        }
    }
    WEFT_CHECK(p == parts && begin == vertices, WEFT_ERR_DATA,
               "%s: \"node_map\" has %d ranges that end at %" PRId64 ", expected %d and the graph's %" PRId64
               " vertices: was the book made of this graph?",
               path, p, begin, parts, vertices);
    return WEFT_OK;
}

typedef struct renaming {
    const char *path;
    int64_t vertices;
    const uint16_t *of_new; /* [vertices] by new id */
    uint16_t *part;         /* [vertices] by vertex */
} renaming;

static weft_status take_original(void *self, int64_t element, int64_t value)
{
    const renaming *names = self;
    WEFT_CHECK(value >= 0 && value < names->vertices, WEFT_ERR_DATA,
               "%s: element %" PRId64 ": vertex %" PRId64 ", must be between 0 and %" PRId64, names->path, element,
               value, names->vertices - 1);
    WEFT_CHECK(names->part[value] == PARTITION_NO_PART, WEFT_ERR_DATA,
               "%s: element %" PRId64 ": vertex %" PRId64 " occurs twice", names->path, element, value);
    names->part[value] = names->of_new[element];
    return WEFT_OK;
}

/* part: by new id, and by vertex afterwards. */
static weft_status rename_vertices(const char *path, int64_t vertices, uint16_t *part)
{
    uint16_t *of_new = NULL;
    WEFT_TRY(WEFT_NEW(&of_new, vertices, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < vertices; ++v) {
        of_new[v] = part[v];
        part[v] = PARTITION_NO_PART;
    }
    renaming names = {.path = path, .vertices = vertices, .of_new = of_new, .part = part};
    weft_status status = given_array_read(path, vertices, take_original, &names);
    weft_free(of_new);
    return status;
}

/* ---- the book ---------------------------------------------------------------------------------------------------- */

static weft_status read_book(const char *path, const json_value *book, int64_t vertices, int parts, uint16_t *part,
                             char array[FILE_PATH_MAX])
{
    int64_t made_for = 0;
    const json_value *map = NULL;
    char original[FILE_PATH_MAX];
    WEFT_TRY(json_get_int(path, book, "num_parts", 1, INT32_MAX, &made_for));
    WEFT_CHECK(made_for == parts, WEFT_ERR_DATA,
               "%s: made for %" PRId64 " parts, asked for are %d: use as many ranks, or parts", path, made_for, parts);
    WEFT_TRY(find_map(path, book, &map));
    if (map->kind == JSON_TEXT) {
        return locate(path, map->text, array);
    }
    WEFT_TRY(read_ranges(path, map, vertices, parts, part));
    WEFT_TRY(find_original(path, book, original));
    if (original[0] != '\0') {
        return rename_vertices(original, vertices, part);
    }
    log_info("%s: no \"orig_nids\": the graph's vertices are taken to bear the ids that DGL gave them anew", path);
    return WEFT_OK;
}

weft_status given_book_read(const char *path, int64_t vertices, int parts, uint16_t *part, char array[FILE_PATH_MAX])
{
    json_document *document = NULL;
    const json_value *book = NULL;
    array[0] = '\0';
    WEFT_TRY(json_read_object(path, BOOK_MAX_BYTES, &document, &book));
    weft_status status = read_book(path, book, vertices, parts, part, array);
    json_free(document);
    return status;
}

weft_status given_book_arrays(const char *path, char arrays[GIVEN_BOOK_ARRAYS][FILE_PATH_MAX])
{
    json_document *document = NULL;
    const json_value *book = NULL, *map = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY(json_read_object(path, BOOK_MAX_BYTES, &document, &book));
    WEFT_TRY_GOTO(find_map(path, book, &map), status, done);
    arrays[0][0] = arrays[1][0] = '\0';
    WEFT_TRY_GOTO(map->kind == JSON_TEXT ? locate(path, map->text, arrays[0]) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(map->kind == JSON_ARRAY ? find_original(path, book, arrays[1]) : WEFT_OK, status, done);
done:
    json_free(document);
    return status;
}
