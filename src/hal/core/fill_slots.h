/* hal/core/fill_slots.h: what a backend leaves out. */
#ifndef WEFT_HAL_CORE_FILL_SLOTS_H
#define WEFT_HAL_CORE_FILL_SLOTS_H

#include "hal/hal.h"

/* Fill the slots that are NULL: from ref when the host sees the backend's memory, else with stubs (hal/hal.h). */
void hal_fill_slots(weft_hal *hal);

#endif
