/* app/tune/app_tune.h: weft tune: searches of recorded tables of trainings (tune/recorded/recorded.h). */
#pragma once

#include "app/options/app_options.h"

weft_status app_tune(const weft_options *options);
