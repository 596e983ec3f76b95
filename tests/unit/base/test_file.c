/* Files and folders: whole or absent, links not followed, full disks seen. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count - 2;
}

static void test_writer_shows_nothing_before_commit(void **state)
{
    const char *path = in_folder(state, "a.bin");
    file_writer writer;
    ASSERT_OK(file_writer_open(path, &writer));
    ASSERT_OK(file_write(&writer, "hello", 5));
    assert_false(file_exists(path));
    ASSERT_OK(file_writer_commit(&writer));
    file_writer_discard(&writer);
    size_t bytes;
    uint8_t *got = get_file(path, &bytes);
    assert_int_equal(bytes, 5);
    assert_memory_equal(got, "hello", 5);
    free(got);
    assert_int_equal(count_entries(*state), 1);
}

static void test_writer_discard_keeps_the_old_file(void **state)
{
    const char *path = in_folder(state, "a.bin");
    put_file(path, "old", 3);
    file_writer writer;
    ASSERT_OK(file_writer_open(path, &writer));
    ASSERT_OK(file_write(&writer, "new", 3));
    file_writer_discard(&writer);
    size_t bytes;
    uint8_t *got = get_file(path, &bytes);
    assert_memory_equal(got, "old", 3);
    free(got);
    assert_int_equal(count_entries(*state), 1);
}

static void test_writer_replaces_a_link_without_following_it(void **state)
{
    put_file(in_folder(state, "victim"), "keep", 4);
    assert_int_equal(symlink(in_folder(state, "victim"), in_folder(state, "link")), 0);
    file_writer writer;
    ASSERT_OK(file_writer_open(in_folder(state, "link"), &writer));
    ASSERT_OK(file_write(&writer, "xx", 2));
    ASSERT_OK(file_writer_commit(&writer));
    size_t bytes;
    uint8_t *got = get_file(in_folder(state, "victim"), &bytes);
    assert_memory_equal(got, "keep", 4);
    free(got);
}

static void test_writer_obeys_the_umask(void **state)
{
    mode_t old = umask(027);
    file_writer writer;
    ASSERT_OK(file_writer_open(in_folder(state, "a"), &writer));
    ASSERT_OK(file_writer_commit(&writer));
    umask(old);
    struct stat facts;
    assert_int_equal(stat(in_folder(state, "a"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
}

static void test_writer_names_what_stands_in_the_way(void **state)
{
    file_writer writer;
    ASSERT_STATUS(file_writer_open(in_folder(state, "no/such/a.bin"), &writer), WEFT_ERR_IO);
    ASSERT_MESSAGE("mkdir -p ");
    ASSERT_MESSAGE("no/such/a.bin");
    ASSERT_MESSAGE("mkdir -p");
    ASSERT_STATUS(file_writer_open(*state, &writer), WEFT_ERR_IO);
    ASSERT_MESSAGE("is a folder");
}

/* Somebody's cleaning takes a temporary away: no folder is missing, and none is to be made. */
static void test_a_temporary_that_vanished(void **state)
{
    file_writer writer;
    char path[FILE_PATH_MAX], temporary[FILE_PATH_MAX];
    ASSERT_OK(file_writer_open(in_folder(state, "a.bin"), &writer));
    assert_int_equal(unlink(writer.temporary), 0);
    ASSERT_STATUS(file_writer_commit(&writer), WEFT_ERR_IO);
    ASSERT_MESSAGE("its temporary file is gone");
    assert_null(strstr(weft_error_message(), "mkdir"));
    ASSERT_OK(folder_begin(in_folder(state, "goal"), false, temporary));
    ASSERT_OK(folder_remove(temporary));
    ASSERT_OK(file_path(path, "%s/inner.npy", temporary));
    ASSERT_STATUS(file_writer_open(path, &writer), WEFT_ERR_IO);
    ASSERT_MESSAGE("the temporary folder");
    ASSERT_MESSAGE("is gone");
    assert_null(strstr(weft_error_message(), "mkdir"));
    ASSERT_STATUS(folder_commit(temporary, in_folder(state, "goal"), false), WEFT_ERR_IO);
    ASSERT_MESSAGE("is gone");
    assert_null(strstr(weft_error_message(), "mkdir"));
}

