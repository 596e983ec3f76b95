/* hal/core/fill_slots.h: what a backend leaves out. */
#pragma once

#include "hal/hal.h"

/* Fill the slots that are NULL: from ref when the host sees the backend's memory, else with stubs (hal/hal.h). */
void hal_fill_slots(weft_hal *hal);
