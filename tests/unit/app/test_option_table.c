/*
 * Tests generated from the option table: every option of every command is set through every source, with every name,
 * and refuses what its row forbids. A new row is tested by being there.
 */
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "option/option_internal.h"
#include "support/options.h"
#include "support/test.h"

static char config_path[64];

static int setup(void **state)
{
    (void)state;
    snprintf(config_path, sizeof config_path, "/tmp/weft_option_XXXXXX");
    int file = mkstemp(config_path);
    log_set_level(LOG_QUIET); /* variables that are ignored are warned about */
    return file < 0 ? -1 : close(file);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(config_path);
}

static const char *put(char text[OPTION_WORD_MAX], const char *what)
{
    assert_true(snprintf(text, OPTION_WORD_MAX, "%s", what) < OPTION_WORD_MAX);
    return text;
}

/* Two different values that the row allows. */
static const char *sample(const option_row *row, int which, char text[OPTION_WORD_MAX])
{
    const char *last = strrchr(row->choices, '|'), *cursor = row->choices;
    switch (row->type) {
    case OPTION_FLAG:
        return put(text, which == 0 ? "on" : "off");
    case OPTION_CHOICE:
        option_list_next(&cursor, '|', text);
        return which == 0 ? put(text, last + 1) : text;
    case OPTION_TEXT:
        if (row == option_row_of(OPT_CONFIG)) { /* must exist: two spellings of one empty file */
            sprintf(text, which == 0 ? "%s" : "/%s", config_path);
            return text;
        }
        return put(text, which == 0 ? "some/where x" : row->choices[0] != '\0' ? "else=where.x" : "else=where");
    case OPTION_INT:
    case OPTION_REAL:
    case OPTION_SIZE:
    case OPTION_TIME:
    case OPTION_INTLIST:
        break;
    }
    char number[NUMBER_TEXT_MAX];
    return put(text, number_format_real(which == 0 ? row->max : row->min, number));
}

/* A number with the unit of a size, if it has one. */
static bool parse_size(const char *text, double *value)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    const char *end = text;
    if (!number_scan_real(text, &end, value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i]) == 0) {
            return true;
        }
        *value *= 1024;
    }
    return false;
}

static void check_number(const weft_options *options, option_id id, const char *text)
{
    const option_row *row = option_row_of(id);
    int64_t list[4] = {0};
    double number = 0;
    bool numeric = number_parse_real(text, &number);
    switch (row->type) {
    case OPTION_FLAG:
        assert_int_equal(option_flag(options, id), strcmp(text, "on") == 0);
        break;
    case OPTION_INT:
        assert_true(numeric && (double)option_int(options, id) == number);
        break;
    case OPTION_REAL:
    case OPTION_TIME:
        assert_true(numeric && option_real(options, id) == number);
        break;
    case OPTION_SIZE:
        assert_true(parse_size(text, &number) && (double)option_size(options, id) == number);
        break;
    case OPTION_INTLIST:
        assert_int_equal(option_list(options, id, list, 4), 1);
        assert_true(numeric && (double)list[0] == number);
        break;
    case OPTION_TEXT:
    case OPTION_CHOICE:
        assert_string_equal(option_text(options, id), text);
        break;
    }
}

static void check_value(const weft_options *options, option_id id, option_source source, const char *text)
{
    assert_int_equal(option_source_of(options, id), source);
    assert_int_equal(option_is_set(options, id), source != OPTION_DEFAULT);
    assert_string_equal(option_value_text(options, id), text);
    check_number(options, id, text);
}

/* Parse the command with these extra arguments, and as many positional ones as it needs. */
static weft_status parse(const option_command *command, const char *first, const char *second, weft_options **options)
{
    char *argv[8];
    int argc = 0;
    argv[argc++] = (char *)command->name;
    for (int i = 0; i < command->min_arguments; i++) {
        argv[argc++] = "argument";
    }
    if (first != NULL) {
        argv[argc++] = (char *)first;
    }
    if (second != NULL) {
        argv[argc++] = (char *)second;
    }
    argv[argc] = NULL;
    return option_parse(command, argc, argv, options);
}

static void write_config(const char *name, const char *value)
{
    FILE *file = fopen(config_path, "w");
    assert_non_null(file);
    if (name != NULL) {
        fprintf(file, "# written by the test\n%s = \"%s\"\n", name, value);
    }
    assert_int_equal(fclose(file), 0);
}

typedef void (*visitor)(const option_command *command, option_id id);

static int for_every_option(visitor visit)
{
    int visited = 0;
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        FOR_EVERY_OPTION(id)
        {
            if (option_applies(command, id)) {
                visit(command, id);
                visited++;
            }
        }
    }
    return visited;
}

/* ---- the rows themselves ---------------------------------------------------------------------------------------- */

