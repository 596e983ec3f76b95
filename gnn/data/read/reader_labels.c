/*
 * gnn/data/read/reader_labels.c: classes and binary tasks from numbers; see gnn/data/read/reader_parts.h.
 *
 * What other programs mean by the same numbers is told: -1 and 1 alone, one class, classes without a vertex, 255 as
 * "ignore", ids from 1, one-hot rows, tasks of one label.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_parts.h"

enum { NAMED_CLASSES_MAX = 100000 /* classes that get their labels as names */ };

/* ---- classes ---- */

typedef struct label_facts {
    int64_t least, most, second; /* of those from 0; second: the largest below most; -1 = none */
    int64_t occurring;           /* different ones from 0 */
    int64_t first_empty;         /* the least class below most without a vertex, or -1 */
    int64_t unlabelled;
} label_facts;

static int compare_labels(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Counts different labels. Those up to the number of vertices have a bit each, and the least empty class is among them;
 * larger ones, which are few or a mistake, are sorted. bits [vertices / 64 + 1], zero; large [vertices with larger
 * labels]. */
static void count_different(const raw_graph *raw, uint64_t *bits, int32_t *large, label_facts *f)
{
    int64_t larger = 0;
    for (int64_t v = 0; v < raw->vertices; v++) {
        const int64_t label = raw->label[v];
        f->second = label > f->second && label < f->most ? label : f->second;
        if (label > raw->vertices) {
            large[larger++] = (int32_t)label;
        } else if (label >= 0) {
            const uint64_t bit = UINT64_C(1) << (label % 64);
            f->occurring += (bits[label / 64] & bit) == 0;
            bits[label / 64] |= bit;
        }
    }
    for (int64_t c = 0; c < f->most && f->first_empty < 0; c++) { /* found at the number of vertices at the latest */
        f->first_empty = (bits[c / 64] >> (c % 64) & 1) == 0 ? c : -1;
    }
    if (larger > 0) {
        qsort(large, (size_t)larger, sizeof *large, compare_labels);
    }
    for (int64_t i = 0; i < larger; i++) {
        f->occurring += i == 0 || large[i] != large[i - 1];
    }
}

static weft_status find_facts(const raw_graph *raw, label_facts *f)
{
    *f = (label_facts){.least = INT64_MAX, .most = -1, .second = -1, .first_empty = -1};
    int64_t larger = 0;
    for (int64_t v = 0; v < raw->vertices; v++) {
        const int64_t label = raw->label[v];
        f->unlabelled += label < 0;
        f->least = label >= 0 && label < f->least ? label : f->least;
        f->most = label > f->most ? label : f->most;
        larger += label > raw->vertices;
    }
    uint64_t *bits = NULL;
    int32_t *large = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&bits, raw->vertices / 64 + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&large, larger, WEFT_MEM_WORKSPACE), status, done);
    count_different(raw, bits, large, f);
done:
    WEFT_FREE_ALL(bits, large);
    return status;
}

static void warn_of_empty_classes(const char *name, const label_facts *f, int64_t classes)
{
    const int64_t empty = classes - f->occurring;
    char outlier[160] = "";
    if (f->most - f->second > 1 && f->second >= 0) {
        snprintf(outlier, sizeof outlier,
                 "; is %" PRId64 " \"ignore\"? Then write -1 (unlabelled) for it: no class from %" PRId64 " to %" PRId64
                 " occurs",
                 f->most, f->second + 1, f->most - 1);
    }
    log_warn("%s: %" PRId64 " of %" PRId64 " classes occur, %" PRId64 " %s no vertex (the first: %" PRId64 ")%s. "
             "If the ids are meant so, " FLAG_CLASSES " %" PRId64 " says it",
             name, f->occurring, classes, empty, empty == 1 ? "has" : "have", f->first_empty, outlier, classes);
}

