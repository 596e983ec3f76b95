/* app/dense/convert/convert_images.c: see app/dense/convert/convert_images.h. */
#include "app/dense/convert/convert_images.h"

#include <string.h>
#include <unistd.h>

#include "app/dense/options/dense_options.h"
#include "base/log.h"
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
    const char *out = option_text(options, OPT_OUT);
    option_warn_unserved(options, dense_option_table.traits, "images");
    option_warn_idle(options, OPTION_IDS(OPT_MEMORY), "on frames that are made");
    WEFT_TRY(traffic_parse(input, &made));
    WEFT_TRY(traffic_write(&made, out, threads, option_flag(options, OPT_FORCE)));
    log_info("%s: written: %lld frames of %lld x %lld in frames/, where %lld things are in truth.csv, and pictures of "
             "them in %lld classes in objects/",
             out, (long long)made.frames, (long long)made.width, (long long)made.height,
             (long long)traffic_things(&made), (long long)made.classes);
    return WEFT_OK;
}

void dense_print_formats(FILE *out)
{
    fprintf(out,
            "\nImages:\n\n  %-16s frames of a still camera, a file of what crosses them, and pictures of it to train "
            "on: frames, width, height, classes, objects, dwell, skew, drift, jump, seed (docs/howto-focus.md)\n",
            "synth:traffic");
}
