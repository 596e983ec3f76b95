/* libFuzzer: any text as names of columns of clicks; what is accepted must survive being joined and parsed again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clicks/data/click_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const name_list *a, const name_list *b)
{
    if (a->count != b->count) {
        abort();
    }
    for (int64_t i = 0; i < a->count; ++i) {
        if (strcmp(a->text[i], b->text[i]) != 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    name_list list[2], again[2] = {{0}, {0}};
    char *text = NULL, *joined = NULL;
    if (WEFT_NEW(&text, size + 1, WEFT_MEM_GENERAL) != WEFT_OK) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (click_names_parse("--columns", text, &list[0], &list[1]) == WEFT_OK) {
        if (click_names_join(&list[0], &list[1], &joined) != WEFT_OK ||
            click_names_parse("--columns", joined, &again[0], &again[1]) != WEFT_OK) {
            abort();
        }
        same(&list[0], &again[0]);
        same(&list[1], &again[1]);
    }
    for (int i = 0; i < 2; ++i) {
        name_list_free(&list[i]);
        name_list_free(&again[i]);
    }
    weft_free(joined);
    weft_free(text);
    return 0;
}
