/* train/fit/observer.c: see train/fit/observer.h. */
#include "train/fit/observer.h"

/* Calls on_<event> of every observer that has one. */
#define TELL(list, event, ...)                                                                                         \
    for (; (list) != NULL; (list) = (list)->next) {                                                                    \
        WEFT_TRY((list)->on_##event != NULL ? (list)->on_##event((list)->self, __VA_ARGS__) : WEFT_OK);                \
    }                                                                                                                  \
    return WEFT_OK

weft_status train_tell_start(const train_observer *list, const train_progress *from)
{
    TELL(list, start, from);
}

weft_status train_tell_step(const train_observer *list, const train_epoch *epoch)
{
    TELL(list, step, epoch);
}

weft_status train_tell_epoch(const train_observer *list, const train_epoch *epoch)
{
    TELL(list, epoch, epoch);
}

weft_status train_tell_run(const train_observer *list, int run, const train_run *result)
{
    TELL(list, run, run, result);
}
