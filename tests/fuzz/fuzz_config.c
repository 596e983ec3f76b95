/* libFuzzer: any bytes as a config file of a command, which one by their number; what is accepted must survive pack and
 * unpack.
 * with: src/app/options
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "app/options/app_options.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const weft_options *options)
{
    weft_options *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    if (option_pack(options, &blob, &bytes) != WEFT_OK || option_unpack(&app_catalog, blob, bytes, &copy) != WEFT_OK) {
        abort();
    }
    option_destroy(copy);
    weft_free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t commands = 0;
    while (option_commands[commands].name != NULL) {
        commands++;
    }
    weft_options *options = NULL;
    const option_command *command = &option_commands[size % commands];
    if (option_parse_config(command, "fuzz", (const char *)data, size, &options) == WEFT_OK) {
        round_trip(options);
        option_destroy(options);
    }
    return 0;
}
