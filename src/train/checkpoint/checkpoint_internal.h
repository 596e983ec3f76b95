/*
 * train/checkpoint/checkpoint_internal.h: what the files of a checkpoint are called and who reads and writes them.
 *
 *   checkpoint.c            finds the newest good one; accessors; parameters into a store
 *   checkpoint_manifest.c   manifest.json and the checksums, read with suspicion
 *   checkpoint_write.c      a new checkpoint, and the end of old ones
 *   checkpoint_arrays.c     parameters by name, and the files of ranks
 *   keeper.c                when to write, and how a training goes on
 *   keeper_state.c          what a training by gradients consists of
 */
#pragma once

#include "base/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "train/checkpoint/checkpoint.h"

#define CHECKPOINT_FORMAT "weft-checkpoint"
/* Version 2 lies within an epoch, which programs that know 1 alone would begin anew; version 3 has files of a kind's
 * own. */
enum {
    CHECKPOINT_VERSION = 1,
    CHECKPOINT_VERSION_STEP = 2,
    CHECKPOINT_VERSION_OWN = 3,
    CHECKPOINT_NAME_BYTES = 24,
    CHECKPOINT_MANIFEST_MAX = 1 << 20,
    RESULT_COLUMNS = 7
};

/* The data hash's key in the manifest: the word of the checkpoints that lie on disks. */
#define CHECKPOINT_KEY_DATA "graph_hash"

/* Arrays of parameters, by file; the optimiser's slots last, in their order. */
typedef enum checkpoint_file {
    FILE_LAST,
    FILE_BEST,
    FILE_AVERAGE,
    FILE_FIRST,
    FILE_SECOND,
    CHECKPOINT_FILES
} checkpoint_file;
extern const char *const checkpoint_file_names[CHECKPOINT_FILES];

struct checkpoint {
    char path[FILE_PATH_MAX];
    char version[32], data_hash[33], sync[32], content[32];
    int ranks, threads;
    weft_dtype dtype;
    bool has[CHECKPOINT_FILES];
    bool has_ranks;   /* rank-NNNNN.npz, one for each of `ranks` */
    bool has_moments; /* features.npz */
    bool tracking;    /* of gradients: the files of ranks hold the tracker, too */
    int64_t optimizer_steps;
    train_progress progress;
    json_document *document; /* keeps the options */
    const json_value *options;
};

/* Where a checkpoint lies in a training, as its name says: epochs over all runs, and steps of the next. */
typedef struct checkpoint_place {
    int64_t trained, step;
} checkpoint_place;

/* Is this a checkpoint's name? */
bool checkpoint_parse_name(const char *name, checkpoint_place *place);
weft_status checkpoint_name(char path[FILE_PATH_MAX], const char *folder, checkpoint_place place);
bool checkpoint_is_before(checkpoint_place a, checkpoint_place b);

/* Read and check everything of the checkpoint in this folder. WEFT_ERR_DATA, _NOINPUT, _UNSUPPORTED with the defect. */
weft_status checkpoint_read(const char *folder, checkpoint *ck);
void checkpoint_forget(checkpoint *ck);

/* ---- arrays ---- */

/* flat[elements]: the parameters that begin in it, in the store's type and layout. */
weft_status checkpoint_write_named(const char *path, const param_store *params, const void *flat, int64_t elements);
/* Padding is zeroed. Names, shapes and type must match. */
weft_status checkpoint_read_named(const char *path, const param_store *params, void *flat, int64_t elements);

/* A run of bytes of one rank: an array of numbers, or bytes that only their owner understands (item_bytes 1). */
typedef struct checkpoint_piece {
    char name[64];
    int item_bytes; /* 1, or a float of 4 or 8 */
    int64_t bytes;
    bool optional; /* zeros where a file has none of this length */
} checkpoint_piece;

/* data: the pieces one after the other. */
weft_status checkpoint_write_rank(const char *path, const checkpoint_piece *piece, int count, const void *data);
weft_status checkpoint_read_rank(const char *path, const checkpoint_piece *piece, int count, void *data);
/* Whether a file has all pieces that are not optional, each of its length. */
weft_status checkpoint_rank_fits(const char *path, const checkpoint_piece *piece, int count, bool *fits);
weft_status checkpoint_rank_path(char path[FILE_PATH_MAX], const char *folder, int rank);

/* ---- a new checkpoint: rank 0 ---- */

struct checkpoint_facts {
    const weft_options *options; /* NULL: none are listed */
    const char *data_hash, *sync;
    const char *content; /* keeper_content.name; NULL: parameters of replicas */
    int ranks, threads;
    weft_dtype dtype;
    bool has_ranks, tracking;
    bool beside; /* there are files of what the model keeps beside its parameters (train/model.h) */
    int64_t optimizer_steps;
    const input_moments *moments; /* of the inputs; NULL: none */
};

typedef struct checkpoint_writer {
    char goal[FILE_PATH_MAX], temporary[FILE_PATH_MAX];
} checkpoint_writer;

weft_status checkpoint_writer_begin(const char *folder, checkpoint_place place, checkpoint_writer *writer);
/* Manifest and checksums of everything in the temporary folder, then its name. Afterwards the folder holds this
 * checkpoint and the one before it, and nothing else. On failure nothing of the new one is left. */
weft_status checkpoint_writer_commit(checkpoint_writer *writer, const checkpoint_facts *facts,
                                     const train_progress *progress);
void checkpoint_writer_discard(checkpoint_writer *writer); /* harmless after commit */
