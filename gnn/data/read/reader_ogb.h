/* gnn/data/read/reader_ogb.h: what OGB's text and binary layouts share. */
#ifndef WEFT_GNN_DATA_READ_READER_OGB_H
#define WEFT_GNN_DATA_READ_READER_OGB_H

#include "gnn/data/read/reader.h"

/* raw->split from FOLDER/split/NAME/{train,valid,test}.csv.gz; no such folder: none. Of several, raw->split_name
 * chooses, else WEFT_ERR_DATA. raw->both_ways from NAME. With raw->split_elsewhere no list is read. */
weft_status reader_ogb_split(const char *folder, raw_graph *raw);

#endif
