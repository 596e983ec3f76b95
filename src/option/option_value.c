/*
 * option/option_value.c: texts become values; the object that holds them.
 *
 * Every text is consumed whole, in the C locale, and checked against the row's range or choices before it is stored.
 * The normalised text is kept beside the number, so that manifests and the blob for other ranks say what a user would
 * type.
 */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/text/append.h"
#include "option/option_internal.h"

/* ---- one value ------------------------------------------------------------------------------------------------- */

/* Whole ranges print whole; large limits of real options as 1e+06. */
const char *option_bound_text(const option_row *row, double bound, char text[32])
{
    if (row->type != OPTION_INT && row->type != OPTION_INTLIST && fabs(bound) >= 1e6) {
        snprintf(text, 32, "%.0e", bound);
        return text;
    }
    return number_format_real(bound, text);
}

static weft_status check_range(const option_row *row, const char *spelled, double value)
{
    char min[32], max[32];
    const char *unit = row->type == OPTION_SIZE ? " bytes" : row->type == OPTION_TIME ? " seconds" : "";
    WEFT_CHECK(value >= row->min && value <= row->max, WEFT_ERR_USAGE, "%s: must be between %s and %s%s", spelled,
               option_bound_text(row, row->min, min), option_bound_text(row, row->max, max), unit);
    return WEFT_OK;
}

static weft_status copy_text(const char *text, size_t length, char **copy)
{
    WEFT_TRY(WEFT_NEW(copy, length + 1, WEFT_MEM_GENERAL));
    memcpy(*copy, text, length);
    (*copy)[length] = '\0';
    return WEFT_OK;
}

static weft_status parse_flag(const char *spelled, const char *text, option_value *value)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
    for (int i = 0; i < 8; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            value->integer = i % 2;
            return copy_text(words[i % 2], strlen(words[i % 2]), &value->text);
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "%s: a flag is on or off", spelled);
}

static weft_status parse_choice(const option_row *row, const char *spelled, const char *text, option_value *value)
{
    char names[OPTION_LIST_MAX][OPTION_WORD_MAX], listed[512] = "";
    const char *pointers[OPTION_LIST_MAX], *cursor = row->choices;
    int count = 0;
    int same = -1; /* the word in another letter case, or joined in another way */
    while (count < OPTION_LIST_MAX && option_list_next(&cursor, '|', names[count])) {
        if (strcmp(names[count], text) == 0) {
            value->integer = count;
            return copy_text(text, strlen(text), &value->text);
        }
        same = same < 0 && option_same_word(names[count], text) ? count : same;
        text_append_item(listed, sizeof listed, "%s", names[count]);
        pointers[count] = names[count];
        count++;
    }
    if (same >= 0) {
        value->integer = same;
        return copy_text(names[same], strlen(names[same]), &value->text);
    }
    const char *near = nearest_word(text, pointers, count);
    const bool words_alone = row->type == OPTION_CHOICE || row->unit[0] == '\0';
    return weft_fail(WEFT_ERR_USAGE, "%s: must be %s%sone of %s%s%s%s", spelled, words_alone ? "" : row->unit,
                     words_alone ? "" : " or ", listed, near ? "; did you mean " : "", near ? near : "",
                     near ? "?" : "");
}

typedef struct unit_suffix {
    const char *text;
    double factor;
} unit_suffix;

/* A number with an optional unit; blanks between the two are allowed ("16 GiB"). */
static bool parse_with_unit(const char *text, const unit_suffix *units, double *number, double *factor)
{
    const char *end = NULL;
    *factor = 1;
    if (!number_scan_real(text, &end, number)) {
        return false;
    }
    while (*end == ' ') {
        end++;
    }
    for (; units->text != NULL; units++) {
        if (strcmp(end, units->text) == 0) {
            *factor = units->factor;
            return true;
        }
    }
    return false;
}

static bool scan_size(const char *text, double *bytes)
{
    static const unit_suffix units[] = {
        {"", 1},
        {"B", 1},
        {"K", 1024.0},
        {"KiB", 1024.0},
        {"M", 1048576.0},
        {"MiB", 1048576.0},
        {"G", 1073741824.0},
        {"GiB", 1073741824.0},
        {"T", 1099511627776.0},
        {"TiB", 1099511627776.0},
        {NULL, 0},
    };
    double number = 0, factor = 1;
    const bool known = parse_with_unit(text, units, &number, &factor);
    *bytes = number * factor;
    return known;
}

