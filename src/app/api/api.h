/*
 * app/api/api.h: what the files behind include/weft share. Each api_NAME.c stands behind include/weft/NAME.h and does
 * no more than hand over to the rooms.
 */
#pragma once

#include "app/options/app_options.h"

/* The options must be of this command: WEFT_ERR_USAGE names `function` and the cure. In app/api/api_options.c. */
weft_status api_check_command(const weft_options *options, const char *command, const char *function);
