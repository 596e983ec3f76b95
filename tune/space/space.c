/* tune/space/space.c: see tune/space/space.h. */
#include "tune/space/space.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/number.h"

weft_mem_tag WEFT_MEM_SEARCH[1] = {{.text = "search"}};

static const char *const kind_words[] = {SPACE_KINDS(CHOICE_NAME)};

static bool is_log(space_kind kind)
{
    return kind == SPACE_LOG || kind == SPACE_INTEGER_LOG;
}

bool space_is_whole(const space_dimension *dimension)
{
    return dimension->kind != SPACE_RANGE && dimension->kind != SPACE_LOG;
}

bool space_is_ordered(const space_dimension *dimension)
{
    return dimension->kind != SPACE_CHOICE || dimension->ordered;
}

int64_t space_cells(const space_dimension *dimension)
{
    return space_is_whole(dimension) ? (int64_t)(dimension->high - dimension->low) + 1 : 0;
}

/* ---- coordinates ------------------------------------------------------------------------------------------------
 * */

/* Cells of whole numbers reach half a step to both sides. */
static void edges(const space_dimension *dimension, double *low, double *high)
{
    const double half = space_is_whole(dimension) ? 0.5 : 0.0;
    *low = dimension->low - half;
    *high = dimension->high + half;
    if (is_log(dimension->kind)) {
        *low = log(*low);
        *high = log(*high);
    }
}

double space_coordinate(const space_dimension *dimension, double value)
{
    double low, high;
    edges(dimension, &low, &high);
    return high > low ? ((is_log(dimension->kind) ? log(value) : value) - low) / (high - low) : 0.5;
}

double space_value(const space_dimension *dimension, double coordinate)
{
    double low, high;
    edges(dimension, &low, &high);
    const double at = low + (high - low) * fmin(fmax(coordinate, 0.0), 1.0);
    const double value = is_log(dimension->kind) ? exp(at) : at;
    return fmin(fmax(space_is_whole(dimension) ? floor(value + 0.5) : value, dimension->low), dimension->high);
}

const char *space_value_text(const space_dimension *dimension, double value, char text[SPACE_TEXT_MAX])
{
    if (dimension->kind == SPACE_CHOICE) {
        snprintf(text, SPACE_TEXT_MAX, "%s", dimension->choice[(int)value]);
        return text;
    }
    return number_format_real(value, text);
}

/* ---- dimensions -------------------------------------------------------------------------------------------------
 * */

static bool ascending_numbers(const space_dimension *dimension)
{
    double before = -INFINITY, number;
    for (int i = 0; i < dimension->choices; i++, before = number) {
        if (!number_parse_real(dimension->choice[i], &number) || number <= before) {
            return false;
        }
    }
    return true;
}

static weft_status check_pair(const space_dimension *d, const char *one, const char *other)
{
    double first, second;
    WEFT_CHECK(strcmp(one, other) != 0, WEFT_ERR_USAGE, "%s: the choice %s stands twice: leave one out", d->name,
               other);
    WEFT_CHECK(!number_parse_real(one, &first) || !number_parse_real(other, &second) || first != second, WEFT_ERR_USAGE,
               "%s: the choices %s and %s are one number: leave one out", d->name, one, other);
    return WEFT_OK;
}

static weft_status check_choices(const space_dimension *d)
{
    WEFT_CHECK(d->choices >= 1 && d->choices <= SPACE_CHOICES_MAX, WEFT_ERR_USAGE,
               "%s: %d choices: there are 1 to %d of a dimension", d->name, d->choices, SPACE_CHOICES_MAX);
    for (int i = 0; i < d->choices; i++) {
        const size_t bytes = strlen(d->choice[i]);
        WEFT_CHECK(bytes > 0 && bytes < SPACE_TEXT_MAX, WEFT_ERR_USAGE, "%s: choice %d has %zu bytes: it needs 1 to %d",
                   d->name, i + 1, bytes, SPACE_TEXT_MAX - 1);
        for (int k = 0; k < i; k++) {
            WEFT_TRY(check_pair(d, d->choice[k], d->choice[i]));
        }
    }
    return WEFT_OK;
}

static weft_status check_limits(const space_dimension *d)
{
    const char *name = d->name, *word = kind_words[d->kind];
    WEFT_CHECK(isfinite(d->low) && isfinite(d->high) && d->low < d->high, WEFT_ERR_USAGE,
               "%s: %s from %.9g to %.9g: the first limit must be below the second; an option of one value belongs "
               "outside of the space",
               name, word, d->low, d->high);
    WEFT_CHECK(!is_log(d->kind) || d->low > 0.0, WEFT_ERR_USAGE,
               "%s: %s from %.9g: a logarithm needs limits above 0; begin above it, or take a range", name, word,
               d->low);
    if (space_is_whole(d)) {
        WEFT_CHECK(fabs(d->low) <= 0x1p52 && fabs(d->high) <= 0x1p52 && floor(d->low) == d->low &&
                       floor(d->high) == d->high,
                   WEFT_ERR_USAGE, "%s: %s from %.17g to %.17g: limits are whole numbers of at most 2^52", name, word,
                   d->low, d->high);
    }
    return WEFT_OK;
}

