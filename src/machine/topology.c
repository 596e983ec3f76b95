/*
 * machine/topology.c: what matters of a machine, read through hwloc.
 *
 * A machine_core lists its hardware threads with the allowed ones first, so that cpus[0] is the one to use. A core
 * belongs to the first NUMA node (in operating-system order) whose CPU set holds it: the nodes of high-bandwidth or
 * persistent memory that share these CPUs come later in that order and count as memory-only, like nodes without any
 * CPU.
 *
 * "Allowed" is the control group's set at first, not the affinity mask: machine/binding.h judges the masks and narrows
 * it to what the job has. On the live machine the kernel itself is asked as well, since the control-group files may be
 * out of sight in a container: it cuts an all-ones mask to what this process may ever have.
 */
#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "machine/control_group.h"
#include "machine/placement.h"

enum { SMT_MAX = 8 };

static void set_from_hwloc(hwloc_const_bitmap_t from, cpu_set *set)
{
    memset(set, 0, sizeof *set);
    for (int cpu = hwloc_bitmap_first(from); cpu >= 0 && cpu < PLACEMENT_MAX_CPUS; cpu = hwloc_bitmap_next(from, cpu)) {
        cpu_set_add(set, cpu);
    }
}

/* The next NUMA node in operating-system order, or NULL. */
static hwloc_obj_t numa_after(hwloc_topology_t topology, int64_t os_index)
{
    hwloc_obj_t best = NULL;
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if ((int64_t)node->os_index > os_index && (best == NULL || node->os_index < best->os_index)) {
            best = node;
        }
    }
    return best;
}

/* Numbers the NUMA nodes that own cores; the others are memory-only. */
static void assign_numa(hwloc_topology_t topology, machine *m)
{
    for (hwloc_obj_t node = NULL; (node = numa_after(topology, node == NULL ? -1 : (int64_t)node->os_index)) != NULL;) {
        bool owns = false;
        for (int i = 0; i < m->cores; i++) {
            if (m->core[i].numa < 0 && hwloc_bitmap_isset(node->cpuset, (unsigned)m->core[i].cpus[0])) {
                m->core[i].numa = m->numa_nodes;
                owns = true;
            }
        }
        if (owns) {
            m->numa_nodes++;
        } else {
            m->memory_only_numa++;
        }
    }
    for (int i = 0; i < m->cores; i++) {
        if (m->core[i].numa < 0) {
            m->core[i].numa = 0;
            m->numa_nodes = m->numa_nodes > 0 ? m->numa_nodes : 1;
        }
    }
}

/* The hardware threads of a core again, those in `allowed` first. */
static void allow_core(machine_core *core, const cpu_set *allowed)
{
    int ordered[SMT_MAX], used = 0;
    for (int want_allowed = 1; want_allowed >= 0; want_allowed--) {
        for (int i = 0; i < SMT_MAX; i++) {
            if (cpu_set_has(allowed, core->cpus[i]) == (want_allowed != 0)) {
                ordered[used++] = core->cpus[i];
            }
        }
    }
    memcpy(core->cpus, ordered, sizeof ordered);
    core->allowed = cpu_set_has(allowed, core->cpus[0]);
}

void machine_narrow(machine *m, const cpu_set *job)
{
    if (!cpu_set_intersects(&m->allowed, job)) {
        return;
    }
    cpu_set_intersect(&m->allowed, job);
    for (int i = 0; i < m->cores; i++) {
        allow_core(&m->core[i], &m->allowed);
    }
}

static void read_core(hwloc_topology_t topology, hwloc_obj_t object, const machine *m, machine_core *core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    *core = (machine_core){.package = package != NULL ? (int)package->logical_index : 0, .numa = -1};
    for (int i = 0; i < SMT_MAX; i++) {
        core->cpus[i] = -1;
    }
    int used = 0;
    for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
        if (used < SMT_MAX) {
            core->cpus[used++] = cpu;
        }
    }
    allow_core(core, &m->allowed);
}

static void read_caches(hwloc_topology_t topology, hwloc_obj_t core, machine *m)
{
    hwloc_obj_t l2 = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L2CACHE, core);
    hwloc_obj_t l3 = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, core);
    m->l2_bytes = l2 != NULL ? l2->attr->cache.size : 0;
    m->l3_bytes = l3 != NULL ? l3->attr->cache.size : 0;
}

static void read_model(hwloc_topology_t topology, machine *m)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (model == NULL) {
        model = hwloc_obj_get_info_by_name(root, "CPUModel");
    }
    snprintf(m->model, sizeof m->model, "%s", model != NULL ? model : "unknown processor");
    m->memory_bytes = root->total_memory;
}

