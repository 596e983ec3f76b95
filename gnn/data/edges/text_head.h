/* gnn/data/edges/text_head.h: what a text file is shows in how it begins, and in its name. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* What a text of edges is. */
typedef enum edge_file_kind {
    EDGE_FILE_AUTO,
    EDGE_FILE_TABLE,
    EDGE_FILE_MATRIX_MARKET,
    EDGE_FILE_METIS
} edge_file_kind;

enum { TEXT_HEAD = 4096 };

/* The first bytes of a text file, unpacked, NUL-terminated, as far as a zero byte, which the format's reader will name;
 * empty when it is no text. Fails where the file cannot be read or unpacked. */
weft_status reader_text_head(const char *path, char head[TEXT_HEAD]);
/* The last comment (# or %) above the first row of a text that begins with `head`, without its marks, ending in '\n';
 * false: there is none. */
bool reader_text_comment(const char *head, char line[TEXT_HEAD + 1]);
/* Does the name, without .gz or .xz, end so, in letters of either case? */
bool reader_name_ends(const char *path, const char *ending);
