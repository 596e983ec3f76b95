/*
 * dense/data/image_store.h: where the samples of an image set are, behind image_set_read. A part of image_set.c.
 *
 * A reader has a function that makes a sample. Where that takes work the cache keeps what it made; where it copies what is
 * stored, in memory that the ranks of a node share already, there is no cache.
 */
#ifndef WEFT_DENSE_DATA_IMAGE_STORE_H
#define WEFT_DENSE_DATA_IMAGE_STORE_H

#include <stdatomic.h>

#include "base/file.h"
#include "base/permutation.h"
#include "dense/data/image_cache.h"
#include "dense/data/image_set.h"
#include "io/name_list.h"

/* Samples of a split as they come. */
typedef struct image_part {
    int64_t count;
    int32_t *label; /* [count] */
    void *owned;    /* freed with the set; label lies in it */
} image_part;

typedef struct image_store {
    image_part part[TRAIN_SPLITS];
    permutation held; /* of training samples, where the last ones are set apart for validation; n = 0: none are */
    void *self;
    /* The sample of this number over all parts. Any thread. WEFT_ERR_DATA: malformed. */
    weft_status (*make)(void *self, int64_t number, uint8_t *pixels);
    const char *(*name)(void *self, int64_t number); /* of its file; NULL: samples have none */
    void (*close)(void *self);
    char identity
        [33];    /* what tells, beside the set's hash, that samples come out as before: of places and times of files */
    bool stored; /* making a sample is copying it */
    uint64_t kept;      /* bytes that the reader keeps on each rank to make samples of */
    image_cache *cache; /* of samples that were made; NULL: none is kept */
    bool strict;        /* a malformed sample is an error, not grey */
    atomic_int grey;    /* that were made so */
    atomic_llong samples[IMAGE_LEVELS];
    atomic_ullong source_bytes;
} image_store;

/* A way that data sets come in. */
typedef struct image_reader {
    image_format format;
    /* Cheap, and never fails. */
    bool (*matches)(const char *path);
    /* Fill in everything of a zeroed set but name, format and what is set apart; set->store is there. What it took is
     * closed with the set, also when it fails. options->memory is above 0, the part of a rank, and the same on all.
     * Collective for readers that divide the work. */
    weft_status (*open)(weft_comm *comm, const char *path, const image_options *options, image_set *set);
} image_reader;

extern const image_reader image_reader_idx;
extern const image_reader image_reader_cifar;
extern const image_reader image_reader_folders;
extern const image_reader image_reader_classes; /* folders of classes without splits */
extern const image_reader image_reader_tar;
extern const image_reader image_reader_loose;
extern const image_reader image_reader_synth;

/* A data set of images further down in a folder that is none itself (image_inner.c). [out] found: the path of the one set below
 * `path`; "": there is none. WEFT_ERR_DATA: there are several, which are named, or files in Python's pickle format, which is not
 * read. */
weft_status image_inner_find(const char *path, char found[FILE_PATH_MAX]);
/* Returns true if image_inner_find would find or refuse something. */
bool image_inner_exists(const char *path);

/* Memory of the set's class names: [classes] of IMAGE_NAME_BYTES. */
weft_status image_set_name_classes(image_set *set, int64_t classes);

/* The lines of a text that hold something, without blanks at their ends, in composed letters. [out] names: for name_list_free. */
weft_status image_names_read(const char *path, name_list *names);

/*
 * Classes of a set whose labels are numbers without a meaning of their own, by what is there: the lines of FOLDER/classes.txt or
 * FOLDER/labels.txt name them from 0, or from 1 where no label is 0 and there are as many names. Without names, labels 1 to C become
 * classes 0 to C - 1, called "1" to "C"; not for a trained model, which may know more classes than these data have. A word in
 * the log either way. The parts' labels are as in the files before; those to test with are of the file `tests`. WEFT_ERR_DATA: a
 * test label that no training image has.
 */
weft_status image_name_labels(const char *folder, const char *tests, bool trained, image_set *set);
/* The option that bounds the memory of images. */
const char *image_memory_flag(const image_options *options);

/* What is kept on disk of a set, as hashes. */
typedef struct image_key {
    char place[33];    /* of where the set is: part of names of files */
    char identity[33]; /* of all that its samples depend on, but for their size; once the set has its own hashes */
} image_key;
void image_set_identify(const image_set *set, const char *path, image_key *key);

/* A hash becomes that of itself and these bytes. */
void image_hash_mix(char hash[33], const void *data, size_t bytes);

/* All bytes of a file: of a plain one mapped, of a packed one (.gz, .xz) in memory. */
typedef struct image_bytes {
    char *path; /* owned */
    const uint8_t *data;
    size_t bytes;
    uint8_t *unpacked; /* NULL: mapped */
    file_map map;
} image_bytes;
/* Bytes that a whole file has by its first `bytes`; 0: they do not say. */
typedef uint64_t (*image_bytes_stated)(const uint8_t *data, size_t bytes);
/*
 * Memory grows with what is there, whatever the file says, and reading stops at one byte more than it states. stated: NULL for
 * files that state nothing. WEFT_ERR_DATA: it unpacks to more than the options' memory.
 */
weft_status image_bytes_open(const char *path, const image_options *options, image_bytes_stated stated,
                             image_bytes *all);
void image_bytes_close(image_bytes *all); /* of zeros, too */

/* folder/name, or folder/name.gz where only that is there; false: neither. */
bool image_file_find(const char *folder, const char *name, char path[FILE_PATH_MAX]);

#endif
