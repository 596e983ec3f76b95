/*
 * Agreement of everything that is generated with the table: each output has an entry for each option that applies, with
 * its default, aliases and choices; the config template parses back to the defaults.
 */
#include <ctype.h>

#include "option/option_internal.h"
#include "support/options.h"
#include "support/test.h"

typedef struct output {
    char *text;
    size_t bytes;
    FILE *stream;
} output;

static output output_begin(void)
{
    output out = {NULL, 0, NULL};
    return out;
}

static void output_end(output *out)
{
    assert_int_equal(fclose(out->stream), 0);
}

#define PRINT(out, call)                                                                                               \
    do {                                                                                                               \
        (out).stream = open_memstream(&(out).text, &(out).bytes);                                                      \
        assert_non_null((out).stream);                                                                                 \
        call;                                                                                                          \
        output_end(&(out));                                                                                            \
    } while (0)

static void default_text(const option_row *row, char text[128])
{
    snprintf(text, 128, row->default_text[0] != '\0' ? "default %s" : "no default", row->default_text);
}

/* Blanks of any length become one, so that wrapped lines compare. */
static char *squeeze(const char *text, size_t length)
{
    char *result = malloc(length + 1), *to = result;
    for (size_t i = 0; i < length; i++) {
        bool blank = text[i] == ' ' || text[i] == '\n';
        if (!blank || (to > result && to[-1] != ' ')) {
            *to++ = blank ? ' ' : text[i];
        }
    }
    *to = '\0';
    return result;
}

/* The section of the text between two marks must hold an entry that begins with `entry`, ends before `next` and
 * mentions default and help. */
static void check_entry(const char *text, const char *section_mark, const char *section_end, const char *entry,
                        const char *next, const option_row *row)
{
    const char *section = strstr(text, section_mark);
    if (section == NULL) {
        fail_msg("no section \"%s\"", section_mark);
        return;
    }
    const char *end = strstr(section + 1, section_end);
    const char *start = strstr(section, entry);
    if (start == NULL || (end != NULL && start > end)) {
        fail_msg("no entry \"%s\" in \"%s\"", entry, section_mark);
        return;
    }
    const char *stop = strstr(start + strlen(entry), next);
    stop = stop == NULL || (end != NULL && end < stop) ? end : stop;
    char *block = squeeze(start, stop != NULL ? (size_t)(stop - start) : strlen(start)), expected[128];
    default_text(row, expected);
    if (strstr(block, expected) == NULL) {
        fail_msg("entry of %s does not say \"%s\": %s", row->name, expected, block);
    }
    if (strstr(block, row->help) == NULL) {
        fail_msg("entry of %s does not have its help: %s", row->name, block);
    }
    const char *aliases = row->aliases;
    char alias[OPTION_WORD_MAX];
    while (option_list_next(&aliases, ',', alias)) {
        if (strstr(text, alias) == NULL) {
            fail_msg("the alias %s of %s is missing", alias, row->name);
        }
    }
    free(block);
}

static void test_help(void **state)
{
    (void)state;
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        output out = output_begin();
        PRINT(out, option_print_help(out.stream, command, NULL));
        FOR_EVERY_OPTION(id)
        {
            const option_row *row = option_row_of(id);
            char mark[64], entry[128];
            snprintf(mark, sizeof mark, "[%s]: ", row->section);
            snprintf(entry, sizeof entry, "--%s%s%s", row->name, id == OPT_HELP ? "[=" : " ", option_placeholder(row));
            if (option_applies(command, id)) {
                check_entry(out.text, mark, "\n\n", entry, "\n  -", row);
            } else {
                assert_null(strstr(out.text, mark));
            }
        }
        for (const char *line = out.text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
            assert_true(strcspn(line, "\n") <= 110);
        }
        free(out.text);
    }
}

static void test_help_of_a_section(void **state)
{
    (void)state;
    output out = output_begin();
    PRINT(out, option_print_help(out.stream, &app_catalog()->commands[0], "model"));
    assert_non_null(strstr(out.text, "--hidden N"));
    assert_null(strstr(out.text, "--lr"));
    free(out.text);
}