/* /dev/full refuses every byte; only the flush hears of it. */
static void test_full_disk_is_seen_at_commit(void **state)
{
    file_writer writer;
    const char *path = in_folder(state, "a.bin");
    ASSERT_OK(file_writer_open(path, &writer));
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    fclose(writer.stream);
    writer.stream = full;
    ASSERT_OK(file_write(&writer, "small", 5));
    ASSERT_STATUS(file_writer_commit(&writer), WEFT_ERR_IO);
    ASSERT_MESSAGE("a.bin");
    ASSERT_MESSAGE("No space left");
    assert_int_equal(count_entries(*state), 0);
}

static void test_map_refuses_what_is_no_file(void **state)
{
    file_map map;
    ASSERT_STATUS(file_map_open(in_folder(state, "absent"), &map), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("absent");
    ASSERT_STATUS(file_map_open(*state, &map), WEFT_ERR_NOINPUT);
    assert_int_equal(mkfifo(in_folder(state, "pipe"), 0600), 0);
    ASSERT_STATUS(file_map_open(in_folder(state, "pipe"), &map), WEFT_ERR_NOINPUT);
    ASSERT_MESSAGE("not a regular file");
    put_file(in_folder(state, "empty"), "", 0);
    ASSERT_OK(file_map_open(in_folder(state, "empty"), &map));
    assert_null(map.data);
    assert_int_equal(map.size, 0);
    file_map_close(&map);
}

/* A handler of SIGBUS finds the file by the address; a name that a terminal would obey is escaped. */
static void test_maps_have_names(void **state)
{
    file_map map[2];
    put_file(in_folder(state, "a\033b"), "0123456789", 10);
    put_file(in_folder(state, "second"), "0123456789", 10);
    ASSERT_OK(file_map_open(in_folder(state, "a\033b"), &map[0]));
    ASSERT_OK(file_map_open(in_folder(state, "second"), &map[1]));
    assert_non_null(strstr(file_map_name(map[0].data), "a\\x1bb"));
    assert_non_null(strstr(file_map_name(map[0].data + 9), "a\\x1bb"));
    assert_non_null(strstr(file_map_name(map[1].data + 3), "second"));
    assert_null(file_map_name(map[0].data + 10));
    assert_null(file_map_name(map));
    const uint8_t *address = map[0].data;
    file_map_close(&map[0]);
    assert_null(file_map_name(address));
    file_map_close(&map[1]);
}

/* Beyond the table maps have no name, and slots are used again. */
static void test_many_maps(void **state)
{
    enum { MANY = 600 };
    static file_map map[MANY];
    put_file(in_folder(state, "it"), "0123456789", 10);
    for (int round = 0; round < 2; ++round) {
        int named = 0;
        for (int i = 0; i < MANY; ++i) {
            ASSERT_OK(file_map_open(in_folder(state, "it"), &map[i]));
            named += file_map_name(map[i].data) != NULL;
        }
        assert_in_range(named, 256, MANY - 1);
        for (int i = 0; i < MANY; ++i) {
            file_map_close(&map[i]);
        }
    }
}

static void test_a_map_that_was_cut(void **state)
{
    file_map map;
    const char *path = in_folder(state, "it");
    put_file(path, "0123456789", 10);
    ASSERT_OK(file_map_open(path, &map));
    ASSERT_OK(file_map_check(path, &map));
    put_file(in_folder(state, "other"), "0", 1);
    assert_int_equal(rename(in_folder(state, "other"), path),
                     0); /* another file of that name: the mapped one is whole */
    ASSERT_OK(file_map_check(path, &map));
    file_map_close(&map);
    put_file(path, "0123456789", 10);
    ASSERT_OK(file_map_open(path, &map));
    assert_int_equal(truncate(path, 9), 0);
    ASSERT_STATUS(file_map_check(path, &map), WEFT_ERR_IO);
    ASSERT_MESSAGE("it: was cut short while it was in use: 9 of 10 bytes are left");
    file_map_close(&map);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* readdir() of this program, which stands before the C library's: it fails once `listed` entries were read. */
static int listed = INT_MAX;

struct dirent *readdir(DIR *folder)
{
    static struct dirent *(*next)(DIR *);
    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    }
    if (listed-- <= 0) {
        errno = EIO;
        return NULL;
    }
    return next(folder);
}

static void test_a_listing_that_fails_is_no_end(void **state)
{
    for (int last = 0; last < 2; ++last) {
        put_file(in_folder(state, last ? "a" : "b"), "", 0);
    }
    for (int fails = 0; fails <= 5; ++fails) {
        weft_status status = WEFT_OK;
        int entries = 0;
        DIR *folder = opendir(*state);
        assert_non_null(folder);
        listed = fails;
        while (folder_next(folder, "that/folder", &status) != NULL) {
            entries += 1;
        }
        listed = INT_MAX;
        closedir(folder);
        assert_int_equal(entries, fails < 4 ? fails : 4); /* . and .. among them */
        assert_int_equal(status, fails <= 4 ? WEFT_ERR_IO : WEFT_OK);
        if (status != WEFT_OK) {
            ASSERT_MESSAGE("that/folder: the folder cannot be listed to its end: Input/output error");
        }
    }
    listed = 3;
    assert_int_not_equal(folder_remove(*state), WEFT_OK);
    listed = INT_MAX;
}

static void test_a_message_names_its_file(void **state)
{
    (void)state;
    assert_int_equal(weft_fail_name(weft_fail(WEFT_ERR_DATA, "is bad"), "d"), WEFT_ERR_DATA);
    assert_string_equal(weft_error_message(), "d: is bad");
    (void)weft_fail_name(WEFT_ERR_DATA, "d");
    assert_string_equal(weft_error_message(), "d: is bad");
    (void)weft_fail(WEFT_ERR_DATA, "rank 0: d/a.png: cut off");
    (void)weft_fail_name(WEFT_ERR_DATA, "d");
    assert_string_equal(weft_error_message(), "rank 0: d/a.png: cut off");
}

static void test_text_is_limited_and_free_of_zero_bytes(void **state)
{
    char *text;
    size_t bytes;
    put_file(in_folder(state, "t"), "line\n", 5);
    ASSERT_OK(file_read_text(in_folder(state, "t"), 5, &text, &bytes));
    assert_string_equal(text, "line\n");
    assert_int_equal(bytes, 5);
    weft_free(text);
    ASSERT_STATUS(file_read_text(in_folder(state, "t"), 4, &text, &bytes), WEFT_ERR_DATA);
    assert_null(text);
    put_file(in_folder(state, "z"), "ab\0cd", 5);
    ASSERT_STATUS(file_read_text(in_folder(state, "z"), 99, &text, &bytes), WEFT_ERR_DATA);
    ASSERT_MESSAGE("offset 2");
}

/* Values of `xxhsum -H2` (xxHash 0.8). */
static void test_hash_is_xxh3_128(void **state)
{
    (void)state;
    char hex[33];
    file_hash("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    file_hash("abc", 3, hex);
    assert_string_equal(hex, "06b05ab6733a618578af5f94892f3950");
}

static void make_sample_folder(const char *path, const char *content)
{
    char name[FILE_PATH_MAX];
    assert_int_equal(mkdir(path, 0777), 0);
    ASSERT_OK(file_path(name, "%s/data", path));
    put_file(name, content, strlen(content));
    ASSERT_OK(file_path(name, "%s/inner", path));
    assert_int_equal(mkdir(name, 0777), 0);
    ASSERT_OK(file_path(name, "%s/inner/more", path));
    put_file(name, "1", 1);
}

static void put_inside(const char *folder, const char *content)
{
    char name[FILE_PATH_MAX];
    ASSERT_OK(file_path(name, "%s/data", folder));
    put_file(name, content, strlen(content));
}

static void expect_inside(const char *folder, const char *content)
{
    char name[FILE_PATH_MAX];
    size_t bytes;
    ASSERT_OK(file_path(name, "%s/data", folder));
    uint8_t *got = get_file(name, &bytes);
    assert_string_equal((char *)got, content);
    free(got);
}

static void test_folder_appears_whole(void **state)
{
    char temporary[FILE_PATH_MAX];
    const char *path = in_folder(state, "store/");
    ASSERT_OK(folder_begin(path, false, temporary));
    put_inside(temporary, "one");
    assert_false(file_exists(in_folder(state, "store")));
    ASSERT_OK(folder_commit(temporary, path, false));
    expect_inside(in_folder(state, "store"), "one");
    assert_int_equal(count_entries(*state), 1);
}

static void test_folder_is_replaced_only_by_force(void **state)
{
    char temporary[FILE_PATH_MAX];
    const char *path = in_folder(state, "store");
    make_sample_folder(path, "old");
    ASSERT_STATUS(folder_begin(path, false, temporary), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--force");
    ASSERT_OK(folder_begin(path, true, temporary));
    put_inside(temporary, "new");
    expect_inside(path, "old");
    ASSERT_OK(folder_commit(temporary, path, true));
    expect_inside(path, "new");
    assert_int_equal(count_entries(*state), 1);
    assert_int_equal(count_entries(path), 1);
}

static void test_folder_does_not_replace_a_file(void **state)
{
    char temporary[FILE_PATH_MAX];
    const char *path = in_folder(state, "store");
    put_file(path, "mine", 4);
    ASSERT_STATUS(folder_begin(path, true, temporary), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("what stands here is none");
    ASSERT_OK(file_check_output(path)); /* a file that is written replaces one */
    size_t bytes;
    uint8_t *got = get_file(path, &bytes);
    assert_string_equal((char *)got, "mine");
    free(got);
    assert_int_equal(count_entries(*state), 1);
}

static void test_folder_that_appears_meanwhile_is_kept(void **state)
{
    char temporary[FILE_PATH_MAX];
    const char *path = in_folder(state, "store");
    ASSERT_OK(folder_begin(path, false, temporary));
    put_inside(temporary, "mine");
    make_sample_folder(path, "theirs");
    ASSERT_STATUS(folder_commit(temporary, path, false), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--force");
    expect_inside(path, "theirs");
    assert_false(file_exists(temporary));
}

/* A child begins a folder and either dies there or waits to be killed; its temporary folder's name comes by a pipe. */
static pid_t begin_in_child(const char *path, bool dies, char temporary[FILE_PATH_MAX])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char name[FILE_PATH_MAX] = "";
        weft_status status = folder_begin(path, false, name);
        bool told = status == WEFT_OK && write(ends[1], name, FILE_PATH_MAX) == FILE_PATH_MAX;
        if (told && !dies) {
            for (;;) {
                pause();
            }
        }
        _exit(told ? 0 : 1);
    }
    assert_int_equal(read(ends[0], temporary, FILE_PATH_MAX), FILE_PATH_MAX);
    close(ends[0]);
    close(ends[1]);
    if (dies) {
        int code;
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(code, 0);
    }
    return child;
}

static void test_leftovers_of_dead_processes_are_removed(void **state)
{
    char dead[FILE_PATH_MAX];
    char alive[FILE_PATH_MAX];
    char other[FILE_PATH_MAX];
    char mine[FILE_PATH_MAX];
    const char *path = in_folder(state, "store");
    pid_t child = begin_in_child(path, false, alive);
    begin_in_child(in_folder(state, "store2"), true, other); /* another goal, with the same beginning */
    begin_in_child(path, true, dead);
    make_sample_folder(in_folder(state, "store.tmp-0badcafe-1999999999-0-0"), "of another host");
    put_file(in_folder(state, "store.tmp-notes"), "mine", 4);
    assert_true(file_exists(dead));
    ASSERT_OK(folder_begin(path, false, mine));
    assert_false(file_exists(dead));
    assert_true(file_exists(alive));
    assert_true(file_exists(other));
    assert_true(file_exists(in_folder(state, "store.tmp-0badcafe-1999999999-0-0")));
    assert_true(file_exists(in_folder(state, "store.tmp-notes")));
    ASSERT_OK(folder_commit(mine, path, false));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    ASSERT_OK(folder_begin(path, true, mine));
    assert_false(file_exists(alive));
    ASSERT_OK(folder_remove(mine));
}

static void test_remove_does_not_follow_links(void **state)
{
    make_sample_folder(in_folder(state, "outside"), "keep");
    make_sample_folder(in_folder(state, "gone"), "x");
    assert_int_equal(symlink(in_folder(state, "outside"), in_folder(state, "gone/inner/link")), 0);
    ASSERT_OK(folder_remove(in_folder(state, "gone")));
    assert_false(file_exists(in_folder(state, "gone")));
    expect_inside(in_folder(state, "outside"), "keep");
    assert_int_equal(symlink(in_folder(state, "outside"), in_folder(state, "alias")), 0);
    assert_int_not_equal(folder_remove(in_folder(state, "alias")), WEFT_OK);
    expect_inside(in_folder(state, "outside"), "keep");
}

static void test_make_creates_parents(void **state)
{
    ASSERT_OK(folder_make(in_folder(state, "a/b//c/")));
    ASSERT_OK(folder_make(in_folder(state, "a/b/c")));
    assert_true(file_exists(in_folder(state, "a/b/c")));
    put_file(in_folder(state, "plain"), "", 0);
    ASSERT_STATUS(folder_make(in_folder(state, "plain/x")), WEFT_ERR_IO);
    ASSERT_MESSAGE("plain");
}

static void test_long_paths_are_refused(void **state)
{
    (void)state;
    char path[FILE_PATH_MAX];
    ASSERT_STATUS(file_path(path, "%05000d", 1), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("5000 bytes");
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_writer_shows_nothing_before_commit),
        FOLDER_TEST(test_writer_discard_keeps_the_old_file),
        FOLDER_TEST(test_writer_replaces_a_link_without_following_it),
        FOLDER_TEST(test_writer_obeys_the_umask),
        FOLDER_TEST(test_writer_names_what_stands_in_the_way),
        FOLDER_TEST(test_full_disk_is_seen_at_commit),
        FOLDER_TEST(test_map_refuses_what_is_no_file),
        FOLDER_TEST(test_maps_have_names),
        FOLDER_TEST(test_many_maps),
        FOLDER_TEST(test_a_map_that_was_cut),
        FOLDER_TEST(test_a_listing_that_fails_is_no_end),
        cmocka_unit_test(test_a_message_names_its_file),
        FOLDER_TEST(test_text_is_limited_and_free_of_zero_bytes),
        cmocka_unit_test(test_hash_is_xxh3_128),
        FOLDER_TEST(test_a_temporary_that_vanished),
        FOLDER_TEST(test_folder_appears_whole),
        FOLDER_TEST(test_folder_is_replaced_only_by_force),
        FOLDER_TEST(test_folder_does_not_replace_a_file),
        FOLDER_TEST(test_folder_that_appears_meanwhile_is_kept),
        FOLDER_TEST(test_leftovers_of_dead_processes_are_removed),
        FOLDER_TEST(test_remove_does_not_follow_links),
        FOLDER_TEST(test_make_creates_parents),
        cmocka_unit_test(test_long_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
