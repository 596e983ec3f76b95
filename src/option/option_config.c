/*
 * option/option_config.c: config files.
 *
 *   # a comment, on a line of its own or after a blank
 *   [training]              a section of the table; the options below it must be of that section
 *   lr = 0.005
 *   run-dir = "a # b"       double quotes keep blanks and '#'; "" between them is one quote, and there are no escapes
 *
 * Lines before the first header may hold options of any section. Every error names file and line. At most 1 MiB. A byte
 * order mark, which editors of Windows put before the first line, is read over.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "option/option_internal.h"

enum { CONFIG_MAX_BYTES = 1 << 20, CONFIG_MAX_LINE = 8192, CONFIG_PLACE_MAX = 512 };

static const char byte_order_mark[] = "\xEF\xBB\xBF";

typedef struct config_reader {
    weft_options *options;
    const char *name;
    int line;
    char section[OPTION_WORD_MAX]; /* "" before the first header */
} config_reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cut blanks at both ends, in place. */
static char *trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) {
        text[--length] = '\0';
    }
    while (is_blank(*text)) {
        text++;
    }
    return text;
}

/* Cut the comment: '#' at the start or after a blank, outside of quotes. */
static void cut_comment(char *text)
{
    bool quoted = false;
    for (char *at = text; *at != '\0'; at++) {
        quoted ^= *at == '"';
        if (*at == '#' && !quoted && (at == text || is_blank(at[-1]))) {
            *at = '\0';
            return;
        }
    }
}

static weft_status parse_header(config_reader *config, char *text)
{
    size_t length = strlen(text);
    const char *names[OPTION_LIST_MAX];
    int count = 0;
    WEFT_CHECK(text[length - 1] == ']', WEFT_ERR_USAGE, "%s: line %d: a section header ends with ']'", config->name,
               config->line);
    text[length - 1] = '\0';
    char *name = trim(text + 1);
    const option_catalog *catalog = config->options->command->catalog;
    if (option_section_find(catalog, name) == NULL) {
        for (const option_section *section = catalog->sections; section->name != NULL; section++) {
            names[count++] = section->name;
        }
        const char *near = nearest_word(name, names, count);
        return weft_fail(WEFT_ERR_USAGE, "%s: line %d: unknown section [%s]%s%s%s", config->name, config->line, name,
                         near != NULL ? ": did you mean [" : "", near != NULL ? near : "", near != NULL ? "]?" : "");
    }
    snprintf(config->section, sizeof config->section, "%s", name);
    return WEFT_OK;
}

static weft_status find_option(const config_reader *config, const char *name, option_id *id)
{
    char found[OPTION_WORD_MAX];
    const option_command *command = config->options->command;
    *id = option_find(command, name, false);
    if (*id == OPTION_NONE) {
        const char *near = option_nearest_name(command->catalog, command, name, found);
        const char *foreign = option_foreign_answer(command->catalog, name);
        if (foreign != NULL) {
            return weft_fail(WEFT_ERR_USAGE, "%s: line %d: unknown option \"%s\": %s", config->name, config->line, name,
                             foreign);
        }
        return weft_fail(WEFT_ERR_USAGE, "%s: line %d: unknown option \"%s\" of weft %s%s%s%s", config->name,
                         config->line, name, command->name, near != NULL ? ": did you mean " : "",
                         near != NULL ? near : "", near != NULL ? "?" : "");
    }
    WEFT_CHECK(option_allowed_from(*id, OPTION_FILE), WEFT_ERR_USAGE, "%s: line %d: %s belongs on the command line",
               config->name, config->line, name);
    const char *section = option_row_in(config->options, *id)->section;
    WEFT_CHECK(config->section[0] == '\0' || strcmp(section, config->section) == 0, WEFT_ERR_USAGE,
               "%s: line %d: %s belongs below [%s], not below [%s]", config->name, config->line, name, section,
               config->section);
    return WEFT_OK;
}

