/* comm/model/model_file.c: see comm/model/model_file.h. */
#include "comm/model/model_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/version.h"
#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"
#include "io/json.h"
#include "machine/cache.h"

#define MODEL_FORMAT "weft-comm-model 4"

enum { HOST_BYTES = 64, NODE_TEXT_BYTES = HOST_BYTES + 12, MODEL_MOST_BYTES = 1 << 20 };

/* X(name, member): the figures, with the largest that is believed. A day for a message, a second for a byte. */
#define MODEL_FIGURES(X)                                                                                               \
    X("paired_per_byte", paired_per_byte, 1.0)                                                                         \
    X("sync", sync, 1e5)                                                                                               \
    X("shared_per_byte", shared_per_byte, 1.0)                                                                         \
    X("reduce_per_byte", reduce_per_byte, 1.0)                                                                         \
    X("select_per_element", select_per_element, 1.0)                                                                   \
    X("scatter_per_element", scatter_per_element, 1.0)

/* ---- the key ------------------------------------------------------------------------------------------------ */
static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* host: [P][HOST_BYTES], by rank. */
static weft_status join_nodes(const comm_layout *layout, const char *host, char **out)
{
    weft_status status = WEFT_OK;
    size_t nodes = (size_t)layout->nodes;
    char *name = NULL; /* [nodes][NODE_TEXT_BYTES] */
    char *joined = NULL;
    size_t used = 0;
    WEFT_TRY_GOTO(WEFT_NEW(&name, nodes * NODE_TEXT_BYTES, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&joined, nodes * (NODE_TEXT_BYTES + 1), WEFT_MEM_COMM), status, done);
    for (size_t j = 0; j < nodes; ++j) {
        int first = layout->first[j];
        snprintf(name + j * NODE_TEXT_BYTES, NODE_TEXT_BYTES, "%s:%d",
                 host + (size_t)layout->member[first] * HOST_BYTES, layout->first[j + 1] - first);
    }
    qsort(name, nodes, NODE_TEXT_BYTES, compare_names);
    for (size_t j = 0; j < nodes; ++j) {
        used +=
            (size_t)snprintf(joined + used, NODE_TEXT_BYTES + 1, "%s%s", j > 0 ? " " : "", name + j * NODE_TEXT_BYTES);
    }
    *out = joined;
    joined = NULL;
done:
    WEFT_FREE_ALL(name, joined);
    return status;
}

/* A name is kept to characters that every reader takes. */
static void own_name(char host[HOST_BYTES])
{
    memset(host, 0, HOST_BYTES);
    if (gethostname(host, HOST_BYTES - 1) != 0) {
        snprintf(host, HOST_BYTES, "unknown");
    }
    for (char *at = host; *at != '\0'; ++at) {
        *at = *at <= ' ' || *at > '~' || *at == ':' ? '_' : *at;
    }
}

weft_status model_key_of(weft_comm *comm, const char *machine, model_key *key)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    bool first = comm_rank(comm) == 0;
    char mine[HOST_BYTES];
    char *hosts = NULL;
    int64_t *bytes = NULL;
    memset(key, 0, sizeof *key);
    own_name(mine);
    weft_status local = WEFT_NEW(&hosts, first ? (size_t)size * HOST_BYTES : 0, WEFT_MEM_COMM);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, size, WEFT_MEM_COMM) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    for (int q = 0; q < size; ++q) {
        bytes[q] = HOST_BYTES;
    }
    WEFT_TRY_GOTO(comm_gatherv(comm, 0, mine, HOST_BYTES, hosts, bytes), status, done);
    if (first) {
        key->ranks = size;
        snprintf(key->transport, sizeof key->transport, "%s", comm_transport_name(comm));
        comm_mpi_version(key->mpi, sizeof key->mpi);
        snprintf(key->machine, sizeof key->machine, "%s", machine);
        local = join_nodes(comm_get_layout(comm), hosts, &key->nodes);
    }
    WEFT_TRY_GOTO(comm_agree(comm, local), status, done);
