/*
 * io/text/text_ranges.h: a plain file's lines, read and parsed by all threads, each a range of the file at a time; for
 * parsers that need no row numbers. A part of text_source.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "io/text/text_source.h"
#include "io/text/text_stream.h"

typedef struct text_ranges {
    const char *path;
    const text_stream *stream; /* plain */
    const text_parser *parser;
    int threads;
    size_t line_max;
    int64_t begin;            /* where in the file a line begins; all up to there have been read */
    atomic_llong *text_bytes; /* grows */
    void (*tell)(void *self); /* for progress, from the calling thread, now and then */
    void *self;
} text_ranges;

/* WEFT_ERR_DATA: the first fault in file order, with its line. */
weft_status text_ranges_parse(const text_ranges *ranges);
