/*
 * machine/placement.c: the plan of one rank's threads, a pure function of machine, masks and wishes.
 *
 * 1. Survey the ranks' masks: cores in each, do they overlap, is one of them narrower than two cores.
 * 2. Keep them or make our own shares of the CPUs that the job has. --pin auto keeps masks that mpirun chose by itself
 *    if they are disjoint and wide, and all other masks unless they are equal: then the ranks share one set.
 * 3. Our own shares: every rank of the node gets the same number of cores, because the slowest rank sets the pace:
 *
 *      NUMA 0                NUMA 1               16 + 16 cores, 3 ranks: 10 each
 *      [rank 0  ....][1....  [rank 2  ....].1]    ranks 0 and 2 stay within a node, rank 1 takes what is left
 *
 *    The widest share that lets all ranks stay within one NUMA node is taken, then within one package; a rank with
 *    fewer threads than its share uses the first cores of it, so that ranks spread over the memory controllers.
 * 4. Set a core of the rank aside for the communication thread, if there shall be one and the rank has enough.
 * 5. One thread a core, first allowed hardware thread; siblings only when an explicit number of threads asks for them.
 *
 * Cost: O(ranks x cores + cores x share width) on numbers of a few hundred.
 */
#include "machine/placement.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/machine_options.def"

/* What the launcher gave the ranks of this node. */
typedef struct survey {
    int cores;        /* allowed cores of the node */
    int cpus;         /* allowed hardware threads of the node */
    int least, most;  /* cores in the smallest and in the largest mask */
    int together;     /* cores in at least one mask */
    bool overlapping; /* two ranks share a core */
    bool equal;       /* all masks are the same set */
} survey;

/* The n-th hardware thread of a core that is allowed and in the mask, -1 = no such. */
static int core_cpu(const machine *m, int core, const cpu_set *mask, int n)
{
    assert(core >= 0 && core < m->cores);
    for (int i = 0; i < 8; i++) {
        int cpu = m->core[core].cpus[i];
        if (cpu_set_has(&m->allowed, cpu) && cpu_set_has(mask, cpu) && n-- == 0) {
            return cpu;
        }
    }
    return -1;
}

static int core_cpus(const machine *m, int core, const cpu_set *mask)
{
    int count = 0;
    while (count < 8 && core_cpu(m, core, mask, count) >= 0) {
        count++;
    }
    return count;
}

static bool core_in(const machine *m, int core, const cpu_set *mask)
{
    return core_cpu(m, core, mask, 0) >= 0;
}

static survey survey_masks(const machine *m, const placement_request *request)
{
    survey s = {.least = m->cores, .equal = true};
    for (int i = 0; i < m->cores; i++) {
        int users = 0;
        for (int r = 0; r < request->node_ranks; r++) {
            users += core_in(m, i, &request->masks[r]);
        }
        s.cores += m->core[i].allowed;
        s.cpus += core_cpus(m, i, &m->allowed);
        s.together += users > 0;
        s.overlapping = s.overlapping || users > 1;
    }
    for (int r = 0; r < request->node_ranks; r++) {
        int cores = 0;
        for (int i = 0; i < m->cores; i++) {
            cores += core_in(m, i, &request->masks[r]);
        }
        s.least = cores < s.least ? cores : s.least;
        s.most = cores > s.most ? cores : s.most;
        s.equal = s.equal && cpu_set_equal(&request->masks[r], &request->masks[0]);
    }
    return s;
}

/* ---- our own shares ------------------------------------------------------------------------------------------- */

typedef enum level { LEVEL_NUMA, LEVEL_PACKAGE, LEVEL_NODE } level;

static int domain_of(const machine *m, int core, level at)
{
    switch (at) {
    case LEVEL_NUMA:
        return m->core[core].numa;
    case LEVEL_PACKAGE:
        return m->core[core].package;
    case LEVEL_NODE:
        break;
    }
    return 0;
}

static int domains_at(const machine *m, level at)
{
    return at == LEVEL_NUMA ? m->numa_nodes : at == LEVEL_PACKAGE ? m->packages : 1;
}

static int domain_cores(const machine *m, level at, int domain)
{
    int count = 0;
    for (int i = 0; i < m->cores; i++) {
        count += m->core[i].allowed && domain_of(m, i, at) == domain;
    }
    return count;
}

/* How many shares of this width lie within one domain each. */
static int shares_within(const machine *m, level at, int width)
{
    int shares = 0;
    for (int d = 0; width > 0 && d < domains_at(m, at); d++) {
        shares += domain_cores(m, at, d) / width;
    }
    return shares;
}

