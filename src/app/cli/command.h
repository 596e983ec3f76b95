/*
 * app/cli/command.h: the commands that serve every kind of workload, one file each (app/cli/command_train.c ...). weft
 * bench and weft info stand in their rooms (app/bench/bench.h, app/info/info.h); commands of one kind are rows of its
 * workload_ops.
 *
 * A command gets its parsed options and returns a status, which becomes the exit code. Results go to stdout, from one
 * rank; everything else goes through base/log.h. The failing rank leaves its message in weft_error_message() and main
 * prints it; a rank that only follows another's failure clears its message (weft_error_clear) and stays silent.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "app/options/app_options.h"

/*
 * The one parallel command. Called on every rank, before MPI is started. Only the launcher's rank 0 has read config
 * file and environment: the others take its values with option_pack / option_unpack.
 */
weft_status app_train(const weft_options *options);
weft_status app_convert(const weft_options *options);
weft_status app_eval(const weft_options *options);
weft_status app_predict(const weft_options *options);
weft_status app_explain(const weft_options *options);
weft_status app_focus(const weft_options *options); /* parallel too */
weft_status app_export(const weft_options *options);
weft_status app_doctor(const weft_options *options); /* parallel too */
weft_status app_report(const weft_options *options);

/* Tables (app/cli/convert_table.c). Returns true if an option asks weft convert for a table. */
bool app_is_table(const weft_options *options);
weft_status app_convert_table(const weft_options *options);

/* `weft convert --help=formats`: a line for each input format. In app/cli/command_convert.c. */
void app_print_formats(FILE *out);

/* `weft --version`; `details`: compiler, build, instruction sets, libraries. In app/cli/command_version.c. */
void app_print_version(FILE *out, bool details);
