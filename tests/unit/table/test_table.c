/*
 * Tables from files: what was written is what is read, on one rank and on several, plain and compressed, by any
 * number of threads; and the same from a store that was written in blocks. Ranks are threads here that talk through
 * an exchange.
 * trees: release asan
 */
#include <math.h>
#include <omp.h>

#include "base/log.h"
#include "io/text/text_out.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/table_jobs.h"
#include "support/test.h"
#include "table/table.h"

enum { ROWS = TEST_SANITIZED || TEST_RACES ? 4000 : 30000, COLUMNS = 6 };

/* One row as it was written. */
typedef struct written_row {
    int32_t whole; /* TABLE_NO_INTEGER: missing */
    float real;    /* NaN: missing */
    int64_t wide;
    int word; /* -1: missing */
    int id;
    int target;
} written_row;

static written_row rows[ROWS];

/* Words with everything that quotes protect; in the order of their bytes. */
static const char *const words[] = {"", " inner , comma", "\"quoted\"", "a", "line\nend", "zz", "\xc3\xa9"};
static const char *const spelled[] = {
    "NA", "\" inner , comma\"", "\"\"\"quoted\"\"\"", "a", "\"line\nend\"", "\"zz\"", "\xc3\xa9"};
enum { WORDS = 7 };

static void make_rows(void)
{
    uint64_t seed = 3;
    for (int i = 0; i < ROWS; i++) {
        written_row *r = &rows[i];
        r->whole = test_random(&seed) % 11 == 0 ? TABLE_NO_INTEGER : (int32_t)(test_random(&seed) % 2001) - 1000;
        r->real = test_random(&seed) % 7 == 0 ? NAN : (float)((int)(test_random(&seed) % 100000) - 50000) / 128;
        /* The first rows fit int32 and have no fraction: the kind of these columns is found out late. */
        r->wide = i < ROWS / 2 ? i : (int64_t)1234567890123456789 - i;
        r->word = (int)(test_random(&seed) % WORDS) == 0 ? -1 : 1 + (int)(test_random(&seed) % (WORDS - 1));
        r->id = (int)(test_random(&seed) % 1000);
        r->target = (int)(test_random(&seed) % 2);
    }
}

static void print_row(text_out *out, int i)
{
    const written_row *r = &rows[i];
    char text[400], whole[32] = "", real[32] = "?";
    if (r->whole != TABLE_NO_INTEGER) {
        snprintf(whole, sizeof whole, "%d", r->whole);
    }
    if (!isnan(r->real)) {
        snprintf(real, sizeof real, "%.9g", (double)r->real);
    }
    snprintf(text, sizeof text, "%s,%s,%lld,%s,user%d,%d%s%s", whole, real, (long long)r->wide,
             r->word < 0 ? "NA" : spelled[r->word], r->id, r->target, i % 3 == 0 ? "\r\n" : "\n",
             i % 100 == 0 ? "\n\r\n" : "");
    text_out_text(out, text);
}

/* Writes rows [from, to) as CSV. */
static void write_csv(const char *path, int from, int to)
{
    text_out *out;
    ASSERT_OK(text_out_open(path, &out));
    text_out_text(out, "\xef\xbb\xbf\"whole\",real,wide,\"the, word\",user id,y\r\n");
    for (int i = from; i < to; i++) {
        print_row(out, i);
    }
    ASSERT_OK(text_out_commit(out));
}

/* ---- checks ---- */

static void check_columns(const weft_table *t)
{
    static const table_kind kinds[COLUMNS] = {TABLE_INTEGER,  TABLE_REAL, TABLE_LONG,
                                              TABLE_CATEGORY, TABLE_ID,   TABLE_INTEGER};
    static const char *const names[COLUMNS] = {"whole", "real", "wide", "the, word", "user id", "y"};
    assert_int_equal(t->schema.count, COLUMNS);
    for (int j = 0; j < COLUMNS; j++) {
        assert_string_equal(t->schema.field[j].name, names[j]);
        assert_int_equal(t->schema.field[j].kind, kinds[j]);
        assert_int_equal(t->column[j].kind, kinds[j]);
        assert_int_equal(t->schema.field[j].role, j == 5 ? TABLE_TARGET : TABLE_FEATURE);
    }
    assert_int_equal(words_count(t->schema.field[3].words), WORDS - 1);
    for (int i = 1; i < WORDS; i++) {
        size_t bytes;
        const char *text = words_text(t->schema.field[3].words, i - 1, &bytes);
        assert_int_equal(bytes, strlen(words[i]));
        assert_memory_equal(text, words[i], bytes);
    }
}

