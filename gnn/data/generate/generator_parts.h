/*
 * gnn/data/generate/generator_parts.h: the pieces of the generators, shared among gnn/data/generator_*.c and their
 * tests.
 *
 *   spec text --generator_spec_parse--> generator_spec --generator_make--> generated_graph --> graph store
 *
 * A generator is an edge_stream: `draws` numbered draws, each an undirected pair or nothing, each a pure function of
 * its number. generator_csr turns a stream into a symmetric CSR; generator_vertex gives labels, splits and features.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/permutation.h"
#include "base/philox.h"
#include "base/status.h"

/* Purposes of random numbers, all keyed by the spec's seed. */
enum {
    GENERATOR_RNG_EDGE = WEFT_RNG_GENERATE, /* draws of edges, by number of the draw */
    GENERATOR_RNG_ID,                       /* permutation of vertex ids */
    GENERATOR_RNG_SPLIT,                    /* permutation that deals vertices to the splits */
    GENERATOR_RNG_LABEL,                    /* classes without communities, label noise: by vertex */
    GENERATOR_RNG_MEAN,                     /* class means: by class */
    GENERATOR_RNG_FEATURE                   /* feature noise: by vertex */
};

/* ---- spec ---------------------------------------------------------------------------------------------------- */
typedef enum generator_family { GENERATOR_COMMUNITY, GENERATOR_RMAT, GENERATOR_FORUM } generator_family;

/* A resolved spec: presets expanded, scaled and checked. Counts are integral. */
typedef struct generator_spec {
    char name[32]; /* generator or preset */
    generator_family family;
    double vertices, edges; /* edges: directed entries aimed at */
    double communities, classes;
    double p_in;               /* share of edges inside a community; forum: of a user's posts */
    double sigma, exponent;    /* degree shape: log-normal when exponent == 0, else power law; forum: sigma of posts,
                                * exponent of users */
    double max_degree;         /* 0 = vertices / 8; forum: most posts of a user */
    double features, signal;   /* x = signal * mean[class] + standard normal noise */
    double label_noise;        /* share of labels redrawn */
    double sorted;             /* 1: ids follow communities; 0: ids are shuffled */
    double train, valid, test; /* shares of the vertices; test < 0: the rest */
    double seed;
    double scale;                /* presets: factor; rmat: log2 of the vertices */
    double edge_factor, a, b, c; /* rmat */
} generator_spec;

/* WEFT_ERR_USAGE: names the bad generator, key or value, the nearest good one and the known ones. */
weft_status generator_spec_parse(const char *text, generator_spec *spec);

/* ---- edges --------------------------------------------------------------------------------------------------- */
enum { GENERATOR_BATCH = 1024 };

typedef struct edge_pair {
    int32_t u, v;
} edge_pair;

typedef struct edge_stream {
    int64_t draws;
    /* Make draws [first, first + count), count <= GENERATOR_BATCH; returns how many pairs (u != v) they gave. */
    int (*draw)(const void *self, int64_t first, int count, edge_pair *pairs);
    const void *self;
} edge_stream;

/* Both directions of every pair, rows ascending, no duplicates. offset [n + 1] and source from base/alloc.h. */
weft_status generator_csr(int64_t n, const edge_stream *stream, int threads, int64_t **offset, int32_t **source);

/* Degree levels and the expected-degree weights of the block model: see generator_degree.c. */
enum { GENERATOR_LEVELS = 128 };

typedef struct generator_levels {
    double degree[GENERATOR_LEVELS];  /* wanted degree, descending */
    int64_t count[GENERATOR_LEVELS];  /* vertices of this level; the sum is n */
    double inside[GENERATOR_LEVELS];  /* weights: pairs of one community get Poisson(inside_u * inside_v) draws */
    double outside[GENERATOR_LEVELS]; /* and pairs of different communities Poisson(outside_u * outside_v) */
} generator_levels;

void generator_levels_solve(const generator_spec *spec, generator_levels *levels);

/* Alias table: O(1) weighted choice (Walker 1974, doi:10.1049/el:19740097; Vose 1991, doi:10.1109/32.92917). */
typedef struct alias_slot {
    uint32_t keep; /* keep this slot when the second word is below, else take `other` */
    int32_t other;
} alias_slot;

weft_status generator_alias_build(const double *weight, int64_t count, alias_slot *table);

static inline int64_t generator_alias_draw(const alias_slot *table, int64_t count, uint32_t a, uint32_t b)
{
    int64_t slot = (int64_t)(((uint64_t)a * (uint64_t)count) >> 32);
    return b < table[slot].keep ? slot : table[slot].other;
}

typedef struct community_model community_model;
/* [out] group [n]: community of each vertex id. */
weft_status community_model_create(const generator_spec *spec, int threads, community_model **model, int32_t *group);
edge_stream community_model_stream(const community_model *model);
void community_model_destroy(community_model *model);

typedef struct forum_model forum_model;
/* [out] group [n]: community of each vertex id. */
weft_status forum_model_create(const generator_spec *spec, int threads, forum_model **model, int32_t *group);
edge_stream forum_model_stream(const forum_model *model);
void forum_model_destroy(forum_model *model); /* NULL is fine */

typedef struct rmat_model {
    int scale;
    uint32_t threshold[3]; /* of a 16-bit lane: quadrants a, a + b, a + b + c */
    uint64_t seed;
    bool shuffled;
    permutation order;
    int64_t draws;
} rmat_model;
void rmat_model_init(const generator_spec *spec, rmat_model *model);
edge_stream rmat_model_stream(const rmat_model *model);

/* ---- vertices ------------------------------------------------------------------------------------------------ */
/* labels [n] and the class that the features follow [n] from the communities (group == NULL: classes at random). */
void generator_labels(const generator_spec *spec, const int32_t *group, int threads, int32_t *class_of, int32_t *label);
void generator_splits(const generator_spec *spec, int threads, uint8_t *split);

typedef struct generator_features generator_features;
/* class_of must outlive it. */
weft_status generator_features_create(const generator_spec *spec, const int32_t *class_of, int threads,
                                      generator_features **features);
/* Rows [row, row + rows) into out [rows, f]. */
void generator_features_fill(const generator_features *features, int64_t row, int64_t rows, float *out);
void generator_features_destroy(generator_features *features);

/* ---- all together -------------------------------------------------------------------------------------------- */
typedef struct generated_graph {
    generator_spec spec;
    int64_t vertices, edges;
    int64_t *offset;              /* [n + 1] */
    int32_t *source;              /* [edges] */
    int32_t *group;               /* [n] community of each vertex, or NULL */
    int32_t *class_of;            /* [n] */
    int32_t *label;               /* [n] */
    uint8_t *split;               /* [n] */
    generator_features *features; /* NULL when f == 0 */
} generated_graph;

/* Free with generated_graph_free, also after a failure. threads <= 0: as many as OpenMP gives. */
weft_status generator_make(const generator_spec *spec, int threads, generated_graph *graph);
void generated_graph_free(generated_graph *graph);
