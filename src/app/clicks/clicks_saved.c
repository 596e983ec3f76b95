/* app/clicks/clicks_saved.c: models of clicks on disk: weights.npz for what is dense, files of rows beside it. */
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "clicks/data/click_names.h"

click_kind clicks_kind_of(const char *model)
{
#define WORD(value, text) text,
    static const char *const word[] = {CLICK_MODELS(WORD)};
#undef WORD
    int kind = 0;
    while (kind < CLICK_KINDS && strcmp(word[kind], model) != 0) {
        ++kind;
    }
    return (click_kind)kind;
}

/* Nothing but the record of a run tells what its columns are. */
weft_status clicks_recognise(saved_model *model, const weft_options *given)
{
    name_list fields, numbers;
    (void)given;
    WEFT_CHECK(option_is_set(model->known, OPT_CLICK_COLUMNS), WEFT_ERR_DATA,
               "%s: its record does not say which columns it reads: name the run folder, or run.json must stand beside "
               "the weights",
               model->path);
    const weft_status status =
        click_names_parse(FLAG_CLICK_COLUMNS, option_text(model->known, OPT_CLICK_COLUMNS), &fields, &numbers);
    model->layers = 1;
    model->inputs = fields.count + numbers.count;
    model->outputs = 1;
    name_list_free(&fields);
    name_list_free(&numbers);
    WEFT_TRY(status);
    return saved_model_show(model, OPT_LOSS, "bce");
}
