/*
 * partition/extract/part_store.c: see partition/part_store.h.
 *
 *   part-RANK.npz   facts   int64 [10]  version, part, parts, n_global, e_global, n_owned, n_local, edges, symmetric,
 *                                       whole_rows
 *                   key     uint8 [32]  hash of the graph's hash and of size and time of root.npy and edge_part.npy,
 *                                       where there is one
 *                   and the arrays of weft_part by name, weight and in_weight where edges weigh
 *                   sum     uint8 [32]  hash of all of these, in this order
 *
 * Every member has a CRC, its length must be what the facts say, every index is compared with its bound, and the sum
 * tells whether the arrays are still those that were cut together: who changes one of them writes a good CRC. A damaged
 * file is cut anew, never a wrong answer. About 4 bytes an edge on disk.
 */
#include "partition/part_store.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/number.h"
#include "io/npy.h"
#include "partition/partition_store.h"

enum { PART_VERSION = 4, KEY_BYTES = 32, SUM_BYTES = 32 };

enum { VERSION, PART, PARTS, N_GLOBAL, E_GLOBAL, N_OWNED, N_LOCAL, EDGES, SYMMETRIC, WHOLE_ROWS, FACTS };

/* One array of a part. */
typedef struct part_array {
    const char *name;
    int item_bytes;
    int64_t count;
    int64_t limit; /* indices lie below; 0 = not an index */
    void **data;
} part_array;

enum { FIXED_ARRAYS = 9, ARRAYS = 13, WEIGHT_ARRAYS = 2 };

/* The arrays whose lengths the facts tell. */
static void list_fixed(weft_part *p, part_array list[ARRAYS])
{
    const part_array fixed[FIXED_ARRAYS] = {
        {"gid", 8, p->n_local, p->n_global, (void **)&p->gid},
        {"offset", 8, p->n_local + 1, p->edges + 1, (void **)&p->offset},
        {"source", 4, p->edges, p->n_local, (void **)&p->source},
        {"in_degree", 8, p->n_owned, p->e_global + 1, (void **)&p->in_degree},
        {"out_degree", 8, p->n_owned, p->e_global + 1, (void **)&p->out_degree},
        {"sources_own_offset", 8, p->parts + 1, INT64_MAX, (void **)&p->sources.own_offset},
        {"sources_leaf_offset", 8, p->parts + 1, INT64_MAX, (void **)&p->sources.leaf_offset},
        {"destinations_own_offset", 8, p->parts + 1, INT64_MAX, (void **)&p->destinations.own_offset},
        {"destinations_leaf_offset", 8, p->parts + 1, INT64_MAX, (void **)&p->destinations.leaf_offset},
    };
    memcpy(list, fixed, sizeof fixed);
}

/* float32 and float64: of a graph whose edges have weights. */
static void list_weights(weft_part *p, part_array list[WEIGHT_ARRAYS])
{
    list[0] = (part_array){"weight", 4, p->edges, 0, (void **)&p->weight};
    list[1] = (part_array){"in_weight", 8, p->n_owned, 0, (void **)&p->in_weight};
}

/* Those whose lengths stand in the offsets. */
static void list_rows(weft_part *p, part_array list[ARRAYS])
{
    const part_array rows[ARRAYS - FIXED_ARRAYS] = {
        {"sources_own_row", 4, p->sources.own_offset[p->parts], p->n_owned, (void **)&p->sources.own_row},
        {"sources_leaf_row", 4, p->sources.leaf_offset[p->parts], p->n_local, (void **)&p->sources.leaf_row},
        {"destinations_own_row", 4, p->destinations.own_offset[p->parts], p->n_owned,
         (void **)&p->destinations.own_row},
        {"destinations_leaf_row", 4, p->destinations.leaf_offset[p->parts], p->n_local,
         (void **)&p->destinations.leaf_row},
    };
    memcpy(list + FIXED_ARRAYS, rows, sizeof rows);
}

/* ---- what the file belongs to ---- */