static weft_status parse_size(const option_row *row, const char *spelled, const char *text, option_value *value)
{
    double bytes = 0;
    int64_t whole = 0;
    WEFT_CHECK(scan_size(text, &bytes), WEFT_ERR_USAGE,
               "%s: not a size: write bytes or a number with K, M, G or T (KiB, MiB, GiB, TiB)", spelled);
    WEFT_TRY(check_range(row, spelled, bytes));
    /* Plain digits keep every bit; above 2^53 a double would not. */
    value->size = number_parse_int(text, &whole) ? (uint64_t)whole : (uint64_t)bytes;
    return copy_text(text, strlen(text), &value->text);
}

static weft_status parse_time(const option_row *row, const char *spelled, const char *text, option_value *value)
{
    static const unit_suffix units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {NULL, 0}};
    double number = 0, factor = 1;
    WEFT_CHECK(parse_with_unit(text, units, &number, &factor), WEFT_ERR_USAGE,
               "%s: not a time: write seconds or a number with s, m, min or h", spelled);
    WEFT_TRY(check_range(row, spelled, number * factor));
    value->real = number * factor;
    return copy_text(text, strlen(text), &value->text);
}

static weft_status parse_item(const option_row *row, const char *spelled, const char *text, int64_t *value)
{
    double number = 0.0;
    WEFT_CHECK(scan_size(text, &number) && number == floor(number), WEFT_ERR_USAGE, "%s: \"%s\" is not an integer",
               spelled, text);
    WEFT_TRY(check_range(row, spelled, number));
    *value = (int64_t)number;
    return WEFT_OK;
}

static weft_status parse_list(const option_row *row, const char *spelled, const char *text, int64_t *values,
                              int capacity, int *count)
{
    char item[OPTION_WORD_MAX];
    const char *cursor = text;
    size_t length = strlen(text);
    *count = 0;
    WEFT_CHECK(length > 0 && text[length - 1] != ',', WEFT_ERR_USAGE, "%s: a list of integers such as 16,64", spelled);
    while (option_list_next(&cursor, ',', item)) {
        int64_t value = 0, last = 0;
        char *dots = strstr(item, "..");
        if (dots != NULL) {
            *dots = '\0';
        }
        WEFT_TRY(parse_item(row, spelled, item, &value));
        WEFT_TRY(parse_item(row, spelled, dots != NULL ? dots + 2 : item, &last));
        WEFT_CHECK(value <= last && (value > 0 || value == last), WEFT_ERR_USAGE,
                   "%s: %s..%s does not go up from above 0", spelled, item, dots != NULL ? dots + 2 : item);
        do {
            WEFT_CHECK(*count < capacity, WEFT_ERR_USAGE, "%s: more than %d values", spelled, capacity);
            values[(*count)++] = value;
            value *= 2;
        } while (value != 0 && value <= last);
    }
    return WEFT_OK;
}

/* Of a row with words, one of them, unless it names a file. */
static weft_status parse_text(const option_row *row, const char *spelled, const char *text, option_value *value)
{
    for (const char *at = text; *at != '\0'; at++) {
        WEFT_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f, WEFT_ERR_USAGE, "%s: control characters are not allowed",
                   spelled);
    }
    if (row->choices[0] != '\0' && strpbrk(text, "./") == NULL) {
        return parse_choice(row, spelled, text, value);
    }
    return copy_text(text, strlen(text), &value->text);
}

