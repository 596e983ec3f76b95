/* dense/data/names/image_names.c: see dense/data/names/image_names.h. */
#include "dense/data/names/image_names.h"

#include <string.h>
#include <strings.h>

#include "base/nearest.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST }; /* as in train/model.h */

/* ---- words of splits ------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    int split;
} split_words[] = {{"train", SPLIT_TRAIN}, {"training", SPLIT_TRAIN},   {"val", SPLIT_VALID},   {"valid", SPLIT_VALID},
                   {"test", SPLIT_TEST},   {"validation", SPLIT_VALID}, {"testing", SPLIT_TEST}};

static bool same_word(const char *text, size_t bytes, const char *word)
{
    return strlen(word) == bytes && strncasecmp(text, word, bytes) == 0;
}

int image_word_split(const char *word, size_t bytes)
{
    for (size_t i = 0; i < LENGTH(split_words); ++i) {
        if (same_word(word, bytes, split_words[i].word)) {
            return split_words[i].split;
        }
    }
    return -1;
}

static bool holds_word(const char *text, size_t bytes, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= bytes; ++i) {
        if (strncasecmp(text + i, word, length) == 0) {
            return true;
        }
    }
    return false;
}

const char *image_word_meant(const char *word, size_t bytes)
{
    static const struct {
        const char *word, *meant;
    } others[] = {{"dev", "val"},         {"devel", "val"},
                  {"development", "val"}, {"eval", "val or test"},
                  {"trn", "train"},       {"evaluation", "test"},
                  {"holdout", "test"},    {"held-out", "test"},
                  {"heldout", "test"},    {"evaluate", "val or test"},
                  {"tst", "test"},        {"validate", "val"}};
    static const struct {
        const char *part, *meant;
    } parts[] = {{"train", "train"}, {"valid", "val"}, {"test", "test"}}; /* train2017, validset, test_images */
    static const char *const words[] = {"train", "val", "test"};
    char text[32];
    if (bytes >= sizeof text) {
        return NULL;
    }
    for (size_t i = 0; i < LENGTH(others); ++i) {
        if (same_word(word, bytes, others[i].word)) {
            return others[i].meant;
        }
    }
    for (size_t i = 0; i < LENGTH(parts); ++i) {
        if (holds_word(word, bytes, parts[i].part)) {
            return parts[i].meant;
        }
    }
    memcpy(text, word, bytes);
    text[bytes] = '\0';
    return nearest_word(text, words, LENGTH(words));
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static const char *file_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

/* Returns the entry of a list that a file's name ends in, or NULL. A hidden file has no ending. */
static const char *ending_of(const char *name, const char *const *endings, size_t count)
{
    const char *file = file_of(name), *dot = strrchr(file, '.');
    for (size_t i = 0; i < count && dot != NULL && dot > file && file[0] != '.'; ++i) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return endings[i];
        }
    }
    return NULL;
}

bool image_name_is_read(const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    return ending_of(name, endings, LENGTH(endings)) != NULL;
}

const char *image_name_foreign(const char *name)
{
    static const char *const endings[] = {".bmp",  ".webp", ".gif",  ".tif", ".tiff", ".ppm", ".pgm",
                                          ".avif", ".heic", ".heif", ".jp2", ".jxl",  ".tga", ".jfif"};
    return ending_of(name, endings, LENGTH(endings));
}

static bool begins_with(const char *text, const char *start)
{
    return strncasecmp(text, start, strlen(start)) == 0;
}

bool image_name_lies_beside(const char *name)
{
    static const char *const endings[] = {".txt", ".csv", ".tsv", ".json", ".md", ".xml", ".yaml", ".yml"};
    const char *file = file_of(name);
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        const bool up = strcmp(part, "..") == 0 || begins_with(part, "../");
        if ((part[0] == '.' && part[1] != '/' && part[1] != '\0' && !up) || begins_with(part, "__MACOSX/")) {
            return true;
        }
    }
    return ending_of(name, endings, LENGTH(endings)) != NULL || begins_with(file, "README") ||
           begins_with(file, "LICENSE") || strcasecmp(file, "Thumbs.db") == 0;
}

/* An image may belong to a class: it is in a folder, and no folder from `from` on is hidden, "." or "..". */
static bool is_plain(const char *from)
{
    for (const char *part = from; part != NULL; part = strchr(part, '/')) {
        part += *part == '/' && part > from;
        if (*part == '.' || *part == '/' || begins_with(part, "__MACOSX/")) {
            return false;
        }
    }
    return strchr(from, '/') != NULL;
}

/* ---- folders --------------------------------------------------------------------------------------------------- */

bool image_name_in_split(const char *name, bool rooted, image_words *words)
{
    bool found = false;
    for (const char *part = name, *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        const size_t bytes = (size_t)(slash - part);
        const int split = image_word_split(part, bytes);
        if (split >= 0 && is_plain(slash + 1)) {
            *words = (image_words){.split = split,
                                   .word = part,
                                   .word_bytes = bytes,
                                   .class = slash + 1,
                                   .class_bytes = strcspn(slash + 1, "/")};
            found = true;
        }
        if (rooted) {
            break;
        }
    }
    return found;
}

bool image_name_in_class(const char *name, size_t root, image_words *words)
{
    const char *class = name + root;
    *words = (image_words){.split = SPLIT_TRAIN, .word = name, .class = class, .class_bytes = strcspn(class, "/")};
    return is_plain(class);
}
