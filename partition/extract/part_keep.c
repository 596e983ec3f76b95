/*
 * partition/extract/part_keep.c: all parts of a partition, cut one after the other and kept; see
 * partition/part_store.h.
 *
 *   cut part 0 | cut part 1  | cut part 2  | ...
 *              | save part 0 | save part 1 | ...     a second thread: checksums, copies and the disk's time
 */
#include <pthread.h>
#include <stdio.h>

#include "base/log.h"
#include "partition/part_store.h"

enum { MESSAGE_BYTES = 1024 };

typedef struct part_saver {
    const char *store_path;
    const weft_graph *graph;
    const partition_options *options;
    weft_part part;
    pthread_t thread;
    bool running;
    weft_status status;
    char message[MESSAGE_BYTES];
} part_saver;

static void *save_main(void *self)
{
    part_saver *saver = self;
    saver->status = part_save(saver->store_path, saver->graph, saver->options, &saver->part, false);
    if (saver->status != WEFT_OK) { /* messages belong to a thread */
        snprintf(saver->message, sizeof saver->message, "%s", weft_error_message());
    }
    part_destroy(&saver->part);
    return NULL;
}

/* What became of the last part that was handed over. */
static weft_status saver_wait(part_saver *saver)
{
    if (saver->running) {
        pthread_join(saver->thread, NULL);
        saver->running = false;
    }
    return saver->status == WEFT_OK ? WEFT_OK : weft_fail(saver->status, "%s", saver->message);
}

/* Takes the part; saves it at once where no thread can be started. */
static void saver_start(part_saver *saver, const weft_part *part)
{
    saver->part = *part;
    saver->running = pthread_create(&saver->thread, NULL, save_main, saver) == 0;
    if (!saver->running) {
        save_main(saver);
    }
}

weft_status part_keep_all(const char *store_path, const weft_graph *graph, const partition_options *options,
                          const weft_partition *partition)
{
    part_saver saver = {.store_path = store_path, .graph = graph, .options = options, .status = WEFT_OK};
    part_holders holders;
    WEFT_TRY(part_holders_find(graph, partition, &holders));
    weft_status status = WEFT_OK;
    log_progress progress = log_progress_begin("cut and keep parts", "parts", partition->parts);
    for (int p = 0; p < partition->parts && status == WEFT_OK; p++) {
        weft_part part;
        status = part_extract_held(graph, partition, &holders, p, NULL, PART_IN_ORDER, &part);
        const weft_status saved = saver_wait(&saver);
        status = status == WEFT_OK ? saved : status;
        if (status == WEFT_OK) {
            saver_start(&saver, &part);
            log_progress_update(&progress, p + 1);
        } else {
            part_destroy(&part);
        }
    }
    const weft_status saved = saver_wait(&saver);
    log_progress_end(&progress);
    part_holders_free(&holders);
    return status == WEFT_OK ? saved : status;
}