/*
 * Width and level of the shares: the widest between `threads` and `widest` with which every rank stays within a domain;
 * otherwise exactly `threads`, at the lowest level that holds at least one such share.
 */
static void choose_share(const machine *m, int ranks, int threads, int widest, level *at, int *width)
{
    for (*at = LEVEL_NUMA; *at < LEVEL_NODE; (*at)++) {
        for (*width = widest; *width >= threads; (*width)--) {
            if (shares_within(m, *at, *width) >= ranks) {
                return;
            }
        }
    }
    *width = threads;
    *at = shares_within(m, LEVEL_NUMA, threads) > 0      ? LEVEL_NUMA
          : shares_within(m, LEVEL_PACKAGE, threads) > 0 ? LEVEL_PACKAGE
                                                         : LEVEL_NODE;
}

/* share[core] = which share it belongs to, -1 = none: whole domains first, then what is left, in topology order. */
static void deal_cores(const machine *m, int ranks, level at, int width, int *share)
{
    int dealt = 0;
    for (int i = 0; i < m->cores; i++) {
        share[i] = -1;
    }
    if (width < 1) {
        return; /* fewer cores than ranks */
    }
    for (int d = 0; d < domains_at(m, at); d++) {
        int take = domain_cores(m, at, d) / width;
        take = take < ranks - dealt ? take : ranks - dealt;
        int seen = 0;
        for (int i = 0; i < m->cores && seen < take * width; i++) {
            if (m->core[i].allowed && domain_of(m, i, at) == d) {
                share[i] = dealt + seen++ / width;
            }
        }
        assert(seen == take * width); /* the domain has that many cores */
        dealt += take;
    }
    assert(dealt <= ranks);
    int seen = 0;
    for (int i = 0; i < m->cores && seen < (ranks - dealt) * width; i++) {
        if (m->core[i].allowed && share[i] < 0) {
            share[i] = dealt + seen++ / width;
        }
    }
}

/* The share of the rank-th rank when shares are numbered by their first core: neighbours in rank are neighbours in
 * place. */
static int share_of_rank(const machine *m, const int *share, int rank)
{
    int order = 0;
    for (int i = 0; i < m->cores; i++) {
        bool first = share[i] >= 0;
        for (int j = 0; j < i && first; j++) {
            first = share[j] != share[i];
        }
        if (first && order++ == rank) {
            return share[i];
        }
    }
    return -1;
}

/* ---- threads on cores ----------------------------------------------------------------------------------------- */

/*
 * One thread a core in the order given, on CPUs of `within`; when there are more threads than cores, second rounds take
 * the siblings. The plan's mask becomes the CPUs used. A core set aside is the last of the list.
 */
static weft_status put_threads(const machine *m, const int *cores, int count, bool aside, const cpu_set *within,
                               placement *plan)
{
    assert(plan->threads >= 1 && plan->cpu == NULL && (!aside || count > 0));
    if (aside) {
        plan->comm_cpu = core_cpu(m, cores[--count], within, 0);
    }
    WEFT_TRY(WEFT_NEW(&plan->cpu, plan->threads, WEFT_MEM_GENERAL));
    int placed = 0;
    memset(&plan->mask, 0, sizeof plan->mask);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < count && placed < plan->threads; i++) {
            int cpu = core_cpu(m, cores[i], within, round);
            if (cpu >= 0) {
                plan->cpu[placed++] = cpu;
                cpu_set_add(&plan->mask, cpu);
            }
        }
    }
    WEFT_CHECK(placed == plan->threads, WEFT_ERR_LAUNCH,
               "%d threads a rank do not fit on the %d CPUs (%d cores) of a rank: use " FLAG_THREADS
               " %d, fewer ranks a node, or " FLAG_PIN " off to oversubscribe on purpose",
               plan->threads, placed, count, count);
    plan->pinned = true;
    return WEFT_OK;
}

