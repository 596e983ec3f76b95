/*
 * Indexes of scores: what is written is read, at every cut of the file the closed blocks are, every changed byte is
 * found, and a writer that is killed leaves what it closed.
 */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "focus/index/focus_index.h"
#include "focus/index/focus_index_layout.h"
#include "focus/index/focus_units.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/test.h"

static const char cheap[] = "00112233445566778899aabbccddeeff", expensive[] = "ffeeddccbbaa99887766554433221100";
static char path[FILE_PATH_MAX];
static char cat[] = "cat", dog[] = "dog \"x\"", bee[] = "b\xc3\xa9";
static char *names[] = {cat, dog, bee};

static int begin(void **state)
{
    if (folder_setup(state) != 0) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/a.idx", (const char *)*state);
    log_set_level(LOG_QUIET);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

static focus_head head_of(int64_t classes, int64_t kept, bool named)
{
    focus_head head = {.classes = classes, .kept = kept};
    memcpy(head.cheap, cheap, sizeof cheap);
    if (!named) {
        memcpy(head.data, expensive, sizeof expensive);
    }
    if (classes == 3) {
        head.class_name = (name_list){names, 3};
    }
    return head;
}

static double odds_of(int64_t item, int64_t class)
{
    return (double)((item * 7 + class * 13) % 61) / 2.0 - 15.0;
}

static const char *name_of(int64_t item, char text[32])
{
    snprintf(text, 32, "frame-%lld.jpg", (long long)item);
    return text;
}

/* Two things that move by turns, and from item 10 on a third. */
static item_origin origin_of(int64_t item)
{
    return (item_origin){.sum = (uint64_t)item * 0x9e3779b97f4a7c15u + 1,
                         .frame = (uint32_t)(item / 2),
                         .track = (uint32_t)(item < 10 ? item % 2 : item % 3),
                         .left = (uint16_t)(3 * item % 1000),
                         .top = 7,
                         .width = (uint16_t)(item % 40 + 1),
                         .height = 9};
}

static void add(focus_writer *w, int64_t from, int64_t to, int64_t classes, bool named)
{
    double odds[40];
    char text[32];
    for (int64_t i = from; i < to; ++i) {
        for (int64_t c = 0; c < classes; ++c) {
            odds[c] = odds_of(i, c);
        }
        const item_origin origin = origin_of(i);
        ASSERT_OK(focus_writer_item(w, odds, named ? name_of(i, text) : NULL, &origin));
    }
}

static void make_of(int64_t items, int64_t classes, int64_t kept, bool named, bool moving)
{
    focus_writer *w = NULL;
    focus_head head = head_of(classes, kept, named);
    head.moving = moving;
    clean(NULL);
    ASSERT_OK(focus_writer_create(path, &head, &w));
    add(w, 0, items, classes, named);
    ASSERT_OK(focus_writer_flush(w));
    focus_writer_close(w);
}

static void make(int64_t items, int64_t classes, int64_t kept, bool named)
{
    make_of(items, classes, kept, named, false);
}

/* ---- round trips ---- */

static void test_codes_grow_with_log_odds(void **state)
{
    (void)state;
    assert_int_equal(focus_code(-INFINITY), 0);
    assert_int_equal(focus_code(40.0), 65535);
    for (double x = -32.0; x <= 32.0; x += 0.37) {
        ASSERT_NEAR(focus_log_odds(focus_code(x)), x, 0.0005);
    }
}

static void test_all_classes_are_read_as_written(void **state)
{
    (void)state;
    const int64_t items = 2 * FOCUS_BLOCK_ITEMS + 17;
    focus_index index;
    char text[32];
    make(items, 3, 3, true);
    ASSERT_OK(focus_index_open(path, &index));
    assert_int_equal(index.items, items);
    assert_int_equal(index.blocks, 3);
    assert_int_equal(index.head.class_name.count, 3);
    assert_string_equal(index.head.class_name.text[1], names[1]);
    assert_string_equal(index.head.cheap, cheap);
    for (int64_t i = 0; i < items; i += 101) {
        assert_string_equal(focus_index_name(&index, i), name_of(i, text));
        for (int64_t c = 0; c < 3; ++c) {
            assert_int_equal(focus_index_code(&index, i, c), focus_code(odds_of(i, c)));
        }
        assert_int_equal(index.answer[i], -1);
    }
    focus_index_close(&index);
}

/* Kept classes have their own scores; the others are bounded by the sum of their probabilities. */
static void test_the_best_classes_and_the_rest(void **state)
{
    (void)state;
    focus_index index;
    make(50, 40, 4, false);
    ASSERT_OK(focus_index_open(path, &index));
    for (int64_t i = 0; i < 50; ++i) {
        for (int64_t c = 0; c < 40; ++c) {
            double rest = 0.0, least = 99.0;
            int better = 0, kept = 0;
            for (int64_t d = 0; d < 40; ++d) {
                better += odds_of(i, d) > odds_of(i, c) || (odds_of(i, d) == odds_of(i, c) && d < c);
            }
            for (int64_t d = 0; d < 40; ++d) {
                int above = 0;
                for (int64_t e = 0; e < 40; ++e) {
                    above += odds_of(i, e) > odds_of(i, d) || (odds_of(i, e) == odds_of(i, d) && e < d);
                }
                kept += above < 4;
                rest += above < 4 ? 0.0 : 1.0 / (1.0 + exp(-odds_of(i, d)));
                least = above < 4 && odds_of(i, d) < least ? odds_of(i, d) : least;
            }
            assert_int_equal(kept, 4);
            const double bound = rest < 1.0 ? log(rest / (1.0 - rest)) : 32.0;
            const double expected = better < 4 ? odds_of(i, c) : fmin(least, bound);
            ASSERT_NEAR(focus_log_odds(focus_index_code(&index, i, c)), expected, 0.0006);
        }
    }
    assert_null(focus_index_name(&index, 0));
    focus_index_close(&index);
}

static void test_items_and_answers_are_appended(void **state)
{
    (void)state;
    focus_index index;
    focus_writer *w = NULL;
    const int64_t item[] = {3, 90, 99};
    const int32_t class[] = {2, 0, 1}, again[] = {1, 1, 1};
    make(100, 3, 3, true);
    ASSERT_OK(focus_index_open(path, &index));
    ASSERT_OK(focus_writer_append(path, &index, &w));
    ASSERT_OK(focus_writer_answers(w, expensive, item, class, 3));
    add(w, 100, 5000, 3, true);
    ASSERT_OK(focus_writer_answers(w, expensive, &(int64_t){4999}, again, 1));
    focus_writer_close(w);
    ASSERT_STATUS(focus_writer_append(path, &index, &w), WEFT_ERR_USAGE); /* it has grown meanwhile */
    focus_index_close(&index);
    ASSERT_OK(focus_index_open(path, &index));
    assert_int_equal(index.items, 5000);
    assert_int_equal(index.answered, 4);
    assert_string_equal(index.expensive, expensive);
    assert_int_equal(index.answer[90], 0);
    assert_int_equal(index.answer[99], 1);
    assert_int_equal(index.answer[4999], 1);
    assert_int_equal(index.answer[4], -1);
    for (int64_t i = 0; i < 5000; i += 99) {
        assert_int_equal(focus_index_code(&index, i, 1), focus_code(odds_of(i, 1)));
    }
    focus_index_close(&index);
}

/* Files have checksums, and moving things places and tracks, next to scores in any block. */
static void test_origins_are_read_as_written(void **state)
{
    (void)state;
    const int64_t items = FOCUS_BLOCK_ITEMS + 17;
    focus_index index;
    for (int kind = 0; kind < 3; ++kind) {
        const bool named = kind > 0, moving = kind > 1;
        make_of(items, 40, 4, named, moving);
        ASSERT_OK(focus_index_open(path, &index));
        assert_int_equal(index.head.moving, moving);
        assert_int_equal(index.tracks, moving ? 3 : 0);
        for (int64_t i = 0; i < items; ++i) {
            item_origin expected = origin_of(i);
            if (!moving) {
                expected = (item_origin){.sum = named ? expected.sum : 0};
            }
            const item_origin origin = focus_index_origin(&index, i);
            assert_memory_equal(&origin, &expected, sizeof expected);
        }
        focus_index_close(&index);
    }
}

/* Items of a track in the span, and whatever is said of them. */
static void check_track(const focus_units *units, int64_t unit, int64_t items, uint16_t code)
{
    double best = -99.0, sum = 0.0;
    int64_t item = -1, first = -1, last = -1, count = 0;
    for (int64_t i = 0; i < items; ++i) {
        const item_origin origin = origin_of(i);
        if (origin.track != units->track[unit] || origin.frame < units->span.first || origin.frame > units->span.last) {
            continue;
        }
        const double most = fmax(odds_of(i, 0), fmax(odds_of(i, 1), odds_of(i, 2)));
        item = most > best ? i : item;
        best = fmax(best, most);
        first = first < 0 ? i : first;
        last = i;
        sum += odds_of(i, 1);
        ++count;
    }
    assert_int_equal(focus_unit_item(units, unit), item);
    assert_int_equal(units->first[unit], first);
    assert_int_equal(units->last[unit], last);
    assert_int_equal(units->items[unit], count);
    ASSERT_NEAR(focus_log_odds(code), sum / (double)count, 0.0011);
}

/* A track is asked about by the item with the highest score of any class, and has the mean of its items' scores; items
 * of other frames do not count. */
static void test_tracks_are_counted_once(void **state)
{
    (void)state;
    static const struct {
        focus_span span;
        int64_t units, all;
    } cases[] = {{{0, INT64_MAX}, 3, 600}, {{20, 31}, 3, 24}, {{1, 3}, 2, 6}, {{299, 400}, 2, 2}, {{300, 301}, 0, 0}};
    const int64_t items = 600;
    focus_index index;
    focus_units units;
    uint16_t code[3];
    make_of(items, 3, 3, true, true);
    ASSERT_OK(focus_index_open(path, &index));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        ASSERT_OK(focus_units_make(&index, cases[i].span, &units));
        ASSERT_OK(focus_units_score(&units, &index, 1, code));
        assert_int_equal(units.count, cases[i].units);
        assert_int_equal(units.all, cases[i].all);
        assert_int_equal(units.frames, 300);
        for (int64_t unit = 0; unit < units.count; ++unit) {
            assert_true(unit == 0 || units.track[unit] > units.track[unit - 1]);
            check_track(&units, unit, items, code[unit]);
        }
        focus_units_free(&units);
    }
    focus_index_close(&index);
}

