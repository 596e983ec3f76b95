/* gnn/data/split/split_part.c: see gnn/data/split/split_part.h. Arrays are read twice, in pieces of 4096 elements. */
#include "gnn/data/split/split_part.h"

#include <inttypes.h>

#include "base/log.h"
#include "gnn/data/read/reader_parts.h"

enum { SPLITS_MAX = 1000, PIECE = 4096 };

/* ---- shapes and values ---- */

weft_status reader_layout_find(const char *name, const npy_header *header, int64_t vertices, const char *expected,
                               reader_layout *layout)
{
    const int64_t n = vertices, *shape = header->shape;
    const bool vector = header->dims == 1 && shape[0] == n;
    const bool rows = header->dims == 2 && shape[0] == n;
    const bool columns = header->dims == 2 && shape[1] == n;
    WEFT_CHECK(vector || rows || columns, WEFT_ERR_DATA,
               "%s: expected %s%" PRId64 " (vertices) each, [n], [n, k] or [k, n]; found %" PRId64
               " elements in %d dimensions",
               name, expected, n, header->count, header->dims);
    WEFT_CHECK(!rows || !columns || n == 1, WEFT_ERR_DATA,
               "%s: [%" PRId64 ", %" PRId64
               "] of as many splits as vertices: which dimension are the vertices? Give fewer splits at a time",
               name, n, n);
    *layout = (reader_layout){.splits = vector ? 1 : rows ? shape[1] : shape[0], .by_vertex = rows};
    WEFT_CHECK(layout->splits >= 1 && layout->splits <= SPLITS_MAX, WEFT_ERR_DATA,
               "%s: %" PRId64 " splits; 1 to %d are supported", name, layout->splits, SPLITS_MAX);
    return WEFT_OK;
}

weft_status reader_walk(const char *name, const npy_array *array,
                        weft_status (*visit)(void *self, int64_t element, int64_t value), void *self)
{
    int64_t value[PIECE];
    const char *at = array->data;
    const int64_t count = array->header.count;
    for (int64_t first = 0; first < count; first += PIECE) {
        const int64_t more = count - first < PIECE ? count - first : PIECE;
        WEFT_TRY(npy_convert_i64(name, &array->header, at + first * array->header.item_bytes, first, more, value));
        for (int64_t i = 0; i < more; i++) {
            WEFT_TRY(visit(self, first + i, value[i]));
        }
    }
    return WEFT_OK;
}

static weft_status count_value(void *self, int64_t element, int64_t value)
{
    reader_census *c = self;
    c->least = value < c->least ? value : c->least;
    c->most = value > c->most ? value : c->most;
    if (value == 0) {
        c->zeros++;
    } else if (value == 1) {
        c->ones++;
    } else if (value == READER_NONE && c->bytes) {
        c->full++;
    } else if (c->others++ == 0) {
        c->other = value;
        c->at = element;
    }
    return WEFT_OK;
}

weft_status reader_count_values(const char *name, const npy_array *array, reader_census *census)
{
    *census = (reader_census){
        .bytes = array->header.kind == 'u' && array->header.item_bytes == 1, .least = INT64_MAX, .most = INT64_MIN};
    return reader_walk(name, array, count_value, census);
}

/* ---- a mask or a list ---- */

/* 0 and another value, which is 1 or, of bytes, 255. */
static bool is_binary(const reader_census *census)
{
    return census->others == 0 && (census->ones == 0 || census->full == 0);
}

static bool is_mask(const npy_header *header, const reader_census *census, int64_t vertices)
{
    const bool list = census->zeros <= 1 && census->ones <= 1 && (census->ones == 0 || vertices > 1);
    return header->kind == 'b' ||
           (header->count == vertices && is_binary(census) && (!list || census->bytes) && header->count > 0);
}

weft_status reader_part_shape(const reader_part *part, int64_t vertices)
{
    reader_layout layout;
    const npy_header *header = &part->array.header;
    WEFT_CHECK(header->kind != 'S' && header->kind != 'U', WEFT_ERR_DATA, "%s: holds text, expected vertices or a mask",
               part->name);
    if (header->dims == 1 && header->kind != 'b') {
        WEFT_CHECK(header->count <= vertices, WEFT_ERR_DATA,
                   "%s: %" PRId64 " entries for %" PRId64 " vertices: a list names each once, a mask has one for each",
                   part->name, header->count, vertices);
        return WEFT_OK;
    }
    return reader_layout_find(part->name, header, vertices, "a list of vertices, or masks of ", &layout);
}

typedef struct putting {
    const reader_part *part;
    raw_graph *raw;
    int which;
    int64_t first; /* what a list calls vertex 0 */
    reader_layout layout;
} putting;

static weft_status put_everywhere(const putting *p, int64_t v)
{
    for (int64_t k = 0; k < p->raw->splits; k++) {
        WEFT_TRY(reader_put_part(p->part->name, p->raw, k, v, p->which));
    }
    return WEFT_OK;
}

