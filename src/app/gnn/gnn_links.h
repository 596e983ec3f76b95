/* app/gnn/gnn_links.h: prediction of links in the jobs of graphs (--task link): the steps of gnn_workload.c for it. */
#pragma once

#include "app/gnn/gnn_job.h"

bool gnn_links_asked(const weft_options *options);
/* WEFT_ERR_USAGE: --pairs is for what does not answer for pairs. The same on all ranks, before any file is read. */
weft_status gnn_links_check_pairs(const workload *work);
/* Divides the edges into links of train, valid and test, and makes the graph of the messages. After the data were
 * opened. WEFT_ERR_USAGE: --metric hits looks at more negatives than there are. Collective. */
weft_status gnn_links_open(workload *work, const char *folder);
/* Options that have one meaning here. WEFT_ERR_USAGE: they contradict links. The same on all ranks. */
weft_status gnn_links_decide(weft_options *options, bool training);
/* Returns the width of the rows that the encoder gives. */
int64_t gnn_links_width(const weft_options *options);
/* job->config, whose outputs are known, gets the decoder. */
void gnn_links_configure(workload *work);
/* What links take beside the encoder, on this rank. */
void gnn_links_add_memory(const workload *work, memory_plan *memory);
/* Model, source and targets around the encoder that was built. Collective. */
weft_status gnn_links_build(workload *work);
/* Recommends by the trained model, and keeps how well, where --users asks for it. Collective. */
weft_status gnn_links_rank(const workload *work);
/* A group of rows about that, or none. */
void gnn_links_facts(const workload *work, fact_list *list);
void gnn_links_unbuild(gnn_job *job);
