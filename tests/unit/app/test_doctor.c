/* The doctor's rules on recorded and synthetic machines, launches, links, settings and devices: every verdict can be
 * had; which device a rank takes. */
#include <math.h>

#include "app/doctor/doctor.h"
#include "app/setup/device_choice.h"
#include "support/folder.h"

/* ---- helpers ------------------------------------------------------------------------------------------------ */
static cpu_set cpus(int first, int last)
{
    cpu_set set = {.bits = {0}};
    for (int cpu = first; cpu <= last; cpu++) {
        cpu_set_add(&set, cpu);
    }
    return set;
}

/* The first finding of an area with this verdict whose text holds `text`; NULL: none. */
static const doctor_finding *look(const doctor_list *list, const char *area, doctor_verdict verdict, const char *text)
{
    for (int i = 0; i < list->count; i++) {
        const doctor_finding *f = &list->finding[i];
        if (strcmp(f->area, area) == 0 && f->verdict == verdict && strstr(f->found, text) != NULL) {
            return f;
        }
    }
    return NULL;
}

static const doctor_finding *expect(const doctor_list *list, const char *area, doctor_verdict verdict, const char *text)
{
    const doctor_finding *found = look(list, area, verdict, text);
    for (int i = 0; found == NULL && i < list->count; i++) {
        const doctor_finding *f = &list->finding[i];
        print_message("%s | %s | %s | %s\n", doctor_verdict_text(f->verdict), f->area, f->where, f->found);
    }
    if (found == NULL) {
        fail_msg("no %s of %s with \"%s\"", doctor_verdict_text(verdict), area, text);
    }
    return found;
}

static void expect_cure(const doctor_finding *finding, const char *text)
{
    if (finding == NULL || strstr(finding->cure, text) == NULL) {
        fail_msg("no cure with \"%s\": %s", text, finding != NULL ? finding->cure : "none");
    }
}

static int count_of(const doctor_list *list, doctor_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < list->count; i++) {
        count += list->finding[i].verdict == verdict;
        /* What is not ok names a cure; what is ok names none. */
        assert_int_equal(list->finding[i].verdict != DOCTOR_OK, list->finding[i].cure[0] != '\0');
    }
    return count;
}

/* Cards as the placement plans them from the launcher's masks. */
static void place(const machine *m, const cpu_set *masks, int ranks, int threads, pin_mode pin, doctor_card *card)
{
    for (int r = 0; r < ranks; r++) {
        placement plan;
        const placement_request request = {.node_ranks = ranks,
                                           .node_rank = r,
                                           .masks = masks,
                                           .threads = threads,
                                           .pin = pin,
                                           .job_ranks = ranks,
                                           .nodes = 1};
        ASSERT_OK(placement_plan(m, &request, &plan));
        card[r] = (doctor_card){.host = "ant",
                                .rank = 10 + r,
                                .node_rank = r,
                                .start = masks[r],
                                .mask = plan.mask,
                                .threads = plan.threads,
                                .comm_cpu = plan.comm_thread ? plan.comm_cpu : -1,
                                .pinned = plan.pinned,
                                .healed = plan.healed,
                                .oversubscribed = plan.oversubscribed};
        placement_free(&plan);
    }
}

static doctor_list judge(const machine *m, const cpu_set *masks, int ranks, int threads, pin_mode pin)
{
    static doctor_card card[16];
    doctor_list list = {0};
    place(m, masks, ranks, threads, pin, card);
    doctor_check_places(&list, m, card, ranks, pin);
    ASSERT_OK(list.status);
    return list;
}

/* ---- places ------------------------------------------------------------------------------------------------- */
static void test_places_good(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic("package:2 core:8 pu:1", NULL, &m));
    const cpu_set masks[2] = {cpus(0, 7), cpus(8, 15)};
    doctor_list list = judge(&m, masks, 2, 0, PIN_AUTO);
    assert_int_equal(count_of(&list, DOCTOR_WARNING) + count_of(&list, DOCTOR_NOTE), 0);
    expect(&list, "launch", DOCTOR_OK, "disjoint");
    assert_string_equal(expect(&list, "threads", DOCTOR_OK, "one thread each")->where, "rank 10");
    expect(&list, "threads", DOCTOR_OK, "every usable core");
    doctor_list_free(&list);
    machine_free(&m);
}

