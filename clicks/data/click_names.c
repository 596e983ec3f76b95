/* clicks/data/click_names.c: see clicks/data/click_names.h. */
#include "clicks/data/click_names.h"

#include <string.h>

#include "base/alloc.h"

static char *append(char *to, const name_list *names)
{
    for (int64_t i = 0; i < names->count; ++i) {
        if (i > 0) {
            *to++ = ',';
        }
        for (const char *at = names->text[i]; *at != '\0'; ++at) {
            if (strchr(",;\\", *at) != NULL) {
                *to++ = '\\';
            }
            *to++ = *at;
        }
    }
    return to;
}

static size_t bytes_of(const name_list *names)
{
    size_t bytes = 1;
    for (int64_t i = 0; i < names->count; ++i) {
        bytes += 2 * strlen(names->text[i]) + 1;
    }
    return bytes;
}

weft_status click_names_join(const name_list *fields, const name_list *numbers, char **text)
{
    WEFT_TRY(WEFT_NEW(text, bytes_of(fields) + bytes_of(numbers) + 1, WEFT_MEM_GENERAL));
    char *end = append(*text, fields);
    *end++ = ';';
    *append(end, numbers) = '\0';
    return WEFT_OK;
}

/* Names up to a semicolon or the end, unescaped in place. [out] at: behind it. Returns how many there are, or -1. */
static int64_t split(char **at, const char **name)
{
    int64_t count = 0;
    char *to = *at, *from = *at;
    if (*from == ';' || *from == '\0') {
        *at = from + (*from == ';');
        return 0;
    }
    name[count++] = to;
    while (*from != '\0' && *from != ';') {
        if (*from == ',') {
            *to++ = '\0';
            name[count++] = to;
            ++from;
            continue;
        }
        from += *from == '\\';
        if (*from == '\0') {
            return -1;
        }
        *to++ = *from++;
    }
    *at = from + (*from == ';');
    *to = '\0';
    return count;
}

weft_status click_names_parse(const char *flag, const char *text, name_list *fields, name_list *numbers)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = NULL;
    const char **name = NULL;
    weft_status status = WEFT_NEW(&copy, bytes, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&name, bytes, WEFT_MEM_WORKSPACE) : status;
    *fields = *numbers = (name_list){0};
    WEFT_TRY_GOTO(status, status, done);
    memcpy(copy, text, bytes);
    char *at = copy;
    name_list *const list[] = {fields, numbers};
    for (int i = 0; i < 2; ++i) {
        const int64_t count = split(&at, name);
        for (int64_t n = 0; n < count; ++n) {
            WEFT_CHECK_GOTO(name_list_admits(name[n]), status, done, WEFT_ERR_USAGE,
                            "%s: name %lld is no text: expected UTF-8 without control characters", flag,
                            (long long)(n + 1));
        }
        WEFT_CHECK_GOTO(count >= 0, status, done, WEFT_ERR_USAGE, "%s ends with a backslash", flag);
        WEFT_TRY_GOTO(name_list_copy(name, count, list[i]), status, done);
    }
    WEFT_CHECK_GOTO(*at == '\0', status, done, WEFT_ERR_USAGE,
                    "%s: expected names of ids, a semicolon and names of numbers, and there is more behind them", flag);
done:
    WEFT_FREE_ALL(copy, name);
    return status;
}