/* In place: what is between the quotes is never longer than with them. */
static weft_status unquote(const config_reader *config, char **value)
{
    const char *from = *value + 1;
    char *to = *value;
    if (**value != '"') {
        WEFT_CHECK(strchr(*value, '"') == NULL, WEFT_ERR_USAGE,
                   "%s: line %d: a quote inside a value: quote all of it, and write this one twice", config->name,
                   config->line);
        return WEFT_OK;
    }
    for (; *from != '\0' && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"'; /* the second of two */
        *to++ = *from;
    }
    WEFT_CHECK(from[0] == '"' && from[1] == '\0', WEFT_ERR_USAGE,
               "%s: line %d: the quoted value is not closed at its end", config->name, config->line);
    *to = '\0';
    return WEFT_OK;
}

static weft_status parse_assignment(const config_reader *config, char *text)
{
    char *equals = strchr(text, '=');
    char spelled[CONFIG_PLACE_MAX];
    option_id id = OPTION_NONE;
    WEFT_CHECK(equals != NULL && equals != text, WEFT_ERR_USAGE,
               "%s: line %d: expected \"name = value\" or \"[section]\"", config->name, config->line);
    *equals = '\0';
    char *name = trim(text), *value = trim(equals + 1);
    WEFT_TRY(find_option(config, name, &id));
    WEFT_TRY(unquote(config, &value));
    snprintf(spelled, sizeof spelled, "%s: line %d: %s = %s", config->name, config->line, name, value);
    return option_set(config->options, id, OPTION_FILE, spelled, value);
}

static weft_status parse_line(config_reader *config, const char *text, size_t length)
{
    char line[CONFIG_MAX_LINE];
    WEFT_CHECK(length < sizeof line, WEFT_ERR_USAGE, "%s: line %d: longer than %d bytes", config->name, config->line,
               CONFIG_MAX_LINE - 1);
    memcpy(line, text, length);
    length -= length > 0 && line[length - 1] == '\r';
    line[length] = '\0';
    WEFT_CHECK(memchr(line, '\0', length) == NULL, WEFT_ERR_USAGE, "%s: line %d: a NUL byte: not a text file",
               config->name, config->line);
    cut_comment(line);
    char *trimmed = trim(line);
    if (*trimmed == '\0') {
        return WEFT_OK;
    }
    return *trimmed == '[' ? parse_header(config, trimmed) : parse_assignment(config, trimmed);
}

static weft_status apply_config(weft_options *options, const char *name, const char *text, size_t bytes)
{
    config_reader config = {.options = options, .name = name, .line = 1};
    const char *at = text, *end = text + bytes;
    WEFT_CHECK(bytes <= CONFIG_MAX_BYTES, WEFT_ERR_USAGE, "%s: %zu bytes, at most %d are read", name, bytes,
               CONFIG_MAX_BYTES);
    at += bytes >= sizeof byte_order_mark - 1 && memcmp(at, byte_order_mark, sizeof byte_order_mark - 1) == 0
              ? sizeof byte_order_mark - 1
              : 0;
    for (; at < end; config.line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        WEFT_TRY(parse_line(&config, at, (size_t)(line_end - at)));
        at = newline != NULL ? newline + 1 : end;
    }
    return WEFT_OK;
}

weft_status option_apply_config_file(weft_options *options, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    weft_status status = file_read_text(path, CONFIG_MAX_BYTES, &text, &bytes);
    if (status != WEFT_OK) {
        return weft_fail_context(status, "config file: ");
    }
    status = apply_config(options, path, text, bytes);
    weft_free(text);
    return status;
}

weft_status option_parse_config(const option_command *command, const char *name, const char *text, size_t bytes,
                                weft_options **options)
{
    WEFT_TRY(option_create(command, options));
    weft_status status = apply_config(*options, name, text, bytes);
    if (status != WEFT_OK) {
        option_destroy(*options);
        *options = NULL;
    }
    return status;
}
