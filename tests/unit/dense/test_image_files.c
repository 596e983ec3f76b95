/*
 * Images in folders and tars: the same set of them whichever way they come, over however many ranks; malformed ones
 * left out by name; public ones (WEFT_SHARED/data; skipped where they are absent) against what is known of them.
 */
#include <math.h>

#include "base/log.h"
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
    char file[MOST][IMAGE_NAME_BYTES]; /* of images to test, where they are loose */
    uint8_t pixels[TRAIN_SPLITS][MOST][PIXELS];
    int32_t label[TRAIN_SPLITS][MOST];
} open_case;

/* In the order that a set has them; names are given in another. */
static const char *const names[FILES] = {"train/ant/a.png", "train/ant/b.png", "train/bee/a.PNG",
                                         "train/bee/c.png", "train/cow/z.png", "val/ant/x.png",
                                         "val/cow/y.png",   "test/bee/1.png",  "test/bee/2.png"};
static const int32_t labels[FILES] = {0, 0, 1, 1, 2, 0, 2, 1, 1};
static const int splits[FILES] = {0, 0, 0, 0, 0, 1, 1, 2, 2};

static void make_pixels(int image, int side, uint8_t *pixels)
{
    for (int i = 0; i < side * side * 3; ++i) {
        pixels[i] = (uint8_t)(image * 41 + i * 3 + i / 7);
    }
}

static void make_file(int image, int side)
{
    static uint8_t pixels[64 * 64 * 3];
    make_pixels(image, side, pixels);
    make_png(&file, pixels, side, side, 3, 0);
}

static void put_folders(void **state)
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

static weft_status read_all(const image_set *set, open_case *c)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        for (int64_t i = 0; i < set->count[s] && i < MOST; ++i) {
            WEFT_TRY(image_set_read(set, s, i, c->pixels[s][i], &c->label[s][i]));
        }
    }
    return WEFT_OK;
}

static weft_status open_rank(weft_comm *comm, void *argument)
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
        for (int64_t i = 0; i < set->count[IMAGE_TEST] && i < MOST && set->classes == 0; ++i) {
            snprintf(mine->file[i], IMAGE_NAME_BYTES, "%s", image_set_file(set, IMAGE_TEST, i));
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

static weft_status open_set(const char *path, const image_options *options, int ranks, open_case *c)
{
    *c = (open_case){.path = path, .options = options};
    return comm_thread_run(ranks, open_rank, c);
}

static void check_whole(const open_case *c)
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

static void test_folders(void **state)
{
    const image_options piecewise = {.threads = 2, .memory = 1};
    put_folders(state);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        check_whole(&c);
        ASSERT_OK(open_set(*state, &piecewise, ranks, &c));
        check_whole(&c);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void make_tar(void)
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

static void test_tars(void **state)
{
    const image_options piecewise = {.threads = 2, .memory = 1};
    make_tar();
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, ranks, &c));
        check_whole(&c);
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &piecewise, ranks, &c));
        check_whole(&c);
        ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, ranks, &c));
        check_whole(&c);
    }
    ASSERT_STATUS(open_set(in_folder(state, "it.tar.gz"), &piecewise, 2, &c), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("--cache-memory");
}

