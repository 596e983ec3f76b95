/*
 * Sparse blocks of LIBSVM files: what was written is what is read, by any number of threads and ranks, plain and
 * compressed, from files and from stores of small blocks; and a store whose arrays are wrong is refused.
 * trees: release asan
 */
#include "base/log.h"
#include "io/text/text_out.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/table_jobs.h"

enum { ROWS = TEST_SANITIZED || TEST_RACES ? 1000 : 4000, ENTRIES_MOST = 9 };

typedef struct written_row {
    int entries;
    int64_t feature[ENTRIES_MOST]; /* from 0 on */
    float value[ENTRIES_MOST];
} written_row;

static written_row rows[ROWS];

/* Features below `columns`; the last row has the last feature. Some values are 0. */
static void make_rows(int64_t columns)
{
    uint64_t seed = 11;
    for (int i = 0; i < ROWS; i++) {
        written_row *r = &rows[i];
        const int wanted = (int)(test_random(&seed) % ENTRIES_MOST);
        int64_t next = 0;
        for (r->entries = 0; r->entries < wanted && next < columns - 1; r->entries++) {
            next += (int64_t)(test_random(&seed) % (uint64_t)(columns / ENTRIES_MOST));
            r->feature[r->entries] = next++;
            r->value[r->entries] = (float)(test_random(&seed) % 2000) / 8 - 100;
        }
    }
    rows[ROWS - 1] = (written_row){.entries = 1, .feature = {columns - 1}, .value = {1}};
}

static void write_libsvm(const char *path, int from, int to)
{
    text_out *out;
    char text[64];
    ASSERT_OK(text_out_open(path, &out));
    for (int i = from; i < to; i++) {
        snprintf(text, sizeof text, "%d", i % 5);
        text_out_text(out, text);
        for (int k = 0; k < rows[i].entries; k++) {
            snprintf(text, sizeof text, " %lld:%.9g", (long long)rows[i].feature[k] + 1, (double)rows[i].value[k]);
            text_out_text(out, text);
        }
        text_out_text(out, i % 50 == 0 ? " # words\n\n" : "\n");
    }
    ASSERT_OK(text_out_commit(out));
}

static void check_block(const weft_table *t, int64_t columns)
{
    const table_sparse *s = &t->sparse;
    const int32_t *label = t->column[0].data;
    assert_true(s->columns == columns && s->base == 1);
    assert_int_equal(t->schema.count, 1);
    for (int64_t i = 0; i < t->count; i++) {
        const written_row *r = &rows[t->first + i];
        assert_int_equal(label[i], (t->first + i) % 5);
        assert_int_equal(s->start[i + 1] - s->start[i], r->entries);
        for (int k = 0; k < r->entries; k++) {
            assert_true(sparse_feature(s, s->start[i] + k) == r->feature[k]);
            assert_true(s->value[s->start[i] + k] == r->value[k]);
        }
    }
}

static const table_request request = {.sparse = TABLE_SPARSE_AUTO, .index_base = 1};

static void check_paths(const char *const *paths, int count, int64_t columns)
{
    rank_job jobs[RANKS_MOST];
    for (int ranks = 1; ranks <= RANKS_MOST; ranks += 2) {
        int64_t next = 0;
        run_ranks(paths, count, &request, ranks, jobs);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(jobs[r].status, WEFT_OK);
            assert_int_equal(jobs[r].table.first, next);
            next += jobs[r].table.count;
            check_block(&jobs[r].table, columns);
            table_close(&jobs[r].table);
        }
        assert_int_equal(next, ROWS);
    }
}

