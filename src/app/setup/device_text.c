/* app/setup/device_text.c: see app/setup/device_text.h. */
#include "app/setup/device_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text/append.h"

static void append_memory(const hal_device *d, char *text, size_t bytes)
{
    if (d->total > 0) {
        text_append(text, bytes, ", %s of %s free", number_say_bytes(d->left).text, number_say_bytes(d->total).text);
    }
    if (d->memory_mhz > 0.0 && d->memory_bits > 0) { /* two transfers a clock */
        text_append(text, bytes, ", memory at %.0f MHz x %d bits = %.0f GB/s", d->memory_mhz, d->memory_bits,
                    2.0 * d->memory_mhz * 1e-3 * d->memory_bits / 8.0);
    }
    text_append(text, bytes, d->ecc ? ", ECC" : ", no ECC");
}

static void append_peers(const hal_device *d, char *text, size_t bytes)
{
    const char *comma = ", reaches the memory of";
    for (int i = 0; i < HAL_DEVICES_MOST; i++) {
        if ((d->peers >> i & 1U) != 0) {
            text_append(text, bytes, "%s %d", comma, i);
            comma = "";
        }
    }
}

const char *device_text(const hal_device *device, const pci_link *link, char *text, size_t bytes)
{
    text[0] = '\0';
    text_append(text, bytes, "%s at %s, compute capability %d.%d%s, %d processors", device->name, device->place,
                device->major, device->minor, device->compiled ? "" : " (NOT COMPILED FOR IT)", device->processors);
    if (device->mhz > 0.0) {
        text_append(text, bytes, " at %.0f MHz at most", device->mhz);
    }
    append_memory(device, text, bytes);
    if (link != NULL && link->width > 0) {
        text_append(text, bytes, ", PCIe %d of %d lanes at %g of %g GT/s", link->width, link->width_most, link->rate,
                    link->rate_most);
    }
    if (link != NULL && cpu_set_count(&link->near) > 0) {
        char near[128];
        text_append(text, bytes, ", near CPUs %s", cpu_set_text(&link->near, near, sizeof near));
    }
    append_peers(device, text, bytes);
    return text;
}