static void test_places_starved(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic("package:2 core:8 pu:1", NULL, &m));
    const cpu_set masks[2] = {cpus(0, 0), cpus(1, 1)}; /* as mpirun -np 2 binds */
    doctor_list list = judge(&m, masks, 2, 0, PIN_AUTO);
    expect_cure(expect(&list, "launch", DOCTOR_NOTE, "given 1 of its share of 8 cores"), "PE=8");
    assert_int_equal(count_of(&list, DOCTOR_WARNING), 0);
    doctor_list_free(&list);

    list = judge(&m, masks, 2, 0, PIN_INHERIT);
    expect_cure(expect(&list, "launch", DOCTOR_WARNING, "given 1 of"), "--pin on");
    expect(&list, "threads", DOCTOR_NOTE, "14 of 16 usable cores idle");
    doctor_list_free(&list);
    machine_free(&m);
}

static void test_places_overlap(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic("package:1 core:8 pu:1", NULL, &m));
    const cpu_set masks[2] = {cpus(0, 7), cpus(0, 7)}; /* --bind-to none */
    doctor_list list = judge(&m, masks, 2, 0, PIN_AUTO);
    expect(&list, "launch", DOCTOR_OK, "ranks 10 and 11 overlap; weft replaced them");
    assert_int_equal(count_of(&list, DOCTOR_WARNING), 0);
    doctor_list_free(&list);

    list = judge(&m, masks, 2, 0, PIN_OFF);
    expect(&list, "launch", DOCTOR_WARNING, "ranks 10 and 11 overlap");
    expect_cure(expect(&list, "threads", DOCTOR_WARNING, "may run on the same CPUs"), "--pin auto");
    doctor_list_free(&list);
    machine_free(&m);
}

static void test_places_oversubscribed(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_xml(WEFT_SOURCE_DIR "/tests/data/topology_recorded_vm.xml", &m));
    cpu_set masks[16];
    const int ranks = 2 * m.cores < 16 ? 2 * m.cores : 16;
    for (int r = 0; r < ranks; r++) {
        masks[r] = m.allowed;
    }
    doctor_list list = judge(&m, masks, ranks, 0, PIN_AUTO);
    const doctor_finding *found = expect(&list, "threads", DOCTOR_WARNING, "share");
    assert_float_equal(found->value, (double)ranks / m.cores, 1e-9);
    assert_non_null(strstr(found->cure, "at most"));
    doctor_list_free(&list);

    list = judge(&m, masks, 1, 2 * m.cores, PIN_OFF); /* threads, not ranks, are too many */
    expect_cure(expect(&list, "threads", DOCTOR_WARNING, "share"), "--threads");
    doctor_list_free(&list);
    machine_free(&m);
}

/* A rank on half of a recorded machine, as taskset would leave it; and a control group's quota. */
static void test_places_narrow(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_xml(WEFT_SOURCE_DIR "/tests/data/topology_2x4x2_mcdram.xml", &m));
    cpu_set mask = {.bits = {0}};
    int usable = 0;
    for (int i = 0; i < m.cores; i++) {
        usable += m.core[i].allowed;
        if (m.core[i].allowed && usable <= 3) {
            cpu_set_add(&mask, m.core[i].cpus[0]);
        }
    }
    assert_true(usable > 3);
    doctor_list list = judge(&m, &mask, 1, 0, PIN_AUTO);
    char text[64];
    snprintf(text, sizeof text, "given 3 of its share of %d", usable);
    expect(&list, "launch", DOCTOR_NOTE, text);
    snprintf(text, sizeof text, "%d of %d usable cores idle", usable - 3, usable);
    expect(&list, "threads", DOCTOR_NOTE, text);
    doctor_list_free(&list);

    m.quota_cpus = 2;
    list = judge(&m, &m.allowed, 1, 0, PIN_AUTO);
    expect(&list, "threads", DOCTOR_NOTE, "grants the time of 2 of");
    expect(&list, "threads", DOCTOR_OK, "every usable core");
    doctor_list_free(&list);
    machine_free(&m);
}

