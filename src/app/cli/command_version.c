/* app/cli/command_version.c: `weft --version`, one line; with --verbose also what the build and this machine are made
 * of. */
#include "app/cli/command.h"
#include "app/version/versions.h"
#include "base/version.h"

void app_print_version(FILE *out, bool details)
{
    fprintf(out, "weft %s\n", version_text());
    if (details) {
        versions_print(out);
    }
}
