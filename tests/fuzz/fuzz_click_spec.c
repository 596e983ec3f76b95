/* libFuzzer: any text as a description of made clicks; what is accepted has every number in its range. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clicks/synth/click_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL;
    click_spec spec;
    if (WEFT_NEW(&text, size + 1, WEFT_MEM_GENERAL) != WEFT_OK) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (click_spec_parse(text, &spec) == WEFT_OK &&
        !(within(spec.rows, 1, INT64_MAX) && within(spec.fields, 1, CLICK_SPEC_FIELDS) &&
          within(spec.numbers, 0, CLICK_SPEC_NUMBERS) && within(spec.seed, 0, UINT32_MAX) &&
          within(click_spec_size(&spec, 0), CLICK_SPEC_FEWEST, spec.ids) &&
          click_spec_size(&spec, (int)spec.fields - 1) == spec.ids)) {
        abort();
    }
    weft_free(text);
    return 0;
}