static void check_width(void **state, int64_t columns)
{
    const char *one[] = {in_folder(state, "one.svm")},
               *several[] = {in_folder(state, "a.svm.gz"), in_folder(state, "b.svm")};
    const char *store[] = {in_folder(state, "store")}, *other = in_folder(state, "other");
    char hash[33];
    weft_table t;
    make_rows(columns);
    write_libsvm(one[0], 0, ROWS);
    write_libsvm(several[0], 0, ROWS / 3);
    write_libsvm(several[1], ROWS / 3, ROWS);
    check_paths(one, 1, columns);
    check_paths(several, 2, columns);
    ASSERT_OK(table_convert(one, 1, &request, 0, store[0], true));
    check_paths(store, 1, columns);
    ASSERT_OK(table_open(store, 1, &request, NULL, &t));
    ASSERT_OK(table_verify(&t));
    memcpy(hash, t.hash, sizeof hash);
    table_close(&t);
    /* Blocks of a few rows have the same bytes. */
    ASSERT_OK(table_convert(several, 2, &request, 2000, other, true));
    ASSERT_OK(table_open(&other, 1, &request, NULL, &t));
    assert_string_equal(t.hash, hash);
    table_close(&t);
}

static void test_wide(void **state)
{
    check_width(state, 100000);
}

/* Features beyond int32. */
static void test_long_indices(void **state)
{
    check_width(state, INT64_C(5000000000));
}

/* A caller that does not ask for a block gets no table without features. */
static void test_callers_without_blocks(void **state)
{
    const char *path[] = {in_folder(state, "w.svm")}, *store = in_folder(state, "w");
    const table_request columns = {.index_base = -1};
    weft_table t;
    make_rows(100000);
    write_libsvm(path[0], 0, ROWS);
    ASSERT_STATUS(table_open(path, 1, &columns, NULL, &t), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("at most 65536 columns are made of a LIBSVM file; --sparse yes keeps the given cells alone");
    ASSERT_OK(table_convert(path, 1, &request, 0, store, false));
    ASSERT_STATUS(table_open(&store, 1, &columns, NULL, &t), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("its 100000 features are a sparse block, and columns are wanted");
}

/* Overwrites an element of an array, behind its header of 128 bytes. */
static void damage(const char *store, const char *name, int64_t element, size_t item, int64_t value)
{
    char path[FILE_PATH_MAX], header[128];
    ASSERT_OK(file_path(path, "%s/%s.npy", store, name));
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof header, file), 128);
    assert_int_equal(fseek(file, 128 + element * (long)item, SEEK_SET), 0);
    assert_int_equal(fwrite(&value, item, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_arrays(void **state)
{
    const char *path[] = {in_folder(state, "d.svm")}, *store = in_folder(state, "d");
    weft_table t;
    make_rows(100000);
    write_libsvm(path[0], 0, ROWS);
    ASSERT_OK(table_convert(path, 1, &request, 0, store, false));
    damage(store, "indptr", 5, 8, INT64_C(1) << 40);
    ASSERT_STATUS(table_open(&store, 1, &request, NULL, &t), WEFT_ERR_DATA);
    ASSERT_MESSAGE("indptr.npy: row 4 has entries");
    ASSERT_OK(table_convert(path, 1, &request, 0, store, true));
    damage(store, "indices", 0, 4, 100000);
    ASSERT_OK(table_open(&store, 1, &request, NULL, &t));
    ASSERT_STATUS(table_verify(&t), WEFT_ERR_DATA);
    table_close(&t);
}

static void test_failing_allocations(void **state)
{
    const char *path[] = {in_folder(state, "f.svm.gz")}, *store = in_folder(state, "f");
    const uint64_t before = weft_mem_usage_total().current_bytes;
    weft_status status = WEFT_ERR_RESOURCE;
    weft_table t;
    make_rows(100000);
    write_libsvm(path[0], ROWS - 200, ROWS);
    for (int to_store = 0; to_store < 2; to_store++) {
        status = WEFT_ERR_RESOURCE;
        for (uint64_t n = 1; status != WEFT_OK; n++) {
            weft_alloc_fail_after(n);
            status =
                to_store ? table_convert(path, 1, &request, 0, store, true) : table_open(path, 1, &request, NULL, &t);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
            if (status == WEFT_OK && !to_store) {
                assert_int_equal(t.rows, 200);
                table_close(&t);
            }
            assert_true(weft_mem_usage_total().current_bytes == before);
        }
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wide, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_long_indices, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_callers_without_blocks, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_arrays, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_failing_allocations, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
