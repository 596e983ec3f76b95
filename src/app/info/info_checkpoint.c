/*
 * app/info/info_checkpoint.c: weft info CHECKPOINT: how far the newest good checkpoint of a folder has come and what it
 * belongs to. Every file of it is compared with its checksum on the way.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/info/info.h"
#include "app/info/info_text.h"
#include "app/workload/app_catalog.h"
#include "train/checkpoint/checkpoint.h"

static void print_option(const checkpoint *ck, const char *name)
{
    char label[80];
    const char *value = checkpoint_option(ck, name);
    if (value != NULL) {
        snprintf(label, sizeof label, "--%.60s", name);
        info_text(label, value);
    }
}

/* Returns true if it is told whatever its value is. */
static bool always_told(const char *name)
{
    static const char *const names[] = {"model", "optimizer", "lr", "seed", "runs", "epochs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* What a training was asked for and may not be its default: whether a run can go on depends on it. */
static weft_status print_options(const checkpoint *ck)
{
    const option_catalog *catalog = app_catalog();
    const option_command *train = NULL;
    WEFT_TRY(option_command_find(catalog, "train", &train));
    for (int place = 0; place < catalog->count; ++place) {
        const option_row *row = &catalog->rows[place];
        const char *value = option_applies(train, catalog->id[place]) ? checkpoint_option(ck, row->name) : NULL;
        if (value != NULL && (always_told(row->name) || strcmp(value, row->default_text) != 0)) {
            print_option(ck, row->name);
        }
    }
    return WEFT_OK;
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
        char valid[32], test[32];
        printf("best so far: valid %s, test %s at epoch %" PRId64 "\n", score_text(run->best_valid, valid),
               score_text(run->final_test, test), run->best_epoch);
    }
    info_text("data hash", checkpoint_data_hash(ck));
    printf("written by: %d rank(s) of %d thread(s), ", checkpoint_ranks(ck), checkpoint_threads(ck));
    info_text("weft", checkpoint_version(ck));
    info_text("sync", checkpoint_sync(ck));
    printf("parameters: %s\n", weft_dtype_name(checkpoint_dtype(ck)));
    weft_status status = print_options(ck);
    status = status == WEFT_OK ? print_moments(ck) : status;
    printf(status == WEFT_OK ? "checked: every file has its checksum\n" : "");
    checkpoint_close(ck);
    return status;
}
