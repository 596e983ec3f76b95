/* app/setup/shell.h: words as a shell reads them back, and the command line that started this process. */
#pragma once

#include <stddef.h>

#include "base/status.h"

enum { SHELL_COMMAND_MAX = 32768 };

/*
 * Append a word to a text of `bytes` bytes, ended by NUL and cut off at its end. A word that a POSIX shell would change
 * stands in single quotes; one with control characters or bytes that are no UTF-8 is written $'...\ooo...', as bash,
 * zsh and POSIX.1-2024 read it: the text itself is always printable UTF-8.
 */
void shell_append_word(char *text, size_t bytes, const char *word);

/* Append weft as this process was called, "build/release/weft"; "weft" where another program has the library in it. */
void shell_append_program(char *text, size_t bytes);

/* [out] text: the words of this process's command line, separated by blanks; "" when the system does not tell. A line
 * of more than SHELL_COMMAND_MAX / 4 bytes is cut off, and ends in " ...". Free with weft_free. */
weft_status shell_command_line(char **text);
