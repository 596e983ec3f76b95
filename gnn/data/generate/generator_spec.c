/*
 * gnn/data/generate/generator_spec.c: reads "NAME[,key=value]*" into a generator_spec.
 *
 * A name is a row of generator_presets.def, whose settings are applied first through the same parser; then the user's
 * keys; then scale, shares and limits are resolved, so that what leaves here can be generated.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/text/append.h"
#include "gnn/data/generate/generator.h"
#include "gnn/data/generate/generator_parts.h"
#include "io/data_options.def"

enum { TOKEN_MAX = 64, NAMES_MAX = 64, LIST_MAX = 512 };

typedef struct key_row {
    const char *takers, *name;
    size_t offset;
    bool whole;
    double min, max;
} key_row;

static const key_row key_rows[] = {
#define KEY(takers, name, field, whole, min, max, help)                                                                \
    {takers, name, offsetof(generator_spec, field), whole, min, max},
#include "gnn/data/generate/generator_keys.def"
#undef KEY
};
enum { KEYS = sizeof key_rows / sizeof key_rows[0] };

typedef struct preset_row {
    const char *name;
    char letter;
    const char *settings;
} preset_row;

static const preset_row preset_rows[] = {
#define PRESET(name, letter, settings, help) {name, letter, settings},
#include "gnn/data/generate/generator_presets.def"
#undef PRESET
};
enum { PRESETS = sizeof preset_rows / sizeof preset_rows[0] };

/* A community may be filled to this share of its pairs; beyond it weights grow without bound. */
static const double max_fill = 0.65;

bool generator_named(const char *text)
{
    return strncmp(text, GENERATOR_PREFIX, strlen(GENERATOR_PREFIX)) == 0;
}

bool generator_knows(const char *text)
{
    const char *name = text + strlen(GENERATOR_PREFIX);
    bool known = false;
    for (int i = 0; generator_named(text) && i < PRESETS; ++i) {
        const size_t length = strlen(preset_rows[i].name);
        known = known || (strncmp(name, preset_rows[i].name, length) == 0 && strchr(",", name[length]) != NULL);
    }
    return known;
}

const char *generator_help(void)
{
    return FLAG_DATA " synth:NAME[,key=value]...\n"
                     "names and their settings:\n"
#define PRESET(name, letter, settings, help) "  " name ": " help "\n    " settings "\n"
#include "gnn/data/generate/generator_presets.def"
#undef PRESET
                     "keys:\n"
#define KEY(takers, name, field, whole, min, max, help) "  " name ": " help "\n"
#include "gnn/data/generate/generator_keys.def"
#undef KEY
        ;
}

static weft_status fail_unknown(const char *what, const char *word, const char *const *names, int count)
{
    char list[LIST_MAX] = "";
    for (int i = 0; i < count; ++i) {
        text_append_item(list, sizeof list, "%s", names[i]);
    }
    const char *near = nearest_word(word, names, count);
    return weft_fail(WEFT_ERR_USAGE, "synth: unknown %s \"%s\"%s%s%s (known: %s)", what, word,
                     near != NULL ? ": did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?" : "",
                     list);
}

static weft_status find_preset(const char *word, const preset_row **preset)
{
    const char *names[PRESETS];
    for (int i = 0; i < PRESETS; ++i) {
        names[i] = preset_rows[i].name;
        if (strcmp(word, names[i]) == 0) {
            *preset = &preset_rows[i];
            return WEFT_OK;
        }
    }
    return fail_unknown("generator", word, names, PRESETS);
}

static weft_status find_key(const char *word, char letter, int *found)
{
    const char *names[KEYS];
    int count = 0;
    for (int i = 0; i < KEYS; ++i) {
        if (strchr(key_rows[i].takers, letter) == NULL) {
            continue;
        }
        names[count++] = key_rows[i].name;
        if (strcmp(word, key_rows[i].name) == 0) {
            *found = i;
            return WEFT_OK;
        }
    }
    return fail_unknown("key", word, names, count);
}