static void test_exit_codes(void **state)
{
    (void)state;
    output out = output_begin(), man = output_begin(), markdown = output_begin();
    PRINT(out, option_print_help(out.stream, &app_catalog()->bare, "exit-codes"));
    PRINT(man, option_print_man(app_catalog(), man.stream));
    PRINT(markdown, option_print_markdown(app_catalog(), markdown.stream));
#define CHECK_STATUS(name, value, description)                                                                         \
    {                                                                                                                  \
        char line[160];                                                                                                \
        snprintf(line, sizeof line, "  %3d  %s\n", value, description);                                                \
        assert_non_null(strstr(out.text, line));                                                                       \
        snprintf(line, sizeof line, "| %d | %s |\n", value, description);                                              \
        assert_non_null(strstr(markdown.text, line));                                                                  \
        snprintf(line, sizeof line, ".TP\n%d\n", value);                                                               \
        assert_non_null(strstr(man.text, line));                                                                       \
    }
    WEFT_STATUS_LIST(CHECK_STATUS)
#undef CHECK_STATUS
    assert_non_null(strstr(out.text, "  137  "));
    assert_non_null(strstr(man.text, ".TP\n137\n"));
    assert_non_null(strstr(markdown.text, "| 137 | "));
    free(out.text);
    free(man.text);
    free(markdown.text);
}

/* roff escapes undone, so that the page compares with the table. */
static void unescape(char *text)
{
    static const char *const from[] = {"\\-", "\\e", "\\(ga", "\\(aq", "\\&", "\\fB", "\\fI", "\\fR"};
    static const char to[] = {'-', '\\', '`', '\'', 0, 0, 0, 0};
    char *out = text;
    while (*text != '\0') {
        size_t i = 0;
        while (i < 8 && strncmp(text, from[i], strlen(from[i])) != 0) {
            i++;
        }
        if (i == 8) {
            *out++ = *text++;
            continue;
        }
        if (to[i] != 0) {
            *out++ = to[i];
        }
        text += strlen(from[i]);
    }
    *out = '\0';
}

static void test_man(void **state)
{
    (void)state;
    output out = output_begin();
    PRINT(out, option_print_man(app_catalog(), out.stream));
    unescape(out.text);
    FOR_EVERY_OPTION(id)
    {
        const option_row *row = option_row_of(id);
        char mark[64], entry[128];
        const char *placeholder = option_placeholder(row);
        snprintf(mark, sizeof mark, ": section %s\"", row->section);
        snprintf(entry, sizeof entry, ".TP\n--%s%s%s", row->name, placeholder[0] != '\0' ? " " : "", placeholder);
        check_entry(out.text, mark, "\n.S", entry, "\n.TP", row);
    }
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        char mark[64];
        snprintf(mark, sizeof mark, ".SS weft %s", command->name);
        const char *at = strstr(out.text, mark);
        const char *sections = command->sections;
        char section[OPTION_WORD_MAX];
        while (at != NULL && option_list_next(&sections, ',', section)) {
            at = strstr(at, section);
        }
        assert_non_null(at);
    }
    free(out.text);
}

static void test_markdown(void **state)
{
    (void)state;
    output out = output_begin();
    PRINT(out, option_print_markdown(app_catalog(), out.stream));
    for (char *at = strstr(out.text, "\\|"); at != NULL; at = strstr(at, "\\|")) { /* the escape of '|' */
        memmove(at, at + 1, strlen(at));
    }
    FOR_EVERY_OPTION(id)
    {
        const option_row *row = option_row_of(id);
        char mark[64], entry[128];
        const char *placeholder = option_placeholder(row);
        snprintf(mark, sizeof mark, ": section `%s`", row->section);
        snprintf(entry, sizeof entry, "| `--%s` | %s |", row->name, placeholder[0] != '\0' ? placeholder : "on|off");
        check_entry(out.text, mark, "\n## ", entry, "\n|", row);
    }
    free(out.text);
}

