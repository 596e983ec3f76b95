/*
 * What a node keeps of decoded images: over any number of ranks, nodes and bounds every sample has its own pixels,
 * which are known from how its file was made; what is kept is not read again, which is shown by removing the files; a
 * damaged or foreign file on disk costs decoding and nothing else.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "comm/core/layout.h"
#include "dense/data/image_set.h"
#include "support/image_bytes.h"
#include "train/batch/batch_order.h"

enum {
    SIDE = 8,
    PIXELS = SIDE * SIDE * 3,
    RECORD = PIXELS + 8,
    HEAD = 4096,
    TRAINED = 20,
    TESTED = 5,
    SAMPLES = TRAINED + TESTED,
    PASSES = 4
};

static image_bytes file;

typedef struct cache_case {
    const char *path;
    image_options options;
    int ranks, node_ranks, passes; /* node_ranks: of imitated nodes; 0: all of them */
    int shade;                     /* that make_pixels is expected to have had */
    bool vanish;                   /* the files go after the first pass */
    image_use opened, use[PASSES]; /* over all ranks, when opened and in each pass */
} cache_case;

static void make_pixels(int sample, int shade, uint8_t *pixels)
{
    for (int i = 0; i < PIXELS; ++i) {
        pixels[i] = (uint8_t)(sample * 41 + i * 3 + i / 7 + shade);
    }
}

static void sample_name(const char *folder, int sample, char path[FILE_PATH_MAX])
{
    ASSERT_OK(file_path(path, "%s/%s/ant/%02d.png", folder, sample < TRAINED ? "train" : "test", sample));
}

static void put_images(const char *folder, int shade)
{
    char path[FILE_PATH_MAX];
    uint8_t pixels[PIXELS];
    for (int i = 0; i < 2; ++i) {
        ASSERT_OK(file_path(path, "%s/%s/ant", folder, i == 0 ? "train" : "test"));
        ASSERT_OK(folder_make(path));
    }
    for (int i = 0; i < SAMPLES; ++i) {
        make_pixels(i, shade, pixels);
        make_png(&file, pixels, SIDE, SIDE, 3, 0);
        sample_name(folder, i, path);
        put_file(path, file.data, file.bytes);
    }
}

static void remove_images(const char *folder)
{
    char path[FILE_PATH_MAX];
    for (int i = 0; i < SAMPLES; ++i) {
        sample_name(folder, i, path);
        assert_int_equal(unlink(path), 0);
    }
}

/* Share (rank + pass) of a random order, so that in `ranks` passes every rank reads every sample and no two the
 * same. */
static weft_status read_pass(const weft_comm *comm, const cache_case *c, const image_set *set, int pass)
{
    const permutation order = batch_order(SAMPLES, 3, 0);
    const int ranks = comm_size(comm);
    const batch_share share = batch_order_share(SAMPLES, SAMPLES, 0, ranks, (comm_rank(comm) + pass) % ranks);
    int wrong = 0;
#pragma omp parallel for num_threads(2) reduction(+ : wrong)
    for (int64_t i = 0; i < share.count; ++i) {
        const int sample = (int)permute(&order, (uint64_t)(share.begin + i));
        uint8_t got[PIXELS], expected[PIXELS];
        int32_t label = -1;
        make_pixels(sample, c->shade, expected);
        const bool tested = sample >= TRAINED;
        const weft_status status =
            image_set_read(set, tested ? IMAGE_TEST : IMAGE_TRAIN, tested ? sample - TRAINED : sample, got, &label);
        wrong += status != WEFT_OK || label != 0 || memcmp(got, expected, PIXELS) != 0;
    }
    WEFT_CHECK(wrong == 0, WEFT_ERR_INTERNAL, "pass %d: %d samples are wrong", pass, wrong);
    return WEFT_OK;
}

