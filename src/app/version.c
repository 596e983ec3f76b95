/* app/version.c: `weft --version`, one line; with --verbose also what the build and this machine are made of. */
#include "base/version.h"
#include "app/command.h"
#include "app/versions.h"

void app_print_version(FILE *out, bool details)
{
    fprintf(out, "weft %s\n", version_text());
    if (details) {
        versions_print(out);
    }
}
