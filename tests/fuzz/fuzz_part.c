/*
 * Fuzz target: a kept part. An input that begins as an archive does is the file itself; any other is a list of changes
 * to a good part, of 8 bytes each (array, place, value), written with the sums that belong to them. What is read back
 * has every index within its bound. Seeds: tests/fuzz/make_seeds DIR.
 */
#include <sys/stat.h>

#include "fuzz/fuzz_support.h"
#include "graph/graph.h"
#include "io/npy.h"
#include "partition/part.h"
#include "partition/part_store.h"
#include "partition/partition.h"

enum { VERTICES = 6, EDGES = 10, PARTS = 2, CHANGE_BYTES = 8, STATED_LIMIT = 16 << 20 };

static const char *folder;
static int64_t offset[VERTICES + 1] = {0, 2, 3, 5, 7, 9, 10};
static int32_t source[EDGES] = {1, 2, 0, 3, 5, 1, 4, 0, 2, 3};
static uint16_t edge_part[EDGES] = {0, 1, 0, 0, 1, 1, 0, 0, 1, 1};
static uint16_t root[VERTICES] = {0, 0, 1, 1, 0, 1};
static weft_graph graph = {.vertices = VERTICES,
                           .edges = EDGES,
                           .offset = offset,
                           .source32 = source,
                           .name = "g",
                           .hash = "00000000000000000000000000000000"};
static weft_partition partition = {
    .parts = PARTS, .method = "random", .vertices = VERTICES, .edges = EDGES, .edge_part = edge_part, .root = root};
static const partition_options options = {.method = "random", .parts = PARTS, .seed = 0, .balance = 1.1, .threads = 1};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const partition_report report = {0};
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    folder = fuzz_folder();
    if (partition_save(folder, &graph, &partition, &report, &options) != WEFT_OK) {
        abort();
    }
    return 0;
}

/* An array of a part, as changes name it. */
typedef struct changed_array {
    void *data;
    int item_bytes;
    int64_t count;
} changed_array;

static void change(weft_part *p, const uint8_t *record)
{
    const changed_array list[] = {{p->gid, 8, p->n_local},
                                  {p->offset, 8, p->n_local + 1},
                                  {p->source, 4, p->edges},
                                  {p->in_degree, 8, p->n_owned},
                                  {p->out_degree, 8, p->n_owned},
                                  {p->sources.own_row, 4, p->sources.own_offset[PARTS]},
                                  {p->sources.leaf_row, 4, p->sources.leaf_offset[PARTS]},
                                  {p->destinations.own_row, 4, p->destinations.own_offset[PARTS]},
                                  {p->destinations.leaf_row, 4, p->destinations.leaf_offset[PARTS]}};
    const changed_array *a = &list[record[0] % (sizeof list / sizeof *list)];
    int32_t narrow;
    memcpy(&narrow, record + 2, sizeof narrow);
    const int64_t wide = (int64_t)narrow * ((int64_t)1 << (record[6] % 31));
    if (a->count > 0) {
        unsigned char *at = (unsigned char *)a->data + (int64_t)(record[1] % a->count) * a->item_bytes;
        memcpy(at, a->item_bytes == 8 ? (const void *)&wide : (const void *)&narrow, (size_t)a->item_bytes);
    }
}

static void save_changed(const uint8_t *data, size_t size)
{
    weft_part part;
    if (part_extract(&graph, &partition, 0, NULL, PART_IN_ORDER, &part) != WEFT_OK) {
        abort();
    }
    for (size_t at = 0; at + CHANGE_BYTES <= size; at += CHANGE_BYTES) {
        change(&part, data + at);
    }
    if (part_save(folder, &graph, &options, &part, false) != WEFT_OK) {
        abort();
    }
    part_destroy(&part);
}

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_rows(const part_halo *halo, int64_t owned, int64_t local)
{
    for (int q = 0; q < PARTS; q++) {
        expect(halo->own_offset[q] <= halo->own_offset[q + 1] && halo->leaf_offset[q] <= halo->leaf_offset[q + 1]);
    }
    for (int64_t i = 0; i < halo->own_offset[PARTS]; i++) {
        expect(halo->own_row[i] >= 0 && halo->own_row[i] < owned);
    }
    for (int64_t i = 0; i < halo->leaf_offset[PARTS]; i++) {
        expect(halo->leaf_row[i] >= 0 && halo->leaf_row[i] < local);
    }
}

static void check_part(const weft_part *part)
{
    expect(part->n_owned >= 0 && part->n_owned <= part->n_local && part->offset[0] == 0);
    for (int64_t i = 0; i < part->n_local; i++) {
        expect(part->gid[i] >= 0 && part->gid[i] < VERTICES && part->offset[i] <= part->offset[i + 1]);
    }
    expect(part->offset[part->n_local] == part->edges);
    for (int64_t e = 0; e < part->edges; e++) {
        expect(part->source[e] >= 0 && part->source[e] < part->n_local);
    }
    check_rows(&part->sources, part->n_owned, part->n_local);
    check_rows(&part->destinations, part->n_owned, part->n_local);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_part part;
    if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
        fuzz_put(folder, "partition-random-2-0/part-0.npz", data, size);
    } else {
        save_changed(data, size);
    }
    if (part_load(folder, &graph, &options, 0, false, PART_IN_ORDER, &part) == WEFT_OK) {
        check_part(&part);
        part_destroy(&part);
    }
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
