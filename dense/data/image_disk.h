/*
 * dense/data/image_disk.h: decoded samples in a file on the node's own disk, for the ranks of this job and for later
 * jobs. A part of image_cache.c.
 *
 *      head     4096 bytes: in words, of what the samples are; zeros
 *      record   of the last sample: checksum (8 bytes), pixels
 *      record   of the one before it ...                         records that nobody wrote are holes
 *
 * A record holds if its checksum is that of its pixels, its number and the head: what a killed job left half-written, a
 * disk lost or another program wrote costs a decoding, and never shows. So nothing is synced and nothing repaired, and
 * the file may be removed when no job uses it. Its head is compared with the one that this job would write, byte for
 * byte; with another one all records go. No size is taken from the file.
 */
#pragma once

#include "comm/comm.h"

typedef struct image_disk image_disk;

typedef struct image_disk_desc {
    const char *folder;   /* made where it is missing */
    uint64_t bytes;       /* most that the file may have; 0: what is free, but for a tenth of the disk */
    const char *place;    /* which of the folder's files: one each path and size of images */
    const char *identity; /* hash of everything that pixels depend on; with another one the file begins anew */
    int64_t samples;      /* of the set, which are numbered 0 .. samples - 1 */
    size_t sample_bytes;
} image_disk_desc;

/*
 * One file a node, held by a lock until it is closed. Where nothing can be written (the disk is full or read-only,
 * something else has the file's name) what an earlier job left is read. *disk is NULL where there is none, or another
 * job has it; a warning says why. Collective. WEFT_ERR_RESOURCE: no memory.
 */
weft_status image_disk_open(weft_comm *comm, const image_disk_desc *desc, image_disk **disk);
void image_disk_close(image_disk *disk); /* NULL is allowed */

/* False: the sample is not there; pixels [sample_bytes] may be anything then. Any thread. */
bool image_disk_read(const image_disk *disk, int64_t number, uint8_t *pixels);
/* Where it has a place. A disk that takes no more is told once in the log, and written no more. Any thread. */
void image_disk_write(image_disk *disk, int64_t number, const uint8_t *pixels);
