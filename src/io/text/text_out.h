/*
 * io/text/text_out.h: text written through a buffer, plain or deflated (a name that ends in .gz), whole or absent.
 *
 * A failure is kept and told by text_out_commit: rows are written without a check each.
 */
#pragma once

#include <stdint.h>

#include "base/file.h"
#include "io/gzip_writer.h"

typedef struct text_out text_out;

enum { TEXT_OUT_BYTES = 256 << 10 };

struct text_out {
    file_writer file;
    gzip_writer *gzip; /* in place of file */
    weft_status status;
    size_t used;
    char buffer[TEXT_OUT_BYTES];
};

/* weft_free is done by commit and discard. */
weft_status text_out_open(const char *path, text_out **out);
void text_out_char(text_out *out, char c);
void text_out_text(text_out *out, const char *text);
void text_out_int(text_out *out, int64_t value);
void text_out_float(text_out *out, float value); /* "nan" for NaN */
weft_status text_out_commit(text_out *out);
