/* Ends of paths, and what is a folder, against files and links that stand there. */
#include <unistd.h>

#include "io/text/path_name.h"
#include "support/folder.h"

static void test_ends(void **state)
{
    (void)state;
    assert_true(path_ends("a/b.npz", ".npz"));
    assert_true(path_ends(".npz", ".npz"));
    assert_true(path_ends("b.npz", ""));
    assert_false(path_ends("npz", ".npz"));
    assert_false(path_ends("b.NPZ", ".npz"));
    assert_false(path_ends("b.npz.gz", ".npz"));
}

static void test_folders(void **state)
{
    put_file(in_folder(state, "file"), "x", 1);
    assert_true(path_is_folder(*state));
    assert_false(path_is_folder(in_folder(state, "file")));
    assert_false(path_is_folder(in_folder(state, "nothing")));
    assert_int_equal(symlink(".", in_folder(state, "link")), 0);
    assert_true(path_is_folder(in_folder(state, "link")));
    assert_int_equal(symlink("nothing", in_folder(state, "dangling")), 0);
    assert_false(path_is_folder(in_folder(state, "dangling")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test_setup_teardown(test_folders, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