static void test_items_of_a_span(void **state)
{
    (void)state;
    focus_index index;
    focus_units units;
    uint16_t code[50];
    make(50, 3, 3, true);
    ASSERT_OK(focus_index_open(path, &index));
    ASSERT_OK(focus_units_make(&index, FOCUS_ALL_FRAMES, &units));
    assert_int_equal(units.count, 50);
    assert_int_equal(focus_unit_item(&units, 31), 31);
    focus_units_free(&units);
    ASSERT_OK(focus_units_make(&index, (focus_span){.first = 40, .last = 99}, &units));
    ASSERT_OK(focus_units_score(&units, &index, 1, code));
    assert_int_equal(units.count, 10);
    assert_int_equal(focus_unit_item(&units, 3), 43);
    assert_int_equal(code[3], focus_index_code(&index, 43, 1));
    focus_units_free(&units);
    ASSERT_OK(focus_units_make(&index, (focus_span){.first = 50, .last = 50}, &units));
    assert_int_equal(units.count, 0);
    focus_units_free(&units);
    focus_index_close(&index);
}

/* The cheapest stride that shows a share of all tracks, found by looking at every item for each of them. */
static int64_t stride_by_hand(const item_origin *origin, int64_t items, int64_t tracks, double share, int64_t *runs)
{
    enum { TRACKS_MOST = 12 };
    int64_t best = 1;
    *runs = items;
    for (int64_t stride = 2; stride <= FOCUS_STRIDE_MOST; ++stride) {
        bool seen[TRACKS_MOST] = {false};
        int64_t boxes = 0, shown = 0;
        for (int64_t i = 0; i < items; ++i) {
            const bool looked_at = origin[i].frame % stride == 0;
            boxes += looked_at;
            shown += looked_at && !seen[origin[i].track];
            seen[origin[i].track] = seen[origin[i].track] || looked_at;
        }
        if ((double)shown >= share * (double)tracks && boxes <= *runs) {
            best = stride;
            *runs = boxes;
        }
    }
    return best;
}

