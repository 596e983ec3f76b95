/*
 * weft predict-scaling, the arithmetic: borders of arcs of a ring, whose numbers are known; extrapolated parts; seconds
 * against closed forms of latency and bandwidth; limits.
 */
#include <math.h>

#include "app/gnn/scaling/scaling.h"
#include "app/gnn/scaling/scaling_device.h"
#include "support/graphs.h"
#include "support/test.h"

enum { RING = 4096, INPUTS = 24, HIDDEN = 16, CLASSES = 4 };

static test_graph ring(void)
{
    test_edges edges = {0};
    for (int64_t v = 0; v < RING; ++v) {
        test_edge(&edges, v, (v + 1) % RING);
    }
    return test_graph_build(RING, &edges, true, false);
}

/* The part `part` of arcs of equal length; each edge lies with its destination. */
static scaling_part arc(const weft_graph *graph, int parts, int part)
{
    weft_partition partition = {
        .parts = parts, .method = "arcs", .edge_cut = true, .vertices = graph->vertices, .edges = graph->edges};
    weft_part cut;
    if (parts > 1) {
        partition.root = malloc((size_t)graph->vertices * sizeof *partition.root);
        partition.edge_part = malloc((size_t)graph->edges * sizeof *partition.edge_part);
    }
    for (int64_t v = 0; v < graph->vertices && parts > 1; ++v) {
        partition.root[v] = (uint16_t)(v * parts / graph->vertices);
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            partition.edge_part[e] = partition.root[v];
        }
    }
    ASSERT_OK(part_extract(graph, &partition, part, NULL, PART_IN_ORDER, &cut));
    const double replication = 1.0 + (parts > 1 ? 2.0 * parts / RING : 0.0);
    const scaling_part found = scaling_part_of(&cut, replication);
    part_destroy(&cut);
    free(partition.root);
    free(partition.edge_part);
    return found;
}

/* Two neighbours outside, in whichever part; twice as many edges as vertices. */
static void assert_arc(const scaling_part *part, int64_t parts)
{
    assert_int_equal(part->parts, parts);
    ASSERT_NEAR(part->rows, (double)RING / (double)parts, 1e-9);
    ASSERT_NEAR(part->edges, 2.0 * RING / (double)parts, 1e-9);
    ASSERT_NEAR(part->halo_rows, parts > 1 ? 2.0 : 0.0, 1e-9);
    ASSERT_NEAR(part->peers, parts > 2 ? 2.0 : (double)parts - 1.0, 1e-9);
    ASSERT_NEAR(part->replication, 1.0 + (parts > 1 ? 2.0 * (double)parts / RING : 0.0), 1e-12);
    assert_int_equal(part->legs, parts > 1 ? 1 : 0);
}

static void test_ring(void **state)
{
    (void)state;
    test_graph graph = ring();
    scaling_part made[4];
    for (int parts = 1; parts <= 16; parts *= 2) {
        const scaling_part found = arc(&graph.graph, parts, parts / 2);
        assert_arc(&found, parts);
        assert_true(found.measured);
        if (parts > 1) {
            made[parts == 2 ? 0 : parts == 4 ? 1 : parts == 8 ? 2 : 3] = found;
        }
    }
    for (int64_t parts = 32; parts <= 1024; parts *= 2) {
        const scaling_part follows = scaling_extrapolate(made, 4, parts, RING);
        assert_arc(&follows, parts);
        assert_false(follows.measured);
    }
    test_graph_free(&graph);
}

/* Rows that cross grow as the square root of the parts: squares of a grid. A row for each edge is the most. */
static void test_power_law(void **state)
{
    (void)state;
    scaling_part made[2] = {{.parts = 4, .rows = 2500, .edges = 1e4, .halo_rows = 200, .peers = 3, .legs = 1},
                            {.parts = 16, .rows = 625, .edges = 2500, .halo_rows = 100, .peers = 8, .legs = 1}};
    const scaling_part far = scaling_extrapolate(made, 2, 64, 10000);
    ASSERT_NEAR(far.halo_rows, 50.0, 1e-9);
    ASSERT_NEAR(far.edges, 625.0, 1e-9);
    made[1].halo_rows = 1600; /* as fast as is believed: by the square of the parts */
    const scaling_part capped = scaling_extrapolate(made, 2, 1024, 10000);
    ASSERT_NEAR(capped.edges, 2500.0 * 16 / 1024, 1e-9);
    ASSERT_NEAR(capped.halo_rows, 2 * capped.edges, 1e-9);
    assert_true(capped.peers <= 1023);
}

