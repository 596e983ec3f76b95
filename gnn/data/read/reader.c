/* gnn/data/read/reader.c: the table of input formats. A new one is a file and a row here. */
#include "gnn/data/read/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/text/append.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"
#include "io/foreign_kind.h"
#include "io/npy.h"
#include "io/text/foreign_file.h"
#include "io/text/path_name.h"

enum { FORMATS = 12 };

static const reader_format *const formats[FORMATS] = {
    &reader_gnn_benchmark, &reader_heterophilous, &reader_weft_npz, &reader_scipy,      &reader_pyg,
    &reader_dgl_reddit,    &reader_graphsaint,    &reader_ogb,      &reader_ogb_binary, &reader_matrix_market,
    &reader_metis,         &reader_edge_list, /* last: it takes any text that begins with two
                                                                        numbers */
};

const reader_format *reader_format_at(int i)
{
    return i >= 0 && i < FORMATS ? formats[i] : NULL;
}

static void list_names(const char *names[FORMATS], char text[512])
{
    text[0] = '\0';
    for (int i = 0; i < FORMATS; i++) {
        names[i] = formats[i]->name;
        text_append_item(text, 512, "%s", names[i]);
    }
}

/* Nothing matched an archive of arrays: it may be broken, or hold something else. */
static weft_status fail_arrays(const char *path, const char *known)
{
    npz_file *npz;
    WEFT_TRY(npz_open(path, &npz));
    char held[512] = "";
    for (int i = 0; i < npz_count(npz) && strlen(held) < 400; i++) {
        text_append_item(held, sizeof held, "%.80s", npz_name(npz, i));
    }
    npz_close(npz);
    return weft_fail(WEFT_ERR_DATA, "%s: of no known format (it holds: %s); known are %s, see docs/formats.md", path,
                     held[0] != '\0' ? held : "nothing", known);
}

static weft_status look_for_arrays(const char *path, bool *arrays)
{
    file_map map;
    WEFT_TRY(file_map_open(path, &map));
    const foreign_kind *kind = foreign_kind_of(map.data, map.size < FOREIGN_HEAD ? map.size : FOREIGN_HEAD);
    const bool zip = map.size >= 2 && memcmp(map.data, "PK", 2) == 0;
    *arrays = kind == &foreign_arrays || (zip && (kind == NULL || reader_name_ends(path, ".npz")));
    file_map_close(&map);
    return WEFT_OK;
}

/* Nothing matched: what the file is shows in its first bytes. */
static weft_status fail_unrecognised(const char *path, const char *head, const char *known)
{
    bool arrays;
    WEFT_TRY(look_for_arrays(path, &arrays));
    if (arrays) {
        return fail_arrays(path, known);
    }
    WEFT_TRY(foreign_file_refuse(path));
    WEFT_CHECK(head[0] == '\0', WEFT_ERR_DATA,
               "%s: text of no known format (it begins: %.*s); known are %s, see docs/formats.md", path,
               (int)(strcspn(head, "\r\n") < 40 ? strcspn(head, "\r\n") : 40), head, known);
    return weft_fail(WEFT_ERR_DATA, "%s: neither text nor an .npz archive; known formats are %s, see docs/formats.md",
                     path, known);
}

static bool matches(const reader_format *format, const char *path)
{
    return format->npz_names != NULL ? reader_npz_matches(path, format->npz_names)
                                     : format->matches != NULL && format->matches(path);
}

weft_status reader_format_read(const reader_format *format, const char *path, raw_graph *raw)
{
    if (format->read_npz != NULL) {
        return reader_npz_read(path, format->read_npz, raw);
    }
    return format->read_text != NULL ? reader_text_read(path, format->line_max, format->read_text, raw)
                                     : format->read(path, raw);
}

