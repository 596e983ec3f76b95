/* trees/grow/constraints.c: see trees/grow/constraints.h. */
#include "trees/grow/constraints.h"

#include <stdbool.h>
#include <string.h>

/* A piece of a text. */
typedef struct piece {
    const char *at;
    size_t bytes;
} piece;

/* The piece up to one of these characters or the end. */
static piece piece_of(const char *at, const char *ends)
{
    return (piece){at, strcspn(at, ends)};
}

static weft_status find_column(const char *flag, piece p, int columns, char *const *name, int *column)
{
    for (*column = 0; *column < columns; ++*column) {
        if (strlen(name[*column]) == p.bytes && memcmp(name[*column], p.at, p.bytes) == 0) {
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: no column that trees learn from is named '%.*s'", flag, (int)p.bytes, p.at);
}

/* -1, 0, 1 or +1; 2: another text. */
static int direction_of(piece p)
{
    const bool sign = p.bytes == 2 && (p.at[0] == '+' || p.at[0] == '-');
    const char digit = p.bytes == 1 ? p.at[0] : sign ? p.at[1] : 'x';
    return digit == '0' ? 0 : digit != '1' ? 2 : sign && p.at[0] == '-' ? -1 : 1;
}

static weft_status set_direction(const char *flag, const tree_columns *data, char *const *name, int column, piece p,
                                 int8_t *direction)
{
    const int d = direction_of(p);
    WEFT_CHECK(d != 2, WEFT_ERR_USAGE, "%s: '%.*s' for %s: expected -1, 0 or +1", flag, (int)p.bytes, p.at,
               name[column]);
    WEFT_CHECK(d == 0 || data->column[column].kind != TABLE_CATEGORY, WEFT_ERR_USAGE,
               "%s: %s holds words, which have no direction", flag, name[column]);
    direction[column] = (int8_t)d;
    return WEFT_OK;
}

/* "1,0,-1)" */
static weft_status read_places(const char *flag, const char *text, const tree_columns *data, char *const *name,
                               int8_t *direction)
{
    int column = 0;
    for (piece p = piece_of(text, ",)"); column < data->columns; p = piece_of(p.at + p.bytes + 1, ",)")) {
        WEFT_TRY(set_direction(flag, data, name, column++, p, direction));
        if (p.at[p.bytes] != ',') {
            break;
        }
        WEFT_CHECK(column < data->columns, WEFT_ERR_USAGE, "%s: more numbers than the %d columns", flag, data->columns);
    }
    WEFT_CHECK(column == data->columns, WEFT_ERR_USAGE, "%s: %d numbers for %d columns: name the columns, NAME:+1",
               flag, column, data->columns);
    return WEFT_OK;
}

/* "a:+1,b:-1" */
static weft_status read_named(const char *flag, const char *text, const tree_columns *data, char *const *name,
                              int8_t *direction)
{
    for (const char *at = text; *at != '\0';) {
        const piece p = piece_of(at, ",");
        const char *colon = memrchr(p.at, ':', p.bytes);
        int column = 0;
        WEFT_CHECK(colon != NULL, WEFT_ERR_USAGE, "%s: '%.*s': expected NAME:+1 or NAME:-1", flag, (int)p.bytes, p.at);
        WEFT_TRY(find_column(flag, (piece){p.at, (size_t)(colon - p.at)}, data->columns, name, &column));
        WEFT_CHECK(direction[column] == 0, WEFT_ERR_USAGE, "%s: %s stands twice", flag, name[column]);
        const piece number = {colon + 1, (size_t)(p.at + p.bytes - colon - 1)};
        WEFT_TRY(set_direction(flag, data, name, column, number, direction));
        at = p.at + p.bytes + (p.at[p.bytes] == ',');
    }
    return WEFT_OK;
}

weft_status constraints_directions(const char *flag, const char *text, const tree_columns *data, char *const *name,
                                   int8_t **direction)
{
    *direction = NULL;
    if (text[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(direction, data->columns, WEFT_MEM_TREES));
    return strchr(text, ':') != NULL ? read_named(flag, text, data, name, *direction)
                                     : read_places(flag, text + (text[0] == '('), data, name, *direction);
}

weft_status constraints_groups(const char *flag, const char *text, int columns, char *const *name, uint8_t **has,
                               interaction_groups *groups)
{
    int count = text[0] != '\0';
    *has = NULL;
    *groups = (interaction_groups){0};
    for (const char *at = text; *at != '\0'; ++at) {
        count += *at == ';';
    }
    if (count == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(has, (int64_t)count * columns, WEFT_MEM_TREES));
    *groups = (interaction_groups){.has = *has, .groups = count};
    int group = 0;
    for (piece p = piece_of(text, ",;");; p = piece_of(p.at + p.bytes + 1, ",;")) {
        int column = 0;
        WEFT_TRY(find_column(flag, p, columns, name, &column));
        (*has)[(int64_t)group * columns + column] = 1;
        group += p.at[p.bytes] == ';';
        if (p.at[p.bytes] == '\0') {
            return WEFT_OK;
        }
    }
}
