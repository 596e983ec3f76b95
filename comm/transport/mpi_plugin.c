/* comm/transport/mpi_plugin.c: what a plugin has beside mpi.c: its entry, and functions that call the program's. This
 * file is compiled into plugins alone (comm/transport/mpi_plugin.h). */
#include "comm/transport/mpi_plugin.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "comm/transport/call_watch.h"

static const mpi_plugin_host *host_of_plugin;

/* mpi.c names this tag; the program counts what a plugin allocates under its own. */
weft_mem_tag WEFT_MEM_COMM[1] = {{.text = "communication"}};

enum { MESSAGE_BYTES = 1024 };

weft_status weft_fail(weft_status code, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host_of_plugin->fail(code, text);
}

weft_status weft_fail_context(weft_status code, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host_of_plugin->fail_context(code, text);
}

weft_status weft_malloc(size_t count, size_t size, weft_mem_tag *tag, void **out)
{
    (void)tag;
    return host_of_plugin->allocate(count, size, false, out);
}

weft_status weft_calloc(size_t count, size_t size, weft_mem_tag *tag, void **out)
{
    (void)tag;
    return host_of_plugin->allocate(count, size, true, out);
}

void weft_free(void *block)
{
    host_of_plugin->release(block);
}

void call_watch_begin(const char *call)
{
    host_of_plugin->watch_begin(call);
}

void call_watch_end(void)
{
    host_of_plugin->watch_end();
}

number_words number_say_bytes(uint64_t bytes)
{
    return host_of_plugin->say_bytes(bytes);
}

__attribute__((visibility("default"))) const mpi_plugin *weft_mpi_plugin(const mpi_plugin_host *host);

const mpi_plugin *weft_mpi_plugin(const mpi_plugin_host *host)
{
    static const mpi_plugin plugin = {.create = transport_mpi_create, .version = comm_mpi_version};
    host_of_plugin = host;
    return &plugin;
}
