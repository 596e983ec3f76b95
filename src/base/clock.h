/* base/clock.h: monotonic seconds, their words, process CPU seconds and memory high-water mark. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

double clock_seconds(void);          /* monotonic wall clock */
double clock_cpu_seconds(void);      /* user + system time of all threads of this process */
double clock_thread_seconds(void);   /* user + system time of the calling thread */
uint64_t clock_peak_rss_bytes(void); /* VmHWM: the largest resident set of this process so far */
uint64_t clock_rss_bytes(void);      /* VmRSS: the resident set now */
/* Begins a new high-water mark of the resident set, at what is resident now. Returns false where the system refuses. */
bool clock_peak_rss_restart(void);

/* A span as people say it: "57 s", "3 min 11 s", "2 h 30 min", "10 days 0 h"; below 0, or not a number: "0 s". */
typedef struct clock_words {
    char text[32];
} clock_words;

clock_words clock_say(double seconds);
