/*
 * io/gzip_writer.h: a .gz file that is whole or absent (base/file.h), written as it comes.
 *
 * No time and no name are stored: equal bytes make equal files.
 */
#pragma once

#include <stddef.h>

#include "base/status.h"

typedef struct gzip_writer gzip_writer;

weft_status gzip_writer_open(const char *path, gzip_writer **writer);
weft_status gzip_write(gzip_writer *writer, const void *data, size_t bytes);
weft_status gzip_writer_commit(gzip_writer *writer); /* frees the writer; on failure nothing is left behind */
void gzip_writer_discard(gzip_writer *writer);       /* NULL is allowed */
