/* app/setup/layer_setup.c: see app/setup/layer_setup.h. */
#include "app/setup/layer_setup.h"

#include <string.h>

#include "base/log.h"

weft_status app_adopt_layers(const app_context *context, const checkpoint *ck, option_id id)
{
    const weft_options *o = context->options;
    const char *own = ck != NULL ? checkpoint_option(ck, option_row_in(o, id)->name) : NULL;
    const char *now = option_text(o, id);
    if (own != NULL && own[0] != '\0' && now[0] != '\0' && strcmp(own, now) != 0) {
        log_warn("%s has changed since the run began, which goes on with the layers that it was begun with; for the "
                 "others start another run",
                 option_text(o, OPT_MODEL));
    }
    return app_decide_shared(context->comm, context->decided, id, own);
}
