/*
 * gnn/data/read/reader_attach.h: features, labels and splits from files of their own (.npy, .npz, .csv, .csv.gz,
 * folders).
 */
#ifndef WEFT_GNN_DATA_READ_READER_ATTACH_H
#define WEFT_GNN_DATA_READ_READER_ATTACH_H

#include "gnn/data/read/reader.h"

/* What the options name, in place of what the input had; row counts are checked against raw->vertices. */
weft_status reader_attach(const convert_options *options, raw_graph *raw);

weft_status reader_split_codes(const char *path, raw_graph *raw);
/* WEFT_ERR_USAGE unless "A/B/C" are shares, and a warning where their sum is neither 100 nor 1: before a large graph is
 * read. */
weft_status reader_split_check_shares(const char *text);
weft_status reader_split_draw(const char *shares, uint64_t seed, raw_graph *raw);

#endif
