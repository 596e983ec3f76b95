/* train/indexes/index_groups.c: see train/indexes/index_groups.h. */
#include "train/indexes/index_groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/number.h"

#define MISSING_NAME "missing"

/* Values that stand for groups, in rising order: each number or place of a word that judged rows have, or with limits
 * the number of limits at or below it. Missing values are no key. */
typedef struct group_keys {
    double key[INDEX_GROUPS_MAX];
    int count;
    bool missing;
} group_keys;

/* Values were rounded to float32 when they were read, so limits are, too: a value at a limit is not below it. */
static double key_of(const index_rule *rule, float value)
{
    int above = 0;
    if (rule->limits == 0 || isnan(value)) {
        return (double)value;
    }
    while (above < rule->limits && value >= (float)rule->limit[above]) {
        ++above;
    }
    return (double)above;
}

/* The place of a key, or of the first above it. */
static int place_of(const group_keys *keys, double key)
{
    int place = 0;
    while (place < keys->count && keys->key[place] < key) {
        ++place;
    }
    return place;
}

static weft_status add_key(group_keys *keys, double key)
{
    const int place = place_of(keys, key);
    if (place < keys->count && keys->key[place] == key) {
        return WEFT_OK;
    }
    WEFT_CHECK(keys->count < INDEX_GROUPS_MAX, WEFT_ERR_USAGE,
               "the judged rows have more than %d different values: limits make groups of numbers (NAME:LIMIT,LIMIT), "
               "and words are joined beforehand",
               INDEX_GROUPS_MAX);
    for (int i = keys->count++; i > place; --i) {
        keys->key[i] = keys->key[i - 1];
    }
    keys->key[place] = key;
    return WEFT_OK;
}

static weft_status find_keys(const index_records *r, const index_rule *rule, int judged, group_keys *keys)
{
    for (int64_t i = 0; i < r->count; ++i) {
        const double key = key_of(rule, r->value[i]);
        if (!index_record_in(r->record[i], judged)) {
            continue;
        }
        if (isnan(key)) {
            keys->missing = true;
        } else {
            WEFT_TRY(add_key(keys, key));
        }
    }
    return WEFT_OK;
}

static void name_between(const index_rule *rule, int above, char *name)
{
    char low[NUMBER_TEXT_MAX], high[NUMBER_TEXT_MAX];
    if (above == 0) {
        (void)snprintf(name, INDEX_GROUP_BYTES, "< %s", number_format_real(rule->limit[0], high));
    } else if (above == rule->limits) {
        (void)snprintf(name, INDEX_GROUP_BYTES, ">= %s", number_format_real(rule->limit[above - 1], low));
    } else {
        (void)snprintf(name, INDEX_GROUP_BYTES, "%s to < %s", number_format_real(rule->limit[above - 1], low),
                       number_format_real(rule->limit[above], high));
    }
}

/* A word that is too long, or reads like the group of rows without a value, is told with its number from 1. */
static void name_word(const index_rule *rule, int64_t at, char *name)
{
    const char *word = rule->word[at];
    const bool whole = strlen(word) < INDEX_GROUP_BYTES;
    char number[48];
    if (whole && strcmp(word, MISSING_NAME) != 0) {
        (void)snprintf(name, INDEX_GROUP_BYTES, "%s", word);
        return;
    }
    (void)snprintf(number, sizeof number, "%s (word %" PRId64 ")", whole ? "" : "...", at + 1);
    const size_t bytes = utf8_fitting(word, INDEX_GROUP_BYTES - strlen(number));
    (void)snprintf(name, INDEX_GROUP_BYTES, "%.*s%s", (int)bytes, word, number);
}

static void name_group(const index_rule *rule, double key, char *name)
{
    char text[NUMBER_TEXT_MAX];
    if (rule->limits > 0) {
        name_between(rule, (int)key, name);
    } else if (rule->word != NULL && key >= 0.0 && key < (double)rule->words) {
        name_word(rule, (int64_t)key, name);
    } else {
        (void)snprintf(name, INDEX_GROUP_BYTES, "%s", number_format_float((float)key, text));
    }
}

/* part: [count] the place of each row's key; missing values come last. */
static void part_rows(const index_records *r, const index_rule *rule, const group_keys *keys, int32_t *part)
{
    for (int64_t i = 0; i < r->count; ++i) {
        const double key = key_of(rule, r->value[i]);
        part[i] = isnan(key) ? keys->count : place_of(keys, key);
    }
}

static weft_status judge_groups(const index_records *r, const index_rule *rule, int judged,
                                const index_threshold *threshold, index_groups *groups)
{
    group_keys keys = {.count = 0};
    int32_t *part = NULL;
    weft_status status;
    WEFT_TRY(find_keys(r, rule, judged, &keys));
    WEFT_TRY_GOTO(WEFT_NEW(&part, r->count, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&groups->group, keys.count + keys.missing, WEFT_MEM_WORKSPACE), status, done);
    part_rows(r, rule, &keys, part);
    for (; groups->count < keys.count + keys.missing; ++groups->count) {
        index_group *group = &groups->group[groups->count];
        score_levels levels;
        if (groups->count < keys.count) {
            name_group(rule, keys.key[groups->count], group->name);
        } else {
            (void)snprintf(group->name, sizeof group->name, MISSING_NAME);
        }
        status = index_records_levels(r, judged, part, groups->count, &levels);
        if (status == WEFT_OK) {
            binary_indexes_of(&levels, threshold, &group->indexes);
        }
        score_levels_free(&levels);
        WEFT_TRY_GOTO(status, status, done);
    }
done:
    weft_free(part);
    return status;
}

weft_status index_groups_make(weft_comm *comm, const train_targets *targets, const float *logits, const float *value,
                              const index_rule *rule, int judged, const index_threshold *threshold,
                              index_groups *groups)
{
    index_records records;
    *groups = (index_groups){.count = 0};
    weft_status status = index_records_gather(comm, targets, logits, index_splits(judged), true, value, &records);
    if (status == WEFT_OK) {
        const bool judges = comm_rank(comm) == 0 && records.finite;
        status = comm_agree(comm, judges ? judge_groups(&records, rule, judged, threshold, groups) : WEFT_OK);
    }
    index_records_free(&records);
    return status;
}

void index_groups_free(index_groups *groups)
{
    weft_free(groups->group);
    *groups = (index_groups){.count = 0};
}
