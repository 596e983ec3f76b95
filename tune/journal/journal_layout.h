/* tune/journal/journal_layout.h: what writer and reader of a journal share. */
#pragma once

#define JOURNAL_FORMAT     "weft-tune-journal"
#define JOURNAL_FIRST      "{\"seq\": "
#define JOURNAL_SUM_BEFORE ", \"sum\": \""
#define JOURNAL_SUM_AFTER  "\"}"

enum {
    JOURNAL_VERSION = 1,
    JOURNAL_DIGITS = 16, /* of a checksum */
    JOURNAL_TAIL = sizeof JOURNAL_SUM_BEFORE - 1 + JOURNAL_DIGITS + sizeof JOURNAL_SUM_AFTER - 1
};
