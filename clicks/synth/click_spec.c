/* clicks/synth/click_spec.c: see clicks/synth/click_spec.h. */
#include "clicks/synth/click_spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text/key_numbers.h"

#define PREFIX "synth:clicks"

static const key_number keys[] = {
    {"rows", offsetof(click_spec, rows), 10, INT64_C(1000000000000)},
    {"fields", offsetof(click_spec, fields), 1, CLICK_SPEC_FIELDS},
    {"ids", offsetof(click_spec, ids), CLICK_SPEC_FEWEST, CLICK_SPEC_IDS},
    {"numbers", offsetof(click_spec, numbers), 0, CLICK_SPEC_NUMBERS},
    {"seed", offsetof(click_spec, seed), 0, UINT32_MAX},
};

bool click_spec_is(const char *data)
{
    const size_t length = strlen(PREFIX);
    return strncmp(data, PREFIX, length) == 0 && (data[length] == '\0' || data[length] == ',');
}

weft_status click_spec_parse(const char *data, click_spec *spec)
{
    *spec = (click_spec){.rows = 1000000, .fields = 26, .ids = 100000, .numbers = 13};
    WEFT_CHECK(click_spec_is(data), WEFT_ERR_USAGE, "%s: made clicks are " PREFIX ",rows=...,ids=...", data);
    return key_numbers_parse("synth", data + strlen(PREFIX), keys, sizeof keys / sizeof *keys, spec);
}

int32_t click_spec_size(const click_spec *spec, int field)
{
    const double least = CLICK_SPEC_FEWEST, place = spec->fields > 1 ? (double)field / (double)(spec->fields - 1) : 1.0;
    return (int32_t)floor(least * pow((double)spec->ids / least, place) + 0.5);
}
