/* io/npy_text.h: the header text of a .npy image, shared by the .npy and the .npz writer. */
#pragma once

#include "io/npy.h"

enum { NPY_TEXT_MAX = 512 };

/* [out] text_bytes  length of the header, a multiple of 64;  [out] data_bytes  what must follow it. */
weft_status npy_header_text(const char *name, char kind, int item_bytes, int dims, const int64_t *shape,
                            char text[NPY_TEXT_MAX], size_t *text_bytes, size_t *data_bytes);
