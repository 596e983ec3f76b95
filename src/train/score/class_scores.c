/* train/score/class_scores.c: see train/score/class_scores.h. */
#include "train/score/class_scores.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "train/train_options.def"

enum { TOP = 5, PARTS = 3 /* of a class: hits, answers, labels */ };

static int64_t numbers_of_split(const class_scores *s)
{
    return s->metric == TRAIN_METRIC_F1 ? PARTS * s->classes : 2;
}

weft_status class_scores_create(train_metric metric, int64_t classes, class_scores *s)
{
    *s = (class_scores){.metric = metric, .classes = classes};
    WEFT_CHECK(metric != TRAIN_METRIC_TOP5 || classes > TOP, WEFT_ERR_USAGE,
               FLAG_METRIC " top5: of %lld classes every answer is among the first %d: use " FLAG_METRIC " acc",
               (long long)classes, TOP);
    return WEFT_NEW_ZERO(&s->count, TRAIN_SPLITS * numbers_of_split(s), WEFT_MEM_WORKSPACE);
}

void class_scores_destroy(class_scores *s)
{
    weft_free(s->count);
    s->count = NULL;
}

void class_scores_begin(class_scores *s)
{
    memset(s->count, 0, (size_t)(TRAIN_SPLITS * numbers_of_split(s)) * sizeof *s->count);
}

static double logit_at(weft_dtype dtype, const void *logits, int64_t i)
{
    return dtype == WEFT_DTYPE_F64 ? ((const double *)logits)[i] : (double)((const float *)logits)[i];
}

/* How many classes are above class `c` in the row that begins at logit `row`. */
static int64_t place_of(const class_scores *s, weft_dtype dtype, const void *logits, int64_t row, int64_t c)
{
    const double own = logit_at(dtype, logits, row + c);
    int64_t above = 0;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double other = logit_at(dtype, logits, row + j);
        above += other > own || (other == own && j < c);
    }
    return above;
}

static int64_t largest_of(const class_scores *s, weft_dtype dtype, const void *logits, int64_t row)
{
    int64_t best = 0;
    for (int64_t j = 1; j < s->classes; ++j) {
        best = logit_at(dtype, logits, row + j) > logit_at(dtype, logits, row + best) ? j : best;
    }
    return best;
}

void class_scores_add(class_scores *s, weft_dtype dtype, const void *logits, const train_targets *t)
{
    for (int64_t i = 0; i < t->rows; ++i) {
        const int32_t label = t->label_host[i];
        if (label < 0 || t->split_host[i] >= TRAIN_SPLITS) {
            continue;
        }
        int64_t *count = s->count + t->split_host[i] * numbers_of_split(s);
        if (s->metric == TRAIN_METRIC_TOP5) {
            count[0] += place_of(s, dtype, logits, i * s->classes, label) < TOP;
            count[1] += 1;
            continue;
        }
        const int64_t answer = largest_of(s, dtype, logits, i * s->classes);
        count[PARTS * label] += answer == label;
        count[PARTS * answer + 1] += 1;
        count[PARTS * label + 2] += 1;
    }
}

static double macro_f1(const int64_t *count, int64_t classes)
{
    double sum = 0.0;
    int64_t occur = 0;
    for (int64_t c = 0; c < classes; ++c) {
        const int64_t *of = count + PARTS * c;
        const int64_t both = of[1] + of[2];
        occur += both > 0;
        sum += both > 0 ? 2.0 * (double)of[0] / (double)both : 0.0;
    }
    return occur > 0 ? sum / (double)occur : NAN;
}

weft_status class_scores_end(class_scores *s, weft_comm *comm, double *score)
{
    const int64_t numbers = numbers_of_split(s);
    WEFT_TRY(comm_allreduce(comm, s->count, TRAIN_SPLITS * numbers, WEFT_DTYPE_I64, COMM_SUM));
    for (int split = 0; split < TRAIN_SPLITS; ++split) {
        const int64_t *count = s->count + split * numbers;
        score[split] = s->metric == TRAIN_METRIC_F1 ? macro_f1(count, s->classes)
                       : count[1] > 0               ? (double)count[0] / (double)count[1]
                                                    : NAN;
    }
    return WEFT_OK;
}
