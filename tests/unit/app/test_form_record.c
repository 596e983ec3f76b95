/* What was measured of forms comes back, and no file of another job, and no damaged one; when it is told anew, or
 * lost. */
#include <string.h>
#include <unistd.h>

#include "app/gnn/job_forms.h"
#include "support/test.h"

static const char ant[] = "parts 9f3c on 2 ranks of 1 nodes, Some \"CPU\" (R), L2 1024 KiB, L3 32768 KiB, 1 threads";

static form_record some_record(void)
{
    form_record record = {.forms = "l---r---", .trials = 1, .epoch = 1.0 / 3.0};
    record.seconds[0][HAL_SPMM_ROWS] = 0.1;
    record.seconds[0][HAL_SPMM_LISTS] = 2.0 / 7.0;
    record.seconds[4][HAL_SPMM_ROWS] = 1e-9;
    return record;
}

static size_t load(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t read = fread(text, 1, bytes, file);
    assert_int_equal(fclose(file), 0);
    return read;
}

static void store(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void test_round_trip(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft_forms_XXXXXX";
    char path[FILE_PATH_MAX], other[FILE_PATH_MAX];
    form_record written = some_record();
    form_record read = {.epoch = 0.0};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    ASSERT_OK(form_record_path(ant, path));
    assert_non_null(strstr(path, "/weft/forms-"));
    ASSERT_STATUS(form_record_read(path, ant, &read), WEFT_ERR_NOINPUT);
    for (int known = 0; known < 2; known++) { /* without and with an epoch's seconds */
        written.epoch = known * written.epoch;
        ASSERT_OK(form_record_write(path, ant, &written));
        ASSERT_OK(form_record_read(path, ant, &read));
        assert_memory_equal(&read, &written, sizeof read);
        written = some_record();
    }
    ASSERT_OK(form_record_path("parts 9f3d", other)); /* another key has another file, and does not take this one */
    assert_string_not_equal(path, other);
    read = (form_record){.epoch = 7.0};
    ASSERT_STATUS(form_record_read(path, "parts 9f3d", &read), WEFT_ERR_DATA);
    ASSERT_MESSAGE("\"key\" is \"parts 9f3c on 2 ranks");
    assert_true(read.epoch == 7.0); /* untouched */
    ASSERT_OK(folder_remove(folder));
}

/* Every byte that is changed, and every end that is cut off. */
static void test_damaged(void **state)
{
    (void)state;
    char path[] = "/tmp/weft_forms_XXXXXX";
    static char text[4096];
    const form_record written = some_record();
    form_record read = {.epoch = 7.0};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    ASSERT_OK(form_record_write(path, ant, &written));
    const size_t bytes = load(path, text, sizeof text);
    assert_true(bytes > 200 && bytes < sizeof text);
    for (size_t i = 0; i + 1 < bytes; i++) { /* the last is the end of the line */
        const char was = text[i];
        text[i] = was == '1' ? '2' : was == ' ' ? '_' : '1';
        store(path, text, bytes);
        text[i] = was;
        ASSERT_STATUS(form_record_read(path, ant, &read), WEFT_ERR_DATA);
        store(path, text, i);
        ASSERT_STATUS(form_record_read(path, ant, &read), WEFT_ERR_DATA);
    }
    assert_true(read.epoch == 7.0);
    unlink(path);
}

static void test_trials(void **state)
{
    (void)state;
    form_record record = {.trials = 0};
    gnn_form_figures trial = {.taken = "l---r---"};
    trial.seconds[0][HAL_SPMM_LISTS] = 1.0;
    trial.seconds[0][HAL_SPMM_BLOCKS] = 1.1;
    form_record_add(&record, &trial);
    assert_string_equal(record.forms, "l---r---");
    assert_int_equal(record.trials, 1);
    assert_true(form_record_is_close(&record));
    record.epoch = 7.0;
    trial.seconds[0][HAL_SPMM_LISTS] = 1.2; /* slower than before, and blocks are not quicker than those were */
    trial.seconds[0][HAL_SPMM_BLOCKS] = 1.05;
    memcpy(trial.taken, "b---r---", sizeof trial.taken);
    form_record_add(&record, &trial);
    assert_string_equal(record.forms, "l---r---"); /* the role that nobody timed keeps its form */
    assert_true(record.epoch == 7.0 && record.seconds[0][HAL_SPMM_BLOCKS] == 1.05);
    assert_true(form_record_is_close(&record));
    trial.seconds[0][HAL_SPMM_BLOCKS] = 0.95;
    form_record_add(&record, &trial);
    assert_string_equal(record.forms, "b---r---");
    assert_true(record.epoch == 0.0 && record.seconds[0][HAL_SPMM_LISTS] == 1.0);
    assert_int_equal(record.trials, 3);
    assert_false(form_record_is_close(&record)); /* near, but three have timed them */
    record = (form_record){.trials = 0};
    trial.seconds[0][HAL_SPMM_BLOCKS] = 0.95;
    trial.seconds[0][HAL_SPMM_LISTS] = 1.1; /* 16 % more */
    form_record_add(&record, &trial);
    assert_false(form_record_is_close(&record));
}

static void test_judge(void **state)
{
    (void)state;
    static const struct {
        double told, epoch;
        form_verdict verdict;
    } cases[] = {{0.0, 2.0, FORM_TELLS}, {2.0, 2.0, FORM_STANDS}, {2.0, 2.5, FORM_STANDS}, {2.0, 2.7, FORM_LOSES},
                 {2.0, 1.7, FORM_TELLS}, {2.0, 1.9, FORM_STANDS}, {2.0, 0.0, FORM_STANDS}, /* no epoch was seen */
                 {0.0, 0.0, FORM_STANDS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const form_record record = {.epoch = cases[i].told};
        assert_int_equal(form_record_judge(&record, cases[i].epoch), cases[i].verdict);
    }
}

/* ---- a job's epochs ---------------------------------------------------------------------------------------------- */

/* Two ranks; the slowest counts. */
typedef struct epochs {
    const char *path;
    double seconds[2];
    int64_t passes;
} epochs;

static weft_status judge_rank(weft_comm *comm, void *argument)
{
    const epochs *e = argument;
    const app_context context = {.comm = comm};
    const gnn_aggregator aggregator = {.epoch_seconds = e->seconds[comm_rank(comm)], .passes = e->passes};
    static const job_forms empty = {.kept = 1};
    job_forms forms = empty;
    if (comm_rank(comm) == 0) {
        snprintf(forms.path, sizeof forms.path, "%s", e->path);
        snprintf(forms.key, sizeof forms.key, "%s", ant);
        WEFT_TRY(form_record_read(forms.path, forms.key, &forms.record));
    }
    return job_forms_judge(&context, &aggregator, &forms);
}

/* A record is told how long an epoch takes, stands while it takes as long, and is gone once it loses. */
static void test_epochs(void **state)
{
    (void)state;
    char path[] = "/tmp/weft_forms_XXXXXX";
    form_record record = some_record();
    epochs e = {.path = path};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    record.epoch = 0.0;
    ASSERT_OK(form_record_write(path, ant, &record));
    static const struct {
        double seconds[2], told; /* told: 0: the record is gone */
        int64_t passes;
    } turns[] = {{{0.0, 0.0}, 0.0, 30}, {{1.0, 2.0}, 2.0, 3}, {{2.5, 1.0}, 2.0, 30}, {{1.5, 0.5}, 1.5, 30},
                 {{0.1, 2.0}, 1.5, 3},  {{0.1, 2.0}, 0.0, 30}}; /* of few epochs nothing is held against it */
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        memcpy(e.seconds, turns[i].seconds, sizeof e.seconds);
        e.passes = turns[i].passes;
        ASSERT_OK(comm_thread_run(2, judge_rank, &e));
        if (i + 1 < sizeof turns / sizeof *turns) {
            ASSERT_OK(form_record_read(path, ant, &record));
            assert_true(record.epoch == turns[i].told);
        }
    }
    assert_false(file_exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_judge), cmocka_unit_test(test_trials),
                                       cmocka_unit_test(test_epochs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