/* As a whole, and not as the beginning of a longer one. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    const char *at = strstr(text, word);
    while (at != NULL && (isalnum((unsigned char)at[length]) || at[length] == '-')) {
        at = strstr(at + length, word);
    }
    return at != NULL;
}

static void test_completion(void **state)
{
    (void)state;
    output out = output_begin();
    PRINT(out, option_print_completion(app_catalog(), out.stream));
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        char mark[OPTION_WORD_MAX], word[OPTION_WORD_MAX + 8];
        snprintf(mark, sizeof mark, "\n    %s)\n", command->name);
        const char *start = strstr(out.text, mark);
        assert_non_null(start);
        char *block = strndup(start, (size_t)(strstr(start, "esac") - start));
        char *words = strndup(strstr(block, "words=\""), strcspn(strstr(block, "words=\"") + 7, "\"") + 7);
        FOR_EVERY_OPTION(id)
        {
            const option_row *row = option_row_of(id);
            if (!option_applies(command, id)) {
                continue;
            }
            snprintf(word, sizeof word, " --%s", row->name);
            if (strstr(words, word) == NULL) {
                fail_msg("completion of weft %s lacks%s", command->name, word);
            }
            snprintf(word, sizeof word, " --%s", row->name);
            assert_int_equal(row->type != OPTION_FLAG, has_word(strstr(block, "case $prev"), word));
            char choice[OPTION_WORD_MAX];
            const char *choices = row->choices;
            while (option_list_next(&choices, '|', choice)) {
                assert_non_null(strstr(block, choice));
            }
        }
        free(words);
        free(block);
    }
    free(out.text);
}

static void check_template_is_default(const option_command *command, const char *text, size_t bytes,
                                      option_source source)
{
    weft_options *options = NULL;
    ASSERT_OK(option_parse_config(command, "template", text, bytes, &options));
    FOR_EVERY_OPTION(id)
    {
        bool listed = option_applies(command, id) && option_allowed_from(id, OPTION_FILE);
        assert_int_equal(option_source_of(options, id), listed ? source : OPTION_DEFAULT);
        assert_string_equal(option_value_text(options, id), option_row_of(id)->default_text);
    }
    option_destroy(options);
}

/* "#name = value" becomes "name = value"; prose begins with "# ". */
static size_t uncomment(char *text)
{
    char *out = text;
    for (char *at = text; *at != '\0'; at++) {
        bool setting = *at == '#' && (at == text || at[-1] == '\n') && at[1] != ' ';
        if (!setting) {
            *out++ = *at;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static void test_config_template(void **state)
{
    (void)state;
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        output out = output_begin();
        weft_options *defaults = NULL;
        ASSERT_OK(option_create(command, &defaults));
        PRINT(out, option_print_config(out.stream, defaults));
        option_destroy(defaults);
        FOR_EVERY_OPTION(id)
        {
            const option_row *row = option_row_of(id);
            char mark[64], entry[256];
            if (!option_applies(command, id) || !option_allowed_from(id, OPTION_FILE)) {
                continue;
            }
            snprintf(mark, sizeof mark, "\n[%s]\n", row->section);
            snprintf(entry, sizeof entry, "# %s\n", row->help);
            check_entry(out.text, mark, "\n[", entry, "\n\n", row);
            snprintf(entry, sizeof entry, "\n#%s = %s\n", row->name, row->default_text);
            assert_non_null(strstr(out.text, entry));
        }
        check_template_is_default(command, out.text, out.bytes, OPTION_DEFAULT);
        check_template_is_default(command, out.text, uncomment(out.text), OPTION_FILE);
        free(out.text);
    }
}

static void test_overview(void **state)
{
    (void)state;
    output out = output_begin();
    PRINT(out, option_print_overview(app_catalog(), out.stream));
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        assert_non_null(strstr(out.text, command->name));
        assert_non_null(strstr(out.text, command->summary));
    }
    free(out.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_of_a_section),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_man),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_config_template),
        cmocka_unit_test(test_overview),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