done:
    WEFT_FREE_ALL(hosts, bytes);
    return status;
}

void model_key_free(model_key *key)
{
    weft_free(key->nodes);
    memset(key, 0, sizeof *key);
}

weft_status model_default_path(const model_key *key, char path[FILE_PATH_MAX])
{
    char hash[33];
    char name[64];
    char *text = NULL;
    size_t bytes = strlen(key->nodes) + sizeof key->mpi + sizeof key->machine + 320;
    WEFT_TRY(WEFT_NEW(&text, bytes, WEFT_MEM_COMM));
    int length = snprintf(text, bytes, "%s|%d|%s|%s|%s|%s", key->nodes, key->ranks, key->transport, key->mpi,
                          key->machine, version_program());
    file_hash(text, (size_t)length, hash);
    weft_free(text);
    snprintf(name, sizeof name, "comm-%.16s.json", hash);
    weft_status status = cache_path(name, path);
    return status == WEFT_ERR_NOINPUT
               ? weft_fail(status,
                           "no cache folder: neither XDG_CACHE_HOME nor HOME is set; name a file with " FLAG_COMM_MODEL)
               : status;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */
static weft_status read_link(const char *path, const json_value *root, const char *name, comm_link *link)
{
    const json_value *object = json_find(root, name);
    WEFT_CHECK(object != NULL && object->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"%s\" must be an object", path,
               name);
    WEFT_TRY(json_get_amount(path, object, "latency", 1e5, "seconds", &link->latency));
    return json_get_amount(path, object, "seconds_per_byte", 1.0, "seconds", &link->seconds_per_byte);
}

static weft_status read_row(const char *path, const json_value *list, const char *name, double *seconds)
{
    int n = 0;
    WEFT_CHECK(list->kind == JSON_ARRAY, WEFT_ERR_DATA, "%s: \"timed\": \"%s\" must be an array of seconds", path,
               name);
    for (const json_value *at = list->child; at != NULL; at = at->next, ++n) {
        WEFT_CHECK(n < TIMED_SIZES, WEFT_ERR_DATA, "%s: \"timed\": \"%s\" has more than %d lengths", path, name,
                   (int)TIMED_SIZES);
        WEFT_CHECK(at->kind == JSON_NUMBER && at->number >= 0.0 && at->number <= 1e5, WEFT_ERR_DATA,
                   "%s: \"timed\": entry %d of \"%s\" must be seconds from 0, not timed, to 1e5", path, n, name);
        seconds[n] = at->number;
    }
    WEFT_CHECK(n == TIMED_SIZES, WEFT_ERR_DATA, "%s: \"timed\": \"%s\" has %d lengths instead of %d", path, name, n,
               (int)TIMED_SIZES);
    return WEFT_OK;
}

static weft_status read_timings(const char *path, const json_value *root, int64_t most, comm_timings *timed)
{
    int64_t ranks = 0;
    const json_value *rows = json_find(root, "timed");
    WEFT_TRY(json_get_int(path, root, "timed_ranks", 0, most, &ranks));
    WEFT_CHECK(rows != NULL && rows->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"timed\" must be an object", path);
    for (const json_value *row = rows->child; row != NULL; row = row->next) {
        int a = 1;
        while (a < TIMED_ALGORITHMS && strcmp(comm_algorithm_name((comm_algorithm)a), row->key) != 0) {
            ++a;
        }
        WEFT_CHECK(a < TIMED_ALGORITHMS, WEFT_ERR_DATA, "%s: \"timed\": \"%.100s\" is no all-reduce", path, row->key);
        WEFT_TRY(read_row(path, row, row->key, timed->seconds[a]));
    }
    timed->ranks = (int32_t)ranks;
    return WEFT_OK;
}

static weft_status expect_key(const char *path, const json_value *root, const model_key *key, int64_t ranks)
{
    WEFT_CHECK(ranks == key->ranks, WEFT_ERR_DATA, "%s: \"ranks\" is %lld, here it is %d", path, (long long)ranks,
               key->ranks);
    WEFT_TRY(json_expect_text(path, root, "nodes", key->nodes));
    WEFT_TRY(json_expect_text(path, root, "machine", key->machine));
    WEFT_TRY(json_expect_text(path, root, "transport", key->transport));
    return json_expect_text(path, root, "mpi", key->mpi);
}

static weft_status read_root(const char *path, const json_value *root, const model_key *key, comm_model *model)
{
    int64_t ranks = 0;
    comm_model read = {.measured = true};
    WEFT_TRY(json_expect_text(path, root, "format", MODEL_FORMAT));
    WEFT_TRY(json_get_int(path, root, "ranks", 1, INT32_MAX, &ranks));
    WEFT_TRY(key != NULL ? expect_key(path, root, key, ranks) : WEFT_OK);
    WEFT_TRY(json_expect_text(path, root, "weft", version_program()));
    WEFT_TRY(read_link(path, root, "inter", &read.inter));
    WEFT_TRY(read_link(path, root, "intra", &read.intra));
#define MODEL_READ(name, member, most) WEFT_TRY(json_get_amount(path, root, name, most, "seconds", &read.member));
    MODEL_FIGURES(MODEL_READ)
#undef MODEL_READ
    if (json_find(root, "others_cpus") != NULL) {
        WEFT_TRY(json_get_amount(path, root, "others_cpus", 1e6, "CPUs", &read.others));
    }
    WEFT_TRY(read_timings(path, root, ranks, &read.timed));
    *model = read;
    return WEFT_OK;
}

weft_status model_read(const char *path, const model_key *key, comm_model *model)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(path, MODEL_MOST_BYTES, &document, &root));
    weft_status status = read_root(path, root, key, model);
    json_free(document);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */
