/*
 * comm/transport/mpi_plugin.h: the transport over MPI as a file of its own, compiled once for each binary interface.
 *
 * A program that links libmpi runs with one MPI: Open MPI and MPICH have other constants and handles of other sizes.
 * With the CMake option WEFT_MPI_PLUGINS neither the program nor libweft.so links any:
 *
 *      program, libweft.so         mpi_open.c: finds the machine's libmpi, opens it, then the plugin for its interface
 *      weft/mpi_openmpi.so         mpi.c compiled with Open MPI's mpi.h (libmpi.so.40), and mpi_plugin.c
 *      weft/mpi_mpich.so           mpi.c compiled with MPICH's mpi.h (libmpi.so.12: MPICH, Intel MPI and their kin)
 *
 * Plugins link nothing: their MPI functions are those of the libmpi that was opened before, and what they need of the
 * program is in the table below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number.h"
#include "base/status.h"
#include "comm/transport/transport.h"

/* What the program gives a plugin. All pointers are set, and live as long as the program. */
typedef struct mpi_plugin_host {
    weft_status (*fail)(weft_status code, const char *text);                   /* weft_fail with "%s" */
    weft_status (*fail_context)(weft_status code, const char *text);           /* weft_fail_context with "%s" */
    weft_status (*allocate)(size_t count, size_t size, bool zero, void **out); /* counted as comm's memory */
    void (*release)(void *block);
    void (*watch_begin)(const char *call);
    void (*watch_end)(void);
    number_words (*say_bytes)(uint64_t bytes);
} mpi_plugin_host;

/* What a plugin gives the program. */
typedef struct mpi_plugin {
    weft_status (*create)(transport **out);    /* transport_mpi_create */
    void (*version)(char *text, size_t bytes); /* comm_mpi_version */
} mpi_plugin;

/* The only function that a plugin exports. `host` must outlive the plugin. Never NULL. */
typedef const mpi_plugin *mpi_plugin_entry(const mpi_plugin_host *host);
#define MPI_PLUGIN_ENTRY "weft_mpi_plugin"
