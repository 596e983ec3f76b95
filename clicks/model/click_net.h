/*
 * clicks/model/click_net.h: a model of clicks as a list of layers, and the text that describes one.
 *
 *      # DeepFM
 *      wide                                     a weight for each id and number adds to the logit, whatever follows
 *      pairs: fm from=fields                    dot products of all pairs of vectors, added up
 *      mlp 128,64 from=input
 *      linear 1 bias=off
 *      add pairs                                the last layer gives one number: the logit, but for a bias and `wide`
 *
 * One line a layer: [NAME:] KIND WORDS... [KEY=VALUE...]; click_net_kind has the kinds. A layer reads the one above it,
 * the first one `input`, or from=NAME; the data of a sample have names, too:
 *
 *      fields     a vector of `width` numbers for each column of ids: the sum of a bag's rows of embeddings
 *      numbers    the columns of numbers
 *      input      all of it
 *
 * A layer without a name gets its kind and number: mlp1, linear1. Names of layers become names of parameters:
 * mlp1.0.weight. A matrix is a set of vectors where it is made of `fields`, and of layers whose size is a multiple of
 * `width`: fm, dot and cin read such sets. Texts are those of base/text/layer_words.h.
 *
 * Nothing here is collective.
 */
#pragma once

#include "base/text/layer_words.h"
#include "io/name_list.h"

enum {
    CLICK_LAYERS_MOST = 16,     /* of an MLP, of CIN, of crosses */
    CLICK_LAYER_SIZE = 1 << 20, /* most outputs of a layer */
    CLICK_SIZES_BYTES = 12 * CLICK_LAYERS_MOST,
    CLICK_NET_LAYERS = 256,   /* of a text */
    CLICK_NET_TEXT = 1 << 16, /* most bytes of a file */
    CLICK_NET_READS = LAYER_WORDS_MOST
};

/* Sizes of layers, from the first. */
typedef struct click_sizes {
    int layers;
    int64_t size[CLICK_LAYERS_MOST];
} click_sizes;

/* "400,400,400"; "" is no layer. flag: the option's name for messages. WEFT_ERR_USAGE: no list of sizes from 1 to
 * CLICK_LAYER_SIZE, or of more than CLICK_LAYERS_MOST. */
weft_status click_read_sizes(const char *flag, const char *text, click_sizes *sizes);

/* Kinds of layers: value, word, usage. */
#define CLICK_NET_KINDS_OF(X)                                                                                          \
    X(CLICK_NET_FIELDS, "fields", "fields COLUMN...")    /* vectors of these columns of ids */                         \
    X(CLICK_NET_NUMBERS, "numbers", "numbers COLUMN...") /* these columns of numbers */                                \
    X(CLICK_NET_LINEAR, "linear", "linear OUTPUTS [bias=on]")                                                          \
    X(CLICK_NET_MLP, "mlp", "mlp SIZE,SIZE,... [dropout=0]") /* linear, relu and dropout for each size */              \
    X(CLICK_NET_RELU, "relu", "relu")                                                                                  \
    X(CLICK_NET_FM, "fm", "fm")                             /* the sum of what dot gives */                            \
    X(CLICK_NET_DOT, "dot", "dot")                          /* dot products of pairs: (1, 0) (2, 0) (2, 1) ... */      \
    X(CLICK_NET_CROSS, "cross", "cross LAYERS [by=matrix]") /* click_kinds.h: `matrix`, or `crossed` by=vector */      \
    X(CLICK_NET_CIN, "cin", "cin MAPS,MAPS,...")            /* the sums of maps */                                     \
    X(CLICK_NET_CONCAT, "concat", "concat NAME...")         /* columns of what it reads, then of these */              \
    X(CLICK_NET_ADD, "add", "add NAME...")
#define CLICK_NET_VALUE(value, word, usage) value,
typedef enum click_net_kind { CLICK_NET_KINDS_OF(CLICK_NET_VALUE) CLICK_NET_KINDS } click_net_kind;

/* In place of a layer: data of a sample. */
enum { CLICK_NET_INPUT = -1, CLICK_NET_ALL_FIELDS = -2, CLICK_NET_ALL_NUMBERS = -3 };

typedef struct click_layer {
    char name[LAYER_NAME_BYTES];
    click_net_kind kind;
    int line;                  /* of the text */
    int reads;                 /* layers that it reads; 0 of fields and numbers */
    int read[CLICK_NET_READS]; /* [reads] before it in the list, or data */
    name_list column;          /* of fields and numbers */
    int *at;                   /* [column.count] their numbers among the data's; after click_net_fit */
    click_sizes sizes;         /* of mlp and cin; of linear one */
    int crosses;
    bool by_vector; /* of cross */
    bool bias;      /* of linear */
    double dropout;
    int64_t cols; /* numbers of a sample that it gives; after click_net_fit */
    bool vectors; /* they are a set of vectors; after click_net_fit */
} click_layer;

typedef struct click_net {
    char name[LAYER_NAME_BYTES];
    char origin[256]; /* the text in messages */
    bool wide;
    int layers;
    click_layer *layer; /* [layers] */
} click_net;

/* Reads a text. where: its name in messages. [out] net: free with click_net_free, also after a failure. */
weft_status click_net_parse(const char *text, const char *where, click_net *net);
/* Reads the form in one line. path: of the file that it was read from. */
weft_status click_net_parse_line(const char *line, const char *path, click_net *net);
/* [out] line: the form in one line of a file, for weft_free. */
weft_status click_net_read_line(const char *path, char **line);
void click_net_free(click_net *net); /* zeros are fine */

/* What the data have. */
typedef struct click_net_data {
    int width; /* of a vector */
    const name_list *field, *number;
} click_net_data;

/* Gives every layer its size. WEFT_ERR_DATA, with the line: a column that the data have not, vectors that are none, a
 * layer that none reads, a last layer that does not give one number. WEFT_ERR_RESOURCE: no memory. */
weft_status click_net_fit(click_net *net, const click_net_data *data);
