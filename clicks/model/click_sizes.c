/* clicks/model/click_sizes.c: sizes of layers out of text, and whether the sizes of a model fit together. */
#include "clicks/model/click_sizes.h"

#include "base/number.h"
#include "clicks/click_options.def"
#include "clicks/model/click_part.h"

weft_status click_read_sizes(const char *flag, const char *text, click_sizes *sizes)
{
    const char *next = text;
    sizes->layers = 0;
    while (*next != '\0') {
        double size = 0.0;
        const bool good = number_scan_real(next, &next, &size) && size >= 1.0 && size <= CLICK_LAYER_SIZE &&
                          size == (double)(int)size;
        WEFT_CHECK(good && (*next == '\0' || (*next == ',' && next[1] != '\0')), WEFT_ERR_USAGE,
                   "%s %s: expected sizes of layers from 1 to %d, such as 128,64", flag, text, CLICK_LAYER_SIZE);
        WEFT_CHECK(sizes->layers < CLICK_LAYERS_MOST, WEFT_ERR_USAGE, "%s %s: more than %d layers", flag, text,
                   CLICK_LAYERS_MOST);
        sizes->size[sizes->layers++] = (int64_t)size;
        next += *next == ',';
    }
    return WEFT_OK;
}

static weft_status check_bottom(const click_model_desc *desc, const char *word)
{
    const click_sizes *bottom = &desc->bottom;
    if (desc->numbers == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(bottom->layers >= 1, WEFT_ERR_USAGE,
               "%s: the data have %lld numbers, for which " FLAG_CLICK_BOTTOM " needs sizes of layers", word,
               (long long)desc->numbers);
    const int64_t last = bottom->size[bottom->layers - 1];
    WEFT_CHECK(last == desc->width, WEFT_ERR_USAGE,
               "%s: the last size of " FLAG_CLICK_BOTTOM " is %lld, and " FLAG_CLICK_WIDTH
               " is %d: they must be equal, because the result is multiplied with rows of embeddings",
               word, (long long)last, desc->width);
    return WEFT_OK;
}

weft_status click_check_desc(const click_model_desc *desc, const char *word)
{
    const click_kind_row *kind = click_row_of(desc);
    const bool *part = kind->part;
    WEFT_CHECK(desc->fields >= 1 && desc->numbers >= 0 && desc->samples >= 0, WEFT_ERR_INTERNAL,
               "a model of %d fields, %lld numbers and %lld samples", desc->fields, (long long)desc->numbers,
               (long long)desc->samples);
    WEFT_CHECK(desc->kind != CLICK_PARTS || desc->net != NULL || (kind->linear && kind->vectors), WEFT_ERR_USAGE,
               "%s: nobody has named the parts of the model", word);
    WEFT_CHECK(kind->vectors ? desc->width >= 1 : desc->width == 0, WEFT_ERR_INTERNAL, "%s: rows of width %d", word,
               desc->width);
    if (part[CLICK_PART_DEEP] || part[CLICK_PART_DOTS]) {
        WEFT_CHECK(desc->mlp.layers >= 1, WEFT_ERR_USAGE, "%s: " FLAG_CLICK_MLP " needs at least one size of a layer",
                   word);
    }
    if (part[CLICK_PART_CROSSED] || part[CLICK_PART_MATRIX]) {
        WEFT_CHECK(desc->crosses >= 1 && desc->crosses <= CLICK_LAYERS_MOST, WEFT_ERR_USAGE,
                   "%s: " FLAG_CLICK_CROSSES " %d: 1 to %d", word, desc->crosses, CLICK_LAYERS_MOST);
    }
    if (part[CLICK_PART_CIN]) {
        WEFT_CHECK(desc->cin.layers >= 1, WEFT_ERR_USAGE, "%s: " FLAG_CLICK_CIN " needs at least one number of maps",
                   word);
    }
    if (part[CLICK_PART_DOTS]) {
        WEFT_CHECK(desc->fields + (desc->numbers > 0 ? 1 : 0) >= 2, WEFT_ERR_USAGE,
                   "%s: one field without numbers has no pairs: take another model", word);
        return check_bottom(desc, word);
    }
    return WEFT_OK;
}