/* What ends where an entry does has all entries before; a name whose file does not come is an end in the middle. */
static void test_tars_without_zeros_at_the_end(void **state)
{
    make_tar();
    for (int zeros = 0; zeros <= 512; zeros += 512) {
        put_file(in_folder(state, "it.tar"), tar.data, tar.bytes - 1024 + (size_t)zeros);
        put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes - 1024 + (size_t)zeros);
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 2, &c));
        check_whole(&c);
        ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, 1, &c));
        check_whole(&c);
    }
    tar.bytes -= 1024;
    tar_add(&tar, "././@LongLink", 'L', names[0], strlen(names[0]) + 1);
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    ASSERT_STATUS(open_set(in_folder(state, "it.tar"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("cut off");
    put_file(in_folder(state, "it.tar"), tar.data, 0);
    const image_options forced = {.threads = 1, .format = IMAGE_FORMAT_TAR};
    ASSERT_STATUS(open_set(in_folder(state, "it.tar"), &forced, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("cut off");
}

static void check_train(int64_t at, int32_t label, int image)
{
    uint8_t pixels[PIXELS];
    make_pixels(image, SIDE, pixels);
    assert_int_equal(c.label[IMAGE_TRAIN][at], label);
    assert_memory_equal(c.pixels[IMAGE_TRAIN][at], pixels, PIXELS);
}

static void put_tars(void **state)
{
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
}

static void refused(void **state, const char *words)
{
    static const char *const archives[] = {"it.tar", "it.tar.gz"};
    for (int i = 0; i < 2; ++i) {
        ASSERT_STATUS(open_set(in_folder(state, archives[i]), &plain, 1, &c), WEFT_ERR_DATA);
        ASSERT_MESSAGE(words);
        ASSERT_MESSAGE(archives[i]);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* A header of zeros, and a second archive behind the first: files stand behind what looks like the end. */
static void test_tars_with_files_behind_the_end(void **state)
{
    make_tar();
    for (size_t at = 512; at < tar.bytes; at += 512) { /* any header in the middle, but for the last one */
        if (memcmp(tar.data + at + 257, "ustar", 5) == 0 && at + 8192 < tar.bytes) {
            uint8_t header[512];
            memcpy(header, tar.data + at, 512);
            memset(tar.data + at, 0, 512);
            put_tars(state);
            refused(state, "files stand behind it");
            memcpy(tar.data + at, header, 512);
        }
    }
    make_file(0, SIDE);
    tar_add(&tar, "train/ant/more.png", '0', file.data, file.bytes); /* behind the zeros */
    tar_end(&tar);
    put_tars(state);
    refused(state, "files stand behind it");
}

/* What stands behind the end without being a file is told, and the archive is read; so is one that is filled up. */
static void test_tars_with_more_behind_the_end(void **state)
{
    for (int junk = 0; junk < 2; ++junk) {
        make_tar();
        memset(tar.data + tar.bytes, junk ? 'x' : 0, 9000);
        tar.bytes += 9000;
        put_tars(state);
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 2, &c));
        check_whole(&c);
        ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, 2, &c));
        check_whole(&c);
    }
}

/* The checksum of a packed archive stands behind its zeros: each byte of the trailer, and its loss. */
static void test_tars_whose_packing_is_damaged(void **state)
{
    size_t bytes;
    make_tar();
    put_tars(state);
    uint8_t *whole = get_file(in_folder(state, "it.tar.gz"), &bytes);
    put_file(in_folder(state, "it.tar"), "no tar", 6);
    for (size_t i = 1; i <= 8; ++i) {
        whole[bytes - i] ^= 0x10;
        put_file(in_folder(state, "it.tar.gz"), whole, bytes);
        ASSERT_STATUS(open_set(in_folder(state, "it.tar.gz"), &plain, 1, &c), WEFT_ERR_DATA);
        ASSERT_MESSAGE("it.tar.gz: damaged gzip data");
        whole[bytes - i] ^= 0x10;
        put_file(in_folder(state, "it.tar.gz"), whole, bytes - i);
        ASSERT_STATUS(open_set(in_folder(state, "it.tar.gz"), &plain, 1, &c), WEFT_ERR_DATA);
        ASSERT_MESSAGE("it.tar.gz: the compressed data are cut off");
    }
    free(whole);
}

/* A member that is no image by its first bytes is not held, however large it is; it is left out as a file of a folder
 * is. */
static void test_members_are_looked_at_before_they_are_held(void **state)
{
    enum { LARGE = 40 << 20 };
    const image_options strict = {.threads = 1, .strict = true};
    const size_t size = sizeof tar.data;
    uint8_t *zeros = calloc(1, LARGE);
    assert_non_null(zeros);
    make_tar();
    tar.bytes -= 1024;
    tar_add(&tar, "train/ant/bomb.jpg", '0', "", 0);
    uint8_t *header = tar.data + tar.bytes - 512;
    snprintf((char *)header + 124, 12, "%011o", (unsigned)LARGE);
    tar_seal(header);
    gzFile packed = gzopen(in_folder(state, "it.tar.gz"), "wb");
    assert_non_null(packed);
    assert_int_equal(gzwrite(packed, tar.data, (unsigned)tar.bytes), (int)tar.bytes);
    assert_int_equal(gzwrite(packed, zeros, LARGE), LARGE);
    assert_int_equal(gzwrite(packed, zeros, 1024), 1024);
    assert_int_equal(gzclose(packed), Z_OK);
    free(zeros);
    ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, 1, &c));
    assert_int_equal(c.malformed, 1);
    c.malformed = 0;
    check_whole(&c);
    assert_true(weft_mem_usage_of(WEFT_MEM_IMAGE).peak_bytes < size);
    ASSERT_STATUS(open_set(in_folder(state, "it.tar.gz"), &strict, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it.tar.gz: train/ant/bomb.jpg: neither a JPEG nor a PNG file");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* Archives of 1979: no magic word, no prefix; folders are names with a slash at their end. */
static void test_tars_without_a_magic_word(void **state)
{
    make_tar();
    tar.bytes = 0;
    for (int i = -1; i < FILES; ++i) {
        const size_t at = tar.bytes;
        make_file(i < 0 ? 0 : i, SIDE);
        tar_add(&tar, i < 0 ? "train/" : names[i], '0', file.data, i < 0 ? 0 : file.bytes);
        uint8_t *header = tar.data + at;
        memset(header + 257, 0, 255);
        header[156] = '\0';
        tar_seal(header);
    }
    tar_end(&tar);
    put_tars(state);
    ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 2, &c));
    check_whole(&c);
    ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, 1, &c));
    check_whole(&c);
}