static void check_values(const weft_table *t)
{
    const int32_t *whole = t->column[0].data, *word = t->column[3].data, *target = t->column[5].data;
    const float *real = t->column[1].data;
    const int64_t *wide = t->column[2].data;
    const uint64_t *id = t->column[4].data;
    for (int64_t i = 0; i < t->count; i++) {
        const written_row *r = &rows[t->first + i];
        char name[32];
        const int bytes = snprintf(name, sizeof name, "user%d", r->id);
        assert_int_equal(whole[i], r->whole);
        assert_true(isnan(r->real) ? isnan(real[i]) : real[i] == r->real);
        assert_true(wide[i] == r->wide);
        assert_int_equal(word[i], r->word < 0 ? TABLE_NO_CODE : r->word - 1);
        assert_true(id[i] == file_checksum(name, (size_t)bytes, 0));
        assert_int_equal(target[i], r->target);
    }
}

static void check_facts(const weft_table *t)
{
    int64_t missing[4] = {0};
    for (int i = 0; i < ROWS; i++) {
        missing[0] += rows[i].whole == TABLE_NO_INTEGER;
        missing[1] += isnan(rows[i].real);
        missing[3] += rows[i].word < 0;
    }
    for (int j = 0; j < 4; j++) {
        assert_int_equal(t->schema.field[j].missing, missing[j]);
    }
    assert_int_equal(t->rows, ROWS);
}

static const table_request request = {.id = "user id", .index_base = -1};

static void check_files(const char *const *paths, int count)
{
    weft_table t;
    ASSERT_OK(table_open(paths, count, &request, NULL, &t));
    assert_int_equal(t.count, ROWS);
    check_columns(&t);
    check_values(&t);
    check_facts(&t);
    table_close(&t);
}

/* ---- ranks ---- */

static void check_ranks(const char *const *paths, int count, int ranks)
{
    rank_job jobs[RANKS_MOST];
    int64_t next = 0;
    run_ranks(paths, count, &request, ranks, jobs);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(jobs[r].status, WEFT_OK);
        assert_int_equal(jobs[r].table.first, next);
        next += jobs[r].table.count;
        check_columns(&jobs[r].table);
        check_values(&jobs[r].table);
        check_facts(&jobs[r].table);
        table_close(&jobs[r].table);
    }
    assert_int_equal(next, ROWS);
}

/* ---- tests ---- */

static void test_files(void **state)
{
    const char *one[] = {in_folder(state, "one.csv")}, *packed[] = {in_folder(state, "one.csv.gz")};
    const char *several[] = {in_folder(state, "a.csv"), in_folder(state, "b.csv.gz"), in_folder(state, "c.csv")};
    write_csv(one[0], 0, ROWS);
    write_csv(packed[0], 0, ROWS);
    write_csv(several[0], 0, ROWS / 3);
    write_csv(several[1], ROWS / 3, ROWS / 3 * 2 + 1);
    write_csv(several[2], ROWS / 3 * 2 + 1, ROWS);
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        check_files(one, 1);
        check_files(packed, 1);
        check_files(several, 3);
    }
    for (int ranks = 1; ranks <= RANKS_MOST; ranks += 2) {
        check_ranks(one, 1, ranks);
        check_ranks(packed, 1, ranks);
        check_ranks(several, 3, ranks);
    }
}

static void test_store(void **state)
{
    const char *csv[] = {in_folder(state, "s.csv")}, *packed[] = {in_folder(state, "s.csv.gz")};
    const char *store = in_folder(state, "store"), *other = in_folder(state, "other");
    char first_hash[33];
    weft_table t;
    write_csv(csv[0], 0, ROWS);
    write_csv(packed[0], 0, ROWS);
    ASSERT_OK(table_convert(csv, 1, &request, 0, store, false));
    ASSERT_STATUS(table_convert(csv, 1, &request, 0, store, false), WEFT_ERR_USAGE);
    check_files(&store, 1);
    for (int ranks = 2; ranks <= RANKS_MOST; ranks++) {
        check_ranks(&store, 1, ranks);
    }
    ASSERT_OK(table_open(&store, 1, &request, NULL, &t));
    ASSERT_OK(table_verify(&t));
    memcpy(first_hash, t.hash, sizeof first_hash);
    table_close(&t);
    /* Blocks of a few rows, from a compressed file: the same bytes, so the same hash. */
    ASSERT_OK(table_convert(packed, 1, &request, 64 << 10, other, false));
    ASSERT_OK(table_open(&other, 1, &request, NULL, &t));
    assert_string_equal(t.hash, first_hash);
    table_close(&t);
}

