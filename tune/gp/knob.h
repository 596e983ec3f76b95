#pragma once
#include <stdlib.h>
static inline double knob(const char *name, double otherwise)
{
    const char *t = getenv(name);
    return t != NULL ? atof(t) : otherwise;
}
