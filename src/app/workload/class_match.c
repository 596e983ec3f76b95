/* app/workload/class_match.c: see app/workload/class_match.h. */
#include "app/workload/class_match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/letters/letters.h"
#include "base/log.h"
#include "base/text/append.h"

enum { NUMBER_BYTES = 24 };

/* ---- names ----------------------------------------------------------------------------------------------------- */

typedef struct named_class {
    char *name; /* owned */
    int64_t number;
} named_class;

typedef struct class_index {
    named_class *entry; /* [count] */
    int64_t count;
} class_index;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_class *)a)->name, ((const named_class *)b)->name);
}

static void free_index(class_index *index)
{
    for (int64_t i = 0; i < index->count; ++i) {
        weft_free(index->entry[i].name);
    }
    weft_free(index->entry);
    *index = (class_index){.entry = NULL};
}

/* The name of a class; without names its number is one. */
static const char *name_of(const class_side *side, int64_t class, char number[NUMBER_BYTES])
{
    if (side->name != NULL) {
        return side->name[class];
    }
    snprintf(number, NUMBER_BYTES, "%" PRId64, class);
    return number;
}

static weft_status make_index(const class_side *side, class_index *index)
{
    *index = (class_index){.entry = NULL};
    WEFT_TRY(WEFT_NEW_ZERO(&index->entry, side->classes, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < side->classes; ++i) {
        char number[NUMBER_BYTES];
        const char *name = name_of(side, i, number);
        const size_t bytes = strlen(name) + 1;
        named_class *entry = &index->entry[i];
        weft_status status = WEFT_NEW(&entry->name, bytes, WEFT_MEM_WORKSPACE);
        if (status != WEFT_OK) {
            free_index(index);
            return status;
        }
        if (!letters_compose(name, bytes - 1, entry->name, bytes)) { /* composed letters may take a byte more */
            memcpy(entry->name, name, bytes);
        }
        entry->number = i;
        index->count = i + 1;
    }
    if (index->count > 0) {
        qsort(index->entry, (size_t)index->count, sizeof *index->entry, by_name);
    }
    return WEFT_OK;
}

/* The number of the class of that name; -1: there is none. */
static int64_t find(const class_index *index, const named_class *wanted)
{
    const named_class *found =
        index->count > 0 ? bsearch(wanted, index->entry, (size_t)index->count, sizeof *wanted, by_name) : NULL;
    return found != NULL ? found->number : -1;
}

bool class_side_is_named(const class_side *side)
{
    class_index index;
    bool named = side->name != NULL && side->classes > 0;
    for (int64_t i = 0; named && i < side->classes; ++i) {
        named = side->name[i][0] != '\0';
    }
    if (!named || make_index(side, &index) != WEFT_OK) {
        return false;
    }
    for (int64_t i = 1; i < index.count; ++i) {
        named = named && strcmp(index.entry[i - 1].name, index.entry[i].name) != 0;
    }
    free_index(&index);
    return named;
}

/* Names that are whole numbers as they are written for classes without names: "0", "17". */
static bool are_numbers(const class_side *side)
{
    for (int64_t i = 0; i < side->classes; ++i) {
        const char *name = side->name[i];
        const size_t digits = strspn(name, "0123456789");
        if (digits == 0 || digits > 9 || name[digits] != '\0' || (name[0] == '0' && digits > 1)) {
            return false;
        }
    }
    return true;
}

/* Names that are the numbers which classes without names have. */
static bool count_from_0(const class_side *side)
{
    char number[NUMBER_BYTES];
    for (int64_t i = 0; i < side->classes; ++i) {
        snprintf(number, NUMBER_BYTES, "%" PRId64, i);
        if (strcmp(side->name[i], number) != 0) {
            return false;
        }
    }
    return true;
}

const char *class_side_list(const class_side *side, char text[CLASS_LIST_BYTES])
{
    text[0] = '\0';
    for (int64_t i = 0; i < side->classes; ++i) {
        char number[NUMBER_BYTES];
        text_append_name(text, CLASS_LIST_BYTES, name_of(side, i, number));
    }
    return text;
}

/* ---- matching -------------------------------------------------------------------------------------------------- */

static weft_status match_numbers(const class_side *model, const class_side *data, const int64_t *rows,
                                 int32_t *class_of)
{
    int64_t used = data->classes;
    while (used > 0 && rows[used - 1] == 0) {
        used -= 1;
    }
    WEFT_CHECK(used <= model->classes, WEFT_ERR_DATA,
               "%s: answers with %" PRId64 " classes or tasks, and %s has %" PRId64, model->origin, model->classes,
               data->origin, data->classes);
    for (int64_t i = 0; i < data->classes; ++i) {
        class_of[i] = i < model->classes ? (int32_t)i : -1;
    }
    return WEFT_OK;
}

/* Classes that are called by words have numbers by the order of those that are there: another set of them has
 * others. */
static weft_status check_numbers(const class_side *model, const class_side *data)
{
    char names[CLASS_LIST_BYTES];
    WEFT_CHECK(model->name != NULL || data->name == NULL || data->classes == model->classes, WEFT_ERR_DATA,
               "%s: answers with %" PRId64 " classes or tasks, and %s has %" PRId64
               " (%s): which is which? the model's "
               "classes have no names here: give its run folder or a file of weft export, which have them",
               model->origin, model->classes, data->origin, data->classes, class_side_list(data, names));
    return WEFT_OK;
}

static weft_status match_names(const class_side *model, const class_side *data, int32_t *class_of)
{
    class_index models, datas;
    WEFT_TRY(make_index(model, &models));
    weft_status status = make_index(data, &datas);
    for (int64_t i = 0; i < datas.count && status == WEFT_OK; ++i) {
        class_of[datas.entry[i].number] = (int32_t)find(&models, &datas.entry[i]);
    }
    free_index(&models);
    free_index(&datas);
    return status;
}

/* Classes of the data that occur, and that the model does not know. */
static void tell_unknown(const class_side *model, const class_side *data, const int64_t *rows, const char *word,
                         const int32_t *class_of)
{
    char names[CLASS_LIST_BYTES];
    char unknown[CLASS_LIST_BYTES] = "";
    int64_t left_out = 0;
    for (int64_t i = 0; i < data->classes; ++i) {
        char number[NUMBER_BYTES];
        if (class_of[i] < 0 && rows[i] > 0) {
            left_out += rows[i];
            text_append_name(unknown, sizeof unknown, name_of(data, i, number));
        }
    }
    if (left_out > 0) {
        log_warn("%s: %s: %" PRId64
                 " %s of classes that the model does not know are left out of the scores; it knows %s",
                 data->origin, unknown, left_out, word, class_side_list(model, names));
    }
}

static void tell_numbers(const class_side *model, const class_side *data, bool model_named)
{
    char names[CLASS_LIST_BYTES];
    log_warn("%s has classes without names, and %s has %s: classes are matched by number (0 is %s)",
             model_named ? data->origin : model->origin, model_named ? model->origin : data->origin,
             class_side_list(model_named ? model : data, names), (model_named ? model : data)->name[0]);
}

/* Rows of known classes; without class_of all rows. */
static int64_t count_known(const class_side *data, const int64_t *rows, const int32_t *class_of)
{
    int64_t known = 0;
    for (int64_t i = 0; i < data->classes; ++i) {
        known += class_of == NULL || class_of[i] >= 0 ? rows[i] : 0;
    }
    return known;
}

weft_status class_match(const class_side *model, const class_side *data, const int64_t *rows, const char *word,
                        int32_t *class_of, int64_t *known)
{
    const bool model_named = class_side_is_named(model), data_named = class_side_is_named(data);
    const class_side models = {model->origin, model_named ? model->name : NULL, model->classes};
    const class_side datas = {data->origin, data_named ? data->name : NULL, data->classes};
    const bool both = model_named && data_named, one = model_named != data_named;
    bool names = both || (one && are_numbers(model_named ? &models : &datas));
    if (names) {
        WEFT_TRY(match_names(&models, &datas, class_of));
        *known = count_known(&datas, rows, class_of);
        names = both || *known == count_known(&datas, rows, NULL); /* other numbers count from elsewhere */
    }
    if (names && one) {
        log_info("%s: its classes have no names and are called by their numbers",
                 model_named ? data->origin : model->origin);
    }
    if (!names) {
        WEFT_TRY(check_numbers(&models, &datas));
        WEFT_TRY(match_numbers(&models, &datas, rows, class_of));
        *known = count_known(&datas, rows, class_of);
        if (one) {
            tell_numbers(&models, &datas, model_named);
        } else if (data->classes < model->classes) {
            log_info("%s: %" PRId64 " classes, taken by number for the first of the model's %" PRId64, data->origin,
                     data->classes, model->classes);
        }
    }
    tell_unknown(&models, &datas, rows, word, class_of);
    return WEFT_OK;
}

weft_status class_match_check_start(const class_side *model, const class_side *data)
{
    int32_t *class_of = NULL;
    char names[CLASS_LIST_BYTES], others[CLASS_LIST_BYTES];
    int64_t shared = 0;
    const bool model_named = class_side_is_named(model), data_named = class_side_is_named(data);
    if (model_named != data_named && !count_from_0(model_named ? model : data)) {
        tell_numbers(model, data, model_named);
    }
    if (!model_named || !data_named) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&class_of, data->classes, WEFT_MEM_WORKSPACE));
    weft_status status = match_names(model, data, class_of);
    for (int64_t i = 0; i < data->classes && status == WEFT_OK; ++i) {
        shared += class_of[i] == i;
        if (class_of[i] >= 0 && class_of[i] != i) {
            status = weft_fail(WEFT_ERR_DATA,
                               "%s: class %d is %s, which has number %" PRId64
                               " in %s: its classes are %s, those of the data %s; training goes on by number, so that "
                               "their order must be the same",
                               model->origin, class_of[i], data->name[i], i, data->origin,
                               class_side_list(model, names), class_side_list(data, others));
        }
    }
    if (status == WEFT_OK && shared < data->classes) {
        log_warn("%s: its classes are %s, those of %s are %s: the last layer begins with answers for others",
                 model->origin, class_side_list(model, names), data->origin, class_side_list(data, others));
    }
    weft_free(class_of);
    return status;
}
