/* app/clicks/clicks_beside.c: rows of embeddings beside the parameters of a model (train/model.h): their files in run
 * folders and checkpoints. The best rows so far wait on the disk, as memory would have to hold them twice. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/clicks/clicks_job.h"
#include "base/log.h"

static weft_status begin(void *self, uint64_t seed, uint64_t mark)
{
    clicks_job *job = self;
    WEFT_TRY(embed_clear(job->table, seed));
    const char *prefix = job->start_best ? CLICKS_BEST_ROWS : CLICKS_ROWS;
    return job->start[0] != '\0' ? embed_load(job->table, job->start, prefix, mark) : WEFT_OK;
}

static weft_status keep_best(void *self, uint64_t mark)
{
    clicks_job *job = self;
    WEFT_TRY(folder_make(job->folder));
    job->kept = true;
    return embed_save(job->table, job->folder, CLICKS_BEST_ROWS, mark);
}

static weft_status use_best(void *self)
{
    clicks_job *job = self;
    return embed_load(job->table, job->folder, CLICKS_BEST_ROWS, 0);
}

/* Files of a rank are copied by it. */
static weft_status save_best(void *self, const char *folder)
{
    const clicks_job *job = self;
    return embed_copy_files(job->table, job->folder, CLICKS_BEST_ROWS, folder, CLICKS_BEST_ROWS);
}

static weft_status save(void *self, const char *folder, uint64_t mark)
{
    clicks_job *job = self;
    return embed_save(job->table, folder, CLICKS_ROWS, mark);
}

static weft_status load(void *self, const char *folder, bool best, uint64_t mark)
{
    clicks_job *job = self;
    const char *prefix = best ? CLICKS_BEST_ROWS : CLICKS_ROWS;
    WEFT_TRY(embed_load(job->table, folder, prefix, mark));
    return embed_load_counts(job->table, folder, prefix);
}

train_beside clicks_beside(clicks_job *job)
{
    return (train_beside){.self = job,
                          .begin = begin,
                          .keep_best = keep_best,
                          .use_best = use_best,
                          .save_best = save_best,
                          .save = save,
                          .load = load};
}

void clicks_forget_best(clicks_job *job)
{
    if (job->kept && embed_remove_files(job->folder, CLICKS_BEST_ROWS) != WEFT_OK) {
        log_warn("rows that were kept of the best epoch stay: %s", weft_error_message());
        weft_error_clear();
    }
    job->kept = false;
}
