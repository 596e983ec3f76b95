/* dense/data/teach/teacher.c: see dense/data/teach/teacher.h. */
#include "dense/data/teach/teacher.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"

enum { DESCRIPTION_MOST = 64 << 20, CLASSES_MOST = 1 << 16 };

static weft_status count_names(const char *path, const json_value *list, int64_t classes)
{
    int64_t count = 0;
    for (const json_value *name = json_first(list, JSON_ARRAY); name != NULL; name = name->next) {
        WEFT_CHECK(name->kind == JSON_TEXT && name_list_admits(name->text) && name->text[0] != '\0', WEFT_ERR_DATA,
                   "%s: class_names: entry %lld is no name", path, (long long)count);
        ++count;
    }
    WEFT_CHECK(count == 0 || count == classes, WEFT_ERR_DATA, "%s: %lld class_names, and probabilities of %lld classes",
               path, (long long)count, (long long)classes);
    return WEFT_OK;
}

static weft_status take_names(const char *path, const json_value *list, teacher *t)
{
    const char **text = NULL;
    int64_t count = 0;
    WEFT_TRY(count_names(path, list, t->classes));
    if (json_first(list, JSON_ARRAY) == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&text, t->classes, WEFT_MEM_WORKSPACE));
    for (const json_value *name = json_first(list, JSON_ARRAY); name != NULL; name = name->next) {
        text[count++] = name->text;
    }
    weft_status status = name_list_copy(text, count, &t->names);
    status = status == WEFT_OK ? name_list_check_distinct(path, &t->names) : status;
    weft_free(text);
    return status;
}

static weft_status read_description(const char *folder, teacher *t)
{
    char path[FILE_PATH_MAX];
    const char *hash;
    json_document *document = NULL;
    const json_value *object;
    WEFT_TRY(file_path(path, "%s/scores.json", folder));
    WEFT_TRY(json_read_object(path, DESCRIPTION_MOST, &document, &object));
    weft_status status = json_get_text(path, object, "data_hash", &hash);
    if (status == WEFT_OK) {
        snprintf(t->hash, sizeof t->hash, "%s", hash);
        status = take_names(path, json_find(object, "class_names"), t);
    }
    json_free(document);
    return status;
}

weft_status teacher_open(const char *folder, teacher *t)
{
    char path[FILE_PATH_MAX];
    static const int64_t any[2] = {-1, -1};
    *t = (teacher){.rows = 0};
    WEFT_TRY(file_path(path, "%s/probabilities.npy", folder));
    WEFT_CHECK(file_exists(path), WEFT_ERR_NOINPUT,
               "%s: has no probabilities.npy: name a folder that weft predict wrote for these images", folder);
    WEFT_TRY(npy_map_open(path, &t->answers));
    WEFT_TRY(npy_expect(path, &t->answers.header, 'f', sizeof(float), 2, any));
    t->rows = t->answers.header.shape[0];
    t->classes = t->answers.header.shape[1];
    WEFT_CHECK(t->rows > 0 && t->classes > 0 && t->classes <= CLASSES_MOST, WEFT_ERR_DATA,
               "%s: %lld rows of %lld classes; from 1 to %d", path, (long long)t->rows, (long long)t->classes,
               CLASSES_MOST);
    return read_description(folder, t);
}

void teacher_close(teacher *t)
{
    npy_map_close(&t->answers);
    name_list_free(&t->names);
    *t = (teacher){.rows = 0};
}

/* A header may have any number of bytes, so numbers behind it stand anywhere. */
static float probability_of(const teacher *t, int64_t row, int64_t class)
{
    float p;
    memcpy(&p, (const char *)t->answers.data + (size_t)(row * t->classes + class) * sizeof p, sizeof p);
    return p;
}

weft_status teacher_class(const teacher *t, int64_t row, int32_t *class)
{
    float most = 0.0F;
    *class = 0;
    for (int64_t c = 0; c < t->classes; ++c) {
        const float p = probability_of(t, row, c);
        WEFT_CHECK(p >= 0.0F && p <= 1.0F, WEFT_ERR_DATA,
                   "probabilities.npy of a teacher, row %lld, class %lld: %g is no probability", (long long)row,
                   (long long)c, (double)p);
        *class = p > most ? (int32_t)c : *class;
        most = p > most ? p : most;
    }
    return most > 0.0F
               ? WEFT_OK
               : weft_fail(WEFT_ERR_DATA, "probabilities.npy of a teacher, row %lld: all are 0", (long long)row);
}

void teacher_shares(const teacher *t, int64_t row, const int32_t *class_of, double temperature, int64_t classes,
                    float *share)
{
    float most = 0.0F;
    double sum = 0.0;
    memset(share, 0, (size_t)classes * sizeof *share);
    for (int64_t c = 0; c < t->classes; ++c) {
        share[class_of[c]] += probability_of(t, row, c);
    }
    for (int64_t c = 0; c < classes; ++c) {
        most = fmaxf(most, share[c]);
    }
    for (int64_t c = 0; c < classes; ++c) {
        share[c] = powf(share[c] / most, (float)(1.0 / temperature)); /* 1 for the likeliest, however cold */
        sum += (double)share[c];
    }
    for (int64_t c = 0; c < classes; ++c) {
        share[c] = (float)((double)share[c] / sum);
    }
}
