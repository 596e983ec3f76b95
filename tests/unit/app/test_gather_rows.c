/* Rows gathered stripe by stripe: every row in its place, for any number of ranks and any stripe. */
#include "app/predict/gather_rows.h"
#include "support/folder.h"

enum { ROWS = 300, WIDTH = 3 };

typedef struct gather_case {
    int64_t stripe_bytes;
    const char *path;
} gather_case;

static uint32_t word_of(int64_t id, int64_t col)
{
    return (uint32_t)(id * 7919 + col * 104729);
}

/* Row v belongs to rank (v * v) % P, and stands there in descending order; the last rank of several has nothing. */
static weft_status gather_rank(weft_comm *comm, void *argument)
{
    const gather_case *c = argument;
    int owners = comm_size(comm) > 1 ? comm_size(comm) - 1 : 1;
    int64_t id[ROWS];
    uint32_t rows[ROWS * WIDTH];
    held_rows held = {.total = ROWS, .id = id};
    for (int64_t v = ROWS - 1; v >= 0; --v) {
        if ((v * v) % owners == comm_rank(comm)) {
            for (int64_t col = 0; col < WIDTH; ++col) {
                rows[held.count * WIDTH + col] = word_of(v, col);
            }
            id[held.count++] = v;
        }
    }
    file_writer writer;
    bool first = comm_rank(comm) == 0;
    WEFT_TRY(comm_agree(comm, first ? file_writer_open(c->path, &writer) : WEFT_OK));
    WEFT_TRY(gather_rows(comm, &held, rows, WIDTH, c->stripe_bytes, &writer));
    return first ? file_writer_commit(&writer) : WEFT_OK;
}

static void test_every_row_in_its_place(void **state)
{
    static const int64_t stripes[] = {1, 100, 12 * 111, 1 << 20};
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (size_t s = 0; s < sizeof stripes / sizeof *stripes; ++s) {
            gather_case c = {.stripe_bytes = stripes[s], .path = in_folder(state, "rows")};
            unlink(c.path);
            ASSERT_OK(comm_thread_run(ranks, gather_rank, &c));
            size_t bytes = 0;
            uint8_t *content = get_file(c.path, &bytes);
            assert_int_equal(bytes, ROWS * WIDTH * 4);
            for (int64_t i = 0; i < ROWS * WIDTH; ++i) {
                uint32_t word;
                memcpy(&word, content + 4 * i, 4);
                assert_int_equal(word, word_of(i / WIDTH, i % WIDTH));
            }
            free(content);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_row_in_its_place, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