static weft_status mix_file(const char *folder, const char *name, char key[33])
{
    char path[FILE_PATH_MAX], text[256];
    struct stat facts;
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    WEFT_CHECK(stat(path, &facts) == 0, WEFT_ERR_NOINPUT, "%s: cannot be looked at", path);
    int length = snprintf(text, sizeof text, "%s %jd %jd.%09ld", key, (intmax_t)facts.st_size,
                          (intmax_t)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    file_hash(text, (size_t)length, key);
    return WEFT_OK;
}

static weft_status locate(const char *store_path, const weft_graph *graph, const partition_options *options, int part,
                          bool clustered, part_layout layout, char path[FILE_PATH_MAX], char key[33])
{
    char folder[FILE_PATH_MAX];
    WEFT_TRY(partition_folder(store_path, options, folder));
    memcpy(key, graph->hash, sizeof graph->hash);
    if (graph->weight != NULL) { /* or they were left out of this job's view of the graph */
        char text[sizeof graph->hash + 16];
        const int length = snprintf(text, sizeof text, "%s weighted", key);
        file_hash(text, (size_t)length, key);
    }
    WEFT_TRY(file_path(path, "%s/edge_part.npy", folder)); /* which roots alone may stand for */
    WEFT_TRY(file_exists(path) ? mix_file(folder, "edge_part.npy", key) : WEFT_OK);
    WEFT_TRY(mix_file(folder, "root.npy", key));
    return file_path(path, "%s/part-%d%s%s.npz", folder, part, clustered ? "-clustered" : "",
                     layout == PART_SHARED_FIRST ? "-shared" : "");
}

/* ---- the sum ---- */

static void list_facts(const weft_part *part, int64_t facts[FACTS])
{
    const int64_t values[FACTS] = {PART_VERSION,  part->part,    part->parts, part->n_global,  part->e_global,
                                   part->n_owned, part->n_local, part->edges, part->symmetric, part->whole_rows};
    memcpy(facts, values, sizeof values);
}

static void mix_arrays(const part_array *list, int count, char sum[33])
{
    char text[2 * 33 + 64], hash[33];
    for (int i = 0; i < count; i++) {
        file_hash(*list[i].data, (size_t)list[i].count * (size_t)list[i].item_bytes, hash);
        const int length = snprintf(text, sizeof text, "%s %s %s", sum, list[i].name, hash);
        file_hash(text, (size_t)length, sum);
    }
}

/* key: as in the file. */
static void sum_part(const weft_part *part, bool weighted, const char key[33], char sum[33])
{
    int64_t facts[FACTS];
    char text[2 * 33], hash[33];
    part_array list[ARRAYS];
    weft_part view = *part; /* the lists point into it; nothing is changed */
    list_facts(part, facts);
    file_hash(facts, sizeof facts, hash);
    const int length = snprintf(text, sizeof text, "%s %.32s", hash, key);
    file_hash(text, (size_t)length, sum);
    list_fixed(&view, list);
    list_rows(&view, list);
    mix_arrays(list, ARRAYS, sum);
    list_weights(&view, list);
    mix_arrays(list, weighted ? WEIGHT_ARRAYS : 0, sum);
}

/* ---- writing ---- */

static weft_status add_arrays(npz_writer *writer, const weft_part *part, bool weighted, const char key[33])
{
    const int64_t facts_shape = FACTS, key_shape = KEY_BYTES, sum_shape = SUM_BYTES;
    int64_t facts[FACTS];
    char sum[33];
    part_array list[ARRAYS];
    weft_part view = *part; /* the lists point into it; nothing is changed */
    list_facts(part, facts);
    list_fixed(&view, list);
    list_rows(&view, list);
    WEFT_TRY(npz_writer_add(writer, "facts", 'i', 8, 1, &facts_shape, facts));
    WEFT_TRY(npz_writer_add(writer, "key", 'u', 1, 1, &key_shape, key));
    for (int i = 0; i < ARRAYS; i++) {
        WEFT_TRY(npz_writer_add(writer, list[i].name, 'i', list[i].item_bytes, 1, &list[i].count, *list[i].data));
    }
    list_weights(&view, list);
    for (int i = 0; weighted && i < WEIGHT_ARRAYS; i++) {
        WEFT_TRY(npz_writer_add(writer, list[i].name, 'f', list[i].item_bytes, 1, &list[i].count, *list[i].data));
    }
    sum_part(part, weighted, key, sum);
    return npz_writer_add(writer, "sum", 'u', 1, 1, &sum_shape, sum);
}

weft_status part_save(const char *store_path, const weft_graph *graph, const partition_options *options,
                      const weft_part *part, bool clustered)
{
    char path[FILE_PATH_MAX], key[33];
    npz_writer *writer = NULL;
    WEFT_CHECK(part->offset != NULL, WEFT_ERR_INTERNAL, "part %d: its edges have been released", part->part);
    WEFT_TRY(locate(store_path, graph, options, part->part, clustered, part->layout, path, key));
    WEFT_TRY(npz_writer_open(path, &writer));
    weft_status status = add_arrays(writer, part, graph->weight != NULL, key);
    if (status != WEFT_OK) {
        npz_writer_discard(writer);
        return status;
    }
    return npz_writer_commit(writer);
}

/* ---- reading ---- */

static weft_status read_member(npz_file *npz, const char *path, const char *name, char kind, int item_bytes,
                               int64_t count, void **data)
{
    npy_header header;
    npy_array array;
    int i = npz_find(npz, name);
    WEFT_CHECK(i >= 0, WEFT_ERR_DATA, "%s: holds no array \"%s\"", path, name);
    WEFT_TRY(npz_read_header(npz, i, &header));
    WEFT_CHECK(header.kind == kind && header.item_bytes == item_bytes && header.dims == 1 && header.shape[0] == count,
               WEFT_ERR_DATA, "%s[%s]: expected %" PRId64 " elements of %d bytes", path, name, count, item_bytes);
    WEFT_TRY(npz_read(npz, i, &array));
    *data = array.data;
    return WEFT_OK;
}

/* The smallest and largest element must lie in [0, limit). */
static weft_status check_bounds(const char *path, const part_array *array)
{
    int64_t low = 0, high = -1;
    if (array->item_bytes == 4) {
        const int32_t *value = *array->data;
        int32_t least = 0, most = -1;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most)
        for (int64_t i = 0; i < array->count; i++) {
            least = value[i] < least ? value[i] : least;
            most = value[i] > most ? value[i] : most;
        }
        low = least;
        high = most;
    } else {
        const int64_t *value = *array->data;
        for (int64_t i = 0; i < array->count; i++) {
            low = value[i] < low ? value[i] : low;
            high = value[i] > high ? value[i] : high;
        }
    }
    WEFT_CHECK(low >= 0 && high < array->limit, WEFT_ERR_DATA,
               "%s[%s]: elements from %" PRId64 " to %" PRId64 ", expected 0 to %" PRId64, path, array->name, low, high,
               array->limit - 1);
    return WEFT_OK;
}

