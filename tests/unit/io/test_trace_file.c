/* The trace: what is written reads back, rings forget the oldest, threads record without locks, rows hold nested spans.
 */
#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/trace/trace.h"
#include "io/json.h"
#include "io/trace_file.h"
#include "support/folder.h"
#include "support/test.h"

enum { THREADS = 4, SPANS_EACH = 500 };

typedef struct read_back {
    char *text;
    json_document *document;
    const json_value *events;
} read_back;

static read_back read_trace(const char *path)
{
    read_back file = {NULL, NULL, NULL};
    size_t bytes = 0;
    ASSERT_OK(file_read_text(path, 1 << 20, &file.text, &bytes));
    ASSERT_OK(json_parse(path, file.text, bytes, &file.document));
    file.events = json_find(json_root(file.document), "traceEvents");
    assert_non_null(file.events);
    assert_int_equal(file.events->kind, JSON_ARRAY);
    return file;
}

static void read_done(read_back *file)
{
    json_free(file->document);
    weft_free(file->text);
}

static const char *text_of(const json_value *event, const char *key)
{
    const json_value *found = json_find(event, key);
    return found != NULL ? found->text : "";
}

static double number_of(const json_value *event, const char *key)
{
    const json_value *found = json_find(event, key);
    assert_non_null(found);
    assert_int_equal(found->kind, JSON_NUMBER);
    return found->number;
}

static int count_spans(const read_back *file, const char *name)
{
    int count = 0;
    for (const json_value *event = file->events->child; event != NULL; event = event->next) {
        count += strcmp(text_of(event, "ph"), "X") == 0 && strcmp(text_of(event, "name"), name) == 0;
    }
    return count;
}

static const json_value *find_span(const read_back *file, const char *name)
{
    for (const json_value *event = file->events->child; event != NULL; event = event->next) {
        if (strcmp(text_of(event, "ph"), "X") == 0 && strcmp(text_of(event, "name"), name) == 0) {
            return event;
        }
    }
    fail_msg("no span %s", name);
    return NULL;
}

static void test_off(void **state)
{
    (void)state;
    uint64_t allocations = weft_mem_usage_total().allocations;
    assert_false(trace_on());
    double begin = trace_begin();
    assert_true(begin == 0.0);
    trace_end(begin, TRACE_COMM, "nothing", 1);
    trace_end(clock_seconds(), TRACE_COMM, "begun while on", 1);
    assert_int_equal(weft_mem_usage_total().allocations, allocations);
    ASSERT_STATUS(trace_write("never", 0, 0), WEFT_ERR_INTERNAL);
    assert_false(file_exists("never"));
}

static void test_reads_back(void **state)
{
    const char *folder = *state;
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/trace-7.json", folder));
    ASSERT_OK(trace_open(0));
    trace_thread("ma\"in");
    double outer = trace_begin();
    double inner = trace_begin();
    while (clock_seconds() - inner < 0.002) {
    }
    trace_end(inner, TRACE_INTER, "inside", 12345678901);
    const double most = clock_seconds() - inner;
    trace_end(outer, TRACE_STEP, "outside", -1);
    ASSERT_OK(trace_write(path, 7, 0));
    trace_close();
    read_back file = read_trace(path);
    const json_value *in = find_span(&file, "inside");
    const json_value *out = find_span(&file, "outside");
    assert_string_equal(text_of(in, "cat"), "inter");
    assert_string_equal(text_of(out, "cat"), "step");
    assert_int_equal(json_find(json_find(in, "args"), "bytes")->integer, 12345678901);
    assert_null(json_find(out, "args"));
    assert_true(number_of(in, "pid") == 7.0);
    ASSERT_NEAR(number_of(in, "ts"), inner * 1e6, 0.01);
    assert_true(number_of(in, "dur") >= 2000.0 && number_of(in, "dur") <= 1e6 * most + 1.0);
    assert_true(number_of(out, "ts") <= number_of(in, "ts"));
    assert_true(number_of(out, "dur") >= number_of(in, "dur"));
    assert_true(number_of(out, "tid") == number_of(in, "tid"));
    bool named = false;
    for (const json_value *event = file.events->child; event != NULL; event = event->next) {
        named = named || (strcmp(text_of(event, "name"), "thread_name") == 0 &&
                          strcmp(text_of(json_find(event, "args"), "name"), "ma\"in") == 0);
    }
    assert_true(named);
    read_done(&file);
}

