/*
 * support/click_shadow.h: the logit of a sample by the formulas of clicks/model/click_kinds.h, in double and one number
 * at a time: pairs of fields by a double loop, pairs of ids by sums, crosses with vectors, maps of CIN by their sums.
 * Compared with what models compute, and differences of it with their gradients.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clicks/model/click_part.h"

enum { SHADOW_MOST = 512 /* numbers of any vector */ };

typedef struct click_shadow {
    const click_model_desc *desc;
    const param_store *store;
    const double *value;  /* [store->elements] */
    const double *pooled; /* [fields, width + linear] of the sample */
    double squares;       /* sum over the sample's ids of weight^2 |v|^2, of models with bags */
    const float *number;  /* [numbers] */
} click_shadow;

/* The values of a parameter; they have no gaps. */
static const double *shadow_of(const click_shadow *s, const char *name, int layer, const char *what)
{
    char full[PARAM_NAME_BYTES];
    snprintf(full, sizeof full, layer < 0 ? "%s%.0d%s" : "%s.%d.%s", name, layer < 0 ? 0 : layer, what);
    for (int e = 0; e < s->store->entries; ++e) {
        if (strcmp(s->store->entry[e].name, full) == 0) {
            return s->value + s->store->entry[e].offset;
        }
    }
    fprintf(stderr, "no parameter %s\n", full);
    abort();
}

static double shadow_dot(const double *a, const double *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* x becomes the last layer of an MLP over it. Returns its size. */
static int64_t shadow_mlp(const click_shadow *s, const char *name, const click_sizes *sizes, double *x, int64_t in)
{
    for (int l = 0; l < sizes->layers; ++l) {
        const double *w = shadow_of(s, name, l, "weight"), *b = shadow_of(s, name, l, "bias");
        double y[SHADOW_MOST];
        for (int64_t o = 0; o < sizes->size[l]; ++o) {
            y[o] = shadow_dot(w + o * in, x, in) + b[o];
            y[o] = y[o] > 0.0 ? y[o] : 0.0;
        }
        in = sizes->size[l];
        memcpy(x, y, (size_t)in * sizeof *x);
    }
    return in;
}

static double shadow_deep(const click_shadow *s, const double *x, int64_t inputs)
{
    double h[SHADOW_MOST];
    memcpy(h, x, (size_t)inputs * sizeof *h);
    const int64_t out = shadow_mlp(s, "deep", &s->desc->mlp, h, inputs);
    return shadow_dot(h, shadow_of(s, "deep", -1, ".out.weight"), out);
}

/* [out] x: the last of crosses with x0. */
static void shadow_crossed(const click_shadow *s, const char *name, int layers, const double *x0, int64_t inputs,
                           bool matrix, double *x)
{
    double p[SHADOW_MOST];
    memcpy(x, x0, (size_t)inputs * sizeof *x);
    for (int l = 0; l < layers; ++l) {
        const double *w = shadow_of(s, name, l, "weight"), *b = shadow_of(s, name, l, "bias");
        for (int64_t j = 0; j < inputs; ++j) {
            p[j] = matrix ? x0[j] * (shadow_dot(w + j * inputs, x, inputs) + b[j])
                          : x0[j] * shadow_dot(w, x, inputs) + b[j];
        }
        for (int64_t j = 0; j < inputs; ++j) {
            x[j] += p[j];
        }
    }
}

static double shadow_crosses(const click_shadow *s, const double *x0, int64_t inputs, bool matrix)
{
    const char *name = matrix ? "matrix" : "cross";
    double x[SHADOW_MOST];
    shadow_crossed(s, name, s->desc->crosses, x0, inputs, matrix, x);
    return shadow_dot(x, shadow_of(s, name, -1, ".out.weight"), inputs);
}

/* [out] sums: over d, of the maps of all layers. Returns their number. */
static int64_t shadow_maps(const click_shadow *s, const char *name, const click_sizes *sizes, int64_t fields,
                           const double *v, double *sums)
{
    const int width = s->desc->width;
    double before[SHADOW_MOST], maps[SHADOW_MOST];
    int64_t count = fields, all = 0;
    memcpy(before, v, (size_t)(fields * width) * sizeof *before);
    for (int k = 0; k < sizes->layers; ++k) {
        const double *w = shadow_of(s, name, k, "weight");
        for (int64_t h = 0; h < sizes->size[k]; ++h, ++all) {
            sums[all] = 0.0;
            for (int d = 0; d < width; ++d) {
                double sum = 0.0;
                for (int64_t i = 0; i < count; ++i) {
                    for (int64_t j = 0; j < fields; ++j) {
                        sum += w[(h * count + i) * fields + j] * before[i * width + d] * v[j * width + d];
                    }
                }
                maps[h * width + d] = sum;
                sums[all] += sum;
            }
        }
        count = sizes->size[k];
        memcpy(before, maps, (size_t)(count * width) * sizeof *before);
    }
    return all;
}

static double shadow_cin(const click_shadow *s, const double *v)
{
    double sums[SHADOW_MOST];
    const int64_t all = shadow_maps(s, "cin", &s->desc->cin, s->desc->fields, v, sums);
    return shadow_dot(sums, shadow_of(s, "cin", -1, ".out.weight"), all);
}

static double shadow_dots(const click_shadow *s, const double *v)
{
    const int fields = s->desc->fields, width = s->desc->width;
    double all[SHADOW_MOST], y[SHADOW_MOST];
    int64_t vectors = fields, count = 0;
    memcpy(all, v, (size_t)(fields * width) * sizeof *all);
    if (s->desc->numbers > 0) {
        for (int64_t j = 0; j < s->desc->numbers; ++j) {
            all[j] = (double)s->number[j];
        }
        count = shadow_mlp(s, "bottom", &s->desc->bottom, all, s->desc->numbers);
        memcpy(y, all, (size_t)count * sizeof *y);
        memcpy(all + width, v, (size_t)(fields * width) * sizeof *all);
        vectors += 1;
    }
    for (int64_t i = 1; i < vectors; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            y[count++] = shadow_dot(all + i * width, all + j * width, width);
        }
    }
    count = shadow_mlp(s, "top", &s->desc->mlp, y, count);
    return shadow_dot(y, shadow_of(s, "top", -1, ".out.weight"), count);
}

