/* Keys and rows of the next batch that travel ahead change no bit, keys that are gathered in nodes change sums by
 * rounding alone, and what either sends is known.
 * trees: release asan */
#include <string.h>

#include "comm/core/layout.h"
#include "embed/embed.h"
#include "embed/embed_key.h"
#include "embed/exchange/row_route.h"
#include "embed/plan/embed_plan.h"
#include "support/folder.h"
#include "support/test.h"

enum { SAMPLES = 29, FIELDS = 2, WIDTH = 4, STRIDE = WIDTH + 1, IDS = 24, STEPS = 10, ADMIT = 1, SEED = 5 };
enum { BAGS = SAMPLES * FIELDS, KEYS = 2 * BAGS, COLUMNS = FIELDS * STRIDE, RANKS_MOST = 8 };
enum { PAUSE = 4 }; /* behind this step rows are written, and a pass of another batch happens */

typedef struct job {
    bool ahead;
    int node_ranks; /* above 0: nodes of so many ranks, in which keys are gathered */
    embed_mode mode;
    const uint8_t *mode_of;
    int64_t expire_after;
    bool admits_all;         /* ids at first sight */
    double chance;           /* of a sighting to admit an id */
    bool pauses;             /* a pass over another batch behind step PAUSE, while the next one is under way */
    bool trains_between;     /* it is one of training */
    const char *save, *load; /* of the rows behind step PAUSE */
    int first;               /* step */
    float out[STEPS][SAMPLES * COLUMNS];
    int64_t bytes; /* of the lane of rows, over all ranks */
    embed_figures figures;
} job;

/* This rank's share of a batch. */
typedef struct share {
    int64_t at[BAGS + 1];
    uint64_t key[KEYS];
    embed_bags bags;
} share;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static int first_of(int p, int ranks)
{
    return SAMPLES * p / ranks;
}

/* Two thirds of the ids are those of the batch before, and one in nine is one of a few that come back at any time. */
static void fill(int step, int64_t *at, uint64_t *key)
{
    uint32_t state = (uint32_t)step * 91U + 3U;
    int64_t n = 0;
    for (int b = 0; b < BAGS; ++b) {
        at[b] = n;
        for (uint32_t k = 0; k < draw(&state) % 2 + 1; ++k) {
            const uint32_t window = draw(&state) % 9 == 0 ? 0 : (uint32_t)step * IDS / 3;
            key[n++] = embed_key(b % FIELDS, window + draw(&state) % IDS);
        }
    }
    at[BAGS] = n;
}

static void fill_share(int step, int rank, int ranks, share *s)
{
    const int first = first_of(rank, ranks), samples = first_of(rank + 1, ranks) - first;
    fill(step, s->at, s->key);
    const int64_t begin = s->at[first * FIELDS];
    for (int b = 0; b <= samples * FIELDS; ++b) {
        s->at[b] = s->at[first * FIELDS + b] - begin;
    }
    s->bags = (embed_bags){
        .samples = samples, .fields = FIELDS, .at = s->at, .key = s->key + begin, .batch = (uint64_t)step + 1};
}

static weft_status step_of(weft_comm *comm, job *j, embed_table *table, int step, share both[2])
{
    const int ranks = comm_size(comm), rank = comm_rank(comm), first = first_of(rank, ranks);
    share *now = &both[step % 2], *next = &both[(step + 1) % 2];
    float total[SAMPLES * COLUMNS];
    if (step == j->first || !j->ahead) {
        fill_share(step, rank, ranks, now);
    }
    WEFT_TRY(embed_forward(table, &now->bags, true, total, COLUMNS));
    if (j->ahead && step + 1 < STEPS) {
        fill_share(step + 1, rank, ranks, next);
        WEFT_TRY(embed_ahead(table, &next->bags));
        WEFT_TRY(step % 3 == 0 ? WEFT_OK : embed_ahead_rows(table)); /* else embed_backward does it */
    }
    for (int64_t i = 0; i < now->bags.samples * COLUMNS; ++i) {
        j->out[step][first * COLUMNS + i] = total[i];
        total[i] = (total[i] + 0.01F) / SAMPLES;
    }
    WEFT_TRY(embed_backward(table, total, COLUMNS, 0.3));
    if (step == PAUSE && j->save != NULL) {
        WEFT_TRY(comm_agree(comm, embed_save(table, j->save, "rows", 7)));
    }
    if (step == PAUSE && j->pauses) {
        share other;
        fill_share(0, rank, ranks, &other);
        WEFT_TRY(embed_forward(table, &other.bags, j->trains_between, total, COLUMNS));
    }
    return WEFT_OK;
}