static void test_the_cheapest_stride(void **state)
{
    (void)state;
    static const double shares[] = {0.5, 0.9, 1.0};
    enum { TRACKS = 12, LONGEST = 40 };
    item_origin origin[TRACKS * LONGEST];
    uint64_t random = 3;
    int beyond = 0; /* a smaller stride than the best showed too few */
    for (int trial = 0; trial < 60; ++trial) {
        int64_t items = 0;
        const uint32_t frames = 1 + test_random(&random) % 200;
        for (uint32_t frame = 0; frame < frames; ++frame) {
            for (uint32_t t = 0; t < TRACKS && items < TRACKS * LONGEST; ++t) {
                const uint32_t first = (t * 37 + (uint32_t)trial * 11) % frames;
                const bool here = frame >= first && frame < first + 1 + (t * 7 + (uint32_t)trial) % LONGEST;
                if (here && test_random(&random) % 4 > 0) {
                    origin[items++] = (item_origin){.frame = frame, .track = t};
                }
            }
        }
        for (int k = 0; k < 3; ++k) {
            int64_t runs, expected_runs, stride;
            const int64_t expected = stride_by_hand(origin, items, TRACKS, shares[k], &expected_runs);
            ASSERT_OK(focus_units_stride(origin, items, TRACKS, shares[k], &stride, &runs));
            assert_int_equal(stride, expected);
            assert_int_equal(runs, expected_runs);
            int32_t seen[TRACKS] = {0};
            for (int64_t s = 2; s < stride; ++s) {
                if ((double)focus_units_of_stride(origin, items, s, seen, &runs) < shares[k] * TRACKS) {
                    ++beyond;
                    break;
                }
            }
        }
    }
    assert_true(beyond > 5);
}