static weft_status check_ascends(const char *path, const char *name, const int64_t *offset, int64_t count)
{
    WEFT_CHECK(offset[0] == 0, WEFT_ERR_DATA, "%s[%s]: begins with %" PRId64, path, name, offset[0]);
    for (int64_t i = 0; i < count; i++) {
        WEFT_CHECK(offset[i] <= offset[i + 1], WEFT_ERR_DATA, "%s[%s], row %" PRId64 ": does not ascend", path, name,
                   i);
    }
    return WEFT_OK;
}

static weft_status read_list(npz_file *npz, const char *path, const part_array *list, int first, int end)
{
    for (int i = first; i < end; i++) {
        WEFT_TRY(read_member(npz, path, list[i].name, 'i', list[i].item_bytes, list[i].count, list[i].data));
        WEFT_TRY(check_bounds(path, &list[i]));
    }
    return WEFT_OK;
}

/* Facts and key: WEFT_ERR_NOINPUT when the file is of another graph, partition or version. */
static weft_status read_facts(npz_file *npz, const char *path, const char key[33], const weft_graph *graph,
                              const partition_options *options, int part, weft_part *out)
{
    int64_t *facts = NULL;
    void *found = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(read_member(npz, path, "facts", 'i', 8, FACTS, (void **)&facts), status, done);
    WEFT_TRY_GOTO(read_member(npz, path, "key", 'u', 1, KEY_BYTES, &found), status, done);
    WEFT_CHECK_GOTO(facts[VERSION] == PART_VERSION && memcmp(found, key, KEY_BYTES) == 0, status, done,
                    WEFT_ERR_NOINPUT, "%s: belongs to another graph or partition", path);
    bool fits = facts[PART] == part && facts[PARTS] == options->parts && facts[N_GLOBAL] == graph->vertices &&
                facts[E_GLOBAL] == graph->edges && facts[N_OWNED] >= 0 && facts[N_OWNED] <= facts[N_LOCAL] &&
                facts[N_LOCAL] <= INT32_MAX && facts[EDGES] >= 0 && facts[EDGES] <= graph->edges;
    WEFT_CHECK_GOTO(fits, status, done, WEFT_ERR_DATA, "%s[facts]: do not describe part %d of %d", path, part,
                    options->parts);
    *out = (weft_part){.part = part,
                       .parts = options->parts,
                       .n_global = facts[N_GLOBAL],
                       .e_global = facts[E_GLOBAL],
                       .n_owned = facts[N_OWNED],
                       .n_local = facts[N_LOCAL],
                       .edges = facts[EDGES],
                       .symmetric = facts[SYMMETRIC] != 0,
                       .whole_rows = facts[WHOLE_ROWS] != 0};
done:
    WEFT_FREE_ALL(facts, found);
    return status;
}

