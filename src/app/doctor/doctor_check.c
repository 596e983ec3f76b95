/*
 * app/doctor/doctor_check.c: the rules of `weft doctor` about places, memory, speed and settings of a node.
 *
 * A warning costs a job much of its speed or will end it; a note is worth knowing; both name what cures them.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor/doctor.h"
#include "base/number.h"

/* ---- where threads run -------------------------------------------------------------------------------------- */
static int cores_in(const machine *m, const cpu_set *set)
{
    int cores = 0;
    for (int i = 0; i < m->cores; i++) {
        bool touched = false;
        for (int k = 0; k < 8; k++) {
            const int cpu = m->core[i].cpus[k];
            touched |= cpu >= 0 && cpu_set_has(set, cpu) && cpu_set_has(&m->allowed, cpu);
        }
        cores += touched;
    }
    return cores;
}

/* The first two ranks whose sets meet, or false. */
static bool find_overlap(const doctor_card *card, int ranks, bool at_start, int pair[2])
{
    for (int i = 0; i < ranks; i++) {
        for (int j = i + 1; j < ranks; j++) {
            if (cpu_set_intersects(at_start ? &card[i].start : &card[i].mask,
                                   at_start ? &card[j].start : &card[j].mask)) {
                pair[0] = card[i].rank;
                pair[1] = card[j].rank;
                return true;
            }
        }
    }
    return false;
}

/* Masks that stay leave the job a part of the node. The cure names whoever chose them. */
static void check_part(doctor_list *list, const machine *m, bound_by by, int cores, const char *where)
{
    doctor_finding *finding = doctor_add(
        list, "launch", where, by == BOUND_BY_MPIRUN ? DOCTOR_WARNING : DOCTOR_NOTE, cores, "cores",
        by == BOUND_BY_PROCESS ? "the CPU mask of the process leaves %d of the node's %d cores, and is kept"
                               : "the launcher's masks leave the job %d of the node's %d cores, and are kept",
        cores, m->node_cores);
    switch (by) {
    case BOUND_BY_PROCESS:
        doctor_cure(finding, "a wider mask, if more cores are yours: taskset, numactl, the batch system or container");
        break;
    case BOUND_BY_LAUNCHER:
        doctor_cure(finding, "ask the launcher for more CPUs a rank: srun -c %d", m->node_cores);
        break;
    case BOUND_ON_PURPOSE:
        doctor_cure(finding, "name more CPUs to mpirun, or --pin on for all that it has");
        break;
    case BOUND_BY_MPIRUN:
        doctor_cure(finding, "--pin auto");
        break;
    }
}

static void check_launch(doctor_list *list, const machine *m, const doctor_card *card, int ranks, pin_mode pin,
                         const char *where)
{
    int pair[2];
    int least = m->cores;
    const int cores = cores_in(m, &m->allowed);
    const int share = cores / ranks > 0 ? cores / ranks : 1;
    for (int i = 0; i < ranks; i++) {
        const int has = cores_in(m, &card[i].start);
        least = has < least ? has : least;
    }
    doctor_finding *finding = NULL;
    if (cores < m->node_cores && (card[0].by != BOUND_BY_MPIRUN || pin == PIN_INHERIT || pin == PIN_OFF)) {
        check_part(list, m, card[0].by, cores, where);
    } else if (least < share) {
        const bool healed = card[0].healed;
        finding = doctor_add(list, "launch", where, healed || least > 1 ? DOCTOR_NOTE : DOCTOR_WARNING, least, "cores",
                             "a rank was given %d of its share of %d cores%s", least, share,
                             healed ? "; weft replaced the masks" : "");
        doctor_cure(finding, "%smpirun --map-by slot:PE=%d --bind-to core, or srun -c %d",
                    healed ? "" : "--pin on, or ", share, share);
    } else if (find_overlap(card, ranks, true, pair)) {
        const bool left = pin == PIN_OFF || pin == PIN_INHERIT, healed = card[0].healed;
        finding = doctor_add(list, "launch", where,
                             left     ? DOCTOR_WARNING
                             : healed ? DOCTOR_OK
                                      : DOCTOR_NOTE,
                             least, "cores", "the launcher's masks of ranks %d and %d overlap%s", pair[0], pair[1],
                             healed ? "; weft replaced them" : "");
        if (!healed) {
            doctor_cure(finding, "%smpirun --map-by slot:PE=%d --bind-to core", left ? "--pin auto, or " : "", share);
        }
    } else {
        doctor_add(list, "launch", where, DOCTOR_OK, least, "cores", "%s",
                   ranks > 1                        ? "the launcher's masks are disjoint"
                   : card[0].by == BOUND_BY_PROCESS ? "the process may use all cores of the node"
                                                    : "the launcher's mask holds a share of the cores");
    }
}

