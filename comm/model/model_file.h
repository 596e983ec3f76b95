/*
 * comm/model/model_file.h: a measured model kept between jobs.
 *
 * A file holds the figures of one set of nodes, and what they belong to: a job on other nodes, with other ranks a node
 * or threads a rank, another processor, MPI library or Weft does not take them.
 *
 *      {"format": "weft-comm-model 4", "nodes": "ant:2 bee:2",
 *       "machine": "AMD EPYC, L2 1024 KiB, L3 32768 KiB, 1 threads",
 *       "ranks": 4, "transport": "mpi", "mpi": "Open MPI v4.1.4", "weft": "0.1.0",
 *       "inter": {"latency": 2.9e-05, "seconds_per_byte": 8.7e-10}, "intra": {...},
 *       "sync": ..., "shared_per_byte": ..., "reduce_per_byte": ..., "select_per_element": ...,
 *       "scatter_per_element": ...,            seconds
 *       "others_cpus": 0.6,                    that other programs used meanwhile; left out where none did
 *       "timed_ranks": 4,                      of one node; 0: nothing was timed
 *       "timed": {"ring": [...], "shared": [...]}}      seconds of 4 B, 16 B, ... (comm/core/timings.h); 0: not timed
 *
 * Rank 0 reads and writes; the others are told.
 */
#pragma once

#include "base/file.h"
#include "comm/core/cost.h"

typedef struct model_key {
    char *nodes; /* "host:ranks" of every node, by name */
    int ranks;
    char transport[16];
    char mpi[96];
    char machine[192]; /* processor, caches and threads of rank 0, which stands for all */
} model_key;

/* What a model of this job belongs to; on rank 0, empty elsewhere. machine: rank 0's. Collective. Free with
 * model_key_free. */
weft_status model_key_of(weft_comm *comm, const char *machine, model_key *key);
void model_key_free(model_key *key);

/* The user's cache folder: $XDG_CACHE_HOME/weft or ~/.cache/weft, /comm-HASH.json. WEFT_ERR_NOINPUT when the
 * environment names neither. */
weft_status model_default_path(const model_key *key, char path[FILE_PATH_MAX]);

/* key NULL: of whatever job. WEFT_ERR_NOINPUT: there is none. WEFT_ERR_DATA: damaged, made elsewhere, or by another
 * Weft; the message names the file, the entry and what it says. *model is untouched on failure. */
weft_status model_read(const char *path, const model_key *key, comm_model *model);
/* Whole or not at all; makes the folders of the path. */
weft_status model_write(const char *path, const model_key *key, const comm_model *model);
