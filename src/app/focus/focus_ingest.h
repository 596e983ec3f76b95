/* app/focus/focus_ingest.h: weft focus ingest: a cheap network scores all data into an index. */
#pragma once

#include "app/predict/predictor.h"

/* What an ingest did; on rank 0. */
typedef struct focus_ingested {
    int64_t added, items; /* items that were added, and those that the index holds now */
    double seconds;
} focus_ingested;

/*
 * Adds the items of --data that the index does not hold yet; p: not opened, closed by the caller. Items stand in the
 * order of the data, whatever the number of ranks. WEFT_ERR_USAGE: an option is missing, or the index is of another
 * network; WEFT_ERR_DATA: it is of other data, or damaged. Collective.
 */
weft_status focus_ingest(app_context *context, const weft_options *asked, predictor *p, focus_ingested *done);
