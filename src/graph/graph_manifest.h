/*
 * graph/graph_manifest.h: manifest.json of a graph store, as a struct.
 *
 * The arrays that a store has follow from its counts. Entries of the manifest's object `arrays` are those of every
 * store (io/store/store_array.h).
 */
#pragma once

#include "graph/graph.h"
#include "io/store/store_array.h"

/* X(id, name): the arrays of a store; files are named after them. */
#define GRAPH_ARRAY_LIST(X)                                                                                            \
    X(GRAPH_OFFSET, "offset")                                                                                          \
    X(GRAPH_SOURCE, "source")                                                                                          \
    X(GRAPH_WEIGHT, "weight")                                                                                          \
    X(GRAPH_FEATURE, "feature")                                                                                        \
    X(GRAPH_FEATURE_OFFSET, "feature_offset")                                                                          \
    X(GRAPH_FEATURE_COLUMN, "feature_column")                                                                          \
    X(GRAPH_FEATURE_VALUE, "feature_value")                                                                            \
    X(GRAPH_LABEL, "label")                                                                                            \
    X(GRAPH_TARGET, "target")                                                                                          \
    X(GRAPH_SPLIT, "split")                                                                                            \
    X(GRAPH_CLASS_NAME, "class_name")                                                                                  \
    X(GRAPH_VERTEX_NAME, "vertex_name")

typedef enum graph_array {
#define GRAPH_ARRAY_ENUM(id, name) id,
    GRAPH_ARRAY_LIST(GRAPH_ARRAY_ENUM)
#undef GRAPH_ARRAY_ENUM
        GRAPH_ARRAYS
} graph_array;

extern const char *const graph_array_names[GRAPH_ARRAYS];

/* A store is of the lowest version that says all of it, so that a program that would leave something out refuses it. */
enum {
    GRAPH_VERSION = 1,
    GRAPH_VERSION_WEIGHTED = 2, /* edges may have weights */
    GRAPH_VERSION_THIRD = 3,    /* classes and vertices may have names, features may stand sparse */
    GRAPH_VERSION_LAST = GRAPH_VERSION_THIRD
};
enum { GRAPH_NAME_BYTES = 64, GRAPH_ORIGIN_BYTES = 1024 };

typedef struct graph_manifest {
    int64_t vertices, edges, features, classes, tasks, splits;
    int64_t feature_numbers; /* of sparse features; -1: features stand whole */
    bool symmetric, weighted;
    bool class_named, vertex_named;
    char name[GRAPH_NAME_BYTES], origin[GRAPH_ORIGIN_BYTES];
    store_array arrays[GRAPH_ARRAYS];
} graph_manifest;

/* `name` is for messages. WEFT_ERR_DATA with key and value. */
weft_status graph_manifest_parse(const char *name, const char *text, size_t bytes, graph_manifest *manifest);
/* Read and parse STORE/manifest.json. [out] hash  file_hash of its bytes. WEFT_ERR_NOINPUT when there is none. */
weft_status graph_manifest_read(const char *store, graph_manifest *manifest, char hash[33]);
weft_status graph_manifest_write(const char *folder, const graph_manifest *manifest);