/* Ranks of a node that run alike are told in one line. */
static void add_ranks(doctor_list *list, const doctor_card *card)
{
    char where[32], cpus[200];
    char comm[64] = "";
    snprintf(where, sizeof where, "rank %d", card->rank);
    if (card->comm_cpu >= 0) {
        snprintf(comm, sizeof comm, ", communication on CPU %d", card->comm_cpu);
    }
    doctor_add(list, "threads", where, DOCTOR_OK, card->threads, "threads", "CPUs %s, %s%s",
               cpu_set_text(&card->mask, cpus, sizeof cpus), card->pinned ? "one thread each" : "not pinned", comm);
}

static void check_sharing(doctor_list *list, const doctor_card *card, int ranks, int threads, int cores, pin_mode pin,
                          const char *where)
{
    int pair[2];
    doctor_finding *finding = NULL;
    if (threads > cores) {
        finding = doctor_add(list, "threads", where, DOCTOR_WARNING, (double)threads / cores, "per core",
                             "%d ranks with %d threads in all share %d cores", ranks, threads, cores);
        if (ranks > cores) {
            doctor_cure(finding, "at most %d ranks on this node (-np %d)", cores, cores);
        } else {
            doctor_cure(finding, "--threads %d", cores / ranks);
        }
    } else if (find_overlap(card, ranks, false, pair)) {
        finding = doctor_add(list, "threads", where, DOCTOR_WARNING, NAN, "",
                             "ranks %d and %d may run on the same CPUs, and others stay idle", pair[0], pair[1]);
        doctor_cure(finding, "%s", pin == PIN_OFF || pin == PIN_INHERIT ? "--pin auto" : "--pin on");
    }
}

static void check_idle(doctor_list *list, const machine *m, int busy, int cores, pin_mode pin, const char *where)
{
    doctor_finding *finding = NULL;
    const int all = cores_in(m, &m->allowed);
    if (m->quota_cpus > 0 && m->quota_cpus < all) {
        finding = doctor_add(list, "threads", where, DOCTOR_NOTE, m->quota_cpus, "CPUs",
                             "the control group grants the time of %d of %d cores", m->quota_cpus, all);
        doctor_cure(finding, "ask the scheduler or container for more CPUs");
    }
    if (m->granted_cpus > 0) {
        finding = doctor_add(list, "threads", where, DOCTOR_NOTE, m->granted_cpus, "CPUs",
                             "%s grants %d of %d CPUs and binds nobody: threads are loose", m->manager, m->granted_cpus,
                             cpu_set_count(&m->allowed));
        doctor_cure(finding, "let the administrator turn on binding (Slurm: TaskPlugin=task/affinity,task/cgroup)");
    }
    if (busy < cores) {
        finding = doctor_add(list, "threads", where, DOCTOR_NOTE, cores - busy, "cores", "%d of %d usable cores idle",
                             cores - busy, cores);
        doctor_cure(finding, "%s",
                    pin == PIN_INHERIT || pin == PIN_OFF ? "--pin auto, or a wider mask of the launcher"
                                                         : "more ranks, --threads, or --pin on");
    } else {
        doctor_add(list, "threads", where, DOCTOR_OK, cores, "cores", "every usable core has work");
    }
}

