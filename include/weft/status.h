/*
 * weft/status.h: the one status enum of Weft.
 *
 * Every function that can fail returns a weft_status. Values are process exit codes (1..125), so `main` returns the
 * status it was given. The text that explains a failure is kept per thread and read with weft_error_message().
 */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, short text): the only list of status codes; names, texts and `--help exit-codes` come from it. */
#define WEFT_STATUS_LIST(X)                                                                                            \
    X(WEFT_OK, 0, "done")                                                                                              \
    X(WEFT_ERR_USAGE, 2, "wrong command line, option or argument")                                                     \
    X(WEFT_ERR_DATA, 65, "a data file is malformed")                                                                   \
    X(WEFT_ERR_NOINPUT, 66, "an input file is missing")                                                                \
    X(WEFT_ERR_UNSUPPORTED, 69, "not supported by this build, backend or size")                                        \
    X(WEFT_ERR_INTERNAL, 70, "internal error: please report it")                                                       \
    X(WEFT_ERR_RESOURCE, 71, "not enough memory or threads")                                                           \
    X(WEFT_ERR_IO, 74, "reading or writing failed (disk full?)")                                                       \
    X(WEFT_STOPPED, 75, "stopped early after a good checkpoint: run again with --resume")                              \
    X(WEFT_ERR_DIVERGED, 76, "training diverged (NaN or infinity)")                                                    \
    X(WEFT_ERR_PERMISSION, 77, "permission denied")                                                                    \
    X(WEFT_ERR_LAUNCH, 78, "bad launch or binding")                                                                    \
    X(WEFT_ERR_STALL, 79, "no progress: ended by the stall watchdog")

typedef enum weft_status {
#define WEFT_STATUS_ENUM(name, value, text) name = value,
    WEFT_STATUS_LIST(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
} weft_status;

/* The constant's name ("WEFT_ERR_DATA"), or "WEFT_UNKNOWN". Any thread. */
const char *weft_status_name(weft_status status);

/* One short sentence about the code. Any thread. */
const char *weft_status_text(weft_status status);

/* The calling thread's last failure, one line without its end, in which control characters of what it quotes are shown
 * by their codes (\x1b); "" if none. Valid until the next failure on this thread. */
const char *weft_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
