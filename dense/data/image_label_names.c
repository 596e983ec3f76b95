/* dense/data/image_label_names.c: names for labels that are numbers; see dense/data/image_store.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/letters/letters.h"
#include "base/log.h"
#include "dense/data/image_reader.h"

enum { TEXT_MOST = 1 << 20, LABELS = 256 /* bytes */ };

/* Of training labels, or for a trained model of all. */
typedef struct label_range {
    int32_t low, high;
    int32_t occurring; /* different ones */
} label_range;

static label_range range_of(const image_set *set, bool trained)
{
    bool seen[LABELS] = {false};
    label_range range = {.low = INT32_MAX, .high = -1};
    for (int s = 0; s < (trained ? TRAIN_SPLITS : 1); ++s) {
        const image_part *part = &set->store->part[s];
        for (int64_t i = 0; i < part->count; ++i) {
            range.low = part->label[i] < range.low ? part->label[i] : range.low;
            range.high = part->label[i] > range.high ? part->label[i] : range.high;
            seen[part->label[i]] = true;
        }
    }
    for (int32_t k = 0; k <= range.high; ++k) {
        range.occurring += seen[k];
    }
    return range;
}

/* ---- the file of names ----------------------------------------------------------------------------------------- */

/* A line without blanks at its ends; what it has is composed in place. */
static char *trim(char *line)
{
    char composed[IMAGE_NAME_BYTES];
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL) {
        length -= 1;
    }
    line[length] = '\0';
    if (letters_compose(line, length, composed, sizeof composed) && strlen(composed) <= length) {
        memcpy(line, composed, strlen(composed) + 1);
    }
    return line;
}

/* Lines that hold something. texts: [lines of the text], which point into it. A byte order mark in front is read
 * over. */
static int64_t split_lines(char *text, const char **texts)
{
    static const char mark[] = "\xef\xbb\xbf";
    int64_t count = 0;
    text += strncmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line = trim(line);
        if (*line != '\0') {
            texts[count++] = line;
        }
    }
    return count;
}

weft_status image_names_read(const char *path, name_list *names)
{
    char *text;
    size_t bytes;
    const char **texts = NULL;
    int64_t lines = 1;
    WEFT_TRY(file_read_text(path, TEXT_MOST, &text, &bytes));
    for (size_t i = 0; i < bytes; ++i) {
        lines += text[i] == '\n';
    }
    weft_status status = WEFT_NEW(&texts, lines, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? name_list_copy(texts, split_lines(text, texts), names) : status;
    WEFT_FREE_ALL(texts, text);
    return status;
}

/* A file of one name a line may also be something else, such as the label of each image: then its lines repeat. */
static weft_status find_names(const char *folder, label_range range, char path[FILE_PATH_MAX], name_list *names)
{
    static const char *const files[] = {"classes.txt", "labels.txt"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        WEFT_TRY(file_path(path, "%s/%s", folder, files[i]));
        if (!file_exists(path)) {
            continue;
        }
        weft_status status = image_names_read(path, names);
        status = status == WEFT_OK ? name_list_check_distinct(path, names) : status;
        const bool one_based = range.low >= 1 && names->count == range.high;
        if (status == WEFT_OK && names->count <= IMAGE_CLASSES_MAX && (names->count > range.high || one_based)) {
            return WEFT_OK;
        }
        if (status != WEFT_OK && status != WEFT_ERR_DATA) {
            return status;
        }
        log_warn("%s: %lld names%s for labels %d to %d: expected one line for each class; no names are taken", path,
                 (long long)names->count, status != WEFT_OK ? ", some of them twice," : "", range.low, range.high);
        weft_error_clear();
        name_list_free(names);
    }
    return WEFT_OK;
}

/* ---- into the set ---------------------------------------------------------------------------------------------- */

static void shift_labels(image_set *set)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const image_part *part = &set->store->part[s];
        for (int64_t i = 0; i < part->count; ++i) {
            part->label[i] -= 1;
        }
    }
}

static bool has_label_0(const image_set *set)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const image_part *part = &set->store->part[s];
        for (int64_t i = 0; i < part->count; ++i) {
            if (part->label[i] == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Training labels make the classes. first: the label of class 0. */
static weft_status check_labels(const char *tests, const image_set *set, int64_t first)
{
    const image_part *part = &set->store->part[IMAGE_TEST];
    for (int64_t i = 0; i < part->count; ++i) {
        WEFT_CHECK(part->label[i] < set->classes, WEFT_ERR_DATA,
                   "%s: label %lld of image %lld; the training labels are %lld to %lld", tests,
                   (long long)(part->label[i] + first), (long long)i, (long long)first,
                   (long long)(set->classes - 1 + first));
    }
    return WEFT_OK;
}

static weft_status take_names(const name_list *names, bool numbers, image_set *set)
{
    WEFT_TRY(image_set_name_classes(set, set->classes));
    for (int64_t c = 0; c < set->classes; ++c) {
        if (numbers) {
            snprintf(set->class_name[c], IMAGE_NAME_BYTES, "%lld", (long long)c + 1);
        } else {
            snprintf(set->class_name[c], IMAGE_NAME_BYTES, "%s", names->text[c]);
            image_hash_mix(set->hash, set->class_name[c], strlen(set->class_name[c]));
        }
    }
    return WEFT_OK;
}

weft_status image_name_labels(const char *folder, const char *tests, bool trained, image_set *set)
{
    char path[FILE_PATH_MAX];
    name_list names = {.text = NULL};
    const label_range range = range_of(set, trained);
    weft_status status = range.high >= 0 ? find_names(folder, range, path, &names) : WEFT_OK;
    WEFT_TRY_GOTO(status, status, done);
    const bool named = names.text != NULL;
    const bool all_from_one = range.low == 1 && range.occurring == range.high && !trained;
    const bool from_one = !has_label_0(set) && (named ? names.count == range.high : all_from_one);
    set->classes = named ? names.count : range.high + (from_one ? 0 : 1);
    if (from_one) {
        shift_labels(set);
        log_info("%s: labels 1 to %d are the classes 0 to %d, called %s", set->name, range.high, range.high - 1,
                 named ? "as in the file of names" : "by their labels");
    }
    if (named && !from_one && !has_label_0(set)) {
        log_warn("%s: no label is 0, and none is %lld, the number of names in %s: labels are taken to count from 0, so "
                 "that %d is %s; if it is %s, put a line for label 0 in front of the names",
                 set->name, (long long)names.count, path, range.low, names.text[range.low], names.text[range.low - 1]);
    }
    if (named) {
        log_info("%s: names of %lld classes from %s", set->name, (long long)names.count, path);
    }
    if (!trained && range.occurring < set->classes) {
        log_warn("%s: %d of %lld classes have training images", set->name, range.occurring, (long long)set->classes);
    }
    status = check_labels(tests, set, from_one ? 1 : 0);
    if (status == WEFT_OK && (named || from_one)) {
        status = take_names(&names, !named, set);
    }
done:
    name_list_free(&names);
    return status;
}
