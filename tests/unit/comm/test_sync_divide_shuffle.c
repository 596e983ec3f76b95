/* Divide-and-shuffle on 1 to 8 ranks: exact means after s rounds, kept means otherwise, full averages, racks. */
#include "support/comm_run.h"
#include "support/sync_quadratic.h"

static sync_options options_of(int group)
{
    sync_options options = sync_options_default();
    options.mode = SYNC_DIVIDE_SHUFFLE;
    options.divide_shuffle.group = group;
    options.divide_shuffle.seed = 11;
    return options;
}

/* Rounds without training: nothing but the averages moves the parameters. */
static weft_status round_only(replica *r)
{
    WEFT_TRY(sync_begin(r->sync, 0.0, 0.0));
    WEFT_TRY(sync_gradients(r->sync));
    return sync_parameters(r->sync);
}

static double mean_of(float (*all)[QUAD_ELEMENTS], int ranks, int i)
{
    double sum = 0;
    for (int q = 0; q < ranks; ++q) {
        sum += (double)all[q][i];
    }
    return sum / ranks;
}

/* s with g^s = n, 0: none. */
static int power_of(int n, int g)
{
    int s = 0;
    for (; n % g == 0; n /= g) {
        ++s;
    }
    return n == 1 ? s : 0;
}