static gnn_plan two_layers(void)
{
    const gnn_config config = {.kind = GNN_SAGE,
                               .layers = 2,
                               .inputs = INPUTS,
                               .hidden = HIDDEN,
                               .outputs = CLASSES,
                               .order = GNN_ORDER_LINEAR_FIRST};
    gnn_plan plan;
    gnn_plan_make(&config, 100, 100, 1, WEFT_DTYPE_F32, &plan);
    return plan;
}

/* A network of latency and bandwidth alone, and work that takes a round number of seconds. */
static scaling_machine simple_machine(double latency, double bandwidth)
{
    return (scaling_machine){.row_seconds = {1e-6, 2e-6},
                             .aggregate_speed = 1.0,
                             .model.inter = {latency, 1.0 / bandwidth},
                             .node_sockets = 1};
}

static scaling_part simple_part(int64_t parts)
{
    return (scaling_part){.parts = parts,
                          .rows = 1000,
                          .edges = 5000,
                          .halo_rows = 300,
                          .peers = 3,
                          .legs = 2,
                          .edge_seconds = {1e-9, 3e-9}};
}

static scaling_epoch predict(const scaling_machine *machine, const gnn_halo_options *halo, const scaling_part *part)
{
    const gnn_plan plan = two_layers();
    scaling_epoch epoch;
    ASSERT_OK(scaling_predict(machine, &plan, halo, part, &epoch));
    return epoch;
}

static void test_closed_forms(void **state)
{
    (void)state;
    const double latency = 1e-3, bandwidth = 1e6;
    const scaling_machine machine = simple_machine(latency, bandwidth);
    const scaling_part part = simple_part(16);
    /* Linear first: both layers aggregate what they give, forward and backward, in rows of 4 bytes a column. */
    const double columns = 2 * (HIDDEN + CLASSES), bytes = 300 * 4 * columns;
    const scaling_epoch exact = predict(&machine, &(gnn_halo_options){.delay = 0}, &part);
    ASSERT_NEAR(exact.linear, 3e-3, 1e-12);
    ASSERT_NEAR(exact.aggregate, 5000 * 2 * (HIDDEN * 1e-9 + CLASSES * 3e-9), 1e-12);
    ASSERT_NEAR(exact.halo_bytes, bytes, 1e-6);
    /* Two layers, two directions, two legs, three peers. */
    ASSERT_NEAR(exact.halo, 2 * 2 * 2 * 3 * latency + bytes / bandwidth, 1e-6);
    ASSERT_NEAR(exact.total, exact.linear + exact.aggregate + exact.elementwise + exact.halo + exact.allreduce, 1e-12);
    assert_true(exact.least <= exact.total && exact.least >= exact.halo);
    const scaling_epoch late = predict(&machine, &(gnn_halo_options){.delay = 4}, &part);
    ASSERT_NEAR(late.halo_bytes, bytes / 4, 1e-6);
    const scaling_epoch coded = predict(&machine, &(gnn_halo_options){.codec = HAL_ROWS_INT8}, &part);
    ASSERT_NEAR(coded.halo_bytes, 300 * 2 * (HIDDEN + 4 + CLASSES + 4), 1e-6);
    const scaling_epoch none = predict(&machine, &(gnn_halo_options){.none = true}, &part);
    assert_true(none.halo == 0.0 && none.halo_bytes == 0.0);
    ASSERT_NEAR(none.allreduce, exact.allreduce, 0.0);
}

/* Where bytes cost nothing, log2 P rounds are the fewest; where latency costs nothing, 2 (P - 1) / P of the bytes. */
static void test_allreduce(void **state)
{
    (void)state;
    const gnn_plan plan = two_layers();
    const double bytes = (double)plan.parameters * sizeof(float);
    for (int rounds = 1; rounds <= 10; ++rounds) {
        const scaling_part part = simple_part((int64_t)1 << rounds);
        const double p = (double)part.parts;
        const scaling_machine far = simple_machine(1e-3, 1e300), narrow = simple_machine(0.0, 1e6);
        const scaling_epoch slow = predict(&far, &(gnn_halo_options){.none = true}, &part);
        ASSERT_NEAR(slow.allreduce, rounds * 1e-3, 1e-9);
        const scaling_epoch wide = predict(&narrow, &(gnn_halo_options){.none = true}, &part);
        if (rounds <= 6) { /* beyond, shares of these few parameters are uneven */
            ASSERT_NEAR(wide.allreduce, 2 * (p - 1) / p * bytes / 1e6, 0.05 * bytes / 1e6);
        }
    }
    const scaling_part whole = simple_part(1);
    const scaling_machine machine = simple_machine(1.0, 1.0);
    const scaling_epoch alone = predict(&machine, &(gnn_halo_options){.delay = 0}, &whole);
    assert_true(alone.allreduce == 0.0 && alone.halo == 0.0);
    ASSERT_NEAR(alone.total, alone.least, 0.0);
}