/* ---- memory and speed --------------------------------------------------------------------------------------- */
static void test_memory(void **state)
{
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    doctor_list list = {0};
    doctor_check_memory(&list, "ant", &(doctor_memory){64 * gib, 60 * gib, UINT64_MAX});
    assert_int_equal(count_of(&list, DOCTOR_OK), 1);
    assert_float_equal(list.finding[0].value, 60.0, 1e-9);
    doctor_check_memory(&list, "ant", &(doctor_memory){64 * gib, 3 * gib, 3 * gib});
    expect(&list, "memory", DOCTOR_WARNING, "3.0 of 64.0 GiB");
    expect(&list, "memory", DOCTOR_NOTE, "control group leaves 3.0 GiB");
    doctor_list_free(&list);
}

static void test_speed(void **state)
{
    (void)state;
    static doctor_card card[2];
    const int numa[2] = {0, 3};
    doctor_list list = {0};
    host_settings settings = {.mhz = 2000.0, .mhz_most = 2500.0};
    for (int r = 0; r < 2; r++) {
        const double peak = 4.0 * 2500e6 * host_flops_per_clock();
        card[r] = (doctor_card){.host = "ant", .threads = 4, .memory = {20e9, 15e9}, .gemm = 0.8 * peak};
        card[r].numa[r][r] = (stream_rates){20e9, 15e9};
        card[r].numa[r][1 - r] = (stream_rates){8e9, 6e9};
    }
    doctor_check_speed(&list, card, 2, numa, 2, &settings);
    assert_float_equal(expect(&list, "bandwidth", DOCTOR_OK, "read, all")->value, 40.0, 1e-6);
    assert_string_equal(expect(&list, "bandwidth", DOCTOR_OK, "remote memory of node 0")->where, "ant NUMA 3");
    expect(&list, "gemm", DOCTOR_OK, "80 % of what 8 threads");
    assert_int_equal(count_of(&list, DOCTOR_OK), list.count);
    doctor_list_free(&list);

    card[1].numa[1][1].triad = 7e9;
    card[0].gemm = card[1].gemm = 0.2 * 4.0 * 2500e6 * host_flops_per_clock();
    doctor_check_speed(&list, card, 2, numa, 2, &settings);
    assert_string_equal(expect(&list, "bandwidth", DOCTOR_WARNING, "far less")->where, "ant NUMA 3");
    expect(&list, "gemm", DOCTOR_NOTE, "20 %");
    doctor_list_free(&list);

    for (int r = 0; r < 2; r++) {
        memset(card[r].numa, 0, sizeof card[r].numa);
    }
    doctor_check_speed(&list, card, 2, numa, 2, &settings);
    expect_cure(expect(&list, "bandwidth", DOCTOR_NOTE, "2 NUMA nodes could not be measured"), "SYS_NICE");
    doctor_list_free(&list);

    settings = (host_settings){0};
    doctor_check_speed(&list, card, 1, numa, 1, &settings);
    expect(&list, "gemm", DOCTOR_OK, "clock is hidden");
    doctor_list_free(&list);
}

/* ---- settings ----------------------------------------------------------------------------------------------- */
static void test_load(void **state)
{
    (void)state;
    doctor_list list = {0};
    doctor_check_load(&list, 0, 0.0, "", 0.0); /* proc cannot be read */
    assert_int_equal(list.count, 0);
    doctor_check_load(&list, 8, 1.1, "cc1 (pid 7) 1.1", 0.0);
    assert_int_equal(list.finding[0].verdict, DOCTOR_OK);
    assert_string_equal(list.finding[0].cure, "");
    doctor_check_load(&list, 8, 1.3, "cc1 (pid 7) 1.3", 0.0);
    assert_int_equal(list.finding[1].verdict, DOCTOR_WARNING);
    assert_non_null(strstr(list.finding[1].found, "of 8 CPUs: others had 1.3 meanwhile (cc1 (pid 7) 1.3)"));
    assert_non_null(strstr(list.finding[1].cure, "end them"));
    doctor_check_load(&list, 8, 0.5, "", 0.9);
    assert_int_equal(list.finding[2].verdict, DOCTOR_WARNING);
    assert_non_null(strstr(list.finding[2].cure, "virtual machine's host"));
    doctor_list_free(&list);
}

