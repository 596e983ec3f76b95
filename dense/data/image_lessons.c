/*
 * dense/data/image_lessons.c: other labels than a reader's: a teacher's answers, and some of the classes beside all
 * others as one; see dense/data/image_store.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text/append.h"
#include "dense/data/image_hash.h"
#include "dense/data/image_options.def"
#include "dense/data/image_store.h"

/* Parts in the order of an evaluation. */
static const int order[TRAIN_SPLITS] = {IMAGE_VALID, IMAGE_TEST, IMAGE_TRAIN};

/* ---- a teacher -------------------------------------------------------------------------------------------------- */

static int64_t row_of(const image_store *store, int split, int64_t index)
{
    int64_t before = 0;
    for (int i = 0; i < TRAIN_SPLITS && order[i] != split; ++i) {
        before += store->part[order[i]].count;
    }
    return before + index;
}

static weft_status check_teacher(const char *folder, const teacher *t, const image_set *set)
{
    const image_part *part = set->store->part;
    const int64_t images = part[IMAGE_TRAIN].count + part[IMAGE_VALID].count + part[IMAGE_TEST].count;
    WEFT_CHECK(strcmp(t->hash, set->hash) == 0, WEFT_ERR_DATA,
               FLAG_TEACHER " %s: its answers are for other images than %s: let weft predict answer for these", folder,
               set->name);
    WEFT_CHECK(t->rows == images, WEFT_ERR_DATA,
               FLAG_TEACHER " %s: has %lld answers, and %s has %lld images: let weft predict answer for all of "
                            "them, its option split set to labelled",
               folder, (long long)t->rows, set->name, (long long)images);
    return WEFT_OK;
}

static weft_status take_labels(const teacher *t, image_store *store)
{
    int64_t row = 0;
    for (int i = 0; i < TRAIN_SPLITS; ++i) {
        const image_part *part = &store->part[order[i]];
        for (int64_t k = 0; k < part->count; ++k) {
            WEFT_TRY(teacher_class(t, row++, &part->label[k]));
        }
    }
    return WEFT_OK;
}

weft_status image_set_teach(const char *folder, double temperature, bool trained, image_set *set)
{
    image_store *store = set->store;
    image_part *part = store->part;
    teacher *t = &store->teacher;
    WEFT_TRY(teacher_open(folder, t));
    WEFT_TRY(check_teacher(folder, t, set));
    WEFT_TRY(take_labels(t, store));
    if (set->classes == 0 && !trained) { /* images without classes come to be answered, and are trained on now */
        part[IMAGE_TRAIN] = part[IMAGE_TEST];
        part[IMAGE_TEST] = (image_part){.count = 0};
    }
    WEFT_TRY(WEFT_NEW(&store->taught, t->classes, WEFT_MEM_IMAGE));
    for (int64_t c = 0; c < t->classes; ++c) {
        store->taught[c] = (int32_t)c;
    }
    store->temperature = temperature;
    image_hash_mix(set->hash, t->answers.data, t->answers.header.data_bytes);
    image_hash_mix(set->hash, &temperature, sizeof temperature);
    log_info("%s: classes are the answers of %s%s", set->name, folder, temperature > 0.0 ? ", by their shares" : "");
    return image_set_rename_classes(set, t->classes, t->names.text);
}

bool image_set_has_shares(const image_set *set)
{
    return set->store->temperature > 0.0;
}

double image_set_temperature(const image_set *set)
{
    return set->store->temperature;
}

void image_set_shares(const image_set *set, int split, int64_t index, float *share)
{
    const image_store *store = set->store;
    image_set_find(set, &split, &index);
    teacher_shares(&store->teacher, row_of(store, split, index), store->taught, store->temperature, set->classes,
                   share);
}

/* ---- some of the classes ---------------------------------------------------------------------------------------- */

static int64_t class_named(const image_set *set, const char *name)
{
    for (int64_t c = 0; c < set->classes; ++c) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)c);
        if (strcmp(name, set->class_name != NULL ? set->class_name[c] : number) == 0) {
            return c;
        }
    }
    return -1;
}

/* [in, out] text: the list, cut at its commas. [out] name: [*count] of its parts. */
static void cut(char *text, char **name, int64_t *count)
{
    *count = 0;
    for (char *at = text; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        name[(*count)++] = at;
        at = comma;
    }
}