/* --classes: ids stay as they are, and some may have no vertex. */
static weft_status keep_ids(const char *name, const label_facts *f, raw_graph *raw)
{
    int64_t v = 0;
    while (v < raw->vertices - 1 && raw->label[v] < raw->asked_classes) {
        v++;
    }
    WEFT_CHECK(raw->label[v] < raw->asked_classes, WEFT_ERR_DATA,
               "%s: row %" PRId64 ": class %d, but " FLAG_CLASSES " %" PRId64 " allows 0 to %" PRId64
               " (-1 = unlabelled)",
               name, v, raw->label[v], raw->asked_classes, raw->asked_classes - 1);
    raw->classes = raw->asked_classes;
    log_info("%s: %" PRId64 " of %" PRId64 " classes occur", name, f->occurring, raw->classes);
    return WEFT_OK;
}

/* minus: -1 stands in the input. */
static weft_status refuse_signs(const char *name, bool minus, const label_facts *f)
{
    WEFT_CHECK(!minus || f->unlabelled == 0 || f->least != 1 || f->most != 1, WEFT_ERR_DATA,
               "%s: the labels are -1 and 1 alone. Two classes are 0 and 1: save (labels > 0) as integers. If -1 means "
               "unlabelled and 1 is a class, give " FLAG_CLASSES " 2",
               name);
    return WEFT_OK;
}

/* Classes are called by their labels from 1 on, so that a model knows them in a part of the graph that keeps its
 * labels. */
static weft_status name_by_labels(int64_t classes, raw_graph *raw)
{
    enum { NUMBER_BYTES = 8 };
    char *number = NULL;
    const char **texts = NULL;
    if (raw->class_names.text != NULL || classes > NAMED_CLASSES_MAX) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&number, classes * NUMBER_BYTES, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&texts, classes, WEFT_MEM_WORKSPACE) : status;
    for (int64_t c = 0; c < classes && status == WEFT_OK; c++) {
        texts[c] = number + c * NUMBER_BYTES;
        snprintf(number + c * NUMBER_BYTES, NUMBER_BYTES, "%d", (int)(c + 1));
    }
    status = status == WEFT_OK ? name_list_copy(texts, classes, &raw->class_names) : status;
    WEFT_FREE_ALL(texts, number);
    return status;
}

/* Classes 1 to C, of which each occurs, are stored from 0; what the input calls unlabelled stays -1. */
static weft_status count_from_zero(const char *name, int64_t most, raw_graph *raw)
{
    log_info("%s: labels 1 to %" PRId64 " are stored as 0 to %" PRId64 " (" FLAG_CLASSES " %" PRId64
             " keeps them as they are)",
             name, most, most - 1, most + 1);
    for (int64_t v = 0; v < raw->vertices; v++) {
        raw->label[v] -= raw->label[v] >= 0 ? 1 : 0;
    }
    return name_by_labels(most, raw);
}

weft_status reader_judge_labels(const char *name, bool from_one, bool minus, raw_graph *raw)
{
    label_facts f;
    WEFT_TRY(find_facts(raw, &f));
    WEFT_CHECK(f.most >= 0, WEFT_ERR_DATA, "%s: no vertex has a label", name);
    if (raw->asked_classes > 0) {
        return keep_ids(name, &f, raw);
    }
    WEFT_TRY(refuse_signs(name, minus, &f));
    const bool shifts = from_one && f.least == 1 && f.occurring == f.most;
    if (shifts) {
        WEFT_TRY(count_from_zero(name, f.most, raw));
    }
    raw->classes = f.most + 1 - (shifts ? 1 : 0);
    if (f.occurring < raw->classes) {
        warn_of_empty_classes(name, &f, raw->classes);
    }
    if (f.occurring == 1) {
        log_warn("%s: every labelled vertex is of one class (%" PRId64 "): there is nothing to learn", name, f.most);
    }
    return WEFT_OK;
}

static void drop_labels(raw_graph *raw)
{
    WEFT_FREE_ALL(raw->label, raw->target);
    raw->label = NULL;
    raw->target = NULL;
    raw->tasks = 0;
    raw->classes = 0;
    name_list_free(&raw->class_names);
}

