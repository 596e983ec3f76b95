/* tune/space/space_rules.c: see tune/space/space_rules.h. */
#include "tune/space/space_rules.h"

#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static int find_choice(const space_dimension *d, const char *text)
{
    for (int i = 0; i < d->choices; i++) {
        if (strcmp(d->choice[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

weft_status space_add_condition(search_space *space, const char *parent, char *const *text, int count)
{
    space_dimension *d = &space->dimension[space->count - 1];
    const int above = space_find(space, parent);
    WEFT_CHECK(above >= 0 && above < space->count - 1, WEFT_ERR_USAGE,
               "%s: when = {%s = ...}: %s is no dimension above it: write it there first", d->name, parent, parent);
    const space_dimension *p = &space->dimension[above];
    WEFT_CHECK(p->kind == SPACE_CHOICE, WEFT_ERR_USAGE, "%s: when = {%s = ...}: %s is no choice: make it one", d->name,
               parent, parent);
    WEFT_TRY(WEFT_NEW_ZERO(&d->when, p->choices, WEFT_MEM_SEARCH));
    d->parent = above;
    for (int i = 0; i < count; i++) {
        const int at = find_choice(p, text[i]);
        WEFT_CHECK(at >= 0, WEFT_ERR_USAGE,
                   "%s: when = {%s = ...}: %s is none of its choices: write it as it stands there", d->name, parent,
                   text[i]);
        d->when[at] = true;
    }
    return WEFT_OK;
}

bool space_is_active(const search_space *space, const double *values, int dimension)
{
    if (isnan(values[dimension])) {
        return false;
    }
    for (const space_dimension *d = &space->dimension[dimension]; d->when != NULL; d = &space->dimension[d->parent]) {
        if (isnan(values[d->parent]) || !d->when[(int)values[d->parent]]) {
            return false;
        }
    }
    return true;
}

void space_settle(const search_space *space, double *values)
{
    for (int d = 0; d < space->count; d++) {
        values[d] = space_is_active(space, values, d) ? values[d] : space->dimension[d].low;
    }
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

static const char *past_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static weft_status check_numbers(const space_dimension *d, const char *text)
{
    double number;
    for (int i = 0; i < d->choices; i++) {
        WEFT_CHECK(number_parse_real(d->choice[i], &number), WEFT_ERR_USAGE,
                   "constraint \"%s\": the choice %s of %s is no number", text, d->choice[i], d->name);
    }
    return WEFT_OK;
}

/* A number multiplies the product; a name is one more factor of it. */
static weft_status add_factor(const search_space *space, const char *text, const char *word, space_product *product)
{
    double number;
    if (number_parse_real(word, &number)) {
        product->number *= number;
        return WEFT_OK;
    }
    const int d = space_find(space, word);
    WEFT_CHECK(d >= 0, WEFT_ERR_USAGE,
               "constraint \"%s\": %s is neither a number nor a dimension above it: \"hidden * layers <= 512\" is how "
               "one looks",
               text, word[0] != '\0' ? word : "nothing");
    WEFT_CHECK(product->factors < SPACE_FACTORS_MAX, WEFT_ERR_USAGE, "constraint \"%s\": more than %d names on a side",
               text, SPACE_FACTORS_MAX);
    product->factor[product->factors++] = d;
    return check_numbers(&space->dimension[d], text);
}

/* Reads factors with '*' between them. [out] at: behind the last one. */
static weft_status read_product(const search_space *space, const char *text, const char **at, space_product *product)
{
    char word[SPACE_NAME_MAX];
    *product = (space_product){.number = 1.0};
    while (true) {
        *at = past_blanks(*at);
        const size_t bytes = strcspn(*at, " \t*<>=");
        WEFT_CHECK(bytes < sizeof word, WEFT_ERR_USAGE, "constraint \"%s\": a name of %zu bytes: it has %d at most",
                   text, bytes, SPACE_NAME_MAX - 1);
        for (size_t i = 0; i < bytes; i++) {
            word[i] = (*at)[i] == '_' ? '-' : (*at)[i];
        }
        word[bytes] = '\0';
        WEFT_TRY(add_factor(space, text, word, product));
        *at = past_blanks(*at + bytes);
        if (**at != '*') {
            return WEFT_OK;
        }
        *at += 1;
    }
}

weft_status space_add_constraint(search_space *space, const char *text)
{
    space_product side[2];
    const char *at = text;
    WEFT_TRY(read_product(space, text, &at, &side[0]));
    const bool turned = strncmp(at, ">=", 2) == 0;
    WEFT_CHECK(turned || strncmp(at, "<=", 2) == 0, WEFT_ERR_USAGE,
               "constraint \"%s\": expected <= or >= after the first product, not \"%s\"", text, at);
    at += 2;
    WEFT_TRY(read_product(space, text, &at, &side[1]));
    WEFT_CHECK(*at == '\0', WEFT_ERR_USAGE, "constraint \"%s\": expected its end, not \"%s\": write two of them", text,
               at);
    WEFT_TRY(grow_array((void **)&space->constraint, sizeof *space->constraint, space->constraints,
                        &space->constraint_room, WEFT_MEM_SEARCH));
    space->constraint[space->constraints++] = (space_constraint){side[turned ? 1 : 0], side[turned ? 0 : 1]};
    return WEFT_OK;
}

static double number_of(const space_dimension *d, double value)
{
    double number = value;
    if (d->kind == SPACE_CHOICE) {
        (void)number_parse_real(d->choice[(int)value], &number); /* checked when the constraint was added */
    }
    return number;
}

/* Returns false if one of the dimensions is not active. */
static bool evaluate(const search_space *space, const double *values, const space_product *product, double *result)
{
    *result = product->number;
    for (int i = 0; i < product->factors; i++) {
        const int d = product->factor[i];
        if (!space_is_active(space, values, d)) {
            return false;
        }
        *result *= number_of(&space->dimension[d], values[d]);
    }
    return true;
}

bool space_allows(const search_space *space, const double *values)
{
    for (int i = 0; i < space->constraints; i++) {
        const space_constraint *c = &space->constraint[i];
        double less, more;
        if (evaluate(space, values, &c->less, &less) && evaluate(space, values, &c->more, &more) && less > more) {
            return false;
        }
    }
    return true;
}

bool space_has_rules(const search_space *space)
{
    for (int d = 0; d < space->count; d++) {
        if (space->dimension[d].when != NULL) {
            return true;
        }
    }
    return space->constraints > 0;
}
