/*
 * gnn/data/generate/generator.h: graphs made from a seed (--data synth:SPEC).
 *
 *   synth:community,n=100000,e=5000000,...   degree-corrected block model with planted communities and weak features
 *   synth:rmat,scale=20,edge-factor=16,...   R-MAT, no communities
 *   synth:forum[,scale=0.1]                  posts joined by a common user: cliques that overlap
 *   synth:reddit | arxiv | products [,scale=0.1]   presets with the size and degree shape of the real data sets
 *
 * The result is a pure function of the spec: the same bits for any number of ranks and threads.
 */
#pragma once

#include "graph/graph.h"

#define GENERATOR_PREFIX "synth:"

/* Does the text name generated data? */
bool generator_named(const char *text);
/* Returns true if it names a graph that can be generated, whatever its settings. */
bool generator_knows(const char *text);
/* What a spec will make, before it is made. */
typedef struct generator_size {
    int64_t vertices, edges, features, classes; /* edges: directed, before repeated ones are left out */
    double made_bytes;                          /* of memory, while edges are made */
    double store_bytes;                         /* of the store */
} generator_size;
weft_status generator_measure(const char *spec, generator_size *size);
/* Generate into a new store at `path`. spec: what follows "synth:". WEFT_ERR_USAGE names the bad key and the known
 * ones. */
weft_status generator_write_store(const char *spec, const char *path, int threads, bool force);
/* The preset list and keys, for --help=data. */
const char *generator_help(void);
