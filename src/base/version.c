/* base/version.c: see base/version.h. The texts come from the build (cmake/WeftVersion.cmake). */
#include "base/version.h"

#include <gnu/libc-version.h>
#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

#include <xxhash.h>

#include "base/revision.h" /* written by the build */

#define VERSION_TEXT_OF(x) #x
#define VERSION_TEXT(x)    VERSION_TEXT_OF(x)
#define XXHASH_VERSION_TEXT                                                                                            \
    VERSION_TEXT(XXH_VERSION_MAJOR) "." VERSION_TEXT(XXH_VERSION_MINOR) "." VERSION_TEXT(XXH_VERSION_RELEASE)

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *version_text(void)
{
    return WEFT_VERSION;
}

const char *version_revision(void)
{
    return WEFT_REVISION;
}

const char *version_compiler(void)
{
    return COMPILER;
}

const char *version_build(void)
{
    return WEFT_BUILD;
}

const char *version_program(void)
{
    return WEFT_VERSION ", " COMPILER ", " WEFT_BUILD;
}

const char *version_library(int i, const char **version)
{
    switch (i) {
    case 0:
        *version = gnu_get_libc_version();
        return "glibc";
    case 1:
        *version = zlibVersion();
        return "zlib";
    case 2:
        *version = XXHASH_VERSION_TEXT;
        return "xxhash";
    default:
        return NULL;
    }
}
