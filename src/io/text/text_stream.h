/*
 * io/text/text_stream.h: the bytes of a plain, .gz or .xz file, in order. The first bytes decide what it is, not the
 * name. Damaged or truncated compressed data are errors; a gzip file may have several members, an xz file several
 * streams. Memory: the decoder's window and 256 KiB; an xz file that asks for more than 256 MiB is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct text_stream text_stream;

weft_status text_stream_open(const char *path, text_stream **stream);
void text_stream_close(text_stream *stream);
/* Up to `capacity` bytes; *got = 0 only at the end. */
weft_status text_stream_read(text_stream *stream, char *out, size_t capacity, size_t *got);
/* A plain file: it can be read at any place. */
bool text_stream_plain(const text_stream *stream);
/* Of a plain file: the bytes from `offset` on, `capacity` of them or up to the end. Any thread, beside others. */
weft_status text_stream_read_at(const text_stream *stream, int64_t offset, char *out, size_t capacity, size_t *got);
int64_t text_stream_size(const text_stream *stream);     /* of the file */
int64_t text_stream_consumed(const text_stream *stream); /* bytes of the file read so far; from any thread */
