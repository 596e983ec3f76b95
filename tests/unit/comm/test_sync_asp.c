/* Approximate synchronous parallel on 1 to 8 ranks: exact at threshold 0, nothing lost above it, clocks and slack. */
#include "support/comm_run.h"
#include "support/sync_quadratic.h"

static sync_options options_of(const char *sites, double threshold)
{
    sync_options options = sync_options_default();
    options.mode = SYNC_ASP;
    options.asp.policy = ASP_FIXED;
    options.asp.threshold = threshold;
    options.asp.sites = sites;
    return options;
}

/* `sites` sites of consecutive ranks, the first ones one rank longer; every rank its own when there are too few. */
static int site_of(int rank, int ranks, int sites)
{
    int used = sites < ranks ? sites : ranks;
    return rank * used / ranks;
}

static weft_status write_sites(weft_comm *comm, int sites, char *path)
{
    char text[512] = "";
    int ranks = comm_size(comm);
    for (int s = 0; s < sites && s < ranks; ++s) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "site%d:", s);
        for (int r = 0; r < ranks; ++r) {
            at = strlen(text);
            if (site_of(r, ranks, sites) == s) {
                snprintf(text + at, sizeof text - at, " %d", r);
            }
        }
        at = strlen(text);
        snprintf(text + at, sizeof text - at, "\n");
    }
    return quad_write(comm, text, path);
}

/* Exact SGD on the sum of all ranks, in doubles. weight0: of rank 0. */
static void serial_step(double *w, int ranks, double lr, bool equal, double weight0)
{
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        double gradient = 0;
        for (int r = 0; r < ranks; ++r) {
            gradient += (r == 0 ? weight0 : 1.0) * quad_curvature(r, i, equal) * (w[i] - quad_target(r, i)) / ranks;
        }
        w[i] -= lr * gradient;
    }
}

static weft_status exact_run(weft_comm *comm, int sites)
{
    enum { STEPS = 50 };
    replica r;
    char path[64];
    double w[QUAD_TRAINED];
    int ranks = comm_size(comm);
    WEFT_TRY(write_sites(comm, sites, path));
    sync_options options = options_of(path, 0.0);
    WEFT_TRY(replica_open(comm, &options, &r));
    r.equal = false;
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        w[i] = quad_start(i);
    }
    for (int k = 0; k < STEPS; ++k) {
        double weight0 = k % 5 == 2 ? 0.0 : 1.0;
        WEFT_TRY(replica_step(&r, 0.1, comm_rank(comm) == 0 ? weight0 : 1.0));
        serial_step(w, ranks, 0.1, false, weight0);
        for (int i = 0; i < QUAD_TRAINED && ranks > 1; ++i) {
            CASE_CHECK(fabs((double)r.value[i] - w[i]) < 2e-6 * (k + 2),
                       "%d sites, step %d, element %d: %.9g, exact %.9g", sites, k, i, (double)r.value[i], w[i]);
        }
    }
    sync_figures figures = sync_get_figures(r.sync);
    CASE_CHECK(ranks == 1 || figures.staleness == 0, "staleness %lld", (long long)figures.staleness);
    WEFT_TRY(sync_finish(r.sync));
    WEFT_TRY(replica_check_equal(&r));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_exact(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(exact_run(comm, 8));
    WEFT_TRY(exact_run(comm, 3));
    WEFT_TRY(exact_run(comm, 2));
    return exact_run(comm, 1);
}

/* Ranks of a site hold the same bits at any time. */
static weft_status check_site_equal(const replica *r, int sites)
{
    float all[8][QUAD_ELEMENTS];
    int ranks = comm_size(r->comm);
    WEFT_TRY(replica_gather(r, all));
    for (int q = 1; q < ranks; ++q) {
        if (site_of(q, ranks, sites) == site_of(q - 1, ranks, sites)) {
            CASE_CHECK(quad_same(all[q], all[q - 1], QUAD_TRAINED * sizeof(float)), "ranks %d and %d differ", q - 1, q);
        }
    }
    return WEFT_OK;
}

