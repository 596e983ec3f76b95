/*
 * Decisions of the schedulers that stop trials, line by line, against those that Optuna 5.0.0 and Ray 2.60.0 made
 * for the same events (tests/golden/make_golden_sched.py).
 */
#include "support/test.h"
#include "tune/sched/sched.h"

static const char *const kinds[] = {SCHED_KINDS(CHOICE_NAME)};
static const char *const decisions[] = {SCHED_DECISIONS(CHOICE_NAME)};

static sched_kind kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], name) == 0) {
            return (sched_kind)i;
        }
    }
    fail_msg("no scheduler is called %s", name);
    return SCHED_KIND_FIFO;
}

/* A scheduler as a title says, with all of its trials running; NULL: the line is no title. */
static sched *open_titled(const char *line)
{
    char kind[32];
    int maximise = 0, most = 0, grace = 0, reduction = 0, trials = 0;
    sched *s = NULL;
    sched_work work;
    if (sscanf(line, "%31s maximise=%d max=%d grace=%d reduction=%d trials=%d", kind, &maximise, &most, &grace,
               &reduction, &trials) != 6) {
        return NULL;
    }
    const bool rungs = strncmp(kind, "asha", 4) == 0;
    ASSERT_OK(sched_open(&(sched_desc){.kind = kind_of(kind),
                                       .maximise = maximise != 0,
                                       .max_resource = most,
                                       .grace = grace,
                                       .reduction = rungs ? reduction : 0,
                                       .trials = trials},
                         &s));
    for (int i = 0; i < trials; i++) {
        ASSERT_OK(sched_next(s, &work));
        assert_int_equal(work.action, SCHED_START);
        assert_int_equal(work.trial, i);
        assert_int_equal(work.until, most);
    }
    return s;
}

static void expect(sched *s, const char *title, const char *line)
{
    int trial = 0, resource = 0;
    char value[32], expected[32];
    sched_decision decision;
    assert_int_equal(sscanf(line, "%d %d %31s %31s", &trial, &resource, value, expected), 4);
    ASSERT_OK(sched_report(s, trial, resource, strtod(value, NULL), &decision));
    if (strcmp(decisions[decision], expected) != 0) {
        fail_msg("%s: %s: decided %s", title, line, decisions[decision]);
    }
}

static void test_decisions(void **state)
{
    FILE *file = fopen(WEFT_SOURCE_DIR "/tests/golden/sched.txt", "r");
    char line[256], title[256] = "";
    sched *s = NULL;
    int seen = 0, groups = 0;
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        sched *next = open_titled(line);
        if (next != NULL) {
            sched_close(s);
            s = next;
            groups++;
            snprintf(title, sizeof title, "%s", line);
        } else {
            expect(s, title, line);
            seen++;
        }
    }
    fclose(file);
    sched_work work;
    ASSERT_OK(sched_next(s, &work));
    assert_int_equal(work.action, SCHED_DONE);
    sched_close(s);
    assert_int_equal(groups, 24);
    assert_true(seen > 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