static weft_status plan_share(const machine *m, const placement_request *request, const survey *s, bool aside,
                              placement *plan)
{
    int wants = plan->threads + (aside ? 1 : 0);
    int widest = s->cores / request->node_ranks, *share = NULL, *mine = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&share, m->cores, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&mine, m->cores, WEFT_MEM_GENERAL), status, done);
    level at = LEVEL_NODE;
    int width = 0;
    choose_share(m, request->node_ranks, wants < widest ? wants : widest, widest, &at, &width);
    deal_cores(m, request->node_ranks, at, width, share);
    int wanted = share_of_rank(m, share, request->node_rank), count = 0;
    for (int i = 0; i < m->cores && count < wants; i++) {
        if (share[i] == wanted) {
            mine[count++] = i;
        }
    }
    WEFT_TRY_GOTO(put_threads(m, mine, count, aside, &m->allowed, plan), status, done);
    plan->healed = request->by == BOUND_BY_MPIRUN && (s->least < count || (s->overlapping && request->node_ranks > 1));
    if (plan->healed && s->least == 0) {
        snprintf(plan->reason, sizeof plan->reason,
                 "the launcher gave a rank CPUs that the job does not have: replaced by %d core%s a rank", count,
                 count == 1 ? "" : "s");
    } else if (plan->healed && s->least < count) {
        snprintf(plan->reason, sizeof plan->reason,
                 "the launcher gave a rank %d of %d cores: replaced by %d cores a rank", s->least, s->cores, count);
    } else if (plan->healed) {
        snprintf(plan->reason, sizeof plan->reason, "the launcher's masks overlap: replaced by %d cores a rank", count);
    } else {
        snprintf(plan->reason, sizeof plan->reason, "a share of the %s's %d cores",
                 s->cores < m->node_cores ? "job" : "node", s->cores);
    }
done:
    WEFT_FREE_ALL(share, mine);
    return status;
}

/* ---- masks that stay --------------------------------------------------------------------------------------------- */

/* The cure is in the words of whoever chose the mask. */
static weft_status refuse_threads(const machine *m, const placement_request *request, int threads, int cores, int cpus)
{
    const cpu_set *mask = &request->masks[request->node_rank];
    const bool whole = request->node_ranks == 1 && cpu_set_equal(mask, &m->allowed);
    WEFT_CHECK(request->by != BOUND_BY_PROCESS && !(request->by == BOUND_BY_MPIRUN && whole), WEFT_ERR_LAUNCH,
               "%d threads wanted, but this process may use %d cores (%d CPUs): use " FLAG_THREADS " %d, or " FLAG_PIN
               " off to oversubscribe on purpose",
               threads, cores, cpus, cores);
    WEFT_CHECK(request->by != BOUND_BY_LAUNCHER, WEFT_ERR_LAUNCH,
               "%d threads wanted, but the launcher gave rank %d of this node %d cores (%d CPUs): use " FLAG_THREADS
               " %d, or ask the launcher for more (srun -c %d)",
               threads, request->node_rank, cores, cpus, cores, threads);
    return weft_fail(
        WEFT_ERR_LAUNCH,
        "%d threads wanted, but the launcher bound rank %d of this node to %d cores (%d CPUs): use " FLAG_THREADS
        " %d, or " FLAG_PIN " on to replace the binding, or mpirun --map-by slot:PE=%d --bind-to core",
        threads, request->node_rank, cores, cpus, cores, threads);
}

static void say_kept(const machine *m, const placement_request *request, int threads, placement *plan)
{
    const int cores = m->node_cores > 0 ? m->node_cores : m->cores;
    char *reason = plan->reason;
    if (request->by == BOUND_ON_PURPOSE) {
        snprintf(reason, sizeof plan->reason, "the CPUs that mpirun was told are kept");
    } else if (request->by == BOUND_BY_LAUNCHER) {
        snprintf(reason, sizeof plan->reason, "the launcher's masks are kept");
    } else if (request->node_ranks == 1 && cpu_set_count(&m->allowed) < m->node_cpus) {
        snprintf(reason, sizeof plan->reason,
                 "the CPU mask of the process is kept, which leaves %d of the node's %d CPUs",
                 cpu_set_count(&request->masks[0]), m->node_cpus);
    } else if (request->node_ranks == 1 && cpu_set_equal(&request->masks[0], &m->allowed)) {
        snprintf(reason, sizeof plan->reason,
                 threads < cores ? "%d of the node's %d cores" : "all %d cores of the node",
                 threads < cores ? threads : cores, cores);
    } else {
        snprintf(reason, sizeof plan->reason, "the launcher's masks are disjoint: kept");
    }
}

