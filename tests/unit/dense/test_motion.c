/* What moves in front of a still camera: backgrounds beside a sorted list, boxes and tracks of known rectangles, and
 * made traffic, of which the truth is known. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dense/data/motion/motion_track.h"
#include "dense/data/traffic/traffic.h"
#include "support/test.h"

enum { HEIGHT = 96, WIDTH = 130, PIXELS = HEIGHT * WIDTH, FRAMES = 40 };

static uint8_t ground[PIXELS], frame[PIXELS];
static motion_box found[MOTION_BOXES_MAX];

static void make_ground(void)
{
    for (int i = 0; i < PIXELS; ++i) {
        ground[i] = (uint8_t)(60 + i % WIDTH / 2 + i / WIDTH / 3);
    }
    memcpy(frame, ground, PIXELS);
}

static void put(int left, int top, int width, int height, int by)
{
    for (int y = top; y < top + height; ++y) {
        for (int x = left; x < left + width; ++x) {
            frame[y * WIDTH + x] = (uint8_t)(ground[y * WIDTH + x] + by);
        }
    }
}

static int boxes(void)
{
    motion_bench bench;
    ASSERT_OK(motion_bench_make(HEIGHT, WIDTH, &bench));
    const int count = motion_boxes(&bench, frame, ground, found);
    motion_bench_free(&bench);
    return count;
}

static int by_value(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

static void test_backgrounds_are_medians(void **state)
{
    (void)state;
    static uint8_t all[MOTION_SAMPLES_MAX][50], out[50];
    const uint8_t *sample[MOTION_SAMPLES_MAX];
    uint32_t random = 7;
    for (int frames = 1; frames <= MOTION_SAMPLES_MAX; ++frames) {
        for (int i = 0; i < frames; ++i) {
            sample[i] = all[i];
            for (int p = 0; p < 50; ++p) {
                random = random * 1664525u + 1013904223u;
                all[i][p] = (uint8_t)(random >> 24);
            }
        }
        motion_background(sample, frames, 50, out);
        for (int p = 0; p < 50; ++p) {
            uint8_t sorted[MOTION_SAMPLES_MAX];
            for (int i = 0; i < frames; ++i) {
                sorted[i] = all[i][p];
            }
            qsort(sorted, (size_t)frames, 1, by_value);
            assert_int_equal(out[p], sorted[(frames - 1) / 2]);
        }
    }
}

/* Inside the rectangle, and each side at most what a cell may lack inwards. */
static void assert_box(const motion_box *box, const motion_box *of)
{
    const int right = box->left + box->width, bottom = box->top + box->height;
    assert_in_range(box->left, of->left, of->left + MOTION_CELL / 2);
    assert_in_range(box->top, of->top, of->top + MOTION_CELL / 2);
    assert_in_range(right, of->left + of->width - MOTION_CELL / 2, of->left + of->width);
    assert_in_range(bottom, of->top + of->height - MOTION_CELL / 2, of->top + of->height);
}

/* Also of a frame that is lighter as a whole, and where a thing is darker than the ground. */
static void test_boxes_are_those_of_the_rectangles(void **state)
{
    (void)state;
    for (int light = -20; light <= 20; light += 20) {
        make_ground();
        put(5, 7, 21, 13, 60);
        put(80, 40, 9, 30, -50);
        for (int i = 0; i < PIXELS; ++i) {
            frame[i] = (uint8_t)(frame[i] + light);
        }
        assert_int_equal(boxes(), 2);
        assert_box(&found[0], &(motion_box){.left = 5, .top = 7, .width = 21, .height = 13});
        assert_box(&found[1], &(motion_box){.left = 80, .top = 40, .width = 9, .height = 30});
    }
}

static void test_noise_and_specks_are_no_boxes(void **state)
{
    (void)state;
    uint32_t random = 1;
    make_ground();
    for (int i = 0; i < PIXELS; ++i) {
        random = random * 1664525u + 1013904223u;
        frame[i] = (uint8_t)(frame[i] + (int)(random >> 24) % 21 - 10);
    }
    put(60, 60, 3, 3, 90);
    assert_int_equal(boxes(), 0);
}

/* More things than boxes: the largest stay. A frame that is all different has none. */
static void test_many_boxes_and_another_scene(void **state)
{
    (void)state;
    make_ground();
    for (int i = 0; i < 88; ++i) {
        put(i % 11 * 11 + 1, i / 11 * 12, 5, i < 20 ? 5 : 6, 70);
    }
    assert_int_equal(boxes(), MOTION_BOXES_MAX);
    int taller = 0;
    for (int i = 0; i < MOTION_BOXES_MAX; ++i) {
        taller += found[i].height == 6;
    }
    assert_int_equal(taller, MOTION_BOXES_MAX);
    for (int i = 0; i < PIXELS; ++i) {
        frame[i] = (uint8_t)(i * 37 % 251);
    }
    assert_int_equal(boxes(), -1);
}