/* What all ranks used since `*before`, which becomes now. */
static weft_status sum_use(weft_comm *comm, const image_set *set, image_use *before, image_use *sum)
{
    const image_use now = image_set_use(set);
    int64_t all[IMAGE_LEVELS + 1];
    for (int level = 0; level < IMAGE_LEVELS; ++level) {
        all[level] = now.samples[level] - before->samples[level];
    }
    all[IMAGE_LEVELS] = (int64_t)(now.source_bytes - before->source_bytes);
    *before = now;
    WEFT_TRY(comm_allreduce(comm, all, IMAGE_LEVELS + 1, WEFT_DTYPE_I64, COMM_SUM));
    if (comm_rank(comm) == 0) {
        memcpy(sum->samples, all, sizeof sum->samples);
        sum->source_bytes = (uint64_t)all[IMAGE_LEVELS];
    }
    return WEFT_OK;
}

static weft_status read_rank(weft_comm *comm, void *argument)
{
    cache_case *c = argument;
    image_set *set = NULL;
    image_use before = {{0}, 0};
    if (c->node_ranks > 0) {
        WEFT_TRY(comm_imitate_nodes(comm, c->node_ranks));
    }
    weft_status status = image_set_open(comm, c->path, &c->options, &set);
    status = status == WEFT_OK ? sum_use(comm, set, &before, &c->opened) : status;
    for (int pass = 0; pass < c->passes && status == WEFT_OK; ++pass) {
        status = comm_agree(comm, read_pass(comm, c, set, pass));
        status = status == WEFT_OK ? sum_use(comm, set, &before, &c->use[pass]) : status;
        if (pass == 0 && c->vanish && comm_rank(comm) == 0) {
            remove_images(c->path);
        }
        status = status == WEFT_OK ? comm_barrier(comm) : status;
    }
    image_set_close(set);
    return status;
}

static weft_status run_case(cache_case *c)
{
    c->options.threads = 1;
    return comm_thread_run(c->ranks, read_rank, c);
}

static void check_use(const image_use *use, int64_t memory, int64_t disk, int64_t source)
{
    assert_int_equal(use->samples[IMAGE_FROM_MEMORY], memory);
    assert_int_equal(use->samples[IMAGE_FROM_DISK], disk);
    assert_int_equal(use->samples[IMAGE_FROM_SOURCE], source);
    assert_int_equal(use->source_bytes > 0, source > 0);
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

/* A large image is understood by its first bytes; one with much before its size is read whole, and is as good. */
static void test_files_are_looked_at_by_their_heads(void **state)
{
    enum { LARGE = 128, BEFORE = 60000, LOOKED = 1 << 14 };
    static uint8_t pixels[LARGE * LARGE * 3];
    cache_case c = {.path = *state, .ranks = 2};
    uint32_t noise = 1;
    for (int i = 0; i < LARGE * LARGE * 3; ++i) {
        noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(noise >> 24); /* does not pack */
    }
    ASSERT_OK(folder_make(in_folder(state, "train/ant")));
    make_png(&file, pixels, LARGE, LARGE, 3, 0);
    assert_true(file.bytes > 2 * LOOKED);
    put_file(in_folder(state, "train/ant/1.png"), file.data, file.bytes);
    ASSERT_OK(run_case(&c));
    assert_int_equal(c.opened.source_bytes, LOOKED);
    make_jpeg(&file, pixels, LARGE, LARGE, 3, false);
    memmove(file.data + 2 + BEFORE, file.data + 2, file.bytes - 2);
    memcpy(file.data + 2, "\xff\xe1", 2); /* a camera's notes: a marker, a length of 16 bits, anything */
    file.data[4] = (BEFORE - 2) >> 8;
    file.data[5] = (BEFORE - 2) & 255;
    file.bytes += BEFORE;
    put_file(in_folder(state, "train/ant/1.png"), file.data, file.bytes);
    ASSERT_OK(run_case(&c));
    assert_int_equal(c.opened.source_bytes, LOOKED + file.bytes);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void test_an_image_is_decoded_once_a_node(void **state)
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        cache_case c = {.path = *state, .ranks = ranks, .passes = PASSES, .vanish = true};
        put_images(*state, 0);
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, 0, SAMPLES);
        for (int pass = 1; pass < PASSES; ++pass) {
            check_use(&c.use[pass], SAMPLES, 0, 0);
        }
    }
    put_images(*state, 0);
    cache_case c = {.path = *state, .ranks = 4, .node_ranks = 2, .passes = PASSES};
    ASSERT_OK(run_case(&c));
    int64_t decoded = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        decoded += c.use[pass].samples[IMAGE_FROM_SOURCE];
    }
    assert_int_equal(decoded, 2 * SAMPLES);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static weft_status measure_rank(weft_comm *comm, void *argument)
{
    cache_case *c = argument;
    image_set *set = NULL;
    WEFT_TRY(image_set_open(comm, c->path, &c->options, &set));
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 0) {
        c->opened.source_bytes = weft_mem_usage_total().current_bytes;
    }
    WEFT_TRY(comm_barrier(comm));
    image_set_close(set);
    return WEFT_OK;
}

