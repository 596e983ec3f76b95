/*
 * app/train/train_data.h: from --data and --partition to this rank's part of the graph.
 */
#ifndef WEFT_APP_TRAIN_TRAIN_DATA_H
#define WEFT_APP_TRAIN_TRAIN_DATA_H

#include "app/setup/context.h"
#include "base/file.h"
#include "partition/part.h"

typedef struct train_data {
    char store[FILE_PATH_MAX];
    bool temporary; /* rank 0: a generated graph, whose store is removed once every rank has loaded it */
    weft_graph graph;
    partition_report report; /* of more than one part; valid on every rank */
    bool partition_was_stored;
    bool reordered;
    weft_part part;
} train_data;

/* Open or generate the graph. `folder` takes what is generated and is made if need be. Collective. */
weft_status train_data_open(const app_context *context, const char *folder, train_data *data);
/* Find or compute the partition and cut out this rank's part. Collective. */
weft_status train_data_cut(const app_context *context, const char *folder, train_data *data);
/* Unmap the store; remove a generated one. Collective. */
weft_status train_data_release(const app_context *context, train_data *data);
/* Also after a failure: nothing generated stays. */
void train_data_close(train_data *data);

#endif
