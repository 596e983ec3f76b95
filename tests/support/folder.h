/* support/folder.h: a folder of its own for a test, removed afterwards; whole files written and read. */
#pragma once

#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "support/test.h"

/* cmocka setup: *state becomes the folder's path. */
static inline int folder_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(FILE_PATH_MAX);
    if (path == NULL) {
        return -1;
    }
    snprintf(path, FILE_PATH_MAX, "%s/weft-test-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(path) == NULL) {
        free(path);
        return -1;
    }
    *state = path;
    return 0;
}

static inline int folder_teardown(void **state)
{
    weft_status status = folder_remove(*state);
    free(*state);
    return status == WEFT_OK ? 0 : -1;
}

/* folder/name in one of eight rotating buffers. */
static inline const char *in_folder(void **state, const char *name)
{
    static char paths[8][FILE_PATH_MAX];
    static int next;
    char *path = paths[next++ % 8];
    ASSERT_OK(file_path(path, "%s/%s", (const char *)*state, name));
    return path;
}

static inline void put_file(const char *path, const void *data, size_t bytes)
{
    unlink(path); /* writing over a file makes ext4 wait for the disk at every close */
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
    assert_int_equal(fclose(stream), 0);
}

/* The bytes of a file; free with free(). */
static inline uint8_t *get_file(const char *path, size_t *bytes)
{
    file_map map;
    ASSERT_OK(file_map_open(path, &map));
    uint8_t *copy = malloc(map.size + 1);
    assert_non_null(copy);
    if (map.size > 0) {
        memcpy(copy, map.data, map.size);
    }
    copy[map.size] = 0;
    *bytes = map.size;
    file_map_close(&map);
    return copy;
}