/* ---- damage ---- */

static void test_every_cut_leaves_the_closed_blocks(void **state)
{
    (void)state;
    focus_index index;
    focus_writer *w = NULL;
    size_t bytes;
    make(5, 3, 3, true);
    ASSERT_OK(focus_index_open(path, &index));
    const int64_t first = index.bytes;
    ASSERT_OK(focus_writer_append(path, &index, &w));
    ASSERT_OK(focus_writer_answers(w, expensive, (const int64_t[]){1, 4}, (const int32_t[]){2, 2}, 2));
    focus_writer_close(w);
    focus_index_close(&index);
    uint8_t *whole = get_file(path, &bytes);
    for (size_t cut = 0; cut < bytes; ++cut) {
        put_file(path, whole, cut);
        const weft_status status = focus_index_open(path, &index);
        if ((int64_t)cut >= first) {
            assert_int_equal(status, WEFT_OK);
            assert_int_equal(index.items, 5);
            assert_int_equal(index.answered, 0);
            assert_int_equal(index.dropped, (int64_t)cut - first);
        } else {
            assert_true(status == WEFT_OK ? index.items == 0 : status == WEFT_ERR_DATA);
        }
        focus_index_close(&index);
    }
    free(whole);
}

static void test_every_changed_byte_is_found(void **state)
{
    (void)state;
    focus_index index;
    size_t bytes;
    make_of(5, 3, 2, true, true);
    uint8_t *whole = get_file(path, &bytes);
    for (size_t at = 0; at < bytes; ++at) {
        whole[at] ^= 0x10;
        put_file(path, whole, bytes);
        ASSERT_STATUS(focus_index_open(path, &index), WEFT_ERR_DATA);
        focus_index_close(&index);
        whole[at] ^= 0x10;
    }
    free(whole);
}

