/* app/dense/convert/convert_images.c: see app/dense/convert/convert_images.h. */
#include "app/dense/convert/convert_images.h"

#include <string.h>
#include <unistd.h>

#include "app/options/app_options.h"
#include "dense/data/traffic/traffic.h"

weft_status dense_convert(const weft_options *options, bool *takes)
{
    const char *input = option_argument(options, 0);
    traffic made;
    *takes = traffic_named(input);
    if (!*takes) {
        return WEFT_OK;
    }
    const int64_t asked = option_int(options, OPT_THREADS);
    const int threads = (int)(asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN));
    WEFT_TRY(traffic_parse(input, &made));
    return traffic_write(&made, option_text(options, OPT_OUT), threads, option_flag(options, OPT_FORCE));
}

void dense_print_formats(FILE *out)
{
    fprintf(out,
            "\nImages:\n\n  %-16s frames of a still camera, a file of what crosses them, and pictures of it to train "
            "on: frames, width, height, classes, objects, dwell, skew, drift, jump, seed (docs/howto-focus.md)\n",
            "synth:traffic");
}
