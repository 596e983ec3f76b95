/* app/setup/shell.c: see app/setup/shell.h. */
#include "app/setup/shell.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/text/append.h"

/* A word of n bytes and its NUL become at most 4 (n + 1) bytes, the blank before it included. */
enum { RAW_MAX = SHELL_COMMAND_MAX / 4 - 8 };

static bool is_plain(const char *word)
{
    bool plain = word[0] != '\0';
    for (const char *c = word; *c != '\0'; ++c) {
        plain = plain && ((unsigned char)*c < 0x80) && (isalnum((unsigned char)*c) || strchr("-_./:,=+@%", *c) != NULL);
    }
    return plain;
}

/* Free of control characters, and UTF-8. */
static bool is_printable(const char *word)
{
    while (*word != '\0') {
        uint32_t code;
        int length = utf8_length(word, &code);
        if (length == 0 || (length == 1 && iscntrl((unsigned char)*word))) {
            return false;
        }
        word += length;
    }
    return true;
}

static void append_escaped(char *text, size_t bytes, const char *word)
{
    text_append(text, bytes, "$'");
    for (const char *c = word; *c != '\0'; ++c) {
        char octal[8];
        unsigned char code = (unsigned char)*c;
        if (code >= 0x80 || iscntrl(code) || *c == '\'' || *c == '\\') {
            snprintf(octal, sizeof octal, "\\%03o", (unsigned)code);
            text_append(text, bytes, "%s", octal);
        } else {
            text_append(text, bytes, "%c", *c);
        }
    }
    text_append(text, bytes, "'");
}

void shell_append_word(char *text, size_t bytes, const char *word)
{
    if (is_plain(word)) {
        text_append(text, bytes, "%s", word);
        return;
    }
    if (!is_printable(word)) {
        append_escaped(text, bytes, word);
        return;
    }
    text_append(text, bytes, "'");
    for (const char *c = word; *c != '\0'; ++c) {
        if (*c == '\'') {
            text_append(text, bytes, "'\\''");
        } else {
            text_append(text, bytes, "%c", *c);
        }
    }
    text_append(text, bytes, "'");
}

/* This process's words, each ended by NUL; *count bytes, 0 when the system does not tell. */
static weft_status read_words(char raw[RAW_MAX + 1], ssize_t *count)
{
    raw[0] = '\0';
    *count = 0;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return WEFT_OK;
    }
    *count = file_read_at(fd, 0, raw, RAW_MAX);
    close(fd);
    WEFT_CHECK(*count >= 0, WEFT_ERR_IO, "/proc/self/cmdline cannot be read");
    raw[*count] = '\0';
    return WEFT_OK;
}

void shell_append_program(char *text, size_t bytes)
{
    char raw[RAW_MAX + 1];
    ssize_t count;
    const bool told = read_words(raw, &count) == WEFT_OK;
    const char *slash = told ? strrchr(raw, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : raw;
    shell_append_word(text, bytes, told && strcmp(name, "weft") == 0 ? raw : "weft");
}

static void write_words(char *text, const char *raw, ssize_t count)
{
    for (ssize_t at = 0; at < count; at += (ssize_t)strlen(raw + at) + 1) {
        text_append(text, SHELL_COMMAND_MAX, "%s", at > 0 ? " " : "");
        shell_append_word(text, SHELL_COMMAND_MAX, raw + at);
    }
    text_append(text, SHELL_COMMAND_MAX, "%s", count == RAW_MAX ? " ..." : "");
}

weft_status shell_command_line(char **text)
{
    char raw[RAW_MAX + 1];
    ssize_t count;
    WEFT_TRY(read_words(raw, &count));
    WEFT_TRY(WEFT_NEW_ZERO(text, SHELL_COMMAND_MAX, WEFT_MEM_GENERAL));
    write_words(*text, raw, count);
    return WEFT_OK;
}
