/* io/name_list.c: see io/name_list.h. */
#include "io/name_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/escape.h"

bool name_list_admits(const char *text)
{
    if (*text == '\0') {
        return false;
    }
    while (*text != '\0') {
        uint32_t code;
        const int length = utf8_length(text, &code);
        if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) { /* C0, DEL, C1 */
            return false;
        }
        text += length;
    }
    return true;
}

static weft_status check_name(const char *origin, int64_t i, const char *text)
{
    WEFT_CHECK(name_list_admits(text), WEFT_ERR_DATA,
               "%s: name %" PRId64 ": '%.40s': a name is one or more characters of UTF-8 without control characters",
               origin, i, text);
    return WEFT_OK;
}

/* One block: pointers, then `bytes` of texts. [out] to: where the texts go. */
static weft_status reserve(int64_t count, size_t bytes, name_list *names, char **to)
{
    const size_t pointers = (size_t)count * sizeof(char *);
    *names = (name_list){.text = NULL};
    WEFT_TRY(weft_malloc(pointers + bytes + 1, 1, WEFT_MEM_GENERAL, (void **)&names->text));
    names->count = count;
    *to = (char *)(names->text + count);
    return WEFT_OK;
}

weft_status name_list_parse(const char *origin, const char *text, size_t bytes, int64_t count, name_list *names)
{
    int64_t lines = 0;
    *names = (name_list){.text = NULL};
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n';
    }
    WEFT_CHECK(lines == count && (bytes == 0 || text[bytes - 1] == '\n'), WEFT_ERR_DATA,
               "%s: %" PRId64 " names, each ending in a line feed; expected %" PRId64, origin, lines, count);
    WEFT_CHECK(bytes == 0 || memchr(text, '\0', bytes) == NULL, WEFT_ERR_DATA, "%s: holds a zero byte", origin);
    char *to;
    weft_status status = WEFT_OK;
    WEFT_TRY(reserve(count, bytes, names, &to));
    if (bytes > 0) {
        memcpy(to, text, bytes);
    }
    for (int64_t i = 0; i < count && status == WEFT_OK; i++) {
        char *end = strchr(to, '\n');
        *end = '\0';
        names->text[i] = to;
        status = check_name(origin, i, to);
        to = end + 1;
    }
    if (status != WEFT_OK) {
        name_list_free(names);
    }
    return status;
}

weft_status name_list_join(const char *origin, const char *const *names, int64_t count, char **text, size_t *bytes)
{
    size_t total = 0;
    *text = NULL;
    for (int64_t i = 0; i < count; i++) {
        WEFT_TRY(check_name(origin, i, names[i]));
        total += strlen(names[i]) + 1;
    }
    WEFT_TRY(weft_malloc(total + 1, 1, WEFT_MEM_WORKSPACE, (void **)text));
    char *to = *text;
    for (int64_t i = 0; i < count; i++) {
        const size_t length = strlen(names[i]);
        memcpy(to, names[i], length);
        to[length] = '\n';
        to += length + 1;
    }
    *bytes = total;
    return WEFT_OK;
}

weft_status name_list_copy(const char *const *texts, int64_t count, name_list *names)
{
    size_t bytes = 0;
    char *to;
    for (int64_t i = 0; i < count; i++) {
        bytes += strlen(texts[i]) + 1;
    }
    WEFT_TRY(reserve(count, bytes, names, &to));
    for (int64_t i = 0; i < count; i++) {
        const size_t size = strlen(texts[i]) + 1;
        names->text[i] = memcpy(to, texts[i], size);
        to += size;
    }
    return WEFT_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

weft_status name_list_check_distinct(const char *origin, const name_list *names)
{
    char **sorted = NULL;
    weft_status status = WEFT_OK;
    if (names->count < 2) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&sorted, names->count, WEFT_MEM_WORKSPACE));
    memcpy(sorted, names->text, (size_t)names->count * sizeof *sorted);
    qsort(sorted, (size_t)names->count, sizeof *sorted, compare);
    for (int64_t i = 1; i < names->count && status == WEFT_OK; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = weft_fail(WEFT_ERR_DATA, "%s: two names are '%.80s'", origin, sorted[i]);
        }
    }
    weft_free(sorted);
    return status;
}

void name_list_free(name_list *names)
{
    weft_free(names->text);
    *names = (name_list){.text = NULL};
}
