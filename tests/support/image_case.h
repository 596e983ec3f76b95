/* support/image_case.h: nine images in folders and in a tar, and what a set that was opened must have of them. */
#pragma once

#include "dense/data/image_set.h"
#include "support/image_bytes.h"

enum { SIDE = 12, PIXELS = SIDE * SIDE * 3, FILES = 9, MOST = 16 };

static const image_options plain = {.threads = 2};

static image_bytes file, tar;

typedef struct open_case {
    const char *path;
    const image_options *options;
    /* results of rank 0, and whether others have the same */
    int64_t count[TRAIN_SPLITS], malformed, classes;
    char class_name[4][IMAGE_NAME_BYTES];
    char file[MOST][IMAGE_NAME_BYTES]; /* of images to test */
    uint8_t pixels[TRAIN_SPLITS][MOST][PIXELS];
    int32_t label[TRAIN_SPLITS][MOST];
} open_case;

/* In the order that a set has them; names are given in another. */
static const char *const names[FILES] = {"train/ant/a.png", "train/ant/b.png", "train/bee/a.PNG",
                                         "train/bee/c.png", "train/cow/z.png", "val/ant/x.png",
                                         "val/cow/y.png",   "test/bee/1.png",  "test/bee/2.png"};
static const int32_t labels[FILES] = {0, 0, 1, 1, 2, 0, 2, 1, 1};
static const int splits[FILES] = {0, 0, 0, 0, 0, 1, 1, 2, 2};

static inline void make_pixels(int image, int side, uint8_t *pixels)
{
    for (int i = 0; i < side * side * 3; ++i) {
        pixels[i] = (uint8_t)(image * 41 + i * 3 + i / 7);
    }
}

static inline void make_file(int image, int side)
{
    static uint8_t pixels[64 * 64 * 3];
    make_pixels(image, side, pixels);
    make_png(&file, pixels, side, side, 3, 0);
}

static inline void put_folders(void **state)
{
    static const char *const folders[] = {"train",     "val",     "test",    "train/ant", "train/bee",
                                          "train/cow", "val/ant", "val/cow", "test/bee"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
        ASSERT_OK(folder_make(in_folder(state, folders[i])));
    }
    for (int i = 0; i < FILES; ++i) {
        make_file(i, SIDE);
        put_file(in_folder(state, names[i]), file.data, file.bytes);
    }
    put_file(in_folder(state, "train/ant/readme.txt"), "no image", 8);
    put_file(in_folder(state, "train/ant/.hidden.png"), "no image", 8);
    put_file(in_folder(state, "train/stray.png"), "no image", 8);
}

static inline weft_status read_all(const image_set *set, open_case *c)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        for (int64_t i = 0; i < set->count[s] && i < MOST; ++i) {
            WEFT_TRY(image_set_read(set, s, i, c->pixels[s][i], &c->label[s][i]));
        }
    }
    return WEFT_OK;
}

static inline weft_status open_rank(weft_comm *comm, void *argument)
{
    open_case *c = argument;
    open_case *mine = calloc(1, sizeof *mine);
    image_set *set = NULL;
    weft_status status = image_set_open(comm, c->path, c->options, &set);
    if (status == WEFT_OK && image_set_bytes(set) == PIXELS) {
        status = read_all(set, mine);
    }
    if (status == WEFT_OK) {
        mine->malformed = set->malformed;
        mine->classes = set->classes;
        memcpy(mine->count, set->count, sizeof mine->count);
        for (int64_t i = 0; i < set->classes && i < 4; ++i) {
            memcpy(mine->class_name[i], set->class_name[i], IMAGE_NAME_BYTES);
        }
        for (int64_t i = 0; i < set->count[IMAGE_TEST] && i < MOST; ++i) {
            const char *name = image_set_file(set, IMAGE_TEST, i);
            snprintf(mine->file[i], IMAGE_NAME_BYTES, "%s", name != NULL ? name : "");
        }
        mine->path = c->path;
        mine->options = c->options;
        if (comm_rank(comm) == 0) {
            memcpy(c, mine, sizeof *c);
        }
        status = comm_barrier(comm);
        if (status == WEFT_OK && memcmp(c, mine, sizeof *c) != 0) {
            status = weft_fail(WEFT_ERR_INTERNAL, "rank %d has another set", comm_rank(comm));
        }
    }
    image_set_close(set);
    free(mine);
    return status;
}

static inline weft_status open_set(const char *path, const image_options *options, int ranks, open_case *c)
{
    *c = (open_case){.path = path, .options = options};
    return comm_thread_run(ranks, open_rank, c);
}

static inline void check_whole(const open_case *c)
{
    int64_t next[TRAIN_SPLITS] = {0};
    assert_int_equal(c->classes, 3);
    assert_int_equal(c->count[IMAGE_TRAIN], 5);
    assert_int_equal(c->count[IMAGE_VALID], 2);
    assert_int_equal(c->count[IMAGE_TEST], 2);
    assert_string_equal(c->class_name[0], "ant");
    assert_string_equal(c->class_name[2], "cow");
    for (int i = 0; i < FILES; ++i) {
        uint8_t pixels[PIXELS];
        const int64_t at = next[splits[i]]++;
        make_pixels(i, SIDE, pixels);
        assert_int_equal(c->label[splits[i]][at], labels[i]);
        assert_memory_equal(c->pixels[splits[i]][at], pixels, PIXELS);
    }
}

static open_case c;

static inline void make_tar(void)
{
    tar.bytes = 0;
    tar_add(&tar, "train/", '5', NULL, 0);
    for (int k = 0; k < FILES; ++k) {
        const int i = (k * 5 + 3) % FILES;
        char name[100];
        make_file(i, SIDE);
        snprintf(name, sizeof name, "%s%s", i % 3 == 0 ? "./" : i % 3 == 1 ? "/data/../" : "set/", names[i]);
        if (i == 4) {
            tar_add(&tar, "././@LongLink", 'L', name, strlen(name) + 1);
            tar_add(&tar, "cut", '0', file.data, file.bytes);
        } else if (i == 5) {
            char words[128];
            const int length = snprintf(words, sizeof words, "%d path=%s\n", (int)strlen(name) + 9, name);
            assert_int_equal(length, strlen(name) + 9);
            tar_add(&tar, "PaxHeaders/5", 'x', words, (size_t)length);
            tar_add(&tar, "cut", '0', file.data, file.bytes);
        } else {
            tar_add(&tar, name, '0', file.data, file.bytes);
        }
    }
    tar_add(&tar, "train/ant/readme.txt", '0', "no image", 8);
    tar_end(&tar);
}

static inline void check_train(int64_t at, int32_t label, int image)
{
    uint8_t pixels[PIXELS];
    make_pixels(image, SIDE, pixels);
    assert_int_equal(c.label[IMAGE_TRAIN][at], label);
    assert_memory_equal(c.pixels[IMAGE_TRAIN][at], pixels, PIXELS);
}

static inline void put_image(void **state, const char *folder, const char *name, int image)
{
    char path[128];
    ASSERT_OK(folder_make(in_folder(state, folder)));
    make_file(image, SIDE);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    put_file(in_folder(state, path), file.data, file.bytes);
}
