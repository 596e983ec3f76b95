/*
 * dense/engine/dense_lanes.h: evaluation by threads that each answer images of their own.
 *
 * A small network computes a unit of a batch in less time than threads need to meet, and its values pass from the
 * caches of one processor to those of another where units divide their work in different ways. An evaluation therefore
 * cuts a batch into pieces, and each thread, a *lane*, takes the next piece through the whole network:
 *
 *      unit by unit     conv | norm | conv | ...     all threads at each, and all wait behind each
 *      in lanes         lane 0: images 0-15 conv, norm, conv, ...   32-47 conv, ...
 *                       lane 1: images 16-31 conv, norm, ...        48-63 ...          all wait behind the batch
 *
 * Lanes read the parameters of the model that they belong to, and have a backend of one thread and values of a piece
 * each: together no more memory than values of the batch take. Answers do not depend on which lane a piece comes to.
 */
#pragma once

#include "dense/engine/units.h"
#include "train/model.h"

typedef struct dense_config dense_config; /* dense/engine/dense_model.h */
typedef struct dense_model dense_model;
typedef struct dense_lanes dense_lanes;

/* How a batch is cut. */
typedef struct dense_cut {
    int lanes;      /* 0: passes go unit by unit */
    int64_t images; /* of a piece, at most */
} dense_cut;

/*
 * Evaluations on the host by several threads are cut where a piece has more values than the network has weights: each
 * lane packs the weights for itself. Some ranks may cut and others not. hal: NULL where no backend is known, which cuts
 * nothing.
 */
dense_cut dense_cut_of(const weft_hal *hal, const dense_config *config, const unit_list *list);

/* model: with parameters, and without values or prepared units of its own; it must outlive the lanes.
 * [out] lanes: for dense_lanes_destroy, also after a failure. Local. */
weft_status dense_lanes_create(const dense_model *model, dense_cut cut, dense_lanes **lanes);
void dense_lanes_destroy(dense_lanes *lanes); /* NULL is allowed */
/* The lanes' model of a piece, all alike, for what it tells about its convolutions. */
const dense_model *dense_lanes_model(const dense_lanes *lanes);

/* The forward pass of an evaluation. [out] logits: as train_model.forward gives them. Local. */
weft_status dense_lanes_forward(dense_lanes *lanes, const train_pass *pass, weft_tensor *logits);
