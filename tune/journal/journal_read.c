/*
 * tune/journal/journal_read.c: reads a journal with suspicion.
 *
 * A line counts if its checksum is that of its bytes and its number is the next one; only then is it parsed. The first
 * that does not count ends the reading. If whole lines stand at or behind it, whatever their number, something has
 * changed the file and it is refused; otherwise the rest is the torn end of the last group.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "tune/journal/journal.h"
#include "tune/journal/journal_layout.h"

typedef struct text_line {
    const char *text; /* [length] without its end */
    size_t length;
    bool ended; /* by a line end */
} text_line;

static text_line line_at(const file_map *map, size_t at)
{
    const char *text = (const char *)map->data + at;
    const char *end = memchr(text, '\n', map->size - at);
    return (text_line){text, end != NULL ? (size_t)(end - text) : map->size - at, end != NULL};
}

/* The number that a line claims; -1: none. */
static int64_t claimed_number(const text_line *line)
{
    char digits[NUMBER_TEXT_MAX] = "";
    int64_t number = -1;
    const size_t first = sizeof JOURNAL_FIRST - 1;
    size_t n = 0;
    if (line->length <= first || memcmp(line->text, JOURNAL_FIRST, first) != 0) {
        return -1;
    }
    while (n + 1 < sizeof digits && first + n < line->length && line->text[first + n] != ',') {
        digits[n] = line->text[first + n];
        n++;
    }
    return number_parse_int(digits, &number) && number >= 0 ? number : -1;
}

/* True if the line ends with the checksum of its bytes. [out] number: of the line, from 0 */
static bool is_whole(const text_line *line, int64_t *number)
{
    char expected[JOURNAL_TAIL + 1];
    *number = claimed_number(line);
    if (!line->ended || *number < 0 || line->length < JOURNAL_TAIL || line->length > JOURNAL_LINE_MOST) {
        return false;
    }
    const size_t body = line->length - JOURNAL_TAIL;
    snprintf(expected, sizeof expected, JOURNAL_SUM_BEFORE "%0*" PRIx64 JOURNAL_SUM_AFTER, JOURNAL_DIGITS,
             file_checksum(line->text, body, (uint64_t)*number));
    return memcmp(line->text + body, expected, JOURNAL_TAIL) == 0;
}

/* ---- what lines say ---- */

static weft_status check_first(const char *where, const json_value *object, const char *space, journal_facts *facts)
{
    int64_t version = 0;
    const char *own = NULL;
    WEFT_TRY(json_expect_text(where, object, "event", "open"));
    WEFT_TRY(json_expect_text(where, object, "format", JOURNAL_FORMAT));
    WEFT_TRY(json_get_int(where, object, "version", 1, INT64_MAX, &version));
    WEFT_CHECK(version == JOURNAL_VERSION, WEFT_ERR_DATA,
               "%s: a journal of version %lld; this program reads version %d: use the program that wrote it", where,
               (long long)version, JOURNAL_VERSION);
    WEFT_TRY(json_get_text(where, object, "space", &own));
    WEFT_CHECK(strlen(own) < sizeof facts->space, WEFT_ERR_DATA, "%s: \"space\" is %zu bytes; at most %d", where,
               strlen(own), JOURNAL_SPACE_BYTES - 1);
    memcpy(facts->space, own, strlen(own) + 1);
    WEFT_CHECK(
        space == NULL || strcmp(space, own) == 0, WEFT_ERR_USAGE,
        "%s: the journal is of another search: its space and options have the digest %s, those that are asked for "
        "%s: resume it with the ones with which it began, or begin a new search",
        where, own, space);
    return WEFT_OK;
}

static weft_status take_object(const journal_reader *reader, const char *where, const json_value *object,
                               journal_facts *facts)
{
    journal_line line = {.where = where, .number = facts->lines + 1, .object = object};
    WEFT_CHECK(object->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: expected an object", where);
    if (facts->lines == 0) {
        return check_first(where, object, reader->space, facts);
    }
    WEFT_TRY(json_get_text(where, object, "event", &line.event));
    return reader->visit != NULL ? reader->visit(reader->self, &line) : WEFT_OK;
}

static weft_status take_line(const char *path, const journal_reader *reader, const text_line *line,
                             journal_facts *facts)
{
    char where[FILE_PATH_MAX + NUMBER_TEXT_MAX];
    json_document *document = NULL;
    snprintf(where, sizeof where, "%s: line %lld", path, (long long)facts->lines + 1);
    WEFT_TRY(json_parse(where, line->text, line->length, &document));
    const weft_status status = take_object(reader, where, json_root(document), facts);
    json_free(document);
    if (status == WEFT_OK) {
        facts->lines++;
        facts->bytes += (int64_t)line->length + 1;
    }
    return status;
}

/* Nothing whole may stand at or behind the first damaged byte. */
static weft_status check_rest(const char *path, const file_map *map, const journal_facts *facts)
{
    int64_t number = 0;
    for (size_t at = (size_t)facts->bytes; at < map->size;) {
        const text_line line = line_at(map, at);
        WEFT_CHECK(!is_whole(&line, &number), WEFT_ERR_DATA,
                   "%s: line %lld: damaged or missing, and a whole line, number %lld, follows: another program or the "
                   "disk changed the file. Put back a copy, or keep what stands before by \"head -n %lld\" and resume: "
                   "what trials did since is done again",
                   path, (long long)facts->lines + 1, (long long)number + 1, (long long)facts->lines);
        at += line.length + 1;
    }
    return WEFT_OK;
}

static weft_status take_lines(const char *path, const journal_reader *reader, const file_map *map, journal_facts *facts)
{
    int64_t number = 0;
    while ((size_t)facts->bytes < map->size) {
        const text_line line = line_at(map, (size_t)facts->bytes);
        if (!is_whole(&line, &number) || number != facts->lines) {
            break;
        }
        WEFT_TRY(take_line(path, reader, &line, facts));
    }
    facts->dropped = (int64_t)map->size - facts->bytes;
    return check_rest(path, map, facts);
}

weft_status journal_read(const char *path, const journal_reader *reader, journal_facts *facts)
{
    file_map map;
    memset(facts, 0, sizeof *facts);
    WEFT_TRY(file_map_open(path, &map));
    const weft_status status = take_lines(path, reader, &map, facts);
    file_map_close(&map);
    if (status == WEFT_OK && facts->dropped > 0) {
        log_warn("%s: the last %lld bytes, behind line %lld, are no whole line: the program ended while it wrote. They "
                 "are left out",
                 path, (long long)facts->dropped, (long long)facts->lines);
    }
    return status;
}