/* Bytes that are taken while the set is open. */
static uint64_t bytes_taken(cache_case c)
{
    c.options.threads = 1;
    ASSERT_OK(comm_thread_run(c.ranks, measure_rank, &c));
    return c.opened.source_bytes;
}

/* Whoever reads samples once keeps none: each pass decodes all of them. */
static void test_samples_that_are_read_once_are_not_kept(void **state)
{
    put_images(*state, 0);
    for (int ranks = 1; ranks <= 2; ++ranks) {
        cache_case c = {.path = *state, .ranks = ranks, .passes = 2, .options.once = true};
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, 0, SAMPLES);
        check_use(&c.use[1], 0, 0, SAMPLES);
        const uint64_t once = bytes_taken((cache_case){.path = *state, .ranks = ranks, .options.once = true});
        const uint64_t kept = bytes_taken((cache_case){.path = *state, .ranks = ranks});
        assert_true(once < kept);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static void test_memory_is_bounded(void **state)
{
    put_images(*state, 0);
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        const uint64_t least = bytes_taken((cache_case){.path = *state, .ranks = ranks, .options.memory = 1});
        for (int room = 0; room <= SAMPLES + 8; room += 3) {
            const uint64_t memory = (uint64_t)room * PIXELS + 1;
            cache_case c = {.path = *state, .ranks = ranks, .passes = 2, .options.memory = memory};
            ASSERT_OK(run_case(&c));
            const int64_t kept = c.use[1].samples[IMAGE_FROM_MEMORY];
            assert_in_range(kept, room > 2 * ranks ? (room < SAMPLES ? room : SAMPLES) - 2 * ranks : 0, room);
            check_use(&c.use[0], 0, 0, SAMPLES);
            check_use(&c.use[1], kept, 0, SAMPLES - kept);
            const uint64_t slack = (uint64_t)ranks * 5120; /* flags of the window */
            assert_true(bytes_taken(c) <= least + memory + slack);
        }
    }
}

/* ---- disk ------------------------------------------------------------------------------------------------------ */

static const char *disk_folder(void **state)
{
    return in_folder(state, "kept/here");
}

/* The one file of the folder whose name ends so. */
static void find_file(void **state, const char *ending, char path[FILE_PATH_MAX])
{
    char command[2 * FILE_PATH_MAX];
    snprintf(command, sizeof command, "ls %s/*.%s", disk_folder(state), ending);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(path, FILE_PATH_MAX, out));
    path[strcspn(path, "\n")] = '\0';
    assert_int_equal(pclose(out), 0);
}

static cache_case on_disk(void **state, int ranks, uint64_t memory)
{
    static char folder[FILE_PATH_MAX];
    ASSERT_OK(file_path(folder, "%s", disk_folder(state)));
    return (cache_case){
        .path = *state, .ranks = ranks, .passes = 2, .options = {.memory = memory, .cache_folder = folder}};
}

