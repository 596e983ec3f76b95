/* app/cli/stack.h: room on the stack, whatever limit the shell sets (ulimit -s). */
#pragma once

#include "base/status.h"

/*
 * Calls run(argument) with a stack of 8 MiB and returns its status. Kernels of attention keep up to 140 KB on the stack
 * of their thread. A small soft limit is raised; under a hard limit that is too small, `run` has a thread of its own,
 * whose stack is no matter of the limit. Threads that are born later have 2 MiB at least.
 */
weft_status stack_run(weft_status (*run)(void *argument), void *argument);
