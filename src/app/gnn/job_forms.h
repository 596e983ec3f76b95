/*
 * app/gnn/job_forms.h: the forms of a job's aggregation matrices, where --spmm is auto: remembered from a job like this
 * one, else measured and kept for the next (app/gnn/form_record.h).
 *
 * Like means: the same parts, on as many ranks and nodes, with the same processor, caches and threads, widths and
 * precision. What a run has in --choices, and --spmm with a name, come first; with them and with --reproducible nothing
 * is read or written. A job whose aggregation takes longer than the record says throws it away, and the next one
 * measures. Where forms came near to each other, the next jobs time them too, up to three in all: which is quicker may
 * turn round with what a processor shares with other machines of its host.
 */
#pragma once

#include "app/gnn/form_record.h"
#include "app/gnn/options/gnn_options.h"
#include "app/setup/context.h"
#include "gnn/gnn_model.h"
#include "partition/part.h"

typedef struct job_forms {
    int32_t kept;       /* records are read and written in this job; the same on every rank, as all but path */
    int32_t remembered; /* there was one */
    form_record record;
    char key[FORM_KEY_BYTES];
    char path[FILE_PATH_MAX]; /* rank 0; "": nowhere to keep it */
} job_forms;

/* config->forms is filled in from a record, if there is one. Collective. */
weft_status job_forms_find(const app_context *context, const weft_part *part, gnn_config *config, job_forms *forms);
/* The model stands: what was taken is logged, and kept if it was measured now, while others had so many CPUs' worth of
 * this rank's. Collective. */
void job_forms_tell(const app_context *context, const gnn_aggregator *aggregator, double others, job_forms *forms);
/* Epochs are over: their aggregation is held against the record. Collective. */
weft_status job_forms_judge(const app_context *context, const gnn_aggregator *aggregator, job_forms *forms);