/* More of anything good never takes longer, and a node's sockets share its link. */
static void test_limits(void **state)
{
    (void)state;
    const scaling_part part = simple_part(16);
    const gnn_halo_options exact = {.delay = 0};
    double before = INFINITY;
    for (double bandwidth = 1e6; bandwidth < 1e13; bandwidth *= 10) {
        const scaling_machine machine = simple_machine(1e-6, bandwidth);
        const double total = predict(&machine, &exact, &part).total;
        assert_true(total < before);
        before = total;
    }
    scaling_machine machine = simple_machine(0.0, 1e6);
    const double alone = predict(&machine, &exact, &part).halo;
    machine.node_sockets =
        4; /* of 15 others 12 are away, four sockets through one link; the node's memory is free here */
    ASSERT_NEAR(predict(&machine, &exact, &part).halo, alone * 4 * 12 / 15, 1e-5);
    machine.node_sockets = 16;
    ASSERT_NEAR(predict(&machine, &exact, &part).halo, 0.0, 0.0);
    const double slow = predict(&machine, &exact, &part).aggregate;
    machine.aggregate_speed = 8.0;
    ASSERT_NEAR(predict(&machine, &exact, &part).aggregate, slow / 8, 1e-15);
}

/* A card whose cache holds a strip of 32 columns, and not one of 64; rows of 16 columns are two sectors. */
static void test_card(void **state)
{
    (void)state;
    const scaling_device card = {.memory = 1e9, .cache = 4e9, .cache_bytes = 128e3, .flops = 1e12, .bus = 1e8};
    gnn_plan plan = two_layers();
    double seconds[GNN_MAX_LAYERS];
    const double columns[] = {HIDDEN, CLASSES};
    assert_int_equal(plan.layer[0].width, HIDDEN);
    scaling_device_edges(&card, &plan, 1000, seconds);
    ASSERT_NEAR(seconds[0] * columns[0], (64.0 + 4.0) / 4e9, 1e-15);
    plan.layer[0].width = 64;
    scaling_device_edges(&card, &plan, 1000, seconds);
    ASSERT_NEAR(seconds[0] * 64.0, (256.0 + 8.0) / 4e9, 1e-15); /* two strips, two reads of the place */
    plan.layer[0].width = 5;
    scaling_device_edges(&card, &plan, 1000, seconds);
    ASSERT_NEAR(seconds[0] * 5.0, (20.0 + 28.0 + 4.0) / (0.93 * 4e9),
                1e-15); /* a sector more, less an element; in single cells */
    plan.layer[0].width = 64;
    scaling_device_edges(&card, &plan, 16000, seconds); /* 32 columns are 2 MB, 64 are 4.1 MB: 1 in 32 is found */
    ASSERT_NEAR(seconds[0] * 64.0, 256.0 * (1.0 - 128e3 / (16000.0 * 256.0)) / 1e9, 1e-12);
    scaling_device_rows(&card, &plan, seconds);
    /* Both outputs side by side. The gradient of features is not made. */
    ASSERT_NEAR(seconds[0], 2.0 * ((INPUTS + 2 * HIDDEN) * 4.0 / 0.6e9 + 4.0 * INPUTS * HIDDEN / 1e12), 1e-15);
    ASSERT_NEAR(seconds[1], 3.0 * ((HIDDEN + 2 * CLASSES) * 4.0 / 0.6e9 + 4.0 * HIDDEN * CLASSES / 1e12), 1e-15);
    assert_null(scaling_device_of(SCALING_MEASURED));
    assert_true(scaling_device_of(SCALING_V100)->memory > scaling_device_of(SCALING_P40)->memory);
}

/* What goes through a host takes its bus twice, and operations take their calls. */
static void test_bus(void **state)
{
    (void)state;
    scaling_machine machine = simple_machine(0.0, 1e30);
    const gnn_halo_options exact = {0};
    const scaling_part part = simple_part(4);
    const scaling_epoch direct = predict(&machine, &exact, &part);
    machine.bus_seconds = 1e-3;
    machine.launch_seconds = 0.25;
    const scaling_epoch staged = predict(&machine, &exact, &part);
    ASSERT_NEAR(staged.halo - direct.halo, 2e-3 * direct.halo_bytes, 1e-9 * direct.halo_bytes);
    ASSERT_NEAR(staged.launch, 2 * 0.25, 1e-12);
    assert_true(staged.allreduce > direct.allreduce);
    ASSERT_NEAR(staged.total,
                staged.aggregate + staged.linear + staged.elementwise + staged.halo + staged.allreduce + 0.5, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ring),         cmocka_unit_test(test_power_law),
                                       cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_allreduce),
                                       cmocka_unit_test(test_limits),       cmocka_unit_test(test_card),
                                       cmocka_unit_test(test_bus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