/* Small integers over 2, 4 or 8 ranks: all sums and means are exact floats, whatever the order. */
static weft_status exact_after_rounds(weft_comm *comm, int group)
{
    replica r;
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(group);
    int ranks = comm_size(comm);
    int rounds = power_of(ranks, group);
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int i = 0; i < QUAD_ELEMENTS; ++i) {
        r.value[i] = (float)case_value(comm_rank(comm), i);
    }
    WEFT_TRY(replica_gather(&r, all));
    for (int t = 0; t < rounds; ++t) {
        WEFT_TRY(round_only(&r));
    }
    for (int i = 0; i < QUAD_ELEMENTS && rounds > 0; ++i) {
        double mean = mean_of(all, ranks, i);
        bool right = ranks % 2 == 0 ? (double)r.value[i] == mean : fabs((double)r.value[i] - mean) < 1e-5;
        CASE_CHECK(right, "element %d: %.9g, the mean is %.9g", i, (double)r.value[i], mean);
    }
    if (rounds > 0) {
        WEFT_TRY(replica_check_equal(&r));
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

static weft_status case_exact(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(exact_after_rounds(comm, 2));
    WEFT_TRY(exact_after_rounds(comm, 3));
    WEFT_TRY(exact_after_rounds(comm, 4));
    return exact_after_rounds(comm, 8);
}

static weft_status keeps_mean(weft_comm *comm, int group)
{
    replica r;
    float first[8][QUAD_ELEMENTS];
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(group);
    int ranks = comm_size(comm);
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int i = 0; i < QUAD_ELEMENTS; ++i) {
        r.value[i] = (float)(quad_target(comm_rank(comm), i) * 3);
    }
    WEFT_TRY(replica_gather(&r, first));
    for (int t = 0; t < 40; ++t) {
        WEFT_TRY(round_only(&r));
        WEFT_TRY(replica_gather(&r, all));
        for (int i = 0; i < QUAD_ELEMENTS && ranks > 1; ++i) {
            CASE_CHECK(fabs(mean_of(all, ranks, i) - mean_of(first, ranks, i)) < 2e-6, "round %d moves the mean of %d",
                       t, i);
        }
    }
    for (int i = 0; i < QUAD_ELEMENTS && ranks > 1; ++i) {
        CASE_CHECK(fabs((double)r.value[i] - mean_of(first, ranks, i)) < 1e-3, "element %d: %.9g, the mean is %.9g", i,
                   (double)r.value[i], mean_of(first, ranks, i));
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

static weft_status case_keeps_mean(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(keeps_mean(comm, 2));
    return keeps_mean(comm, 3);
}

/* Every third step all replicas are equal; the steps between leave them apart. */
static weft_status case_full_average(weft_comm *comm, void *argument)
{
    replica r;
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(2);
    int ranks = comm_size(comm);
    options.divide_shuffle.full_every = 3;
    (void)argument;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int t = 1; t <= 9; ++t) {
        WEFT_TRY(replica_step(&r, 0.1, 1.0));
        if (t % 3 == 0) {
            WEFT_TRY(replica_check_equal(&r));
        } else if (ranks > 3) {
            WEFT_TRY(replica_gather(&r, all));
            int apart = 0;
            for (int q = 1; q < ranks; ++q) {
                apart += !quad_same(all[0], all[q], sizeof all[0]);
            }
            CASE_CHECK(apart > 0, "all ranks are equal after step %d", t);
        }
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* Averages before evaluations stay, and the distance is that of the replicas. */
static weft_status case_average_stays(weft_comm *comm, void *argument)
{
    replica r;
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(2);
    int ranks = comm_size(comm);
    (void)argument;
    WEFT_TRY(replica_open(comm, &options, &r));
    WEFT_TRY(replica_steps(&r, 1, 0.1));
    WEFT_TRY(replica_gather(&r, all));
    double sum = 0;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        for (int q = 0; q < ranks; ++q) {
            double d = (double)all[q][i] - mean_of(all, ranks, i);
            sum += d * d / (ranks * QUAD_TRAINED);
        }
    }
    WEFT_TRY(sync_average(r.sync));
    WEFT_TRY(sync_resume(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    CASE_CHECK(fabs(sync_get_figures(r.sync).distance - sqrt(sum)) < 1e-5, "distance %g, expected %g",
               sync_get_figures(r.sync).distance, sqrt(sum));
    sync_destroy(r.sync);
    return WEFT_OK;
}

/* With two racks: no byte of the first rounds crosses, so the racks keep means of their own until they meet. */
static weft_status case_racks(weft_comm *comm, void *argument)
{
    replica r;
    char path[64];
    char text[128];
    float all[8][QUAD_ELEMENTS];
    sync_options options = options_of(2);
    int ranks = comm_size(comm);
    int half = ranks / 2;
    (void)argument;
    if (ranks != 4 && ranks != 8) {
        return WEFT_OK;
    }
    snprintf(text, sizeof text, "left: 0-%d\nright: %d-%d # ranks\n", half - 1, half, ranks - 1);
    WEFT_TRY(quad_write(comm, text, path));
    options.divide_shuffle.topology = path;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int i = 0; i < QUAD_ELEMENTS; ++i) {
        r.value[i] = comm_rank(comm) < half ? 1.0f : -1.0f;
    }
    int inner = power_of(half, 2);
    for (int t = 0; t < inner; ++t) {
        WEFT_TRY(round_only(&r));
        CASE_CHECK(r.value[0] == (comm_rank(comm) < half ? 1.0f : -1.0f), "round %d crosses racks", t);
    }
    WEFT_TRY(round_only(&r)); /* crosses: pairs of one from each side */
    WEFT_TRY(replica_gather(&r, all));
    for (int q = 0; q < ranks; ++q) {
        CASE_CHECK(all[q][5] == 0.0f, "rank %d holds %g", q, (double)all[q][5]);
    }
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

/* Bytes of a step: a pair exchanges all parameters once (recursive doubling among two). */
static weft_status case_bytes(weft_comm *comm, void *argument)
{
    replica r;
    sync_options options = options_of(2);
    int ranks = comm_size(comm);
    (void)argument;
    options.algorithm = COMM_ALGO_RECURSIVE_DOUBLING;
    WEFT_TRY(replica_open(comm, &options, &r));
    if (ranks == 2 || ranks == 4 || ranks == 8) {
        WEFT_TRY(round_only(&r));
        uint64_t before = sync_get_figures(r.sync).bytes_sent;
        for (int t = 0; t < 6; ++t) {
            WEFT_TRY(round_only(&r));
        }
        uint64_t bytes = sync_get_figures(r.sync).bytes_sent - before;
        CASE_CHECK(bytes == 6 * QUAD_ELEMENTS * sizeof(float), "%llu bytes", (unsigned long long)bytes);
    }
    sync_destroy(r.sync);
    return WEFT_OK;
}

int main(void)
{
    static const comm_case cases[] = {
        {"exact mean after s rounds", case_exact},
        {"uneven groups keep the mean", case_keeps_mean},
        {"full average", case_full_average},
        {"average stays", case_average_stays},
        {"racks", case_racks},
        {"bytes", case_bytes},
    };
    return comm_run_threads(cases, sizeof cases / sizeof *cases, comm_run_case_once);
}
