/*
 * What rows share, kept in a file: the same arrays come back; a file that is cut short, changed anywhere, of another
 * matrix, or whose numbers would read outside of the arrays is none.
 * needs: shared sums
 */
#include <stdlib.h>

#include "backend/spmm_graphs.h"
#include "hal/cpu/sparse/share_file.h"
#include "support/folder.h"

typedef struct kept {
    const char *folder;
    char file[FILE_PATH_MAX];
    graph g;
    hal_csr csr;
    hal_shared_rows rows;
} kept;

static const share_search search = {.kernels = &spmm_kernels_base, .signs = true, .threads = 2};

static size_t plus_of(const hal_shared_rows *m)
{
    return (size_t)m->plus_start[m->sums + m->targets];
}

static size_t minus_of(const hal_shared_rows *m)
{
    return (size_t)m->minus_start[m->sums + m->targets];
}

static void find_file(kept *k)
{
    DIR *folder = opendir(k->folder);
    assert_non_null(folder);
    k->file[0] = '\0';
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (e->d_name[0] != '.') {
            assert_true(k->file[0] == '\0');
            ASSERT_OK(file_path(k->file, "%s/%s", k->folder, e->d_name));
        }
    }
    closedir(folder);
    assert_true(k->file[0] != '\0');
}

static void begin(void **state, kept *k)
{
    k->folder = *state;
    random_state = 17;
    k->g = forum_graph("forum", 300, 80);
    k->csr = (hal_csr){.rows = k->g.rows, .cols = k->g.cols, .offset = k->g.offset, .column = k->g.column};
    ASSERT_OK(share_rows_find(&k->csr, &search, &k->rows));
    assert_true(k->rows.sums > 10 && k->rows.levels > 1 && minus_of(&k->rows) > 0);
    share_file_write(k->folder, &k->csr, true, &k->rows);
    find_file(k);
}

static void end(kept *k)
{
    hal_shared_rows_free(&k->rows);
    free_graph(&k->g);
}

static bool is_found(const kept *k, const hal_csr *csr)
{
    hal_shared_rows read;
    bool found = false;
    ASSERT_OK(share_file_read(k->folder, csr, true, &read, &found));
    assert_true(found || (read.plus == NULL && read.level == NULL));
    hal_shared_rows_free(&read);
    return found;
}

static void test_same_arrays(void **state)
{
    kept k;
    hal_shared_rows read;
    bool found = false;
    begin(state, &k);
    const hal_shared_rows *m = &k.rows;
    const size_t rows = (size_t)(m->sums + m->targets);
    ASSERT_OK(share_file_read(k.folder, &k.csr, true, &read, &found));
    assert_true(found);
    assert_true(read.targets == m->targets && read.sources == m->sources && read.sums == m->sums);
    assert_int_equal(read.levels, m->levels);
    assert_memory_equal(read.level, m->level, ((size_t)m->levels + 1) * sizeof *m->level);
    assert_memory_equal(read.plus_start, m->plus_start, (rows + 1) * sizeof *m->plus_start);
    assert_memory_equal(read.minus_start, m->minus_start, (rows + 1) * sizeof *m->minus_start);
    assert_memory_equal(read.plus, m->plus, plus_of(m) * sizeof *m->plus);
    assert_memory_equal(read.minus, m->minus, minus_of(m) * sizeof *m->minus);
    hal_shared_rows_free(&read);
    k.g.column[5] ^= 1; /* another matrix */
    assert_false(is_found(&k, &k.csr));
    end(&k);
}

static void test_damage(void **state)
{
    kept k;
    begin(state, &k);
    FILE *file = fopen(k.file, "r+be");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    for (long at = 0; at < size; at += at < 128 ? 1 : 97) {
        unsigned char byte = 0;
        assert_int_equal(pread(fileno(file), &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fileno(file), &byte, 1, at), 1);
        assert_false(is_found(&k, &k.csr));
        byte ^= 0x10;
        assert_int_equal(pwrite(fileno(file), &byte, 1, at), 1);
    }
    assert_true(is_found(&k, &k.csr));
    assert_int_equal(ftruncate(fileno(file), size - 4), 0);
    assert_false(is_found(&k, &k.csr));
    assert_int_equal(ftruncate(fileno(file), 3), 0);
    assert_false(is_found(&k, &k.csr));
    assert_int_equal(fclose(file), 0);
    end(&k);
}

/* A file whose hash is right: *item is changed before it is written. */
static void check_refused(const kept *k, int32_t *item, int64_t wrong)
{
    const int32_t right = *item;
    *item = (int32_t)wrong;
    share_file_write(k->folder, &k->csr, true, &k->rows);
    assert_false(is_found(k, &k->csr));
    *item = right;
}

static void test_places(void **state)
{
    kept k;
    begin(state, &k);
    hal_shared_rows *m = &k.rows;
    const int64_t columns = m->sources + m->sums;
    check_refused(&k, &m->plus[0], m->sources); /* a partial sum of level 1 that reads a partial sum: itself */
    check_refused(&k, &m->plus[0], -1);
    check_refused(&k, &m->plus[plus_of(m) - 1], columns);
    check_refused(&k, &m->minus[minus_of(m) - 1], columns);
    check_refused(&k, &m->minus[minus_of(m) - 1], INT32_MIN);
    const int64_t start = m->plus_start[7];
    m->plus_start[7] = m->plus_start[8] + 1;
    share_file_write(k.folder, &k.csr, true, m);
    assert_false(is_found(&k, &k.csr));
    m->plus_start[7] = start;
    share_file_write(k.folder, &k.csr, true, m);
    assert_true(is_found(&k, &k.csr));
    end(&k);
}

/* A folder that takes no files is no failure. */
static void test_no_folder(void **state)
{
    kept k;
    begin(state, &k);
    share_file_write("/nowhere/at/all", &k.csr, true, &k.rows);
    end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_arrays, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damage, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_places, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_folder, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
