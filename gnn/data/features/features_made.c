/* gnn/data/features/features_made.c: see gnn/data/features/features_made.h. */
#include "gnn/data/features/features_made.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "base/philox.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/features/spectral.h"

struct features_made {
    features_kind kind;
    int64_t vertices, width;
    uint64_t seed;
    const int64_t *offset;
    int64_t *out_degree; /* [n], or NULL where it is the in-degree */
    float *matrix;       /* [n, width] of spectral */
    /* Of onehot, where it is held sparse; NULL: it is not. */
    int64_t *identity_offset;
    int32_t *identity_column;
    float *identity_value;
};

weft_status features_parse(const char *text, features_kind *kind, int64_t *width)
{
    static const struct {
        const char *word;
        features_kind kind;
        int64_t most; /* 0 = takes no number */
    } words[] = {{"degree", FEATURES_DEGREE, 0},
                 {"onehot", FEATURES_ONEHOT, 0},
                 {"random", FEATURES_RANDOM, FEATURES_WIDTH_MAX},
                 {"spectral", FEATURES_SPECTRAL, FEATURES_SPECTRAL_MAX}};
    *kind = FEATURES_FILE;
    *width = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(text, words[i].word, length) != 0 || (text[length] != '\0' && text[length] != ':')) {
            continue;
        }
        WEFT_CHECK(words[i].most > 0 || text[length] == '\0', WEFT_ERR_USAGE,
                   FLAG_FEATURES " %s: %s takes no number (a file of that name: ./%s)", text, words[i].word, text);
        WEFT_CHECK(words[i].most == 0 || (text[length] == ':' && number_parse_int(text + length + 1, width) &&
                                          *width >= 1 && *width <= words[i].most),
                   WEFT_ERR_USAGE,
                   FLAG_FEATURES " %s: expected %s:D with D from 1 to %" PRId64 " (a file of that name: ./%s)", text,
                   words[i].word, words[i].most, text);
        *kind = words[i].kind;
    }
    return WEFT_OK;
}

/* ---- degree ---- */

static int64_t in_degree(const features_made *made, int64_t v)
{
    return made->offset[v + 1] - made->offset[v];
}

static int power_of_two(int64_t count)
{
    return 63 - __builtin_clzll((unsigned long long)count + 1);
}

static weft_status prepare_degrees(const weft_graph *graph, features_made *made)
{
    int64_t most = 0;
    for (int64_t v = 0; v < graph->vertices; v++) {
        most = in_degree(made, v) > most ? in_degree(made, v) : most;
    }
    made->width = 3 + power_of_two(most);
    if (graph->symmetric) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&made->out_degree, graph->vertices, WEFT_MEM_WORKSPACE));
    for (int64_t e = 0; e < graph->edges; e++) {
        assert(graph->source32[e] >= 0 && graph->source32[e] < graph->vertices);
        made->out_degree[graph->source32[e]]++;
    }
    return WEFT_OK;
}

static void fill_degree(const features_made *made, int64_t v, float *x)
{
    const int64_t in = in_degree(made, v);
    const int64_t out = made->out_degree != NULL ? made->out_degree[v] : in;
    assert(2 + power_of_two(in) < made->width);
    memset(x, 0, (size_t)made->width * sizeof *x);
    x[0] = (float)log1p((double)in);
    x[1] = (float)log1p((double)out);
    x[2 + power_of_two(in)] = 1.0F;
}

/* ---- onehot, random ---- */

/* Rows of many vertices are held sparse: one number each. */
static weft_status make_identity(const weft_graph *graph, features_made *made)
{
    const int64_t n = graph->vertices;
    if (n <= FEATURES_ONEHOT_VERTICES) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&made->identity_offset, n + 1, WEFT_MEM_FEATURE));
    WEFT_TRY(WEFT_NEW(&made->identity_column, n, WEFT_MEM_FEATURE));
    WEFT_TRY(WEFT_NEW(&made->identity_value, n, WEFT_MEM_FEATURE));
    for (int64_t v = 0; v <= n; v++) {
        made->identity_offset[v] = v;
    }
    for (int64_t v = 0; v < n; v++) {
        made->identity_column[v] = (int32_t)v;
        made->identity_value[v] = 1.0F;
    }
    return WEFT_OK;
}

static void fill_random(const features_made *made, int64_t v, float *x)
{
    const float scale = 1.0F / sqrtf((float)made->width);
    for (int64_t j = 0; j < made->width; j += 2) {
        const philox_block block =
            philox4x32(philox_counter((uint32_t)(j / 2), (uint64_t)v, WEFT_RNG_FEATURES, 0), made->seed);
        x[j] = scale * philox_normal(block.word[0], block.word[1]);
        if (j + 1 < made->width) {
            x[j + 1] = scale * philox_normal(block.word[2], block.word[3]);
        }
    }
}

/* ---- all ---- */

static weft_status prepare(const weft_graph *graph, int64_t memory_bytes, features_made *made)
{
    switch (made->kind) {
    case FEATURES_DEGREE:
        return prepare_degrees(graph, made);
    case FEATURES_ONEHOT:
        made->width = graph->vertices;
        return make_identity(graph, made);
    case FEATURES_SPECTRAL:
        return spectral_features(graph, made->width, made->seed, memory_bytes, &made->matrix);
    case FEATURES_RANDOM:
    case FEATURES_FILE:
        break;
    }
    return WEFT_OK;
}

weft_status features_make(const char *text, const weft_graph *graph, uint64_t seed, int64_t memory_bytes,
                          features_made **made)
{
    features_made *fresh = NULL;
    *made = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&fresh, 1, WEFT_MEM_GENERAL));
    *fresh = (features_made){.vertices = graph->vertices, .seed = seed, .offset = graph->offset};
    weft_status status = features_parse(text, &fresh->kind, &fresh->width);
    status = status == WEFT_OK ? prepare(graph, memory_bytes, fresh) : status;
    if (status != WEFT_OK) {
        features_free(fresh);
        return status;
    }
    log_info("features: %s, %" PRId64 " a vertex", text, fresh->width);
    *made = fresh;
    return WEFT_OK;
}

void features_free(features_made *made)
{
    if (made != NULL) {
        WEFT_FREE_ALL(made->out_degree, made->matrix, made->identity_offset, made->identity_column,
                      made->identity_value, made);
    }
}

int64_t features_width(const features_made *made)
{
    return made->width;
}

void features_place(features_made *made, graph_arrays *arrays)
{
    arrays->features = made->width;
    if (made->identity_offset != NULL) {
        arrays->feature_offset = made->identity_offset;
        arrays->feature_column = made->identity_column;
        arrays->feature_value = made->identity_value;
        return;
    }
    arrays->fill_features = features_fill;
    arrays->fill_self = made;
}

weft_status features_fill(void *self, int64_t row, int64_t rows, float *out)
{
    const features_made *made = self;
    assert(row >= 0 && rows >= 0 && row + rows <= made->vertices);
    if (made->kind == FEATURES_SPECTRAL) {
        memcpy(out, made->matrix + row * made->width, (size_t)(rows * made->width) * sizeof *out);
        return WEFT_OK;
    }
#pragma omp parallel for schedule(static)
    for (int64_t v = row; v < row + rows; v++) {
        float *x = out + (v - row) * made->width;
        if (made->kind == FEATURES_DEGREE) {
            fill_degree(made, v, x);
        } else if (made->kind == FEATURES_RANDOM) {
            fill_random(made, v, x);
        } else {
            memset(x, 0, (size_t)made->width * sizeof *x);
            x[v] = 1.0F;
        }
    }
    return WEFT_OK;
}
