/*
 * Steps of links against their definition: an epoch visits each training link once, in another order each epoch;
 * negatives are no edges; 1 and 3 ranks have the same links and negatives in a step; terms of the loss add up; the
 * encoder sees every step as an epoch of its own.
 */
#include <string.h>

#include "gnn/links/link_model.h"
#include "support/graphs.h"
#include "support/test.h"

enum { VERTICES = 60, EDGES = 400, EPOCHS = 2, WIDTH = 4, NEGATIVES = 2, MOST_LINKS = 400, MOST_RANKS = 3 };

typedef struct seen_link {
    int visits, step;
    int32_t a, b[1 + NEGATIVES]; /* vertices */
} seen_link;

typedef struct setting {
    const test_graph *graph;
    int64_t batch;
    bool pairwise;
    int64_t total, steps;
    seen_link seen[EPOCHS][MOST_LINKS]; /* a rank writes those of its links */
} setting;

/* An encoder whose rows are zeros, and that remembers which epoch it was asked for. */
typedef struct blank_encoder {
    weft_tensor rows;
    uint32_t epoch;
} blank_encoder;

static weft_status blank_forward(void *self, const train_pass *pass, weft_tensor *rows)
{
    blank_encoder *e = self;
    e->epoch = pass->epoch;
    *rows = e->rows;
    return WEFT_OK;
}

static weft_status blank_backward(void *self, const train_pass *pass, weft_tensor *rows)
{
    blank_encoder *e = self;
    (void)rows;
    return pass->epoch == e->epoch ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "backward in another epoch");
}

/* Rows of the step go to their links. places stand by rank, and vertices are dealt in turns: vertex of a place. */
static weft_status note_step(const link_model *m, const train_pass *pass, const int32_t *vertex, setting *s)
{
    const link_batch *b = &m->training.links;
    const train_targets *t = &m->training.targets;
    const int64_t links = b->compared;
    const int64_t *id = m->training.id;
    const int64_t terms = s->pairwise ? NEGATIVES : 1 + NEGATIVES;
    WEFT_CHECK(b->links == links * (1 + NEGATIVES) && t->rows == links * terms, WEFT_ERR_INTERNAL, "rows of a step");
    for (int64_t i = 0; i < links; ++i) {
        seen_link *seen = &s->seen[pass->epoch - 1][id[i]];
        seen->visits += 1;
        seen->step = (int)pass->step;
        seen->a = vertex[b->a[i]];
        for (int64_t k = 0; k <= NEGATIVES; ++k) {
            const int64_t row = k * links + i;
            WEFT_CHECK(id[row] == k * s->total + id[i] && vertex[b->a[row]] == seen->a, WEFT_ERR_INTERNAL, "row");
            seen->b[k] = vertex[b->b[row]];
        }
    }
    for (int64_t row = 0; row < t->rows; ++row) {
        WEFT_CHECK(t->target_host[row] == (s->pairwise || row < links ? 1.0F : 0.0F), WEFT_ERR_INTERNAL, "target");
    }
    return WEFT_OK;
}