static weft_status run(weft_comm *comm, void *argument)
{
    job *j = argument;
    const embed_desc desc = {.fields = FIELDS,
                             .width = WIDTH,
                             .linear = true,
                             .rule = EMBED_ADAGRAD,
                             .spread = 0.1,
                             .seed = SEED,
                             .admit_after = j->admits_all ? 0 : ADMIT,
                             .admit_chance = j->chance,
                             .expire_after = j->expire_after,
                             .mode = j->mode,
                             .mode_of = j->mode_of,
                             .ahead = j->ahead,
                             .nodes = j->node_ranks > 0};
    embed_table *table = NULL;
    share *both = test_calloc(2, sizeof *both);
    comm_set_stall_timeout(comm, 60);
    WEFT_TRY(j->node_ranks > 0 ? comm_imitate_nodes(comm, j->node_ranks) : WEFT_OK);
    WEFT_TRY(embed_open(comm, &desc, KEYS, &table));
    weft_status status = j->load == NULL ? WEFT_OK : comm_agree(comm, embed_load(table, j->load, "rows", 7));
    embed_figures figures = {0};
    for (int step = j->first; step < STEPS && status == WEFT_OK; ++step) {
        status = step_of(comm, j, table, step, both);
    }
    status = status == WEFT_OK ? embed_measure(table, &figures) : status;
    int64_t bytes = (int64_t)comm_lane_stats(comm, COMM_LANE_ROWS).bytes_sent;
    status = status == WEFT_OK ? comm_allreduce(comm, &bytes, 1, WEFT_DTYPE_I64, COMM_SUM) : status;
    if (comm_rank(comm) == 0) {
        j->figures = figures;
        j->bytes = bytes;
    }
    embed_close(table);
    test_free(both);
    return status;
}

static job *run_job(int ranks, job how)
{
    job *j = test_calloc(1, sizeof *j);
    *j = how;
    ASSERT_OK(comm_thread_run(ranks, run, j));
    return j;
}

static void check_same(const job *a, const job *b)
{
    assert_memory_equal(a->out, b->out, sizeof a->out);
    assert_int_equal(a->figures.rows, b->figures.rows);
    assert_int_equal(a->figures.waiting, b->figures.waiting);
    assert_int_equal(a->figures.made, b->figures.made);
    assert_int_equal(a->figures.expired, b->figures.expired);
}

static void changes_no_bit(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 4, 8};
    static const uint8_t by_field[FIELDS] = {EMBED_DES, EMBED_ALL_TO_ALL};
    int64_t made[5] = {0};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks - TEST_SANITIZED; ++i) {
        /* Rows leave after 1 and 2 batches in the last two: their places are taken again. */
        for (int form = ranks[i] == 8 ? 3 : 0; form < 5; form += ranks[i] >= 4 ? 5 : 1) {
            job how = {.mode = form == 1 ? EMBED_REPLICATE : EMBED_ALL_TO_ALL,
                       .mode_of = form == 2 ? by_field : NULL,
                       .expire_after = form < 3 ? 0 : form - 2,
                       .admits_all = form >= 3,
                       .chance = form == 4 ? 0.4 : 0,
                       .pauses = form == 0 || form == 2,
                       .trains_between = form == 2};
            job *plain = run_job(ranks[i], how);
            how.ahead = true;
            job *ahead = run_job(ranks[i], how);
            check_same(ahead, plain);
            assert_true(plain->figures.rows > 0);
            assert_int_equal(ahead->figures.reread > 0, ranks[i] > 1 && form != 1);
            assert_int_equal(plain->figures.reread, 0);
            made[form] = ranks[i] == 1 ? plain->figures.made : made[form]; /* drawn alike by any number of ranks */
            assert_int_equal(plain->figures.made, made[form]);
            test_free(plain);
            test_free(ahead);
        }
    }
}

