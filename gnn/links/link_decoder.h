/*
 * gnn/links/link_decoder.h: from the rows of a link's two ends to its logit.
 *
 *     dot    the product of both rows
 *     mlp    both rows multiplied element by element, then linear maps with ReLU and dropout between them, the last to
 *            one number, as OGB's examples have it
 *
 * Both are the same for either order of the ends. Scores of `dot` are made on the host, where the rows of all ranks
 * are; the maps of `mlp` are products of the backend. Memory of mlp: 4 (2 d + 2 sum of the widths) bytes a link.
 */
#pragma once

#include "base/option_words.h"
#include "gnn/layers/layer_plan.h"
#include "gnn/links/link_ends.h"
#include "train/layers/linear.h"

#define LINK_DECODERS(X)                                                                                               \
    X(LINK_DOT, "dot")                                                                                                 \
    X(LINK_MLP, "mlp")
typedef enum link_decoder_kind { LINK_DECODERS(CHOICE_VALUE) } link_decoder_kind;

enum { LINK_MAX_MAPS = 16 };

typedef struct link_decoder_config {
    link_decoder_kind kind;
    int layers;            /* of mlp: linear maps, 1 to LINK_MAX_MAPS */
    int64_t width, hidden; /* of a vertex's row; of hidden layers of mlp */
    float dropout;         /* of hidden layers */
} link_decoder_config;

typedef struct link_decoder {
    link_decoder_config config;
    weft_hal *hal;
    train_linear map[LINK_MAX_MAPS];
    gnn_head head;                                             /* declares the maps' parameters; for gnn_config */
    int64_t capacity;                                          /* links */
    weft_tensor input[LINK_MAX_MAPS], gradient[LINK_MAX_MAPS]; /* [capacity, width] of each map */
    weft_tensor logit;                                         /* [capacity, 1] */
    float *product; /* mlp: [capacity, config.width] of rows, then their gradient */
    float *score;   /* [capacity] */
} link_decoder;

/* Nothing is allocated yet; decoder->head is for the model's configuration, and points to the decoder. */
void link_decoder_begin(const link_decoder_config *config, link_decoder *decoder);
/* Bytes of memory for so many links. */
uint64_t link_decoder_bytes(const link_decoder_config *config, int64_t links);
/* After the parameters were committed. Local, as all of these. */
weft_status link_decoder_create(weft_hal *hal, int64_t links, link_decoder *decoder);
void link_decoder_destroy(link_decoder *decoder);
/* [out] logits: [batch->links, 1], a view. row: [vertices, width] by place. */
weft_status link_decoder_forward(link_decoder *decoder, const train_pass *pass, const link_batch *batch,
                                 const float *row, weft_tensor *logits);
/* dlogits: [batch->links, 1]. Writes the gradients of the maps. [out] coefficient, factor: one of both is there, for
 * link_ends_scatter; the other is NULL. */
weft_status link_decoder_backward(link_decoder *decoder, const train_pass *pass, const link_batch *batch,
                                  const weft_tensor *dlogits, const float **coefficient, const float **factor);
