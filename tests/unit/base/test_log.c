/* Lines of progress: numbers of a stage that takes long are written with all their digits from 1,000 on. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "support/test.h"

/* [out] line: what a stage that has this much done writes to stderr, as if its last line were a minute old. */
static void write_progress(double done, double total, char line[256])
{
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);
    assert_true(file != NULL && saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    log_progress progress = log_progress_begin("ingest", "images", total);
    progress.last_line -= 60;
    progress.started -= 60;
    log_progress_update(&progress, done);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(file);
    memset(line, 0, 256);
    assert_true(fread(line, 1, 255, file) > 0);
    fclose(file);
}

static void test_counts(void **state)
{
    (void)state;
    char line[256];
    write_progress(9984, 10000, line);
    assert_non_null(strstr(line, "ingest: 9984 of 10000 images (100 %), 166 images/s, 60 s elapsed"));
    write_progress(1234567, 60000000, line);
    assert_non_null(strstr(line, "1234567 of 60000000 images (2 %), 20576 images/s"));
    write_progress(0.5, 98.76543, line);
    assert_non_null(strstr(line, "0.5 of 98.77 images (1 %), 0.00833 images/s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
