/*
 * table/column.h: the columns of a table: their kinds, their roles, and how a value is stored.
 *
 *   kind       in memory     missing    a cell
 *   real       float32       NaN        a decimal number, rounded to double and then to float32
 *   integer    int32         INT32_MIN  a whole number
 *   long       int64         INT64_MIN  a whole number, where int32 is too narrow for one of the column
 *   category   int32         -1         a word: its place among the column's words in the order of their bytes
 *   id         uint64        0          a word: XXH3-64 of its bytes (a hash of 0 is stored as 1)
 *   split      uint8         255        train, valid or test: 0, 1, 2
 *
 * A column is one array, contiguous, so that a pass over one column reads nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/* X(kind, word, NumPy kind, bytes of a value) */
#define TABLE_KINDS(X)                                                                                                 \
    X(TABLE_REAL, "real", 'f', 4)                                                                                      \
    X(TABLE_INTEGER, "integer", 'i', 4)                                                                                \
    X(TABLE_LONG, "long", 'i', 8)                                                                                      \
    X(TABLE_CATEGORY, "category", 'i', 4)                                                                              \
    X(TABLE_ID, "id", 'u', 8)                                                                                          \
    X(TABLE_SPLIT, "split", 'u', 1)

typedef enum table_kind {
#define TABLE_KIND_VALUE(kind, word, numpy, bytes) kind,
    TABLE_KINDS(TABLE_KIND_VALUE)
#undef TABLE_KIND_VALUE
        TABLE_KIND_COUNT,
    TABLE_UNSEEN = TABLE_KIND_COUNT /* no value of the column was seen yet; only while a file is read */
} table_kind;

/* X(role, word) */
#define TABLE_ROLES(X)                                                                                                 \
    X(TABLE_FEATURE, "feature")                                                                                        \
    X(TABLE_TARGET, "target")                                                                                          \
    X(TABLE_WEIGHT, "weight")                                                                                          \
    X(TABLE_GROUP, "group")                                                                                            \
    X(TABLE_SPLIT_OF, "split")                                                                                         \
    X(TABLE_ORDER, "order")                                                                                            \
    X(TABLE_DROPPED, "dropped")

typedef enum table_role {
#define TABLE_ROLE_VALUE(role, word) role,
    TABLE_ROLES(TABLE_ROLE_VALUE)
#undef TABLE_ROLE_VALUE
        TABLE_ROLE_COUNT
} table_role;

enum { TABLE_NO_CODE = -1, TABLE_NO_SPLIT = 255 };
#define TABLE_NO_ID      UINT64_C(0)
#define TABLE_NO_INTEGER INT32_MIN
#define TABLE_NO_LONG    INT64_MIN

extern weft_mem_tag WEFT_MEM_TABLE[1]; /* values and words of tables */

const char *table_kind_word(table_kind kind);
const char *table_role_word(table_role role);
/* The type of a kind's array as io/npy.h writes it, and the bytes of one value. */
char table_kind_numpy(table_kind kind);
size_t table_kind_bytes(table_kind kind);
/* Returns the kind or the role of this word; -1 if there is none. */
int table_kind_of(const char *word);
int table_role_of(const char *word);

/* Fills values [first, first + count) of an array of this kind with "missing". */
void table_fill_missing(table_kind kind, void *values, int64_t first, int64_t count);
/* [out] value[count]: rows first .. first + count - 1 of an array of numbers (real, integer, long) as float32, NaN
 * where one is missing. */
void table_read_numbers(table_kind kind, const void *data, int64_t first, int64_t count, float *value);
/* Returns a hash of a number and its place. Sums of these name the content of a table whatever the ranks. */
uint64_t table_hash_number(int64_t row, int64_t column, float value);
