/*
 * gnn/data/write/writer.h: graph stores written in the layouts of others (weft convert --to NAME).
 *
 * A layout is a row of the table in gnn/data/write/writer.c. What it writes, the reader of the same name reads back to
 * the same graph, features, labels and split as far as the layout carries them; small folders for tests come from
 * `weft convert synth:SPEC --to NAME`.
 */
#pragma once

#include "graph/graph.h"

enum { WRITER_FEATURES = 1, WRITER_CLASSES = 2, WRITER_LABELS = 4 /* classes or tasks */, WRITER_SPLIT = 8 };

typedef struct writer_format {
    const char *name;
    const char *reader; /* the input format that it is; NULL = the same name */
    bool folder;        /* writes a folder, else a file */
    int needs;          /* WRITER_* that the store must have */
    int carries;        /* WRITER_* that reach the output */
    bool directed;      /* can hold a graph that is not symmetric */
    weft_status (*write)(const weft_graph *graph, const char *path);
} writer_format;

const writer_format *writer_format_at(int i); /* NULL past the end */

/* Whole or not at all. WEFT_ERR_USAGE when the layout cannot hold the graph, or `path` exists and force does not
 * cover it: a folder is replaced only if it has this layout or is empty. */
weft_status writer_write(const weft_graph *graph, const char *name, const char *path, bool force);