static weft_status look(const char *path, const char *known, const reader_format **format)
{
    for (int i = 0; i < FORMATS && *format == NULL; i++) {
        weft_error_clear();
        *format = matches(formats[i], path) ? formats[i] : NULL;
        /* Not looked at for lack of memory, or as a disk fails: another format must not win. */
        const weft_status failed = *format == NULL ? weft_error_code() : WEFT_OK;
        if (failed == WEFT_ERR_RESOURCE || failed == WEFT_ERR_IO) {
            return failed;
        }
    }
    if (*format != NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(!path_is_folder(path), WEFT_ERR_NOINPUT,
               "%s: is a folder of no known layout; known are %s, see docs/formats.md (Planetoid's ind.NAME.*: "
               "scripts/convert_planetoid)",
               path, known);
    char head[TEXT_HEAD];
    WEFT_TRY(reader_text_head(path, head));
    for (int i = 0; i < FORMATS && *format == NULL; i++) {
        *format = formats[i]->matches_text != NULL && formats[i]->matches_text(path, head) ? formats[i] : NULL;
    }
    return *format != NULL ? WEFT_OK : fail_unrecognised(path, head, known);
}

weft_status reader_format_find(const char *path, const char *name, const reader_format **format)
{
    *format = NULL;
    const char *names[FORMATS];
    char known[512];
    list_names(names, known);
    if (strcmp(name, "auto") == 0) {
        return look(path, known, format);
    }
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(names[i], name) == 0) {
            *format = formats[i];
            return WEFT_OK;
        }
    }
    const char *near = nearest_word(name, names, FORMATS);
    return weft_fail(WEFT_ERR_USAGE, FLAG_FORMAT_IN " %s: unknown%s%s%s; known are auto, %s", name,
                     near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "", known);
}

void reader_drop_features(raw_graph *raw)
{
    WEFT_FREE_ALL(raw->feature, raw->feature_offset, raw->feature_column, raw->feature_value);
    if (raw->free_features != NULL) {
        raw->free_features(raw->fill_self);
    }
    raw->feature = NULL;
    raw->feature_offset = NULL;
    raw->feature_column = NULL;
    raw->feature_value = NULL;
    raw->fill_features = NULL;
    raw->free_features = NULL;
    raw->fill_self = NULL;
    raw->features = 0;
}

void raw_graph_free(raw_graph *raw)
{
    WEFT_FREE_ALL(raw->from, raw->to);
    reader_drop_features(raw);
    WEFT_FREE_ALL(raw->label, raw->target, raw->split);
    name_list_free(&raw->class_names);
    name_list_free(&raw->vertex_names);
    id_map_free(&raw->ids);
    arcs_free(raw->arcs);
    *raw = (raw_graph){.vertices = 0};
}

static void log_rate(const char *path, const text_source *source, const raw_graph *raw, double seconds)
{
    double megabytes = (double)text_source_text_bytes(source) / 1e6;
    int64_t edges = arcs_count(raw->arcs);
    log_info("%s: read %" PRId64 " edges, %.3g MB of text in %.3g s: %.3g MB/s, %.3g edges/s%s", path, edges, megabytes,
             seconds, megabytes / seconds, (double)edges / seconds,
             arcs_spilled(raw->arcs) ? ", by way of a temporary file" : "");
}

weft_status reader_text_read(const char *path, size_t line_max,
                             weft_status (*parse)(const char *path, text_source *source, raw_graph *raw),
                             raw_graph *raw)
{
    text_source *source;
    double began = clock_seconds();
    if (raw->memory_bytes > 0 && (uint64_t)raw->memory_bytes / 2 < line_max) {
        line_max = (size_t)raw->memory_bytes / 2; /* the text of one line is held twice while it grows */
    }
    WEFT_TRY(text_source_open(path, line_max, &source));
    weft_status status;
    WEFT_TRY_GOTO(arcs_create(raw->memory_bytes, raw->beside, text_source_threads(source), &raw->arcs), status, done);
    WEFT_TRY_GOTO(parse(path, source, raw), status, done);
    log_rate(path, source, raw, clock_seconds() - began);
done:
    text_source_close(source);
    return status;
}