/* A ring of 10 keeps the last 10 of 25 and says that 15 are gone. */
static void test_ring_forgets(void **state)
{
    const char *folder = *state;
    static const char *const names[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12",
                                        "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24"};
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/ring.json", folder));
    ASSERT_OK(trace_open(10));
    for (int i = 0; i < 25; ++i) {
        trace_end(trace_begin(), TRACE_COMM, names[i], i);
    }
    ASSERT_OK(trace_write(path, 0, 0));
    trace_close();
    read_back file = read_trace(path);
    for (int i = 0; i < 25; ++i) {
        assert_int_equal(count_spans(&file, names[i]), i >= 15);
    }
    assert_int_equal(json_find(json_find(json_root(file.document), "otherData"), "forgotten")->integer, 15);
    read_done(&file);
}

/* Overlapping but not nested: on rows of their own. A third one that nests goes back to the first row. */
static void test_rows(void **state)
{
    const char *folder = *state;
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/rows.json", folder));
    ASSERT_OK(trace_open(0));
    double first = trace_begin();
    double second = trace_begin() + 1e-9;
    double third = second + 1e-9;
    trace_end(third, TRACE_COMM, "third", 0);
    trace_end(first, TRACE_COMM, "first", 0);
    trace_end(second, TRACE_COMM, "second", 0);
    ASSERT_OK(trace_write(path, 0, 0));
    trace_close();
    read_back file = read_trace(path);
    double row_of_first = number_of(find_span(&file, "first"), "tid");
    assert_true(number_of(find_span(&file, "second"), "tid") != row_of_first);
    assert_true(number_of(find_span(&file, "third"), "tid") == row_of_first);
    read_done(&file);
}

static void *record(void *argument)
{
    const char *name = argument;
    trace_thread(name);
    for (int i = 0; i < SPANS_EACH; ++i) {
        trace_end(trace_begin(), TRACE_COMPUTE, name, i);
    }
    return NULL;
}

/* Twice, so that rings of a closed trace are met by threads that live on (this one). */
static void test_threads(void **state)
{
    const char *folder = *state;
    static char names[THREADS][8] = {"t0", "t1", "t2", "t3"};
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/threads.json", folder));
    for (int repeat = 0; repeat < 2; ++repeat) {
        pthread_t thread[THREADS];
        ASSERT_OK(trace_open(0));
        for (int t = 0; t < THREADS; ++t) {
            assert_int_equal(pthread_create(&thread[t], NULL, record, names[t]), 0);
        }
        trace_end(trace_begin(), TRACE_COMPUTE, "here", -1);
        for (int t = 0; t < THREADS; ++t) {
            assert_int_equal(pthread_join(thread[t], NULL), 0);
        }
        ASSERT_OK(trace_write(path, 0, 0));
        trace_close();
        read_back file = read_trace(path);
        for (int t = 0; t < THREADS; ++t) {
            assert_int_equal(count_spans(&file, names[t]), SPANS_EACH);
        }
        assert_int_equal(count_spans(&file, "here"), 1);
        read_done(&file);
    }
}

/* Without memory for a ring the span is counted as forgotten; a trace that cannot be written leaves no file. */
static void test_failures(void **state)
{
    const char *folder = *state;
    char path[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/none/trace.json", folder));
    ASSERT_OK(trace_open(0));
    weft_alloc_fail_after(1);
    trace_end(trace_begin(), TRACE_COMM, "lost", 0);
    weft_alloc_fail_after(0);
    trace_end(trace_begin(), TRACE_COMM, "lost too", 0);
    assert_true(trace_write(path, 0, 0) != WEFT_OK);
    ASSERT_OK(file_path(path, "%s/lost.json", folder));
    ASSERT_OK(trace_write(path, 0, 0));
    read_back file = read_trace(path);
    assert_int_equal(json_find(json_find(json_root(file.document), "otherData"), "forgotten")->integer, 2);
    read_done(&file);
    trace_close();
    trace_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),
        cmocka_unit_test_setup_teardown(test_reads_back, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_ring_forgets, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_rows, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_threads, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_failures, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
