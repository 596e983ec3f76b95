/*
 * gnn/links/link_set.h: the links that a rank trains on and those that it is judged by.
 *
 *     link_set_draw     edges of a graph, dealt into train, valid and test (gnn/links/link_draw.h); messages pass along
 *                       those of train alone: link_store_write makes the graph of them
 *     link_set_read     the graph's edges are train, pairs of valid and test stand in files (gnn/links/link_files.h)
 *     link_set_ask      pairs of a file, which a model is to answer for
 *
 * Ranks divide the rows of the graph by edges, and a rank has the links whose anchor is among its rows. Negatives of an
 * evaluation are drawn once; with `own` of them each positive has its own and is ranked among them, else all positives
 * of a part share one for each. A sample of training links, as many as are in valid, is judged too.
 *
 * Memory: 8 bytes a training link and 4 an edge of the rank's rows; 25 bytes a judged link.
 */
#pragma once

#include "comm/comm.h"
#include "gnn/links/link_draw.h"
#include "graph/graph.h"

/* Pairs that answers are wanted for, or judged by. */
typedef struct link_list {
    int64_t count, total; /* of this rank, of all */
    int32_t *a, *b;       /* [count] vertices */
    float *target;        /* [count] 1: a link; 0: a negative */
    uint8_t *split;       /* [count] */
    uint64_t *group;      /* [count] positive and its own negatives; NULL: negatives are shared */
    int64_t *id;          /* [count] place among those of all ranks, the same place for any number of ranks */
    int64_t capacity;
} link_list;

typedef struct link_set {
    int64_t vertices, users; /* users: as link_shares has them */
    int64_t positives;       /* training links of this rank */
    int64_t first, total;    /* training links of the ranks before, and of all */
    int32_t *anchor, *other; /* [positives] */
    int64_t *offset;         /* [rows.rows + 1] */
    int32_t *source;
    link_rows rows; /* edges that messages pass along, of the rows of this rank: offset and source */
    link_list judged;
    int64_t found; /* pairs of files that are edges of the graph, in which training sees them; over all ranks */
} link_set;

/* own: negatives of each judged link, or 0: one, shared. All are collective, and leave a set for link_set_destroy also
 * after a failure. WEFT_ERR_UNSUPPORTED: ids of 64 bits; WEFT_ERR_DATA: no link is left to train on, or an edge joins
 * two users or two others. */
weft_status link_set_draw(weft_comm *comm, const weft_graph *graph, const link_shares *shares, int64_t own,
                          link_set *set);
/* folder: on every rank; it is read by rank 0. */
weft_status link_set_read(weft_comm *comm, const weft_graph *graph, const char *folder, int64_t users, int64_t own,
                          link_set *set);
weft_status link_set_ask(weft_comm *comm, const weft_graph *graph, const char *path, link_set *set);
void link_set_destroy(link_set *set);
