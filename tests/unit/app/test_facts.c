/* Facts as rows: what stands in files, what people see, and what is read again; texts that are too long, and rows of
 * strangers. */
#include "app/facts/fact_list.h"
#include "base/alloc.h"
#include "support/test.h"

static fact_list example(void)
{
    fact_list list = {.rows = 0};
    facts_group(&list, "partition", "Partition: metis");
    facts_int(&list, "cut", "cut edges", "", "whose ends part", 1200);
    facts_int(&list, "memory", "memory", "bytes", "", 3 << 20);
    facts_real(&list, "share", "share", "%", "", 12.345678);
    facts_group(&list, "rest", "the rest");
    facts_text(&list, "name", "name", "", "a\033b");
    facts_yes_no(&list, "even", "even", "", true);
    return list;
}

typedef void (*printer)(const fact_list *list, FILE *out);

static void objects(const fact_list *list, FILE *out)
{
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    facts_write_objects(list, &json);
    facts_write_groups(list, &json);
    json_end(&json);
}

static void rows(const fact_list *list, FILE *out)
{
    static const fact_column column[3] = {{"owned", "rows", ""}, {"held", "kept", "bytes"}};
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_object(&json, "data");
    facts_write_rows(list, &json);
    facts_write_columns(column, 3, &json);
    json_end(&json);
    json_end(&json);
}

static void lines(const fact_list *list, FILE *out)
{
    facts_print(list, out, "graph");
}

/* What the printer writes; the caller frees it. */
static char *print(const fact_list *list, printer write)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write(list, out);
    fclose(out);
    return text;
}

static void test_words(void **state)
{
    (void)state;
    const fact_list list = example();
    char *text = print(&list, facts_print_groups);
    assert_string_equal(text, "Partition: metis: cut edges 1200, memory 3.00 MiB, share 12.35 %\n"
                              "the rest: name a\\x1bb, even yes\n");
    free(text);
    text = print(&list, lines);
    assert_string_equal(text, "graph cut edges: 1200\ngraph memory: 3.00 MiB\ngraph share: 12.35 %\n"
                              "graph name: a\\x1bb\ngraph even: yes\n");
    free(text);
}

static void test_objects(void **state)
{
    (void)state;
    const fact_list list = example();
    char *text = print(&list, objects);
    assert_string_equal(
        text,
        "{\"partition\": {\"cut\": 1200, \"memory\": 3145728, \"share\": 12.345678}, "
        "\"rest\": {\"name\": \"a\\u001bb\", \"even\": true}, \"facts\": ["
        "{\"key\": \"partition\", \"group\": \"Partition: metis\", \"rows\": ["
        "{\"key\": \"cut\", \"label\": \"cut edges\", \"unit\": \"\", \"value\": 1200, \"meaning\": \"whose ends "
        "part\"}, "
        "{\"key\": \"memory\", \"label\": \"memory\", \"unit\": \"bytes\", \"value\": 3145728, \"meaning\": \"\"}, "
        "{\"key\": \"share\", \"label\": \"share\", \"unit\": \"%\", \"value\": 12.345678, \"meaning\": \"\"}]}, "
        "{\"key\": \"rest\", \"group\": \"the rest\", \"rows\": ["
        "{\"key\": \"name\", \"label\": \"name\", \"unit\": \"\", \"value\": \"a\\u001bb\", \"meaning\": \"\"}, "
        "{\"key\": \"even\", \"label\": \"even\", \"unit\": \"\", \"value\": true, \"meaning\": \"\"}]}]}");
    free(text);
}

/* What was written is found by its key, and printed as it was from the list itself. */
static void test_read_again(void **state)
{
    (void)state;
    bool older = true;
    json_document *document = NULL;
    const fact_list list = example();
    char *text = print(&list, rows);
    ASSERT_OK(json_parse("text", text, strlen(text), &document));
    const json_value *data = facts_data_of(json_root(document), &older);
    assert_false(older);
    assert_int_equal(facts_value(data, "cut")->integer, 1200);
    assert_string_equal(facts_value(data, "name")->text, "a\033b");
    assert_null(facts_value(data, "absent"));
    assert_null(facts_value(NULL, "cut"));
    const json_value *column = json_find(data, "columns")->child;
    assert_string_equal(json_find(column->next, "unit")->text, "bytes");
    assert_null(column->next->next);
    char *before = print(&list, lines);
    char *after = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&after, &bytes);
    facts_print_json(json_find(data, "facts"), out, "graph");
    fclose(out);
    assert_string_equal(after, before);
    free(after);
    free(before);
    free(text);
    json_free(document);
}

static void test_of_strangers(void **state)
{
    static const char *const texts[] = {
        "{\"data\": 7}", "{}", "[]",
        "{\"data\": {\"facts\": [3, {\"key\": 1}, {\"label\": \"a\"}, {\"label\": \"b\", \"value\": []}]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        bool older;
        json_document *document = NULL;
        ASSERT_OK(json_parse("text", texts[i], strlen(texts[i]), &document));
        const json_value *data = facts_data_of(json_root(document), &older);
        assert_null(facts_value(data, "classes"));
        if (data != NULL) {
            char *text = NULL;
            size_t bytes = 0;
            FILE *out = open_memstream(&text, &bytes);
            facts_print_json(json_find(data, "facts"), out, "");
            fclose(out);
            assert_string_equal(text, "");
            free(text);
        }
        json_free(document);
    }
}

/* Runs of an earlier version had an object of the kind's name, with the values in it. */
static void test_older(void **state)
{
    static const char text[] = "{\"versions\": {}, \"graph\": {\"hash\": \"00\", \"classes\": 7}}";
    (void)state;
    bool older = false;
    json_document *document = NULL;
    ASSERT_OK(json_parse("text", text, strlen(text), &document));
    const json_value *data = facts_data_of(json_root(document), &older);
    assert_true(older);
    assert_string_equal(data->key, "graph");
    assert_int_equal(facts_value(data, "classes")->integer, 7);
    json_free(document);
}

/* Texts share the list's room; the last one is cut where a character ends. */
static void test_long_texts(void **state)
{
    (void)state;
    char text[FACT_TEXTS_BYTES + 10];
    fact_list list = {.rows = 0};
    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa4", 3);
    }
    facts_text(&list, "first", "first", "", "ab");
    facts_text(&list, "long", "long", "", text);
    const char *kept = list.texts + list.row[1].text;
    assert_int_equal(strlen(kept), FACT_TEXTS_BYTES - 3 - 1);
    assert_int_equal(strncmp(kept, text, strlen(kept)), 0);
    assert_string_equal(list.texts + list.row[0].text, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),        cmocka_unit_test(test_objects), cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_of_strangers), cmocka_unit_test(test_older),   cmocka_unit_test(test_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
