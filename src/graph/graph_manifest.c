/* graph/graph_manifest.c: manifest.json of a graph store, read with suspicion and written. */
#include "graph/graph_manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "io/json.h"
#include "io/text/foreign_file.h"

#define FORMAT "weft-graph"

const char *const graph_array_names[GRAPH_ARRAYS] = {
#define GRAPH_ARRAY_NAME(id, name) name,
    GRAPH_ARRAY_LIST(GRAPH_ARRAY_NAME)
#undef GRAPH_ARRAY_NAME
};

/* ---- reading ---- */

static weft_status read_array(const char *name, const json_value *value, graph_manifest *manifest)
{
    int id = 0;
    while (id < GRAPH_ARRAYS && strcmp(graph_array_names[id], value->key) != 0) {
        id++;
    }
    WEFT_CHECK(id < GRAPH_ARRAYS && value->kind == JSON_OBJECT, WEFT_ERR_DATA,
               "%s: \"arrays\" holds \"%s\"; expected an object each for offset, source, weight, feature (or "
               "feature_offset, feature_column, feature_value), label, target, split, class_name, vertex_name",
               name, value->key);
    store_array *entry = &manifest->arrays[id];
    WEFT_CHECK(entry->present, WEFT_ERR_DATA, "%s: array \"%s\" is listed, but the counts say that there is none", name,
               value->key);
    return store_array_parse(name, value, entry);
}

static weft_status read_counts(const char *name, const json_value *root, graph_manifest *manifest)
{
    WEFT_TRY(json_get_int(name, root, "vertices", 1, INT64_C(1) << 40, &manifest->vertices));
    WEFT_TRY(json_get_int(name, root, "edges", 0, INT64_C(1) << 48, &manifest->edges));
    WEFT_TRY(json_get_bool(name, root, "symmetric", &manifest->symmetric));
    WEFT_TRY(store_optional_int(name, root, "features", 0, &manifest->features));
    WEFT_TRY(store_optional_int(name, root, "classes", 0, &manifest->classes));
    WEFT_TRY(store_optional_int(name, root, "tasks", 0, &manifest->tasks));
    WEFT_TRY(store_optional_int(name, root, "splits", 0, &manifest->splits));
    WEFT_CHECK(manifest->classes == 0 || manifest->tasks == 0, WEFT_ERR_DATA,
               "%s: both \"classes\" and \"tasks\" are set; labels are integers (classes) or floats (tasks)", name);
    WEFT_CHECK(manifest->features <= INT32_MAX && manifest->classes <= INT32_MAX && manifest->tasks <= INT32_MAX &&
                   manifest->splits <= INT32_MAX,
               WEFT_ERR_DATA, "%s: features, classes, tasks and splits are at most 2147483647", name);
    return WEFT_OK;
}

static void name_arrays(graph_manifest *manifest)
{
    const bool sparse = manifest->feature_numbers >= 0;
    const bool present[GRAPH_ARRAYS] = {
        [GRAPH_OFFSET] = true,
        [GRAPH_SOURCE] = true,
        [GRAPH_WEIGHT] = manifest->weighted,
        [GRAPH_FEATURE] = manifest->features > 0 && !sparse,
        [GRAPH_FEATURE_OFFSET] = sparse,
        [GRAPH_FEATURE_COLUMN] = sparse,
        [GRAPH_FEATURE_VALUE] = sparse,
        [GRAPH_LABEL] = manifest->classes > 0,
        [GRAPH_TARGET] = manifest->tasks > 0,
        [GRAPH_SPLIT] = manifest->splits > 0,
        [GRAPH_CLASS_NAME] = manifest->class_named,
        [GRAPH_VERTEX_NAME] = manifest->vertex_named,
    };
    for (int id = 0; id < GRAPH_ARRAYS; id++) {
        manifest->arrays[id] = store_array_named(graph_array_names[id], present[id]);
    }
}

/* A yes or no that stores below this version cannot have; absent = no. */
static weft_status read_flag(const char *name, const json_value *root, const char *key, int64_t version, int64_t since,
                             bool *value)
{
    *value = false;
    WEFT_TRY(json_find(root, key) != NULL ? json_get_bool(name, root, key, value) : WEFT_OK);
    WEFT_CHECK(!*value || version >= since, WEFT_ERR_DATA,
               "%s: \"%s\" belongs to version %" PRId64 " of the graph store, this is version %" PRId64, name, key,
               since, version);
    return WEFT_OK;
}