/* Copy text up to `stop` or the end into token, blanks not allowed; *text moves past it. */
static weft_status next_token(const char **text, const char *stops, char token[TOKEN_MAX])
{
    size_t length = strcspn(*text, stops);
    WEFT_CHECK(length > 0 && length < TOKEN_MAX, WEFT_ERR_USAGE, "synth: expected NAME[,key=value]..., found \"%.40s\"",
               *text);
    memcpy(token, *text, length);
    token[length] = '\0';
    *text += length;
    return WEFT_OK;
}

static weft_status set_key(generator_spec *spec, const key_row *row, const char *value_text)
{
    double value;
    WEFT_CHECK(number_parse_real(value_text, &value), WEFT_ERR_USAGE, "synth: %s=%s: not a number", row->name,
               value_text);
    WEFT_CHECK(!row->whole || value == floor(value), WEFT_ERR_USAGE, "synth: %s=%s: must be a whole number", row->name,
               value_text);
    WEFT_CHECK(value >= row->min && value <= row->max, WEFT_ERR_USAGE, "synth: %s=%s: must be between %.10g and %.10g",
               row->name, value_text, row->min, row->max);
    memcpy((char *)spec + row->offset, &value, sizeof value);
    return WEFT_OK;
}

/* "key=value,key=value" into spec; seen marks the keys given, twice is refused. */
static weft_status apply_settings(generator_spec *spec, char letter, const char *text, bool seen[KEYS])
{
    while (*text != '\0') {
        char word[TOKEN_MAX] = "";
        char value[TOKEN_MAX];
        int key = 0;
        WEFT_TRY(next_token(&text, "=,", word));
        for (char *p = word; *p != '\0'; ++p) {
            *p = *p == '_' ? '-' : *p;
        }
        WEFT_TRY(find_key(word, letter, &key));
        WEFT_CHECK(*text == '=', WEFT_ERR_USAGE, "synth: %s: expected %s=VALUE", word, word);
        WEFT_CHECK(!seen[key], WEFT_ERR_USAGE, "synth: %s is given twice", word);
        seen[key] = true;
        ++text;
        WEFT_TRY(next_token(&text, ",", value));
        WEFT_TRY(set_key(spec, &key_rows[key], value));
        if (*text == ',') {
            ++text;
            WEFT_CHECK(*text != '\0', WEFT_ERR_USAGE, "synth: the spec ends with a comma");
        }
    }
    return WEFT_OK;
}

/* Counts above 1 become shares of n. */
static void counts_to_shares(generator_spec *spec)
{
    double *shares[] = {&spec->train, &spec->valid, &spec->test};
    for (int i = 0; i < 3; ++i) {
        if (*shares[i] > 1) {
            *shares[i] /= spec->vertices;
        }
    }
}

static weft_status check_splits(const generator_spec *spec)
{
    double sum = spec->train + spec->valid + fmax(spec->test, 0);
    WEFT_CHECK(sum <= 1 + 1e-9, WEFT_ERR_USAGE,
               "synth: train, valid and test together take %.6g of the vertices: at most 1 (or n = %.0f as counts)",
               sum, spec->vertices);
    return WEFT_OK;
}

/* n, e and communities times `scale`. Communities keep their size where there are more of them than classes. */
static void scale_preset(generator_spec *spec)
{
    spec->vertices = fmax(2 * spec->classes, round(spec->vertices * spec->scale));
    spec->communities = fmax(spec->classes, round(spec->communities * spec->scale));
    spec->edges = 2 * round(spec->edges * spec->scale / 2);
    double members = spec->vertices / spec->communities;
    double most = max_fill * spec->vertices * fmax(members - 1, 0) / fmax(spec->p_in, 0.01);
    if (spec->edges > most) {
        log_info("synth: %s at scale %g: %.0f edges instead of %.0f, as many as its communities of %.0f vertices hold",
                 spec->name, spec->scale, most, spec->edges, members);
        spec->edges = 2 * floor(most / 2);
    }
    spec->max_degree = fmin(spec->max_degree, floor(spec->vertices / 2));
}

