/*
 * embed/embed.h: rows of embeddings for 64-bit keys, and the sums of rows that the bags of a batch name.
 *
 *     table     key -> row of `width` numbers, and one more where `linear`: the weight of a linear model
 *     bag       the keys of one field of one sample: none, one, or several
 *     weight    of a key in a bag: its row counts so often, 1 where nothing is said
 *     pooled    [samples, fields * stride]: of each bag the sum of weight * row; stride = width + linear. With
 *               `squares` one more column: the sum of weight^2 |v|^2 over all keys of the sample, where v is the first
 *               `width` numbers of a row
 *
 *     WEFT_TRY(embed_open(comm, &desc, most, &table));
 *     for (...) {
 *         WEFT_TRY(embed_forward(table, &bags, true, pooled, fields * stride));    rows are made where keys are new
 *         ...dpooled: the gradient of the loss of the batch of all ranks...
 *         WEFT_TRY(embed_backward(table, dpooled, fields * stride, rate));         updates the rows of these bags
 *     }
 *
 * One table serves all fields: a key holds its field (embed/embed_key.h). What a new row holds, whether a key is
 * admitted and which rank owns it are functions of (key, seed) and of how often the key was seen before the batch, so
 * results depend neither on the number of ranks and threads nor on the order of arrival. A gradient of a row is the sum
 * over the samples of the batch of all ranks, in their order; each row of the batch is updated once.
 *
 * Each rank brings its own samples: together the ranks' samples, in the order of ranks, are the batch. Buffers are host
 * memory of the caller.
 *
 * A mode says which rank holds a row and what travels. All give the same values and updates, up to rounding of sums:
 *
 *     all-to-all   a rank owns a key, by its hash; distinct keys go to their owners, rows come back, gradients follow
 *     replicate    each rank holds all rows; distinct keys and gradients of the batch go to all ranks
 *     des          owners as in all-to-all; they sum the rows of their keys for all samples, and those sums travel: for
 *                  models that read sums of a sample (embed_sums), or for few fields of many keys each
 *     columns      each rank holds some columns of all rows and sums them for all samples; keys go to all ranks, sums
 *                  come back: for wide rows and fields of many keys. Not by row-adagrad, which needs whole rows
 *
 * Each field may have a mode of its own: rows of few ids on each rank, fields of many keys by their sums, others by
 * their keys. A group of fields in one mode is a table of its own in this room, with its own messages.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"
#include "comm/comm.h"

typedef struct embed_table embed_table;

/* Numbers of a row in memory. bf16: 16 bits for forward passes, and the 16 bits behind them for updates (split SGD). */
#define EMBED_NUMBERS(X)                                                                                               \
    X(EMBED_F32, "f32")                                                                                                \
    X(EMBED_BF16, "bf16")
typedef enum embed_number { EMBED_NUMBERS(CHOICE_VALUE) } embed_number;

/* How a row is updated. */
#define EMBED_RULES(X)                                                                                                 \
    X(EMBED_SGD, "sgd")                                                                                                \
    X(EMBED_ROW_ADAGRAD, "row-adagrad") /* one sum of squares a row */                                                 \
    X(EMBED_ADAGRAD, "adagrad")                                                                                        \
    X(EMBED_FTRL, "ftrl")                                                                                              \
    X(EMBED_LAZY_ADAM, "lazy-adam") /* moments and their correction count the updates of the row */
typedef enum embed_rule { EMBED_RULES(CHOICE_VALUE) } embed_rule;

/* Where rows are and what travels; 0 is the usual one. auto: a choice of users, for embed/plan to settle; tables have
 * another mode. Also the modes of fields. */
#define EMBED_MODES(X)                                                                                                 \
    X(EMBED_ALL_TO_ALL, "all-to-all")                                                                                  \
    X(EMBED_REPLICATE, "replicate")                                                                                    \
    X(EMBED_DES, "des")                                                                                                \
    X(EMBED_COLUMNS, "columns")
#define EMBED_MODE_CHOICES(X)                                                                                          \
    EMBED_MODES(X)                                                                                                     \
    X(EMBED_MODE_AUTO, "auto")
typedef enum embed_mode { EMBED_MODE_CHOICES(CHOICE_VALUE) } embed_mode;
enum { EMBED_MODES_COUNT = EMBED_MODE_AUTO };