/* The most that is held while a file is read is at most what was told, and that is no idle promise. */
static void check_memory(const char *const *paths, int count, const table_request *asked, int64_t different,
                         int threads)
{
    weft_table t;
    const uint64_t before = weft_mem_usage_total().current_bytes, earlier = weft_mem_peak_restart();
    ASSERT_OK(table_open(paths, count, asked, NULL, &t));
    const int64_t held = (int64_t)(weft_mem_usage_total().peak_bytes - before);
    weft_mem_peak_resume(earlier);
    const int64_t told = t.memory + different * (words_bytes_each(threads) + 16);
    assert_true(held <= told);
    assert_true(told <= held + (1 << 20) + threads * (200 << 10));
    table_close(&t);
}

static void test_memory_is_told(void **state)
{
    const char *one[] = {in_folder(state, "one.csv")}, *svm[] = {in_folder(state, "one.svm.gz")};
    const char *several[] = {in_folder(state, "a.csv"), in_folder(state, "b.csv.gz")};
    const table_request words_of_users = {.category = "user id", .index_base = -1};
    const table_request sparse = {.sparse = TABLE_SPARSE_YES, .index_base = -1};
    text_out *out;
    write_csv(one[0], 0, ROWS);
    write_csv(several[0], 0, ROWS / 3);
    write_csv(several[1], ROWS / 3, ROWS);
    ASSERT_OK(text_out_open(svm[0], &out));
    for (int i = 0; i < ROWS; i++) {
        text_out_text(out, "1 1:1 5:2 9:3\n");
    }
    ASSERT_OK(text_out_commit(out));
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        check_memory(one, 1, &request, WORDS - 1, threads);
        check_memory(one, 1, &words_of_users, WORDS - 1 + 1000, threads);
        check_memory(several, 2, &request, WORDS - 1, threads);
        check_memory(svm, 1, &sparse, 0, threads);
    }
}

/* ---- halves ---- */

static const table_request scarce = {.id = "user id", .index_base = -1, .room = 1};

/* Holding a column brings its half, and takes the other half away. */
static void check_held(weft_table *t, const weft_table *whole, int64_t column)
{
    ASSERT_OK(table_hold(t, column));
    for (int64_t j = 0; j < COLUMNS; j++) {
        const bool stands = table_half(t, j) == 0 || table_half(t, j) == table_half(t, column);
        if (stands) {
            assert_memory_equal(t->column[j].data, whole->column[j].data,
                                (size_t)t->count * table_kind_bytes(t->column[j].kind));
        } else if (table_half(t, column) > 0) {
            assert_null(t->column[j].data);
        }
    }
}

static void check_halves(const char *const *paths, int count)
{
    weft_table t, whole;
    ASSERT_OK(table_open(paths, count, &request, NULL, &whole));
    ASSERT_OK(table_open(paths, count, &scarce, NULL, &t));
    check_columns(&t);
    check_facts(&t);
    const int half[COLUMNS] = {1, 1, 2, 0, 0, 0}; /* 4, 4 and 8 bytes of numbers; a word, an id, a target */
    for (int64_t j = 0; j < COLUMNS; j++) {
        assert_int_equal(table_half(&whole, j), 0);
        assert_int_equal(table_half(&t, j), half[j]);
        assert_int_equal(t.column[j].data == NULL, half[j] > 0);
    }
    for (int64_t j = 0; j < COLUMNS; j++) {
        check_held(&t, &whole, j);
    }
    check_held(&t, &whole, 0);
    table_release_rows(&t, 0, 1);
    assert_true(t.column[0].data != NULL && t.column[0].gone == 1);
    table_release(&t, 0);
    assert_true(t.column[0].data == NULL && t.column[0].gone == t.count);
    check_held(&t, &whole, 2);
    check_held(&t, &whole, 0);
    assert_int_equal(t.column[0].gone, 0);
    table_close(&t);
    table_close(&whole);
}

