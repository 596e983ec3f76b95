/* app/workload/class_names.c: see app/workload/class_names.h. */
#include "app/workload/class_names.h"

#include <stdio.h>
#include <string.h>

#include "app/workload/workload.h"
#include "base/alloc.h"

enum { KEY_BYTES = 32 };

/* One block: pointers, then texts. [out] to: where the first text goes. */
static weft_status reserve(const char *origin, int64_t count, size_t bytes, class_names *names, char **to)
{
    WEFT_CHECK(count <= CLASS_NAMES_MAX, WEFT_ERR_DATA, "%s: names of %lld classes; at most %d are read", origin,
               (long long)count, CLASS_NAMES_MAX);
    WEFT_TRY(weft_malloc((size_t)count * sizeof(char *) + bytes + 1, 1, WEFT_MEM_GENERAL, (void **)&names->text));
    names->count = 0;
    *to = (char *)(names->text + count);
    return WEFT_OK;
}

static void append(class_names *names, const char *text, char **to)
{
    const size_t bytes = strlen(text) + 1;
    names->text[names->count++] = memcpy(*to, text, bytes);
    *to += bytes;
}

weft_status class_names_from_json(const char *origin, const json_value *data, class_names *names)
{
    const json_value *array = data != NULL ? json_find(data, WORKLOAD_CLASS_NAMES) : NULL;
    size_t bytes = 0;
    int64_t count = 0;
    char *to;
    if (array == NULL || array->kind != JSON_ARRAY || names->text != NULL) {
        return WEFT_OK;
    }
    for (const json_value *name = array->child; name != NULL; name = name->next, ++count) {
        WEFT_CHECK(name->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: %s: name %lld is no text", origin, WORKLOAD_CLASS_NAMES,
                   (long long)count);
        bytes += strlen(name->text) + 1;
    }
    WEFT_TRY(reserve(origin, count, bytes, names, &to));
    for (const json_value *name = array->child; name != NULL; name = name->next) {
        append(names, name->text, &to);
    }
    return WEFT_OK;
}

static const char *key_of(int64_t class, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "weft.class.%lld", (long long)class);
    return key;
}

weft_status class_names_from_metadata(const char *origin, const safetensors_file *file, class_names *names)
{
    char key[KEY_BYTES], *to;
    const char *text;
    size_t bytes = 0;
    int64_t count = 0;
    for (; count <= CLASS_NAMES_MAX && (text = safetensors_metadata(file, key_of(count, key))) != NULL; ++count) {
        bytes += strlen(text) + 1;
    }
    if (count == 0 || names->text != NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(reserve(origin, count, bytes, names, &to));
    for (int64_t i = 0; i < count; ++i) {
        append(names, safetensors_metadata(file, key_of(i, key)), &to);
    }
    return WEFT_OK;
}

weft_status class_names_to_metadata(const class_names *names, safetensors_text *texts, char **keys)
{
    WEFT_TRY(weft_malloc((size_t)names->count + 1, KEY_BYTES, WEFT_MEM_GENERAL, (void **)keys));
    for (int64_t i = 0; i < names->count; ++i) {
        texts[i] = (safetensors_text){key_of(i, *keys + i * KEY_BYTES), names->text[i]};
    }
    return WEFT_OK;
}

void class_names_free(class_names *names)
{
    weft_free(names->text);
    *names = (class_names){.text = NULL};
}