static void test_settings(void **state)
{
    (void)state;
    doctor_list list = {0};
    host_settings s = {.governor = "performance",
                       .mhz = 2900.0,
                       .mhz_most = 3000.0,
                       .huge_pages = "madvise",
                       .shared_memory_free = UINT64_MAX / 2,
                       .processes_most = UINT64_MAX,
                       .locked_bytes_most = UINT64_MAX,
                       .files_most = 1024};
    doctor_check_settings(&list, "ant", &s, 4, 32, true);
    assert_int_equal(count_of(&list, DOCTOR_OK), list.count);
    doctor_list_free(&list);

    s = (host_settings){.governor = "powersave",
                        .mhz = 800.0,
                        .mhz_most = 3000.0,
                        .huge_pages = "never",
                        .shared_memory_free = 64 << 20,
                        .processes_most = 100,
                        .locked_bytes_most = 65536};
    doctor_check_settings(&list, "ant", &s, 4, 32, true);
    expect_cure(expect(&list, "clock", DOCTOR_NOTE, "powersave: far below"), "performance");
    expect_cure(expect(&list, "huge pages", DOCTOR_NOTE, "never"), "madvise");
    expect_cure(expect(&list, "limits", DOCTOR_WARNING, "ulimit -u is 100"), "208");
    expect_cure(expect(&list, "limits", DOCTOR_NOTE, "ulimit -l"), "unlimited");
    expect_cure(expect(&list, "shared memory", DOCTOR_WARNING, "64.0 MiB free"), "--shm-size");
    assert_int_equal(count_of(&list, DOCTOR_OK), 0);
    doctor_list_free(&list);

    doctor_check_settings(&list, "ant", &s, 1, 32, false); /* alone: no shared memory, no network */
    assert_null(look(&list, "shared memory", DOCTOR_WARNING, ""));
    assert_null(look(&list, "limits", DOCTOR_NOTE, "ulimit -l"));
    doctor_list_free(&list);
}

/* ---- links -------------------------------------------------------------------------------------------------- */
static void test_links(void **state)
{
    (void)state;
    comm_layout *layout = NULL;
    ASSERT_OK(layout_create((const int[]){0, 0, 2, 2}, 4, &layout)); /* two nodes of two ranks */
    comm_pair pair[6] = {{0, 1, 1e-6, 8e9},    {0, 2, 20e-6, 1e9}, {0, 3, 21e-6, 1.1e9},
                         {1, 2, 22e-6, 0.9e9}, {1, 3, 20e-6, 1e9}, {2, 3, 1.2e-6, 7e9}};
    doctor_list list = {0};
    doctor_check_links(&list, pair, 6, layout);
    assert_int_equal(list.count, 4);
    assert_int_equal(count_of(&list, DOCTOR_OK), 4);
    assert_float_equal(expect(&list, "latency", DOCTOR_OK, "median of 2 pairs; worst: ranks 2 and 3")->value, 1.1,
                       1e-9);
    assert_float_equal(expect(&list, "link rate", DOCTOR_OK, "median of 4 pairs; worst: ranks 1 and 2")->value, 1.0,
                       1e-9);
    doctor_list_free(&list);

    pair[3] = (comm_pair){1, 2, 200e-6, 0.1e9};
    doctor_check_links(&list, pair, 6, layout);
    assert_string_equal(expect(&list, "latency", DOCTOR_WARNING, "worst: ranks 1 and 2, 200 us")->where,
                        "between nodes");
    expect(&list, "link rate", DOCTOR_WARNING, "worst: ranks 1 and 2, 0.1 GB/s");
    assert_int_equal(count_of(&list, DOCTOR_WARNING), 2);
    doctor_list_free(&list);

    pair[0] = (comm_pair){0, 1, 60e-6, 0.2e9};
    pair[5] = (comm_pair){2, 3, 60e-6, 0.3e9};
    pair[3] = pair[1];
    doctor_check_links(&list, pair, 6, layout);
    expect_cure(expect(&list, "latency", DOCTOR_NOTE, "median of 2"), "vader");
    expect_cure(expect(&list, "link rate", DOCTOR_NOTE, "median of 2"), "single_copy");
    doctor_list_free(&list);
    layout_destroy(layout);
}

