/*
 * dense/data/teach/teacher.h: what another network answered for images, read from a folder of weft predict:
 *
 *      probabilities.npy   float32 [rows, classes], in the order of an evaluation
 *      scores.json         data_hash: of the images; class_names: of the network, where it has any
 *
 * Its likeliest class, or all probabilities, stand in for labels: a cheap network that learns them agrees with the
 * expensive one sooner than one that learns what people said (G. Hinton, O. Vinyals, J. Dean: Distilling the knowledge
 * in a neural network, 2015, arXiv 1503.02531).
 */
#pragma once

#include "io/name_list.h"
#include "io/npy.h"

typedef struct teacher {
    npy_map answers;
    int64_t rows, classes;
    name_list names; /* [classes], or none */
    char hash[33];   /* of the images that it answered for */
} teacher;

/* [out] t: for teacher_close, also after a failure. WEFT_ERR_NOINPUT: the folder or a file is missing. WEFT_ERR_DATA:
 * malformed, or not of classes. Local. */
weft_status teacher_open(const char *folder, teacher *t);
void teacher_close(teacher *t);

/* [out] class: the likeliest of a row, the first of equal ones. WEFT_ERR_DATA: a number that is no probability, with
 * its row; called for every row, so that others need not look. */
weft_status teacher_class(const teacher *t, int64_t row, int32_t *class);
/* [out] share: [classes] of a row at a temperature above 0: its probabilities, added up by class_of [t->classes], from
 * 0 to classes - 1, become p^(1/temperature) over their sum, which is softmax(logits / temperature) where no two are
 * added. Any thread. */
void teacher_shares(const teacher *t, int64_t row, const int32_t *class_of, double temperature, int64_t classes,
                    float *share);