/* Some kind of job has each trait that the row names: a misspelt one would leave the option without effect
 * everywhere. */
static void check_traits(const option_row *row)
{
    char trait[OPTION_WORD_MAX];
    for (const char *cursor = row->serves; option_list_next(&cursor, '|', trait);) {
        bool known = false;
        for (int kind = 0; kind < app_catalog()->kinds; kind++) {
            known = known || option_list_has(app_catalog()->traits[kind], '|', trait);
        }
        if (!known) {
            fail_msg("--%s serves \"%s\", which no kind of job is", row->name, trait);
        }
    }
}

static void test_rows_are_well_formed(void **state)
{
    (void)state;
    FOR_EVERY_OPTION(id)
    {
        const option_row *row = option_row_of(id);
        assert_true(strlen(row->name) > 1 && strlen(row->name) < OPTION_WORD_MAX);
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(row->name));
        assert_true(strlen(row->help) > 5);
        assert_non_null(option_section_find(app_catalog(), row->section));
        const bool words = strchr(row->choices, '|') != NULL; /* of a text: one of them, or a file */
        assert_true(row->type == OPTION_CHOICE ? words : !words || row->type == OPTION_TEXT);
        bool ranged = row->type == OPTION_INT || row->type == OPTION_REAL || row->type == OPTION_SIZE ||
                      row->type == OPTION_TIME || row->type == OPTION_INTLIST;
        assert_int_equal(ranged, row->min < row->max);
        check_traits(row);
        bool used = false;
        for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
            used = used || option_applies(command, id);
        }
        assert_true(used);
    }
}

static void test_command_sections_exist(void **state)
{
    (void)state;
    ASSERT_OK(option_catalog_check(app_catalog()));
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        char name[OPTION_WORD_MAX];
        const char *cursor = command->sections;
        while (option_list_next(&cursor, ',', name)) {
            assert_non_null(option_section_find(app_catalog(), name));
        }
        assert_true(option_section_used(command, "general"));
    }
}

static void test_names_are_unique_in_a_command(void **state)
{
    (void)state;
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        char names[512][OPTION_WORD_MAX];
        int count = 0;
        FOR_EVERY_OPTION(id)
        {
            if (!option_applies(command, id)) {
                continue;
            }
            const char *aliases = option_row_of(id)->aliases;
            put(names[count++], option_row_of(id)->name);
            while (option_list_next(&aliases, ',', names[count])) {
                count++;
            }
        }
        assert_true(count < 500);
        for (int i = 0; i < count; i++) {
            assert_true(strncmp(names[i], "no-", 3) != 0); /* that is how flags are switched off */
            for (int j = i + 1; j < count; j++) {
                if (strcmp(names[i], names[j]) == 0) {
                    fail_msg("weft %s: the name %s is given twice", command->name, names[i]);
                }
            }
        }
    }
}

/* ---- defaults and sources --------------------------------------------------------------------------------------- */

static void visit_default(const option_command *command, option_id id)
{
    weft_options *options = NULL;
    ASSERT_OK(parse(command, NULL, NULL, &options));
    if (option_row_of(id)->type == OPTION_INTLIST) {
        assert_string_equal(option_value_text(options, id), option_row_of(id)->default_text);
    } else {
        check_value(options, id, OPTION_DEFAULT, option_row_of(id)->default_text);
    }
    option_destroy(options);
}

static void visit_spelling(const option_command *command, option_id id, const char *spelling, bool letter)
{
    char text[OPTION_WORD_MAX], written[OPTION_WORD_MAX * 2];
    const option_row *row = option_row_of(id);
    for (int which = 0; which < 2; which++) {
        weft_options *options = NULL;
        sample(row, which, text);
        if (!letter) {
            snprintf(written, sizeof written, "--%s=%s", spelling, text);
            ASSERT_OK(parse(command, written, NULL, &options));
            check_value(options, id, OPTION_COMMAND_LINE, text);
            option_destroy(options);
        }
        if (id == OPT_HELP) {
            continue; /* its value is optional: only topics are taken from the next argument */
        }
        snprintf(written, sizeof written, letter ? "-%s" : "--%s", spelling);
        bool flag = row->type == OPTION_FLAG;
        ASSERT_OK(parse(command, written, flag ? NULL : text, &options));
        check_value(options, id, OPTION_COMMAND_LINE, flag ? "on" : text);
        option_destroy(options);
    }
}

static void visit_command_line(const option_command *command, option_id id)
{
    char name[OPTION_WORD_MAX];
    const char *aliases = option_row_of(id)->aliases;
    put(name, option_row_of(id)->name);
    visit_spelling(command, id, name, false);
    for (char *at = name; *at != '\0'; at++) {
        *at = (char)(*at == '-' ? '_' : *at);
    }
    visit_spelling(command, id, name, false);
    while (option_list_next(&aliases, ',', name)) {
        visit_spelling(command, id, name, name[1] == '\0');
    }
    if (option_row_of(id)->type == OPTION_FLAG) {
        char off[OPTION_WORD_MAX + 8];
        weft_options *options = NULL;
        snprintf(off, sizeof off, "--no-%s", option_row_of(id)->name);
        ASSERT_OK(parse(command, off, NULL, &options));
        check_value(options, id, OPTION_COMMAND_LINE, "off");
        option_destroy(options);
    }
}

