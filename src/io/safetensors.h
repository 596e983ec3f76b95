/*
 * io/safetensors.h: named tensors in the safetensors format, read strictly.
 *
 *     uint64 little-endian: bytes of the header | header, JSON | data
 *     {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [4, 5], "data_offsets": [0, 80]}, ...}
 *
 * Offsets count from the end of the header. The tensors must cover the data exactly: no hole, no overlap, nothing
 * behind them; names are unique. Nothing is allocated by a length that the file does not have. The format allows
 * headers of 100 MB; what io/json.h reads, 1 MiB, is the limit here (some 8,000 tensors), which bounds the memory of
 * a hostile header to about 100 MiB.
 *
 *     safetensors_file *file;
 *     WEFT_TRY(safetensors_open("model.safetensors", &file));
 *     const safetensors_entry *bias = safetensors_entry_at(file, safetensors_find(file, "convs.0.bias"));
 *     ...allocate bias->count floats..., safetensors_read_f32(file, i, values), safetensors_close(file)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SAFETENSORS_MAX_DIMS = 8, SAFETENSORS_HEADER_MAX = 1 << 20, SAFETENSORS_PARTS_MAX = 8 };

typedef struct safetensors_entry {
    const char *name;   /* lives as long as the file is open, or until the tensor is renamed */
    const char *stored; /* the name in the file */
    const char *dtype;  /* "F32", ... */
    int dims;
    int64_t shape[SAFETENSORS_MAX_DIMS];
    int64_t count;        /* product of the shape; 1 for a scalar */
    size_t offset, bytes; /* in the data */
} safetensors_entry;

typedef struct safetensors_text {
    const char *key, *value;
} safetensors_text;

typedef struct safetensors_file safetensors_file;

/* WEFT_ERR_NOINPUT: no such file; WEFT_ERR_DATA: malformed, with the tensor's name and the figures. */
weft_status safetensors_open(const char *path, safetensors_file **file);
void safetensors_close(safetensors_file *file); /* NULL is allowed */
int safetensors_count(const safetensors_file *file);
const safetensors_entry *safetensors_entry_at(const safetensors_file *file, int i); /* in the order of the data */
int safetensors_find(const safetensors_file *file, const char *name);               /* index, or -1 */
const char *safetensors_metadata(const safetensors_file *file, const char *key);    /* NULL when absent */
bool safetensors_metadata_at(const safetensors_file *file, int i, safetensors_text *text); /* false past the last */
/*
 * Other names for tensors, as a reader wants them; messages show those of the file.
 *
 *   safetensors_strip    leaves out the first part of all names, "module." or "a.b." by and by, where all have the same
 *                        one and more behind it, up to SAFETENSORS_PARTS_MAX parts. Returns false, and changes nothing,
 *                        where they do not
 *   safetensors_rename   gives tensor i a name. WEFT_ERR_RESOURCE
 *   safetensors_restore  gives all tensors the names in the file
 */
bool safetensors_strip(safetensors_file *file);
weft_status safetensors_rename(safetensors_file *file, int i, const char *name);
void safetensors_restore(safetensors_file *file);
/* Tensor i, widened or narrowed to float32: values [count]. WEFT_ERR_DATA for types other than F32, F64, F16, BF16, and
 * for an F64 that is too large for a float32. */
weft_status safetensors_read_f32(const safetensors_file *file, int i, float *values);

struct file_writer;

typedef struct safetensors_item {
    const char *name;
    int dims;
    int64_t shape[SAFETENSORS_MAX_DIMS];
    const float *values; /* NULL: `write` writes them */
    /* Writes the values, all of the shape, one after the other: for tensors that need not fit into memory. */
    weft_status (*write)(void *self, struct file_writer *writer);
    void *self;
    bool integers; /* I64; else F32 */
} safetensors_item;

/* Write tensors and metadata, atomically. Data begin on an 8-byte border, so integers stand first.
 * WEFT_ERR_UNSUPPORTED: more names than a header of 1 MiB holds. */
weft_status safetensors_write(const char *path, const safetensors_item *items, int count, const safetensors_text *texts,
                              int text_count);
