/*
 * io/npy.h: NumPy arrays on disk, read strictly.
 *
 * Only plain arrays exist here: dtypes f2 f4 f8 i1-i8 u1-u8 b1 and, to be skipped over, U and S. Python objects and
 * structured types are refused with a sentence that says how to convert. Header <= 64 KiB, at most 16 dimensions, every
 * product checked, the payload's length must equal shape x item size exactly before anything is allocated.
 *
 * .npz is a zip of .npy members: methods stored and deflate, ZIP64, CRC verified; overlap, duplicates, encryption,
 * multi-disk and disagreement of local and central headers are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

enum { NPY_MAX_DIMS = 16, NPY_HEADER_MAX = 65536 + 12 /* bytes before the data of any array that is read */ };

typedef struct npy_header {
    char kind;       /* 'f' 'i' 'u' 'b' 'U' 'S' */
    int item_bytes;  /* bytes of one element */
    bool big_endian; /* '>' with item_bytes > 1; the converting readers swap */
    bool fortran_order;
    int dims;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count; /* product of the shape; 1 for a scalar */
    size_t data_offset, data_bytes;
} npy_header;

/* Parse a header from the start of a .npy image of `size` bytes in total, of which the first min(size, NPY_HEADER_MAX)
 * must be readable. `name` is for messages. */
weft_status npy_parse_header(const char *name, const uint8_t *data, size_t size, npy_header *header);

/* A mapped .npy file. */
typedef struct npy_map {
    npy_header header;
    const void *data;
    file_map map;
} npy_map;
weft_status npy_map_open(const char *path, npy_map *npy);
void npy_map_close(npy_map *npy);
/* The mapping must hold this kind, item size (native order, C order) and shape; shape -1 = any. WEFT_ERR_DATA
 * otherwise. */
weft_status npy_expect(const char *name, const npy_header *header, char kind, int item_bytes, int dims,
                       const int64_t *shape);

/* Write a C-ordered little-endian array atomically. kind/item_bytes as in npy_header. */
weft_status npy_write(const char *path, char kind, int item_bytes, int dims, const int64_t *shape, const void *data);
/* The same in pieces: begin, write the rows in order, commit. */
weft_status npy_writer_begin(const char *path, char kind, int item_bytes, int dims, const int64_t *shape,
                             file_writer *writer);

/* ---- .npz ---------------------------------------------------------------------------------------------------- */
typedef struct npz_file npz_file;
weft_status npz_open(const char *path, npz_file **npz);
void npz_close(npz_file *npz);
int npz_count(const npz_file *npz);
const char *npz_name(const npz_file *npz, int i);    /* without the .npy */
int npz_find(const npz_file *npz, const char *name); /* index, or -1 */

typedef struct npy_array {
    npy_header header;
    void *data; /* from base/alloc.h, C order, native endianness */
} npy_array;

/* Read a .npy file whole: Fortran order is transposed, foreign byte order swapped. */
weft_status npy_read(const char *path, npy_array *array);
/* Read member i whole. Fortran order is transposed, foreign byte order swapped. */
weft_status npz_read(npz_file *npz, int i, npy_array *array);
weft_status npz_read_header(npz_file *npz, int i, npy_header *header);
void npy_array_free(npy_array *array);
/* Elements converted, checked: int64 from any integer, bool or integral float; float32 from any number. weft_free. */
weft_status npy_array_to_i64(const char *name, const npy_array *array, int64_t **values);
weft_status npy_array_to_f32(const char *name, const npy_array *array, float **values);
/* The same for `count` elements in native byte order at `data`, into out; `first` is the number of the first one. */
weft_status npy_convert_i64(const char *name, const npy_header *header, const void *data, int64_t first, int64_t count,
                            int64_t *out);
weft_status npy_convert_f32(const char *name, const npy_header *header, const void *data, int64_t first, int64_t count,
                            float *out);

/* Member i in pieces, for arrays that must not stand in memory as a whole: elements come in the order of the file
 * (WEFT_ERR_DATA for a matrix in Fortran order). The npz must outlive the stream. */
typedef struct npz_stream npz_stream;
weft_status npz_stream_open(npz_file *npz, int i, npz_stream **stream);
const npy_header *npz_stream_header(const npz_stream *stream);
weft_status npz_stream_i64(npz_stream *stream, int64_t count, int64_t *out); /* the next `count` elements, converted */
weft_status npz_stream_f32(npz_stream *stream, int64_t count, float *out);
weft_status npz_stream_skip(npz_stream *stream, int64_t count);
weft_status npz_stream_finish(npz_stream *stream); /* every element has been read: does the checksum match? */
void npz_stream_close(npz_stream *stream);

/* Write an .npz of stored members: begin, add each, commit. */
typedef struct npz_writer npz_writer;
weft_status npz_writer_open(const char *path, npz_writer **writer);
weft_status npz_writer_add(npz_writer *writer, const char *name, char kind, int item_bytes, int dims,
                           const int64_t *shape, const void *data);
/* The same for an array made in pieces: fill writes elements first .. first + count - 1 to `out`. It is called twice
 * for each, in order (the checksum stands before the data). */
weft_status npz_writer_add_filled(npz_writer *writer, const char *name, char kind, int item_bytes, int dims,
                                  const int64_t *shape,
                                  void (*fill)(const void *self, int64_t first, int64_t count, void *out),
                                  const void *self);
weft_status npz_writer_commit(npz_writer *writer); /* frees the writer */
void npz_writer_discard(npz_writer *writer);