static weft_status check_communities(generator_spec *spec)
{
    double n = spec->vertices;
    WEFT_CHECK(n <= INT32_MAX, WEFT_ERR_USAGE, "synth: n = %.0f: at most %d vertices", n, INT32_MAX);
    double mean = spec->edges / n;
    if (spec->communities == 0) {
        spec->communities = spec->classes;
    }
    if (spec->communities == 1) {
        spec->p_in = 1;
    }
    WEFT_CHECK(spec->communities >= spec->classes, WEFT_ERR_USAGE,
               "synth: %.0f communities are fewer than %.0f classes", spec->communities, spec->classes);
    WEFT_CHECK(2 * spec->communities <= n, WEFT_ERR_USAGE,
               "synth: %.0f communities need at least %.0f vertices, n is %.0f", spec->communities,
               2 * spec->communities, n);
    const bool log_normal = spec->exponent == 0 && spec->family == GENERATOR_COMMUNITY;
    WEFT_CHECK(log_normal || spec->exponent > 1, WEFT_ERR_USAGE, "synth: exponent=%g: must be above 1%s",
               spec->exponent, spec->family == GENERATOR_COMMUNITY ? ", or 0" : "");
    if (spec->max_degree == 0) {
        spec->max_degree = fmin(n - 1, fmax(floor(n / 8), ceil(8 * mean)));
    }
    WEFT_CHECK(spec->max_degree < n, WEFT_ERR_USAGE, "synth: max-degree=%.0f: must be below n = %.0f", spec->max_degree,
               n);
    WEFT_CHECK(mean < 0.9 * spec->max_degree || spec->edges == 0, WEFT_ERR_USAGE,
               "synth: the mean degree %.6g does not leave room below max-degree=%.0f", mean, spec->max_degree);
    double inside = max_fill * n * (n / spec->communities - 1);
    double outside = 0.5 * n * (n - n / spec->communities);
    WEFT_CHECK(
        spec->p_in * spec->edges <= inside + 2, WEFT_ERR_USAGE,
        "synth: %.0f edges inside %.0f communities of %.0f vertices: at most %.0f fit; lower e, p-in or communities",
        spec->p_in * spec->edges, spec->communities, n / spec->communities, inside);
    WEFT_CHECK((1 - spec->p_in) * spec->edges <= outside, WEFT_ERR_USAGE,
               "synth: %.0f edges between communities: at most %.0f fit; lower e or raise p-in",
               (1 - spec->p_in) * spec->edges, outside);
    return WEFT_OK;
}

static weft_status resolve_rmat(generator_spec *spec)
{
    WEFT_CHECK(spec->a + spec->b + spec->c <= 1, WEFT_ERR_USAGE, "synth: a + b + c = %g: at most 1",
               spec->a + spec->b + spec->c);
    spec->vertices = exp2(spec->scale);
    spec->edges = 2 * round(spec->edge_factor * spec->vertices);
    counts_to_shares(spec);
    return check_splits(spec);
}

weft_status generator_spec_parse(const char *text, generator_spec *spec)
{
    *spec = (generator_spec){.scale = 1, .test = -1};
    char name[TOKEN_MAX];
    const preset_row *preset = NULL;
    bool seen[KEYS] = {false};
    WEFT_TRY(next_token(&text, ",", name));
    WEFT_TRY(find_preset(name, &preset));
    snprintf(spec->name, sizeof spec->name, "%s", preset->name);
    spec->family = preset->letter == 'r'   ? GENERATOR_RMAT
                   : preset->letter == 'f' ? GENERATOR_FORUM
                                           : GENERATOR_COMMUNITY;
    WEFT_TRY(apply_settings(spec, preset->letter, preset->settings, seen));
    counts_to_shares(spec);
    memset(seen, 0, sizeof seen);

    if (*text == ',') {
        ++text;
        WEFT_CHECK(*text != '\0', WEFT_ERR_USAGE, "synth: the spec ends with a comma");
    }
    generator_spec given = *spec;
    WEFT_TRY(apply_settings(&given, preset->letter, text, seen));
    if (preset->letter == 'r') {
        *spec = given;
        return resolve_rmat(spec);
    }
    if (given.scale != 1) {
        /* The factor applies to the preset's own size; keys given beside it are meant as they stand. */
        spec->scale = given.scale;
        spec->p_in = given.p_in;
        scale_preset(spec);
        memset(seen, 0, sizeof seen);
        WEFT_TRY(apply_settings(spec, preset->letter, text, seen));
    } else {
        *spec = given;
    }
    counts_to_shares(spec);
    WEFT_TRY(check_splits(spec));
    return check_communities(spec);
}
