/*
 * Images in folders: the same set over however many ranks; malformed ones left out by name; public ones
 * (WEFT_SHARED/data; skipped where they are absent) against what is known of them.
 */
#include <math.h>

#include "base/log.h"
#include "support/image_case.h"

static void test_folders(void **state)
{
    const image_options piecewise = {.threads = 2, .memory = 1};
    put_folders(state);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        check_whole(&c);
        ASSERT_OK(open_set(*state, &piecewise, ranks, &c));
        check_whole(&c);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_malformed_images_are_left_out(void **state)
{
    const image_options strict = {.threads = 2, .strict = true};
    uint8_t pixels[PIXELS];
    put_folders(state);
    put_file(in_folder(state, "train/ant/a.png"), "GIF89a", 6); /* seen at once */
    make_file(6, SIDE);
    file.data[60] ^= 0x10; /* seen when it is decoded */
    put_file(in_folder(state, "val/cow/y.png"), file.data, file.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        assert_int_equal(c.malformed, 1);
        assert_int_equal(c.count[IMAGE_TRAIN], 4);
        assert_int_equal(c.count[IMAGE_VALID], 2);
        assert_int_equal(c.count[IMAGE_TEST], 2);
        make_pixels(1, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_TRAIN][0], pixels, PIXELS);
        make_pixels(5, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_VALID][0], pixels, PIXELS);
        make_pixels(8, SIDE, pixels);
        assert_memory_equal(c.pixels[IMAGE_TEST][1], pixels, PIXELS);
        for (int i = 0; i < PIXELS; ++i) {
            assert_int_equal(c.pixels[IMAGE_VALID][1][i], 128);
        }
        ASSERT_STATUS(open_set(*state, &strict, ranks, &c), WEFT_ERR_DATA);
        ASSERT_MESSAGE("train/ant/a.png: neither a JPEG nor a PNG file");
    }
    make_file(0, SIDE);
    put_file(in_folder(state, "train/ant/a.png"), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &strict, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("val/cow/y.png: malformed PNG file");
    /* Without memory for samples, or without wanting any, it is the same. */
    const image_options kept_nowhere[] = {{.threads = 2, .memory = 1}, {.threads = 2, .once = true}};
    for (int k = 0; k < 2; ++k) {
        ASSERT_OK(open_set(*state, &kept_nowhere[k], 2, &c));
        assert_int_equal(c.count[IMAGE_VALID], 2);
        for (int i = 0; i < PIXELS; ++i) {
            assert_int_equal(c.pixels[IMAGE_VALID][1][i], 128);
        }
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_nothing_left_is_an_error(void **state)
{
    put_folders(state);
    for (int i = 0; i < 5; ++i) {
        put_file(in_folder(state, names[i]), "GIF89a", 6);
    }
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image is left");
}

static void test_sizes_agree_or_are_chosen(void **state)
{
    const image_options chosen = {.threads = 1, .height = SIDE, .width = SIDE};
    put_folders(state);
    make_file(3, 24);
    put_file(in_folder(state, names[3]), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("train/bee/c.png: 24 x 24): choose one, e.g. --image-size");
    ASSERT_OK(open_set(*state, &chosen, 2, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 5);
}

static void test_classes_must_be_trained(void **state)
{
    put_folders(state);
    ASSERT_OK(folder_make(in_folder(state, "test/dog")));
    make_file(1, SIDE);
    put_file(in_folder(state, "test/dog/1.png"), file.data, file.bytes);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("test/dog/1.png is of a class without training images: there is no train/dog");
}

static void test_empty_folders_are_refused(void **state)
{
    ASSERT_OK(folder_make(in_folder(state, "train")));
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image: expected train/CLASS/NAME.jpg");
}

/* Images without classes: those that can be decoded, all of them to test, by their names. */
static void test_loose_images(void **state)
{
    static const char *const loose[] = {"a.jpeg.png", "b.PNG", "c.png"};
    const image_options forced = {.threads = 1, .format = IMAGE_FORMAT_LOOSE, .height = SIDE, .width = SIDE};
    uint8_t pixels[PIXELS];
    for (int i = 0; i < 3; ++i) {
        make_file(i, SIDE);
        put_file(in_folder(state, loose[i]), file.data, file.bytes);
    }
    file.data[60] ^= 0x10;
    put_file(in_folder(state, "damaged.png"), file.data, file.bytes);
    put_file(in_folder(state, "other.jpg"), "GIF89a", 6);
    put_file(in_folder(state, "readme.txt"), "no image", 8);
    make_file(1, SIDE);
    put_file(in_folder(state, "nameless"), file.data, file.bytes);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        ASSERT_OK(open_set(*state, &plain, ranks, &c));
        assert_int_equal(c.classes, 0);
        assert_int_equal(c.malformed, 2);
        assert_int_equal(c.count[IMAGE_TRAIN] + c.count[IMAGE_VALID], 0);
        assert_int_equal(c.count[IMAGE_TEST], 3);
        for (int i = 0; i < 3; ++i) {
            make_pixels(i, SIDE, pixels);
            assert_memory_equal(c.pixels[IMAGE_TEST][i], pixels, PIXELS);
            assert_string_equal(c.file[i], loose[i]);
        }
    }
    ASSERT_OK(open_set(in_folder(state, "b.PNG"), &plain, 2, &c));
    assert_int_equal(c.count[IMAGE_TEST], 1);
    assert_string_equal(c.file[0], "b.PNG");
    make_pixels(1, SIDE, pixels);
    assert_memory_equal(c.pixels[IMAGE_TEST][0], pixels, PIXELS);
    ASSERT_STATUS(open_set(in_folder(state, "damaged.png"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no image is left of 1 that are malformed");
    ASSERT_STATUS(open_set(in_folder(state, "nameless"), &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no data set of images");
    ASSERT_OK(open_set(in_folder(state, "nameless"), &forced, 2, &c)); /* said to be one */
    assert_memory_equal(c.pixels[IMAGE_TEST][0], pixels, PIXELS);
    ASSERT_OK(folder_make(in_folder(state, "empty")));
    ASSERT_STATUS(open_set(in_folder(state, "empty"), &forced, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no image: expected files .jpg");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* ---- classes alone, and sets for a trained model --------------------------------------------------------------- */

static void test_folders_of_classes_alone(void **state)
{
    put_image(state, "bee/images", "1.png", 1);
    put_image(state, "ant", "0.png", 0);
    put_image(state, "ant", "2.png", 2);
    ASSERT_OK(open_set(*state, &plain, 2, &c));
    assert_int_equal(c.classes, 2);
    assert_int_equal(c.count[IMAGE_TRAIN], 3);
    assert_string_equal(c.class_name[1], "bee");
    check_train(1, 0, 2);
    check_train(2, 1, 1);
    const image_options trained = {.threads = 1, .trained = true};
    ASSERT_OK(open_set(*state, &trained, 1, &c)); /* a trained model is tested on them */
    assert_int_equal(c.count[IMAGE_TRAIN], 0);
    assert_int_equal(c.count[IMAGE_TEST], 3);
    const image_options scored = {.threads = 1, .trained = true, .scores_training = true};
    ASSERT_OK(open_set(*state, &scored, 1, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 3);
}

static void test_two_folders_of_one_split(void **state)
{
    put_image(state, "train/ant", "0.png", 0);
    put_image(state, "val/ant", "1.png", 1);
    put_image(state, "Valid/ant", "2.png", 2);
    ASSERT_STATUS(open_set(*state, &plain, 2, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("both mean the split val");
    ASSERT_MESSAGE("Valid/");
}

/* A name of macOS in one split, as others write it in the next. */
static void test_two_spellings_of_a_class(void **state)
{
    put_image(state, "train/caf\xc3\xa9", "0.png", 0);
    put_image(state, "train/tea", "1.png", 1);
    put_image(state, "val/cafe\xcc\x81", "2.png", 2);
    ASSERT_OK(open_set(*state, &plain, 2, &c));
    assert_int_equal(c.classes, 2);
    assert_string_equal(c.class_name[0], "caf\xc3\xa9");
    assert_int_equal(c.label[IMAGE_VALID][0], 0);
}

static void test_no_training_images_for_a_trained_model(void **state)
{
    const image_options trained = {.threads = 1, .trained = true};
    put_image(state, "test/bee", "0.png", 0);
    put_image(state, "test/cow", "1.png", 1);
    ASSERT_STATUS(open_set(*state, &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no training image");
    ASSERT_OK(open_set(*state, &trained, 2, &c));
    assert_int_equal(c.count[IMAGE_TEST], 2);
    assert_int_equal(c.classes, 2);
    assert_string_equal(c.class_name[0], "bee");
}

static weft_status relabel_rank(weft_comm *comm, void *argument)
{
    static const int32_t class_of[] = {3, -1, 0};
    static char *const called[] = {"w", "x", "y", "z"};
    const image_options trained = {.threads = 1, .trained = true, .scores_training = true};
    image_set *set;
    int64_t rows[3];
    int split;
    int64_t index;
    WEFT_TRY(image_set_open(comm, argument, &trained, &set));
    image_set_count_classes(set, rows);
    assert_int_equal(rows[0], 3);
    assert_int_equal(rows[1], 4);
    assert_int_equal(rows[2], 2);
    assert_int_equal(image_set_evaluated(set), FILES);
    image_set_evaluated_at(set, 0, &split, &index);
    assert_true(split == IMAGE_VALID && index == 0);
    image_set_evaluated_at(set, 3, &split, &index);
    assert_true(split == IMAGE_TEST && index == 1);
    image_set_evaluated_at(set, FILES - 1, &split, &index);
    assert_true(split == IMAGE_TRAIN && index == 4);
    weft_status status = image_set_relabel(set, class_of, 4, called);
    assert_int_equal(set->classes, 4);
    assert_string_equal(set->class_name[3], "z");
    assert_int_equal(image_set_label(set, IMAGE_TRAIN, 0), 3);
    assert_int_equal(image_set_label(set, IMAGE_TEST, 0), -1);
    assert_int_equal(set->labelled[IMAGE_TRAIN], 3);
    assert_int_equal(set->labelled[IMAGE_VALID], 2);
    assert_int_equal(set->labelled[IMAGE_TEST], 0);
    image_set_close(set);
    return status;
}

static void test_classes_become_those_of_a_model(void **state)
{
    put_folders(state);
    ASSERT_OK(comm_thread_run(1, relabel_rank, *state));
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* ---- without memory -------------------------------------------------------------------------------------------- */

static weft_status open_only(weft_comm *comm, void *argument)
{
    const open_case *wanted = argument;
    image_set *set = NULL;
    comm_set_stall_timeout(comm, 100.0);
    weft_status status = image_set_open(comm, wanted->path, wanted->options, &set);
    image_set_close(set);
    return status;
}

/* Every single allocation fails once, on one of the ranks: the job ends with that on all, and nothing is left. */
static void fail_each(const char *path, int ranks)
{
    c = (open_case){.path = path, .options = &plain};
    uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(comm_thread_run(ranks, open_only, &c));
    const uint64_t all = weft_mem_usage_total().allocations - before;
    for (uint64_t n = 1; n <= all; ++n) {
        weft_alloc_fail_after(n);
        const weft_status status = comm_thread_run(ranks, open_only, &c);
        weft_alloc_fail_after(0);
        if (status != WEFT_OK && status != WEFT_ERR_RESOURCE) {
            fail_msg("%s: allocation %llu of %llu: %s: %s", path, (unsigned long long)n, (unsigned long long)all,
                     weft_status_name(status), weft_error_message());
        }
        if (weft_mem_usage_total().current_bytes != 0) {
            fail_msg("%s: allocation %llu of %llu: memory is left", path, (unsigned long long)n,
                     (unsigned long long)all);
        }
    }
}

static void test_every_allocation_may_fail(void **state)
{
    put_folders(state);
    put_file(in_folder(state, names[6]), "GIF89a", 6);
    make_tar();
    put_gzip(in_folder(state, "it.tar.gz"), tar.data, tar.bytes);
    for (int ranks = 1; ranks <= 2; ++ranks) {
        fail_each(in_folder(state, "train/ant"), ranks);
        fail_each(*state, ranks);
        fail_each(in_folder(state, "it.tar.gz"), ranks);
        fail_each("synth:images,n=3,size=4,test=2", ranks);
    }
}

/* ---- made images ----------------------------------------------------------------------------------------------- */

static void test_made_images(void **state)
{
    static const char spec[] = "synth:images,n=10,size=12,classes=3,test=4,seed=2";
    const image_options piecewise = {.threads = 2, .memory = 1};
    static open_case again;
    image_set *set;
    weft_comm *comm;
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, spec, &plain, &set));
    assert_int_equal(set->count[IMAGE_TRAIN], 10);
    assert_int_equal(set->count[IMAGE_TEST], 4);
    ASSERT_OK(read_all(set, &c));
    image_set_close(set);
    ASSERT_OK(image_set_open(comm, spec, &piecewise, &set));
    ASSERT_OK(read_all(set, &again));
    image_set_close(set);
    assert_memory_equal(c.pixels[IMAGE_TRAIN], again.pixels[IMAGE_TRAIN], 10 * PIXELS);
    assert_memory_equal(c.pixels[IMAGE_TEST], again.pixels[IMAGE_TEST], 4 * PIXELS);
    ASSERT_STATUS(image_set_open(comm, "synth:images,sise=3", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean \"size\"");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n=0", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("whole number from 1");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n=4,size=8,n=5", &plain, &set), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("n is given twice");
    ASSERT_STATUS(image_set_open(comm, "synth:images,n", &plain, &set), WEFT_ERR_USAGE);
    comm_destroy(comm);
}

enum { GRATED = 16, GRATED_PIXELS = GRATED * GRATED, GRATED_CLASSES = 8 };

static int nearest_mean(double mean[GRATED_CLASSES][GRATED_PIXELS], const uint8_t *pixels)
{
    double best = 1e30;
    int class = 0;
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        double away = 0;
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            away += (pixels[p] - mean[k][p]) * (pixels[p] - mean[k][p]);
        }
        class = away < best ? k : class;
        best = away < best ? away : best;
    }
    return class;
}

/* Power at the frequency of each class, whatever the phase. */
static int strongest_filter(const uint8_t *pixels)
{
    double most = 0;
    int class = 0;
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        double sum[2] = {0, 0};
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            const int x = p % GRATED;
            const int y = p / GRATED;
            const double at = 6.283185307 * 0.18 * (x * cos(3.141592654 * k / 8) + y * sin(3.141592654 * k / 8));
            sum[0] += (pixels[p] - 128) * cos(at);
            sum[1] += (pixels[p] - 128) * sin(at);
        }
        const double power = sum[0] * sum[0] + sum[1] * sum[1];
        class = power > most ? k : class;
        most = power > most ? power : most;
    }
    return class;
}

/* The means of the classes, which is what a linear model has to go by, tell half: phases near the mean's. Filters tell
 * nearly all. */
static void test_made_images_need_filters(void **state)
{
    static const char spec[] = "synth:images,n=2000,size=16,channels=1,classes=8,test=400,seed=3";
    static double mean[GRATED_CLASSES][GRATED_PIXELS];
    int count[GRATED_CLASSES] = {0};
    int by_mean = 0;
    int by_filter = 0;
    uint8_t pixels[GRATED_PIXELS];
    int32_t label;
    image_set *set;
    weft_comm *comm;
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, spec, &plain, &set));
    for (int64_t i = 0; i < set->count[IMAGE_TRAIN]; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TRAIN, i, pixels, &label));
        count[label] += 1;
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            mean[label][p] += pixels[p];
        }
    }
    for (int k = 0; k < GRATED_CLASSES; ++k) {
        assert_in_range(count[k], 180, 320);
        for (int p = 0; p < GRATED_PIXELS; ++p) {
            mean[k][p] /= count[k];
        }
    }
    for (int64_t i = 0; i < 400; ++i) {
        ASSERT_OK(image_set_read(set, IMAGE_TEST, i, pixels, &label));
        by_mean += nearest_mean(mean, pixels) == label;
        by_filter += strongest_filter(pixels) == label;
    }
    assert_in_range(by_mean, 0, 400 * 6 / 10);
    assert_in_range(by_filter, 400 * 9 / 10, 400);
    image_set_close(set);
    comm_destroy(comm);
}

/* ---- public data ----------------------------------------------------------------------------------------------- */

static const char *public_path(const char *name)
{
    static char path[2][FILE_PATH_MAX];
    static int next;
    const char *shared = getenv("WEFT_SHARED");
    char *to = path[next++ % 2];
    ASSERT_OK(file_path(to, "%s/data/%s", shared != NULL ? shared : "/nowhere", name));
    if (!file_exists(to)) {
        skip();
    }
    return to;
}

/* The k-th image of a class is the same in both forms; re-encoding moved values by 5.8 on average (data's own
 * notes). */
static void test_cifar_as_jpeg_is_near_the_binary(void **state)
{
    image_set *jpeg;
    image_set *binary;
    weft_comm *comm;
    static uint8_t a[3072], b[3072];
    int64_t of_class[10] = {0};
    double away = 0;
    (void)state;
    const char *path = public_path("cifar10/cifar10-images.tar.xz"); /* which may skip the test */
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, path, &plain, &jpeg));
    ASSERT_OK(image_set_open(comm, public_path("cifar10"), &plain, &binary));
    assert_int_equal(jpeg->count[IMAGE_TRAIN], 50000);
    assert_int_equal(jpeg->count[IMAGE_TEST], 10000);
    assert_int_equal(jpeg->malformed, 0);
    assert_int_equal(jpeg->height, 32);
    for (int k = 0; k < 10; ++k) {
        assert_string_equal(jpeg->class_name[k], binary->class_name[k]);
    }
    for (int64_t i = 0; i < 4000; ++i) {
        int32_t label;
        int32_t other;
        ASSERT_OK(image_set_read(binary, IMAGE_TRAIN, i, a, &label));
        ASSERT_OK(image_set_read(jpeg, IMAGE_TRAIN, label * 5000 + of_class[label]++, b, &other));
        assert_int_equal(label, other);
        for (int p = 0; p < 3072; ++p) {
            away += abs(a[p] - b[p]);
        }
    }
    ASSERT_NEAR(away / 4000 / 3072, 5.8, 0.1);
    image_set_close(jpeg);
    image_set_close(binary);
    comm_destroy(comm);
}

static void test_hymenoptera(void **state)
{
    const image_options sized = {.threads = 2, .height = 64, .width = 64};
    (void)state;
    const char *path = public_path("hymenoptera_data");
    ASSERT_STATUS(open_set(path, &plain, 1, &c), WEFT_ERR_DATA);
    ASSERT_MESSAGE("--image-size");
    ASSERT_OK(open_set(path, &sized, 2, &c));
    assert_int_equal(c.count[IMAGE_TRAIN], 112);
    assert_int_equal(c.count[IMAGE_VALID], 40);
    assert_int_equal(c.malformed, 0);
    assert_string_equal(c.class_name[0], "ants");
    assert_string_equal(c.class_name[1], "bees");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folders, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_malformed_images_are_left_out, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_left_is_an_error, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_folders_of_classes_alone, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_folders_of_one_split, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_spellings_of_a_class, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_training_images_for_a_trained_model, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_classes_become_those_of_a_model, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_sizes_agree_or_are_chosen, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_classes_must_be_trained, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_empty_folders_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_loose_images, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, folder_setup, folder_teardown),
        cmocka_unit_test(test_made_images),
        cmocka_unit_test(test_made_images_need_filters),
        cmocka_unit_test(test_cifar_as_jpeg_is_near_the_binary),
        cmocka_unit_test(test_hymenoptera),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