/* On failure nothing is held. */
static weft_status parse_value(const option_row *row, const char *spelled, const char *text, option_value *value)
{
    int64_t list[OPTION_LIST_MAX];
    int count = 0;
    WEFT_CHECK(row->type == OPTION_TEXT || text[0] != '\0', WEFT_ERR_USAGE, "%s: needs a value", spelled);
    switch (row->type) {
    case OPTION_FLAG:
        return parse_flag(spelled, text, value);
    case OPTION_INT:
        WEFT_CHECK(number_parse_int(text, &value->integer), WEFT_ERR_USAGE, "%s: not an integer", spelled);
        WEFT_TRY(check_range(row, spelled, (double)value->integer));
        return copy_text(text, strlen(text), &value->text);
    case OPTION_REAL:
        if (option_list_has(row->choices, '|', text)) {
            value->real = (double)NAN;
            return copy_text(text, strlen(text), &value->text);
        }
        WEFT_CHECK(number_parse_real(text, &value->real), WEFT_ERR_USAGE, "%s: not a number%s%s", spelled,
                   row->choices[0] != '\0' ? ", nor " : "", row->choices);
        WEFT_TRY(check_range(row, spelled, value->real));
        return copy_text(text, strlen(text), &value->text);
    case OPTION_CHOICE:
        return parse_choice(row, spelled, text, value);
    case OPTION_SIZE:
        return parse_size(row, spelled, text, value);
    case OPTION_TIME:
        return parse_time(row, spelled, text, value);
    case OPTION_INTLIST:
        WEFT_TRY(parse_list(row, spelled, text, list, OPTION_LIST_MAX, &count));
        return copy_text(text, strlen(text), &value->text);
    case OPTION_TEXT:
        break;
    }
    return parse_text(row, spelled, text, value);
}

/* ---- the object ------------------------------------------------------------------------------------------------ */

weft_status option_create(const option_command *command, weft_options **options)
{
    weft_options *made = NULL;
    *options = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&made, 1, WEFT_MEM_GENERAL));
    made->command = command;
    weft_status status = WEFT_NEW_ZERO(&made->values, (size_t)command->catalog->count, WEFT_MEM_GENERAL);
    for (int place = 0; status == WEFT_OK && place < command->catalog->count; place++) {
        const option_row *row = &command->catalog->rows[place];
        status = parse_value(row, row->name, row->default_text, &made->values[place]);
    }
    if (status != WEFT_OK) {
        option_destroy(made);
        return weft_fail_context(status, "default of an option: ");
    }
    *options = made;
    return WEFT_OK;
}

void option_destroy(weft_options *options)
{
    if (options == NULL) {
        return;
    }
    for (int place = 0; options->values != NULL && place < option_count(options); place++) {
        weft_free(options->values[place].text);
    }
    weft_free(options->values);
    for (int i = 0; i < options->argument_count; i++) {
        weft_free(options->arguments[i]);
    }
    WEFT_FREE_ALL(options->arguments, options);
}

static option_value *held_value(const weft_options *options, option_id id)
{
    const int place = option_place(options->command->catalog, id);
    assert(place >= 0);
    return &options->values[place];
}

static bool same_value(option_type type, const option_value *a, const option_value *b)
{
    switch (type) {
    case OPTION_FLAG:
    case OPTION_INT:
    case OPTION_CHOICE:
        return a->integer == b->integer;
    case OPTION_REAL:
    case OPTION_TIME:
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    case OPTION_SIZE:
        return a->size == b->size;
    case OPTION_TEXT:
    case OPTION_INTLIST:
        break;
    }
    return a->text != NULL && b->text != NULL && strcmp(a->text, b->text) == 0;
}

weft_status option_set(weft_options *options, option_id id, option_source source, const char *spelled, const char *text)
{
    const option_row *row = option_row_in(options, id);
    option_value value = {.source = source}, *held = held_value(options, id);
    const char *answer = option_value_answer(options->command->catalog, id, text);
    WEFT_CHECK(answer == NULL, WEFT_ERR_USAGE, "%s: %s", spelled, answer);
    WEFT_TRY(parse_value(row, spelled, option_own_word(options->command->catalog, id, text), &value));
    if (held->source > source) { /* checked, but the stronger source wins */
        weft_free(value.text);
        return WEFT_OK;
    }
    bool may_change = source == OPTION_DEFAULT || source == OPTION_PROGRAM;
    if (held->source == source && !may_change && !same_value(row->type, held, &value)) {
        weft_free(value.text);
        return weft_fail(WEFT_ERR_USAGE, "%s: %s%s is already %s%s from the %s", spelled,
                         source == OPTION_COMMAND_LINE ? "--" : "", row->name, held->text[0] != '\0' ? "" : "\"\"",
                         held->text, option_source_text(source));
    }
    weft_free(held->text);
    *held = value;
    return id == options->command->catalog->recipe ? option_use_recipe(options) : WEFT_OK;
}