static void visit_config(const option_command *command, option_id id)
{
    char text[OPTION_WORD_MAX], line[OPTION_WORD_MAX * 4];
    const option_row *row = option_row_of(id);
    for (int which = 0; which < 2; which++) {
        weft_options *options = NULL;
        snprintf(line, sizeof line, "[%s]\n%s = %s # why\n", row->section, row->name, sample(row, which, text));
        weft_status status = option_parse_config(command, "t.conf", line, strlen(line), &options);
        if (option_allowed_from(id, OPTION_FILE)) {
            ASSERT_OK(status);
            check_value(options, id, OPTION_FILE, text);
            option_destroy(options);
        } else {
            assert_int_equal(status, WEFT_ERR_USAGE);
            ASSERT_MESSAGE("t.conf: line 2");
            ASSERT_MESSAGE("command line");
        }
    }
}

static void visit_environment(const option_command *command, option_id id)
{
    char text[OPTION_WORD_MAX], variable[OPTION_ENV_MAX];
    const option_row *row = option_row_of(id);
    option_environment_name(row->name, variable);
    for (int which = 0; which < 2; which++) {
        weft_options *options = NULL;
        setenv(variable, sample(row, which, text), 1);
        ASSERT_OK(parse(command, NULL, NULL, &options));
        if (option_allowed_from(id, OPTION_ENVIRONMENT)) {
            check_value(options, id, OPTION_ENVIRONMENT, text);
        } else {
            assert_false(option_is_set(options, id));
        }
        option_destroy(options);
        unsetenv(variable);
    }
}

/* file < environment < command line, whichever the values. */
static void visit_precedence(const option_command *command, option_id id)
{
    char one[OPTION_WORD_MAX], other[OPTION_WORD_MAX], variable[OPTION_ENV_MAX], config[96],
        written[OPTION_WORD_MAX * 2];
    const option_row *row = option_row_of(id);
    weft_options *options = NULL;
    if (!option_allowed_from(id, OPTION_FILE) || !option_allowed_from(id, OPTION_ENVIRONMENT)) {
        return;
    }
    sample(row, 0, one);
    sample(row, 1, other);
    write_config(row->name, one);
    snprintf(config, sizeof config, "--config=%s", config_path);
    ASSERT_OK(parse(command, config, NULL, &options));
    check_value(options, id, OPTION_FILE, one);
    option_destroy(options);

    option_environment_name(row->name, variable);
    setenv(variable, other, 1);
    ASSERT_OK(parse(command, config, NULL, &options));
    check_value(options, id, OPTION_ENVIRONMENT, other);
    option_destroy(options);

    snprintf(written, sizeof written, "--%s=%s", row->name, one);
    ASSERT_OK(parse(command, config, written, &options));
    check_value(options, id, OPTION_COMMAND_LINE, one);
    option_destroy(options);
    unsetenv(variable);
    write_config(NULL, NULL);
}

static void test_every_default(void **state)
{
    (void)state;
    assert_true(for_every_option(visit_default) >= app_catalog()->count);
}

static void test_every_option_on_the_command_line(void **state)
{
    (void)state;
    for_every_option(visit_command_line);
}

static void test_every_option_in_a_config_file(void **state)
{
    (void)state;
    for_every_option(visit_config);
}

static void test_every_option_in_the_environment(void **state)
{
    (void)state;
    for_every_option(visit_environment);
}

