/*
 * app/info/info_checkpoint.c: weft info CHECKPOINT: how far the newest good checkpoint of a folder has come and what it
 * belongs to. Every file of it is compared with its checksum on the way.
 */
#include <inttypes.h>
#include <stdio.h>

#include "app/info/info.h"
#include "train/checkpoint/checkpoint.h"

/* What decides whether it can be gone on from. */
static void print_options(const checkpoint *ck)
{
    static const char *const names[] = {"model",     "layers", "hidden", "aggregator", "norm",  "dropout",
                                        "optimizer", "lr",     "seed",   "runs",       "epochs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = checkpoint_option(ck, names[i]);
        if (value != NULL) {
            char label[48];
            snprintf(label, sizeof label, "--%s", names[i]);
            info_text(label, value);
        }
    }
}

weft_status info_checkpoint(const char *folder)
{
    checkpoint *ck = NULL;
    WEFT_TRY(checkpoint_open(folder, &ck));
    const train_progress *progress = checkpoint_progress(ck);
    const train_run *run = &progress->result[progress->run];
    info_text("checkpoint", checkpoint_path(ck));
    printf("epochs trained: %" PRId64 " (%s%s)\n", progress->trained, progress_say(progress).text,
           progress->run_ended ? ", run ended" : "");
    if (run->best_epoch > 0) {
        printf("best so far: valid %.4f, test %.4f at epoch %" PRId64 "\n", run->best_valid, run->final_test,
               run->best_epoch);
    }
    info_text("graph hash", checkpoint_data_hash(ck));
    printf("written by: %d ranks of %d threads, ", checkpoint_ranks(ck), checkpoint_threads(ck));
    info_text("weft", checkpoint_version(ck));
    info_text("sync", checkpoint_sync(ck));
    printf("parameters: %s\n", weft_dtype_name(checkpoint_dtype(ck)));
    print_options(ck);
    printf("checked: every file has its checksum\n");
    checkpoint_close(ck);
    return WEFT_OK;
}