/* As graph_validate wants them; sums of a hub may pass what a float32 holds. */
static weft_status read_weights(npz_file *npz, const char *path, weft_part *part)
{
    part_array list[WEIGHT_ARRAYS];
    list_weights(part, list);
    for (int i = 0; i < WEIGHT_ARRAYS; i++) {
        WEFT_TRY(read_member(npz, path, list[i].name, 'f', list[i].item_bytes, list[i].count, list[i].data));
        for (int64_t e = 0; e < list[i].count; e++) {
            const double value = i == 0 ? (double)part->weight[e] : part->in_weight[e];
            WEFT_CHECK(value >= 0.0 && value <= DBL_MAX, WEFT_ERR_DATA,
                       "%s[%s], row %" PRId64 ": %g is not finite, or below 0", path, list[i].name, e,
                       number_plain(value));
        }
    }
    return WEFT_OK;
}

/* They stand first, so the last that a list names ends them. */
static int64_t count_shared(const weft_part *part)
{
    if (part->layout == PART_IN_ORDER) {
        return part->n_owned;
    }
    const part_halo *const halo[] = {&part->sources, &part->destinations};
    int64_t shared = 0;
    for (int h = 0; h < 2; h++) {
        for (int64_t i = 0; i < halo[h]->own_offset[part->parts]; i++) {
            shared = halo[h]->own_row[i] >= shared ? halo[h]->own_row[i] + 1 : shared;
        }
    }
    assert(shared <= part->n_owned); /* the lists have been checked */
    return shared;
}

static weft_status read_arrays(npz_file *npz, const char *path, bool weighted, weft_part *part)
{
    part_array list[ARRAYS];
    list_fixed(part, list);
    WEFT_TRY(read_list(npz, path, list, 0, FIXED_ARRAYS));
    WEFT_TRY(check_ascends(path, "offset", part->offset, part->n_local));
    WEFT_CHECK(part->offset[part->n_local] == part->edges, WEFT_ERR_DATA, "%s[offset]: ends at %" PRId64, path,
               part->offset[part->n_local]);
    for (int i = 5; i < FIXED_ARRAYS; i++) {
        WEFT_TRY(check_ascends(path, list[i].name, *list[i].data, part->parts));
    }
    list_rows(part, list);
    WEFT_TRY(read_list(npz, path, list, FIXED_ARRAYS, ARRAYS));
    part->n_shared = count_shared(part);
    return weighted ? read_weights(npz, path, part) : WEFT_OK;
}

static weft_status check_sum(npz_file *npz, const char *path, bool weighted, const char key[33], const weft_part *part)
{
    void *kept = NULL;
    char sum[33];
    WEFT_TRY(read_member(npz, path, "sum", 'u', 1, SUM_BYTES, &kept));
    sum_part(part, weighted, key, sum);
    const bool same = memcmp(kept, sum, SUM_BYTES) == 0;
    weft_free(kept);
    WEFT_CHECK(same, WEFT_ERR_DATA, "%s: damaged: its arrays have another sum than it names", path);
    return WEFT_OK;
}

weft_status part_load(const char *store_path, const weft_graph *graph, const partition_options *options, int part,
                      bool clustered, part_layout layout, weft_part *out)
{
    char path[FILE_PATH_MAX], key[33];
    npz_file *npz = NULL;
    *out = (weft_part){0};
    WEFT_TRY(locate(store_path, graph, options, part, clustered, layout, path, key));
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT, "%s: no such part", path);
    WEFT_TRY(npz_open(path, &npz));
    weft_status status = read_facts(npz, path, key, graph, options, part, out);
    out->layout = layout;
    status = status == WEFT_OK ? read_arrays(npz, path, graph->weight != NULL, out) : status;
    if (status == WEFT_OK) {
        status = check_sum(npz, path, graph->weight != NULL, key, out);
    }
    npz_close(npz);
    if (status != WEFT_OK) {
        part_destroy(out);
    }
    return status;
}