static weft_status take_whole(const char *name, const int64_t *values, bool from_one, bool minus, raw_graph *raw)
{
    drop_labels(raw);
    WEFT_TRY(WEFT_NEW(&raw->label, raw->vertices, WEFT_MEM_GRAPH));
    for (int64_t v = 0; v < raw->vertices; v++) {
        WEFT_CHECK(values[v] >= -1 && values[v] < INT32_MAX, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ": %" PRId64 ": classes are 0 to 2147483646 (-1 = unlabelled%s)", name, v,
                   values[v], values[v] == -100 ? ", also where PyTorch has -100: save -1" : "");
        raw->label[v] = (int32_t)values[v];
    }
    return reader_judge_labels(name, from_one, minus, raw);
}

weft_status reader_take_labels(const char *name, const int64_t *values, bool from_one, raw_graph *raw)
{
    return take_whole(name, values, from_one, from_one, raw);
}

static weft_status take_classes(const char *name, const float *values, bool from_one, raw_graph *raw)
{
    int64_t *whole = NULL;
    WEFT_TRY(WEFT_NEW(&whole, raw->vertices, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_OK;
    int64_t nan = 0, minus = 0;
    for (int64_t v = 0; v < raw->vertices && status == WEFT_OK; v++) {
        float value = values[v];
        nan += isnan(value) != 0;
        minus += value == -1.0F;
        if (isnan(value)) {
            whole[v] = -1;
        } else if (fabsf(value) < 0x1p24F && value == nearbyintf(value)) {
            whole[v] = (int64_t)value;
        } else {
            status = weft_fail(WEFT_ERR_DATA,
                               "%s: row %" PRId64 ": %g is not a class (whole numbers: below 16777216 in text and "
                               "floats, up to 2147483646 in integers of a .npy)",
                               name, v, (double)value);
        }
    }
    if (status == WEFT_OK && nan > 0 && minus > 0) {
        log_warn("%s: %" PRId64 " labels are nan and %" PRId64 " are -1: both count as unlabelled", name, nan, minus);
    }
    status = status == WEFT_OK ? take_whole(name, whole, from_one, minus > 0, raw) : status;
    weft_free(whole);
    return status;
}

/* ---- tasks ---- */

/* Returns true if each row has one 1 among zeros, but for rows that are nan throughout. */
static bool is_one_hot(const float *values, int64_t rows, int64_t columns)
{
    int64_t labelled = 0;
    for (int64_t v = 0; v < rows; v++) {
        int64_t ones = 0, unknown = 0;
        for (int64_t c = 0; c < columns; c++) {
            ones += values[v * columns + c] == 1.0F;
            unknown += isnan(values[v * columns + c]) != 0;
        }
        if (unknown != columns && (unknown > 0 || ones != 1)) {
            return false;
        }
        labelled += unknown == 0;
    }
    return labelled > 0;
}

static bool has_both_labels(const float *values, int64_t rows, int64_t columns)
{
    for (int64_t c = 0; c < columns; c++) {
        bool zero = false, one = false;
        for (int64_t v = 0; v < rows && !(zero && one); v++) {
            zero = zero || values[v * columns + c] == 0.0F;
            one = one || values[v * columns + c] == 1.0F;
        }
        if (zero && one) {
            return true;
        }
    }
    return false;
}

/* A task with one column, whose values are any. */
static weft_status take_numbers(const char *name, int64_t columns, float **values, raw_graph *raw)
{
    int64_t labelled = 0, binary = 0;
    WEFT_CHECK(columns == 1 && raw->asked_classes == 0, WEFT_ERR_USAGE,
               FLAG_NUMBER_LABELS " is for one column of numbers: %s has %" PRId64 "%s", name, columns,
               raw->asked_classes > 0 ? ", and " FLAG_CLASSES " says that they are classes" : "");
    for (int64_t v = 0; v < raw->vertices; v++) {
        const float value = (*values)[v];
        WEFT_CHECK(!isinf(value), WEFT_ERR_DATA, "%s: row %" PRId64 ": %g is not finite (nan = unlabelled)", name, v,
                   (double)value);
        labelled += !isnan(value);
        binary += value == 0.0F || value == 1.0F;
    }
    WEFT_CHECK(labelled > binary, WEFT_ERR_DATA, "%s: " FLAG_NUMBER_LABELS ": %s", name,
               labelled == 0 ? "no vertex has a label" : "every label is 0 or 1: leave it out, these are two classes");
    drop_labels(raw);
    raw->target = *values;
    raw->tasks = 1;
    *values = NULL;
    return WEFT_OK;
}

weft_status reader_take_real_labels(const char *name, int64_t columns, float **values, bool from_one, raw_graph *raw)
{
    WEFT_CHECK(columns >= 1, WEFT_ERR_DATA, "%s: no column of labels", name);
    if (raw->numbers) {
        return take_numbers(name, columns, values, raw);
    }
    if (columns == 1) {
        return take_classes(name, *values, from_one, raw);
    }
    WEFT_CHECK(raw->asked_classes == 0, WEFT_ERR_DATA,
               "%s: has %" PRId64 " columns, which are binary tasks; " FLAG_CLASSES
               " is for one column of classes (numpy.argmax(labels, axis=1) of one-hot rows)",
               name, columns);
    for (int64_t i = 0; i < raw->vertices * columns; i++) {
        float value = (*values)[i];
        WEFT_CHECK(isnan(value) || value == 0.0F || value == 1.0F, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ", column %" PRId64 ": %g: tasks are 0 or 1 (nan = unlabelled)", name,
                   i / columns, i % columns, (double)value);
    }
    if (is_one_hot(*values, raw->vertices, columns)) {
        log_warn("%s: every row has exactly one 1: classes? It is taken as %" PRId64
                 " binary tasks, with ROC-AUC for a score; numpy.argmax(labels, axis=1) makes classes of it",
                 name, columns);
    }
    if (!has_both_labels(*values, raw->vertices, columns)) {
        log_warn("%s: no task has both labels, 0 and 1 (nan = unlabelled): there is nothing to learn, and no ROC-AUC",
                 name);
    }
    drop_labels(raw);
    raw->target = *values;
    raw->tasks = columns;
    *values = NULL;
    return WEFT_OK;
}

/* ---- an array ---- */

weft_status reader_take_label_array(const char *name, const npy_array *array, raw_graph *raw)
{
    const npy_header *header = &array->header;
    WEFT_CHECK((header->dims == 1 || header->dims == 2) && header->shape[0] == raw->vertices, WEFT_ERR_DATA,
               "%s: expected [n] or [n, tasks] with n = %" PRId64 " vertices, found %" PRId64 " rows in %d dimensions",
               name, raw->vertices, header->dims > 0 ? header->shape[0] : 1, header->dims);
    WEFT_CHECK(header->kind != 'S' && header->kind != 'U', WEFT_ERR_DATA,
               "%s: holds text; classes in words are read from a .csv (a line for each vertex) and by write_store of "
               "weft.store in Python, or numpy.unique(labels, return_inverse=True)[1] makes numbers of them",
               name);
    int64_t columns = header->dims == 2 ? header->shape[1] : 1;
    if (columns == 1 && header->kind != 'f' && !raw->numbers) {
        int64_t *whole;
        WEFT_TRY(npy_array_to_i64(name, array, &whole));
        weft_status status = reader_take_labels(name, whole, true, raw);
        weft_free(whole);
        return status;
    }
    float *values;
    WEFT_TRY(npy_array_to_f32(name, array, &values));
    weft_status status = reader_take_real_labels(name, columns, &values, true, raw);
    weft_free(values);
    return status;
}

weft_status reader_npz_label_array(const reader_npz *npz, int member, raw_graph *raw)
{
    char label[FILE_PATH_MAX];
    npy_array array = {.data = NULL};
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, npz_name(npz->file, member)));
    WEFT_TRY(npz_read_header(npz->file, member, &array.header));
    WEFT_TRY(reader_check_fits(label, 2 * array.header.data_bytes, npz->memory_bytes));
    WEFT_TRY(npz_read(npz->file, member, &array));
    weft_status status = reader_take_label_array(label, &array, raw);
    npy_array_free(&array);
    return status;
}