/* ---- layers of the user's own ------------------------------------------------------------------------------------ */

/* A layer that reads v[n]. [out] y. Returns the size of y. */
static int64_t shadow_layer(const click_shadow *s, const click_layer *layer, const double *v, int64_t n, double *y)
{
    const int64_t width = s->desc->width, vectors = n / width;
    int64_t count = 0;
    memcpy(y, v, (size_t)n * sizeof *y);
    switch (layer->kind) {
    case CLICK_NET_LINEAR:
        for (; count < layer->cols; ++count) {
            y[count] = shadow_dot(shadow_of(s, layer->name, -1, ".weight") + count * n, v, n) +
                       (layer->bias ? shadow_of(s, layer->name, -1, ".bias")[count] : 0.0);
        }
        return count;
    case CLICK_NET_MLP:
        return shadow_mlp(s, layer->name, &layer->sizes, y, n);
    case CLICK_NET_RELU:
        for (; count < n; ++count) {
            y[count] = y[count] > 0.0 ? y[count] : 0.0;
        }
        return n;
    case CLICK_NET_CROSS:
        shadow_crossed(s, layer->name, layer->crosses, v, n, !layer->by_vector, y);
        return n;
    case CLICK_NET_CIN:
        return shadow_maps(s, layer->name, &layer->sizes, vectors, v, y);
    default: /* dot and fm */
        for (int64_t i = 1; i < vectors; ++i) {
            for (int64_t j = 0; j < i; ++j) {
                y[count++] = shadow_dot(v + i * width, v + j * width, width);
            }
        }
        for (int64_t i = 1; i < count && layer->kind == CLICK_NET_FM; ++i) {
            y[0] += y[i];
        }
        return layer->kind == CLICK_NET_FM ? 1 : count;
    }
}

enum { SHADOW_LAYERS = 24 };