/* acc: of every site's leader, zero elsewhere; [P][QUAD_TRAINED] */
static weft_status gather_acc(replica *r, float (*acc)[QUAD_TRAINED])
{
    float mine[QUAD_TRAINED] = {0};
    int64_t bytes[8];
    sync_buffer buffer = {.data = NULL};
    WEFT_TRY(replica_buffer(r, "asp accumulator", &buffer));
    if (buffer.bytes > 0) {
        CASE_CHECK(buffer.bytes == (int64_t)sizeof mine, "%lld bytes", (long long)buffer.bytes);
        memcpy(mine, buffer.data, sizeof mine);
    }
    for (int q = 0; q < comm_size(r->comm); ++q) {
        bytes[q] = (int64_t)sizeof mine;
    }
    return comm_allgatherv(r->comm, mine, (int64_t)sizeof mine, acc, bytes);
}

/*
 * With a threshold the sites differ, but parameters + what the others hold back is one and the same sum everywhere: the
 * start plus every site's share of its updates, followed here in doubles.
 */
static weft_status conserving_run(weft_comm *comm, int sites, int64_t slack)
{
    replica r;
    char path[64];
    float acc[8][QUAD_TRAINED];
    double sum[QUAD_TRAINED] = {0};
    int ranks = comm_size(comm);
    int rank = comm_rank(comm);
    double density = 0;
    WEFT_TRY(write_sites(comm, sites, path));
    sync_options options = options_of(path, 0.05);
    options.asp.slack = slack;
    options.asp.flush_every = 31;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 30; ++k) {
        float before[QUAD_ELEMENTS];
        WEFT_TRY(sync_begin(r.sync, 0.02, 1.0));
        replica_gradient(&r);
        WEFT_TRY(sync_gradients(r.sync));
        memcpy(before, r.value, sizeof before);
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            r.value[i] -= 0.02f * r.grad[i];
            sum[i] += ((double)r.value[i] - (double)before[i]) / ranks; /* n ranks of a site count n/P together */
        }
        quad_sleep((rank * 5 + k) % 3 * 20);
        WEFT_TRY(sync_parameters(r.sync));
        density += sync_get_figures(r.sync).density / 30;
    }
    if (ranks > 1) {
        WEFT_TRY(gather_acc(&r, acc));
        WEFT_TRY(check_site_equal(&r, sites));
        WEFT_TRY(comm_allreduce(comm, sum, QUAD_TRAINED, WEFT_DTYPE_F64, COMM_SUM));
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            double have = (double)r.value[i];
            for (int q = 0; q < ranks; ++q) {
                have += site_of(q, ranks, sites) != site_of(rank, ranks, sites) ? (double)acc[q][i] : 0.0;
            }
            CASE_CHECK(fabs(have - quad_start(i) - sum[i]) < 1e-5, "element %d: %.9g, all updates give %.9g", i, have,
                       quad_start(i) + sum[i]);
        }
        CASE_CHECK(rank > 0 || (density > 0.02 && density < 0.7), "density %g", density);
        /* Averages show the mean and leave everything as it was. */
        float mine[QUAD_ELEMENTS];
        memcpy(mine, r.value, sizeof mine);
        WEFT_TRY(sync_average(r.sync));
        WEFT_TRY(replica_check_equal(&r));
        WEFT_TRY(sync_resume(r.sync));
        CASE_CHECK(quad_same(mine, r.value, sizeof mine), "an average changed the replica");
        /* A step that moves nothing, and flushes: what was held back is everywhere once it is heard. */
        WEFT_TRY(sync_begin(r.sync, 0.02, 1.0));
        memset(r.grad, 0, sizeof r.grad);
        WEFT_TRY(sync_gradients(r.sync));
        WEFT_TRY(sync_parameters(r.sync));
        WEFT_TRY(gather_acc(&r, acc)); /* hears what is under way */
        for (int i = 0; i < QUAD_TRAINED; ++i) {
            CASE_CHECK(fabs((double)r.value[i] - quad_start(i) - sum[i]) < 1e-5, "after the flush element %d: %.9g", i,
                       (double)r.value[i]);
        }
    }
    WEFT_TRY(sync_finish(r.sync));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_conserves(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(conserving_run(comm, 8, 0));
    WEFT_TRY(conserving_run(comm, 2, 0));
    WEFT_TRY(conserving_run(comm, 3, 2));
    return conserving_run(comm, 8, 3);
}