void option_mark_decided(weft_options *options, option_id id)
{
    held_value(options, id)->decided = true;
}

weft_status option_restore_default(weft_options *options, option_id id)
{
    const option_row *row = option_row_in(options, id);
    option_value value = {.source = OPTION_DEFAULT};
    WEFT_TRY(parse_value(row, row->name, row->default_text, &value));
    option_value *held = held_value(options, id);
    weft_free(held->text);
    *held = value;
    return WEFT_OK;
}

weft_status option_add_argument(weft_options *options, const char *text)
{
    WEFT_TRY(weft_realloc((void **)&options->arguments, (size_t)options->argument_count + 1, sizeof *options->arguments,
                          WEFT_MEM_GENERAL));
    WEFT_TRY(copy_text(text, strlen(text), &options->arguments[options->argument_count]));
    options->argument_count++;
    return WEFT_OK;
}

/* ---- getters ---------------------------------------------------------------------------------------------------- */

static const option_value *value_of(const weft_options *options, option_id id, option_type type)
{
    assert(option_row_in(options, id)->type == type);
    (void)type;
    return held_value(options, id);
}

const option_command *option_command_of(const weft_options *options)
{
    return options->command;
}

const option_row *option_row_in(const weft_options *options, option_id id)
{
    return option_row_at(options->command->catalog, id);
}

int option_count(const weft_options *options)
{
    return options->command->catalog->count;
}

option_id option_at(const weft_options *options, int place)
{
    assert(place >= 0 && place < option_count(options));
    return options->command->catalog->id[place];
}

const option_catalog *option_catalog_of(const weft_options *options)
{
    return options->command->catalog;
}

int option_argument_count(const weft_options *options)
{
    return options->argument_count;
}

const char *option_argument(const weft_options *options, int i)
{
    assert(i >= 0 && i < options->argument_count);
    return options->arguments[i];
}

bool option_is_auto(const weft_options *options, option_id id)
{
    const option_type type = option_row_in(options, id)->type;
    return (type == OPTION_TEXT || type == OPTION_CHOICE || type == OPTION_REAL) &&
           strcmp(held_value(options, id)->text, "auto") == 0;
}

bool option_flag(const weft_options *options, option_id id)
{
    return value_of(options, id, OPTION_FLAG)->integer != 0;
}

int64_t option_int(const weft_options *options, option_id id)
{
    return value_of(options, id, OPTION_INT)->integer;
}

double option_real(const weft_options *options, option_id id)
{
    assert(option_row_in(options, id)->type == OPTION_REAL || option_row_in(options, id)->type == OPTION_TIME);
    return held_value(options, id)->real;
}

uint64_t option_size(const weft_options *options, option_id id)
{
    return value_of(options, id, OPTION_SIZE)->size;
}

const char *option_text(const weft_options *options, option_id id)
{
    assert(option_row_in(options, id)->type == OPTION_TEXT || option_row_in(options, id)->type == OPTION_CHOICE);
    return held_value(options, id)->text;
}

int option_choice_index(const weft_options *options, option_id id)
{
    return (int)value_of(options, id, OPTION_CHOICE)->integer;
}

int option_list(const weft_options *options, option_id id, int64_t *values, int capacity)
{
    int64_t list[OPTION_LIST_MAX];
    int count = 0;
    const option_value *value = value_of(options, id, OPTION_INTLIST);
    /* The text was checked when it was set. */
    if (parse_list(option_row_in(options, id), option_row_in(options, id)->name, value->text, list, OPTION_LIST_MAX,
                   &count) != WEFT_OK) {
        return 0;
    }
    memcpy(values, list, sizeof *list * (size_t)(count < capacity ? count : capacity));
    return count;
}

bool option_is_set(const weft_options *options, option_id id)
{
    return held_value(options, id)->source > OPTION_DATA;
}

option_source option_source_of(const weft_options *options, option_id id)
{
    return held_value(options, id)->source;
}

bool option_was_decided(const weft_options *options, option_id id)
{
    return held_value(options, id)->decided;
}

const char *option_value_text(const weft_options *options, option_id id)
{
    return held_value(options, id)->text;
}
