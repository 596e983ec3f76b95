/*
 * gnn/data/read/reader_npz.h: what the .npz formats share: members fetched by name with their shape checked, edges and
 * sparse features taken from CSR arrays, labels and splits made uniform. Every message names file[array], row and
 * value.
 */
#pragma once

#include "gnn/data/read/reader.h"
#include "io/npy.h"

typedef struct reader_npz {
    const char *path;
    npz_file *file;
    int64_t memory_bytes; /* --memory, which unpacked arrays must fit; 0 = no limit */
} reader_npz;

weft_status reader_npz_open(const char *path, int64_t memory_bytes, reader_npz *npz);
void reader_npz_close(reader_npz *npz);
/* Open the archive at `path`, let `arrays` fill raw from it, close it. */
weft_status reader_npz_read(const char *path, weft_status (*arrays)(const reader_npz *npz, raw_graph *raw),
                            raw_graph *raw);
bool reader_npz_has(const reader_npz *npz, const char *name);
/* [out] i: the index of the array, and its header. WEFT_ERR_DATA: the archive lacks it. */
weft_status reader_npz_header(const reader_npz *npz, const char *name, int *i, npy_header *header);
/* The index of the array that bears one of the names (NULL-terminated), the first in their order, or -1. */
int reader_npz_find(const reader_npz *npz, const char *const *names);
/* As reader_npz_find; says which arrays of the other names are there and are left out. */
int reader_npz_choose(const reader_npz *npz, const char *const *names);
extern const char *const reader_feature_names[], *const reader_label_names[]; /* what others call these arrays */
/* Does the file at `path` hold all these arrays (NULL-terminated)? */
bool reader_npz_matches(const char *path, const char *const *names);

/* `bytes` more, beside what is held, must fit memory_bytes (0 = no limit): a small archive may unpack to any size. */
weft_status reader_check_fits(const char *label, uint64_t bytes, int64_t memory_bytes);
/* The named array as int64 / float32; weft_free. shape[]: -1 = any, becomes the array's; else it must match. */
weft_status reader_npz_ints(const reader_npz *npz, const char *name, int dims, int64_t *shape, int64_t **values);
weft_status reader_npz_floats(const reader_npz *npz, const char *name, int dims, int64_t *shape, float **values);

/* raw->from, to from an [edges, 2] array of vertex ids; raw->vertices is known. */
weft_status reader_npz_pairs(const reader_npz *npz, const char *name, raw_graph *raw);
/* raw->vertices, from, to from CSR arrays PREFIX_indptr, _indices, _shape; _data is looked at for weights. */
weft_status reader_npz_adjacency(const reader_npz *npz, const char *prefix, raw_graph *raw);
/* raw->features and sparse features from CSR arrays PREFIX_indptr, _indices, _data, _shape (no PREFIX_ when it is "").
 */
weft_status reader_npz_sparse_features(const reader_npz *npz, const char *prefix, raw_graph *raw);
/* raw->features and dense features from an array [vertices, features], streamed into the store later. */
weft_status reader_npz_dense_features(const reader_npz *npz, const char *name, raw_graph *raw);
/* raw->label and classes from an array [vertices] of integers. */
weft_status reader_npz_labels(const reader_npz *npz, const char *name, raw_graph *raw);
/* Classes from an array [vertices] or [vertices, 1], or tasks from [vertices, tasks]. */
weft_status reader_npz_label_array(const reader_npz *npz, int member, raw_graph *raw);
/* raw->split and splits, from index lists or masks named train, valid (val) and test; no such arrays: none. */
weft_status reader_npz_splits(const reader_npz *npz, raw_graph *raw);
