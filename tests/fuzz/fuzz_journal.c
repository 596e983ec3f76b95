/*
 * Fuzz target: journals of searches. The first byte chooses the scheduler, and whether checksums are put right, so that
 * what stands behind them is reached. A journal that is read is read again to the same state. Seeds:
 * tests/fuzz/make_seeds DIR.
 */
#include <inttypes.h>

#include "fuzz/fuzz_support.h"
#include "tune/journal/journal.h"
#include "tune/journal/journal_layout.h"
#include "tune/journal/sched_log.h"

enum { STATED_LIMIT = 64 << 20 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void repair(char *text, size_t size)
{
    uint64_t number = 0;
    for (char *end; (end = memchr(text, '\n', size)) != NULL; number++) {
        const size_t length = (size_t)(end - text);
        if (length >= JOURNAL_TAIL) {
            char tail[JOURNAL_TAIL + 1];
            const size_t body = length - JOURNAL_TAIL;
            snprintf(tail, sizeof tail, JOURNAL_SUM_BEFORE "%0*" PRIx64 JOURNAL_SUM_AFTER, JOURNAL_DIGITS,
                     file_checksum(text, body, number));
            memcpy(text + body, tail, JOURNAL_TAIL);
        }
        size -= length + 1;
        text = end + 1;
    }
}

static weft_status apply(void *self, const journal_line *line)
{
    bool known = false;
    return sched_log_apply(self, line, &known);
}

/* Replays the file on a new scheduler. [out] digest: of its state; facts */
static weft_status replay(const char *path, sched_kind kind, uint64_t *digest, journal_facts *facts)
{
    sched *s = NULL;
    const sched_desc desc = {.kind = kind,
                             .max_resource = 9,
                             .grace = kind == SCHED_KIND_FIFO || kind == SCHED_PBT ? 0 : 1,
                             .interval = kind == SCHED_PBT ? 3 : 0,
                             .trials = 4};
    if (sched_open(&desc, &s) != WEFT_OK) {
        abort();
    }
    const weft_status status = journal_read(path, &(journal_reader){.visit = apply, .self = s}, facts);
    *digest = sched_digest(s);
    sched_close(s);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *copy = malloc(size);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data + 1, size - 1);
    if (data[0] < 128) {
        repair(copy, size - 1);
    }
    fuzz_file file = fuzz_file_make((const uint8_t *)copy, size - 1);
    const sched_kind kind = (sched_kind)(data[0] % (SCHED_PBT + 1));
    journal_facts facts, again;
    uint64_t first = 0, second = 0;
    if (replay(file.path, kind, &first, &facts) == WEFT_OK &&
        (replay(file.path, kind, &second, &again) != WEFT_OK || first != second || facts.lines != again.lines ||
         facts.bytes + facts.dropped != (int64_t)size - 1)) {
        abort();
    }
    close(file.fd);
    free(copy);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
