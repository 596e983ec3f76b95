/*
 * gnn/data/edges/id_map.c: see gnn/data/edges/id_map.h.
 *
 * Each thread collects ids in an array, which is sorted and rid of repeats when it is full, and grows where that does
 * not halve it. No hash is in it that a file could be made against. Lookups are binary searches.
 */
#include "gnn/data/edges/id_map.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "io/store/store_options.def"

enum { ROOM_FIRST = 1 << 12, TEXT_FIRST = 1 << 16 };

typedef struct id_list {
    int64_t count, room;
    int64_t *item;
    char *text; /* of names */
    int64_t used, capacity;
} id_list;

typedef struct collector {
    const edge_columns *columns;
    bool names;
    int64_t memory_bytes;
    id_list *list;     /* [threads] */
    atomic_bool words; /* an id is no number */
    atomic_llong comments;
} collector;

/* ---- one list ---- */

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + *(const int64_t *)a, (const char *)text + *(const int64_t *)b);
}

static bool same_item(const id_list *list, int64_t a, int64_t b)
{
    return list->text == NULL ? a == b : strcmp(list->text + a, list->text + b) == 0;
}

static weft_status pack_names(id_list *list)
{
    char *packed;
    int64_t used = 0;
    WEFT_TRY(weft_malloc((size_t)list->capacity, 1, WEFT_MEM_WORKSPACE, (void **)&packed));
    for (int64_t i = 0; i < list->count; i++) {
        const size_t length = strlen(list->text + list->item[i]) + 1;
        memcpy(packed + used, list->text + list->item[i], length);
        list->item[i] = used;
        used += (int64_t)length;
    }
    weft_free(list->text);
    list->text = packed;
    list->used = used;
    return WEFT_OK;
}

static weft_status sort_list(id_list *list)
{
    int64_t kept = 0;
    if (list->count == 0) {
        return WEFT_OK;
    }
    if (list->text == NULL) {
        qsort(list->item, (size_t)list->count, sizeof *list->item, compare_numbers);
    } else {
        qsort_r(list->item, (size_t)list->count, sizeof *list->item, compare_names, list->text);
    }
    for (int64_t i = 0; i < list->count; i++) {
        if (kept == 0 || !same_item(list, list->item[i], list->item[kept - 1])) {
            list->item[kept++] = list->item[i];
        }
    }
    list->count = kept;
    return list->text != NULL ? pack_names(list) : WEFT_OK;
}

static weft_status need_item(id_list *list)
{
    if (list->count < list->room) {
        return WEFT_OK;
    }
    WEFT_TRY(sort_list(list));
    if (list->room > 0 && list->count <= list->room / 2) {
        return WEFT_OK;
    }
    const int64_t room = list->room > 0 ? 2 * list->room : ROOM_FIRST;
    WEFT_TRY(weft_realloc((void **)&list->item, (size_t)room, sizeof *list->item, WEFT_MEM_WORKSPACE));
    list->room = room;
    return WEFT_OK;
}

static weft_status need_text(id_list *list, int64_t bytes)
{
    if (list->text != NULL && list->capacity - list->used >= bytes) {
        return WEFT_OK;
    }
    WEFT_TRY(list->text != NULL ? sort_list(list) : WEFT_OK);
    if (list->text != NULL && list->capacity / 2 - list->used >= bytes) {
        return WEFT_OK;
    }
    const int64_t capacity = 2 * list->capacity + bytes + TEXT_FIRST;
    WEFT_TRY(weft_realloc((void **)&list->text, (size_t)capacity, 1, WEFT_MEM_WORKSPACE));
    list->capacity = capacity;
    return WEFT_OK;
}

static void free_list(id_list *list)
{
    WEFT_FREE_ALL(list->item, list->text);
    *list = (id_list){.count = 0};
}

/* As strcmp of the field's text and a name. */
static int compare_field(const text_field *field, const char *name)
{
    for (const char *at = field->text; at < field->end; at++, name++) {
        const int difference = (int)(unsigned char)*at - (int)(unsigned char)*name;
        if (difference != 0) {
            return difference;
        }
        at += field->quoted && *at == '"'; /* the second one of two */
    }
    return *name == '\0' ? 0 : -1;
}

/* ---- a file ---- */

