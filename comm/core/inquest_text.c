/*
 * comm/core/inquest_text.c: what is likely, from who was heard and where the others stand: a function of figures alone.
 *
 *      nobody of a node was heard      its network or the host itself; a rank alone on its node may be the cause
 *      some of a node are silent       those processes: their neighbours are reached over the same network
 *      everybody was heard             a message is missing. Plans are compared when they are made, and all ranks run
 * one program, so a connection that broke and was made anew comes first: MPI libraries lose what was under way and go
 * on
 */
#include <stdarg.h>
#include <stdio.h>

#include "comm/comm_options.def"
#include "comm/core/inquest.h"

enum { LINES = 8, NAMES = 16 };

typedef struct inquest_text {
    char *at;
    size_t left;
} inquest_text;

static void say(inquest_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(inquest_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
    text->at += used;
    text->left -= used;
}

static int count_silent(const inquest_facts *facts)
{
    int silent = 0;
    for (int q = 0; q < facts->ranks; ++q) {
        silent += !facts->heard[q];
    }
    return silent;
}

static bool heard_on(const inquest_facts *facts, int node)
{
    for (int q = 0; q < facts->ranks; ++q) {
        if (facts->heard[q] && facts->node_of[q] == node) {
            return true;
        }
    }
    return false;
}

/* Is any, or every silent rank on a node of which nobody was heard? */
static void look_at_nodes(const inquest_facts *facts, bool *any, bool *every)
{
    *any = false;
    *every = true;
    for (int q = 0; q < facts->ranks; ++q) {
        if (!facts->heard[q]) {
            bool lost = !heard_on(facts, facts->node_of[q]);
            *any = *any || lost;
            *every = *every && lost;
        }
    }
}

static void name_silent(const inquest_facts *facts, int silent, inquest_text *text)
{
    int named = 0;
    say(text, silent == 1 ? "rank" : "ranks");
    for (int q = 0; q < facts->ranks && named < NAMES; ++q) {
        if (!facts->heard[q]) {
            say(text, "%s %d", named++ == 0 ? "" : ",", q);
        }
    }
    say(text, "%s of %d %s not answer, nothing has moved for %.1f s. ", silent > named ? ", ..." : "", facts->ranks,
        silent == 1 ? "does" : "do", facts->still_seconds);
}

static void name_cause_of_silence(const inquest_facts *facts, int silent, inquest_text *text)
{
    static const char process[] = "stopped (SIGSTOP, a debugger), killed, or busy for longer than " FLAG_STALL_TIMEOUT;
    bool any = false;
    bool every = false;
    look_at_nodes(facts, &any, &every);
    if (every) {
        say(text,
            "Nobody on %s node%s does: most likely the network between the nodes is cut or the host%s down; else the "
            "process%s %s",
            silent == 1 ? "its" : "their", silent == 1 ? "" : "s", silent == 1 ? " is" : "s are",
            silent == 1 ? " is" : "es are", process);
        return;
    }
    say(text, "Others on %s node do: most likely the process%s %s; else its connection was lost",
        any           ? "some a"
        : silent == 1 ? "its"
                      : "their",
        silent == 1 ? " is" : "es are", process);
}

static void name_lost_message(const inquest_facts *facts, inquest_text *text)
{
    bool nodes = false;
    for (int q = 1; q < facts->ranks; ++q) {
        nodes = nodes || facts->node_of[q] != facts->node_of[0];
    }
    say(text,
        "all %d ranks answer, yet each waits for another, and nothing has moved for %.1f s: a message was lost. %s a "
        "connection between two ranks broke and was opened again (lines above such as \"mca_btl_tcp_frag_recv: readv "
        "failed\" name it; `weft doctor` measures every pair of ranks); else the ranks are out of step, a fault of the "
        "program to be reported with the lines below",
        facts->ranks, facts->still_seconds, nodes ? "Most likely" : "Likely, where ranks talk over TCP,");
}

void inquest_write(const inquest_facts *facts, char *text, size_t bytes)
{
    inquest_text out = {text, bytes};
    int silent = count_silent(facts);
    int lines = 0;
    if (silent == 0) {
        name_lost_message(facts, &out);
    } else {
        name_silent(facts, silent, &out);
        name_cause_of_silence(facts, silent, &out);
    }
    for (int q = 0; q < facts->ranks && lines < LINES; ++q) {
        if (facts->heard[q]) {
            say(&out, "\n    rank %d on %.*s: %.*s", q, INQUEST_HOST_BYTES - 1, facts->card[q].host,
                INQUEST_PLACE_BYTES - 1, facts->card[q].place);
            ++lines;
        }
    }
    if (facts->ranks - silent > lines) {
        say(&out, "\n    ... and %d more ranks wait", facts->ranks - silent - lines);
    }
}
