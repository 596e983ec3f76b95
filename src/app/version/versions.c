/* app/version/versions.c: see app/version/versions.h. */
#include "app/version/versions.h"

#include <assert.h>
#include <string.h>

#include "app/workload/workload.h"
#include "base/version.h"
#include "comm/comm.h"
#include "comm/comm_options.def"
#include "hal/devices.h"
#include "hal/hal.h"
#include "machine/library.h"

static void add(version_row *row, int *count, const char *name, const char *text)
{
    assert(*count < VERSIONS_MOST);
    if (*count < VERSIONS_MOST) {
        snprintf(row[*count].name, sizeof row->name, "%s", name);
        snprintf(row[*count].text, sizeof row->text, "%s", text);
        (*count)++;
    }
}

int versions_collect(version_row row[VERSIONS_MOST])
{
    const char *name = NULL, *version = NULL;
    char text[VERSION_TEXT_BYTES];
    int count = 0;
    add(row, &count, "weft", version_text());
    add(row, &count, "revision", version_revision());
    add(row, &count, "compiler", version_compiler());
    add(row, &count, "build", version_build());
    for (int i = 0; (name = version_library(i, &version)) != NULL; i++) {
        add(row, &count, name, version);
    }
    for (int i = 0; (name = machine_library(i, text, sizeof text)) != NULL; i++) {
        add(row, &count, name, text);
    }
    version = strchr(weft_hal_library(), ' ');
    add(row, &count, "oneDNN", version != NULL ? version + 1 : weft_hal_library());
    weft_hal_lapack(false, text, sizeof text);
    if (text[0] != '\0') {
        add(row, &count, "LAPACK", text);
    }
    add(row, &count, "CUDA", hal_devices_build(text, sizeof text));
    comm_mpi_version(text, sizeof text);
    add(row, &count, "MPI", text);
    for (int kind = 0; workload_list[kind] != NULL; kind++) {
        const workload_ops *ops = workload_list[kind];
        for (int i = 0; ops->library != NULL && (name = ops->library(i, text, sizeof text)) != NULL; i++) {
            add(row, &count, name, text);
        }
    }
    return count;
}

void versions_write(json_writer *json)
{
    version_row row[VERSIONS_MOST];
    const int count = versions_collect(row);
    json_object(json, "versions");
    for (int i = 0; i < count; i++) {
        json_text(json, row[i].name, row[i].text);
    }
    json_end(json);
}

/* The sets that kernels are compiled for and chosen by at run time, and those that libraries use. */
static void print_instruction_sets(FILE *out)
{
    __builtin_cpu_init();
    fputs("instruction sets: x86-64", out);
#define PRINT_IF_SUPPORTED(name) fputs(__builtin_cpu_supports(name) ? " " name : "", out)
    PRINT_IF_SUPPORTED("sse4.2");
    PRINT_IF_SUPPORTED("avx");
    PRINT_IF_SUPPORTED("avx2");
    PRINT_IF_SUPPORTED("fma");
    PRINT_IF_SUPPORTED("avx512f");
    PRINT_IF_SUPPORTED("avx512bw");
    PRINT_IF_SUPPORTED("avx512vl");
    PRINT_IF_SUPPORTED("avx512dq");
    PRINT_IF_SUPPORTED("avx512vnni");
#undef PRINT_IF_SUPPORTED
    fputs(" (of this machine)\n", out);
}

/* For people alone: a training does not open a library that it does not use. */
static void print_nccl(FILE *out)
{
    char version[VERSION_TEXT_BYTES];
    if (!hal_devices_nccl(version, sizeof version)) {
        return;
    }
    if (version[0] == '\0') {
        fputs("NCCL: not found\n", out);
    } else {
        fprintf(out, "NCCL: %s found; not used: messages go by MPI, from device memory with " FLAG_GPU_DIRECT "\n",
                version);
    }
}

void versions_print(FILE *out)
{
    version_row row[VERSIONS_MOST];
    char lapack[VERSION_TEXT_BYTES];
    weft_hal_lapack(true, lapack, sizeof lapack); /* opens it, so that the table names it */
    const int count = versions_collect(row);
    for (int i = 0; i < count; i++) {
        fprintf(out, "%s: %s\n", row[i].name, row[i].text);
    }
    print_nccl(out);
    print_instruction_sets(out);
}