static weft_status check_prior(const space_dimension *d)
{
    if (d->has_prior) {
        WEFT_CHECK(d->prior >= d->low && d->prior <= d->high && (!space_is_whole(d) || floor(d->prior) == d->prior),
                   WEFT_ERR_USAGE, "%s: the prior %.9g is no value of the dimension", d->name, d->prior);
    }
    return WEFT_OK;
}

int space_find(const search_space *space, const char *name)
{
    for (int d = 0; d < space->count; d++) {
        if (strcmp(space->dimension[d].name, name) == 0) {
            return d;
        }
    }
    return -1;
}

static void free_choices(space_dimension *dimension)
{
    for (int i = 0; dimension->choice != NULL && i < dimension->choices; i++) {
        weft_free(dimension->choice[i]);
    }
    weft_free(dimension->choice);
}

static weft_status copy_choices(space_dimension *to, char *const *choice)
{
    to->choice = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&to->choice, to->choices, WEFT_MEM_SEARCH));
    for (int i = 0; i < to->choices; i++) {
        const size_t bytes = strlen(choice[i]) + 1;
        const weft_status status = WEFT_NEW(&to->choice[i], bytes, WEFT_MEM_SEARCH);
        if (status != WEFT_OK) {
            free_choices(to);
            return status;
        }
        memcpy(to->choice[i], choice[i], bytes);
    }
    return WEFT_OK;
}

weft_status space_add(search_space *space, const space_dimension *dimension)
{
    space_dimension d = *dimension;
    d.when = NULL;
    WEFT_CHECK(d.name[0] != '\0', WEFT_ERR_USAGE, "a dimension of the space has no name");
    WEFT_CHECK(space->count < SPACE_DIMENSIONS_MAX, WEFT_ERR_USAGE, "%s: a space has %d dimensions at most", d.name,
               SPACE_DIMENSIONS_MAX);
    WEFT_CHECK(space_find(space, d.name) < 0, WEFT_ERR_USAGE, "%s: stands in the space twice: leave one out", d.name);
    if (d.kind == SPACE_CHOICE) {
        WEFT_TRY(check_choices(&d));
        d.low = 0.0;
        d.high = (double)d.choices - 1.0;
        d.ordered = ascending_numbers(&d);
    } else {
        WEFT_TRY(check_limits(&d));
    }
    WEFT_TRY(check_prior(&d));
    WEFT_TRY(grow_array((void **)&space->dimension, sizeof d, space->count, &space->capacity, WEFT_MEM_SEARCH));
    if (d.kind == SPACE_CHOICE) {
        WEFT_TRY(copy_choices(&d, dimension->choice));
    }
    space->dimension[space->count++] = d;
    return WEFT_OK;
}

void space_free(search_space *space)
{
    for (int d = 0; d < space->count; d++) {
        free_choices(&space->dimension[d]);
        weft_free(space->dimension[d].when);
    }
    WEFT_FREE_ALL(space->dimension, space->constraint);
    *space = (search_space){0};
}

static uint64_t digest_product(const space_product *product, uint64_t digest)
{
    digest = file_checksum(&product->number, sizeof product->number, digest);
    return file_checksum(product->factor, (size_t)product->factors * sizeof *product->factor, digest);
}

uint64_t space_digest(const search_space *space)
{
    uint64_t digest = 0;
    for (int i = 0; i < space->count; i++) {
        const space_dimension *d = &space->dimension[i];
        const double limits[] = {(double)d->kind, d->low, d->high};
        digest = file_checksum(d->name, strlen(d->name), digest);
        digest = file_checksum(limits, sizeof limits, digest);
        for (int k = 0; k < d->choices; k++) {
            digest = file_checksum(d->choice[k], strlen(d->choice[k]), digest);
        }
        if (d->when != NULL) {
            digest = file_checksum(&d->parent, sizeof d->parent, digest);
            digest = file_checksum(d->when, (size_t)space->dimension[d->parent].choices * sizeof *d->when, digest);
        }
    }
    for (int i = 0; i < space->constraints; i++) {
        digest = digest_product(&space->constraint[i].less, digest);
        digest = digest_product(&space->constraint[i].more, digest);
    }
    return digest;
}
