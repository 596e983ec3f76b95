/* app/setup/layer_setup.h: options that keep the layers of a network of the user's own, in one line. */
#pragma once

#include "app/setup/context.h"
#include "train/checkpoint/checkpoint.h"

/* The layers become those of the checkpoint, with a warning where the file that --model names has others by now. ck:
 * NULL on ranks that do not read it. Collective. */
weft_status app_adopt_layers(const app_context *context, const checkpoint *ck, option_id id);
