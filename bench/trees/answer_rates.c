/*
 * bench/trees/answer_rates.c: seconds of answers of boosted trees, from columns in memory to numbers in memory.
 *
 *     answer_rates MODEL.json ROWS.npy predict|shap|interactions THREADS REPEATS ANSWERS.npy
 *
 * ROWS.npy: [rows, columns] float32. ANSWERS.npy becomes [rows, ...] float64 of the model's first output: margins, SHAP
 * values with the mean, or their interactions, to be compared before any rate is told. One pass goes before those that
 * are timed. Prints one object of JSON: seconds and processor seconds of each pass. Files are outside the clock; what a
 * call makes of the trees for itself is inside.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "io/npy.h"
#include "trees/forest/forest_json.h"
#include "trees/shap/tree_shap.h"

typedef struct answers {
    weft_forest forest;
    forest_facts facts;
    tree_columns data;
    tree_column *column;
    float *value;  /* [columns, rows] */
    float *margin; /* [rows, outputs]; only of margins */
    double *phi;   /* [rows, outputs, width]; only of SHAP values */
    int64_t width;
    int threads;
    bool pairs;
} answers;

static void check(weft_status status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_message());
        exit(1);
    }
}

static void read_model(const char *path, answers *a)
{
    file_map map;
    check(file_map_open(path, &map));
    check(forest_read(path, (const char *)map.data, map.size, &a->forest, &a->facts));
    file_map_close(&map);
}

static void read_rows(const char *path, answers *a)
{
    npy_map npy;
    const int64_t columns = a->forest.columns, shape[] = {-1, columns};
    check(npy_map_open(path, &npy));
    check(npy_expect(path, &npy.header, 'f', sizeof(float), 2, shape));
    const int64_t rows = npy.header.shape[0];
    const float *from = npy.data;
    check(WEFT_NEW(&a->value, rows * columns, WEFT_MEM_TREES));
    check(WEFT_NEW(&a->column, columns, WEFT_MEM_TREES));
    for (int64_t c = 0; c < columns; ++c) {
        a->column[c] = (tree_column){.kind = TABLE_REAL, .data = a->value + c * rows};
        for (int64_t i = 0; i < rows; ++i) {
            a->value[c * rows + i] = from[i * columns + c];
        }
    }
    a->data = (tree_columns){.rows = rows, .columns = (int)columns, .column = a->column};
    npy_map_close(&npy);
}

static weft_status answer(const answers *a)
{
    if (a->phi == NULL) {
        return forest_margins(&a->forest, &a->data, 0, a->forest.trees, a->threads, a->margin);
    }
    return (a->pairs ? tree_shap_pairs : tree_shap)(&a->forest, &a->data, 0, a->data.rows, a->threads, a->phi);
}

static void write_answers(const char *path, const answers *a)
{
    const int64_t rows = a->data.rows, width = a->width, shape[] = {rows, width};
    double *out = NULL;
    check(WEFT_NEW(&out, rows * width, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < width; ++k) {
            out[i * width + k] =
                a->phi == NULL ? (double)a->margin[i * a->forest.outputs] : a->phi[i * a->forest.outputs * width + k];
        }
    }
    check(npy_write(path, 'f', sizeof *out, 2, shape, out));
    weft_free(out);
}

/* Memory of the answers, once for all passes. */
static void make_room(const char *what, answers *a)
{
    const int64_t side = a->forest.columns + 1, numbers = a->data.rows * a->forest.outputs;
    a->pairs = strcmp(what, "interactions") == 0;
    a->width = strcmp(what, "predict") == 0 ? 1 : a->pairs ? side * side : side;
    if (strcmp(what, "predict") == 0) {
        check(WEFT_NEW(&a->margin, numbers, WEFT_MEM_TREES));
    } else {
        check(WEFT_NEW(&a->phi, numbers * a->width, WEFT_MEM_TREES));
    }
}

int main(int count, char **word)
{
    answers a = {0};
    if (count != 7) {
        fprintf(stderr, "answer_rates MODEL.json ROWS.npy predict|shap|interactions THREADS REPEATS ANSWERS.npy\n");
        return 2;
    }
    const int repeats = atoi(word[5]);
    a.threads = atoi(word[4]);
    read_model(word[1], &a);
    read_rows(word[2], &a);
    make_room(word[3], &a);
    check(answer(&a));
    printf("{\"rows\": %lld, \"passes\": [", (long long)a.data.rows);
    for (int r = 0; r < repeats; ++r) {
        const double begin = clock_seconds(), processor = clock_cpu_seconds();
        check(answer(&a));
        printf("%s[%.6f, %.6f]", r > 0 ? ", " : "", clock_seconds() - begin, clock_cpu_seconds() - processor);
    }
    printf("]}\n");
    write_answers(word[6], &a);
    forest_destroy(&a.forest);
    forest_facts_free(&a.facts);
    WEFT_FREE_ALL(a.column, a.value, a.margin, a.phi);
    return 0;
}