/* What a layer, or data, gives: a place in x or y, and its size. */
static const double *shadow_read(const click_shadow *s, const double *x, double (*y)[SHADOW_MOST], int index,
                                 int64_t *n)
{
    const int64_t fields = s->desc->fields * (int64_t)s->desc->width, numbers = s->desc->numbers;
    if (index >= 0) {
        *n = s->desc->net->layer[index].cols;
        return y[index];
    }
    *n = index == CLICK_NET_INPUT ? fields + numbers : index == CLICK_NET_ALL_FIELDS ? fields : numbers;
    return index == CLICK_NET_ALL_NUMBERS ? x + fields : x;
}

/* The last layer's number. x: vectors and numbers. */
static double shadow_net(const click_shadow *s, const double *x)
{
    const click_net *net = s->desc->net;
    const int64_t fields = s->desc->fields * (int64_t)s->desc->width;
    double y[SHADOW_LAYERS][SHADOW_MOST];
    for (int i = 0; i < net->layers; ++i) {
        const click_layer *layer = &net->layer[i];
        const bool ids = layer->kind == CLICK_NET_FIELDS;
        const int64_t size = ids ? s->desc->width : 1;
        int64_t n = 0, given = 0;
        for (int64_t c = 0; c < layer->column.count; ++c) {
            memcpy(y[i] + c * size, x + (ids ? 0 : fields) + layer->at[c] * size, (size_t)size * sizeof **y);
        }
        for (int r = 0; r < layer->reads; ++r) {
            const double *v = shadow_read(s, x, y, layer->read[r], &n);
            if (layer->kind != CLICK_NET_CONCAT && layer->kind != CLICK_NET_ADD) {
                given = shadow_layer(s, layer, v, n, y[i]);
            }
            for (int64_t j = 0; j < n && layer->kind == CLICK_NET_ADD; ++j) {
                y[i][j] = (r > 0 ? y[i][j] : 0.0) + v[j];
            }
            for (int64_t j = 0; j < n && layer->kind == CLICK_NET_CONCAT; ++j) {
                y[i][given++] = v[j];
            }
        }
    }
    return y[net->layers - 1][0];
}

static double shadow_logit(const click_shadow *s)
{
    const click_model_desc *desc = s->desc;
    const click_kind_row *kind = click_row_of(desc);
    const int64_t width = desc->width, stride = width + (kind->linear ? 1 : 0), vectors = desc->fields * width;
    double logit = *shadow_of(s, "bias", -1, ""), x[SHADOW_MOST];
    for (int f = 0; f < desc->fields; ++f) {
        memcpy(x + f * width, s->pooled + f * stride, (size_t)width * sizeof *x);
        logit += kind->linear ? s->pooled[f * stride + width] : 0.0;
    }
    for (int64_t j = 0; j < desc->numbers; ++j) {
        x[vectors + j] = (double)s->number[j];
        logit += kind->linear ? x[vectors + j] * shadow_of(s, "linear", -1, ".numbers")[j] : 0.0;
    }
    for (int f = 0; f < desc->fields && kind->fm; ++f) {
        for (int g = 0; g < (desc->bags ? desc->fields : f); ++g) {
            logit += (desc->bags ? 0.5 : 1.0) * shadow_dot(x + f * width, x + g * width, width);
        }
    }
    logit -= kind->fm && desc->bags ? 0.5 * s->squares : 0.0;
    logit += kind->part[CLICK_PART_DEEP] ? shadow_deep(s, x, vectors + desc->numbers) : 0.0;
    logit += kind->part[CLICK_PART_CROSSED] ? shadow_crosses(s, x, vectors + desc->numbers, false) : 0.0;
    logit += kind->part[CLICK_PART_MATRIX] ? shadow_crosses(s, x, vectors + desc->numbers, true) : 0.0;
    logit += kind->part[CLICK_PART_CIN] ? shadow_cin(s, x) : 0.0;
    logit += kind->part[CLICK_PART_NET] ? shadow_net(s, x) : 0.0;
    logit += kind->part[CLICK_PART_DOTS] ? shadow_dots(s, x) : 0.0;
    return logit;
}