/* A fraction takes the place of a digit in a column of whole numbers, in a file of the same size. */
static void write_fraction(const char *path)
{
    FILE *file = fopen(path, "r+");
    char line[400];
    long at = 0;
    assert_non_null(file);
    for (int i = 0; i < 100 && fgets(line, sizeof line, file) != NULL; i++) {
        if (line[0] >= '1' && line[0] <= '9' && line[1] >= '0' && line[1] <= '9' && line[2] >= '0' && line[2] <= '9') {
            assert_int_equal(fseek(file, at + 1, SEEK_SET), 0);
            assert_int_equal(fputc('.', file), '.');
            assert_int_equal(fclose(file), 0);
            return;
        }
        at = ftell(file);
    }
    fail_msg("no row begins with three digits");
}

static void test_halves(void **state)
{
    const char *one[] = {in_folder(state, "one.csv")}, *packed[] = {in_folder(state, "one.csv.gz")};
    const char *several[] = {in_folder(state, "a.csv"), in_folder(state, "b.csv.gz")};
    weft_table t;
    write_csv(one[0], 0, ROWS);
    write_csv(packed[0], 0, ROWS);
    write_csv(several[0], 0, ROWS / 3);
    write_csv(several[1], ROWS / 3, ROWS);
    for (int threads = 1; threads <= 2; threads++) {
        omp_set_num_threads(threads);
        check_halves(one, 1);
        check_halves(packed, 1);
        check_halves(several, 2);
    }
    ASSERT_OK(table_open(one, 1, &scarce, NULL, &t));
    ASSERT_OK(table_hold(&t, 2));
    write_fraction(one[0]);
    ASSERT_OK(table_hold(&t, 2)); /* it stands */
    ASSERT_STATUS(table_hold(&t, 0), WEFT_ERR_DATA);
    assert_non_null(strstr(weft_error_message(), "changed while it was read"));
    table_close(&t);
}

/* A fault on any rank is everybody's, and the first in the order of rows is told. */
static void test_fault_of_ranks(void **state)
{
    const char *path[] = {in_folder(state, "fault.csv")};
    text_out *out;
    rank_job jobs[RANKS_MOST];
    ASSERT_OK(text_out_open(path[0], &out));
    text_out_text(out, "x,y\n");
    for (int i = 0; i < 200000; i++) {
        text_out_text(out, i == 150000 ? "word,1\n" : i == 190000 ? "later,1\n" : "1.5,0\n");
    }
    ASSERT_OK(text_out_commit(out));
    for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
        const table_request asked = {.target = "y", .index_base = -1};
        run_ranks(path, 1, &asked, ranks, jobs);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(jobs[r].status, WEFT_ERR_DATA);
            assert_non_null(strstr(jobs[r].message, "line 150002: column 'x': 'word' is no finite number"));
        }
    }
}

/* Every allocation fails once: nothing is left over, in memory or on the disk. */
static void test_failing_allocations(void **state)
{
    const char *path[] = {in_folder(state, "few.csv.gz")}, *store = in_folder(state, "few");
    const uint64_t before = weft_mem_usage_total().current_bytes;
    weft_status status = WEFT_ERR_RESOURCE;
    weft_table t;
    write_csv(path[0], 0, 300);
    for (uint64_t n = 1; status != WEFT_OK; n++) {
        weft_alloc_fail_after(n);
        status = table_convert(path, 1, &request, 0, store, true);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(file_exists(store), status == WEFT_OK);
        assert_true(weft_mem_usage_total().current_bytes == before);
    }
    for (int from_store = 0; from_store < 2; from_store++) {
        status = WEFT_ERR_RESOURCE;
        for (uint64_t n = 1; status != WEFT_OK; n++) {
            weft_alloc_fail_after(n);
            status = table_open(from_store ? &store : path, 1, &request, NULL, &t);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
            if (status == WEFT_OK) {
                assert_int_equal(t.rows, 300);
                table_close(&t);
            }
            assert_true(weft_mem_usage_total().current_bytes == before);
        }
    }
    status = WEFT_ERR_RESOURCE;
    for (uint64_t n = 1; status != WEFT_OK; n++) {
        weft_alloc_fail_after(n);
        status = table_open(path, 1, &scarce, NULL, &t);
        const bool opened = status == WEFT_OK;
        status = opened ? table_hold(&t, 0) : status;
        status = status == WEFT_OK ? table_hold(&t, 2) : status;
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        if (opened) {
            table_close(&t);
        }
        assert_true(weft_mem_usage_total().current_bytes == before);
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
    make_rows();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_store, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_told, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_halves, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_fault_of_ranks, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_failing_allocations, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
