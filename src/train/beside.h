/*
 * train/beside.h: what a model keeps and trains beside its parameters, as files of the ranks: tables that grow with the
 * data, such as rows of embeddings.
 *
 * The loop (train/loop/loop.h) calls these where it treats the parameters likewise, and checkpoints hold the files. Any
 * number of ranks reads what another number wrote. Every function is collective; statuses are agreed by the caller.
 * Files go into one folder that all ranks reach, under names that begin with `prefix` ("best-" in front of it where
 * `best`): WEFT_ERR_IO names the folder where some rank does not reach it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct train_beside {
    void *self;
    const char *prefix;
    /* It becomes what it is before the first epoch of a run. */
    weft_status (*begin)(void *self, uint64_t seed);
    /* As it is now it is the best of the run; and it becomes again what it was then. */
    weft_status (*keep_best)(void *self);
    weft_status (*use_best)(void *self);
    /* best: what keep_best kept, else what is in use. */
    weft_status (*save)(void *self, const char *folder, bool best);
    /* WEFT_ERR_DATA: the files are damaged, or of another model. */
    weft_status (*load)(void *self, const char *folder, bool best);
} train_beside;
