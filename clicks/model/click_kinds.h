/*
 * clicks/model/click_kinds.h: what models of clicks are made of. The logit of a sample is a bias and the sum of what a
 * model's parts make of the sample's fields and numbers.
 *
 *     x = [v_1 .. v_F | numbers]     v_f: the sum of the rows that the bag of field f names, times the weights of its
 *                                    ids, `width` numbers
 *
 *     linear    a weight for each id and number     H. McMahan et al., KDD 2013, doi:10.1145/2487575.2488200
 *     fm        sum over pairs of ids, within a bag too, of w_i w_j <v_i, v_j>
 *                                                   S. Rendle, ICDM 2010, doi:10.1109/ICDM.2010.127
 *     deep      an MLP over x                       H.-T. Cheng et al., DLRS 2016, arXiv 1606.07792
 *     crossed   x_l+1 = x_0 (x_l . w_l) + b_l + x_l, then x_L . w    R. Wang et al., ADKDD 2017, arXiv 1708.05123
 *     matrix    x_l+1 = x_0 * (W_l x_l + b_l) + x_l, then x_L . w    R. Wang et al., WWW 2021, arXiv 2008.13535
 *     cin       compressed interactions: click_cin.h                 J. Lian et al., KDD 2018, arXiv 1803.05170
 *     dots      bottom MLP of the numbers, dot products of pairs, top MLP     M. Naumov et al., arXiv 1906.00091
 *
 *                linear   fm   deep   crossed   matrix   cin   dots
 *     lr            x                                                        no vectors
 *     fm            x      x
 *     wide-deep     x            x
 *     deepfm        x      x     x                                           H. Guo et al., arXiv 1703.04247
 *     dcn                        x       x
 *     dcn-v2                     x                x
 *     dlrm                                                       x
 *     xdeepfm       x            x                         x
 *     parts         x   and those that the user names
 *
 * Numbers take part in linear, deep, crossed, matrix and dots; fm and cin are of fields.
 */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "clicks/click_choices.h"

/* Parts that have parameters of their own, in the order of the forward pass. Backward goes from the last to the first,
 * and the first part that it meets writes the gradient of x, to which the others add: deep, dots or net. */
typedef enum click_part_kind {
    CLICK_PART_CIN,
    CLICK_PART_MATRIX,
    CLICK_PART_CROSSED,
    CLICK_PART_DEEP,
    CLICK_PART_DOTS,
    CLICK_PART_NET, /* layers of the user's own: click_net.h; with no other part */
    CLICK_PART_KINDS
} click_part_kind;

typedef struct click_kind_row {
    bool linear;  /* a table of embeddings with desc.linear */
    bool fm;      /* the second order of factorisation machines */
    bool vectors; /* false: rows have no width */
    bool part[CLICK_PART_KINDS];
} click_kind_row;

/* The parts of a named kind. Of CLICK_PARTS: what it has in any case. */
const click_kind_row *click_kind_of(click_kind kind);

/* "fm,deep,cin": the parts of a model of kind CLICK_PARTS. "" is none. flag: the option's name for messages.
 * WEFT_ERR_USAGE: a word that is no part, or one that is there twice. */
weft_status click_read_parts(const char *flag, const char *text, click_kind_row *row);
