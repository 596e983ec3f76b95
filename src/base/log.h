/*
 * base/log.h: the log on stderr.
 *
 * Only rank 0 speaks (log_set_speaker(rank == 0)); any rank may write one last line with log_fatal, and a few of what
 * it alone has seen with log_warn_of. Results never go through here: they go to stdout. Of jobs that run side by side
 * each has its speaker, and a name that its lines bear. Plain lines, no colour, no carriage returns: output of mpirun
 * is not a terminal. What a line quotes is escaped (base/escape.h), so that one call is one line.
 */
#pragma once

#include <stdbool.h>

#include "base/status.h"

typedef enum log_level { LOG_QUIET = 0, LOG_WARN = 1, LOG_INFO = 2, LOG_DEBUG = 3 } log_level;

/* How a job speaks. Jobs that run one within the other put the outer one's voice aside and back. */
typedef struct log_voice {
    log_level level;
    bool speaks;   /* false: log_fatal alone writes */
    char name[64]; /* "NAME: " stands before each message; "": nothing does */
} log_voice;

log_voice log_voice_now(void);
void log_voice_set(const log_voice *voice);

void log_set_level(log_level level);
void log_set_speaker(bool speaks);
/* Names of more than 63 bytes are cut off. */
void log_set_name(const char *name);

/* One line each; the newline is added. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A warning of something that only this rank has seen: written whoever speaks, by others with their number. */
void log_warn_of(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The last words of a failing rank, whatever the level and speaker: "weft: error: [rank r, exit s] message", in one
 * piece. A line break is one of ours (comm/core/inquest.h): weft_error_message has none. */
void log_fatal(int rank, weft_status status, const char *message);

/*
 * Progress of a stage that may take over 5 s: prints nothing before `first` seconds, then a line at most every 10 s
 * with done/total, percent, elapsed and ETA, and one closing line if anything was printed or the stage took over 5 s.
 * total = 0: unknown, elapsed only. Call from one thread.
 */
typedef struct log_progress {
    const char *stage;
    const char *unit;
    double total;
    double started;
    double last_line;
    bool spoke;
    const char *counted; /* optional: something else that is counted, e.g. "edges", and how many by now: its rate too */
    double count;
} log_progress;

log_progress log_progress_begin(const char *stage, const char *unit, double total);
void log_progress_update(log_progress *progress, double done);
void log_progress_end(log_progress *progress);