static weft_status run_epochs(link_model *m, const blank_encoder *encoder, const int32_t *vertex, setting *s)
{
    const train_source *source = &m->source;
    uint32_t before = 0;
    for (uint32_t epoch = 1; epoch <= EPOCHS; ++epoch) {
        int64_t terms = 0;
        for (int64_t step = 0; step < source->steps; ++step) {
            train_batch batch;
            weft_tensor logits;
            train_pass pass = {.training = true, .seed = 5, .epoch = epoch, .step = step, .parts = 1};
            WEFT_TRY(source->batch(source->self, &pass, &batch));
            pass.batch = &batch;
            WEFT_TRY(m->interface.forward(m->interface.self, &pass, &logits));
            WEFT_CHECK(logits.rows == batch.targets->rows, WEFT_ERR_INTERNAL, "logits of a step");
            WEFT_CHECK(encoder->epoch == ++before, WEFT_ERR_INTERNAL, "encoder in epoch %u", encoder->epoch);
            WEFT_TRY(m->interface.backward(m->interface.self, &pass, &logits));
            WEFT_TRY(note_step(m, &pass, vertex, s));
            terms += batch.targets->loss_entries;
        }
        WEFT_CHECK(terms == source->loss_entries, WEFT_ERR_INTERNAL, "%lld terms of a loss", (long long)terms);
    }
    s->steps = source->steps; /* each rank writes the same */
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    setting *s = argument;
    const int rank = comm_rank(comm), ranks = comm_size(comm);
    const link_shares shares = {.share = {0.8, 0.1, 0.1}};
    const link_decoder_config dot = {.kind = LINK_DOT, .width = WIDTH};
    const link_model_config config = {
        .training = {.negatives = NEGATIVES, .batch = s->batch, .pairwise = s->pairwise, .trains = true},
        .labelled = true};
    weft_hal *hal = NULL;
    link_set set = {.vertices = 0};
    link_decoder decoder;
    link_model m = {.comm = NULL};
    blank_encoder encoder = {.epoch = 0};
    train_model blank = {.self = &encoder, .forward = blank_forward, .backward = blank_backward};
    int64_t gid[VERTICES], owned = 0;
    int32_t vertex[VERTICES];
    for (int r = 0, place = 0; r < ranks; ++r) {
        for (int32_t v = r; v < VERTICES; v += ranks) {
            vertex[place++] = v;
            if (r == rank) {
                gid[owned++] = v;
            }
        }
    }
    link_decoder_begin(&dot, &decoder);
    weft_status status = weft_hal_open(test_device("shadow"), 1, &hal);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(link_set_draw(comm, &s->graph->graph, &shares, 0, &set), status, done);
    s->total = set.total;
    status = tensor_create(hal, WEFT_DTYPE_F32, owned, WIDTH, WEFT_MEM_ACTIVATION, &encoder.rows);
    status = status == WEFT_OK ? tensor_zero(&encoder.rows) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(link_model_create(comm, hal, &blank, gid, owned, &set, &decoder, &config, &m), status, done);
    status = comm_agree(comm, run_epochs(&m, &encoder, vertex, s));
done:
    link_model_destroy(&m);
    link_decoder_destroy(&decoder);
    link_set_destroy(&set);
    tensor_destroy(&encoder.rows);
    weft_hal_close(hal);
    return status;
}

static bool joined(const weft_graph *graph, int64_t a, int64_t b)
{
    for (int64_t e = graph->offset[a]; e < graph->offset[a + 1]; ++e) {
        if (graph->source32[e] == b) {
            return true;
        }
    }
    return false;
}

/* Of one rank. */
static void check_visits(const setting *s)
{
    int64_t moved = 0, late = 0;
    for (int64_t i = 0; i < s->total; ++i) {
        for (int e = 0; e < EPOCHS; ++e) {
            const seen_link *seen = &s->seen[e][i];
            assert_int_equal(seen->visits, 1);
            assert_true(joined(&s->graph->graph, seen->a, seen->b[0]));
            late += seen->step > 0;
        }
        moved += s->seen[0][i].step != s->seen[1][i].step;
    }
    const int64_t steps = s->batch == 0 ? 1 : (s->total + s->batch - 1) / s->batch;
    assert_int_equal(s->steps, steps);
    if (steps > 1) {
        assert_true(moved > s->total / 4 && late > 0); /* of 3 and more steps about two thirds move */
    } else {
        assert_int_equal(moved + late, 0);
    }
}

static void check_batches(int64_t batch, bool pairwise)
{
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 11);
    setting *one = calloc(1, sizeof *one), *three = calloc(1, sizeof *three);
    assert_non_null(one);
    assert_non_null(three);
    *one = *three = (setting){.graph = &graph, .batch = batch, .pairwise = pairwise};
    ASSERT_OK(comm_thread_run(1, run_rank, one));
    ASSERT_OK(comm_thread_run(MOST_RANKS, run_rank, three));
    assert_in_range(one->total, 200, MOST_LINKS);
    assert_int_equal(three->total, one->total);
    check_visits(one);
    assert_memory_equal(one->seen, three->seen, sizeof one->seen);
    free(one);
    free(three);
    test_graph_free(&graph);
}

static void test_whole(void **state)
{
    (void)state;
    check_batches(0, false);
    check_batches(0, true);
}

/* The last step is short; the second case leaves single ranks without a link in some of the steps. */
static void test_batches(void **state)
{
    (void)state;
    check_batches(90, false);
    check_batches(2, true);
    check_batches(90, true);
    check_batches(2, false);
}

/* A batch of more links than there are is all of them, in the order of the graph. */
static void test_large_batch(void **state)
{
    (void)state;
    check_batches(100000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_large_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
