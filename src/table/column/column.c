/* table/column/column.c: see table/column.h. */
#include "table/column.h"

#include <assert.h>
#include <math.h>
#include <string.h>

weft_mem_tag WEFT_MEM_TABLE[1] = {{.text = "table"}};

typedef struct kind_row {
    const char *word;
    char numpy;
    size_t bytes;
} kind_row;

static const kind_row kinds[TABLE_KIND_COUNT + 1] = {
#define KIND_ROW(kind, word, numpy, bytes) {word, numpy, bytes},
    TABLE_KINDS(KIND_ROW)
#undef KIND_ROW
        {"unseen", 'f', sizeof(float)}};

static const char *const roles[TABLE_ROLE_COUNT] = {
#define ROLE_WORD(role, word) word,
    TABLE_ROLES(ROLE_WORD)
#undef ROLE_WORD
};

const char *table_kind_word(table_kind kind)
{
    return kinds[kind].word;
}

const char *table_role_word(table_role role)
{
    assert(role < TABLE_ROLE_COUNT);
    return roles[role];
}

char table_kind_numpy(table_kind kind)
{
    return kinds[kind].numpy;
}

size_t table_kind_bytes(table_kind kind)
{
    return kinds[kind].bytes;
}

int table_kind_of(const char *word)
{
    for (int kind = 0; kind < TABLE_KIND_COUNT; kind++) {
        if (strcmp(kinds[kind].word, word) == 0) {
            return kind;
        }
    }
    return -1;
}

int table_role_of(const char *word)
{
    for (int role = 0; role < TABLE_ROLE_COUNT; role++) {
        if (strcmp(roles[role], word) == 0) {
            return role;
        }
    }
    return -1;
}

void table_fill_missing(table_kind kind, void *values, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        switch (kind) {
        case TABLE_INTEGER:
            ((int32_t *)values)[i] = TABLE_NO_INTEGER;
            break;
        case TABLE_LONG:
            ((int64_t *)values)[i] = TABLE_NO_LONG;
            break;
        case TABLE_CATEGORY:
            ((int32_t *)values)[i] = TABLE_NO_CODE;
            break;
        case TABLE_ID:
            ((uint64_t *)values)[i] = TABLE_NO_ID;
            break;
        case TABLE_SPLIT:
            ((uint8_t *)values)[i] = TABLE_NO_SPLIT;
            break;
        default:
            ((float *)values)[i] = NAN;
        }
    }
}

static void read_integers(const int32_t *from, int64_t count, float *value)
{
    for (int64_t i = 0; i < count; ++i) {
        value[i] = from[i] == TABLE_NO_INTEGER ? NAN : (float)from[i];
    }
}

static void read_longs(const int64_t *from, int64_t count, float *value)
{
    for (int64_t i = 0; i < count; ++i) {
        value[i] = from[i] == TABLE_NO_LONG ? NAN : (float)from[i];
    }
}

void table_read_numbers(table_kind kind, const void *data, int64_t first, int64_t count, float *value)
{
    if (kind == TABLE_REAL) {
        memcpy(value, (const float *)data + first, (size_t)count * sizeof *value);
    } else if (kind == TABLE_INTEGER) {
        read_integers((const int32_t *)data + first, count, value);
    } else {
        assert(kind == TABLE_LONG);
        read_longs((const int64_t *)data + first, count, value);
    }
}

uint64_t table_hash_number(int64_t row, int64_t column, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t x = bits ^ (uint64_t)row * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)column * UINT64_C(0xC2B2AE3D27D4EB4F);
    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ x >> 32;
}