/* Rows that are written between two batches, the second of which is under way, are those of a table that looks at
 * nothing ahead, and go on alike on another number of ranks. */
static void a_checkpoint_between(void **state)
{
    const char *folder = *state;
    static const int ranks[] = {2, 4, 3};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        const int then = ranks[(i + 1) % 3];
        job *plain = run_job(ranks[i], (job){.expire_after = 3, .save = folder});
        job *from_plain = run_job(then, (job){.expire_after = 3, .load = folder, .first = PAUSE + 1});
        test_free(plain);
        job *ahead = run_job(ranks[i], (job){.expire_after = 3, .save = folder, .ahead = true});
        job *from_ahead = run_job(then, (job){.expire_after = 3, .load = folder, .first = PAUSE + 1, .ahead = true});
        check_same(from_ahead, from_plain);
        test_free(ahead);
        test_free(from_plain);
        test_free(from_ahead);
    }
}

/* ---- bytes ---- */

typedef struct seen_key {
    int sightings, row_since, last; /* row_since, last: step, or -1 */
} seen_key;

/* Distinct keys that rank p asks other owners for in a step, and how many of their rows have changed since they left:
 * made in this step, or updated in the one before. */
static void count_rank(int step, int p, int ranks, const seen_key *seen, int64_t *asked, int64_t *changed)
{
    share s;
    bool met[FIELDS][STEPS * IDS] = {{false}};
    fill_share(step, p, ranks, &s);
    for (int64_t k = 0; k < s.at[s.bags.samples * FIELDS]; ++k) {
        const uint64_t key = s.bags.key[k], id = key & ((UINT64_C(1) << EMBED_ID_BITS) - 1);
        const int field = embed_key_field(key);
        if (met[field][id] || row_route_owner(key, SEED, ranks) == p) {
            continue;
        }
        met[field][id] = true;
        const seen_key *of = &seen[(uint64_t)field * STEPS * IDS + id];
        *asked += 1;
        *changed += of->row_since == step || (of->row_since >= 0 && of->last == step - 1);
    }
}

/* The batch of all ranks is seen. last: of the batch before it. */
static void see(int step, seen_key *seen)
{
    int64_t at[BAGS + 1];
    uint64_t key[KEYS];
    int times[FIELDS * STEPS * IDS] = {0};
    fill(step, at, key);
    for (int64_t k = 0; k < at[BAGS]; ++k) {
        times[embed_key_field(key[k]) * STEPS * IDS + (int)(key[k] & ((UINT64_C(1) << EMBED_ID_BITS) - 1))] += 1;
    }
    for (int i = 0; i < FIELDS * STEPS * IDS; ++i) {
        if (times[i] > 0 && seen[i].row_since < 0 && seen[i].sightings >= ADMIT) {
            seen[i].row_since = step;
        }
        seen[i].sightings += times[i];
    }
}

static void met_in(int step, seen_key *seen)
{
    int64_t at[BAGS + 1];
    uint64_t key[KEYS];
    fill(step, at, key);
    for (int64_t k = 0; k < at[BAGS]; ++k) {
        const int field = embed_key_field(key[k]);
        seen[field * STEPS * IDS + (int)(key[k] & ((UINT64_C(1) << EMBED_ID_BITS) - 1))].last = step;
    }
}

