/*
 * weft/options.h: what a command is asked to do, as names and texts.
 *
 * The same options as on the command line of `weft` (docs/options.md), with the same defaults, ranges and spellings.
 *
 *     weft_options *options = NULL;
 *     weft_status status = weft_options_create("train", &options);
 *     if (status == WEFT_OK) {
 *         status = weft_options_set(options, "data", "synth:quickstart");
 *     }
 *     ...
 *     weft_options_destroy(options);
 *
 * Precedence: default < recipe < config file < value set by the program. The environment (WEFT_NAME) is not read.
 * No function here is collective: every rank makes its own options, and rank 0's count where ranks meet
 * (weft/context.h). Threads: one options object belongs to one thread at a time.
 */
#ifndef WEFT_OPTIONS_H
#define WEFT_OPTIONS_H

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_options weft_options;

/*
 * Make the options of a command, all at their defaults.
 *   command  [in]   "train" for weft/trainer.h and weft/context.h, "partition" for weft/partition.h
 *   options  [out]  the caller's, for weft_options_destroy; NULL on failure
 * WEFT_ERR_USAGE: no such command (the message names the nearest); WEFT_ERR_RESOURCE: memory is short.
 */
weft_status weft_options_create(const char *command, weft_options **options);

/*
 * Give an option a value; a second call replaces the first.
 *   name   [in]  long name or alias without dashes, '-' and '_' alike: "weight-decay", "wd"
 *   value  [in]  as typed by a user: "0.01", "16GiB", "on" or "off" for a flag
 * WEFT_ERR_USAGE: unknown name (the nearest is named), or a value out of range (the range is given); nothing has
 * changed.
 */
weft_status weft_options_set(weft_options *options, const char *name, const char *value);

/*
 * Read `name = value` lines from a file (`weft train --print-config` prints one with every option). Values that the
 * program has set stay, before or after. WEFT_ERR_NOINPUT: no such file. WEFT_ERR_USAGE: the message names line, option
 * and range, or the other file that gave a different value; the lines before it have taken effect, so destroy the
 * options.
 */
weft_status weft_options_load(weft_options *options, const char *path);

/*
 * The value in force, as text.
 *   text  [out]  valid until the option is set again or the options are destroyed; "" when unset
 * WEFT_ERR_USAGE: unknown name (the nearest is named).
 */
weft_status weft_options_get(const weft_options *options, const char *name, const char **text);

/* Free; NULL is allowed. */
void weft_options_destroy(weft_options *options);

#ifdef __cplusplus
}
#endif
#endif
