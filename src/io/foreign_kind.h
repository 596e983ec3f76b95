/*
 * io/foreign_kind.h: what the first bytes of a file say that it is, and what to do with a file of that kind.
 *
 * One table of kinds that no reader takes: archives (bzip2, zstd, zip, 7z ...), files of other programs (HDF5, Parquet,
 * torch.save, MATLAB, R ...), graphs in other languages (GraphML, GML, GEXF, JSON ...), and what a failed download
 * leaves (HTML, a pointer of Git LFS). A reader that does not understand a file asks here (io/text/foreign_file.h), so
 * that the message names the kind and the cure, not a list of formats.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { FOREIGN_HEAD = 1024 /* first bytes of a file that are looked at */ };

typedef struct foreign_kind {
    const char *what; /* "a bzip2 archive" */
    const char *cure; /* "unpack it first (bunzip2 -k)" */
} foreign_kind;

/* Kinds that readers of arrays take, or look into. */
extern const foreign_kind foreign_arrays, foreign_zip;

/* The kind of a file that begins with these bytes; NULL: none of the table. */
const foreign_kind *foreign_kind_of(const uint8_t *head, size_t bytes);

/* WEFT_ERR_DATA, "PATH: is WHAT: CURE", if a file that begins with these bytes is of such a kind. */
weft_status foreign_kind_check(const char *path, const uint8_t *head, size_t bytes);
