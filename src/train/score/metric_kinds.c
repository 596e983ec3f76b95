/* train/score/metric_kinds.c: see train/score/metric_kinds.h. */
#include "train/score/metric_kinds.h"

#include <string.h>

static const metric_kind kinds[] = {[TRAIN_METRIC_ACCURACY] = {"acc", "accuracy", false, false},
                                    [TRAIN_METRIC_ROCAUC] = {"rocauc", "ROC-AUC", false, false},
                                    [TRAIN_METRIC_RMSE] = {"rmse", "RMSE", true, true},
                                    [TRAIN_METRIC_MAE] = {"mae", "mean absolute error", true, true},
                                    [TRAIN_METRIC_PINBALL] = {"pinball", "pinball loss", true, true},
                                    [TRAIN_METRIC_DEVIANCE] = {"deviance", "Poisson deviance", true, true},
                                    [TRAIN_METRIC_NDCG] = {"ndcg", "NDCG", false, true},
                                    [TRAIN_METRIC_F1] = {"f1", "macro-F1", false, false},
                                    [TRAIN_METRIC_TOP5] = {"top5", "top-5 accuracy", false, false},
                                    [TRAIN_METRIC_R2] = {"r2", "R2", false, true},
                                    [TRAIN_METRIC_MRR] = {"mrr", "mean reciprocal rank", false, false},
                                    [TRAIN_METRIC_HITS] = {"hits", "hits", false, false}};

const metric_kind *metric_kind_of(train_metric metric)
{
    return &kinds[metric];
}

const metric_kind *metric_kind_named(const char *word)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].word, word) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool metric_better(train_metric metric, double a, double b)
{
    return kinds[metric].error ? a < b : a > b;
}
