/*
 * gnn/data/read/reader_scipy.c: a plain graph as scipy.sparse.save_npz writes it: entry (u, v) = edge u -> v, in COO,
 * CSR or CSC form. Values are read over here (gnn/data/read/reader_weights.c). Features, labels and splits come from
 * files of their own.
 */
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static const char *const compressed[] = {"indices", "indptr", "shape", "format", NULL};
static const char *const coordinates[] = {"row", "col", "shape", "format", NULL};

static bool matches(const char *path)
{
    return reader_npz_matches(path, compressed) || reader_npz_matches(path, coordinates);
}

const reader_format reader_scipy = {
    .name = "scipy",
    .description = ".npz of scipy.sparse.save_npz: a square matrix, entry (u, v) = edge u -> v",
    .symmetrize = true,
    .matches = matches,
    .read_npz = reader_npz_scipy,
};