/* Every rank a site. Heads are 32 bytes a bucket, site and step; dense payloads 4 bytes an element, entries 8. */
static weft_status bytes_run(weft_comm *comm, double threshold, int64_t flush_every, uint64_t expected_payload)
{
    enum { STEPS = 6 };
    replica r;
    char path[64];
    int ranks = comm_size(comm);
    WEFT_TRY(write_sites(comm, 8, path));
    sync_options options = options_of(path, threshold);
    options.asp.flush_every = flush_every;
    WEFT_TRY(replica_open(comm, &options, &r));
    WEFT_TRY(replica_step(&r, 0.05, 1.0));
    uint64_t before = sync_get_figures(r.sync).bytes_sent;
    WEFT_TRY(replica_steps(&r, STEPS, 0.05));
    uint64_t bytes = sync_get_figures(r.sync).bytes_sent - before;
    uint64_t peers = (uint64_t)ranks - 1;
    CASE_CHECK(bytes == peers * (STEPS * QUAD_BUCKETS * 32 + expected_payload),
               "%llu bytes to %d peers, %llu a peer expected", (unsigned long long)bytes, ranks - 1,
               (unsigned long long)(STEPS * QUAD_BUCKETS * 32 + expected_payload));
    WEFT_TRY(sync_finish(r.sync));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_bytes(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(bytes_run(comm, 0.0, 0, 6ull * QUAD_TRAINED * 4)); /* everything is significant: dense */
    WEFT_TRY(bytes_run(comm, 1e6, 0, 0));                       /* nothing is */
    return bytes_run(comm, 1e6, 3, 2ull * QUAD_TRAINED * 4);    /* but every third step: of 2 to 7, 3 and 6 */
}

/* One significant element a bucket of each site travels as an entry of 8 bytes. */
static weft_status case_entries(weft_comm *comm, void *argument)
{
    replica r;
    char path[64];
    int ranks = comm_size(comm);
    (void)argument;
    WEFT_TRY(write_sites(comm, 8, path));
    sync_options options = options_of(path, 0.1);
    WEFT_TRY(replica_open(comm, &options, &r));
    WEFT_TRY(sync_begin(r.sync, 1.0, 1.0));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        r.grad[i] = 0;
    }
    for (int b = 0; b < QUAD_BUCKETS; ++b) {
        r.grad[quad_bucket[b].offset + 2] = 8.0f;
        r.grad[quad_bucket[b].offset + 3] = 1e-6f;
    }
    WEFT_TRY(sync_gradients(r.sync));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        r.value[i] -= r.grad[i];
    }
    uint64_t before = sync_get_figures(r.sync).bytes_sent;
    WEFT_TRY(sync_parameters(r.sync));
    uint64_t bytes = sync_get_figures(r.sync).bytes_sent - before;
    if (ranks > 1) {
        CASE_CHECK(bytes >= (uint64_t)(ranks - 1) * QUAD_BUCKETS * (32 + 8), "%llu bytes", (unsigned long long)bytes);
        double exact = quad_start(7) - 8.0 * ranks;
        CASE_CHECK(fabs((double)r.value[7] - exact) < 1e-4, "%g, expected %g", (double)r.value[7], exact);
        CASE_CHECK(fabs(sync_get_figures(r.sync).density - 3.0 / QUAD_TRAINED) < 1e-12, "density %g",
                   sync_get_figures(r.sync).density);
    }
    WEFT_TRY(sync_finish(r.sync));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

/* The end is a mean of the sites as they are: what they hold back stays out of it. */
static weft_status check_end(replica *r)
{
    float all[8][QUAD_ELEMENTS];
    const sync_buffer *kept = NULL;
    int count = 0;
    WEFT_TRY(sync_state(r->sync, &kept, &count)); /* hears what is under way */
    WEFT_TRY(replica_gather(r, all));
    WEFT_TRY(sync_finish(r->sync));
    WEFT_TRY(replica_check_equal(r));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        float least = all[0][i];
        float most = all[0][i];
        for (int q = 1; q < comm_size(r->comm); ++q) {
            least = fminf(least, all[q][i]);
            most = fmaxf(most, all[q][i]);
        }
        const float slip = 1e-6f * (1.0f + fabsf(most));
        CASE_CHECK(r->value[i] >= least - slip && r->value[i] <= most + slip,
                   "element %d: %.9g of sites from %.9g to %.9g", i, (double)r->value[i], (double)least, (double)most);
    }
    return WEFT_OK;
}