static weft_status check_memory(const collector *c, const id_list *list)
{
    const uint64_t bytes = (uint64_t)list->room * sizeof *list->item + (uint64_t)list->capacity;
    WEFT_CHECK(c->memory_bytes == 0 || bytes <= (uint64_t)c->memory_bytes, WEFT_ERR_RESOURCE,
               "the ids of vertices need more than " FLAG_MEMORY " gives, %" PRId64 " bytes", c->memory_bytes);
    return WEFT_OK;
}

static weft_status add_number(id_list *list, int64_t number)
{
    WEFT_TRY(need_item(list));
    list->item[list->count++] = number;
    return WEFT_OK;
}

static weft_status add_name(id_list *list, const text_field *field)
{
    const int64_t bytes = field->end - field->text + 1;
    WEFT_TRY(need_item(list));
    WEFT_TRY(need_text(list, bytes));
    list->item[list->count++] = list->used;
    list->used += (int64_t)text_copy_field(field, list->text + list->used, (size_t)bytes) + 1;
    return WEFT_OK;
}

/* A whole number, but for one that is told apart from another by zeros or a sign in front, as codes are. */
static bool is_number(const text_field *field, int64_t *number)
{
    const char *digits = field->text + (*field->text == '-');
    const bool code = *field->text == '+' || (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9');
    return !code && text_field_whole(field, number);
}

static bool add_field(collector *c, text_piece *piece, const text_field *field)
{
    id_list *list = &c->list[piece->thread];
    int64_t number;
    weft_status status;
    if (field->end == field->text || (!field->quoted && text_field_missing(field))) {
        return text_expected(piece, field->text,
                             field->end > field->text ? "a vertex id (a name like this needs quotes)" : "a vertex id");
    }
    const bool full = list->count == list->room;
    if (c->names) {
        status = add_name(list, field);
        if (status == WEFT_OK && !name_list_admits(list->text + list->item[list->count - 1])) {
            return text_expected(piece, field->text, "a name of UTF-8 without control characters");
        }
    } else if (is_number(field, &number)) {
        status = add_number(list, number);
    } else {
        atomic_store(&c->words, true);
        return text_expected(piece, field->text, "a whole number");
    }
    status = status == WEFT_OK && full ? check_memory(c, list) : status;
    return status == WEFT_OK || text_fail(piece, status);
}

static int64_t count_comments(const text_piece *piece)
{
    int64_t count = 0;
    for (const char *at = piece->text; at < piece->end; at = text_next_line(at, piece->end)) {
        count += *at == '#' || *at == '%';
    }
    return count;
}

/* Files that were put behind each other have their headers in the middle. */
static bool is_header(const edge_columns *columns, const edge_fields *fields)
{
    const text_header *h = &columns->header;
    return h->named && compare_field(&fields->from, h->name[columns->from]) == 0 &&
           (columns->to == columns->from || compare_field(&fields->to, h->name[columns->to]) == 0);
}

static bool collect_rows(void *self, text_piece *piece)
{
    collector *c = self;
    const char *at = piece->text;
    edge_fields fields;
    atomic_fetch_add(&c->comments, c->names ? count_comments(piece) : 0);
    while (text_next_row(piece, &at)) {
        if (!edge_columns_scan(c->columns, piece, &at, &fields)) {
            return false;
        }
        if (c->names && is_header(c->columns, &fields)) {
            return text_expected(piece, fields.from.text, "an edge, not the header again");
        }
        if (!add_field(c, piece, &fields.from) ||
            (c->columns->to != c->columns->from && !add_field(c, piece, &fields.to))) {
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

static weft_status join_list(const collector *c, const id_list *list, id_list *all)
{
    for (int64_t i = 0; i < list->count; i++) {
        const char *name = c->names ? list->text + list->item[i] : NULL;
        const text_field field = {.text = name, .end = c->names ? name + strlen(name) : NULL};
        WEFT_TRY(c->names ? add_name(all, &field) : add_number(all, list->item[i]));
    }
    return check_memory(c, all);
}

static weft_status collect_file(collector *c, const id_file *from, id_list *all)
{
    text_source *source = NULL;
    const text_parser parser = {.self = c, .parse = collect_rows, .comments = "#%"};
    weft_status status;
    WEFT_TRY(text_source_open(from->path, from->line_max, &source));
    const int threads = text_source_threads(source);
    c->columns = from->columns;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&c->list, threads, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(text_header_skip(&from->columns->header, source), status, done);
    status = text_source_parse(source, &parser, NULL);
    for (int t = 0; t < threads && status == WEFT_OK; t++) {
        status = join_list(c, &c->list[t], all);
        free_list(&c->list[t]);
    }
done:
    for (int t = 0; t < threads && c->list != NULL; t++) {
        free_list(&c->list[t]);
    }
    weft_free(c->list);
    c->list = NULL;
    text_source_close(source);
    return status;
}

static weft_status collect(collector *c, const id_file *sources, int count, id_map *map)
{
    id_list all = {.count = 0};
    weft_status status = WEFT_OK;
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        status = collect_file(c, &sources[i], &all);
    }
    status = status == WEFT_OK ? sort_list(&all) : status;
    if (status != WEFT_OK) {
        free_list(&all);
        return status;
    }
    *map = (id_map){.count = all.count, .item = all.item, .text = all.text};
    return WEFT_OK;
}

/* One word among numbers makes names of all. */
static void tell_mixed(const char *path, const id_map *map)
{
    int64_t numbers = 0, number, word = -1;
    for (int64_t v = 0; v < map->count && map->text != NULL; v++) {
        const char *name = map->text + map->item[v];
        const text_field field = {.text = name, .end = name + strlen(name)};
        const bool whole = is_number(&field, &number);
        numbers += whole;
        word = whole ? word : v;
    }
    if (numbers > 0 && word >= 0) {
        log_warn("%s: %" PRId64
                 " ids are numbers and others are not ('%.40s'): all are names, in the order of their bytes",
                 path, numbers, map->text + map->item[word]);
    }
}

weft_status id_map_read(const id_file *sources, int count, int64_t memory_bytes, id_map *map)
{
    collector c = {.memory_bytes = memory_bytes};
    *map = (id_map){.count = 0};
    weft_status status = collect(&c, sources, count, map);
    if (status == WEFT_ERR_DATA && atomic_load(&c.words)) {
        weft_error_clear();
        c.names = true;
        status = collect(&c, sources, count, map);
    }
    WEFT_TRY(status);
    if (atomic_load(&c.comments) > 0) {
        log_warn("%s: %lld lines that begin with # or %% are comments; names that begin so need quotes",
                 sources[0].path, atomic_load(&c.comments));
    }
    tell_mixed(sources[0].path, map);
    if (map->count > INT32_MAX - 1) {
        const int64_t vertices = map->count;
        id_map_free(map);
        return weft_fail(WEFT_ERR_UNSUPPORTED, "%s: %" PRId64 " vertices; up to 2147483646 are supported",
                         sources[0].path, vertices);
    }
    return WEFT_OK;
}

void id_map_free(id_map *map)
{
    WEFT_FREE_ALL(map->item, map->text);
    *map = (id_map){.count = 0};
}

/* ---- lookups ---- */

bool id_map_find(const id_map *map, const text_field *field, int64_t *vertex)
{
    int64_t number = 0, place = 0;
    if (map->text == NULL) {
        if (!is_number(field, &number)) {
            return false;
        }
        SEARCH_FIRST(place, map->count, map->item[at] < number);
    } else {
        SEARCH_FIRST(place, map->count, compare_field(field, map->text + map->item[at]) > 0);
    }
    *vertex = place;
    return place < map->count &&
           (map->text != NULL ? compare_field(field, map->text + map->item[place]) == 0 : map->item[place] == number);
}

bool id_map_is_plain(const id_map *map)
{
    return map->text == NULL && map->count > 0 && map->item[0] == 0 && map->item[map->count - 1] == map->count - 1;
}

weft_status id_map_names(const id_map *map, name_list *names)
{
    enum { NUMBER_MAX = 24 };
    char *digits = NULL;
    const char **text;
    weft_status status;
    WEFT_TRY(WEFT_NEW(&text, map->count, WEFT_MEM_WORKSPACE));
    if (map->text == NULL) {
        WEFT_TRY_GOTO(weft_malloc((size_t)map->count, NUMBER_MAX, WEFT_MEM_WORKSPACE, (void **)&digits), status, done);
    }
    for (int64_t v = 0; v < map->count; v++) {
        if (map->text != NULL) {
            text[v] = map->text + map->item[v];
        } else {
            snprintf(digits + v * NUMBER_MAX, NUMBER_MAX, "%" PRId64, map->item[v]);
            text[v] = digits + v * NUMBER_MAX;
        }
    }
    status = name_list_copy(text, map->count, names);
done:
    WEFT_FREE_ALL(digits, text);
    return status;
}
