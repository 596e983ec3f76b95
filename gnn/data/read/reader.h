/*
 * gnn/data/read/reader.h: input formats. A format is a row of the table in gnn/data/read/reader.c: name, description,
 * how to recognise it, how to read it. Adding one means one new file and one new row.
 */
#pragma once

#include "base/option_words.h"
#include "gnn/data/edges/id_map.h"
#include "gnn/data/edges/text_head.h"
#include "graph/graph.h"
#include "io/text/text_source.h"

/* Files of rows for vertices. */
enum { READER_TABLE_FEATURES, READER_TABLE_LABELS, READER_TABLE_SPLIT, READER_TABLES };

struct reader_npz; /* gnn/data/read/reader_npz.h */

/* Edges as read, before symmetrising, sorting and de-duplication; arrays from base/alloc.h, freed by raw_graph_free. */
typedef struct raw_graph {
    int64_t vertices, edges, features, classes, tasks, splits;
    int32_t *from, *to; /* [edges] */
    bool stores_both;   /* the input says that it lists both directions: checked */
    bool both_ways;     /* each edge of the input means both directions */
    int64_t first_id;   /* what the input calls vertex 0 */
    float *feature;     /* [vertices, features]; or, as most inputs store them, sparse by rows: */
    int64_t *feature_offset;
    int32_t *feature_column;
    float *feature_value;
    /* or made row by row, in order, while the store is written, so that they never stand in memory as a whole: */
    weft_status (*fill_features)(void *self, int64_t row, int64_t rows, float *out);
    void (*free_features)(void *self);
    void *fill_self;
    int32_t *label;         /* [vertices] or NULL */
    float *target;          /* [vertices, tasks] or NULL */
    uint8_t *split;         /* [splits, vertices] or NULL */
    name_list class_names;  /* [classes] or [tasks], where the input calls them by names */
    name_list vertex_names; /* [vertices], where the input calls them by other names than 0 .. vertices - 1 */
    id_map ids;             /* what the input calls the vertices, where that was asked for; count 0: first_id and on */
    char name[64];
    /* Readers of text collect edges here instead of from, to (gnn/data/build/arcs.h), with what the user asked for: */
    struct arcs *arcs;
    int64_t memory_bytes, asked_vertices; /* --memory, --vertices; 0 = not given */
    int64_t asked_first_id;               /* --first-id */
    bool relabels;                        /* --relabel: see ids */
    bool takes_ids;                       /* those two could be given */
    bool names_alone;                     /* vertices have names, but no map of ids: texts cannot be read */
    const char *tables[READER_TABLES];    /* files for the vertices that are given with the edges; NULL: none */
    int64_t asked_classes;                /* --classes; 0 = not given */
    bool numbers;                         /* --number-labels */
    const char *split_name;               /* --split-name, or NULL */
    bool split_elsewhere;                 /* another option gives the split: that of the input does not matter */
    bool weighs;                          /* --edge-weights names the input */
    edge_file_kind kind;                  /* of text: what its reader took it for */
    const char *beside;                   /* temporary files lie in the folder of this path */
} raw_graph;

typedef struct reader_format {
    const char *name;
    const char *description;
    bool symmetrize;        /* what --symmetrize auto means for it */
    bool takes_vertices;    /* --vertices has a meaning */
    bool takes_ids;         /* --first-id and --relabel have one, too */
    bool has_split_folders; /* --split-name has a meaning */
    /* Does this path look like the format? Cheap; never fails. */
    bool (*matches)(const char *path);
    /* An .npz of the format has these arrays, up to NULL; instead of matches. */
    const char *const *npz_names;
    /* The same for a format of text, instead of matches: `head` is how the file begins, unpacked. */
    bool (*matches_text)(const char *path, const char *head);
    /* Each format has one of these: for any path, for an .npz, or for text whose lines have at most line_max bytes. */
    weft_status (*read)(const char *path, raw_graph *raw);
    weft_status (*read_npz)(const struct reader_npz *npz, raw_graph *raw);
    weft_status (*read_text)(const char *path, text_source *source, raw_graph *raw);
    size_t line_max;
} reader_format;

const reader_format *reader_format_at(int i); /* NULL past the end */
/* By name, or by looking at the file when name is "auto". WEFT_ERR_USAGE / WEFT_ERR_DATA list the known ones. */
weft_status reader_format_find(const char *path, const char *name, const reader_format **format);
weft_status reader_format_read(const reader_format *format, const char *path, raw_graph *raw);
void raw_graph_free(raw_graph *raw);

/* Whether the reverse of every edge is added; auto: as the format says. */
#define CONVERT_SYMMETRIZES(X)                                                                                         \
    X(SYMMETRIZE_AUTO, "auto")                                                                                         \
    X(SYMMETRIZE_ON, "on")                                                                                             \
    X(SYMMETRIZE_OFF, "off")
typedef enum convert_symmetrize { CONVERT_SYMMETRIZES(CHOICE_VALUE) } convert_symmetrize;

#define CONVERT_SELF_LOOPS(X)                                                                                          \
    X(SELF_LOOPS_DROP, "drop")                                                                                         \
    X(SELF_LOOPS_KEEP, "keep")
typedef enum convert_self_loops { CONVERT_SELF_LOOPS(CHOICE_VALUE) } convert_self_loops;

typedef struct convert_options {
    const char *format; /* a name of the table, or "auto" */
    /* Separate files that give, or replace, what the input says of the vertices; or NULL
     * (gnn/data/read/reader_attach.c). */
    const char *feature_path, *label_path;
    const char *split_path;
    const char *weight_path;  /* gnn/data/read/reader_weights.h; "input": the input itself */
    const char *random_split; /* "60/20/20": parts drawn with `seed`, when the input has no split; or NULL */
    uint64_t seed;
    int split_index; /* keep this one of the input's splits only; -1 = all */
    convert_symmetrize symmetrize;
    bool keep_self_loops, force;
    int64_t memory_bytes;   /* for edges read from text; 0 = half of what is available */
    int64_t vertices;       /* of an edge list; 0 = the largest id + 1 */
    int64_t first_id;       /* of an edge list: what it calls vertex 0 */
    bool relabel;           /* of an edge list: vertices are its ids in their order, whatever they are */
    int64_t classes;        /* of the labels, whose ids stay as they are; 0 = the largest + 1 */
    bool number_labels;     /* labels are one column of numbers */
    const char *split_name; /* which folder below split/ of an OGB data set; NULL = the only one */
} convert_options;

/*
 * Write a store that is another with features, labels or splits from files, made or drawn, in place of its own; edges,
 * their weights and names of vertices stay. `store` may be `input` itself with options->force: the old one stays whole
 * until the new one is.
 *   options  [in]  feature_path, label_path, split_path, random_split (one of them at least), seed, split_index,
 *                  memory_bytes, classes, number_labels, force
 * WEFT_ERR_USAGE: nothing is added; WEFT_ERR_DATA: a file does not fit; WEFT_ERR_UNSUPPORTED: a table of text, whose
 * rows have ids, for a store whose vertices have names; a store of 2^31 vertices or more.
 */
weft_status reader_change(const char *input, const char *store, const convert_options *options);
/* Read, symmetrise, sort, de-duplicate, validate, write the store atomically; logs vertex and edge counts. */
weft_status reader_convert(const char *input, const char *store, const convert_options *options);
