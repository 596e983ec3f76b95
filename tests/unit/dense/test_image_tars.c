/* Images in tars: the set that folders have, over however many ranks; what is damaged is refused or told. */
#include "base/log.h"
#include "support/image_case.h"

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

static void test_tars(void **state)
{
    const image_options piecewise = {.threads = 2, .memory = 1};
    static char files[MOST][IMAGE_NAME_BYTES];
    make_tar();
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, ranks, &c));
        check_whole(&c);
        ASSERT_OK(open_set(in_folder(state, "it.tar"), &piecewise, ranks, &c));
        check_whole(&c);
        memcpy(files, c.file, sizeof files);
        ASSERT_OK(open_set(in_folder(state, "it.tar.gz"), &plain, ranks, &c));
        check_whole(&c);
        assert_true(files[0][0] != '\0');
        assert_memory_equal(files, c.file, sizeof files); /* though all is decoded, and the archive closed */
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

/* Headers of a plain archive stand within what was read with the last one, across its end, or far behind. */
static void test_tars_whose_headers_stand_apart(void **state)
{
    static const size_t gap[] = {0, 1500, 3000, 62000, 65024, 66000, 140000, 100, 2048};
    enum { GAPS = sizeof gap / sizeof gap[0] };
    static const uint8_t between[140000];
    char name[64];
    tar.bytes = 0;
    for (int i = 0; i < GAPS; ++i) {
        tar_add(&tar, "notes.txt", '0', between, gap[i]);
        make_file(i, SIDE);
        snprintf(name, sizeof name, "train/ant/%d.png", i);
        tar_add(&tar, name, '0', file.data, file.bytes);
    }
    tar_end(&tar);
    put_file(in_folder(state, "it.tar"), tar.data, tar.bytes);
    ASSERT_OK(open_set(in_folder(state, "it.tar"), &plain, 1, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], GAPS);
    for (int i = 0; i < GAPS; ++i) {
        check_train(i, 0, i);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tars, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_without_zeros_at_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_files_behind_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_more_behind_the_end, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_whose_packing_is_damaged, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_members_are_looked_at_before_they_are_held, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_without_a_magic_word, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_with_links_and_names_twice, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_of_many_names, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_whose_headers_stand_apart, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_tars_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_tars_of_classes_alone, folder_setup, folder_teardown),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