static void test_later_jobs_read_the_disk(void **state)
{
    put_images(*state, 0);
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        cache_case cold = on_disk(state, ranks, 1);
        ASSERT_OK(run_case(&cold));
        check_use(&cold.use[0], 0, ranks == 1 ? 0 : SAMPLES, ranks == 1 ? SAMPLES : 0);
        check_use(&cold.use[1], 0, SAMPLES, 0);
        cache_case warm = on_disk(state, ranks, 1 << 20);
        ASSERT_OK(run_case(&warm));
        check_use(&warm.opened, 0, 0, 0); /* nor are the files looked at */
        check_use(&warm.use[0], 0, SAMPLES, 0);
        check_use(&warm.use[1], SAMPLES, 0, 0);
    }
}

static void test_the_disk_is_bounded(void **state)
{
    enum { PLACES = 7, HELD = 11 };
    char path[FILE_PATH_MAX];
    struct stat facts;
    put_images(*state, 0);
    cache_case all = on_disk(state, 1, 1);
    ASSERT_OK(run_case(&all));
    cache_case c = on_disk(state, 1, HELD * (PIXELS + 1) + 64);
    c.options.cache_disk = HEAD + PLACES * RECORD + RECORD / 2;
    ASSERT_OK(run_case(&c)); /* what has no place any more is cut off, and the rest is there */
    check_use(&c.use[0], 0, PLACES, SAMPLES - PLACES);
    check_use(&c.use[1], HELD, PLACES, SAMPLES - PLACES - HELD);
    find_file(state, "cache", path);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, HEAD + PLACES * RECORD);
    c.options.cache_disk = 100;
    ASSERT_OK(run_case(&c));
    check_use(&c.use[1], HELD, 0, SAMPLES - HELD);
}

static void change_byte(const char *path, off_t at)
{
    uint8_t byte;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x20;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void test_damaged_records_are_decoded_again(void **state)
{
    char path[FILE_PATH_MAX];
    put_images(*state, 0);
    cache_case c = on_disk(state, 1, 1);
    ASSERT_OK(run_case(&c));
    find_file(state, "cache", path);
    for (int at = 0; at < RECORD; at += 37) { /* checksum and pixels, of one record after the other */
        change_byte(path, HEAD + (at % SAMPLES) * RECORD + at);
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, SAMPLES - 1, 1);
        check_use(&c.use[1], 0, SAMPLES, 0);
    }
    for (int whole = 0; whole < SAMPLES; whole += 5) { /* cut off within a record */
        assert_int_equal(truncate(path, HEAD + whole * RECORD + 3 * whole), 0);
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, whole, SAMPLES - whole);
    }
    size_t bytes;
    uint8_t *data = get_file(path, &bytes); /* records in each other's places */
    uint8_t *first = data + HEAD;
    uint8_t spare[RECORD];
    memcpy(spare, first, RECORD);
    memcpy(first, first + RECORD, RECORD);
    memcpy(first + RECORD, spare, RECORD);
    put_file(path, data, bytes);
    free(data);
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, SAMPLES - 2, 2);
    for (int at = 0; at < HEAD; at += 1000) {
        change_byte(path, at);
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, 0, SAMPLES);
    }
    put_file(path, "no images", 9);
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, 0, SAMPLES);
}

static void test_damaged_sizes_are_looked_at_again(void **state)
{
    char path[FILE_PATH_MAX];
    put_images(*state, 0);
    cache_case c = on_disk(state, 2, 1);
    ASSERT_OK(run_case(&c));
    const uint64_t looked = c.opened.source_bytes;
    assert_true(looked > 0);
    find_file(state, "sizes", path);
    for (int at = 0; at < 256 + 8 * SAMPLES + 8; at += 57) {
        change_byte(path, at);
        ASSERT_OK(run_case(&c));
        assert_int_equal(c.opened.source_bytes, looked);
        ASSERT_OK(run_case(&c));
        assert_int_equal(c.opened.source_bytes, 0);
    }
    assert_int_equal(truncate(path, 300), 0);
    ASSERT_OK(run_case(&c));
    assert_int_equal(c.opened.source_bytes, looked);
}

