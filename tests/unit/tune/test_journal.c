/*
 * Journals of searches: replay gives the state that was live at every line; ends that are cut at any byte are left out,
 * and damage anywhere else is refused with its line.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/test.h"
#include "tune/journal/journal.h"
#include "tune/journal/sched_log.h"

enum { LINES_MOST = 4096 };

static const char space[] = "00112233445566778899aabbccddeeff";
static char path[FILE_PATH_MAX];

static int begin(void **state)
{
    if (folder_setup(state) != 0) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/trials.jsonl", (const char *)*state);
    log_set_level(LOG_QUIET);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

/* ---- bytes ---- */

/* Byte at which line 1, 2, ... begins; the size of the text behind the last. */
static size_t line_start(const char *text, size_t size, int line)
{
    size_t at = 0;
    for (int i = 1; i < line && at < size; i++) {
        at = (size_t)(strchr(text + at, '\n') + 1 - text);
    }
    return at;
}

static void add_line(journal *j, const char *event, int64_t value)
{
    json_writer *json = NULL;
    ASSERT_OK(journal_begin(j, event, &json));
    json_int(json, "n", value);
    ASSERT_OK(journal_end(j));
}

/* A journal of `lines` lines, each its own commit. */
static void make_plain(int lines)
{
    journal *j = NULL;
    clean(NULL);
    ASSERT_OK(journal_create(path, space, &j));
    for (int i = 1; i < lines; i++) {
        add_line(j, "note", i);
        ASSERT_OK(journal_commit(j));
    }
    assert_int_equal(journal_lines(j), lines);
    journal_close(j);
}

/* Lines are those that were written, in order. */
static weft_status expect_note(void *self, const journal_line *line)
{
    int64_t *seen = self, n = 0;
    assert_string_equal(line->event, "note");
    ASSERT_OK(json_get_int(line->where, line->object, "n", 0, INT64_MAX, &n));
    assert_int_equal(n, ++*seen);
    assert_int_equal(line->number, n + 1);
    return WEFT_OK;
}

static weft_status read_notes(int64_t *seen, journal_facts *facts)
{
    *seen = 0;
    return journal_read(path, &(journal_reader){.space = space, .visit = expect_note, .self = seen}, facts);
}

/* ---- ends and damage ---- */

static void test_cut_at_every_byte(void **state)
{
    size_t size = 0;
    int64_t seen = 0;
    journal_facts facts;
    (void)state;
    make_plain(6);
    char *text = (char *)get_file(path, &size);
    const size_t last = line_start(text, size, 6), first = line_start(text, size, 2);
    for (size_t cut = 0; cut <= size; cut++) {
        journal *j = NULL;
        if (cut > first && cut < line_start(text, size, 5)) {
            continue;
        }
        put_file(path, text, cut);
        seen = 0;
        ASSERT_OK(
            journal_resume(path, &(journal_reader){.space = space, .visit = expect_note, .self = &seen}, &facts, &j));
        const int whole = cut == size ? 6 : cut >= last ? 5 : cut < first ? 0 : cut == first ? 1 : 4;
        assert_int_equal(facts.lines, whole);
        assert_int_equal(seen, whole > 0 ? whole - 1 : 0);
        assert_int_equal(facts.bytes + facts.dropped, cut);
        if (cut % 8 != 0 && cut != first && cut != last) { /* each takes a wait for the disk */
            journal_close(j);
            continue;
        }
        add_line(j, "note", whole > 0 ? whole : 1);
        ASSERT_OK(journal_commit(j));
        journal_close(j);
        ASSERT_OK(read_notes(&seen, &facts));
        assert_int_equal(facts.lines, whole > 0 ? whole + 1 : 2);
        assert_int_equal(facts.dropped, 0);
    }
    free(text);
}

/* A changed byte of any line but the last is refused with the line's number; of the last, the line is left out. */
static void test_damage_at_every_byte(void **state)
{
    size_t size = 0;
    int64_t seen = 0;
    journal_facts facts;
    (void)state;
    make_plain(6);
    char *text = (char *)get_file(path, &size);
    for (size_t at = 0; at < size; at++) {
        int line = 1;
        while (line < 6 && line_start(text, size, line + 1) <= at) {
            line++;
        }
        text[at] ^= 4;
        put_file(path, text, size);
        text[at] ^= 4;
        const weft_status status = read_notes(&seen, &facts);
        if (line < 5 || (line == 5 && text[at] != '\n')) {
            char expected[32];
            snprintf(expected, sizeof expected, "line %d: damaged", line);
            assert_int_equal(status, WEFT_ERR_DATA);
            ASSERT_MESSAGE(expected);
        } else {
            ASSERT_OK(status);
            assert_int_equal(facts.lines, line - 1);
        }
    }
    free(text);
}

