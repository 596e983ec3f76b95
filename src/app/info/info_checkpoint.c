/*
 * app/info/info_checkpoint.c: weft info CHECKPOINT: how far the newest good checkpoint of a folder has come and what it
 * belongs to. Every file of it is compared with its checksum on the way.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/info/info.h"
#include "train/checkpoint/checkpoint.h"

static void print_named(const checkpoint *ck, const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *value = checkpoint_option(ck, *names);
        if (value != NULL) {
            char label[48];
            snprintf(label, sizeof label, "--%s", *names);
            info_text(label, value);
        }
    }
}

/* What decides whether it can be gone on from. A network on images knows their size. */
static void print_options(const checkpoint *ck)
{
    static const char *const of_graphs[] = {"model", "layers", "hidden", "aggregator", "norm", "dropout", NULL};
    static const char *const of_images[] = {"model", "image-size", "augment", "batch-size", NULL};
    static const char *const of_all[] = {"optimizer", "lr", "seed", "runs", "epochs", NULL};
    const char *size = checkpoint_option(ck, "image-size");
    print_named(ck, size != NULL && strcmp(size, "auto") != 0 ? of_images : of_graphs);
    print_named(ck, of_all);
}

/* "0.9100", or "none" of a split without labelled rows. */
static const char *score_text(double score, char text[32])
{
    snprintf(text, 32, isnan(score) ? "none" : "%.4f", score);
    return text;
}

void info_moments(const input_moments *moments)
{
    if (moments->columns > 0) {
        printf("features: standardised by the model's own means and deviations of %" PRId64 " columns\n",
               moments->columns);
    }
}

static weft_status print_moments(const checkpoint *ck)
{
    input_moments moments;
    WEFT_TRY(checkpoint_moments(ck, &moments));
    info_moments(&moments);
    input_moments_destroy(&moments);
    return WEFT_OK;
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
        char valid[32];
        char test[32];
        printf("best so far: valid %s, test %s at epoch %" PRId64 "\n", score_text(run->best_valid, valid),
               score_text(run->final_test, test), run->best_epoch);
    }
    info_text("data hash", checkpoint_data_hash(ck));
    printf("written by: %d rank(s) of %d thread(s), ", checkpoint_ranks(ck), checkpoint_threads(ck));
    info_text("weft", checkpoint_version(ck));
    info_text("sync", checkpoint_sync(ck));
    printf("parameters: %s\n", weft_dtype_name(checkpoint_dtype(ck)));
    print_options(ck);
    weft_status status = print_moments(ck);
    printf(status == WEFT_OK ? "checked: every file has its checksum\n" : "");
    checkpoint_close(ck);
    return status;
}
