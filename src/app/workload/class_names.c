/* app/workload/class_names.c: see app/workload/class_names.h. */
#include "app/workload/class_names.h"

#include <stdio.h>

#include "app/workload/workload.h"
#include "base/alloc.h"
#include "base/log.h"

enum { KEY_BYTES = 32 };

static weft_status reserve(const char *origin, int64_t count, const char ***texts)
{
    WEFT_CHECK(count <= CLASS_NAMES_MAX, WEFT_ERR_DATA, "%s: names of %lld classes; at most %d are read", origin,
               (long long)count, CLASS_NAMES_MAX);
    return WEFT_NEW(texts, count, WEFT_MEM_WORKSPACE);
}

static weft_status keep(const char **texts, int64_t count, name_list *names)
{
    weft_status status = name_list_copy(texts, count, names);
    weft_free(texts);
    return status;
}

weft_status class_names_from_json(const char *origin, const json_value *data, name_list *names)
{
    const json_value *array = data != NULL ? json_find(data, WORKLOAD_CLASS_NAMES) : NULL;
    const char **texts;
    int64_t count = 0;
    if (array == NULL || array->kind != JSON_ARRAY || names->text != NULL) {
        return WEFT_OK;
    }
    for (const json_value *name = array->child; name != NULL; name = name->next, ++count) {
        WEFT_CHECK(name->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: %s: name %lld is no text", origin, WORKLOAD_CLASS_NAMES,
                   (long long)count);
    }
    WEFT_TRY(reserve(origin, count, &texts));
    int64_t i = 0;
    for (const json_value *name = array->child; name != NULL; name = name->next) {
        texts[i++] = name->text;
    }
    return keep(texts, count, names);
}

/* As many bytes as a text may take in JSON. */
static size_t json_bytes(const char *text)
{
    size_t bytes = 16; /* quotes, comma, indentation */
    for (; *text != '\0'; ++text) {
        const bool plain = (unsigned char)*text >= 0x20 && *text != '"' && *text != '\\';
        bytes += plain ? 1 : 6;
    }
    return bytes;
}

void class_names_to_json(json_writer *json, const char *const *names, int64_t count)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < count && names != NULL; ++i) {
        bytes += json_bytes(names[i]);
    }
    if (names == NULL || count == 0 || count > CLASS_NAMES_MAX || bytes > CLASS_NAMES_JSON) {
        if (names != NULL && count > 0) {
            log_warn("names of %lld classes are too many to keep with the model: it has numbers alone",
                     (long long)count);
        }
        return;
    }
    json_array(json, WORKLOAD_CLASS_NAMES);
    for (int64_t i = 0; i < count; ++i) {
        json_text(json, NULL, names[i]);
    }
    json_end(json);
}

static const char *key_of(int64_t class, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "weft.class.%lld", (long long)class);
    return key;
}

weft_status class_names_from_metadata(const char *origin, const safetensors_file *file, name_list *names)
{
    char key[KEY_BYTES];
    const char **texts;
    int64_t count = 0;
    while (count <= CLASS_NAMES_MAX && safetensors_metadata(file, key_of(count, key)) != NULL) {
        ++count;
    }
    if (count == 0 || names->text != NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(reserve(origin, count, &texts));
    for (int64_t i = 0; i < count; ++i) {
        texts[i] = safetensors_metadata(file, key_of(i, key));
    }
    return keep(texts, count, names);
}

weft_status class_names_to_metadata(const name_list *names, safetensors_text *texts, char **keys)
{
    WEFT_TRY(weft_malloc((size_t)names->count + 1, KEY_BYTES, WEFT_MEM_GENERAL, (void **)keys));
    for (int64_t i = 0; i < names->count; ++i) {
        texts[i] = (safetensors_text){key_of(i, *keys + i * KEY_BYTES), names->text[i]};
    }
    return WEFT_OK;
}