static void test_transports(void **state)
{
    (void)state;
    static const struct {
        const char *btl;
        int ranks;
        int findings, warnings;
    } rows[] = {{NULL, 4, 0, 0},       {"", 4, 0, 0},         {"self,vader,tcp", 4, 1, 0}, {"self,sm", 2, 1, 0},
                {"self,tcp", 4, 1, 1}, {"self,tcp", 1, 1, 0}, {"^openib", 4, 1, 0},        {"^vader,openib", 4, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        doctor_list list = {0};
        doctor_check_transports(&list, "ant", rows[i].btl, rows[i].ranks);
        assert_int_equal(list.count, rows[i].findings);
        assert_int_equal(count_of(&list, DOCTOR_WARNING), rows[i].warnings);
        doctor_list_free(&list);
    }
}

static void test_nodes(void **state)
{
    (void)state;
    static doctor_card card[4];
    comm_layout *layout = NULL;
    ASSERT_OK(layout_create((const int[]){0, 1, 0, 1}, 4, &layout)); /* ranks dealt in turns to two nodes */
    for (int r = 0; r < 4; r++) {
        card[r] = (doctor_card){.rank = r, .gemm = 1e11, .memory = {2e10, 1e10}};
        snprintf(card[r].host, sizeof card[r].host, r % 2 == 0 ? "ant" : "bee");
    }
    doctor_list list = {0};
    card[3].gemm = 0.3e11; /* 65 % of ant's together */
    doctor_check_nodes(&list, card, layout);
    assert_int_equal(list.count, 0);
    card[1].gemm = 0.7e11;
    doctor_check_nodes(&list, card, layout);
    assert_int_equal(list.count, 1);
    assert_string_equal(expect(&list, "gemm", DOCTOR_WARNING, "50 % of the fastest")->where, "node bee");
    expect_cure(&list.finding[0], "leave bee out");
    card[0].memory.triad = card[2].memory.triad = 0.1e10;
    doctor_check_nodes(&list, card, layout);
    assert_string_equal(expect(&list, "bandwidth", DOCTOR_WARNING, "10 %")->where, "node ant");
    doctor_list_free(&list);
    layout_destroy(layout);
}

/* ---- devices -------------------------------------------------------------------------------------------------- */
static void test_devices(void **state)
{
    (void)state;
    static doctor_devices d = {.count = 2, .built = true, .asked = true, .mpi_takes = 0};
    d.device[0] = (hal_device){.name = "P40", .place = "0000:3b:00.0", .major = 6, .minor = 1, .compiled = true};
    d.device[1] = (hal_device){.number = 1, .name = "V100", .major = 7};
    d.link[0] = (pci_link){.width = 8, .width_most = 16, .rate = 8.0, .rate_most = 8.0};
    doctor_list list = {0};
    doctor_check_devices(&list, "ant", &d, 4);
    expect_cure(expect(&list, "GPU", DOCTOR_NOTE, "PCIe 8 of 16 lanes at 8 of 8 GT/s"), "8 of 16 lanes");
    expect_cure(expect(&list, "GPU", DOCTOR_WARNING, "V100"), "CMAKE_CUDA_ARCHITECTURES=70");
    expect_cure(expect(&list, "GPU", DOCTOR_NOTE, "4 ranks share 2 GPUs"), "ppr:2:node");
    expect_cure(expect(&list, "GPU", DOCTOR_NOTE, "MPI takes no device memory"), "built with CUDA");
    assert_int_equal(count_of(&list, DOCTOR_OK), 0);
    doctor_list_free(&list);
    d.mpi_takes = 1;
    doctor_check_devices(&list, "ant", &d, 2);
    expect(&list, "GPU", DOCTOR_OK, "rows of halos go straight to it");
    doctor_list_free(&list);
    snprintf(d.road, sizeof d.road, "through the post");
    doctor_check_devices(&list, "ant", &d, 2);
    expect(&list, "GPU", DOCTOR_OK, "rows of halos go through the post");
    doctor_list_free(&list);
    d = (doctor_devices){.built = true, .asked = true, .reason = "no driver"};
    doctor_check_devices(&list, "ant", &d, 1);
    expect_cure(expect(&list, "GPU", DOCTOR_WARNING, "no driver"), "nvidia-smi");
    doctor_list_free(&list);
    d = (doctor_devices){.reason = "built without"};
    doctor_check_devices(&list, "ant", &d, 1);
    assert_int_equal(list.count, 0);
}

/* Eight ranks of two sockets, four devices of which 0 and 1 hang on the second. */
static void test_device_choice(void **state)
{
    (void)state;
    const cpu_set none = {.bits = {0}};
    const cpu_set mask[8] = {cpus(0, 1), cpus(2, 3),   cpus(4, 5),   cpus(6, 7),
                             cpus(8, 9), cpus(10, 11), cpus(12, 13), cpus(14, 15)};
    const cpu_set near[4] = {cpus(8, 15), cpus(8, 15), cpus(0, 7), cpus(0, 7)};
    const cpu_set unknown[4] = {none, none, none, none};
    int device[8];
    device_choose(mask, 8, near, 4, 0, device);
    assert_memory_equal(device, ((int[]){2, 3, 2, 3, 0, 1, 0, 1}), sizeof device);
    device_choose(mask, 8, unknown, 4, 0, device);
    assert_memory_equal(device, ((int[]){0, 1, 2, 3, 0, 1, 2, 3}), sizeof device);
    /* Four ranks of the first socket alone: two of them go over to the other's devices. */
    device_choose(mask, 4, near, 4, 0, device);
    assert_memory_equal(device, ((int[]){2, 3, 0, 1}), 4 * sizeof *device);
    device_choose(mask, 2, near, 1, 0, device);
    assert_memory_equal(device, ((int[]){0, 0}), 2 * sizeof *device);
    /* One a device: others go without. */
    device_choose(mask, 8, near, 4, 1, device);
    assert_memory_equal(device, ((int[]){2, 3, -1, -1, 0, 1, -1, -1}), sizeof device);
    device_choose(mask, 3, unknown, 2, 1, device);
    assert_memory_equal(device, ((int[]){0, 1, -1}), 3 * sizeof *device);
}

static void put(void **state, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "sys/bus/pci/devices/0000:3b:00.0/%s", name);
    put_file(in_folder(state, path), text, strlen(text));
}

