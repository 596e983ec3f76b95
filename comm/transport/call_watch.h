/*
 * comm/transport/call_watch.h: calls of the transport's library that block: who ends them when another rank never
 * comes.
 *
 * The engine's watchdog (comm/core/progress_watch.c) looks at what is posted. Starting and ending MPI, and making
 * groups and windows, happen inside MPI, which waits for all ranks and takes no time limit: a rank that is stopped
 * before or inside MPI_Init would leave the others there for ever. So a thread watches while such a call lasts, and
 * only then:
 *
 *      call_watch_begin("MPI_Init")     the outermost one starts the thread, inner ones begin their own time
 *      MPI_Init_thread(...)             still there after the limit: the handler is called, on that thread
 *      call_watch_end()                 the outermost one ends it
 *
 * Some 50 us a call; no such call is made in an epoch. Time in which this process itself was stopped does not count.
 * Without a handler, the default, nobody watches: the library ends no program.
 */
#pragma once

/* seconds: that the call has taken. To end the process without its main thread; must not call MPI. */
typedef void comm_hang_handler(const char *call, double seconds);

/* NULL: none. Before the first communicator is made. */
void comm_on_hang(comm_hang_handler *handler);
/* For calls from now on; 0: none. */
void comm_set_hang_timeout(double seconds);

/* From one thread. `call` is a literal. */
void call_watch_begin(const char *call);
void call_watch_end(void);