/* Counted bytes are those of keys, rows and gradients, and of 4 + 4 STRIDE for each row that changed. */
static void bytes_are_known(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 4, 8};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks - TEST_SANITIZED; ++i) {
        int64_t formula = 0, reread = 0;
        seen_key *seen = test_calloc(FIELDS * STEPS * IDS, sizeof *seen);
        for (int k = 0; k < FIELDS * STEPS * IDS; ++k) {
            seen[k] = (seen_key){.row_since = -1, .last = -1};
        }
        job *ahead = run_job(ranks[i], (job){.ahead = true});
        for (int step = 0; step < STEPS; ++step) {
            int64_t asked = 0, changed = 0;
            see(step, seen);
            for (int p = 0; p < ranks[i]; ++p) {
                count_rank(step, p, ranks[i], seen, &asked, &changed);
            }
            met_in(step, seen);
            const embed_counts counts = {.ranks = ranks[i], .distinct_away = asked};
            changed = step == 0 ? 0 : changed;
            formula += embed_mode_bytes(EMBED_ALL_TO_ALL, &counts, STRIDE, COLUMNS, false) +
                       (step == 0 ? 0 : embed_late_bytes(&counts, STRIDE, changed));
            reread += changed;
        }
        assert_true(reread > 0);
        assert_int_equal(ahead->figures.reread, reread);
        assert_int_equal(ahead->bytes, formula);
        assert_int_equal(ahead->figures.sent[EMBED_ALL_TO_ALL], formula);
        test_free(ahead);
        test_free(seen);
    }
    assert_int_equal(embed_late_bytes(&(embed_counts){.ranks = 3}, STRIDE, 10), 6 * 8 + 10 * (4 + 4 * STRIDE));
}

/* Keys that ranks of nodes of `locals` send within their node, and the distinct ones of each node that leave it. */
static void count_nodes(int step, int ranks, int locals, int64_t *in_node, int64_t *between)
{
    for (int first = 0; first < ranks; first += locals) {
        bool of_node[FIELDS][STEPS * IDS] = {{false}};
        for (int p = first; p < first + locals; ++p) {
            share s;
            bool met[FIELDS][STEPS * IDS] = {{false}};
            fill_share(step, p, ranks, &s);
            for (int64_t k = 0; k < s.at[s.bags.samples * FIELDS]; ++k) {
                const uint64_t key = s.bags.key[k], id = key & ((UINT64_C(1) << EMBED_ID_BITS) - 1);
                const int field = embed_key_field(key), owner = row_route_owner(key, SEED, ranks);
                *in_node += !met[field][id] && owner % locals != p % locals;
                *between += !of_node[field][id] && (owner < first || owner >= first + locals);
                met[field][id] = of_node[field][id] = true;
            }
        }
    }
}

static void nodes_gather_keys(void **state)
{
    (void)state;
    static const int cases[][2] = {{4, 2}, {6, 3}, {8, 2}};
    job *one = run_job(1, (job){.expire_after = 4});
    for (size_t i = 0; i < (TEST_SANITIZED ? 1 : sizeof cases / sizeof *cases); ++i) {
        const int ranks = cases[i][0], locals = cases[i][1];
        job *flat = run_job(ranks, (job){.expire_after = 4});
        job *nodes = run_job(ranks, (job){.expire_after = 4, .node_ranks = locals});
        const embed_counts counts = {.ranks = ranks, .batches = STEPS};
        int64_t in_node = 0, between = 0, crosses = 0;
        for (int step = 0; step < STEPS; ++step) {
            count_nodes(step, ranks, locals, &in_node, &between);
        }
        const int64_t formula = embed_node_bytes(&counts, STRIDE, ranks / locals, in_node, between, &crosses);
        assert_int_equal(nodes->bytes, formula);
        assert_int_equal(nodes->figures.sent[EMBED_ALL_TO_ALL], formula);
        assert_int_equal(nodes->figures.between, crosses);
        assert_true(crosses < flat->bytes);
        assert_int_equal(nodes->figures.made, one->figures.made);
        assert_int_equal(nodes->figures.rows, one->figures.rows);
        for (int s = 0; s < STEPS; ++s) {
            for (int k = 0; k < SAMPLES * COLUMNS; ++k) {
                assert_float_equal(nodes->out[s][k], one->out[s][k], 1e-5);
            }
        }
        test_free(flat);
        test_free(nodes);
    }
    /* Nodes of different sizes, and nodes of one rank: keys go to owners straight. */
    job *flat = run_job(3, (job){.expire_after = 4}), *uneven = run_job(3, (job){.expire_after = 4, .node_ranks = 2});
    check_same(uneven, flat);
    assert_int_equal(uneven->bytes, flat->bytes);
    test_free(flat);
    test_free(uneven);
    test_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_no_bit),
        cmocka_unit_test_setup_teardown(a_checkpoint_between, folder_setup, folder_teardown),
        cmocka_unit_test(bytes_are_known),
        cmocka_unit_test(nodes_gather_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