static weft_status plan_kept(const machine *m, const placement_request *request, const survey *s, bool aside,
                             placement *plan)
{
    plan->mask = request->masks[request->node_rank];
    plan->oversubscribed = (int64_t)plan->threads * request->node_ranks > s->cpus;
    if (request->pin == PIN_OFF || s->overlapping) {
        snprintf(plan->reason, sizeof plan->reason, "%s: threads are left loose",
                 request->pin == PIN_OFF ? FLAG_PIN " off" : "the launcher's masks overlap");
        return WEFT_OK;
    }
    int *mine = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&mine, m->cores, WEFT_MEM_GENERAL), status, done);
    int count = 0, cpus = 0;
    for (int i = 0; i < m->cores; i++) {
        if (core_in(m, i, &plan->mask)) {
            mine[count++] = i;
            cpus += core_cpus(m, i, &plan->mask);
        }
    }
    if (plan->threads > cpus) {
        WEFT_TRY_GOTO(refuse_threads(m, request, plan->threads, count, cpus), status, done);
    }
    WEFT_TRY_GOTO(put_threads(m, mine, count, aside, &request->masks[request->node_rank], plan), status, done);
    say_kept(m, request, plan->threads, plan);
done:
    weft_free(mine);
    return status;
}

/* ---- CPUs that are counted, not named ---------------------------------------------------------------------------- */

/*
 * CPUs' worth of time that the ranks of the node may take together, 0 = no limit below the CPUs in hand: a quota of the
 * control group, or a count of a resource manager that bound nobody.
 */
static int counted_cpus(const machine *m, const placement_request *request, const survey *s, bool kept)
{
    int limit = m->granted_cpus > 0 && m->granted_cpus < s->cpus ? m->granted_cpus : 0;
    if (m->quota_cpus > 0 && m->quota_cpus < (kept ? s->together : s->cores) && (limit == 0 || m->quota_cpus < limit)) {
        limit = m->quota_cpus;
    }
    return request->pin == PIN_ON || request->pin == PIN_OFF ? 0 : limit;
}

/* Others have the same right to every CPU: pinned threads of two jobs would meet on the first ones. */
static void plan_counted(const machine *m, const placement_request *request, bool kept, int limit, placement *plan)
{
    plan->mask = kept ? request->masks[request->node_rank] : m->allowed;
    plan->oversubscribed = (int64_t)plan->threads * request->node_ranks > limit;
    snprintf(plan->reason, sizeof plan->reason, "%s grants %d of %d CPUs without saying which: threads are left loose",
             limit == m->granted_cpus ? m->manager : "the control group", limit, cpu_set_count(&m->allowed));
}

/* ---- the plan -------------------------------------------------------------------------------------------------- */

static bool keeps_masks(const placement_request *request, const survey *s)
{
    switch (request->pin) {
    case PIN_OFF:
    case PIN_INHERIT:
        return true;
    case PIN_ON:
        return false;
    case PIN_AUTO:
        break;
    }
    if (request->by != BOUND_BY_MPIRUN) {
        return !s->overlapping || !s->equal;
    }
    return !s->overlapping && s->least > 1;
}

/* Threads when the user named no number: equal shares, within the mask that stays and the CPUs that are granted. */
static int default_threads(const machine *m, const placement_request *request, const survey *s, bool kept)
{
    int threads = s->cores / request->node_ranks;
    if (kept) {
        int share = s->overlapping ? s->together / request->node_ranks : s->cores;
        const cpu_set *mask = &request->masks[request->node_rank];
        threads = 0;
        for (int i = 0; i < m->cores; i++) {
            threads += core_in(m, i, mask) ? 1 : 0;
        }
        threads = threads < share ? threads : share;
    }
    const int most[] = {m->quota_cpus, m->granted_cpus};
    for (int i = 0; i < 2; i++) {
        if (most[i] > 0 && threads > most[i] / request->node_ranks) {
            threads = most[i] / request->node_ranks;
        }
    }
    return threads > 0 ? threads : 1;
}

/* Whether there is a communication thread; true when a core of the rank's share is set aside for it. */
static bool plan_comm_thread(const placement_request *request, int share, placement *plan)
{
    bool fits = share > 2 && request->threads < share;
    bool wanted = request->comm_thread == COMM_THREAD_ON ||
                  (request->comm_thread == COMM_THREAD_AUTO && (request->nodes > 1 || (fits && share >= 4)));
    plan->comm_thread = wanted && request->job_ranks > 1;
    return plan->comm_thread && fits;
}

/* The reason says where the communication thread runs. */
static void add_comm_thread(bool aside, placement *plan)
{
    size_t used = strlen(plan->reason);
    char *end = plan->reason + used;
    size_t left = sizeof plan->reason - used;
    if (!plan->comm_thread) {
        return;
    }
    if (plan->comm_cpu >= 0) {
        snprintf(end, left, "; a core a rank for communication, here CPU %d", plan->comm_cpu);
    } else {
        snprintf(end, left, aside ? "; a core a rank is left for communication" : "; communication shares the cores");
    }
}