typedef struct embed_desc {
    int fields;
    int width;     /* numbers of a row that are summed, 0 where only `linear` is kept */
    bool linear;   /* one more number a row, which begins as 0 */
    bool squares;  /* embed_forward gives the sum of squares of a sample, too */
    bool weighted; /* bags may have weights */
    embed_number number;
    embed_rule rule;
    double epsilon;      /* of Adagrad and Adam; 0: that of the rule */
    double beta1, beta2; /* of lazy Adam; 0: 0.9 and 0.999; of FTRL beta1 is its beta */
    double l1, l2;       /* of FTRL */
    double spread;       /* new rows are uniform in [-spread, spread] */
    uint64_t seed;
    int64_t admit_after;  /* a key gets a row once it was seen so often before; 0: when it is first seen */
    double admit_chance;  /* behind admit_after a sighting gives a row with this probability; 0: the first does */
    int64_t expire_after; /* rows that were not seen for so many batches leave within as many more; 0: never */
    double expire_norm;   /* rows with a smaller norm leave with the old ones; not by columns. 0: none does */
    int64_t memory_most;  /* bytes of this rank for rows and index, of each group of fields; 0: no limit */
    embed_mode mode;
    const uint8_t *mode_of; /* [fields] the embed_mode of each field, not kept; NULL: all fields have `mode` */
    bool ahead;             /* embed_ahead will be called; modes all-to-all and replicate take memory for it */
    bool nodes; /* mode all-to-all gathers keys in each node first (embed_gathers_in_nodes); not with ahead */
} embed_desc;

/* Returns false if rows of this table cannot be split by columns among so many ranks: a number of columns is needed for
 * each, and nothing may be asked of a whole row (row-adagrad, expire_norm). */
bool embed_splits_columns(const embed_desc *desc, int ranks);

/* Returns true if there are several nodes of several ranks, and of equally many: embed_desc.nodes has an effect. */
bool embed_gathers_in_nodes(const weft_comm *comm);

/* The keys of a batch's bags: bag (sample s, field f) is key[at[s * fields + f]] up to key[at[s * fields + f + 1]]. */
typedef struct embed_bags {
    int64_t samples;
    int fields;
    const int64_t *at;   /* [samples * fields + 1], rising from 0 */
    const uint64_t *key; /* [at[samples * fields]] */
    const float *weight; /* of each key; NULL: 1. Only of a table that is `weighted` */
    uint64_t batch;      /* a name of the batch, the same on all ranks and of no other batch of the table; 0: none */
} embed_bags;

/* Numbers of a sample that embed_sums_forward makes, in this order; each is a sum over the keys of all its bags, of
 * weight times what stands here, of squares weight^2. */
typedef struct embed_sums {
    bool rows;           /* rows: `stride` numbers */
    bool squares;        /* the sum of squares of a row's `width` numbers: 1 number */
    int products;        /* row . weight of the key's field: so many numbers */
    const float *weight; /* [fields * stride, products], the same on all ranks */
} embed_sums;

/* What a table has done so far, over all ranks. */
typedef struct embed_figures {
    int64_t rows, waiting;           /* keys with a row, and keys that are counted and have none yet */
    int64_t made, refused, expired;  /* rows made, sightings of keys that found no room, rows that left */
    int64_t bytes;                   /* of rows and index, of the rank that has most */
    int64_t sent[EMBED_MODES_COUNT]; /* bytes that ranks sent for the fields in each mode */
    int64_t between;                 /* bytes of `sent` between nodes, where keys are gathered in nodes */
    int64_t reread;                  /* rows that were sent ahead, and again because a batch had changed them */
} embed_figures;

/*
 * most: keys that this rank's bags of a batch have at most. Messages are planned for the largest of all ranks.
 * Collective; desc is the same on all ranks, or WEFT_ERR_INTERNAL. WEFT_ERR_USAGE: a member of desc is out of its
 * range, or a mode does not serve it.
 */
weft_status embed_open(weft_comm *comm, const embed_desc *desc, int64_t most, embed_table **table);
void embed_close(embed_table *table); /* its lanes, too; NULL is fine */
/*
 * Opens a lane: a table whose rows are those of `table`, with messages and memory of its own for a batch, so that each
 * lane has a batch under way. Passes alone go through a lane. All else is asked of `table`, which counts what its lanes
 * send and which embed_close closes with them. Calls for a table and its lanes come one after the other, in the same
 * order on all ranks. Nothing travels ahead. Collective. WEFT_ERR_USAGE: rows would leave between the two passes of a
 * batch (expire_after). WEFT_ERR_RESOURCE: memory, or EMBED_LANES_MOST lanes are open.
 */
enum { EMBED_LANES_MOST = 64 };
weft_status embed_open_lane(embed_table *table, int64_t most, embed_table **lane);
/* [out] pooled: [bags->samples, fields * stride + squares] with leading dimension ld. training: counts what was seen
 * and makes rows of admitted keys; else a key without a row adds nothing. The bags must live until embed_backward.
 * Collective. WEFT_ERR_RESOURCE: no memory. */
