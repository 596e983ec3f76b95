/* gnn/data/read/reader_text.h: what the readers of plain text share. */
#ifndef WEFT_GNN_DATA_READ_READER_TEXT_H
#define WEFT_GNN_DATA_READ_READER_TEXT_H

#include "gnn/data/edges/text_head.h"
#include "gnn/data/read/reader.h"
#include "io/text/text_source.h"

/* Open `path`, give raw->arcs, let `parse` fill it, log the rate. parse sets raw->vertices. */
weft_status reader_text_read(const char *path, size_t line_max,
                             weft_status (*parse)(const char *path, text_source *source, raw_graph *raw),
                             raw_graph *raw);

#endif
