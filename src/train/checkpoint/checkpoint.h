/*
 * train/checkpoint/checkpoint.h: a training on disk, whole enough to go on to the bit.
 *
 *   RUN_DIR/ckpt/epoch-00000120/        120 epochs trained so far, over all runs; docs/formats.md has every key
 *   RUN_DIR/ckpt/epoch-00000120-step-00000017/      and 17 steps of the next
 *     manifest.json                     what this is, progress, options, and size, XXH3-128 and CRC-32 of every other
 *                                       file
 *     manifest.xxh3, manifest.crc32     XXH3-128 of manifest.json, which Weft compares, and CRC-32, for Python
 *     last.npz                          parameters there, by name ([rows, cols]); where replicas differ, the
 *                                       mean of all
 *     best.npz                          parameters at the best validation score of the run; absent before the first
 *     average.npz                       the moving average of the parameters over steps, if one is kept
 *     first.npz, second.npz             the optimiser's moments, by parameter, if it has any
 *     features.npz                      mean and deviation of each input column, where the model standardises its
 *                                       inputs (train/input_moments.h)
 *     rank-00000.npz ...                where ranks differ (every --sync but allreduce, local state, parameters that
 *                                       are not replicated, a preconditioner, old rows of other ranks): a rank's own
 *                                       parameters and moments, and what mode, preconditioner and model remember
 *
 * A checkpoint is a folder that is complete or absent (base/file.h). Rank 0 writes and reads; what other ranks hold
 * comes to it through the communicator, one rank at a time, so no shared file system is needed and memory is bounded by
 * one rank's state. The one before the newest stays. Everything read is compared with its checksum before it is used.
 *
 *     checkpoint *ck = NULL;
 *     WEFT_TRY(checkpoint_open("run", &ck));
 *     WEFT_TRY(checkpoint_load_shared(comm, ck, CHECKPOINT_BEST, &model.params));
 *     checkpoint_close(ck);
 */
#pragma once

#include "comm/comm.h"
#include "option/option.h"
#include "train/input_moments.h"
#include "train/param.h"

/* Of one run, so far or at its end. */
typedef struct train_run {
    double best_valid, final_test, best_train, final_train, final_loss;
    int64_t best_epoch, epochs;
} train_run;

/* The scale of the loss (train/loop/loss_scale.h). */
#define LOSS_SCALE_LAST 0x1p24
typedef struct train_scaling {
    double scale;    /* 0: none; else at most LOSS_SCALE_LAST */
    int64_t clean;   /* steps since it last changed */
    int64_t skipped; /* steps over all runs */
} train_scaling;

/* What a schedule that follows the scores has seen of a run (train/loop/plateau.h). */
typedef struct train_plateau {
    int64_t heard;  /* evaluations */
    int64_t bad;    /* of them, since the best or the last decay */
    int64_t decays; /* of the rate */
    double best;    /* score, where any was heard */
} train_plateau;

/* How far a training has come. */
typedef struct train_progress {
    int run;              /* from 0 */
    int64_t epoch;        /* of that run, from 1 */
    int64_t trained;      /* epochs over all runs */
    int64_t step, steps;  /* done of the epoch after `epoch`, 0: none; and of an epoch */
    double loss;          /* the mean over those steps, */
    int64_t loss_entries; /* over so many terms */
    int64_t right, seen;  /* training rows of those steps that were answered rightly, and all, if they are counted */
    bool run_ended;       /* `run` is over: the next one begins, if there is one */
    int64_t since_best;   /* evaluations without a better validation score */
    train_scaling scaling;
    train_plateau plateau;
    train_run *result; /* [run + 1] finished runs, then this one */
} train_progress;

/* The place in words: "run 1, epoch 3", or "run 1, epoch 4, step 17 of 200" within the epoch after it. */
typedef struct progress_words {
    char text[112];
} progress_words;
progress_words progress_say(const train_progress *progress);

typedef struct checkpoint_facts checkpoint_facts; /* what a manifest tells beside progress and files */

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct checkpoint checkpoint;
typedef enum checkpoint_which { CHECKPOINT_LAST, CHECKPOINT_BEST } checkpoint_which;
enum { CHECKPOINT_TRIES = 50 }; /* of a reader beside a training that goes on */

/*
 * The newest good checkpoint at `path`: a checkpoint's folder, a ckpt folder or a run folder. Every file is compared
 * with its checksum; a damaged checkpoint is skipped with a warning that names file and defect, and the one before it
 * used. Where a training goes on at that moment, it is one that was the newest in the meantime. WEFT_ERR_NOINPUT: there
 * is none; WEFT_ERR_DATA: all are damaged; WEFT_ERR_UNSUPPORTED: of a later version. Local: one rank opens.
 *
 * Such a training removes a checkpoint once there are two newer ones, opened or not: WEFT_ERR_NOINPUT from what reads
 * its files then; open again, up to CHECKPOINT_TRIES times.
 */
weft_status checkpoint_open(const char *path, checkpoint **ck);
/* The newest good checkpoint before `ck` in its folder. WEFT_ERR_NOINPUT: there is none; WEFT_ERR_DATA: all are
 * damaged. Local. */
weft_status checkpoint_open_before(const checkpoint *ck, checkpoint **older);
void checkpoint_close(checkpoint *ck); /* NULL is allowed */
/* Whether a ckpt folder holds any, good or damaged. Leaves the last failure's message as it is. */
bool checkpoint_is_there(const char *folder);

const char *checkpoint_path(const checkpoint *ck); /* the checkpoint's own folder */
const train_progress *checkpoint_progress(const checkpoint *ck);
int checkpoint_ranks(const checkpoint *ck);                            /* that wrote it */
int checkpoint_threads(const checkpoint *ck);                          /* of each */
const char *checkpoint_version(const checkpoint *ck);                  /* of Weft */
const char *checkpoint_data_hash(const checkpoint *ck);                /* of what it was trained on */
const char *checkpoint_sync(const checkpoint *ck);                     /* the mode that ran, by name */
const char *checkpoint_option(const checkpoint *ck, const char *name); /* value as text; NULL: not listed */
weft_dtype checkpoint_dtype(const checkpoint *ck);                     /* of the parameters */
bool checkpoint_has_state(const checkpoint *ck);                       /* the optimiser's is there: its run can go on */
const char *checkpoint_content(const checkpoint *ck); /* whose files it holds (keeper_content.name); "": parameters */
/* [out] moments: of the inputs of the model; none where the checkpoint has none. Local. */
weft_status checkpoint_moments(const checkpoint *ck, input_moments *moments);

/* Puts the parameters of rank 0's checkpoint (NULL on the others) into every rank's store of the same model: names and
 * shapes must match exactly (WEFT_ERR_DATA with the first that does not). BEST before the first evaluation is LAST.
 * Collective. */
weft_status checkpoint_load_shared(weft_comm *comm, const checkpoint *ck, checkpoint_which which, param_store *store);
