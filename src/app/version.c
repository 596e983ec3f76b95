/* app/version.c: `weft --version`, one line; with --verbose also what the build and this machine are made of. */
#include "base/version.h"
#include "app/command.h"

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

void app_print_version(FILE *out, bool details)
{
    const char *name = NULL, *version = NULL;
    fprintf(out, "weft %s\n", version_text());
    if (!details) {
        return;
    }
    fprintf(out, "revision: %s\ncompiler: %s\nbuild: %s\n", version_revision(), version_compiler(), version_build());
    print_instruction_sets(out);
#ifdef _OPENMP
    fprintf(out, "OpenMP: %d\n", _OPENMP);
#endif
    for (int i = 0; (name = version_library(i, &version)) != NULL; i++) {
        fprintf(out, "%s: %s\n", name, version);
    }
}
