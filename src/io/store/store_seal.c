/* io/store/store_seal.c: see io/store/store_seal.h. */
#include "io/store/store_seal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

enum { SEAL_VERSION = 1, SEAL_BYTES_MAX = 4096 };
#define FORMAT "weft-checked"

weft_status store_seal_mix(const char *path, char seal[STORE_HASH_BYTES])
{
    struct stat facts;
    WEFT_CHECK(stat(path, &facts) == 0, WEFT_ERR_NOINPUT, "%s: cannot be looked at", path);
    char text[256];
    int length = snprintf(text, sizeof text, "%s %ju %jd %jd.%09ld %jd.%09ld", seal, (uintmax_t)facts.st_ino,
                          (intmax_t)facts.st_size, (intmax_t)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                          (intmax_t)facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
    file_hash(text, (size_t)length, seal);
    return WEFT_OK;
}

weft_status store_facts_mix(const char *path, char hash[STORE_HASH_BYTES])
{
    struct stat facts;
    WEFT_CHECK(stat(path, &facts) == 0, WEFT_ERR_NOINPUT, "%s: cannot be looked at", path);
    char text[256];
    int length = snprintf(text, sizeof text, "%s %jd %jd.%09ld", hash, (intmax_t)facts.st_size,
                          (intmax_t)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    file_hash(text, (size_t)length, hash);
    return WEFT_OK;
}

static weft_status read_seal(const char *path, const char *expected, bool *same)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    const char *found = NULL;
    int64_t version = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY(json_read_object(path, SEAL_BYTES_MAX, &document, &root));
    WEFT_TRY_GOTO(json_get_text(path, root, "format", &found), status, done);
    *same = strcmp(found, FORMAT) == 0;
    WEFT_TRY_GOTO(json_get_int(path, root, "version", 0, INT64_MAX, &version), status, done);
    WEFT_TRY_GOTO(json_get_text(path, root, "seal", &found), status, done);
    *same = *same && version == SEAL_VERSION && strcmp(found, expected) == 0;
done:
    json_free(document);
    return status;
}

bool store_is_sealed(const char *store, const char *seal)
{
    char path[FILE_PATH_MAX];
    bool same = false;
    if (seal[0] == '\0' || file_path(path, "%s/checked.json", store) != WEFT_OK || !file_exists(path)) {
        return false;
    }
    weft_status status = read_seal(path, seal, &same);
    weft_error_clear();
    return status == WEFT_OK && same;
}

static weft_status write_seal(const char *path, const char *seal)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", FORMAT);
    json_int(&json, "version", SEAL_VERSION);
    json_text(&json, "seal", seal);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

void store_seal_keep(const char *store, const char *seal)
{
    char path[FILE_PATH_MAX];
    if (seal[0] == '\0' || file_path(path, "%s/checked.json", store) != WEFT_OK || access(store, W_OK) != 0) {
        return;
    }
    if (write_seal(path, seal) != WEFT_OK) {
        log_debug("%s: not kept: %s", path, weft_error_message()); /* the next job checks again */
        weft_error_clear();
    }
}
