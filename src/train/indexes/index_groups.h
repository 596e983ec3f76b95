/*
 * train/indexes/index_groups.h: the indexes of groups of rows: those with a word of a column of words, or with a number
 * of a column of numbers between given limits.
 */
#pragma once

#include "train/indexes/binary_indexes.h"

enum { INDEX_GROUPS_MAX = 64, INDEX_GROUP_BYTES = 96 };

/* How values of a column make groups. Rows whose value is NaN are a group, too: "missing". */
typedef struct index_rule {
    char *const *word; /* [words] a value is the place of its word; NULL: values are numbers */
    int64_t words;
    const double *limit; /* [limits] rising, rounded to float32 as values are: groups are below the first, between
                          * two, and from the last on; with none every number that occurs is a group */
    int limits;
} index_rule;

typedef struct index_group {
    char
        name[INDEX_GROUP_BYTES]; /* the word, "65", "< 65", "65 to < 75", ">= 75", or "missing"; of a word that does not
                                   * fit, or is "missing", with its number: "missing (word 2)" */
    binary_indexes indexes;
} index_group;

typedef struct index_groups {
    int count;
    index_group *group; /* [count] those that have judged rows, in the order of their values */
} index_groups;

/*
 * The indexes of the judged rows of each group, at one threshold. value: [targets->rows]; rule: the same on every rank.
 * [out] groups: on rank 0, for index_groups_free, also after a failure. WEFT_ERR_USAGE: more than INDEX_GROUPS_MAX
 * groups. Collective.
 */
weft_status index_groups_make(weft_comm *comm, const train_targets *targets, const float *logits, const float *value,
                              const index_rule *rule, int judged, const index_threshold *threshold,
                              index_groups *groups);
void index_groups_free(index_groups *groups);