static weft_status read_root(const char *name, const json_value *root, graph_manifest *manifest)
{
    WEFT_CHECK(root->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: is not a JSON object", name);
    const char *format;
    int64_t version;
    WEFT_TRY(json_get_text(name, root, "format", &format));
    WEFT_CHECK(strcmp(format, FORMAT) == 0, WEFT_ERR_DATA, "%s: format \"%.64s\", expected \"" FORMAT "\"", name,
               format);
    WEFT_TRY(json_get_int(name, root, "version", 0, INT64_MAX, &version));
    WEFT_CHECK(version >= GRAPH_VERSION && version <= GRAPH_VERSION_LAST, WEFT_ERR_UNSUPPORTED,
               "%s: version %" PRId64 " of the graph store; this build reads versions %d to %d", name, version,
               GRAPH_VERSION, GRAPH_VERSION_LAST);
    WEFT_TRY(read_counts(name, root, manifest));
    WEFT_TRY(read_flag(name, root, "weighted", version, GRAPH_VERSION_WEIGHTED, &manifest->weighted));
    WEFT_TRY(read_flag(name, root, "class_names", version, GRAPH_VERSION_THIRD, &manifest->class_named));
    WEFT_TRY(read_flag(name, root, "vertex_names", version, GRAPH_VERSION_THIRD, &manifest->vertex_named));
    WEFT_TRY(store_optional_int(name, root, "feature_numbers", -1, &manifest->feature_numbers));
    WEFT_CHECK(
        manifest->feature_numbers < 0 || (version >= GRAPH_VERSION_THIRD && manifest->features > 0), WEFT_ERR_DATA,
        "%s: \"feature_numbers\" belongs to version %d of the graph store and to \"features\" above 0; this is version "
        "%" PRId64 " with %" PRId64 " features",
        name, GRAPH_VERSION_THIRD, version, manifest->features);
    WEFT_CHECK(!manifest->class_named || manifest->classes + manifest->tasks > 0, WEFT_ERR_DATA,
               "%s: \"class_names\" is set, and there are neither classes nor tasks", name);
    WEFT_TRY(store_optional_text(name, root, "name", manifest->name, sizeof manifest->name));
    WEFT_TRY(store_optional_text(name, root, "origin", manifest->origin, sizeof manifest->origin));
    name_arrays(manifest);
    const json_value *arrays = json_find(root, "arrays");
    if (arrays == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(arrays->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"arrays\" is not an object", name);
    for (const json_value *value = arrays->child; value != NULL; value = value->next) {
        WEFT_TRY(read_array(name, value, manifest));
    }
    return WEFT_OK;
}

weft_status graph_manifest_parse(const char *name, const char *text, size_t bytes, graph_manifest *manifest)
{
    *manifest = (graph_manifest){.vertices = 0};
    json_document *document = NULL;
    WEFT_TRY(json_parse(name, text, bytes, &document));
    weft_status status = read_root(name, json_root(document), manifest);
    json_free(document);
    return status;
}

weft_status graph_manifest_read(const char *store, graph_manifest *manifest, char hash[33])
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/manifest.json", store));
    WEFT_CHECK(file_exists(store), WEFT_ERR_NOINPUT,
               "%s: no such graph store; weft convert makes one, of files or of synth:SPEC", store);
    struct stat facts;
    if (stat(store, &facts) == 0 && S_ISREG(facts.st_mode)) {
        WEFT_TRY(foreign_file_refuse(store));
    }
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT,
               "%s: is not a graph store (no manifest.json in it); weft convert makes one", store);
    char *text;
    size_t bytes;
    WEFT_TRY(file_read_text(path, STORE_MANIFEST_MAX, &text, &bytes));
    file_hash(text, bytes, hash);
    weft_status status = graph_manifest_parse(path, text, bytes, manifest);
    weft_free(text);
    return status;
}

/* ---- writing ---- */

weft_status graph_manifest_write(const char *folder, const graph_manifest *manifest)
{
    char path[FILE_PATH_MAX];
    assert(manifest->vertices >= 1 && (manifest->classes == 0 || manifest->tasks == 0));
    assert(manifest->feature_numbers < 0 || manifest->features > 0); /* numbers of sparse features */
    WEFT_TRY(file_path(path, "%s/manifest.json", folder));
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", FORMAT);
    const bool third = manifest->class_named || manifest->vertex_named || manifest->feature_numbers >= 0;
    json_int(&json, "version",
             third                ? GRAPH_VERSION_THIRD
             : manifest->weighted ? GRAPH_VERSION_WEIGHTED
                                  : GRAPH_VERSION);
    json_text(&json, "name", manifest->name);
    json_int(&json, "vertices", manifest->vertices);
    json_int(&json, "edges", manifest->edges);
    json_bool(&json, "symmetric", manifest->symmetric);
    if (manifest->weighted) {
        json_bool(&json, "weighted", true);
    }
    if (manifest->class_named) {
        json_bool(&json, "class_names", true);
    }
    if (manifest->vertex_named) {
        json_bool(&json, "vertex_names", true);
    }
    json_int(&json, "features", manifest->features);
    if (manifest->feature_numbers >= 0) {
        json_int(&json, "feature_numbers", manifest->feature_numbers);
    }
    json_int(&json, "classes", manifest->classes);
    json_int(&json, "tasks", manifest->tasks);
    json_int(&json, "splits", manifest->splits);
    json_text(&json, "origin", manifest->origin);
    json_object(&json, "arrays");
    for (int id = 0; id < GRAPH_ARRAYS; id++) {
        if (manifest->arrays[id].present) {
            store_array_print(&json, graph_array_names[id], &manifest->arrays[id]);
        }
    }
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}
