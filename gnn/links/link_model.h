/*
 * gnn/links/link_model.h: prediction of links as a train_model: an encoder that gives each vertex a row, rows of both
 * ends of a link, a decoder.
 *
 *     encoder ---> rows of this rank's vertices ---> gather ---> decoder ---> a logit for each link of this rank
 *     encoder <--- their complete gradients    <--- scatter <--- decoder <--- its gradient
 *
 * A training step has all training links, or a batch of them, each with K negatives that are drawn anew in each epoch
 * (gnn/links/link_training.h). The encoder computes the rows of all vertices in every step. The loss is binary
 * cross-entropy over links (1) and negatives (0), or, pairwise, the mean of -log sigmoid(logit of the link - logit of a
 * negative) over all such pairs: to the loop these differences are answers whose targets are 1 (S. Rendle et al.: BPR:
 * Bayesian personalized ranking from implicit feedback. UAI 2009, arXiv 1205.2618).
 *
 * P ranks compute what one computes, up to rounding: links, negatives and masks are functions of the edge.
 */
#pragma once

#include "gnn/links/link_decoder.h"
#include "gnn/links/link_training.h"

typedef struct link_model_config {
    link_training_config training;
    int hits_at;   /* of TRAIN_METRIC_HITS */
    bool labelled; /* what is judged has targets */
} link_model_config;

/* Links of an evaluation, and what they ought to be. */
typedef struct link_step {
    link_batch batch;
    int32_t *a, *b; /* [batch.links] places */
    weft_tensor id; /* [batch.links, 1] on the backend */
    train_labels labels;
} link_step;

typedef struct link_model {
    weft_comm *comm;
    weft_hal *hal;
    const train_model *encoder;
    const link_set *set;
    link_decoder *decoder;
    link_model_config config;
    link_ends ends;
    link_training training;
    link_step judged;
    weft_tensor rows;       /* the encoder's, of the last forward pass */
    weft_tensor difference; /* pairwise: [pairs of a training step, 1] */
    float *host;            /* pairwise: [links and negatives of a training step] */
    train_model interface;
    train_source source;
} link_model;

/* encoder: with the parameters of decoder->head. gid: [owned] vertices of its rows. set, decoder and encoder live as
 * long as the model. Free with link_model_destroy, also after a failure; it leaves these three. Collective. */
weft_status link_model_create(weft_comm *comm, weft_hal *hal, const train_model *encoder, const int64_t *gid,
                              int64_t owned, const link_set *set, link_decoder *decoder,
                              const link_model_config *config, link_model *model);
void link_model_destroy(link_model *model);