void doctor_check_places(doctor_list *list, const machine *m, const doctor_card *card, int ranks, pin_mode pin)
{
    char where[80];
    int threads = 0, helpers = 0;
    assert(ranks > 0);
    int cores = cores_in(m, &m->allowed);
    cores = m->quota_cpus > 0 && m->quota_cpus < cores ? m->quota_cpus : cores;
    cores = m->granted_cpus > 0 && m->granted_cpus < cores ? m->granted_cpus : cores;
    snprintf(where, sizeof where, "node %s", card->host);
    check_launch(list, m, card, ranks, pin, where);
    for (int i = 0; i < ranks; i++) {
        add_ranks(list, &card[i]);
        threads += card[i].threads;
        helpers += card[i].comm_cpu >= 0;
    }
    check_sharing(list, card, ranks, threads, cores, pin, where);
    check_idle(list, m, threads + helpers, cores, pin, where);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */
void doctor_check_memory(doctor_list *list, const char *host, const doctor_memory *memory)
{
    char where[80];
    const double share = (double)memory->available / (double)memory->total;
    snprintf(where, sizeof where, "node %s", host);
    doctor_finding *finding = doctor_add(list, "memory", where, share < 0.1 ? DOCTOR_WARNING : DOCTOR_OK,
                                         (double)memory->available / 0x1p30, "GiB", "%.1f of %.1f GiB may be used",
                                         (double)memory->available / 0x1p30, (double)memory->total / 0x1p30);
    if (share < 0.1) {
        doctor_cure(finding,
                    "end what else runs here, or raise the limit; weft train --dry-run tells what a job needs");
    }
    if (memory->group < memory->total / 2) {
        finding = doctor_add(list, "memory", where, DOCTOR_NOTE, (double)memory->group / 0x1p30, "GiB",
                             "the control group leaves %.1f GiB of the machine's %.1f", (double)memory->group / 0x1p30,
                             (double)memory->total / 0x1p30);
        doctor_cure(finding, "ask the scheduler for more (sbatch --mem), or start the container with more");
    }
}

/* ---- speed -------------------------------------------------------------------------------------------------- */
static void check_bandwidth(doctor_list *list, const doctor_card *card, int ranks, const char *where)
{
    double read = 0.0, triad = 0.0;
    for (int i = 0; i < ranks; i++) {
        read += card[i].memory.read;
        triad += card[i].memory.triad;
    }
    doctor_add(list, "bandwidth", where, DOCTOR_OK, read * 1e-9, "GB/s", "read, all threads");
    doctor_add(list, "bandwidth", where, DOCTOR_OK, triad * 1e-9, "GB/s", "triad (read and write), all threads");
}

/* What threads on one NUMA node reach in the memory of another, all ranks together. */
static stream_rates numa_rates(const doctor_card *card, int ranks, int from, int to)
{
    stream_rates sum = {.read = 0.0};
    for (int i = 0; i < ranks; i++) {
        sum.read += card[i].numa[from][to].read;
        sum.triad += card[i].numa[from][to].triad;
    }
    return sum;
}

static void check_numa(doctor_list *list, const doctor_card *card, int ranks, const int *numa, int nodes,
                       const char *host)
{
    double best = 0.0;
    char where[80];
    assert(nodes <= DOCTOR_NUMA);
    for (int i = 0; i < nodes; i++) {
        best = fmax(best, numa_rates(card, ranks, i, i).triad);
    }
    if (best <= 0.0) {
        snprintf(where, sizeof where, "node %s", host);
        doctor_cure(
            doctor_add(list, "bandwidth", where, DOCTOR_NOTE, NAN, "",
                       "the %d NUMA nodes could not be measured one by one: threads are loose, or the container "
                       "forbids memory policies",
                       nodes),
            "--pin on; docker run --cap-add SYS_NICE");
        return;
    }
    for (int i = 0; i < nodes; i++) {
        for (int j = 0; j < nodes; j++) {
            const stream_rates rates = numa_rates(card, ranks, i, j);
            if (rates.triad <= 0.0) {
                continue; /* no thread runs there */
            }
            const bool slow = i == j && rates.triad < 0.6 * best;
            snprintf(where, sizeof where, "%s NUMA %d", host, numa[i]);
            doctor_finding *finding =
                doctor_add(list, "bandwidth", where, slow ? DOCTOR_WARNING : DOCTOR_OK, rates.triad * 1e-9, "GB/s",
                           "triad, %s memory of node %d (read %.1f GB/s)%s", i == j ? "local" : "remote", numa[j],
                           rates.read * 1e-9, slow ? ": far less than the best node's" : "");
            if (slow) {
                doctor_cure(finding, "look for another job there, missing memory modules, or unequal threads a node");
            }
        }
    }
}

static void check_gemm(doctor_list *list, const doctor_card *card, int ranks, const host_settings *settings,
                       const char *where)
{
    double flops = 0.0, threads = 0.0;
    for (int i = 0; i < ranks; i++) {
        flops += card[i].gemm;
        threads += card[i].threads;
    }
    const double mhz = fmax(settings->mhz, settings->mhz_most);
    const double peak = threads * mhz * 1e6 * host_flops_per_clock();
    if (peak <= 0.0) {
        doctor_add(list, "gemm", where, DOCTOR_OK, flops * 1e-9, "GFLOP/s", "float32; the clock is hidden");
        return;
    }
    const bool slow = flops < 0.3 * peak;
    doctor_finding *finding =
        doctor_add(list, "gemm", where, slow ? DOCTOR_NOTE : DOCTOR_OK, flops * 1e-9, "GFLOP/s",
                   "float32, %.0f %% of what %.0f threads with %s and two multiply-add units could do at %.0f MHz",
                   100.0 * flops / peak, threads, host_instruction_set(), mhz);
    if (slow) {
        doctor_cure(finding,
                    "--backend cpu with oneDNN (weft info build); look for other jobs, threads that share cores, "
                    "or a low clock");
    }
}

void doctor_check_speed(doctor_list *list, const doctor_card *card, int ranks, const int *numa, int nodes,
                        const host_settings *settings)
{
    char where[80];
    snprintf(where, sizeof where, "node %s", card->host);
    check_bandwidth(list, card, ranks, where);
    if (nodes > 1) {
        check_numa(list, card, ranks, numa, nodes, card->host);
    }
    check_gemm(list, card, ranks, settings, where);
}

/* ---- settings ----------------------------------------------------------------------------------------------- */
static void check_clock(doctor_list *list, const char *where, const host_settings *s)
{
    const bool hidden = s->governor[0] == '\0';
    const bool fast = hidden || strcmp(s->governor, "performance") == 0;
    const bool low = s->mhz_most > 0.0 && s->mhz > 0.0 && s->mhz < 0.6 * s->mhz_most;
    doctor_finding *finding =
        doctor_add(list, "clock", where, fast && !low ? DOCTOR_OK : DOCTOR_NOTE, s->mhz, "MHz", "governor %s%s%s",
                   hidden ? "hidden" : s->governor, hidden && s->virtual_machine ? " by the virtual machine" : "",
                   low ? ": far below the highest clock" : "");
    if (!fast || low) {
        doctor_cure(finding, "cpupower frequency-set -g performance");
    }
}

static void check_huge_pages(doctor_list *list, const char *where, const host_settings *s)
{
    const bool never = strcmp(s->huge_pages, "never") == 0;
    doctor_finding *finding =
        doctor_add(list, "huge pages", where, never ? DOCTOR_NOTE : DOCTOR_OK, NAN, "", "transparent huge pages: %s",
                   s->huge_pages[0] != '\0' ? s->huge_pages : "unknown");
    if (never) {
        doctor_cure(finding, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    }
}

static void check_limits(doctor_list *list, const char *where, const host_settings *s, int ranks, int threads,
                         bool many_nodes)
{
    const uint64_t wanted = 4 * (uint64_t)(threads + ranks) + 64, locked = (uint64_t)64 << 20;
    doctor_finding *finding = NULL;
    if (s->processes_most < wanted) {
        finding = doctor_add(list, "limits", where, DOCTOR_WARNING, (double)s->processes_most, "tasks",
                             "ulimit -u is %.0f: threads of %d ranks may not start", (double)s->processes_most, ranks);
        doctor_cure(finding, "ulimit -u %.0f", (double)wanted);
    } else {
        doctor_add(list, "limits", where, DOCTOR_OK, NAN, "", "processes, threads and files suffice");
    }
    if (many_nodes && s->locked_bytes_most < locked) {
        finding =
            doctor_add(list, "limits", where, DOCTOR_NOTE, (double)s->locked_bytes_most / 0x1p20, "MiB",
                       "ulimit -l is %.1f MiB: fast networks register memory", (double)s->locked_bytes_most / 0x1p20);
        doctor_cure(finding, "ulimit -l unlimited (limits.conf: memlock)");
    }
}

static void check_shared_memory(doctor_list *list, const char *where, const host_settings *s, int ranks)
{
    const uint64_t wanted = (uint64_t)ranks * (64 << 20);
    if (s->shared_memory_free == UINT64_MAX || ranks < 2) {
        return;
    }
    const bool little = s->shared_memory_free < wanted;
    doctor_finding *finding = doctor_add(
        list, "shared memory", where, little ? DOCTOR_WARNING : DOCTOR_OK, (double)s->shared_memory_free / 0x1p20,
        "MiB", "/dev/shm has %s free for %d ranks", number_say_bytes(s->shared_memory_free).text, ranks);
    if (little) {
        doctor_cure(finding, "remove what jobs left in /dev/shm; in a container: docker run --shm-size=%dm",
                    ranks * 256);
    }
}

void doctor_check_settings(doctor_list *list, const char *host, const host_settings *settings, int ranks, int threads,
                           bool many_nodes)
{
    char where[80];
    snprintf(where, sizeof where, "node %s", host);
    check_clock(list, where, settings);
    check_huge_pages(list, where, settings);
    check_limits(list, where, settings, ranks, threads, many_nodes);
    check_shared_memory(list, where, settings, ranks);
}

/* ---- transports --------------------------------------------------------------------------------------------- */
/* "self,tcp" takes these alone, "^openib" all but these. */
void doctor_check_transports(doctor_list *list, const char *host, const char *btl, int ranks)
{
    char where[80];
    if (btl == NULL || btl[0] == '\0') {
        return;
    }
    const bool named = strstr(btl, "vader") != NULL || strstr(btl, "sm") != NULL;
    const bool without = named == (btl[0] == '^') && ranks > 1;
    snprintf(where, sizeof where, "node %s", host);
    doctor_finding *finding =
        doctor_add(list, "transports", where, without ? DOCTOR_WARNING : DOCTOR_OK, NAN, "", "OMPI_MCA_btl=%s%s", btl,
                   without ? ": ranks of a node do not talk through shared memory" : "");
    if (without) {
        doctor_cure(finding, "%s",
                    btl[0] == '^' ? "leave vader out of the excluded transports"
                                  : "add vader: --mca btl self,vader,tcp");
    }
}
