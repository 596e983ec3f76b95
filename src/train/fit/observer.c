/* train/fit/observer.c: see train/fit/observer.h. */
#include "train/fit/observer.h"

weft_status train_tell_start(const train_observer *list, const train_progress *from)
{
    for (; list != NULL; list = list->next) {
        WEFT_TRY(list->on_start != NULL ? list->on_start(list->self, from) : WEFT_OK);
    }
    return WEFT_OK;
}

weft_status train_tell_step(const train_observer *list, const train_epoch *epoch)
{
    for (; list != NULL; list = list->next) {
        WEFT_TRY(list->on_step != NULL ? list->on_step(list->self, epoch) : WEFT_OK);
    }
    return WEFT_OK;
}

weft_status train_tell_epoch(const train_observer *list, const train_epoch *epoch)
{
    for (; list != NULL; list = list->next) {
        WEFT_TRY(list->on_epoch != NULL ? list->on_epoch(list->self, epoch) : WEFT_OK);
    }
    return WEFT_OK;
}

weft_status train_tell_run(const train_observer *list, int run, const train_run *result)
{
    for (; list != NULL; list = list->next) {
        WEFT_TRY(list->on_run != NULL ? list->on_run(list->self, run, result) : WEFT_OK);
    }
    return WEFT_OK;
}