/* Hard links are the file before them, by whatever way their target is named; of a name twice the last counts. */
static void test_tars_with_links_and_names_twice(void **state)
{
    tar.bytes = 0;
    make_file(1, SIDE);
    tar_add(&tar, "./train/ant/a.png", '0', file.data, file.bytes);
    tar_add(&tar, "train/ant/b.png", '0', file.data, file.bytes);
    tar_add_entry(&tar, "train/bee/link.png", '1', "train/ant/a.png", NULL, 0);
    tar_add_entry(&tar, "train/bee/next.png", '1', "train/bee/link.png", NULL, 0);
    make_file(2, SIDE);
    tar_add(&tar, "train/ant/a.png", '0', file.data, file.bytes); /* the links keep what was there before */
    tar_add(&tar, "././@LongLink", 'K', "./train/ant/a.png", 18);
    tar_add_entry(&tar, "train/bee/last.png", '1', "cut", NULL, 0);
    tar_add(&tar, "PaxHeaders/5", 'x', "28 linkpath=train/ant/a.png\n", 28);
    tar_add_entry(&tar, "train/bee/pax.png", '1', "cut", NULL, 0);
    tar_add_entry(&tar, "train/bee/nowhere.png", '1', "train/ant/z.png", NULL, 0);
    tar_add_entry(&tar, "train/bee/symbolic.png", '2', "../ant/a.png", NULL, 0);
    tar_add(&tar, "train/bee/deeper/a.png", '0', file.data, file.bytes);
    tar_add(&tar, "train/bee/../b.png", '0', file.data, file.bytes);
    tar_add(&tar, "train/../b.png", '0', file.data, file.bytes);
    tar_add(&tar, "train/bee/a.webp", '0', file.data, file.bytes);
    tar_end(&tar);
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
    for (int packed = 0; packed < 2; ++packed) {
        ASSERT_OK(open_set(in_folder(state, packed ? "it.tar.gz" : "it.tar"), &plain, 2, &c));
        assert_int_equal(c.classes, 2);
        assert_int_equal(c.count[IMAGE_TRAIN], 7);
        check_train(0, 0, 2); /* a */
        check_train(1, 0, 1); /* b */
        check_train(2, 1, 2); /* deeper/a */
        check_train(3, 1, 2); /* last */
        check_train(4, 1, 1); /* link */
        check_train(5, 1, 1); /* next */
        check_train(6, 1, 2); /* pax */
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* More names than the table of them begins with, each twice. */
static void test_tars_of_many_names(void **state)
{
    enum { MANY = 300 };
    char name[64];
    tar.bytes = 0;
    for (int twice = 0; twice < 2; ++twice) {
        make_file(twice, 4);
        for (int i = 0; i < MANY; ++i) {
            snprintf(name, sizeof name, "train/ant/%d.png", i);
            tar_add(&tar, name, '0', file.data, file.bytes);
        }
    }
    tar_end(&tar);
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 1, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], MANY);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_damaged_tars_are_refused(void **state)
{
    make_tar();
    const size_t whole = tar.bytes;
    for (int packed = 0; packed < 2; ++packed) {
        const char *path = in_folder(state, packed ? "it.tar.gz" : "it.tar");
        for (size_t left = 513; left < whole - 1024; left += 700) {
            if (packed) {
                put_gzip(path, tar.data, left);
            } else {
                put_file(path, tar.data, left);
            }
            ASSERT_STATUS(open_set(path, &plain, 1, &c), WEFT_ERR_DATA);
            ASSERT_MESSAGE("cut off");
        }
    }
    put_file(in_folder(state, "it.tar"), tar.data, 512 + 512); /* a header without its file */
    ASSERT_STATUS(open_set(in_folder(state, "it.tar"), &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("cut off");
    tar.data[512 + 3] ^= 1; /* in the name of the second entry */
    put_file(in_folder(state, "it.tar"), tar.data, whole);
    ASSERT_STATUS(open_set(in_folder(state, "it.tar"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no header of a file at byte 512");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_malformed_images_are_left_out(void **state)
{
    const image_options strict = {.threads = 2, .strict = true};
    uint8_t pixels[PIXELS];
    put_folders(state);
    put_file(in_folder(state, "train/ant/a.png"), "GIF89a", 6); /* seen at once */
    make_file(6, SIDE);
    file.data[60] ^= 0x10; /* seen when it is decoded */
    put_file(in_folder(state, "val/cow/y.png"), file.data, file.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        assert_int_equal(c.malformed, 1);
        assert_int_equal(c.count[IMAGE_TRAIN], 4);
        assert_int_equal(c.count[IMAGE_VALID], 2);
        assert_int_equal(c.count[IMAGE_TEST], 2);
        make_pixels(1, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_TRAIN][0], pixels, PIXELS);
        make_pixels(5, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_VALID][0], pixels, PIXELS);
        make_pixels(8, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_TEST][1], pixels, PIXELS);
        for (int i = 0; i < PIXELS; ++i) {
            assert_int_equal(c.pixels[IMAGE_VALID][1][i], 128);
        }
        ASSERT_STATUS(open_set(*state, &strict, ranks, &c), WEFT_ERR_DATA);
        ASSERT_MESSAGE("train/ant/a.png: neither a JPEG nor a PNG file");
    }
    make_file(0, SIDE);
    put_file(in_folder(state, "train/ant/a.png"), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &strict, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("val/cow/y.png: malformed PNG file");
    const image_options piecewise = {.threads = 2, .memory = 1}; /* without a cache it is the same */
    ASSERT_OK(open_set(*state, &piecewise, 2, &c));
    assert_int_equal(c.count[IMAGE_VALID], 2);
    for (int i = 0; i < PIXELS; ++i) {
        assert_int_equal(c.pixels[IMAGE_VALID][1][i], 128);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_nothing_left_is_an_error(void **state)
{
    put_folders(state);
    for (int i = 0; i < 5; ++i) {
        put_file(in_folder(state, names[i]), "GIF89a", 6);
    }
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image is left");
}

static void test_sizes_agree_or_are_chosen(void **state)
{
    const image_options chosen = {.threads = 1, .height = SIDE, .width = SIDE};
    put_folders(state);
    make_file(3, 24);
    put_file(in_folder(state, names[3]), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("train/bee/c.png: 24 x 24): choose one, e.g. --image-size");
    ASSERT_OK(open_set(*state, &chosen, 2, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 5);
}

static void test_classes_must_be_trained(void **state)
{
    put_folders(state);
    ASSERT_OK(folder_make(in_folder(state, "test/dog")));
    make_file(1, SIDE);
    put_file(in_folder(state, "test/dog/1.png"), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("test/dog/1.png is of a class without training images: there is no train/dog");
}

static void test_empty_folders_are_refused(void **state)
{
    ASSERT_OK(folder_make(in_folder(state, "train")));
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image: expected train/CLASS/NAME.jpg");
}

/* Images without classes: those that can be decoded, all of them to test, by their names. */
static void test_loose_images(void **state)
{
    static const char *const loose[] = {"a.jpeg.png", "b.PNG", "c.png"};
    const image_options forced = {.threads = 1, .format = IMAGE_FORMAT_LOOSE, .height = SIDE, .width = SIDE};
    uint8_t pixels[PIXELS];
    for (int i = 0; i < 3; ++i) {
        make_file(i, SIDE);
        put_file(in_folder(state, loose[i]), file.data, file.bytes);
    }
    file.data[60] ^= 0x10;
    put_file(in_folder(state, "damaged.png"), file.data, file.bytes);
    put_file(in_folder(state, "other.jpg"), "GIF89a", 6);
    put_file(in_folder(state, "readme.txt"), "no image", 8);
    make_file(1, SIDE);
    put_file(in_folder(state, "nameless"), file.data, file.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        assert_int_equal(c.classes, 0);
        assert_int_equal(c.malformed, 2);
        assert_int_equal(c.count[IMAGE_TRAIN] + c.count[IMAGE_VALID], 0);
        assert_int_equal(c.count[IMAGE_TEST], 3);
        for (int i = 0; i < 3; ++i) {
            make_pixels(i, SIDE, pixels);
            assert_memory_equal(c.pixels[IMAGE_TEST][i], pixels, PIXELS);
            assert_string_equal(c.file[i], loose[i]);
        }
    }
    ASSERT_OK(open_set(in_folder(state, "b.PNG"), &plain, 2, &c));
    assert_int_equal(c.count[IMAGE_TEST], 1);
    assert_string_equal(c.file[0], "b.PNG");
    make_pixels(1, SIDE, pixels);
    assert_memory_equal(c.pixels[IMAGE_TEST][0], pixels, PIXELS);
    ASSERT_STATUS(open_set(in_folder(state, "damaged.png"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no image is left of 1 that are malformed");
    ASSERT_STATUS(open_set(in_folder(state, "nameless"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no data set of images");
    ASSERT_OK(open_set(in_folder(state, "nameless"), &forced, 2, &c)); /* said to be one */
    assert_memory_equal(c.pixels[IMAGE_TEST][0], pixels, PIXELS);
    ASSERT_OK(folder_make(in_folder(state, "empty")));
    ASSERT_STATUS(open_set(in_folder(state, "empty"), &forced, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no image: expected files .jpg");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* ---- classes alone, and sets for a trained model --------------------------------------------------------------- */

static void put_image(void **state, const char *folder, const char *name, int image)
{
    char path[128];
    ASSERT_OK(folder_make(in_folder(state, folder)));
    make_file(image, SIDE);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    put_file(in_folder(state, path), file.data, file.bytes);
}

static void test_folders_of_classes_alone(void **state)
{
    put_image(state, "bee/images", "1.png", 1);
    put_image(state, "ant", "0.png", 0);
    put_image(state, "ant", "2.png", 2);
    ASSERT_OK(open_set(*state, &plain, 2, &c));
    assert_int_equal(c.classes, 2);
    assert_int_equal(c.count[IMAGE_TRAIN], 3);
    assert_string_equal(c.class_name[1], "bee");
    check_train(1, 0, 2);
    check_train(2, 1, 1);
    const image_options trained = {.threads = 1, .trained = true};
    ASSERT_OK(open_set(*state, &trained, 1, &c)); /* a trained model is tested on them */
    assert_int_equal(c.count[IMAGE_TRAIN], 0);
    assert_int_equal(c.count[IMAGE_TEST], 3);
    const image_options scored = {.threads = 1, .trained = true, .scores_training = true};
    ASSERT_OK(open_set(*state, &scored, 1, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 3);
}

static void test_tars_of_classes_alone(void **state)
{
    static const char *const roots[] = {"", "./", "set/of/"};
    for (int r = 0; r < 3; ++r) {
        tar.bytes = 0;
        for (int i = 0; i < 4; ++i) {
            char name[64];
            snprintf(name, sizeof name, "%s%s/%d.png", roots[r], i < 2 ? "ant" : "bee/images", i);
            make_file(i, SIDE);
            tar_add(&tar, name, '0', file.data, file.bytes);
        }
        tar_end(&tar);
        put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 2, &c));
        assert_int_equal(c.classes, 2);
        assert_int_equal(c.count[IMAGE_TRAIN], 4);
        check_train(1, 0, 1);
        check_train(3, 1, 3);
    }
    tar.bytes = 0;
    make_file(0, SIDE);
    tar_add(&tar, "00.png", '0', file.data, file.bytes);
    tar_add(&tar, "00.cls", '0', "1", 1);
    tar_end(&tar);
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    ASSERT_STATUS(open_set(in_folder(state, "it.tar"), &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a WebDataset shard (00.cls beside its image), which is not read");
}

static void test_two_folders_of_one_split(void **state)
{
    put_image(state, "train/ant", "0.png", 0);
    put_image(state, "val/ant", "1.png", 1);
    put_image(state, "Valid/ant", "2.png", 2);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("both mean the split val");
    ASSERT_MESSAGE("Valid/");
}

/* A name of macOS in one split, as others write it in the next. */
static void test_two_spellings_of_a_class(void **state)
{
    put_image(state, "train/caf\xc3\xa9", "0.png", 0);
    put_image(state, "train/tea", "1.png", 1);
    put_image(state, "val/cafe\xcc\x81", "2.png", 2);
    ASSERT_OK(open_set(*state, &plain, 2, &c));
    assert_int_equal(c.classes, 2);
    assert_string_equal(c.class_name[0], "caf\xc3\xa9");
    assert_int_equal(c.label[IMAGE_VALID][0], 0);
}

static void test_no_training_images_for_a_trained_model(void **state)
{
    const image_options trained = {.threads = 1, .trained = true};
    put_image(state, "test/bee", "0.png", 0);
    put_image(state, "test/cow", "1.png", 1);
    ASSERT_STATUS(open_set(*state, &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image");
    ASSERT_OK(open_set(*state, &trained, 2, &c));
    assert_int_equal(c.count[IMAGE_TEST], 2);
    assert_int_equal(c.classes, 2);
    assert_string_equal(c.class_name[0], "bee");
}

static weft_status relabel_rank(weft_comm *comm, void *argument)
{
    static const int32_t class_of[] = {3, -1, 0};
    static char *const called[] = {"w", "x", "y", "z"};
    const image_options trained = {.threads = 1, .trained = true, .scores_training = true};
    image_set *set;
    int64_t rows[3];
    int split;
    int64_t index;
    WEFT_TRY(image_set_open(comm, argument, &trained, &set));
    image_set_count_classes(set, rows);
    assert_int_equal(rows[0], 3);
    assert_int_equal(rows[1], 4);
    assert_int_equal(rows[2], 2);
    assert_int_equal(image_set_evaluated(set), FILES);
    image_set_evaluated_at(set, 0, &split, &index);
    assert_true(split == IMAGE_VALID && index == 0);
    image_set_evaluated_at(set, 3, &split, &index);
    assert_true(split == IMAGE_TEST && index == 1);
    image_set_evaluated_at(set, FILES - 1, &split, &index);
    assert_true(split == IMAGE_TRAIN && index == 4);
    weft_status status = image_set_relabel(set, class_of, 4, called);
    assert_int_equal(set->classes, 4);
    assert_string_equal(set->class_name[3], "z");
    assert_int_equal(image_set_label(set, IMAGE_TRAIN, 0), 3);
    assert_int_equal(image_set_label(set, IMAGE_TEST, 0), -1);
    assert_int_equal(set->labelled[IMAGE_TRAIN], 3);
    assert_int_equal(set->labelled[IMAGE_VALID], 2);
    assert_int_equal(set->labelled[IMAGE_TEST], 0);
    image_set_close(set);
    return status;
}

static void test_classes_become_those_of_a_model(void **state)
{
    put_folders(state);
    ASSERT_OK(comm_thread_run(1, relabel_rank, *state));
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* ---- without memory -------------------------------------------------------------------------------------------- */

static weft_status open_only(weft_comm *comm, void *argument)
{
    const open_case *wanted = argument;
    image_set *set = NULL;
    comm_set_stall_timeout(comm, 20);
    weft_status status = image_set_open(comm, wanted->path, wanted->options, &set);
    image_set_close(set);
    return status;
}

/* Every single allocation fails once, on one of the ranks: the job ends with that on all, and nothing is left. */
static void fail_each(const char *path, int ranks)
{
    c = (open_case){.path = path, .options = &plain};
    uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(comm_thread_run(ranks, open_only, &c));
    const uint64_t all = weft_mem_usage_total().allocations - before;
    for (uint64_t n = 1; n <= all; ++n) {
        weft_alloc_fail_after(n);
        const weft_status status = comm_thread_run(ranks, open_only, &c);
        weft_alloc_fail_after(0);
        if (status != WEFT_OK && status != WEFT_ERR_RESOURCE) {
            fail_msg("%s: allocation %llu of %llu: %s: %s", path, (unsigned long long)n, (unsigned long long)all,
                     weft_status_name(status), weft_error_message());
        }
        if (weft_mem_usage_total().current_bytes != 0) {
            fail_msg("%s: allocation %llu of %llu: memory is left", path, (unsigned long long)n,
                     (unsigned long long)all);
        }
    }
}

static void test_every_allocation_may_fail(void **state)
{
    put_folders(state);
    put_file(in_folder(state, names[6]), "GIF89a", 6);
    make_tar();
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
    for (int ranks = 1; ranks <= 2; ++ranks) {
        fail_each(in_folder(state, "train/ant"), ranks);
        fail_each(*state, ranks);
        fail_each(in_folder(state, "it.tar.gz"), ranks);
        fail_each("synth:images,n=3,size=4,test=2", ranks);
    }
}

/* ---- made images ----------------------------------------------------------------------------------------------- */

static void test_made_images(void **state)
{
    static const char spec[] = "synth:images,n=10,size=12,classes=3,test=4,seed=2";
    const image_options piecewise = {.threads = 2, .memory = 1};
    static open_case again;
    image_set *set;
    weft_comm *comm;
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, spec, &plain, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 10);
    assert_int_equal(set->count[IMAGE_TEST], 4);
    ASSERT_OK(read_all(set, &c));
    image_set_close(set);
    ASSERT_OK(image_set_open(comm, spec, &piecewise, &set));
    ASSERT_OK(read_all(set, &again));
    image_set_close(set);
    assert_memory_equal(c.pixels[IMAGE_TRAIN], again.pixels[IMAGE_TRAIN], 10 * PIXELS);
    assert_memory_equal(c.pixels[IMAGE_TEST], again.pixels[IMAGE_TEST], 4 * PIXELS);
    ASSERT_STATUS(image_set_open(comm, "synth:images,sise=3", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean \"size\"");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n=0", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("whole number from 1");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n=4,size=8,n=5", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("n is given twice");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n", &plain, &set), WEFT_ERR_USAGE);
    comm_destroy(comm);
}

enum { GRATED = 16, GRATED_PIXELS = GRATED * GRATED, GRATED_CLASSES = 8 };

static int nearest_mean(double mean[GRATED_CLASSES][GRATED_PIXELS], const uint8_t *pixels)
{
    double best = 1e30;
    int class = 0;
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        double away = 0;
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            away += (pixels[p] - mean[k][p]) * (pixels[p] - mean[k][p]);
        }
        class = away < best ? k : class;
        best = away < best ? away : best;
    }
    return class;
}

/* Power at the frequency of each class, whatever the phase. */
static int strongest_filter(const uint8_t *pixels)
{
    double most = 0;
    int class = 0;
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        double sum[2] = {0, 0};
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            const int x = p % GRATED;
            const int y = p / GRATED;
            const double at = 6.283185307 * 0.18 * (x * cos(3.141592654 * k / 8) + y * sin(3.141592654 * k / 8));
            sum[0] += (pixels[p] - 128) * cos(at);
            sum[1] += (pixels[p] - 128) * sin(at);
        }
        const double power = sum[0] * sum[0] + sum[1] * sum[1];
        class = power > most ? k : class;
        most = power > most ? power : most;
    }
    return class;
}

/* The means of the classes, which is what a linear model has to go by, tell half: phases near the mean's. Filters tell
 * nearly all. */
static void test_made_images_need_filters(void **state)
{
    static const char spec[] = "synth:images,n=2000,size=16,channels=1,classes=8,test=400,seed=3";
    static double mean[GRATED_CLASSES][GRATED_PIXELS];
    int count[GRATED_CLASSES] = {0};
    int by_mean = 0;
    int by_filter = 0;
    uint8_t pixels[GRATED_PIXELS];
    int32_t label;
    image_set *set;
    weft_comm *comm;
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, spec, &plain, &set));
    for (int64_t i = 0; i < set->count[IMAGE_TRAIN]; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        count[label] += 1;
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            mean[label][p] += pixels[p];
        }
    }
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        assert_in_range(count[k], 180, 320);
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            mean[k][p] /= count[k];
        }
    }
    for (int64_t i = 0; i < 400; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TEST, i, pixels, &label));
        by_mean += nearest_mean(mean, pixels) == label;
        by_filter += strongest_filter(pixels) == label;
    }
    assert_in_range(by_mean, 0, 400 * 6 / 10);
    assert_in_range(by_filter, 400 * 9 / 10, 400);
    image_set_close(set);
    comm_destroy(comm);
}

/* ---- public data ----------------------------------------------------------------------------------------------- */

static const char *public_path(const char *name)
{
    static char path[2][FILE_PATH_MAX];
    static int next;
    const char *shared = getenv("WEFT_SHARED");
    char *to = path[next++ % 2];
    ASSERT_OK(file_path(to, "%s/data/%s", shared != NULL ? shared : "/nowhere", name));
    if (!file_exists(to)) {
        skip();
    }
    return to;
}

/* The k-th image of a class is the same in both forms; re-encoding moved values by 5.8 on average (data's own
 * notes). */
static void test_cifar_as_jpeg_is_near_the_binary(void **state)
{
    image_set *jpeg;
    image_set *binary;
    weft_comm *comm;
    static uint8_t a[3072], b[3072];
    int64_t of_class[10] = {0};
    double away = 0;
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, public_path("cifar10/cifar10-images.tar.xz"), &plain, &jpeg));
    ASSERT_OK(image_set_open(comm, public_path("cifar10"), &plain, &binary));
    assert_int_equal(jpeg->count[IMAGE_TRAIN], 50000);
    assert_int_equal(jpeg->count[IMAGE_TEST], 10000);
    assert_int_equal(jpeg->malformed, 0);
    assert_int_equal(jpeg->height, 32);
    for (int k = 0; k < 10; ++k) {
        assert_string_equal(jpeg->class_name[k], binary->class_name[k]);
    }
    for (int64_t i = 0; i < 4000; ++i) {
        int32_t label;
        int32_t other;
        ASSERT_OK(image_set_read(binary, IMAGE_TRAIN, i, a, &label));
        ASSERT_OK(image_set_read(jpeg, IMAGE_TRAIN, label * 5000 + of_class[label]++, b, &other));
        assert_int_equal(label, other);
        for (int p = 0; p < 3072; ++p) {
            away += abs(a[p] - b[p]);
        }
    }
    ASSERT_NEAR(away / 4000 / 3072, 5.8, 0.1);
    image_set_close(jpeg);
    image_set_close(binary);
    comm_destroy(comm);
}

static void test_hymenoptera(void **state)
{
    const image_options sized = {.threads = 2, .height = 64, .width = 64};
    (void)state;
    const char *path = public_path("hymenoptera_data");
    ASSERT_STATUS(open_set(path, &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("--image-size");
    ASSERT_OK(open_set(path, &sized, 2, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 112);
    assert_int_equal(c.count[IMAGE_VALID], 40);
    assert_int_equal(c.malformed, 0);
    assert_string_equal(c.class_name[0], "ants");
    assert_string_equal(c.class_name[1], "bees");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folders, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_without_zeros_at_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_files_behind_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_more_behind_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_whose_packing_is_damaged, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_members_are_looked_at_before_they_are_held, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_without_a_magic_word, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_links_and_names_twice, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_of_many_names, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_tars_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_malformed_images_are_left_out, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_left_is_an_error, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_folders_of_classes_alone, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_of_classes_alone, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_folders_of_one_split, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_spellings_of_a_class, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_training_images_for_a_trained_model, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_classes_become_those_of_a_model, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_sizes_agree_or_are_chosen, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_classes_must_be_trained, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_empty_folders_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_loose_images, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, folder_setup, folder_teardown),
        cmocka_unit_test(test_made_images),
        cmocka_unit_test(test_made_images_need_filters),
        cmocka_unit_test(test_cifar_as_jpeg_is_near_the_binary),
        cmocka_unit_test(test_hymenoptera),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
