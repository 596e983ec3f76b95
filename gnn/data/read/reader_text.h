/* gnn/data/read/reader_text.h: what the readers of plain text share. */
#ifndef WEFT_GNN_DATA_READ_READER_TEXT_H
#define WEFT_GNN_DATA_READ_READER_TEXT_H

#include "gnn/data/read/reader.h"
#include "io/text/text_source.h"

enum { TEXT_HEAD = 4096 };

/* The first bytes of a text file, unpacked, NUL-terminated, as far as a zero byte, which the format's reader will name;
 * empty when it is no text. Fails where the file cannot be read or unpacked. */
weft_status reader_text_head(const char *path, char head[TEXT_HEAD]);
/* Does the name, without .gz or .xz, end so? */
bool reader_name_ends(const char *path, const char *ending);
/* Open `path`, give raw->arcs, let `parse` fill it, log the rate. parse sets raw->vertices. */
weft_status reader_text_read(const char *path, size_t line_max,
                             weft_status (*parse)(const char *path, text_source *source, raw_graph *raw),
                             raw_graph *raw);

#endif
