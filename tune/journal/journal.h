/*
 * tune/journal/journal.h: the journal of a search: JSON lines, one an event, on disk before anybody acts on them.
 *
 * One process appends; there is no other file, no lock and no database. Whoever resumes the search reads the lines in
 * order and does again what they say.
 *
 *     {"seq": 0, "event": "open", "format": "weft-tune-journal", "version": 1, "space": "9f1c...", "sum": "..."}
 *     {"seq": 1, "event": "start", "trial": 0, ..., "sum": "64a1c0a2f00c7d19"}
 *
 * seq counts lines from 0. sum is the XXH3 of the line up to `, "sum"`, seeded with seq. Space is a digest (file_hash)
 * of everything that replay depends on: the search space and the options of searcher and scheduler.
 *
 *     WEFT_TRY(journal_create("search/trials.jsonl", digest, &journal));
 *     WEFT_TRY(journal_begin(journal, "start", &json));
 *     json_int(json, "trial", 0);
 *     WEFT_TRY(journal_end(journal));                               as many lines as there are events to answer
 *     WEFT_TRY(journal_commit(journal));                            one write and one fdatasync for all of them
 *     ...                                                           now the answers go out
 *
 * A program that is killed, or a machine that loses power, leaves at most the end of the last group of lines torn, for
 * which nobody had an answer yet. Damaged bytes at the end of the file are therefore left out with a warning; damage
 * that has whole lines behind it is refused.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/json.h"

enum { JOURNAL_SPACE_BYTES = 33, JOURNAL_LINE_MOST = 256 << 10 };

typedef struct journal_line {
    const char *where; /* "FILE: line 12", for messages */
    int64_t number;    /* of the line, from 1 */
    const char *event;
    const json_value *object; /* all members; gone after the visit, as `event` is */
} journal_line;

typedef struct journal_reader {
    const char *space; /* the digest that the journal must have; NULL: any */
    /* Called for each line but the first, in order. A failure ends the reading and is returned. NULL: not called. */
    weft_status (*visit)(void *self, const journal_line *line);
    void *self;
} journal_reader;

typedef struct journal_facts {
    int64_t lines;   /* whole ones, the first included */
    int64_t bytes;   /* of the whole lines */
    int64_t dropped; /* bytes behind them, which were torn */
    char space[JOURNAL_SPACE_BYTES];
} journal_facts;

typedef struct journal journal;

/*
 * Reads a journal and changes nothing. WEFT_ERR_NOINPUT: there is none. WEFT_ERR_DATA: it is none, of a later version,
 * or damaged before its end, with the line and a cure. WEFT_ERR_USAGE: it has another space. [out] facts: complete
 * after WEFT_OK only; lines 0: not even the first line was written.
 */
weft_status journal_read(const char *path, const journal_reader *reader, journal_facts *facts);

/* A new journal whose first line is on disk. WEFT_ERR_USAGE: the file exists. Otherwise as file_fail_output. */
weft_status journal_create(const char *path, const char *space, journal **out);

/* Reads a journal as journal_read does, cuts off what was torn, and goes on behind its last line. [out] facts: of the
 * journal as it was, with lines 0 if it had to begin anew, with reader->space, which must not be NULL then. */
weft_status journal_resume(const char *path, const journal_reader *reader, journal_facts *facts, journal **out);

/* Begins a line, in the place of one that was begun and not ended. The caller adds members other than seq, event and
 * sum, and calls journal_end, which ends the life of *json. WEFT_ERR_RESOURCE */
weft_status journal_begin(journal *j, const char *event, json_writer **json);
/* WEFT_ERR_USAGE: the line has more than JOURNAL_LINE_MOST bytes. WEFT_ERR_RESOURCE. The line is left out then. */
weft_status journal_end(journal *j);

/* Writes the lines since the last commit, and waits until they are on disk; nothing to do without any. WEFT_ERR_IO: the
 * disk is full or failed: nobody may be answered, and the journal keeps the lines before. */
weft_status journal_commit(journal *j);

/*
 * The two halves of a commit, for those who answer several askers: journal_write writes the lines since the last write,
 * and journal_sync waits until what was written before is on disk. journal_sync alone may run beside the other
 * functions, in one thread at a time. After its failure nobody may be answered, and the journal is only closed.
 */
weft_status journal_write(journal *j);
weft_status journal_sync(const journal *j);

/* Lines so far, those included that are not committed yet. */
int64_t journal_lines(const journal *j);
/* Bytes of the file. */
int64_t journal_bytes(const journal *j);

/* Closes without a commit: lines that were not committed are lost. NULL is allowed. */
void journal_close(journal *j);