/* Two squares on their ways, a gap of the second, a third that begins later, and another scene. */
static void test_tracks_of_squares(void **state)
{
    (void)state;
    motion_box box[4 * FRAMES];
    int32_t scene[FRAMES] = {0}, expected[4 * FRAMES];
    int64_t tracks;
    int count = 0;
    for (int f = 0; f < FRAMES; ++f) {
        scene[f] = f >= 30;
        box[count] = (motion_box){.left = 4 * f, .top = 10, .width = 20, .height = 20, .frame = f};
        expected[count++] = f < 30 ? 0 : 3;
        if (f < 10 || f >= 10 + MOTION_GAP - 1) {
            box[count] = (motion_box){.left = 300 - 5 * f, .top = 50, .width = 20, .height = 20, .frame = f};
            expected[count++] = f < 30 ? 1 : 4;
        }
        if (f >= 20) {
            box[count] = (motion_box){.left = 50, .top = 90 + f, .width = 20, .height = 20, .frame = f};
            expected[count++] = f < 30 ? 2 : 5;
        }
    }
    ASSERT_OK(motion_track(box, count, scene, &tracks));
    assert_int_equal(tracks, 6);
    for (int i = 0; i < count; ++i) {
        assert_int_equal(box[i].track, expected[i]);
    }
}

/* Boxes that never overlap: each is a track of its own, 70,000 of them. */
static void test_many_tracks(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    motion_box *box = NULL;
    int32_t *scene = NULL;
    int64_t tracks;
    ASSERT_OK(WEFT_NEW(&box, MANY, WEFT_MEM_GENERAL));
    ASSERT_OK(WEFT_NEW_ZERO(&scene, MANY, WEFT_MEM_GENERAL));
    for (int i = 0; i < MANY; ++i) {
        box[i] = (motion_box){.left = 1000 * (i % 7), .top = 1000 * (i % 5), .width = 9, .height = 9, .frame = i / 2};
    }
    ASSERT_OK(motion_track(box, MANY, scene, &tracks));
    assert_int_equal(tracks, MANY);
    WEFT_FREE_ALL(box, scene);
}

/* ---- made traffic ---- */

static void test_traffic_is_what_was_asked_for(void **state)
{
    (void)state;
    traffic t;
    traffic_box box;
    ASSERT_OK(traffic_parse("synth:traffic,frames=3000,objects=2,dwell=30,skew=0,seed=5", &t));
    const int64_t things = traffic_things(&t);
    int64_t seen = 0, of_class[4] = {0};
    assert_in_range(things, 200, 201);
    for (int64_t i = 0; i < things; ++i) {
        of_class[traffic_class(&t, i)]++;
    }
    for (int64_t f = 0; f < t.frames; ++f) {
        int64_t first, end, here = 0, near = 0;
        traffic_near(&t, f, &first, &end);
        for (int64_t i = 0; i < things; ++i) {
            here += traffic_sees(&t, i, f, &box);
        }
        for (int64_t i = first; i < end; ++i) {
            near += traffic_sees(&t, i, f, &box);
        }
        assert_int_equal(near, here);
        seen += here;
    }
    assert_in_range(seen, (things - 2) * 27, things * 30);
    for (int c = 0; c < 4; ++c) {
        assert_in_range(of_class[c], 30, 70);
    }
    ASSERT_STATUS(traffic_parse("synth:traffic,objects=60", &t), WEFT_ERR_USAGE);
    ASSERT_STATUS(traffic_parse("synth:traffic,lanes=3", &t), WEFT_ERR_USAGE);
}

/* Boxes of things that are known to move, whose light changes, are found: one each, near the truth. */
static void test_traffic_is_found(void **state)
{
    (void)state;
    static uint8_t colour[120 * 160 * 3], grey[FRAMES][120 * 160], back[120 * 160];
    const uint8_t *sample[FRAMES];
    motion_bench bench;
    traffic t;
    ASSERT_OK(traffic_parse("synth:traffic,frames=40,jump=25,seed=3", &t));
    for (int f = 0; f < FRAMES; ++f) {
        ASSERT_OK(traffic_draw(&t, f, colour));
        for (int p = 0; p < 120 * 160; ++p) {
            const uint8_t *c = colour + 3 * p;
            grey[f][p] = (uint8_t)((299 * c[0] + 587 * c[1] + 114 * c[2] + 500) / 1000);
        }
        sample[f] = grey[f];
    }
    motion_background(sample, 25, 120 * 160, back);
    ASSERT_OK(motion_bench_make(120, 160, &bench));
    for (int f = 0; f < FRAMES; ++f) {
        const int count = motion_boxes(&bench, grey[f], back, found);
        int64_t first, end;
        int things = 0;
        traffic_near(&t, f, &first, &end);
        for (int64_t i = first; i < end; ++i) {
            traffic_box b;
            if (!traffic_sees(&t, i, f, &b) || b.width < 10) {
                continue;
            }
            ++things;
            int hits = 0;
            for (int k = 0; k < count; ++k) {
                const int64_t x = found[k].left + found[k].width / 2, y = found[k].top + found[k].height / 2;
                hits += x >= b.left && x < b.left + b.width && y >= b.top && y < b.top + b.height &&
                        2 * found[k].width >= b.width && found[k].width <= b.width + 4;
            }
            assert_int_equal(hits, 1);
        }
        assert_in_range(count, things, things + 1);
    }
    motion_bench_free(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backgrounds_are_medians),
        cmocka_unit_test(test_boxes_are_those_of_the_rectangles),
        cmocka_unit_test(test_noise_and_specks_are_no_boxes),
        cmocka_unit_test(test_many_boxes_and_another_scene),
        cmocka_unit_test(test_tracks_of_squares),
        cmocka_unit_test(test_many_tracks),
        cmocka_unit_test(test_traffic_is_what_was_asked_for),
        cmocka_unit_test(test_traffic_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
