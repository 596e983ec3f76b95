/* Words for a shell: bash itself reads them back. */
#include <errno.h>
#include <unistd.h>

#include "app/setup/shell.h"
#include "base/alloc.h"
#include "base/escape.h"
#include "support/test.h"

static const char *const words[] = {
    "",
    "plain",
    "--lr=0.01",
    "synth:quickstart,scale=0.01",
    "a b",
    "it's",
    "'",
    "$HOME `x`",
    "\"q\" \\",
    "a;b|c&d>e<f",
    "*?[a]{b}~",
    "#not",
    "-",
    "!history",
    "tab\tnew\nline",
    "\x01\x7f",
    "grün – 漢",
    "\xff\xc0\xaf not UTF-8",
    "\x80'\\",
    "100%,@+_/",
    "a=b c",
};
enum { WORDS = sizeof words / sizeof *words };

/* What printf '%s\0' WORD... writes, for words as a shell line. */
static size_t ask_bash(const char *line, char *answer, size_t capacity)
{
    char script[8192];
    int n = snprintf(script, sizeof script, "printf '%%s\\0' %s", line);
    assert_in_range(n, 1, sizeof script - 1);
    char path[] = "/tmp/weft-shell-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, (size_t)n), n);
    close(fd);
    char command[256];
    snprintf(command, sizeof command, "bash %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t bytes = fread(answer, 1, capacity, pipe);
    assert_int_equal(pclose(pipe), 0);
    unlink(path);
    return bytes;
}

static void test_words(void **state)
{
    (void)state;
    char line[4096] = "";
    char answer[4096];
    for (int i = 0; i < WORDS; ++i) {
        snprintf(line + strlen(line), sizeof line - strlen(line), " ");
        shell_append_word(line, sizeof line, words[i]);
    }
    uint32_t code;
    for (const char *c = line; *c != '\0'; c += utf8_length(c, &code)) {
        assert_int_not_equal(utf8_length(c, &code), 0);
        assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
    size_t bytes = ask_bash(line, answer, sizeof answer);
    size_t at = 0;
    for (int i = 0; i < WORDS; ++i) {
        assert_in_range(at, 0, bytes - 1);
        assert_string_equal(answer + at, words[i]);
        at += strlen(words[i]) + 1;
    }
    assert_int_equal(at, bytes);
}

static void test_plain_words_stay(void **state)
{
    (void)state;
    char text[64] = "weft ";
    shell_append_word(text, sizeof text, "--lr=0.01");
    assert_string_equal(text, "weft --lr=0.01");
    char small[8] = "";
    shell_append_word(small, sizeof small, "longer than that");
    assert_string_equal(small, "'longer"); /* cut off, not beyond */
}

/* This process was started without arguments: one word, its own name. */
static void test_command_line(void **state)
{
    (void)state;
    char *text = NULL;
    char expected[SHELL_COMMAND_MAX] = "";
    ASSERT_OK(shell_command_line(&text));
    assert_non_null(strstr(text, "unit_app_shell"));
    shell_append_word(expected, sizeof expected, program_invocation_name);
    assert_string_equal(text, expected);
    weft_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_plain_words_stay),
        cmocka_unit_test(test_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
