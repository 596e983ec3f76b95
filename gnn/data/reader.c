/* gnn/data/reader.c: the table of input formats. A new one is a file and a row here. */
#include "gnn/data/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/option.h"
#include "gnn/data/reader_formats.h"

enum { FORMATS = 3 };

static const reader_format *const formats[FORMATS] = {
    &reader_gnn_benchmark,
    &reader_heterophilous,
    &reader_weft_npz,
};

const reader_format *reader_format_at(int i)
{
    return i >= 0 && i < FORMATS ? formats[i] : NULL;
}

static void list_names(const char *names[FORMATS], char text[256])
{
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < FORMATS; i++) {
        names[i] = formats[i]->name;
        used += snprintf(text + used, 256 - (size_t)used, i == 0 ? "%s" : ", %s", names[i]);
    }
}

/* Nothing matched: the archive itself may be broken, or hold something else. */
static weft_status fail_unrecognised(const char *path, const char *known)
{
    npz_file *npz;
    struct stat facts;
    WEFT_CHECK(stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode), WEFT_ERR_NOINPUT,
               "%s: is a folder, expected a file (a folder of Planetoid's ind.NAME.*: scripts/convert_planetoid)",
               path);
    WEFT_TRY(npz_open(path, &npz));
    char held[512] = "";
    int used = 0;
    for (int i = 0; i < npz_count(npz) && used < 400; i++) {
        used += snprintf(held + used, sizeof held - (size_t)used, i == 0 ? "%.80s" : ", %.80s", npz_name(npz, i));
    }
    npz_close(npz);
    return weft_fail(WEFT_ERR_DATA, "%s: of no known format (it holds: %s); known are %s, see docs/formats.md", path,
                     used > 0 ? held : "nothing", known);
}

weft_status reader_format_find(const char *path, const char *name, const reader_format **format)
{
    *format = NULL;
    const char *names[FORMATS];
    char known[256];
    list_names(names, known);
    bool automatic = strcmp(name, "auto") == 0;
    for (int i = 0; i < FORMATS && *format == NULL; i++) {
        weft_error_clear();
        if (automatic ? formats[i]->matches(path) : strcmp(names[i], name) == 0) {
            *format = formats[i];
        } else if (weft_error_code() == WEFT_ERR_RESOURCE) {
            return WEFT_ERR_RESOURCE; /* not looked at for lack of memory: another format must not win */
        }
    }
    if (*format != NULL) {
        return WEFT_OK;
    }
    if (automatic) {
        return fail_unrecognised(path, known);
    }
    const char *near = option_nearest(name, names, FORMATS);
    return weft_fail(WEFT_ERR_USAGE, "--format %s: unknown%s%s%s; known are auto, %s", name,
                     near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "", known);
}

void raw_graph_free(raw_graph *raw)
{
    weft_free(raw->from);
    weft_free(raw->to);
    weft_free(raw->feature);
    weft_free(raw->feature_offset);
    weft_free(raw->feature_column);
    weft_free(raw->feature_value);
    weft_free(raw->label);
    weft_free(raw->target);
    weft_free(raw->split);
    *raw = (raw_graph){.vertices = 0};
}