weft_status embed_forward(embed_table *table, const embed_bags *bags, bool training, float *pooled, int64_t ld);
/* Updates the rows of the last training pass by the gradient of `pooled`. rate: the learning rate. Collective. */
weft_status embed_backward(embed_table *table, const float *dpooled, int64_t ld, double rate);

/*
 * Sends keys of the next batch to their owners while this batch computes: call embed_ahead after embed_forward. Then
 * embed_ahead_rows, any time before embed_backward, sends the rows back; without that call embed_backward does so. The
 * next training pass takes these rows if its bags have the same `batch`. Rows that changed in between are sent again,
 * so results are the same bits as without these calls. bags: those of the next training pass; they must live until it
 * is over. Modes des and columns do nothing. Collective.
 */
weft_status embed_ahead(embed_table *table, const embed_bags *bags);
weft_status embed_ahead_rows(embed_table *table);
/* Returns true if embed_ahead sends anything. */
bool embed_looks_ahead(const embed_table *table);

/* Numbers of a sample. */
int embed_sums_columns(const embed_table *table, const embed_sums *sums);
/*
 * Sums over samples' keys, of a table of which all fields are in mode EMBED_DES. An owner adds up what its keys give to
 * each sample of all ranks; so `columns` numbers a sample travel to each other rank, forth and back, however many keys
 * there are.
 * bags        of this rank's samples; with samples_of: of the samples of all ranks, in their order, the same on all
 *             ranks: then no keys travel
 * samples_of  [ranks] samples of each rank; or NULL
 * total       [out] [samples of this rank, columns], leading dimension ld
 * Keys are made by embed_key. As embed_forward otherwise; sums->weight must live until embed_sums_backward. Collective.
 * WEFT_ERR_INTERNAL: another mode. WEFT_ERR_DATA: a key whose field the table has not.
 */
weft_status embed_sums_forward(embed_table *table, const embed_sums *sums, const embed_bags *bags,
                               const int64_t *samples_of, bool training, float *total, int64_t ld);
/* Updates the rows of the last training pass by the gradient of `total`. [out] dweight: [fields * stride, products]
 * this rank's share of the gradient of sums->weight, whose sum over ranks is that gradient; NULL where products is 0.
 * Collective. */
weft_status embed_sums_backward(embed_table *table, const float *dtotal, int64_t ld, double rate, float *dweight);

/* No key has a row; new ones are those of this seed. What embed_measure counts goes on. Local. */
weft_status embed_clear(embed_table *table, uint64_t seed);
/*
 * Writes the rows of all ranks into a folder that they all reach, a file a rank: PREFIX-00002-of-00004.rows; other
 * files of that prefix are removed. mark: of what the rows belong to, such as a hash of the other parameters; 0: of
 * nothing. Collective; WEFT_ERR_IO and others are this rank's own: agree on them.
 */
weft_status embed_save(const embed_table *table, const char *folder, const char *prefix, uint64_t mark);
/* The table holds these rows and no others, whatever the number of ranks that wrote them. mark: of what they should
 * belong to; 0: of anything. WEFT_ERR_NOINPUT: no such files; WEFT_ERR_DATA: damaged, of another table or mark, or of
 * two numbers of ranks. Local. */
weft_status embed_load(embed_table *table, const char *folder, const char *prefix, uint64_t mark);
/* The table goes on to count rows made, refused and expired from where the one that was saved stood; files of older
 * programs count from 0. Local. Errors of embed_load. */
weft_status embed_load_counts(embed_table *table, const char *folder, const char *prefix);
/* Copies the files that embed_save wrote of this table, each rank its own, to other names. Collective. */
weft_status embed_copy_files(const embed_table *table, const char *from, const char *prefix, const char *to,
                             const char *to_prefix);
/* Removes all files that embed_save wrote, of any number of ranks. Local, of one rank. */
weft_status embed_remove_files(const char *folder, const char *prefix);

/* What the files of embed_save hold, of any number of ranks. */
typedef struct embed_files {
    int files;
    int width;
    bool linear;
    int64_t rows;
    uint64_t mark;
} embed_files;

/* Local. Errors of embed_load. */
weft_status embed_files_look(const char *folder, const char *prefix, embed_files *files);
/* Takes rows file by file, each by rising keys: key [rows], number [rows, width + linear]. Stops at a failure. */
typedef weft_status embed_files_take(const uint64_t *key, const float *number, int64_t rows, void *context);
weft_status embed_files_visit(const char *folder, const char *prefix, embed_files_take *take, void *context);
/* Collective. */
weft_status embed_measure(const embed_table *table, embed_figures *figures);
