/* libFuzzer: any bytes as a config file of a command, which one by their number; what is accepted must survive pack and
 * unpack.
 * with: src/app/options src/app/dense/options src/app/gnn/options src/app/trees/options src/app/clicks/options
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "app/clicks/options/clicks_options.h"
#include "app/dense/options/dense_options.h"
#include "app/dense/options/text_options.h"
#include "app/gnn/options/gnn_options.h"
#include "app/options/app_options.h"
#include "app/trees/options/trees_options.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static option_catalog catalog = {
    .recipe = OPT_RECIPE, .is_argument = option_is_argument, .of_argument = option_of_argument};

static void assemble(void)
{
    const option_table *const tables[] = {&app_option_table,   &gnn_option_table,    &dense_option_table,
                                          &trees_option_table, &clicks_option_table, &text_option_table};
    if (catalog.count == 0 && option_assemble(&catalog, tables, sizeof tables / sizeof *tables) != WEFT_OK) {
        abort();
    }
}

static void round_trip(const weft_options *options)
{
    weft_options *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    if (option_pack(options, &blob, &bytes) != WEFT_OK || option_unpack(&catalog, blob, bytes, &copy) != WEFT_OK) {
        abort();
    }
    option_destroy(copy);
    weft_free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t commands = 0;
    assemble();
    while (catalog.commands[commands].name != NULL) {
        commands++;
    }
    weft_options *options = NULL;
    const option_command *command = &catalog.commands[size % commands];
    if (option_parse_config(command, "fuzz", (const char *)data, size, &options) == WEFT_OK) {
        round_trip(options);
        option_destroy(options);
    }
    return 0;
}
