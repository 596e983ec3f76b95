/*
 * gnn/data/edges/id_map.h: what vertices are called in a file, in order: vertex 0 is the least.
 *
 * Ids that are all whole numbers of 64 bits are numbers, ascending; otherwise all are names, in the order of their
 * bytes. The order depends neither on the file's nor on threads. Memory: 8 bytes a vertex, and the names; while they
 * are collected twice that, and once for each thread.
 */
#pragma once

#include "gnn/data/edges/edge_columns.h"
#include "io/name_list.h"

typedef struct id_map {
    int64_t count;
    int64_t *item; /* [count] numbers; or where names begin in text, each with a zero behind it */
    char *text;    /* NULL: numbers */
} id_map;

/* A file with ids in the columns `from` and `to`, which may be one. */
typedef struct id_file {
    const char *path;
    const edge_columns *columns;
    size_t line_max; /* for text_source_open */
} id_file;

/* All ids of `count` files. WEFT_ERR_DATA with file and line; WEFT_ERR_RESOURCE beyond memory_bytes (0 = no limit).
 * Free with id_map_free. */
weft_status id_map_read(const id_file *sources, int count, int64_t memory_bytes, id_map *map);
void id_map_free(id_map *map);

/* Any thread. False: no vertex is called so. */
bool id_map_find(const id_map *map, const text_field *field, int64_t *vertex);
/* The ids are 0 to count - 1 themselves. */
bool id_map_is_plain(const id_map *map);
weft_status id_map_names(const id_map *map, name_list *names);