/* Lines that are missing, twice, or in another order are whole, and refused all the same. */
static void test_lines_moved(void **state)
{
    static const int orders[][7] = {{1, 2, 3, 5, 6}, {1, 2, 2, 3, 4}, {1, 3, 2, 4, 5}, {2, 3, 4}, {1, 2, 3, 4, 5, 4}};
    size_t size = 0;
    int64_t seen = 0;
    journal_facts facts;
    (void)state;
    make_plain(6);
    char *text = (char *)get_file(path, &size), *moved = malloc(2 * size);
    assert_non_null(moved);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        size_t filled = 0;
        for (int k = 0; orders[i][k] != 0; k++) {
            const size_t from = line_start(text, size, orders[i][k]), to = line_start(text, size, orders[i][k] + 1);
            memcpy(moved + filled, text + from, to - from);
            filled += to - from;
        }
        put_file(path, moved, filled);
        ASSERT_STATUS(read_notes(&seen, &facts), WEFT_ERR_DATA);
        ASSERT_MESSAGE("head -n");
    }
    free(moved);
    free(text);
}

static void test_refusals(void **state)
{
    journal *j = NULL;
    journal_facts facts;
    json_writer *json = NULL;
    (void)state;
    clean(NULL);
    ASSERT_STATUS(journal_resume(path, &(journal_reader){.space = space}, &facts, &j), WEFT_ERR_NOINPUT);
    make_plain(2);
    ASSERT_STATUS(journal_create(path, space, &j), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("resume it");
    assert_null(j);
    ASSERT_STATUS(journal_read(path, &(journal_reader){.space = "other"}, &facts), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("other");
    ASSERT_MESSAGE(space);
    ASSERT_OK(journal_resume(path, &(journal_reader){0}, &facts, &j));
    assert_string_equal(facts.space, space);
    /* A line that is too long is left out; the next one takes its number. */
    char *text = malloc(JOURNAL_LINE_MOST + 1);
    assert_non_null(text);
    memset(text, 'x', JOURNAL_LINE_MOST);
    text[JOURNAL_LINE_MOST] = '\0';
    ASSERT_OK(journal_begin(j, "note", &json));
    json_text(json, "text", text);
    ASSERT_STATUS(journal_end(j), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("line 3");
    free(text);
    ASSERT_OK(journal_begin(j, "begun and not ended", &json));
    add_line(j, "note", 2);
    /* Lines are in the file after a commit, not before. */
    int64_t seen = 0;
    ASSERT_OK(read_notes(&seen, &facts));
    assert_int_equal(facts.lines, 2);
    ASSERT_OK(journal_commit(j));
    ASSERT_OK(journal_commit(j));
    ASSERT_OK(read_notes(&seen, &facts));
    assert_int_equal(facts.lines, 3);
    assert_int_equal(facts.bytes, journal_bytes(j));
    journal_close(j);
}

/* A full disk: the group is taken back whole, and can be written when there is room. */
static void test_full_disk(void **state)
{
    journal *j = NULL;
    journal_facts facts;
    struct rlimit before, small;
    int64_t seen = 0;
    (void)state;
    make_plain(2);
    ASSERT_OK(journal_resume(path, &(journal_reader){0}, &facts, &j));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)facts.bytes + 100;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 2; i < 5; i++) {
        add_line(j, "note", i);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const weft_status status = journal_commit(j);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, WEFT_ERR_IO);
    ASSERT_OK(read_notes(&seen, &facts));
    assert_int_equal(facts.lines, 2);
    assert_int_equal(facts.dropped, 0);
    ASSERT_OK(journal_commit(j));
    ASSERT_OK(read_notes(&seen, &facts));
    assert_int_equal(facts.lines, 5);
    journal_close(j);
}

/* ---- a writer that is killed ---- */

static void write_until_killed(int acknowledged)
{
    journal *j = NULL;
    journal_facts facts;
    if (journal_resume(path, &(journal_reader){.space = space}, &facts, &j) == WEFT_OK) {
        for (;;) {
            for (int i = 0; i < 5; i++) {
                add_line(j, "note", journal_lines(j));
            }
            const int64_t lines = journal_lines(j);
            if (journal_commit(j) != WEFT_OK || write(acknowledged, &lines, sizeof lines) != sizeof lines) {
                break;
            }
        }
    }
    _exit(1);
}

/* Lines whose commit returned are there after the process was killed, and those that are there are whole. */
static void test_killed_writer(void **state)
{
    uint64_t draws = 1;
    (void)state;
    make_plain(1);
    for (int turn = 0; turn < 20; turn++) {
        int ends[2], status = 0;
        int64_t promised = 0, lines = 0, seen = 0;
        journal_facts facts;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_until_killed(ends[1]);
        }
        close(ends[1]);
        for (uint32_t i = test_random(&draws) % 8; read(ends[0], &lines, sizeof lines) == sizeof lines;) {
            promised = lines;
            if (i-- == 0) {
                kill(child, SIGKILL);
            }
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        close(ends[0]);
        ASSERT_OK(read_notes(&seen, &facts));
        assert_true(promised > 0 && facts.lines >= promised);
    }
}

/* ---- replay ---- */

typedef struct replay {
    sched *s;
    const uint64_t *digest; /* [lines] of the live scheduler behind each line; NULL: not compared */
} replay;

static weft_status apply(void *self, const journal_line *line)
{
    replay *r = self;
    bool known = false;
    WEFT_TRY(sched_log_apply(r->s, line, &known));
    assert_true(known);
    assert_true(r->digest == NULL || sched_digest(r->s) == r->digest[line->number - 1]);
    return WEFT_OK;
}

typedef struct live {
    sched *s;
    journal *j;
    uint64_t draws;
    uint64_t digest[LINES_MOST];
    sched_work held[8];
    int64_t at[8]; /* resource that the group has trained to */
    int busy, repeats;
} live;

static void end_line(live *l, weft_status began, json_writer **json)
{
    ASSERT_OK(began);
    json_text(*json, "more", "of the caller's \"own\"\n");
    ASSERT_OK(journal_end(l->j));
    assert_true(journal_lines(l->j) <= LINES_MOST);
    l->digest[journal_lines(l->j) - 1] = sched_digest(l->s);
}

static void report(live *l, int group)
{
    json_writer *json = NULL;
    sched_decision decision;
    sched_work *work = &l->held[group];
    double value = test_uniform(&l->draws) / 3.0 + 0.1 * work->trial;
    value = test_random(&l->draws) % 40 == 0 ? (double)NAN : value;
    l->at[group] += 1 + test_random(&l->draws) % 4;
    ASSERT_OK(sched_report(l->s, work->trial, l->at[group], value, &decision));
    end_line(l, sched_log_report(l->j, work->trial, l->at[group], value, decision, &json), &json);
    bool over = decision != SCHED_CONTINUE;
    if (!over && test_random(&l->draws) % 50 == 0) {
        ASSERT_OK(sched_remove(l->s, work->trial));
        end_line(l, sched_log_remove(l->j, work->trial, &json), &json);
        over = true;
    }
    if (over) {
        *work = l->held[--l->busy];
        l->at[group] = l->at[l->busy];
    }
}

/* Asks for work; of the kinds that repeat leading configurations, one start in eight is such a repeat, which trains to
 * the end in one go. */
static void ask(live *l, sched_work *work)
{
    const sched_kind kind = sched_desc_of(l->s)->kind;
    if ((kind == SCHED_ASHA || kind == SCHED_PASHA) && test_random(&l->draws) % 8 == 0) {
        ASSERT_OK(sched_start_whole(l->s, work));
        assert_true(work->whole);
        l->repeats++;
        return;
    }
    ASSERT_OK(sched_next(l->s, work));
}

/* A search with up to 5 groups, which ends after some steps wherever it stands. */
static void search(live *l, int steps)
{
    json_writer *json = NULL;
    for (int step = 0; step < steps; step++) {
        sched_work work;
        if (l->busy < 5 && test_random(&l->draws) % 2 == 0) {
            ask(l, &work);
            if (work.action == SCHED_START || work.action == SCHED_RESUME) {
                end_line(l, sched_log_work(l->j, &work, &json), &json);
                l->held[l->busy] = work;
                l->at[l->busy++] = work.from;
            }
        } else if (l->busy > 0) {
            report(l, (int)(test_random(&l->draws) % (uint32_t)l->busy));
        }
        if (step == steps / 2 && sched_desc_of(l->s)->kind != SCHED_PBT) {
            ASSERT_OK(sched_limit(l->s, 60));
            end_line(l, sched_log_limit(l->j, 60, &json), &json);
        }
        if (step % 100 == 0) {
            ASSERT_OK(journal_commit(l->j));
        }
    }
    ASSERT_OK(journal_commit(l->j));
}

static sched_desc desc_of(sched_kind kind)
{
    return (sched_desc){.kind = kind,
                        .maximise = kind % 2 == 0,
                        .max_resource = 30,
                        .grace = kind == SCHED_HYPERBAND ? 1 : 0,
                        .interval = kind == SCHED_PBT ? 5 : 0,
                        .trials = 12};
}

/* After every line the replayed scheduler is the live one, of every kind; and it goes on as that one does. */
static void test_replay(void **state)
{
    static live l;
    (void)state;
    for (int kind = SCHED_KIND_FIFO; kind <= SCHED_PBT; kind++) {
        const sched_desc desc = desc_of((sched_kind)kind);
        replay r = {.digest = l.digest};
        journal_facts facts;
        memset(&l, 0, sizeof l);
        clean(NULL);
        l.draws = (uint64_t)kind + 1;
        ASSERT_OK(sched_open(&desc, &l.s));
        ASSERT_OK(journal_create(path, space, &l.j));
        search(&l, 700);
        ASSERT_OK(sched_open(&desc, &r.s));
        ASSERT_OK(journal_read(path, &(journal_reader){.space = space, .visit = apply, .self = &r}, &facts));
        assert_int_equal(facts.lines, journal_lines(l.j));
        assert_true(facts.lines > 60);
        assert_true((l.repeats > 0) == (kind == SCHED_ASHA || kind == SCHED_PASHA));
        assert_true(sched_digest(r.s) == sched_digest(l.s));
        /* With other options the journal is not followed in silence, unless the rule has none. */
        sched_close(r.s);
        sched_desc other = desc;
        other.max_resource = 29;
        r.digest = NULL;
        ASSERT_OK(sched_open(&other, &r.s));
        ASSERT_STATUS(journal_read(path, &(journal_reader){.visit = apply, .self = &r}, &facts), WEFT_ERR_DATA);
        ASSERT_MESSAGE("with other options");
        sched_close(r.s);
        journal_close(l.j);
        sched_close(l.s);
    }
}

/* Lines with right checksums that say what cannot be. */
static void test_impossible_lines(void **state)
{
    static const struct {
        const char *event, *member, *message;
        int64_t value;
    } cases[] = {
        {"start", "trial", "\"until\"", 0},     {"resume", "trial", "\"from\"", 0},
        {"report", "trial", "\"resource\"", 0}, {"remove", "trial", "no trial 5", 5},
        {"remove", "trial", "trial", -1},       {"limit", "trials", "trials", -4},
        {"start", "until", "\"trial\"", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        journal *j = NULL;
        journal_facts facts;
        json_writer *json = NULL;
        uint64_t digest[2] = {0};
        replay r = {.digest = digest};
        clean(NULL);
        ASSERT_OK(journal_create(path, space, &j));
        ASSERT_OK(journal_begin(j, cases[i].event, &json));
        json_int(json, cases[i].member, cases[i].value);
        ASSERT_OK(journal_end(j));
        ASSERT_OK(journal_commit(j));
        journal_close(j);
        ASSERT_OK(sched_open(&(sched_desc){.kind = SCHED_ASHA, .max_resource = 9}, &r.s));
        ASSERT_STATUS(journal_read(path, &(journal_reader){.visit = apply, .self = &r}, &facts), WEFT_ERR_DATA);
        ASSERT_MESSAGE("trials.jsonl: line 2");
        ASSERT_MESSAGE(cases[i].message);
        sched_close(r.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_cut_at_every_byte, clean),
                                       cmocka_unit_test_teardown(test_damage_at_every_byte, clean),
                                       cmocka_unit_test_teardown(test_lines_moved, clean),
                                       cmocka_unit_test_teardown(test_refusals, clean),
                                       cmocka_unit_test_teardown(test_full_disk, clean),
                                       cmocka_unit_test_teardown(test_killed_writer, clean),
                                       cmocka_unit_test_teardown(test_replay, clean),
                                       cmocka_unit_test_teardown(test_impossible_lines, clean)};
    return cmocka_run_group_tests(tests, begin, folder_teardown);
}
