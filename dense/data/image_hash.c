/* dense/data/image_hash.c: see dense/data/image_hash.h. */
#include "dense/data/image_hash.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/version.h"
#include "dense/data/decode/image_decode.h"
#include "dense/data/image_store.h"

void image_hash_mix(char hash[33], const void *data, size_t bytes)
{
    char both[2 * 33];
    memcpy(both, hash, 33);
    file_hash(data, bytes, both + 33);
    file_hash(both, sizeof both, hash);
}

void image_set_identify(const image_set *set, const char *path, image_key *key)
{
    char whole[PATH_MAX]; /* the specification of synth is no path */
    const char *place = realpath(path, whole) != NULL ? whole : path;
    const char *const texts[] = {set->hash,          set->store->identity, version_text(),       version_revision(),
                                 version_compiler(), version_build(),      image_jpeg_version(), image_png_version()};
    file_hash(place, strlen(place), key->place);
    memcpy(key->identity, key->place, sizeof key->identity);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        image_hash_mix(key->identity, texts[i], strlen(texts[i]));
    }
}
