/* base/clock.h: monotonic seconds, process CPU seconds and memory high-water mark. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <stdint.h>

double clock_seconds(void);          /* monotonic wall clock */
double clock_cpu_seconds(void);      /* user + system time of all threads of this process */
uint64_t clock_peak_rss_bytes(void); /* VmHWM: the largest resident set of this process so far */
uint64_t clock_rss_bytes(void);      /* VmRSS: the resident set now */

#endif
