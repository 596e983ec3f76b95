/*
 * graph/graph_seal.c: a graph that was checked once is not checked again while its files stay as they are.
 *
 *   STORE/checked.json   {"format": "weft-checked", "version": 1, "seal": hash}
 *
 * The seal is a hash of the manifest and of inode, size, modification time and change time of every array. Whatever
 * writes to a file moves its change time, and a copy has another inode: the worst that a stale seal costs is one more
 * check. Labels and split are always checked: they take n steps, where the rest takes every edge and feature (5 s of
 * processor time for 115 million edges and 140 million features).
 */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "graph/graph.h"
#include "io/json.h"

enum { SEAL_VERSION = 1, SEAL_BYTES_MAX = 4096 };
#define FORMAT "weft-checked"

static weft_status read_seal(const char *path, const char *expected, bool *same)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    const char *found = NULL;
    int64_t version = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY(json_read_object(path, SEAL_BYTES_MAX, &document, &root));
    WEFT_TRY_GOTO(json_get_text(path, root, "format", &found), status, done);
    *same = strcmp(found, FORMAT) == 0;
    WEFT_TRY_GOTO(json_get_int(path, root, "version", 0, INT64_MAX, &version), status, done);
    WEFT_TRY_GOTO(json_get_text(path, root, "seal", &found), status, done);
    *same = *same && version == SEAL_VERSION && strcmp(found, expected) == 0;
done:
    json_free(document);
    return status;
}

/* A seal that cannot be read is none. */
static bool is_sealed(const char *path, const weft_graph *graph)
{
    bool same = false;
    if (graph->seal[0] == '\0' || !file_exists(path)) {
        return false;
    }
    weft_status status = read_seal(path, graph->seal, &same);
    weft_error_clear();
    return status == WEFT_OK && same;
}

static weft_status write_seal(const char *path, const weft_graph *graph)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", FORMAT);
    json_int(&json, "version", SEAL_VERSION);
    json_text(&json, "seal", graph->seal);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

weft_status graph_validate_once(const char *store, const weft_graph *graph)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/checked.json", store));
    if (is_sealed(path, graph)) {
        return graph_validate_labels(graph);
    }
    WEFT_TRY(graph_validate(graph));
    if (graph->seal[0] != '\0' && access(store, W_OK) == 0 && write_seal(path, graph) != WEFT_OK) {
        log_debug("%s: not kept: %s", path, weft_error_message()); /* the next job checks again */
        weft_error_clear();
    }
    return WEFT_OK;
}