static weft_status check_request(const machine *m, const placement_request *request)
{
    WEFT_CHECK(request->node_ranks > 0 && request->node_rank >= 0 && request->node_rank < request->node_ranks &&
                   request->masks != NULL,
               WEFT_ERR_INTERNAL, "rank %d of %d ranks on this node", request->node_rank, request->node_ranks);
    WEFT_CHECK(request->threads >= 0 && request->threads <= PLACEMENT_MAX_CPUS, WEFT_ERR_USAGE,
               "%d threads a rank: expected 0 to %d", request->threads, (int)PLACEMENT_MAX_CPUS);
    WEFT_CHECK(m->cores > 0 && cpu_set_count(&m->allowed) > 0, WEFT_ERR_LAUNCH, "no CPU may be used on this node");
    return WEFT_OK;
}

static weft_status check_fit(const placement_request *request, const survey *s, int threads)
{
    const int ranks = request->node_ranks;
    const bool crowd = threads == 1 && ranks > s->cores;
    WEFT_CHECK(
        crowd || ((int64_t)threads * ranks <= s->cpus && ranks <= s->cores), WEFT_ERR_LAUNCH,
        "%d rank(s) on this node with %d threads each, but only %d cores (%d CPUs) may be used: use " FLAG_THREADS
        " %d, fewer ranks a node, or " FLAG_PIN " off to oversubscribe on purpose",
        ranks, threads, s->cores, s->cpus, s->cores >= ranks ? s->cores / ranks : 1);
    return WEFT_OK;
}

weft_status placement_plan(const machine *m, const placement_request *request, placement *plan)
{
    memset(plan, 0, sizeof *plan);
    WEFT_TRY(check_request(m, request));
    survey s = survey_masks(m, request);
    bool kept = keeps_masks(request, &s);
    plan->comm_cpu = -1;
    int share = default_threads(m, request, &s, kept);
    bool aside = plan_comm_thread(request, share, plan);
    plan->threads = request->threads > 0 ? request->threads : share - (aside ? 1 : 0);
    weft_status status = WEFT_OK;
    const int counted = counted_cpus(m, request, &s, kept);
    if (counted > 0) {
        WEFT_TRY_GOTO(check_fit(request, &s, plan->threads), status, done);
        plan_counted(m, request, kept, counted, plan);
    } else if (kept) {
        WEFT_TRY_GOTO(plan_kept(m, request, &s, aside, plan), status, done);
    } else if (plan->threads == 1 && request->node_ranks > s.cores) {
        plan->oversubscribed = true;
        plan->mask = m->allowed;
        snprintf(plan->reason, sizeof plan->reason, "%d ranks on %d cores: threads are left loose", request->node_ranks,
                 s.cores);
    } else {
        WEFT_TRY_GOTO(check_fit(request, &s, plan->threads), status, done);
        WEFT_TRY_GOTO(plan_share(m, request, &s, aside, plan), status, done);
    }
    add_comm_thread(aside, plan);
done:
    if (status != WEFT_OK) {
        placement_free(plan);
    }
    return status;
}

void placement_free(placement *plan)
{
    weft_free(plan->cpu);
    memset(plan, 0, sizeof *plan);
}

/* ---- in words -------------------------------------------------------------------------------------------------- */

static const char *smt_text(const machine *m, const cpu_set *mask)
{
    if (m->smt < 2) {
        return "no SMT";
    }
    for (int i = 0; i < m->cores; i++) {
        int used = 0;
        for (int k = 0; k < 8; k++) {
            used += cpu_set_has(mask, m->core[i].cpus[k]);
        }
        if (used > 1) {
            return "SMT used";
        }
    }
    return "SMT unused";
}

void placement_describe(const machine *m, const char *host, int ranks, const placement *plan, const cpu_set *node_mask,
                        char *line, size_t bytes)
{
    cpu_set numa;
    char cpu_text[256], numa_text[64];
    memset(&numa, 0, sizeof numa);
    for (int i = 0; i < m->cores; i++) {
        if (core_in(m, i, node_mask)) {
            cpu_set_add(&numa, m->core[i].numa);
        }
    }
    snprintf(line, bytes, "node %s: %d rank%s x %d thread%s, CPUs %s, NUMA %s, %s, %s (%s)", host, ranks,
             ranks == 1 ? "" : "s", plan->threads, plan->threads == 1 ? "" : "s",
             cpu_set_text(node_mask, cpu_text, sizeof cpu_text), cpu_set_text(&numa, numa_text, sizeof numa_text),
             smt_text(m, node_mask), plan->pinned ? "pinned by weft" : "not pinned", plan->reason);
}
