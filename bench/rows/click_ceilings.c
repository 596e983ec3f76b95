/*
 * bench/rows/click_ceilings.c: how well models of a kind can order rows of synth:clicks, whatever their training.
 *
 *     click_ceilings [synth:clicks,...] [ROWS]
 *
 * The teacher's logit z is known of every row, without the noise of clicks. `lr` is the sum of a number for each id and
 * of multiples of the numbers that is nearest to z in the mean of squares, found in ROWS (1M) rows field by field, in
 * turns (backfitting); `fm` is z with such multiples in the place of tanh, which is what all pairs of fields can
 * express; `all` is z itself. Areas under the ROC curve are of as many other rows. bench/rows/margins compares
 * trained models with them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "clicks/synth/click_teacher.h"
#include "comm/comm.h"
#include "machine/thread_ranges.h"
#include "train/score/area_over_ranks.h"
#include "train/score/score_record.h"

enum { TURNS = 6, AREAS = 3 };

typedef struct additive {
    const click_teacher *teacher;
    int64_t rows;
    int32_t *id;                      /* [fields, rows] */
    float *number, *rest;             /* [numbers, rows]; [rows]: what is not yet explained */
    double *of_id[CLICK_SPEC_FIELDS]; /* [size + 1] */
    double slope[CLICK_SPEC_NUMBERS];
} additive;

static void check(weft_status status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_message());
        exit(1);
    }
}

static void *take(int64_t count, size_t bytes)
{
    void *block = NULL;
    check(weft_calloc((size_t)count, bytes, WEFT_MEM_GENERAL, &block));
    return block;
}

static void draw(additive *a)
{
    const click_spec *spec = &a->teacher->spec;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < a->rows; ++row) {
        click_made_row made;
        click_teacher_row(a->teacher, row, &made);
        for (int64_t f = 0; f < spec->fields; ++f) {
            a->id[f * a->rows + row] = made.id[f];
        }
        for (int64_t j = 0; j < spec->numbers; ++j) {
            a->number[j * a->rows + row] = made.number[j];
        }
        a->rest[row] = made.logit - a->teacher->offset;
    }
}

/* The mean of what is left for each id of field f becomes the id's. */
static void fit_field(additive *a, int64_t f)
{
    const int32_t *id = a->id + f * a->rows;
    double *sum = take(a->teacher->size[f] + 1, sizeof *sum);
    int64_t *count = take(a->teacher->size[f] + 1, sizeof *count);
    for (int64_t row = 0; row < a->rows; ++row) {
        sum[id[row]] += (double)a->rest[row];
        count[id[row]] += 1;
    }
    for (int32_t k = 1; k <= a->teacher->size[f]; ++k) {
        sum[k] = count[k] > 0 ? sum[k] / (double)count[k] : 0.0;
        a->of_id[f][k] += sum[k];
    }
    for (int64_t row = 0; row < a->rows; ++row) {
        a->rest[row] -= (float)sum[id[row]];
    }
    weft_free(sum);
    weft_free(count);
}

static void fit_number(additive *a, int64_t j)
{
    const float *x = a->number + j * a->rows;
    double product = 0.0, square = 0.0;
    for (int64_t row = 0; row < a->rows; ++row) {
        product += (double)x[row] * (double)a->rest[row];
        square += (double)x[row] * (double)x[row];
    }
    a->slope[j] += product / square;
    for (int64_t row = 0; row < a->rows; ++row) {
        a->rest[row] -= (float)(product / square) * x[row];
    }
}

/* [out] score: of a row for each of the areas. */
static void score(const additive *a, const click_made_row *made, double score[AREAS])
{
    const click_spec *spec = &a->teacher->spec;
    double sum = 0.0, straight = (double)made->logit;
    for (int64_t f = 0; f < spec->fields; ++f) {
        sum += a->of_id[f][made->id[f]];
    }
    for (int64_t j = 0; j < spec->numbers; ++j) {
        const double x = (double)made->number[j], of_x = a->slope[j] * x;
        sum += of_x;
        straight += of_x - 0.3 * (double)a->teacher->weight[j] * tanh(x);
    }
    score[0] = sum;
    score[1] = straight;
    score[2] = (double)made->logit;
}

static void measure(const additive *a, double area[AREAS])
{
    weft_comm *comm = NULL;
    uint64_t *record[AREAS];
    check(comm_create_self(&comm));
    for (int k = 0; k < AREAS; ++k) {
        record[k] = take(a->rows, sizeof **record);
    }
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < a->rows; ++row) {
        click_made_row made;
        double of[AREAS];
        click_teacher_row(a->teacher, row + (INT64_C(1) << 40), &made);
        score(a, &made, of);
        for (int k = 0; k < AREAS; ++k) {
            record[k][row] = score_record((float)of[k], made.clicked);
        }
    }
    for (int k = 0; k < AREAS; ++k) {
        double areas[AREA_SPLITS];
        check(area_over_ranks(comm, record[k], a->rows, areas));
        area[k] = areas[0];
        weft_free(record[k]);
    }
    comm_destroy(comm);
}

int main(int argc, char **argv)
{
    static click_teacher teacher;
    click_spec spec;
    double area[AREAS];
    check(click_spec_parse(argc > 1 ? argv[1] : "synth:clicks,ids=1k", &spec));
    check(click_teacher_make(&spec, omp_get_max_threads(), &teacher));
    additive a = {.teacher = &teacher, .rows = argc > 2 ? atoll(argv[2]) : 1000000};
    a.id = take(spec.fields * a.rows, sizeof *a.id);
    a.number = take(spec.numbers * a.rows, sizeof *a.number);
    a.rest = take(a.rows, sizeof *a.rest);
    for (int64_t f = 0; f < spec.fields; ++f) {
        a.of_id[f] = take(teacher.size[f] + 1, sizeof **a.of_id);
    }
    draw(&a);
    for (int turn = 0; turn < TURNS; ++turn) {
        for (int64_t f = 0; f < spec.fields; ++f) {
            fit_field(&a, f);
        }
        for (int64_t j = 0; j < spec.numbers; ++j) {
            fit_number(&a, j);
        }
    }
    measure(&a, area);
    printf("{\"lr\": %.6f, \"fm\": %.6f, \"all\": %.6f}\n", area[0], area[1], area[2]);
    return 0;
}