static weft_status read_topology(hwloc_topology_t topology, const cpu_set *allowed, machine *m)
{
    set_from_hwloc(hwloc_topology_get_topology_cpuset(topology), &m->allowed);
    cpu_set_intersect(&m->allowed, allowed);
    /* Some virtual machines describe no cores: then every hardware thread counts as one. */
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int cores = hwloc_get_nbobjs_by_type(topology, type);
    WEFT_CHECK(cores > 0, WEFT_ERR_UNSUPPORTED, "the topology has no cores");
    WEFT_TRY(WEFT_NEW_ZERO(&m->core, cores, WEFT_MEM_GENERAL));
    for (int i = 0; i < cores; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        read_core(topology, object, m, &m->core[m->cores]);
        if (m->core[m->cores].cpus[0] < 0 || m->core[m->cores].cpus[0] >= PLACEMENT_MAX_CPUS) {
            continue; /* no hardware thread that a cpu_set can name */
        }
        int smt = hwloc_bitmap_weight(object->cpuset);
        m->smt = smt > m->smt ? smt : m->smt;
        m->packages = m->core[m->cores].package >= m->packages ? m->core[m->cores].package + 1 : m->packages;
        m->node_cores += m->core[m->cores].allowed;
        m->cores++;
    }
    m->node_cpus = cpu_set_count(&m->allowed);
    WEFT_CHECK(cpu_set_count(&m->allowed) > 0 && m->cores > 0, WEFT_ERR_LAUNCH,
               "no CPU of this machine may be used: check the control group's cpuset");
    assign_numa(topology, m);
    read_caches(topology, hwloc_get_obj_by_type(topology, type, 0), m);
    read_model(topology, m);
    return WEFT_OK;
}

static weft_status topology_begin(hwloc_topology_t *topology)
{
    WEFT_CHECK(hwloc_topology_init(topology) == 0, WEFT_ERR_RESOURCE, "hwloc cannot start");
    /* Cores outside the control group are kept, and marked, so that the plan can say what it leaves alone. */
    hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    return WEFT_OK;
}

/* What the kernel would grant: it cuts an all-ones mask to the allowed set. The caller's mask is put back. */
static bool kernel_allowed(cpu_set *allowed)
{
    cpu_set old, all;
    memset(&old, 0, sizeof old);
    memset(&all, 0xff, sizeof all);
    memset(allowed, 0, sizeof *allowed);
    if (sched_getaffinity(0, sizeof old, (cpu_set_t *)(void *)&old) != 0) {
        return false;
    }
    bool known = sched_setaffinity(0, sizeof all, (const cpu_set_t *)(const void *)&all) == 0 &&
                 sched_getaffinity(0, sizeof *allowed, (cpu_set_t *)(void *)allowed) == 0;
    return sched_setaffinity(0, sizeof old, (const cpu_set_t *)(const void *)&old) == 0 && known;
}

weft_status machine_detect(machine *m)
{
    memset(m, 0, sizeof *m);
    hwloc_topology_t topology;
    WEFT_TRY(topology_begin(&topology));
    weft_status status = WEFT_OK;
    WEFT_CHECK_GOTO(hwloc_topology_load(topology) == 0, status, done, WEFT_ERR_UNSUPPORTED,
                    "hwloc cannot read this machine: %s", strerror(errno));
    cpu_set allowed, granted;
    set_from_hwloc(hwloc_topology_get_allowed_cpuset(topology), &allowed);
    if (kernel_allowed(&granted) && cpu_set_intersects(&allowed, &granted)) {
        cpu_set_intersect(&allowed, &granted);
    }
    WEFT_TRY_GOTO(read_topology(topology, &allowed, m), status, done);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0) {
        m->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    }
    m->quota_cpus = control_group_cpus("/");
done:
    hwloc_topology_destroy(topology);
    if (status != WEFT_OK) {
        machine_free(m);
    }
    return status;
}

/* "0-3,8" or NULL = what the topology allows. */
static weft_status parse_allowed(hwloc_topology_t topology, const char *text, cpu_set *allowed)
{
    if (text == NULL) {
        set_from_hwloc(hwloc_topology_get_allowed_cpuset(topology), allowed);
        return WEFT_OK;
    }
    hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
    WEFT_CHECK(bitmap != NULL, WEFT_ERR_RESOURCE, "no memory for a CPU set");
    int parsed = hwloc_bitmap_list_sscanf(bitmap, text);
    set_from_hwloc(bitmap, allowed);
    hwloc_bitmap_free(bitmap);
    WEFT_CHECK(parsed == 0, WEFT_ERR_USAGE, "\"%s\" is not a list of CPUs such as 0-3,8", text);
    return WEFT_OK;
}

/* The shared end of both descriptions: `set` has been tried and gave `rc`. */
static weft_status machine_load(hwloc_topology_t topology, int rc, const char *what, const char *allowed_cpus,
                                machine *m)
{
    weft_status status = WEFT_OK;
    cpu_set allowed;
    memset(m, 0, sizeof *m);
    WEFT_CHECK_GOTO(rc == 0 && hwloc_topology_load(topology) == 0, status, done, WEFT_ERR_DATA,
                    "%s: hwloc cannot read this topology: %s", what, strerror(errno));
    WEFT_TRY_GOTO(parse_allowed(topology, allowed_cpus, &allowed), status, done);
    WEFT_TRY_GOTO(read_topology(topology, &allowed, m), status, done);
done:
    hwloc_topology_destroy(topology);
    if (status != WEFT_OK) {
        machine_free(m);
    }
    return status;
}

weft_status machine_from_synthetic(const char *description, const char *allowed_cpus, machine *m)
{
    hwloc_topology_t topology;
    WEFT_TRY(topology_begin(&topology));
    return machine_load(topology, hwloc_topology_set_synthetic(topology, description), description, allowed_cpus, m);
}

weft_status machine_from_xml(const char *path, machine *m)
{
    hwloc_topology_t topology;
    WEFT_TRY(topology_begin(&topology));
    return machine_load(topology, hwloc_topology_set_xml(topology, path), path, NULL, m);
}

void machine_free(machine *m)
{
    weft_free(m->core);
    memset(m, 0, sizeof *m);
}