static void test_other_files_are_refused_in_words(void **state)
{
    (void)state;
    focus_index index;
    put_file(path, "PK\3\4 and so on, an archive", 27);
    ASSERT_STATUS(focus_index_open(path, &index), WEFT_ERR_DATA);
    ASSERT_MESSAGE(path);
    focus_index_close(&index);
    put_file(path, "", 0);
    ASSERT_STATUS(focus_index_open(path, &index), WEFT_ERR_DATA);
    ASSERT_MESSAGE("weft focus ingest");
    focus_index_close(&index);
    clean(NULL);
    ASSERT_STATUS(focus_index_open(path, &index), WEFT_ERR_NOINPUT);
    focus_index_close(&index);
    make(5, 3, 3, true);
    focus_writer *w = NULL;
    const focus_head head = head_of(3, 3, true);
    ASSERT_STATUS(focus_writer_create(path, &head, &w), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("exists");
}

/* A block that the disk has no room for is taken back whole, and can be written when there is room. */
static void test_full_disk(void **state)
{
    (void)state;
    const focus_head head = head_of(3, 3, true);
    focus_writer *w = NULL;
    focus_index index;
    struct rlimit before, small;
    clean(NULL);
    ASSERT_OK(focus_writer_create(path, &head, &w));
    add(w, 0, FOCUS_BLOCK_ITEMS + 9, 3, true);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)focus_writer_bytes(w) + 100;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const weft_status status = focus_writer_flush(w);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, WEFT_ERR_IO);
    ASSERT_OK(focus_index_open(path, &index));
    assert_int_equal(index.items, FOCUS_BLOCK_ITEMS);
    assert_int_equal(index.dropped, 0);
    focus_index_close(&index);
    ASSERT_OK(focus_writer_flush(w));
    focus_writer_close(w);
    ASSERT_OK(focus_index_open(path, &index));
    assert_int_equal(index.items, FOCUS_BLOCK_ITEMS + 9);
    focus_index_close(&index);
}

/* The child writes blocks until it is killed. */
static void test_a_killed_writer_leaves_closed_blocks(void **state)
{
    (void)state;
    const focus_head head = head_of(3, 3, true);
    clean(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        focus_writer *w = NULL;
        if (focus_writer_create(path, &head, &w) != WEFT_OK) {
            _exit(1);
        }
        add(w, 0, 100000000, 3, true);
        _exit(2);
    }
    struct stat written = {.st_size = 0};
    for (int i = 0; i < 60000 && written.st_size < 64 * FOCUS_BLOCK_ITEMS; i++) { /* some blocks */
        usleep(1000);
        (void)stat(path, &written);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFSIGNALED(code));
    focus_index index;
    focus_writer *w = NULL;
    char text[32];
    ASSERT_OK(focus_index_open(path, &index));
    assert_true(index.items > 0 && index.items % FOCUS_BLOCK_ITEMS == 0);
    ASSERT_OK(focus_writer_append(path, &index, &w)); /* the lock of a dead process is taken over */
    const int64_t items = index.items;
    add(w, items, items + 3, 3, true);
    ASSERT_OK(focus_writer_flush(w));
    focus_writer_close(w);
    focus_index_close(&index);
    ASSERT_OK(focus_index_open(path, &index));
    assert_int_equal(index.items, items + 3);
    assert_int_equal(index.dropped, 0);
    assert_string_equal(focus_index_name(&index, items + 2), name_of(items + 2, text));
    focus_index_close(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_codes_grow_with_log_odds, clean),
        cmocka_unit_test_teardown(test_all_classes_are_read_as_written, clean),
        cmocka_unit_test_teardown(test_the_best_classes_and_the_rest, clean),
        cmocka_unit_test_teardown(test_items_and_answers_are_appended, clean),
        cmocka_unit_test_teardown(test_origins_are_read_as_written, clean),
        cmocka_unit_test_teardown(test_tracks_are_counted_once, clean),
        cmocka_unit_test_teardown(test_items_of_a_span, clean),
        cmocka_unit_test(test_the_cheapest_stride),
        cmocka_unit_test_teardown(test_every_cut_leaves_the_closed_blocks, clean),
        cmocka_unit_test_teardown(test_every_changed_byte_is_found, clean),
        cmocka_unit_test_teardown(test_other_files_are_refused_in_words, clean),
        cmocka_unit_test_teardown(test_full_disk, clean),
        cmocka_unit_test_teardown(test_a_killed_writer_leaves_closed_blocks, clean),
    };
    return cmocka_run_group_tests(tests, begin, folder_teardown);
}