static void test_other_images_are_not_taken_for_these(void **state)
{
    put_images(*state, 0);
    cache_case c = on_disk(state, 2, 1);
    ASSERT_OK(run_case(&c));
    put_images(*state, 1); /* of the same sizes, later */
    c.shade = 1;
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, 0, SAMPLES);
    char first[FILE_PATH_MAX];
    sample_name(*state, 0, first);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, first, times, 0), 0);
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, 0, SAMPLES);
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, SAMPLES, 0);
}

/* Nodes that share a disk are as two jobs are: one has the file, the other goes on without. */
static void test_one_node_at_a_time_has_the_file(void **state)
{
    put_images(*state, 0);
    cache_case c = on_disk(state, 4, 1);
    ASSERT_OK(run_case(&c));
    c.node_ranks = 2;
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, c.use[0].samples[IMAGE_FROM_DISK], c.use[0].samples[IMAGE_FROM_SOURCE]);
    assert_in_range(c.use[0].samples[IMAGE_FROM_DISK], 1, SAMPLES - 1);
    assert_int_equal(c.use[0].samples[IMAGE_FROM_DISK] + c.use[0].samples[IMAGE_FROM_SOURCE], SAMPLES);
}

static void test_a_folder_that_cannot_be_made_costs_decoding(void **state)
{
    put_images(*state, 0);
    put_file(in_folder(state, "kept"), "", 0);
    cache_case c = on_disk(state, 2, 1);
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, 0, SAMPLES);
    check_use(&c.use[1], 0, 0, SAMPLES);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* Without a lock nothing is written; what an earlier job wrote is read. */
static void test_a_file_that_cannot_be_locked_is_read(void **state)
{
    char path[FILE_PATH_MAX];
    char lock[FILE_PATH_MAX];
    put_images(*state, 0);
    cache_case c = on_disk(state, 2, 1);
    ASSERT_OK(run_case(&c));
    find_file(state, "cache", path);
    change_byte(path, HEAD + 100);
    ASSERT_OK(file_path(lock, "%s.lock", path));
    ASSERT_OK(folder_make(lock));
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, SAMPLES - 1, 1);
    check_use(&c.use[1], 0, SAMPLES - 1, 1);
    put_images(*state, 1); /* others */
    c.shade = 1;
    ASSERT_OK(run_case(&c));
    check_use(&c.use[0], 0, 0, SAMPLES);
}

typedef enum stranger { SYMBOLIC_LINK, HARD_LINK, PIPE, FOLDER, STRANGERS } stranger;

static void put_stranger(stranger kind, const char *victim, const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(kind == SYMBOLIC_LINK ? symlink(victim, path)
                     : kind == HARD_LINK   ? link(victim, path)
                     : kind == PIPE        ? mkfifo(path, 0600)
                                           : mkdir(path, 0700),
                     0);
}

/* Something else has the file's name: it is left as it is, and images are decoded. */
static void test_nothing_is_written_through_strangers(void **state)
{
    char path[FILE_PATH_MAX];
    put_images(*state, 0);
    put_file(in_folder(state, "victim"), "mine", 4);
    for (stranger kind = 0; kind < STRANGERS; ++kind) {
        cache_case c = on_disk(state, 2, 1);
        ASSERT_OK(run_case(&c));
        find_file(state, "cache", path);
        put_stranger(kind, in_folder(state, "victim"), path);
        ASSERT_OK(run_case(&c));
        check_use(&c.use[0], 0, 0, SAMPLES);
        check_use(&c.use[1], 0, 0, SAMPLES);
        size_t bytes;
        free(get_file(in_folder(state, "victim"), &bytes));
        assert_int_equal(bytes, 4);
        assert_int_equal(kind == FOLDER ? rmdir(path) : unlink(path), 0);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_are_looked_at_by_their_heads, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_an_image_is_decoded_once_a_node, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_samples_that_are_read_once_are_not_kept, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_later_jobs_read_the_disk, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_the_disk_is_bounded, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_records_are_decoded_again, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_sizes_are_looked_at_again, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_other_images_are_not_taken_for_these, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_one_node_at_a_time_has_the_file, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_that_cannot_be_made_costs_decoding, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_locked_is_read, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_written_through_strangers, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