/* A slow site: the others run at most `slack` clocks ahead of its news, and do use the room. */
static weft_status slow_run(weft_comm *comm, int64_t slack)
{
    replica r;
    char path[64];
    int ranks = comm_size(comm);
    bool slow = comm_rank(comm) == ranks - 1;
    WEFT_TRY(write_sites(comm, 8, path));
    sync_options options = options_of(path, 0.02);
    options.asp.slack = slack;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 12; ++k) {
        quad_sleep(slow ? 2000 : 0);
        WEFT_TRY(replica_step(&r, 0.05, 1.0));
    }
    int64_t lag = sync_get_figures(r.sync).staleness;
    CASE_CHECK(lag <= slack, "%lld clocks ahead with slack %lld", (long long)lag, (long long)slack);
    WEFT_TRY(comm_allreduce(comm, &lag, 1, WEFT_DTYPE_I64, COMM_MAX));
    CASE_CHECK(ranks == 1 || lag == 0 || slack > 0, "lag %lld", (long long)lag);
    CASE_CHECK(ranks == 1 || slack == 0 || lag > 0, "nobody ran ahead of a site that sleeps");
    WEFT_TRY(check_end(&r));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_slow_site(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(slow_run(comm, 0));
    WEFT_TRY(slow_run(comm, 1));
    return slow_run(comm, 3);
}

/* Without slack the bits do not depend on timing. */
static weft_status timed_run(weft_comm *comm, int pause, float *result)
{
    replica r;
    char path[64];
    WEFT_TRY(write_sites(comm, 3, path));
    sync_options options = options_of(path, 0.03);
    options.asp.policy = ASP_LEARNING_RATE;
    WEFT_TRY(replica_open(comm, &options, &r));
    for (int k = 0; k < 15; ++k) {
        quad_sleep((comm_rank(comm) * 3 + k) % 4 * pause);
        WEFT_TRY(replica_step(&r, 0.05 / (1 + k), 1.0));
    }
    memcpy(result, r.value, sizeof r.value);
    WEFT_TRY(sync_finish(r.sync));
    sync_destroy(r.sync);
    return quad_remove(comm, path);
}

static weft_status case_timing(weft_comm *comm, void *argument)
{
    float a[QUAD_ELEMENTS];
    float b[QUAD_ELEMENTS];
    (void)argument;
    WEFT_TRY(timed_run(comm, 0, a));
    WEFT_TRY(timed_run(comm, 60, b));
    CASE_CHECK(quad_same(a, b, sizeof a), "timing changed the parameters");
    return WEFT_OK;
}

static weft_status case_refuses(weft_comm *comm, void *argument)
{
    replica r;
    char path[64];
    (void)argument;
    sync_options options = options_of(NULL, 0.01);
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    options.asp.slack = 63;
    CASE_CHECK(replica_create(comm, &options, &r) == WEFT_ERR_USAGE, "slack 63");
    CASE_CHECK(strstr(weft_error_message(), "--asp-slack") != NULL, "%s", weft_error_message());
    options.asp.slack = 0;
    WEFT_TRY(quad_write(comm, "a: 0\n", path));
    options.asp.sites = path;
    CASE_CHECK(replica_create(comm, &options, &r) == WEFT_ERR_DATA, "rank 1 is nowhere");
    return quad_remove(comm, path);
}

int main(void)
{
    static const comm_case cases[] = {
        {"threshold 0 is exact", case_exact},
        {"nothing is lost", case_conserves},
        {"bytes", case_bytes},
        {"entries", case_entries},
        {"slow site", case_slow_site},
        {"same bits", case_timing},
        {"refused", case_refuses},
    };
    return comm_run_threads(cases, sizeof cases / sizeof *cases, comm_run_case_once);
}
