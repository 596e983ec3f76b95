/*
 * io/lock_record.c: see io/lock_record.h. One JSON object in a line, its last entry the beat, so that a beat is
 * one write of as many bytes at a place that does not move:
 *
 *     {"host": "node17", "process": 4711, ..., "since": "2024-05-01T12:00:00Z", "mark": "...", "beat": "0000000007"}
 */
#include "io/lock_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/json.h"

static void write_record(FILE *stream, const process_name *me)
{
    static atomic_uint counter;
    struct timespec now;
    struct tm parts;
    char since[32], mark[48];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(mark, sizeof mark, "%ld.%09ld-%u", (long)now.tv_sec, now.tv_nsec, atomic_fetch_add(&counter, 1U));
    json_writer json = json_begin(stream, false);
    json_object(&json, NULL);
    json_text(&json, "host", me->host);
    json_int(&json, "process", me->number);
    json_int(&json, "began", me->began);
    json_text(&json, "kernel", me->kernel);
    json_text(&json, "job", me->job);
    json_text(&json, "since", since);
    json_text(&json, "mark", mark);
    json_text(&json, "beat", "0000000000");
    json_end(&json);
    json_line_end(&json);
}

weft_status lock_record_make(lock_record *record)
{
    static const char tail[] = "\"}\n";
    process_name me;
    process_name_self(&me);
    memset(record, 0, sizeof *record);
    FILE *stream = fmemopen(record->text, sizeof record->text, "w");
    WEFT_CHECK(stream != NULL, WEFT_ERR_RESOURCE, "no memory for the record of a lock");
    write_record(stream, &me);
    const long bytes = ftell(stream);
    const bool whole = fflush(stream) == 0 && ferror(stream) == 0 && bytes > 0 && bytes < LOCK_RECORD_BYTES;
    (void)fclose(stream);
    WEFT_CHECK(whole, WEFT_ERR_IO, "the record of a lock takes more than %d bytes: the job's name is too long",
               LOCK_RECORD_BYTES - 1);
    record->bytes = (size_t)bytes;
    record->beat_at = record->bytes - (sizeof tail - 1) - LOCK_BEAT_DIGITS;
    return WEFT_OK;
}

static weft_status read_sight(int fd, const char *path, lock_sight *sight)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return weft_fail_errno(errno, path);
    }
    WEFT_CHECK(S_ISREG(facts.st_mode), WEFT_ERR_IO, "%s: is not a regular file: remove it", path);
    WEFT_CHECK(facts.st_size <= LOCK_RECORD_BYTES, WEFT_ERR_IO,
               "%s: %lld bytes; the file of a lock has at most %d: remove it", path, (long long)facts.st_size,
               LOCK_RECORD_BYTES);
    const ssize_t got = pread(fd, sight->text, LOCK_RECORD_BYTES, 0);
    if (got < 0) {
        return weft_fail_errno(errno, path);
    }
    sight->there = true;
    sight->bytes = (size_t)got;
    sight->device = facts.st_dev;
    sight->file = facts.st_ino;
    sight->changed = facts.st_mtim;
    return WEFT_OK;
}

weft_status lock_look(const char *path, lock_sight *sight)
{
    memset(sight, 0, sizeof *sight);
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ESTALE)) {
        return WEFT_OK;
    }
    WEFT_CHECK(fd >= 0 || errno != ELOOP, WEFT_ERR_IO, "%s: is a symbolic link: remove it", path);
    if (fd < 0) {
        return weft_fail_errno(errno, path);
    }
    const weft_status status = read_sight(fd, path, sight);
    close(fd);
    return status;
}

bool lock_same_sight(const lock_sight *a, const lock_sight *b)
{
    return a->there == b->there && a->bytes == b->bytes && a->device == b->device && a->file == b->file &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           memcmp(a->text, b->text, a->bytes) == 0;
}

bool lock_is_own(const lock_sight *sight, const lock_record *record)
{
    return sight->there && sight->bytes == record->bytes && memcmp(sight->text, record->text, record->beat_at) == 0;
}

static bool take_text(const json_value *root, const char *key, char *text, size_t bytes)
{
    const json_value *value = json_find(root, key);
    const bool good = value != NULL && value->kind == JSON_TEXT && strlen(value->text) < bytes;
    snprintf(text, bytes, "%s", good ? value->text : "");
    return good;
}

static bool take_int(const json_value *root, const char *key, int64_t *number)
{
    const json_value *value = json_find(root, key);
    const bool good = value != NULL && value->kind == JSON_NUMBER && value->integral;
    *number = good ? value->integer : 0;
    return good;
}

bool lock_read_holder(const lock_sight *sight, lock_holder *holder)
{
    json_document *document = NULL;
    process_name *p = &holder->process;
    memset(holder, 0, sizeof *holder);
    if (json_parse("lock", sight->text, sight->bytes, &document) != WEFT_OK) {
        weft_error_clear();
        return false;
    }
    const json_value *root = json_root(document);
    const bool good = root->kind == JSON_OBJECT && take_text(root, "host", p->host, sizeof p->host) &&
                      take_text(root, "kernel", p->kernel, sizeof p->kernel) &&
                      take_text(root, "job", p->job, sizeof p->job) &&
                      take_text(root, "since", holder->since, sizeof holder->since) &&
                      take_int(root, "process", &p->number) && take_int(root, "began", &p->began);
    json_free(document);
    return good;
}

void lock_describe(const lock_sight *sight, char *text, size_t bytes)
{
    lock_holder holder;
    if (!lock_read_holder(sight, &holder)) {
        snprintf(text, bytes, "a process that did not write its name");
        return;
    }
    snprintf(text, bytes, "process %lld on %s, since %s%s%s", (long long)holder.process.number, holder.process.host,
             holder.since, holder.process.job[0] != '\0' ? ", " : "", holder.process.job);
}
