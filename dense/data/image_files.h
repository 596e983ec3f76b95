/*
 * dense/data/image_files.h: a set of JPEG and PNG files, one image each, in folders or in a tar: what image_folders.c
 * and image_tar.c share.
 *
 *      image_files_add ("train/bee/7.jpg") ... --image_files_open--> sorted, looked at: the set
 *
 * Layouts, by names (image_names.h):
 *
 *      SPLITS     SPLIT/CLASS/.../FILE below one folder, where SPLIT is train, val or test, or another word for one of
 *                 them
 *      CLASSES    CLASS/.../FILE: all are training images
 *      ANY        of an archive: SPLITS below any folder; where no name has a split, CLASSES below what all names have
 *                 in common
 *      LOOSE      images without classes, all to test
 *
 * FILE ends in .jpg, .jpeg or .png; other names are left out, with a warning for each kind. Classes are numbered in the
 * order of their names, which are compared in one form of Unicode (base/letters/letters.h); images stand in the order
 * of split, class and name. Loose images are decoded once to see whether they can be: an answer for one that is damaged
 * would be none. Ranks divide the looking among them.
 */
#pragma once

#include <sys/stat.h>

#include "base/file.h"
#include "dense/data/image_set.h"

typedef struct image_files image_files;

/* The first `bytes` of a file, at most as many as it has: beside the name, what add was told about it. Any thread.
 * *data holds them afterwards; it may be `room`, which has that many. */
typedef weft_status (*image_files_load)(void *self, const char *name, int64_t offset, size_t bytes, uint8_t *room,
                                        const uint8_t **data);

typedef enum image_layout {
    IMAGE_LAYOUT_SPLITS,
    IMAGE_LAYOUT_CLASSES,
    IMAGE_LAYOUT_ANY,
    IMAGE_LAYOUT_LOOSE
} image_layout;

weft_status image_files_create(image_layout layout, image_files **files);
void image_files_destroy(image_files *files); /* NULL is allowed */
/* Frees what images are decoded from and with. Names, sums and places stay, and nothing is decoded afterwards. */
void image_files_close_reader(image_files *files);

/* Returns true if a name ends as those of images do and stands in a folder; the second needs no folder. */
bool image_files_takes(const char *name);
bool image_files_takes_loose(const char *file);
/* Where a file's bytes are. */
typedef struct image_place {
    int64_t offset; /* for the reader */
    int64_t bytes;
    int64_t changed; /* nanoseconds: when what holds them was changed last */
} image_place;
int64_t image_changed(const struct stat *facts); /* the last of them */
/* Keep a file. A name that was there before ("./" before it counts for nothing) has the new place from then on.
 * WEFT_ERR_RESOURCE. */
weft_status image_files_add(image_files *files, const char *name, const image_place *place);
/* Where a kept file of that name is, at the time; false: there is none. */
bool image_files_find(const image_files *files, const char *name, image_place *place);
/* Count an entry that is left out. Files that usually lie beside images (README, LICENSE, tables, texts, hidden ones)
 * are not counted. */
void image_files_pass_over(image_files *files, const char *name);
/* Note a folder beside those of splits. */
void image_files_note_beside(image_files *files, const char *folder);
int64_t image_files_seen(const image_files *files); /* kept, and counted as left out */

/*
 * Fill in the set, whose store then owns `files`, also after a failure; load and self must work until `close`, which is
 * called when the set is closed, or earlier where the set has all samples in memory. path: for messages. Collective.
 * WEFT_ERR_DATA: no training image, a class that is tested and not trained, several sizes and none wanted, with strict
 * a malformed image.
 */
weft_status image_files_open(weft_comm *comm, const char *path, const image_options *options, image_files *files,
                             image_files_load load, void *self, void (*close)(void *self), image_set *set);