static void test_pci_link(void **state)
{
    pci_link link;
    ASSERT_OK(folder_make(in_folder(state, "sys/bus/pci/devices/0000:3b:00.0")));
    put(state, "current_link_width", "8\n");
    put(state, "max_link_width", "16\n");
    put(state, "current_link_speed", "2.5 GT/s PCIe\n");
    put(state, "max_link_speed", "16.0 GT/s PCIe\n");
    put(state, "local_cpulist", "0-3,8,10-11\n");
    pci_link_read(*state, "0000:3b:00.0", &link);
    char text[64];
    assert_string_equal(cpu_set_text(&link.near, text, sizeof text), "0-3,8,10-11");
    assert_int_equal(link.width, 8);
    assert_int_equal(link.width_most, 16);
    assert_float_equal(link.rate, 2.5, 0.0);
    assert_float_equal(link.rate_most, 16.0, 0.0);
    pci_link_read(*state, "../0000:3b:00.0", &link);
    assert_int_equal(link.width, 0);
    assert_int_equal(cpu_set_count(&link.near), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_good),
        cmocka_unit_test(test_places_starved),
        cmocka_unit_test(test_places_overlap),
        cmocka_unit_test(test_places_oversubscribed),
        cmocka_unit_test(test_places_narrow),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_transports),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_device_choice),
        cmocka_unit_test_setup_teardown(test_pci_link, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
