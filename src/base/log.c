/* base/log.c: see base/log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"

enum { LINE_BYTES = 4096 };
#define FIRST_LINE_S 5.0
#define LINE_EVERY_S 10.0

static log_voice voice_now = {.level = LOG_INFO, .speaks = true};

log_voice log_voice_now(void)
{
    return voice_now;
}

void log_voice_set(const log_voice *voice)
{
    voice_now = *voice;
}

void log_set_level(log_level level)
{
    voice_now.level = level;
}

void log_set_speaker(bool speaks)
{
    voice_now.speaks = speaks;
}

void log_set_name(const char *name)
{
    snprintf(voice_now.name, sizeof voice_now.name, "%s", name);
}

static const char *colon(void)
{
    return voice_now.name[0] != '\0' ? ": " : "";
}

static void write_line(const char *prefix, const char *format, va_list args)
{
    char raw[LINE_BYTES], line[LINE_BYTES];
    const int named = snprintf(raw, sizeof raw, "%s%s", voice_now.name, colon());
    vsnprintf(raw + named, sizeof raw - (size_t)named, format, args);
    escape_text(line, sizeof line, raw);
    fprintf(stderr, "%s%s\n", prefix, line); /* one call, so that lines of ranks do not interleave */
}

/* The function log_<name>: a line behind `prefix` if this process speaks and `least` is asked for. */
#define LOG_LINE(name, least, prefix)                                                                                  \
    void log_##name(const char *format, ...)                                                                           \
    {                                                                                                                  \
        if (voice_now.speaks && voice_now.level >= (least)) {                                                          \
            va_list args;                                                                                              \
            va_start(args, format);                                                                                    \
            write_line(prefix, format, args);                                                                          \
            va_end(args);                                                                                              \
        }                                                                                                              \
    }
LOG_LINE(info, LOG_INFO, "weft: ")
LOG_LINE(warn, LOG_WARN, "weft: warning: ")
LOG_LINE(debug, LOG_DEBUG, "weft: debug: ")

void log_warn_of(int rank, const char *format, ...)
{
    char prefix[64] = "weft: warning: ";
    if (voice_now.level < LOG_WARN) {
        return;
    }
    if (!voice_now.speaks) {
        snprintf(prefix, sizeof prefix, "weft: warning: [rank %d] ", rank);
    }
    va_list args;
    va_start(args, format);
    write_line(prefix, format, args);
    va_end(args);
}

void log_fatal(int rank, weft_status status, const char *message)
{
    char raw[LINE_BYTES], lines[LINE_BYTES];
    size_t used = 0;
    snprintf(raw, sizeof raw, "%s%s%s", voice_now.name, colon(),
             message[0] != '\0' ? message : weft_status_text(status));
    for (char *line = raw, *next; line != NULL && used + 2 < sizeof lines; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        used += escape_text(lines + used, sizeof lines - used - 1, line);
        lines[used++] = '\n';
    }
    lines[used] = '\0';
    fprintf(stderr, "weft: error: [rank %d, exit %d] %s", rank, (int)status, lines);
    fflush(stderr);
}

log_progress log_progress_begin(const char *stage, const char *unit, double total)
{
    double now = clock_seconds();
    return (log_progress){
        .stage = stage, .unit = unit, .total = total, .started = now, .last_line = now, .spoke = false};
}

/* Numbers from 1,000 on have all their digits and no power of ten. */
typedef struct count_words {
    char text[32];
} count_words;

static count_words count_say(double value, int digits)
{
    count_words words;
    if (value < 1000.0) {
        snprintf(words.text, sizeof words.text, "%.*g", digits, value);
    } else {
        snprintf(words.text, sizeof words.text, "%.0f", value);
    }
    return words;
}

void log_progress_update(log_progress *progress, double done)
{
    double now = clock_seconds();
    double wait = progress->spoke ? LINE_EVERY_S : FIRST_LINE_S;
    if (now - progress->last_line < wait) {
        return;
    }
    progress->last_line = now;
    progress->spoke = true;
    double elapsed = now - progress->started;
    char count[96] = "";
    if (progress->counted != NULL) {
        snprintf(count, sizeof count, ", %s %s/s", count_say(progress->count / elapsed, 3).text, progress->counted);
    }
    if (progress->total > 0 && done > 0) {
        double left = elapsed * (progress->total - done) / done;
        log_info("%s: %s of %s %s (%.0f %%), %s %s/s%s, %s elapsed, ETA %s", progress->stage, count_say(done, 4).text,
                 count_say(progress->total, 4).text, progress->unit, 100.0 * done / progress->total,
                 count_say(done / elapsed, 3).text, progress->unit, count, clock_say(elapsed).text,
                 clock_say(left).text);
    } else {
        log_info("%s: %s elapsed", progress->stage, clock_say(elapsed).text);
    }
}

void log_progress_end(log_progress *progress)
{
    double elapsed = clock_seconds() - progress->started;
    if (progress->spoke || elapsed > FIRST_LINE_S) {
        log_info("%s: done in %.1f s", progress->stage, elapsed);
    }
}
