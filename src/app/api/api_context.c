/* app/api/api_context.c: see weft/context.h. */
#include "weft/context.h"

#include "app/setup/context.h"
#include "base/alloc.h"

struct weft_context {
    app_context app;
};

weft_status weft_context_create(const weft_options *options, weft_context **context)
{
    weft_context *made = NULL;
    *context = NULL;
    WEFT_TRY(app_set_log_level(options));
    WEFT_TRY(WEFT_NEW_ZERO(&made, 1, WEFT_MEM_GENERAL));
    weft_status status = app_context_open(options, &made->app);
    if (status != WEFT_OK) {
        weft_context_destroy(made);
        return status;
    }
    comm_set_stall_timeout(made->app.comm, 0.0); /* what a program does between two calls takes as long as it likes */
    made->app.options = NULL;                    /* rank 0's are the caller's and may go */
    *context = made;
    return WEFT_OK;
}

int weft_context_rank(const weft_context *context)
{
    return comm_rank(context->app.comm);
}

int weft_context_size(const weft_context *context)
{
    return comm_size(context->app.comm);
}

int weft_context_threads(const weft_context *context)
{
    return context->app.placement.threads;
}

const char *weft_context_backend(const weft_context *context)
{
    return context->app.hal->name;
}

void weft_context_destroy(weft_context *context)
{
    if (context != NULL) {
        app_context_close(&context->app);
        weft_free(context);
    }
}
