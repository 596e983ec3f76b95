/*
 * io/text/foreign_file.h: says what a file is that no reader knows (io/foreign_kind.h), behind .gz and .xz too.
 */
#pragma once

#include "base/status.h"

/*
 * For readers that found nothing they know. WEFT_ERR_DATA: the file is of a known foreign kind, is empty, or cannot be
 * unpacked; other codes: it cannot be read. WEFT_OK: nothing is known about it, and the caller says what it expects.
 */
weft_status foreign_file_refuse(const char *path);
