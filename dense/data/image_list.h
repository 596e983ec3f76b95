/*
 * dense/data/image_list.h: the files of image_files.h as a list: their names, order and classes (image_classes.c), and
 * the reading of one. A part of image_files.c.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "dense/data/decode/image_decode.h"
#include "dense/data/image_files.h"

typedef struct image_file {
    char *name;                     /* owned */
    const char *tail;               /* CLASS/.../FILE, a part of it; of a loose image all of it */
    int32_t class_bytes;            /* length of CLASS; 0: none */
    int64_t offset, bytes, changed; /* as in image_place */
    int32_t split, class;           /* class -1: no training image has it */
    int32_t height, width;          /* 0: malformed */
    int32_t channels;               /* of the file: 1 of a grey one, else 3; 0: malformed */
    uint64_t sum;                   /* of the file's length and of its first bytes: another picture has another one */
} image_file;

/* What was left out, for one warning a kind: folders are not in order, so that the first name is kept. */
typedef struct image_left_out {
    int64_t entries; /* no images */
    char first[FILE_PATH_MAX];
    int64_t foreign; /* images of a kind that is not read */
    char first_foreign[FILE_PATH_MAX];
    char endings[64]; /* of them: ".bmp, .gif" */
    int64_t labels;   /* NAME.cls of WebDataset */
    char first_label[FILE_PATH_MAX];
    char beside[FILE_PATH_MAX]; /* a folder beside the splits, or one in place of a split; "": none */
    bool holds_records;         /* an archive with files of IDX or CIFAR in it */
} image_left_out;

/* Memory of one thread, lent for an image. */
typedef struct image_bench {
    uint8_t *encoded;
    image_scratch scratch;
    int holds;      /* 1 + the number of the file that was decoded into scratch, for image_list_cut; 0: none */
    image_shape is; /* its size there */
    struct image_bench *next;
} image_bench;

struct image_files {
    image_file *file;
    int count, capacity;
    image_layout layout;
    int first[TRAIN_SPLITS]; /* file of each split */
    size_t largest;          /* file, in bytes */
    size_t scratch;          /* bytes that the largest image needs */
    image_shape wanted;
    atomic_ullong *source_bytes; /* read so far, of the store */
    image_files_load load;
    void *self;
    void (*close)(void *self);
    int32_t *slot; /* by the hash of a name: 1 + the number of its file, 0: free; only while files are added */
    int64_t slots;
    image_left_out out;
    bool frames;                 /* of a camera: samples are boxes of them */
    struct image_moving *moving; /* these boxes; NULL: none */
    image_bench *bench;          /* that nobody uses */
    pthread_mutex_t lock;
};

static inline bool image_list_is_loose(const image_files *files)
{
    return files->layout == IMAGE_LAYOUT_LOOSE;
}

/* Into the order of split, class and name; the set gets its hash and its classes, each file its split and class.
 * trained: for a trained model, so that classes need no training image. In image_classes.c. */
weft_status image_list_sort(const char *path, image_files *files, bool trained, image_set *set);

/* Warn of what was left out, a line a kind. In image_left_out.c, with image_files_pass_over. */
void image_list_tell_left_out(const char *path, const image_files *files);
/* The reason why a set has no image that it should have. */
weft_status image_list_fail_empty(const char *path, const image_files *files);

/* files->first of a sorted list, again after some left it. */
void image_list_find_splits(image_files *files);
int image_list_split_end(const image_files *files, int split);

/* Decode a file, or, with pixels NULL, look at it: it gets its size, 0 where it is malformed. Any thread. */
weft_status image_list_read(image_files *files, image_file *file, uint8_t *pixels);
/* Decode a file to another size than files->wanted. Any thread. */
weft_status image_list_read_as(image_files *files, const image_file *file, const image_shape *wanted, uint8_t *pixels);
/* A part, in pixels of the whole file, as files->wanted. The file is decoded to `least` or more; parts of one file that
 * are asked for in turn with one `least` decode it once. Any thread. */
weft_status image_list_cut(image_files *files, int number, const image_shape *least, const image_cutout *part,
                           uint8_t *pixels);

/* From now on images are decoded when they are asked for: memory for the largest, so that none is taken later. */
void image_list_size_benches(image_files *files);
