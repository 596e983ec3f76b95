/*
 * weft_faulty: the command with one thing more, which what is installed does not have. FAULTY_ALLOC=N makes the N-th
 * allocation of the process fail once, FAULTY_ALLOC=N:RANK that of one rank; text that is no number is ignored.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "machine/launcher.h"

/* Before main, so that the command's own source needs no word of it. */
__attribute__((constructor)) static void arm(void)
{
    const char *text = getenv("FAULTY_ALLOC");
    char *end = NULL;
    if (text == NULL) {
        return;
    }
    unsigned long long n = strtoull(text, &end, 10);
    if (*end == ':' ? strtol(end + 1, NULL, 10) == launcher_rank() : *end == '\0') {
        weft_alloc_fail_after(n);
    }
}