static void test_every_precedence(void **state)
{
    (void)state;
    for_every_option(visit_precedence);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

/* The value is refused from all three sources, with the option's name and the limit in the message. */
static void refuse(const option_command *command, option_id id, const char *value, const char *message)
{
    const option_row *row = option_row_of(id);
    char written[OPTION_WORD_MAX * 4], variable[OPTION_ENV_MAX];
    weft_options *options = NULL;
    snprintf(written, sizeof written, "--%s=%s", row->name, value);
    ASSERT_STATUS(parse(command, written, NULL, &options), WEFT_ERR_USAGE);
    assert_null(options);
    ASSERT_MESSAGE(message);
    snprintf(written, sizeof written, "--%s", row->name);
    ASSERT_MESSAGE(written);
    if (option_allowed_from(id, OPTION_FILE)) {
        snprintf(written, sizeof written, "\n%s = %s", row->name, value);
        ASSERT_STATUS(option_parse_config(command, "t.conf", written, strlen(written), &options), WEFT_ERR_USAGE);
        ASSERT_MESSAGE(message);
        ASSERT_MESSAGE("t.conf: line 2");
    }
    if (option_allowed_from(id, OPTION_ENVIRONMENT)) {
        option_environment_name(row->name, variable);
        setenv(variable, value, 1);
        ASSERT_STATUS(parse(command, NULL, NULL, &options), WEFT_ERR_USAGE);
        unsetenv(variable);
        ASSERT_MESSAGE(message);
        ASSERT_MESSAGE(variable);
    }
}

static void visit_refusals(const option_command *command, option_id id)
{
    static const char *const garbage[] = {"1x", "nan", "inf", "-inf", "0x10", "1e999", "", " ", "1,5 2", "--"};
    const option_row *row = option_row_of(id);
    char text[NUMBER_TEXT_MAX];
    if (row->type == OPTION_TEXT) {
        refuse(command, id, "a\tb", "control characters");
        return;
    }
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        refuse(command, id, garbage[i], "");
    }
    if (row->type == OPTION_FLAG) {
        refuse(command, id, "maybe", "on or off");
    } else if (row->type == OPTION_CHOICE) {
        char choice[OPTION_WORD_MAX], near[OPTION_WORD_MAX + 2];
        snprintf(near, sizeof near, "%sx", sample(row, 0, choice));
        refuse(command, id, near, "must be one of");
        refuse(command, id, near, "did you mean");
    } else {
        double below = row->min - 1, above = row->type == OPTION_REAL ? row->max * 1.5 + 1 : row->max * 2;
        refuse(command, id, number_format_real(below, text), "must be between");
        refuse(command, id, number_format_real(above, text), "must be between");
    }
}

static void test_every_refusal(void **state)
{
    (void)state;
    for_every_option(visit_refusals);
}

/* ---- blob ------------------------------------------------------------------------------------------------------- */

static void visit_pack(const option_command *command, option_id id)
{
    char text[OPTION_WORD_MAX], written[OPTION_WORD_MAX * 2];
    weft_options *options = NULL, *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    snprintf(written, sizeof written, "--%s=%s", option_row_of(id)->name, sample(option_row_of(id), 0, text));
    ASSERT_OK(parse(command, written, NULL, &options));
    ASSERT_OK(option_pack(options, &blob, &bytes));
    ASSERT_OK(option_unpack(app_catalog(), blob, bytes, &copy));
    assert_ptr_equal(option_command_of(copy), command);
    assert_int_equal(option_argument_count(copy), option_argument_count(options));
    FOR_EVERY_OPTION(i)
    {
        assert_int_equal(option_source_of(copy, (option_id)i), option_source_of(options, (option_id)i));
        assert_string_equal(option_value_text(copy, (option_id)i), option_value_text(options, (option_id)i));
    }
    check_value(copy, id, OPTION_COMMAND_LINE, text);
    option_destroy(copy);
    option_destroy(options);
    weft_free(blob);
}

static void test_every_option_packs(void **state)
{
    (void)state;
    for_every_option(visit_pack);
}

/* Every cut and every damaged byte is refused or harmless: nothing is read past the end. */
static void test_damaged_blobs(void **state)
{
    (void)state;
    const option_command *command = NULL;
    weft_options *options = NULL, *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    ASSERT_OK(option_command_find(app_catalog(), "partition", &command));
    ASSERT_OK(parse(command, "--parts=7", "--balance=1.5", &options));
    ASSERT_OK(option_pack(options, &blob, &bytes));
    option_destroy(options);
    for (size_t length = 0; length < bytes; length++) {
        char *cut = malloc(length == 0 ? 1 : length);
        memcpy(cut, blob, length);
        weft_status status = option_unpack(app_catalog(), cut, length, &copy);
        assert_int_not_equal(status, WEFT_OK);
        assert_null(copy);
        free(cut);
    }
    for (size_t at = 0; at < bytes; at++) {
        unsigned char *bad = malloc(bytes);
        memcpy(bad, blob, bytes);
        bad[at] ^= 0xff;
        if (option_unpack(app_catalog(), bad, bytes, &copy) == WEFT_OK) {
            option_destroy(copy);
        }
        free(bad);
    }
    weft_free(blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_well_formed),
        cmocka_unit_test(test_command_sections_exist),
        cmocka_unit_test(test_names_are_unique_in_a_command),
        cmocka_unit_test(test_every_default),
        cmocka_unit_test(test_every_option_on_the_command_line),
        cmocka_unit_test(test_every_option_in_a_config_file),
        cmocka_unit_test(test_every_option_in_the_environment),
        cmocka_unit_test(test_every_precedence),
        cmocka_unit_test(test_every_refusal),
        cmocka_unit_test(test_every_option_packs),
        cmocka_unit_test(test_damaged_blobs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
