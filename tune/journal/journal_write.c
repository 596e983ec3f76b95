/*
 * tune/journal/journal_write.c: appends lines to a journal, in groups.
 *
 * Lines of a group are composed in memory. A commit is one write and one fdatasync, whose time (0.1 to 10 ms) is shared
 * by all lines of the group. A write that fails half-way is taken back, so that the file ends with a whole line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tune/journal/journal.h"
#include "tune/journal/journal_layout.h"

struct journal {
    int fd;
    int64_t lines, bytes; /* lines: with those of the group; bytes: of the file */
    char *group;          /* [group_bytes] lines that are not committed */
    size_t group_bytes, group_room;
    FILE *line; /* that is being written; NULL: none */
    char *text; /* [length] of it, once closed */
    size_t length;
    json_writer json;
    char path[FILE_PATH_MAX];
};

/* ---- lines ---- */

static void drop_line(journal *j)
{
    if (j->line != NULL) {
        (void)fclose(j->line);
        j->line = NULL;
    }
    free(j->text);
    j->text = NULL;
}

weft_status journal_begin(journal *j, const char *event, json_writer **json)
{
    drop_line(j);
    *json = NULL;
    j->line = open_memstream(&j->text, &j->length);
    WEFT_CHECK(j->line != NULL, WEFT_ERR_RESOURCE, "%s: no memory for another line", j->path);
    j->json = json_begin(j->line, false);
    json_object(&j->json, NULL);
    json_int(&j->json, "seq", j->lines);
    json_text(&j->json, "event", event);
    *json = &j->json;
    return WEFT_OK;
}

static weft_status add_to_group(journal *j)
{
    const size_t most = j->length + JOURNAL_TAIL + sizeof "\n";
    if (j->group_room - j->group_bytes < most) {
        const size_t room = 2 * j->group_room + most;
        WEFT_TRY(weft_realloc((void **)&j->group, room, 1, WEFT_MEM_GENERAL));
        j->group_room = room;
    }
    const uint64_t sum = file_checksum(j->text, j->length, (uint64_t)j->lines);
    char *at = j->group + j->group_bytes;
    memcpy(at, j->text, j->length);
    snprintf(at + j->length, most - j->length, JOURNAL_SUM_BEFORE "%0*" PRIx64 JOURNAL_SUM_AFTER "\n", JOURNAL_DIGITS,
             sum);
    j->group_bytes += most - 1;
    j->lines++;
    return WEFT_OK;
}

weft_status journal_end(journal *j)
{
    weft_status status = WEFT_OK;
    const bool whole = fclose(j->line) == 0;
    j->line = NULL;
    WEFT_CHECK_GOTO(whole, status, done, WEFT_ERR_RESOURCE, "%s: no memory for another line", j->path);
    WEFT_CHECK_GOTO(j->length + JOURNAL_TAIL <= JOURNAL_LINE_MOST, status, done, WEFT_ERR_USAGE,
                    "%s: line %lld would have %zu bytes; at most %d", j->path, (long long)j->lines + 1, j->length,
                    JOURNAL_LINE_MOST);
    status = add_to_group(j);
done:
    drop_line(j);
    return status;
}

/* ---- the file ---- */

static weft_status write_group(const journal *j)
{
    for (size_t done = 0; done < j->group_bytes;) {
        const ssize_t n = write(j->fd, j->group + done, j->group_bytes - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            return file_fail_output(errno, j->path);
        }
    }
    return WEFT_OK;
}

weft_status journal_sync(const journal *j)
{
    return fdatasync(j->fd) == 0 ? WEFT_OK : file_fail_output(errno, j->path);
}

/* waits: until the lines are on the disk. A group that fails is taken back. */
static weft_status put_group(journal *j, bool waits)
{
    if (j->group_bytes == 0) {
        return WEFT_OK;
    }
    weft_status status = write_group(j);
    status = status == WEFT_OK && waits ? journal_sync(j) : status;
    if (status != WEFT_OK) {
        /* If this fails too, the torn line is left out by whoever resumes. */
        (void)!ftruncate(j->fd, (off_t)j->bytes);
        return status;
    }
    j->bytes += (int64_t)j->group_bytes;
    j->group_bytes = 0;
    return WEFT_OK;
}

weft_status journal_write(journal *j)
{
    return put_group(j, false);
}

weft_status journal_commit(journal *j)
{
    return put_group(j, true);
}

static weft_status write_first(journal *j, const char *space)
{
    json_writer *json = NULL;
    WEFT_TRY(journal_begin(j, "open", &json));
    json_text(json, "format", JOURNAL_FORMAT);
    json_int(json, "version", JOURNAL_VERSION);
    json_text(json, "space", space);
    WEFT_TRY(journal_end(j));
    return journal_commit(j);
}

static weft_status open_file(const char *path, int flags, journal **out)
{
    journal *j = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&j, 1, WEFT_MEM_GENERAL));
    weft_status status = file_path(j->path, "%s", path);
    j->fd = status == WEFT_OK ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0666) : -1;
    if (status == WEFT_OK && j->fd < 0) {
        status = errno == EEXIST ? weft_fail(WEFT_ERR_USAGE,
                                             "%s: there is the journal of a search already: resume it, or name another "
                                             "folder",
                                             path)
                                 : file_fail_output(errno, path);
    }
    if (status != WEFT_OK) {
        weft_free(j);
        return status;
    }
    *out = j;
    return WEFT_OK;
}

weft_status journal_create(const char *path, const char *space, journal **out)
{
    weft_status status = WEFT_OK;
    WEFT_TRY(open_file(path, O_CREAT | O_EXCL, out));
    WEFT_TRY_GOTO(write_first(*out, space), status, done);
    status = file_sync_parent(path);
done:
    if (status != WEFT_OK) {
        journal_close(*out);
        *out = NULL;
    }
    return status;
}

static weft_status cut_off(journal *j, const journal_facts *facts)
{
    j->lines = facts->lines;
    j->bytes = facts->bytes;
    if (facts->dropped > 0 && (ftruncate(j->fd, (off_t)facts->bytes) != 0 || fdatasync(j->fd) != 0)) {
        return file_fail_output(errno, j->path);
    }
    return WEFT_OK;
}

weft_status journal_resume(const char *path, const journal_reader *reader, journal_facts *facts, journal **out)
{
    weft_status status = WEFT_OK;
    *out = NULL;
    WEFT_TRY(journal_read(path, reader, facts));
    WEFT_TRY(open_file(path, 0, out));
    WEFT_TRY_GOTO(cut_off(*out, facts), status, done);
    if (facts->lines == 0) {
        status = write_first(*out, reader->space);
    }
done:
    if (status != WEFT_OK) {
        journal_close(*out);
        *out = NULL;
    }
    return status;
}

int64_t journal_lines(const journal *j)
{
    return j->lines;
}

int64_t journal_bytes(const journal *j)
{
    return j->bytes;
}

void journal_close(journal *j)
{
    if (j != NULL) {
        drop_line(j);
        (void)close(j->fd);
        WEFT_FREE_ALL(j->group, j);
    }
}