static void write_link(json_writer *json, const char *name, const comm_link *link)
{
    json_object(json, name);
    json_real(json, "latency", link->latency);
    json_real(json, "seconds_per_byte", link->seconds_per_byte);
    json_end(json);
}

static void write_timings(json_writer *json, const comm_timings *timed)
{
    json_int(json, "timed_ranks", timed->ranks);
    json_object(json, "timed");
    for (int a = 1; a < TIMED_ALGORITHMS; ++a) {
        double seconds = 0.0;
        int64_t at = 0;
        if (!timings_find(timed, (comm_algorithm)a, timed_bytes(0), &seconds, &at)) {
            continue;
        }
        json_array(json, comm_algorithm_name((comm_algorithm)a));
        for (int i = 0; i < TIMED_SIZES; ++i) {
            json_real(json, NULL, timed->seconds[a][i]);
        }
        json_end(json);
    }
    json_end(json);
}

static void write_root(FILE *out, const model_key *key, const comm_model *model)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    json_text(&json, "format", MODEL_FORMAT);
    json_text(&json, "nodes", key->nodes);
    json_text(&json, "machine", key->machine);
    json_int(&json, "ranks", key->ranks);
    json_text(&json, "transport", key->transport);
    json_text(&json, "mpi", key->mpi);
    json_text(&json, "weft", version_program());
    write_link(&json, "inter", &model->inter);
    write_link(&json, "intra", &model->intra);
#define MODEL_WRITE(name, member, most) json_real(&json, name, model->member);
    MODEL_FIGURES(MODEL_WRITE)
#undef MODEL_WRITE
    if (model->others > 0.0) {
        json_real(&json, "others_cpus", model->others);
    }
    write_timings(&json, &model->timed);
    json_end(&json);
    json_line_end(&json);
}

weft_status model_write(const char *path, const model_key *key, const comm_model *model)
{
    file_writer writer;
    WEFT_TRY(cache_make_parent(path));
    WEFT_TRY(file_writer_open(path, &writer));
    write_root(writer.stream, key, model);
    return file_writer_commit(&writer);
}
