/*
 * app/workload/app_catalog.h: all that this program can be asked: the options of every job (app/options/app_options.h),
 * and those that the kinds of workload_list bring.
 */
#pragma once

#include "option/option.h"

/* Assembled by the first call, from any thread; lives as long as the program. */
const option_catalog *app_catalog(void);