/* [out] class_of: [set->classes] places in the list, -1 for classes that it does not name. */
static void place_classes(const image_set *set, char *const *name, int64_t count, int32_t *class_of)
{
    memset(class_of, -1, (size_t)set->classes * sizeof *class_of);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t class = class_named(set, name[i]);
        if (class >= 0) {
            class_of[class] = (int32_t)i;
        }
    }
}

static weft_status check_names(const image_set *set, char *const *name, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        const bool known = class_named(set, name[i]) >= 0;
        WEFT_CHECK(
            (known || i == count - 1) && name[i][0] != '\0' && strlen(name[i]) < IMAGE_NAME_BYTES, WEFT_ERR_USAGE,
            FLAG_IMAGE_CLASSES ": %s: no class of %s is called so; only the last name may be a new one, which is "
                               "that of all other classes",
            name[i], set->name);
        for (int64_t k = 0; k < i; ++k) {
            WEFT_CHECK(strcmp(name[i], name[k]) != 0, WEFT_ERR_USAGE, FLAG_IMAGE_CLASSES ": %s stands there twice",
                       name[i]);
        }
    }
    return WEFT_OK;
}

/* A name that a list may end with. */
static const char *new_name(const image_set *set)
{
    static const char *const names[] = {"other", "others", "rest"};
    int i = 0;
    while (i < 2 && class_named(set, names[i]) >= 0) {
        ++i;
    }
    return names[i];
}

/* What the list does not name is the last name, where that is no class of its own. left: the classes of it. */
static weft_status place_others(const image_set *set, bool others, int64_t count, int32_t *class_of, char *left,
                                size_t bytes)
{
    for (int64_t c = 0; c < set->classes; ++c) {
        if (class_of[c] >= 0) {
            continue;
        }
        char number[24];
        (void)snprintf(number, sizeof number, "%lld", (long long)c);
        const char *name = set->class_name != NULL ? set->class_name[c] : number;
        WEFT_CHECK(others, WEFT_ERR_USAGE,
                   FLAG_IMAGE_CLASSES ": does not say what %s is, which %s has too: give the list a last name for all "
                                      "others that is no class of the images, such as %s",
                   name, set->name, new_name(set));
        text_append_name(left, bytes, name);
        class_of[c] = (int32_t)count - 1;
    }
    return WEFT_OK;
}

/* learnt: the list is that of a trained model, and other data need not have its classes. */
static weft_status choose(image_set *set, bool learnt, char *text, char **name, int32_t *class_of)
{
    image_store *store = set->store;
    char left[160] = "";
    int64_t count;
    cut(text, name, &count);
    const bool others = class_named(set, name[count - 1]) < 0;
    if (learnt && !others) { /* classes are matched by name, and unknown ones told */
        return WEFT_OK;
    }
    WEFT_TRY(learnt ? WEFT_OK : check_names(set, name, count));
    place_classes(set, name, count, class_of);
    WEFT_TRY(place_others(set, others, count, class_of, left, sizeof left));
    if (learnt && left[0] != '\0') {
        log_info("%s: %s: are taken for %s, as in the model's training", set->name, left, name[count - 1]);
    } else if (!learnt && others && left[0] == '\0') {
        log_warn(FLAG_IMAGE_CLASSES ": no image of %s is %s: the list names all its classes", set->name,
                 name[count - 1]);
    }
    for (int64_t c = 0; store->taught != NULL && c < store->teacher.classes; ++c) {
        store->taught[c] = class_of[store->taught[c]];
    }
    return image_set_relabel(set, class_of, count, name);
}

static int64_t count_names(const char *list)
{
    int64_t count = 1;
    for (; *list != '\0'; ++list) {
        count += *list == ',';
    }
    return count;
}

weft_status image_set_choose_classes(const char *list, bool learnt, image_set *set)
{
    char *text = NULL, **name = NULL;
    int32_t *class_of = NULL;
    const size_t bytes = strlen(list) + 1;
    if (learnt && set->classes == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(set->classes > 0, WEFT_ERR_USAGE,
               FLAG_IMAGE_CLASSES ": the images of %s have no classes: " FLAG_TEACHER " gives them some", set->name);
    if (!learnt) { /* answers are for the images, whoever gives them */
        image_hash_mix(set->hash, list, bytes);
    }
    weft_status status = WEFT_NEW(&text, (int64_t)bytes, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&name, count_names(list), WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? WEFT_NEW(&class_of, set->classes, WEFT_MEM_WORKSPACE) : status;
    if (status == WEFT_OK) {
        memcpy(text, list, bytes);
        status = choose(set, learnt, text, name, class_of);
    }
    WEFT_FREE_ALL(text, name, class_of);
    return status;
}