static weft_status put_listed(void *self, int64_t element, int64_t value)
{
    const putting *p = self;
    WEFT_CHECK(value >= p->first && value - p->first < p->raw->vertices, WEFT_ERR_DATA,
               "%s: row %" PRId64 ": %" PRId64 ": vertices are %" PRId64 " to %" PRId64, p->part->name, element, value,
               p->first, p->raw->vertices - 1 + p->first);
    return put_everywhere(p, value - p->first);
}

static weft_status put_masked(void *self, int64_t element, int64_t value)
{
    const putting *p = self;
    const int64_t n = p->raw->vertices, v = reader_layout_vertex(&p->layout, n, element);
    if (value == 0) {
        return WEFT_OK;
    }
    return p->part->array.header.dims == 1
               ? put_everywhere(p, v)
               : reader_put_part(p->part->name, p->raw, reader_layout_split(&p->layout, n, element), v, p->which);
}

static bool is_list(const reader_part *part, const reader_census *census, int64_t vertices)
{
    return part->array.header.dims == 1 && !is_mask(&part->array.header, census, vertices);
}

/* What the lists call vertex 0. Where the edges' ids count from 1, an id 0 or n in any list shows what they do; without
 * either lists of text are taken as the edges are, and arrays as NumPy counts. */
static int64_t first_of_lists(const reader_part part[], const reader_census census[], const raw_graph *raw)
{
    const int64_t n = raw->vertices;
    const reader_part *shown = NULL;
    bool zero = false, last = false;
    for (int i = 0; i < READER_PARTS; i++) {
        if (is_list(&part[i], &census[i], n) && part[i].array.header.count > 0) {
            shown = shown == NULL ? &part[i] : shown;
            zero = zero || census[i].least <= 0;
            last = last || census[i].most >= n;
        }
    }
    const bool named = raw->ids.count > 0;
    if (named && shown != NULL && !shown->text && !id_map_is_plain(&raw->ids)) {
        log_warn("%s: the numbers of the lists are taken for vertices in the ascending order of the ids in the edges, "
                 "from 0 on",
                 shown->name);
    }
    if (named || raw->first_id == 0 || shown == NULL || zero) {
        return 0;
    }
    if (!last) {
        log_warn("%s: the lists of the split name neither vertex 0 nor vertex %" PRId64
                 ": they are taken to count from %d, as %s",
                 shown->name, n, shown->text, shown->text ? "the edges do" : "NumPy does");
    }
    return last || shown->text;
}

static weft_status put_one(const reader_part *part, const reader_census *census, int which, int64_t first,
                           raw_graph *raw)
{
    putting p = {.part = part, .raw = raw, .which = which, .first = first};
    const npy_header *header = &part->array.header;
    if (is_list(part, census, raw->vertices)) {
        const bool twice = census->zeros > 1 || census->ones > 1;
        WEFT_CHECK(!twice || !is_binary(census), WEFT_ERR_DATA,
                   "%s: holds 0 and 1 alone, more than once: a mask has an entry for each of the %" PRId64
                   " vertices, this has %" PRId64,
                   part->name, raw->vertices, header->count);
        return reader_walk(part->name, &part->array, put_listed, &p);
    }
    WEFT_TRY(reader_layout_find(part->name, header, raw->vertices, "masks of ", &p.layout));
    WEFT_CHECK(is_binary(census), WEFT_ERR_DATA, "%s: element %" PRId64 " is %" PRId64 ": masks hold 0 and 1",
               part->name, census->at, census->other);
    return reader_walk(part->name, &part->array, put_masked, &p);
}

/* How many splits the parts describe together: those in two dimensions agree. */
static weft_status agree_on_splits(const reader_part *part, int64_t vertices, int64_t *splits)
{
    int first = -1;
    *splits = 1;
    for (int i = 0; i < READER_PARTS; i++) {
        reader_layout layout;
        WEFT_TRY(reader_part_shape(&part[i], vertices));
        if (part[i].array.header.dims == 1) {
            continue;
        }
        WEFT_TRY(reader_layout_find(part[i].name, &part[i].array.header, vertices, "masks of ", &layout));
        WEFT_CHECK(first < 0 || layout.splits == *splits, WEFT_ERR_DATA, "%s: %" PRId64 " splits, but %s has %" PRId64,
                   part[i].name, layout.splits, reader_part_names[first < 0 ? 0 : first], *splits);
        first = first < 0 ? i : first;
        *splits = layout.splits;
    }
    return WEFT_OK;
}

weft_status reader_put_parts(reader_part part[], raw_graph *raw)
{
    int64_t splits;
    reader_census census[READER_PARTS];
    weft_status status;
    WEFT_TRY_GOTO(agree_on_splits(part, raw->vertices, &splits), status, done);
    WEFT_TRY_GOTO(reader_new_splits(raw, splits), status, done);
    for (int i = 0; i < READER_PARTS; i++) {
        WEFT_TRY_GOTO(reader_count_values(part[i].name, &part[i].array, &census[i]), status, done);
    }
    const int64_t first = first_of_lists(part, census, raw);
    for (int i = 0; i < READER_PARTS; i++) {
        WEFT_TRY_GOTO(put_one(&part[i], &census[i], i, first, raw), status, done);
    }
done:
    for (int i = 0; i < READER_PARTS; i++) {
        npy_array_free(&part[i].array);
    }
    return status;
}
